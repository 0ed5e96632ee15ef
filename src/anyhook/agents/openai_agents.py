"""Hooks in agents that are built with the OpenAI Agents SDK.

    result = await AnyhookRunner.load(".").run(agent, "hello")

`AnyhookRunner` stands in for `agents.Runner`. Agents that take part in one of its runs, by handoff
and as tools too, get a class of their own that asks the session of the run they are in; in any
other run, and where there are no hooks, they are what they were.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import shlex
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from agents.tool import (
    ToolOriginType,
    default_tool_timeout_error_message,
    get_function_tool_origin,
    invoke_function_tool,
    maybe_invoke_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext
from agents.util._approvals import evaluate_function_tool_approval
from pydantic import BaseModel

from agents import (
    Agent,
    ApplyPatchTool,
    CodeInterpreterTool,
    ComputerTool,
    CustomTool,
    FileSearchTool,
    FunctionTool,
    GuardrailFunctionOutput,
    Handoff,
    HostedMCPTool,
    ImageGenerationTool,
    InputGuardrail,
    InputGuardrailResult,
    InputGuardrailTripwireTriggered,
    LocalShellTool,
    Model,
    ModelProvider,
    ModelResponse,
    RunConfig,
    RunErrorHandlerResult,
    Runner,
    RunState,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolOutputFileContent,
    ToolOutputGuardrail,
    ToolOutputImage,
    ToolOutputText,
    Usage,
    WebSearchTool,
)
from anyhook.agents.frameworks import Framework, missing_for
from anyhook.agents.openai_items import (
    add_to_prompt,
    choice_to_own,
    completed,
    events_of,
    prompt_of,
    refusal_item,
    request_from_input,
    request_to_input,
    response_from_output,
    response_of,
    response_to_output,
    settings_to_own,
)
from anyhook.agents.session import ROUNDS, Session, ToolRun, in_tags
from anyhook.agents.words import text_of
from anyhook.engine.engine import Engine
from anyhook.errors import StoppedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from agents.items import TResponseStreamEvent
    from agents.stream_events import StreamEvent

    from agents import RunResult, RunResultStreaming, TResponseInputItem
    from anyhook.agents.session import ModelCall, Question, ToolReturn
    from anyhook.agents.words import HostTool
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.model.llm import LLMRequest, ToolConfig

UNSEEN = (
    "hosted tools (web search, file search, code interpreter, images, hosted MCP and shell) and "
    "computer actions run without being told; only BeforeToolSelection can take them away"
)
OPENAI_AGENTS = Framework(
    title="OpenAI Agents SDK",
    package="openai-agents",
    missing={"before_tool.hosted_tools": UNSEEN, "after_tool.hosted_tools": UNSEEN},
)
"""What hooks cannot do here; it is told when such a tool is first offered to a model."""

SEEN = Framework(title=OPENAI_AGENTS.title, package=OPENAI_AGENTS.package)
HOSTED = (
    CodeInterpreterTool,
    ComputerTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    WebSearchTool,
)
MODEL_EVENTS = ("before_model", "before_tool_selection", "after_model")
ARGUMENTS = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)
"""What a model is called with by position."""
PREFACE = ("response.created", "response.in_progress", "response.queued")
FAILURES = ("response.failed", "response.incomplete")
STRUCTURED = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
TAILS = 8
"""How many tools hooks may run in place of one result."""

_living: ContextVar[_Life | None] = ContextVar("anyhook_openai_agents", default=None)
_failure: ContextVar[list[str] | None] = ContextVar("anyhook_openai_failure", default=None)


class PromptDeniedError(InputGuardrailTripwireTriggered):
    """A hook denied the prompt; the model was not asked.

    Attributes:
        reason: Why.
    """

    def __init__(self, reason: str) -> None:
        output = GuardrailFunctionOutput(output_info=reason, tripwire_triggered=True)
        guardrail: InputGuardrail[Any] = InputGuardrail(
            guardrail_function=lambda *_: output, name="anyhook"
        )
        super().__init__(InputGuardrailResult(guardrail=guardrail, output=output))
        self.reason = reason
        self.args = (reason,)


class AnyhookRunner:
    """Runs agents as `agents.Runner` does, and lets hooks decide.

    Every run is a session of its own; inside an `async with` block all runs are turns of one.

    What hooks decide, and what the caller gets: a denied prompt raises `PromptDeniedError`, which
    is an `InputGuardrailTripwireTriggered`. A denied request, or a response that was discarded,
    ends the turn with an empty `final_output`; where the agent has an `output_type`, or inside an
    agent that runs as a tool, it is the SDK's `ModelRefusalError`, which `error_handlers` may
    answer. A hook that ends the agent raises `StoppedError`.

    Args:
        engine: Whose hooks decide; the caller closes it.
        session_id: See `anyhook.agents.Session`; by default that of the SDK's session (`session=`)
            that the first run gets.
        cwd: See `Session`, as the further ones.
        source: How the session begins.
        tools: The agents' tools in canonical words.
        ask: Asks the user.
        tell: Shows the user a text.
        watch: Is shown every event with its decision.
        rounds: How often hooks may send the agent round in one turn.
        transcript: File that the session is written to.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        cwd: str | Path | None = None,
        source: str = "startup",
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        tell: Callable[[str], object] | None = None,
        watch: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
    ) -> None:
        self.engine = engine
        self._mapped = dict(tools or {})
        self._seen = watch is not None or transcript is not None
        self._session_id = session_id
        self._new = partial(
            Session,
            engine,
            cwd=cwd,
            source=source,
            tools=self._mapped,
            ask=ask,
            tell=tell,
            watch=watch,
            rounds=rounds,
            transcript=transcript,
            framework=SEEN,
        )
        self._open: Session | None = None
        self._inside = False
        self._owns = False

    @classmethod
    def load(
        cls,
        project_dir: str | Path = ".",
        *,
        dialect: str = "gemini",
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        tell: Callable[[str], object] | None = None,
        watch: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
        **engine_options: Any,
    ) -> Self:
        """Read a project's hooks.

        Args:
            project_dir: Directory of the project.
            dialect: Whose settings are read.
            tools: The agents' tools in canonical words, `{"bash": "shell"}`.
            ask: Asks the user; without it the answer is no.
            tell: Shows the user a text; by default it is logged.
            watch: Is shown every event with its decision.
            rounds: How often hooks may send the agent round in one turn.
            transcript: File that sessions are written to.
            engine_options: See `Engine.load`.

        Raises:
            UnknownNameError: If there is no such dialect or rule set.
        """
        runner = cls(
            Engine.load(project_dir, dialect=dialect, **engine_options),
            tools=tools,
            ask=ask,
            tell=tell,
            watch=watch,
            rounds=rounds,
            transcript=transcript,
        )
        runner._owns = True
        return runner

    async def __aenter__(self) -> Self:
        self._inside = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        session, self._open, self._inside = self._open, None, False
        try:
            if session is not None:
                await session.__aexit__(kind, error, traceback)
        finally:
            if self._owns:
                self.engine.close()

    async def run(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Any,
    ) -> RunResult:
        """Run an agent until hooks, too, agree that it is done.

        Args:
            starting_agent: The agent.
            input: The prompt, a conversation that ends with it, or a state to go on from.
            options: Those of `Runner.run`.

        Returns:
            The result of the last round. Its `to_input_list()` is the whole conversation.

        Raises:
            PromptDeniedError: If a hook denied the prompt.
            StoppedError: If a hook ended the agent.
            AgentsException: What `Runner.run` raises.
        """
        async with self._turn(starting_agent, input, options) as turn:
            while True:
                with turn.begun() as (agent, given, chosen):
                    result = await Runner.run(agent, given, **chosen)
                if not await turn.goes_on(result):
                    return result

    def run_sync(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Any,
    ) -> RunResult:
        """Run an agent where no event loop runs; see `run`."""
        runner = AgentRunner()  # its care for the thread's event loop, around our run
        runner.run = self.run  # type: ignore[method-assign]
        return runner.run_sync(starting_agent, input, **options)

    def run_streamed(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        context: Any = None,
        **options: Any,
    ) -> HookedStream:
        """Run an agent and stream what happens; it begins when its events are asked for.

        Args:
            starting_agent: The agent.
            input: See `run`.
            context: See `Runner.run_streamed`.
            options: Those of `Runner.run_streamed`.
        """
        turn = self._turn(starting_agent, input, {"context": context, **options})
        return HookedStream(turn)

    @asynccontextmanager
    async def _session(self, memory: Any) -> AsyncIterator[Session]:
        known = getattr(memory, "session_id", None)
        session_id = self._session_id or (known if isinstance(known, str) else None)
        if not self._inside:
            async with self._new(session_id=session_id) as session:
                yield session
            return
        if self._open is None:
            self._open = self._new(session_id=session_id)
            await self._open.start()
        yield self._open

    @asynccontextmanager
    async def _turn(
        self, agent: Agent[Any], given: Any, options: dict[str, Any]
    ) -> AsyncIterator[_Turn]:
        async with self._session(options.get("session")) as session:
            turn = _Turn(_Life(session, self._mapped, self._seen), agent, given, options)
            with _stops(session):
                await turn.begin()
                try:
                    yield turn
                finally:
                    await turn.close()


