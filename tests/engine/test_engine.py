"""The engine as a host uses it, with real files and processes, on both event loops."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from anyhook import (
    AfterAgent,
    AfterTool,
    Answer,
    BeforeModel,
    BeforeTool,
    Decision,
    Engine,
    EngineClosedError,
    EventError,
    Redaction,
    SessionEnd,
    SyncEngine,
    UnknownEvent,
    UnknownNameError,
    UsageError,
    allow,
    ask,
    deny,
)
from anyhook.authoring import Hooks
from anyhook.model.answers import NO_OPINION
from anyhook.model.decisions import NO_DECISION
from tests.leftovers import MARK, marked, none_left
from tests.waiting import until
from tests.world import World

WRITE = BeforeTool(tool_name="write_file", tool_input={"content": "x"})
_RELEASE = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
KEEPS_EXIT_CODES = sys.platform == "linux" and _RELEASE >= [6, 15]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["gemini", "claude", "terminai", "generic"])
@pytest.mark.parametrize(("code", "is_hinted"), [(1, True), (3, False)])
async def test_exit_code_1_is_reported_with_the_code_that_blocks(tmp_path, agent, code, is_hinted):
    world = World(tmp_path, agent=agent)
    wire = world.agent.event("before_tool").wire
    world.settings("user", hooks(f"echo no >&2; exit {code}", event=wire))

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    (found,) = [d for d in decision.diagnostics if d.code == "handler-exit"]
    assert f"exit code {code}: no" in found.message
    assert ("exit code 2 blocks; 1 only warns" in found.message) is is_hinted


def hooks(*commands, matcher="*", event="BeforeTool", **options):
    many = [
        {"type": "command", "name": f"h{i}", "command": c, **options}
        for i, c in enumerate(commands, 1)
    ]
    return {"hooks": {event: [{"matcher": matcher, "hooks": many}]}}


@pytest.mark.anyio
async def test_hooks_of_a_settings_file_decide(world):
    world.settings("project", hooks("echo no >&2; exit 2"))

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    assert decision.denied
    assert decision.reason == "no"
    assert f"{world.files['project']}:7" in decision.explain()


@pytest.mark.anyio
async def test_an_event_that_matches_nothing_gets_no_decision(world):
    world.settings("project", hooks("exit 2", matcher="read_file"))

    engine = world.load()

    assert await engine.dispatch(WRITE) is NO_DECISION
    assert Decision() == NO_DECISION
    assert not NO_DECISION.denied


@pytest.mark.anyio
async def test_a_text_in_place_of_arguments_is_refused(world):
    event = BeforeTool(tool_name="Bash", tool_input='{"command": "rm x"}')

    with pytest.raises(EventError, match=r"json\.loads"):
        await world.load().dispatch(event)


@pytest.mark.anyio
async def test_an_event_that_the_agent_does_not_have_gets_no_decision(world):
    engine = world.load()
    event, _ = engine.decode({"hook_event_name": "Unheard"})

    assert isinstance(event, UnknownEvent)
    assert await engine.dispatch(event) is NO_DECISION
    with pytest.raises(EventError, match="has no event"):
        engine.reply(event, NO_DECISION)


@pytest.mark.anyio
async def test_an_event_built_in_python_reaches_the_command_whole(world):
    world.settings("project", hooks("cat > seen.json"))

    await world.load().dispatch(WRITE.replace(session_id="s1"))

    seen = json.loads((world.project / "seen.json").read_text())
    assert seen.pop("timestamp").endswith("Z")
    assert seen == {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(world.project),
        "hook_event_name": "BeforeTool",
        "tool_name": "write_file",
        "tool_input": {"content": "x"},
    }


def nested(levels):
    value: list = []
    for _ in range(levels):
        value = [value]
    return {"deep": value}


KNOT: dict = {}
KNOT["self"] = KNOT


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        ({"x": float("nan"), "y": 1}, {"x": None, "y": 1}),
        ({"x": float("inf")}, {"x": None}),
        ({"x": 10**5000}, {"x": None}),
        ({"x": Path("/a"), "y": (1, {2})}, {"x": "/a", "y": [1, [2]]}),
        ({"x": "\ud800"}, {"x": "\ud800"}),
        (nested(100_000), None),
        (KNOT, None),
    ],
    ids=["nan", "infinity", "long", "objects", "surrogate", "deep", "knot"],
)
async def test_an_event_that_is_no_json_loses_no_guard(world, bad, seen):
    world.settings("project", hooks("cat > seen.json; exit 2"))

    decision = await world.load().dispatch(WRITE.replace(tool_input=bad))

    assert decision.denied
    found = json.loads((world.project / "seen.json").read_text())["tool_input"]
    assert seen is None or found == seen
    wanted = [] if bad == {"x": "\ud800"} else ["payload-repaired"]
    assert [d.code for d in decision.diagnostics] == wanted


@pytest.mark.anyio
@pytest.mark.parametrize(
    "odd", ["a\0b", "\ud800", "x" * 200_000], ids=["null", "surrogate", "long"]
)
async def test_a_session_that_no_environment_can_hold_loses_no_guard(world, odd):
    world.settings("project", hooks("exit 2"))

    decision = await world.load().dispatch(WRITE.replace(session_id=odd, cwd="/" + odd))

    assert decision.denied
    codes = {d.code for d in decision.diagnostics}
    assert codes == {"variable-repaired", "missing-cwd"}


@pytest.mark.anyio
async def test_an_event_of_other_types_loses_no_guard(world):
    world.settings("project", hooks("exit 2"))
    event = WRITE.replace(cwd=world.project, session_id=None)

    assert (await world.load().dispatch(event)).denied
    assert (await world.load().dispatch(WRITE.replace(session_id=5))).denied


@pytest.mark.anyio
async def test_a_function_guard_is_not_lost_for_nested_arguments(world):
    engine = world.load()
    engine.register("before_tool", lambda event: deny(f"no {event.tool_name}"))

    decision = await engine.dispatch(WRITE.replace(tool_input=nested(5000)))

    assert decision.reason == "no write_file"
    assert [d.code for d in decision.diagnostics] == ["payload-repaired"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("word", "outcome", "approve"),
    [
        ("deny", "deny", False),
        ("block", "deny", False),
        ("ask", "ask", False),
        ("approve", "allow", True),
    ],
)
async def test_an_outcome_may_be_a_word(world, word, outcome, approve):
    engine = world.load()
    engine.register("before_tool", lambda event: Answer(outcome=word, reason="r"))

    decision = await engine.dispatch(WRITE)

    assert (decision.outcome, decision.approve, decision.reason) == (outcome, approve, "r")
    assert decision.diagnostics == ()


@pytest.mark.anyio
async def test_an_extension_that_is_installed_is_noticed(world):
    engine = world.load(watch=True)
    (world.home / ".gemini" / "extensions").mkdir(parents=True)
    assert not (await engine.dispatch(WRITE)).denied

    base = world.extension("ext", hooks("exit 2"))

    assert (await engine.dispatch(WRITE)).denied
    (base / "gemini-extension.json").unlink()
    assert not (await engine.dispatch(WRITE)).denied


def test_a_handler_that_dispatches_on_its_own_engine_is_reported(world):
    with SyncEngine(world.load()) as engine:
        engine.engine.register("before_tool", lambda event: engine.dispatch(WRITE))

        (result,) = engine.dispatch(WRITE).results

    assert "a handler of this engine cannot dispatch" in result.error


def test_a_handler_that_closes_its_own_synchronous_engine_is_reported(world):
    with SyncEngine(world.load()) as engine:
        engine.engine.register("before_tool", lambda event: engine.close(), timeout=5)

        (result,) = engine.dispatch(WRITE).results

    assert "a handler of this engine cannot close it" in result.error


@pytest.mark.slow
def test_functions_decide_in_a_forked_process(world):
    program = """if True:
        import os, sys
        from anyhook import BeforeTool, SyncEngine, deny
        event = BeforeTool(tool_name="t", tool_input={})
        def once():
            with SyncEngine.load(sys.argv[1], home=sys.argv[1]) as engine:
                engine.engine.register("before_tool", lambda e: deny("no"), timeout=5)
                return engine.dispatch(event).reason
        assert once() == "no"
        child = os.fork()
        if child == 0:
            os._exit(once() != "no")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    done = subprocess.run([sys.executable, "-c", program, str(world.home)], timeout=30, check=False)
    assert done.returncode == 0


