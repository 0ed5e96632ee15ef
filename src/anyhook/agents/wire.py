"""Events and replies as agents write them.

A payload becomes a typed event and a payload again, without loss; an answer, or a whole decision,
becomes one reply in an agent's own form.
"""

from __future__ import annotations

from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import UnknownEvent, copy_json, event_class, json_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec, OutputField
    from anyhook.model.decisions import Decision
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
NOT_ON_WIRE = frozenset({"raw", "wire_name", "vocabulary"})
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
    key = wire_key(agent, spec, str(spec.subject))
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
                (name, wire_key(agent, spec, name))
                for name in cls.record_fields
                if name not in NOT_ON_WIRE
            ]
        )
    return found


def wire_key(agent: AgentSpec, spec: EventSpec | None, field: str) -> str | None:
    """Return the key of an event's field in payloads; `None` if they do not have it."""
    if spec is not None and field in spec.keys:
        return spec.keys[field]
    return agent.keys.get(field, field)


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
    elif name in cls.record_required and (spec is None or name not in spec.optional):
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


# -- replies

EXTRA = "extra."
_ABSENT = frozenset([name for name in Answer.record_fields if getattr(Answer, name) is None])
"""Fields of an answer that mean nothing unless they are set."""


def encode_answer(agent: AgentSpec, spec: EventSpec, answer: Answer) -> dict[str, Any]:
    """Write what one hook says as its agent's JSON.

    Args:
        agent: Whose form.
        spec: The event.
        answer: What to say; `tool_input` is the whole input where the agent replaces it.

    Returns:
        A JSON object; empty if there is nothing to say. What the event has no member for is not
        in it.
    """
    reply: dict[str, Any] = {}
    said = answer.__dict__
    for item in agent.written(spec.canonical):
        if item.field in _ABSENT and item.field not in said:
            continue
        value = _value(agent, item, answer)
        if value is None:
            continue
        target = reply
        for depth, key in enumerate(item.path[:-1]):
            target = target.setdefault(key, _with_event_name(agent, spec, key, depth))
        target[item.path[-1]] = value
    return reply


def encode_decision(
    agent: AgentSpec, spec: EventSpec, decision: Decision, event: Event | None = None
) -> dict[str, Any]:
    """Write a decision as one reply in the agent's own form.

    Args:
        agent: Whose form.
        spec: The event.
        decision: The decision.
        event: The event that it is about; a tool configuration has the shape that its request
            has (flat, or under `functionCallingConfig`).

    Returns:
        A JSON object; empty if the decision is to do nothing.
    """
    answer = answer_of(decision)
    request = getattr(event, "llm_request", None)
    if answer.tool_config is not None and isinstance(request, dict):
        from anyhook.model.llm import like_tool_config

        shaped: Any = like_tool_config(answer.tool_config, request.get("toolConfig"))
        answer = answer.replace(tool_config=shaped)
    return encode_answer(agent, spec, answer)


def answer_of(decision: Decision) -> Answer:
    """Write a decision as the answer of one hook that says all of it."""
    return Answer(
        outcome=decision.outcome,
        approve=decision.approve,
        reason=_verdict_reason(decision) or None,
        stop=decision.stop,
        stop_reason=decision.reason if decision.stop else None,
        system_message="\n".join(decision.system_messages) or None,
        suppress_output=decision.suppress_output,
        context="\n".join(decision.context) or None,
        tool_input=decision.tool_input,
        llm_request=decision.llm_request,
        llm_response=decision.llm_response,
        tool_config=decision.tool_config,
        clear_context=decision.clear_context,
        tail_tool_call=decision.tail_tool_call,
        tool_output=decision.tool_output,
        extra=dict(decision.extra) or None,
    )


def reply_bytes(agent: AgentSpec, spec: EventSpec, answer: Answer) -> bytes:
    """Write what a program prints to give an answer: JSON, or what stands for no opinion.

    Args:
        agent: Whose form.
        spec: The event.
        answer: What to say; what JSON does not have of it is repaired.
    """
    path = (answer.extra or {}).get("worktree_path")
    if not spec.silence:
        text = path if isinstance(path, str) else _only_text(agent, spec, answer)
        if text is not None:
            return text.encode("utf-8", "replace")
    reply = encode_answer(agent, spec, answer)
    return _dump(reply) if reply else spec.silence.encode()


def _only_text(agent: AgentSpec, spec: EventSpec, answer: Answer) -> str | None:
    """Return the only text of an answer, where the agent reads all output as such a text."""
    rules = agent.rule_sets.get("observed", agent.documented)
    field = rules.by_canonical[spec.canonical].printed_as
    empty = (None, False, Outcome.NONE)
    fields = [name for name in answer.record_fields if getattr(answer, name) not in empty]
    text = getattr(answer, field) if field is not None and fields == [field] else None
    return text if isinstance(text, str) else None


def _dump(reply: dict[str, Any]) -> bytes:
    import json

    try:
        return json.dumps(reply, ensure_ascii=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        from anyhook.model.json import repair

        return json.dumps(repair(reply)).encode()


def _value(agent: AgentSpec, item: OutputField, answer: Answer) -> Any:
    if item.field.startswith(EXTRA):
        return (answer.extra or {}).get(item.field.removeprefix(EXTRA))
    value = getattr(answer, item.field)
    if value is None or (value is False and item.kind != "any"):
        return None
    write = WRITERS.get(item.kind)
    return write(agent, item, answer) if write else value


def _write_word(agent: AgentSpec, item: OutputField, answer: Answer) -> str | None:
    said = (answer.outcome, answer.approve)
    words = item.words or agent.words
    return next((word for word, meaning in words.items() if meaning == said), None)


WRITERS: dict[str, Callable[[AgentSpec, OutputField, Answer], Any]] = {
    "decision": _write_word,
    "not_boolean": lambda _agent, _item, _answer: False,
    "interrupt": lambda _agent, _item, answer: answer.outcome is Outcome.DENY or None,
}
"""Kinds of members that are not written as they are."""


def _with_event_name(agent: AgentSpec, spec: EventSpec, key: str, depth: int) -> dict[str, Any]:
    path = agent.output_event_key
    return {path[1]: spec.wire} if depth == 0 and path and path[0] == key else {}


def _verdict_reason(decision: Decision) -> str:
    said = (r.answer.reason for r in decision.results if r.answer.outcome is decision.outcome)
    return "\n".join(reason for reason in said if reason)
