"""Hooks in agents of Pydantic AI."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pydantic_ai", minversion="2.0")

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    ModelRetry,
    RunContext,
    TextOutput,
    ToolOutput,
    ToolReturn,
    UserError,
    capture_run_messages,
)
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    StructuredContent,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition

from anyhook import Answer
from anyhook.integrations import StoppedError
from anyhook.integrations.pydantic_ai import PYDANTIC_AI, AnyhookHooks, DeniedError
from anyhook.integrations.pydantic_ai.messages import (
    Request,
    changed_response,
    shown_response,
)
from anyhook.model.answers import context, deny, replace_result, stop
from tests.integrations import pydantic_ as adapter
from tests.integrations.contract import check, judge, scenarios
from tests.world import World

IMAGE = BinaryContent(b"\xff\x00 image", media_type="image/png")
FILE = ImageUrl("https://example.com/a.png")
THOUGHT = ThinkingPart("the key is 42", signature="signed")
CALL = ToolCallPart("shell", {"command": "ls"}, tool_call_id="1")


class Point(BaseModel):
    x: int


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.id)
def test_an_agent_keeps_the_contract(scenario, tmp_path):
    seen = asyncio.run(adapter.live(scenario, World(tmp_path, agent=scenario.agent)))

    judge(scenario, seen, PYDANTIC_AI)
    check(scenario, seen)  # nothing of the contract is missing, the order of events included


def test_what_is_missing_is_reported_to_those_who_have_such_hooks(tmp_path):
    seen = live(tmp_path, {"before_compress": lambda _event: None}, lambda agent: agent.run("x"))

    assert any("PreCompress" in text for text in seen.reported)


# -- a life with hooks that are functions


class Life:
    """What hooks saw of agents, and what their user was reported."""

    def __init__(self, engine, **options):
        self.reported, self.events = [], []
        self.hooks = AnyhookHooks(
            engine,
            on_message=self.reported.append,
            on_decision=lambda event, _decision: self.events.append(event),
            **options,
        )

    def names(self):
        return [event.name for event in self.events]

    def ends(self):
        return [event for event in self.events if event.name == "session_end"]


def live(tmp_path, functions, run, *says, agent=None, **options):
    """Run an agent with hooks; `run` gets it and may raise."""

    async def main():
        async with World(tmp_path).load() as engine:
            for event, function in functions.items():
                engine.register(event, function, threaded=False)
            life = Life(engine, **options)
            made = agent or Agent(model(*(says or ("done",))))
            with capture_run_messages() as messages:
                life.messages = messages
                try:
                    life.result = await run(with_hooks(made, life.hooks))
                except BaseException as error:
                    life.error = error
            return life

    return asyncio.run(main())


def with_hooks(agent, hooks):
    class Bound:
        def run(self, *args, **options):
            return agent.run(*args, capabilities=[hooks], **options)

        def __getattr__(self, name):
            function = getattr(agent, name)
            return lambda *args, **options: function(*args, capabilities=[hooks], **options)

    return Bound()


def model(*says, size=1000):
    """Pydantic AI's scripted model: texts, parts, or lists of parts; streamed in pieces."""
    left = iter(says)

    def parts():
        turn = next(left)
        if isinstance(turn, Exception):
            raise turn
        many = turn if isinstance(turn, list) else [turn]
        return [TextPart(one) if isinstance(one, str) else one for one in many]

    async def answer(_messages, _info):
        return ModelResponse(parts=parts())

    async def pieces(_messages, _info):
        for part in parts():
            for start in range(0, len(part.content), size):
                yield part.content[start : start + size]

    return FunctionModel(answer, stream_function=pieces)


def says(*texts):
    """A hook that puts texts in the place of a response's."""
    content = {"role": "model", "parts": list(texts)}
    reply = {"hookSpecificOutput": {"llm_response": {"candidates": [{"content": content}]}}}
    return lambda _event: reply


def once(answer):
    left = iter([answer])
    return lambda _event: next(left, None)


# -- translators


def request(*messages, settings=None, **parameters):
    return Request(list(messages), settings, ModelRequestParameters(**parameters), "m")