@pytest.mark.anyio
async def test_idle_threads_do_not_pile_up(world):
    from anyhook.handlers import threads

    engine = world.load()
    for i in range(30):
        engine.register("before_tool", lambda event: None, name=f"f{i}")

    await engine.dispatch(WRITE)
    until(lambda: len(threads._idle) <= threads.IDLE, "threads pile up")

    assert (await engine.dispatch(WRITE)).diagnostics == ()


@pytest.mark.anyio
async def test_a_tool_with_an_odd_name_is_matched(world):
    world.settings("project", hooks("exit 2", matcher="w.*"))

    assert (await world.load().dispatch(WRITE.replace(tool_name="w\ud800"))).denied


@pytest.mark.anyio
@pytest.mark.parametrize("taken", ["ignored", "reaped"])
async def test_a_host_that_reaps_all_children_turns_no_block_into_an_approval(world, taken):
    world.settings("project", hooks("sleep 0.1; exit 2"))

    def reap(*_):
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN if taken == "ignored" else reap)
    try:
        decision = await world.load().dispatch(WRITE)
    finally:
        signal.signal(signal.SIGCHLD, before)

    (result,) = decision.results
    assert result.exit_code != 0
    assert decision.denied or "its exit status is lost" in result.error


@pytest.mark.anyio
@pytest.mark.skipif(not KEEPS_EXIT_CODES, reason="the system forgets them with the process")
async def test_an_exit_code_is_read_where_the_system_keeps_it(world):
    world.settings("project", hooks("cat >/dev/null; exit 2"))

    with ignoring_children():
        decision = await world.load().dispatch(WRITE)

    assert decision.denied


