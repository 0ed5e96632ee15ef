"""`make drift`: what is read out of a program, and what counts as a change."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.drift.__main__ import CHANGED, SURFACES, UNAVAILABLE, UNCHANGED, USAGE, main, run_replies
from tools.drift.case_forms import Case, Expected, load_cases
from tools.drift.cases import Played, play_cases
from tools.drift.compare import compare_surfaces, compare_with_tables
from tools.drift.packages import PACKAGES, ROOT, start_command
from tools.drift.random_replies import Effect, RandomReplies, decide, difference
from tools.drift.report import AgentReport
from tools.drift.runs import AgentTests, read_results, run_tests
from tools.drift.surface import Surface, read_surface

from anyhook.agents import AGENTS
from anyhook.probe.models.server import ModelTurn
from tests.e2e.agents import VERSIONS

BUNDLE = """
// packages/core/src/hooks/types.ts
var HookEventName = ((HookEventName2) => {
  HookEventName2["PreToolUse"] = "PreToolUse";
  HookEventName2["Stop"] = "Stop";
})
var DefaultHookOutput = class {
  constructor(data = {}) {
    this.continue = data.continue;
  }
  read() {
    return this.hookSpecificOutput["permissionDecision"];
  }
};
// packages/core/src/hooks/hookEventHandler.ts
var HookEventHandler = class {
  async firePreToolUseEvent(toolName, tool_call_id) {
    const input = {
      ...this.createBaseInput("PreToolUse" /* PreToolUse */),
      tool_name: toolName,
      ...tool_call_id && { tool_call_id }
    };
  }
  createBaseInput(eventName) {
    return {
      session_id: this.sessionId,
      cwd: this.cwd
    };
  }
};
// packages/core/src/other.ts
const input = {
  not_of_hooks: 1
};
"""
MINIFIED = (
    'a=c({hook_event_name:E("Stop"),stop_hook_active:P(),background_tasks:x(c({id:n()})),'
    'note:n().describe("a, text: with {braces}")}),'
    'b=c({hookEventName:E("Stop"),additionalContext:n().optional()}),'
    "r=c({continue:P().optional(),suppressOutput:P().optional(),decision:F()})"
)
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"tool_name": {}, "cwd": {}},
    "title": "pre-tool-use.command.input",
}


def read(form, text, tmp_path):
    file = tmp_path / "program"
    file.write_text(text, encoding="utf-8")
    return read_surface(form, [file])


def test_names_are_read_from_the_modules_of_a_bundle(tmp_path):
    surface = read("modules", BUNDLE, tmp_path)

    assert surface.events == {"PreToolUse", "Stop"}
    assert surface.payloads == {
        "PreToolUse": {"tool_name", "tool_call_id"},
        "*": {"session_id", "cwd"},
    }
    assert surface.replies == {"*": {"continue", "permissionDecision"}}


def test_names_are_read_from_the_schemas_of_minified_code(tmp_path):
    surface = read("schemas", MINIFIED, tmp_path)

    assert surface.events == {"Stop"}
    assert surface.payloads["Stop"] == {
        "hook_event_name", "stop_hook_active", "background_tasks", "note"
    }  # fmt: skip
    assert surface.replies["Stop"] == {"hookEventName", "additionalContext"}
    assert surface.replies["*"] == {"continue", "suppressOutput", "decision"}


def test_names_are_read_from_json_schemas_between_other_bytes(tmp_path):
    text = "\\x00noise" + json.dumps(SCHEMA) + "pre-tool-use.command.output{ broken"
    surface = read("json-schemas", text, tmp_path)

    assert surface.events == {"PreToolUse"}
    assert surface.payloads == {"PreToolUse": {"tool_name", "cwd"}}


def test_a_surface_comes_back_from_json(tmp_path):
    surface = read("modules", BUNDLE, tmp_path)

    assert Surface.from_json(surface.as_json()) == surface


def test_added_and_removed_names_are_changes():
    old = Surface(frozenset({"A", "B"}), {"A": frozenset({"x", "y"})}, {})
    new = Surface(frozenset({"B", "C"}), {"A": frozenset({"y"})}, {"C": frozenset({"z"})})
    changes = [(c.subject, c.name, c.change) for c in compare_surfaces("qwen", "9.9.9", old, new)]

    assert changes == [
        ("event", "C", "added"),
        ("event", "A", "removed"),
        ("payload", "A.x", "removed"),
        ("reply", "C.z", "added"),
    ]
    assert list(compare_surfaces("qwen", "9.9.9", old, old)) == []


def test_an_event_that_the_tables_lack_is_a_change():
    events = AGENTS["qwen"].events
    surface = Surface((events - {"Stop"}) | {"BeforeLunch"})
    changes = {(c.name, c.change) for c in compare_with_tables("qwen", "9.9.9", surface)}

    assert changes == {("BeforeLunch", "unknown to the tables"), ("Stop", "not in the program")}


@pytest.mark.parametrize("agent", sorted(path.stem for path in SURFACES.glob("*.json")))
def test_the_stored_names_agree_with_the_tables(agent):
    stored = json.loads((SURFACES / f"{agent}.json").read_text())
    surface = Surface.from_json(stored)

    assert surface.events
    if agent in AGENTS and PACKAGES[agent].lists_events:
        changes = compare_with_tables(agent, "stored", surface)
        assert [c.name for c in changes if c.name not in stored["accepted"]] == []


RESULTS = """<testsuites><testsuite>
<testcase name="good"/>
<testcase name="bad"><failure/></testcase>
<testcase name="broken"><error/></testcase>
<testcase name="absent"><skipped/></testcase>
</testsuite></testsuites>"""


def test_failed_and_skipped_tests_are_read_from_the_results(tmp_path):
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)

    assert read_results(results, 1) == AgentTests(3, 1, ("bad", "broken"))


@pytest.mark.parametrize(
    ("text", "exit_code", "problem"),
    [
        (None, 4, "pytest ended with exit code 4"),
        (RESULTS, 2, "pytest ended with exit code 2"),
        ("<testsuites/>", 5, "no test ran, 0 were skipped"),
        ("<a><testcase><skipped/></testcase></a>", 0, "no test ran, 1 were skipped"),
    ],
)
def test_a_run_without_tests_is_a_problem(tmp_path, text, exit_code, problem):
    results = tmp_path / "results.xml"
    if text is not None:
        results.write_text(text)

    assert read_results(results, exit_code).problem == problem


@pytest.mark.slow
def test_an_agent_whose_tests_cannot_be_chosen_is_a_problem():
    package = dataclasses.replace(PACKAGES["opencode"], agent="nobody")

    assert run_tests(package, "0.0.0") == AgentTests(problem="no test ran, 0 were skipped")


@pytest.mark.slow
def test_each_test_with_a_real_agent_is_chosen_by_its_release():
    command = [sys.executable, "-m", "pytest", "tests/e2e", "--collect-only"]
    environ = {**os.environ, "ANYHOOK_E2E": "1"}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    unchosen = [
        test
        for test in tests
        if "test_claude_sdk" not in test and not any(f"{name}-" in test for name in VERSIONS)
    ]

    assert tests
    assert unchosen == []
    for name, versions in VERSIONS.items():
        own = [test for test in tests if f"/test_{name}.py::" in test]
        assert [test for test in own if f"{name}-{versions[0]}" not in test] == []
        assert [test for test in tests if f"{name}-{versions[0]}" in test]


@pytest.mark.parametrize(("agent", "count"), [("qwen", 150), ("copilot", 290), ("codex", 100)])
def test_the_observed_cases_can_be_played(agent, count, tmp_path):
    cases = load_cases(agent, tmp_path / "home", tmp_path / "project")

    assert len(cases) >= count
    assert all(Path(name).is_relative_to(tmp_path) for case in cases for name in case.files)


def test_an_agent_without_a_table_has_no_cases(tmp_path):
    assert load_cases("gemini", tmp_path, tmp_path) == []


def test_a_program_inherits_the_variables_of_a_case(tmp_path, monkeypatch):
    """Those of the user that begin like them would change its settings, and are left out."""
    program = tmp_path / "program.sh"
    program.write_text("echo $QWEN_HOME > seen.txt\n")
    expected = Expected(files={"seen.txt": "elsewhere\n"})
    case = Case("1", expected, {}, (ModelTurn("after"),), {"QWEN_HOME": "elsewhere"})
    monkeypatch.setattr("tools.drift.cases.load_cases", lambda *_arguments: [case])

    assert play_cases("qwen", ["sh", str(program)]) == Played(1)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A release of Qwen Code in the cache, made of the sample."""
    monkeypatch.setenv("ANYHOOK_E2E_CACHE", str(tmp_path))
    chunks = tmp_path / "qwen-9.9.9" / "node_modules" / "@qwen-code" / "qwen-code" / "chunks"
    chunks.mkdir(parents=True)
    (chunks / "chunk-A.js").write_text(BUNDLE, encoding="utf-8")