class HookedStream:
    """A run that streams; its further attributes are those of the SDK's result of this round."""

    def __init__(self, turn: Any) -> None:
        self._turn = turn
        self._result: RunResultStreaming | None = None

    def __getattr__(self, name: str) -> Any:
        result = self.__dict__.get("_result")
        if result is None:
            raise AttributeError(f"{name} is there when the run has begun: read stream_events()")
        return getattr(result, name)

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """Run the agent, once, and yield the events of every round; raises what `run` does."""
        async with self._turn as turn:
            while True:
                with turn.begun() as (agent, given, chosen):
                    result = self._result = Runner.run_streamed(agent, given, **chosen)
                try:
                    async for event in result.stream_events():
                        yield event
                finally:
                    if not result.is_complete:
                        result.cancel()
                if result.run_loop_exception is not None:
                    raise result.run_loop_exception
                if not await turn.goes_on(result):
                    return


@contextmanager
def _stops(session: Session) -> Iterator[None]:
    """Say of a run that a hook ended that it was ended, whatever came of that inside the SDK."""
    try:
        yield
    except StoppedError:
        raise
    except Exception as error:
        if session.stopped is None:
            raise
        raise StoppedError(session.stopped) from error
    else:
        if session.stopped is not None:
            raise StoppedError(session.stopped)


