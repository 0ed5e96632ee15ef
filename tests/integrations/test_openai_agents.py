"""Hooks in agents of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents.editor import ApplyPatchOperation
from agents.mcp import MCPServer
from agents.run import get_default_agent_runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool import (
    LocalShellCommandRequest,
    ShellActionRequest,
    ShellCallData,
    ShellCommandRequest,
)
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as MCPTool
from openai.types import responses as api
from openai.types.responses.response_output_item import LocalShellCall, LocalShellCallAction
from openai.types.responses.response_reasoning_item import Summary
from pydantic import BaseModel

from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    InputGuardrailTripwireTriggered,
    LocalShellTool,
    Model,
    ModelProvider,
    ModelRefusalError,
    ModelSettings,
    RunConfig,
    Runner,
    RunState,
    ShellTool,
    SQLiteSession,
    ToolOutputImage,
    UserError,
    WebSearchTool,
    function_tool,
    handoff,
)
from anyhook import Answer, allow, ask, deny
from anyhook.integrations import StoppedError
from anyhook.integrations.openai_agents import OPENAI_AGENTS, AnyhookRunner, PromptDeniedError
from anyhook.integrations.openai_agents.copies import hook_agent
from anyhook.integrations.openai_agents.items import (
    append_to_prompt,
    changed_output,
    prompt_text,
    shown_request,
    shown_response,
)
from anyhook.integrations.openai_agents.state import current_session
from tests.integrations.contract import judge, scenarios
from tests.integrations.openai_ import live, text_of
from tests.tables import fast_for
from tests.world import World

# -- the contract


@pytest.mark.parametrize("way", fast_for(["stream", "list", "memory"]))
@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.id)
def test_the_sdk_keeps_the_contract(scenario, way, tmp_path):
    seen = asyncio.run(live(scenario, World(tmp_path, agent=scenario.agent), way=way))

    judge(scenario, seen, OPENAI_AGENTS)


# -- what is shown of requests and responses, and laid over them

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
REASONING = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "ran"}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "id": "m",
    "status": "completed",
    "content": [{"type": "output_text", "text": "an answer", "annotations": []}],
}
LOOK = {"role": "user", "content": [{"type": "input_text", "text": "look"}, IMAGE]}
ITEMS: list[Any] = [{"role": "developer", "content": "be kind"}, LOOK, REASONING, CALL, OUTPUT]
ITEMS += [ANSWER, {"role": "user", "content": "go on"}]


def shown(items):
    return shown_request(items, ModelSettings(temperature=0.5), "m")


def copy_of(request):
    return json.loads(json.dumps(request.stable))


def test_a_request_is_shown_with_all_its_parts():
    request = shown(ITEMS).stable

    assert [message["role"] for message in request["messages"]] == [
        *("system", "user", "model", "model", "user", "model", "user")
    ]
    image = {"type": "part", "part": IMAGE}
    assert request["messages"][1]["content"] == [{"type": "text", "text": "look"}, image]
    call = {"id": CALL["call_id"], "name": CALL["name"], "args": json.loads(CALL["arguments"])}
    assert request["messages"][3]["content"] == [{"type": "functionCall", "functionCall": call}]
    assert request["messages"][5]["content"] == "an answer"
    assert request["config"] == {"temperature": 0.5}
    json.dumps(request)


@pytest.mark.parametrize("items", [ITEMS, "hello"])
def test_a_request_without_changes_is_left_alone(items):
    request = shown(items)

    assert request.changes(copy_of(request)) is None


def test_a_changed_text_keeps_images_calls_and_reasoning_where_they_were():
    request = shown(ITEMS)
    after = copy_of(request)
    after["messages"][1]["content"] = "changed"
    after["messages"][5]["content"] = "another"

    changes = request.changes(after)

    made = changes.messages
    assert made[1]["content"] == [{"type": "input_text", "text": "changed"}, IMAGE]
    assert made[5]["content"] == [{"type": "output_text", "text": "another", "annotations": []}]
    assert made[5]["id"] == "m"
    assert [made[i] is ITEMS[i] for i in (0, 2, 3, 4, 6)] == [True] * 5
    assert changes.instructions == []


def test_a_changed_result_of_a_tool_stays_with_its_call():
    request = shown(ITEMS)
    after = copy_of(request)
    result = after["messages"][4]["content"][0]["functionResponse"]
    result["response"]["output"] = "redacted"

    made = request.changes(after).messages

    assert made[4] == {**OUTPUT, "output": "redacted"}


def test_a_new_conversation_keeps_what_is_no_text_of_the_old_one():
    request = shown(ITEMS)

    changes = request.changes(
        {
            "messages": [
                {"role": "system", "content": "rule"},
                {"role": "system", "content": "more"},
                {"role": "user", "content": "new"},
            ]
        }
    )

    made = changes.messages
    assert made[:2] == [{"role": "developer", "content": "rule"}, made[1]]
    assert {"role": "user", "content": [{"type": "input_text", "text": "new"}, IMAGE]} in made
    assert all(item in made for item in (REASONING, CALL, OUTPUT))
    assert changes.instructions == ["more"]
    assert "an answer" not in text_of(made)


def test_the_last_words_of_the_user_are_the_prompt():
    assert prompt_text("hello") == "hello"
    assert prompt_text(ITEMS) == "go on"
    assert prompt_text(ITEMS[:2]) == "look"
    assert prompt_text([]) == ""


def test_context_is_put_behind_the_prompt():
    assert append_to_prompt(ITEMS, []) is ITEMS
    assert append_to_prompt([LOOK], ["x"])[0]["content"][1:] == [
        IMAGE,
        {"type": "input_text", "text": "x"},
    ]
    assert append_to_prompt(ITEMS[:5], ["x"])[5] == {"role": "user", "content": "x"}


def reasoning():
    return api.ResponseReasoningItem(
        id="r",
        type="reasoning",
        summary=[Summary(type="summary_text", text="the key is 42")],
        encrypted_content="sealed",
    )


def test_a_response_without_changes_holds_the_same_items():
    output = [reasoning(), assistant_message("hi"), function_call("shell", {}, call_id="c")]

    shown = shown_response(output)

    made = changed_output(output, shown.changes(shown.stable))

    assert all(a is b for a, b in zip(output, made, strict=True))


def test_a_changed_response_keeps_calls_and_sealed_reasoning_without_its_readable_text():
    output = [reasoning(), assistant_message("rude"), function_call("shell", {}, call_id="c")]

    made = changed_output(
        output, shown_response(output).changes({"candidates": [{"content": {"parts": ["polite"]}}]})
    )

    assert [item.type for item in made] == ["reasoning", "message", "function_call"]
    assert made[0].summary == []
    assert made[0].encrypted_content == "sealed"
    assert made[1].content[0].text == "polite"
    assert made[2] is output[2]


def test_a_text_beside_calls_alone_is_said_before_them():
    output = [function_call("shell", {}, call_id="c")]

    made = changed_output(
        output, shown_response(output).changes({"candidates": [{"content": {"parts": ["wait"]}}]})
    )

    assert [item.type for item in made] == ["message", "function_call"]


@pytest.mark.parametrize(
    ("parts", "texts"), [([], ["", ""]), (["x", "b"], ["x", "b"]), (["x", "y", "z"], ["xyz", ""])]
)
def test_texts_of_a_response_are_replaced_one_by_one_or_all_at_once(parts, texts):
    output = [assistant_message("a"), assistant_message("b")]
    reply = {"candidates": [{"content": {"parts": parts}}]}

    made = changed_output(output, shown_response(output).changes(reply))

    assert [item.content[0].text for item in made] == texts


# -- agents of our own


def noted(engine, *events):
    """Note events as hooks see them."""
    seen: list[Any] = []
    for event in events:
        engine.register(event, seen.append, threaded=False)
    return seen


def refuses(word):
    """Deny calls of tools whose arguments hold a word."""
    return lambda event: deny(f"no {word}") if word in event.text else None


class Tools:
    """A shell that remembers."""

    def __init__(self):
        self.ran: list[str] = []

        @function_tool
        async def shell(command: str) -> str:
            self.ran.append(command)
            return f"ran {command}"

        self.shell = shell


def shell(command, call_id="c"):
    return [function_call("shell", {"command": command}, call_id=call_id)]


def remover(tools, name):
    model = ScriptedModel([shell("rm"), says("bye")])
    return Agent(name=name, model=model, tools=[tools.shell])


def says(text):
    return [assistant_message(text)]


@pytest.fixture
def engine(tmp_path):
    return World(tmp_path).load()


def sent(model, number):
    call = model.calls[number]
    return text_of(call.input, call.system_instructions)


def test_without_hooks_the_sdk_gets_its_own_objects(engine):
    tools = Tools()
    got: list[Any] = []

    class Looking(ScriptedModel):
        async def get_response(self, *args, **options):
            got.append(options["tools"])
            return await super().get_response(*args, **options)

    agent = Agent(name="a", model=Looking([shell("ls"), says("done")]), tools=[tools.shell])

    result = asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert result.final_output == "done"
    assert got[0][0] is tools.shell
    assert type(agent) is Agent
    assert result.last_agent is agent


def test_with_hooks_the_agent_stays_the_same_for_everybody_else(engine):
    engine.register("before_tool", refuses("rm"))
    tools = Tools()
    model = ScriptedModel([shell("rm", "1"), says("denied"), shell("rm", "2"), says("ran")])
    agent = Agent(name="a", model=model, tools=[tools.shell])

    async def both():
        result = await AnyhookRunner(engine).run(agent, "hello")
        assert result.last_agent is agent
        assert all(item.agent is agent for item in result.new_items)
        assert tools.ran == []
        await Runner.run(agent, "hello")

    asyncio.run(both())

    assert tools.ran == ["rm"]
    assert agent.model is model
    assert agent.tools == [tools.shell]
    assert repr(agent).startswith("Agent(")


def test_the_program_s_agents_are_not_changed(engine):
    engine.register("before_tool", refuses("rm"))
    tools = Tools()
    other = remover(tools, "other")
    model = ScriptedModel([[function_call("transfer_to_other", "{}", call_id="h")]])
    agent = Agent(name="first", model=model, handoffs=[other])
    seen: list[Any] = []

    @function_tool
    async def inside() -> str:
        seen.append((type(other), other.model, other.tools[0], agent.handoffs[0]))
        return ""

    other.tools.append(inside)
    other.model = ScriptedModel([[function_call("inside", "{}", call_id="i")], says("bye")])

    asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert seen == [(Agent, other.model, tools.shell, other)]


def test_the_default_runner_of_the_sdk_is_its_own_again_after_a_run(engine):
    events = noted(engine, "before_model")
    default = get_default_agent_runner()

    async def two_at_once():
        agents = [Agent(name=name, model=ScriptedModel([says("hi")])) for name in "ab"]
        runs = [AnyhookRunner(engine).run(agent, "hello") for agent in agents]
        await asyncio.gather(*runs)

    asyncio.run(two_at_once())

    assert len(events) == 2
    assert get_default_agent_runner() is default


def test_events_of_a_stream_hold_the_program_s_agents(engine):
    noted(engine, "before_model")
    other = Agent(name="other", model=ScriptedModel([says("bye")]))
    model = ScriptedModel([[function_call("transfer_to_other", "{}", call_id="h")]])
    agent = Agent(name="first", model=model, handoffs=[other])

    stream, events = asyncio.run(streamed(AnyhookRunner(engine), agent))

    items = [event.item for event in events if event.type == "run_item_stream_event"]
    assert [item.agent for item in items] == [agent, agent, other]
    assert [e.new_agent for e in events if e.type == "agent_updated_stream_event"] == [agent, other]
    assert stream.last_agent is other


@pytest.mark.parametrize("wrapped", [False, True])
def test_agents_that_get_the_conversation_by_handoff_are_guarded(engine, wrapped):
    engine.register("before_tool", refuses("rm"))
    events = noted(engine, "before_model")
    tools = Tools()
    other = Agent(
        name="other", model=ScriptedModel([shell("rm"), says("bye")]), tools=[tools.shell]
    )
    model = ScriptedModel([[function_call("transfer_to_other", "{}", call_id="h")]])
    agent = Agent(name="first", model=model, handoffs=[handoff(other) if wrapped else other])
    other.handoffs.append(agent)  # there and back

    result = asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert tools.ran == []
    assert "no rm" in sent(other.model, 1)
    assert len(events) == 3
    assert result.last_agent is other


HANDOFF_CALL = [function_call("transfer_to_other", "{}", call_id="h")]


def no_handoffs(event):
    return deny("stay") if event.tool_name.startswith("transfer_to") else None


def without_tool_items(data):
    return data.clone(new_items=())


async def final_result(engine, agent, way, **options):
    """Run an agent in one of two ways; return the result."""
    runner = AnyhookRunner(engine)
    if way == "run":
        return await runner.run(agent, "hello", **options)
    stream = runner.run_streamed(agent, "hello", **options)
    async for _event in stream.stream_events():
        pass
    return stream


@pytest.mark.parametrize("way", ["run", "stream"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_agent_whose_handoff_is_denied_goes_on_itself_with_the_reason(engine, wrapped, way):
    engine.register("before_tool", no_handoffs)
    other = Agent(name="other", model=ScriptedModel([says("from the other")]))
    model = ScriptedModel([HANDOFF_CALL, says("alone")])
    agent = Agent(name="first", model=model, handoffs=[handoff(other) if wrapped else other])

    result = asyncio.run(final_result(engine, agent, way))

    assert result.final_output == "alone"
    assert result.last_agent is agent
    assert "stay" in sent(model, 1)
    assert not other.model.calls


@pytest.mark.parametrize("place", ["handoff", "run"])
@pytest.mark.parametrize("denied", [False, True])
def test_a_filter_of_handoffs_sees_only_those_that_happen(engine, denied, place):
    if denied:
        engine.register("before_tool", no_handoffs)
    other = Agent(name="other", model=ScriptedModel([says("from the other")]))
    model = ScriptedModel([HANDOFF_CALL, says("alone")])
    input_filter = {"input_filter": without_tool_items} if place == "handoff" else {}
    agent = Agent(name="first", model=model, handoffs=[handoff(other, **input_filter)])
    config = RunConfig(handoff_input_filter=without_tool_items if place == "run" else None)

    asyncio.run(final_result(engine, agent, "run", run_config=config))

    last = sent(model, 1) if denied else sent(other.model, 0)
    assert last == ("hello\n{}\nstay" if denied else "hello")


@pytest.mark.parametrize("denied", [False, True])
def test_the_history_of_a_denied_handoff_is_not_nested(engine, denied):
    if denied:
        engine.register("before_tool", no_handoffs)
    other = Agent(name="other", model=ScriptedModel([says("from the other")]))
    model = ScriptedModel([HANDOFF_CALL, says("alone")])
    agent = Agent(name="first", model=model, handoffs=[other])

    asyncio.run(final_result(engine, agent, "run", run_config=RunConfig(nest_handoff_history=True)))

    last = sent(model, 1) if denied else sent(other.model, 0)
    assert (last == "hello\n{}\nstay") is denied
    assert ("<CONVERSATION HISTORY>" in last) is not denied


class Reason(BaseModel):
    """The input of a handoff."""

    why: str


def test_hooks_change_the_input_of_a_handoff(engine):
    engine.register("before_tool", lambda _event: Answer(tool_input={"why": "hidden"}))
    reasons: list[str] = []
    other = Agent(name="other", model=ScriptedModel([says("bye")]))
    target = handoff(
        other, on_handoff=lambda _context, given: reasons.append(given.why), input_type=Reason
    )
    model = ScriptedModel([[function_call("transfer_to_other", {"why": "key=1"}, call_id="h")]])
    agent = Agent(name="first", model=model, handoffs=[target])

    asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert reasons == ["hidden"]


def test_a_handoff_that_a_hook_left_out_does_not_happen(engine):
    only = {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}
    engine.register("before_tool_selection", lambda _event: Answer(tool_config=only))
    other = Agent(name="other", model=ScriptedModel([says("from the other")]))
    model = ScriptedModel([HANDOFF_CALL, says("alone")])

    result = asyncio.run(
        AnyhookRunner(engine).run(Agent(name="first", model=model, handoffs=[other]), "hello")
    )

    assert result.final_output == "alone"
    assert "a hook left transfer_to_other out" in sent(model, 1)


def test_a_handoff_is_not_reported_as_a_tool_without_hooks(engine):
    engine.register("before_tool", refuses("rm"), matcher="run_shell_command")
    reported: list[str] = []
    other = Agent(name="other", model=ScriptedModel([says("bye")]))
    agent = Agent(name="first", model=ScriptedModel([HANDOFF_CALL]), handoffs=[other])

    result = asyncio.run(AnyhookRunner(engine, on_message=reported.append).run(agent, "hello"))

    assert result.final_output == "bye"
    assert reported == []


def test_agents_that_run_as_tools_are_guarded(engine):
    engine.register("before_tool", refuses("rm"))
    events = noted(engine, "before_model", "before_prompt", "after_agent", "before_tool")
    tools = Tools()
    inner = Agent(
        name="inner", model=ScriptedModel([shell("rm"), says("bye")]), tools=[tools.shell]
    )
    model = ScriptedModel([[function_call("inner", {"input": "go"}, call_id="t")], says("done")])
    agent = Agent(name="outer", model=model, tools=[inner.as_tool("inner", "an agent")])

    asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert tools.ran == []
    assert "no rm" in sent(inner.model, 1)
    assert [event.name for event in events] == [
        *("before_prompt", "before_model", "before_tool", "before_model", "before_tool"),
        *("before_model", "before_model", "after_agent"),
    ]


def test_an_agent_that_a_tool_runs_by_itself_is_guarded(engine):
    engine.register("before_tool", refuses("rm"))
    tools = Tools()
    inner = Agent(
        name="inner", model=ScriptedModel([shell("rm"), says("bye")]), tools=[tools.shell]
    )

    @function_tool
    async def helper() -> str:
        return str((await Runner.run(inner, "go")).final_output)

    model = ScriptedModel([[function_call("helper", "{}", call_id="t")], says("done")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="o", model=model, tools=[helper]), "hello"))

    assert tools.ran == []
    assert "bye" in sent(model, 1)


def test_a_stop_inside_an_agent_that_runs_as_a_tool_ends_all(engine):
    engine.register(
        "before_tool", lambda e: e.tool == "shell" and Answer(stop=True, reason="enough")
    )
    tools = Tools()
    inner = Agent(name="inner", model=ScriptedModel([shell("ls")]), tools=[tools.shell])
    model = ScriptedModel([[function_call("inner", {"input": "go"}, call_id="t")], says("never")])
    agent = Agent(name="outer", model=model, tools=[inner.as_tool("inner", "an agent")])

    with pytest.raises(StoppedError, match="enough"):
        asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert model.remaining_steps == 1


def test_a_denied_prompt_is_a_guardrail_that_tripped(engine):
    engine.register("before_prompt", lambda _event: deny("not that"))
    model = ScriptedModel([])

    with pytest.raises(InputGuardrailTripwireTriggered, match="not that") as caught:
        asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model), "hello"))

    assert isinstance(caught.value, PromptDeniedError)
    assert caught.value.guardrail_result.output.output_info == "not that"


class Answered(BaseModel):
    number: int


def test_a_denied_answer_of_an_agent_with_a_type_is_a_refusal(engine):
    engine.register("after_model", lambda _event: deny("not that number"))
    reported: list[str] = []
    runner = AnyhookRunner(engine, on_message=reported.append)

    def agent():
        model = ScriptedModel([says('{"number": 42}')])
        return Agent(name="a", model=model, output_type=Answered)

    with pytest.raises(ModelRefusalError, match="not that number"):
        asyncio.run(runner.run(agent(), "hello"))
    handlers = {"model_refusal": lambda _data: Answered(number=0)}
    result = asyncio.run(runner.run(agent(), "hello", error_handlers=handlers))

    assert result.final_output == Answered(number=0)
    assert reported == ["not that number"] * 2


def test_a_refusal_of_the_model_itself_stays_an_error(engine):
    noted(engine, "after_model")
    part = api.ResponseOutputRefusal(type="refusal", refusal="I cannot")
    refusal = assistant_message("").model_copy(update={"content": [part]})

    with pytest.raises(ModelRefusalError, match="I cannot"):
        asyncio.run(
            AnyhookRunner(engine).run(Agent(name="a", model=ScriptedModel([[refusal]])), "x")
        )


def test_another_model_and_other_settings_are_those_that_hooks_want(engine):
    change = {"llm_request": {"model": "small", "config": {"temperature": 0.1, "topK": 3}}}
    engine.register("before_model", lambda _event: Answer(**change))
    models = {"big": ScriptedModel([]), "small": ScriptedModel([says("hi")])}
    models["big"].model = "big"
    reported: list[str] = []

    class Provider(ModelProvider):
        def get_model(self, model_name: str | None) -> Model:
            return models[str(model_name)]

    agent = Agent(name="a", model="big", instructions="be kind")

    result = asyncio.run(
        AnyhookRunner(engine, on_message=reported.append).run(
            agent, "hello", run_config=RunConfig(model_provider=Provider())
        )
    )

    assert result.final_output == "hi"
    assert models["small"].calls[0].model_settings.temperature == 0.1
    assert models["small"].calls[0].system_instructions == "be kind"
    assert "topK" in reported[0]


def test_going_round_again_goes_on_where_the_server_is(engine):
    engine.register("after_agent", lambda e: None if e.stop_hook_active else deny("once more"))
    steps = [ModelStep(output=says("a"), response_id="r1"), ModelStep(output=says("b"))]
    model = ScriptedModel(steps)

    result = asyncio.run(
        AnyhookRunner(engine).run(Agent(name="a", model=model), "hi", previous_response_id="r0")
    )

    assert result.final_output == "b"
    assert [call.previous_response_id for call in model.calls] == ["r0", "r1"]
    assert "hi" not in sent(model, 1)
    assert result.context_wrapper.usage.requests == 2


def test_a_session_of_the_sdk_names_the_session_of_the_hooks(engine):
    events = noted(engine, "session_start", "before_prompt")
    memory = SQLiteSession("user-7")

    asyncio.run(
        AnyhookRunner(engine).run(
            Agent(name="a", model=ScriptedModel([says("hi")])), "hello", session=memory
        )
    )
    memory.close()

    assert [event.session_id for event in events] == ["user-7", "user-7"]


def test_runs_in_a_block_are_turns_of_one_session(engine):
    events = noted(engine, "session_start", "session_end")
    agent = Agent(name="a", model=ScriptedModel([says("1"), says("2")]))

    async def two():
        async with AnyhookRunner(engine) as runner:
            await runner.run(agent, "one")
            assert len(events) == 1
            await runner.run(agent, "two")

    asyncio.run(two())

    assert [event.name for event in events] == ["session_start", "session_end"]


def test_a_run_works_without_an_event_loop(engine):
    events = noted(engine, "session_start", "session_end")
    agent = Agent(name="a", model=ScriptedModel([says("hi")]))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    result = AnyhookRunner(engine).run_sync(agent, "hello")

    loop.close()
    asyncio.set_event_loop(None)
    assert result.final_output == "hi"
    assert len(events) == 2


def test_one_line_is_enough(tmp_path):
    world = World(tmp_path)
    agent = Agent(name="a", model=ScriptedModel([says("hi")]))

    result = asyncio.run(AnyhookRunner.load(world.project, home=world.home).run(agent, "hello"))

    assert result.final_output == "hi"


# -- tools


def test_an_image_stays_beside_context(engine):
    engine.register("after_tool", lambda _event: Answer(context="LOOK-CLOSELY"))

    @function_tool
    def photo() -> ToolOutputImage:
        return ToolOutputImage(image_url="data:image/png;base64,AA==")

    model = ScriptedModel([[function_call("photo", "{}", call_id="p")], says("nice")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[photo]), "hello"))

    output = model.calls[1].input[-1]["output"]
    assert [part["type"] for part in output] == ["input_image", "input_text"]
    assert "LOOK-CLOSELY" in output[1]["text"]


def test_what_a_hook_allows_needs_no_approval_and_what_it_denies_never_asks(engine):
    def decides(event):
        word = event.tool_input["command"]
        return {"ls": allow("fine", approve=True), "rm": deny("never")}.get(word)

    engine.register("before_tool", decides)
    tools = Tools()
    tools.shell.needs_approval = True
    model = ScriptedModel([shell("ls", "1"), shell("rm", "2"), shell("cat", "3")])
    agent = Agent(name="a", model=model, tools=[tools.shell])

    result = asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert tools.ran == ["ls"]
    assert [item.raw_item.call_id for item in result.interruptions] == ["3"]


@pytest.mark.parametrize("as_json", [False, True])
def test_an_approved_run_goes_on_guarded(engine, as_json):
    engine.register("before_tool", refuses("rm"))
    events = noted(engine, "after_agent", "before_prompt")
    tools = Tools()
    tools.shell.needs_approval = True
    model = ScriptedModel([shell("ls", "1"), shell("rm", "2"), says("done")])
    agent = Agent(name="a", model=model, tools=[tools.shell])
    runner = AnyhookRunner(engine)

    async def life():
        result = await runner.run(agent, "hello")
        assert tools.ran == []
        state = result.to_state()
        if as_json:
            state = await RunState.from_json(agent, state.to_json())
        state.approve(state.get_interruptions()[0])
        return await runner.run(agent, state)

    result = asyncio.run(life())

    assert result.final_output == "done"
    assert tools.ran == ["ls"]
    assert [event.name for event in events] == ["before_prompt", "after_agent"]


def test_a_run_that_began_without_hooks_goes_on_guarded(engine):
    engine.register("before_tool", refuses("rm"))
    tools = Tools()
    tools.shell.needs_approval = True
    other = remover(tools, "other")
    model = ScriptedModel([[function_call("transfer_to_other", "{}", call_id="h")]])
    agent = Agent(name="first", model=model, handoffs=[other])

    async def life():
        state = (await Runner.run(agent, "hello")).to_state()
        state.approve(state.get_interruptions()[0])
        return await AnyhookRunner(engine).run(agent, state)

    result = asyncio.run(life())

    assert result.final_output == "bye"
    assert tools.ran == []
    assert "no rm" in sent(other.model, 1)


def approving_agents(kind):
    """Return an agent, and another one that it hands over to or uses, whose tool needs approval."""
    tools = Tools()
    tools.shell.needs_approval = True
    other = remover(tools, "other")
    if kind == "tool":
        call = function_call("other", {"input": "go"}, call_id="o")
        model = ScriptedModel([[call], says("bye")])
        return Agent(name="first", model=model, tools=[other.as_tool("other", "")]), other, tools
    model = ScriptedModel([[function_call("transfer_to_other", "{}", call_id="h")]])
    handoffs = [handoff(other) if kind == "handoff" else other]
    agent = Agent(name="first", model=model, handoffs=handoffs)
    other.handoffs.append(agent)
    return agent, other, tools


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("kind", ["agent", "handoff", "tool"])
def test_an_approval_of_another_agent_s_tool_works_as_without_hooks(engine, kind, as_json):
    events = noted(engine, "before_tool")
    agent, other, tools = approving_agents(kind)
    runner = AnyhookRunner(engine)

    async def approve_and_continue():
        result = await runner.run(agent, "hello")
        assert [item.agent for item in result.interruptions] == [other]
        assert tools.ran == []
        state = result.to_state()
        if as_json:
            state = await RunState.from_json(agent, state.to_json())
        for item in state.get_interruptions():
            state.approve(item)
        return await runner.run(agent, state)

    result = asyncio.run(approve_and_continue())

    assert result.final_output == "bye"
    assert tools.ran == ["rm"]
    assert "run_shell_command" in [event.tool_name for event in events]
    assert all(item.agent in (agent, other) for item in result.new_items)


def test_a_policy_of_approval_sees_the_arguments_that_hooks_leave(engine):
    engine.register("before_tool", lambda _event: Answer(tool_input={"command": "ls"}))
    asked: list[Any] = []
    tools = Tools()

    async def policy(_context, arguments, _call_id):
        asked.append(arguments)
        return False

    tools.shell.needs_approval = policy
    model = ScriptedModel([shell("rm"), says("done")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[tools.shell]), "x"))

    assert asked == [{"command": "ls"}]
    assert tools.ran == ["ls"]


def test_a_tool_that_takes_too_long_is_reported_as_failed(engine):
    events = noted(engine, "after_tool")

    @function_tool(timeout=0.01)
    async def slow() -> str:
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel([[function_call("slow", "{}", call_id="s")], says("well")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[slow]), "hello"))

    assert "timed out" in events[0].text
    assert "timed out" in sent(model, 1)


@pytest.mark.slow
def test_the_time_that_a_user_takes_is_not_the_tool_s(engine):
    engine.register("before_tool", lambda _event: ask("sure?"))

    @function_tool(timeout=1)
    async def quick() -> str:
        return "quick one"

    async def asked(_question):
        await asyncio.sleep(1.2)
        return True

    model = ScriptedModel([[function_call("quick", "{}", call_id="s")], says("well")])
    agent = Agent(name="a", model=model, tools=[quick])

    asyncio.run(AnyhookRunner(engine, ask=asked).run(agent, "hello"))

    assert "quick one" in sent(model, 1)


def test_a_tool_that_is_not_there_cannot_take_a_result_s_place(engine):
    call = {"name": "gone", "args": {}}
    engine.register(
        "after_tool", lambda e: Answer(tail_tool_call=call) if e.tool == "shell" else None
    )
    tools = Tools()
    model = ScriptedModel([shell("ls"), says("well")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[tools.shell]), "x"))

    assert "there is no tool gone" in sent(model, 1)


def test_arguments_that_are_no_json_are_shown_to_hooks_too(engine):
    engine.register("before_tool", refuses("rm -rf"))
    tools = Tools()
    model = ScriptedModel([[function_call("shell", "rm -rf", call_id="c")], says("well")])

    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[tools.shell]), "x"))

    assert "no rm -rf" in sent(model, 1)


def test_a_tool_with_a_schema_for_its_output_may_be_denied_and_replaced(engine):
    engine.register("before_tool", refuses("denied"))
    engine.register("after_tool", lambda _event: deny("hidden"))

    @function_tool(allowed_callers=["direct", "programmatic"])
    async def count(what: str) -> Answered:
        return Answered(number=42)

    calls = [
        function_call("count", {"what": what}, call_id=what) for what in ("denied", "replaced")
    ]
    model = ScriptedModel([calls, says("well")])
    agent = Agent(name="a", model=model, tools=[count])

    asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert "no denied" in sent(model, 1)
    assert "hidden" in sent(model, 1)
    assert "42" not in sent(model, 1)


def test_hosted_tools_are_reported_once_where_hooks_look_at_tools(engine):
    engine.register("before_tool", refuses("rm"))
    reported: list[str] = []
    model = ScriptedModel([says("1"), says("2")])
    agent = Agent(name="a", model=model, tools=[WebSearchTool()])

    async def two():
        async with AnyhookRunner(engine, on_message=reported.append) as runner:
            await runner.run(agent, "one")

    asyncio.run(two())

    assert len([text for text in reported if "hosted tools" in text]) == 1


def guarded(engine, tool, use):
    """Use a tool of the SDK's own as the runner would, inside a run."""
    back: list[Any] = []

    @function_tool
    async def inside() -> str:
        agent = Agent(name="x", model=ScriptedModel([]), tools=[tool])
        (found,) = await hook_agent(current_session.get(), agent).get_all_tools(None)
        back.append(await use(found))
        return "ok"

    model = ScriptedModel([[function_call("inside", "{}", call_id="i")], says("done")])
    asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[inside]), "hello"))
    return back[0]


