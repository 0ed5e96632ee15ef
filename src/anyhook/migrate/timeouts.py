"""Timeouts of migrated handlers, in the unit of each agent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anyhook.migrate.original import read_original

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.context import HandlerMigration
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.layers import Layer

# Seconds that the agent waits longer than the shim, which must see the end of the command.
SHIM_MARGIN = 5.0


def timeout_seconds(
    agent: AgentSpec, event: EventSpec, layer: Layer, timeout: float | None
) -> float:
    """Return the seconds that a command has for a `timeout` in the settings of an agent."""
    seconds = _default_seconds(agent, event) if timeout is None else agent.read_timeout(timeout)
    return min(seconds, event.max_timeouts.get(layer, math.inf))


def migrate_timeout(move: HandlerMigration) -> float | None:
    """Return the timeout in the target's unit; `None` where its default will do."""
    target, event = move.target, move.target_event
    seconds = move.handler.timeout
    is_written = "timeout" in move.written
    options = move.own_options
    if options is not None:
        for candidate in _original_timeouts(options):
            if _becomes_present_timeout(move, candidate, options):
                return candidate
        seconds = options.timeout or seconds
    elif move.handler.on_failure == "block" and move.context.shim:
        seconds += SHIM_MARGIN
        is_written = True
    cap = event.max_timeouts.get(move.layer, math.inf)
    if seconds > cap:
        move.record_loss(
            "changed",
            f"timeout: {move.handler.label}",
            f"{target.title} ends it after {cap:g} s, not {seconds:g}",
            "make it quicker",
        )
    return _write_timeout(target, event, move.layer, seconds, is_written=is_written)


def _default_seconds(agent: AgentSpec, event: EventSpec) -> float:
    return event.default_timeouts.get("command", agent.default_timeout)


def _write_timeout(
    agent: AgentSpec, event: EventSpec, layer: Layer, seconds: float, *, is_written: bool
) -> float | None:
    """Return a timeout in the unit of an agent; `None` where its default will do."""
    seconds = min(seconds, event.max_timeouts.get(layer, math.inf))
    if not is_written and seconds <= _default_seconds(agent, event):
        return None
    return agent.write_timeout(seconds)


# -- the timeout before the hook was migrated


def _original_timeouts(options: ShimOptions) -> list[float | None]:
    """Return the timeouts that the hook may have had."""
    recorded = read_original(options).handler.get("timeout")
    is_number = isinstance(recorded, int | float) and not isinstance(recorded, bool)
    return [recorded, None] if is_number else [None]


def _becomes_present_timeout(
    move: HandlerMigration, timeout: float | None, options: ShimOptions
) -> bool:
    """Return whether migrating a timeout of the target gives the one in the source's settings."""
    seconds = timeout_seconds(move.target, move.target_event, move.layer, timeout)
    blocks = options.on_failure == "block"
    shim_seconds = seconds if blocks or options.background else None
    if not _is_close(shim_seconds, options.timeout):
        return False
    written = _write_timeout(
        move.source,
        move.source_event,
        move.layer,
        seconds + SHIM_MARGIN if blocks else seconds,
        is_written=timeout is not None or blocks,
    )
    return _is_close(written, move.written.get("timeout"))


def _is_close(first: float | None, second: object) -> bool:
    """Return whether two timeouts are equal except for rounding."""
    if first is None or not isinstance(second, int | float):
        return first is None and second is None
    return math.isclose(first, second, rel_tol=1e-9)
