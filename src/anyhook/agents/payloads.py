"""Payloads to typed events and back.

A payload that was decoded and encoded again is the same payload.
"""

from __future__ import annotations

from anyhook.agents.values import NUMBER, VALUE_KINDS, describe_value, has_kind
from anyhook.model.events import UnknownEvent, copy_json, event_class, json_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

    Problem = tuple[str, str]
    """Code and message of a diagnostic."""

NOT_IN_PAYLOAD = frozenset({"raw", "wire_name", "vocabulary"})
"""Fields of events that no payload has."""
TEXT_ARGUMENT = "input"
"""Name of the argument of a tool that takes a text without a name."""
_FIRST_MEMBERS = ("session_id", "transcript_path", "cwd")
"""Fields with which every payload starts, as far as it has them."""


def decode_event(
    agent: AgentSpec, payload: Mapping[str, Any]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    """Return the typed event of a payload. Never raises for what a payload contains.

    A field that is missing or has the wrong type gets a neutral value and a diagnostic. An event
    that the agent does not have becomes an `UnknownEvent`, which keeps its name. The second value
    is what is wrong with the payload.
    """
    name = agent.event_name_in(payload)
    wire_name = name if isinstance(name, str) else ""
    spec = agent.by_wire.get(wire_name)
    cls = UnknownEvent if spec is None else event_class(spec.canonical)
    problems: list[Problem] = []
    if spec is None:
        from anyhook.model.suggest import did_you_mean

        all_events = f"events: {', '.join(agent.by_wire)}"
        hint = did_you_mean(str(name), agent.by_wire) or all_events
        text = f"{agent.title} has no event {name!r}; {hint}"
        if name is None:
            text = f"the payload has no event; add {agent.event_key!r}; {all_events}"
        problems.append(("payload-event", text))
    fields: dict[str, Any] = {
        "raw": payload,
        "wire_name": wire_name,
        "vocabulary": agent.vocabulary,
    }
    for field, key in payload_fields(agent, spec, cls):
        is_required = field in cls.record_required
        if key is not None and key in payload:
            value = _convert(FORM_READERS, spec, field, payload[key])
            kind = VALUE_KINDS[json_kind(cls, field)]
            if has_kind(kind, value):
                fields[field] = value
                continue
            if value is not None:
                wrong = f"{key} must be {kind.label}, not {describe_value(value)}"
                problems.append(("payload-field", f"{cls.name}: {wrong}"))
        if is_required:
            fields[field] = copy_json(VALUE_KINDS[json_kind(cls, field)].neutral)
            is_missing = key is not None and payload.get(key) is None
            if is_missing and (spec is None or field not in spec.optional_fields):
                problems.append(("payload-field", f"{cls.name}: {key} is missing"))
    if spec is not None:
        problems += _check_subject(agent, spec, fields)
    event = cls(**fields)
    if not problems:
        return event, ()
    from anyhook.model.diagnostics import diagnose  # not needed on the path of a cold hook

    return event, tuple([diagnose(code, message) for code, message in problems])


def payload_fields(
    agent: AgentSpec, spec: EventSpec | None, cls: type[Event]
) -> tuple[tuple[str, str | None], ...]:
    """Return the fields of an event class that payloads may have, each with its key in them."""
    fields = agent.payload_fields_by_class.get(cls)
    if fields is None:
        names = [name for name in cls.record_fields if name not in NOT_IN_PAYLOAD]
        fields = tuple([(name, payload_key(agent, spec, name)) for name in names])
        agent.payload_fields_by_class[cls] = fields
    return fields


def payload_key(agent: AgentSpec, spec: EventSpec | None, field: str) -> str | None:
    """Return the key of an event's field in payloads; `None` if they do not have it."""
    if spec is not None and field in spec.payload_keys:
        return spec.payload_keys[field]
    return agent.payload_keys.get(field, field)


def _check_subject(agent: AgentSpec, spec: EventSpec, fields: Mapping[str, Any]) -> list[Problem]:
    """Report a subject that is none of the words that the agent has for it."""
    subject = fields.get(spec.subject) if spec.subject is not None else None
    if not spec.subjects or not subject or subject in spec.subjects:
        return []
    key = payload_key(agent, spec, str(spec.subject))
    words = ", ".join(spec.subjects)
    return [("payload-word", f"{spec.wire}: {key} is {str(subject)!r}; it may be {words}")]


def encode_event(agent: AgentSpec, event: Event) -> dict[str, Any]:
    """Return an event as the agent's payload.

    A decoded event that was not changed gives a payload equal to the one that it was decoded from;
    of a changed event only the changed fields differ. An event that was built in Python gives the
    members of the reference, in its order. The values are shared with the event.
    """
    spec = agent.by_canonical.get(event.name)
    fields = payload_fields(agent, spec, type(event))
    if event.raw is None:
        return _encode_new_event(agent, spec, event, fields)
    payload: dict[str, Any] = dict(event.raw)
    for field, key in fields:
        if key is not None:
            value = getattr(event, field)
            if value != decoded_value(spec, type(event), field, key, event.raw):
                payload[key] = _convert(FORM_WRITERS, spec, field, value)
    return payload


def _encode_new_event(
    agent: AgentSpec,
    spec: EventSpec | None,
    event: Event,
    fields: tuple[tuple[str, str | None], ...],
) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    for field in _FIRST_MEMBERS:
        key = payload_key(agent, spec, field)
        if key is not None:
            payload[key] = _convert(FORM_WRITERS, spec, field, getattr(event, field))
    if agent.event_key and (spec is None or spec.names_itself):
        payload[agent.event_key] = spec.wire if spec is not None else event.wire_name
    if spec is not None:
        payload |= spec.payload_members
    for field, key in fields:
        if key is not None and field not in _FIRST_MEMBERS:
            value = getattr(event, field)
            if value is not None:
                payload[key] = _convert(FORM_WRITERS, spec, field, value)
    if spec is not None and agent.payload_shapes:
        # By these members the agent's payloads of the event are recognized.
        field_of = {key: field for field, key in fields}
        for member in agent.payload_shapes.get(spec.wire, ()):
            if member not in payload:
                field = field_of.get(member, "")
                neutral = VALUE_KINDS[json_kind(type(event), field)].neutral if field else ""
                payload[member] = {} if neutral is None else copy_json(neutral)
    return payload


def decoded_value(
    spec: EventSpec | None,
    cls: type[Event],
    field: str,
    key: str | None,
    payload: Mapping[str, Any],
) -> Any:
    """Return the value that `decode_event` gives a field.

    The key is that of `payload_key`, and `spec` is `None` for an event that the agent does not
    have.
    """
    kind = VALUE_KINDS[json_kind(cls, field)]
    if key is not None and key in payload:
        value = _convert(FORM_READERS, spec, field, payload[key])
        if has_kind(kind, value):
            return value
    return kind.neutral if field in cls.record_required else getattr(cls, field)


# -- members whose value has another form than the field


def _convert(
    converters: Mapping[str, Callable[[Any], Any]], spec: EventSpec | None, field: str, value: Any
) -> Any:
    form = spec.payload_forms.get(field) if spec is not None else None
    return value if form is None else converters[form](value)


def _parse_json(value: Any) -> Any:
    """Return the value of a JSON text; any other value as it is."""
    if not isinstance(value, str):
        return value
    from anyhook.model.json import parse_json

    try:
        return parse_json(value)
    except ValueError:
        return value


def _read_arguments(value: Any) -> Any:
    """Return the arguments in a JSON text; any other text as the only argument."""
    arguments = _parse_json(value)
    is_text = isinstance(value, str) and not isinstance(arguments, dict)
    return {TEXT_ARGUMENT: value} if is_text else arguments


def _write_json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def _read_milliseconds(value: Any) -> Any:
    """Return a Unix timestamp in milliseconds as ISO 8601 in UTC."""
    if not has_kind(NUMBER, value):
        return value
    import time

    try:
        date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(value // 1000))
    except (OverflowError, OSError, ValueError):
        return value
    return f"{date}.{int(value) % 1000:03d}Z"


def _write_milliseconds(value: Any) -> Any:
    """Return a time in ISO 8601 as a Unix timestamp in milliseconds; 0 if it is none."""
    from datetime import datetime

    try:
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    except (TypeError, ValueError):
        return 0


FORM_READERS: dict[str, Callable[[Any], Any]] = {
    "arguments": _read_arguments,
    "json_text": _parse_json,
    "count": lambda value: value > 0 if has_kind(NUMBER, value) else value,
    "list": lambda value: value[0] if isinstance(value, list) and value else None,
    "milliseconds": _read_milliseconds,
}
"""Form of a member (`EventSpec.payload_forms`) to how it is read: arguments or their text, a JSON
text of the value, a number of which the field is whether it is positive, a list of which the field
is the first item, a Unix timestamp in milliseconds."""
FORM_WRITERS: dict[str, Callable[[Any], Any]] = {
    "arguments": lambda value: value,
    "json_text": _write_json,
    "count": int,
    "list": lambda value: [value] if value else [],
    "milliseconds": _write_milliseconds,
}
"""The same forms to how they are written."""