class Wrapper:
    """What the SDK hands to executors."""

    context = None
    usage = None


@pytest.mark.parametrize(("command", "ran"), [("ls", ["ls -la"]), ("rm", [])])
def test_shells_of_the_sdk_are_guarded(engine, command, ran):
    engine.register("before_tool", refuses("rm"))
    engine.register(
        "before_tool",
        lambda e: Answer(tool_input={"command": "ls -la"}) if e.tool == "shell" else None,
    )
    done: list[str] = []

    def run(request):
        done.extend(request.data.action.commands)
        return "files"

    def use(tool):
        data = ShellCallData(call_id="1", action=ShellActionRequest(commands=[command]))
        return tool.executor(ShellCommandRequest(Wrapper(), data))

    result = guarded(engine, ShellTool(executor=run), use)

    assert done == ran
    assert result == ("files" if ran else "no rm")


@pytest.mark.parametrize(("command", "ran"), [(["ls"], [["ls"]]), (["rm", "x"], [])])
def test_the_older_shell_of_the_sdk_is_guarded(engine, command, ran):
    engine.register("before_tool", refuses("rm"), matcher="run_shell_command")
    done: list[Any] = []

    def run(request):
        done.append(request.data.action.command)
        return "files"

    def use(tool):
        action = LocalShellCallAction(command=command, env={}, type="exec")
        call = LocalShellCall(
            id="1", action=action, call_id="1", status="completed", type="local_shell_call"
        )
        return tool.executor(LocalShellCommandRequest(Wrapper(), call))

    result = guarded(engine, LocalShellTool(executor=run), use)

    assert done == ran
    assert result == ("files" if ran else "no rm")


