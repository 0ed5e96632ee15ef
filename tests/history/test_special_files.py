"""A pipe in the place of a file of ours is refused, and nothing waits for its other end."""

from __future__ import annotations

import json
import os
import time

import pytest

from anyhook.history.store import History
from anyhook.history.tap_record import PROBLEM_FILE
from anyhook.journal import lines as journal
from anyhook.journal.lines import DIRECTORY, SWITCH, file_name, history_directory
from tests.history.test_faults import event, record

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes"),
    pytest.mark.timeout(60),
]


@pytest.fixture
def store(home):
    with History.open(history_directory()) as history:
        history.add([event(1)])
        yield history


def make_pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "line", ["history", "history stats", "history search echo", "history record status"]
)
def test_a_pipe_in_the_place_of_the_switch_is_named(store, run, line):
    pipe = make_pipe(store.path.parent / SWITCH)
    journal.append(str(store.path.parent), record("ls"))

    _, out, err = run(*line.split())

    assert f"{pipe} cannot be read: it is not a regular file" in " ".join((out + err).split())


def test_a_pipe_in_the_place_of_the_last_problem_holds_no_status(store, run):
    make_pipe(store.path.parent / PROBLEM_FILE)

    assert run("history", "record", "status")[0] == 0


def test_a_pipe_in_the_place_of_the_journal_holds_no_hook(store):
    directory = store.path.parent
    now = time.time()
    for moment in (now, now + 3600):  # the hour may end before the line is written
        make_pipe(directory / DIRECTORY / file_name(moment))

    with pytest.raises(OSError, match="No such device"):
        journal.append(str(directory), record("ls"))


def test_a_pipe_among_transcripts_is_reported_and_the_others_are_imported(home, run):
    folder = home / ".claude" / "projects" / "-p"
    make_pipe(folder / "a.jsonl")
    prompt = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/p", "isSidechain": False}
    prompt |= {"timestamp": "2026-09-21T12:00:00.000Z"}
    prompt |= {"message": {"role": "user", "content": "hello"}}
    (folder / "b.jsonl").write_text(json.dumps(prompt) + "\n")

    _, out, err = run("history", "import")

    assert "2 new events" in out
    assert "a.jsonl: cannot be read: it is not a regular file" in err


def test_a_pipe_in_the_place_of_settings_is_reported(world, run):
    make_pipe(world.project / ".gemini" / "settings.json")

    code, out, _ = run("check")

    assert code == 1
    assert "it is not a regular file" in out
