"""One event on its way to handlers, with everything that they need to run."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING

from anyhook.agents import AGENT_VARIABLE
from anyhook.agents.payloads import encode_event
from anyhook.agents.translate import translate_event
from anyhook.handlers.environment import sanitize_env
from anyhook.model.json import dump_json, repair
from anyhook.model.record import EMPTY, Record, replace
from anyhook.settings.directories import find_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import anyio

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.handlers.environment import Inheritance
    from anyhook.handlers.services import Services
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event
    from anyhook.model.layers import Layer

HOOK_DIR = "hook_dir"
"""Value of `AgentSpec.hook_environment` that depends on the handler."""
SERVERS: ContextVar[tuple[str, ...]] = ContextVar("anyhook-servers", default=())
"""The servers (`anyhook serve`) that the event came through, the last one at the end."""

Withhold = Callable[["HandlerSpec"], "HandlerResult | None"]


class HookContext(Record):
    """One event on its way to handlers.

    Attributes:
        agent: The agent whose payloads and replies commands use.
        rules: Its rule set.
        spec: The event under that rule set.
        event: The event; what an event built in Python leaves out is filled in.
        project_dir: Directory of the project.
        home: Home directory of the user.
        inherits: What commands inherit of the host's environment.
        limiter: Returns the limiter of the number of commands that run at once.
        output_limit: Bytes of each stream of a command that are kept.
        epoch: When the dispatch began, on the clock of `time.perf_counter`.
        services: What handlers need besides the event.
        servers: The servers that the event came through, which a request names.
        session_variables: Variables that earlier hooks have set for those of the session, and that
            observers set.
        deadline: When the functions of a hook file must have ended, on the same clock; `None` if
            each handler has its own timeout.
        withhold: Returns the result of a handler that must not run, or `None` if it may. It is
            called again right before a start that had to wait: files can change meanwhile.
        withhold_in_background: The same, for any thread.
    """

    agent: AgentSpec
    rules: RuleSet
    spec: EventSpec
    event: Event
    project_dir: Path
    home: Path
    inherits: Inheritance
    limiter: Callable[[], anyio.CapacityLimiter]
    output_limit: int
    epoch: float
    services: Services
    servers: tuple[str, ...]
    session_variables: Mapping[str, str] = EMPTY
    deadline: float | None = None
    withhold: Withhold
    withhold_in_background: Withhold

    @cached_property
    def _environs(self) -> dict[Layer, tuple[dict[str, str], tuple[str, ...]]]:
        return {}

    @property
    def host_environ(self) -> Mapping[str, str]:
        """Environment of the host."""
        return self.inherits.environ

    @property
    def payload(self) -> bytes:
        """The JSON that a command reads; encoded once for all of them."""
        return self._encoded[0]

    @property
    def payload_problem(self) -> str | None:
        """Why the payload cannot be written as JSON and was repaired."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[bytes, str | None]:
        payload = encode_event(self.agent, self.event)
        problem = None
        try:
            text = dump_json(payload)
        except (TypeError, ValueError, RecursionError) as error:
            # Guards must run all the same, on what can be written.
            problem = str(error)
            text = dump_json(repair(payload))
        return text + self.agent.payload_terminator, problem

    def in_form(self, name: str) -> HookContext:
        """Return the context for hooks of another form of the agent (`AgentSpec.forms`)."""
        if not name:
            return self
        agent = self.agent.form(name)
        rules = agent.rules(self.rules.name)
        event = translate_event(self.event, self.agent, agent)
        return replace(
            self,
            agent=agent,
            rules=rules,
            spec=rules.by_canonical[event.name],
            event=event,
        )

    def environ(self, layer: Layer) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what the commands of a layer inherit, with the variables that the agent sets.

        Also return the names of those whose values had to be changed to be valid.
        """
        if layer in self._environs:
            variables, repaired = self._environs[layer]
            return dict(variables), repaired
        values = {
            "project_dir": str(self.project_dir),
            "cwd": str(self.event.cwd or self.cwd),
            "session_id": str(self.event.session_id or ""),
        }
        sources = self.agent.hook_environment
        if "root" in sources.values():
            values["root"] = str(find_root(self.project_dir))
        variables = {**self.inherits.of(layer), **self.session_variables}
        variables[AGENT_VARIABLE] = self.agent.name
        for name, source in sources.items():
            if source != HOOK_DIR:
                variables[name] = values.get(source, source.removeprefix("="))
        # The values of this process's own environment are valid: the system passed them.
        is_own = self.host_environ is os.environ
        own = [name for name in (*sources, *self.session_variables) if name in variables]
        repaired = sanitize_env(variables, own if is_own else [*variables])
        self._environs[layer] = variables, repaired
        return dict(variables), repaired

    @cached_property
    def cwd(self) -> str:
        """Working directory of commands; the project if the event's directory does not exist."""
        directory = self.event.cwd
        if directory and os.path.isdir(directory):  # noqa: PTH112 - ten times faster
            return os.fspath(directory)
        return str(self.project_dir)

    def directory_of(self, handler: HandlerSpec) -> str:
        """Return the directory in which a command runs."""
        return handler.cwd or self.cwd

    def with_event(self, event: Event) -> HookContext:
        """Return the same context for a changed event."""
        return replace(self, event=event)
