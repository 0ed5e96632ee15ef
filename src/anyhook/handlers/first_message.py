"""Handlers that are a message: the agent submits it as the first prompt of a new session.

GitHub Copilot, hooks reference, "Prompt hooks".
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.decisions import HandlerResult, Status

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

RESUMED = "resume"


async def run_first_message(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Return the message; none for a session that is resumed."""
    answer = NO_OPINION
    if getattr(context.event, "source", "") != RESUMED:
        answer = Answer(extra={"initial_user_message": str(handler.options["prompt"])})
    started = time.perf_counter() - context.epoch
    return HandlerResult(handler, Status.RAN, answer, started=started)