class _Turn:
    """One prompt and all rounds that hooks make of it."""

    def __init__(self, life: _Life, agent: Agent[Any], given: Any, options: dict[str, Any]) -> None:
        self.life = life
        self.first = self.agent = agent
        self.given = given
        self.options = options
        self._provider: ModelProvider | None = None

    async def begin(self) -> None:
        """Tell of the prompt, and prepare what the run takes."""
        if not isinstance(self.given, RunState):
            prompt = await self.life.session.prompt(prompt_of(self.given))
            if prompt.denied is not None:
                self.life.session.tell(prompt.denied)
                raise PromptDeniedError(prompt.denied)
            self.given = add_to_prompt(self.given, [in_tags(text) for text in prompt.context])
        if self.life.quiet:
            return
        config = self.options.get("run_config")
        if not isinstance(config, RunConfig):
            own = config is None or "model_provider" not in config
            config = RunConfig(**(config or {}))
            self._provider = config.model_provider if own else None
        handlers = self.options.get("error_handlers")
        self.options = {
            **self.options,
            "run_config": self.life.configured(config),
            "error_handlers": self.life.handling(handlers),
        }
        _install()

    @contextmanager
    def begun(self) -> Iterator[tuple[Agent[Any], Any, dict[str, Any]]]:
        """Tell what to run; whatever starts inside the block belongs to this life."""
        if self.life.quiet:
            yield self.agent, self.given, self.options
            return
        _meet(self.agent, self.given)
        token = _living.set(self.life)
        try:
            yield self.agent, self.given, self.options
        finally:
            _living.reset(token)

    async def goes_on(self, result: RunResult | RunResultStreaming) -> bool:
        """Tell of the end of a round. Returns whether hooks send the agent round again."""
        if result.interruptions or getattr(result, "_cancel_mode", "none") != "none":
            return False
        session = self.life.session
        end = await session.finish(_final(result.final_output))
        if end.again is None:
            return False
        self.agent = self.first if end.clear else result.last_agent
        memory = self.options.get("session")
        kept = _kept_by_server(self.options)
        if end.clear:
            await self._forget()
        self.given = end.again
        if not end.clear and memory is None and not kept:
            again: Any = {"role": "user", "content": end.again}
            self.given = [*result.to_input_list(), again]
        elif not end.clear and kept and not self.options.get("conversation_id"):
            self.options["previous_response_id"] = result.last_response_id
        self.options["context"] = result.context_wrapper  # its usage and approvals go on
        return True

    async def _forget(self) -> None:
        memory = self.options.get("session")
        if memory is not None:
            await memory.clear_session()
        if self.options.pop("conversation_id", None):
            self.life.session.tell(
                "the conversation that OpenAI keeps cannot be cleared; this turn leaves it"
            )
        self.options["previous_response_id"] = None

    async def close(self) -> None:
        """Close what the SDK's runner would have closed, had it made it."""
        if self._provider is not None:
            await self._provider.aclose()


def _kept_by_server(options: Mapping[str, Any]) -> bool:
    keys = ("conversation_id", "previous_response_id", "auto_previous_response_id")
    return any(options.get(key) for key in keys)


def _final(output: Any) -> str:
    if isinstance(output, BaseModel):
        return output.model_dump_json()
    return "" if output is None else text_of(output)


# -- agents


class _Guards:
    """A field of an agent that shows something else while hooks look on."""

    def __init__(self, name: str, shown: Callable[[_Life, Any], Any]) -> None:
        self.name = name
        self.shown = shown

    def __get__(self, agent: Any, owner: type) -> Any:
        if agent is None:
            return self
        value = agent.__dict__[self.name]
        life = _living.get()
        return value if life is None else self.shown(life, value)

    def __set__(self, agent: Any, value: Any) -> None:
        agent.__dict__[self.name] = value