def test_patches_of_the_sdk_are_guarded_as_what_they_write(engine):
    engine.register("before_tool", refuses("SECRET"), matcher="write_file")
    engine.register(
        "before_tool",
        lambda e: e.rewrite(content="clean") if e.tool == "write_file" else None,
    )
    done: list[Any] = []

    class Editor:
        def create_file(self, operation):
            done.append((operation.path, operation.diff))

        update_file = delete_file = create_file

    async def use(tool):
        new = ApplyPatchOperation("create_file", "a.txt", "+SECRET", Wrapper())
        fine = ApplyPatchOperation("create_file", "b.txt", "+dirty\n+words", Wrapper())
        gone = ApplyPatchOperation("delete_file", "c.txt", None, Wrapper())
        denied = await tool.editor.create_file(new)
        await tool.editor.create_file(fine)
        await tool.editor.delete_file(gone)
        return denied

    denied = guarded(engine, ApplyPatchTool(editor=Editor()), use)

    assert denied.output == "no SECRET"
    assert done == [("b.txt", "+clean"), ("c.txt", None)]


def test_tools_of_free_text_are_guarded(engine):
    engine.register("before_tool", refuses("rm"))
    done: list[str] = []

    async def run(_context, text):
        done.append(text)
        return "ok"

    class Context(Wrapper):
        tool_call_id = "1"

    tool = CustomTool(name="free", description="", on_invoke_tool=run)
    denied = guarded(engine, tool, lambda found: found.on_invoke_tool(Context(), "rm x"))
    fine = guarded(engine, tool, lambda found: found.on_invoke_tool(Context(), "ls"))

    assert (denied, fine, done) == ("no rm", "ok", ["ls"])


