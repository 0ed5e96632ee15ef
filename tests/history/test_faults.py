"""What can go wrong with the history, and that it costs no hook its answer and no event is lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from anyhook.cli.event_filters import open_history
from anyhook.errors import HistoryError
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.ingest import ingest
from anyhook.history.rows import uncompressed
from anyhook.history.schema import TABLES, VERSION
from anyhook.history.search import search
from anyhook.history.store import FILE, History
from anyhook.journal import lines as journal
from anyhook.testing import make_payload
from tests.waiting import until

NOW = 1_790_000_000.0


def record(command="ls", session="s1", source="engine", **fields):
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": command})
    return {
        "agent": "gemini",
        "time": NOW,
        "event": "before_tool",
        "session": session,
        "project": "/p",
        "source": source,
        "payload": payload,
        "decision": {},
        **fields,
    }


def event(number, **fields):
    payload = {"tool_name": "run_shell_command", "tool_input": {"command": f"echo {number}"}}
    options = {"session": "s1", "time": NOW + number, "payload": payload, **fields}
    return RecordedEvent("gemini", event="before_tool", source="engine", tool="shell", **options)


def commands(history):
    rows = history.connection.execute("SELECT payload FROM bodies ORDER BY event_id").fetchall()
    return [json.loads(uncompressed(payload))["tool_input"]["command"] for (payload,) in rows]


def journal_files(directory):
    return sorted((directory / journal.DIRECTORY).glob("*.jsonl"))


WRITER = """
import sys, time
from anyhook.journal import lines as journal
from tests.history.test_faults import record
number = 0
while True:
    journal.append(sys.argv[1], record(f"{sys.argv[2]} {number} " + "x" * 3000))
    number += 1
    time.sleep(0.001)  # what stores the events keeps up, on a busy machine too
