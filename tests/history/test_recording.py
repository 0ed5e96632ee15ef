"""What an engine records, and how it gets into the store."""

from __future__ import annotations

import json
import sys

import pytest

from anyhook import BeforeTool, Engine, allow, deny
from anyhook.authoring import recorder
from anyhook.cli.event_filters import open_history
from anyhook.engine.recorder import Recorder
from anyhook.history.ingest import ingest
from anyhook.history.rows import uncompressed
from anyhook.history.statistics import statistics
from anyhook.history.store import History
from anyhook.journal import lines as journal
from anyhook.journal.records import MAX_STREAM_LENGTH
from anyhook.model.text import MAX_VALUE_WIDTH
from tests.history.test_stored_secrets import texts_of_store
from tests.world import World

SHELL = BeforeTool(tool_name="run_shell_command", tool_input={"command": "ls"}, session_id="s1")
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """The user's history."""
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path))
    return tmp_path / "history"


def recorded(directory):
    """Return what the store holds after everything was moved into it."""
    with History.open(directory) as history:
        done = ingest(history)
        assert done.problems == []
        return [dict(row) for row in rows(history)]


def rows(history):
    columns = "agent session project event tool verdict source payload decision"
    cursor = history.connection.execute(
        f"SELECT {', '.join(columns.split())} FROM events JOIN bodies ON event_id = events.id"
        " JOIN sessions ON sessions.id = session_id ORDER BY events.id"
    )
    texts = [
        [uncompressed(value) if isinstance(value, bytes) else value for value in row]
        for row in cursor
    ]
    return [zip(columns.split(), row, strict=True) for row in texts]


@pytest.mark.anyio
async def test_an_event_and_its_decision_are_recorded(world, directory):
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))
    engine.register("before_tool", lambda event: deny("not here"), name="guard")

    await engine.dispatch(SHELL)

    (event,) = recorded(directory)
    assert event["agent"] == "gemini"
    assert (event["session"], event["event"], event["tool"]) == ("s1", "before_tool", "shell")
    assert (event["verdict"], event["source"]) == ("deny", "engine")
    assert json.loads(event["payload"])["tool_input"] == {"command": "ls"}
    decision = json.loads(event["decision"])
    assert (decision["outcome"], decision["reason"]) == ("deny", "not here")
    assert decision["blame"]["outcome"][0]["hook"] == "guard"


@pytest.mark.anyio
async def test_an_event_without_hooks_is_recorded(world, directory):
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))

    await engine.dispatch(SHELL)

    (event,) = recorded(directory)
    assert (event["verdict"], json.loads(event["decision"])) == ("none", {})


@pytest.mark.anyio
async def test_the_result_of_each_command_is_recorded(world, directory):
    script = world.write(world.project / "guard.sh", "#!/bin/sh\necho checked >&2\nexit 2\n")
    hook = {"type": "command", "command": str(script)}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))

    await engine.dispatch(SHELL)

    recorded(directory)
    with History.open(directory) as history:
        (result,) = history.connection.execute(
            "SELECT label, kind, file, digest, status, results.verdict, exit_code, stderr"
            " FROM results JOIN hooks ON hooks.id = hook_id"
        ).fetchall()
    label, kind, file, digest, *rest = result
    assert (label, kind, file) == ("guard.sh", "command", str(script))
    assert len(digest) == 32
    assert rest == ["ran", "deny", 2, "checked\n"]


@pytest.mark.anyio
async def test_a_changed_script_is_another_version_of_the_hook(world, directory):
    script = world.write(world.project / "guard.sh", "#!/bin/sh\nexit 0\n")
    hook = {"type": "command", "command": str(script)}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))

    await engine.dispatch(SHELL)
    recorded(directory)
    world.write(script, "#!/bin/sh\nexit 2 # new\n")
    await engine.dispatch(SHELL)
    recorded(directory)

    with History.open(directory) as history:
        digests = history.connection.execute("SELECT digest FROM hooks").fetchall()
    assert len(set(digests)) == 2


@pytest.mark.anyio
async def test_no_secret_is_written(world, directory):
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))
    engine.register("before_tool", lambda event: allow(context=f"uses {SECRET}"))

    await engine.dispatch(
        BeforeTool(tool_name="shell", tool_input={"command": f"curl -u x:{SECRET}"})
    )

    recorded(directory)
    for file in directory.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


