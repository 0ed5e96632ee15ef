"""What a kind of handler is, and which kinds there are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec


class HandlerKind(Protocol):
    """Runs one handler on one event."""

    async def __call__(self, context: HookContext, handler: HandlerSpec) -> HandlerResult:
        """Run it to its end or to its deadline. A failure is a result, not an exception."""
        ...


KINDS = {
    "command": "anyhook.handlers.command:run_command",
    "function": "anyhook.handlers.function:run_function",
    "http": "anyhook.handlers.http:run_http",
    "agent": "anyhook.handlers.prompt:run_prompt",
    "prompt": "anyhook.handlers.prompt:run_prompt",
    "first_message": "anyhook.handlers.first_message:run_first_message",
    "mcp_tool": "anyhook.handlers.mcp:run_mcp_tool",
}
"""Kind to the function that runs it. A new kind is a new file and a row here."""

_loaded: dict[str, HandlerKind] = {}


def get_kind(name: str) -> HandlerKind:
    """Return the function that runs a kind of handler, importing it if necessary."""
    if name not in _loaded:
        module, _, attribute = KINDS[name].partition(":")
        _loaded[name] = getattr(import_module(module), attribute)
    return _loaded[name]
