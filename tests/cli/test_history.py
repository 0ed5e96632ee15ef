"""`anyhook history`, `backtest` and `replay` on a real store."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from anyhook.cli import OK, PROBLEMS, USAGE, main
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.testing import make_payload

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"
GUARD = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "WORD" in event.call.command:
        return deny("not WORD")
"""


def shell(number, command, decision=None, session="5e55-one", project="/p", **fields):
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": command})
    return RecordedEvent(
        "claude",
        session,
        "before_tool",
        1_790_000_000.0 + number,
        payload,
        "engine",
        project=project,
        tool="shell",
        decision=decision,
        **fields,
    )


def by_guard(outcome, reason):
    answer = {"outcome": outcome, "reason": reason}
    return (RecordedResult("guard.py", "settings.json:3", answer=answer),)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a history of two sessions, and the current directory in it."""
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    denied = {"outcome": "deny", "reason": "no rm"}
    with History.open(tmp_path / "data" / "history") as history:
        history.add(
            [
                shell(1, "ls -la"),
                shell(2, "rm -rf build", denied, results=by_guard("deny", "no rm")),
                shell(3, "git push", session="5e55-two"),
            ]
        )
    return tmp_path


def run(capsys, *arguments):
    """Run a command; return its exit code and what it printed."""
    code = main(list(arguments))
    return code, capsys.readouterr().out


def run_json(capsys, *arguments):
    code, out = run(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_sessions_are_listed_with_what_was_decided(home, capsys):
    code, found = run_json(capsys, "history")

    assert code == OK
    assert [(s["session"], s["events"], s["outcomes"]) for s in found] == [
        ("5e55-two", 1, {}),
        ("5e55-one", 2, {"deny": 1}),
    ]
    assert "1 deny" in run(capsys, "history")[1]


@pytest.mark.parametrize("command", [["history"], ["history", "stats"]])
def test_an_empty_history_says_how_to_fill_it(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path))

    code, out = run(capsys, *command)

    assert code == OK
    assert out.startswith("The history is empty: nothing was recorded or imported yet.")
    assert "anyhook history record on" in out
    assert "anyhook history import" in out


def test_a_session_is_shown_with_the_reasons(home, capsys):
    code, out = run(capsys, "history", "show", "5e55-o")

    assert code == OK
    assert "rm -rf build" in out
    assert "no rm" in out
    assert "guard.py" in out
    assert "ls -la" not in out
    assert "1 event without hooks" in out


def test_one_event_is_shown_whole(home, capsys):
    code, out = run(capsys, "history", "show", "5e55-one", "--event", "2")

    assert code == OK
    assert '"command": "rm -rf build"' in out


@pytest.mark.parametrize(
    ("name", "message"), [("5e55", "may be several sessions"), ("nothing", "has no session")]
)
def test_a_session_that_is_not_clear_is_an_error(home, capsys, name, message):
    assert main(["history", "show", name]) == USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["build"], [2]),
        (['"rm -rf"'], [2]),
        (["rf rm"], [2]),
        (['"rf rm"'], []),
        (["--tool", "shell"], [3, 2, 1]),
        (["--outcome", "deny"], [2]),
        (["--outcome", "none"], [3, 1]),
        (["--hook", "guard.py"], [2]),
        (["--session", "5e55-two"], [3]),
        (["--agent", "gemini"], []),
        (["--event", "before_tool", "push"], [3]),
        (["--event", "PreToolUse", "push"], [3]),
        (["--tool", "Bash"], [3, 2, 1]),
        (["--since", "2026-11-01"], []),
        (["--limit", "1"], [3]),
        (["rm", "build"], [2]),
        (["--tool", "bash", "--agent", "claude"], [3, 2, 1]),
        (["--project", "/srv/shop"], []),
        (["'; DROP TABLE events; --"], []),
    ],
)
def test_events_are_found(home, capsys, arguments, numbers):
    code, found = run_json(capsys, "history", "search", *arguments)

    assert [event["id"] for event in found] == numbers
    assert code == (OK if numbers else PROBLEMS)


def test_what_is_shown_already_is_not_repeated_as_the_place_of_a_hit(home, capsys):
    main(["history", "search", "build"])

    assert capsys.readouterr().out.count("rm -rf build") == 1


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (["--event", "befor_tool"], "no event 'befor_tool'; did you mean 'before_tool'?"),
        (["--tool", "shel"], "no agent has a tool 'shel', and no event has it; did you mean"),
        (["--tool", "Bashh"], "no event has it; did you mean 'Bash'?"),
        (["--hook", "gard.py"], "no hook named 'gard.py' has run; did you mean 'guard.py'?"),
        (["--hook", "other"], "no hook named 'other' has run; anyhook history stats lists them"),
    ],
)
def test_a_search_says_which_name_is_unknown(home, capsys, arguments, note):
    assert main(["history", "search", *arguments]) == PROBLEMS
    assert note in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["", "show last", "search rm", "stats", "export -"])
def test_an_unknown_agent_is_an_error(home, capsys, command):
    assert main(["history", *command.split(), "--agent", "clade"]) == USAGE
    assert "did you mean 'claude'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "what"), [(["history"], "session"), (["history", "stats"], "event")]
)
def test_no_session_of_an_agent_is_not_an_empty_history(home, capsys, command, what):
    code, out = run(capsys, *command, "--agent", "qwen", "--since", "30d")

    assert (code, out) == (OK, f"No {what} matches --agent and --since.\n")


def test_names_with_line_breaks_are_shown_on_one_line(home, capsys):
    results = (RecordedResult("guard\n.py", "settings\n.json:3", answer={"outcome": "deny"}),)
    with History.open(home / "data" / "history") as history:
        history.add([shell(9, "rm", session="name\nof\nlines", results=results)])

    for command in (["history"], ["history", "show", "name\nof\nlines"], ["history", "stats"]):
        _, out = run(capsys, *command)
        assert "\n.py" not in out
        assert "\nof" not in out


def add_results(home, *events):
    with History.open(home / "data" / "history") as history:
        history.add(events)


def result_of(hook, outcome="none", **fields):
    answer = {"outcome": outcome} if outcome != "none" else {}
    return RecordedResult(hook, **{"answer": answer, **fields})


@pytest.fixture
def answers(home):
    """Further events: a change, a failure, a denial of another hook, and a shadow's."""
    changed = result_of("context.py", answer={"context": ["be careful"]})
    failed = result_of("guard.py", status="warned", exit_code=127)
    warned = result_of("guard.py", status="warned", exit_code=1)
    denied = {"outcome": "deny", "reason": "no"}
    add_results(
        home,
        shell(10, "a", {"context": ["be careful"]}, results=(changed,)),  # number 4
        shell(11, "b", {}, results=(failed,)),
        shell(12, "c", denied, results=(result_of("guard.py", "allow"), result_of("x", "deny"))),
        shell(13, "d", {}, results=(result_of("guard.py", "deny", shadow=True),)),
        shell(14, "e", {}, results=(warned,), session="5e55-fail", project="/p/sub"),
    )
    return home


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--outcome", "change"], [4]),
        (["--outcome", "none"], [8, 7, 5, 3, 1]),
        (["--outcome", "deny"], [6, 2]),
        (["--outcome", "deny", "--hook", "guard.py"], [2]),
        (["--outcome", "allow", "--hook", "guard.py"], [6]),
        (["--outcome", "none", "--hook", "guard.py"], [8, 5]),
        (["--outcome", "change", "--hook", "context.py"], [4]),
        (["--outcome", "deny", "--shadow"], [7]),
        (["--outcome", "deny", "--shadow", "--hook", "guard.py"], [7]),
        (["--shadow", "--hook", "x"], []),
        (["--outcome", "allow", "--shadow"], []),
        (["--shadow"], [7]),
        (["--failed"], [5]),
        (["--failed", "--hook", "x"], []),
        (["--project", "/p/sub"], [8]),
        (["--project", "/p/su"], []),
    ],
)
def test_events_are_found_by_what_hooks_answered(answers, capsys, arguments, numbers):
    _, found = run_json(capsys, "history", "search", *arguments)

    assert [event["id"] for event in found] == numbers