# -- streams


def redacts(event):
    text = event.llm_response["text"].replace("AKIA42", "[key]")
    return Answer(llm_response={"text": text})


def chunked(chunks, ending="response.completed"):
    """Write a stream of the SDK, its text torn into chunks."""
    text = "".join(chunks)
    item = assistant_message(text)
    place = {"item_id": item.id, "output_index": 0, "content_index": 0, "sequence_number": 0}
    thought = {"item_id": "r", "output_index": 0, "sequence_number": 0, "summary_index": 0}
    events: list[Any] = [
        api.ResponseReasoningSummaryTextDeltaEvent(
            type="response.reasoning_summary_text.delta", delta="say AKIA42", **thought
        )
    ]
    events += [
        api.ResponseTextDeltaEvent(
            type="response.output_text.delta", delta=chunk, logprobs=[], **place
        )
        for chunk in chunks
    ]
    events.append(
        api.ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=0, sequence_number=0
        )
    )
    response = api.Response(
        id="r",
        created_at=0,
        model="m",
        object="response",
        output=[item],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )
    kinds = {
        "response.completed": api.ResponseCompletedEvent,
        "response.incomplete": api.ResponseIncompleteEvent,
    }
    events.append(kinds[ending](type=ending, response=response, sequence_number=0))
    return ModelStep.stream(events)


