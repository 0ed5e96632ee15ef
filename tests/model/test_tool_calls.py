"""Calls and results of tools as a hook reads them, and arguments that it changes."""

from __future__ import annotations

import pytest

from anyhook.authoring import Hooks, deny
from anyhook.testing import make_event, run_examples

SENT = {
    "shell": {"command": "ls", "timeout": 120000, "dangerouslyDisableSandbox": True},
    "grep": {"pattern": "a", "output_mode": "content", "type": "py", "-i": True, "head_limit": 3},
    "agent": {"prompt": "a", "model": "m", "run_in_background": True, "isolation": "worktree"},
    "read_file": {"file_path": "a", "pages": "1-3"},
    "web_search": {"query": "a", "allowed_domains": ["a.org"], "blocked_domains": []},
}
READ = {
    "shell": {"timeout": 120000, "dangerouslyDisableSandbox": True, "background": None},
    "grep": {"output_mode": "content", "type": "py", "ignore_case": True, "head_limit": 3},
    "agent": {"model": "m", "background": True, "run_in_background": True, "isolation": "worktree"},
    "read_file": {"pages": "1-3", "offset": None},
    "web_search": {"allowed_domains": ["a.org"], "blocked_domains": []},
}


@pytest.mark.parametrize("tool", SENT)
def test_every_argument_that_claude_code_sends_is_an_attribute(tool):
    sent = make_event("before_tool", agent="claude", tool=tool, input=SENT[tool])
    absent = make_event("before_tool", agent="claude", tool=tool, input={})

    assert {name: getattr(sent.call, name) for name in READ[tool]} == READ[tool]
    assert {getattr(absent.call, name) for name in READ[tool]} == {None}


@pytest.mark.parametrize("agent", ["claude", "gemini", "terminai", "generic"])
def test_an_argument_that_only_one_agent_sends_is_none_in_the_others(agent):
    event = make_event("before_tool", agent=agent, tool="shell", input={"command": "ls"})

    assert event.call.timeout is None
    assert event.call.dangerouslyDisableSandbox is None


def test_an_argument_that_no_table_knows_is_readable_when_it_is_sent():
    event = make_event("before_tool", agent="claude", tool="shell", input={"new_one": 3})
    other = make_event("before_tool", agent="claude", tool="mcp__a__b", input={"new_one": 3})

    assert event.call.new_one == other.call.new_one == 3
    with pytest.raises(AttributeError, match="did you mean 'command'"):
        _ = event.call.comand


@pytest.mark.parametrize(
    ("response", "want"),
    [
        ({"filePath": "/a", "success": True}, {"success": True, "error": None}),
        ({"filePath": "/a", "success": False, "error": "no"}, {"success": False, "error": "no"}),
        ({"success": False, "content": "denied"}, {"success": False, "error": "denied"}),
        ({"success": False}, {"error": "the tool reports that it did not succeed"}),
        ({"success": True, "replacementCount": 2}, {"replacement_count": 2}),
        ({"content": "x", "lineCount": 50, "truncated": True}, {"line_count": 50}),
        ({"content": "x", "lineCount": 50, "truncated": True}, {"truncated": True}),
        ({"type": "text", "file": {"content": "x", "numLines": 7}}, {"line_count": 7}),
        (
            "text",
            {"success": None, "replacement_count": None, "line_count": None, "truncated": None},
        ),
        ({"success": "yes", "lineCount": True}, {"success": None, "line_count": None}),
    ],
)
def test_members_of_results_are_attributes(response, want):
    event = make_event("after_tool", agent="claude", tool="shell", input={}, tool_response=response)

    assert {name: getattr(event.result, name) for name in want} == want


# -- changed arguments


def shell(agent="claude", **arguments):
    return make_event("before_tool", agent=agent, tool="shell", input=arguments)


def test_fields_of_the_answer_go_beside_changed_arguments():
    answer = shell(command="npm i").rewrite(command="pnpm i", system_message="npm → pnpm")

    assert answer.tool_input == {"command": "pnpm i"}
    assert answer.system_message == "npm → pnpm"


def test_an_approval_beside_changed_arguments_allows():
    answer = shell(command="npm i").rewrite(command="pnpm i", approve=True)

    assert (str(answer.outcome), answer.approve) == ("allow", True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"comand": "y"}, "Bash has no argument 'comand'; did you mean 'command'"),
        ({"cmd": "y"}, "Bash has no argument 'cmd'; it has command, description"),
        ({"tool_input": {"command": "y"}}, "Bash has no argument 'tool_input'"),
    ],
)
def test_an_argument_that_a_tool_does_not_have_is_refused(changes, message):
    with pytest.raises(TypeError, match=message):
        shell(command="x").rewrite(**changes)


def test_arguments_are_accepted_under_every_name_that_the_agent_knows():
    event = shell(command="x", odd=1)

    changed = event.rewrite(background=True, odd=2).tool_input
    assert changed == {"command": "x", "odd": 2, "run_in_background": True}
    assert event.rewrite(run_in_background=True).tool_input["run_in_background"] is True


def test_a_tool_outside_the_vocabulary_takes_every_argument_that_is_not_ambiguous():
    event = make_event("before_tool", agent="claude", tool="mcp__wiki__add", input={"context": "a"})

    assert event.rewrite(context="b", title="c").tool_input == {"context": "b", "title": "c"}
    with pytest.raises(TypeError, match="'reason' may be an argument of mcp__wiki__add"):
        event.rewrite(reason="why")


def test_a_wrong_argument_fails_the_example_of_its_hook():
    hooks = Hooks()
    hooks.before_tool("shell")(lambda event: event.rewrite(cmd="y"))
    hooks.example(tool="shell", input={"command": "x"}, expect="rewrite")
    hooks.before_tool("glob")(lambda _event: deny("no"))

    results = run_examples(hooks)

    assert {result.status for result in results} == {"failed"}
    assert "has no argument 'cmd'" in results[0].notes[0]
