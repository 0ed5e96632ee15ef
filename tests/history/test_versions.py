"""A store of another release is neither changed nor lost, and holds up no hook."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

from anyhook.authoring import recorder
from anyhook.history.ingest import ingest
from anyhook.history.record_switch import RecordingSwitch, write_switch
from anyhook.history.schema import VERSION
from anyhook.history.store import FILE, History
from anyhook.testing import make_payload
from tests.history.test_faults import commands, event


def make_former_store(directory):
    with History.open(directory) as history:
        history.add([event(1)])
        history.connection.execute(f"PRAGMA user_version = {VERSION - 1}")


def test_a_reader_of_another_version_finds_no_store_and_leaves_it(tmp_path):
    make_former_store(tmp_path)
    before = (tmp_path / FILE).read_bytes()

    assert History.open_to_read(tmp_path) is None
    assert (tmp_path / FILE).read_bytes() == before


def test_a_hook_that_records_does_not_wait_for_a_locked_store(tmp_path):
    directory = tmp_path / "history"
    with History.open(directory) as history:
        history.add([event(1)])
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
