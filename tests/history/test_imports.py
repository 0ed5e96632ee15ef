"""Transcripts that are imported: compressed ones, many small ones, and those that repeat others."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter

import pytest

from anyhook.agents.claude.transcripts import TRANSCRIPTS
from anyhook.history import imports
from anyhook.history.filters import Filter
from anyhook.history.imports import find_transcripts, import_transcripts
from anyhook.history.search import iterate
from anyhook.history.store import History


def records(session, calls):
    common = {"sessionId": session, "cwd": "/p", "timestamp": "2026-11-01T12:00:00.000Z"}
    prompt = {"type": "user", "uuid": f"{session}-0", "message": {"role": "user", "content": "go"}}
    answers = [
        {
            "type": "assistant",
            "uuid": f"{session}-{number}",
            "message": {
                "id": f"m{number}",
                "content": [
                    {
                        "type": "tool_use",
                        "id": f"{session}-call{number}",
                        "name": "Bash",
                        "input": {"command": f"ls {number}"},
                    }
                ],
            },
        }
        for number in range(1, calls + 1)
    ]
    return [{**common, **record} for record in (prompt, *answers)]


def write(directory, session, calls=3):
    project = directory / "projects" / "p"
    project.mkdir(parents=True, exist_ok=True)
    path = project / f"{session}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(session, calls)))
    return path


def import_all(directory, history):
    files = find_transcripts(directory, {"CLAUDE_CONFIG_DIR": str(directory)}, ["claude"])
    return import_transcripts(history, files)


def stored(history):
    return [
        (event.session, event.event, event.tool, event.project)
        for event in iterate(history, Filter())
    ]


def test_a_compressed_transcript_gives_the_same_events(tmp_path):
    path = write(tmp_path / "plain", "s1")
    copy = write(tmp_path / "packed", "s1")
    copy.with_name("s1.jsonl.gz").write_bytes(gzip.compress(copy.read_bytes()))
    copy.unlink()

    with History.open(tmp_path / "a") as history:
        plain = import_all(tmp_path / "plain", history)
        expected = stored(history)
    with History.open(tmp_path / "b") as history:
        done = import_all(tmp_path / "packed", history)
        assert stored(history) == expected
        assert (done.events, done.problems) == (plain.events, [])
        assert done.events == len(list(TRANSCRIPTS.read(path, print))) > 3

        write(tmp_path / "packed", "s1")  # unpacked again
        again = import_all(tmp_path / "packed", history)
        assert (again.events, again.known) == (0, plain.events)


def test_a_damaged_compressed_transcript_is_reported(tmp_path):
    path = write(tmp_path, "s1", 200)
    path.with_name("s2.jsonl.gz").write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.with_name("s3.jsonl.gz").write_bytes(b"no gzip")
    path.unlink()

    with History.open(tmp_path / "history") as history:
        done = import_all(tmp_path, history)

    damaged, no_gzip = sorted(text for text in done.problems if "cannot be read" in text)
    assert re.search(r"/s2\.jsonl\.gz:\d+: cannot be read: Compressed file ended", damaged)
    assert no_gzip.endswith("/s3.jsonl.gz:1: cannot be read: Not a gzipped file (b'no')")
    assert done.events > 3


def test_a_transaction_ends_when_its_events_are_large(tmp_path, monkeypatch):
    write(tmp_path, "a", calls=20)
    ends = []

    def on_statement(statement):
        if statement == "COMMIT":
            ends.append(statement)

    monkeypatch.setattr(imports, "BATCH_CHARACTERS", 300)
    with History.open(tmp_path / "history") as history:
        history.connection.set_trace_callback(on_statement)
        import_all(tmp_path, history)

    assert len(ends) > 5


@pytest.mark.parametrize(
    ("limit", "value"), [("BATCH", 1), ("BATCH", 4), ("BATCH", 1000), ("BATCH_CHARACTERS", 300)]
)
def test_batches_of_any_size_store_the_same(tmp_path, monkeypatch, limit, value):
    for session in ("a", "b", "c"):
        write(tmp_path, session)
    fork = records("b", 3) + records("b", 5)[4:]
    fork_path = tmp_path / "projects" / "p" / "fork.jsonl"
    fork_path.write_text("".join(json.dumps(record) + "\n" for record in fork))
    monkeypatch.setattr(imports, limit, value)

    with History.open(tmp_path / "history") as history:
        done = import_all(tmp_path, history)
        again = import_all(tmp_path, history)
        keys = history.connection.execute("SELECT key FROM events").fetchall()

        assert (done.files, done.events, done.known) == (4, 17, 5)
        assert (again.files, again.unchanged) == (0, 4)
        assert len(set(keys)) == 17
        counts = history.connection.execute("SELECT session, events FROM sessions ORDER BY session")
        assert counts.fetchall() == [("a", 5), ("b", 7), ("c", 5)]


# -- forked sessions


def write_session(directory, session, numbers):
    """Write a transcript with numbered calls; equal numbers are the same records in each file."""
    path = directory / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, record in enumerate(records("shared", max(numbers))):
        if number in numbers or number == 0:
            own = {"sessionId": session, "timestamp": f"2026-11-01T12:{number:02}:00.000Z"}
            own |= {"parentUuid": None, "isSidechain": False, "userType": "external"}
            lines.append(json.dumps({**record, **own}) + "\n")
    path.write_text("".join(lines))
    return path


SHARED = [1, 2, 3, 4]
FAMILIES = {
    "the original goes on after the fork": ([*SHARED, 8, 9], [*SHARED, 6]),
    "the original has ended": (SHARED, [*SHARED, 6]),
    "the fork was left at once": ([*SHARED, 8, 9], [*SHARED, 6]),
}


@pytest.mark.parametrize("newest", ["original", "fork"])
@pytest.mark.parametrize("family", FAMILIES)
def test_events_that_a_fork_repeats_belong_to_the_original(tmp_path, family, newest):
    original, fork = FAMILIES[family]
    write_session(tmp_path, "original", original)
    write_session(tmp_path, "fork", fork)
    os.utime(tmp_path / "projects" / "p" / f"{newest}.jsonl", (2e9, 2e9))

    with History.open(tmp_path / "history") as history:
        import_all(tmp_path, history)
        calls = Counter(e.session for e in iterate(history, Filter()) if e.event == "before_tool")

    assert calls == {"original": len(original), "fork": len(fork) - len(SHARED)}


def test_events_that_were_recorded_live_are_not_stored_again_for_a_fork(tmp_path):
    path = write_session(tmp_path, "original", [*SHARED, 8])
    with History.open(tmp_path / "history") as history:
        for event in TRANSCRIPTS.read(path, pytest.fail):
            recorded = imports.recorded_event("claude", event, 0.0)
            history.add([recorded._replace(source="hook", key=None)])
        write_session(tmp_path, "fork", [*SHARED, 6])
        import_all(tmp_path, history)
        again = import_all(tmp_path, history)
        calls = Counter(e.session for e in iterate(history, Filter()) if e.event == "before_tool")

    assert calls == {"original": 5, "fork": 1}
    assert again.events == 0


def test_a_fork_whose_original_is_gone_has_all_events(tmp_path):
    write_session(tmp_path, "fork", [*SHARED, 6])

    with History.open(tmp_path / "history") as history:
        import_all(tmp_path, history)
        calls = [e.session for e in iterate(history, Filter()) if e.event == "before_tool"]

    assert calls == ["fork"] * 5


def test_a_fork_that_is_imported_later_adds_its_own_events_only(tmp_path):
    write_session(tmp_path, "original", SHARED)
    with History.open(tmp_path / "history") as history:
        import_all(tmp_path, history)
        write_session(tmp_path, "fork", [*SHARED, 6])
        write_session(tmp_path, "original", [*SHARED, 9])
        import_all(tmp_path, history)
        calls = Counter(e.session for e in iterate(history, Filter()) if e.event == "before_tool")

    assert calls == {"original": 5, "fork": 1}
