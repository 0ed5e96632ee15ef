"""`anyhook dispatch`: the real command, with events on its standard input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.world import World, command

SECONDS = 60.0


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="opencode")


def dispatch(world, *lines, trust=True):
    """Send lines, then the end of input; returns the answers and standard error."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    arguments = ["--agent", "opencode", *(["--trust-once"] if trust else [])]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "anyhook", "dispatch", *arguments],
        input="".join(f"{text}\n" for text in texts),
        env=world.environ,
        cwd=world.project,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(text="ls", **members):
    return {
        "hook": "tool.execute.before",
        "directory": "/",
        "tool": "bash",
        "sessionID": "s",
        "callID": "c",
        "args": {"command": text},
        **members,
    }


def configure(world, says, event="tool.execute.before", **hook):
    handler = {"type": "command", "command": command(says), "timeout": 20, **hook}
    world.settings("project", {"hooks": {event: [{"hooks": [handler]}]}})


@pytest.mark.slow
def test_a_payload_gets_the_reply_alone(world):
    configure(world, {"exit": 2, "stderr": "no"})

    assert dispatch(world, call()) == [{"decision": "deny", "reason": "no"}]


@pytest.mark.slow
def test_a_request_is_accepted_with_the_time_that_its_hooks_may_take(world):
    configure(world, {"exit": 2, "stderr": "no"})
    answers = dispatch(world, {"id": 7, "event": call()})

    assert answers == [
        {"id": 7, "seconds": 30.0},
        {"id": 7, "reply": {"decision": "deny", "reason": "no"}},
    ]


@pytest.mark.slow
def test_an_event_without_hooks_is_answered_at_once(world):
    configure(world, {}, event="session.idle")

    assert dispatch(world, {"id": 1, "event": call()}) == [{"id": 1, "reply": {}}]


@pytest.mark.slow
def test_a_slow_hook_does_not_hold_up_other_events(world):
    guard = 'case "$(cat)" in *slow*) sleep 3;; esac; echo \'{"message": "m"}\''
    handler = {"type": "command", "command": guard}
    world.settings("project", {"hooks": {"tool.execute.before": [{"hooks": [handler]}]}})
    requests = [{"id": 1, "event": call("slow")}, {"id": 2, "event": call("fast")}]
    replies = [answer["id"] for answer in dispatch(world, *requests) if "reply" in answer]

    assert replies == [2, 1]


@pytest.mark.slow
def test_settings_that_are_edited_are_read_again(world):
    configure(world, {"exit": 2, "stderr": "one"})
    arguments = ["dispatch", "--agent", "opencode", "--trust-once"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "anyhook", *arguments],
        env=world.environ,
        cwd=world.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        reasons = []
        for reason in ("one", "another"):
            configure(world, {"exit": 2, "stderr": reason})
            process.stdin.write(json.dumps(call()) + "\n")
            process.stdin.flush()
            reasons.append(json.loads(process.stdout.readline())["reason"])
        process.stdin.close()

    assert reasons == ["one", "another"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "the line is not JSON"),
        ("[1]", "not a JSON object"),
        ({"id": 3, "event": {"hook": "no.such.hook"}}, "no.such.hook"),
    ],
)
def test_a_line_that_is_no_event_is_an_error_and_the_next_is_answered(world, line, problem):
    configure(world, {"exit": 2, "stderr": "no"})
    first, second = dispatch(world, line, call())
    error, reply = (first, second) if "error" in first else (second, first)

    assert problem in error["error"]
    assert error.get("id") == (3 if isinstance(line, dict) else None)
    assert reply["decision"] == "deny"


@pytest.mark.slow
def test_untrusted_hooks_are_reported_to_the_user_and_do_not_run(world):
    configure(world, {"exit": 2, "stderr": "no"})
    message, reply = dispatch(world, call(), trust=False)

    assert "not trusted" in message["message"]
    assert reply == {}


@pytest.mark.slow
def test_what_hooks_print_does_not_disturb_the_answers(world):
    configure(world, {"stdout": "no JSON at all\n{", "stderr": "noise"})

    assert dispatch(world, call()) == [{}]
