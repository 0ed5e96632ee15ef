"""One prompt: what is run for it, how often hooks send the agent round, and how it ends."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from agents import (
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailResult,
    InputGuardrailTripwireTriggered,
    RunConfig,
    RunState,
)
from anyhook.errors import StoppedError
from anyhook.integrations.host_tools import text_of
from anyhook.integrations.openai_agents.agent import install, meet
from anyhook.integrations.openai_agents.items import add_to_prompt, prompt_of
from anyhook.integrations.openai_agents.life import living
from anyhook.integrations.openai_agents.models import configured, handling
from anyhook.integrations.session import in_tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents import Agent, ModelProvider, RunResult, RunResultStreaming
    from anyhook.integrations.openai_agents.life import Life
    from anyhook.integrations.session import Session


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
    """One prompt and all rounds that hooks make of it."""

    def __init__(self, life: Life, agent: Agent[Any], given: Any, options: dict[str, Any]) -> None:
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
                self.life.session.messages.send(prompt.denied)
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
            "run_config": configured(self.life, config),
            "error_handlers": handling(self.life, handlers),
        }
        install()

    @contextmanager
    def begun(self) -> Iterator[tuple[Agent[Any], Any, dict[str, Any]]]:
        """Tell what to run; whatever starts inside the block belongs to this life."""
        if self.life.quiet:
            yield self.agent, self.given, self.options
            return
        meet(self.agent, self.given)
        token = living.set(self.life)
        try:
            yield self.agent, self.given, self.options
        finally:
            living.reset(token)

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
            self.life.session.messages.send(
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


@contextmanager
def stops(session: Session) -> Iterator[None]:
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
