"""Files that an agent checks as a whole: plain JSON, and mistakes that drop all hooks of a file."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.spec.settings import HandlerField, HandlerType, SettingsFile
from anyhook.model.layers import Layer
from anyhook.settings.load import load_file
from anyhook.settings.sources import Source

CLAUDE = get_agent("claude")
FATAL = frozenset({"wrong-type", "missing-field", "unknown-type", "unknown-member", "bad-timeout"})
STRICT = CLAUDE.replace(
    name="strict",
    title="Strict Agent",
    documented=CLAUDE.documented.replace(
        events=tuple(
            spec.replace(matcher_style="rust", runs_background=spec.wire != "SessionEnd")
            for spec in CLAUDE.events
        )
    ),
).with_settings(
    handler_fields=frozenset({"type", "timeout"}),
    handler_types={
        "command": HandlerType(
            "command",
            600.0,
            fields={
                "async": HandlerField("background", "boolean"),
                "limit": HandlerField("limit", "count"),
                "other_limit": HandlerField("limit", "count"),
            },
        ),
        "mcp_tool": HandlerType(
            "mcp", 60.0, fields={"server": HandlerField("server", "string", True, True)}
        ),
        "prompt": HandlerType("prompt", 30.0, runs=False),
    },
    hooks_optional=True,
    strict_handlers=True,
    zero_timeout=1.0,
)
FILE = SettingsFile(
    Layer.PROJECT,
    {"*": "{project}/hooks.json"},
    strict_json=True,
    members=frozenset({"description", "hooks"}),
    fatal_codes=FATAL,
)
GOOD = {"hooks": [{"type": "command", "command": "good"}]}


def load(tmp_path, content):
    path = tmp_path / "hooks.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text.encode())
    return load_file(STRICT, Source(Layer.PROJECT, path, file=FILE))


def with_handler(**members):
    handler = {"type": "command", "command": "true", **members}
    return {"hooks": {"PreToolUse": [{"hooks": [handler]}], "Stop": [GOOD]}}


def count(file):
    return sum(len(definition.handlers) for definition in file.definitions)


def codes(file):
    return [problem.code for problem in file.diagnostics]


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ('{"hooks": {}} // c', "a comment", 15),
        ('/* c */ {"hooks": {}}', "a comment", 1),
        ('{"hooks": {"Stop": [],}}', "a comma", 22),
        ('\ufeff{"hooks": {}}', "a byte order mark", 1),
    ],
)
def test_additions_to_json_are_syntax_errors(tmp_path, text, message, column):
    file = load(tmp_path, text)

    (problem,) = file.diagnostics
    assert problem.code == "settings-syntax"
    assert message in problem.message
    assert problem.place.column == column
    assert file.is_broken


def test_a_comment_mark_inside_a_string_is_no_comment(tmp_path):
    assert count(load(tmp_path, with_handler(command="curl https://x // y"))) == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (with_handler(timeout=1.5), "bad-timeout"),
        (with_handler(timeout=2.0), "bad-timeout"),
        (with_handler(timeout=-1), "bad-timeout"),
        (with_handler(timeout="5"), "bad-timeout"),
        (with_handler(timeout=True), "bad-timeout"),
        (with_handler(type="http"), "unknown-type"),
        (with_handler(type=None), "missing-field"),
        (with_handler(command=["true"]), "wrong-type"),
        (with_handler(command=None), "missing-field"),
        (with_handler(limit=-1), "wrong-type"),
        (with_handler(limit=True), "wrong-type"),
        (with_handler(**{"async": "yes"}), "wrong-type"),
        ({"hooks": {"PreToolUse": [{**GOOD, "matcher": 5}], "Stop": [GOOD]}}, "wrong-type"),
        ({"hooks": {"PreToolUse": None, "Stop": [GOOD]}}, "wrong-type"),
        ({"hooks": {"PreToolUse": [{"hooks": {}}], "Stop": [GOOD]}}, "wrong-type"),
        ({"hooks": [GOOD]}, "wrong-type"),
        ({"$schema": "x", "hooks": {"Stop": [GOOD]}}, "unknown-member"),
    ],
)
def test_one_mistake_drops_all_hooks_of_a_file(tmp_path, content, code):
    file = load(tmp_path, content)

    assert count(file) == 0
    assert file.is_broken
    assert code in codes(file)
    (dropped,) = [problem for problem in file.diagnostics if problem.code == "settings-dropped"]
    (first,) = [problem for problem in file.diagnostics if problem.code == code]
    assert dropped.place == first.place
    assert str(first.severity) == "error"


@pytest.mark.parametrize(
    ("content", "hooks", "code"),
    [
        (with_handler(type="prompt", prompt="p"), 1, "unsupported-type"),
        (with_handler(command="  "), 1, "empty-member"),
        (with_handler(type="mcp_tool", server=""), 1, "empty-member"),
        (with_handler(env={"A": 5}, name=5, args="x"), 2, "unknown-field"),
        (with_handler(limit=1, other_limit=2), 2, "duplicate-key"),
        ({"hooks": {"PreToolUse": [{"matcher": "x"}], "Stop": [GOOD]}}, 1, "no-handlers"),
        ({"hooks": {"PreToolUse": [{"matcher": "[", **GOOD}], "Stop": [GOOD]}}, 1, "bad-matcher"),
        ({"hooks": {"NoSuch": 5, "Stop": [GOOD]}}, 1, "unknown-event"),
    ],
)
def test_other_mistakes_cost_only_their_hook(tmp_path, content, hooks, code):
    file = load(tmp_path, content)

    assert code in codes(file)
    assert "settings-dropped" not in codes(file)
    assert count(file) == hooks


def test_an_invalid_matcher_is_no_problem_where_nothing_is_matched(tmp_path):
    file = load(tmp_path, {"hooks": {"Stop": [{"matcher": "[", **GOOD}]}})

    assert count(file) == 1
    assert file.diagnostics == ()


def test_members_of_other_agents_are_ignored(tmp_path):
    file = load(tmp_path, with_handler(args=["x"], env={"A": "b"}, name="n"))

    (handler,) = file.definitions[0].handlers
    assert handler.command == "true"
    assert handler.argv is None
    assert handler.env == {}
    assert handler.name is None


def test_a_timeout_of_zero_is_the_shortest_one(tmp_path):
    file = load(tmp_path, with_handler(timeout=0))

    assert file.definitions[0].handlers[0].timeout == 1.0
    assert file.diagnostics == ()


def test_a_hook_runs_in_the_foreground_where_the_agent_waits(tmp_path):
    handler = {"type": "command", "command": "true", "async": True}
    file = load(
        tmp_path, {"hooks": {name: [{"hooks": [handler]}] for name in ("Stop", "SessionEnd")}}
    )

    assert [d.handlers[0].background for d in file.definitions] == [True, False]
    assert codes(file) == ["background-not-here"]


@pytest.mark.parametrize(
    ("agent", "text", "message"),
    [
        ("claude", "{%s} // c", "2:5: Claude Code does not accept a comment here"),
        ("claude", "/* c */{%s,}", "1:1: Claude Code does not accept a comment here"),
        ("claude", "{%s,}", "2:3: Claude Code does not accept a comma before a closing bracket"),
        ("claude", "\ufeff{%s}", None),
        ("gemini", "/* c */{%s}", None),
        ("gemini", "/* c */{%s,}", "2:3: Gemini CLI does not accept a comma"),
        ("gemini", "\ufeff{%s}", "1:1: Gemini CLI does not accept a byte order mark"),
        ("qwen", "/* c */{%s,}", "2:3: Qwen Code does not accept a comma"),
        ("qwen", "\ufeff/* c */{%s}", None),
    ],
)
def test_what_the_parser_of_an_agent_rejects_is_an_error_and_the_hooks_stay(
    tmp_path, agent, text, message
):
    spec = get_agent(agent)
    path = tmp_path / "settings.json"
    event = spec.by_canonical["before_tool"].wire
    hooks = json.dumps({event: [{"hooks": [{"type": "command", "command": "true // , }"}]}]})
    path.write_text((text % f'"hooks": {hooks}').replace(hooks, f"{hooks}\n  "))
    file = load_file(spec, Source(Layer.USER, path, file=spec.settings.files[0]))

    assert count(file) == 1
    places = [f"{p.place.line}:{p.place.column}: {p.message}" for p in file.diagnostics]
    if message is None:
        assert places == []
    else:
        assert codes(file) == ["not-plain-json"]
        assert places[0].startswith(message)
