"""Configured hooks that do not run, and the hooks that a host requires."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from anyhook.errors import RequiredHooksError, SettingsError
from anyhook.model.diagnostics import Place, Severity, diagnose
from anyhook.model.record import Record
from anyhook.model.text import first_names
from anyhook.settings.kept import kept_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.engine.guard import TrustGuard
    from anyhook.handlers.services import Services
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.settings.hookset import HookSet
    from anyhook.settings.kept import KeptHook
    from anyhook.settings.sources import Location

ABSENT = frozenset(
    "agent-assumed other-agent hooks-off project-untrusted trust-changed trust-store".split()
)
"""Codes of problems because of which configured hooks do not run."""
NOT_READ = frozenset(
    "settings-unreadable settings-syntax settings-dropped settings-shape too-many-hooks".split()
)
"""Codes of problems because of which a settings file is not read, or not all of it."""
UNREADABLE = NOT_READ.union(
    "unknown-event unknown-type missing-field wrong-type extension-unreadable".split()
)
"""Codes of problems that may hide a configured hook."""


class DisabledHooks(Record, kw_only=False):
    """The hooks that `anyhook disable` removed from settings files."""

    hooks: tuple[KeptHook, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    """Why their records cannot be read."""

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Report every disabled hook, and the problems."""
        for hook in self.hooks:
            yield _report_disabled(hook)
        yield from self.problems


def find_disabled(agent: AgentSpec, hooks: HookSet) -> DisabledHooks:
    """Return the hooks that `anyhook disable` removed from settings files."""
    disabled: list[KeptHook] = []
    problems: dict[str, Diagnostic] = {}
    for file in hooks.files:
        try:
            disabled += kept_hooks(agent, [file])
        except SettingsError as error:
            text = f"the hooks that were disabled are not known: {error}"
            place = Place(error.path, error.line)
            problems[error.path] = diagnose("settings-unreadable", text, place)
    return DisabledHooks(tuple(disabled), tuple(problems.values()))


def _report_disabled(hook: KeptHook) -> Diagnostic:
    label = hook.handler.label
    text = f"{label!r} does not run: it is disabled and kept in {hook.record}"
    return diagnose("hooks-off", text, hook.handler.place, handler=label)


def report_switched_off(hooks: HookSet) -> Iterator[Diagnostic]:
    """Report the hooks that are switched off, one diagnostic for each switch."""
    by_switch: dict[str, list[HandlerSpec]] = {}
    for handler in _handlers_of(hooks):
        switch = hooks.switched_off(handler)
        if switch is not None:
            by_switch.setdefault(switch, []).append(handler)
    for switch, handlers in by_switch.items():
        labels = list(dict.fromkeys(handler.label for handler in handlers))
        verb = "hooks do" if len(labels) > 1 else "hook does"
        text = f"{len(labels)} {verb} not run, because {switch} switches off: {first_names(labels)}"
        yield diagnose("hooks-off", text, handlers[0].place)


def find_shadows(hooks: HookSet) -> Iterator[Diagnostic]:
    """Report every hook that its settings make a shadow."""
    for handler in _handlers_of(hooks):
        if handler.shadow:
            yield report_shadow(handler, handler.place)


def report_shadow(handler: HandlerSpec, place: Place) -> Diagnostic:
    """Report a hook that runs as a shadow; the place is what makes it one."""
    label = handler.label
    text = (
        f"{label!r} runs as a shadow: its answer is recorded and does not count; "
        f"let it decide: {shadow_remedy(handler, place)}"
    )
    return diagnose("shadow-hook", text, place, handler=label)


def shadow_remedy(handler: HandlerSpec, place: Place) -> str:
    """Return how a shadow becomes a hook that decides; the place is what makes it a shadow."""
    if handler.shadow:
        return f"anyhook enable {shlex.quote(handler.label)}"
    return f"remove shadow=True from {place}"