def conversation():
    return (
        ModelRequest(
            parts=[SystemPromptPart("be kind"), UserPromptPart(["secret", IMAGE, FILE, "end"])]
        ),
        ModelResponse(parts=[THOUGHT, TextPart("looking"), CALL]),
        ModelRequest(parts=[ToolReturnPart("shell", {"x": 1}, "1"), UserPromptPart("and?")]),
    )


def test_a_request_without_changes_is_the_very_same():
    given = request(*conversation())

    assert given.changed(given.shown.stable) is given


def test_changed_text_keeps_what_is_no_text_where_it_was():
    messages = conversation()
    given = request(*messages)
    stable = given.shown.stable
    shown = [dict(message) for message in stable["messages"]]
    assert shown[0] == {"role": "system", "content": "be kind"}
    shown[1]["content"] = [
        {**part, "text": "open"} if part.get("text") == "secret" else part
        for part in shown[1]["content"]
    ]

    made = given.changed({**stable, "messages": shown}).messages

    assert made[0].parts[0] is messages[0].parts[0]
    assert made[0].parts[1].content == ["open", IMAGE, FILE, "end"]
    assert made[0].parts[1].content[1] is IMAGE
    assert made[1:] == list(messages[1:])
    assert made[1] is messages[1]
    assert made[2] is messages[2]
    assert messages[0].parts[1].content[0] == "secret"  # the history itself is not touched


def test_a_conversation_that_is_replaced_keeps_what_is_no_text():
    given = request(*conversation())

    made = given.changed({**given.shown.stable, "messages": [{"role": "user", "content": "NEW"}]})

    parts = [part for message in made.messages for part in message.parts]
    users = [part.content for part in parts if isinstance(part, UserPromptPart)]
    assert users == [["NEW", IMAGE, FILE]]
    assert THOUGHT in parts
    assert CALL in parts
    assert any(isinstance(part, ToolReturnPart) for part in parts)
    assert not [part for part in parts if isinstance(part, TextPart | SystemPromptPart)]


def test_new_turns_are_messages_of_the_framework():
    given = request(ModelRequest(parts=[UserPromptPart("a")]))
    shown = [*given.shown.stable["messages"], {"role": "model", "content": "b"}]
    shown += [{"role": "user", "content": "c"}]

    made = given.changed({**given.shown.stable, "messages": shown}).messages

    assert [type(message) for message in made] == [ModelRequest, ModelResponse, ModelRequest]
    assert [message.parts[0].content for message in made] == ["a", "b", "c"]


def test_a_new_part_that_is_no_text_is_left_out_and_that_is_reported(caplog):
    given = request(ModelRequest(parts=[UserPromptPart(["a", CachePoint(), IMAGE])]))
    message = given.shown.stable["messages"][0]
    new = {"type": "inlineData", "inlineData": {"mimeType": "image/png", "data": "AA=="}}
    shown = [{**message, "content": [*message["content"], new]}]

    made = given.changed({**given.shown.stable, "messages": shown})

    assert made.messages == given.messages
    assert "left out" in caplog.text


def test_instructions_model_and_sampling_reach_the_request():
    given = request(ModelRequest(parts=[UserPromptPart("a")]), settings={"top_p": 0.5, "seed": 1})
    stable = given.shown.stable
    assert stable["config"] == {"topP": 0.5}
    messages = [{"role": "system", "content": "Be brief."}, *stable["messages"]]

    made = given.changed({"model": "n", "messages": messages, "config": {"maxOutputTokens": 9}})

    assert made.model == "n"
    assert made.settings == {"top_p": 0.5, "seed": 1, "max_tokens": 9}
    assert [part.content for part in made.parameters.instruction_parts] == ["Be brief."]
    assert made.messages == given.messages


