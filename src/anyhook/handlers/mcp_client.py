"""A client of MCP servers for `Engine.load(mcp=…)`, built on the official SDK.

It needs `pip install "anyhook[mcp]"`, and works with both lines of the SDK (1.24 or newer, and 2).
"""

from __future__ import annotations

import math
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import current_token

from anyhook.errors import MissingLibraryError, UsageError
from anyhook.handlers.environment import fill_in_variables
from anyhook.handlers.services import ToolText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from typing import Self, TextIO

    from anyio.abc import TaskGroup
    from mcp import ClientSession

    Transport = AbstractAsyncContextManager[Any]

CONNECT_TIMEOUT = 30.0
"""Seconds that a server may take to start and initialize (Claude Code: `MCP_TIMEOUT`)."""
CLOSED = -32000
"""Code of the error that the SDK raises when a connection is gone."""


@dataclass(slots=True)
class _Connection:
    """One server. One task opens and closes its session, because the SDK requires that."""

    settled: anyio.Event = field(default_factory=anyio.Event)
    closing: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    session: ClientSession | None = None
    error: str = ""


class SdkClient:
    """Calls tools of MCP servers. An async context manager, on asyncio or trio.

    A server is started, or connected to, at the first call of one of its tools, and kept until the
    end. A lost connection fails the calls that were open; the next call connects again. All calls
    have to come from the event loop that the client was entered on: enter it next to the engine.
    There is no interactive login.

    ```python
    servers = json.loads(Path(".mcp.json").read_text())["mcpServers"]
    async with SdkClient(servers) as mcp:
        engine = Engine.load(".", agent="claude", mcp=mcp)
    ```

    Args:
        servers: Name to server as `.mcp.json` has it: `command`, `args`, `env` for a program;
            `type` (`http`, `sse`), `url`, `headers` for an address. `${VAR}` and
            `${VAR:-default}` in their texts are variables. Their programs are run without a
            further question: pass only servers that the user trusts.
        environ: The variables; by default this process's. A program inherits only the variables
            that the SDK considers harmless (`PATH`, `HOME`, …) and its own `env`.
        timeout: Seconds that a server may take to connect.
    """

    def __init__(
        self,
        servers: Mapping[str, Mapping[str, Any]],
        *,
        environ: Mapping[str, str] | None = None,
        timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._servers = {name: self._expanded(server) for name, server in servers.items()}
        self._timeout = timeout
        self._connections: dict[str, _Connection] = {}
        self._tasks: TaskGroup | None = None
        self._token: object = None

    async def __aenter__(self) -> Self:
        try:
            import mcp  # noqa: F401 - fails here, not in the middle of an event
        except ImportError as error:
            raise MissingLibraryError("SdkClient", "the MCP SDK", "mcp") from error
        self._token = current_token()
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(self, *_error: object) -> None:
        tasks, self._tasks = self._tasks, None
        for connection in self._connections.values():
            self._close(connection)
        if tasks is not None:  # without the error, so that programs can end by themselves
            await tasks.__aexit__(None, None, None)

    async def call_tool(self, server: str, tool: str, arguments: dict[str, Any]) -> ToolText:
        """Call a tool, connecting to its server if that was not done yet.

        Args:
            server: Name of the server.
            tool: Name of the tool.
            arguments: Its arguments, JSON.

        Returns:
            The texts that it returned, one a line.

        Raises:
            LookupError: If the server does not exist.
            ConnectionError: If it cannot be reached, or is lost.
            UsageError: If the client was not entered, or on another event loop.
        """
        if server not in self._servers:
            names = ", ".join(self._servers) or "none"
            raise LookupError(f"no MCP server is named {server!r}; known: {names}")
        if self._tasks is None:
            raise UsageError("enter the SdkClient first: async with SdkClient(servers) as mcp")
        if current_token() != self._token:
            raise UsageError("the SdkClient was entered on another event loop")
        connection = self._connections.get(server)
        if connection is None:
            connection = self._connections[server] = _Connection()
            self._tasks.start_soon(self._serve, server, connection)
        await connection.settled.wait()
        if connection.session is None:
            raise ConnectionError(f"MCP server {server!r}: {connection.error}")
        try:
            result = await connection.session.call_tool(tool, arguments)
        except Exception as error:
            if getattr(getattr(error, "error", None), "code", CLOSED) != CLOSED:
                raise  # the server's own answer
            self._forget(server, connection)
            self._close(connection)
            raise ConnectionError(f"MCP server {server!r} is lost: {_describe(error)}") from error
        content = result.model_dump(by_alias=True)
        texts = [part["text"] for part in content["content"] if part["type"] == "text"]
        return ToolText("\n".join(texts), bool(content.get("isError")))

    # -- connections

    def _expanded(self, value: Any) -> Any:
        if isinstance(value, str):
            return fill_in_variables(value, self._environ)
        if isinstance(value, list):
            return [self._expanded(item) for item in value]
        if isinstance(value, dict):
            return {key: self._expanded(item) for key, item in value.items()}
        return value

    def _forget(self, server: str, connection: _Connection) -> None:
        if self._connections.get(server) is connection:
            del self._connections[server]

    def _close(self, connection: _Connection) -> None:
        connection.closing.set()
        if not connection.settled.is_set():
            connection.scope.cancel()

    async def _serve(self, server: str, connection: _Connection) -> None:
        """Keep one session open until it is closed or lost."""
        connection.error = f"is not there after {self._timeout:g} s"
        try:
            with connection.scope as scope:
                scope.deadline = anyio.current_time() + self._timeout
                async with AsyncExitStack() as stack:
                    connection.session = await self._open(server, stack)
                    scope.deadline = math.inf
                    connection.settled.set()
                    await connection.closing.wait()
        except Exception as error:  # noqa: BLE001 - raised by the calls that wait for it
            connection.error = _describe(error)
        finally:
            connection.session = None
            self._forget(server, connection)
            connection.settled.set()

    async def _open(self, server: str, stack: AsyncExitStack) -> ClientSession:
        from mcp import ClientSession

        kind = self._servers[server].get("type")
        if kind not in TRANSPORTS:
            raise ValueError(f"type {kind!r} is none of {', '.join(filter(None, TRANSPORTS))}")
        transport = await TRANSPORTS[kind](self._servers[server], stack)
        streams = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        return session


# -- ways to reach a server


async def _stdio(server: Mapping[str, Any], stack: AsyncExitStack) -> Transport:
    """Start a program. Its log is discarded: the terminal belongs to the host."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    log = stack.enter_context(_open_null())
    parameters = StdioServerParameters(
        command=server["command"], args=server.get("args", []), env=server.get("env")
    )
    return stdio_client(parameters, errlog=log)


async def _http(server: Mapping[str, Any], stack: AsyncExitStack) -> Transport:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    client = create_mcp_http_client(headers=server.get("headers"))
    http = await stack.enter_async_context(client)
    return streamable_http_client(server["url"], http_client=http)


async def _sse(server: Mapping[str, Any], _stack: AsyncExitStack) -> Transport:
    from mcp.client.sse import sse_client

    return sse_client(server["url"], headers=server.get("headers"))


TRANSPORTS = {
    None: _stdio,
    "stdio": _stdio,
    "http": _http,
    "streamable-http": _http,
    "sse": _sse,
}
"""The `type` of a server to its transport."""


def _open_null() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _describe(error: BaseException) -> str:
    """Say what went wrong, without a URL, which may hold a token."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"answered with status {status}"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    name = type(error).__name__
    has_safe_text = isinstance(error, OSError | ValueError) or hasattr(error, "error")
    return f"{name}: {error}" if has_safe_text and str(error) else name