def required_events(require: bool | Collection[str], agent: AgentSpec) -> bool | frozenset[str]:
    """Return the events that must have hooks that run, by canonical name.

    `require` is `True` for any event, `False` for none, or names of events, also the agent's own.

    Raises:
        UnknownNameError: If the agent has no such event.
    """
    if isinstance(require, bool):
        return require
    return frozenset(agent.event(name).canonical for name in require)


class HookState(Record):
    """The hooks of an engine, and what decides whether they run.

    Attributes:
        required: Whether all hooks are required, or the events whose hooks are.
        hooks: The configured hooks.
        rules: The rule set of the engine.
        disabled: The hooks that `anyhook disable` removed.
        diagnostics: The problems of the settings.
        location: The project, the home and the environment.
        guard: Decides which matchers may be evaluated.
        services: What the host has set up.
        runs: Returns whether a handler is switched on and trusted.
        shadow_place: Returns what makes a handler a shadow; `None` if it decides.
    """

    required: bool | frozenset[str]
    hooks: HookSet
    rules: RuleSet
    disabled: DisabledHooks
    diagnostics: Collection[Diagnostic]
    location: Location
    guard: TrustGuard
    services: Services
    runs: Callable[[HandlerSpec], bool]
    shadow_place: Callable[[HandlerSpec], Place | None]


def check_required(state: HookState, unrunnable: Iterable[Diagnostic]) -> None:
    """Check that the hooks that the host requires run.

    If `required` is `True`, every configured hook must run, and there must be one. Otherwise each
    of these events must have hooks, and all of these must run. Of a file that cannot be read now
    and was read before, the hooks stay in force, which is enough.

    Raises:
        RequiredHooksError: With the reasons.
    """
    required, hooks, diagnostics = state.required, state.hooks, state.diagnostics
    reasons: list[Diagnostic] = []
    if isinstance(required, bool):
        reasons += [d for d in diagnostics if d.code in ABSENT and d.severity is not Severity.INFO]
    else:
        for spec in hooks.agent.events:
            if spec.canonical in required:
                reasons += _absent_on(spec, state)
    kept = {d.place.file for d in diagnostics if d.place and d.code == "settings-kept"}
    for diagnostic in diagnostics:
        is_kept = diagnostic.place is not None and diagnostic.place.file in kept
        if diagnostic.code in UNREADABLE and not is_kept:
            reasons.append(diagnostic)
    reasons += unrunnable
    if required is True:
        running = [handler for handler in _handlers_of(hooks) if state.runs(handler)]
        places = [(handler, state.shadow_place(handler)) for handler in running]
        reasons += [report_shadow(handler, place) for handler, place in places if place]
        if not running:
            reasons.append(diagnose("no-hooks", "no hook is configured that runs"))
    if reasons:
        raise RequiredHooksError(reasons)


def _absent_on(spec: EventSpec, state: HookState) -> Iterator[Diagnostic]:
    """Report each hook on an event that does not run, or that none is configured."""
    for hook in state.disabled.hooks:
        if hook.definition.event == spec.canonical:
            yield _report_disabled(hook)
    handlers = list(_handlers_of(state.hooks, spec.canonical))
    if not handlers:
        yield diagnose("no-hooks", f"no hook is configured on {spec.wire}")
    for handler in handlers:
        shadow = state.shadow_place(handler)
        if shadow is not None:
            yield report_shadow(handler, shadow)
        elif not state.runs(handler):
            switch = state.hooks.switched_off(handler)
            cause = "it is not trusted; see: anyhook trust"
            if switch is not None:
                cause = f"{switch} switches it off"
            text = f"{handler.label!r} on {spec.wire} does not run: {cause}"
            yield diagnose("no-hooks", text, handler.place, handler=handler.label)


def _handlers_of(hooks: HookSet, event: str | None = None) -> Iterable[HandlerSpec]:
    for definition in hooks.definitions:
        if event in (None, definition.event):
            yield from definition.handlers
