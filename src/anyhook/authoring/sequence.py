"""Several answers to one event as one.

What `anyhook.engine.combine` makes of the handlers of a sequence, without its blame: deny > defer >
ask > allow > nothing, the reasons of those who carried the verdict, all texts, all changes.
"""

from __future__ import annotations

from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def fold(answers: Sequence[Answer], *, patches_response: bool = False) -> Answer:
    """Make one answer of several.

    Args:
        answers: In the order in which they were given.
        patches_response: Whether a response changes the model's rather than standing for it.
    """
    said = [answer for answer in answers if answer is not NO_OPINION]
    if len(said) < 2:
        return said[0] if said else NO_OPINION
    outcome = max((a.outcome for a in said), key=STRENGTH.__getitem__)
    carriers = [a for a in said if a.outcome is outcome is not Outcome.NONE]
    stoppers = [a for a in said if a.stop]
    fields: dict[str, Any] = {
        "outcome": outcome,
        "approve": outcome is Outcome.ALLOW and any(a.approve for a in carriers),
        "reason": _lines([a.reason for a in carriers]),
        "stop": bool(stoppers),
        "stop_reason": _lines([a.stop_reason or a.reason for a in stoppers]),
    }
    for name, join in JOINS.items():
        values = [v for a in said if (v := getattr(a, name)) is not None and v is not False]
        if values:
            fields[name] = join(values)
    if patches_response and fields.get("llm_response") is not None:
        from anyhook.model.llm import merge_response

        whole: Any = {}
        for answer in said:
            whole = merge_response(whole, answer.llm_response or {})
        fields["llm_response"] = whole
    return Answer(**{n: v for n, v in fields.items() if v is not None and v is not False})


def _lines(texts: Sequence[str | None]) -> str | None:
    return "\n".join(text for text in texts if text) or None


def _merged(values: list[Any]) -> Any:
    return {key: item for value in values for key, item in value.items()}


def _request(values: list[Any]) -> Any:
    """Join partial requests: messages that replace the conversation first, then additions."""
    from anyhook.model.llm import merge_request, only_instructions

    whole: Any = {}
    for value in sorted(values, key=lambda v: only_instructions(v.get("messages", ()))):
        whole = merge_request(whole, value)
    return whole


def _union(values: list[Any]) -> Any:
    from anyhook.model.llm import union_tool_configs

    return union_tool_configs(values)


JOINS: dict[str, Callable[[list[Any]], Any]] = {
    "system_message": _lines,
    "suppress_output": any,
    "context": _lines,
    "tool_input": _merged,
    "llm_request": _request,
    "llm_response": lambda values: values[-1],
    "tool_config": _union,
    "clear_context": any,
    "tail_tool_call": lambda values: values[-1],
    "tool_output": lambda values: values[-1],
    "extra": _merged,
}
"""Field of an answer to how several values become one."""