@cache
def _guarded_class(kind: Any) -> Any:
    """Return a class of agents that ask hooks; of one base, as only then an agent can take it."""

    async def get_all_tools(self: Any, run_context: Any) -> list[Any]:
        tools: list[Any] = await kind.get_all_tools(self, run_context)
        life = _living.get()
        if life is None:
            return tools
        life.tell_hosted(tools)
        return [life.guarded(tool) for tool in tools]

    members = {
        "model": _Guards("model", lambda life, model: life.model(model)),
        "handoffs": _Guards("handoffs", lambda _life, ways: [_guarded_handoff(h) for h in ways]),
        "get_all_tools": get_all_tools,
        "_anyhook": True,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    return type(kind.__name__, (kind,), members)


def _meet(agent: Agent[Any], given: Any = None) -> Agent[Any]:
    """Give an agent its guarded class; agents that it hands over to follow when it does."""
    if not getattr(agent, "_anyhook", False):
        agent.__class__ = _guarded_class(cast("Any", type(agent)))
    if isinstance(given, RunState) and isinstance(given._current_agent, Agent):  # noqa: SLF001
        _meet(given._current_agent)  # noqa: SLF001
    return agent


def _guarded_handoff(way: Any) -> Any:
    if not isinstance(way, Handoff):
        return _meet(way)
    invoke = way.on_invoke_handoff

    async def handed(context: Any, arguments: str) -> Any:
        return _meet(await invoke(context, arguments))

    guarded = copy.copy(way)
    guarded.on_invoke_handoff = handed
    return guarded


class _Nested:
    """The SDK's own runner; a run that a tool of a guarded run begins is guarded, too."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, agent: Any, given: Any, **options: Any) -> Any:
        return await self.inner.run(_joining(agent, given, options), given, **options)

    def run_sync(self, agent: Any, given: Any, **options: Any) -> Any:
        return self.inner.run_sync(_joining(agent, given, options), given, **options)

    def run_streamed(self, agent: Any, given: Any, **options: Any) -> Any:
        return self.inner.run_streamed(_joining(agent, given, options), given, **options)


def _joining(agent: Any, given: Any, options: dict[str, Any]) -> Any:
    life = _living.get()
    if life is None:
        return agent
    config = options.get("run_config")
    if isinstance(config, RunConfig):
        options["run_config"] = life.configured(config)
    else:
        options["run_config"] = life.configured(RunConfig(**(config or {})))
    return _meet(agent, given)


def _install() -> None:
    current: Any = get_default_agent_runner()
    if not isinstance(current, _Nested):
        set_default_agent_runner(cast("AgentRunner", _Nested(current)))


# -- models


class _Provider(ModelProvider):
    def __init__(self, inner: ModelProvider, life: _Life) -> None:
        self.inner = inner
        self.life = life

    def get_model(self, model_name: str | None) -> Model:
        return cast("Model", self.life.model(self.inner.get_model(model_name), self.inner))

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class _Asked:
    """What became of a request to a model: its response, or what to send to which model."""

    request: LLMRequest
    given: dict[str, Any]
    model: Model
    response: ModelResponse | None = None


class _Model(Model):
    """A model that hooks are told of, in any life that it is used in."""

    def __init__(self, inner: Model, provider: ModelProvider | None = None) -> None:
        self.inner = inner
        self.provider = provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.inner._cleanup_on_run_end(owner)  # noqa: SLF001

    async def close(self) -> None:
        await self.inner.close()

    def get_retry_advice(self, request: Any) -> Any:
        return self.inner.get_retry_advice(request)

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        given = {**dict(zip(ARGUMENTS, args, strict=False)), **options}
        life = _living.get()
        if life is None or not life.hears(*MODEL_EVENTS):
            return await self.inner.get_response(**given)
        asked = await life.ask(self, given)
        if asked.response is not None:
            return asked.response
        response = await asked.model.get_response(**asked.given)
        return await life.answered(asked, response, response.usage)

    async def stream_response(
        self, *args: Any, **options: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        given = {**dict(zip(ARGUMENTS, args, strict=False)), **options}
        life = _living.get()
        if life is None or not life.hears(*MODEL_EVENTS):
            async with _closing(self.inner.stream_response(**given)) as events:
                async for event in events:
                    yield event
            return
        asked = await life.ask(self, given)
        if asked.response is not None:
            for event in events_of(asked.response.output, (), ()):
                yield event
            yield completed(asked.response)
            return
        async with _closing(_streamed(life, asked)) as events:
            async for event in events:
                yield event


async def _streamed(life: _Life, asked: _Asked) -> AsyncIterator[TResponseStreamEvent]:
    """Stream a response; while hooks might change it, nothing of it is told before its end."""
    holds = life.session.holds_back(asked.request)
    held: list[Any] = []
    done: list[Any] = []
    async with _closing(asked.model.stream_response(**asked.given)) as events:
        async for event in events:
            if event.type == "response.output_item.done":
                done.append(event.item)
            if event.type == "response.completed":
                async for last in _ended(life, asked, event, held, done):
                    yield last
            elif not holds:
                yield event
            elif event.type in FAILURES:
                yield _without_output(event)
            elif event.type == "error":
                yield event
            else:
                held.append(event)


async def _ended(
    life: _Life, asked: _Asked, event: Any, held: list[Any], done: list[Any]
) -> AsyncIterator[TResponseStreamEvent]:
    around = event.response
    response = ModelResponse(around.output or done, Usage(), around.id)
    replied = await life.answered(asked, response, around.usage)
    if replied is response:
        for one in (*held, event):
            yield one
        return
    for one in held:
        if one.type in PREFACE:
            yield _without_output(one)
    for one in events_of(replied.output, response.output, held):
        yield one
    yield completed(replied, around)


def _without_output(event: Any) -> Any:
    response = getattr(event, "response", None)
    if response is None or not response.output:
        return event
    return event.model_copy(update={"response": response.model_copy(update={"output": []})})


@asynccontextmanager
async def _closing(events: AsyncIterator[Any]) -> AsyncIterator[AsyncIterator[Any]]:
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


# -- life


@dataclass
class _Done:
    """What a tool returned: `error` if it failed, `raised` if that is to end the run."""

    output: Any
    error: str | None = None
    raised: Exception | None = None


@dataclass
class _Use:
    """A tool call in the host's words."""

    name: str
    arguments: dict[str, Any]
    invoke: Callable[[dict[str, Any]], Awaitable[_Done]]


@dataclass
class _Life:
    """A session, and what a run under it has met.

    Attributes:
        session: Whose hooks decide.
        mapped: Tools that the host says what they do.
        seen: Whether somebody looks on even without hooks.
        tools: Function tools by the names that hooks may use.
    """

    session: Session
    mapped: Mapping[str, Any]
    seen: bool
    tools: dict[str, FunctionTool] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    judged: dict[tuple[str, str], ToolRun] = field(default_factory=dict)
    _models: dict[int, _Model] = field(default_factory=dict)
    _guarded: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    _told_hosted: bool = False

    @property
    def quiet(self) -> bool:
        """Whether there is nobody to tell of anything."""
        return not self.seen and not self.session.engine.definitions

    def hears(self, *events: str) -> bool:
        """Tell whether somebody wants to know of one of some events.

        Raises:
            StoppedError: If a hook ended the agent, whatever the SDK made of that.
        """
        if self.session.stopped is not None:
            raise StoppedError(self.session.stopped)
        return self.seen or any(d.event in events for d in self.session.engine.definitions)

    def configured(self, config: RunConfig) -> RunConfig:
        """Return a configuration whose models are guarded."""
        if isinstance(config.model_provider, _Provider):
            return config
        provider = _Provider(config.model_provider, self)
        return dataclasses.replace(config, model=self.model(config.model), model_provider=provider)

    def model(self, model: Any, provider: ModelProvider | None = None) -> Any:
        """Return a guarded model; a name is for the provider."""
        if not isinstance(model, Model) or isinstance(model, _Model):
            return model
        return self._models.setdefault(id(model), _Model(model, provider))

    def handling(self, handlers: Any) -> Any:
        """Let a turn that hooks cut short end without an answer, unless the host knows better."""
        theirs = (handlers or {}).get("model_refusal")

        async def refused(data: Any) -> Any:
            result = theirs(data) if theirs is not None else None
            if inspect.isawaitable(result):
                result = await result
            plain = data.run_data.last_agent.output_type in (None, str)
            if result is None and plain and data.error.refusal in self.refused:
                return RunErrorHandlerResult(final_output="", include_in_history=False)
            return result

        return {**(handlers or {}), "model_refusal": refused}

    # -- requests and responses

    async def ask(self, model: _Model, given: dict[str, Any]) -> _Asked:
        """Tell of a request."""
        name = getattr(model.inner, "model", "")
        before = request_from_input(
            given["input"], given["model_settings"], name if isinstance(name, str) else ""
        )
        names = [self.told(tool) for tool in given["tools"]]
        names += [way.tool_name for way in given["handoffs"]]
        call = await self.session.before_model(before, tools=names)
        asked = _Asked(call.request, given, model.inner)
        goes_on = given.get("previous_response_id")
        if call.response is not None:
            asked.response = response_of(call.response, goes_on)
        elif call.denied is not None:
            asked.response = ModelResponse([self._refuse(call.denied)], Usage(), goes_on)
        else:
            self._lay(asked, before, call, model)
        return asked

    async def answered(self, asked: _Asked, response: ModelResponse, usage: Any) -> ModelResponse:
        """Tell of a response. Returns the same one if nothing changes."""
        shown = response_from_output(response.output, usage)
        reply = await self.session.after_model(asked.request, shown)
        if reply.response is None:
            refusal = self._refuse(reply.denied or "")
            return dataclasses.replace(response, output=[refusal])
        if not reply.changed:
            return response
        output = response_to_output(response.output, reply.response)
        return dataclasses.replace(response, output=output)

    def _refuse(self, reason: str) -> Any:
        self.session.tell(reason)
        self.refused.add(reason)
        return refusal_item(reason)

    def _lay(self, asked: _Asked, before: LLMRequest, call: ModelCall, model: _Model) -> None:
        after = call.request
        choice = call.tools
        if after is not before:
            given = asked.given = dict(asked.given)
            given["input"], more = request_to_input(given["input"], before, after)
            said = [text for text in (given["system_instructions"], *more) if text]
            given["system_instructions"] = "\n\n".join(said) or None
            settings = given["model_settings"]
            given["model_settings"] = settings_to_own(settings, before, after)
            if "topK" in (after.get("config") or {}):
                self.session.tell("topK of a hook is left out: the OpenAI Agents SDK has none")
            wanted = after.get("model")
            if wanted and wanted != before.get("model"):
                asked.model = self._named_model(wanted, model)
            if choice is None and after.get("toolConfig") != before.get("toolConfig"):
                choice = after.get("toolConfig")
        if choice is not None:
            asked.given = self._chosen(asked.given, choice)

    def _named_model(self, name: str, model: _Model) -> Model:
        if model.provider is not None:
            return model.provider.get_model(name)
        self.session.tell(f"the model {name} of a hook is left out: the agent has a model object")
        return model.inner

    def _chosen(self, given: dict[str, Any], config: ToolConfig) -> dict[str, Any]:
        names = config.get("allowedFunctionNames") or ()
        none = config.get("mode") == "NONE"

        def may(*known: str) -> bool:
            return not none and (not names or any(name in names for name in known))

        tools = [tool for tool in given["tools"] if may(tool.name, *self._names(tool))]
        handoffs = [way for way in given["handoffs"] if may(way.tool_name)]
        settings = choice_to_own(given["model_settings"], config, bool(tools or handoffs))
        return {**given, "tools": tools, "handoffs": handoffs, "model_settings": settings}

    def tell_hosted(self, tools: Iterable[Any]) -> None:
        """Tell, once, that tools that hooks look for run where nobody can look."""
        if self._told_hosted or not any(_is_hosted(tool) for tool in tools):
            return
        self._told_hosted = True
        for text in missing_for(OPENAI_AGENTS, self.session.engine):
            self.session.tell(text)

    # -- tools

    def told(self, tool: Any) -> str:
        """Return the name of a tool that hooks are told; that of MCP tools is canonical."""
        name = str(tool.name)
        if isinstance(tool, LocalShellTool) and name not in self.mapped:
            return "shell"
        origin = get_function_tool_origin(tool) if isinstance(tool, FunctionTool) else None
        if origin is None or origin.type is not ToolOriginType.MCP or name in self.mapped:
            return name
        binding = getattr(tool, "_mcp_tool_binding", None)
        return f"mcp__{origin.mcp_server_name}__{binding[1] if binding else name}"

    def _names(self, tool: Any) -> tuple[str, str]:
        told = self.told(tool)
        return told, self.session.tools.told(told, {})[0]

    def guarded(self, tool: Any) -> Any:
        """Return a tool that asks hooks; one that runs elsewhere stays as it is."""
        if self.quiet or getattr(tool, "_anyhook", False):
            return tool
        known = self._guarded.get(id(tool))
        if known is None:
            known = self._guarded[id(tool)] = (tool, self._guard(tool))
        return known[1]

    def _guard(self, tool: Any) -> Any:
        if isinstance(tool, FunctionTool):
            self.tools[tool.name] = self.tools[self.told(tool)] = tool
        guard = next((make for kind, make in GUARDS.items() if isinstance(tool, kind)), None)
        if guard is None or _is_hosted(tool):
            return tool
        guarded = guard(tool)
        guarded._anyhook = True  # noqa: SLF001
        return guarded

    async def judge(self, name: str, arguments: dict[str, Any], call_id: str) -> ToolRun:
        """Tell of a call, once, however often the SDK asks."""
        key = (call_id, name)
        if key not in self.judged:
            self.judged[key] = await self.session.before_tool(name, arguments, call_id=call_id)
        return self.judged[key]

    async def use(self, use: _Use, call_id: str, context: Any) -> _Result:
        """Run a tool, and what hooks run in its place."""
        requested: str | None = None
        run = await self.judge(use.name, use.arguments, call_id)
        self.judged.pop((call_id, use.name), None)
        for _ in range(TAILS):
            if not run.runs:
                return _Result(_denial(run), replaced=True)
            done = await use.invoke(run.arguments)
            back = await self.session.after_tool(
                use.name,
                run.arguments,
                _plain(done.output),
                error=done.error,
                call_id=call_id,
                requested=requested,
            )
            if back.tail is None:
                break
            requested = requested or use.name
            use = self._tail(*back.tail, context, call_id)
            run = await self.session.before_tool(
                use.name, use.arguments, call_id=call_id, requested=requested
            )
        if done.raised is not None:
            raise done.raised
        return _Result.of(run, back, done, tailed=requested is not None)

    def _tail(self, name: str, arguments: dict[str, Any], context: Any, call_id: str) -> _Use:
        tool = self.tools.get(name)

        async def missing(_arguments: dict[str, Any]) -> _Done:
            text = f"there is no tool {name} that could run in its place"
            return _Done(text, error=text)

        if tool is None:
            return _Use(name, arguments, missing)
        text = json.dumps(arguments)
        inner = _context(context, tool.name, call_id, text)
        return _Use(self.told(tool), arguments, partial(_invoke, _recording(tool), inner, text))


@dataclass
class _Result:
    """What the model gets for a tool call.

    Attributes:
        output: The tool's own output, or a text in its place.
        texts: What hooks add.
        replaced: Whether `output` is not the tool's own.
    """

    output: Any
    texts: tuple[str, ...] = ()
    replaced: bool = False

    @classmethod
    def of(cls, run: ToolRun, back: ToolReturn, done: _Done, *, tailed: bool) -> _Result:
        texts = tuple(map(in_tags, (*run.context, *back.context)))
        output = back.output if back.replaced else done.output
        return cls(output, texts, back.replaced or tailed)

    @property
    def whole(self) -> Any:
        """The output with the texts; the tool's own object if there are none."""
        if not self.texts:
            return self.output
        many = self.output if isinstance(self.output, list) else [self.output]
        if all(isinstance(one, STRUCTURED) for one in many):
            return [*many, ToolOutputText(text="\n\n".join(self.texts))]
        own = self.output if isinstance(self.output, str) else str(self.output)
        return "\n\n".join((own, *self.texts))


class _Text(str):
    """A text in place of what a tool with a schema for its output returned."""

    __slots__ = ()


def _is_hosted(tool: Any) -> bool:
    return isinstance(tool, HOSTED) or (isinstance(tool, ShellTool) and tool.executor is None)


def _denial(run: ToolRun) -> str:
    return "\n\n".join((run.reason, *map(in_tags, run.context)))


def _plain(output: Any) -> Any:
    """Show what a tool returned as JSON, or as its text."""
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json")
    if isinstance(output, list):
        return [_plain(one) for one in output]
    if isinstance(output, ShellResult):
        return "\n".join(text for one in output.output for text in (one.stdout, one.stderr) if text)
    if isinstance(output, ApplyPatchResult):
        return output.output or ""
    return "" if output is None else output


def _arguments(text: str) -> dict[str, Any]:
    """Read the arguments of a call; what is no object is shown as it is."""
    try:
        parsed = json.loads(text) if text else {}
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"input": text}


