"""Spans of sessions, events and hooks, as a receiver of OTLP gets them."""

from __future__ import annotations

import json

import anyio
import pytest
from tools.telemetry_page import ATTRIBUTES

from anyhook import (
    AfterTool,
    Answer,
    BeforeModel,
    BeforePrompt,
    BeforeTool,
    SessionEnd,
    SessionStart,
    SyncEngine,
    deny,
)
from anyhook.telemetry import Telemetry, names
from tests.telemetry.receiver import ERROR
from tests.world import World, command

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def shell(session="s1", line="ls", **fields):
    tool_input = {"command": line}
    return BeforeTool(tool_name="Bash", tool_input=tool_input, session_id=session, **fields)


def hook(line, **fields):
    return {"type": "command", "command": line, **fields}


def settings(world, *hooks, event="PreToolUse"):
    return world.settings("project", {"hooks": {event: [{"hooks": list(hooks)}]}})


async def test_hooks_are_below_their_event_and_events_below_their_session(
    world, receiver, telemetry
):
    settings(world, hook("exit 0"), hook(command({"stderr": "no", "exit": 2})))
    async with world.load(observers=[telemetry]) as engine:
        await engine.dispatch(shell())
        await engine.dispatch(SessionEnd(reason="other", session_id="s1"))
    telemetry.close()

    session = receiver.one("invoke_agent Claude Code")
    event = receiver.one("before_tool Bash")
    end = receiver.one("session_end")
    hooks = receiver.children(event)
    assert session.parent == ""
    assert {event.id, end.id} == {span.id for span in receiver.children(session)}
    assert len(hooks) == 2
    assert {span.trace for span in receiver.spans} == {session.trace}
    for child in hooks:
        assert event.start <= child.start <= child.end <= event.end
    assert session.start == event.start
    assert session.end == end.end


async def test_spans_hold_the_verdict_and_the_hook_that_gave_it(world, receiver, telemetry):
    guard = world.write(world.project / "guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    path = settings(world, hook(str(guard)))
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell(tool_use_id="call-1", agent_id="sub-7"))
    engine.close()
    telemetry.close()

    event, (run,) = receiver.one("before_tool Bash"), receiver.named("hook guard.sh")
    assert event.attributes == {
        "gen_ai.operation.name": "run_hooks",
        "gen_ai.agent.name": "Claude Code",
        "gen_ai.agent.id": "sub-7",
        "gen_ai.conversation.id": "s1",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "call-1",
        "anyhook.agent": "claude",
        "anyhook.event": "before_tool",
        "anyhook.tool": "shell",
        "anyhook.outcome": "deny",
        "anyhook.blame": ["outcome: guard.sh", "reason: guard.sh"],
    }
    assert run.attributes == {
        "gen_ai.operation.name": "run_hook",
        "gen_ai.agent.name": "Claude Code",
        "gen_ai.conversation.id": "s1",
        "anyhook.agent": "claude",
        "anyhook.event": "before_tool",
        "anyhook.hook.name": "guard.sh",
        "anyhook.hook.kind": "command",
        "anyhook.hook.layer": "project",
        "anyhook.hook.place": f"{path}:6",
        "anyhook.hook.status": "ran",
        "anyhook.hook.outcome": "deny",
        "anyhook.hook.exit_code": 2,
        "anyhook.hook.blame": ["outcome", "reason"],
    }
    assert event.status != ERROR  # a denial is no error
    assert run.status != ERROR
    assert (event.service, event.schema) == ("anyhook", names.SCHEMA_URL)


async def test_the_names_of_arguments_that_a_hook_changes_are_not_exported(
    tmp_path, receiver, telemetry
):
    engine = World(tmp_path).load(observers=[telemetry])
    engine.register("before_tool", lambda event: Answer(tool_input={"argument-name": "x"}))

    decision = await engine.dispatch(shell())
    telemetry.close()

    assert "tool_input.argument-name" in decision.blame
    event, (run,) = (
        receiver.one("before_tool Bash"),
        receiver.children(receiver.one("before_tool Bash")),
    )
    assert [line.partition(":")[0] for line in event.attributes["anyhook.blame"]] == ["tool_input"]
    assert run.attributes["anyhook.hook.blame"] == ["tool_input"]
    assert not receiver.holds("argument-name")


