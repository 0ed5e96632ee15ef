"""Settings files, and events, that an agent ignores for a mistake in one entry.

Observed in Claude Code 2.1.332 with a scripted model: with each of these entries, and in each of
these places, the guard next to it runs or does not run. Those of `IGNORED` were also observed in
2.1.197.
"""

from __future__ import annotations

import json

import pytest

import anyhook
from anyhook import BeforeTool, SyncEngine
from anyhook.checks.rules import find_problems

COMMAND = {"type": "command", "command": "true"}
HTTP = {"type": "http", "url": "http://127.0.0.1:1/"}
GUARD = {"type": "command", "command": "echo guarded >&2; exit 2"}
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
    ({"hooks": [{**COMMAND, "onFailure": "deny"}]}, 'onFailure must be "continue" or "block"'),
    ({"hooks": [{**COMMAND, "rewakeMessage": ""}]}, "rewakeMessage must not be empty"),
    ({"PreToolUse": [{"hooks": [COMMAND]}], "hooks": []}, "events must stand in the object"),
]
GROUPS = [{"hooks": [COMMAND]}]
READ = [
    {"matcher": "Bash", "foo": 1, "hooks": [{**COMMAND, "bar": 1}]},
    {"matcher": "[", "hooks": [COMMAND]},
    {"matcher": "Bash", "hooks": []},
    {"hooks": [{**COMMAND, "command": ""}]},
    {"hooks": [{**COMMAND, "if": "Bash("}]},
    {"hooks": [{**COMMAND, "description": 5}]},
    {"hooks": [{**COMMAND, "cloud": "x"}]},
    {"hooks": [{**HTTP, "cloud": 5}]},
    {"hooks": [{"type": "mcp_tool", "server": "a", "tool": "b", "onFailure": "deny"}]},
]


@pytest.fixture
def load_hooks_of(project):
    """Return the engine of a project of Claude Code with hooks and other members."""

    def load(hooks, **members):
        file = project / ".claude" / "settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"hooks": hooks, **members}))
        return SyncEngine.load(project, agent="claude", trust_once=True, on_message=lambda _: None)

    return load


@pytest.fixture
def with_entry(load_hooks_of):
    """Return the engine of a project of Claude Code with an entry in front of a guard."""

    def load(entry, event="PreToolUse", **members):
        return load_hooks_of({event: [entry, {"matcher": "Bash", "hooks": [GUARD]}]}, **members)

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
        ("permissions", {"deny": "Bash"}, "permissions.deny must be a list"),
        ("model", 3, "model must be a string"),
        ("env", "x", "env must be an object"),
        ("allowManagedHooksOnly", "x", "allowManagedHooksOnly must be true or false"),
        ("PreToolUse", GROUPS, "the hooks in 'PreToolUse' must stand inside \"hooks\""),
        ("_PreToolUse", GROUPS, "the hooks in '_PreToolUse' must stand inside \"hooks\""),
        ("backup", {"PermissionRequest": GROUPS}, "the hooks in 'backup' must stand inside"),
        ("a", {"b": {"c": {"d": {"PreToolUse": GROUPS}}}}, "the hooks in 'a' must stand inside"),
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


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("PreToolUse", []),
        ("Stop", GROUPS),
        ("disabled", {"Stop": GROUPS}),
        ("mcpServers", {"PreToolUse": {"command": "x"}}),
        ("a", {"b": {"c": {"d": {"e": {"PreToolUse": GROUPS}}}}}),
        ("permissions", {"allow": [3]}),
        ("env", {"A": 1}),
    ],
)
def test_another_member_that_costs_nothing_leaves_the_guard_alone(with_entry, member, value):
    with with_entry({"hooks": [COMMAND]}, **{member: value}) as engine:
        problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]

    assert "settings-dropped" not in problems


