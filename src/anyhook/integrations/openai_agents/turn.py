"""One prompt: the runs of the SDK that it takes, and how the turn ends."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from pydantic import BaseModel

from agents import (
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailResult,
    InputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
)
from anyhook.errors import StoppedError
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.openai_agents.copies import hook_agent, hook_run_state, restore_agents
from anyhook.integrations.openai_agents.items import append_to_prompt, prompt_text
from anyhook.integrations.openai_agents.models import hook_config, with_refusal_handler
from anyhook.integrations.openai_agents.state import current_session
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents import Agent, ModelProvider, RunResult, RunResultStreaming
    from anyhook.integrations.openai_agents.state import SessionState
    from anyhook.integrations.session import Session


SERVER_OPTIONS = ("conversation_id", "previous_response_id", "auto_previous_response_id")
"""Options of runs whose conversation the server keeps."""


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


class Turn:
    """One prompt, and the runs of the SDK that it takes, with the arguments of `Runner`."""

    def __init__(
        self, state: SessionState, agent: Agent[Any], run_input: Any, options: dict[str, Any]
    ) -> None:
        self._state = state
        self._session = state.session
        self._first_agent = self._agent = agent
        self._input = run_input
        self._options = options
        self._provider: ModelProvider | None = None
        self._remembered = 0

    async def begin(self) -> None:
        """Report the prompt, and prepare the options of the runs.

        Raises:
            PromptDeniedError: If a hook denies the prompt.
        """
        if not isinstance(self._input, RunState):
            prompt = await self._session.prompt(prompt_text(self._input))
            if prompt.denied is not None:
                self._session.messages.send(prompt.denied)
                raise PromptDeniedError(prompt.denied)
            self._input = append_to_prompt(self._input, [*map(tag_context, prompt.context)])
        if self._state.is_idle:
            return
        memory = self._options.get("session")
        if memory is not None and self._state.listens("before_model"):
            self._remembered = len(await memory.get_items())
        config = self._options.get("run_config")
        if not isinstance(config, RunConfig):
            members = dict(config or {})
            config = RunConfig(**members)
            # A provider that the SDK's runner would have made, and closed.
            self._provider = None if "model_provider" in members else config.model_provider
        self._options = {
            **self._options,
            "run_config": hook_config(self._state, config),
            "error_handlers": with_refusal_handler(
                self._state, self._options.get("error_handlers")
            ),
        }

    async def run(self) -> RunResult:
        """Run the agent once."""
        with self._current() as agent:
            result = await Runner.run(agent, self._input, **self._options)
        restore_agents(result)
        return result

    def run_streamed(self) -> RunResultStreaming:
        """Start to run the agent once."""
        with self._current() as agent:
            return Runner.run_streamed(agent, self._input, **self._options)

    @contextmanager
    def _current(self) -> Iterator[Agent[Any]]:
        """Yield the agent to run; runs that start inside the block belong to this session."""
        if self._state.is_idle:
            yield self._agent
            return
        hook_run_state(self._state, self._input)
        token = current_session.set(self._state)
        try:
            yield hook_agent(self._state, self._agent)
        finally:
            current_session.reset(token)

    async def continues(self, result: RunResult | RunResultStreaming) -> bool:
        """Report the end of a run; return whether hooks let the agent continue."""
        was_cancelled = getattr(result, "_cancel_mode", "none") != "none"
        if result.interruptions or was_cancelled:
            return False
        output = result.final_output
        if isinstance(output, BaseModel):
            output = output.model_dump_json()
        end = await self._session.finish("" if output is None else result_text(output))
        if end.next_prompt is None:
            return False
        self._input = end.next_prompt
        self._options["context"] = result.context_wrapper  # keeps its usage and approvals
        memory = self._options.get("session")
        if end.clear_context:
            self._agent = self._first_agent
            if memory is not None:
                await memory.clear_session()
            if self._options.pop("conversation_id", None):
                self._session.messages.send(
                    "the conversation that OpenAI keeps cannot be cleared; this turn leaves it"
                )
            self._options["previous_response_id"] = None
            return True
        self._agent = result.last_agent
        if any(self._options.get(key) for key in SERVER_OPTIONS):
            if not self._options.get("conversation_id"):
                self._options["previous_response_id"] = result.last_response_id
        elif memory is None:
            prompt: Any = {"role": "user", "content": end.next_prompt}
            self._input = [*result.to_input_list(), prompt]
        return True

    async def close(self) -> None:
        """Forget a turn that was denied, and close what the SDK's runner would have closed."""
        memory = self._options.get("session")
        if self._state.is_turn_denied and memory is not None:
            # Each later request would hold the turn.
            for _ in range(len(await memory.get_items()) - self._remembered):
                await memory.pop_item()
        if self._provider is not None:
            await self._provider.aclose()