def _written(text: str, arguments: dict[str, Any]) -> str:
    before = _arguments(text)
    if arguments == before:
        return text
    if before == {"input": text}:
        return str(arguments.get("input", ""))
    return json.dumps(arguments, ensure_ascii=False)


def _context(context: Any, name: str, call_id: str, text: str) -> ToolContext[Any]:
    if isinstance(context, ToolContext):
        changed = copy.copy(context)
        changed.tool_name, changed.tool_arguments = name, text
        return changed
    return ToolContext(context.context, context.usage, name, call_id, text)


# -- function tools


def _recording(tool: FunctionTool) -> FunctionTool:
    """Return a copy that tells of failures which the SDK turns into results."""

    def note(error: BaseException) -> None:
        noted = _failure.get()
        if noted is not None:
            noted.append(str(error) or type(error).__name__)

    async def failed(context: Any, error: Exception) -> Any:
        note(error)
        return await maybe_invoke_function_tool_failure_error_function(
            function_tool=tool, context=context, error=error
        )

    async def late(context: Any, error: Exception) -> str:
        note(error)
        formatter = tool.timeout_error_function
        if formatter is None:
            return default_tool_timeout_error_message(
                tool_name=tool.name, timeout_seconds=tool.timeout_seconds or 0.0
            )
        text = formatter(context, error)
        return await text if inspect.isawaitable(text) else text

    inner = copy.copy(tool)
    set_function_tool_failure_error_function(inner, failed)
    if inner.timeout_seconds is not None:
        inner.timeout_error_function = late
    return inner


