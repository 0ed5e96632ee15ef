"""A base class of frozen values.

Their modules are imported at every start: `dataclasses` and `msgspec` cost a cold hook 18 ms and
24 ms for 30 classes, this base class less than one. Type checkers read its subclasses as
dataclasses.
"""

from __future__ import annotations

from types import FunctionType, MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import replace
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object):
        return lambda cls: cls

    def replace(record, /, **values):
        """Return a copy with some fields changed, whose names and types are checked."""
        return record.replace(**values)


__all__ = ["EMPTY", "Record", "replace"]

EMPTY: Mapping[Any, Any] = MappingProxyType({})
"""The default of a field that is a mapping."""


class _OfDataclass:
    """A member that the functions of `dataclasses` read: `replace`, `fields`, `is_dataclass`.

    Type checkers allow these functions for records. Nothing is imported before one is called.
    """

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self._name = name

    def __get__(self, record: Record | None, owner: type[Record]) -> Any:
        from dataclasses import make_dataclass

        return getattr(make_dataclass(owner.__name__, owner.record_fields), self._name)


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=True)
class Record:
    """A frozen value; subclasses only annotate their fields.

    A field without a default is required. A default lives on the class and must not be mutable.
    Annotations that start with `ClassVar` are not fields. A value can be hashed if its fields can.
    """

    record_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields, inherited ones first."""
    record_names: ClassVar[frozenset[str]] = frozenset()
    """The same as a set."""
    record_required: ClassVar[frozenset[str]] = frozenset()
    """Fields that have no default."""
    record_in_order: ClassVar[bool] = False
    """Whether fields may be given by position."""

    __dataclass_fields__ = _OfDataclass()
    __dataclass_params__ = _OfDataclass()

    def __init_subclass__(cls, *, kw_only: bool = True, **kwargs: object) -> None:
        """Collect the fields; with `kw_only=False` they may also be given by position."""
        super().__init_subclass__(**kwargs)
        if not kw_only:
            cls.record_in_order = True
        body = cls.__dict__
        annotations = body.get("__annotations__", {})
        names = [name for name, kind in annotations.items() if str(kind)[:8] != "ClassVar"]
        for name in names:
            if type(body.get(name)) is FunctionType:  # a default, not a method
                setattr(cls, name, staticmethod(body[name]))
        required = (*cls.record_required, *names)
        if required:
            cls.record_required = frozenset([name for name in required if not hasattr(cls, name)])
        if names:
            inherited = cls.record_fields
            cls.record_fields = (*inherited, *[name for name in names if name not in inherited])
            cls.record_names = frozenset(cls.record_fields)
            if cls.record_in_order:
                cls.__match_args__ = cls.record_fields  # type: ignore[attr-defined, misc]

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
        required = self.record_required - values.keys()
        if required:
            missing = [field for field in self.record_fields if field in required]
            raise TypeError(f"{name} needs {', '.join(missing)}")
        from anyhook.model.suggest import did_you_mean

        extra = next(iter(values.keys() - set(self.record_fields)))
        hint = did_you_mean(extra, self.record_fields) or f"it has {', '.join(self.record_fields)}"
        raise TypeError(f"{name} has no field {extra!r}; {hint}")

    def replace(self, **values: Any) -> Self:
        """Return a copy with some fields changed."""
        fields, names = self.__dict__, self.record_names
        if not fields.keys() <= names:  # leave out cached properties
            fields = {name: value for name, value in fields.items() if name in names}
        if not values.keys() <= names:
            self._reject({**fields, **values})
        copy = object.__new__(type(self))
        copy.__dict__.update(fields, **values)
        return copy

    __replace__ = replace

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by their names; records in them stay."""
        return {name: getattr(self, name) for name in self.record_fields}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__ or self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple([getattr(self, name) for name in self.record_fields]))

    def __repr__(self) -> str:
        values = self.__dict__
        fields = [f"{name}={values[name]!r}" for name in self.record_fields if name in values]
        return f"{type(self).__name__}({', '.join(fields)})"
