"""Configured hooks that do not run, and what a host may require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.errors import RequiredHooksError
from anyhook.model.diagnostics import Severity, diagnose

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.settings.hookset import HookSet

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


def check_required(
    require: bool | Collection[str],
    dialect: Dialect,
    hooks: HookSet,
    diagnostics: Collection[Diagnostic],
    runs: Callable[[HandlerSpec], bool],
) -> None:
    """Raise if hooks that the host requires do not run.

    Args:
        require: `True`: every configured hook must run, and there must be one; a set of events
            (canonical names or the agent's): each must have hooks, and all of these must run.
        dialect: Whose events.
        hooks: What the settings hold.
        diagnostics: What is known to be wrong.
        runs: Whether a handler is switched on and trusted.

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
        if not any(runs(handler) for d in hooks.definitions for handler in d.handlers):
            reasons.append(diagnose("no-hooks", "no hook is configured that runs"))
    else:
        events = [dialect.event(name) for name in require]
        reasons = [*(found for spec in events for found in _absent_on(spec, hooks, runs)), *broken]
    if reasons:
        raise RequiredHooksError(reasons)


def required_events(require: bool | Collection[str], dialect: Dialect) -> bool | frozenset[str]:
    """Return which events must have hooks that run, by canonical name."""
    if isinstance(require, bool):
        return require
    return frozenset(dialect.event(name).canonical for name in require)


def _absent_on(
    spec: EventSpec, hooks: HookSet, runs: Callable[[HandlerSpec], bool]
) -> Iterator[Diagnostic]:
    """Report that no hook is configured on an event, or each hook on it that does not run."""
    definitions = [d for d in hooks.definitions if d.event == spec.canonical]
    handlers = [handler for definition in definitions for handler in definition.handlers]
    if not handlers:
        yield diagnose("no-hooks", f"no hook is configured on {spec.wire}")
    for handler in handlers:
        if not runs(handler):
            text = f"{handler.label!r} on {spec.wire} does not run: it is switched off or untrusted"
            yield diagnose("no-hooks", text, handler.place, handler=handler.label)
