"""Lives scenarios in agents of Pydantic AI, with its own scripted model."""

from __future__ import annotations

import json

from pydantic_ai import Agent, AgentRunResultEvent, ModelRetry, ToolFailed, capture_run_messages
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from anyhook.integrations import StoppedError
from anyhook.integrations.pydantic_ai import AnyhookHooks, DeniedError
from tests.integrations.contract import (
    Scenario,
    Seen,
    engine_of,
    functions_of,
    options_of,
    run_tool,
)
from tests.world import World


async def live(scenario: Scenario, world: World) -> Seen:
    """Live a scenario."""
    seen = Seen()
    with engine_of(scenario, world, seen) as engine:
        hooks = AnyhookHooks(engine, **options_of(scenario, world, seen))
        agent = scripted(scenario, seen, hooks)
        history: list[ModelMessage] = []
        try:
            async with hooks.session():
                for prompt in scenario.prompts:
                    history = await turn(agent, prompt, history, seen, scenario.stream)
        except StoppedError as error:
            seen.stopped = error.reason
    return seen


async def turn(agent, prompt, history, seen, stream) -> list[ModelMessage]:
    """Live one turn; what the run remembers is seen also when it fails."""
    with capture_run_messages() as messages:
        try:
            if stream:
                shown, history = await streamed(agent, prompt, history)
            else:
                result = await agent.run(prompt, message_history=history)
                shown, history = result.output, result.all_messages()
        except DeniedError:
            shown = ""
        finally:
            seen.history = "\n".join(map(text_of, [*history, *messages]))
    seen.shown.append(shown)
    return history


async def streamed(agent, prompt, history) -> tuple[str, list[ModelMessage]]:
    """Show the pieces of each response as a terminal does."""
    shown = ""
    async with agent.run_stream_events(prompt, message_history=history) as events:
        async for event in events:
            shown += piece(event)
            if isinstance(event, AgentRunResultEvent):
                history = event.result.all_messages()
    return shown, history


def piece(event) -> str:
    """Return the text of one event of a stream."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def text_of(message) -> str:
    """Return all text of a message."""
    return "\n".join(
        json.dumps(part.args) if isinstance(part, ToolCallPart) else str(part.content)
        for part in message.parts
    )


def scripted(scenario: Scenario, seen: Seen, *capabilities) -> Agent:
    """Make an agent with the three tools, whose model says what the scenario says."""
    turns = iter(scenario.says)

    def script(messages: list[ModelMessage], info: AgentInfo):
        seen.sent.append("\n".join([info.instructions or "", *map(text_of, messages)]))
        seen.offered.append([tool.name for tool in info.function_tools])
        return next(turns)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        says = script(messages, info)
        if isinstance(says, str):
            return ModelResponse(parts=[TextPart(says)])
        calls = says if isinstance(says, list) else [says]
        return ModelResponse(parts=[ToolCallPart(call["tool"], call["args"]) for call in calls])

    async def pieces(messages: list[ModelMessage], info: AgentInfo):
        says = script(messages, info)
        if isinstance(says, str):
            for start in range(0, len(says), 3):
                yield says[start : start + 3]
            return
        for i, call in enumerate(says if isinstance(says, list) else [says]):
            yield {i: DeltaToolCall(call["tool"], json.dumps(call["args"]))}

    agent = Agent(FunctionModel(answer, stream_function=pieces), capabilities=list(capabilities))

    def run(name: str, arguments: dict[str, str]) -> str:
        try:
            return run_tool(scenario, seen, name, arguments)
        except RuntimeError as error:  # how tools of this framework report failures
            kind = ToolFailed if scenario.agent == "gemini" else ModelRetry
            raise kind(str(error)) from error

    for function in functions_of(scenario, run):
        agent.tool_plain(function)
    return agent
