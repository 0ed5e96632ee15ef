"""Small frozen values with keyword fields.

`dataclasses` and `msgspec` do the same with more features. Importing them costs a hook that an
agent starts on every event 18 ms and 24 ms before its first line; this base class costs less than
one. Type checkers read its subclasses as dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object):  # noqa: D103 - only type checkers read it
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=True)
class Record:
    """A frozen value; subclasses only annotate their fields.

    A field without a default is required. A default lives on the class and must not be mutable.
    Annotations that start with `ClassVar` are not fields.
    """

    record_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields, inherited ones first."""
    record_names: ClassVar[frozenset[str]] = frozenset()
    """The same as a set."""
    record_required: ClassVar[frozenset[str]] = frozenset()
    """Fields that have no default."""
    record_in_order: ClassVar[bool] = False
    """Whether fields may be given without their names."""

    def __init_subclass__(cls, *, kw_only: bool = True, **kwargs: object) -> None:
        """Collect the fields; `kw_only=False` lets them also be given in order."""
        super().__init_subclass__(**kwargs)
        if not kw_only:
            cls.record_in_order = True
        body, inherited, required = cls.__dict__, cls.record_fields, cls.record_required
        own = [
            name
            for name, kind in body.get("__annotations__", {}).items()
            if str(kind)[:8] != "ClassVar"
        ]
        if required or own:
            cls.record_required = frozenset(
                [n for n in (*required, *own) if n not in body and not hasattr(cls, n)]
            )
        if own:
            own = [*inherited, *[name for name in own if name not in inherited]]
            cls.record_fields = tuple(own)
            cls.record_names = frozenset(own)

    def __init__(self, *in_order: Any, **values: Any) -> None:
        if in_order:
            if not self.record_in_order or len(in_order) > len(self.record_fields):
                raise TypeError(f"{type(self).__name__} takes its fields by name")
            values.update(zip(self.record_fields, in_order, strict=False))
        if not self.record_required <= values.keys() or not values.keys() <= self.record_names:
            self._reject(values)
        self.__dict__.update(values)

    def _reject(self, values: dict[str, Any]) -> None:
        name = type(self).__name__
        missing = [
            field for field in self.record_fields if field in self.record_required - values.keys()
        ]
        if missing:
            raise TypeError(f"{name} needs {', '.join(missing)}")
        from anyhook.model.suggest import did_you_mean

        extra = next(iter(values.keys() - set(self.record_fields)))
        hint = did_you_mean(extra, self.record_fields) or f"it has {', '.join(self.record_fields)}"
        raise TypeError(f"{name} has no field {extra!r}; {hint}")

    def replace(self, **values: Any) -> Self:
        """Return a copy with some fields changed."""
        own, names = self.__dict__, self.record_names
        if not values.keys() <= names:
            self._reject({**{name: own[name] for name in own if name in names}, **values})
        made = object.__new__(type(self))
        if own.keys() <= names:
            made.__dict__.update(own, **values)
        else:  # it also keeps what was computed
            kept = {name: value for name, value in own.items() if name in names}
            made.__dict__.update(kept, **values)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in self.record_fields)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r} (its fields may hold dicts)")

    def __repr__(self) -> str:
        given = (f"{f}={self.__dict__[f]!r}" for f in self.record_fields if f in self.__dict__)
        return f"{type(self).__name__}({', '.join(given)})"
