"""What hooks cost an agent that has none: a scripted turn with the glue, and without it.

The models are the frameworks' own test models; a turn is a prompt, one tool call and an answer.
Without the glue, something of the same kind that does nothing stands in its place: what a framework
takes to ask anything at all is its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook import Engine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Turn = Callable[[], Awaitable[object]]


def engine_without_hooks(root: Path) -> Engine:
    """Load an engine that finds no settings."""
    return Engine.load(root, agent="gemini", home=root, environ={})


def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def adk(engine: Engine | None) -> Turn:
    """Make a turn of Google ADK."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.cli.agent_test_runner import MockModel
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from anyhook.integrations.adk import AnyhookPlugin

    used = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=1, candidates_token_count=1, total_token_count=2
    )
    said = [types.Part.from_function_call(name="shell", args={"command": "ls"})]
    said.append(types.Part(text="done"))
    contents = [types.Content(role="model", parts=[part]) for part in said]
    answers = [LlmResponse(content=content, usage_metadata=used) for content in contents]
    plugin: BasePlugin = BasePlugin("nothing") if engine is None else AnyhookPlugin(engine)

    async def turn() -> object:
        model = MockModel(responses=[answer.model_copy(deep=True) for answer in answers])
        agent = LlmAgent(name="agent", model=model, tools=[shell])
        runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[plugin]))
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="hello")])
        run = runner.run_async(user_id="u", session_id=session.id, new_message=message)
        return [event async for event in run]

    return turn


def langchain(engine: Engine | None) -> Turn:
    """Make a turn of LangChain."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from anyhook.integrations.langchain import AnyhookMiddleware

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *_tools: Any, **_options: Any) -> Any:
            return self

    def answers() -> Any:
        while True:
            call = {"name": "shell", "args": {"command": "ls"}, "id": "1"}
            yield AIMessage(content="", tool_calls=[call])
            yield AIMessage(content="done")

    class Nothing(AgentMiddleware[Any, Any]):
        @hook_config(can_jump_to=["end"])
        async def abefore_agent(self, *_: Any) -> None:
            return None

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

        @hook_config(can_jump_to=["model"])
        async def aafter_agent(self, *_: Any) -> None:
            return None

    middleware: Any = Nothing() if engine is None else AnyhookMiddleware(engine)
    agent: Any = create_agent(Scripted(messages=answers()), [shell], middleware=[middleware])

    async def turn() -> object:
        return await agent.ainvoke({"messages": [{"role": "user", "content": "hello"}]})

    return turn


def pydantic_ai(engine: Engine | None) -> Turn:
    """Make a turn of Pydantic AI."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from anyhook.integrations.pydantic_ai import AnyhookHooks

    def answer(messages: list[Any], _info: Any) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("shell", {"command": "ls"})])
        return ModelResponse(parts=[TextPart("done")])

    class Nothing(AbstractCapability[Any]):
        pass

    capability: Any = Nothing() if engine is None else AnyhookHooks(engine)
    agent = Agent(FunctionModel(answer), tools=[shell], capabilities=[capability])

    async def turn() -> object:
        return await agent.run("hello")

    return turn


def openai_agents(engine: Engine | None) -> Turn:
    """Make a turn of the OpenAI Agents SDK; bare: its own runner."""
    from agents.testing import ScriptedModel, assistant_message, function_call

    from agents import Agent, Runner, function_tool, set_tracing_disabled
    from anyhook.integrations.openai_agents import AnyhookRunner

    set_tracing_disabled(True)
    tool = function_tool(shell)
    runner: Any = Runner if engine is None else AnyhookRunner(engine)

    async def turn() -> object:
        call = function_call("shell", {"command": "ls"}, call_id="1")
        model = ScriptedModel([[call], [assistant_message("done")]])
        return await runner.run(Agent(name="agent", model=model, tools=[tool]), "hello")

    return turn


FRAMEWORKS: dict[str, Callable[[Engine | None], Turn]] = {
    "Google ADK": adk,
    "LangChain": langchain,
    "OpenAI Agents SDK": openai_agents,
    "Pydantic AI": pydantic_ai,
}
"""Framework to what makes a turn of it, with an engine's hooks or with none."""
