"""Lives scenarios in agents of Google ADK, with the scripted model that ADK itself ships."""

from __future__ import annotations

import json
from functools import partial

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.cli.agent_test_runner import MockModel
from google.adk.models import LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from anyhook.integrations.adk import STOPPED, AnyhookPlugin
from tests.integrations.contract import (
    Scenario,
    Seen,
    engine_of,
    functions_of,
    options_of,
    run_tool,
)
from tests.world import World

STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


class Model(MockModel):
    """ADK's scripted model, which also streams: pieces first, the whole response last."""

    pieces: int = 3

    async def generate_content_async(self, llm_request, stream=False):
        async for response in super().generate_content_async(llm_request, stream):
            text = response.content.parts[0].text
            if stream and text:
                size = -(-len(text) // self.pieces)
                for start in range(0, len(text), size):
                    yield LlmResponse(
                        content=model_content(text[start : start + size]), partial=True
                    )
            yield response

    def texts(self) -> list[str]:
        """For each request, all of its text."""
        return [
            "\n".join([str(r.config.system_instruction), *map(content_text, r.contents)])
            for r in self.requests
        ]


def model_content(*parts: object) -> types.Content:
    """Make what a model says: texts, and calls like `{"tool": …, "args": …}`."""
    return types.Content(role="model", parts=[part(one) for one in parts])


def part(one: object) -> types.Part:
    if isinstance(one, types.Part):
        return one
    if isinstance(one, dict):
        return types.Part.from_function_call(name=one["tool"], args=one["args"])
    return types.Part(text=str(one))


def user(*parts: object) -> types.Content:
    return types.Content(role="user", parts=[part(one) for one in parts])


def content_text(content: types.Content | None) -> str:
    """All text of a content, function calls and their answers too."""
    found = []
    for one in (content.parts or []) if content else []:
        found.append(one.text or "")
        if one.function_call:
            found.append(f"{one.function_call.name} {json.dumps(one.function_call.args)}")
        if one.function_response:
            found.append("\n".join(map(str, (one.function_response.response or {}).values())))
    return "\n".join(found)


def offered(request: LlmRequest) -> list[str]:
    """The functions that a request lets the model call."""
    calling = (request.config.tool_config or types.ToolConfig()).function_calling_config
    names = [d.name for t in request.config.tools or () for d in t.function_declarations or ()]
    if calling is not None and calling.mode == "NONE":
        return []
    allowed = calling.allowed_function_names if calling is not None else None
    return [name for name in names if not allowed or name in allowed]


def tools_of(scenario: Scenario, seen: Seen) -> list[object]:
    """The tools of the contract, as a user of ADK writes them."""
    return [*functions_of(scenario, partial(run_tool, scenario, seen))]


async def live(scenario: Scenario, world: World) -> Seen:
    """Live a scenario."""
    seen = Seen()
    answers = [model_content(*(one if isinstance(one, list) else [one])) for one in scenario.says]
    model = Model.create(answers)
    agent = LlmAgent(name="agent", model=model, tools=tools_of(scenario, seen))
    with engine_of(scenario, world, seen) as engine:
        plugin = AnyhookPlugin(engine, **options_of(scenario, world, seen))
        app = App(name="app", root_agent=agent, plugins=[plugin])
        async with InMemoryRunner(app=app) as runner:
            session = await runner.session_service.create_session(app_name="app", user_id="u")
            for prompt in scenario.prompts:
                events = [
                    event
                    async for event in runner.run_async(
                        user_id="u",
                        session_id=session.id,
                        new_message=user(prompt),
                        run_config=STREAMED if scenario.stream else None,
                    )
                ]
                seen.shown.append(answer(events))
                for event in events:
                    if event.error_code == STOPPED:
                        seen.stopped = event.error_message
            known = await runner.session_service.get_session(
                app_name="app", user_id="u", session_id=session.id
            )
            seen.history = "\n".join(content_text(event.content) for event in known.events)
    seen.sent = model.texts()
    seen.offered = [offered(request) for request in model.requests]
    return seen


def answer(events: list) -> str:
    """What the user got last: pieces that were shown, and the whole."""
    pieces = "".join(content_text(event.content) for event in events if event.partial)
    last = [event for event in events if event.is_final_response()][-1:]
    whole = "".join(content_text(event.content) for event in last)
    return whole if whole == pieces else pieces + whole