@pytest.mark.anyio
async def test_a_lost_exit_code_is_a_failure(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    world = World(tmp_path, agent="claude")
    world.settings("user", hooks("exit 2", event="PreToolUse", onFailure="block"))

    with ignoring_children():
        decision = await world.load().dispatch(WRITE)

    (result,) = decision.results
    assert (result.status, result.failed) == ("failed", True)
    assert "its exit status is lost" in result.error
    assert decision.denied


@pytest.mark.anyio
async def test_a_host_that_ignores_its_children_is_reported_at_load(world):
    with ignoring_children():
        found = world.load().diagnostics

    assert [d.code for d in found] == ["exit-code-lost"]
    assert "signal.signal(signal.SIGCHLD, signal.SIG_DFL)" in found[0].message


@contextlib.contextmanager
def ignoring_children():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.anyio
async def test_a_host_that_dies_of_broken_pipes_lives(world):
    world.settings("project", hooks("exec 0<&-; sleep 0.2; exit 2"))
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        decision = await world.load().dispatch(WRITE.replace(tool_input={"x": "x" * 300_000}))
    finally:
        signal.signal(signal.SIGPIPE, before)

    assert decision.denied


@pytest.mark.anyio
async def test_a_bug_in_a_handler_kind_costs_only_that_handler(world, monkeypatch):
    from anyhook.handlers import kinds

    world.settings("project", hooks("exit 2"))
    engine = world.load()
    engine.register("before_tool", lambda event: deny("function"))
    command = kinds.get_kind("command")

    async def broken(context, handler):
        await command(context, handler)
        raise RuntimeError("a bug")

    monkeypatch.setitem(kinds._loaded, "command", broken)

    decision = await engine.dispatch(WRITE)

    assert decision.reason == "function"
    assert decision.results[1].error == "RuntimeError: a bug"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_limit_of_open_files_limits_the_commands(world):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    world.settings("project", hooks(*(f"exit 2 # {i}" for i in range(60))))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        decision = await world.load().dispatch(WRITE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert {str(r.status) for r in decision.results} == {"ran"}


@pytest.mark.anyio
async def test_the_output_that_is_kept_can_be_more(world):
    world.settings("project", hooks("head -c 1200000 /dev/zero | tr '\\0' x"))

    cut = await world.load().dispatch(WRITE)
    whole = await world.load(output_limit=2_000_000).dispatch(WRITE)

    assert (cut.results[0].truncated, whole.results[0].truncated) == (True, False)


@pytest.mark.anyio
async def test_a_late_word_of_a_silent_hook_is_heard(world):
    world.settings("project", hooks('exec > >(sleep 0.4; cat); echo \'{"decision":"deny"}\''))

    assert (await world.load().dispatch(WRITE)).denied


def test_one_engine_serves_several_event_loops(world):
    world.settings("project", hooks("exit 2"))
    engine = world.load()

    for backend in ("asyncio", "trio", "asyncio"):
        assert anyio.run(engine.dispatch, WRITE, backend=backend).denied


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_reload_does_not_change_a_dispatch_that_runs(world):
    begun, go = world.root / "begun", world.root / "go"
    waits = f"touch {begun}; until test -e {go}; do sleep 0.01; done"
    world.settings("user", hooks(waits, "exit 2 # after"))
    text = json.loads(world.files["user"].read_text())
    text["hooks"]["BeforeTool"][0]["sequential"] = True
    world.settings("user", text)
    engine = world.load(watch=True)
    decisions = []

    async def first():
        decisions.append(await engine.dispatch(WRITE))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await anyio.to_thread.run_sync(until, begun.exists)
        del text["hooks"]
        world.settings("user", text)
        await engine.dispatch(BeforeTool(tool_name="x", tool_input={}))
        go.touch()

    assert decisions[0].denied


@pytest.mark.anyio
async def test_a_project_cannot_take_the_environment_from_its_users_hooks(world):
    world.settings("user", hooks('test -n "$HOME" && exit 2'))
    blocked = {"enabled": True, "blocked": ["HOME", "PATH"]}
    world.settings("project", {"security": {"environmentVariableRedaction": blocked}})

    assert (await world.load().dispatch(WRITE)).denied


@pytest.mark.anyio
async def test_without_a_shell_a_command_line_is_a_failed_handler(world):
    world.settings("project", hooks("exit 2"))
    world.environ["PATH"] = "/no/such/place"

    decision = await world.load().dispatch(WRITE)

    assert decision.results[0].error == "there is no shell on the PATH"


@pytest.mark.anyio
async def test_a_closed_engine_refuses(world):
    async with world.load() as engine:
        pass

    with pytest.raises(EngineClosedError):
        await engine.dispatch(WRITE)


@pytest.mark.anyio
async def test_a_changed_settings_file_is_noticed_when_asked(world):
    world.settings("project", hooks("exit 2"))
    engine, watching = world.load(), world.load(watch=True)
    assert (await engine.dispatch(WRITE)).denied
    assert not engine.reload()

    world.settings("project", hooks("exit 0 # fine"))

    assert (await engine.dispatch(WRITE)).denied
    assert not (await watching.dispatch(WRITE)).denied
    assert engine.reload()
    assert not (await engine.dispatch(WRITE)).denied


@pytest.mark.anyio
async def test_loading_twice_parses_once(world, monkeypatch):
    world.settings("project", hooks("exit 2"))
    first = world.load()
    monkeypatch.setattr("anyhook.settings.load.parse_settings", None)

    assert world.load().definitions == first.definitions


@pytest.mark.slow
@pytest.mark.anyio
async def test_only_so_many_commands_run_at_once(world):
    line = "mkdir running.$$; ls -d running.* | wc -l; sleep 0.1; rmdir running.$$"
    world.settings("project", hooks(*(f"{line} # {i}" for i in range(12))))

    decision = await world.load(max_processes=3).dispatch(WRITE)

    counts = [int(r.stdout) for r in decision.results]
    assert max(counts) <= 3
    assert len(counts) == 12


@pytest.mark.slow
@pytest.mark.anyio
async def test_cancelling_a_dispatch_ends_its_commands(world):
    mark = uuid.uuid4().hex
    world.settings("project", hooks("sleep 60 & sleep 60", "trap '' TERM; sleep 60"))
    world.environ[MARK] = mark

    with none_left(mark), anyio.fail_after(20):
        with anyio.move_on_after(0.3) as scope:
            await world.load().dispatch(WRITE)

    assert scope.cancelled_caught


@pytest.mark.slow
@pytest.mark.anyio
async def test_two_hundred_hooks_at_once(world):
    mark = uuid.uuid4().hex
    world.settings("project", hooks(*(f"cat >/dev/null; echo n{i}" for i in range(200))))
    world.environ[MARK] = mark

    with none_left(mark), anyio.fail_after(40):
        decision = await world.load().dispatch(WRITE)

    assert list(decision.system_messages) == [f"n{i}" for i in range(200)]


@pytest.mark.anyio
async def test_redaction_is_available_to_the_host(world):
    world.settings("project", hooks('echo "<$API_KEY>"'))
    world.environ["API_KEY"] = "k"

    plain = await world.load().dispatch(WRITE)
    redacted = await world.load(redact=Redaction(enabled=True)).dispatch(WRITE)

    assert plain.system_messages == ("<k>",)
    assert redacted.system_messages == ("<>",)


@pytest.mark.anyio
async def test_redaction_is_read_from_the_users_settings(world):
    settings = hooks('echo "<$API_KEY><$OTHER_KEY>"')
    switch = {"enabled": True, "allowed": ["OTHER_KEY"]}
    world.settings("user", {**settings, "security": {"environmentVariableRedaction": switch}})
    world.settings(
        "project",
        {"security": {"environmentVariableRedaction": {"enabled": False, "allowed": ["API_KEY"]}}},
    )
    world.environ |= {"API_KEY": "k", "OTHER_KEY": "o"}

    decision = await world.load().dispatch(WRITE)

    assert decision.system_messages == ("<><o>",)


# -- functions


@pytest.mark.anyio
async def test_plain_and_async_functions_decide(world):
    engine = world.load()

    @engine.on("before_tool", matcher="write_file")
    def plain(event):
        """Say no."""
        return deny(f"no {event.tool_name}")

    @engine.on("BeforeTool")
    async def waiting(event):
        await anyio.lowlevel.checkpoint()
        return ask("sure?", context="c")

    decision = await engine.dispatch(WRITE)

    assert (decision.outcome, decision.reason, decision.context) == (
        "deny",
        "no write_file",
        ("c",),
    )
    assert [str(b.handler.layer) for b in decision.blame["outcome"]] == ["runtime"]
    assert decision.results[0].handler.description == "Say no."
    assert str(plain.__code__.co_firstlineno) in decision.explain()


@pytest.mark.anyio
async def test_functions_come_before_the_hooks_of_the_settings(world):
    world.settings("user", hooks("echo settings"))
    engine = world.load()
    engine.register("before_tool", lambda event: Answer(system_message="runtime"), name="f")

    decision = await engine.dispatch(WRITE)

    assert decision.system_messages == ("runtime", "settings")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "outcome", "reason"),
    [
        (None, "none", None),
        (allow("fine"), "allow", "fine"),
        ({"decision": "block", "reason": "r"}, "deny", "r"),
        ({}, "none", None),
    ],
)
async def test_what_a_function_may_return(world, said, outcome, reason):
    engine = world.load()
    engine.register("before_tool", lambda event: said)

    decision = await engine.dispatch(WRITE)

    assert (decision.outcome, decision.reason) == (outcome, reason)
    assert decision.diagnostics == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "error"),
    [
        (5, "returned int; return None, an Answer"),
        ("deny", "returned str"),
    ],
)
async def test_what_a_function_may_not_return(world, said, error):
    engine = world.load()
    engine.register("before_tool", lambda event: said, name="f")
    engine.register("before_tool", lambda event: deny("x"), name="g")

    decision = await engine.dispatch(WRITE)

    assert decision.reason == "x"
    assert error in decision.results[0].error
    assert [d.code for d in decision.diagnostics] == ["handler-failed"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (deny("no", context=["a"]), "context must be a string, not a list"),
        (deny("no", llm_request={"messages": "x"}), "llm_request: messages must be a list"),
        (deny("no", tool_config={"mode": "x"}), "tool_config: toolConfig.mode must be"),
    ],
)
async def test_a_field_of_the_wrong_type_costs_no_verdict(world, said, told):
    engine = world.load()
    engine.register("before_tool", lambda event: said)

    decision = await engine.dispatch(WRITE)

    assert (decision.denied, decision.reason, decision.context) == (True, "no", ())
    assert [d.code for d in decision.diagnostics] == ["output-field"]
    assert told in decision.diagnostics[0].message


