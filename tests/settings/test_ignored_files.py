"""Settings files, and events, that an agent ignores for a mistake in one entry.

Observed in Claude Code 2.1.197 and 2.1.332 with `anyhook probe`: with each of these entries, the
guard behind it does not run.
"""

from __future__ import annotations

import json

import pytest

import anyhook
from anyhook import BeforeTool, SyncEngine
from anyhook.checks.rules import find_problems

COMMAND = {"type": "command", "command": "true"}
HTTP = {"type": "http", "url": "http://127.0.0.1:1/"}
IGNORED = [
    (
        {"matcher": ["Bash", "Write"], "hooks": [COMMAND]},
        '; write "Bash|Write"',
    ),
    ({"matcher": 5, "hooks": [COMMAND]}, "matcher must be one string"),
    ({"matcher": None, "hooks": [COMMAND]}, "leave it out for all tools"),
    ({"matcher": "Bash"}, "a definition needs a list of hooks"),
    ({"matcher": "Bash", "hooks": COMMAND}, "a definition needs a list of hooks"),
    ({"hooks": ["true"]}, "a hook must be an object"),
    ({"hooks": [{"command": "true"}]}, 'a hook needs a "type"'),
    ({"hooks": [{**COMMAND, "type": "nope"}]}, 'a hook needs a "type"'),
    ({"hooks": [{"type": "command"}]}, 'a hook needs a "command"'),
    ({"hooks": [{**COMMAND, "command": 5}]}, 'a hook needs a "command"'),
    ({"hooks": [{**COMMAND, "args": "x"}]}, "args must be a list of strings"),
    ({"hooks": [{**COMMAND, "timeout": "5"}]}, "timeout must be a positive number"),
    ({"hooks": [{**COMMAND, "timeout": 0}]}, "timeout must be a positive number"),
    ({"hooks": [{**COMMAND, "async": "yes"}]}, "async must be true or false"),
    ({"hooks": [{**COMMAND, "shell": "fish"}]}, 'shell must be "bash" or "powershell"'),
    ({"hooks": [{**COMMAND, "if": 5}]}, "if must be a string"),
    ({"hooks": [{"type": "http", "url": "nourl"}]}, "url must be a whole URL"),
    ({"hooks": [{**HTTP, "headers": {"a": 5}}]}, "headers must be an object of strings"),
    ({"hooks": [{**HTTP, "allowedEnvVars": "x"}]}, "allowedEnvVars must be a list of strings"),
]
READ = [
    {"matcher": "Bash", "foo": 1, "hooks": [{**COMMAND, "bar": 1}]},
    {"matcher": "[", "hooks": [COMMAND]},
    {"matcher": "Bash", "hooks": []},
    {"hooks": [{**COMMAND, "command": ""}]},
    {"hooks": [{**COMMAND, "if": "Bash("}]},
    {"hooks": [{**COMMAND, "description": 5}]},
]


@pytest.fixture
def with_entry(project):
    """Return the engine of a project of Claude Code with an entry in front of a guard."""

    def load(entry, event="PreToolUse", **members):
        guard = {"type": "command", "command": "echo guarded >&2; exit 2"}
        definitions = [entry, {"matcher": "Bash", "hooks": [guard]}]
        file = project / ".claude" / "settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"hooks": {event: definitions}, **members}))
        return SyncEngine.load(project, agent="claude", trust_once=True, on_message=lambda _: None)

    return load


@pytest.mark.parametrize(("entry", "remedy"), IGNORED)
def test_an_entry_for_which_the_file_is_ignored_is_reported_and_breaks_all_hooks(
    with_entry, entry, remedy
):
    with with_entry(entry) as engine:
        problems = [finding.diagnostic for finding in find_problems([engine.engine])]
        hooks = anyhook.health(engine).hooks

    (problem,) = [each for each in problems if each.code == "settings-dropped"]
    assert "ignores the whole file because of this and runs none of its hooks" in problem.message
    assert remedy in problem.message
    assert {str(hook.word) for hook in hooks} == {"broken"}


@pytest.mark.parametrize(
    ("member", "value", "remedy"),
    [
        ("disableAllHooks", "x", "disableAllHooks must be true or false"),
        ("permissions", 5, "permissions must be an object"),
    ],
)
def test_a_member_for_which_the_file_is_ignored_breaks_all_hooks(with_entry, member, value, remedy):
    with with_entry({"hooks": [COMMAND]}, **{member: value}) as engine:
        problems = [finding.diagnostic for finding in find_problems([engine.engine])]
        hooks = anyhook.health(engine).hooks

    (problem,) = [each for each in problems if each.code == "settings-dropped"]
    assert remedy in problem.message
    assert problem.place.line == 1
    assert {str(hook.word) for hook in hooks} == {"broken"}


@pytest.mark.parametrize("entry", READ)
def test_an_entry_that_costs_only_itself_leaves_the_guard_alone(with_entry, entry):
    with with_entry(entry) as engine:
        problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]
        guard = anyhook.health(engine).hooks[-1]

    assert "settings-dropped" not in problems
    assert str(guard.word) == "unknown"


def test_an_unknown_event_costs_only_itself(with_entry):
    with with_entry({"matcher": 5}, event="Nope") as engine:
        problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]

    assert "settings-dropped" not in problems


def test_the_guard_still_decides_in_a_program_that_embeds_the_engine(with_entry):
    event = BeforeTool(tool_name="Bash", tool_input={"command": "x"})
    with with_entry({"matcher": ["Bash"], "hooks": [COMMAND]}) as engine:
        assert engine.dispatch(event).denied


GUARD = {"type": "command", "command": "echo guarded >&2; exit 2"}


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        (["write_file", "replace"], {"before_tool": "broken", "after_tool": "unknown"}),
        (5, {"before_tool": "broken", "after_tool": "unknown"}),
        ([], {"before_tool": "broken", "after_tool": "unknown"}),
        (0, {"before_tool": "unknown", "after_tool": "unknown"}),
    ],
)
def test_a_matcher_for_which_gemini_cli_drops_an_event_breaks_all_hooks_on_it(
    project, tmp_path, matcher, words
):
    """Its planner raises, also for hooks of other files."""
    hooks = {"BeforeTool": [{"hooks": [GUARD]}], "AfterTool": [{"hooks": [GUARD]}]}
    file = project / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"hooks": hooks}))
    of_user = tmp_path / "user" / ".gemini" / "settings.json"
    of_user.parent.mkdir(parents=True)
    wrong = {"BeforeTool": [{"matcher": matcher, "hooks": [GUARD]}]}
    of_user.write_text(json.dumps({"hooks": wrong}))

    with SyncEngine.load(
        project,
        agent="gemini",
        home=tmp_path / "user",
        trust_once=True,
        on_message=lambda _: None,
    ) as engine:
        found = {hook.row.definition.event: str(hook.word) for hook in anyhook.health(engine).hooks}
        event = BeforeTool(tool_name="write_file", tool_input={"file_path": "a", "content": ""})
        assert engine.dispatch(event).denied, "a program that embeds the engine is guarded"

    assert found == words
