"""The sandbox in which hooks are tried: what is there, what comes out, and that it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anyhook import Engine
from anyhook.errors import RunEndedError, SandboxError, UsageError
from anyhook.model.answers import Outcome
from anyhook.sandbox import sandbox as sandboxes
from anyhook.sandbox.sandbox import Sandbox
from anyhook.sandbox.values import dump_value, load_value
from anyhook.testing.running import run_hook
from tests.backtest.test_backtest import GUARD
from tests.leftovers import MARK, marked, none_left
from tests.sandbox import tasks
from tests.waiting import until

WORLDS = ("namespaces", "copies")


@pytest.fixture
def places(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "src").mkdir(parents=True)
    (home / ".claude").mkdir(parents=True)
    (project / "a.txt").write_text("original")
    (home / ".claude" / "settings.json").write_text("{}")
    return project, home


@pytest.fixture
def copies(monkeypatch):
    """A system without namespaces."""
    monkeypatch.setattr(sandboxes, "HAS_NAMESPACES", False)


@pytest.fixture(params=WORLDS)
def sandbox(places, request):
    if request.param == "copies":
        request.getfixturevalue("copies")
    with Sandbox(*places) as sandbox:
        yield sandbox


def test_files_of_the_project_and_the_home_can_be_read_and_written(sandbox, places):
    project, home = places
    path = sandbox.inside(str(project / "a.txt"))

    assert sandbox.run(tasks.read, path) == "original"
    assert sandbox.run(tasks.write, path) == "written"
    assert sandbox.run(tasks.read, sandbox.inside(str(home / ".claude" / "settings.json"))) == "{}"
    assert (project / "a.txt").read_text() == "original"


def test_each_run_finds_the_files_as_they_were(sandbox, places):
    path = sandbox.inside(str(places[0] / "a.txt"))
    sandbox.run(tasks.write, path)

    assert sandbox.run(tasks.read, path) == "original"


def test_what_the_user_changes_is_there_in_the_next_run(places):
    with Sandbox(*places) as sandbox:
        sandbox.run(tasks.read, str(places[0] / "a.txt"))
        (places[0] / "b.txt").write_text("later")

        assert sandbox.run(tasks.read, str(places[0] / "b.txt")) == "later"


@pytest.mark.slow
def test_other_files_cannot_be_written(sandbox):
    with pytest.raises(SandboxError, match=r"Permission denied|Read-only file system"):
        sandbox.run(tasks.write, "/etc/anyhook-made")


def test_hooks_work_in_the_project_with_the_home_of_the_sandbox(sandbox, places):
    environ, directory, home = sandbox.run(tasks.environment)

    assert sandbox.outside([directory, environ["HOME"], home])[:1] == [str(places[0])]
    assert environ["HOME"] == home
    assert environ["ANYHOOK_RECORDED"] == "rehearsal"


def test_variables_that_name_sockets_are_not_there(places, monkeypatch):
    for name in ("SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "OLDPWD"):
        monkeypatch.setenv(name, "/run/socket")
    monkeypatch.setenv("FLAG", "1")

    with Sandbox(*places) as sandbox:
        environ, _, _ = sandbox.run(tasks.environment)

    assert not {"SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "OLDPWD"} & set(environ)
    assert environ["FLAG"] == "1"


@pytest.mark.usefixtures("copies")
def test_variables_lead_to_the_copies(places, monkeypatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(places[0]))
    monkeypatch.setenv("MY_ROOT", f"{places[0]}/src")
    monkeypatch.setenv("SIMILAR", f"{places[0]}2")

    with Sandbox(*places) as sandbox:
        environ, _, _ = sandbox.run(tasks.environment)

    assert environ["CLAUDE_PROJECT_DIR"] == sandbox.inside(str(places[0])) != str(places[0])
    assert environ["MY_ROOT"] == sandbox.inside(f"{places[0]}/src")
    assert environ["SIMILAR"] == f"{places[0]}2"


def test_a_world_of_namespaces_has_no_limits(places):
    with Sandbox(*places) as sandbox:
        assert (list(sandbox.limits), list(sandbox.paths)) == ([], [])


def test_where_no_namespaces_can_be_made_there_are_copies_with_limits(places):
    # In a sandbox no process can make another one.
    with Sandbox(*places) as sandbox:
        limits, paths = sandbox.run(tasks.sandbox_within, *map(str, places))

    assert any("sockets" in limit for limit in limits)
    assert [real for real, _ in paths] == [str(path) for path in sorted(places, reverse=True)]


@pytest.mark.parametrize(
    ("how", "end"),
    [("exit", (7, 3, False)), ("signal", (-9, 3, False)), ("hang", (-9, 4, True))],
)
def test_a_process_that_ends_is_an_error_with_its_step(sandbox, how, end):
    with pytest.raises(RunEndedError) as raised:
        sandbox.run(tasks.end, how)

    assert (raised.value.exit_code, raised.value.step, raised.value.is_late) == end
    assert sandbox.run(tasks.return_value, "goes on") == "goes on"


def test_processes_in_the_background_end_with_their_run(sandbox, tmp_path):
    mark = f"anyhook-{tmp_path.name}-{os.getpid()}"
    sandbox.run(tasks.leave_processes, mark)

    assert sandbox.run(tasks.leave_processes, mark) == 0


def test_values_are_sent_while_a_function_runs(sandbox):
    values = [1, "text", ["list"], {"key": None}, Outcome.DENY, Path("a")]
    received = []

    assert sandbox.run(tasks.send_values, values, on_message=received.append) == len(values)
    assert received == values


def test_an_error_of_this_package_is_one_of_usage(sandbox):
    with pytest.raises(UsageError, match="no such agent"):
        sandbox.run(tasks.fail, "no such agent")


def test_another_error_is_shown_with_its_traceback(sandbox):
    with pytest.raises(SandboxError, match="ZeroDivisionError"):
        sandbox.run(tasks.divide_by_zero)


def test_values_that_would_call_something_are_refused(sandbox, tmp_path):
    with pytest.raises(SandboxError, match=r"names posix\.mkdir"):
        sandbox.run(tasks.return_dangerous, str(tmp_path / "made"))

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("value", [os.system, Sandbox, tasks.Dangerous("x"), until, sys.exit])
def test_only_values_come_out(value):
    with pytest.raises(SandboxError):
        load_value(dump_value(value))


@pytest.mark.parametrize("data", [b"", b"junk", b"\x80\x05.", dump_value("text")[:-3]])
def test_damaged_bytes_are_refused(data):
    with pytest.raises(SandboxError, match="cannot be read"):
        load_value(data)


def test_the_result_of_a_hook_is_a_value(tmp_path):
    path = tmp_path / "guard.py"
    path.write_text(GUARD)
    result = run_hook(path, "before_tool", tool="shell", input={"command": "rm -rf /"})

    assert load_value(dump_value(result)).reply == result.reply


def test_a_hook_of_the_settings_is_a_value(tmp_path):
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    (definition,) = Engine.load(tmp_path, agent="claude", home=tmp_path).hooks.definitions

    assert load_value(dump_value(definition)) == definition


def test_members_of_an_enumeration_come_out_with_older_releases_of_python(monkeypatch):
    # This is how Python before 3.11.4 pickles them.
    monkeypatch.setattr(
        Outcome, "__reduce_ex__", lambda member, _: (getattr, (Outcome, member.name))
    )

    assert load_value(dump_value([Outcome.DENY])) == [Outcome.DENY]


PARENT = """
import sys
from anyhook.sandbox import sandbox as sandboxes
from tests.sandbox import tasks
if __name__ == "__main__":
    if sys.argv[3] == "copies":
        sandboxes.HAS_NAMESPACES = False
    with sandboxes.Sandbox(sys.argv[1], sys.argv[2]) as sandbox:
        sandbox.run(tasks.say_and_sleep, on_message=lambda text: print(text, flush=True))
