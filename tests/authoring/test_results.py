"""A text in place of a tool's result, in the form that each agent needs."""

from __future__ import annotations

import pytest

from anyhook.agents import get_agent
from anyhook.authoring.degrade import UnsupportedError, fit
from anyhook.model.answers import replace_result
from anyhook.testing import make_event

SHELL = {"stdout": "[hidden]", "stderr": "", "interrupted": False, "isImage": False}


def fitted(agent, answer, *, refuse=False, **call):
    event = make_event("after_tool", agent=agent, **call)
    return fit(get_agent(agent), event, answer, refuse=refuse)


def test_claude_code_gets_a_text_in_the_form_of_the_tool():
    shell, notes = fitted(
        "claude", replace_result("[hidden]"), tool="shell", input={"command": "ls"}
    )
    read, more = fitted("claude", replace_result("[hidden]"), tool="read_file", input={})

    assert (shell.tool_output, notes) == (SHELL, [])
    assert (read.tool_output["file"]["content"], more) == ("[hidden]", [])


def test_a_result_that_holds_no_text_is_left_and_the_agent_gets_the_text_as_context():
    answer, notes = fitted("claude", replace_result("[hidden]"), tool="write_file", input={})

    assert (answer.tool_output, answer.context) == (None, "[hidden]")
    assert notes == [
        "Claude Code takes no text as the result of Write; the agent gets it as context"
    ]
    with pytest.raises(UnsupportedError, match="takes no text as the result of Write"):
        fitted("claude", replace_result("x"), tool="write_file", input={}, refuse=True)


def test_an_object_that_claude_code_would_ignore_is_reported():
    answer, notes = fitted("claude", replace_result({"stdout": "x"}), tool="shell", input={})

    assert answer.tool_output == {"stdout": "x"}
    assert notes == ["Claude Code ignores this result of Bash: stderr is missing"]


@pytest.mark.parametrize(
    ("agent", "tool"), [("claude", "mcp__files__read"), ("copilot", "shell"), ("generic", "shell")]
)
def test_where_any_result_is_accepted_a_text_stays_a_text(agent, tool):
    answer, notes = fitted(agent, replace_result("[hidden]"), tool=tool, input={})

    assert (answer.tool_output, notes) == ("[hidden]", [])
