"""Hooks in agents of Google ADK."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("google.adk", minversion="2.0")

from google.adk.agents import LiveRequestQueue, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.models import LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from anyhook import Answer, Engine, deny
from anyhook.integrations.adk import ADK, DENIED, STOPPED, AnyhookPlugin
from anyhook.integrations.adk.messages import (
    change_llm_request,
    changed_response,
    new_response,
    select_tools,
    shown_request,
    shown_response,
)
from anyhook.integrations.adk.plugin import CONTINUE_CALL
from anyhook.model.answers import allow, context, stop
from tests.integrations import adk as adapter
from tests.integrations.adk import (
    STREAMED,
    Model,
    answer,
    content_text,
    model_content,
    offered,
    user,
)
from tests.integrations.contract import judge, scenarios
from tests.world import World

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*(SequentialAgent|ParallelAgent).*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning"),  # AgentTool
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
]

IMAGE = types.Part.from_bytes(data=b"\xff\x00\xfe image", mime_type="image/png")
FILE = types.Part.from_uri(file_uri="gs://b/c.pdf", mime_type="application/pdf")
THOUGHT = types.Part(text="hmm", thought=True, thought_signature=b"\xff\xfe\x01")
CALL = types.Part(
    function_call=types.FunctionCall(id="1", name="f", args={"a": [1, None]}),
    thought_signature=b"\xff\xfe\x02",
)
RETURN = types.Part(
    function_response=types.FunctionResponse(id="1", name="f", response={"result": {"x": 1}})
)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.id)
def test_an_agent_keeps_the_contract(scenario, tmp_path):
    seen = asyncio.run(adapter.live(scenario, World(tmp_path, agent=scenario.agent)))

    judge(scenario, seen, ADK)


def test_nothing_is_missing():
    assert ADK.missing == {}


class Life:
    """One agent in one runner, with hooks that are functions."""

    def __init__(self, engine, runner, plugin, events, reported):
        self.engine, self.runner, self.plugin = engine, runner, plugin
        self.events, self.reported = events, reported

    async def run(self, message="hello", session="s", user_id="u", **options):
        message = user(message) if isinstance(message, str) else message
        return [
            event
            async for event in self.runner.run_async(
                user_id=user_id, session_id=session, new_message=message, **options
            )
        ]

    async def history(self, session="s"):
        found = await self.runner.session_service.get_session(
            app_name="app", user_id="u", session_id=session
        )
        return [(event.author, content_text(event.content)) for event in found.events]

    def names(self):
        return [event.name for event in self.events]


@asynccontextmanager
async def living(tmp_path, agent, hooks, *, app=None, sees=True, **options):
    engine = World(tmp_path).load()
    for event, function in hooks.items():
        engine.register(event, function, threaded=False)
    events, reported = [], []
    if sees:
        options["on_decision"] = lambda event, _decision: events.append(event)
    plugin = AnyhookPlugin(engine, on_message=reported.append, **options)
    made = App(name="app", root_agent=agent, plugins=[plugin], **(app or {}))
    runner = InMemoryRunner(app=made)
    runner.auto_create_session = True
    try:
        yield Life(engine, runner, plugin, events, reported)
    finally:
        await runner.close()
        engine.close()


def agent(*says, name="agent", **options):
    model = says[0] if isinstance(says[0], Model) else Model.create(list(map(spoken, says)))
    return LlmAgent(name=name, model=model, **options)


def spoken(one):
    return (
        one
        if isinstance(one, types.Content)
        else model_content(*(one if type(one) is list else [one]))
    )


def call(tool, **args):
    return {"tool": tool, "args": args}


def answers(*given):
    """A hook that answers in turn, and has no opinion after that."""
    left = iter(given)
    return lambda _event: next(left, None)


# -- translating


def request(*contents, **config):
    return LlmRequest(
        model="m", contents=list(contents), config=types.GenerateContentConfig(**config)
    )


def test_a_request_without_changes_keeps_its_very_objects():
    contents = [user("look", IMAGE, FILE), model_content(THOUGHT, CALL), user(RETURN)]
    given = request(*contents, temperature=0.5, tools=[types.Tool(google_search={})])
    config = given.config
    shown = shown_request(given)

    assert shown.changes(dict(shown.stable)) is None

    assert all(a is b for a, b in zip(given.contents, contents, strict=True))
    assert given.config is config


def test_a_changed_text_keeps_images_files_calls_and_signatures_where_they_were():
    contents = [user("secret", IMAGE, FILE), model_content(THOUGHT, CALL), user(RETURN)]
    given = request(*contents)
    shown = shown_request(given)
    messages = [dict(message) for message in shown.stable["messages"]]
    messages[0]["content"] = [
        {**p, "text": "open"} if "text" in p else p for p in messages[0]["content"]
    ]

    change_llm_request(given, shown.changes({**shown.stable, "messages": messages}))

    assert [p.text for p in given.contents[0].parts] == ["open", None, None]
    assert given.contents[0].parts[1:] == [IMAGE, FILE]
    assert given.contents[0].parts[1] is contents[0].parts[1]
    assert given.contents[1] is contents[1]
    assert given.contents[2] is contents[2]
    assert contents[0].parts[0].text == "secret"  # the session's own content is not touched


def test_a_plain_text_in_place_of_parts_keeps_the_other_parts():
    given = request(user("a", IMAGE), model_content(CALL))
    shown = shown_request(given)
    messages = [{"role": "user", "content": "b"}]

    change_llm_request(given, shown.changes({**shown.stable, "messages": messages}))

    assert given.contents[0].parts == [types.Part(text="b"), IMAGE]
    assert given.contents[1].parts == [CALL]


def test_instructions_model_and_sampling_reach_the_request():
    given = request(user("a"), system_instruction="Be kind.", top_k=3)
    shown = shown_request(given)
    messages = [{"role": "system", "content": "Be brief."}, *shown.stable["messages"]]

    wanted = {"model": "n", "messages": messages, "config": {"temperature": 0.1, "topK": 3}}
    change_llm_request(given, shown.changes(wanted))

    assert given.config.system_instruction == "Be kind.\n\nBe brief."
    assert (given.model, given.config.temperature, given.config.top_k) == ("n", 0.1, 3)


def test_a_changed_response_keeps_calls_thoughts_and_signatures():
    given = LlmResponse(
        content=model_content("rude", CALL, IMAGE),
        finish_reason="STOP",
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=7),
    )
    shown = shown_response(given)
    candidate = {**shown.stable["candidates"][0], "content": {"role": "model", "parts": ["nice"]}}

    made = changed_response(given, shown.changes({**shown.stable, "candidates": [candidate]}))

    assert [p.text for p in made.content.parts] == ["nice", None, None]
    assert made.content.parts[1] is given.content.parts[1]
    assert made.content.parts[2] is given.content.parts[2]
    assert made.usage_metadata.total_token_count == 7
    assert given.content.parts[0].text == "rude"


def test_a_new_text_in_a_signed_part_keeps_the_signature():
    signed = types.Part(text="rude", thought_signature=b"\xff\xfe\x03")
    given = LlmResponse(content=model_content(signed))
    candidate = {"content": {"role": "model", "parts": ["nice"]}}

    made = changed_response(given, shown_response(given).changes({"candidates": [candidate]}))

    assert made.content.parts == [signed.model_copy(update={"text": "nice"})]


def test_a_hooks_own_response_is_one_of_adk():
    part = {"role": "model", "parts": ["canned"]}
    made = new_response(
        {"text": "canned", "candidates": [{"content": part, "finishReason": "STOP"}]}
    )

    assert made.content.parts == [types.Part(text="canned")]
    assert made.finish_reason == types.FinishReason.STOP


def test_choosing_tools_leaves_built_in_ones_and_their_neighbours():
    functions = [types.FunctionDeclaration(name=name) for name in ("a", "b")]
    given = request(
        user("x"),
        tools=[types.Tool(function_declarations=functions), types.Tool(google_search={})],
    )

    select_tools(given, {"mode": "AUTO", "allowedFunctionNames": ["b"]})
    assert offered(given) == ["b"]
    assert given.config.tools[1].google_search is not None
    assert given.config.tool_config.function_calling_config.allowed_function_names is None

    select_tools(given, {"mode": "NONE"})
    assert offered(given) == []
    assert given.config.tools == [types.Tool(google_search={})]


# -- prompts


def test_an_image_in_a_prompt_stays_beside_what_hooks_add(tmp_path):
    model = Model.create([model_content("hi")])

    async def run():
        async with living(
            tmp_path, agent(model), {"before_prompt": answers(context("CTX"))}
        ) as life:
            await life.run(user("look", IMAGE))

    asyncio.run(run())
    parts = model.requests[0].contents[0].parts
    assert parts[:2] == [types.Part(text="look"), IMAGE]
    assert "CTX" in parts[2].text


def test_a_denied_prompt_ends_the_run_with_an_error_and_is_not_remembered(tmp_path):
    async def run():
        hooks = {"before_prompt": answers(deny("no secrets"))}
        async with living(tmp_path, agent("fine"), hooks) as life:
            denied = await life.run("the secret")
            fine = await life.run("hello")
            return denied, fine, await life.history()

    denied, fine, history = asyncio.run(run())
    assert [(e.error_code, e.error_message, e.content) for e in denied] == [
        (DENIED, "no secrets", None)
    ]
    assert answer(fine) == "fine"
    assert "secret" not in str(history)


def test_after_a_stop_every_run_of_the_session_ends_at_once(tmp_path):
    async def run():
        async with living(
            tmp_path, agent("a", "b"), {"before_model": answers(stop("closed"))}
        ) as life:
            return [await life.run(), await life.run(), await life.run(session="other")]

    first, second, other = asyncio.run(run())
    for events in (first, second):
        assert [(e.error_code, e.error_message) for e in events] == [(STOPPED, "closed")]
    assert answer(other) == "a"


# -- streams


@pytest.mark.parametrize("pieces", [1, 2, 5, 19])
def test_no_piece_of_a_stream_leaks_what_a_hook_removes(tmp_path, pieces):
    model = Model.create([model_content("the key is AKIA123")])
    model.pieces = pieces

    def redact(event):
        part = {"role": "model", "parts": [event.llm_response["text"].replace("AKIA123", "***")]}
        return Answer(llm_response={"candidates": [{"content": part}]})

    async def run():
        async with living(tmp_path, agent(model), {"after_model": redact}) as life:
            return await life.run(run_config=STREAMED), life.names()

    events, names = asyncio.run(run())
    assert [content_text(e.content) for e in events] == ["the key is ***"]
    assert names.count("after_model") == 1


@pytest.mark.parametrize("hooks", [{}, {"before_tool": answers()}])
def test_a_stream_that_no_hook_may_change_comes_in_pieces(tmp_path, hooks):
    async def run():
        async with living(tmp_path, agent("one two three"), hooks) as life:
            return await life.run(run_config=STREAMED)

    events = asyncio.run(run())
    assert [content_text(e.content) for e in events if e.partial] == ["one t", "wo th", "ree"]
    assert answer(events) == "one two three"


def test_a_response_that_was_cut_off_is_looked_at_and_ends_nothing(tmp_path):
    class Short(Model):
        async def generate_content_async(self, llm_request, stream=False):
            yield LlmResponse(content=model_content("the key"), error_code="MAX_TOKENS")

    async def run():
        part = {"role": "model", "parts": ["***"]}
        redacted = Answer(llm_response={"candidates": [{"content": part}]})
        async with living(tmp_path, agent(Short()), {"after_model": answers(redacted)}) as life:
            return await life.run(), life.names()

    events, names = asyncio.run(run())
    assert [(content_text(e.content), e.error_code) for e in events] == [("***", "MAX_TOKENS")]
    assert "after_agent" not in names


def test_a_discarded_stream_shows_nothing(tmp_path):
    async def run():
        hooks = {"after_model": answers(deny("leaks"))}
        async with living(tmp_path, agent("the key"), hooks) as life:
            return await life.run(run_config=STREAMED), await life.history()

    events, history = asyncio.run(run())
    assert [(e.error_code, content_text(e.content)) for e in events] == [(DENIED, "")]
    assert "the key" not in str(history)


# -- ends


def test_a_round_more_leaves_a_clean_history(tmp_path):
    model = Model.create([model_content("first"), model_content("second")])

    async def run():
        hooks = {"after_agent": answers(deny("run the tests"))}
        async with living(tmp_path, agent(model), hooks) as life:
            events = await life.run()
            return events, await life.history()

    events, history = asyncio.run(run())
    assert history == [
        ("user", "hello"),
        ("agent", "first"),
        ("user", "run the tests"),
        ("agent", "second"),
    ]
    assert CONTINUE_CALL not in str(events)
    assert [c.role for c in model.requests[1].contents] == ["user", "model", "user"]
    assert CONTINUE_CALL not in str(model.requests[1].contents)


def test_what_was_cleared_stays_forgotten_in_the_next_turn(tmp_path):
    model = Model.create([model_content("old"), model_content("new"), model_content("next")])

    async def run():
        hooks = {"after_agent": answers(deny("start over", clear_context=True))}
        async with living(tmp_path, agent(model), hooks) as life:
            await life.run("one")
            await life.run("two")

    asyncio.run(run())
    assert list(map(content_text, model.requests[2].contents)) == ["start over", "new", "two"]


def test_only_the_last_of_several_agents_ends_the_turn(tmp_path):
    first, last = agent("a", name="first"), agent("b", "c", name="last")
    both = SequentialAgent(name="both", sub_agents=[first, last])

    async def run():
        hooks = {"after_agent": answers(deny("more"))}
        async with living(tmp_path, both, hooks) as life:
            return await life.run(), life.names()

    events, names = asyncio.run(run())
    assert [content_text(e.content) for e in events] == ["a", "b", "more", "c"]
    assert names.count("after_agent") == 2


def test_an_agent_that_took_over_ends_the_turn(tmp_path):
    helper = agent("b", "c", name="helper", description="helps")
    chief = agent(
        [call("transfer_to_agent", agent_name="helper")], sub_agents=[helper], name="chief"
    )

    async def run():
        async with living(tmp_path, chief, {"after_agent": answers(deny("more"))}) as life:
            return await life.run(), life.names()

    events, names = asyncio.run(run())
    assert content_text(events[-1].content) == "c"
    assert names.count("after_agent") == 2


@pytest.mark.parametrize(
    "made",
    [
        lambda a, b: ParallelAgent(name="both", sub_agents=[a, b]),
        lambda a, b: Workflow(name="both", edges=[(START, a, b)]),
    ],
)
def test_an_agent_that_cannot_continue_is_reported(tmp_path, made):
    async def run():
        hooks = {"after_agent": lambda _event: deny("more")}
        both = made(agent("a", name="first"), agent("b", name="second"))
        async with living(tmp_path, both, hooks) as life:
            await life.run()
            return life.names(), life.reported

    names, reported = asyncio.run(run())
    assert names.count("after_agent") == 1
    assert "cannot continue: more" in reported[0]


def test_code_that_is_run_does_not_end_the_turn(tmp_path):
    coder = agent(
        "```tool_code\nprint(6 * 7)\n```", "done", code_executor=UnsafeLocalCodeExecutor()
    )

    async def run():
        async with living(tmp_path, coder, {}) as life:
            events = await life.run()
            return answer(events), [e for e in life.events if e.name == "after_agent"]

    text, ends = asyncio.run(run())
    assert text == "done"
    assert [end.prompt_response for end in ends] == ["done"]


# -- tools


def broken(path: str) -> str:
    """Break."""
    raise OSError(f"{path} is gone")


def look(path: str) -> dict:
    """Look."""
    return {"found": [path], "size": 3}


def wipe(path: str) -> str:
    """Wipe."""
    return f"wiped {path}"


def response_of(model, number=1):
    return model.requests[number].contents[-1].parts[0].function_response.response


def test_a_failure_that_hooks_do_not_speak_about_is_raised_as_ever(tmp_path):
    async def run():
        breaking = agent([call("broken", path="x")], tools=[broken])
        async with living(tmp_path, breaking, {"after_tool": answers()}) as life:
            with pytest.raises(OSError, match="x is gone"):
                await life.run()
        return life.events

    events = asyncio.run(run())
    assert [e.reason for e in events if e.name == "session_end"] == ["other"]
    assert [e.name for e in events].count("after_tool") == 1


def test_context_stands_beside_a_result_with_parts(tmp_path):
    model = Model.create([model_content(call("look", path="x")), model_content("ok")])

    async def run():
        hooks = {"after_tool": answers(context("MIND"))}
        async with living(tmp_path, agent(model, tools=[look]), hooks) as life:
            await life.run()

    asyncio.run(run())
    assert response_of(model) == {"found": ["x"], "size": 3, "hook_context": "MIND"}


def test_a_denied_call_is_reported_of_once(tmp_path):
    model = Model.create([model_content(call("wipe", path="x")), model_content("ok")])

    async def run():
        hooks = {"before_tool": answers(deny("no")), "after_tool": answers(context("MIND"))}
        async with living(tmp_path, agent(model, tools=[wipe]), hooks) as life:
            await life.run()
            return life.names()

    assert "after_tool" not in asyncio.run(run())
    assert response_of(model) == {"error": "no"}


def test_a_call_that_waits_for_its_user_has_not_returned(tmp_path):
    careful = FunctionTool(wipe, require_confirmation=True)

    async def run():
        async with living(tmp_path, agent([call("wipe", path="x")], tools=[careful]), {}) as life:
            await life.run()
            return life.names()

    names = asyncio.run(run())
    assert "before_tool" in names
    assert not {"after_tool", "after_agent"} & set(names)


def test_a_call_that_its_user_confirmed_goes_on_in_the_same_turn(tmp_path):
    model = Model.create([model_content(call("wipe", path="x")), model_content("ok")])
    careful = FunctionTool(wipe, require_confirmation=True)

    async def run():
        async with living(tmp_path, agent(model, tools=[careful]), {}) as life:
            events = await life.run()
            asked = next(c for e in events for c in e.get_function_calls() if c.name != "wipe")
            yes = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
            events = await life.run(user(types.Part(function_response=yes)))
            return answer(events), life.names()

    text, names = asyncio.run(run())
    assert text == "ok"
    assert [names.count(n) for n in ("before_prompt", "after_tool", "after_agent")] == [1, 1, 1]


def test_a_hook_that_approves_spares_the_user_the_question(tmp_path):
    model = Model.create([model_content(call("wipe", path="x")), model_content("ok")])
    careful = FunctionTool(wipe, require_confirmation=True)

    async def run():
        hooks = {"before_tool": answers(allow(approve=True))}
        async with living(tmp_path, agent(model, tools=[careful]), hooks) as life:
            await life.run()

    asyncio.run(run())
    assert response_of(model) == {"result": "wiped x"}


@pytest.mark.parametrize(
    ("tail", "expect"),
    [
        ({"name": "look", "args": {"path": "y"}}, {"found": ["y"], "size": 3}),
        ({"name": "nowhere", "args": {}}, {"error": "this agent has no tool 'nowhere'"}),
        ({"name": "broken", "args": {"path": "y"}}, {"error": "y is gone"}),
        (
            {"name": "careful", "args": {"path": "y"}},
            {"error": "careful was not run: it needs the user's confirmation"},
        ),
    ],
)
def test_a_tool_in_place_of_a_result(tmp_path, tail, expect):
    model = Model.create([model_content(call("wipe", path="x")), model_content("ok")])

    def careful(path: str) -> str:
        """Take care."""
        raise AssertionError

    tools = [wipe, look, broken, FunctionTool(careful, require_confirmation=True)]

    async def run():
        hooks = {"after_tool": answers(Answer(tail_tool_call=tail))}
        async with living(tmp_path, agent(model, tools=tools), hooks) as life:
            await life.run()

    asyncio.run(run())
    assert response_of(model) == expect


def test_a_tool_that_was_not_chosen_does_not_run(tmp_path):
    model = Model.create([model_content(call("wipe", path="x")), model_content("ok")])
    config = {"mode": "AUTO", "allowedFunctionNames": ["look"]}

    async def run():
        hooks = {"before_tool_selection": lambda _event: Answer(tool_config=config)}
        async with living(tmp_path, agent(model, tools=[wipe, look]), hooks) as life:
            await life.run()

    asyncio.run(run())
    assert "no tool with that name" in response_of(model)["error"]


# -- sessions


def test_a_cancelled_tool_ends_its_session_once(tmp_path):
    async def run():
        begun = asyncio.Event()

        async def wait() -> str:
            """Wait."""
            begun.set()
            await asyncio.sleep(3600)
            return ""

        async with living(tmp_path, agent([call("wait")], tools=[wait]), {}) as life:
            task = asyncio.create_task(life.run())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return life.events

    events = asyncio.run(run())
    assert [e.reason for e in events if e.name == "session_end"] == ["other"]


class Broken(Model):
    async def generate_content_async(self, llm_request, stream=False):
        raise ConnectionError("no network")
        yield


def test_a_failing_model_ends_the_session_once(tmp_path):
    async def run():
        async with living(tmp_path, agent(Broken()), {}) as life:
            with pytest.raises(ConnectionError):
                await life.run()
        return life.events

    events = asyncio.run(run())
    assert [e.reason for e in events if e.name == "session_end"] == ["other"]


def test_sessions_at_once_do_not_mix(tmp_path):
    class Echo(Model):
        async def generate_content_async(self, llm_request, stream=False):
            text = content_text(llm_request.contents[-1]).strip()
            await asyncio.sleep(0)
            whole = (
                model_content(call("wipe", path=text))
                if text.startswith("p")
                else model_content(text)
            )
            yield LlmResponse(content=whole)

    async def run():
        async with living(tmp_path, agent(Echo(), tools=[wipe]), {}) as life:
            runs = [life.run(f"p{n}", session="s", user_id=f"u{n}") for n in range(8)]
            runs += [life.run(f"p{n}", session=f"s{n}") for n in range(8)]
            shown = [answer(events) for events in await asyncio.gather(*runs)]
        return shown, life.events

    shown, events = asyncio.run(run())
    assert shown == [f"wiped p{n}" for n in range(8)] * 2
    for n in range(8):
        own = [e for e in events if e.session_id == f"s{n}"]
        assert [e.name for e in own if e.name.startswith("session")] == [
            "session_start",
            "session_end",
        ]
        assert [e.tool_input for e in own if e.name == "before_tool"] == [{"path": f"p{n}"}]
    assert [e.name for e in events if e.session_id == "s"].count("session_start") == 8


def test_two_runs_of_one_session_start_it_once(tmp_path):
    async def run():
        async with living(tmp_path, agent("a", "b"), {"session_start": answers()}) as life:
            await life.run()
            await life.run()
        return life.names()

    names = asyncio.run(run())
    assert (names.count("session_start"), names.count("session_end")) == (1, 1)


def test_a_session_that_was_ended_is_resumed(tmp_path):
    async def run():
        async with living(tmp_path, agent("a", "b"), {}) as life:
            await life.run()
            await life.plugin.end("s", "logout")
            await life.plugin.end("s")
            await life.run()
        return life.events

    events = asyncio.run(run())
    assert [e.source for e in events if e.name == "session_start"] == ["startup", "resume"]
    assert [e.reason for e in events if e.name == "session_end"] == ["logout", "exit"]


def test_an_agent_that_is_a_tool_belongs_to_its_users_session(tmp_path):
    inner = agent([call("wipe", path="x")], "inner done", name="inner", tools=[wipe])
    outer = agent([call("inner", request="go")], "done", tools=[AgentTool(inner)])

    async def run():
        hooks = {"before_tool": lambda e: deny("no") if e.tool_name == "wipe" else None}
        async with living(tmp_path, outer, hooks) as life:
            await life.run()
        return life.events

    events = asyncio.run(run())
    names = [e.name for e in events]
    assert {e.session_id for e in events} == {"s"}
    assert [e.tool_name for e in events if e.name == "before_tool"] == ["inner", "wipe"]
    assert [e.tool_name for e in events if e.name == "after_tool"] == ["inner"]
    assert [names.count(n) for n in ("before_prompt", "after_agent", "before_model")] == [1, 1, 4]


@pytest.mark.parametrize("calls", [1, 2], ids=["one", "parallel"])
def test_an_agent_in_a_tool_stays_in_its_users_session_after_calls_of_its_own(tmp_path, calls):
    turn = [*[call("look", path="x")] * 2 * calls, *["inner done"] * calls]
    inner = agent(*turn, *turn, name="inner", tools=[look])
    turn = [[call("inner", request="go")] * calls, call("look", path="y"), "done"]
    outer = agent(*turn, *turn, tools=[AgentTool(inner), look])

    async def run():
        async with living(tmp_path, outer, {}) as life:
            await life.run()
            await life.run(session="t")
        return life.events

    events = asyncio.run(run())
    seen = [(e.name, e.session_id) for e in events]
    assert {session for _, session in seen} == {"s", "t"}
    for session in ("s", "t"):
        assert seen.count(("session_start", session)) == 1
        assert seen.count(("after_agent", session)) == 1
    assert [e.prompt_response for e in events if e.name == "after_agent"] == ["done"] * 2


def test_loading_a_project_owns_its_engine(tmp_path):
    async def run():
        world = World(tmp_path)
        plugin = AnyhookPlugin.load(world.project, home=world.home, environ=world.environ)
        async with InMemoryRunner(
            app=App(name="app", root_agent=agent("a"), plugins=[plugin])
        ) as r:
            await r.session_service.create_session(app_name="app", user_id="u", session_id="s")
            async for _ in r.run_async(user_id="u", session_id="s", new_message=user("x")):
                pass
        return plugin.engine

    engine = asyncio.run(run())
    assert isinstance(engine, Engine)
    assert engine._closed


def test_hooks_may_keep_a_conversation_from_being_compressed(tmp_path):
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    model = Model.create([model_content("a"), model_content("b"), model_content("summary")])

    async def run():
        hooks = {"before_compress": answers(deny("not now"))}
        app = {"events_compaction_config": config}
        async with living(tmp_path, agent(model), hooks, app=app) as life:
            await life.run("one")
            before = len(model.requests)
            await life.run("two")
            return before, len(model.requests), life.names()

    before, after, names = asyncio.run(run())
    assert (before, after) == (1, 3)  # a summary is a call of the model
    assert names.count("before_compress") == 2


def test_apps_that_share_a_compaction_configuration_ask_their_own_hooks(tmp_path):
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    models = [Model.create([model_content("a"), model_content("summary")]) for _ in "12"]

    async def run():
        hooks = {"before_compress": lambda _event: deny("not now")}
        app = {"events_compaction_config": config}
        async with (
            living(tmp_path / "1", agent(models[0]), hooks, app=app) as first,
            living(tmp_path / "2", agent(models[1]), hooks, app=app) as second,
        ):
            await first.run("one")
            await second.run("one")
            return [life.names().count("before_compress") for life in (first, second)]

    assert asyncio.run(run()) == [1, 1]
    assert [len(model.requests) for model in models] == [1, 1]
    assert config.summarizer is None  # as the program made it


def test_hooks_that_a_live_conversation_bypasses_are_reported_of(tmp_path):
    async def run():
        async with living(tmp_path, agent("a"), {"after_model": answers()}, sees=False) as life:
            queue = LiveRequestQueue()
            queue.close()
            with pytest.raises(NotImplementedError):  # the scripted model has no live connection
                async for _ in life.runner.run_live(
                    user_id="u", session_id="s", live_request_queue=queue
                ):
                    pass
            return life.reported

    assert asyncio.run(run()) == [
        "in a live conversation hooks run only for tools, not for prompts and responses"
    ]


@pytest.mark.parametrize("event", ["before_tool", "after_model"])
def test_code_that_hooks_on_tools_do_not_see_is_reported_once(tmp_path, event):
    executor = UnsafeLocalCodeExecutor()
    coder = agent("```tool_code\nprint(1)\n```", "done", "again", code_executor=executor)

    async def run():
        async with living(tmp_path, coder, {event: answers()}) as life:
            await life.run()
            await life.run()
            return life.reported

    text = "the code_executor of 'agent' runs code of the model without a hook on tools"
    assert asyncio.run(run()) == ([text] if event == "before_tool" else [])


# -- costs


def test_without_hooks_no_request_is_translated(tmp_path, monkeypatch):
    model = Model.create([model_content("a")])
    seen = []
    dump = types.Content.model_dump

    def counted(self, **options):
        seen.append(options)
        return dump(self, **options)

    async def run(sees):
        async with living(tmp_path, agent(model), {}, sees=sees) as life:
            await life.run()

    logging.getLogger("google_adk").setLevel(logging.WARNING)
    monkeypatch.setattr(types.Content, "model_dump", counted)
    asyncio.run(run(sees=False))
    assert not [options for options in seen if "fallback" in options]