"""


@pytest.mark.parametrize("world", WORLDS)
def test_nothing_outlives_a_command_that_is_killed(places, tmp_path, world):
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "tmp").mkdir()
    environ = {**os.environ, MARK: str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, tmp_path / "parent.py", *places, world]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"runs\n"

        parent.kill()

    until(lambda: not marked(str(tmp_path)), "processes are left")
    until(lambda: not list((tmp_path / "tmp").iterdir()), "copies are left")


def test_a_sandbox_leaves_no_process_and_no_descriptor(places):
    with none_left(str(places[0])) as environ, Sandbox(*places, environ=environ) as sandbox:
        sandbox.run(tasks.return_value, 1)


@pytest.mark.parametrize("name", ["a b", "a,b", "a:b", "a\\b", "ü", 'a"b', "a'b"])
def test_directories_may_have_any_name(tmp_path, name):
    project = tmp_path / name
    project.mkdir()
    (project / "a.txt").write_text("original")

    with Sandbox(project, tmp_path) as sandbox:
        assert not sandbox.limits
        assert sandbox.run(tasks.write, str(project / "a.txt")) == "written"

    assert (project / "a.txt").read_text() == "original"


def test_a_directory_in_memory_can_be_the_project():
    project = Path("/dev/shm", f"anyhook-test-{os.getpid()}-{time.monotonic_ns()}")
    project.mkdir()
    try:
        (project / "a.txt").write_text("original")
        with Sandbox(project, project) as sandbox:
            assert sandbox.run(tasks.write, str(project / "a.txt")) == "written"
        assert (project / "a.txt").read_text() == "original"
    finally:
        (project / "a.txt").unlink()
        project.rmdir()


def test_output_goes_to_standard_error_without_control_characters(places, capfd):
    with Sandbox(*places) as sandbox:
        sandbox.run(tasks.run_python, "print('\\x1b]0;title\\x07shown', flush=True)")

    error = capfd.readouterr().err
    assert "shown" in error
    assert "\x1b" not in error
