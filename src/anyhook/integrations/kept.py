"""Sessions that stay open from run to run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyhook.integrations.session import Session


@dataclass(slots=True, eq=False)
class KeptSession:
    """A session that several runs share, one at a time; its owner ends it."""

    session: Session
    is_busy: bool = False


@asynccontextmanager
async def session_of_run(
    kept: KeptSession | None, new_session: Callable[[], Session]
) -> AsyncIterator[Session]:
    """Yield the session of a run, started: the kept one, unless another run uses it now.

    Runs at the same time have one session each: what a hook decides for one of them (its stop, the
    count of its continuations, the prompt of its turn) never affects another one.
    """
    if kept is None or kept.is_busy:
        async with new_session() as session:
            yield session
        return
    kept.is_busy = True
    try:
        await kept.session.start()
        yield kept.session
    finally:
        kept.is_busy = False