def test_statistics_count_changes_failures_and_warnings(answers, capsys):
    _, found = run_json(capsys, "history", "stats")
    _, out = run(capsys, "history", "stats")

    assert found["outcomes"] == {"none": 5, "deny": 2, "change": 1}
    assert found["sessions_with"]["change"] == 1
    guard = next(
        hook for hook in found["hooks"] if hook["hook"] == "guard.py" and not hook["place"]
    )
    assert (guard["runs"], guard["failures"], guard["warnings"], guard["shadow"]) == (4, 1, 1, 1)
    assert "(1 as a shadow)" in out


@pytest.mark.parametrize(
    ("code", "has_failed"),
    [
        (1, 0),
        (3, 0),
        (126, 1),
        (127, 1),
        (128, 0),
        (129, 1),
        (137, 1),
        (143, 1),
        (192, 1),
        (255, 0),
    ],
)
def test_a_command_that_its_shell_reports_as_ended_has_failed(home, capsys, code, has_failed):
    result = result_of("guard.sh", status="warned", exit_code=code)
    add_results(home, shell(10, "a", {}, results=(result,)))

    _, found = run_json(capsys, "history", "search", "--failed", "--hook", "guard.sh")
    _, counts = run_json(capsys, "history", "stats")

    assert len(found) == has_failed
    (hook,) = [hook for hook in counts["hooks"] if hook["hook"] == "guard.sh"]
    assert (hook["failures"], hook["warnings"]) == (has_failed, 1 - has_failed)