@pytest.mark.anyio
async def test_a_function_that_cancels_itself_costs_only_itself(world, anyio_backend):
    if anyio_backend != "asyncio":
        pytest.skip("only asyncio lets a function raise its cancellation")
    engine = world.load()

    async def cancels(event):
        raise asyncio.CancelledError

    for function in (cancels, lambda event: deny("x")):
        engine.register("before_tool", function)

    decision = await engine.dispatch(WRITE)

    assert decision.reason == "x"
    assert decision.results[0].error == "raised CancelledError"


@pytest.mark.anyio
@pytest.mark.parametrize("native", [True, False])
async def test_cancelling_the_dispatch_cancels_the_function(world, anyio_backend, native):
    engine = world.load()
    started = anyio.Event()

    async def waits(event):
        started.set()
        await anyio.sleep_forever()

    engine.register("before_tool", waits)
    if native and anyio_backend == "asyncio":
        task = asyncio.create_task(engine.dispatch(WRITE))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with anyio.move_on_after(0.1) as scope:
            await engine.dispatch(WRITE)
        assert scope.cancelled_caught


@pytest.mark.slow
def test_a_function_that_hangs_does_not_keep_the_program_from_ending(tmp_path):
    program = """if True:
        import time, sys
        from anyhook import BeforeTool, SyncEngine
        with SyncEngine.load(sys.argv[1], home=sys.argv[1]) as engine:
            engine.engine.register("before_tool", lambda e: time.sleep(60), timeout=0.1)
            print(engine.dispatch(BeforeTool(tool_name="t", tool_input={})).results[0].status)
        """
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert done.stdout == "timed_out\n"