@pytest.mark.parametrize(
    ("config", "names", "choice"),
    [
        ({"mode": "NONE"}, [], None),
        ({"mode": "ANY"}, ["a", "b"], "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["b"]}, ["b"], "required"),
        ({"mode": "AUTO", "allowedFunctionNames": ["b"]}, ["b"], None),
        ({"mode": "ANY", "allowedFunctionNames": ["other"]}, [], None),
    ],
)
def test_choosing_tools_leaves_those_of_the_output(config, names, choice):
    tools = [ToolDefinition(name=name) for name in ("a", "b")]
    output = [ToolDefinition(name="final", kind="output")]
    given = request(function_tools=tools, output_tools=output)

    made = given.changed(given.shown.stable, config)

    assert [tool.name for tool in made.parameters.function_tools] == names
    assert made.parameters.output_tools == output
    assert (made.settings or {}).get("tool_choice") == choice


def test_a_changed_response_keeps_calls_files_and_signatures_but_no_thought():
    given = ModelResponse(
        parts=[THOUGHT, ThinkingPart("42"), TextPart("rude"), FilePart(IMAGE), CALL],
        finish_reason="stop",
    )
    shown = shown_response(given)
    assert shown.stable["text"] == "rude"
    candidate = {"content": {"role": "model", "parts": ["nice"]}, "finishReason": "STOP"}

    reply = {**shown.stable, "text": "nice", "candidates": [candidate]}

    made = changed_response(given, shown.changes(reply))

    assert made.parts == [
        ThinkingPart("", signature="signed"),
        TextPart("nice"),
        FilePart(IMAGE),
        CALL,
    ]
    assert made.parts[3] is CALL
    assert made.finish_reason == "stop"
    assert given.parts[2] == TextPart("rude")


def test_texts_that_are_changed_one_by_one_leave_the_others():
    given = ModelResponse(parts=[THOUGHT, TextPart("a", id="x"), CALL, TextPart("b")])
    shown = shown_response(given)
    content = {"role": "model", "parts": [THOUGHT.content, "A", "b"]}

    reply = {**shown.stable, "candidates": [{"content": content}]}

    made = changed_response(given, shown.changes(reply))

    assert made.parts == [THOUGHT, TextPart("A"), CALL, TextPart("b")]
    assert made.parts[0] is THOUGHT
    assert made.parts[3] is given.parts[3]


# -- prompts


def test_an_image_in_a_prompt_stays_beside_what_hooks_add(tmp_path):
    life = live(
        tmp_path, {"before_prompt": once(context("CTX"))}, lambda agent: agent.run(["look", IMAGE])
    )

    content = life.messages[0].parts[0].content
    assert content[:2] == ["look", IMAGE]
    assert "CTX" in content[2]
    assert life.events[1].prompt == "look"


def test_a_prompt_at_the_end_of_a_history_is_judged_like_any_other(tmp_path):
    history = [ModelRequest(parts=[UserPromptPart("secret")])]
    hooks = {"before_prompt": lambda e: deny("no secrets") if e.prompt == "secret" else None}

    life = live(tmp_path, hooks, lambda agent: agent.run(message_history=history))

    assert isinstance(life.error, DeniedError)
    assert life.error.reason == "no secrets"
    assert "before_model" not in life.names()


def test_context_for_a_prompt_at_the_end_of_a_history_reaches_the_model(tmp_path):
    history = [ModelRequest(parts=[UserPromptPart("hello")])]

    life = live(
        tmp_path,
        {"before_prompt": once(context("CTX"))},
        lambda agent: agent.run(message_history=history),
    )

    assert "CTX" in life.messages[0].parts[0].content
    assert history[0].parts[0].content == "hello"


def test_all_words_of_a_prompt_are_judged(tmp_path):
    prompt = ["a", TextContent("b"), StructuredContent({"c": 1}), IMAGE]

    life = live(tmp_path, {}, lambda agent: agent.run(prompt))

    assert life.events[1].prompt == 'a\nb\n{"c":1}'


def test_another_model_is_looked_up_and_one_that_is_none_is_an_error(tmp_path):
    reply = {"hookSpecificOutput": {"llm_request": {"model": "nowhere:m"}}}

    life = live(tmp_path, {"before_model": lambda _e: reply}, lambda agent: agent.run("x"))

    assert isinstance(life.error, UserError)
    assert "nowhere:m" in str(life.error)
    assert len(life.ends()) == 1


# -- sessions


def test_each_run_is_a_session_named_like_its_conversation(tmp_path):
    async def run(agent):
        first = await agent.run("one")
        await agent.run("two", message_history=first.all_messages())
        return first.conversation_id

    life = live(tmp_path, {}, run, "a", "b")

    starts = [event for event in life.events if event.name == "session_start"]
    assert [event.source for event in starts] == ["startup", "resume"]
    assert {event.session_id for event in life.events} == {life.result}
    assert len(life.ends()) == 2


def test_an_agent_that_is_a_tool_of_another_has_a_session_of_its_own(tmp_path):
    inner = Agent(model("inner answer"))
    outer = Agent(model(ToolCallPart("ask", {}), "outer answer"))
    life = None

    @outer.tool_plain
    async def ask() -> str:
        return (await inner.run("inner prompt", capabilities=[hooks[0]])).output

    hooks = []

    async def main():
        async with World(tmp_path).load() as engine:
            life = Life(engine)
            hooks.append(life.hooks)
            async with life.hooks.session():
                await outer.run("outer prompt", capabilities=[life.hooks])
            return life

    life = asyncio.run(main())
    prompts = {e.prompt: e.session_id for e in life.events if e.name == "before_prompt"}
    assert prompts["inner prompt"] != prompts["outer prompt"]
    assert [e.session_id for e in life.ends()] == [prompts["inner prompt"], prompts["outer prompt"]]
    done = [(e.prompt, e.prompt_response) for e in life.events if e.name == "after_agent"]
    assert done == [("inner prompt", "inner answer"), ("outer prompt", "outer answer")]


def test_two_agents_at_once_do_not_mix_sessions(tmp_path):
    async def main():
        async with World(tmp_path).load() as engine:
            engine.register("before_prompt", lambda e: context(f"for {e.prompt}"), threaded=False)
            life = Life(engine)

            async def one(name):
                async with life.hooks.session(session_id=name):
                    agent = Agent(model(name, name), capabilities=[life.hooks])
                    await agent.run(name)
                    await asyncio.sleep(0)
                    return (await agent.run(name)).all_messages()

            names = [f"agent-{number}" for number in range(8)]
            return life, await asyncio.gather(*map(one, names)), names

    life, histories, names = asyncio.run(main())
    for name, history in zip(names, histories, strict=True):
        assert f"for {name}" in history[0].parts[0].content
        own = [event for event in life.events if event.session_id == name]
        assert [e.prompt for e in own if e.name == "before_prompt"] == [name, name]
        assert [e.name for e in own if e.name.startswith("session")] == [
            "session_start",
            "session_end",
        ]


def test_without_hooks_neither_model_nor_tools_are_wrapped(tmp_path):
    async def main():
        async with World(tmp_path).load() as engine:
            hooks = AnyhookHooks(engine)
            bare = await hooks.for_run(None)
            engine.register("before_tool", lambda _event: None)
            run = await hooks.for_run(None)
            return bare is hooks, run.get_wrapper_model(TestModel())

    assert asyncio.run(main()) == (True, None)


def test_one_line_is_enough(tmp_path):
    world = World(tmp_path)
    hooks = AnyhookHooks.load(world.project, home=world.home, environ=world.environ)
    agent = Agent(TestModel(custom_output_text="hi"), capabilities=[hooks])

    assert asyncio.run(agent.run("hello")).output == "hi"


# -- ends


def test_a_cancelled_tool_ends_the_session_once(tmp_path):
    started = asyncio.Event()
    agent = Agent(model(ToolCallPart("hang", {})))

    @agent.tool_plain
    async def hang() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def run(bound):
        task = asyncio.create_task(bound.run("x"))
        await started.wait()
        task.cancel()
        await task

    life = live(tmp_path, {}, run, agent=agent)

    assert isinstance(life.error, asyncio.CancelledError)
    assert [event.reason for event in life.ends()] == ["other"]
    assert "after_tool" not in life.names()


def test_a_run_that_is_left_in_the_middle_ends_its_session(tmp_path):
    async def run(agent):
        async with agent.iter("x") as steps:
            async for _node in steps:
                break

    life = live(tmp_path, {}, run)

    assert len(life.ends()) == 1
    assert "after_agent" not in life.names()


def test_a_tool_that_raises_is_reported_and_ends_the_run(tmp_path):
    agent = Agent(model(ToolCallPart("fail", {})))

    @agent.tool_plain
    def fail() -> str:
        raise KeyError("lost")

    life = live(tmp_path, {}, lambda bound: bound.run("x"), agent=agent)

    assert isinstance(life.error, KeyError)
    after = next(event for event in life.events if event.name == "after_tool")
    assert "lost" in str(after.tool_response)
    assert [event.reason for event in life.ends()] == ["other"]


def test_a_model_that_raises_ends_the_session_once(tmp_path):
    life = live(tmp_path, {}, lambda agent: agent.run("x"), RuntimeError("down"))

    assert str(life.error) == "down"
    assert [event.reason for event in life.ends()] == ["other"]


def test_a_stop_ends_the_run_with_its_reason_in_every_way_of_running(tmp_path):
    hooks = {"before_model": lambda _event: stop("closed")}

    async def streamed(agent):
        async with agent.run_stream("x"):
            pass

    async def events(agent):
        async with agent.run_stream_events("x") as stream:
            return [event async for event in stream]

    for run in (lambda agent: agent.run("x"), streamed, events):
        life = live(tmp_path, hooks, run)
        assert isinstance(life.error, StoppedError)
        assert life.error.reason == "closed"
        assert len(life.ends()) == 1


# -- continued turns


def test_the_history_of_a_second_round_shows_what_happened(tmp_path):
    life = live(
        tmp_path,
        {"after_agent": once(deny("run the tests"))},
        lambda agent: agent.run("x"),
        "first",
        "second",
    )

    parts = [part.content for message in life.result.all_messages() for part in message.parts]
    assert parts == ["x", "first", "run the tests", "second"]
    assert life.result.output == "second"


def test_a_structured_answer_can_be_sent_back(tmp_path):
    class City(BaseModel):
        name: str

    agent = Agent(
        model(
            ToolCallPart("final_result", {"name": "Rome"}),
            ToolCallPart("final_result", {"name": "Oslo"}),
        ),
        output_type=City,
    )

    life = live(
        tmp_path,
        {"after_agent": lambda e: deny("not Rome") if "Rome" in e.prompt_response else None},
        lambda bound: bound.run("x"),
        agent=agent,
    )

    assert life.result.output == City(name="Oslo")


def test_a_forgotten_conversation_keeps_the_system_prompt(tmp_path):
    agent = Agent(model("first", "second"), system_prompt="be kind")
    reply = {
        "decision": "deny",
        "reason": "start over",
        "hookSpecificOutput": {"clearContext": True},
    }

    life = live(tmp_path, {"after_agent": once(reply)}, lambda bound: bound.run("x"), agent=agent)

    parts = [part.content for message in life.result.all_messages() for part in message.parts]
    assert parts == ["be kind", "start over", "second"]


def test_an_answer_that_run_stream_has_shown_stays_and_that_is_reported(tmp_path):
    async def run(agent):
        async with agent.run_stream("x") as stream:
            return await stream.get_output()

    life = live(tmp_path, {"after_agent": lambda _event: deny("again")}, run, "first")

    assert life.result == "first"
    assert any("again" in text for text in life.reported)
    assert len(life.ends()) == 1


# -- functions that make the output


def calling_output(*calls, ran, output_type=None):
    """An agent whose output is made by a function, which the model calls with some arguments."""

    def shell(command: str) -> str:
        ran.append(command)
        return f"ran {command}"

    left = iter(calls)

    def answer(_messages, info):
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, next(left))])

    return Agent(FunctionModel(answer), output_type=output_type or shell)