async def test_a_session_counts_its_events_and_denials(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("no"), matcher="Bash")

    await engine.dispatch(SessionStart(source="startup", session_id="s1"))
    await engine.dispatch(shell())
    await engine.dispatch(shell())
    await engine.dispatch(SessionEnd(reason="other", session_id="s1"))
    telemetry.close()

    session = receiver.one("invoke_agent Claude Code")
    assert session.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Claude Code",
        "gen_ai.conversation.id": "s1",
        "anyhook.agent": "claude",
        "anyhook.session.end": "session_end",
        "anyhook.session.events": 4,
        "anyhook.session.denials": 2,
    }


async def test_a_hook_that_stops_the_agent_is_marked(world, receiver, telemetry):
    settings(world, hook(command({"stdout": {"continue": False, "stopReason": "enough"}})))
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell())
    telemetry.close()

    assert receiver.one("before_tool Bash").attributes["anyhook.stop"] is True


async def test_a_hook_that_fails_or_times_out_is_an_error(world, receiver, telemetry):
    settings(
        world,
        hook("exit 3", name="warns"),
        hook("sleep 60", name="hangs", timeout=0.2),
        hook("kill -9 $$", name="killed"),
    )
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: 1 / 0, name="raises")

    decision = await engine.dispatch(shell())
    telemetry.close()

    assert not decision.denied
    errors = {
        span.attributes["anyhook.hook.name"]: span.attributes["error.type"]
        for span in receiver.spans
        if span.status == ERROR
    }
    assert errors == {
        "raises": "failed",
        "warns": "warned",
        "hangs": "timed_out",
        "killed": "failed",
    }
    event = receiver.one("before_tool Bash")
    assert event.status != ERROR
    assert "handler-timeout" in event.attributes["anyhook.diagnostics"]


async def test_an_event_that_is_canceled_is_an_error_and_its_session_goes_on(
    world, receiver, telemetry
):
    settings(world, hook("sleep 60"))
    engine = world.load(observers=[telemetry])

    with anyio.move_on_after(0.2):
        await engine.dispatch(shell())
    await engine.dispatch(SessionEnd(reason="other", session_id="s1"))
    telemetry.close()

    event, session = receiver.one("before_tool Bash"), receiver.one("invoke_agent Claude Code")
    assert event.status == ERROR
    assert event.attributes["error.type"] == "canceled"
    assert "anyhook.outcome" not in event.attributes
    assert event.parent == session.id
    assert session.attributes["anyhook.session.events"] == 2


async def test_a_hook_that_is_not_trusted_has_a_span(world, receiver, telemetry):
    settings(world, hook("exit 2", name="guard"))
    engine = world.load(observers=[telemetry], trust_once=False)

    await engine.dispatch(shell())
    telemetry.close()

    assert receiver.one("hook guard").attributes["anyhook.hook.status"] == "withheld"


async def test_sessions_that_run_at_the_same_time_do_not_mix(world, receiver, telemetry):
    settings(world, hook("exit 0"))
    engine = world.load(observers=[telemetry])
    sessions = [f"s{number}" for number in range(8)]

    async def run(session):
        for number in range(3):
            await engine.dispatch(shell(session, tool_use_id=f"{session}-{number}"))
        await engine.dispatch(SessionEnd(reason="other", session_id=session))

    async with anyio.create_task_group() as tasks:
        for session in sessions:
            tasks.start_soon(run, session)
    telemetry.close()

    spans = {
        s.attributes["gen_ai.conversation.id"]: s
        for s in receiver.named("invoke_agent Claude Code")
    }
    assert sorted(spans) == sessions
    assert len({span.trace for span in spans.values()}) == len(sessions)
    for session, root in spans.items():
        events = [s for s in receiver.children(root) if s.name == "before_tool Bash"]
        calls = sorted(event.attributes["gen_ai.tool.call.id"] for event in events)
        assert calls == [f"{session}-{number}" for number in range(3)]
        for event in events:
            (run_of_hook,) = receiver.children(event)
            assert run_of_hook.attributes["gen_ai.conversation.id"] == session


async def test_an_event_without_a_session_is_a_trace_of_its_own(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell(session=""))
    telemetry.close()

    (event,) = receiver.spans
    assert event.parent == ""
    assert "gen_ai.conversation.id" not in event.attributes


