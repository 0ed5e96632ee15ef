"""Which handlers run for an event, in which order, and which of them in sequence. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from anyhook.engine.forms import form_rules, match_names_in_form
from anyhook.matching.matchers import compile_matcher, explain_cost
from anyhook.model.definitions import each_handler
from anyhook.model.diagnostics import diagnose
from anyhook.model.layers import Layer
from anyhook.model.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic

    Groups = tuple[tuple[HandlerSpec, ...], ...]
    Names = tuple[str | None, ...]


class Plan(NamedTuple):
    """The ordered handlers of one event, without duplicates."""

    groups: Groups = ()
    """The handlers of a group run in order, and each sees the changes of those before it. The
    groups run in parallel."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Matchers that were not evaluated because that can take exponential time."""
    is_final: bool = True
    """Whether every matcher could be evaluated, so that the plan may be cached."""

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
    """Choose and order the handlers of an event.

    Layers come in the agent's order, definitions of a layer in file order. Of handlers with the
    same identity one runs: the first, unless a later one comes from a layer with more authority.
    So a project cannot put its own version in front of a hook of the user or the system. What the
    agent takes for the same hook does not hold for functions of the host: the agent has none.

    The definitions of each layer are in file order. The event is its canonical name; the subject is
    the value that matchers see, `None` if the event has none. `is_on` returns whether a handler is
    switched on, and `may_match` whether the regular expression of a definition may be evaluated: an
    untrusted one can take exponential time; it counts as a match instead.
    """
    matching = _find_matching(
        agent, rules, definitions, event, subject=subject, may_match=may_match
    )
    matched = matching.definitions
    # Sorting is stable: definitions of a layer stay in file order.
    matched.sort(key=lambda definition: agent.settings.layer_ranks[definition.layer])
    if rules.keeps_first_of_name:
        matched = _keep_first_of_name(matched)
    spec = rules.by_canonical[event]
    # The handler that runs of each identity.
    chosen: dict[tuple[object, ...], HandlerSpec] = {}
    for _, handler in each_handler(matched):
        if not runs_on(spec, handler) or not is_on(handler):
            continue
        identity = same_hook_key(rules, handler)
        rival = chosen.get(identity)
        if (
            rival is None
            or agent.settings.authority[handler.layer] > agent.settings.authority[rival.layer]
        ):
            chosen[identity] = handler
    groups = _group(rules, matched, {id(handler) for handler in chosen.values()})
    problems = tuple(matching.problems) if groups else ()
    return Plan(groups, problems, matching.is_final)


@dataclass(slots=True)
class _Matching:
    """The definitions that match an event, with their matching handlers; else as in `Plan`."""

    definitions: list[HookDefinition] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    is_final: bool = True


def _find_matching(
    agent: AgentSpec,
    rules: RuleSet,
    definitions: Iterable[HookDefinition],
    event: str,
    *,
    subject: str | None,
    may_match: Callable[[HookDefinition], bool],
) -> _Matching:
    """Return the definitions of an event whose matchers cover its subject."""
    names_of_forms: dict[str, Names] = {}
    for form in ("", *agent.forms):
        names_of_forms[form] = match_names_in_form(agent, rules, event, subject, form)
    matching = _Matching()
    for definition in definitions:
        if definition.event != event:
            continue
        style = form_rules(agent, rules, definition.form).by_canonical[event].matcher_style
        names = names_of_forms[definition.form]
        matcher = compile_matcher(definition.matcher, style)
        is_expression = matcher.expression is not None
        if is_expression and not may_match(definition):
            matching.is_final = False
            matching.definitions.append(definition)
            continue
        if not all(matcher.is_evaluated(name) for name in names):
            message = explain_cost(matcher)
            matching.problems.append(diagnose("costly-matcher", message, definition.place))
        if matcher.matches_any(names):
            matching.definitions.append(_without_others(definition, style, names))
    return matching


