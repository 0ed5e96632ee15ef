"""Hooks in agents of LangChain."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from typing import Annotated

import pytest

pytest.importorskip("langchain", minversion="1.0")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRequest,
    ModelRetryMiddleware,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from anyhook import deny
from anyhook.integrations import StoppedError
from anyhook.integrations.langchain import LANGCHAIN, AnyhookMiddleware, calls
from anyhook.integrations.langchain.messages import (
    changed_request,
    changed_response,
    notice,
    shown_request,
    shown_response,
)
from anyhook.model.llm import merge_response
from tests.integrations import langchain_ as adapter
from tests.integrations.contract import check, judge, scenarios
from tests.integrations.langchain_ import THREAD, Scripted
from tests.world import World, command

SCENARIOS = scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_an_agent_keeps_the_contract(scenario, tmp_path):
    seen = adapter.run(scenario, World(tmp_path, agent=scenario.agent))

    judge(scenario, seen, LANGCHAIN)
    check(scenario, seen)  # also the events: all that happen are reported


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_an_agent_without_an_event_loop_keeps_the_contract(scenario, tmp_path):
    seen = adapter.live_without_a_loop(scenario, World(tmp_path, agent=scenario.agent))

    judge(scenario, seen, LANGCHAIN)
    check(scenario, seen)


# -- lives


def world_of(tmp_path, **hooks):
    world = World(tmp_path)
    world.settings(
        "project",
        {
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": command(says)}]}]
                for event, says in hooks.items()
            }
        },
    )
    return world


class Life:
    """An agent with hooks, and what its hooks were reported."""

    def __init__(
        self, world, answers, tools=(), *, model=None, checkpointer=None, before=(), **own
    ):
        self.reported = []
        self.events = []
        self.hooks = AnyhookMiddleware(
            world.load(), on_message=self.reported.append, on_decision=self.watched, **own
        )
        self.agent = create_agent(
            model or Scripted(messages=iter(answers)),
            list(tools),
            middleware=[*before, self.hooks],
            checkpointer=checkpointer,
        )

    def watched(self, event, _decision):
        self.events.append((event.session_id, event.name))

    @property
    def names(self):
        return [name for _, name in self.events]

    def count(self, name):
        return self.names.count(name)


def calling(name="work", number=1, **arguments):
    return AIMessage(
        content="", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}]
    )


@tool
def work(what: str = "") -> str:
    """Work."""
    if what == "fail":
        raise RuntimeError("it broke")
    return f"worked {what}"


HELLO = {"messages": [HumanMessage("hello")]}


def test_a_run_outside_of_a_block_is_a_session(tmp_path):
    life = Life(world_of(tmp_path), [AIMessage("a"), AIMessage("b")])

    for _ in range(2):
        life.agent.invoke(HELLO)

    whole = "session_start before_prompt before_model before_tool_selection after_model".split()
    assert life.names == [*whole, "after_agent", "session_end"] * 2
    assert len({session for session, _ in life.events}) == 2
    assert not named_threads()


def named_threads():
    return [thread for thread in threading.enumerate() if "portal" in thread.name]


def test_a_run_that_goes_on_with_a_conversation_resumes_it(tmp_path):
    world = world_of(tmp_path, SessionStart={"record": str(tmp_path / "start.json")})
    life = Life(world, [AIMessage("a"), AIMessage("b")], checkpointer=InMemorySaver())

    for source in ("startup", "resume"):
        life.agent.invoke(HELLO, THREAD)
        reported = json.loads((tmp_path / "start.json").read_text())
        assert (reported["source"], reported["session_id"]) == (source, "t1")


@pytest.mark.parametrize("loop", [True, False])
@pytest.mark.parametrize("block", [True, False])
@pytest.mark.parametrize("fails", ["model", "tool"])
def test_an_error_ends_the_session_once_and_is_the_users(tmp_path, loop, block, fails):
    def answers():
        if fails == "model":
            raise RuntimeError("it broke")
        yield calling(what="fail")

    life = Life(world_of(tmp_path), answers(), [work])

    async def on_a_loop():
        async with life.hooks if block else nothing():
            await life.agent.ainvoke(HELLO)

    def without():
        with life.hooks if block else contextlib.nullcontext():
            life.agent.invoke(HELLO)

    with pytest.raises(RuntimeError, match="it broke"):
        asyncio.run(on_a_loop()) if loop else without()

    assert life.names[-1] == "session_end"
    assert life.count("session_end") == 1
    assert life.count("after_agent") == 0
    assert not named_threads()


@contextlib.asynccontextmanager
async def nothing():
    yield


@pytest.mark.parametrize("block", [True, False])
def test_cancelling_a_tool_ends_the_session_once(tmp_path, block):
    started = asyncio.Event()

    @tool
    async def sleep() -> str:
        """Sleep."""
        started.set()
        await asyncio.Event().wait()
        return "slept"

    record = tmp_path / "end.json"
    world = world_of(tmp_path, SessionEnd={"record": str(record)})
    life = Life(world, [calling("sleep")], [sleep])

    async def run():
        async with life.hooks if block else nothing():
            await life.agent.ainvoke(HELLO)

    async def main():
        task = asyncio.ensure_future(run())
        await started.wait()
        task.cancel()
        await asyncio.wait([task], timeout=30)
        assert task.cancelled()

    asyncio.run(main())

    assert life.names[-1] == "session_end"
    assert life.count("session_end") == 1
    assert life.count("after_tool") == 0
    assert json.loads(record.read_text())["reason"] == "other"


def test_a_retry_around_the_hooks_stays_in_the_session(tmp_path):
    def answers():
        yield AIMessage("good")

    class Flaky(Scripted):
        tries: int = 0

        def _generate(self, *args, **kwargs):
            self.tries += 1
            if self.tries == 1:
                raise RuntimeError("busy")
            return super()._generate(*args, **kwargs)

    model = Flaky(messages=answers())
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    life = Life(world_of(tmp_path), [], model=model, before=[retry])

    assert life.agent.invoke(HELLO)["messages"][-1].content == "good"
    assert life.count("session_start") == life.count("session_end") == 1
    assert life.names[-2:] == ["after_agent", "session_end"]


def test_a_stopped_agent_stays_stopped_in_its_block(tmp_path):
    world = world_of(tmp_path, BeforeAgent={"stdout": {"continue": False, "stopReason": "enough"}})
    life = Life(world, [], checkpointer=InMemorySaver())

    with life.hooks:
        for _ in range(2):
            with pytest.raises(StoppedError, match="enough"):
                life.agent.invoke(HELLO, THREAD)

    assert life.names == ["session_start", "before_prompt", "session_end"]


def test_an_interrupt_is_no_end(tmp_path):
    asks = HumanInTheLoopMiddleware(interrupt_on={"work": True})

    @tool
    def question() -> str:
        """Ask."""
        return str(interrupt("really?"))

    answers = [calling(what="x"), calling("question"), AIMessage("done")]
    life = Life(
        world_of(tmp_path), answers, [work, question], before=[asks], checkpointer=InMemorySaver()
    )

    assert "__interrupt__" in life.agent.invoke(HELLO, THREAD)
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    assert "__interrupt__" in life.agent.invoke(approve, THREAD)
    assert life.count("session_end") == 0
    state = life.agent.invoke(Command(resume="yes"), THREAD)

    assert state["messages"][-1].content == "done"
    assert life.count("session_start") == life.count("session_end") == 1
    assert not named_threads()


def test_an_interrupted_run_may_go_on_in_another_process(tmp_path):
    @tool
    def question() -> str:
        """Ask."""
        return str(interrupt("really?"))

    saver = InMemorySaver()
    world = world_of(tmp_path)
    first = Life(world, [calling("question")], [question], checkpointer=saver)
    second = Life(world, [AIMessage("done")], [question], checkpointer=saver)

    async def main():
        await first.agent.ainvoke(HELLO, THREAD)
        await second.agent.ainvoke(Command(resume="yes"), THREAD)

    asyncio.run(main())

    assert second.events[0] == ("t1", "session_start")
    assert second.events[-1] == ("t1", "session_end")


def test_a_run_that_was_left_is_ended_by_the_next_one(tmp_path):
    answers = [calling(what="x"), AIMessage("never"), AIMessage("b")]
    life = Life(world_of(tmp_path), answers, [work], checkpointer=InMemorySaver())

    for _ in life.agent.stream(HELLO, THREAD):
        break
    life.agent.invoke(HELLO, THREAD)

    assert life.count("session_start") == life.count("session_end") == 2
    assert not named_threads()


def test_two_agents_at_once_do_not_mix(tmp_path):
    async def one(name):
        note = {"stdout": {"hookSpecificOutput": {"additionalContext": f"FOR-{name}"}}}
        life = Life(
            world_of(tmp_path / name, BeforeAgent=note), [calling(), AIMessage("x")], [work]
        )
        state = await life.agent.ainvoke(HELLO)
        return life, state["messages"][0].content

    async def main():
        return await asyncio.gather(*(one(str(number)) for number in range(8)))

    for number, (life, prompt) in enumerate(asyncio.run(main())):
        assert f"FOR-{number}<" in prompt
        assert len({session for session, _ in life.events}) == 1
        assert life.count("session_end") == 1


@pytest.mark.parametrize("block", [True, False])
def test_two_threads_of_one_agent_do_not_mix(tmp_path, block):
    again = "grep -q true && exit 0; echo again >&2; exit 2"
    world = World(tmp_path)
    hook = {"type": "command", "command": again}
    world.settings("project", {"hooks": {"AfterAgent": [{"hooks": [hook]}]}})
    life = Life(
        world,
        (AIMessage(str(number)) for number in itertools.count()),
        checkpointer=InMemorySaver(),
    )

    async def main():
        async with life.hooks if block else nothing():
            runs = [
                life.agent.ainvoke(HELLO, {"configurable": {"thread_id": name}})
                for name in "abcdef"
            ]
            return await asyncio.gather(*runs)

    for state in asyncio.run(main()):
        assert [m.content for m in state["messages"]][::2] == ["hello", "again"]
    for name in "abcdef":
        own = [event for session, event in life.events if session == name]
        assert own.count("session_start") == own.count("session_end") == 1
        assert own.count("after_agent") == 2


def test_an_agent_as_a_tool_of_another_has_a_session_of_its_own(tmp_path):
    life = Life(world_of(tmp_path), [calling("inner"), AIMessage("outer answer")])
    inside = create_agent(
        Scripted(messages=iter([AIMessage("inner answer")])), middleware=[life.hooks]
    )

    @tool
    def inner() -> str:
        """Ask the other one."""
        return inside.invoke(HELLO)["messages"][-1].content

    outside = create_agent(
        Scripted(messages=iter([calling("inner"), AIMessage("done")])),
        [inner],
        middleware=[life.hooks],
        checkpointer=InMemorySaver(),
    )
    with life.hooks:
        assert outside.invoke(HELLO, THREAD)["messages"][-1].content == "done"

    assert life.count("session_start") == life.count("session_end") == 2
    assert len({session for session, _ in life.events}) == 2
    assert life.events[0][0] == life.events[-1][0] == "t1"


# -- what it costs, and what goes through untouched


class Onlooker(AgentMiddleware):
    """Sees the requests that go in and out of the hooks."""

    def __init__(self):
        super().__init__()
        self.requests = []
        self.calls = []

    def wrap_model_call(self, request, handler):
        self.requests.append(request)
        return handler(request)

    def wrap_tool_call(self, request, handler):
        self.calls.append(request)
        return handler(request)


class Outside(Onlooker):
    pass


@pytest.mark.parametrize("watched", [True, False])
def test_what_no_hook_changes_goes_through_as_the_same_objects(tmp_path, watched):
    outside, inside = Outside(), Onlooker()
    watch = (lambda _event, _decision: None) if watched else None
    hooks = AnyhookMiddleware(world_of(tmp_path).load(), on_decision=watch)
    answers = [calling(what="x"), AIMessage("done")]
    agent = create_agent(
        Scripted(messages=iter(answers)), [work], middleware=[outside, hooks, inside]
    )

    state = agent.invoke(HELLO)

    assert len(outside.requests) == len(inside.requests) == 2
    for seen, given in zip(outside.requests, inside.requests, strict=True):
        assert seen is given
    for seen, given in zip(outside.calls, inside.calls, strict=True):
        assert (seen.tool_call, seen.tool, seen.state) == (given.tool_call, given.tool, given.state)
    assert state["messages"][-1] is answers[-1]


class Changing(AgentMiddleware):
    """Runs other calls than those that hooks have decided, as a reviewer's edits do."""

    def __init__(self, *arguments):
        super().__init__()
        self.arguments = arguments

    def requests(self, request):
        for arguments in self.arguments:
            request = request.override(tool_call={**request.tool_call, "args": arguments})
            yield request

    def wrap_tool_call(self, request, handler):
        return [handler(changed) for changed in self.requests(request)][-1]

    async def awrap_tool_call(self, request, handler):
        return [await handler(changed) for changed in self.requests(request)][-1]


