"""How the values that several handlers gave to one field become one value of a decision.

`POLICIES` has the usual policy of each field, `NAMED_POLICIES` those that an event of an agent can
name instead (`EventSpec.field_policies`). Other names belong to the coercions of a rule set, which
reproduce a release that checks no types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.tool_results import required_members
from anyhook.agents.values import fault_in_object
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Blame, Overridden
from anyhook.model.diagnostics import diagnose
from anyhook.model.draft import FieldValue
from anyhook.model.llm import complete_response, only_instructions
from anyhook.model.sequence import (
    combine_extras,
    merge_objects,
    merge_requests,
    merge_responses,
    unite_tool_configs,
    winning_index,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.model.draft import DecisionDraft

    Policy = Callable[[DecisionDraft, str, list[FieldValue]], None]
    CheckingPolicy = Callable[[EventSpec, DecisionDraft, str, list[FieldValue]], None]


def combine_field(
    rules: RuleSet,
    spec: EventSpec,
    draft: DecisionDraft,
    field: str,
    values: list[FieldValue],
) -> None:
    """Set a field of a decision by the policy that the event has for it.

    The values are in plan order; there is at least one.

    Raises:
        LookupError: If there is no policy of this name.
    """
    policy_name = spec.field_policies.get(field)
    if policy_name is None:
        POLICIES[field](draft, field, values)
    elif policy_name in CHECKING_POLICIES:
        CHECKING_POLICIES[policy_name](spec, draft, field, values)
    elif policy_name in NAMED_POLICIES:
        NAMED_POLICIES[policy_name](draft, field, values)
    else:
        # A release that checks no types (`Coercions.policies`).
        coercions, last = rules.loaded_coercions, values[-1]
        if coercions is None or policy_name not in coercions.policies:
            raise LookupError(
                f"the {rules.name} rules have no policy {policy_name!r} for {field!r}"
            )
        coerce = coercions.policies[policy_name]
        changes = coerce(draft.fields, draft.event_object(field), last.value)
        for changed_field, value in changes.items():
            if value is None:
                draft.discard(changed_field)
            else:
                draft.set(changed_field, value, [last.blame()])


def _values(entries: list[FieldValue]) -> list[Any]:
    return [entry.value for entry in entries]


def _blames(entries: list[FieldValue]) -> list[Blame]:
    return [entry.blame() for entry in entries]


def _leave_out(_draft: DecisionDraft, _name: str, _entries: list[FieldValue]) -> None:
    """Leave the field out: only the next handler of a sequence sees it."""


# -- flags and texts


def _set_flag(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Set a flag that at least one handler set."""
    draft.set(field, True, _blames(entries))


