"""A store of a former release: its migration shows how far it is, and holds up no hook."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
import threading

import pytest

from anyhook.authoring import recorder
from anyhook.history import schema
from anyhook.history.ingest import ingest
from anyhook.history.recording import RecordingSwitch, write_switch
from anyhook.history.store import FILE, History
from anyhook.testing import make_payload
from tests.history.test_faults import commands, event

COUNT = 9000


def make_version_1(directory):
    """Make a store of version 1, and return its times of numbers in version 2."""
    with History.open(directory) as history:
        history.add([event(number) for number in range(COUNT)])
        times = history.connection.execute("SELECT * FROM spans").fetchall()
        history.connection.execute("DROP TABLE spans")
        history.connection.execute("PRAGMA user_version = 1")
    return times


def test_a_migration_reports_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "STEP", 4096)
    times = make_version_1(tmp_path)
    steps = []

    with History.open(tmp_path, on_progress=lambda *step: steps.append(step)) as history:
        assert history.connection.execute("SELECT * FROM spans").fetchall() == times

    assert steps == [(4096, COUNT), (8192, COUNT), (COUNT, COUNT)]


def test_a_migration_that_is_interrupted_changes_nothing(tmp_path):
    times = make_version_1(tmp_path)

    def interrupt(*_step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        History.open(tmp_path, on_progress=interrupt)

    with History.open(tmp_path) as history:
        assert history.connection.execute("SELECT * FROM spans").fetchall() == times


def test_a_command_waits_for_another_one_that_migrates(tmp_path, monkeypatch):
    monkeypatch.setattr("anyhook.history.store.BUSY_SECONDS", 0.01)
    make_version_1(tmp_path)
    is_migrating, may_end = threading.Event(), threading.Event()

    def wait(*_step):
        is_migrating.set()
        assert may_end.wait(60)

    def migrate():
        History.open(tmp_path, on_progress=wait).close()

    first = threading.Thread(target=migrate)
    first.start()
    assert is_migrating.wait(60)
    second_steps = []
    second = threading.Thread(
        target=lambda: History.open(
            tmp_path, on_progress=lambda *step: second_steps.append(step)
        ).close()
    )
    second.start()
    second.join(0.2)  # several times the timeout of its connection
    assert second.is_alive()
    may_end.set()
    first.join()
    second.join()

    assert second_steps == []
    with History.open(tmp_path) as history:
        assert len(commands(history)) == COUNT


def test_a_hook_that_records_does_not_wait_for_a_store_that_is_migrated(tmp_path):
    directory = tmp_path / "history"
    make_version_1(directory)
    write_switch(RecordingSwitch(), str(directory))
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "new"})
    environ = {**os.environ, "ANYHOOK_DATA_DIR": str(tmp_path), "ANYHOOK_WORKER": "off"}
    other = sqlite3.connect(directory / FILE, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    done = subprocess.run(
        [sys.executable, recorder.__file__],
        input=json.dumps(payload).encode(),
        env=environ,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"{}", b"")
    other.close()
    with History.open(directory) as history:
        assert ingest(history).events == 1
        assert commands(history)[-1] == "new"


def test_commands_show_the_migration_on_a_terminal(tmp_path):
    make_version_1(tmp_path / "history")
    ours, theirs = pty.openpty()

    process = subprocess.Popen(
        [sys.executable, "-m", "anyhook", "history", "stats"],
        env={**os.environ, "ANYHOOK_DATA_DIR": str(tmp_path), "COLUMNS": "100", "TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # its end
        os.close(ours)

    assert process.wait() == 0
    assert b"updating the history to this release" in text
