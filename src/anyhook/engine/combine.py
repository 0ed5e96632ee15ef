"""From results to a decision. Pure, and independent of the order in which handlers finished.

The verdict is the strongest: stop > deny > defer > ask > allow > nothing. Every other field has a
policy in `POLICIES`. An event of an agent can name another way for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import Denial
from anyhook.model.answers import NO_OPINION, STRENGTH, Audience, Outcome
from anyhook.model.decisions import NO_DECISION, Blame, Decision, Message, Overridden, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.llm import (
    complete_response,
    merge_request,
    merge_response,
    only_instructions,
    union_tool_configs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.engine.run import Results
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


@dataclass(frozen=True, slots=True)
class Entry:
    """What one handler said about one field.

    Attributes:
        handler: Who.
        group: Index of its group; handlers of one group saw each other's changes.
        value: What it said.
    """

    handler: HandlerSpec
    group: int
    value: Any


@dataclass(slots=True)
class Draft:
    """A decision in the making."""

    spec: EventSpec
    event: Event
    fields: dict[str, Any] = field(default_factory=dict)
    blame: dict[str, tuple[Blame, ...]] = field(default_factory=dict)
    conflicts: list[Diagnostic] = field(default_factory=list)

    def set(self, name: str, value: object, blames: list[Blame]) -> None:
        """Set a field of the decision and say who did."""
        self.fields[name] = value
        self.blame[name] = tuple(blames)

    def conflict(self, name: str, winner: Entry, loser: Entry) -> None:
        """Note that two handlers that ran side by side disagree."""
        self.conflicts.append(
            diagnose(
                "conflict",
                f"{self.spec.wire}: {winner.handler.label!r} and {loser.handler.label!r} ran side "
                f"by side and set {name} differently; {winner.handler.label!r} comes later in the "
                "plan and stands",
                winner.handler.place,
                handler=winner.handler.label,
            )
        )


def combine(rules: RuleSet, spec: EventSpec, event: Event, results: Results) -> Decision:
    """Add up what the handlers said.

    Args:
        rules: The reading of the agent.
        spec: The event under that reading.
        event: The event as it was dispatched.
        results: In plan order, grouped as the plan is.

    Returns:
        The decision. Total: whatever the handlers said.
    """
    flat = [
        (group, _explained(rules, spec, result))
        for group, many in enumerate(results)
        for result in many
    ]
    if not flat:
        return NO_DECISION
    draft = Draft(spec, event)
    answers = [(group, result) for group, result in flat if result.answer is not NO_OPINION]
    if answers:
        _add_up(rules, draft, answers)
    return Decision(
        **draft.fields,
        messages=tuple(_route(rules, spec, flat, draft.fields.get("outcome", Outcome.NONE))),
        blame=draft.blame,
        results=tuple(result for _, result in flat),
        diagnostics=(*(d for _, result in flat for d in result.diagnostics), *draft.conflicts),
    )


def _explained(rules: RuleSet, spec: EventSpec, result: HandlerResult) -> HandlerResult:
    """Give a denial without a reason one that names the hook: the agent reads it."""
    answer = result.answer
    if answer.outcome is not Outcome.DENY or answer.reason or not rules.default_reason:
        return result
    if answer.stop or answer.llm_response is not None or "reason" not in spec.effective_fields:
        return result  # it has another text, or none that anybody reads
    reason = rules.default_reason.format(label=result.handler.label)
    return replace(result, answer=answer.replace(reason=reason))


def _add_up(rules: RuleSet, draft: Draft, answers: list[tuple[int, HandlerResult]]) -> None:
    spec = draft.spec
    said = {name for _, result in answers for name in result.answer.__dict__}
    VERDICTS[spec.verdict_policy](draft, [result for _, result in answers])
    outcome = draft.fields.get("outcome", Outcome.NONE)
    muted = MUTED.get(outcome, frozenset())
    if outcome is Outcome.DENY:
        muted |= spec.discarded_on_denial
    for name, policy in POLICIES.items():
        if name not in said:
            continue
        if name in muted:
            _report_muted(draft, name, _entries(answers, name))
            continue
        entries = _entries(answers, name, wiped=name in rules.cleared_by_invalid)
        if entries:
            chosen = spec.field_policies.get(name, policy)
            if chosen in RULES:
                RULES[chosen](draft, name, entries)
            else:
                _apply_coercion(rules, draft, name, entries[-1], chosen)
    if "extra" in said:
        _extras(draft, answers)


def _report_muted(draft: Draft, name: str, entries: list[Entry]) -> None:
    outcome = draft.fields["outcome"]
    for entry in entries:
        label = entry.handler.label
        draft.conflicts.append(
            diagnose(
                "output-no-effect",
                f"{draft.spec.wire}: {name} of {label!r} has no effect beside {outcome}",
                entry.handler.place,
                handler=label,
            )
        )


ANY_VALUE = frozenset({"tool_output"})
"""Fields whose value may be any JSON, false and nothing-like ones too."""


def _entries(
    answers: list[tuple[int, HandlerResult]], name: str, *, wiped: bool = False
) -> list[Entry]:
    """Return who set a field; `wiped`: a wrong value, said as `None`, takes away what was set."""
    entries: list[Entry] = []
    for group, result in answers:
        value = getattr(result.answer, name)
        if value is not None and (value is not False or name in ANY_VALUE):
            entries.append(Entry(result.handler, group, value))
        elif wiped and name in result.answer.__dict__:
            entries.clear()
    return entries


# -- the verdict


def _strongest(draft: Draft, results: list[HandlerResult]) -> None:
    """Take the strongest verdict, whoever has it."""
    outcome = max(
        (r.answer.outcome for r in results), key=STRENGTH.__getitem__, default=Outcome.NONE
    )
    stoppers = [r for r in results if r.answer.stop]
    carriers = _set_outcome(draft, results, outcome)
    if draft.spec.denial is Denial.ENDS and outcome is Outcome.DENY:
        stoppers = [r for r in results if r in stoppers or r in carriers]
    if stoppers:
        draft.set("stop", True, [Blame(r.handler, True) for r in stoppers])
        draft.fields["stops_after"] = not draft.spec.stop_prevents
    _set_reason(draft, results, stoppers, carriers)


def _last_verdict(draft: Draft, results: list[HandlerResult]) -> None:
    """Take the last verdict that was given, so that an allowance cancels a denial."""
    verdicts = [r for r in results if "outcome" in r.answer.__dict__]
    outcome = verdicts[-1].answer.outcome if verdicts else Outcome.NONE
    stops = [r for r in results if "stop" in r.answer.__dict__]
    stoppers = stops[-1:] if stops and stops[-1].answer.stop else []
    _set_outcome(draft, verdicts[-1:], outcome)
    if stoppers:
        draft.set("stop", True, [Blame(r.handler, True) for r in stoppers])
    _set_last_reason(draft, results)


def _no_verdict(_draft: Draft, _results: list[HandlerResult]) -> None:
    """Take no verdict: the event has none."""


VERDICTS: dict[str, Callable[[Draft, list[HandlerResult]], None]] = {
    "strongest": _strongest,
    "last": _last_verdict,
    "none": _no_verdict,
}
"""Ways to combine verdicts."""

MUTED = {Outcome.DEFER: frozenset({"tool_input", "context"})}
"""Verdict to the fields that it makes void: a call that is left open is asked again, whole."""


def _set_outcome(
    draft: Draft, results: list[HandlerResult], outcome: Outcome
) -> list[HandlerResult]:
    carriers = [r for r in results if r.answer.outcome is outcome is not Outcome.NONE]
    if carriers:
        weaker = tuple(
            Overridden(r.handler, str(r.answer.outcome))
            for r in results
            if 0 < STRENGTH[r.answer.outcome] < STRENGTH[outcome]
        )
        draft.set("outcome", outcome, [Blame(r.handler, str(outcome), weaker) for r in carriers])
    approvers = [r for r in carriers if r.answer.approve]
    if outcome is Outcome.ALLOW and approvers:
        draft.set("approve", True, [Blame(r.handler, True) for r in approvers])
    return carriers


def _set_reason(
    draft: Draft,
    results: list[HandlerResult],
    stoppers: list[HandlerResult],
    carriers: list[HandlerResult],
) -> None:
    """Set the reason: of those who carried the verdict, or, if the event says so, of all."""
    said: list[tuple[HandlerSpec, str | None]]
    if draft.spec.reason_policy == "all":
        stops = [(r.handler, r.answer.stop_reason) for r in stoppers if r.answer.stop_reason]
        said = [*stops] or [(r.handler, r.answer.reason) for r in results]
    else:
        said = [
            (r.handler, (r.answer.stop_reason or r.answer.reason) if stoppers else r.answer.reason)
            for r in (stoppers or carriers)
        ]
    reasons = [Blame(handler, text) for handler, text in said if text]
    if reasons:
        draft.set("reason", "\n".join(str(blame.value) for blame in reasons), reasons)


def _set_last_reason(draft: Draft, results: list[HandlerResult]) -> None:
    """Set the last stop reason that was given, also without a stop; else the last reason."""
    for name in ("stop_reason", "reason"):
        givers = [r for r in results if name in r.answer.__dict__]
        text = getattr(givers[-1].answer, name) if givers else None
        if text:
            draft.set("reason", text, [Blame(givers[-1].handler, text)])
            return


# -- the fields


def _collect(target: str) -> Callable[[Draft, str, list[Entry]], None]:
    def rule(draft: Draft, _name: str, entries: list[Entry]) -> None:
        texts = [e for e in entries if e.value]
        if texts:
            draft.set(
                target, tuple(e.value for e in texts), [Blame(e.handler, e.value) for e in texts]
            )

    return rule


def _every_context(draft: Draft, name: str, entries: list[Entry]) -> None:
    """Take every text, the empty ones too: they make blank lines."""
    blames = [Blame(entry.handler, entry.value) for entry in entries]
    draft.set(name, tuple(entry.value for entry in entries), blames)


def _any(draft: Draft, name: str, entries: list[Entry]) -> None:
    draft.set(name, True, [Blame(entry.handler, True) for entry in entries])


def _last(draft: Draft, name: str, entries: list[Entry]) -> None:
    blames: list[Blame] = []
    for i, entry in enumerate(entries):
        lost = _lost(draft, name, entry, entries[:i])
        blames.append(Blame(entry.handler, entry.value, lost))
    draft.set(name, entries[-1].value, blames[-1:])


def _lost(draft: Draft, name: str, entry: Entry, before: list[Entry]) -> tuple[Overridden, ...]:
    """Return what an entry overrides, and note a conflict with handlers that ran beside it."""
    rivals = [other for other in before if other.value != entry.value]
    for other in rivals:
        if other.group != entry.group:
            draft.conflict(name, entry, other)
    return tuple(Overridden(other.handler, other.value) for other in before)


def _base_of(draft: Draft, name: str) -> dict[str, Any]:
    """Return the event's own value, if it is what it should be."""
    value = getattr(draft.event, name, None)
    return value if isinstance(value, dict) else {}


