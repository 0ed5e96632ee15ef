"""Replies as agents read them."""

from __future__ import annotations

from anyhook.model.answers import Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec, OutputField
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event

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
    for item in agent.written_fields(spec.canonical):
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
    if not spec.no_opinion_output:
        text = path if isinstance(path, str) else _only_text(agent, spec, answer)
        if text is not None:
            return text.encode("utf-8", "replace")
    reply = encode_answer(agent, spec, answer)
    return _dump(reply) if reply else spec.no_opinion_output.encode()


def _only_text(agent: AgentSpec, spec: EventSpec, answer: Answer) -> str | None:
    """Return the only text of an answer, where the agent reads all output as such a text."""
    rules = agent.rule_sets.get("observed", agent.documented)
    field = rules.by_canonical[spec.canonical].stdout_field
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
    words = item.words or agent.decision_words
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
