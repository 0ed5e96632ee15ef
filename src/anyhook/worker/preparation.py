"""What the worker does before its first fork: all that its executors then share.

What is written before a fork is shared by all executors, what is written after it each of them
copies, in pages. So everything is loaded here and run until running it writes nothing new.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

from anyhook.worker.loading import share_modules
from anyhook.worker.rehearsal import rehearse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PRELOADED = (
    "anyhook.authoring.degrade",
    "anyhook.authoring.process_exit",
    "anyhook.authoring.sequence",
    "anyhook.authoring.hooks",
    "anyhook.authoring.run",
    "anyhook.agents.payloads",
    "anyhook.agents.replies",
    "anyhook.model.sequence",
    "anyhook.model.further_events",
    "anyhook.model.llm",
    "anyhook.model.tools",
    # what hook files mostly import beside it
    "dataclasses",
    "datetime",
    "fnmatch",
    "json",
    "pathlib",
    "re",
    "shlex",
    "subprocess",
    "typing",
)
"""What hook files need; loaded once, shared by all executors."""


def prepare() -> None:
    """Load what executors need, and run it until nothing more is written by running it."""
    _preload()
    from anyhook.agents import CODING_AGENTS, get_agent

    for name in CODING_AGENTS:
        get_agent(name)
    share_modules()
    rehearse()
    share_modules()
    gc.collect()
    gc.freeze()


def _preload() -> None:
    """Import what hook files need.

    A fork of this process has no other thread to clean up after, so what `threading` does then is
    left to the forks of hooks: it writes into much that all executors could share.
    """
    register = os.register_at_fork

    def keep(**handlers: Any) -> None:
        if any(handler.__module__ == "threading" for handler in handlers.values()):
            fork_handlers.append(handlers)
        else:
            register(**handlers)

    os.register_at_fork = keep
    try:
        for name in PRELOADED:
            import_module(name)
    finally:
        os.register_at_fork = register


fork_handlers: list[dict[str, Callable[[], object]]] = []
