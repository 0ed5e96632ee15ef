"""Timeouts of migrated handlers, in the unit of each agent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyhook.migrate.context import HandlerMigration

# Seconds that the agent waits longer than the shim, which must see the end of the command.
SHIM_MARGIN = 5.0


def migrate_timeout(move: HandlerMigration) -> float | None:
    """Return the timeout in the target's unit; `None` where its default will do."""
    target, event = move.target, move.target_event
    seconds = move.handler.timeout
    is_written = "timeout" in move.written
    if move.own_options is not None:
        seconds = move.own_options.timeout or seconds
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
        seconds = cap
    default = event.default_timeouts.get("command", target.default_timeout)
    if not is_written and seconds <= default:
        return None
    return target.write_timeout(seconds)