async def has_history(run_input: Any, options: Mapping[str, Any]) -> bool:
    """Return whether a run continues a conversation."""
    is_kept = any(options.get(key) for key in ("conversation_id", "previous_response_id"))
    if is_kept or isinstance(run_input, RunState):
        return True
    items = [] if isinstance(run_input, str) else run_input
    # Items of the model have no role, except its messages.
    if any(item.get("role", "assistant") == "assistant" for item in items):
        return True
    memory = options.get("session")
    return memory is not None and bool(await memory.get_items(1))


@contextmanager
def turn_block(session: Session, *, is_idle: bool) -> Iterator[None]:
    """Join nested runs, and raise `StoppedError` if a hook ended the agent inside the SDK.

    The SDK turns errors of tools and guardrails into its own, or into results.
    """
    try:
        if is_idle:
            yield
        else:
            with nested_runs_join():
                yield
    except StoppedError:
        raise
    except Exception as error:
        if session.stopped is None:
            raise
        raise StoppedError(session.stopped) from error
    if session.stopped is not None:
        raise StoppedError(session.stopped)


# -- runs inside of tools

_lock = threading.Lock()
_active_runs: list[None] = []
"""One item for each run with hooks under way in this process."""


class _JoiningRunner(AgentRunner):
    """Runs agents with the hooks of the run that the caller belongs to, if any."""

    def __init__(self, inner: AgentRunner) -> None:
        self.inner = inner

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        result = await self.inner.run(agent, input, **options)
        if agent is not starting_agent:
            restore_agents(result)
        return result

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        result = self.inner.run_sync(agent, input, **options)
        if agent is not starting_agent:
            restore_agents(result)
        return result

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        return self.inner.run_streamed(agent, input, **options)


def _join(agent: Agent[Any], run_input: Any, options: dict[str, Any]) -> Agent[Any]:
    """Return the agent to run; the options are changed in place."""
    state = current_session.get()
    if state is None:
        return agent
    config = options.get("run_config")
    if not isinstance(config, RunConfig):
        config = RunConfig(**(config or {}))
    options["run_config"] = hook_config(state, config)
    hook_run_state(state, run_input)
    return hook_agent(state, agent)


@contextmanager
def nested_runs_join() -> Iterator[None]:
    """Let runs that begin inside of runs with hooks use these hooks, until the block ends.

    `agent.as_tool()` and tools of the program call `agents.Runner.run`, which has no other seam
    than the SDK's default runner (`set_default_agent_runner`): such a tool is a closure over the
    program's agent, and a run configuration cannot replace tools. Without another runner, a tool
    that runs an agent would bypass every hook. In runs without hooks it only delegates to the
    former one.
    """
    with _lock:
        _active_runs.append(None)
        current = get_default_agent_runner()
        if not isinstance(current, _JoiningRunner):
            set_default_agent_runner(_JoiningRunner(current))
    try:
        yield
    finally:
        with _lock:
            _active_runs.pop()
            current = get_default_agent_runner()
            if not _active_runs and isinstance(current, _JoiningRunner):
                set_default_agent_runner(current.inner)
