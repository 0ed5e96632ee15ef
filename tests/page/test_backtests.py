"""Backtests on the page, and reports that are one file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from anyhook.history.events import RecordedResult
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from anyhook.page.kept import MAX_KEPT, keep_report, kept_backtests
from tests.page.serving import event, links_of, store, text_of

SECRET = "ghp_" + "a1B2" * 9
GUARD = """
from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    if "push" in event.tool_input["command"]:
        return {answer}


if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def page(serve):
    return serve().open()


@pytest.fixture
def guard(world):
    return world.write(world.project / "guard.py", GUARD.format(answer='deny("not from here")'))


@pytest.fixture
def events():
    store(event("git push", outcome="ask"), event("ls", number=1), event("make", session="s2"))


@pytest.mark.slow
def test_the_backtests_of_the_command_are_shown_and_compared(page, guard, events, run, world):
    other = world.write(world.project / "other.py", GUARD.format(answer='ask("sure?")'))
    for file in (other, guard):
        code, _, _ = run("backtest", str(file), "--json")
        assert code == 0

    newest, older = [kept.name for kept in kept_backtests(history_directory())]
    names = {kept.name: kept.report["subject"] for kept in kept_backtests(history_directory())}
    before, after = sorted((newest, older), key=lambda name: names[name], reverse=True)
    text = text_of(page.get(f"/compare?before={before}&after={after}"))

    assert "ask → becomes deny" in text
    assert "1 event in 1 session" in text


def test_the_newest_results_are_kept(tmp_path):
    report = {"decided": [], "subject": f"guard {SECRET}"}
    for number in range(MAX_KEPT + 3):
        keep_report(tmp_path, report, "", made=1_700_000_000 + number)

    kept = kept_backtests(tmp_path)

    assert len(kept) == MAX_KEPT
    assert kept[0].made == 1_700_000_000 + MAX_KEPT + 2
    assert SECRET not in json.dumps(kept[0].report)


def test_a_result_that_is_no_longer_there_is_reported(page):
    for path in ("/backtests/20260101-000000-abcdef", "/backtests/..%2f..%2fui-secret"):
        assert page.client.get(path).status_code == 404
    assert page.client.get("/compare?before=x&after=y").status_code == 404


# -- reports


def is_self_contained(text):
    """Return whether a page needs nothing else: no scripts, no other files."""
    outside = re.findall(r'(?:src|href)="(?!#)([^"]*)"', text)
    return outside == [] and "<script" not in text and "@import" not in text


def test_a_session_is_one_file_without_scripts(run, tmp_path):
    store(event("git push", outcome="deny", reason="not here"), event("ls", number=1))
    file = tmp_path / "report.html"

    code, _, _ = run("history", "report", "last", "-o", str(file))

    text = file.read_text()
    assert code == 0
    assert is_self_contained(text)
    assert "not here" in text_of(text)
    assert "guard.py" in text_of(text)
    assert 'id="full-1"' in text
    assert "#full-1" in links_of(text)


def test_a_report_shows_no_secret(run, tmp_path):
    text = f"uses {SECRET}"
    result = RecordedResult(hook="a.sh", stdout=text, stderr=text, error=text)
    one = event(text, outcome="deny", reason=text, project=text, results=(result,))
    # As a release stored it that knew fewer kinds of secrets.
    with History.open() as history, history.transaction():
        history.insert([one], redact=False)
        history.connection.execute("UPDATE hooks SET label = ?, place = ?", (f"a.sh {text}", text))
    file = tmp_path / "report.html"

    run("history", "report", "last", "-o", str(file))

    text = file.read_text()
    assert "a.sh" in text
    assert SECRET not in text


def test_hostile_content_of_a_report_is_text(run, tmp_path):
    hostile = "</style><script>alert(1)</script>\u202e"
    store(event(hostile, outcome="deny", reason=hostile, project=hostile, session=hostile))
    file = tmp_path / "report.html"

    run("history", "report", "last", "-o", str(file))

    text = file.read_text()
    assert "<script" not in text
    assert "\u202e" not in text
    assert text.count("</style>") == 1


@pytest.mark.slow
def test_a_backtest_is_one_file(run, guard, events, tmp_path):
    file = tmp_path / "report.html"

    code, _, _ = run("backtest", str(guard), "--against", "recorded", "--html", str(file))

    assert code == 0
    assert is_self_contained(file.read_text())
    assert "New denials 1" in text_of(file.read_text())


@pytest.mark.slow
def test_the_backtest_command_writes_the_same_file(run, guard, events, tmp_path):
    file = tmp_path / "report.html"

    code, out, _ = run("backtest", str(guard), "--html", str(file), "--json")

    assert code == 0
    assert json.loads(out)["events"] == 3
    assert is_self_contained(file.read_text())
    assert "not from here" in text_of(file.read_text())


@pytest.mark.slow
def test_a_report_names_crashes_and_timeouts(run, guard, events, tmp_path):
    file = tmp_path / "report.html"
    fails = "    if event.tool_input['command'] == 'ls': raise KeyError('<b>no</b>')\n"
    hangs = "    if event.tool_input['command'] == 'make': import time; time.sleep(3600)\n"
    text = guard.read_text()
    guard.write_text(text.replace('    if "push"', f'{fails}{hangs}    if "push"'))

    run("backtest", str(guard), "--html", str(file), "--timeout", "0.5")

    shown = text_of(file.read_text())
    assert "<b>no</b>" not in file.read_text()
    assert "Crashes hook events error guard 1 KeyError: '<b>no</b>' (guard.py:9)" in shown
    assert "1 event reached a timeout, which took 500 ms of the run" in shown
    assert "2 crash" in shown


def test_a_report_of_an_unknown_session_is_refused(run, events):
    code, _, err = run("history", "report", "unknown")

    assert code != 0
    assert "has no session" in err


def test_a_report_that_cannot_be_written_is_reported(run, events, tmp_path):
    code, _, err = run("history", "report", "last", "-o", str(tmp_path / "no" / "report.html"))

    assert code != 0
    assert "cannot be written" in err
    assert not Path("report.html").exists()