"""


def write_for_ever(directory, name):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(directory), name])


@pytest.mark.slow
def test_processes_that_are_killed_while_they_record_lose_at_most_their_last_event(tmp_path):
    writers = [write_for_ever(tmp_path, name) for name in ("a", "b", "c")]
    with History.open(tmp_path) as history:
        try:
            until(lambda: ingest(history).problems == [] and len(commands(history)) > 300)
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
        problems = ingest(history).problems
        found = commands(history)

    # The system ends a write of a killed process at the next page.
    assert len(problems) <= len(writers)
    assert all("a line was cut" in problem for problem in problems), problems

    for name in ("a", "b", "c"):
        numbers = [int(text.split()[1]) for text in found if text.startswith(f"{name} ")]
        assert numbers == list(range(len(numbers)))


def test_a_line_that_a_full_disk_cut_short_spoils_only_itself(tmp_path):
    journal.append(str(tmp_path), record("first"))
    (file,) = journal_files(tmp_path)
    with file.open("ab") as stream:
        stream.write(b'\n{"agent": "gemini", "time": 1')
    journal.append(str(tmp_path), record("second"))

    with History.open(tmp_path) as history:
        done = ingest(history)
        assert commands(history) == ["first", "second"]
    assert len(done.problems) == 1
    assert "a line was cut and is lost" in done.problems[0]


def test_a_line_that_is_still_being_written_is_stored_when_it_is_complete(tmp_path):
    journal.append(str(tmp_path), record("first"))
    (file,) = journal_files(tmp_path)
    line = journal.encode_line(record("second"))
    with History.open(tmp_path) as history:
        with file.open("ab") as stream:
            stream.write(line[:100])
        ingest(history)
        assert commands(history) == ["first"]
        with file.open("ab") as stream:
            stream.write(line[100:])
        ingest(history)
        assert commands(history) == ["first", "second"]


def test_a_full_disk_keeps_the_journal_and_says_so(tmp_path):
    journal.append(str(tmp_path), record("first"))
    with History.open(tmp_path) as history:
        pages = history.connection.execute("PRAGMA page_count").fetchone()[0]
        history.connection.execute(f"PRAGMA max_page_count = {pages}")
        for _ in range(50):
            journal.append(str(tmp_path), record("x" * 100_000))
        with pytest.raises(HistoryError, match="full"):
            ingest(history)
    with History.open(tmp_path) as history:
        ingest(history)
        assert commands(history)[0] == "first"


def test_a_store_that_another_process_locks_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("anyhook.history.store.BUSY_SECONDS", 0.05)
    journal.append(str(tmp_path), record("first"))
    with History.open(tmp_path) as first, History.open(tmp_path) as second:
        first.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryError, match="locked"):
            ingest(second)
        first.connection.execute("ROLLBACK")
        ingest(second)
        assert commands(second) == ["first"]


@pytest.mark.parametrize("damage", ["text", "middle"])
def test_a_damaged_store_is_kept_aside_and_the_journal_is_stored_again(tmp_path, damage):
    journal.append(str(tmp_path), record("first"))
    with History.open(tmp_path) as history:
        ingest(history)
    path = tmp_path / FILE
    content = bytearray(path.read_bytes())
    content[: 100 if damage == "text" else 16] = b"x" * (100 if damage == "text" else 16)
    path.write_bytes(content)

    with History.open(tmp_path) as history:
        (kept,) = tmp_path.glob("former-*.sqlite")
        assert str(kept) in history.set_aside
        ingest(history)
        assert commands(history) == ["first"]


def test_a_copy_of_the_history_stores_nothing_twice(tmp_path):
    original, copy = tmp_path / "original", tmp_path / "copy"
    journal.append(str(original), record("first"))
    with History.open(original) as history:
        ingest(history)
    shutil.copytree(original, copy)

    journal.append(str(copy), record("second"))

    with History.open(copy) as history:
        assert ingest(history).problems == []
        assert commands(history) == ["first", "second"]


@pytest.mark.parametrize("length", [1, 5000])
def test_a_journal_that_was_removed_and_begun_anew_is_stored(tmp_path, length):
    with History.open(tmp_path) as history:
        journal.append(str(tmp_path), record("first" * 100))
        ingest(history)
        (file,) = (tmp_path / journal.DIRECTORY).iterdir()
        file.rename(tmp_path / "removed")  # its inode is not used again
        journal.append(str(tmp_path), record("x" * length))

        assert ingest(history).problems == []
        assert commands(history) == ["first" * 100, "x" * length]


OPEN = """
import sys
from anyhook.history.store import History
print("ready", flush=True)
sys.stdin.readline()
History.open(sys.argv[1]).close()
"""


@pytest.mark.slow
def test_of_many_processes_one_sets_a_damaged_store_aside(tmp_path):
    directories = [tmp_path / str(number) for number in range(5)]
    for directory in directories:
        directory.mkdir()
        (directory / FILE).write_bytes(b"x" * 5000)
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", OPEN, directory],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        for process in processes:
            _, errors = process.communicate()
            assert errors == ""

        (kept,) = directory.glob("former-*.sqlite")
        assert kept.read_bytes() == b"x" * 5000


def test_why_a_store_cannot_be_opened_is_named(tmp_path):
    (tmp_path / FILE).mkdir()

    with pytest.raises(HistoryError, match="it is a directory; move it away"):
        History.open(tmp_path)


def test_a_damaged_index_of_words_is_reported_with_a_remedy_when_events_are_stored(tmp_path):
    with History.open(tmp_path) as history:
        history.add([event(1)])
        history.connection.execute(
            "UPDATE texts_data SET block = x'ffffffffffffffffffffffff' WHERE id = 10"
        )
    with History.open(tmp_path) as history, pytest.raises(HistoryError, match="Rename it"):
        history.add([event(2)])


def test_a_text_that_is_not_utf_8_is_damage_and_is_not_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path))
    with History.open() as history:
        history.add([event(1)])
        history.connection.execute("UPDATE events SET tool = CAST(x'6d79ff' AS TEXT)")

    with pytest.raises(HistoryError, match="not valid UTF-8") as raised, open_history() as history:
        search(history, Filter())

    assert "my" not in str(raised.value)


def test_a_store_of_another_release_is_refused_and_not_changed(tmp_path):
    with History.open(tmp_path) as history:
        history.connection.execute("PRAGMA user_version = 99")
    before = (tmp_path / FILE).read_bytes()

    with pytest.raises(HistoryError, match="another release"):
        History.open(tmp_path)

    assert (tmp_path / FILE).read_bytes() == before


def test_a_newer_release_writes_its_own_journal(tmp_path):
    journal.append(str(tmp_path), record("ours"))
    (file,) = journal_files(tmp_path)
    theirs = file.with_name(file.name.replace(f"{journal.FORMAT}-", f"{journal.FORMAT + 1}-"))
    theirs.write_bytes(b"\x00\x01 a format that is not known")

    with History.open(tmp_path) as history:
        done = ingest(history)
        assert commands(history) == ["ours"]
    assert "newer release" in done.problems[0]
    assert theirs.exists()


def test_a_clock_that_jumps_loses_nothing(tmp_path, monkeypatch):
    for moment in (NOW, NOW - 400 * 86400, NOW + 400 * 86400, NOW):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        journal.append(str(tmp_path), record(f"at {moment:.0f}"))
        with History.open(tmp_path) as history:
            assert ingest(history).problems == []
    with History.open(tmp_path) as history:
        assert len(commands(history)) == 4


def test_old_files_of_the_journal_are_removed_when_they_are_stored(tmp_path, monkeypatch):
    journal.append(str(tmp_path), record("first"))
    (file,) = journal_files(tmp_path)
    old = file.with_name(journal.file_name(time.time() - 72 * 3600))
    file.rename(old)
    os.utime(old, (NOW - 1e6, NOW - 1e6))
    with History.open(tmp_path) as history:
        ingest(history)
        assert journal_files(tmp_path) == []
        ingest(history)
        assert commands(history) == ["first"]


def test_a_journal_that_is_full_says_that_events_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "MAX_FILE_SIZE", 10)
    assert journal.append(str(tmp_path), record("first"))
    assert not journal.append(str(tmp_path), record("second"))

    with History.open(tmp_path) as history:
        done = ingest(history)
        assert commands(history) == ["first"]
    assert "is full: events are missing" in done.problems[0]


@pytest.mark.slow
def test_two_processes_that_read_the_journal_store_each_event_once(tmp_path):
    for number in range(200):
        journal.append(str(tmp_path), record(str(number)))
    script = (
        "import sys; from anyhook.history.store import History; "
        "from anyhook.history.ingest import ingest; ingest(History.open(sys.argv[1]))"
    )
    readers = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, str(tmp_path)])
        for _ in range(3)
    ]
    assert [reader.wait() for reader in readers] == [0, 0, 0]

    with History.open(tmp_path) as history:
        assert commands(history) == [str(number) for number in range(200)]


def test_events_above_an_age_are_removed(tmp_path):
    with History.open(tmp_path) as history:
        history.add([event(1), event(2, session="s2"), event(86400 * 10, session="s2")])

        removed = history.prune(days=5, size=0, now=NOW + 86400 * 11)

        assert removed == 2
        assert commands(history) == [f"echo {86400 * 10}"]
        sessions = history.connection.execute("SELECT session, events FROM sessions").fetchall()
        assert sessions == [("s2", 1)]
        texts = "SELECT count(*) FROM texts WHERE texts MATCH 'text:echo'"
        assert history.connection.execute(texts).fetchone() == (1,)
        history.connection.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")


@pytest.mark.slow
def test_the_oldest_events_are_removed_above_a_size(tmp_path):
    with History.open(tmp_path) as history:
        large = {"tool_input": {"command": "x" * 1000}}
        history.add([event(number, payload=large) for number in range(5000)])
        size = history.size()

        history.prune(days=0, size=size // 2)

        assert history.size() <= size // 2
        oldest = history.connection.execute("SELECT min(time) FROM events").fetchone()[0]
        assert oldest > NOW + 2000


@pytest.mark.slow
def test_a_store_is_valid_after_a_writer_was_killed(tmp_path):
    script = (
        "import sys\nfrom anyhook.history.store import History\n"
        "from tests.history.test_faults import event\n"
        "history = History.open(sys.argv[1])\nnumber = 0\n"
        "while True:\n"
        "    history.add([event(number + i) for i in range(50)])\n    number += 50\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    until(lambda: (tmp_path / FILE).exists() and _count(tmp_path) > 200)
    writer.kill()
    writer.wait()

    with History.open(tmp_path) as history:
        assert history.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert len(commands(history)) % 50 == 0


def _count(directory):
    connection = sqlite3.connect(directory / FILE)
    try:
        return connection.execute("SELECT count(*) FROM events").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        connection.close()


class TestEventsOfSeveralHooks:
    """One event that several hook files record."""

    def result(self, hook, outcome="none"):
        answer = {} if outcome == "none" else {"outcome": outcome, "reason": f"{hook} says so"}
        return {"results": [{"hook": hook, "answer": answer}], "decision": answer}

    def rows(self, directory):
        with History.open(directory) as history:
            assert ingest(history).problems == []
            return history.connection.execute(
                "SELECT verdict, (SELECT group_concat(label) FROM results JOIN hooks"
                " ON hooks.id = hook_id WHERE event_id = events.id) FROM events ORDER BY id"
            ).fetchall()

    @pytest.mark.parametrize("at_once", [True, False])
    def test_it_is_stored_once_with_the_stronger_verdict(self, tmp_path, at_once):
        for hook, outcome in (("a", "allow"), ("b", "deny"), ("c", "none")):
            found = self.result(hook, outcome)
            journal.append(str(tmp_path), record(source="hook", **found))
            if not at_once:
                self.rows(tmp_path)

        assert self.rows(tmp_path) == [("deny", "a,b,c")]

    def test_the_same_event_again_is_another_one(self, tmp_path):
        for _ in range(2):
            for hook in ("a", "b"):
                journal.append(str(tmp_path), record(source="hook", **self.result(hook)))

        assert self.rows(tmp_path) == [("none", "a,b"), ("none", "a,b")]

    def test_it_is_found_by_the_later_verdict(self, tmp_path):
        journal.append(str(tmp_path), record(source="hook", **self.result("a")))
        self.rows(tmp_path)
        journal.append(str(tmp_path), record(source="hook", **self.result("b", "deny")))
        self.rows(tmp_path)

        with History.open(tmp_path) as history:
            assert len(search(history, Filter(verdict="deny", hook="b"))) == 1
            assert search(history, Filter(verdict="none")) == []
            history.connection.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")


HALF_EMOJI = "\ud83d"
"""What JavaScript leaves when it cuts a text within an emoji."""


def test_half_an_emoji_is_stored_and_does_not_stop_later_events(tmp_path):
    results = [
        {"hook": f"guard {HALF_EMOJI}", "stderr": HALF_EMOJI, "version": {"file": HALF_EMOJI}}
    ]
    journal.append(str(tmp_path), record(f"echo {HALF_EMOJI}", f"s {HALF_EMOJI}", results=results))
    journal.append(str(tmp_path), record("later"))

    with History.open(tmp_path) as history:
        assert ingest(history).problems == []
        history.add([event(1, payload={"tool_input": {"command": HALF_EMOJI}})])

        assert commands(history) == [f"echo {HALF_EMOJI}", "later", HALF_EMOJI]
        assert history.prune(days=1, size=0, now=NOW + 1e9) == 3


def test_a_line_with_an_unknown_verdict_does_not_stop_later_events(tmp_path):
    for hook in ("first", "second"):
        results = [{"hook": hook, "answer": {"outcome": "postpone"}}]
        decision = {"outcome": "postpone"}
        journal.append(
            str(tmp_path), record("ls", source="hook", decision=decision, results=results)
        )
    journal.append(str(tmp_path), record("later"))

    with History.open(tmp_path) as history:
        ingest(history)
        assert commands(history) == ["ls", "later"]


def test_a_column_that_moves_in_its_table_keeps_its_values(tmp_path):
    table = r"(CREATE TABLE \w+ \(\n)(.*?)(\n\);)"
    tables = re.sub(table, reversed_columns, TABLES, flags=re.DOTALL)
    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript(f"{tables} PRAGMA user_version = {VERSION}")
    connection.close()
    result = RecordedResult("guard", exit_code=2, stdout="out", answer={"outcome": "deny"})
    added = event(1, decision={"outcome": "deny"}, results=(result,), key="one")

    with History.open(tmp_path) as history:
        history.add([added])
        (stored,) = search(history, Filter(tool="shell", since=NOW - 1))

    assert stored._replace(id=0, results=()) == added._replace(results=())
    assert stored.results[0].exit_code == 2
    assert (stored.results[0].stdout, stored.results[0].answer) == ("out", {"outcome": "deny"})


def reversed_columns(table):
    lines = [line.partition(" --")[0].strip().rstrip(",") for line in table[2].splitlines()]
    constraints = [line for line in lines if line.startswith(("UNIQUE", "PRIMARY"))]
    columns = [line for line in reversed(lines) if line not in constraints]
    return table[1] + ",\n".join([*columns, *constraints]) + table[3]
