"""Hooks written once: as a command, in the engine, in a test; and what they cost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook import Engine
from anyhook.agents import AGENTS, get_agent
from anyhook.authoring import (
    Answer,
    Hooks,
    allow,
    ask,
    change_request,
    context,
    defer,
    deny,
    message,
    replace_result,
    respond,
    stop,
)
from anyhook.authoring.degrade import fit
from anyhook.authoring.inspect import scan, uses_without_support
from anyhook.errors import UsageError
from anyhook.testing import load_hooks, make_event, make_payload, run_hook
from tests.world import World

GUARD = """
from anyhook.authoring import Hooks, allow, ask, deny

hooks = Hooks()

@hooks.before_tool("shell", "write_file")
def guard(event):
    '''Keep secrets out of files.'''
    if "AKIA" in event.text:
        return deny("that looks like an AWS key")

if __name__ == "__main__":
    hooks.run()
"""
CODING_AGENTS = ("claude", "gemini", "terminai", "generic")


@pytest.fixture
def hook_file(tmp_path):
    def write(text, name="guard.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def feed(path, payload, *args, environ=None, **options):
    return subprocess.run(
        [sys.executable, str(path), *args],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, **(environ or {})},
        check=False,
        **options,
    )


# -- one file, everywhere


@pytest.mark.parametrize("agent", CODING_AGENTS)
@pytest.mark.parametrize("process", [False, True])
def test_one_file_denies_in_every_agent(hook_file, agent, process):
    path = hook_file(GUARD)
    secret = {"tool": "write_file", "input": {"file_path": "a", "content": "AKIA1"}}

    ran = run_hook(path, "before_tool", agent=agent, process=process, **secret)
    harmless = run_hook(
        path, "before_tool", agent=agent, process=process, tool="shell", input={"command": "ls"}
    )
    other = run_hook(
        path, "before_tool", agent=agent, process=process, tool="web_fetch", input={"url": "AKIA"}
    )

    assert (ran.outcome, ran.reason, ran.exit_code) == ("deny", "that looks like an AWS key", 0)
    assert harmless.outcome == other.outcome == "none"
    assert ran.diagnostics == harmless.diagnostics == ()


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_same_file_is_a_handler_set_of_an_engine(hook_file, tmp_path, agent):
    world = World(tmp_path, agent=agent)
    engine = world.load()
    load_hooks(hook_file(GUARD)).register(engine)
    secret = {"tool": "write_file", "input": {"file_path": "a", "content": "AKIA1"}}

    decision = asyncio.run(engine.dispatch(make_event("before_tool", agent=agent, **secret)))
    other = asyncio.run(
        engine.dispatch(make_event("before_tool", agent=agent, tool="read_file", input={}))
    )

    assert (str(decision.outcome), decision.reason) == ("deny", "that looks like an AWS key")
    assert decision.blame["outcome"][0].handler.label == "guard"
    assert str(other.outcome) == "none"


SAYS = st.one_of(
    st.none(),
    st.builds(deny, st.text(max_size=5)),
    st.builds(ask, st.none() | st.just("sure?")),
    st.builds(allow, st.none() | st.just("fine"), approve=st.booleans()),
    st.builds(stop, st.text(min_size=1, max_size=5)),
    st.builds(context, st.text(min_size=1, max_size=5)),
    st.builds(message, st.text(min_size=1, max_size=5)),
    st.builds(
        lambda d: Answer(tool_input=d), st.dictionaries(st.sampled_from("abc"), st.integers())
    ),
    st.just(Answer(suppress_output=True)),
)


@pytest.mark.slow
@settings(deadline=None)  # a busy machine is slow
@given(st.lists(SAYS, min_size=1, max_size=4), st.sampled_from(["claude", "gemini", "generic"]))
def test_a_file_says_the_same_as_a_command_and_in_the_engine(said, agent):
    hooks = Hooks("file")
    for answer in said:
        hooks.before_tool(lambda _event, answer=answer: answer)
    event = make_event("before_tool", agent=agent, tool="shell", input={"command": "ls"})
    engine = Engine.load("/", agent=agent, home="/nonexistent", environ={})
    hooks.register(engine)

    alone = hooks.answer(event)
    decision = asyncio.run(engine.dispatch(event))

    assert alone.outcome is decision.outcome
    assert alone.stop is decision.stop
    assert alone.approve is decision.approve
    assert (alone.context or "") == "\n".join(decision.context)
    assert (alone.system_message or "") == "\n".join(decision.system_messages)
    assert alone.suppress_output is decision.suppress_output
    own = event.tool_input
    assert {**own, **(alone.tool_input or {})} == (decision.tool_input or own)
    if not alone.stop:
        names_the_hook = "blocked by hook '<lambda>'" if decision.denied else None
        assert (alone.reason or names_the_hook) == (decision.reason or None)


# -- what it costs

TOO_DEAR = {
    "asyncio", "msgspec", "typing", "dataclasses", "inspect", "anyio", "typer", "rich", "click",
    "httpx", "pathlib", "regress", "logging", "subprocess", "argparse", "traceback", "threading",
}  # fmt: skip


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_hook_loads_no_more_than_it_needs(hook_file, agent):
    path = hook_file(GUARD)
    program = (
        "import atexit, sys; before = set(sys.modules); sys.argv = [sys.argv[1]];"
        "atexit.register(lambda: print(*(set(sys.modules) - before), file=sys.stderr));"
        "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'), {'__name__': '__main__'})"
    )
    payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "AKIA"})

    done = subprocess.run(
        [sys.executable, "-S", "-c", program, str(path)],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    loaded = set(done.stderr.decode().split())

    assert b"AWS key" in done.stdout
    assert "anyhook.authoring.run" in loaded
    assert not TOO_DEAR & {name.partition(".")[0] for name in loaded}
    assert not {name for name in loaded if name.startswith("anyhook.engine")}
    others = {f"anyhook.agents.{name}.spec" for name in CODING_AGENTS if name != agent}
    needs = {"terminai": {"anyhook.agents.gemini.spec"}}.get(agent, set())
    assert not (others - needs) & loaded
    assert not {name for name in loaded if ".settings" in name}


# -- whatever happens, one valid answer


def test_what_a_function_prints_does_not_spoil_the_answer(hook_file):
    path = hook_file(
        GUARD.replace(
            '    if "AKIA"',
            "    import os; print('noise'); os.system('echo more noise')\n    if \"AKIA\"",
        )
    )
    ran = run_hook(
        path, "before_tool", agent="claude", process=True, tool="shell", input={"command": "AKIA"}
    )

    assert ran.outcome == "deny"
    assert "noise" in ran.stderr
    assert "noise" not in ran.stdout


def test_an_event_without_words_for_the_agent_is_answered_with_silence(hook_file):
    path = hook_file(
        """
        from anyhook.authoring import Hooks
        hooks = Hooks()
        @hooks.before_tool_selection
        def choose(event):
            print("noise")
        hooks.run()
        """
    )
    ran = run_hook(path, "before_tool_selection", agent="gemini", process=True)

    assert (ran.stdout, ran.stderr) == ("", "")  # any output at all would switch the tools off


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "outcome"), [("allow", "none"), ("deny", "deny")])
def test_a_hang_ends_before_the_agent_gives_up(hook_file, choice, outcome):
    path = hook_file(
        f"""
        from anyhook.authoring import Hooks
        hooks = Hooks(on_crash={choice!r})
        @hooks.before_tool
        def slow(event):
            while True:
                try:
                    import time
                    time.sleep(60)
                except BaseException:
                    pass
        hooks.run()
        """
    )
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "ls"})
    done = feed(path, payload, "--timeout", "0.2")
    said = json.loads(done.stdout)

    assert done.returncode == 0
    specific = said.get("hookSpecificOutput", {})
    assert specific.get("permissionDecision", "none") == outcome
    assert "ran out of time" in json.dumps(said)


def test_a_crash_can_be_looked_up_where_the_author_wants_it(hook_file, tmp_path):
    path = hook_file(GUARD.replace('"AKIA" in', "undefined_name in"))
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": "ls"})
    log = tmp_path / "log.txt"
    done = feed(path, payload, environ={"ANYHOOK_LOG": str(log)})

    assert b"Traceback" not in done.stdout + done.stderr
    assert b"undefined_name" not in done.stdout + done.stderr
    assert b"NameError" in done.stdout
    assert "undefined_name" in log.read_text()


@pytest.mark.slow
def test_an_async_function_is_awaited(hook_file):
    path = hook_file(
        """
        import asyncio
        from anyhook.authoring import Hooks, deny
        hooks = Hooks()
        @hooks.before_tool
        async def slow(event):
            await asyncio.sleep(0)
            return deny("after all")
        if __name__ == "__main__":
            hooks.run()
        """
    )
    for process in (False, True):
        ran = run_hook(path, "before_tool", agent="gemini", process=process, tool="shell", input={})
        assert ran.reason == "after all"


def test_a_hook_started_by_hand_says_what_it_is(hook_file):
    import pty

    path = hook_file(GUARD)
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, str(path)], stdin=follower, capture_output=True, text=True, check=False
    )
    os.close(leader)
    os.close(follower)

    assert done.returncode == 1
    assert "anyhook test" in done.stderr


def test_an_agent_that_closes_the_pipe_hurts_nobody(hook_file):
    path = hook_file(GUARD)
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": "AKIA"})
    child = subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.stdout.close()
    child.stdin.write(json.dumps(payload).encode())
    child.stdin.close()
    stderr = child.stderr.read()
    child.stderr.close()

    assert child.wait() == 2  # the last way to deny
    assert b"Traceback" not in stderr


# -- the functions of a file


def test_functions_see_what_those_before_them_changed_and_stop_at_a_denial():
    hooks = Hooks()
    seen = []

    @hooks.before_tool("shell")
    def first(event):
        seen.append(event.call.command)
        return event.rewrite(command="echo 1")

    @hooks.before_tool("sh*")
    def second(event):
        seen.append(event.call.command)
        return deny("no")

    @hooks.before_tool
    def third(event):
        seen.append("never")

    event = make_event("before_tool", agent="gemini", tool="shell", input={"command": "ls"})
    answer = hooks.answer(event)

    assert seen == ["ls", "echo 1"]
    assert (str(answer.outcome), answer.tool_input["command"]) == ("deny", "echo 1")


@pytest.mark.parametrize(("agent", "name"), [("claude", "Bash"), ("gemini", "run_shell_command")])
def test_a_tool_may_be_named_as_one_agent_does(agent, name):
    hooks = Hooks()
    hooks.before_tool(name)(lambda _event: deny("no"))

    for other in ("claude", "gemini"):
        event = make_event("before_tool", agent=other, tool="shell", input={})
        assert (str(hooks.answer(event).outcome) == "deny") is (other == agent)


def test_subjects_of_other_events_are_matched_too():
    hooks = Hooks()
    hooks.session_start("resume")(lambda _event: context("again"))
    hooks.subagent_stop("Explore")(lambda _event: deny("look again"))
    claude = get_agent("claude")

    def answer(event, **fields):
        return hooks.answer(make_event(event, agent="claude", **fields), claude)

    assert answer("session_start", source="resume").context == "again"
    assert answer("session_start", source="startup").context is None
    assert answer("subagent_stop", agent_type="Explore").reason == "look again"
    assert answer("subagent_stop", agent_type="Plan").reason is None


def test_the_traceback_of_an_async_function_has_no_other_error():
    async def fail(_event):
        raise ValueError("v")

    hooks = Hooks()
    hooks.before_tool(fail)
    with pytest.raises(ValueError, match="v") as raised:
        hooks.answer(make_event("before_tool", agent="claude", tool="shell", input={}))

    assert raised.value.__context__ is None


def test_mistakes_are_reported_with_what_was_meant():
    hooks = Hooks()
    with pytest.raises(AttributeError, match="did you mean 'before_tool'"):
        hooks.before_tol("shell")
    with pytest.raises(AttributeError, match="there is no event 'nope'"):
        hooks.on("nope")
    with pytest.raises(UsageError, match="takes names"):
        hooks.on("before_tool", 3)
    for pattern in ("shell|write_file", "Bash(git *)", "^shell$", "mcp__github__.*", " shell"):
        with pytest.raises(UsageError, match=r"only \* is special, not"):
            hooks.before_tool(pattern)
    with pytest.raises(UsageError, match=r"not 'startup\|resume'"):
        hooks.session_start("startup|resume")
    hooks.before_tool("mcp__my-server__*", "server.tool:x/y")
    with pytest.raises(UsageError, match="did you mean 'deny'"):
        Hooks(on_crash="den")
    with pytest.raises(UsageError, match="positive number"):
        Hooks(timeout=0)
    with pytest.raises(UsageError, match="expect="):
        hooks.example(tool="shell", expect="denied")
    with pytest.raises(UsageError, match="there is no event"):
        hooks.example("before_lunch", expect="deny")
    hooks.before_tool(lambda _event: "deny")
    with pytest.raises(TypeError, match="returned str; return None"):
        hooks.answer(make_event("before_tool", agent="claude", tool="shell", input={}))
    hooks = Hooks()
    hooks.before_tool(lambda _event: Answer(outcome="never"))
    with pytest.raises(TypeError, match="not a verdict"):
        hooks.answer(make_event("before_tool", agent="claude", tool="shell", input={}))


def test_the_arguments_of_an_example_are_a_mapping():
    with pytest.raises(UsageError, match="write a dict, like"):
        Hooks().example(tool="shell", input="ls", expect="none")


def test_the_small_words_say_what_they_mean():
    assert str(defer().outcome) == "defer"
    assert change_request(model="m").llm_request == {"model": "m"}
    assert replace_result({"a": 1}).tool_output == {"a": 1}
    assert respond("hi").llm_response["text"] == "hi"
    assert respond("hi").llm_response["candidates"][0]["content"]["parts"] == ["hi"]


@pytest.mark.parametrize("agent", ["gemini", "claude"])
def test_tools_are_chosen_by_their_canonical_names(agent):
    if agent == "claude":
        pytest.skip("it has no such event")
    event = make_event("before_tool_selection", agent=agent)

    assert event.only("shell", "edit_file", "mcp__a__b").tool_config == {
        "mode": "ANY",
        "allowedFunctionNames": ["run_shell_command", "replace", "mcp_a_b"],
    }
    assert event.only().tool_config == {"mode": "NONE", "allowedFunctionNames": []}


def test_a_rewrite_speaks_the_agents_words():
    event = make_event(
        "before_tool", agent="gemini", tool="grep", input={"pattern": "a", "path": "src"}
    )

    assert event.tool_input == {"pattern": "a", "dir_path": "src"}
    assert event.call.path == "src"
    assert event.rewrite(path="lib").tool_input == {"pattern": "a", "dir_path": "lib"}
    with pytest.raises(AttributeError, match="has no 'command'"):
        _ = event.call.command


# -- results of tools


@pytest.mark.parametrize(
    ("response", "want"),
    [
        ({"stdout": "a", "stderr": "b", "exitCode": 3}, {"text": "a\nb", "exit_code": 3}),
        ({"stdout": "a", "stderr": "", "interrupted": True}, {"text": "a", "interrupted": True}),
        ({"filePath": "/a", "success": True}, {"file_path": "/a", "text": ""}),
        (
            {"type": "text", "file": {"filePath": "/a", "content": "x"}},
            {"file_path": "/a", "text": "x"},
        ),
        ({"content": "x", "lineCount": 1, "truncated": False}, {"text": "x"}),
        ({"llmContent": "x", "returnDisplay": "y", "error": None}, {"text": "x", "error": None}),
        ({"llmContent": "", "error": {"message": "no", "type": "t"}}, {"error": "no\nt"}),
        ([{"text": "a"}, {"text": "b"}], {"text": "a\nb"}),
        ("plain", {"text": "plain"}),
        (None, {"text": ""}),
        ({"exitCode": True}, {"exit_code": None}),
    ],
)
def test_results_of_every_shape_are_read(response, want):
    event = make_event("after_tool", agent="claude", tool="shell", input={}, tool_response=response)

    assert {name: getattr(event.result, name) for name in want} == want
    assert event.result.raw == response


def test_a_failure_of_a_command_names_its_exit_code():
    event = make_event(
        "post_tool_use_failure",
        agent="claude",
        tool="shell",
        input={},
        error="Exit code 3\nbad",
    )
    other = make_event(
        "post_tool_use_failure", agent="claude", tool="shell", input={}, error="gone"
    )

    assert (event.result.exit_code, event.result.text) == (3, "bad")
    assert (other.result.exit_code, other.result.text) == (None, "gone")


# -- told without running


def test_a_file_is_looked_into_without_being_run(hook_file):
    path = hook_file(
        """
        from anyhook.authoring import Hooks, allow, ask, context, deny
        raise SystemExit("this must not run")
        hooks = Hooks()
        @hooks.before_tool("shell")
        def guard(event):
            if event.text: return ask("sure?")
            return event.rewrite(command="x")
        @hooks.on("before_model")
        async def model(event):
            return deny("no")
        @hooks.session_end
        def end(event):
            return allow(context="x", approve=True)
        """
    )
    uses = scan(path)

    assert [(u.event, u.subjects, u.abilities) for u in uses] == [
        ("before_tool", ("shell",), ("ask", "rewrite")),
        ("before_model", (), ("deny",)),
        ("session_end", (), ("context", "approve")),
    ]
    assert [text for _, text in uses_without_support(uses, get_agent("claude"))] == [
        "Claude Code has no event before_model; it never runs there",
        "Claude Code has no context for the agent on SessionEnd",
        "Claude Code has no approvals on SessionEnd",
    ]
    assert len(uses_without_support(uses, get_agent("terminai"))) == 4
    assert scan(hook_file("x = 1\n")) == []
    assert scan(hook_file("anyhook.authoring (")) == []
    assert scan(path.parent / "nothing.py") == []


@pytest.mark.parametrize(
    ("decorators", "problems"),
    [
        ("@hooks.post_tool_use_failure", ["Gemini CLI reports failed calls in after_tool"]),
        ("@hooks.post_tool_use_failure\n@hooks.after_tool", []),
    ],
)
def test_an_event_of_failed_calls_is_no_gap_next_to_that_of_all_calls(
    hook_file, decorators, problems
):
    path = hook_file(
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n"
        f"{decorators}\ndef ends(event):\n    pass\n"
    )

    texts = [text for _, text in uses_without_support(scan(path), get_agent("gemini"))]
    assert [text.partition(";")[0] for text in texts] == problems
    assert uses_without_support(scan(path), get_agent("claude")) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_what_degrades_is_reported_and_still_an_answer(agent):
    event = make_event("before_tool", agent=agent, tool="shell", input={"command": "ls"})
    answer, notes = fit(get_agent(agent), event, Answer(clear_context=True))

    assert notes
    assert answer.clear_context is (agent == "nobody")


@pytest.mark.slow
def test_a_thread_that_is_left_running_does_not_hold_the_answer(hook_file):
    path = hook_file(
        """
        import threading, time
        from anyhook.authoring import Hooks, deny
        hooks = Hooks()
        @hooks.before_tool
        def guard(event):
            threading.Thread(target=lambda: time.sleep(1000)).start()
            return deny("no")
        hooks.run()
        """
    )
    ran = run_hook(
        path, "before_tool", agent="claude", process=True, tool="shell", input={"command": "ls"}
    )

    assert (ran.exit_code, ran.outcome) == (0, "deny")


def test_a_function_changes_only_its_own_copy():
    hooks = Hooks()
    seen = []

    @hooks.before_tool
    def careless(event):
        event.tool_input["command"] = "evil"

    @hooks.before_tool
    def next_one(event):
        seen.append((event.call.command, event.raw["tool_input"]["command"]))

    hooks.answer(make_event("before_tool", agent="claude", tool="shell", input={"command": "ls"}))

    assert seen == [("ls", "ls")]


BAD = {
    "interrupt": "raise KeyboardInterrupt('SECRET')",
    "unwritable": "return event.rewrite(command=Weird())",
    "group": "raise BaseExceptionGroup('x', [ValueError('SECRET')])",
}


@pytest.mark.parametrize("what", BAD)
def test_a_hook_that_must_not_fail_denies_whatever_happens(hook_file, what):
    path = hook_file(
        f"""
        from anyhook.authoring import Hooks, deny
        class Weird:
            def __str__(self): raise RuntimeError("SECRET")
            __repr__ = __str__
        hooks = Hooks(on_crash="deny")
        @hooks.before_tool
        def guard(event):
            {BAD[what]}
        hooks.run()
        """
    )
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "ls"})
    done = feed(path, payload)

    assert done.returncode == 0
    assert b'"deny"' in done.stdout
    assert b"SECRET" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
def test_a_denial_without_an_output_is_an_exit_code(hook_file, tmp_path, redirect):
    path = hook_file(GUARD.replace("Hooks()", "Hooks(on_crash='deny')"))
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "AKIA"})
    (tmp_path / "event.json").write_text(json.dumps(payload))
    line = f"'{sys.executable}' '{path}' < event.json {redirect}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 2
    assert done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GUARD.replace('if __name__ == "__main__":', "if True:"), "runs when it is imported"),
        ("from anyhook.authoring import Hooks\nHooks\nraise SystemExit(3)", "SystemExit: 3"),
        (GUARD + "\nother = Hooks()\n@other.before_prompt\ndef f(e): pass\n", "keep one in a file"),
    ],
)
def test_a_file_that_cannot_be_looked_at_is_reported(hook_file, text, words):
    with pytest.raises(UsageError, match=words):
        load_hooks(hook_file(text))


def test_the_hooks_of_a_file_are_those_that_it_writes(hook_file):
    hook_file(GUARD.replace('before_tool("shell", "write_file")', "session_start"), "sibling.py")
    path = hook_file("from sibling import hooks as shared\n" + GUARD, "own.py")

    assert [f.event for f in load_hooks(path).functions] == ["before_tool"]


def test_a_missing_file_is_no_denial():
    with pytest.raises(UsageError, match="is not a file"):
        run_hook("typo.py", "before_tool", process=True, tool="shell", input={})


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_the_server_behind_a_tool_comes_along(agent):
    hooks = Hooks()
    hooks.before_tool("mcp__gh__*")(lambda _event: deny("no"))

    assert run_hook(hooks, "before_tool", agent=agent, tool="mcp__gh__make").outcome == "deny"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_text_of_an_exception_stays_with_the_author(tmp_path, is_async):
    hooks = Hooks()

    def plain(_event):
        raise ValueError("SECRET")

    async def slow(_event):
        raise ValueError("SECRET")

    hooks.before_tool(slow if is_async else plain)
    engine = World(tmp_path, agent="claude").load()
    hooks.register(engine)
    event = make_event("before_tool", agent="claude", tool="shell", input={})
    decision = asyncio.run(engine.dispatch(event))

    assert "ValueError" in decision.results[0].error
    assert "SECRET" not in str(decision)


def test_a_script_below_a_dollar_is_bound(tmp_path):
    world = World(tmp_path, project="a$b", agent="claude")
    script = world.write(world.project / "g.sh", "exit 0")
    world.settings(
        "project",
        {
            "hooks": {
                "Stop": [
                    {"hooks": [{"type": "command", "command": 'sh "${CLAUDE_PROJECT_DIR}/g.sh"'}]}
                ]
            }
        },
    )
    [subject] = world.load(trust_once=False).guard.subjects()

    assert [s.path for s in subject.scripts] == [script]
    assert subject.unclear == ()


def test_a_function_that_forks_answers_once(hook_file):
    path = hook_file(
        """
        import os
        from anyhook.authoring import Hooks, deny
        hooks = Hooks()
        @hooks.before_tool
        def guard(event):
            if os.fork():
                os.wait()
            return deny("no")
        hooks.run()
        """
    )
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": "ls"})
    done = feed(path, payload)

    assert json.loads(done.stdout) == {"decision": "deny", "reason": "no"}


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["allow", "deny"])
def test_a_denial_is_not_lost_for_something_unwritable_beside_it(hook_file, choice):
    path = hook_file(
        f"""
        from anyhook.authoring import Hooks, deny
        class Weird:
            def __str__(self): raise RuntimeError("SECRET")
            __repr__ = __str__
        hooks = Hooks(on_crash={choice!r})
        @hooks.before_tool
        def guard(event):
            return deny("not that", tool_input={{"command": Weird()}})
        hooks.run()
        """
    )
    for agent in ("claude", "terminai"):
        payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})
        done = feed(path, payload)

        assert done.returncode == 0
        assert b"not that" in done.stdout
        assert b"SECRET" not in done.stdout + done.stderr
