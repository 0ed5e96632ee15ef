"""Events and replies as agents write them.

A payload becomes a typed event and a payload again, without loss; an answer, or a whole decision,
becomes one reply in an agent's own form.
"""

from __future__ import annotations

from anyhook.model.events import UnknownEvent, copy_json, event_class, json_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

_CHECKS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
    "any": (object,),
}
_NEUTRAL: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "number": 0,
    "object": {},
    "array": [],
    "any": None,
}
_BASE = ("session_id", "transcript_path", "cwd")
NOT_IN_PAYLOAD = frozenset({"raw", "wire_name", "vocabulary"})
"""Fields of every event that no payload has."""


def decode_event(
    agent: AgentSpec, payload: Mapping[str, Any]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    """Make a typed event of a payload. Never raises for what a payload holds.

    A field that is missing or has the wrong type gets a neutral value and a diagnostic. An event
    that the agent does not know becomes an `UnknownEvent` and keeps its raw name.

    Args:
        agent: Whose payload it is.
        payload: The JSON object that the agent sent; the event keeps it whole.

    Returns:
        The event, and what was wrong with the payload.
    """
    wire_name = payload.get(agent.event_key)
    spec = agent.by_wire.get(wire_name) if isinstance(wire_name, str) else None
    cls = event_class(spec.canonical) if spec else UnknownEvent
    problems: list[tuple[str, str]] = []
    if spec is None:
        problems.append(("payload-event", _unknown(agent, wire_name)))
    fields: dict[str, Any] = {
        "raw": payload,
        "wire_name": wire_name if isinstance(wire_name, str) else "",
        "vocabulary": agent.vocabulary,
    }
    for name, key in _fields(agent, spec, cls):
        if key is None:
            if name in cls.record_required:
                fields[name] = copy_json(_NEUTRAL[json_kind(cls, name)])
        elif key in payload or name in cls.record_required:
            _decode_field(spec, cls, name, key, payload, fields, problems)
    if spec is not None and spec.subject is not None and spec.subjects:
        word = fields.get(spec.subject)
        if word and word not in spec.subjects:
            problems.append(("payload-word", _unknown_word(agent, spec, str(word))))
    return cls(**fields), _told(problems)


def _unknown_word(agent: AgentSpec, spec: EventSpec, word: str) -> str:
    key = payload_key(agent, spec, str(spec.subject))
    return f"{spec.wire}: {key} is {word!r}; it may be {', '.join(spec.subjects)}"


def _fields(
    agent: AgentSpec, spec: EventSpec | None, cls: type[Event]
) -> tuple[tuple[str, str | None], ...]:
    """Return the fields of an event that payloads may have, each with its key in them."""
    of = (_fields, spec and spec.canonical, cls)
    found: tuple[tuple[str, str | None], ...] | None = agent.known.get(of)
    if found is None:
        found = agent.known[of] = tuple(
            [
                (name, payload_key(agent, spec, name))
                for name in cls.record_fields
                if name not in NOT_IN_PAYLOAD
            ]
        )
    return found


def payload_key(agent: AgentSpec, spec: EventSpec | None, field: str) -> str | None:
    """Return the key of an event's field in payloads; `None` if they do not have it."""
    if spec is not None and field in spec.payload_keys:
        return spec.payload_keys[field]
    return agent.payload_keys.get(field, field)


def _unknown(agent: AgentSpec, wire_name: object) -> str:
    from anyhook.model.suggest import did_you_mean

    known = f"events: {', '.join(agent.by_wire)}"
    hint = did_you_mean(str(wire_name), agent.by_wire) or known
    return f"{agent.title} has no event {wire_name!r}; {hint}"


def _told(problems: list[tuple[str, str]]) -> tuple[Diagnostic, ...]:
    if not problems:
        return ()
    from anyhook.model.diagnostics import diagnose

    return tuple(diagnose(code, message) for code, message in problems)


def _decode_field(  # noqa: PLR0917 - one field of one event
    spec: EventSpec | None,
    cls: type[Event],
    name: str,
    key: str,
    payload: Mapping[str, Any],
    fields: dict[str, Any],
    problems: list[tuple[str, str]],
) -> None:
    value = payload.get(key)
    kind = json_kind(cls, name)
    if key in payload and _is_of(kind, value):
        fields[name] = value
        return
    if key in payload and value is not None:
        from anyhook.model.json import json_type

        shown = json_type(value)
        article = "an" if kind[0] in "ao" else "a"
        problems.append(
            ("payload-field", f"{cls.name}: {key} must be {article} {kind}, not {shown}")
        )
    elif name in cls.record_required and (spec is None or name not in spec.optional_fields):
        problems.append(("payload-field", f"{cls.name}: {key} is missing"))
    if name in cls.record_required:
        fields[name] = copy_json(_NEUTRAL[kind])


def _is_of(kind: str, value: object) -> bool:
    return isinstance(value, _CHECKS[kind]) and not (kind == "number" and isinstance(value, bool))


def encode_event(agent: AgentSpec, event: Event) -> dict[str, Any]:
    """Write an event as the agent's payload.

    A decoded event that was not changed gives its raw payload again, equal; of a changed one the
    changed fields are new. An event built in Python gives the members of the reference, in its
    order.

    Args:
        agent: Whose payload to write.
        event: The event.

    Returns:
        A new JSON object; its values are shared with the event.
    """
    spec = agent.by_canonical.get(event.name)
    wire_name = spec.wire if spec else event.wire_name
    payload: dict[str, Any] = dict(event.raw) if event.raw is not None else {}
    cls = type(event)
    if event.raw is None:
        payload = {name: getattr(event, name) for name in _BASE}
        payload[agent.event_key] = wire_name
    for name, key in _fields(agent, spec, cls):
        if key is None:
            continue
        value = getattr(event, name)
        if event.raw is None:
            if value is not None and name not in _BASE:
                payload[key] = value
        elif value != _as_decoded(cls, name, key, event.raw):
            payload[key] = value
    return payload


def _as_decoded(cls: type[Event], name: str, key: str, raw: Mapping[str, Any]) -> Any:
    kind = json_kind(cls, name)
    value = raw.get(key)
    if key in raw and _is_of(kind, value):
        return value
    return _NEUTRAL[kind] if name in cls.record_required else getattr(cls, name)
