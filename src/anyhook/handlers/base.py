"""What a kind of handler is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.agents.payloads import encode_event
from anyhook.handlers.environment import sanitize_env
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path

    import anyio

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.handlers.background import Background
    from anyhook.handlers.env_files import EnvFiles
    from anyhook.handlers.environment import Inheritance
    from anyhook.handlers.in_process import InProcess
    from anyhook.handlers.leases import Leases
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event
    from anyhook.model.layers import Layer


SERVERS: ContextVar[tuple[str, ...]] = ContextVar("anyhook-servers", default=())
"""The servers (`anyhook serve`) that the event came through, the last one at the end."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt handler wants to know.

    Attributes:
        text: The whole prompt, the event's payload in it.
        model: The model that the settings name; `None` for the host's own choice.
        agentic: Whether the model may use tools to find out.
    """

    text: str
    model: str | None
    agentic: bool = False


Ask = Callable[[Question], "Awaitable[str]"]
"""Puts a question to a model; the answer is JSON, `{"ok": …, "reason": …}`."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """What an MCP tool returned.

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
            LookupError: If there is no such server.
        """
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers use that are no commands. A host sets up what it has.

    Attributes:
        ask: Puts a question to a model; `None` if there is none.
        mcp: Calls MCP tools; `None` if there is no client.
        url_patterns: Layer to the URLs that its hooks may ask; `None` if nobody restricts them.
        private_hosts: Hosts in private networks that may be asked.
        header_variables: Layer to the variables that headers may hold, likewise.
        background: Runs what nobody waits for.
        leases: Runs hook files without a process; `None` to run each as the command that it is.
        env_files: Keeps what hooks leave for the shell commands of a session.
    """

    ask: Ask | None = None
    mcp: McpClient | None = None
    url_patterns: Mapping[Layer, tuple[str, ...] | None] = field(default_factory=dict)
    private_hosts: frozenset[str] = frozenset()
    header_variables: Mapping[Layer, frozenset[str] | None] = field(default_factory=dict)
    background: Background | None = None
    leases: Leases | InProcess | None = None
    env_files: EnvFiles | None = None


Withhold = Callable[["HandlerSpec"], "HandlerResult | None"]


def allow_all(_handler: HandlerSpec) -> HandlerResult | None:
    """Let every handler run."""
    return None


