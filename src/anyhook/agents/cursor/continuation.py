"""How often hooks of Cursor continue an agent that was about to end its turn."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_LIMIT = 5


def limit(payload: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return why a hook cannot continue the agent; empty if it can.

    The option `loop_limit` limits how often; `None` means that nothing does.
    """
    count, loop_limit = payload.get("loop_count"), options.get("loop_limit", DEFAULT_LIMIT)
    if loop_limit is None or not isinstance(count, int | float) or count < loop_limit:
        return ""
    return f"it has done so {count} times, and loop_limit is {loop_limit}"


def limit_completed(payload: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the same for an agent that hooks can only continue if it has completed its work."""
    problem = limit(payload, options)
    status = payload.get("status", "completed")
    if not problem and status != "completed":
        problem = f"status is {status!r}, not 'completed'"
    return problem
