"""Why a configured hook did not run on an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.matching.matchers import compile_matcher
from anyhook.model.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.events import Event


@dataclass(frozen=True, slots=True)
class NotRun:
    """A hook that is configured on an event and did not run.

    Attributes:
        handler: The hook.
        reason: Why it did not run.
    """

    handler: HandlerSpec
    reason: str


def hooks_that_did_not_run(engine: Engine, event: Event, decision: Decision) -> list[NotRun]:
    """Return every hook that is configured on an event and has no result in the decision.

    Args:
        engine: Whose hooks.
        event: The event as it was dispatched.
        decision: The decision.
    """
    ran = {id(result.handler) for result in decision.results}
    by_identity = {result.handler.identity: result.handler for result in decision.results}
    absent: list[NotRun] = []
    for definition in engine.definitions:
        if definition.event != event.name:
            continue
        for handler in definition.handlers:
            if id(handler) not in ran:
                same = by_identity.get(handler.identity)
                reason = _reason(engine, event, definition, handler, same)
                absent.append(NotRun(handler, reason))
    for hook in engine.kept:
        if hook.definition.event == event.name:
            reason = f"it is disabled and kept in {hook.record}; see: anyhook enable"
            absent.append(NotRun(hook.handler, reason))
    return absent


def _reason(
    engine: Engine,
    event: Event,
    definition: HookDefinition,
    handler: HandlerSpec,
    same: HandlerSpec | None,
) -> str:
    spec = engine.rules.by_canonical[event.name]
    switch = engine.hooks.switched_off(handler, engine.rules)
    if switch is not None:
        return f"it is switched off by {switch}"
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    subject = getattr(event, spec.subject) if spec.subject else None
    names = engine.agent.match_names(spec, subject if isinstance(subject, str) else None)
    may_evaluate = matcher.expression is None or engine.guard.may_match(definition)
    if may_evaluate and not any(matcher.matches(name) for name in names):
        return f"its matcher {matcher.pattern!r} does not match {subject!r}"
    if spec.handler_kinds is not None and handler.kind not in spec.handler_kinds:
        return f"{engine.agent.title} runs no {handler.kind} hooks on {spec.wire}"
    if handler.condition is not None and not spec.supports_conditions:
        return f'{spec.wire} has no tool call, so a hook with "if" never runs on it'
    if same is not None:
        return f"it is the same hook as the one at {same.place}, which ran"
    return "another hook of the same sequence decided before it"


def unknown_tool(engine: Engine, event: Event) -> str | None:
    """Return what is wrong with the tool of an event; `None` if the agent has the tool."""
    spec = engine.agent.by_canonical.get(event.name)
    if spec is None or spec.subject != "tool_name":
        return None
    name = str(getattr(event, "tool_name", ""))
    agent = engine.agent
    prefix = agent.tool_prefix
    if not name or name in agent.tools or (prefix and name.startswith(prefix)):
        return None
    meant = agent.renamed_tools.get(name) or agent.vocabulary.name(name)
    meant = meant if meant in agent.tools else closest(name, agent.tools)
    hint = f"; did you mean {meant!r}?" if meant else ""
    return f"{agent.title} has no tool {name!r}{hint}"


def events_with_hooks(engine: Engine) -> Iterator[str]:
    """Yield the events, as the agent names them, on which hooks are configured."""
    configured = {definition.event for definition in engine.definitions}
    for spec in engine.agent.events:
        if spec.canonical in configured:
            yield spec.wire