async def streamed(runner, agent, given="hello"):
    events: list[Any] = []
    stream = runner.run_streamed(agent, given)
    try:
        async for event in stream.stream_events():
            events.append(event)
    except UserError:
        raise
    except Exception as error:
        events.append(error)
    return stream, events


@pytest.mark.parametrize(
    "chunks",
    [["the key is AKIA42."], ["the key is AK", "IA", "42."], list("the key is AKIA42.")],
)
def test_no_chunk_of_a_stream_holds_what_a_hook_takes_out(engine, chunks):
    engine.register("after_model", redacts)
    agent = Agent(name="a", model=ScriptedModel([chunked(chunks)]))

    stream, events = asyncio.run(streamed(AnyhookRunner(engine), agent))

    assert stream.final_output == "the key is [key]."
    deltas = [
        e.data.delta for e in events if e.type == "raw_response_event" and hasattr(e.data, "delta")
    ]
    assert "".join(deltas) == "the key is [key]."
    assert "AKIA" not in repr(events)


def test_no_chunk_of_a_stream_that_breaks_off_is_reported_either(engine):
    engine.register("after_model", redacts)
    step = chunked(["the key is AKIA42"], "response.incomplete")

    _, events = asyncio.run(
        streamed(AnyhookRunner(engine), Agent(name="a", model=ScriptedModel([step])))
    )

    assert "response.incomplete" in str(events[-1])
    assert "AKIA" not in repr(events)


