"""What a host provides for handlers: a model, MCP tools, limits for requests, warm workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.model.record import EMPTY, Record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from anyhook.handlers.background import Background
    from anyhook.handlers.session_variables import EnvFiles
    from anyhook.model.layers import Layer


class PromptQuestion(Record, kw_only=False):
    """The question of a prompt handler.

    Attributes:
        text: The whole prompt, with the event's payload in it.
        model: The model that the settings name; `None` for the host's own choice.
        agentic: Whether the model may use tools to find the answer.
    """

    text: str
    model: str | None
    agentic: bool = False


Ask = Callable[[PromptQuestion], "str | Awaitable[str]"]
"""Puts a question to a model; the answer is JSON, `{"ok": …, "reason": …}`. A plain function is
called in a thread."""


class ToolText(Record, kw_only=False):
    """The result of an MCP tool.

    Attributes:
        text: Its text.
        is_error: Whether it failed.
    """

    text: str
    is_error: bool = False


class McpClient(Protocol):
    """Calls tools of MCP servers."""

    async def call_tool(self, server: str, tool: str, arguments: dict[str, Any]) -> ToolText:
        """Call a tool.

        Raises:
            LookupError: If the server does not exist.
        """
        ...


class Services(Record):
    """What handlers need besides the event. A host sets what it has.

    Attributes:
        ask: Puts a question to a model; `None` if there is none.
        mcp: Calls MCP tools; `None` if there is no client.
        url_patterns: Layer to the URLs that its hooks may request; `None` for any.
        private_hosts: Hosts in private networks that may be requested.
        header_variables: Layer to the variables that headers may hold; `None` for any.
        background: Runs hooks in the background.
        is_warm: Whether the servers of hook files are asked instead of starting their commands.
        env_files: Keeps the variables that hooks set for the shell commands of a session.
    """

    ask: Ask | None = None
    mcp: McpClient | None = None
    url_patterns: Mapping[Layer, tuple[str, ...] | None] = EMPTY
    private_hosts: frozenset[str] = frozenset()
    header_variables: Mapping[Layer, frozenset[str] | None] = EMPTY
    background: Background | None = None
    is_warm: bool = False
    env_files: EnvFiles | None = None
