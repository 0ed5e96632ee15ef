"""The plugin of OpenCode, run by node: what it sends, and what it does with replies."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from tests.agents.opencode import after, before, bus, message, run_plugin, write_plugin
from tests.world import World, command

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node"),
    pytest.mark.slow,
]

ANYHOOK = (sys.executable, "-P", "-m", "anyhook", "dispatch", "--agent", "opencode")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="opencode")


def configure(world, layer="project", **replies):
    """Configure one hook for each event, by its name with `_` for `.`; it gives a reply."""
    hooks = {}
    for name, says in replies.items():
        wire = name.replace("_", ".")
        record = world.root / f"{wire}.jsonl"
        line = f"cat >> '{record}'; {command(says)}"
        hooks[wire] = [{"hooks": [{"type": "command", "command": line, "timeout": 20}]}]
    world.settings(layer, {"hooks": hooks})


def seen(world, wire):
    """Return the payloads that a hook got."""
    path = world.root / f"{wire}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def reply(**members):
    return {"stdout": members}


# -- tools


def test_a_denial_is_thrown_with_the_reason_alone(world):
    configure(world, tool_execute_before={"exit": 2, "stderr": "NO-RM"})
    run = run_plugin(world, [before("rm -rf /")])

    assert run.last["error"] == "NO-RM"
    assert run.last["output"]["args"] == {"command": "rm -rf /", "description": "d"}


def test_a_tool_that_no_hook_objects_to_is_left_alone(world):
    configure(world, tool_execute_before={})
    run = run_plugin(world, [before("ls")])

    assert run.last == {"output": {"args": {"command": "ls", "description": "d"}}}
    assert run.calls == []


def test_arguments_are_changed_in_place(world):
    configure(world, tool_execute_before=reply(args={"command": "ls -l"}))
    run = run_plugin(world, [before("ls")])

    assert run.last == {"output": {"args": {"command": "ls -l", "description": "d"}}}


def test_a_hook_gets_the_call_in_one_flat_object(world):
    configure(world, tool_execute_before={})
    run_plugin(world, [before("ls")])

    assert seen(world, "tool.execute.before") == [
        {
            "hook": "tool.execute.before",
            "directory": str(world.project),
            "worktree": "/",
            "sessionID": "s1",
            "tool": "bash",
            "callID": "c1",
            "args": {"command": "ls", "description": "d"},
        }
    ]


def test_a_result_is_replaced(world):
    configure(world, tool_execute_after=reply(output="NEW"))
    run = run_plugin(world, [after("OLD")])

    assert run.last["output"] == {"title": "ls", "output": "NEW", "metadata": {"exit": 0}}


def test_the_result_of_an_mcp_tool_is_replaced_where_it_is(world):
    configure(world, tool_execute_after=reply(output="NEW", context="MORE"))
    content = [{"type": "text", "text": "OLD"}]
    run = run_plugin(world, [after(tool="srv_echo", content=content)])

    assert run.last["output"] == {
        "content": [{"type": "text", "text": "NEW"}, {"type": "text", "text": "MORE"}]
    }


def test_members_of_a_result_are_replaced_by_an_object(world):
    configure(world, tool_execute_after=reply(output={"title": "T"}))
    run = run_plugin(world, [after("OLD")])

    assert run.last["output"] == {"title": "T", "output": "OLD", "metadata": {"exit": 0}}


def test_context_of_a_call_is_added_to_its_result(world):
    configure(world, tool_execute_before=reply(context="B"), tool_execute_after=reply(context="A"))
    run = run_plugin(world, [before(), after("out")])

    assert run.last["output"]["output"] == "out\n\nB\n\nA"


def test_a_result_is_hidden_by_a_denial(world):
    configure(world, tool_execute_after=reply(decision="deny", reason="secret"))
    run = run_plugin(world, [before(), after("key")])

    assert run.last["error"] == "secret"


def test_a_stopped_turn_is_aborted(world):
    configure(world, tool_execute_after=reply(**{"continue": False, "stopReason": "enough"}))
    run = run_plugin(world, [after("out")])

    assert run.last["error"] == "enough"
    assert run.called("abort") == [{"path": {"id": "s1"}}]


def test_a_failed_tool_is_reported_once(world):
    failed = {"type": "tool", "tool": "read", "callID": "c1", "state": {"status": "error"}}
    failed["state"] |= {"input": {"filePath": "/a"}, "error": "File not found"}
    unknown = {**failed, "callID": "c2"}
    configure(world, tool_execute_error=reply(message="M"))
    steps = [
        before(tool="read", filePath="/a"),
        bus("message.part.updated", part=failed),
        bus("message.part.updated", part=failed),
        bus("message.part.updated", part=unknown),
        {"until": 1},
    ]
    run = run_plugin(world, steps)

    assert [payload["error"] for payload in seen(world, "tool.execute.error")] == ["File not found"]
    assert [options["body"]["message"] for options in run.called("toast")] == ["M"]


def test_a_denied_tool_is_no_failure(world):
    part = {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "error"}}
    configure(world, tool_execute_before={"exit": 2, "stderr": "no"}, tool_execute_error={})
    run_plugin(world, [before(), bus("message.part.updated", part=part)])

    assert seen(world, "tool.execute.error") == []


# -- permissions


def ask(call="c1", **members):
    return bus(
        "permission.asked",
        id="per_1",
        permission="bash",
        patterns=["ls"],
        metadata={},
        always=[],
        tool={"messageID": "m", "callID": call},
        **members,
    )


def test_a_request_for_permission_is_granted(world):
    configure(world, permission_asked=reply(decision="allow"))
    run = run_plugin(world, [before("ls"), ask(), {"until": 1}])

    (options,) = run.called("reply")
    assert options["path"] == {"requestID": "per_1"}
    assert options["body"] == {"reply": "once"}
    assert seen(world, "permission.asked")[0]["args"]["command"] == "ls"


def test_a_request_for_permission_is_rejected_with_the_reason(world):
    configure(world, permission_asked=reply(decision="deny", reason="BECAUSE"))
    run = run_plugin(world, [before("ls"), ask(), {"until": 1}])

    assert run.called("reply")[0]["body"] == {"reply": "reject", "message": "BECAUSE"}


def test_a_release_that_takes_no_reason_gets_the_answer(world):
    configure(world, permission_asked=reply(decision="deny", reason="BECAUSE"))
    run = run_plugin(world, [ask(), {"until": 2}], refuses_messages=True)

    assert run.called("old-reply") == [
        {"path": {"id": "s1", "permissionID": "per_1"}, "body": {"response": "reject"}}
    ]


def test_a_tool_that_a_hook_allowed_asks_nobody(world):
    configure(world, tool_execute_before=reply(decision="allow"), permission_asked={"exit": 2})
    run = run_plugin(world, [before("ls"), ask(), {"until": 1}])

    assert run.called("reply")[0]["body"] == {"reply": "once"}
    assert seen(world, "permission.asked") == []


def test_a_request_without_an_opinion_is_left_to_the_user(world):
    configure(world, permission_asked={})
    run = run_plugin(world, [before("ls"), ask()])

    assert run.calls == []
    assert len(seen(world, "permission.asked")) == 1


# -- prompts and sessions


def test_context_of_a_new_session_and_of_a_prompt_becomes_parts(world):
    configure(world, session_created=reply(context="START"), chat_message=reply(context="PROMPT"))
    steps = [bus("session.created", info={"id": "s1", "title": "T"}), message("hello")]
    run = run_plugin(world, steps)
    parts = run.last["output"]["parts"]

    assert [part["text"] for part in parts] == ["hello", "START", "PROMPT"]
    assert all(part["sessionID"] == "s1" and part["messageID"] == "msg_1" for part in parts)
    assert len({part["id"] for part in parts}) == 3
    assert [part.get("synthetic") for part in parts] == [None, True, True]
    assert seen(world, "session.created")[0]["source"] == "startup"
    assert seen(world, "chat.message")[0]["prompt"] == "hello"


def test_the_first_prompt_of_an_older_session_resumes_it(world):
    configure(world, session_created=reply(context="START"))
    run = run_plugin(world, [message("one"), message("two")])

    assert [payload["source"] for payload in seen(world, "session.created")] == ["resume"]
    assert [len(result["output"]["parts"]) for result in run.results] == [2, 1]


def test_a_refused_prompt_shows_its_reason(world):
    configure(world, chat_message={"exit": 2, "stderr": "no secrets"})
    run = run_plugin(world, [message("key")])

    assert run.last["error"] == "no secrets"
    assert run.called("toast")[0]["body"]["message"] == "no secrets"


def test_messages_are_printed_where_there_is_no_interface(world):
    configure(world, chat_message={"exit": 2, "stderr": "no secrets"})
    run = run_plugin(world, [message("key")], mode="run")

    assert "anyhook: no secrets" in run.stderr


def test_a_command_gets_context(world):
    configure(world, command_execute_before=reply(context="C"))
    output = {"parts": [{"type": "text", "text": "Deploy now"}]}
    ids = {"command": "deploy", "sessionID": "s1", "arguments": "now"}
    step = {"hook": "command.execute.before", "input": ids, "output": output}
    run = run_plugin(world, [step])

    assert [part["text"] for part in run.last["output"]["parts"]] == ["Deploy now", "C"]
    assert seen(world, "command.execute.before")[0]["prompt"] == "Deploy now"


def test_a_session_that_is_idle_continues_with_the_reason(world):
    configure(world, session_idle=reply(decision="deny", reason="run the tests"))
    complete = {"hook": "experimental.text.complete", "input": {"sessionID": "s1"}}
    steps = [
        message("fix it"),
        {**complete, "output": {"text": "fixed"}},
        bus("session.idle"),
        {"until": 1},
        message("run the tests"),
        bus("session.idle"),
        {"until": 2},
    ]
    run = run_plugin(world, steps)
    first, second = seen(world, "session.idle")

    assert run.called("prompt")[0] == {
        "path": {"id": "s1"},
        "body": {"parts": [{"type": "text", "text": "run the tests"}]},
    }
    assert (first["prompt"], first["response"], first["continued"]) == ("fix it", "fixed", False)
    assert second["continued"] is True


def test_an_interrupted_turn_does_not_count_as_its_end(world):
    configure(world, session_idle={}, session_error={})
    error = {"name": "MessageAbortedError", "data": {}}
    run_plugin(world, [message(), bus("session.error", error=error), bus("session.idle")])

    assert seen(world, "session.idle") == []
    assert seen(world, "session.error")[0]["error"]["name"] == "MessageAbortedError"


def test_a_subagent_is_a_session_with_a_parent(world):
    configure(
        world,
        subagent_created=reply(context="BRIEF"),
        subagent_idle={},
        session_created={},
        tool_execute_before={},
    )
    steps = [
        bus("session.created", "s2", info={"id": "s2", "parentID": "s1"}),
        message("find", "s2", agent="general"),
        before(session="s2"),
        bus("session.idle", "s2"),
    ]
    run = run_plugin(world, steps)
    (call,) = seen(world, "tool.execute.before")

    assert [part["text"] for part in run.results[1]["output"]["parts"]] == ["find", "BRIEF"]
    assert seen(world, "session.created") == []
    assert seen(world, "subagent.created")[0]["subagentType"] == "general"
    assert (call["parentID"], call["subagentID"], call["subagentType"]) == ("s1", "s2", "general")
    assert seen(world, "subagent.idle")[0]["prompt"] == "find"


def test_a_compaction_gets_context_and_another_prompt(world):
    wire = {"experimental_session_compacting": reply(context="C", prompt="P")}
    configure(world, **wire)
    step = {"hook": "experimental.session.compacting", "input": {"sessionID": "s1"}}
    run = run_plugin(world, [{**step, "output": {"context": []}}])

    assert run.last["output"] == {"context": ["C"], "prompt": "P"}


def test_the_text_of_the_model_is_replaced(world):
    configure(world, experimental_text_complete=reply(text="T"))
    step = {"hook": "experimental.text.complete", "input": {"sessionID": "s1"}}
    run = run_plugin(world, [{**step, "output": {"text": "t"}}])

    assert run.last["output"] == {"text": "T"}


def test_hooks_of_the_end_run_before_opencode_exits(world):
    configure(world, dispose={}, session_idle={})
    run_plugin(world, [message(), bus("session.idle")])

    assert len(seen(world, "dispose")) == 1
    assert len(seen(world, "session.idle")) == 1


# -- two copies, trust and failures


def test_of_two_copies_one_answers(world):
    configure(
        world,
        tool_execute_before=reply(context="B"),
        chat_message=reply(context="P"),
        session_error={},
    )
    copies = [write_plugin(world), write_plugin(world, layer="user")]
    steps = [message("hello"), bus("session.error", error={"name": "E"}), before(), after("out")]
    run = run_plugin(world, steps, plugins=copies)

    assert run.last["output"]["output"] == "out\n\nB"
    assert [part["text"] for part in run.results[0]["output"]["parts"]] == ["hello", "P"]
    assert len(seen(world, "tool.execute.before")) == 1
    assert len(seen(world, "session.error")) == 1


def test_hooks_of_a_project_need_trust_and_those_of_the_user_do_not(world):
    configure(world, tool_execute_before={"exit": 2, "stderr": "project"})
    untrusted = write_plugin(world, ANYHOOK)
    run = run_plugin(world, [before()], plugins=[untrusted])
    assert "error" not in run.last
    assert any("not trusted" in call["body"]["message"] for call in run.called("toast"))

    configure(world, "user", tool_execute_before={"exit": 2, "stderr": "user"})
    run = run_plugin(world, [before()], plugins=[untrusted])
    assert run.last["error"] == "user"


@pytest.mark.parametrize("program", ["/no/such/anyhook", "false"])
def test_a_tool_is_denied_if_its_hooks_cannot_be_run(world, program):
    configure(world, tool_execute_before={}, chat_message={}, tool_execute_after={})
    broken = write_plugin(world, (program, "dispatch"))
    run = run_plugin(world, [before("ls"), message("hello"), after("out")], plugins=[broken])

    assert run.results[0]["error"].startswith("anyhook: the hooks on tool.execute.before could not")
    assert "anyhook worker doctor" in run.results[0]["error"]
    assert run.results[1]["output"]["parts"][0]["text"] == "hello"
    assert run.results[2]["output"]["output"] == "out"


def test_without_hooks_a_missing_program_denies_nothing(world):
    configure(world, session_idle={})
    broken = write_plugin(world, ("/no/such/anyhook", "dispatch"))
    run = run_plugin(world, [before("ls")], plugins=[broken])

    assert "error" not in run.last


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "1",
        '"text"',
        "[]",
        "no JSON",
        '{"id": 1, "reply": [1]}',
        '{"id": 1, "reply": "x"}',
        '{"id": 1, "error": {}}',
        '{"id": 1, "seconds": "x"}',
        '{"id": 1, "message": 5}',
    ],
)
def test_a_line_that_is_no_answer_denies_the_tool_and_is_reported(world, line):
    configure(world, tool_execute_before={}, tool_execute_after={})
    script = world.write(
        world.root / "broken.sh", f"#!/bin/sh\nread event\necho '{line}'\nexec cat > /dev/null\n"
    )
    broken = write_plugin(world, (str(script),))
    run = run_plugin(world, [before("ls"), after("out")], plugins=[broken])

    assert "printed something that is not an answer" in run.results[0]["error"]
    assert run.results[1]["output"]["output"] == "out"
    messages = [call["body"]["message"] for call in run.called("toast")]
    assert any("printed something that is not an answer" in message for message in messages)


def test_a_process_that_ended_is_started_again(world):
    configure(world, tool_execute_before={"exit": 2, "stderr": "no"})
    marker = world.root / "started"
    script = world.write(
        world.root / "once.sh",
        f'#!/bin/sh\nif [ ! -e {marker} ]; then touch {marker}; exit 0; fi\nexec "$@"\n',
    )
    once = write_plugin(world, (str(script), *ANYHOOK, "--trust-once"))
    run = run_plugin(world, [before(), before(call="c2")], plugins=[once])

    assert [result["error"] for result in run.results] == ["no", "no"]


def test_calls_at_the_same_time_get_their_own_replies(world):
    guard = 'case "$(cat)" in *secret*) echo no >&2; exit 2;; esac'
    hook = {"type": "command", "command": guard}
    world.settings("project", {"hooks": {"tool.execute.before": [{"hooks": [hook]}]}})
    steps = [before("cat secret"), before("ls", "c2"), before("cat secret", "c3")]
    run = run_plugin(world, steps)

    assert [result.get("error") for result in run.results] == ["no", None, "no"]
