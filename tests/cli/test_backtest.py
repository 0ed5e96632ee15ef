"""`anyhook backtest` and `anyhook history replay`: what they choose, leave out and print."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import AGENTS
from anyhook.backtest.results import Result
from anyhook.backtest.run import BacktestProgress, BacktestRun
from anyhook.backtest.subjects import BacktestSubject
from anyhook.cli import OK, PROBLEMS, USAGE, main
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from tests.backtest.test_backtest import GUARD, shell
from tests.backtest.test_crashes import text_of
from tests.tables import fast_for

REFUSES = """grep -q '"rm' && echo no >&2 && exit 2; exit 0"""
"""Every payload holds `permission_mode`, in which `rm` occurs, too."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    home, project = tmp_path / "home", tmp_path / "project"
    for directory in (home, project):
        directory.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ANYHOOK_WORKER", "off")
    monkeypatch.chdir(project)
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    hook = {"type": "command", "command": REFUSES, "name": "refuses"}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    return project


def add(*events):
    with History.open(history_directory()) as history:
        history.add(events)


def output(capsys):
    """Return the output as one line, however wide the terminal is."""
    text = capsys.readouterr()
    return " ".join(text.out.split()), " ".join(text.err.split())


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("backtest", "-j1", "--project", ".", "--trust-once")),
        pytest.param(
            ("history", "replay", "last", "--project", ".", "--trust-once"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_recorder_is_left_out_of_the_hooks_of_a_project(here, capsys, words):
    add(shell(1, "rm x", cwd=str(here)), shell(2, "ls", cwd=str(here)))
    assert main(["history", "record", "on", "--agent", "claude", "--yes"]) == OK
    capsys.readouterr()

    main([*words, "--json"])

    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert [tally["matched"] for tally in report["hooks"].values()] == [2]
    assert report["outcomes"]["deny"]["events"] == 1
    assert "The recorder of anyhook history record is left out" in captured.err
    assert "recorder.py" not in captured.err


def test_a_project_with_the_recorder_only_has_no_hooks(here, capsys):
    (here / ".claude" / "settings.json").write_text("{}")
    add(shell(1, "ls"))
    assert main(["history", "record", "on", "--agent", "claude", "--yes"]) == OK

    assert main(["backtest", "-j1", "--project", "."]) == USAGE

    assert "has no hooks but the recorder of anyhook history record" in output(capsys)[1]


@pytest.mark.parametrize("words", [("backtest", "-j1", "guard.py"), ("history", "replay", "last")])
def test_an_unknown_agent_is_refused_with_the_agents(here, capsys, words):
    (here / "guard.py").write_text(GUARD)
    add(shell(1, "ls"))

    assert main([*words, "--agent", "cluade"]) == USAGE

    assert f"did you mean 'claude'? known: {', '.join(AGENTS)}" in output(capsys)[1]


@pytest.mark.parametrize(
    ("tool", "note"),
    [
        ("shel", "note: no agent has a tool 'shel', and no event has it; did you mean 'shell'?"),
        ("Zzz", "no agent has a tool 'Zzz', and no event has it; known: shell, read_file,"),
        ("mcp__github__search", None),
        ("WebSearch", None),
        ("", None),
    ],
)
def test_a_tool_that_no_agent_and_no_event_has_is_noted(here, capsys, tool, note):
    (here / "guard.py").write_text(GUARD)

    assert main(["backtest", "-j1", "guard.py", "--tool", tool]) == PROBLEMS

    _, error = output(capsys)
    assert "The history is empty: " in error
    assert note in error if note else "note:" not in error


@pytest.mark.parametrize(
    ("hook", "message"),
    [("gard.py", "there is no file 'gard.py'"), ("guard.sh", "'guard.sh' is not a Python file")],
)
def test_a_wrong_file_is_named_also_without_a_history(here, capsys, hook, message):
    (here / "guard.sh").write_text("exit 2\n")

    assert main(["backtest", "-j1", hook]) == USAGE

    assert message in output(capsys)[1]


@pytest.mark.slow
def test_a_tool_may_be_named_as_an_agent_does(here, capsys):
    (here / "guard.py").write_text(GUARD)
    add(shell(1, "rm -rf /"))

    assert main(["backtest", "-j1", "guard.py", "--tool", "Bash", "--json"]) == OK

    assert json.loads(capsys.readouterr().out)["events"] == 1


def hooks_of(agent, here, command):
    """Add a hook of an agent to the project."""
    if agent == "claude":
        path, event, wrap = here / ".claude" / "settings.json", "PreToolUse", 1
    else:
        path, event, wrap = here / ".gemini" / "settings.json", "BeforeTool", 1000
    path.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": command, "timeout": 10 * wrap}
    path.write_text(json.dumps({"hooks": {event: [{"hooks": [hook]}]}}))


@pytest.mark.parametrize(
    "words",
    [
        ("backtest", "-j1", "--project", ".", "--agent", "codex"),
        pytest.param(("history", "replay", "s9", "--project", "."), marks=pytest.mark.slow),
        pytest.param(("history", "replay", "s9"), marks=pytest.mark.slow),
    ],
)
def test_hooks_of_the_projects_agent_decide_events_of_another_one(here, capsys, words):
    add(shell(1, "rm x", "s9", agent="codex", cwd=str(here))._replace(project=str(here)))
    add(shell(2, "rm y", "s1", cwd=str(here)))

    main([*words, "--trust-once", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert (report["events"], report["outcomes"]["deny"]["events"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("agent", fast_for(["claude", "gemini"]))
def test_of_several_agents_hooks_those_of_the_chosen_agent_count(here, capsys, agent):
    hooks_of("gemini", here, "echo gemini >&2; exit 2")
    hooks_of("claude", here, "echo claude >&2; exit 2")
    add(shell(1, "ls", "s1"), shell(2, "ls", "s2", agent="gemini"))

    main(["backtest", "-j1", "--project", ".", "--agent", agent, "--trust-once", "--json"])

    (decided,) = json.loads(capsys.readouterr().out)["decided"]
    assert (decided["session"].partition("/")[0], decided["decision"]["reason"]) == (agent, agent)


def test_without_a_chosen_agent_hooks_of_several_agents_are_an_error(here, capsys):
    hooks_of("gemini", here, "exit 2")
    add(shell(1, "ls", "s1"))

    assert main(["backtest", "-j1", "--project", ".", "--trust-once"]) == USAGE

    assert "several agents have hooks here" in output(capsys)[1]


@pytest.mark.slow
def test_the_recorder_of_another_agent_is_no_hook_of_the_project(here, capsys):
    add(shell(1, "rm x", agent="gemini"))
    assert main(["history", "record", "on", "--agent", "gemini", "--yes"]) == OK
    capsys.readouterr()

    main(["backtest", "-j1", "--project", ".", "--agent", "gemini", "--trust-once", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert list(report["hooks"]) == ["refuses"]
    assert report["outcomes"]["deny"]["events"] == 1


@pytest.mark.slow
def test_each_hook_that_will_run_is_listed(here, capsys):
    settings = here / ".claude" / "settings.json"
    hooks = [{"type": "command", "command": f"{folder}/guard.sh"} for folder in ("one", "two")]
    events = {"PreToolUse": [{"hooks": hooks}], "PostToolUse": [{"hooks": hooks[:1]}]}
    settings.write_text(json.dumps({"hooks": events}))
    add(shell(1, "ls"))

    main(["backtest", "-j1", "--project", ".", "--trust-once"])

    error = capsys.readouterr().err
    listed = [line.split() for line in error.splitlines() if line.startswith("  ")]
    assert "3 hooks of" in error
    assert listed == [
        ["guard.sh#c1e0", "before_tool"],
        ["guard.sh#25d1", "before_tool"],
        ["guard.sh#c1e0", "after_tool"],
    ]


@pytest.mark.slow
def test_one_decision_differs(here, capsys):
    (here / "guard.py").write_text(GUARD)
    (here / "old.py").write_text(GUARD.replace("rm -rf", "nothing"))
    add(shell(1, "rm -rf /"))

    main(["backtest", "-j1", "guard.py", "--against", "old.py"])

    assert "1 decision differs from old.py, 1 new denial" in output(capsys)[0]


@pytest.mark.slow
def test_a_row_with_an_unknown_event_is_reported(here, capsys):
    (here / "guard.py").write_text(GUARD)
    rows = [
        {"agent": "claude", "session": "s", "event": event, "payload": {"session_id": "s"}}
        for event in ("quatsch", "before_tool")
    ]
    (here / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    main(["backtest", "-j1", "guard.py", "--on", "rows.jsonl"])

    out, error = output(capsys)
    assert "rows.jsonl:1: is not an exported event: there is no event 'quatsch'; skipped" in error
    assert "guard.py would have denied 0 of 1 call in 1 session" in out


@pytest.mark.parametrize(
    ("done", "line"),
    [
        (0, "ended after 0 of 1 part; the report is about these"),
        (2, "ended after 2 of 3 parts; the report is about these"),
    ],
)
def test_an_interrupted_run_says_how_far_it_came(done, line):
    subject = BacktestSubject("guard.py", "guard.py")
    run = BacktestRun(subject, Result(), BacktestProgress(done + 1, done), is_complete=False)

    assert line in text_of(run)


def test_words_without_a_letter_are_refused(here, capsys):
    words = ("backtest", "-j1", "--project", ".", "--trust-once", "--where=;;")

    assert main(list(words)) == USAGE
    assert "has no letter and no digit to search for" in output(capsys)[1]