@pytest.mark.parametrize("is_async", [False, True])
def test_hooks_decide_the_call_that_another_middleware_runs_in_its_place(tmp_path, is_async):
    ran = []

    @tool
    def shell(command: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Run."""
        ran.append((command, call_id))
        return f"ran {command}"

    def decide(event):
        if "rm" in event.tool_input["command"]:
            return deny("not that")
        return event.rewrite(command="pwd") if event.tool_input["command"] == "cd" else None

    engine = world_of(tmp_path).load()
    engine.register("before_tool", decide)
    changing = Changing({"command": "rm"}, {"command": "cd"}, {"command": "rm -f"})
    agent = create_agent(
        Scripted(messages=iter([calling("shell", command="ls"), AIMessage("done")])),
        [shell],
        middleware=[AnyhookMiddleware(engine), changing],
    )

    state = asyncio.run(agent.ainvoke(HELLO)) if is_async else agent.invoke(HELLO)

    assert ran == [("pwd", "call-1")]
    result = state["messages"][2]
    assert (result.content, result.status) == ("not that", "error")


def test_without_hooks_nothing_is_translated(tmp_path, monkeypatch):
    def never(_request):
        raise AssertionError("translated")

    monkeypatch.setattr(calls, "shown_request", never)
    hooks = AnyhookMiddleware(world_of(tmp_path, BeforeTool={"stdout": {}}).load())
    agent = create_agent(Scripted(messages=iter([AIMessage("hi")])), middleware=[hooks])

    assert agent.invoke(HELLO)["messages"][-1].content == "hi"


def test_hooks_that_are_added_later_are_heard(tmp_path):
    world = World(tmp_path)
    hooks = AnyhookMiddleware(world.load(watch=True), on_message=lambda _text: None)
    agent = create_agent(Scripted(messages=iter([AIMessage("hi")])), middleware=[hooks])

    assert agent.invoke(HELLO)["messages"][-1].content == "hi"
    world_of(tmp_path, BeforeAgent=HIDE)
    assert agent.invoke(HELLO)["messages"][-1].content == "hidden"


def test_what_the_user_was_reported_is_not_sent_to_the_model(tmp_path):
    hooks = AnyhookMiddleware(World(tmp_path).load(), on_message=lambda _text: None)
    inside = Onlooker()
    model = Scripted(messages=iter([AIMessage("hi")]))
    agent = create_agent(model, middleware=[hooks, inside])

    agent.invoke({"messages": [notice("denied"), HumanMessage("hello")]})

    assert [m.content for m in inside.requests[0].messages] == ["hello"]


# -- streams


class Pieces(FakeListChatModel):
    """LangChain's model that streams letter by letter, and may be reported to stream by itself."""

    streaming: bool = False


def models():
    """Chunks of every size: none, words, letters; and a model that streams unasked."""
    return [
        FakeMessagesListChatModel(responses=[AIMessage("rude words")]),
        GenericFakeChatModel(messages=iter([AIMessage("rude words")])),
        FakeListChatModel(responses=["rude words"]),
        Pieces(responses=["rude words"], streaming=True),
    ]


POLITE = {
    "stdout": {
        "hookSpecificOutput": {
            "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["polite"]}}]}
        }
    }
}
DISCARD = {"stdout": {"decision": "deny", "reason": "polite, please"}}


class Tokens(BaseCallbackHandler):
    def __init__(self):
        self.seen = []
        self.tags = []

    def on_chat_model_start(self, serialized, messages, *, tags=None, **kwargs):
        self.tags += tags or []

    def on_llm_new_token(self, token, **kwargs):
        self.seen.append(token)


async def messages_of(agent, config):
    mode = ["messages", "updates", "values", "debug"]
    return [repr(one) async for one in agent.astream(HELLO, config, stream_mode=mode)]


async def events_of(agent, config):
    return [repr(one) async for one in agent.astream_events(HELLO, config, version="v2")]


async def protocol_of(agent, config):
    stream = await agent.astream_events(HELLO, config, version="v3")
    return [repr(one) async for one in stream]


async def log_of(agent, config):
    return [repr(one) async for one in agent.astream_log(HELLO, config)]


async def tools_of(agent, config):
    return [repr(one) async for one in agent.astream(HELLO, config, stream_mode="tools")]


async def tools_plainly(agent, config):
    return [repr(one) for one in agent.stream(HELLO, config, stream_mode="tools")]


async def plainly(agent, config):
    mode = ["messages", "updates", "values"]
    return [repr(one) for one in agent.stream(HELLO, config, stream_mode=mode)]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol on Pregel is experimental")
@pytest.mark.parametrize("says", [POLITE, DISCARD], ids=["change", "discard"])
@pytest.mark.parametrize("read", [messages_of, events_of, protocol_of, plainly])
@pytest.mark.parametrize("number", range(4), ids=["whole", "words", "letters", "unasked"])
def test_no_stream_shows_what_a_hook_takes_out(tmp_path, number, read, says):
    model = models()[number]
    life = Life(world_of(tmp_path, AfterModel=says), [], model=model)
    tokens = Tokens()

    pieces = asyncio.run(read(life.agent, {"callbacks": [tokens]}))

    shown = "\n".join(pieces)
    assert "polite" in shown
    assert "rude" not in shown
    assert "'r'" not in shown
    assert tokens.seen == []
    assert "nostream" in tokens.tags


TOOL_STREAMS = [events_of, protocol_of, log_of, tools_of, tools_plainly]


@tool
def leak(runtime: ToolRuntime, fails: bool = False) -> str:
    """Work, and show pieces of the output."""
    runtime.emit_output_delta("SECRET piece")
    if fails:
        raise ToolException("SECRET failure")
    return "SECRET result"


leak.handle_tool_error = True


class Whole(FakeMessagesListChatModel):
    """LangChain's model that does not stream, and may be given tools."""

    def bind_tools(self, tools, **kwargs):
        return self


def life_with_tools(world, call, *tools):
    return Life(world, [], tools, model=Whole(responses=[call, AIMessage("done")]))


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol on Pregel is experimental")
@pytest.mark.filterwarnings("ignore:astream_log is deprecated")
@pytest.mark.parametrize("read", TOOL_STREAMS)
@pytest.mark.parametrize("fails", [False, True], ids=["returns", "fails"])
def test_no_stream_shows_a_result_that_a_hook_takes_out(tmp_path, read, fails):
    life = life_with_tools(world_of(tmp_path, AfterTool=HIDE), calling("leak", fails=fails), leak)

    shown = "\n".join(asyncio.run(read(life.agent, None)))

    assert "SECRET" not in shown
    assert "hidden" in shown


@pytest.mark.parametrize("stops", [False, True])
def test_no_stream_shows_the_result_of_a_tool_that_a_hook_replaces_or_stops_at(tmp_path, stops):
    says = {"continue": False, "stopReason": "enough"}
    if not stops:
        call = {"name": "work", "args": {"what": "instead"}}
        says = {"hookSpecificOutput": {"tailToolCallRequest": call}}
    world = World(tmp_path)
    handler = {"type": "command", "command": command({"stdout": says})}
    world.settings("project", {"hooks": {"AfterTool": [{"matcher": "leak", "hooks": [handler]}]}})
    life = life_with_tools(world, calling("leak"), leak, work)
    shown = []

    def read():
        for event in life.agent.stream(HELLO, stream_mode="tools"):
            shown.append(event)

    if stops:
        with pytest.raises(StoppedError):
            read()
    else:
        read()

    assert "SECRET" not in repr(shown)
    ends = [event["output"].content for event in shown if event["event"] == "tool-finished"]
    assert set(ends) == {"enough" if stops else "worked instead"}


@pytest.mark.parametrize("hook", ["AfterTool", "BeforeTool"])
def test_a_stream_shows_the_result_that_hooks_leave_alone(tmp_path, hook):
    life = life_with_tools(world_of(tmp_path, **{hook: {}}), calling("leak"), leak)

    events = list(life.agent.stream(HELLO, stream_mode="tools"))

    assert [e["event"] for e in events] == ["tool-started", "tool-output-delta", "tool-finished"]
    assert events[-1]["output"].content == "SECRET result"


def test_a_stream_shows_the_failure_that_hooks_leave_alone(tmp_path):
    life = life_with_tools(world_of(tmp_path, AfterTool={}), calling(what="fail"), work)
    stream = life.agent.stream(HELLO, stream_mode="tools")

    assert [next(stream)["event"] for _ in range(2)] == ["tool-started", "tool-error"]
    with pytest.raises(RuntimeError, match="it broke"):
        next(stream)


def test_a_stream_that_no_hook_reads_comes_in_pieces(tmp_path):
    life = Life(world_of(tmp_path), [], model=FakeListChatModel(responses=["abc"]))

    pieces = [piece.content for piece, _ in life.agent.stream(HELLO, stream_mode="messages")]

    assert pieces[:3] == ["a", "b", "c"]


# -- tools


def settled(tmp_path, answers, tools, *, loop=False, **hooks):
    life = Life(world_of(tmp_path, **hooks), answers, tools)
    state = asyncio.run(life.agent.ainvoke(HELLO)) if loop else life.agent.invoke(HELLO)
    return next(m for m in state["messages"] if isinstance(m, ToolMessage)), state


NOTE = {"stdout": {"hookSpecificOutput": {"additionalContext": "NOTE"}}}
HIDE = {"stdout": {"decision": "deny", "reason": "hidden"}}
IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}


