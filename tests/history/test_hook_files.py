"""What hook files that run as commands record, if the user has switched recording on."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.authoring.run import RECORDED_ENV, recording_directory
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.journal.lines import SWITCH, history_directory, is_recording
from anyhook.journal.records import RECORDED
from anyhook.settings.sources import Location
from anyhook.testing import make_payload
from tests.waiting import until
from tests.warm import Warm

SECRET = "ghp_" + "a1B2" * 9
GUARD = """
@hooks.before_tool("shell")
def guard(event):
    if "rm" in event.call.command:
        return deny("not here")
"""


def payload(command, agent="claude"):
    return make_payload("before_tool", agent=agent, tool="shell", input={"command": command})


class Recorded:
    """Hook files with a history of their own, warm and cold."""

    def __init__(self, root: Path, way: str) -> None:
        self.warm = Warm(root)
        self.is_warm = way == "warm"
        self.data = root / "data"
        self.history = self.data / "history"
        self.warm.env["ANYHOOK_DATA_DIR"] = str(self.data)

    def switch_on(self):
        self.history.mkdir(parents=True, exist_ok=True)
        (self.history / SWITCH).write_text("{}")

    def run(self, path, **options):
        run = self.warm.warm if self.is_warm else self.warm.cold
        return run(path, **options)

    def events(self, count=1):
        """Return the events in the store, once there are enough."""
        journal = self.history / "journal"

        def lines():
            texts = [file.read_text() for file in journal.glob("*.jsonl")]
            return "".join(texts).count("\n\n") + len(texts)

        until(lambda: lines() >= count, "not recorded")
        with History.open(self.history) as history:
            assert ingest(history).problems == []
            columns = (
                "agent session project event tool events.verdict source payload decision label"
                " place file status duration exit_code shadow error answer"
            ).split()
            rows = history.connection.execute(
                f"SELECT {', '.join(columns)} FROM events JOIN bodies ON bodies.event_id ="
                " events.id JOIN sessions ON sessions.id = session_id"
                " JOIN results ON results.event_id = events.id"
                " JOIN hooks ON hooks.id = hook_id ORDER BY events.id"
            )
            return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture(params=["cold", "warm"])
def recorded(request, tmp_path):
    recorded = Recorded(tmp_path, request.param)
    yield recorded
    recorded.warm.close()


def test_nothing_is_recorded_unless_the_user_has_switched_it_on(recorded):
    hook = recorded.warm.hook(GUARD)

    recorded.run(hook, payload=payload("rm x"))

    assert not recorded.history.exists()


def test_the_event_and_the_answer_of_a_hook_file_are_recorded(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()

    _, out, _ = recorded.run(hook, payload=payload("rm x"))

    assert "not here" in out
    (event,) = recorded.events()
    assert (event["agent"], event["session"]) == ("claude", "test-session")
    assert (event["event"], event["tool"]) == ("before_tool", "shell")
    assert (event["events.verdict"], event["source"]) == ("deny", "hook")
    assert json.loads(event["payload"]) == payload("rm x")
    assert json.loads(event["answer"]) == {"outcome": "deny", "reason": "not here"}
    assert (event["label"], event["place"], event["file"]) == ("hook.py", str(hook), str(hook))
    assert (event["status"], event["exit_code"], event["shadow"]) == ("ran", 0, 0)
    assert 0 < event["duration"] < 60


def test_an_event_without_an_opinion_is_recorded(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()

    recorded.run(hook, payload=payload("ls"))

    (event,) = recorded.events()
    assert (event["events.verdict"], event["answer"]) == ("none", None)


@pytest.mark.slow
def test_the_project_of_the_agent_is_recorded(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()

    recorded.run(hook, payload=payload("ls"), env={"CLAUDE_PROJECT_DIR": "/srv/project"})

    assert recorded.events()[0]["project"] == "/srv/project"


@pytest.mark.slow
def test_a_crash_is_recorded(recorded):
    hook = recorded.warm.hook(
        """
        @hooks.before_tool
        def guard(event):
            raise ValueError("no text of it")
        """
    )
    recorded.switch_on()

    recorded.run(hook, payload=payload("ls"))

    (event,) = recorded.events()
    assert event["status"] == "failed"
    assert event["error"] == "hook guard (hook.py:4) failed (ValueError)"


@pytest.mark.slow
def test_a_hook_that_runs_out_of_time_is_recorded(recorded):
    hook = recorded.warm.hook(
        """
        import time

        @hooks.before_tool
        def guard(event):
            time.sleep(60)
        """,
        header="from anyhook.authoring import Hooks\nhooks = Hooks(timeout=0.1, on_crash='deny')\n",
    )
    recorded.switch_on()

    recorded.run(hook, payload=payload("ls"))

    (event,) = recorded.events()
    assert (event["status"], event["events.verdict"]) == ("timed_out", "deny")
    assert "ran out of time" in event["error"]


@pytest.mark.slow
def test_the_answers_of_two_hook_files_to_an_event_are_put_together(recorded):
    recorded.switch_on()
    for name in ("one.py", "two.py"):
        recorded.run(recorded.warm.hook(GUARD, name), payload=payload("rm x"))

    events = recorded.events(count=2)

    assert [event["label"] for event in events] == ["one.py", "two.py"]
    with History.open(recorded.history) as history:
        assert history.connection.execute("SELECT count(*) FROM events").fetchone() == (1,)


def test_what_another_process_records_is_not_recorded_again(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()

    recorded.run(hook, payload=payload("rm x"), env={RECORDED: "1"})

    assert RECORDED_ENV == RECORDED
    assert not (recorded.history / "journal").exists()


def test_no_secret_is_written(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()
    token = "plain-value-of-a-variable"

    recorded.run(
        hook, payload=payload(f"rm {SECRET}\n{SECRET} {token}"), env={"MY_API_TOKEN": token}
    )

    recorded.events()
    for file in recorded.data.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert SECRET.encode() not in content
        assert token.encode() not in content


def test_numbers_that_json_does_not_have_are_recorded_without_them(recorded):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()
    text = json.dumps({**payload("rm x"), "extra": 1}).replace('"extra": 1', '"extra": NaN')

    _, out, _ = recorded.run(hook, payload=text.encode())

    assert "not here" in out
    assert json.loads(recorded.events()[0]["payload"])["extra"] is None


@pytest.mark.parametrize("obstacle", ["file", "read-only", "full"])
def test_a_history_that_cannot_be_written_costs_no_answer(recorded, obstacle, tmp_path):
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()
    journal = recorded.history / "journal"
    if obstacle == "file":
        journal.write_text("in the way")
    elif obstacle == "read-only":
        journal.symlink_to("/proc/1/nowhere")
    else:
        journal.symlink_to("/dev/full")
    log = tmp_path / "log"

    code, out, err = recorded.run(hook, payload=payload("rm x"), env={"ANYHOOK_LOG": str(log)})

    assert (code, err) == (0, "")
    assert "not here" in out
    until(lambda: log.exists() and "is not recorded" in log.read_text(), "not reported")


@pytest.mark.slow
def test_a_warm_hook_records_after_its_answer(tmp_path):
    recorded = Recorded(tmp_path, "warm")
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()
    journal = recorded.history / "journal"
    journal.mkdir()
    recorded.run(hook, payload=payload("ls"))
    recorded.events()  # it is counted as answered before it is recorded
    (file,) = journal.glob("*.jsonl")
    file.unlink()
    os.mkfifo(file)  # nothing can be written as long as nothing reads

    try:
        _, out, _ = recorded.warm.run(hook, payload=payload("rm x"))
        assert "not here" in out
    finally:
        recorded.warm.close()


def test_an_agent_that_does_not_read_the_answer_does_not_keep_it_from_being_recorded(tmp_path):
    recorded = Recorded(tmp_path, "cold")
    hook = recorded.warm.hook(GUARD)
    recorded.switch_on()
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.run(
        [sys.executable, hook],
        check=False,
        input=json.dumps(payload("rm x")).encode(),
        stdout=write_end,
        stderr=subprocess.PIPE,
        env=recorded.warm.env,
    )
    os.close(write_end)

    assert process.returncode == 2
    assert recorded.events()[0]["events.verdict"] == "deny"
    recorded.warm.close()


@pytest.mark.parametrize(
    "environ",
    [
        {"ANYHOOK_DATA_DIR": "{root}/own"},
        {"HOME": "{root}/home"},
        {"HOME": "{root}/home", "XDG_DATA_HOME": "{root}/xdg"},
        {"HOME": "{root}/home", "XDG_DATA_HOME": "  "},
    ],
)
def test_hook_files_look_where_the_history_is(tmp_path, environ):
    environ = {name: value.format(root=tmp_path) for name, value in environ.items()}
    directory = Path(history_directory(environ))

    assert recording_directory(environ) is None
    directory.mkdir(parents=True)
    (directory / SWITCH).write_text("{}")

    assert recording_directory(environ) == str(directory)
    assert is_recording(str(directory))
    assert recording_directory({**environ, RECORDED: "1"}) is None


def test_an_empty_home_is_the_one_of_the_user(monkeypatch):
    monkeypatch.setenv("HOME", "")
    for name in ("ANYHOOK_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = pwd.getpwuid(os.getuid()).pw_dir

    assert history_directory({"HOME": ""}).startswith(home)
    assert recording_directory(os.environ) in (None, history_directory())
    assert Location.of(".").home == Path(home)


def test_a_hook_that_does_not_record_loads_nothing_for_it(tmp_path):
    recorded = Recorded(tmp_path, "cold")
    hook = recorded.warm.hook(
        GUARD + "\nimport atexit, sys\natexit.register(lambda: print(*sys.modules))\n"
    )

    _, _, err = recorded.run(hook, payload=payload("rm x"))

    assert "anyhook.authoring.run" in err
    assert "anyhook.history" not in err
    assert "anyhook.authoring.recording" not in err
    assert "anyhook.files" not in err
    recorded.warm.close()
