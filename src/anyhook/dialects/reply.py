"""An answer, or a whole decision, as one reply in an agent's own form."""

from __future__ import annotations

from anyhook.model.answers import Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.dialects.base import Dialect, EventSpec, OutputField
    from anyhook.model.decisions import Decision

EXTRA = "extra."


def encode_answer(dialect: Dialect, spec: EventSpec, answer: Answer) -> dict[str, Any]:
    """Write what one hook says as its dialect's JSON.

    Args:
        dialect: Whose form.
        spec: The event.
        answer: What to say; `tool_input` is the whole input where the dialect replaces it.

    Returns:
        A JSON object; empty if there is nothing to say. What the event has no member for is not
        in it.
    """
    reply: dict[str, Any] = {}
    for item in dialect.written(spec.canonical):
        value = _value(dialect, item, answer)
        if value is None:
            continue
        target = reply
        for depth, key in enumerate(item.path[:-1]):
            target = target.setdefault(key, _with_event_name(dialect, spec, key, depth))
        target[item.path[-1]] = value
    return reply


def encode_decision(dialect: Dialect, spec: EventSpec, decision: Decision) -> dict[str, Any]:
    """Write a decision as one reply in the dialect's own form.

    Args:
        dialect: Whose form.
        spec: The event.
        decision: The decision.

    Returns:
        A JSON object; empty if the decision is to do nothing.
    """
    return encode_answer(dialect, spec, answer_of(decision))


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


def reply_bytes(dialect: Dialect, spec: EventSpec, answer: Answer) -> bytes:
    """Write what a program prints to give an answer: JSON, or what stands for no opinion.

    Args:
        dialect: Whose form.
        spec: The event.
        answer: What to say; what JSON does not have of it is repaired.
    """
    path = (answer.extra or {}).get("worktree_path")
    if isinstance(path, str) and not spec.silence:
        return path.encode()
    reply = encode_answer(dialect, spec, answer)
    return _dump(reply) if reply else spec.silence.encode()


def _dump(reply: dict[str, Any]) -> bytes:
    import json

    try:
        return json.dumps(reply, ensure_ascii=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        from anyhook.model.json import repair

        return json.dumps(repair(reply)).encode()


def _value(dialect: Dialect, item: OutputField, answer: Answer) -> Any:
    if item.field.startswith(EXTRA):
        return (answer.extra or {}).get(item.field.removeprefix(EXTRA))
    value = getattr(answer, item.field)
    if value is None or (value is False and item.kind != "any"):
        return None
    write = WRITERS.get(item.kind)
    return write(dialect, item, answer) if write else value


def _write_word(dialect: Dialect, item: OutputField, answer: Answer) -> str | None:
    said = (answer.outcome, answer.approve)
    words = item.words or dialect.words
    return next((word for word, meaning in words.items() if meaning == said), None)


WRITERS: dict[str, Callable[[Dialect, OutputField, Answer], Any]] = {
    "decision": _write_word,
    "not_boolean": lambda _dialect, _item, _answer: False,
    "interrupt": lambda _dialect, _item, answer: answer.outcome is Outcome.DENY or None,
}
"""Kinds of members that are not written as they are."""


def _with_event_name(dialect: Dialect, spec: EventSpec, key: str, depth: int) -> dict[str, Any]:
    path = dialect.output_event_key
    return {path[1]: spec.wire} if depth == 0 and path and path[0] == key else {}


def _verdict_reason(decision: Decision) -> str:
    said = (r.answer.reason for r in decision.results if r.answer.outcome is decision.outcome)
    return "\n".join(reason for reason in said if reason)