@pytest.mark.parametrize(
    ("groups", "dropped"),
    [
        ([{"hooks": [{**COMMAND, "timeout": "5"}, COMMAND]}], ["broken", "unknown"]),
        ([{"hooks": [{**COMMAND, "timeout": "5"}]}, {"hooks": [COMMAND]}], ["broken", "unknown"]),
        ([{"matcher": ["x"], "hooks": [COMMAND]}, {"hooks": [COMMAND]}], ["unknown"]),
        ([{"hooks": [{"type": "x"}]}], []),
        ([None], []),
        ({"hooks": [COMMAND]}, ["broken"]),
        (None, []),
    ],
    ids=repr,
)
def test_a_mistake_on_another_event_than_those_of_guards_costs_only_its_entry(
    load_hooks_of, groups, dropped
):
    hooks = {"PreToolUse": [{"hooks": [GUARD]}], "Stop": groups}
    with load_hooks_of(hooks) as engine:
        problems = [finding.diagnostic for finding in find_problems([engine.engine])]
        health = anyhook.health(engine).hooks

    words = {"before_tool": [], "after_agent": []}
    for hook in health:
        words[hook.row.definition.event].append(str(hook.word))
    assert words == {"before_tool": ["unknown"], "after_agent": dropped}
    assert "settings-dropped" not in [problem.code for problem in problems]
    for problem in problems:
        if problem.code == "hook-dropped":
            assert problem.message.startswith("Claude Code leaves this out: ")


@pytest.mark.parametrize(
    ("hooks", "remedy"),
    [
        ({"PermissionRequest": {}}, "PermissionRequest must be a list"),
        ({"Stop": {"PreToolUse": GROUPS}}, "Stop must be a list"),
        ({"Stop": [{"hooks": [{"PreToolUse": GROUPS}]}]}, "events must stand in the object"),
        ({"Stop": [{"PreToolUse": GROUPS, "hooks": []}]}, "events must stand in the object"),
        ({"Other": [{"PreToolUse": GROUPS}]}, "Other is not an event, and holds hooks"),
        ({"BeforeTool": {"matcher": "x", "hooks": [COMMAND]}}, "BeforeTool is not an event"),
    ],
    ids=repr,
)
def test_hooks_of_guards_in_the_wrong_place_cost_the_whole_file(load_hooks_of, hooks, remedy):
    with load_hooks_of({"PreToolUse": [{"hooks": [GUARD]}], **hooks}) as engine:
        problems = [finding.diagnostic for finding in find_problems([engine.engine])]
        words = {hook.row.definition.event: str(hook.word) for hook in anyhook.health(engine).hooks}

    (problem,) = [each for each in problems if each.code == "settings-dropped"]
    assert remedy in problem.message
    assert words["before_tool"] == "broken"


@pytest.mark.parametrize("hooks", [{"PermissionRequest": None}, {"BeforeTool": GROUPS}, {"x": 5}])
def test_an_event_that_costs_only_itself_leaves_the_guard_alone(load_hooks_of, hooks):
    with load_hooks_of({"PreToolUse": [{"hooks": [GUARD]}], **hooks}) as engine:
        problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]

    assert "settings-dropped" not in problems


def test_a_failure_mode_of_an_mcp_tool_that_claude_code_does_not_know_denies(load_hooks_of):
    hook = {"type": "mcp_tool", "server": "a", "tool": "b", "onFailure": "deny"}
    with load_hooks_of({"PreToolUse": [{"hooks": [hook]}]}) as engine:
        (definition,) = engine.engine.definitions
        problems = [finding.diagnostic for finding in find_problems([engine.engine])]

    assert definition.handlers[0].on_failure == "block"
    (problem,) = [each for each in problems if each.code == "wrong-type"]
    assert "Claude Code reads it as 'block'" in problem.message


def test_an_unknown_event_costs_only_itself(with_entry):
    with with_entry({"matcher": 5}, event="Nope") as engine:
        problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]

    assert "settings-dropped" not in problems


def test_the_guard_still_decides_in_a_program_that_embeds_the_engine(with_entry):
    event = BeforeTool(tool_name="Bash", tool_input={"command": "x"})
    with with_entry({"matcher": ["Bash"], "hooks": [COMMAND]}) as engine:
        assert engine.dispatch(event).denied


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
