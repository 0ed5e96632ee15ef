"""Three agents in every framework: parallel work, a desk that hands over, chats at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from langgraph.errors import GraphRecursionError
from pydantic_ai import UsageLimitExceeded

from agents import MaxTurnsExceeded
from anyhook.authoring import replace_result
from anyhook.model.answers import context, deny, stop
from tests.integrations.programs import HAND_OVER, PROGRAMS
from tests.world import World


class Watched:
    """Programs of one framework, one after another, and what was seen of them."""

    def __init__(self, kind, tmp_path, functions, tool=None, agent="gemini"):
        self.kind = kind
        self.world = World(tmp_path, agent=agent)
        self.functions = functions
        self.memory: dict[str, Any] = {}
        self.events: list[Any] = []
        self.reported: list[str] = []
        self.ran: list[tuple[str, str]] = []
        self.tool = tool

    async def run_tool(self, chat, command):
        if self.tool is not None:
            await self.tool(chat, command)
        self.ran.append((chat, command))
        if command == "explode":
            raise RuntimeError("boom")
        return f"ran {command}"

    def program(self, *, has_hooked_helper=True, **scripts):
        engine = self.world.load()
        for event, function in self.functions.items():
            engine.register(event, function, threaded=False)
        return self.kind(
            engine,
            scripts,
            self.run_tool,
            self.memory,
            on_message=self.reported.append,
            on_decision=lambda event, _decision: self.events.append(event),
            has_hooked_helper=has_hooked_helper,
        )

    def count(self, name):
        return Counter(event.name for event in self.events)[name]

    def sessions(self, name):
        return [event.session_id for event in self.events if event.name == name]


LIMIT_ERRORS = (
    LlmCallsLimitExceededError,
    GraphRecursionError,
    MaxTurnsExceeded,
    UsageLimitExceeded,
)
in_every_framework = pytest.mark.parametrize("kind", PROGRAMS.values(), ids=PROGRAMS)


def call(command):
    return {"tool": "shell", "args": {"command": command}}


def deny_rm(event):
    return deny("not that") if event.tool_input.get("command") == "rm" else None


def explain(event):
    return context("LOOK") if event.result.error else None


# -- an agent that works in parallel


@in_every_framework
def test_calls_at_once_are_decided_one_by_one_and_a_failure_is_answered(kind, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm, "after_tool": explain})
    calls = [call(word) for word in ("ls", "rm", "explode", "pwd", "rm", "id")]

    async def run():
        program = watched.program(ops=[calls, "done"])
        async with program.block():
            return await program.turn("ops", "ops: look around"), program.sent

    answer, sent = asyncio.run(run())

    assert answer.strip().endswith("done")
    assert sorted(watched.ran) == [("ops", word) for word in ("explode", "id", "ls", "pwd")]
    assert sent[-1].count("not that") == 2
    assert sent[-1].count("LOOK") == 1
    assert (watched.count("session_start"), watched.count("session_end")) == (1, 1)


@in_every_framework
@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_the_text_of_a_function_is_the_result_that_the_model_gets(kind, agent, tmp_path):
    redact = {"after_tool": lambda _event: replace_result("[redacted]")}
    watched = Watched(kind, tmp_path, redact, agent=agent)

    async def run():
        program = watched.program(ops=[call("env"), "done"])
        async with program.block():
            await program.turn("ops", "ops: look around")
        return program.sent[-1]

    sent = asyncio.run(run())

    assert "[redacted]" in sent
    assert "ran env" not in sent
    assert "Output:" not in sent


# -- a desk that hands over, streamed


@in_every_framework
def test_the_agent_that_takes_over_is_guarded(kind, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm})
    script = [HAND_OVER, [call("rm"), call("ls")], "helped", "thanks"]

    async def run():
        program = watched.program(desk=script)
        async with program.block():
            return await program.turn("desk", "desk: help me"), program.sent

    answer, sent = asyncio.run(run())

    assert answer.rstrip().endswith(("helped", "thanks"))
    assert watched.ran == [("desk", "ls")]
    assert any("not that" in text for text in sent)
    assert watched.count("session_start") == watched.count("session_end")


@in_every_framework
def test_an_agent_in_a_tool_is_guarded_or_reported(kind, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm})
    script = [HAND_OVER, call("rm"), "helped", "thanks"]

    async def run():
        program = watched.program(has_hooked_helper=False, desk=script)
        async with program.block():
            await program.turn("desk", "desk: help me")

    asyncio.run(run())

    is_reported = "an agent that a tool runs is guarded only if" in "\n".join(watched.reported)
    assert watched.ran == ([("desk", "rm")] if is_reported else [])


@in_every_framework
def test_what_a_framework_lacks_is_reported_once(kind, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm, "before_compress": deny_rm})

    async def run():
        program = watched.program(chat=["one", "two"])
        async with AsyncExitStack() as stack:
            if program.closes_sessions_at_its_end:
                await stack.enter_async_context(program.block())
            for number in ("one", "two"):
                await program.turn("chat", f"chat: {number}")

    asyncio.run(run())

    assert watched.count("before_prompt") == 2
    assert len(watched.reported) == len(set(watched.reported))


# -- chats at once


@in_every_framework
def test_a_stop_of_one_chat_leaves_the_others(kind, tmp_path):
    started = []

    async def start(event):
        await anyio.lowlevel.checkpoint()
        started.append(event.session_id)

    def prompt(event):
        assert event.session_id in started  # the session has started before its first prompt
        return stop("enough") if "alice: one" in event.prompt else None

    watched = Watched(kind, tmp_path, {"session_start": start, "before_prompt": prompt})

    async def run():
        program = watched.program(alice=["hi"] * 3, bob=["hi"] * 3)
        async with program.block():
            first = await asyncio.gather(
                program.turn("alice", "alice: one"), program.turn("bob", "bob: one")
            )
            return [*first, await program.turn("bob", "bob: two")]

    answers = asyncio.run(run())

    assert [answer.strip() for answer in answers] == ["stopped: enough", "hi", "hi"]
    assert len(set(watched.sessions("session_start"))) >= 2
    assert sorted(watched.sessions("session_start")) == sorted(watched.sessions("session_end"))


@in_every_framework
def test_a_denied_request_does_not_deny_the_next_turn(kind, tmp_path):
    def guard(event):
        return deny("no secrets") if "SECRET" in str(event.llm_request["messages"]) else None

    watched = Watched(kind, tmp_path, {"before_model": guard})

    async def run():
        program = watched.program(chat=["hi", "well"])
        async with program.block():
            prompts = ("chat: hello", "chat: the SECRET", "chat: and now")
            return [await program.turn("chat", prompt) for prompt in prompts], program.sent

    answers, sent = asyncio.run(run())

    assert (answers[0].strip(), answers[2].strip()) == ("hi", "well")
    assert "no secrets" in "\n".join(watched.reported)
    assert "chat: hello" in sent[-1]
    assert "SECRET" not in sent[-1]


@in_every_framework
def test_a_stop_in_a_tool_leaves_a_conversation_that_can_go_on(kind, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": lambda _event: stop("enough")})

    async def run():
        first = await watched.program(chat=[[call("ls"), call("id")]]).turn("chat", "chat: one")
        watched.functions.clear()
        return first, await watched.program(chat=["again"]).turn("chat", "chat: two")

    first, second = asyncio.run(run())

    assert first.endswith("stopped: enough")
    assert (second.strip(), watched.ran) == ("again", [])


@in_every_framework
def test_a_chat_that_goes_on_in_another_program_is_resumed(kind, tmp_path):
    watched = Watched(kind, tmp_path, {})

    async def run():
        for says in ("one", "two"):
            program = watched.program(chat=[says])
            async with program.block():
                await program.turn("chat", f"chat: {says}")

    asyncio.run(run())

    starts = [event.source for event in watched.events if event.name == "session_start"]
    assert starts == ["startup", "resume"]


@in_every_framework
@pytest.mark.parametrize("kept", [False, True])
def test_a_turn_that_is_cancelled_ends_its_session_once(kind, kept, tmp_path):
    running = anyio.Event()

    async def wait(_chat, command):
        if command == "wait":
            running.set()
            await anyio.sleep_forever()

    watched = Watched(kind, tmp_path, {"before_tool": deny_rm}, wait)

    async def run():
        async with AsyncExitStack() as stack:
            program = watched.program(chat=[call("wait")], other=["fine"])
            if kept or program.closes_sessions_at_its_end:
                await stack.enter_async_context(program.block())
            task = asyncio.ensure_future(program.turn("chat", "chat: one"))
            await running.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await program.turn("other", "other: two")

    assert asyncio.run(run()).strip() == "fine"
    assert sorted(watched.sessions("session_start")) == sorted(watched.sessions("session_end"))


@in_every_framework
@pytest.mark.parametrize("kept", [False, True])
def test_a_stream_that_is_left_ends_its_session_once(kind, kept, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm})

    async def run():
        async with AsyncExitStack() as stack:
            program = watched.program(chat=["a long answer"])
            if kept or program.closes_sessions_at_its_end:
                await stack.enter_async_context(program.block())
            stream = program.stream("chat", "chat: one")
            async for _piece in stream:
                break
            await stream.aclose()

    asyncio.run(run())

    assert watched.sessions("session_end") == watched.sessions("session_start")
    assert watched.count("session_start") == 1


@in_every_framework
@pytest.mark.parametrize("kept", [False, True])
def test_a_turn_that_reaches_the_limit_of_its_framework_ends_its_session_once(kind, kept, tmp_path):
    watched = Watched(kind, tmp_path, {"before_tool": deny_rm})

    async def run():
        async with AsyncExitStack() as stack:
            program = watched.program(chat=[call("ls"), call("ls"), call("ls")], other=["fine"])
            if kept or program.closes_sessions_at_its_end:
                await stack.enter_async_context(program.block())
            program.limit = program.LIMIT
            with pytest.raises(LIMIT_ERRORS):
                await program.turn("chat", "chat: one")
            program.limit = {}
            return await program.turn("other", "other: two")

    assert asyncio.run(run()).strip() == "fine"
    assert len(watched.sessions("session_start")) == 2
    assert sorted(watched.sessions("session_start")) == sorted(watched.sessions("session_end"))