def same_hook_key(rules: RuleSet, handler: HandlerSpec) -> tuple[object, ...]:
    """Return what two handlers share that are the same hook, so that one of them runs."""
    if handler.layer is Layer.RUNTIME:
        return handler.identity
    # The command of a shadow was read without its `--shadow`, which the agent compares, too.
    return (handler.shadow, *IDENTITIES[rules.handler_identity](handler))


def name_key(definition: HookDefinition, handler: HandlerSpec) -> tuple[object, ...]:
    """Return what two handlers share of which the first runs (`RuleSet.keeps_first_of_name`)."""
    name = handler.name or _key(handler)
    if definition.layer is Layer.RUNTIME or name is None:
        return (id(handler),)
    is_other_command = handler.shadow and not handler.name
    return (definition.layer, definition.matcher, definition.sequential, name, is_other_command)


def runs_on(spec: EventSpec, handler: HandlerSpec) -> bool:
    """Return whether an event runs this kind of handler, and conditions if the handler has one."""
    if handler.condition is not None and not spec.supports_conditions:
        return False
    # The host may register handlers of any kind.
    if spec.handler_kinds is None or handler.layer is Layer.RUNTIME:
        return True
    return handler.kind in spec.handler_kinds


def _without_others(definition: HookDefinition, style: str, names: Names) -> HookDefinition:
    """Leave out the handlers whose own pattern does not match."""
    if all(handler.matcher is None for handler in definition.handlers):
        return definition
    handlers: list[HandlerSpec] = []
    for handler in definition.handlers:
        matcher = compile_matcher(handler.matcher, style)
        if matcher.matches_any(names):
            handlers.append(handler)
    return replace(definition, handlers=tuple(handlers))


def _keep_first_of_name(definitions: list[HookDefinition]) -> list[HookDefinition]:
    """Remove the handlers whose name an earlier one of the same layer and matcher has."""
    seen: set[tuple[object, ...]] = set()
    kept: list[HookDefinition] = []
    for definition in definitions:
        handlers: list[HandlerSpec] = []
        for handler in definition.handlers:
            key = name_key(definition, handler)
            if key not in seen:
                seen.add(key)
                handlers.append(handler)
        kept.append(replace(definition, handlers=tuple(handlers)))
    return kept


def _group(rules: RuleSet, definitions: list[HookDefinition], handler_ids: set[int]) -> Groups:
    """Return the handlers with these `id`s in the groups in which they run."""
    groups: list[tuple[HandlerSpec, ...]] = []
    has_sequence = False
    for definition in definitions:
        handlers = tuple(handler for handler in definition.handlers if id(handler) in handler_ids)
        if not handlers:
            continue
        if definition.sequential:
            has_sequence = True
            groups.append(handlers)
        else:
            groups += [(handler,) for handler in handlers]
    is_one_sequence = rules.sequence_scope == "always"
    if rules.sequence_scope == "all":
        is_one_sequence = has_sequence
    if groups and is_one_sequence:
        sequence: list[HandlerSpec] = []
        for group in groups:
            sequence += group
        return (tuple(sequence),)
    return tuple(groups)


def _name_and_command(handler: HandlerSpec) -> tuple[object, ...]:
    if handler.command is None:
        return handler.identity
    return (handler.kind, f"{handler.name or ''}:{handler.command}")


def _name_and_key(handler: HandlerSpec) -> tuple[object, ...]:
    key = _key(handler)
    if key is None:
        return handler.identity
    if handler.name:
        return (f"{handler.name}:{key}",)
    return (key,)


def _key(handler: HandlerSpec) -> str | None:
    """Return the command, the URL or the prompt; `None` for other handlers."""
    return handler.command or handler.options.get("url") or handler.options.get("prompt")


IDENTITIES: dict[str, Callable[[HandlerSpec], tuple[object, ...]]] = {
    "identity": lambda handler: handler.identity,
    "name_and_command": _name_and_command,
    "place": lambda handler: (handler.place, id(handler)),
    "name_and_key": _name_and_key,
}
"""What two handlers must share to be the same (`RuleSet.handler_identity`)."""