def test_no_hook_has_answered_with_an_unknown_word(answers):
    with History.open(answers / "data" / "history") as history:
        assert search(history, Filter(verdict="crash", hook="guard.py")) == []


def test_sessions_of_a_project_are_listed(answers, capsys):
    _, found = run_json(capsys, "history", "--project", "/p/sub")

    assert [session["session"] for session in found] == ["5e55-fail"]


def test_a_word_that_begins_with_a_dash_is_found(home, capsys):
    code, out = run(capsys, "history", "search", "--", "-rf")

    assert code == OK
    assert "rm -rf build" in out


@pytest.mark.parametrize("text", ["&&", "*", '"'])
def test_a_search_for_no_word_is_an_error(home, capsys, text):
    assert main(["history", "search", text]) == USAGE
    assert "has no letter and no digit to search for" in capsys.readouterr().err


def test_sessions_are_named_so_that_none_stands_for_another(home, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"c0de0000-aaaa-4000-8000-{number:012}" for number in (15, 16)]
    add_results(home, *[shell(20, "ls", session=name) for name in names])

    _, out = run(capsys, "history")

    for name in names:
        assert f" {name} " in out
    assert " 5e55-one " in out
    assert main(["history", "show", names[0], "--all"]) == OK


def test_a_list_of_sessions_that_is_cut_says_so(home, capsys):
    add_results(home, shell(20, "ls", session="5e55-two"))

    _, out = run(capsys, "history", "--limit", "1")

    assert "Only the newest 1 are shown" in out


def test_a_long_command_is_cut_in_a_timeline(home, capsys):
    add_results(home, shell(20, "echo " + "x" * 5000, session="5e55-long"))

    _, out = run(capsys, "history", "show", "5e55-long", "--all")

    assert max(len(line) for line in out.splitlines()) < 400


def test_an_export_into_a_missing_directory_names_it(home, capsys):
    assert main(["history", "export", "missing/events.jsonl"]) == USAGE
    assert "there is no directory 'missing'" in capsys.readouterr().err


def test_an_agent_whose_transcripts_cannot_be_read_can_be_recorded(home, capsys):
    assert main(["history", "import", "--agent", "terminai"]) == USAGE

    err = " ".join(capsys.readouterr().err.split())
    assert "anyhook cannot read transcripts of TerminaI" in err
    assert "anyhook history record on --agent terminai" in err
    assert "gemini" not in err