def test_a_stream_that_no_hook_may_change_is_reported_at_once(engine):
    noted(engine, "before_model")
    given = chunked(["one ", "two"]).stream_events

    async def comes(_call):
        for event in given:
            yield event

    agent = Agent(name="a", model=ScriptedModel([ModelStep.stream(comes)]))

    _, events = asyncio.run(streamed(AnyhookRunner(engine), agent))

    own = [event.data for event in events if event.type == "raw_response_event"]
    assert all(a is b for a, b in zip(own, given, strict=True))


def test_calls_in_a_changed_stream_are_reported_and_run(engine):
    engine.register("after_model", lambda _e: Answer(llm_response={"text": "changed"}))
    tools = Tools()
    model = ScriptedModel([[*says("rude"), *shell("ls")], says("done")])
    agent = Agent(name="a", model=model, tools=[tools.shell])

    _, events = asyncio.run(streamed(AnyhookRunner(engine), agent))

    assert tools.ran == ["ls"]
    kinds = [e.data.type for e in events if e.type == "raw_response_event"]
    assert "response.function_call_arguments.done" in kinds
    assert "rude" not in repr(events)


def test_a_stream_without_its_beginning_has_no_result_yet(engine):
    stream = AnyhookRunner(engine).run_streamed(Agent(name="a", model=ScriptedModel([])), "hello")

    with pytest.raises(AttributeError, match="stream_events"):
        _ = stream.final_output


