"""Why a configured hook did not run on an event."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS
from anyhook.agents.tool_names import suggest_tool
from anyhook.engine.forms import form_rules, match_names_in_form
from anyhook.engine.plan import name_key, same_hook_key
from anyhook.matching.matchers import compile_matcher
from anyhook.model.decisions import Status
from anyhook.model.definitions import each_handler
from anyhook.model.record import Record
from anyhook.settings.detect import trust_command
from anyhook.trust.native import RUNNING, native_states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import RuleSet
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.events import Event

NEVER_STARTED = (Status.WITHHELD, Status.SKIPPED)
OWN_LIMITS = frozenset({"settings-unreadable", "too-many-hooks"})
"""Codes of problems because of which hooks are left out here that the agent may run."""


class NotRun(Record, kw_only=False):
    """A hook that is configured on an event and did not run."""

    handler: HandlerSpec
    reason: str


class NotDecided(Record, kw_only=False):
    """Why a decision is not decided."""

    text: str
    """How many hooks were not run, why, and whether the agent would run them."""
    hooks: tuple[NotRun, ...]
    remedy: str
    """The command line with which the user reviews and trusts them, or finds what to write."""


def why_not_decided(engine: Engine, event: Event, decision: Decision) -> NotDecided | None:
    """Return why the decision on an event is not decided; `None` if it is.

    Every view of a decision shows this text instead of what the agent does.
    """
    withheld = decision.withheld
    if not withheld:
        return _why_ignored(engine, event, decision) or _why_not_read(engine, decision)
    changed = 0
    hooks: list[NotRun] = []
    for result in withheld:
        changed += any(diagnostic.code == "trust-changed" for diagnostic in result.diagnostics)
        reasons = [diagnostic.message for diagnostic in result.diagnostics]
        hooks.append(NotRun(result.handler, "; ".join(reasons) or str(result.error)))
    if len(withheld) == 1:
        reason = "it changed since it was trusted" if changed else "it is not trusted here"
        text = f"1 hook was not run because {reason}"
    else:
        reason = "are not trusted here"
        if changed:
            reason = "are not trusted here or changed since they were trusted"
        if changed == len(withheld):
            reason = "changed since they were trusted"
        text = f"{len(withheld)} hooks were not run because they {reason}"
    # The agent does not know the trust of anyhook.
    if engine.agent.name in CODING_AGENTS:
        native = native_states(engine.agent, engine.hooks)
        # A hook of which the agent keeps no record needs none there.
        runnable = (None, *RUNNING)
        if native is None or any(native.of(result.handler) in runnable for result in withheld):
            pronoun = "it" if len(withheld) == 1 else "them"
            text += f" ({engine.agent.title} itself would run {pronoun})"
    remedy = trust_command(engine.agent.name, engine.project_dir)
    return NotDecided(text, tuple(hooks), remedy)


def _why_ignored(engine: Engine, event: Event, decision: Decision) -> NotDecided | None:
    """Return which hooks ran here and not in the agent, which ignores a part of the settings."""
    ran = {id(result.handler) for result in decision.results}
    hooks: list[NotRun] = []
    parts: dict[str, None] = {}
    for definition, handler in each_handler(engine.definitions):
        ignored = _ignored_part(engine, event, definition, handler) if id(handler) in ran else None
        if ignored is not None:
            part, reason = ignored
            parts.setdefault(part)
            hooks.append(NotRun(handler, reason))
    if not hooks:
        return None
    number = "1 hook does" if len(hooks) == 1 else f"{len(hooks)} hooks do"
    text = f"{number} not run in {engine.agent.title}, which ignores {' and '.join(parts)}"
    return NotDecided(text, tuple(hooks), _check_command(engine))


def _why_not_read(engine: Engine, decision: Decision) -> NotDecided | None:
    """Return which settings were not read here, with hooks that may deny in the agent."""
    is_read = all(problem.code not in OWN_LIMITS for problem in engine.hooks.diagnostics)
    if is_read or decision.denied or decision.stop:
        return None
    text = f"not all settings were read; {engine.agent.title} may run more hooks"
    return NotDecided(text, (), _check_command(engine))


def _check_command(engine: Engine) -> str:
    project = shlex.quote(str(engine.project_dir))
    return f"anyhook check --agent {engine.agent.name} --project {project}"


def _ignored_part(
    engine: Engine, event: Event, definition: HookDefinition, handler: HandlerSpec
) -> tuple[str, str] | None:
    """Return the part of the settings with a hook that the agent ignores, and why."""
    for problem in engine.hooks.diagnostics:
        is_here = problem.place is not None and problem.place.file == handler.place.file
        if problem.code == "not-plain-json" and is_here:
            return "the settings file", problem.message
    for file in engine.hooks.files:
        if file.ignored is not None and str(file.source.path) == handler.place.file:
            return "the settings file", file.ignored.message
        for problem in file.dropped_events:
            if problem.subject == event.name:
                return "the hooks on this event", problem.message
        for problem in file.dropped_hooks:
            if problem.place in (definition.place, handler.place):
                return "entries with a mistake", problem.message
    return None


def untrusted_in_agent(engine: Engine, decision: Decision) -> list[str]:
    """Return the labels of hooks that ran here, and that the agent itself does not trust or run."""
    native = native_states(engine.agent, engine.hooks)
    if native is None:
        return []
    runnable = (None, *RUNNING)
    untrusted = [
        result.handler.label
        for result in decision.results
        if result.status not in NEVER_STARTED and native.of(result.handler) not in runnable
    ]
    return list(dict.fromkeys(untrusted))


def hooks_that_did_not_run(engine: Engine, event: Event, decision: Decision) -> list[NotRun]:
    """Return every hook that is configured on an event and has no result in its decision."""
    ran = {id(result.handler) for result in decision.results}
    definitions = [hook for hook in engine.definitions if hook.event == event.name]
    ran_by_key: dict[tuple[object, ...], HandlerSpec] = {}
    for definition, handler in each_handler(definitions):
        if id(handler) in ran:
            for key in _keys(engine.rules, definition, handler):
                ran_by_key.setdefault(key, handler)
    not_run: list[NotRun] = []
    for definition, handler in each_handler(definitions):
        if id(handler) not in ran:
            keys = _keys(engine.rules, definition, handler)
            same = next((ran_by_key[key] for key in keys if key in ran_by_key), None)
            not_run.append(NotRun(handler, _explain(engine, event, definition, handler, same)))
    for hook in engine.disabled.hooks:
        if hook.definition.event == event.name:
            reason = f"it is disabled and kept in {hook.record}; see: anyhook enable"
            not_run.append(NotRun(hook.handler, reason))
    return not_run


def _keys(
    rules: RuleSet, definition: HookDefinition, handler: HandlerSpec
) -> tuple[tuple[object, ...], ...]:
    """Return what the agent compares to find out whether two handlers are the same hook."""
    identity = ("identity", *same_hook_key(rules, handler))
    if rules.keeps_first_of_name:
        return (identity, ("name", *name_key(definition, handler)))
    return (identity,)


def _explain(
    engine: Engine,
    event: Event,
    definition: HookDefinition,
    handler: HandlerSpec,
    duplicate: HandlerSpec | None,
) -> str:
    spec = engine.rules.by_canonical[event.name]
    switch = engine.hooks.switched_off(handler, engine.rules)
    if switch is not None:
        return f"it is switched off by {switch}"
    form = form_rules(engine.agent, engine.rules, definition.form)
    style = form.by_canonical[event.name].matcher_style
    matcher = compile_matcher(definition.matcher, style)
    subject = spec.subject_of(event)
    names = match_names_in_form(engine.agent, engine.rules, event.name, subject, definition.form)
    may_evaluate = matcher.expression is None or engine.guard.may_match(definition)
    for pattern in (matcher, compile_matcher(handler.matcher, style)):
        if may_evaluate and not pattern.matches_any(names):
            return f"its matcher {pattern.pattern!r} does not match {subject!r}"
    if spec.handler_kinds is not None and handler.kind not in spec.handler_kinds:
        return f"{engine.agent.title} runs no {handler.kind} hooks on {spec.wire}"
    if handler.condition is not None and not spec.supports_conditions:
        return f'{spec.wire} has no tool call, so a hook with "if" never runs on it'
    if duplicate is not None:
        return f"it is the same hook as the one at {duplicate.place}, which ran"
    return "this program leaves it out"


def unknown_tool(engine: Engine, event: Event) -> str | None:
    """Return what is wrong with the tool of an event; `None` if the agent has the tool."""
    agent = engine.agent
    spec = agent.by_canonical.get(event.name)
    if spec is None or spec.subject != "tool_name":
        return None
    name = str(getattr(event, "tool_name", ""))
    is_mcp_tool = bool(agent.tool_prefix) and name.startswith(agent.tool_prefix)
    if not name or name in agent.tools or is_mcp_tool:
        return None
    suggestion = suggest_tool(agent, name)
    hint = f"; did you mean {suggestion!r}?" if suggestion else ""
    return f"{agent.title} has no tool {name!r}{hint}"


def events_with_hooks(engine: Engine) -> Iterator[str]:
    """Yield the agent's names of the events on which hooks are configured."""
    configured = {definition.event for definition in engine.definitions}
    for spec in engine.agent.events:
        if spec.canonical in configured:
            yield spec.wire