@pytest.mark.anyio
@pytest.mark.parametrize("raises", [ValueError("v"), SystemExit(3), KeyError("k")])
async def test_a_function_that_raises_costs_only_itself(world, raises):
    engine = world.load()

    def broken(event):
        raise raises

    engine.register("before_tool", broken)
    engine.register("before_tool", lambda event: deny("x"))

    decision = await engine.dispatch(WRITE)

    assert decision.reason == "x"
    assert decision.results[0].error == f"raised {type(raises).__name__}: {raises}"


@pytest.mark.parametrize(
    ("answer", "status"),
    [(None, "timed_out"), (allow(), "timed_out"), (deny("x"), "ran"), (Answer(stop=True), "ran")],
    ids=["none", "allow", "deny", "stop"],
)
@pytest.mark.anyio
async def test_a_function_that_goes_on_after_its_deadline_loses_all_but_a_denial(
    world, answer, status
):
    async def late(_event):
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.1)
        return answer

    engine = world.load()
    engine.register("before_tool", late, timeout=0.01)

    (result,) = (await engine.dispatch(WRITE)).results

    assert result.status == status
    assert result.answer == (answer if status == "ran" else NO_OPINION)


@pytest.mark.anyio
async def test_the_only_error_of_a_task_group_is_named(world):
    async def fail():
        raise ValueError("v")

    async def broken(_event):
        async with anyio.create_task_group() as group:
            group.start_soon(fail)

    engine = world.load()
    engine.register("before_tool", broken)

    (result,) = (await engine.dispatch(WRITE)).results

    assert result.error == "raised ValueError: v"


