"""Events of nobody, answered before the first fork.

The interpreter writes into the code that it runs until it has found the fastest way through it.
What was written before a fork is shared by all executors; what is written after it, each copies.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.authoring import deny
from anyhook.authoring.hooks import Hooks
from anyhook.authoring.run import Lost, Output, answer

if TYPE_CHECKING:
    from typing import NoReturn

TIMES = 3
PAYLOAD = {
    "session_id": "",
    "transcript_path": "",
    "cwd": "/",
    "hook_event_name": "BeforeTool",
    "timestamp": "",
    "tool_name": "write_file",
    "tool_input": {"file_path": "", "content": ""},
}


class _Nobody(Output):
    """Takes answers."""

    def write(self, text: bytes, lost: Lost) -> None:
        """Take one."""

    def leave(self) -> NoReturn:
        """Refuse to end."""
        raise RuntimeError("a rehearsal took too long")


def rehearse() -> None:
    """Let a hook of our own answer events, in every agent's form."""
    hooks = Hooks()
    hooks.before_tool(lambda event: deny(event.text or "no"))
    events = (("gemini", "BeforeTool"), ("claude", "PreToolUse"), ("terminai", "BeforeTool"))
    for agent, event in events * TIMES:
        payload = json.dumps({**PAYLOAD, "hook_event_name": event}).encode()
        with suppress(SystemExit):
            answer(hooks, ["--dialect", agent], payload, _Nobody())