async def _invoke(inner: FunctionTool, context: Any, text: str, arguments: dict[str, Any]) -> _Done:
    noted: list[str] = []
    written = _written(text, arguments)
    if written is not text:
        context = _context(context, context.tool_name, context.tool_call_id, written)
    token = _failure.set(noted)
    try:
        output = await invoke_function_tool(function_tool=inner, context=context, arguments=written)
    except Exception as error:  # noqa: BLE001 - a failing tool is told, and then raised
        return _Done(str(error), error=str(error) or type(error).__name__, raised=error)
    finally:
        _failure.reset(token)
    return _Done(output, error=noted[-1] if noted else None)


def _guard_function(tool: FunctionTool) -> FunctionTool:
    inner = _recording(tool)

    async def invoked(context: ToolContext[Any], text: str) -> Any:
        life = _living.get()
        if life is None:
            return await invoke_function_tool(function_tool=tool, context=context, arguments=text)
        use = _Use(life.told(tool), _arguments(text), partial(_invoke, inner, context, text))
        result = await life.use(use, context.tool_call_id, context)
        schema = tool.output_json_schema is not None and (result.replaced or result.texts)
        return _Text(result.whole) if schema else result.whole

    async def checked(data: Any) -> ToolGuardrailFunctionOutput:
        life, context = _living.get(), data.context
        if life is None:
            return ToolGuardrailFunctionOutput.allow()
        name, call_id = life.told(tool), context.tool_call_id
        run = await life.judge(name, _arguments(context.tool_arguments), call_id)
        if run.runs:
            return ToolGuardrailFunctionOutput.allow()
        del life.judged[call_id, name]
        return ToolGuardrailFunctionOutput.reject_content(_denial(run))

    async def approves(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        life = _living.get()
        if life is not None:
            run = await life.judge(life.told(tool), arguments, call_id)
            if run.approved or not run.runs:
                return False
            arguments = run.arguments
        text = json.dumps(arguments)
        judged = await evaluate_function_tool_approval(tool, context, text, call_id)
        return judged.outcome == "require_approval"

    outer = copy.copy(tool)
    outer.on_invoke_tool = invoked
    outer.timeout_seconds = None  # it is the tool's; hooks and users take their time
    before: ToolInputGuardrail[Any] = ToolInputGuardrail(checked, name="anyhook")
    outer.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), before]
    if tool.output_json_schema is not None:
        after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(_let_text_pass, name="anyhook")
        outer.tool_output_guardrails = [*(tool.tool_output_guardrails or ()), after]
    if tool.needs_approval is not False:
        outer.needs_approval = approves
    return outer


