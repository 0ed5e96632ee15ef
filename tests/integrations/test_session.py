"""A session by itself: its end, its stop, its words, its streams, and many of them at once."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook import Answer, Engine, UsageError, ask, deny
from anyhook.integrations import HostTool, Question, Session, StoppedError
from tests.leftovers import none_left
from tests.world import World

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {}}
REPLY = {"text": "yes", "candidates": [{"content": {"role": "model", "parts": ["yes"]}}]}
EVENTS = (
    "SessionStart BeforeAgent BeforeModel BeforeToolSelection AfterModel BeforeTool AfterTool "
    "Notification PreCompress AfterAgent"
).split()
CANONICAL = (
    "session_start before_prompt before_model before_tool_selection after_model before_tool "
    "after_tool before_compress after_agent notification"
).split()


async def live(session):
    """Do everything once that an agent can do."""
    await session.prompt("hello")
    await session.before_model(REQUEST)
    await session.after_model(REQUEST, REPLY)
    run = await session.before_tool("shell", {"command": "ls"})
    await session.after_tool("shell", run.arguments, "a.txt")
    await session.compress("auto")
    await session.finish("yes")
    await session.notify("permission_prompt", "May I?")


def hooks(*events, say="{}"):
    handler = {"type": "command", "command": f"printf %s '{say}'"}
    return {"hooks": {event: [{"hooks": [handler]}] for event in events}}


def session_of(world, seen, **options):
    return Session(
        world.load(),
        on_message=lambda _text: None,
        on_decision=lambda event, _decision: seen.append((event.session_id, event.name)),
        **options,
    )


@pytest.mark.slow
def test_a_hundred_sessions_at_once_end_once_each(tmp_path):
    world = World(tmp_path)
    seen = []

    async def let_others_run(_event):
        await anyio.lowlevel.checkpoint()

    async def run():
        engine = world.load()
        for event in ("session_start", "before_tool", "session_end"):
            engine.register(event, let_others_run)

        async def one(number):
            session = Session(
                engine,
                session_id=str(number),
                on_decision=lambda event, _decision: seen.append((event.session_id, event.name)),
            )
            async with session, anyio.create_task_group() as group:
                await session.prompt("hello")
                for _ in range(3):
                    group.start_soon(session.before_tool, "shell", {"command": "ls"})

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, number)

    anyio.run(run)
    for number in range(100):
        own = [name for session, name in seen if session == str(number)]
        assert own.count("session_end") == 1
        assert own.count("before_tool") == 3
        assert own[0] == "session_start"
        assert own[-1] == "session_end"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("event", CANONICAL)
def test_a_cancelled_session_ends_once(tmp_path, event, backend):
    world = World(tmp_path)
    world.settings("project", hooks("SessionEnd"))
    seen = []

    async def run():
        engine = world.load()
        with anyio.CancelScope() as scope:

            async def cancel(_event):
                scope.cancel()
                await anyio.sleep(30)

            engine.register(event, cancel)
            async with Session(
                engine,
                on_message=lambda _text: None,
                on_decision=lambda fired, _decision: seen.append(fired.name),
            ) as session:
                await live(session)
        assert scope.cancelled_caught

    with none_left(str(tmp_path)) as environ:
        world.environ.update(environ)
        anyio.run(run, backend=backend)

    assert seen.count("session_end") == 1


def test_a_session_ends_once_when_its_agent_fails(tmp_path):
    world = World(tmp_path)
    reasons = []

    async def run():
        session = Session(
            world.load(),
            on_decision=lambda event, _decision: reasons.append(getattr(event, "reason", None)),
        )
        with pytest.raises(RuntimeError, match="it broke"):
            async with session:
                raise RuntimeError("it broke")
        await session.end()

    asyncio.run(run())

    assert reasons == [None, "other"]


@pytest.mark.parametrize("event", EVENTS)
def test_a_stop_ends_the_agent_on_every_event(tmp_path, event):
    world = World(tmp_path)
    world.settings("project", hooks(event, say=json.dumps({"continue": False, "stopReason": "x"})))
    seen = []

    async def run():
        async with session_of(world, seen) as session:
            await live(session)

    with pytest.raises(StoppedError, match="x") as stopped:
        asyncio.run(run())
    assert stopped.value.reason == "x"
    assert [name for _, name in seen].count("session_end") == 1


def test_a_stopped_session_does_nothing_more(tmp_path):
    world = World(tmp_path)
    world.settings("project", hooks("BeforeTool", say='{"continue": false, "stopReason": "x"}'))

    async def run():
        async with session_of(world, []) as session:
            with pytest.raises(StoppedError):
                await session.before_tool("shell", {"command": "ls"})
            with pytest.raises(StoppedError):
                await session.prompt("more")
            assert session.stopped == "x"

    asyncio.run(run())


@pytest.mark.parametrize("event", ["before_model", "after_model"])
@pytest.mark.parametrize("goes_on", [True, False])
def test_the_end_of_a_turn_is_reported_if_only_an_inner_agent_was_denied(tmp_path, event, goes_on):
    engine = World(tmp_path).load()
    inner = {**REQUEST, "messages": [{"role": "user", "content": "inner"}]}
    engine.register(event, lambda e: deny("no") if e.llm_request == inner else None)
    seen = []

    async def run():
        options = {"on_decision": lambda fired, _decision: seen.append(fired.name)}
        async with Session(engine, on_message=lambda _text: None, **options) as session:
            await session.prompt("hello")
            for request in [inner, REQUEST] if goes_on else [inner]:
                await session.before_model(request)
                await session.after_model(request, REPLY)
            await session.finish("yes")

    asyncio.run(run())

    assert seen.count("after_agent") == goes_on


def test_clearing_ends_one_session_and_begins_another(tmp_path):
    seen = []

    async def run():
        async with session_of(World(tmp_path), seen) as session:
            first = session.session_id
            await session.clear()
            assert session.session_id != first

    asyncio.run(run())
    ids = list(dict.fromkeys(identifier for identifier, _ in seen))

    assert [(ids.index(i), name) for i, name in seen] == [
        (0, "session_start"),
        (0, "session_end"),
        (1, "session_start"),
        (1, "session_end"),
    ]


def test_an_own_tool_is_guarded_by_hooks_for_the_tool_it_is(tmp_path):
    world = World(tmp_path, agent="claude")
    guard = """jq -e '.tool_input.command == "rm"' >/dev/null && { echo no >&2; exit 2; }; exit 0"""
    rewrite = {"command": "ls -la"}
    world.settings(
        "project",
        {
            "hooks": {
                "PreToolUse": [
                    {"matcher": "Bash", "hooks": [{"type": "command", "command": guard}]}
                ]
            }
        },
    )

    async def run():
        engine = world.load()
        tools = {"run_it": HostTool("shell", {"cmd": "command"})}
        async with Session(engine, tools=tools) as session:
            denied = await session.before_tool("run_it", {"cmd": "rm"})
            fine = await session.before_tool("run_it", {"cmd": "ls", "extra": 1})
            engine.register("before_tool", lambda _event: Answer(tool_input=rewrite))
            changed = await session.before_tool("run_it", {"cmd": "ls", "extra": 1})
            other = await session.before_tool("something", {"cmd": "rm"})
        return denied, fine, changed, other

    denied, fine, changed, other = asyncio.run(run())

    assert (denied.allowed, denied.reason) == (False, "no")
    assert (fine.allowed, fine.arguments) == (True, {"cmd": "ls", "extra": 1})
    assert changed.arguments["cmd"] == "ls -la"
    assert other.allowed


def test_the_host_gets_the_event_that_the_hooks_saw(tmp_path):
    engine = World(tmp_path).load()
    seen, reported = [], []

    def slow(event):
        seen.append(event.timestamp)
        time.sleep(0.01)  # the clock of events counts milliseconds

    engine.register("before_tool", slow, name="slow")

    async def run():
        options = {"on_decision": lambda event, _decision: reported.append(event.timestamp)}
        async with Session(engine, **options) as session:
            reported.clear()
            await session.before_tool("shell", {"command": "ls"})
            assert reported == seen

    asyncio.run(run())


def test_hooks_see_where_the_server_of_a_tool_comes_from(tmp_path):
    world = World(tmp_path)
    seen = []
    local = HostTool(
        "mcp__files__read", command="npx", args=("server", "--root", "."), cwd="/srv/files"
    )
    remote = HostTool("mcp__web__get", url="https://mcp.example.com", tcp="localhost:9000")

    async def run():
        async with Session(
            world.load(),
            tools={"read": local, "get": remote, "mcp__plain__tool": "mcp__plain__tool"},
            on_decision=lambda event, _decision: seen.append(event),
        ) as session:
            for name in ("read", "get", "mcp__plain__tool"):
                await session.before_tool(name, {})

    asyncio.run(run())
    contexts = [event.mcp_context for event in seen if event.name == "before_tool"]

    assert contexts == [
        {
            "server_name": "files",
            "tool_name": "read",
            "command": "npx",
            "args": ["server", "--root", "."],
            "cwd": "/srv/files",
        },
        {
            "server_name": "web",
            "tool_name": "get",
            "url": "https://mcp.example.com",
            "tcp": "localhost:9000",
        },
        {"server_name": "plain", "tool_name": "tool"},
    ]


def test_a_server_for_a_tool_that_has_none_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="mcp__SERVER__TOOL"):
        Session(World(tmp_path).load(), tools={"run": HostTool("shell", command="npx")})


def test_compression_learns_why_hooks_are_against_it(tmp_path):
    world = World(tmp_path)
    command = {"type": "command", "name": "keeper", "command": "echo not now >&2; exit 2"}
    world.settings("project", {"hooks": {"PreCompress": [{"hooks": [command]}]}})
    messages = []

    async def run():
        async with Session(world.load(), on_message=messages.append) as session:
            return await session.compress(), await session.compress()

    assert asyncio.run(run()) == ("not now", "not now")
    assert messages == ["the conversation is not compressed: not now"] * 2


def test_context_that_the_agent_never_gets_is_reported(tmp_path):
    world = World(tmp_path)
    world.settings(
        "project",
        hooks("AfterAgent", say='{"hookSpecificOutput": {"additionalContext": "TOO-LATE"}}'),
    )
    messages = []

    async def run():
        async with Session(world.load(), on_message=messages.append) as session:
            await session.prompt("hello")
            await session.finish("hi")

    asyncio.run(run())

    (message,) = messages
    assert "TOO-LATE" in message


def test_a_problem_is_reported_once_in_each_session(tmp_path):
    world = World(tmp_path)
    command = {"type": "command", "command": "exit 1"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [command]}]}})
    messages = []

    async def run():
        engine = world.load(on_message=messages.append)
        for _ in range(2):
            async with Session(engine) as session:
                for _ in range(3):
                    await session.before_tool("shell", {"command": "ls"})

    asyncio.run(run())

    assert len(messages) == 2


@pytest.mark.parametrize("event", ["before_prompt", "after_tool", "notification"])
def test_a_question_says_what_a_yes_means(event):
    question = Question("shell", {}, event=event)

    assert (
        question.summary
        == {
            "before_prompt": "Send this prompt to the agent?",
            "after_tool": "Give the result of shell to the agent?",
            "notification": "Allow notification?",
        }[event]
    )


def test_a_choice_of_a_tool_means_every_tool_of_the_host_that_is_one(tmp_path):
    engine = World(tmp_path).load()
    choice = {"mode": "ANY", "allowedFunctionNames": ["run_shell_command"]}
    engine.register("before_tool_selection", lambda _event: Answer(tool_config=choice))
    tools = {"bash": "shell", "zsh": "shell", "look": "read_file"}

    async def run():
        async with Session(engine, tools=tools) as session:
            return await session.before_model({}, tools=[*tools, "shell"])

    assert asyncio.run(run()).tools["allowedFunctionNames"] == ["bash", "zsh", "shell"]


def test_the_transcript_says_what_happened(tmp_path):
    world = World(tmp_path)
    path = tmp_path / "logs" / "session.jsonl"
    paths = []

    async def run():
        async with Session(
            world.load(),
            transcript=path,
            on_decision=lambda event, _decision: paths.append(event.transcript_path),
        ) as session:
            await live(session)

    asyncio.run(run())
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert [line["type"] for line in lines] == [
        "session_start",
        "user",
        "tool_call",
        "tool_result",
        "session_end",
    ]
    assert set(paths) == {str(path)}


def test_the_transcript_holds_texts_and_values_that_utf8_and_json_do_not_have(tmp_path):
    world = World(tmp_path)
    path = tmp_path / "session.jsonl"

    async def run():
        async with Session(world.load(), transcript=path) as session:
            await session.prompt("half a character: \ud800")
            await session.before_tool("write_file", {"content": {(1, 2): {3}}})

    asyncio.run(run())
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert lines[1]["content"] == "half a character: \ud800"
    assert lines[2]["arguments"] == {"content": {"(1, 2)": [3]}}


def test_a_transcript_that_cannot_be_written_ends_no_session(tmp_path, caplog):
    world = World(tmp_path)
    (tmp_path / "file").write_text("")

    async def run():
        async with Session(world.load(), transcript=tmp_path / "file" / "x") as session:
            await live(session)

    asyncio.run(run())

    assert "the transcript cannot be written" in caplog.text


SECRET = re.compile(r"sk-\d{4}")


@pytest.fixture(scope="module")
def redacting():
    engine = Engine.load("/", home="/", environ={}, trust_once=True)

    @engine.on("after_model")
    async def redact(event):
        text = SECRET.sub("***", event.llm_response["text"])
        part = {"role": "model", "parts": [text]}
        return Answer(llm_response={"text": text, "candidates": [{"content": part}]})

    yield engine
    engine.close()


@settings(deadline=None)  # a busy machine is slow
@given(
    text=st.lists(st.sampled_from(["sk-1234", "hello ", "sk-", "12", "é", "\n", "sk-99999"])),
    cuts=st.lists(st.integers(0, 60)),
)
def test_no_chunking_leaks_what_a_hook_takes_out(redacting, text, cuts):
    whole = "".join(text)
    borders = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[a:b] for a, b in itertools.pairwise(borders)]

    async def run():
        async def chunks():
            for piece in pieces:
                yield piece

        async with Session(redacting) as session:
            return [piece async for piece in session.stream(REQUEST, chunks())]

    seen = asyncio.run(run())

    assert "".join(seen) == SECRET.sub("***", whole)
    assert not any(SECRET.search(piece) for piece in seen)


def test_a_stream_that_no_hook_looks_at_is_not_held_back(tmp_path):
    world = World(tmp_path)
    order = []

    async def chunks():
        for piece in ("one", "two"):
            order.append(f"sent {piece}")
            yield piece

    async def run():
        async with Session(world.load()) as session:
            async for piece in session.stream(REQUEST, chunks()):
                order.append(f"got {piece}")

    asyncio.run(run())

    assert order == ["sent one", "got one", "sent two", "got two"]


def test_a_discarded_stream_gives_nothing(tmp_path):
    world = World(tmp_path)

    async def chunks():
        yield "secret"

    async def run():
        engine = world.load()
        engine.register("after_model", lambda _event: deny("no"))
        async with Session(engine) as session:
            return [piece async for piece in session.stream(REQUEST, chunks())]

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize("reply", [True, False])
def test_the_user_is_asked_by_a_plain_function_too(tmp_path, is_async, reply):
    run = asyncio.run(ask_about_a_call(tmp_path, is_async, reply))

    assert run.allowed is reply


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize("reply", ["no", "yes", "", None, 0, 1, ["no"]])
def test_only_true_and_false_answer_a_question(tmp_path, is_async, reply):
    with pytest.raises(UsageError, match="must return True or False") as error:
        asyncio.run(ask_about_a_call(tmp_path, is_async, reply))

    assert repr(reply) in str(error.value)


async def ask_about_a_call(tmp_path, is_async, reply):
    """Return what becomes of a call that a hook asks about, with the reply of `ask=`."""

    async def ask_async(_question):
        return reply

    engine = World(tmp_path).load()
    engine.register("before_tool", lambda _event: ask("really?"))
    session = Session(
        engine, tools={"bash": "shell"}, ask=ask_async if is_async else lambda _question: reply
    )
    async with session:
        return await session.before_tool("bash", {"command": "ls"})