@pytest.mark.anyio
async def test_functions_that_hang_run_into_their_timeout(world):
    engine = world.load()
    release = threading.Event()

    async def forever(event):
        await anyio.sleep_forever()

    engine.register("before_tool", forever, timeout=0.05)
    engine.register("before_tool", lambda event: release.wait(20), timeout=0.05, name="thread")

    with anyio.fail_after(10):
        decision = await engine.dispatch(WRITE)
    release.set()

    assert [r.timed_out for r in decision.results] == [True, True]
    assert [d.code for d in decision.diagnostics] == ["handler-timeout"] * 2


@pytest.mark.anyio
async def test_what_a_function_in_a_thread_prints_to_its_context_stays(world):
    import contextvars

    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("host")
    seen = []
    engine = world.load()
    engine.register("before_tool", lambda event: seen.append(variable.get()))

    await engine.dispatch(WRITE)

    assert seen == ["host"]


@pytest.mark.anyio
async def test_many_subjects_are_planned_without_growing(world, monkeypatch):
    monkeypatch.setattr("anyhook.engine.engine.MAX_PLANS", 10)
    engine = world.load()

    for i in range(35):
        await engine.dispatch(WRITE.replace(tool_name=f"t{i}"))

    assert len(engine._plans) <= 10


def test_a_pipe_in_the_place_of_a_file_does_not_hold_the_host(world):
    world.files["project"].parent.mkdir(parents=True)
    os.mkfifo(world.files["project"])

    (found,) = world.load().diagnostics

    assert found.message == "it is not a regular file"


def test_a_handler_that_is_no_command_has_nothing_to_check(world):
    from anyhook.checks.rules import check_hooks

    engine = world.load()
    engine.register("before_tool", print)

    found = check_hooks(engine)

    assert list(found) == []


@pytest.mark.anyio
async def test_a_function_can_run_on_the_loop(world):
    engine = world.load()
    threads = []
    engine.register("before_tool", lambda e: threads.append(threading.get_ident()), threaded=False)
    engine.register("before_tool", lambda e: threads.append(threading.get_ident()))

    await engine.dispatch(WRITE)

    assert threading.get_ident() in threads
    assert len(set(threads)) == 2


@pytest.mark.anyio
async def test_an_object_with_an_async_call_is_a_function(world):
    class Guard:
        async def __call__(self, event):
            return deny("object")

    engine = world.load()
    engine.register("before_tool", Guard(), name="guard")

    assert (await engine.dispatch(WRITE)).reason == "object"


@pytest.mark.anyio
async def test_a_function_that_returns_an_awaitable_is_awaited(world):
    async def inner(event):
        return deny("awaited")

    engine = world.load()
    engine.register("before_tool", lambda event: inner(event), threaded=False)

    assert (await engine.dispatch(WRITE)).reason == "awaited"


