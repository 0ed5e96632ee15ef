"""What an agent cannot do on an event is done another way or reported, never dropped in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from anyhook.testing import make_payload, run_hook
from tests.warm import Warm

SELECTION = """
from anyhook.authoring import Hooks, context, deny, message, stop
hooks = Hooks()
@hooks.before_tool_selection
def choose(event):
    print("noise")
    {body}
if __name__ == "__main__":
    hooks.run()
"""
REQUEST = {
    "model": "m",
    "messages": [],
    "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]},
}


@pytest.fixture
def hook_file(tmp_path):
    def write(text):
        path = tmp_path / "guard.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def feed(path, payload, agent, **environ):
    return subprocess.run(
        [sys.executable, str(path), "--agent", agent],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        check=False,
    )


def tool_config(stdout):
    return json.loads(stdout)["hookSpecificOutput"]["toolConfig"]


@pytest.mark.parametrize("agent", ["gemini", "terminai"])
@pytest.mark.parametrize("says", ["deny('no')", "stop('enough')"])
def test_a_denial_of_the_choice_of_tools_leaves_the_model_none(hook_file, tmp_path, agent, says):
    path = hook_file(SELECTION.format(body=f"return {says}"))
    payload = make_payload("before_tool_selection", agent=agent, llm_request=REQUEST)

    done = feed(path, payload, agent, ANYHOOK_LOG=str(tmp_path / "log"))

    assert tool_config(done.stdout) == {"mode": "NONE"}
    for text in (done.stderr, (tmp_path / "log").read_text()):
        assert "on BeforeToolSelection; the model may call no tool" in text
    assert "noise" not in done.stderr


@pytest.mark.parametrize("agent", ["gemini", "terminai"])
@pytest.mark.parametrize("says", ["message('hi')", "context('hi')"])
@pytest.mark.parametrize(
    ("request_", "config"),
    [(REQUEST, REQUEST["toolConfig"]), ({"model": "m", "messages": []}, {"mode": "AUTO"})],
    ids=["with a choice", "without"],
)
def test_a_text_for_the_agent_or_the_user_leaves_the_choice_of_tools_and_is_reported(
    hook_file, tmp_path, agent, says, request_, config
):
    path = hook_file(SELECTION.format(body=f"return {says}"))
    payload = make_payload("before_tool_selection", agent=agent, llm_request=request_)

    done = feed(path, payload, agent, ANYHOOK_LOG=str(tmp_path / "log"))

    assert tool_config(done.stdout) == config
    assert json.loads(done.stdout)["systemMessage"] == "hi"  # what the references promise
    for text in (done.stderr, (tmp_path / "log").read_text()):
        assert "on BeforeToolSelection; " in text


@pytest.mark.slow
def test_a_worker_reports_the_same(tmp_path):
    warm = Warm(tmp_path)
    try:
        path = warm.hook("", footer="", header=SELECTION.format(body="return deny('no')"))
        payload = make_payload("before_tool_selection", agent="gemini", llm_request=REQUEST)

        expected = warm.cold(path, payload=payload)
        first = warm.warm(path, payload=payload)

        assert first == expected == warm.warm(path, payload=payload)
        assert "the model may call no tool" in expected[2]
    finally:
        warm.close()


def test_no_opinion_on_the_choice_of_tools_stays_silent(hook_file):
    path = hook_file(SELECTION.format(body="return None"))
    payload = make_payload("before_tool_selection", agent="gemini", llm_request=REQUEST)

    done = feed(path, payload, "gemini")

    assert (done.stdout, done.stderr) == ("", "")


# -- messages to the user


MESSAGE = """
from anyhook.authoring import Hooks, deny, message
hooks = Hooks()
@hooks.{event}
def end(event):
    return {says}
if __name__ == "__main__":
    hooks.run()
"""


@pytest.mark.parametrize("says", ["message('saved to a.txt')", "deny('saved to a.txt')"])
def test_a_message_at_the_end_of_a_session_reaches_the_user_on_standard_error(hook_file, says):
    path = hook_file(MESSAGE.format(event="session_end", says=says))

    done = feed(path, make_payload("session_end", agent="claude"), "claude")

    assert done.returncode == 2  # cannot block there; the agent shows standard error to the user
    assert "saved to a.txt" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_a_message_at_the_end_of_a_session_is_the_same_from_a_worker(tmp_path):
    warm = Warm(tmp_path)
    try:
        text = MESSAGE.format(event="session_end", says="message('saved to a.txt')")
        path = warm.hook("", footer="", header=text)
        payload = make_payload("session_end", agent="claude")

        expected = warm.cold(path, payload=payload)

        assert expected == (2, "", "saved to a.txt\n")
        assert warm.warm(path, payload=payload) == expected
    finally:
        warm.close()


@pytest.mark.parametrize("process", [False, True])
def test_a_test_sees_the_message_at_the_end_of_a_session(hook_file, process):
    path = hook_file(MESSAGE.format(event="session_end", says="message('saved to a.txt')"))

    ran = run_hook(path, "session_end", agent="claude", process=process)

    assert (ran.exit_code, ran.stderr) == (2, "saved to a.txt\n")
    assert ran.outcome == "none"
    assert ran.answer.system_message == "saved to a.txt"


@pytest.mark.parametrize("event", ["notification", "before_compress"])
def test_a_message_that_reaches_no_one_is_reported_to_the_author(hook_file, tmp_path, event):
    path = hook_file(MESSAGE.format(event=event, says="message('hello')"))

    payload = make_payload(event, agent="claude")
    done = feed(path, payload, "claude", ANYHOOK_LOG=str(tmp_path / "log"))

    assert done.returncode == 0
    for text in (done.stderr, (tmp_path / "log").read_text()):
        assert "Claude Code has no messages to the user on" in text
        assert "it reaches neither the agent nor the user" in text