def _let_text_pass(data: Any) -> ToolGuardrailFunctionOutput:
    """Let a hook's text take the place of an output that has a schema."""
    if isinstance(data.output, _Text):
        return ToolGuardrailFunctionOutput.reject_content(str(data.output))
    return ToolGuardrailFunctionOutput.allow()


# -- tools that the SDK knows and this process runs


async def _run(function: Callable[..., Any], *given: Any) -> _Done:
    try:
        output = function(*given)
        return _Done(await output if inspect.isawaitable(output) else output)
    except Exception as error:  # noqa: BLE001 - a failing tool is told, and then raised
        return _Done(str(error), error=str(error) or type(error).__name__, raised=error)


def _guard_custom(tool: CustomTool) -> CustomTool:
    async def invoked(context: ToolContext[Any], text: str) -> Any:
        async def invoke(arguments: dict[str, Any]) -> _Done:
            return await _run(tool.on_invoke_tool, context, str(arguments.get("input", "")))

        life = _living.get()
        if life is None:
            return (await invoke({"input": text})).output
        use = _Use(tool.name, {"input": text}, invoke)
        return (await life.use(use, context.tool_call_id, context)).whole

    guarded = copy.copy(tool)
    guarded.on_invoke_tool = invoked
    return guarded


def _guard_shell(tool: ShellTool) -> ShellTool:
    executor = cast("Callable[..., Any]", tool.executor)

    async def executed(request: Any) -> Any:
        action = request.data.action
        command = "\n".join(action.commands)

        async def invoke(arguments: dict[str, Any]) -> _Done:
            wanted = arguments.get("command")
            if wanted == command:
                return await _run(executor, request)
            changed = dataclasses.replace(action, commands=[str(wanted)])
            data = dataclasses.replace(request.data, action=changed)
            return await _run(executor, dataclasses.replace(request, data=data))

        life = _living.get()
        if life is None:
            return (await invoke({"command": command})).output
        use = _Use(tool.name, {"command": command}, invoke)
        result = await life.use(use, request.data.call_id, request.ctx_wrapper)
        if result.texts and isinstance(result.output, ShellResult):
            added = [ShellCommandOutput(stdout=text) for text in result.texts]
            return dataclasses.replace(result.output, output=[*result.output.output, *added])
        return result.whole

    guarded = copy.copy(tool)
    guarded.executor = executed
    return guarded


