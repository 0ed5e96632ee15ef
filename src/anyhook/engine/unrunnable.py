"""Hooks that are switched on and trusted, and can still never run: for hosts that require hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.engine.dead_matchers import check_never_matches
from anyhook.engine.forms import form_rules
from anyhook.engine.plan import runs_on
from anyhook.engine.startable import check_start
from anyhook.model.diagnostics import Diagnostic, diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.absent import HookState
    from anyhook.engine.guard import TrustGuard
    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.sources import Location

SERVICES = {"prompt": "ask", "agent": "ask", "mcp_tool": "mcp"}
"""Kind of a handler to the option of `Engine.load` without which it has no opinion."""


def unrunnable_hooks(state: HookState) -> Iterator[Diagnostic]:
    """Report the required hooks that can never run, whatever happens.

    A matcher that names an unknown tool may mean a tool of the host; it is reported if it is a slip
    (a name of another agent, or close to a name of this one).
    """
    agent, required = state.hooks.agent, state.required
    for definition in state.hooks.definitions:
        if required is False or (required is not True and definition.event not in required):
            continue
        spec = form_rules(agent, state.rules, definition.form).by_canonical.get(definition.event)
        if spec is None:
            continue
        handlers = [handler for handler in definition.handlers if state.runs(handler)]
        form = agent.form(definition.form)
        dead = check_never_matches(form, spec, definition, state.guard.may_match)
        if dead is not None and handlers:
            yield dead
        for handler in handlers:
            yield from start_problems(agent, handler, state.location, state.guard)
            reason = ""
            service = SERVICES.get(handler.kind)
            if not runs_on(spec, handler):
                reason = "its type or its condition never runs on this event"
            elif service and getattr(state.services, service) is None:
                reason = f"it needs a service of this program; pass {service}=… to Engine.load"
            if reason:
                text = f"{handler.label!r} on {spec.wire} does not run: {reason}"
                yield diagnose("no-hooks", text, handler.place, handler=handler.label)


def start_problems(
    agent: AgentSpec, handler: HandlerSpec, location: Location, guard: TrustGuard
) -> Iterator[Diagnostic]:
    """Report what keeps the command of a hook of the settings from being started."""
    variables = {**location.environ, **guard.variables(), **handler.variables}
    return check_start(agent, handler, location.project, variables, location.environ)