@pytest.mark.anyio
async def test_a_function_has_an_event_of_its_own(world):
    engine = world.load()

    def spoil(event):
        event.tool_input["content"] = "spoilt"
        event.tool_input["list"] = [1]

    engine.register("before_tool", spoil)
    event = BeforeTool(tool_name="write_file", tool_input={"content": "x", "nested": [{"a": 1}]})

    await engine.dispatch(event)

    assert event.tool_input == {"content": "x", "nested": [{"a": 1}]}


@pytest.mark.anyio
async def test_a_function_can_be_taken_back(world):
    engine = world.load()
    handler = engine.register("before_tool", lambda event: deny("x"))
    assert (await engine.dispatch(WRITE)).denied

    engine.unregister(handler)

    assert not (await engine.dispatch(WRITE)).denied


@pytest.mark.anyio
async def test_a_function_that_is_taken_back_stays_where_else_it_was_registered(world):
    engine = world.load()

    def guard(_event):
        return deny("x")

    engine.register("before_tool", guard, matcher="write_file")
    for_reading = engine.register("before_tool", guard, matcher="read_file")

    engine.unregister(for_reading)

    assert (await engine.dispatch(WRITE)).denied


@pytest.mark.anyio
async def test_functions_survive_a_reload(world):
    engine = world.load()
    engine.register("before_tool", lambda event: deny("x"))

    engine.reload()

    assert (await engine.dispatch(WRITE)).denied


def test_a_function_for_an_unknown_event_is_refused(world):
    with pytest.raises(UnknownNameError, match="did you mean 'BeforeTool'"):
        world.load().register("BeforeTol", print)


@pytest.mark.anyio
async def test_functions_change_every_field(world):
    engine = world.load()
    engine.register("before_model", lambda e: Answer(llm_request={"model": "n"}))
    engine.register("after_agent", lambda e: deny("again", clear_context=True))
    request = {"model": "m", "messages": []}

    model = await engine.dispatch(BeforeModel(llm_request=request))
    again = await engine.dispatch(AfterAgent(prompt="p", prompt_response="r"))

    assert model.llm_request == {"model": "n", "messages": []}
    assert (again.denied, again.clear_context) == (True, True)


# -- the synchronous face


def test_the_engine_without_a_loop(world):
    world.settings("project", hooks("echo no >&2; exit 2"))

    with SyncEngine.load(
        world.project, home=world.home, environ=world.environ, trust_once=True
    ) as engine:
        assert engine.dispatch(WRITE).reason == "no"
        assert engine.dispatch(SessionEnd(reason="exit")) is NO_DECISION
        from_threads = []
        threads = [
            threading.Thread(target=lambda: from_threads.append(engine.dispatch(WRITE).reason))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert from_threads == ["no"] * 4
    with pytest.raises(EngineClosedError):
        engine.dispatch(WRITE)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_inside_a_loop_the_synchronous_face_says_what_to_do(world, backend):
    async def inside():
        with SyncEngine(world.load()) as engine:
            engine.dispatch(WRITE)

    with pytest.raises(UsageError, match=r"await Engine\.dispatch"):
        anyio.run(inside, backend=backend)


# -- loading


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agent": "gemeni"}, "no agent named 'gemeni'; did you mean 'gemini'?"),
        ({"rules": "documentd"}, "did you mean 'documented'?"),
        ({"rules": "xyz"}, "known: documented"),
    ],
)
def test_unknown_names_are_reported(world, options, message):
    with pytest.raises(UnknownNameError) as caught:
        world.load(**options)

    assert message in str(caught.value)


