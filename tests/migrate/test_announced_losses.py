"""Differences between agents that a migration reports before anything runs."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.migrate.commands import read_shim
from anyhook.migrate.context import MORE
from anyhook.migrate.plan import plan_migration
from anyhook.settings.sources import Location

PROMPT_FACTS = "echo 'The year is 2026.'"


@pytest.fixture
def plan(world):
    """Plan the migration of hooks that are given as event, matcher and command."""

    def call(source, target, *hooks):
        events = {}
        for event, matcher, command in hooks:
            definition = {"hooks": [{"type": "command", "command": command}]}
            if matcher is not None:
                definition["matcher"] = matcher
            events.setdefault(event, []).append(definition)
        name = "hooks.json" if source == "codex" else "settings.json"
        file = world.project / f".{source}" / name
        world.write(file, json.dumps({"hooks": events}))
        location = Location(world.project, world.home, {})
        return plan_migration(get_agent(source), get_agent(target), location)

    return call


def rows(migration, *kinds):
    return [(loss.subject, loss.reason) for loss in migration.losses if loss.kind in kinds]


def subjects(migration, *kinds):
    return [subject for subject, _ in rows(migration, *kinds)]


# -- abilities of one side only


@pytest.mark.parametrize(
    ("target", "event"), [("cursor", "beforeSubmitPrompt"), ("copilot", "userPromptSubmitted")]
)
def test_context_that_only_a_release_of_the_target_takes_is_reported(plan, target, event):
    migration = plan("claude", target, ("UserPromptSubmit", None, PROMPT_FACTS))

    ((subject, reason),) = rows(migration, "weaker")
    assert subject == "echo: context for the agent"
    assert f"has it on {event}, but the reference" in reason


def test_context_that_the_target_documents_is_not_reported(plan):
    migration = plan("claude", "opencode", ("UserPromptSubmit", None, PROMPT_FACTS))

    assert subjects(migration, "weaker") == []


def test_plain_text_beside_json_in_one_script_is_found(plan, world):
    script = 'import json\nif bad:\n    print(json.dumps({"decision": "block"}))\nprint("a rule")\n'
    world.write(world.project / "facts.py", script)

    migration = plan("claude", "cursor", ("UserPromptSubmit", None, "uv run facts.py"))

    assert "facts.py: context for the agent" in subjects(migration, "weaker")


def test_what_the_source_itself_ignores_is_a_note(plan):
    deny = """echo '{"decision": "deny", "reason": "ask a person"}'"""

    migration = plan("terminai", "cursor", ("AfterTool", "run_terminal_command", deny))

    (reason, _) = [reason for subject, reason in rows(migration, "note") if "denials" in subject]
    assert "TerminaI ignores it, too, although its reference describes it" in reason
    assert subjects(migration, "weaker") == []


def test_stopping_that_drops_the_context_of_others_is_reported(plan):
    stop = """echo '{"continue": false, "stopReason": "enough"}'"""

    migration = plan("claude", "opencode", ("UserPromptSubmit", None, stop))

    ((subject, reason),) = rows(migration, "changed")
    assert subject == "echo: stopping"
    assert "a denial drops the context of all hooks" in reason


# -- events that are not the same


def test_a_failure_that_the_target_does_not_show_is_reported(plan):
    hook = ("PostToolUseFailure", "Bash", "cat")

    assert "PostToolUseFailure: cat" in subjects(plan("claude", "codex", hook), "weaker")
    assert "PostToolUseFailure: cat" not in subjects(plan("claude", "gemini", hook), "weaker")


def test_a_hook_for_successful_commands_that_also_sees_failures_is_noted(plan):
    shell, edits = ("PostToolUse", "Bash", "cat"), ("PostToolUse", "Edit|Write", "sort")

    migration = plan("claude", "codex", shell, edits)

    notes = [loss for loss in migration.losses if "PostToolUse" in loss.subject]
    assert [(loss.kind, loss.subject) for loss in notes] == [("note", "PostToolUse: cat")]
    assert MORE in notes[0].explains


def test_hooks_that_do_not_run_after_a_denial_are_noted_once(plan):
    hooks = [("PreToolUse", "Bash", command) for command in ("cat", "sort", "head")]

    noted = subjects(plan("claude", "copilot", *hooks), "note")
    assert noted.count("3 hooks on preToolUse") == 1
    assert subjects(plan("claude", "gemini", *hooks), "note") == []


def test_a_single_hook_needs_no_such_note(plan):
    migration = plan("claude", "copilot", ("PreToolUse", "Bash", "cat"))

    assert not [subject for subject in subjects(migration, "note") if "hooks on" in subject]


# -- matchers


def matchers(migration):
    return [entry.definition.get("matcher") for entry in migration.entries]


def check(migration):
    (entry,) = migration.entries
    (handler,) = entry.definition["hooks"]
    return read_shim(handler["command"]).matcher


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("mcp__memory__delete_entities", "^MCP:delete_entities$"),
        ("mcp__github__.*", "^MCP:.*$"),
        ("mcp__.*", "^MCP:.*$"),
        ("mcp__github__(create|delete)_.*", "^MCP:(create|delete)_.*$"),
        ("mcp__(github|gitlab)__.*", "^MCP:.*$"),
        ("^mcp__(fs__write|git__push)$", "^MCP:.*$"),
        ("Write|mcp__fs__write_file", "^(Write|MCP:write_file)$"),
    ],
)
def test_names_of_mcp_tools_lose_their_server_where_the_target_has_none(plan, written, expected):
    migration = plan("claude", "cursor", ("PreToolUse", written, "cat"))

    assert matchers(migration) == [expected]
    is_wider = any("does not name the server" in reason for _, reason in rows(migration, "note"))
    assert is_wider is (written != "mcp__.*")


def test_the_shim_does_not_check_a_server_that_the_target_does_not_name(plan):
    both = plan("claude", "cursor", ("PreToolUse", "^mcp__fs__write$|^my_(a|b)", "cat"))
    pattern = plan("claude", "cursor", ("PreToolUse", "mcp__.*__(write|create).*", "cat"))

    assert (matchers(both), check(both)) == (["^(MCP:write|MCP:.*)$"], "")
    assert (matchers(pattern), check(pattern)) == (["^MCP:(write|create).*$"], "")


def test_an_expression_that_may_mean_a_server_is_reported(plan):
    migration = plan("claude", "cursor", ("PreToolUse", ".*github.*", "cat"))

    assert matchers(migration) == ["^MCP:.*$"]
    assert subjects(migration, "lost") == ["matcher '.*github.*'"]
    assert subjects(plan("claude", "cursor", ("PreToolUse", "Ed.*", "cat")), "lost") == []


def test_a_name_that_users_choose_is_compared_by_the_shim(plan):
    migration = plan("claude", "codex", ("SubagentStop", "reviewer", "cat"))

    assert (matchers(migration), check(migration)) == ([None], "reviewer")
    assert subjects(migration, "lost") == []


def test_a_subject_that_the_target_does_not_name_is_reported(plan):
    migration = plan("claude", "opencode", ("PreCompact", "auto", "cat"))

    assert rows(migration, "lost") == [
        (
            "matcher 'auto'",
            "experimental.session.compacting of OpenCode does not name its trigger",
        )
    ]


@pytest.mark.parametrize(
    ("source", "target", "written", "expected", "checked"),
    [
        ("claude", "codex", "Write", "apply_patch", "Write"),
        ("claude", "codex", "Edit|Write", "apply_patch", ""),
        ("codex", "claude", "apply_patch", "Write|Edit|MultiEdit", ""),
        ("codex", "opencode", "apply_patch", "write|apply_patch|edit", ""),
        ("codex", "copilot", "apply_patch", "create|apply_patch|edit|str_replace_editor", ""),
        ("claude", "opencode", "Write", "write|apply_patch", "Write"),
        ("claude", "opencode", "mcp__.*", "^.+_.+$", "mcp__.*"),
        ("claude", "copilot", "mcp__.*", "^.+-.+$", ""),
    ],
)
def test_the_shim_checks_a_matcher_that_covers_other_tools_in_the_target(
    plan, source, target, written, expected, checked
):
    migration = plan(source, target, ("PreToolUse", written, "cat"))

    assert (matchers(migration), check(migration)) == ([expected], checked)


def test_the_shim_checks_a_matcher_that_the_target_ignores(plan):
    migration = plan("claude", "copilot", ("SessionStart", "startup", "cat"))

    assert check(migration) == "startup"


def test_a_tool_for_patches_is_not_an_older_name(plan):
    migration = plan("opencode", "claude", ("tool.execute.before", "apply_patch", "cat"))

    assert not any("covers that" in reason for _, reason in rows(migration, "note"))
