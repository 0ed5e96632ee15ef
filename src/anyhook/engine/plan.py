"""Which handlers run for an event, in which order, and which of them in sequence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.model.matching import compile_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.dialects.base import Dialect
    from anyhook.model.definitions import HandlerSpec, HookDefinition


@dataclass(frozen=True, slots=True)
class Plan:
    """The ordered, de-duplicated handlers for one event.

    Attributes:
        groups: Handlers of one group run in order, each seeing what the one before changed; the
            groups run side by side.
    """

    groups: tuple[tuple[HandlerSpec, ...], ...] = ()

    @property
    def handlers(self) -> tuple[HandlerSpec, ...]:
        """All handlers in plan order."""
        return tuple(handler for group in self.groups for handler in group)


EMPTY_PLAN = Plan()


def make_plan(
    dialect: Dialect,
    definitions: Iterable[HookDefinition],
    event: str,
    subject: str | None,
    *,
    is_on: Callable[[HandlerSpec], bool] = lambda _handler: True,
    may_match: Callable[[HookDefinition], bool] = lambda _definition: True,
) -> Plan:
    """Choose and order the handlers for an event.

    Layers come in the dialect's order, definitions of a layer in file order. Of handlers with the
    same identity one runs: the first, unless a later one comes from a layer with more authority.
    So a project cannot put its own version in front of a hook of the user or the system.

    Args:
        dialect: Gives the order and the authority of layers.
        definitions: All definitions, each layer's in file order.
        event: Canonical name of the event.
        subject: What matchers see; `None` if the event has nothing to match.
        is_on: Tells whether a handler is switched on.
        may_match: Tells whether a definition's regular expression may be evaluated. One of
            strangers can take for ever; one that may not be evaluated counts as a match.

    Returns:
        The plan.
    """
    rank = {layer: place for place, layer in enumerate(dialect.layer_order)}

    def covers(definition: HookDefinition) -> bool:
        matcher = compile_matcher(definition.matcher)
        if matcher.expression is not None and not may_match(definition):
            return True
        return matcher.matches(subject)

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
        for handler in filter(is_on, definition.handlers):
            other = standing.setdefault(handler.identity, handler)
            if dialect.authority[handler.layer] > dialect.authority[other.layer]:
                standing[handler.identity] = handler
    runs = {id(handler) for handler in standing.values()}
    groups: list[tuple[HandlerSpec, ...]] = []
    for definition in matched:
        own = tuple(handler for handler in definition.handlers if id(handler) in runs)
        if definition.sequential and own:
            groups.append(own)
        else:
            groups += [(handler,) for handler in own]
    return Plan(tuple(groups)) if groups else EMPTY_PLAN
