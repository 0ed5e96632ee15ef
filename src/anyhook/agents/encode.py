"""Answers and decisions to replies in an agent's own form."""

from __future__ import annotations

import json

from anyhook.agents.spec import EVENT_NAME, Denial
from anyhook.model.answers import Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec, OutputField
    from anyhook.model.decisions import Decision

DEFAULT_CONTINUATION = "A hook wants you to go on."
"""Prompt of an agent that a hook continues without a reason."""
NAMED_REASON = "blocked by hook '{label}'"
"""Written where an agent ignores a denial without a reason; `RuleSet.default_reason` in engines."""
DEFAULT_REASON = "blocked by a hook"
"""The same where the name of the hook is not known."""
EXTRA = "extra."
"""Prefix of `OutputField.field` of members that are entries of `Answer.extra`."""
RESULT_TEXT = "textResultForLlm"
RESULT_TYPE = "resultType"
"""Members of a value of the kind `result_object`."""
_encode = json.JSONEncoder(allow_nan=False).encode
"""Made when the module is imported: a hook may replace `json.dumps` later."""
_UNSET_BY_DEFAULT = frozenset(
    [name for name in Answer.record_fields if getattr(Answer, name) is None]
)


def encode_answer(agent: AgentSpec, spec: EventSpec, answer: Answer) -> dict[str, Any]:
    """Return the answer of a hook as a reply to its agent.

    Fields for which the event has no member are left out; the reply is empty if there is nothing to
    say. `tool_input` is the whole input where the agent replaces it.
    """
    if agent.make_valid is not None:
        answer = agent.make_valid(spec, answer)
    answer = give_reason(agent, spec, answer, DEFAULT_REASON)
    reply: dict[str, Any] = {}
    for item in agent.written_fields(spec.canonical):
        is_unset = item.field in _UNSET_BY_DEFAULT and item.field not in answer.__dict__
        if is_unset and item.kind != "shown_reason":
            continue
        value = _member_value(agent, item, answer)
        if value is not None:
            container = reply
            for key in item.path[:-1]:
                container = container.setdefault(key, {})
            container[item.path[-1]] = value
    container_name, key = EVENT_NAME
    if agent.event_name_rule and container_name in reply:
        reply[container_name] = {key: spec.wire, **reply[container_name]}
    return reply


def give_reason(agent: AgentSpec, spec: EventSpec, answer: Answer, reason: str) -> Answer:
    """Return the answer, with a reason if it is a denial that the agent ignores without one."""
    if answer.outcome is not Outcome.DENY or _has_reason(answer):
        return answer
    kinds = [item.kind for item in agent.written_fields(spec.canonical)]
    # The reason is the prompt with which the agent continues; "continuation" has one of its own.
    is_prompt = spec.denial is Denial.CONTINUES and "continuation" not in kinds
    if is_prompt or spec.requires_reason:
        return answer.replace(reason=reason)
    return answer


def _has_reason(answer: Answer) -> bool:
    return bool(answer.reason and answer.reason.strip())


def _member_value(agent: AgentSpec, item: OutputField, answer: Answer) -> Any:
    """Return the value of a member of the reply; `None` to leave it out."""
    if item.field.startswith(EXTRA):
        return (answer.extra or {}).get(item.field.removeprefix(EXTRA))
    if item.kind == "continuation":
        if answer.outcome is not Outcome.DENY:
            return None
        return answer.reason if _has_reason(answer) else DEFAULT_CONTINUATION
    if item.kind == "shown_reason":
        text = getattr(answer, item.field)
        has_reason = text is None and answer.outcome in (Outcome.DENY, Outcome.ASK)
        return answer.reason if has_reason else text
    value = getattr(answer, item.field)
    if value is None or (value is False and item.kind != "any"):
        return None
    match item.kind:
        case "decision" | "explained_decision":
            verdict = (answer.outcome, answer.approve)
            words = item.words or agent.decision_words
            return next((word for word, meaning in words.items() if meaning == verdict), None)
        case "not_boolean":
            return False
        case "false_denies":
            return False if answer.outcome is Outcome.DENY else None
        case "result_object":
            return _result_object(value)
        case "interrupt" | "denied_interrupt":  # only a denial can interrupt the agent
            return True if answer.outcome is Outcome.DENY else None
        case _:
            return value


def _result_object(value: Any) -> Any:
    """Return the result of a tool as the object that has its text."""
    if isinstance(value, dict) and RESULT_TEXT in value:
        return value
    from anyhook.model.tools import read_result

    result = read_result(value)
    return result_object(result.text or result.error or "", failed=result.error is not None)


def result_object(text: str, *, failed: bool) -> dict[str, str]:
    """Return the result of a tool as a member of the kind `result_object` holds it."""
    return {RESULT_TYPE: "failure" if failed else "success", RESULT_TEXT: text}


def answer_of(decision: Decision) -> Answer:
    """Return a decision as the answer of one hook."""
    winners = [r.answer for r in decision.results if r.answer.outcome is decision.outcome]
    reasons = [answer.reason for answer in winners if answer.reason]
    return Answer(
        outcome=decision.outcome,
        approve=decision.approve,
        reason="\n".join(reasons) or None,
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
    """Return what a hook prints on standard output to give an answer.

    Values that are not valid JSON are repaired.
    """
    if not spec.no_opinion_output:
        text = _plain_output(agent, spec, answer)
        if text is not None:
            return text.encode("utf-8", "replace")
    reply = encode_answer(agent, spec, answer)
    if not reply:
        return spec.no_opinion_output.encode()
    try:
        return _encode(reply).encode()
    except (TypeError, ValueError, RecursionError):
        from anyhook.model.json import repair

        return _encode(repair(reply)).encode()


def _plain_output(agent: AgentSpec, spec: EventSpec, answer: Answer) -> str | None:
    """Return the text to print, where the agent interprets all output as one field."""
    path = (answer.extra or {}).get("worktree_path")
    if isinstance(path, str):
        return path
    rules = agent.newest_rules
    field = rules.by_canonical[spec.canonical].stdout_field
    unset = (None, False, Outcome.NONE)
    fields = [name for name in answer.record_fields if getattr(answer, name) not in unset]
    if field is None or fields != [field]:
        return None
    text = getattr(answer, field)
    return text if isinstance(text, str) else None