def test_a_page_that_is_damaged_says_what_to_do(home, capsys):
    store = home / "data" / "history" / "history.sqlite"
    with History.open(store.parent) as history:
        history.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = history.connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'bodies'"
        ).fetchone()
    content = bytearray(store.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"x" * 4096
    store.write_bytes(content)

    assert main(["history", "search", "rm"]) == USAGE

    assert "is damaged" in capsys.readouterr().err


def test_a_time_that_is_none_is_an_error(home, capsys):
    assert main(["history", "--since", "yesterday"]) == USAGE
    assert "write 90d, 12h" in capsys.readouterr().err


def test_statistics_separate_events_from_sessions(home, capsys):
    code, found = run_json(capsys, "history", "stats")

    assert code == OK
    assert (found["sessions"], found["outcomes"]) == (2, {"none": 2, "deny": 1})
    assert found["sessions_with"] == {"none": 2, "deny": 1}
    assert [(hook["hook"], hook["runs"]) for hook in found["hooks"]] == [("guard.py", 1)]
    out = run(capsys, "history", "stats")[1]
    assert "33.33%" in out
    assert "50.00%" in out


def test_transcripts_are_imported_once(home, capsys):
    for sample in (TRANSCRIPTS / "claude").iterdir():
        shutil.copytree(sample, home, dirs_exist_ok=True)

    first = run_json(capsys, "history", "import")
    second = run_json(capsys, "history", "import")

    assert first[0] == OK
    assert first[1]["events"] > 10
    assert (second[1]["events"], second[1]["files"]) == (0, 0)
    assert second[1]["unchanged"] == first[1]["files"]


def test_an_event_that_was_recorded_live_is_not_imported_again(home, capsys):
    (sample, *_) = sorted((TRANSCRIPTS / "claude").iterdir())
    shutil.copytree(sample, home, dirs_exist_ok=True)
    first = run_json(capsys, "history", "import")[1]["events"]
    store = home / "data" / "history" / "history.sqlite"
    with History.open(store.parent) as history:
        history.connection.execute(
            "UPDATE events SET source = 'hook', key = NULL"
            " WHERE source = 'import' AND event = 'before_tool'"
        )
        (live,) = history.connection.execute(
            "SELECT count(*) FROM events WHERE source = 'hook'"
        ).fetchone()
        history.connection.execute("DELETE FROM files")

    again = run_json(capsys, "history", "import")[1]

    assert live > 0
    assert (again["events"], again["known"]) == (0, first)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_events_are_exported(home, capsys, suffix):
    file = home / f"events{suffix}"

    code, done = run_json(capsys, "history", "export", str(file), "--tool", "shell")

    assert (code, done["events"]) == (OK, 3)
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(file).to_pylist()
    assert [row["session"] for row in rows] == ["5e55-one", "5e55-one", "5e55-two"]


def test_events_are_exported_to_a_pipe(home, capsys):
    out = run(capsys, "history", "export", "-", "--outcome", "deny")[1]

    (row,) = [json.loads(line) for line in out.splitlines()]
    assert row["decision"]["reason"] == "no rm"


def test_an_export_that_finds_nothing_says_which_name_is_unknown(home, capsys):
    assert main(["history", "export", "events.jsonl", "--event", "befor_tool"]) == OK
    assert "did you mean 'before_tool'?" in capsys.readouterr().err


def test_an_export_needs_a_known_form(home, capsys):
    assert main(["history", "export", "events.csv"]) == USAGE
    assert ".jsonl or .parquet" in capsys.readouterr().err


@pytest.mark.slow
def test_a_backtest_shows_what_a_hook_would_have_denied(home, capsys):
    (home / "guard.py").write_text(GUARD.replace("WORD", "rm"))

    code, report = run_json(capsys, "backtest", "guard.py")

    assert code == OK
    assert (report["events"], report["sessions"]) == (3, 2)
    assert report["outcomes"]["deny"] == {
        "events": 1,
        "of_events": pytest.approx(1 / 3),
        "sessions": 1,
        "of_sessions": 0.5,
    }
    assert [found["text"] for found in report["decided"]] == ["rm -rf build"]
    out = run(capsys, "backtest", "guard.py")[1]
    assert "33.33%" in out


@pytest.mark.slow
def test_a_backtest_takes_events_from_files_and_by_words(home, capsys):
    (home / "guard.py").write_text(GUARD.replace("WORD", "rm"))
    run(capsys, "history", "export", "events.jsonl")
    shutil.rmtree(home / "data")

    code, report = run_json(capsys, "backtest", "guard.py", "--on", "events.jsonl")
    chosen = run_json(
        capsys, "backtest", "guard.py", "--on", "events.jsonl", "--where", "git push"
    )[1]

    assert code == OK
    assert (report["events"], report["outcomes"]["deny"]["events"]) == (3, 1)
    assert (chosen["events"], chosen["outcomes"]) == (1, {})


@pytest.mark.slow
def test_what_cannot_be_read_of_a_file_is_reported(home, capsys):
    (home / "guard.py").write_text(GUARD)
    run(capsys, "history", "export", "events.jsonl")
    with (home / "events.jsonl").open("a") as file:
        file.write("no json\n")

    assert main(["backtest", "guard.py", "--on", "events.jsonl", "--json"]) == OK

    printed = capsys.readouterr()
    assert "events.jsonl:4" in printed.err
    assert json.loads(printed.out)["problems"]["number"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("fail_on", "code"), [("new-deny", OK), ("any-change", PROBLEMS)])
def test_a_backtest_fails_a_pipeline_on_changes(home, capsys, fail_on, code):
    (home / "old.py").write_text(GUARD.replace("WORD", "rm"))
    (home / "new.py").write_text(GUARD.replace("WORD", "nothing"))

    arguments = ["backtest", "new.py", "--against", "old.py", "--fail-on", fail_on]

    assert run(capsys, *arguments)[0] == code
    found = run_json(capsys, *arguments)[1]
    (group,) = found["changes"]["groups"]
    assert (group["before"], group["after"], group["number"]) == ("deny", "none", 1)


@pytest.mark.slow
def test_a_backtest_compares_with_a_revision(home, capsys):
    def git(*arguments):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=home / "repo", check=True)

    (home / "repo" / "hooks").mkdir(parents=True)
    hook = home / "repo" / "hooks" / "guard.py"
    hook.write_text(GUARD.replace("WORD", "nothing"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    hook.write_text(GUARD.replace("WORD", "rm"))

    arguments = ["backtest", str(hook), "--against", "git:HEAD", "--fail-on", "new-deny"]
    code, report = run_json(capsys, *arguments)

    assert code == PROBLEMS
    assert report["changes"]["new_denials"] == 1
    assert report["baseline"]["subject"].endswith("guard.py at HEAD")
    assert main(["backtest", str(hook), "--against", "git:nothing"]) == USAGE
    assert main(["backtest", str(hook), "--against", "git:--help"]) == USAGE


@pytest.mark.slow
def test_a_backtest_compares_with_what_was_recorded(home, capsys):
    (home / "guard.py").write_text(GUARD.replace("WORD", "push"))

    report = run_json(capsys, "backtest", "guard.py", "--against", "recorded")[1]

    groups = [(g["before"], g["after"], g["hooks"]) for g in report["changes"]["groups"]]
    assert sorted(groups) == [("deny", "none", ["guard.py"]), ("none", "deny", ["guard"])]


def project_with_hook(home, command):
    hook = {"type": "command", "command": command}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    file = home / "project" / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))
    return home / "project"


