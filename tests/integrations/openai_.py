"""Agents of the OpenAI Agents SDK, with its own scripted model."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from agents.testing import ScriptedModel, assistant_message, function_call

from agents import Agent, FunctionTool, SQLiteSession, function_tool, set_tracing_disabled
from anyhook.integrations import StoppedError
from anyhook.integrations.openai_agents import AnyhookRunner, PromptDeniedError
from tests.integrations.contract import (
    Scenario,
    Seen,
    engine_of,
    functions_of,
    options_of,
    run_tool,
)
from tests.world import World

set_tracing_disabled(True)


async def live(scenario: Scenario, world: World, *, way: str = "list") -> Seen:
    """Live a scenario.

    Args:
        scenario: The scenario.
        world: Where.
        way: How the conversation is kept: `list`, `memory` (the SDK's session), or `stream`, a list
            with every response streamed.
    """
    seen = Seen()
    with engine_of(scenario, world, seen) as engine:
        runner = AnyhookRunner(engine, **options_of(scenario, world, seen))
        model = ScriptedModel([outputs(says, i) for i, says in enumerate(scenario.says)])
        agent = Agent(name="agent", model=model, tools=tools(scenario, seen))
        streams = scenario.stream or way == "stream"
        memory = SQLiteSession("memory") if way == "memory" else None
        with memory_closed(memory):
            await _turns(runner, agent, scenario.prompts, seen, streams, memory)
    seen.sent = [text_of(call.input, call.system_instructions) for call in model.calls]
    seen.offered = [[tool.name for tool in call.tools] for call in model.calls]
    return seen


async def _turns(
    runner: AnyhookRunner,
    agent: Agent[Any],
    prompts: list[str],
    seen: Seen,
    streams: bool,
    memory: Any,
) -> None:
    history: list[Any] = []
    try:
        async with runner:
            for prompt in prompts:
                given: Any = prompt
                if memory is None:
                    given = [*history, {"role": "user", "content": prompt}]
                try:
                    result, shown = await _turn(runner, agent, given, streams, memory)
                except PromptDeniedError:
                    seen.shown.append("")
                    continue
                seen.shown.append(shown)
                history = result.to_input_list()
    except StoppedError as error:
        seen.stopped = error.reason
    if memory is not None:
        history = await memory.get_items()
    seen.history = text_of(history)


async def _turn(
    runner: AnyhookRunner, agent: Agent[Any], given: Any, streams: bool, memory: Any
) -> tuple[Any, str]:
    if not streams:
        result = await runner.run(agent, given, session=memory)
        return result, str(result.final_output)
    stream = runner.run_streamed(agent, given, session=memory)
    shown = ""
    async for event in stream.stream_events():
        if event.type == "raw_response_event":
            shown += getattr(event.data, "delta", "")
    assert str(stream.final_output) in shown
    return stream, shown


def memory_closed(memory: Any) -> Any:
    """Close a memory behind a block."""
    if memory is None:
        return nullcontext()

    class Closing:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            memory.close()

    return Closing()


def answering(scenario: Scenario, seen: Seen) -> Any:
    """Answer questions as the scenario says."""

    async def ask(question: Any) -> bool:
        seen.questions.append(question.tool)
        return bool(scenario.ask)

    return ask


def outputs(says: Any, number: int) -> list[Any]:
    """Write what the model says as items of the SDK."""
    if isinstance(says, str):
        return [assistant_message(says)]
    calls = says if isinstance(says, list) else [says]
    return [
        function_call(call["tool"], call["args"], call_id=f"call-{number}-{i}")
        for i, call in enumerate(calls)
    ]


def tools(scenario: Scenario, seen: Seen) -> list[FunctionTool]:
    """Make the tools of the contract."""

    def failed(_context: Any, error: Exception) -> str:
        return f"failed: {error}"

    functions = functions_of(scenario, partial(run_tool, scenario, seen))
    return [function_tool(each, failure_error_function=failed) for each in functions]


def text_of(items: Any, instructions: str | None = None) -> str:
    """Return all text of a conversation."""
    return "\n".join(filter(None, [instructions, *_texts(items)]))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        known = ("content", "text", "refusal", "output", "arguments", "summary")
        return [text for key in known for text in _texts(value.get(key))]
    return [text for one in value or () for text in _texts(one)]