def deny_rm(event):
    assert (event.tool_name, list(event.tool_input)) == ("run_shell_command", ["command"])
    return deny("not that") if event.tool_input["command"] == "rm" else None


def test_an_output_function_is_guarded_like_a_tool_of_its_name(tmp_path):
    ran = []
    agent = calling_output({"command": "rm"}, {"command": "ls"}, ran=ran)

    life = live(tmp_path, {"before_tool": deny_rm}, lambda bound: bound.run("x"), agent=agent)

    assert (life.result.output, ran) == ("ran ls", ["ls"])
    assert "not that" in str(life.messages)
    assert life.names().count("before_tool") == 2
    assert life.names().count("after_tool") == 1


def test_an_output_function_with_a_name_of_its_own_is_guarded_by_that_name(tmp_path):
    ran = []

    def finish(command: str) -> str:
        ran.append(command)
        return command

    calls, output = ({"command": "rm"}, {"command": "ls"}), ToolOutput(finish, name="shell")
    agent = calling_output(*calls, ran=[], output_type=output)

    life = live(tmp_path, {"before_tool": deny_rm}, lambda bound: bound.run("x"), agent=agent)

    assert (life.result.output, ran) == ("ls", ["ls"])


def test_hooks_change_what_an_output_function_gets_and_returns(tmp_path):
    ran = []
    hooks = {
        "before_tool": lambda event: event.rewrite(command="ls"),
        "after_tool": lambda _event: replace_result("[hidden]"),
    }
    agent = calling_output({"command": "rm"}, ran=ran)

    life = live(tmp_path, hooks, lambda bound: bound.run("x"), agent=agent)

    assert (life.result.output, ran) == ("[hidden]", ["ls"])


