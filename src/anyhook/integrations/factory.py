"""What integrations share: loading an engine, sessions, and calls of tools with tail calls."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from anyhook.engine.engine import Engine
from anyhook.integrations.host_tools import HostTools
from anyhook.integrations.options import SessionOptions, check_options
from anyhook.integrations.session import Session
from anyhook.model.diagnostics import Severity

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import Self, Unpack

    from anyhook.integrations.framework import Framework
    from anyhook.integrations.options import LoadOptions
    from anyhook.integrations.results import ToolReturn, ToolRun

MODEL_EVENTS = ("before_model", "before_tool_selection", "after_model")
"""Events of requests to the model and of its responses."""


def load_engine(
    project_dir: str | os.PathLike[str] | None, options: Mapping[str, Any]
) -> tuple[Engine, dict[str, Any]]:
    """Load the hooks of a project; return the engine and the options that are for sessions.

    Raises:
        UnknownNameError: If there is no such agent or rule set.
        UsageError: If several agents have hooks here and none is named.
        RequiredHooksError: If hooks that are required do not run.
    """
    session_options = {k: v for k, v in options.items() if k in SessionOptions.__annotations__}
    engine_options = {k: v for k, v in options.items() if k not in session_options}
    engine = Engine.load(
        project_dir, on_message=session_options.get("on_message"), **engine_options
    )
    return engine, session_options


class LoadedHooks:
    """The hooks of a framework, which close their engine if they loaded it."""

    engine: Engine
    _owns_engine = False

    @classmethod
    def load(
        cls, project_dir: str | os.PathLike[str] | None = None, **options: Unpack[LoadOptions]
    ) -> Self:
        """Load the hooks of a project, see `load_engine`; what ends their use closes the engine.

        That is the end of a block (`with` or `async with`), or closing the plugin of Google ADK.
        """
        engine, session_options = load_engine(project_dir, options)
        hooks: Self = cast("Any", cls)(engine, **session_options)
        hooks._owns_engine = True
        return hooks

    def _close_engine(self) -> None:
        if self._owns_engine:
            self.engine.close()


class SessionFactory:
    """Makes the sessions of one integration, all with the same options.

    Raises:
        TypeError: For an option that does not exist.
        UsageError: If `tools` names a tool or an argument that does not exist.
    """

    def __init__(self, engine: Engine, framework: Framework, options: SessionOptions) -> None:
        check_options(options, SessionOptions)
        HostTools(engine.agent, options.get("tools"))  # a mistake in it is an error at once
        self.engine = engine
        self._framework = framework
        self._options = cast("dict[str, Any]", options)
        self._reported: set[str] = set()
        # The engine reported the problems that it found to another receiver.
        on_message = options.get("on_message")
        is_new_receiver = on_message not in (None, engine.messages.on_message)
        has_problems = any(d.severity is not Severity.INFO for d in engine.diagnostics)
        self._has_unreported_problems = is_new_receiver and has_problems

    @property
    def is_observed(self) -> bool:
        """Whether decisions or transcripts are wanted even without hooks."""
        options = self._options
        return options.get("on_decision") is not None or options.get("transcript") is not None

    @property
    def is_idle(self) -> bool:
        """Whether sessions have no effect: no hook, nothing to report, not observed."""
        return not (self.is_observed or self._has_unreported_problems or self.engine.listens())

    def listens(self, *events: str) -> bool:
        """Return whether a hook listens to one of some events, or they are observed."""
        return self.is_observed or any(map(self.engine.listens, events))

    def new_session(
        self, session_id: str | None = None, source: str = "startup", **options: Any
    ) -> Session:
        """Return a session that has not started; see `Session`."""
        return Session(
            self.engine,
            session_id=session_id,
            source=source,
            framework=self._framework,
            reported=self._reported,
            **self._options,
            **options,
        )


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


# -- calls of tools

MAX_CALLS = 8
"""How many tools in a row may run for one tool call: its own, and those that hooks add."""


class ToolChain:
    """Reports a call and its tail calls to hooks, under the identifier of the first call."""

    def __init__(
        self, session: Session, name: str, arguments: dict[str, Any], call_id: str | None
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.requested: str | None = None
        """The tool that the model asked for, if another one runs in its place."""
        self._session = session
        self._call_id = call_id
        self._calls_left = MAX_CALLS - 1

    async def before(self) -> ToolRun:
        """Report the current call, before it runs."""
        return await self._session.before_tool(
            self.name, self.arguments, call_id=self._call_id, requested=self.requested
        )

    async def after(self, arguments: dict[str, Any], output: Any, error: str | None) -> ToolReturn:
        """Report what the current call returned, with the arguments that it ran with."""
        return await self._session.after_tool(
            self.name,
            arguments,
            output,
            error=error,
            call_id=self._call_id,
            requested=self.requested,
        )

    def go_on(self, returned: ToolReturn) -> bool:
        """Make the tail call of hooks the current one; returns whether there is one to run."""
        if returned.tail_call is None or not self._calls_left:
            return False
        self._calls_left -= 1
        self.requested = self.requested or self.name
        self.name, self.arguments = returned.tail_call
        return True