def _merge_object(draft: Draft, name: str, entries: list[Entry]) -> None:
    """Merge over the event's own object; every key has its own blame."""
    base = _base_of(draft, name)
    merged = dict(base)
    setters: dict[str, list[Entry]] = {}
    for entry in entries:
        for key, value in entry.value.items():
            setters.setdefault(key, []).append(Entry(entry.handler, entry.group, value))
        merged.update(entry.value)
    draft.set(name, merged, [Blame(entry.handler, entry.value) for entry in entries])
    for key, ones in setters.items():
        path = f"{name}.{key}"
        last = ones[-1]
        lost = _lost(draft, path, last, ones[:-1])
        own = (Overridden(None, base[key]),) if key in base and base[key] != last.value else ()
        draft.blame[path] = (Blame(last.handler, last.value, (*own, *lost)),)


def _request(draft: Draft, name: str, entries: list[Entry]) -> None:
    """Lay partial requests over the event's request, in plan order.

    Additional instructions come last, so that no replaced conversation swallows them.
    """
    merged: Any = _base_of(draft, name)
    setters: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: only_instructions(e.value.get("messages", ()))):
        merged = merge_request(merged, entry.value)
    for entry in entries:
        for path, value in _members(entry.value):
            setters.setdefault(path, []).append(Entry(entry.handler, entry.group, value))
    draft.set(name, merged, [Blame(entry.handler, entry.value) for entry in entries])
    for path, ones in setters.items():
        lost = _lost(draft, f"{name}.{path}", ones[-1], ones[:-1])
        own = _own_value(_base_of(draft, name), path)
        if own not in (None, ones[-1].value) and path != "messages":
            lost = (Overridden(None, own), *lost)
        draft.blame[f"{name}.{path}"] = (Blame(ones[-1].handler, ones[-1].value, lost),)