def _collect_every(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Collect all texts, also empty ones: they make blank lines."""
    draft.set(field, tuple(_values(entries)), _blames(entries))


def _collect_context(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    texts = [entry for entry in entries if entry.value]
    if texts:
        _collect_every(draft, field, texts)


def _take_last_context(draft: DecisionDraft, name: str, entries: list[FieldValue]) -> None:
    _collect_context(draft, name, entries[-1:])


def _collect_messages(draft: DecisionDraft, _field: str, entries: list[FieldValue]) -> None:
    _collect_context(draft, "system_messages", entries)


# -- values of which one stands


def _take_last(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    overrode: tuple[Overridden, ...] = ()
    for index, entry in enumerate(entries):
        overrode = draft.override(field, entry, entries[:index])
    draft.set(field, entries[-1].value, [entries[-1].blame(overrode)])


def _take_checked_result(
    spec: EventSpec, draft: DecisionDraft, field: str, entries: list[FieldValue]
) -> None:
    """Take the last result that the agent accepts for its tool; report the others."""
    tool = getattr(draft.event, "tool_name", "")
    members = required_members(spec, draft.event)
    usable: list[FieldValue] = []
    for entry in entries:
        fault = fault_in_object(entry.value, members) if members else ""
        if not fault:
            usable.append(entry)
            continue
        problem = f"{draft.event_name}: the agent ignores a changed result of {tool}: {fault}"
        handler = entry.handler
        draft.diagnostics.append(
            diagnose("output-field", problem, handler.place, handler=handler.label)
        )
    if usable:
        _take_last(draft, field, usable)


def _take_last_response(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Use the last whole response instead of the model's."""
    _take_last(draft, field, entries)
    draft.fields[field] = complete_response(draft.fields[field])


def _take_response_of_denial(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Use a response only together with a denial."""
    if draft.outcome is Outcome.DENY:
        _take_last_response(draft, field, entries)


def _take_shown_response(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Use the last response if its first candidate has parts."""
    last = entries[-1]
    candidates = last.value.get("candidates") or [{}]
    if candidates[0].get("content", {}).get("parts"):
        draft.set(field, last.value, [last.blame()])


# -- values that are merged


def _merge_input(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Lay objects over the event's own."""
    base = draft.event_object(field)
    merged = merge_objects(_values(entries), base)
    draft.set(field, merged, _blames(entries))
    _blame_members(draft, field, _group_by_member(entries, _top_members), base)


def _merge_request(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Lay partial requests over the event's request, in plan order."""
    base = draft.event_object(field)
    merged = merge_requests(_values(entries), base)
    draft.set(field, merged, _blames(entries))
    values_of = _group_by_member(entries, _request_members)
    own_values: dict[str, Any] = {}
    for path in values_of:
        own_value: Any = base
        for key in path.split("."):
            own_value = own_value.get(key) if isinstance(own_value, dict) else None
        if own_value is not None and path != "messages":  # a conversation is too long to report
            own_values[path] = own_value
    _blame_members(draft, field, values_of, own_values)


def _blame_members(
    draft: DecisionDraft,
    field: str,
    values_of: dict[str, list[FieldValue]],
    own_values: dict[str, Any],
) -> None:
    """Set the blame of every member of an object.

    `values_of` maps the path of a member to its values in plan order, and `own_values` to its value
    in the event.
    """
    for path, values in values_of.items():
        winner = values[-1]
        overrode = draft.override(f"{field}.{path}", winner, values[:-1])
        if path in own_values and own_values[path] != winner.value:
            overrode = (Overridden(None, own_values[path]), *overrode)
        draft.blame[f"{field}.{path}"] = (winner.blame(overrode),)


def _merge_last_request(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Lay the last partial request alone over the event's."""
    _merge_request(draft, field, entries[-1:])


def _merge_response(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Lay partial responses over the event's response."""
    merged = merge_responses(_values(entries), draft.event_object(field))
    blames: list[Blame] = []
    for index, entry in enumerate(entries):
        blames.append(entry.blame(draft.override(field, entry, entries[:index])))
    draft.set(field, merged, blames)


def _unite_tool_configs(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    united = unite_tool_configs(_values(entries))
    draft.set(field, united, _blames(entries))


def _combine_extras(draft: DecisionDraft, field: str, entries: list[FieldValue]) -> None:
    """Combine fields that only some agents know; every name has its own blame."""
    draft.fields[field] = combine_extras(_values(entries))
    for key, values in _group_by_member(entries, _top_members).items():
        lists = [entry for entry in values if isinstance(entry.value, list)]
        if lists:
            blames = _blames(lists)
        else:
            winner = values[winning_index(key, _values(values))]
            losers = [entry for entry in values if entry is not winner]
            blames = [winner.blame(draft.override(f"{field}.{key}", winner, losers))]
        if key in draft.fields[field]:
            draft.blame[f"{field}.{key}"] = tuple(blames)


def _group_by_member(
    entries: list[FieldValue], members: Callable[[dict[str, Any]], Iterator[tuple[str, Any]]]
) -> dict[str, list[FieldValue]]:
    """Return the path of every member that was set, with its values in plan order."""
    by_path: dict[str, list[FieldValue]] = {}
    for entry in entries:
        for path, value in members(entry.value):
            by_path.setdefault(path, []).append(FieldValue(entry.handler, entry.group, value))
    return by_path


def _top_members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from value.items()


def _request_members(request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a request that override others: additional instructions do not."""
    for key, value in request.items():
        if key in ("config", "toolConfig") and isinstance(value, dict):
            for inner_key, inner_value in value.items():
                yield f"{key}.{inner_key}", inner_value
        elif key != "messages" or not only_instructions(value):
            yield key, value


POLICIES: dict[str, Policy] = {
    "system_message": _collect_messages,
    "context": _collect_context,
    "suppress_output": _set_flag,
    "tool_input": _merge_input,
    "llm_request": _merge_request,
    "llm_response": _take_last_response,
    "tool_config": _unite_tool_configs,
    "clear_context": _set_flag,
    "tail_tool_call": _take_last,
    "tool_output": _take_last,
    "extra": _combine_extras,
}
"""Field of an answer to its usual policy, in the order in which they are applied."""

CHECKING_POLICIES: dict[str, CheckingPolicy] = {
    "checked_result": _take_checked_result,
}
"""Policies that need the tables of the event: `result_members`."""

NAMED_POLICIES: dict[str, Policy] = {
    "every_context": _collect_every,
    "last_context": _take_last_context,
    "last": _take_last,
    "sequence_only": _leave_out,
    # The same as `last`. Besides, the value is a complete input: the engine does not complete it
    # with members of the event (`anyhook.engine.run`).
    "replace_whole": _take_last,
    "response": _take_last_response,
    "response_of_denial": _take_response_of_denial,
    "shown_response": _take_shown_response,
    "last_request": _merge_last_request,
    "response_patch": _merge_response,
}
"""Policies by the name that an event uses."""