def test_the_home_can_be_elsewhere(world, monkeypatch):
    world.settings("user", hooks("exit 2"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(world.home))

    assert len(Engine.load(world.project).definitions) == 1


@pytest.mark.parametrize(
    ("platform", "wanted"),
    [
        ("linux", "/etc/gemini-cli/settings.json"),
        ("darwin", "/Library/Application Support/GeminiCli/settings.json"),
        ("win32", "C:/ProgramData/gemini-cli/settings.json"),
    ],
)
def test_the_systems_file_has_a_place_on_every_platform(tmp_path, platform, wanted):
    from anyhook.agents import get_agent
    from anyhook.settings.sources import Location, find_sources

    location = Location(tmp_path, tmp_path / "home", {}, platform)
    sources = find_sources(get_agent("gemini"), location).sources

    places = {str(source.layer): str(source.path) for source in sources}
    assert places["system"] == wanted
    assert places["system-defaults"] == wanted.replace("settings.json", "system-defaults.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_reported(world):
    world.settings("project", "{}").chmod(0)

    assert [d.code for d in world.load().diagnostics] == ["settings-unreadable"]


def test_a_settings_file_that_is_a_directory_is_reported(world):
    world.files["project"].mkdir(parents=True)

    assert [d.code for d in world.load().diagnostics] == ["settings-unreadable"]


@pytest.mark.slow
def test_no_depth_of_nesting_keeps_the_other_files_from_loading(world):
    world.settings("user", hooks("exit 2"))
    for depth in (*range(880, 1010, 3), 100_000):
        nested_text = "[" * depth + "]" * depth
        world.settings("project", f'{{"x": {nested_text}, "hooks": {{"BeforeTool": [{{}}]}}}}')
        engine = world.load()
        assert [str(d.layer) for d in engine.definitions] == ["user"]
        assert engine.diagnostics


def test_a_settings_file_that_is_no_utf8_is_reported(world):
    world.write(world.files["project"], "")
    world.files["project"].write_bytes(b'{"a": "\xff"}')

    (found,) = world.load().diagnostics
    assert (found.code, found.message) == ("settings-unreadable", "not UTF-8 at byte 7")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_the_program_of_the_sync_engine_leaves_nothing(world):
    mark = uuid.uuid4().hex
    world.environ[MARK] = mark
    world.settings("project", hooks("sleep 60 & exec sleep 60", timeout=600))

    with SyncEngine(world.load()) as engine:
        assert engine.dispatch(WRITE).results[0].timed_out

    until(lambda: not marked(mark), "processes are left")


@pytest.mark.anyio
async def test_the_same_output_makes_equal_decisions_that_share_nothing(world):
    told = {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"a": {"b": 1}}}}
    world.settings("project", hooks(f"echo '{json.dumps(told)}'"))
    async with world.load() as engine:
        first = await engine.dispatch(WRITE)
        first.tool_input["a"]["b"] = 2

        assert (await engine.dispatch(WRITE)).tool_input["a"] == {"b": 1}


@pytest.mark.anyio
async def test_the_same_output_may_mean_something_else_to_another_hook_or_event(world):
    settings = hooks("cat >/dev/null; echo no >&2; exit 2", "cat >/dev/null; echo no >&2; exit 2")
    settings["hooks"]["AfterTool"] = settings["hooks"]["BeforeTool"]
    world.settings("project", settings)
    after = AfterTool(tool_name="write_file", tool_input={"content": "x"}, tool_response={})
    async with world.load() as engine:
        for _ in range(2):
            before = await engine.dispatch(WRITE)
            assert [blame.handler.label for blame in before.blame["outcome"]] == ["h1", "h2"]
            later = await engine.dispatch(after)
            assert [r.handler.place.line for r in later.results] != [
                r.handler.place.line for r in before.results
            ]


@pytest.mark.anyio
async def test_an_event_happened_when_it_was_dispatched_however_long_it_waits(world):
    go, told = world.root / "go", world.root / "told"
    line = f"cat >> {told}; echo >> {told}; while [ ! -e {go} ]; do sleep 0.01; done"
    world.settings("project", hooks(line))
    async with world.load(max_processes=1) as engine, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(engine.dispatch, WRITE)
        await anyio.to_thread.run_sync(until, lambda: told.exists() and "}" in told.read_text())
        begun = datetime.datetime.now(datetime.UTC)
        later = begun + datetime.timedelta(milliseconds=10)  # a timestamp has milliseconds
        await anyio.to_thread.run_sync(until, lambda: datetime.datetime.now(datetime.UTC) > later)
        go.touch()

    times = [json.loads(line)["timestamp"] for line in told.read_text().splitlines()]
    assert len(times) == 3
    assert all(datetime.datetime.fromisoformat(time) <= begun for time in times)


@pytest.mark.anyio
async def test_a_variable_that_the_hook_itself_sets_needs_no_repair(world):
    line = "cat >/dev/null; echo $BIG >&2; exit 2"
    world.settings("project", hooks(line, env={"BIG": "ok"}))
    world.environ["BIG"] = "x" * 200_000
    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    assert decision.reason == "ok"
    assert not decision.diagnostics


@pytest.mark.parametrize("timeout", [-1, 0, "x", float("nan"), float("inf"), [1]])
def test_a_timeout_that_is_not_a_number_of_seconds_is_refused_at_once(project, timeout):
    engine = Engine.load(project)
    with pytest.raises(UsageError, match="timeout must be a positive number"):
        engine.register("before_tool", lambda _event: None, timeout=timeout)
    with pytest.raises(UsageError, match="timeout must be a positive number"):
        Hooks(timeout=timeout)
