"""Calls that an agent, its user or a hook refused: stored, searched, and counted apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.cli import OK, PROBLEMS, main
from anyhook.history.events import NOT_EXECUTED
from anyhook.history.filters import Filter
from anyhook.history.imports import find_transcripts, import_transcripts
from anyhook.history.search import iterate, newest
from anyhook.history.store import History

DATA = Path(__file__).parents[1] / "data" / "transcripts"
COMMON = {
    "parentUuid": None,
    "isSidechain": False,
    "userType": "external",
    "sessionId": "s1",
    "cwd": "/p",
    "timestamp": "2026-11-01T12:00:00.000Z",
}
DENIED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
UNKNOWN = "Error: No such tool available: Rm"
GUARD = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool()
def guard(event):
    return deny("no rm") if "rm" in str(event.tool_input) else None
"""


def call(number, name, command):
    block = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {"command": command}}
    message = {"id": f"m{number}", "content": [block]}
    return {**COMMON, "type": "assistant", "uuid": f"a{number}", "message": message}


def result(number, text, *, is_error):
    block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
    message = {"content": [{**block, "is_error": is_error}]}
    return {**COMMON, "type": "user", "uuid": f"r{number}", "message": message}


PROMPT = {**COMMON, "type": "user", "uuid": "p", "message": {"content": "clean up"}}
CALLS = [
    call(1, "Bash", "ls"),
    result(1, "a.txt", is_error=False),
    call(2, "Bash", "rm -rf /data"),
    result(2, DENIED, is_error=True),
    call(3, "Rm", "rm everything"),
    result(3, f"<tool_use_error>{UNKNOWN}</tool_use_error>", is_error=True),
    call(4, "Bash", "rm old.txt"),
    result(4, "", is_error=False),
]


@pytest.fixture
def claude(tmp_path, monkeypatch):
    """The directory of Claude Code, in which one session has two refused calls."""
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    directory = tmp_path / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(directory))
    write(directory, [PROMPT, *CALLS])
    return directory


def write(directory, records):
    path = directory / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def import_all(history, directory):
    files = find_transcripts(directory, {"CLAUDE_CONFIG_DIR": str(directory)}, ["claude"])
    return import_transcripts(history, files)


def refused(history):
    return [
        (event.payload["tool_name"], event.refusal, event.has_reached_hooks)
        for event in iterate(history, Filter(refused=True))
    ]


def test_refused_calls_are_events_with_their_reason(claude):
    with History.open() as history:
        import_all(history, claude)

        assert refused(history) == [("Bash", DENIED, True), ("Rm", UNKNOWN, False)]
        [event] = newest(history, Filter(text="want proceed tool"))
        assert (event.result, event.payload["tool_input"]) == (
            NOT_EXECUTED,
            {"command": "rm -rf /data"},
        )
        assert [e.refusal for e in newest(history, Filter(text="ls"))] == [None, None]


def test_a_refusal_that_is_written_later_is_added_to_the_call(claude):
    with History.open() as history:
        write(claude, [PROMPT, *CALLS[:3], PROMPT | {"uuid": "p2"}])
        import_all(history, claude)
        assert refused(history) == []

        write(claude, [PROMPT, *CALLS[:3], PROMPT | {"uuid": "p2"}, *CALLS[3:]])
        write(claude, [PROMPT, *CALLS])
        import_all(history, claude)

        assert refused(history) == [("Bash", DENIED, True), ("Rm", UNKNOWN, False)]
        history.connection.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")


def test_a_call_that_was_recorded_live_gets_its_refusal_from_the_transcript(claude, tmp_path):
    with History.open(tmp_path / "other") as history:
        import_all(history, claude)
        live = [
            event._replace(source="hook", key=None, refusal=None)
            for event in iterate(history, Filter())
            if event.event == "before_tool" and event.has_reached_hooks
        ]
    with History.open() as history:
        history.add(live)

        done = import_all(history, claude)

        commands = [
            (event.source, event.refusal)
            for event in iterate(history, Filter(refused=True))
            if event.has_reached_hooks
        ]
        assert commands == [("hook", DENIED)]
        assert done.known == len(live)


@pytest.mark.slow
def test_backtests_count_refused_calls_apart(claude, tmp_path, capsys):
    guard = tmp_path / "guard.py"
    guard.write_text(GUARD)
    with History.open() as history:
        import_all(history, claude)
    directory = str(tmp_path / "data" / "history")

    def run(**fields):
        parts = list(parts_of_history(directory, Filter(**fields)))
        return run_backtest(BacktestSubject(str(guard), "guard.py"), parts, jobs=1).result

    usual, only_refused = run(), run(refused=True)

    assert (usual.verdicts, usual.refused, usual.unseen) == ({"deny": 2}, {"deny": 1}, 1)
    assert (only_refused.verdicts, only_refused.unseen) == ({"deny": 2}, 0)
    assert only_refused.total == 2

    exported = tmp_path / "events.jsonl"
    assert main(["history", "export", str(exported)]) == OK
    capsys.readouterr()
    for source in ([], ["--on", str(exported)], ["--on", str(claude / "projects/p/s1.jsonl")]):
        assert main(["backtest", str(guard), *source, "--yes", "--json"]) == OK
        report = json.loads(capsys.readouterr().out)
        assert (report["outcomes"]["deny"]["events"], report["unseen"]) == (2, 1)
        assert report["refused"] == {"deny": 1}
    assert main(["backtest", str(guard), "--yes"]) == OK
    assert "1 further calls are left out" in " ".join(capsys.readouterr().out.split())


def test_a_search_shows_refused_calls_and_what_was_found(claude, capsys):
    main(["history", "import"])
    capsys.readouterr()

    assert main(["history", "search", "--refused", "rejected"]) == OK
    text = " ".join(capsys.readouterr().out.split())
    assert "refused" in text
    assert "rm -rf /data" in text
    assert "The tool use was rejected" in text


def test_the_timeline_of_an_imported_session_has_results_and_refusals(claude, capsys):
    main(["history", "import"])
    capsys.readouterr()

    assert main(["history", "show", "last"]) == OK

    text = " ".join(capsys.readouterr().out.split())
    assert "result a.txt" in text
    assert f"refused {DENIED[:30]}" in text
    assert f"refused {UNKNOWN}" in text
    assert "reconstructed" not in text


def test_a_search_for_denials_after_an_import_says_why_it_is_empty(claude, capsys):
    main(["history", "import"])
    capsys.readouterr()

    assert main(["history", "search", "--outcome", "deny"]) == PROBLEMS
    assert "no hook has run on any event" in capsys.readouterr().err


def test_mcp_tools_of_gemini_are_imported_with_their_server(tmp_path):
    home = tmp_path / "hooks"
    shutil.copytree(DATA / "gemini" / "hooks", home)
    with History.open(tmp_path / "history") as history:
        import_transcripts(history, find_transcripts(home, {}, ["gemini"]))

        tools = {event.tool for event in iterate(history, Filter()) if event.tool}

    assert "mcp__srv__echo" in tools
    assert not [tool for tool in tools if tool.startswith("mcp_srv")]