@pytest.mark.slow
def test_the_hooks_of_a_project_run_in_copies(home, capsys):
    command = 'touch "$CLAUDE_PROJECT_DIR/ran" "$HOME/ran"; grep -q push && exit 2 || exit 0'
    project = project_with_hook(home, command)

    code, report = run_json(capsys, "backtest", "--project", str(project), "--trust-once")

    assert code == OK
    assert report["outcomes"]["deny"]["events"] == 1
    assert not (project / "ran").exists()
    assert not (home / "ran").exists()


@pytest.mark.parametrize("option", [[], ["--yes"]])
def test_untrusted_hooks_of_a_project_do_not_run(home, capsys, option):
    project = project_with_hook(home, f"touch {home}/ran")

    assert main(["backtest", "--project", str(project), *option]) == USAGE

    assert "--trust-once" in capsys.readouterr().err
    assert not (home / "ran").exists()


@pytest.mark.slow
def test_a_session_is_replayed_with_another_hook(home, capsys):
    (home / "guard.py").write_text(GUARD.replace("WORD", "ls"))

    code, report = run_json(capsys, "history", "replay", "5e55-one", "--hook", "guard.py")

    assert code == PROBLEMS
    assert report["changes"]["number"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py"], "there is no file"),
        (["guard.py", "--fail-on", "change"], "--fail-on takes"),
        (["guard.py", "--fail-on", "new-deny"], "add --against"),
        (["guard.py", "--against", "nothing.py"], "give a path or git:REVISION"),
        (["guard.py", "--project", "."], "not both"),
        (["--project", "."], "has no hooks"),
        (["guard.py", "--on", "x", "--against", "recorded"], "leave out --on"),
    ],
)
def test_a_wrong_use_says_what_to_write(home, capsys, arguments, message):
    (home / "guard.py").write_text(GUARD)

    assert main(["backtest", *arguments]) == USAGE
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_number_that_is_greater_than_any_event_is_no_bug(home, capsys):
    number = str(10**30)

    assert main(["history", "show", "--event", number]) == USAGE
    assert f"the history has no event {number}" in capsys.readouterr().err
    code, listed = run_json(capsys, "history", "--limit", number)
    assert (code, listed) == run_json(capsys, "history")