def test_a_stream_that_is_not_read_to_its_end_ends_its_session(engine):
    events = noted(engine, "session_end", "after_model")
    agent = Agent(name="a", model=ScriptedModel([chunked(["a", "b"])]))

    async def leaves():
        stream = AnyhookRunner(engine).run_streamed(agent, "hello")
        rules = stream.stream_events()
        await anext(rules)
        await rules.aclose()

    asyncio.run(leaves())

    assert [event.name for event in events].count("session_end") == 1


@pytest.mark.parametrize(("mode", "left"), [("immediate", 2), ("after_turn", 1)])
def test_a_stream_that_its_reader_cancels_is_not_sent_round_again(engine, mode, left):
    engine.register("after_agent", lambda _event: deny("once more"))
    model = ScriptedModel([chunked(["a", "b"]), says("again")])

    async def leaves():
        stream = AnyhookRunner(engine).run_streamed(Agent(name="a", model=model), "hello")
        async for _event in stream.stream_events():
            stream.cancel(mode=mode)

    asyncio.run(leaves())

    assert model.remaining_steps == left


# -- ends


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_that_is_cancelled_inside_a_tool_ends_its_session_once(engine, stream):
    events = noted(engine, "before_tool", "session_end")

    async def life():
        begun = asyncio.Event()

        @function_tool
        async def waits() -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        model = ScriptedModel([[function_call("waits", "{}", call_id="w")]])
        agent = Agent(name="a", model=model, tools=[waits])
        runner = AnyhookRunner(engine)
        run = streamed(runner, agent) if stream else runner.run(agent, "hello")
        task = asyncio.create_task(run)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(life(), 20))

    assert [event.name for event in events] == ["before_tool", "session_end"]
    assert events[-1].reason == "other"


