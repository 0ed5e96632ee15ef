"""What another reading of the rules makes of what the handlers said, without running them again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.output import ProcessExit, decode_exit, event_tools
from anyhook.engine.combine import combine
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Decision, HandlerResult, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import RuleSet
    from anyhook.engine.engine import Engine
    from anyhook.model.events import Event

COMPARED = (
    "outcome",
    "approve",
    "stop",
    "stops_after",
    "reason",
    "tool_input",
    "tool_output",
    "context",
    "llm_request",
    "llm_response",
    "tool_config",
    "clear_context",
    "tail_tool_call",
)
"""Fields of a decision that change what an agent does."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where another reading decides otherwise.

    Attributes:
        rules: Its name.
        release: What it describes.
        decision: What it decides.
        fields: Field of the decision to its value here and there.
        only_here: Labels of handlers that it would not run.
        only_there: Labels of handlers that it would run as well.
    """

    rules: str
    release: str
    decision: Decision
    fields: dict[str, tuple[Any, Any]]
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [
            f"{name} is {_shown(there)} instead of {_shown(here)}"
            for name, (here, there) in self.fields.items()
        ]
        said += [f"{label!r} does not run" for label in self.only_here]
        said += [f"{label!r} runs too" for label in self.only_there]
        return f"under the rules {self.rules!r} ({self.release}): {'; '.join(said)}"


def differences(engine: Engine, event: Event, decision: Decision) -> list[Difference]:
    """Compare a decision with what the agent's other readings make of the same results.

    Args:
        engine: Whose decision it is.
        event: The event as it was dispatched.
        decision: The decision.

    Returns:
        One for each reading that decides otherwise. A handler that another reading would run and
        this one did not is named; what it would say is not known.
    """
    found = []
    for rules in engine.agent.rule_sets.values():
        if rules is not engine.rules and event.name in rules.by_canonical:
            difference = _compare(engine, rules, event, decision)
            if difference.fields or difference.only_here or difference.only_there:
                found.append(difference)
    return found


def _compare(engine: Engine, rules: RuleSet, event: Event, decision: Decision) -> Difference:
    spec = rules.by_canonical[event.name]
    ran = {id(result.handler): result for result in decision.results}
    groups = engine.plan(event, rules).groups
    there = {id(handler) for group in groups for handler in group}
    results = tuple(
        tuple(_read_again(engine, rules, event, ran[id(h)]) for h in group if id(h) in ran)
        for group in groups
    )
    other = combine(rules, spec, event, tuple(group for group in results if group))
    return Difference(
        rules.name,
        rules.release,
        other,
        dict(_changed(event, (engine.rules, decision), (rules, other))),
        tuple(r.handler.label for r in decision.results if id(r.handler) not in there),
        tuple(h.label for group in groups for h in group if id(h) not in ran and engine.runs(h)),
    )


def _read_again(
    engine: Engine, rules: RuleSet, event: Event, result: HandlerResult
) -> HandlerResult:
    """Read the end of a command under other rules; everything else said what it said."""
    if result.handler.kind != "command" or result.status not in (Status.RAN, Status.WARNED):
        return result
    end = ProcessExit(
        result.exit_code, result.signal, result.stdout, result.stderr, result.truncated
    )
    spec = rules.by_canonical[event.name]
    tools = event_tools(spec, event)
    said = decode_exit(engine.agent, rules, spec, result.handler, end, tools=tools)
    return replace(result, status=said.status, answer=said.answer)


def _changed(
    event: Event, ours: tuple[RuleSet, Decision], theirs: tuple[RuleSet, Decision]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    here, there = ours[1], theirs[1]
    for name in COMPARED:
        mine, other = (_value(event, rules, decision, name) for rules, decision in (ours, theirs))
        if name == "outcome":
            mine, other = _effect(mine), _effect(other)
        if name == "reason" and not (here.denied and there.denied):
            continue
        if mine != other:
            yield name, (mine, other)


def _value(event: Event, rules: RuleSet, decision: Decision, name: str) -> Any:
    """Return what a field of a decision amounts to: a part that the agent merges is whole."""
    value = getattr(decision, name)
    base = getattr(event, name, None)
    if name in rules.merged_by_agent and isinstance(value, dict) and isinstance(base, dict):
        return {**base, **value}
    return value


def _effect(outcome: Outcome) -> Outcome:
    """An allowance that approves nothing is no opinion to an agent."""
    return Outcome.NONE if outcome is Outcome.ALLOW else outcome


def _shown(value: object) -> str:
    if value in (None, (), ""):
        return "nothing"
    if isinstance(value, Outcome):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
