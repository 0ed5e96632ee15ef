"""One program per framework, as people write them: chats with agents whose tools hooks guard.

A chat has a script: what its model says, in order. A call is `{"tool": …, "args": …}`; a list makes
parallel calls. Two agents belong to a chat: the first may hand over to `helper`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from types import SimpleNamespace
from typing import Any, ClassVar

from agents.testing import ScriptedModel
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ToolFailed, UsageLimits
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agents import Agent, SQLiteSession, function_tool
from anyhook.integrations import StoppedError
from anyhook.integrations.adk import DENIED, STOPPED, AnyhookPlugin
from anyhook.integrations.langchain import AnyhookMiddleware
from anyhook.integrations.openai_agents import AnyhookRunner
from anyhook.integrations.pydantic_ai import AnyhookHooks, DeniedError
from tests.integrations import adk, langchain_, openai_, pydantic_

HAND_OVER = {"tool": "hand_over", "args": {"request": "go on"}}
"""The call by which the first agent of a chat lets `helper` go on, in every framework."""


class Program:
    """A program with chats, from one start to its end; `memory` outlives it.

    Args:
        engine: Decides.
        scripts: Chat to what its model says.
        run_tool: Runs the tool `shell`.
        memory: What the program remembers of its chats.
        has_hooked_helper: Whether `helper` gets the hooks where each agent has its own.
        options: Those of the integration.

    Attributes:
        limit: The framework's option by which a turn ends after its first request; empty for none.
    """

    closes_sessions_at_its_end = False
    LIMIT: ClassVar[dict[str, Any]]

    def __init__(self, engine, scripts, run_tool, memory, *, has_hooked_helper=True, **options):
        self.limit: dict[str, Any] = {}
        self.has_hooked_helper = has_hooked_helper
        self.scripts = {chat: iter(says) for chat, says in scripts.items()}
        self.run_tool = run_tool
        self.memory = memory
        self.directory = engine.project_dir
        self.sent: list[str] = []
        self.make(engine, options)

    def make(self, engine, options) -> None:
        """Make the hooks and the agents."""
        raise NotImplementedError

    @asynccontextmanager
    async def block(self) -> AsyncIterator[Program]:
        """Keep the sessions of the hooks open until the block ends."""
        yield self

    async def turn(self, chat: str, prompt: str) -> str:
        """Return the answer to a prompt; `denied: …` or `stopped: …` if there is none."""
        try:
            return "".join([piece async for piece in self.stream(chat, prompt)])
        except DeniedError as error:
            return f"denied: {error.reason}"
        except StoppedError as error:
            return f"stopped: {error.reason}"

    def stream(self, chat: str, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of the answer."""
        raise NotImplementedError

    def shell_of(self, chat):
        async def shell(command: str) -> str:
            """Run a command."""
            return await self.run_tool(chat, command)

        return shell


class AdkModel(BaseLlm):
    program: Any

    async def generate_content_async(self, llm_request, stream=False):
        text = "\n".join(map(adk.content_text, llm_request.contents))
        self.program.sent.append(text)
        chat = next(chat for chat in self.program.scripts if f"{chat}:" in text)
        says = next(self.program.scripts[chat])
        says = [adk_call(one) for one in (says if isinstance(says, list) else [says])]
        yield adk.LlmResponse(content=adk.model_content(*says))


def adk_call(says):
    if says is HAND_OVER:
        return {"tool": "transfer_to_agent", "args": {"agent_name": "helper"}}
    return says


class AdkProgram(Program):
    closes_sessions_at_its_end = True
    LIMIT: ClassVar[dict[str, Any]] = {"run_config": RunConfig(max_llm_calls=1)}

    def make(self, engine, options):
        service = self.memory.setdefault("service", InMemorySessionService())
        model = AdkModel(model="scripted", program=self)

        async def shell(command: str, tool_context: Any) -> str:
            return await self.run_tool(tool_context.session.id, command)

        shell.__annotations__["tool_context"] = adk_context()
        helper = LlmAgent(name="helper", model=model, tools=[shell])
        agent = LlmAgent(name="agent", model=model, tools=[shell], sub_agents=[helper])
        app = App(name="app", root_agent=agent, plugins=[AnyhookPlugin(engine, **options)])
        self.runner = Runner(app=app, session_service=service)

    @asynccontextmanager
    async def block(self):
        async with self.runner:
            yield self

    async def stream(self, chat, prompt):
        service = self.runner.session_service
        place = {"app_name": "app", "user_id": "u", "session_id": chat}
        if await service.get_session(**place) is None:
            await service.create_session(**place)
        events = self.runner.run_async(
            user_id="u", session_id=chat, new_message=adk.user(prompt), **self.limit
        )
        async for event in events:
            word = {DENIED: "denied", STOPPED: "stopped"}.get(event.error_code)
            if word is not None:
                yield f"{word}: {event.error_message}"
            elif event.is_final_response():
                yield adk.content_text(event.content)


def adk_context():
    from google.adk.tools.tool_context import ToolContext

    return ToolContext


class LangChainModel(langchain_.Scripted):
    def _generate(self, messages, *args, **options):
        answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
        for message in messages:
            for call in getattr(message, "tool_calls", ()):
                assert call["id"] in answered, "providers refuse an unanswered call"
        return super()._generate(messages, *args, **options)

    def _stream(self, messages, *args, **options):
        message = self._generate(messages, *args, **options).generations[0].message
        calls = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": i}
            for i, call in enumerate(message.tool_calls)
        ]
        if calls:
            chunk = AIMessageChunk(content="", tool_call_chunks=calls)
            yield ChatGenerationChunk(message=chunk)
        for word in message.text.split():
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


