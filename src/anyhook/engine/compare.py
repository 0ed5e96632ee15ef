"""The decision under another rule set, from the same results: no handler runs again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents.output import ProcessExit, decode_exit, event_tools
from anyhook.engine.combine import combine
from anyhook.engine.forms import answer_from_form, form_rules
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Decision, HandlerResult, Status
from anyhook.model.record import Record, replace
from anyhook.model.text import cut

if TYPE_CHECKING:
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
MAX_VALUE_WIDTH = 60
"""Characters of a value in a message."""


class RulesDifference(Record):
    """A rule set under which the decision differs.

    Attributes:
        rules: Name of the rule set.
        release: The reference or the release that it describes.
        decision: The decision under that rule set.
        fields: Field of the decision to its values under the engine's rule set and the other one.
        only_here: Labels of handlers that do not run under the other rule set.
        only_there: Labels of handlers that only run under the other rule set.
    """

    rules: str
    release: str
    decision: Decision
    fields: dict[str, tuple[Any, Any]]
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()

    def __str__(self) -> str:
        changes: list[str] = []
        for name, (own, other) in self.fields.items():
            changes.append(f"{name} is {_format(other)} instead of {_format(own)}")
        changes += [f"{label!r} does not run" for label in self.only_here]
        changes += [f"{label!r} runs too" for label in self.only_there]
        return f"under the rules {self.rules!r} ({self.release}): {'; '.join(changes)}"


def differences(engine: Engine, event: Event, decision: Decision) -> list[RulesDifference]:
    """Compare a decision with those under the agent's other rule sets.

    Return one difference for each rule set that decides otherwise. A handler that runs only under
    another rule set is named; its answer is not known.
    """
    changed: list[RulesDifference] = []
    for rules in engine.agent.rule_sets.values():
        if rules is engine.rules or event.name not in rules.by_canonical:
            continue
        difference = _compare(engine, rules, event, decision)
        if difference.fields or difference.only_here or difference.only_there:
            changed.append(difference)
    return changed


def _compare(engine: Engine, rules: RuleSet, event: Event, decision: Decision) -> RulesDifference:
    # By identity: two equal entries of settings are two handlers.
    own_results = {id(result.handler): result for result in decision.results}
    plan = engine.plan(event, rules)
    groups: list[tuple[HandlerResult, ...]] = []
    only_there: list[str] = []
    for handlers in plan.groups:
        results: list[HandlerResult] = []
        for handler in handlers:
            result = own_results.get(id(handler))
            if result is not None:
                results.append(_decode_again(engine, rules, event, result))
            elif engine.runs(handler):
                only_there.append(handler.label)
        if results:
            groups.append(tuple(results))
    planned = {id(handler) for handler in plan.handlers}
    not_planned = [result for result in decision.results if id(result.handler) not in planned]
    other = combine(rules, rules.by_canonical[event.name], event, tuple(groups))
    changed: dict[str, tuple[Any, Any]] = {}
    for name in COMPARED:
        if name == "reason" and not (decision.denied and other.denied):
            continue
        own_value = _effective_value(engine.rules, event, decision, name)
        other_value = _effective_value(rules, event, other, name)
        if own_value != other_value:
            changed[name] = (own_value, other_value)
    return RulesDifference(
        rules=rules.name,
        release=rules.release,
        decision=other,
        fields=changed,
        only_here=tuple(result.handler.label for result in not_planned),
        only_there=tuple(only_there),
    )


def _decode_again(
    engine: Engine, rules: RuleSet, event: Event, result: HandlerResult
) -> HandlerResult:
    """Decode the end of a command by other rules; other results do not depend on them."""
    has_output = result.status in (Status.RAN, Status.WARNED)
    if result.handler.kind != "command" or result.handler.shadow or not has_output:
        return result
    end = ProcessExit(
        result.exit_code, result.signal, result.stdout, result.stderr, result.truncated
    )
    form = result.handler.form
    rules = form_rules(engine.agent, rules, form)
    spec = rules.by_canonical[event.name]
    tools = event_tools(spec, event)
    agent = engine.agent.form(form)
    output = decode_exit(agent, rules, spec, result.handler, end, tools=tools)
    answer = answer_from_form(engine.agent, form, event, output.answer)
    return replace(result, status=output.status, answer=answer, reply=output.reply)


def _effective_value(rules: RuleSet, event: Event, decision: Decision, name: str) -> Any:
    """Return what the agent does with a field of a decision."""
    value = getattr(decision, name)
    if value is Outcome.ALLOW:
        return Outcome.NONE  # an agent treats an allowance that approves nothing like no verdict
    base = getattr(event, name, None)
    if name in rules.merged_by_agent and isinstance(value, dict) and isinstance(base, dict):
        return {**base, **value}
    return value


def _format(value: object) -> str:
    if value in (None, (), ""):
        return "nothing"
    if isinstance(value, Outcome):
        return str(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, MAX_VALUE_WIDTH)