def _own_value(request: dict[str, Any], path: str) -> Any:
    value: Any = request
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _members(request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in request.items():
        if key in ("config", "toolConfig") and isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        elif key != "messages" or not only_instructions(value):
            yield key, value


def _response(draft: Draft, name: str, entries: list[Entry]) -> None:
    """A whole response in place of the model's."""
    _last(draft, name, entries)
    draft.fields[name] = complete_response(draft.fields[name])


def _response_patch(draft: Draft, name: str, entries: list[Entry]) -> None:
    """Lay partial responses over the event's response."""
    merged: Any = _base_of(draft, name)
    for entry in entries:
        merged = merge_response(merged, entry.value)
    blames = [
        Blame(entry.handler, entry.value, _lost(draft, name, entry, entries[:i]))
        for i, entry in enumerate(entries)
    ]
    draft.set(name, merged, blames)


def _union(draft: Draft, name: str, entries: list[Entry]) -> None:
    merged = union_tool_configs(entry.value for entry in entries)
    draft.set(name, merged, [Blame(entry.handler, entry.value) for entry in entries])


def _last_request(draft: Draft, name: str, entries: list[Entry]) -> None:
    """Lay the last partial request alone over the event's."""
    _request(draft, name, entries[-1:])


def _response_of_denial(draft: Draft, name: str, entries: list[Entry]) -> None:
    """A response counts only beside a denial."""
    if draft.fields.get("outcome") is Outcome.DENY:
        _response(draft, name, entries)


def _shown_response(draft: Draft, name: str, entries: list[Entry]) -> None:
    """The last response counts, if its first candidate has parts."""
    last = entries[-1]
    candidates = last.value.get("candidates") or [{}]
    if candidates[0].get("content", {}).get("parts"):
        draft.set(name, last.value, [Blame(last.handler, last.value)])


def _apply_coercion(rules: RuleSet, draft: Draft, name: str, last: Entry, policy: str) -> None:
    """Combine a field as a release that checks no types does (`Coercions.policies`)."""
    coercions = rules.loaded_coercions
    if coercions is None:
        return
    changes = coercions.policies[policy](draft.fields, _base_of(draft, name), last.value)
    for field_name, value in changes.items():
        if value is None:
            draft.fields.pop(field_name, None)
            draft.blame.pop(field_name, None)
        else:
            draft.set(field_name, value, [Blame(last.handler, last.value)])


def _extras(draft: Draft, answers: list[tuple[int, HandlerResult]]) -> None:
    """Combine what only some agents know, name by name."""
    names = dict.fromkeys(name for _, r in answers for name in r.answer.extra or ())
    extra: dict[str, Any] = {}
    for name in names:
        entries = [
            Entry(r.handler, group, (r.answer.extra or {})[name])
            for group, r in answers
            if name in (r.answer.extra or {})
        ]
        lists = [entry for entry in entries if isinstance(entry.value, list)]
        strength = [(_WEIGHT.get(str(e.value), 0) if name == "action" else 0) for e in entries]
        path = f"extra.{name}"
        if lists:
            extra[name] = [item for entry in lists for item in entry.value]
            draft.blame[path] = tuple(Blame(entry.handler, entry.value) for entry in lists)
            continue
        standing = [e for e, w in zip(entries, strength, strict=True) if w == max(strength)][-1]
        lost = _lost(draft, path, standing, [e for e in entries if e is not standing])
        extra[name] = standing.value
        draft.blame[path] = (Blame(standing.handler, standing.value, lost),)
    if extra.get("action", "accept") != "accept":  # who does not accept gives nothing away
        extra.pop("content", None)
        draft.blame.pop("extra.content", None)
    draft.fields["extra"] = extra


_WEIGHT = {"accept": 1, "cancel": 2, "decline": 3}
"""Answers to a question of a server, the weakest first."""


POLICIES = {
    "system_message": "system_messages",
    "context": "context",
    "suppress_output": "any",
    "tool_input": "merge",
    "llm_request": "request",
    "llm_response": "response",
    "tool_config": "union",
    "clear_context": "any",
    "tail_tool_call": "last",
    "tool_output": "last",
}
"""Field of an answer to its usual policy. The verdict has none: it is always the strongest."""

RULES: dict[str, Callable[[Draft, str, list[Entry]], None]] = {
    "system_messages": _collect("system_messages"),
    "context": _collect("context"),
    "any": _any,
    "last": _last,
    "merge": _merge_object,
    "replace": _last,
    "request": _request,
    "response": _response,
    "response_patch": _response_patch,
    "last_request": _last_request,
    "response_of_denial": _response_of_denial,
    "shown_response": _shown_response,
    "every_context": _every_context,
    "union": _union,
}
"""Policies by name."""

# -- who sees what


def _route(
    rules: RuleSet, spec: EventSpec, flat: list[tuple[int, HandlerResult]], outcome: Outcome
) -> Iterator[Message]:
    by_outcome = {
        Outcome.DENY: spec.reason_audience,
        Outcome.ASK: Audience.USER,
        Outcome.ALLOW: spec.allow_audience,
    }
    is_void = outcome is Outcome.DENY and "context" in spec.discarded_on_denial
    context_for = (
        Audience.AGENT if "context" in spec.effective_fields and not is_void else Audience.DEBUG
    )
    for _, result in flat:
        answer, handler = result.answer, result.handler
        if answer is NO_OPINION and not result.stdout and not result.stderr:
            continue
        carried = answer.outcome is outcome is not Outcome.NONE
        reason_for = by_outcome.get(answer.outcome) if carried else None
        stop_reason = (answer.stop_reason or answer.reason) if answer.stop else None
        pieces = (
            (reason_for or Audience.DEBUG, answer.reason, "reason"),
            (Audience.USER, stop_reason, "stop_reason"),
            (spec.message_audience, answer.system_message, "system_message"),
            (
                context_for,
                answer.context,
                "context",
            ),
            (
                Audience.DEBUG if answer.suppress_output else spec.stdout_audience,
                result.stdout.strip(),
                "stdout",
            ),
            (_stderr_audience(rules, spec, result), result.stderr.strip(), "stderr"),
        )
        for audience, text, name in pieces:
            if text:
                yield Message(audience, text, name, handler)


def _stderr_audience(rules: RuleSet, spec: EventSpec, result: HandlerResult) -> Audience:
    if result.status is not Status.WARNED:
        return Audience.DEBUG
    return spec.block_audience if result.exit_code == BLOCKING else rules.warning_audience


BLOCKING = 2
"""The exit code that denies, where something can be denied."""