class LangChainProgram(Program):
    LIMIT: ClassVar[dict[str, Any]] = {"recursion_limit": 3}

    def make(self, engine, options):
        self.hooks = AnyhookMiddleware(engine, **options)
        saver = self.memory.setdefault("saver", InMemorySaver())
        self.agents = {}
        for chat, script in self.scripts.items():

            def says(script=script):
                for number, says in enumerate(script):
                    for message in langchain_.says([says]):
                        for call in message.tool_calls:
                            call["id"] = f"{id(script)}-{number}-{call['id']}"
                        yield message

            seen = SimpleNamespace(sent=self.sent, offered=[])
            model = LangChainModel(messages=says(), seen=seen)
            shell = StructuredTool.from_function(coroutine=self.shell_of(chat), name="shell")
            hooks = [self.hooks] if self.has_hooked_helper else []
            helper = create_agent(model, [shell], middleware=hooks, name="helper")
            tools = [shell, hand_over_to(helper)]
            self.agents[chat] = create_agent(
                model, tools, middleware=[self.hooks], checkpointer=saver
            )

    @asynccontextmanager
    async def block(self):
        async with self.hooks:
            yield self

    async def stream(self, chat, prompt):
        config = {"configurable": {"thread_id": chat}, **self.limit}
        stream = self.agents[chat].astream(
            langchain_.prompt_of(prompt), config, stream_mode="messages"
        )
        async for message, metadata in stream:
            is_answer = isinstance(message, AIMessage | AIMessageChunk)
            if is_answer and metadata["langgraph_node"] != "tools":
                yield str(message.text)


def hand_over_to(helper):
    async def hand_over(request: str) -> str:
        """Let the helper go on."""
        state = await helper.ainvoke(langchain_.prompt_of(request))
        return str(state["messages"][-1].text)

    return StructuredTool.from_function(coroutine=hand_over, name="hand_over")


class OpenAIProgram(Program):
    LIMIT: ClassVar[dict[str, Any]] = {"max_turns": 1}

    def make(self, engine, options):
        self.runner = AnyhookRunner(engine, **options)
        self.agents, self.models = {}, {}
        for chat, script in self.scripts.items():
            model = ScriptedModel([openai_.outputs(says, i) for i, says in openai_script(script)])
            shell = function_tool(self.shell_of(chat))
            helper = Agent(name="helper", model=model, tools=[shell])
            self.agents[chat] = Agent(name="agent", model=model, tools=[shell], handoffs=[helper])
            self.models[chat] = model

    @asynccontextmanager
    async def block(self):
        async with self.runner:
            yield self

    async def stream(self, chat, prompt):
        model = self.models[chat]
        with closing(SQLiteSession(chat, self.directory / "memory.db")) as memory:
            stream = self.runner.run_streamed(
                self.agents[chat], prompt, session=memory, **self.limit
            )
            try:
                async for event in stream.stream_events():
                    if event.type == "raw_response_event":
                        yield getattr(event.data, "delta", "")
            finally:
                self.sent += [openai_.text_of(call.input) for call in model.calls[len(self.sent) :]]


def openai_script(script):
    for number, says in enumerate(script):
        hands_over = {"tool": "transfer_to_helper", "args": {}}
        yield number, hands_over if says is HAND_OVER else says


class PydanticProgram(Program):
    LIMIT: ClassVar[dict[str, Any]] = {"usage_limits": UsageLimits(request_limit=1)}

    def make(self, engine, options):
        self.hooks = AnyhookHooks(engine, **options)
        self.agents = {chat: self.agent_of(chat) for chat in self.scripts}

    def agent_of(self, chat):
        script = self.scripts[chat]

        def parts(messages):
            self.sent.append("\n".join(map(pydantic_.text_of, messages)))
            says = next(script)
            return says if isinstance(says, list) else [says]

        async def answer(messages, _info):
            turn = parts(messages)
            texts = [TextPart(one) for one in turn if isinstance(one, str)]
            calls = [
                ToolCallPart(call["tool"], call["args"]) for call in turn if isinstance(call, dict)
            ]
            return ModelResponse(parts=texts or calls)

        async def pieces(messages, _info):
            for number, one in enumerate(parts(messages)):
                if isinstance(one, str):
                    for start in range(0, len(one), 3):
                        yield one[start : start + 3]
                else:
                    yield {number: DeltaToolCall(one["tool"], json.dumps(one["args"]))}

        model = FunctionModel(answer, stream_function=pieces)
        run = self.shell_of(chat)

        async def shell(command: str) -> str:
            """Run a command."""
            try:
                return await run(command)
            except RuntimeError as error:  # how tools of this framework report failures
                raise ToolFailed(str(error)) from error

        agent = PydanticAgent(model, capabilities=[self.hooks])
        agent.tool_plain(shell)
        helper = PydanticAgent(model, capabilities=[self.hooks] if self.has_hooked_helper else [])
        helper.tool_plain(shell)

        @agent.tool_plain
        async def hand_over(request: str) -> str:
            """Let the helper go on."""
            return str((await helper.run(request)).output)

        return agent

    async def stream(self, chat, prompt):
        history = self.memory.get(chat)
        agent = self.agents[chat]
        async with agent.run_stream_events(prompt, message_history=history, **self.limit) as events:
            async for event in events:
                yield pydantic_.piece(event)
                if isinstance(event, pydantic_.AgentRunResultEvent):
                    self.memory[chat] = event.result.all_messages()


PROGRAMS = {
    "adk": AdkProgram,
    "langchain": LangChainProgram,
    "openai_agents": OpenAIProgram,
    "pydantic_ai": PydanticProgram,
}
