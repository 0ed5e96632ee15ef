"""How several answers to one event become one, and what the next handler of a sequence sees.

The functions of a hook file (`anyhook.authoring`) and the handlers of an engine
(`anyhook.engine`) are combined by these rules. The engine adds who set which field.
"""

from __future__ import annotations

from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome, join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from anyhook.model.events import Event

SEQUENCE: dict[str, dict[str, str]] = {
    "before_prompt": {"context": "prompt"},
    "before_model": {"llm_request": "llm_request"},
    "after_model": {"llm_response": "llm_response"},
    "before_tool": {"tool_input": "tool_input"},
}
"""Event to the fields of an answer that change it, with the field that each changes."""

ACTION_STRENGTH = {"accept": 1, "cancel": 2, "decline": 3}
"""Answers to an MCP elicitation (`extra["action"]`), weakest first."""


# -- sequences


def ends_sequence(answer: Answer) -> bool:
    """Return whether the handlers after the one that gave this answer are skipped."""
    return answer.stop or answer.outcome is Outcome.DENY


def advance(
    chain: Mapping[str, str],
    event: Event,
    answer: Answer,
    changes: Mapping[str, Callable[[Any, Any], Any]] | None = None,
) -> Event:
    """Return the event as the next handler of a sequence sees it.

    `event` is as the previous handler saw it. The chain holds the event's field that each field of
    the answer changes, and `changes` how; by default `CHANGES`.
    """
    if changes is None:
        changes = CHANGES
    values: dict[str, Any] = {}
    for field, target in chain.items():
        change = getattr(answer, field)
        if change is None:
            continue
        value = getattr(event, target)
        # The payload of an agent may hold another type than its reference promises.
        expected_type = dict if isinstance(change, dict) else str
        if not isinstance(value, expected_type):
            value = expected_type()
        values[target] = changes[field](value, change)
    if not values:
        return event
    return event.replace(**values)


def update_object(value: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the members of another one laid over it."""
    return {**value, **change}


def replace_value(_value: Any, change: Any) -> Any:
    """Return the new value alone."""
    return change


def append_text(text: str, addition: str) -> str:
    """Return a text with another one below it, if that is not empty."""
    return f"{text}\n\n{addition}" if addition else text


def _merge_request(request: Any, change: Any) -> Any:
    from anyhook.model.llm import merge_request

    return merge_request(request, change)


def _merge_response(response: Any, change: Any) -> Any:
    from anyhook.model.llm import merge_response

    return merge_response(response, change)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "tool_input": update_object,
    "tool_output": replace_value,
    "context": append_text,
    "llm_request": _merge_request,
    "llm_response": _merge_response,
}
"""Field of an answer to how it changes what the next handler of a sequence sees."""


# -- combining the values of one field


def is_set(field: str, value: object) -> bool:
    """Return whether a field of an answer holds an opinion. A tool's output may be any JSON."""
    if value is False:
        return field == "tool_output"
    return value is not None


def take_last(values: Sequence[Any]) -> Any:
    """Return the value of the last handler."""
    return values[-1]


def merge_objects(values: Sequence[dict[str, Any]], base: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Lay objects over the event's own; of equal keys the last one counts."""
    merged = dict(base)
    for value in values:
        merged.update(value)
    return merged


def merge_requests(values: Sequence[Any], base: Any = {}) -> Any:  # noqa: B006 - never changed
    """Lay partial requests over the event's own, additional instructions last.

    A conversation that replaces the event's would drop the instructions in front of it.
    """
    from anyhook.model.llm import merge_request, only_instructions

    def adds_instructions(value: Any) -> bool:
        return only_instructions(value.get("messages", ()))

    merged = base
    for value in sorted(values, key=adds_instructions):
        merged = merge_request(merged, value)
    return merged


def merge_responses(values: Sequence[Any], base: Any = {}) -> Any:  # noqa: B006 - never changed
    """Lay partial responses over the event's own."""
    merged = base
    for value in values:
        merged = _merge_response(merged, value)
    return merged


def unite_tool_configs(values: Sequence[Any]) -> Any:
    """Return the union of what several handlers let the model call."""
    from anyhook.model.llm import union_tool_configs

    return union_tool_configs(values)


def combine_extras(extras: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine fields that only some agents know: lists are joined, else one value stands."""
    values_by_name: dict[str, list[Any]] = {}
    for extra in extras:
        for name, value in extra.items():
            values_by_name.setdefault(name, []).append(value)
    combined: dict[str, Any] = {}
    for name, values in values_by_name.items():
        lists = [value for value in values if isinstance(value, list)]
        if lists:
            combined[name] = []
            for items in lists:
                combined[name] += items
        else:
            combined[name] = values[winning_index(name, values)]
    if combined.get("action", "accept") != "accept":
        combined.pop("content", None)  # only an accepted elicitation sends what was entered
    return combined


def winning_index(name: str, values: Sequence[Any]) -> int:
    """Return the index of the extra value that stands: the last one, or the strongest action."""
    if name != "action":
        return len(values) - 1
    strongest = 0
    for index, action in enumerate(values):
        if _action_strength(action) >= _action_strength(values[strongest]):
            strongest = index
    return strongest


def _action_strength(action: object) -> int:
    return ACTION_STRENGTH.get(str(action), 0)


COMBINE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "system_message": join_lines,
    "suppress_output": any,
    "context": join_lines,
    "tool_input": merge_objects,
    "llm_request": merge_requests,
    "llm_response": take_last,
    "tool_config": unite_tool_configs,
    "clear_context": any,
    "tail_tool_call": take_last,
    "tool_output": take_last,
    "extra": combine_extras,
}
"""Field of an answer to how several values become one."""


# -- combining whole answers


def strongest_outcome(answers: Iterable[Answer]) -> Outcome:
    """Return the strongest verdict: deny > defer > ask > allow > none."""
    outcomes = [answer.outcome for answer in answers]
    return max(outcomes, key=STRENGTH.__getitem__, default=Outcome.NONE)


def carries(answer: Answer, outcome: Outcome) -> bool:
    """Return whether an answer gave the verdict that counts."""
    return answer.outcome is outcome is not Outcome.NONE


def combine_answers(answers: Sequence[Answer], *, patches_response: bool = False) -> Answer:
    """Make one answer of several.

    They are in the order in which they were given. With `patches_response`, a response changes the
    model's instead of replacing it.
    """
    answers = [answer for answer in answers if answer is not NO_OPINION]
    if not answers:
        return NO_OPINION
    if len(answers) == 1:
        return answers[0]
    outcome = strongest_outcome(answers)
    carriers = [answer for answer in answers if carries(answer, outcome)]
    stoppers = [answer for answer in answers if answer.stop]
    fields: dict[str, Any] = {
        "outcome": outcome,
        "approve": outcome is Outcome.ALLOW and any(answer.approve for answer in carriers),
        "reason": join_lines(answer.reason for answer in carriers),
        "stop": bool(stoppers),
        "stop_reason": join_lines(answer.stop_reason or answer.reason for answer in stoppers),
    }
    for field, combine in COMBINE.items():
        values = [getattr(answer, field) for answer in answers]
        values = [value for value in values if is_set(field, value)]
        if not values:
            continue
        if field == "llm_response" and patches_response:
            fields[field] = merge_responses(values)
        else:
            fields[field] = combine(values)
    return Answer(**{field: value for field, value in fields.items() if is_set(field, value)})