def _guard_local_shell(tool: LocalShellTool) -> LocalShellTool:
    async def executed(request: Any) -> Any:
        action = request.data.action
        command = shlex.join(action.command)

        async def invoke(arguments: dict[str, Any]) -> _Done:
            wanted = arguments.get("command")
            if wanted == command:
                return await _run(tool.executor, request)
            changed = action.model_copy(update={"command": shlex.split(str(wanted))})
            data = request.data.model_copy(update={"action": changed})
            return await _run(tool.executor, dataclasses.replace(request, data=data))

        life = _living.get()
        if life is None:
            return (await invoke({"command": command})).output
        use = _Use(life.told(tool), {"command": command}, invoke)
        return (await life.use(use, request.data.call_id, request.ctx_wrapper)).whole

    guarded = copy.copy(tool)
    guarded.executor = executed
    return guarded


EDITS = {
    "create_file": ("write_file", "content"),
    "update_file": ("edit_file", "diff"),
    "delete_file": ("delete_file", "diff"),
}
"""Operation of a patch to the tool that hooks are told of, and what they call its text."""


class _Editor:
    """An editor of patches that asks hooks."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    async def create_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def _edit(self, operation: ApplyPatchOperation) -> Any:
        apply = getattr(self.inner, operation.type)
        life = _living.get()
        if life is None:
            return await _awaited(apply(operation))
        name, key = EDITS[operation.type]
        shown = {"file_path": operation.path}
        if operation.diff is not None:
            shown[key] = _content(operation)

        async def invoke(arguments: dict[str, Any]) -> _Done:
            return await _run(apply, _changed(operation, key, shown, arguments))

        call_id = f"apply_patch:{id(operation)}"
        result = await life.use(_Use(name, shown, invoke), call_id, operation.ctx_wrapper)
        if not result.texts and not result.replaced:
            return result.output
        text = "\n\n".join((text_of(_plain(result.output)), *result.texts))
        return ApplyPatchResult(output=text)


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _content(operation: ApplyPatchOperation) -> str:
    """Return what an operation writes: of a new file its content, without the marks of a diff."""
    text = operation.diff or ""
    if operation.type != "create_file":
        return text
    return "\n".join(line.removeprefix("+") for line in text.split("\n"))


def _changed(
    operation: ApplyPatchOperation, key: str, shown: dict[str, Any], wanted: dict[str, Any]
) -> ApplyPatchOperation:
    if wanted == shown:
        return operation
    diff = operation.diff
    if wanted.get(key) != shown.get(key):
        diff = str(wanted.get(key, ""))
        if operation.type == "create_file":
            diff = "\n".join(f"+{line}" for line in diff.split("\n"))
    return dataclasses.replace(operation, path=str(wanted["file_path"]), diff=diff)


def _guard_patches(tool: ApplyPatchTool) -> ApplyPatchTool:
    guarded = copy.copy(tool)
    guarded.editor = _Editor(tool.editor)
    return guarded


GUARDS: dict[type, Callable[[Any], Any]] = {
    FunctionTool: _guard_function,
    CustomTool: _guard_custom,
    ShellTool: _guard_shell,
    LocalShellTool: _guard_local_shell,
    ApplyPatchTool: _guard_patches,
}