async def test_the_model_is_named_where_the_event_names_it(tmp_path, receiver, telemetry):
    engine = World(tmp_path).load(observers=[telemetry])
    request = {"model": "gemini-3-pro", "messages": []}

    await engine.dispatch(BeforeModel(llm_request=request, session_id="s1"))
    telemetry.close()

    event = receiver.one("before_model")
    assert event.attributes["gen_ai.request.model"] == "gemini-3-pro"


async def test_no_content_and_no_secret_is_exported_by_default(world, receiver, telemetry):
    answer = {"decision": "block", "reason": "reason-content", "systemMessage": "system-content"}
    settings(
        world,
        hook(command({"stdout": answer})),
        hook(command({"stdout": "stdout-content", "stderr": "stderr-content", "exit": 1})),
    )
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("function-content"))

    def fail(event):
        raise ValueError("error-content")

    engine.register("before_tool", fail)
    await engine.dispatch(shell(line=f"export KEY={SECRET} # input-content"))
    await engine.dispatch(
        AfterTool(
            tool_name="Bash",
            tool_input={"command": SECRET},
            tool_response={"stdout": "response-content"},
            session_id="s1",
        )
    )
    await engine.dispatch(BeforePrompt(prompt=f"prompt-content {SECRET}", session_id="s1"))
    engine.close()
    telemetry.close()

    assert receiver.one("before_prompt")
    assert not receiver.holds("-content")
    assert not receiver.holds(SECRET)


async def test_every_attribute_is_in_the_table_of_its_span(world, receiver, telemetry):
    settings(world, hook("exit 1"), hook(command({"stdout": {"continue": False}})))
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell(agent_id="a", tool_use_id="c"))
    await engine.dispatch(SessionEnd(reason="other", session_id="s1"))
    telemetry.close()

    documented = {kind: set() for kind in ("session", "event", "hook")}
    for attribute in ATTRIBUTES:
        for kind in attribute.kinds:
            documented[kind] |= set() if attribute.is_content else {attribute.key}
    operations = {"invoke_agent": "session", "run_hooks": "event", "run_hook": "hook"}
    for span in receiver.spans:
        kind = operations[span.attributes["gen_ai.operation.name"]]
        assert span.attributes.keys() <= documented[kind]


async def test_a_payload_with_broken_text_does_not_lose_the_batch(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])

    await engine.dispatch(
        BeforeTool(tool_name="B\ud800", tool_input={}, session_id="s\udfff" + "x" * 10_000)
    )
    await engine.dispatch(shell(session=""))
    telemetry.close()

    assert receiver.one("before_tool B?").attributes["gen_ai.conversation.id"].startswith("s?xxx")
    assert len(receiver.one("before_tool B?").attributes["gen_ai.conversation.id"]) == 256
    assert receiver.one("before_tool Bash")


async def test_payloads_with_members_of_wrong_types_are_decided(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    event, _ = engine.decode(
        {"hook_event_name": "PreToolUse", "tool_name": ["Bash"], "tool_input": 7, "session_id": 3}
    )

    decision = await engine.dispatch(event)
    telemetry.close()

    assert "observer-failed" not in [d.code for d in decision.diagnostics]
    assert receiver.spans


def test_a_synchronous_engine_takes_observers(world, receiver, telemetry):
    options = {"agent": "claude", "home": world.home, "environ": world.environ}
    with SyncEngine.load(world.project, observers=[telemetry], **options) as engine:
        engine.dispatch(shell())
    telemetry.close()

    assert receiver.one("before_tool Bash")


async def test_two_observers_each_export_everything(world, receiver, telemetry):
    other = Telemetry.from_environment(every_event=True)
    engine = world.load(observers=[telemetry, other])

    await engine.dispatch(shell())
    other.close()
    telemetry.close()

    assert len(receiver.named("before_tool Bash")) == 2


async def test_a_generic_event_of_json_is_exported(tmp_path, receiver, telemetry):
    engine = World(tmp_path, agent="generic").load(observers=[telemetry])
    event, _ = engine.decode(
        json.loads('{"event": "before_tool", "tool_name": "shell", "tool_input": {}}')
    )

    await engine.dispatch(event)
    telemetry.close()

    assert receiver.one("before_tool shell")