def test_a_hidden_output_that_is_not_a_text_ends_the_turn(tmp_path):
    def shell(command: str) -> Point:
        return Point(x=1)

    hooks = {"after_tool": lambda _event: replace_result("[hidden]")}
    agent = calling_output({"command": "ls"}, ran=[], output_type=shell)

    life = live(tmp_path, hooks, lambda bound: bound.run("x"), agent=agent)

    assert isinstance(life.error, DeniedError)
    assert "[hidden]" in life.reported


@pytest.mark.parametrize("stream", [False, True])
def test_a_function_of_the_text_is_guarded_also_in_a_stream(tmp_path, stream):
    ran = []

    def shell(text: str) -> str:
        ran.append(text)
        return text

    async def run(bound):
        if not stream:
            return (await bound.run("x")).output
        async with bound.run_stream("x") as result:
            return [output async for output in result.stream_output(debounce_by=None)]

    hooks = {"before_tool": lambda event: deny("no") if "rm" in str(event.tool_input) else None}
    agent = Agent(model("rm all", "rm", "rm it", size=2), output_type=TextOutput(shell))

    life = live(tmp_path, hooks, run, agent=agent)

    assert (str(life.error) != "", ran) == (True, [])


# -- tools


def test_a_deferred_call_is_no_end_of_the_turn(tmp_path):
    agent = Agent(model(ToolCallPart("push", {})), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def push() -> str:
        return "pushed"

    life = live(tmp_path, {}, lambda bound: bound.run("x"), agent=agent)

    assert isinstance(life.result.output, DeferredToolRequests)
    assert "after_agent" not in life.names()


def pushing():
    agent = Agent(
        model(ToolCallPart("push", {"to": "a"}), "done"), output_type=[str, DeferredToolRequests]
    )
    ran = []

    @agent.tool_plain(requires_approval=True)
    def push(to: str) -> str:
        ran.append(to)
        return "pushed"

    return agent, ran


def test_what_the_user_agrees_to_needs_no_approval_of_the_programs_own(tmp_path):
    agent, ran = pushing()
    reply = {"decision": "ask", "hookSpecificOutput": {"tool_input": {"to": "b"}}}
    asked = []

    async def ask(question):
        asked.append(question.arguments)
        return True

    life = live(
        tmp_path, {"before_tool": lambda _e: reply}, lambda b: b.run("x"), agent=agent, ask=ask
    )

    assert life.result.output == "done"
    assert (ran, asked) == (["b"], [{"to": "b"}])
    assert life.names().count("before_tool") == 1


def test_a_denied_tool_is_denied_before_the_program_asks_its_user(tmp_path):
    agent, ran = pushing()

    life = live(
        tmp_path, {"before_tool": once(deny("no"))}, lambda bound: bound.run("x"), agent=agent
    )

    assert life.result.output == "done"
    assert ran == []
    assert (life.messages[2].parts[0].outcome, life.messages[2].parts[0].content) == (
        "denied",
        "no",
    )


def test_a_tool_that_a_hook_left_out_does_not_run_if_the_model_calls_it(tmp_path):
    agent, ran = Agent(model(CALL, "done")), []

    @agent.tool_plain
    def shell(command: str) -> str:
        ran.append(command)
        return "ran"

    @agent.tool_plain
    def read_file(path: str) -> str:
        return path

    only = {"mode": "AUTO", "allowedFunctionNames": ["read_file"]}
    hooks = {"before_tool_selection": lambda _event: Answer(tool_config=only)}

    life = live(tmp_path, hooks, lambda bound: bound.run("x"), agent=agent)

    assert (life.result.output, ran) == ("done", [])
    text = "a hook left shell out of the tools for this request, so it does not run"
    assert text in str(life.messages[2].parts[0].content)


def test_a_tool_that_asks_for_approval_itself_is_judged_once(tmp_path):
    agent = Agent(model(ToolCallPart("push", {}), "done"), output_type=[str, DeferredToolRequests])

    @agent.tool
    def push(ctx: RunContext) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "pushed"

    async def ask(_question):
        return True

    life = live(
        tmp_path,
        {"before_tool": lambda _e: {"decision": "ask"}},
        lambda bound: bound.run("x"),
        agent=agent,
        ask=ask,
    )

    assert life.result.output == "done"
    assert life.messages[2].parts[0].content == "pushed"
    assert life.names().count("before_tool") == 1


def test_rewritten_arguments_are_validated_like_the_models(tmp_path):
    got = []
    agent = Agent(model(ToolCallPart("draw", {"at": {"x": 1}}), "done"))

    @agent.tool_plain
    def draw(at: Point) -> str:
        got.append(at)
        return "drawn"

    reply = {"hookSpecificOutput": {"tool_input": {"at": {"x": 2}}}}
    live(tmp_path, {"before_tool": once(reply)}, lambda bound: bound.run("x"), agent=agent)

    assert got == [Point(x=2)]


def test_rewritten_arguments_that_do_not_fit_fail_the_tool_and_not_the_run(tmp_path):
    agent = Agent(model(ToolCallPart("add", {"x": 1}), "done"))

    @agent.tool_plain
    def add(x: int) -> str:
        raise AssertionError

    reply = {"hookSpecificOutput": {"tool_input": {"x": "many"}}}
    life = live(tmp_path, {"before_tool": once(reply)}, lambda bound: bound.run("x"), agent=agent)

    returned = life.messages[2].parts[0]
    assert returned.outcome == "failed"
    assert "are not valid" in returned.content
    assert life.result.output == "done"


def test_rewritten_arguments_pass_the_tools_own_validator(tmp_path):
    async def small(_ctx: RunContext, x: int) -> None:
        if x > 9:
            raise ModelRetry("too many")

    agent = Agent(model(ToolCallPart("add", {"x": 1}), "done"))

    @agent.tool_plain(args_validator=small)
    def add(x: int) -> str:
        raise AssertionError

    reply = {"hookSpecificOutput": {"tool_input": {"x": 10}}}
    life = live(tmp_path, {"before_tool": once(reply)}, lambda bound: bound.run("x"), agent=agent)

    assert "too many" in str(life.messages[2].parts[0].content)
    assert life.result.output == "done"


def test_a_result_without_changes_is_the_tools_own(tmp_path):
    own = ToolReturn({"x": 1}, content=["look", IMAGE], metadata={"secret": 1})
    agent = Agent(model(ToolCallPart("look", {}), "done"))

    @agent.tool_plain
    def look() -> ToolReturn:
        return own

    life = live(tmp_path, {}, lambda bound: bound.run("x"), agent=agent)

    returned, shown = life.messages[2].parts
    assert (returned.content, returned.metadata) == ({"x": 1}, {"secret": 1})
    assert shown.content == ["look", IMAGE]


def test_context_stands_beside_a_result_with_an_image(tmp_path):
    agent = Agent(model(ToolCallPart("look", {}), "done"))

    @agent.tool_plain
    def look() -> ToolReturn:
        return ToolReturn({"x": 1}, content=["look", IMAGE])

    life = live(
        tmp_path, {"after_tool": once(context("NOTE"))}, lambda bound: bound.run("x"), agent=agent
    )

    returned, shown = life.messages[2].parts
    assert returned.content == {"x": 1}
    assert shown.content[:2] == ["look", IMAGE]
    assert "NOTE" in shown.content[2]


def test_a_hidden_result_takes_its_images_and_metadata_along(tmp_path):
    agent = Agent(model(ToolCallPart("look", {}), "done"))

    @agent.tool_plain
    def look() -> ToolReturn:
        return ToolReturn("secret", content=["secret", IMAGE], metadata={"raw": "secret"})

    life = live(
        tmp_path, {"after_tool": once(deny("hidden"))}, lambda bound: bound.run("x"), agent=agent
    )

    assert [part.content for part in life.messages[2].parts] == ["hidden"]
    assert "secret" not in repr(life.messages)


def test_a_call_of_an_unknown_tool_in_place_of_a_result_fails_alone(tmp_path):
    agent = Agent(model(ToolCallPart("look", {}), "done"))

    @agent.tool_plain
    def look() -> str:
        return "seen"

    reply = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "nowhere", "args": {}}}}
    life = live(tmp_path, {"after_tool": once(reply)}, lambda bound: bound.run("x"), agent=agent)

    assert "'nowhere'" in life.messages[2].parts[0].content
    assert life.result.output == "done"