def test_a_backtest_without_events_says_so(home, capsys):
    (home / "guard.py").write_text(GUARD)

    assert main(["backtest", "guard.py", "--agent", "qwen"]) == PROBLEMS
    assert "No event matches --agent.\n" in capsys.readouterr().err


def test_a_message_about_no_events_names_the_options_that_were_given(home, capsys):
    (home / "guard.py").write_text(GUARD)
    options = ("--agent", "claude", "--tool", "Grep", "--where", "curl")

    assert main(["backtest", "guard.py", *options]) == PROBLEMS
    assert "No event matches --agent, --tool and --where.\n" in capsys.readouterr().err


def test_a_backtest_of_an_empty_history_says_so(home, monkeypatch, capsys):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(home / "other"))
    (home / "guard.py").write_text(GUARD)

    assert main(["backtest", "guard.py", "--since", "90d"]) == PROBLEMS
    error = capsys.readouterr().err
    assert "The history is empty: " in error
    assert "history stats" not in error


def test_an_event_of_another_session_is_not_shown_as_one_of_this(home, capsys):
    assert main(["history", "show", "5e55-two", "--event", "2"]) == USAGE
    assert "anyhook history show 5e55-one --event 2" in capsys.readouterr().err


def test_an_empty_name_is_not_the_newest_session(home, capsys):
    assert main(["history", "show", ""]) == USAGE
    assert "the history has no session ''" in capsys.readouterr().err


def test_an_unknown_decision_is_an_error_with_a_suggestion(home, capsys):
    assert main(["history", "search", "--outcome", "denny"]) == USAGE
    assert "did you mean 'deny'?" in capsys.readouterr().err


def test_a_hook_that_only_warned_is_shown_with_its_reason(home, capsys):
    error = "'guard.sh' on PreToolUse: ended with exit code 1 (exit code 2 blocks; 1 only warns)"
    warned = RecordedResult("guard.sh", "", status="warned", exit_code=1, error=error)
    with History.open(home / "data" / "history") as history:
        history.add([shell(9, "rm x", session="5e55-nine", results=(warned,))])

    _, out = run(capsys, "history", "show", "5e55-nine")

    assert "warning  'guard.sh'" in out
    assert "1 only warns" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("guard.sh",), "'guard.sh' is not a Python file; --project runs"),
        (("guard.py", "--event", "befor_tool"), "did you mean 'before_tool'?"),
        (("guard.py", "--against", "git:nope"), "has no revision 'nope'"),
    ],
)
def test_a_backtest_says_what_to_write_instead(home, capsys, arguments, text):
    for command in (["init", "-q"], ["commit", "-qm", "first", "--allow-empty"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], check=True)
    (home / "guard.sh").write_text("exit 2\n")
    (home / "guard.py").write_text(GUARD)

    assert main(["backtest", *arguments]) == USAGE
    assert text in " ".join(capsys.readouterr().err.split())


def test_no_event_has_the_number_zero(home, capsys):
    assert main(["history", "show", "--event", "0"]) == USAGE
    assert capsys.readouterr().out == ""
