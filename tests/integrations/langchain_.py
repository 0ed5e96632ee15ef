"""An agent of LangChain with hooks, and LangChain's own scripted model."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from anyhook.integrations import StoppedError
from anyhook.integrations.langchain import AnyhookMiddleware
from tests.integrations.contract import (
    Scenario,
    Seen,
    engine_of,
    functions_of,
    options_of,
    run_tool,
)
from tests.world import World

THREAD: Any = {"configurable": {"thread_id": "t1"}}


class Scripted(GenericFakeChatModel):
    """LangChain's own test model, which may be given tools and remembers what it was sent."""

    seen: Any = None

    def bind_tools(self, tools, *, tool_choice=None, **kwargs):
        return self.bind(offered=[tool.name for tool in tools], choice=tool_choice, **kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.seen is not None:
            self.seen.sent.append(text_of(messages))
            self.seen.offered.append(kwargs.get("offered", []))
        return super()._generate(messages, stop, run_manager, **kwargs)


def text_of(messages):
    """Return all text of messages, and the calls of tools in them."""
    calls = (str(getattr(message, "tool_calls", "")) for message in messages)
    return "\n".join((*(str(message.content) for message in messages), *calls))


def says(answers):
    """Make messages of a scenario's answers."""
    for number, answer in enumerate(answers):
        if isinstance(answer, str):
            yield AIMessage(content=answer)
            continue
        many = answer if isinstance(answer, list) else [answer]
        yield AIMessage(
            content="",
            tool_calls=[
                {"name": call["tool"], "args": call["args"], "id": f"{number}-{i}"}
                for i, call in enumerate(many)
            ],
        )


def tools_of(scenario, seen):
    """Make the tools that every scripted agent has."""

    functions = functions_of(scenario, partial(run_tool, scenario, seen))
    return [StructuredTool.from_function(f, description=f.__name__) for f in functions]


def agent_of(scenario, seen, hooks):
    model = Scripted(messages=says(scenario.says), seen=seen)
    return create_agent(
        model, tools_of(scenario, seen), middleware=[hooks], checkpointer=InMemorySaver()
    )


def prompt_of(text):
    return {"messages": [HumanMessage(content=text)]}


async def live(scenario: Scenario, world: World) -> Seen:
    """Live a scenario on an event loop."""
    seen = Seen()
    with engine_of(scenario, world, seen) as engine:
        hooks = AnyhookMiddleware(engine, **options_of(scenario, world, seen))
        agent = agent_of(scenario, seen, hooks)
        try:
            async with hooks:
                for prompt in scenario.prompts:
                    seen.shown.append(await _turn(agent, scenario, prompt))
        except StoppedError as error:
            seen.stopped = error.reason
        seen.history = text_of((await agent.aget_state(THREAD)).values.get("messages", []))
    return seen


async def _turn(agent: Any, scenario: Scenario, prompt: str) -> str:
    if not scenario.stream:
        state = await agent.ainvoke(prompt_of(prompt), THREAD)
        return str(state["messages"][-1].text)
    pieces = []
    async for piece, _ in agent.astream(prompt_of(prompt), THREAD, stream_mode="messages"):
        if isinstance(piece, AIMessage | AIMessageChunk):
            pieces.append(str(piece.text))
    return "".join(pieces)


def live_without_a_loop(scenario: Scenario, world: World) -> Seen:
    """Live a scenario with `invoke` and `stream`."""
    seen = Seen()
    with engine_of(scenario, world, seen) as engine:
        hooks = AnyhookMiddleware(engine, **options_of(scenario, world, seen))
        agent = agent_of(scenario, seen, hooks)
        try:
            with hooks:
                for prompt in scenario.prompts:
                    if scenario.stream:
                        stream = agent.stream(prompt_of(prompt), THREAD, stream_mode="messages")
                        pieces = [str(p.text) for p, _ in stream if isinstance(p, AIMessage)]
                        seen.shown.append("".join(pieces))
                    else:
                        state = agent.invoke(prompt_of(prompt), THREAD)
                        seen.shown.append(str(state["messages"][-1].text))
        except StoppedError as error:
            seen.stopped = error.reason
        seen.history = text_of(agent.get_state(THREAD).values.get("messages", []))
    return seen


def run(scenario: Scenario, world: World) -> Seen:
    """Live a scenario on a new event loop."""
    return asyncio.run(live(scenario, world))
