"""Exports, conversations and transcripts as the source of a backtest, of any size and anywhere."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from anyhook.backtest import files
from anyhook.backtest.files import parts_of_files
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.errors import UsageError
from anyhook.history.export import EXPORT_FIELDS, export_jsonl, export_parquet
from anyhook.history.filters import Filter
from tests.backtest.test_backtest import GUARD, Recorded, shell
from tests.history.test_imports import FAMILIES, write_session

CLAUDE = {
    "sessionId": "s1",
    "isSidechain": False,
    "userType": "external",
    "cwd": "/p",
    "version": "2.1.197",
}


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


@pytest.fixture
def small_parts(monkeypatch):
    """Split files into parts of 2 KB."""
    monkeypatch.setattr(files, "PART_BYTES", 2048)


def events(count=10):
    return [shell(n, "rm -rf /" if n % 3 == 0 else f"ls {n}", f"s{n % 4}") for n in range(count)]


def write_export(path, exported):
    with open(path, "w") as stream:
        export_jsonl(exported, stream)
    return str(path)


def run(recorded, *places, selection=None, subject=None, **options):
    parts = list(parts_of_files(places, selection or Filter(), **options))
    subject = subject or recorded.hook(GUARD)
    return run_backtest(subject, parts, jobs=1)


def decisions(result):
    return [
        (d.session, d.event, d.tool, d.text, d.decision, d.reconstructed) for d in result.decided
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [("verdict", "deny"), ("hook", "a.py"), ("project", "/p"), ("failed", True), ("shadow", True)],
)
def test_a_field_that_a_backtest_does_not_take_is_an_error(recorded, tmp_path, field, value):
    recorded.add(*events())
    selection = Filter()._replace(**{field: value})

    with pytest.raises(UsageError, match=f"does not choose events by {field}"):
        list(parts_of_history(str(recorded.directory), selection))
    with pytest.raises(UsageError, match=f"does not choose events by {field}"):
        list(parts_of_files([str(tmp_path)], selection))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_export_gives_the_same_result_as_the_history(recorded, tmp_path, form):
    text = GUARD.replace("if ", "if event.permission_mode == 'plan' and ")
    recorded.add(*[event._replace(reconstructed=("permission_mode",)) for event in events()])
    stored = [e._replace(payload={**e.payload, "permission_mode": "plan"}) for e in events()]
    shutil.rmtree(recorded.directory)
    stored = [event._replace(reconstructed=("permission_mode",)) for event in stored]
    recorded.add(*stored)
    subject = recorded.hook(text)
    parts = list(parts_of_history(recorded.directory, Filter()))
    of_history = run_backtest(subject, parts, jobs=1).result
    path = str(tmp_path / f"events.{form}")
    write_export(path, stored) if form == "jsonl" else export_parquet(stored, path)

    of_file = run(recorded, path, subject=subject).result

    assert of_file.events == of_history.events
    assert of_file.sessions == of_history.sessions
    assert decisions(of_file) == decisions(of_history)
    assert decisions(of_file)[0][-1] == ("permission_mode",)


@pytest.mark.slow
def test_a_compressed_export_gives_the_same_result(recorded, tmp_path):
    path = write_export(tmp_path / "e.jsonl", events(60))
    plain = run(recorded, path).result
    compressed = tmp_path / "day" / "e.jsonl.gz"
    compressed.parent.mkdir()
    compressed.write_bytes(gzip.compress(Path(path).read_bytes()))

    of_file = run(recorded, str(compressed)).result
    of_directory = run(recorded, str(compressed.parent)).result

    assert (of_file.total, of_file.problems) == (60, [])
    assert decisions(of_file) == decisions(plain) == decisions(of_directory)


@pytest.mark.slow
def test_the_start_of_a_cut_compressed_export_is_read(recorded, tmp_path):
    path = write_export(tmp_path / "e.jsonl", events(60))
    noise = "".join(random.Random(1).choices("abcdef", k=600_000))
    lines = gzip.compress(f"{Path(path).read_text()}{noise}\n".encode())
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(lines[:-100])

    found = run(recorded, str(cut)).result

    assert found.total == 60
    assert any("cut.jsonl.gz cannot be read" in problem for problem in found.problems)


@pytest.mark.slow
def test_a_file_that_only_seems_compressed_is_an_error(recorded, tmp_path):
    path = tmp_path / "e.jsonl.gz"
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"e\.jsonl\.gz cannot be read: Not a gzipped file"):
        run(recorded, str(path))

    write_export(tmp_path / "f.jsonl", events())
    problems = []
    assert run(recorded, str(tmp_path), on_problem=problems.append).result.total == 10
    assert [problem.rpartition("/")[2] for problem in problems] == [
        "e.jsonl.gz cannot be read: Not a gzipped file (b'{}'); skipped"
    ]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_export_can_be_read_back(tmp_path, form):
    event = shell(1, "ls \ud800 é")._replace(
        decision={"outcome": "deny"}, reconstructed=("cwd",), redacted=2
    )
    if form == "jsonl":
        event = shell(1, "ls é")
        stream = io.StringIO()
        export_jsonl([event], stream)
        row = json.loads(stream.getvalue())
    else:
        from pyarrow.parquet import read_table

        export_parquet([event], tmp_path / "e.parquet")
        (row,) = read_table(tmp_path / "e.parquet").to_pylist()

    assert list(row) == list(EXPORT_FIELDS)
    payload = json.loads(row["payload"]) if form == "parquet" else row["payload"]
    assert payload == event.payload


@pytest.mark.slow
def test_a_file_is_split_and_every_line_is_read_once(recorded, tmp_path, small_parts):
    path = write_export(tmp_path / "e.jsonl", events(60))

    found = run(recorded, path)

    assert found.progress.parts > 5
    assert found.result.total == 60
    assert found.result.outcomes() == {"deny": 20}
    assert len({d.ref for d in found.result.decided}) == 20


@pytest.mark.slow
def test_a_line_that_is_longer_than_a_part_is_read_once(recorded, tmp_path, small_parts):
    long = shell(1, "rm -rf " + "x" * 9000)
    path = write_export(tmp_path / "e.jsonl", [*events(5), long, *events(5)])

    assert run(recorded, path).result.total == 11


@pytest.mark.slow
def test_what_cannot_be_read_is_reported_with_its_line(recorded, tmp_path, small_parts):
    path = write_export(tmp_path / "e.jsonl", events(40))
    with open(path) as stream:
        lines = stream.readlines()
    lines[30] = "{not json}\n"
    lines[33] = json.dumps({**json.loads(lines[33]), "agent": "acme"}) + "\n"
    lines[35] = json.dumps({**json.loads(lines[35]), "payload": "[1]"}) + "\n"
    with open(path, "w") as stream:
        stream.writelines(lines)

    result = run(recorded, path).result

    assert result.problem_count == 3
    assert result.problems == [
        f"{path}:31: is not JSON; skipped",
        f"{path}:34: is not an exported event: 'acme' is not an agent; skipped",
        f"{path}:36: payload is not an object; skipped",
    ]
    assert result.total == 38


def conversation(number, command):
    call = {"id": "c1", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    messages = [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    return {"session_id": f"t{number}", "messages": messages}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_conversations_are_read(recorded, tmp_path, small_parts, form):
    rows = [conversation(n, "rm -rf /" if n == 7 else "ls") for n in range(12)]
    path = tmp_path / f"rows.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        import pyarrow as pa
        from pyarrow.parquet import write_table

        write_table(pa.Table.from_pylist(rows), path, row_group_size=5)

    found = run(recorded, str(path))

    assert (found.progress.parts > 1) == (form != "json")
    assert found.result.events["before_tool"] == 12
    (decided,) = found.result.decided
    assert (decided.session, decided.text) == ("generic/t7", "rm -rf /")


def write_claude(path, command="rm -rf /"):
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": command}}
    records = [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1"},
        {
            "parentUuid": None,
            **CLAUDE,
            "type": "user",
            "uuid": "u1",
            "message": {"role": "user", "content": "hi"},
        },
        {
            "parentUuid": "u1",
            **CLAUDE,
            "type": "assistant",
            "uuid": "u2",
            "message": {"id": "m1", "role": "assistant", "content": [call]},
        },
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.slow
def test_transcripts_in_a_directory_are_recognized(recorded, tmp_path):
    write_claude(tmp_path / "sessions" / "p" / "s1.jsonl")
    (tmp_path / "sessions" / "notes.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "sessions" / "package.json").write_text("{}")
    problems = []

    result = run(recorded, str(tmp_path / "sessions"), on_problem=problems.append).result

    assert problems == [f"{tmp_path}/sessions/notes.jsonl: holds no events; skipped"]
    assert result.events == {"session_start": 1, "before_prompt": 1, "before_tool": 1}
    assert [(d.session, d.text) for d in result.decided] == [("claude/s1", "rm -rf /")]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_that_a_forked_session_has_copied_counts_once(tmp_path, family):
    original, fork = FAMILIES[family]
    write_session(tmp_path, "original", original)
    write_session(tmp_path, "fork", fork)

    calls = Counter()
    for part in parts_of_files([str(tmp_path)], Filter()):
        rows = part.read(None).rows
        calls += Counter(row.session for row in rows if row.event == "before_tool")

    copied = len(set(original) & set(fork))
    assert calls == {"claude/original": len(original), "claude/fork": len(fork) - copied}


def test_a_compressed_transcript_in_a_directory_is_recognized(recorded, tmp_path):
    path = tmp_path / "sessions" / "p" / "s1.jsonl"
    write_claude(path)
    path.with_name("s1.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()

    result = run(recorded, str(tmp_path / "sessions")).result

    assert result.events == {"session_start": 1, "before_prompt": 1, "before_tool": 1}
    assert [(d.session, d.text) for d in result.decided] == [("claude/s1", "rm -rf /")]


@pytest.mark.slow
def test_a_decision_of_a_file_is_kept_without_secrets(recorded, tmp_path):
    token = "ghp_" + "a1B2" * 9
    write_claude(tmp_path / "s1.jsonl", f"rm -rf / {token}")
    text = GUARD.replace('"no"', "event.call.command")

    (decided,) = run(
        recorded, str(tmp_path / "s1.jsonl"), subject=recorded.hook(text)
    ).result.decided

    assert decided.text == "rm -rf / [redacted:github-token]"
    assert decided.decision["reason"] == "rm -rf / [redacted:github-token]"


@pytest.mark.slow
def test_a_selection_leaves_out_events_of_files(recorded, tmp_path):
    path = write_export(tmp_path / "e.jsonl", [shell(1, "ls"), shell(2, "ls", "s2")])

    def total(**fields):
        return run(recorded, path, selection=Filter(**fields)).result.total

    assert total(since=1_700_000_002.0) == 1
    assert total(session="s2") == 1
    assert total(agent="gemini") == 0


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "rows.parquet").write_text("PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UsageError, match=r"pip install .*'pyarrow>="):
        list(parts_of_files([str(tmp_path / "rows.parquet")], Filter()))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.jsonl", None, "cannot be read: No such file"),
        ("other.jsonl", '{"a": 1}\n', "holds no events"),
        ("broken.parquet", "PAR1 is not enough", "is not valid Parquet"),
        ("empty.jsonl", "", "holds no events"),
    ],
)
def test_a_named_file_without_events_is_an_error(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)

    with pytest.raises(UsageError, match=message) as error:
        list(parts_of_files([str(tmp_path / name)], Filter()))

    assert name in str(error.value)


@pytest.mark.slow
def test_a_file_is_read_by_its_uri(recorded, tmp_path):
    path = write_export(tmp_path / "an export.jsonl", events())

    assert run(recorded, (tmp_path / "an export.jsonl").as_uri()).result.total == 10
    assert os.path.exists(path)


@pytest.fixture
def bucket(monkeypatch):
    """Return the URI of a bucket of a server in this process, and a client for it."""
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    moto = server.ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
        client.create_bucket(Bucket="events")
        options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
        yield client, f"s3://key:hidden@events/day?{options}"
    finally:
        moto.stop()


@pytest.mark.slow
def test_an_object_store_is_read_in_parts(recorded, tmp_path, bucket, small_parts):
    client, uri = bucket
    client.upload_file(write_export(tmp_path / "e.jsonl", events(30)), "events", "day/a.jsonl")
    export_parquet(events(9), tmp_path / "e.parquet")
    client.upload_file(str(tmp_path / "e.parquet"), "events", "day/b.parquet")
    write_claude(tmp_path / "s1.jsonl")
    client.upload_file(str(tmp_path / "s1.jsonl"), "events", "day/c/s1.jsonl")

    first = run(recorded, uri)

    assert first.result.total == 30 + 9 + 3
    assert first.progress.parts > 5
    assert {d.ref.partition("@")[0] for d in first.result.decided} == {
        "s3://events/day/a.jsonl",
        "s3://events/day/b.parquet",
        "s3://events/day/c/s1.jsonl#2",
    }
    with pytest.raises(UsageError, match="there is no s3://events/night") as error:
        run(recorded, uri.replace("/day", "/night"))
    assert "hidden" not in str(error.value)
