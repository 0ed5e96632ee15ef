"""Which handlers run for an event, in which order, and which of them in sequence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.matching.matchers import compile_matcher, explain_cost
from anyhook.model.diagnostics import diagnose
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Plan:
    """The ordered, de-duplicated handlers for one event.

    Attributes:
        groups: Handlers of one group run in order, each seeing what the one before changed; the
            groups run side by side.
        diagnostics: Matchers that were not evaluated, because that can take for ever.
    """

    groups: tuple[tuple[HandlerSpec, ...], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def handlers(self) -> tuple[HandlerSpec, ...]:
        """All handlers in plan order."""
        return tuple(handler for group in self.groups for handler in group)


EMPTY_PLAN = Plan()


def make_plan(
    agent: AgentSpec,
    rules: RuleSet,
    definitions: Iterable[HookDefinition],
    event: str,
    subject: str | None,
    *,
    is_on: Callable[[HandlerSpec], bool] = lambda _handler: True,
    may_match: Callable[[HookDefinition], bool] = lambda _definition: True,
) -> Plan:
    """Choose and order the handlers for an event.

    Layers come in the agent's order, definitions of a layer in file order. Of handlers with the
    same identity one runs: the first, unless a later one comes from a layer with more authority.
    So a project cannot put its own version in front of a hook of the user or the system.

    Args:
        agent: Gives the order and the authority of layers.
        rules: How matchers are read, and what makes two handlers one.
        definitions: All definitions, each layer's in file order.
        event: Canonical name of the event.
        subject: What matchers see; `None` if the event has nothing to match.
        is_on: Tells whether a handler is switched on.
        may_match: Tells whether a definition's regular expression may be evaluated. One of
            strangers can take for ever; one that may not be evaluated counts as a match.

    Returns:
        The plan.
    """
    spec = rules.by_canonical[event]
    names = agent.match_names(spec, subject)
    rank = {layer: place for place, layer in enumerate(agent.layer_order)}

    problems: list[Diagnostic] = []

    def covers(definition: HookDefinition) -> bool:
        matcher = compile_matcher(definition.matcher, spec.matcher_style)
        if matcher.expression is not None and not may_match(definition):
            return True
        if not all(matcher.is_evaluated(name) for name in names):
            problems.append(diagnose("costly-matcher", explain_cost(matcher), definition.place))
        return any(matcher.matches(name) for name in names)

    matched = sorted(
        (
            definition
            for definition in definitions
            if definition.event == event and covers(definition)
        ),
        key=lambda definition: rank[definition.layer],
    )
    standing: dict[tuple[object, ...], HandlerSpec] = {}
    for definition in matched:
        for handler in definition.handlers:
            if not (_runs_on(spec, handler) and is_on(handler)):
                continue
            key = SAME[rules.handler_identity](handler)
            other = standing.setdefault(key, handler)
            if agent.authority[handler.layer] > agent.authority[other.layer]:
                standing[key] = handler
    runs = {id(handler) for handler in standing.values()}
    groups: list[tuple[HandlerSpec, ...]] = []
    for definition in matched:
        own = tuple(handler for handler in definition.handlers if id(handler) in runs)
        if definition.sequential and own:
            groups.append(own)
        else:
            groups += [(handler,) for handler in own]
    if rules.sequence_scope == "all" and any(d.sequential for d in matched if _has(d, runs)):
        groups = [tuple(handler for group in groups for handler in group)]
    return Plan(tuple(groups), tuple(problems)) if groups else EMPTY_PLAN


def _has(definition: HookDefinition, runs: set[int]) -> bool:
    return any(id(handler) in runs for handler in definition.handlers)


def _runs_on(spec: EventSpec, handler: HandlerSpec) -> bool:
    """Tell whether an event runs a kind of handler, and looks at its condition if it has one."""
    if handler.condition is not None and not spec.supports_conditions:
        return False
    return (
        spec.handler_kinds is None
        or handler.kind in spec.handler_kinds
        or handler.layer is Layer.RUNTIME
    )


SAME: dict[str, Callable[[HandlerSpec], tuple[object, ...]]] = {
    "identity": lambda handler: handler.identity,
    "name_and_command": lambda handler: (
        handler.identity
        if handler.command is None
        else (handler.kind, f"{handler.name or ''}:{handler.command}")
    ),
}
"""What makes two handlers one."""