@pytest.mark.anyio
async def test_files_of_the_history_are_for_the_user_alone(world, directory):
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))
    await engine.dispatch(SHELL)
    recorded(directory)

    modes = {path.stat().st_mode & 0o077 for path in [directory, *directory.rglob("*")]}

    assert modes == {0}


@pytest.mark.anyio
async def test_a_full_disk_costs_no_decision(world, directory, caplog):
    directory.write_text("in the way")
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))
    engine.register("before_tool", lambda event: deny("no"))

    decisions = [await engine.dispatch(SHELL) for _ in range(3)]

    assert [(d.outcome, d.diagnostics) for d in decisions] == [("deny", ())] * 3
    assert [r.message for r in caplog.records if "not recorded" in r.message] != []
    assert len([r for r in caplog.records if "not recorded" in r.message]) == 1


@pytest.mark.anyio
async def test_load_records_in_the_history_of_the_user(world, tmp_path, monkeypatch):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    engine = Engine.load(world.project, agent="gemini", home=world.home, record=True)

    await engine.dispatch(SHELL)

    assert len(recorded(tmp_path / "data" / "history")) == 1


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_event_of_50_megabytes_is_recorded_in_part(world, directory):
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))

    await engine.dispatch(SHELL.replace(tool_input={"command": "x" * 50_000_000}))

    (event,) = recorded(directory)
    assert len(event["payload"]) < 100_000
    assert "characters left out" in event["payload"]


def test_recording_twice_into_the_store_changes_nothing(world, directory, tmp_path):
    recorder = Recorder(tmp_path)
    from anyhook.agents import get_agent

    recorder.record(get_agent("gemini"), SHELL, None)

    assert len(recorded(directory)) == 1
    assert len(recorded(directory)) == 1


def stored_text(directory):
    """Return everything in the store."""
    with History.open(directory) as history:
        assert ingest(history).problems == []
        return texts_of_store(history)


@pytest.mark.anyio
async def test_no_beginning_of_a_secret_is_stored_where_a_text_was_cut(world, directory):
    output = "x" * (MAX_STREAM_LENGTH - 10) + f" {SECRET} more"
    script = world.write(world.project / "log.sh", f"#!/bin/sh\necho '{output}' >&2\nexit 1\n")
    hook = {"type": "command", "command": str(script)}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))
    long_text = "x" * (journal.MAX_TEXT_LENGTH - 10) + f" {SECRET} " + "y" * journal.MAX_LINE_LENGTH
    reason = "x " * (MAX_VALUE_WIDTH // 2 - 5) + SECRET
    engine.register("before_tool", lambda event: deny(reason), name="first")
    engine.register("before_tool", lambda event: deny("another reason"), name="second")

    await engine.dispatch(SHELL.replace(tool_input={"command": long_text}))

    stored = stored_text(directory)
    assert "characters left out" in stored
    assert "x" * (MAX_STREAM_LENGTH - 300) in stored
    assert SECRET[:4] not in stored


@pytest.mark.anyio
async def test_a_hook_is_recorded_with_the_file_that_a_variable_of_the_agent_leads_to(world):
    script = world.write(world.project / "guard.sh", "#!/bin/sh\nexit 0\n")
    hook = {"type": "command", "command": '"$GEMINI_PROJECT_DIR"/guard.sh'}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load(record=True)

    await engine.dispatch(SHELL)

    with open_history() as history:
        files = history.connection.execute("SELECT file, digest FROM hooks").fetchall()
    assert [file for file, digest in files if digest] == [str(script)]


@pytest.mark.anyio
async def test_an_engine_does_not_count_the_recorder_as_a_hook(world, directory):
    hook = {"type": "command", "command": f"{sys.executable} {recorder.__file__}"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load()
    engine.add_observer(Recorder(engine.project_dir))

    await engine.dispatch(SHELL)

    with History.open(directory) as history:
        ingest(history)
        assert history.connection.execute("SELECT kind FROM hooks").fetchall() == [("recorder",)]
        assert statistics(history).hooks == ()