@dataclass(frozen=True)
class HookContext:
    """One event on its way to handlers.

    Attributes:
        agent: The language that commands speak.
        rules: The reading of it.
        spec: The event under that reading.
        given: The event as it was dispatched; see `event`.
        complete: Fills in what an event built in Python leaves out, for a time in seconds since
            the epoch.
        project_dir: Directory of the project.
        home: Home directory of the user.
        inherits: What commands inherit of the host's environment.
        limiter: Gives what bounds the number of commands that run at once.
        output_limit: Bytes of each stream of a command that are kept.
        epoch: When the dispatch began, on the clock of `time.perf_counter`.
        when: The same in seconds since the epoch.
        services: What handlers use that are no commands.
        servers: The servers that the event came through, which a request names.
        withhold: Returns the result of a handler that must not run, or `None` if it may. It is
            asked again right before a start that had to wait: files can change meanwhile.
        withhold_in_background: The same, for any thread.
    """

    agent: AgentSpec
    rules: RuleSet
    spec: EventSpec
    given: Event
    complete: Callable[[Event, float], Event]
    project_dir: Path
    home: Path
    inherits: Inheritance
    limiter: Callable[[], anyio.CapacityLimiter]
    output_limit: int
    epoch: float
    when: float
    services: Services
    servers: tuple[str, ...] = field(default_factory=SERVERS.get)
    withhold: Withhold = allow_all
    withhold_in_background: Withhold = allow_all

    @cached_property
    def event(self) -> Event:
        """The event, whole. A command is started before anybody asks for it."""
        return self.complete(self.given, self.when)

    @property
    def host_environ(self) -> Mapping[str, str]:
        """Environment of the host."""
        return self.inherits.environ

    @cached_property
    def payload(self) -> bytes:
        """What a command reads; written once for all of them. See `payload_problem`."""
        payload = encode_event(self.agent, self.event)
        try:
            text = dump_json(payload)
        except (TypeError, ValueError, RecursionError) as error:
            self.__dict__["payload_problem"] = str(error)
            text = dump_json(repair(payload))
        return text + self.agent.payload_terminator

    _environs: dict[Layer, tuple[dict[str, str], tuple[str, ...]]] = field(
        default_factory=dict, init=False
    )
    payload_problem: str | None = field(default=None, init=False)
    """Why the payload is no plain JSON and was repaired: a guard must not be lost for that."""

    def environ(self, layer: Layer) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what the commands of a layer inherit, and what the agent tells all of them.

        Returns:
            The variables, and the names of those whose values had to be changed to fit.
        """
        found = self._environs.get(layer)
        if found is None:
            found = self._environs[layer] = self._make_environ(layer)
        return dict(found[0]), found[1]

    def _make_environ(self, layer: Layer) -> tuple[dict[str, str], tuple[str, ...]]:
        environ = dict(self.inherits.of(layer))
        known = {
            "project_dir": str(self.project_dir),
            "cwd": str(self.given.cwd or self.cwd),
            "session_id": str(self.given.session_id or ""),
        }
        told = self.agent.hook_environment.items()
        environ |= {name: known[w] if w in known else w.removeprefix("=") for name, w in told}
        inherited = self.host_environ is os.environ  # the system gave it, so it can hold it
        return environ, sanitize_env(
            environ, self.agent.hook_environment if inherited else [*environ]
        )

    @cached_property
    def cwd(self) -> str:
        """Where commands run: a guard must not be lost because its directory is."""
        wanted = self.given.cwd
        return os.fspath(wanted) if wanted and os.path.isdir(wanted) else str(self.project_dir)  # noqa: PTH112 - ten times faster

    def with_event(self, event: Event) -> HookContext:
        """Return the same firing of a changed event."""
        return replace(self, given=event)


class HandlerKind(Protocol):
    """Runs one handler on one event."""

    async def __call__(self, context: HookContext, handler: HandlerSpec) -> HandlerResult:
        """Run it to its end or to its deadline. What goes wrong is a result, not an exception."""
        ...


KINDS = {
    "command": "anyhook.handlers.command:run_command",
    "function": "anyhook.handlers.function:run_function",
    "http": "anyhook.handlers.http:run_http",
    "agent": "anyhook.handlers.prompt:run_prompt",
    "prompt": "anyhook.handlers.prompt:run_prompt",
    "mcp_tool": "anyhook.handlers.mcp:run_mcp_tool",
}
"""Kind to what runs it. A new kind is a new file and a row here."""

_loaded: dict[str, HandlerKind] = {}


def get_kind(name: str) -> HandlerKind:
    """Return what runs a kind of handler."""
    if name not in _loaded:
        module, _, attribute = KINDS[name].partition(":")
        _loaded[name] = getattr(import_module(module), attribute)
    return _loaded[name]


def failed(
    context: HookContext,
    handler: HandlerSpec,
    error: str,
    *,
    status: Status = Status.FAILED,
    started: float | None = None,
    notes: tuple[Diagnostic, ...] = (),
) -> HandlerResult:
    """Make the result of a handler that could not do its work.

    Args:
        context: The event.
        handler: Which handler.
        error: Why, for people.
        status: `FAILED` or `TIMED_OUT`.
        started: When it began, on the clock of `time.perf_counter`; by default now.
        notes: What else to tell.
    """
    code = "handler-timeout" if status is Status.TIMED_OUT else "handler-failed"
    message = f"{handler.label!r} on {context.spec.wire}: {error}"
    told = diagnose(code, message, handler.place, handler=handler.label)
    now = time.perf_counter()
    began = now if started is None else started
    return HandlerResult(
        handler,
        status,
        started=began - context.epoch,
        duration=now - began,
        error=error,
        diagnostics=(told, *notes),
        failed=True,
    )
