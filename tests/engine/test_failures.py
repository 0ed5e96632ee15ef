"""Events of which a failure denies, and what a denial by exit code is made of."""

from __future__ import annotations

import asyncio
import json
import shlex
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from anyhook import BeforeTool
from anyhook.agents import get_agent
from anyhook.agents.output import ExitReader
from anyhook.agents.spec import ExitRule, ExitRules, OutputAction
from anyhook.model.answers import Outcome
from anyhook.model.status import Status
from tests.world import World

CALL = BeforeTool(tool_name="Bash", tool_input={"command": "ls"})
APPLIES = ExitRule(
    OutputAction.APPLY, OutputAction.FAIL_CLOSED, OutputAction.FAIL_CLOSED, OutputAction.NOTHING
)
STRICT = ExitRules(
    {0: APPLIES, 2: ExitRule.always(OutputAction.MERGE_DENIAL)},
    other=ExitRule.always(OutputAction.FAIL_CLOSED),
    signal=ExitRule.always(OutputAction.FAIL_CLOSED),
)


class TerseExitReader(ExitReader):
    def default_reason(self):
        return f"hook ended with {self.end.cause}"


def decide(tmp_path, handler, *, exits=STRICT, rules=None, **changes):
    """Run one hook on a tool call, under rules of Claude Code with some changes."""
    world = World(tmp_path, agent="claude")
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
    engine = world.load(private_hosts=["127.0.0.1"])
    documented = get_agent("claude").rules()
    specs = tuple(
        spec.replace(**changes) if spec.canonical == "before_tool" else spec
        for spec in documented.events
    )
    exit_rules = {**documented.exit_rules, "before_tool": exits}
    engine.rules = documented.replace(events=specs, exit_rules=exit_rules, **(rules or {}))
    return asyncio.run(engine.dispatch(CALL))


def command(line, **members):
    return {"type": "command", "command": line, **members}


def prints(value, exit_code=0):
    text = value if isinstance(value, str) else json.dumps(value)
    return command(f"cat >/dev/null; printf %s {shlex.quote(text)}; exit {exit_code}")


@pytest.mark.parametrize("line", ["exit 1", "exit 3", "kill -9 $$", "/no/such/program"])
def test_any_failure_of_a_command_can_deny(tmp_path, line):
    decision = decide(tmp_path, command(line))

    assert decision.outcome is Outcome.DENY
    assert "failed" in decision.reason
    assert [result.status for result in decision.results] == [Status.WARNED]


def test_an_allowance_of_a_failed_command_is_not_applied(tmp_path):
    allows = {"hookSpecificOutput": {"permissionDecision": "allow"}}

    assert decide(tmp_path, prints(allows, 1)).outcome is Outcome.DENY


def test_output_that_is_not_json_can_deny(tmp_path):
    assert decide(tmp_path, prints("hello")).outcome is Outcome.DENY
    assert decide(tmp_path, prints("")).outcome is Outcome.NONE


def test_a_timeout_does_not_deny_where_other_failures_do(tmp_path):
    handler = command("sleep 20", timeout=0.2)

    decision = decide(tmp_path, handler, denying_failures=frozenset({"command"}))

    assert decision.outcome is Outcome.NONE


def test_a_command_that_cannot_be_started_can_deny(tmp_path):
    handler = command("/no/such/program", args=[])

    assert decide(tmp_path, handler).outcome is Outcome.NONE
    closed = decide(tmp_path, handler, denying_failures=frozenset({"command"}))
    assert closed.outcome is Outcome.DENY
    assert "as PreToolUse does" in closed.reason


# -- exit code 2


def test_exit_code_2_can_take_its_reason_from_the_top_of_the_reply_alone(tmp_path):
    reply = {"stopReason": "S", "reason": "TOP", "systemMessage": "M"}
    inner = {"permissionDecision": "deny", "permissionDecisionReason": "INNER"}

    decision = decide(tmp_path, prints(reply | {"hookSpecificOutput": inner}, 2))

    assert (decision.outcome, decision.reason) == (Outcome.DENY, "TOP")
    assert decision.system_messages == ("M",)


@pytest.mark.parametrize("reply", ["", "text", {"decision": "approve"}])
def test_the_reason_of_an_exit_code_can_be_that_of_the_agent(tmp_path, reply):
    handler = prints(reply, 2)

    decision = decide(tmp_path, handler, rules={"exit_reader": f"{__name__}:TerseExitReader"})

    assert (decision.outcome, decision.reason) == (Outcome.DENY, "hook ended with exit code 2")


def test_standard_error_can_be_what_the_agent_is_given(tmp_path):
    exits = STRICT.replace(codes={2: ExitRule.always(OutputAction.STDERR_AS_CONTEXT)})

    decision = decide(tmp_path, command("echo OUT; echo ERR >&2; exit 2"), exits=exits)

    assert (decision.outcome, decision.context) == (Outcome.NONE, ("ERR",))


def test_an_event_can_have_a_reason_for_denials_without_one(tmp_path):
    denies = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}

    decision = decide(tmp_path, prints(denies), default_reason="No reason provided")

    assert decision.reason == "No reason provided"


# -- progress


def test_lines_that_report_progress_are_no_part_of_the_reply(tmp_path):
    denies = json.dumps({"decision": "block", "reason": "R"})
    progress = json.dumps({"type": "progress", "message": "checking"})
    text = f"{progress}\n{denies}\n{progress}\n"

    with_progress = decide(
        tmp_path, prints(text), rules={"output_form": "anyhook.agents.copilot.output:classify"}
    )

    assert (with_progress.outcome, with_progress.reason) == (Outcome.DENY, "R")


# -- requests


@contextmanager
def server(status, body):
    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/"
    finally:
        listener.shutdown()
        listener.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [frozenset(), frozenset({"http"})])
def test_a_request_that_is_refused_can_deny(tmp_path, kinds):
    with server(500, b"{}") as url:
        handler = {"type": "http", "url": url}
        decision = decide(tmp_path, handler, denying_failures=kinds)

    assert decision.outcome is (Outcome.DENY if kinds else Outcome.NONE)


@pytest.mark.slow
def test_a_body_that_is_not_json_can_be_no_output(tmp_path):
    closed = {"denying_failures": frozenset({"http"})}
    with server(200, b"hello") as url:
        handler = {"type": "http", "url": url}
        failed = decide(tmp_path, handler, **closed)
        ignored = decide(
            tmp_path,
            handler,
            exits=get_agent("claude").rules().exit_rules["*"],
            rules={"text_bodies": "ignored"},
            **closed,
        )

    assert failed.outcome is Outcome.DENY
    assert ignored.outcome is Outcome.NONE
    assert [result.status for result in ignored.results] == [Status.RAN]