@pytest.mark.usefixtures("installed")
def test_a_changed_release_is_reported_as_json_with_exit_code_1(capsys):
    code = main(["qwen", "--release", "9.9.9", "--no-runs", "--json"])
    report = json.loads(capsys.readouterr().out)

    assert code == CHANGED
    assert report["changed"] is True
    (agent,) = report["agents"]
    assert agent["observed"] == "0.24.4"
    assert {"SessionStart", "Notification"} <= {change["name"] for change in agent["changes"]}


@pytest.mark.usefixtures("installed")
def test_a_changed_release_is_reported_as_a_table(capsys):
    main(["qwen", "--release", "9.9.9", "--no-runs"])
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].split() == ["agent", "release", "subject", "name", "change"]
    assert any(line.split()[3:] == ["SessionStart", "removed"] for line in lines)


@pytest.mark.parametrize("arguments", [["nobody"], ["--release", "1.0.0"], ["--what"]])
def test_wrong_usage_ends_with_64(arguments):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == USAGE


def test_a_release_that_cannot_be_installed_is_no_change(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANYHOOK_E2E_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    assert main(["qwen", "--no-runs"]) == UNAVAILABLE
    assert "there is no npm on the PATH" in capsys.readouterr().out
    assert UNCHANGED == 0


@pytest.mark.parametrize(
    ("agent", "file", "start"),
    [
        ("claude", "@anthropic-ai/claude-code-linux-x64/claude", "{file}"),
        ("copilot", "@github/copilot-linux-x64/copilot", "{file}"),
        ("qwen", "@qwen-code/qwen-code/cli.js", "node {file}"),
    ],
)
def test_the_program_of_a_release_is_started(tmp_path, agent, file, start):
    """Of Claude Code, the `bin` is a text; of Copilot CLI, `make e2e` installs no more than it."""
    package = PACKAGES[agent]
    program = tmp_path / "node_modules" / file
    program.parent.mkdir(parents=True)
    program.touch()
    if agent != "copilot":
        root = tmp_path / "node_modules" / package.name
        root.mkdir(parents=True, exist_ok=True)
        (root / "package.json").write_text(json.dumps({"bin": {agent: "cli.js"}}))

    assert start_command(package, tmp_path) == start.format(file=program).split()
    assert start_command(package, tmp_path / "other") is None


def test_a_program_in_which_no_hook_runs_is_a_change():
    report = AgentReport("claude", newest="9.9.9")

    run_replies(PACKAGES["claude"], ["true"], report, count=1, seed=1)

    (change,) = report.changes
    assert (change.subject, change.change) == ("replies", "no hook ran")


# -- random replies


def test_random_replies_are_the_same_for_the_same_seed():
    first, second = (RandomReplies("claude", "before_tool", 7) for _ in range(2))
    replies = [first.next(number) for number in range(50)]

    assert replies == [second.next(number) for number in range(50)]
    assert len({reply.exit_code for reply in replies}) == 5
    assert any("deny" in reply.stdout for reply in replies)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "qwen"])
def test_the_observed_rules_decide_random_replies(agent, tmp_path):
    made = RandomReplies(agent, "before_tool", 3)
    replies = [made.next(number) for number in range(60)]

    effects = decide(agent, "before_tool", replies, tmp_path)

    assert len(effects) == 60
    assert {effect.ran for effect in effects} == {True, False}
    assert any(effect.texts for effect in effects)


def test_a_difference_names_what_the_program_did():
    usual = Effect(ran=True, changed=False, ended=False, texts=frozenset())
    with_text = Effect(ran=True, changed=False, ended=False, texts=frozenset({"WHY"}))
    denied = Effect(ran=False, changed=False, ended=False, texts=frozenset())
    changed = Effect(ran=True, changed=True, ended=False, texts=frozenset())
    ended = Effect(ran=True, changed=False, ended=True, texts=frozenset())

    assert difference(usual, usual) == ""
    assert difference(denied, usual) == "the tool did not run"
    assert difference(changed, usual) == "the command was changed"
    assert difference(ended, usual) == "the loop ended"
    assert difference(with_text, usual) == "the model got ['WHY'] instead of []"