@tool(response_format="content_and_artifact")
def picture() -> tuple[list[dict], dict]:
    """Show."""
    return [{"type": "text", "text": "a picture"}, IMAGE], {"raw": "SECRET"}


@tool
def remember(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Remember."""
    message = ToolMessage("remembered SECRET", tool_call_id=tool_call_id)
    return Command(update={"messages": [message]})


def test_context_stands_beside_an_image(tmp_path):
    result, _ = settled(tmp_path, [calling("picture"), AIMessage("x")], [picture], AfterTool=NOTE)

    assert IMAGE in result.content
    assert result.content[-1]["text"] == "<hook_context>NOTE</hook_context>"
    assert result.artifact == {"raw": "SECRET"}


def test_a_hidden_result_is_nowhere(tmp_path):
    result, state = settled(
        tmp_path, [calling("picture"), AIMessage("x")], [picture], AfterTool=HIDE
    )

    assert result.content == "hidden"
    assert "SECRET" not in repr(state)


@pytest.mark.parametrize("loop", [True, False])
def test_a_result_in_a_command_is_a_result(tmp_path, loop):
    answers = [calling("remember"), AIMessage("x")]
    result, state = settled(tmp_path, answers, [remember], loop=loop, AfterTool=HIDE)

    assert result.content == "hidden"
    assert "SECRET" not in repr(state)


def test_a_denied_tool_returns_an_error(tmp_path):
    result, _ = settled(tmp_path, [calling(), AIMessage("x")], [work], BeforeTool=HIDE)

    assert (result.status, result.content, result.name) == ("error", "hidden", "work")


def test_a_tool_that_fails_and_has_context_is_an_error_for_the_model(tmp_path):
    answers = [calling(what="fail"), AIMessage("x")]
    result, _ = settled(tmp_path, answers, [work], AfterTool=NOTE)

    assert result.status == "error"
    assert result.content == "it broke\n\n<hook_context>NOTE</hook_context>"


def test_the_result_of_another_tool_answers_the_call_that_was_made(tmp_path):
    tail = {"name": "picture", "args": {}}
    says = {"stdout": {"hookSpecificOutput": {"tailToolCallRequest": tail}}}
    world = World(tmp_path)
    hook = {"type": "command", "command": command(says)}
    world.settings("project", {"hooks": {"AfterTool": [{"matcher": "work", "hooks": [hook]}]}})
    life = Life(world, [calling(what="x"), AIMessage("done")], [work, picture])

    (result,) = (m for m in life.agent.invoke(HELLO)["messages"] if isinstance(m, ToolMessage))

    assert (result.name, result.tool_call_id) == ("work", "call-1")
    assert IMAGE in result.content


# -- requests and responses


def changing(**request):
    return {"stdout": {"hookSpecificOutput": {"llm_request": request}}}


class Sized(Scripted):
    """A model with a name and sampling parameters."""

    model_name: str = "small"
    temperature: float = 0.5


def requested(tmp_path, says, *, event="BeforeModel", model=None, **options):
    inside = Onlooker()
    reported = []
    hooks = AnyhookMiddleware(
        world_of(tmp_path, **{event: says}).load(), on_message=reported.append
    )
    model = model or Sized(messages=iter([AIMessage("hi")]))
    agent = create_agent(model, [work], middleware=[hooks, inside], **options)
    agent.invoke(HELLO)
    return inside.requests[0], reported


def test_sampling_and_model_of_a_request_may_be_changed(tmp_path):
    says = changing(model="large", config={"temperature": 0.1, "maxOutputTokens": 9})
    request, reported = requested(tmp_path, says)

    assert request.model_settings == {"temperature": 0.1, "max_tokens": 9}
    assert request.model.model_name == "large"
    assert reported == []


def test_a_model_that_cannot_be_chosen_is_reported(tmp_path):
    model = Scripted(messages=iter([AIMessage("hi")]))
    request, reported = requested(tmp_path, changing(model="large"), model=model)

    assert request.model is model
    assert reported == ["Scripted has no setting for another model (large)"]


def test_instructions_stand_behind_the_agents_own(tmp_path):
    says = changing(messages=[{"role": "system", "content": "BE-BRIEF"}])
    request, _ = requested(tmp_path, says, system_prompt="You are kind.")

    assert request.system_message.content == "You are kind.\n\nBE-BRIEF"
    assert [m.content for m in request.messages] == ["hello"]


def test_a_chosen_tool_must_be_called(tmp_path):
    config = {"mode": "ANY", "allowedFunctionNames": ["work"]}
    says = {"stdout": {"hookSpecificOutput": {"toolConfig": config}}}
    request, _ = requested(tmp_path, says, event="BeforeToolSelection")

    assert request.tool_choice == "any"


def test_a_request_may_say_which_tools_there_are(tmp_path):
    request, _ = requested(tmp_path, changing(toolConfig={"mode": "NONE"}))

    assert request.tools == []


class Answer(BaseModel):
    text: str


def test_structured_output_is_read_from_what_hooks_left(tmp_path):
    part = '{"text": "polite"}'
    says = {
        "stdout": {
            "hookSpecificOutput": {
                "llm_response": {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
            }
        }
    }
    hooks = AnyhookMiddleware(world_of(tmp_path, AfterModel=says).load())
    agent = create_agent(
        Scripted(messages=iter([AIMessage('{"text": "rude"}')])),
        middleware=[hooks],
        response_format=ProviderStrategy(Answer),
    )

    state = agent.invoke(HELLO)

    assert state["structured_response"] == Answer(text="polite")
    assert "rude" not in repr(state)


def test_the_end_of_a_turn_has_the_structured_output_of_a_call(tmp_path):
    answers = []
    engine = world_of(tmp_path).load()
    engine.register("after_agent", lambda event: answers.append(event.prompt_response))
    call = {"name": "Answer", "args": {"text": "é"}, "id": "1"}
    agent = create_agent(
        Scripted(messages=iter([AIMessage("", tool_calls=[call])])),
        middleware=[AnyhookMiddleware(engine)],
        response_format=ToolStrategy(Answer),
    )

    agent.invoke(HELLO)

    assert answers == ['{"text": "é"}']


FILE = {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "abc"}
USE = {"type": "tool_use", "id": "call-1", "name": "work", "input": {"what": "x"}}
CONVERSATION = [
    HumanMessage([{"type": "text", "text": "look"}, IMAGE, FILE]),
    AIMessage(
        [THOUGHT, {"type": "text", "text": "I see"}, USE],
        tool_calls=[{"name": "work", "args": {"what": "x"}, "id": "call-1"}],
    ),
    ToolMessage([{"type": "text", "text": "worked"}, IMAGE], tool_call_id="call-1", name="work"),
    AIMessage("done", additional_kwargs={"reasoning_content": "he said look"}),
]


def model_request(messages):
    return ModelRequest(model=Sized(messages=iter([])), messages=list(messages), tools=[])


def laid_over(change, messages=CONVERSATION):
    request = model_request(messages)
    shown = shown_request(request)
    changes = shown.changes(change(json.loads(json.dumps(shown.stable))))
    return request, request if changes is None else changed_request(request, changes)


def test_a_request_shows_what_it_holds():
    shown = shown_request(model_request(CONVERSATION)).stable

    assert (shown["model"], shown["config"]) == ("small", {"temperature": 0.5})
    human, model, result, last = shown["messages"]
    assert [part["type"] for part in human["content"]] == ["text", "part", "part"]
    assert [part["type"] for part in model["content"]] == ["text", "text", "functionCall"]
    assert model["content"][2]["functionCall"]["args"] == {"what": "x"}
    assert result["content"][0]["functionResponse"]["response"] == {"output": "worked"}
    assert last == {"role": "model", "content": "done"}


def test_a_request_without_changes_comes_back_as_it_was():
    request, new = laid_over(lambda shown: shown)

    assert new is request


def test_changed_text_keeps_what_is_no_text():
    def change(shown):
        for message in shown["messages"]:
            if isinstance(message["content"], str):
                message["content"] = message["content"].upper()
                continue
            for part in message["content"]:
                if "text" in part and not part.get("thought"):
                    part["text"] = part["text"].upper()
                if "functionResponse" in part:
                    part["functionResponse"]["response"]["output"] = "WORKED"
        return shown

    _, new = laid_over(change)

    human, model, result, last = new.messages
    assert human.content == [{"type": "text", "text": "LOOK"}, IMAGE, FILE]
    assert model.content == [THOUGHT, {"type": "text", "text": "I SEE"}, USE]
    assert model.tool_calls == CONVERSATION[1].tool_calls
    assert result.content == [{"type": "text", "text": "WORKED"}, IMAGE]
    assert (result.tool_call_id, result.name) == ("call-1", "work")
    assert last.content == "DONE"
    assert last.additional_kwargs == {}


def test_one_changed_message_leaves_the_others_the_same_objects():
    def change(shown):
        shown["messages"][3]["content"] = "finished"
        return shown

    _, new = laid_over(change)

    for before, after in zip(CONVERSATION[:3], new.messages[:3], strict=True):
        assert before is after
    assert new.messages[3].content == "finished"


def test_changed_arguments_of_a_past_call_are_the_ones_that_are_sent():
    def change(shown):
        shown["messages"][1]["content"][2]["functionCall"]["args"] = {"what": "y"}
        return shown

    _, new = laid_over(change)

    assert new.messages[1].tool_calls[0]["args"] == {"what": "y"}
    assert USE not in new.messages[1].content
    assert THOUGHT in new.messages[1].content


def test_a_changed_thought_loses_its_signature():
    def change(shown):
        shown["messages"][1]["content"][0]["text"] = "hum"
        return shown

    _, new = laid_over(change)

    assert new.messages[1].content[0] == {"type": "thinking", "thinking": "hum"}


def test_messages_that_are_left_out_keep_their_calls_and_images():
    _, new = laid_over(lambda shown: {**shown, "messages": [{"role": "user", "content": "X"}]})

    human, model, result = new.messages
    assert human.content == [{"type": "text", "text": "X"}, IMAGE, FILE]
    assert model.content == [USE]
    assert (result.tool_call_id, result.content[0]["text"]) == ("call-1", "worked")


def test_new_messages_of_a_hook_are_new_messages():
    def change(shown):
        more = [{"role": "model", "content": "A"}, {"role": "user", "content": "B"}]
        return {**shown, "messages": [*shown["messages"], *more]}

    _, new = laid_over(change)

    assert [m.content for m in new.messages[4:]] == ["A", "B"]
    assert [m.type for m in new.messages[4:]] == ["ai", "human"]


def test_a_changed_response_keeps_its_calls_and_images():
    message = AIMessage(
        [THOUGHT, {"type": "text", "text": "rude"}, IMAGE, USE],
        id="m",
        tool_calls=[{"name": "work", "args": {"what": "x"}, "id": "call-1"}],
        response_metadata={"stop_reason": "tool_use"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    response = shown_response(message)
    shown = response.stable

    assert shown["text"] == "rude"
    assert shown["candidates"][0]["content"]["parts"] == ["hm", "rude"]
    assert shown["candidates"][0]["finishReason"] == "STOP"
    assert shown["usageMetadata"]["totalTokenCount"] == 3

    kept = changed_response(
        message, response.changes(merge_response(shown, two_texts("hm", "polite")))
    )
    assert kept.content == [THOUGHT, {"type": "text", "text": "polite"}, IMAGE, USE]
    assert (kept.id, kept.tool_calls) == ("m", message.tool_calls)

    less = changed_response(message, response.changes(merge_response(shown, two_texts("polite"))))
    assert less.content == [{"type": "text", "text": "polite"}, IMAGE, USE]


def two_texts(*texts):
    return {"candidates": [{"content": {"role": "model", "parts": list(texts)}}]}


def test_calls_without_identifiers_are_all_shown_and_keep_their_arguments():
    calls = [
        {"id": None, "name": "read", "args": {"path": "a"}},
        {"id": None, "name": "write", "args": {"path": "b"}},
    ]
    image = {"type": "image", "url": "https://example.org/i.png"}
    message = AIMessage(content=[{"type": "text", "text": "one"}, image], tool_calls=calls)
    response = shown_response(message)
    shown = response.stable["candidates"][0]

    changed = changed_response(
        message, response.changes(merge_response(response.stable, {"text": "two"}))
    )

    assert [call["name"] for call in shown["functionCalls"]] == ["read", "write"]
    assert [call["args"] for call in changed.tool_calls] == [{"path": "a"}, {"path": "b"}]
    assert changed.content == [{"type": "text", "text": "two"}, image]
