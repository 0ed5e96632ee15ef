"""Configured hooks that do not run, and what a host may require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.errors import RequiredHooksError, SettingsError
from anyhook.model.diagnostics import Place, Severity, diagnose
from anyhook.settings.kept import kept_hooks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.settings.hookset import HookSet
    from anyhook.settings.kept import KeptHook

ABSENT = frozenset(
    "agent-assumed other-agent hooks-off project-untrusted trust-changed trust-store".split()
)
"""Codes of problems because of which hooks that are configured do not run."""
UNREADABLE = frozenset(
    "settings-unreadable settings-syntax settings-shape unknown-event unknown-type missing-field "
    "wrong-type extension-unreadable".split()
)
"""Codes of problems because of which a hook may be configured that is not known."""
LABELS_SHOWN = 5
"""Hooks that one message names."""


def switched_off(hooks: HookSet) -> Iterator[Diagnostic]:
    """Report the hooks that are switched off, one diagnostic for each switch."""
    by_switch: dict[str, list[HandlerSpec]] = {}
    for definition in hooks.definitions:
        for handler in definition.handlers:
            switch = hooks.switched_off(handler)
            if switch is not None:
                by_switch.setdefault(switch, []).append(handler)
    for switch, handlers in by_switch.items():
        labels = list(dict.fromkeys(handler.label for handler in handlers))
        shown = ", ".join(labels[:LABELS_SHOWN])
        rest = len(labels) - LABELS_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        many = "hooks do" if len(labels) > 1 else "hook does"
        yield diagnose(
            "hooks-off",
            f"{len(labels)} {many} not run, because {switch} switches off: {shown}{more}",
            handlers[0].place,
        )


def kept_or_problem(
    agent: AgentSpec, hooks: HookSet
) -> tuple[tuple[KeptHook, ...], tuple[Diagnostic, ...]]:
    """Return the hooks that `anyhook disable` took out, or why that is not known."""
    try:
        return tuple(kept_hooks(agent, hooks.files)), ()
    except SettingsError as error:
        place = Place(error.path, error.line)
        return (), (diagnose("settings-unreadable", str(error), place),)


def taken_out(kept: Iterable[KeptHook]) -> Iterator[Diagnostic]:
    """Report the hooks that `anyhook disable` took out of settings files."""
    for hook in kept:
        label = hook.handler.label
        text = f"{label!r} does not run: it is disabled and kept in {hook.record}"
        yield diagnose("hooks-off", text, hook.handler.place, handler=label)


def check_required(
    require: bool | Collection[str],
    agent: AgentSpec,
    engine: Engine,
    diagnostics: Collection[Diagnostic],
) -> None:
    """Raise if hooks that the host requires do not run.

    Args:
        require: `True`: every configured hook must run, and there must be one; a set of events
            (canonical names or the agent's): each must have hooks, and all of these must run.
        agent: Whose events.
        engine: The engine with the hooks.
        diagnostics: What is known to be wrong.

    Raises:
        RequiredHooksError: With the reasons.
        UnknownNameError: If the agent has no such event.
    """
    if require is False:
        return
    broken = [found for found in diagnostics if found.code in UNREADABLE]
    if require is True:
        absent = [d for d in diagnostics if d.code in ABSENT and d.severity is not Severity.INFO]
        reasons = [*absent, *broken]
        handlers = [handler for d in engine.hooks.definitions for handler in d.handlers]
        if not any(engine.runs(handler) for handler in handlers):
            reasons.append(diagnose("no-hooks", "no hook is configured that runs"))
    else:
        events = [agent.event(name) for name in require]
        reasons = [*(found for spec in events for found in _absent_on(spec, engine)), *broken]
    if reasons:
        raise RequiredHooksError(reasons)


def required_events(require: bool | Collection[str], agent: AgentSpec) -> bool | frozenset[str]:
    """Return which events must have hooks that run, by canonical name."""
    if isinstance(require, bool):
        return require
    return frozenset(agent.event(name).canonical for name in require)


def _absent_on(spec: EventSpec, engine: Engine) -> Iterator[Diagnostic]:
    """Report that no hook is configured on an event, or each hook on it that does not run."""
    definitions = [d for d in engine.hooks.definitions if d.event == spec.canonical]
    yield from taken_out([hook for hook in engine.kept if hook.definition.event == spec.canonical])
    handlers = [handler for definition in definitions for handler in definition.handlers]
    if not handlers:
        yield diagnose("no-hooks", f"no hook is configured on {spec.wire}")
    for handler in handlers:
        if not engine.runs(handler):
            text = f"{handler.label!r} on {spec.wire} does not run: it is switched off or untrusted"
            yield diagnose("no-hooks", text, handler.place, handler=handler.label)
