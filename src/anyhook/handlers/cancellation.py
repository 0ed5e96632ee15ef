"""Who cancelled: the host, or the handler itself."""

from __future__ import annotations

import math
import sys

import anyio


def is_cancelled_from_outside() -> bool:
    """Return whether the dispatch was cancelled, not just one handler by its own error."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio else None
    except RuntimeError:  # the event loop is not asyncio's
        return False
    return task is not None and task.cancelling() > 0
