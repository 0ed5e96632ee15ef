"""Event payloads: from the wire to typed events and back, without loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.events import EVENTS, Event, UnknownEvent, copy_json, json_kind
from anyhook.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.dialects.base import Dialect

_CHECKS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "any": (object,),
}
_NEUTRAL: dict[str, Any] = {"string": "", "boolean": False, "object": {}, "any": None}
_BASE = ("session_id", "transcript_path", "cwd")
_NOT_ON_WIRE = frozenset({"raw", "wire_name"})


def decode_event(
    dialect: Dialect, payload: Mapping[str, Any]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    """Make a typed event of a payload. Never raises for what a payload holds.

    A field that is missing or has the wrong type gets a neutral value and a diagnostic. An event
    that the dialect does not know becomes an `UnknownEvent` and keeps its raw name.

    Args:
        dialect: Whose payload it is.
        payload: The JSON object that the agent sent; the event keeps it whole.

    Returns:
        The event, and what was wrong with the payload.
    """
    wire_name = payload.get(dialect.event_key)
    spec = dialect.by_wire.get(wire_name) if isinstance(wire_name, str) else None
    cls = EVENTS[spec.canonical] if spec else UnknownEvent
    problems: list[Diagnostic] = []
    if spec is None:
        known = f"events: {', '.join(dialect.by_wire)}"
        hint = did_you_mean(str(wire_name), dialect.by_wire) or known
        problems.append(
            diagnose("payload-event", f"{dialect.title} has no event {wire_name!r}; {hint}")
        )
    fields: dict[str, Any] = {"raw": payload, "wire_name": str(wire_name or "")}
    for name in cls.record_fields:
        if name not in _NOT_ON_WIRE:
            _decode_field(cls, name, payload, fields, problems)
    return cls(**fields), tuple(problems)


def _decode_field(
    cls: type[Event],
    name: str,
    payload: Mapping[str, Any],
    fields: dict[str, Any],
    problems: list[Diagnostic],
) -> None:
    kind = json_kind(cls, name)
    value = payload.get(name)
    if name in payload and isinstance(value, _CHECKS[kind]):
        fields[name] = value
        return
    if name in payload and value is not None:
        shown = type(value).__name__
        article = "an" if kind == "object" else "a"
        problems.append(
            diagnose("payload-field", f"{cls.name}: {name} must be {article} {kind}, not {shown}")
        )
    elif name in cls.record_required:
        problems.append(diagnose("payload-field", f"{cls.name}: {name} is missing"))
    if name in cls.record_required:
        fields[name] = copy_json(_NEUTRAL[kind])


def encode_event(dialect: Dialect, event: Event) -> dict[str, Any]:
    """Write an event as the dialect's payload.

    A decoded event that was not changed gives its raw payload again, equal; of a changed one the
    changed fields are new. An event built in Python gives the members of the reference, in its
    order.

    Args:
        dialect: Whose payload to write.
        event: The event.

    Returns:
        A new JSON object; its values are shared with the event.
    """
    spec = dialect.by_canonical.get(event.name)
    wire_name = spec.wire if spec else event.wire_name
    payload: dict[str, Any] = dict(event.raw) if event.raw is not None else {}
    cls = type(event)
    if event.raw is None:
        payload = {name: getattr(event, name) for name in _BASE}
        payload[dialect.event_key] = wire_name
    for name in cls.record_fields:
        if name in _NOT_ON_WIRE:
            continue
        value = getattr(event, name)
        if event.raw is None:
            if value is not None and name not in _BASE:
                payload[name] = value
        elif value != _as_decoded(cls, name, event.raw):
            payload[name] = value
    return payload


def _as_decoded(cls: type[Event], name: str, raw: Mapping[str, Any]) -> Any:
    kind = json_kind(cls, name)
    value = raw.get(name)
    if name in raw and isinstance(value, _CHECKS[kind]):
        return value
    return _NEUTRAL[kind] if name in cls.record_required else getattr(cls, name)