# -- streams


async def by_events(agent):
    async with agent.run_stream_events("x") as stream:
        return [repr(event) async for event in stream]


async def by_handler(agent):
    got = []

    async def handler(_ctx, stream):
        got.extend([repr(event) async for event in stream])

    result = await agent.run("x", event_stream_handler=handler)
    return [*got, repr(result)]


async def by_text(agent):
    async with agent.run_stream("x") as stream:
        got = [text async for text in stream.stream_text(delta=True, debounce_by=None)]
        return [*got, *map(repr, stream.all_messages())]


async def by_node(agent):
    got = []
    async with agent.iter("x") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    got += [repr(event) async for event in stream]
    return [*got, repr(run.result)]


WAYS = [by_events, by_handler, by_text, by_node]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_chunk_leaks_what_a_hook_removes(tmp_path, way, size):
    agent = Agent(model("my key is SECRET!", size=size))

    life = live(tmp_path, {"after_model": says("polite")}, way, agent=agent)

    shown = "\n".join(life.result)
    assert "polite" in shown
    assert not any(word in shown for word in ("SECRET", "my", "key", "'S'", "!"))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_discarded_stream_shows_nothing(tmp_path, way):
    life = live(
        tmp_path, {"after_model": lambda _event: deny("leaks a key")}, way, "my key is SECRET"
    )

    assert isinstance(life.error, DeniedError)
    assert life.reported == ["leaks a key"]
    assert "SECRET" not in repr(life.messages)
    assert len(life.ends()) == 1


@pytest.mark.parametrize("hooks", [{}, {"after_model": lambda _event: None}], ids=["none", "mute"])
def test_a_stream_without_changes_keeps_its_chunks(tmp_path, hooks):
    agent = Agent(model("one two three", size=4))

    life = live(tmp_path, hooks, by_text, agent=agent)

    assert life.result[:4] == ["one ", "two ", "thre", "e"]
    assert life.names().count("after_model") == 1


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hooks_own_answer_is_streamed_in_the_models_place(tmp_path, way):
    life = live(tmp_path, {"before_model": says("canned")}, way, RuntimeError("not to be asked"))

    assert "canned" in "".join(life.result)