def test_an_error_of_the_model_is_the_caller_s_and_ends_the_session_once(engine):
    events = noted(engine, "session_end")
    model = ScriptedModel([ConnectionError("gone")])

    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model), "hello"))

    assert len(events) == 1


def test_an_error_of_a_tool_that_is_to_end_the_run_does_so_and_is_reported(engine):
    events = noted(engine, "after_tool", "session_end")

    @function_tool(failure_error_function=None)
    async def breaks() -> str:
        raise OSError("disk full")

    model = ScriptedModel([[function_call("breaks", "{}", call_id="b")]])

    with pytest.raises(UserError, match="disk full"):
        asyncio.run(AnyhookRunner(engine).run(Agent(name="a", model=model, tools=[breaks]), "x"))

    assert [event.name for event in events] == ["after_tool", "session_end"]
    assert "disk full" in events[0].text


def test_two_agents_at_once_do_not_mix_their_sessions(engine):
    events = noted(engine, "before_prompt", "before_model", "before_tool", "after_agent")
    tools = Tools()

    async def one(word):
        model = ScriptedModel([shell(word), says(word)])
        agent = Agent(name=word, model=model, tools=[tools.shell])
        return await runner.run(agent, word)

    async def both():
        return await asyncio.gather(one("left"), one("right"))

    runner = AnyhookRunner(engine)
    results = asyncio.run(both())

    assert [result.final_output for result in results] == ["left", "right"]
    sessions: dict[str, list[Any]] = {}
    for event in events:
        sessions.setdefault(event.session_id, []).append(event)
    assert len(sessions) == 2
    for mine in sessions.values():
        word = mine[0].prompt
        assert {e.prompt for e in mine if e.name == "after_agent"} == {word}
        assert [e.tool_input["command"] for e in mine if e.name == "before_tool"] == [word]


def test_one_agent_may_run_under_hooks_and_without_at_once(engine):
    engine.register("before_tool", refuses("rm"))
    tools = Tools()

    def agent(call_id):
        model = ScriptedModel([shell("rm", call_id), says("done")])
        return shared.clone(model=model)

    shared = Agent(name="a", tools=[tools.shell])

    async def both():
        await asyncio.gather(
            AnyhookRunner(engine).run(agent("1"), "x"), Runner.run(agent("2"), "x")
        )

    asyncio.run(both())

    assert tools.ran == ["rm"]


# -- MCP


@pytest.mark.parametrize("way", ["run", "stream"])
def test_a_tool_that_a_hook_left_out_does_not_run_if_the_model_calls_it(engine, way):
    only = {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}
    engine.register("before_tool_selection", lambda _event: Answer(tool_config=only))
    tools = Tools()
    model = ScriptedModel([shell("ls"), says("done")])
    agent = Agent(name="a", model=model, tools=[tools.shell])

    async def converse():
        if way == "run":
            return await AnyhookRunner(engine).run(agent, "hello")
        result = AnyhookRunner(engine).run_streamed(agent, "hello")
        async for _event in result.stream_events():
            pass
        return result

    result = asyncio.run(converse())

    assert tools.ran == []
    (output,) = [
        item for item in result.to_input_list() if item.get("type") == "function_call_output"
    ]
    assert "a hook left shell out of the tools for this request" in output["output"]


class Notes(MCPServer):
    """An MCP server in this process."""

    name = "notes"

    def __init__(self):
        super().__init__()
        self.called: list[Any] = []

    async def connect(self): ...

    async def cleanup(self): ...

    async def list_tools(self, run_context=None, agent=None):
        return [MCPTool(name="add", inputSchema={"type": "object", "properties": {}})]

    async def call_tool(self, tool_name, arguments, meta=None):
        self.called.append(arguments)
        return CallToolResult(content=[TextContent(type="text", text="added")])

    async def list_prompts(self):
        raise NotImplementedError

    async def get_prompt(self, name, arguments=None):
        raise NotImplementedError


def test_tools_of_mcp_servers_have_the_names_that_hooks_know(engine):
    engine.register("before_tool", refuses("secret"), matcher="mcp_notes_add")
    only = {"mode": "ANY", "allowedFunctionNames": ["mcp_notes_add"]}
    engine.register("before_tool_selection", lambda _event: Answer(tool_config=only))
    server = Notes()
    calls = [[function_call("add", {"text": text}, call_id=text)] for text in ("secret", "plain")]
    model = ScriptedModel([*calls, says("done")])
    agent = Agent(name="a", model=model, tools=[Tools().shell], mcp_servers=[server])

    asyncio.run(AnyhookRunner(engine).run(agent, "hello"))

    assert server.called == [{"text": "plain"}]
    assert [tool.name for tool in model.calls[0].tools] == ["add"]
    assert model.calls[0].model_settings.tool_choice == "required"
