"""Exit code 2 is a hook's decision: no failure of a program that runs hooks ends in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.worker import client
from tests.tables import fast_for
from tests.warm import CLIENT, WRITE, Warm

ANYHOOK = str(Path(sys.executable).with_name("anyhook"))
COMMANDS = {
    "anyhook run": [ANYHOOK, "run"],
    "anyhook run --python": CLIENT,
    "python -m anyhook run": [sys.executable, "-m", "anyhook", "run"],
}
"""The ways in which an agent starts a hook file."""
PACKAGE = Path(client.__file__).parents[1]
PIPE_ROOM = 1 << 16
"""Bytes that a pipe takes without a reader."""
GUARD = "@hooks.before_tool\ndef guard(event):\n    return deny('no')"


@pytest.fixture(scope="module", params=sorted(COMMANDS))
def warm(request, tmp_path_factory):
    world = Warm(tmp_path_factory.mktemp("hooks"), COMMANDS[request.param])
    make_files(world)
    yield world
    world.close()


def make_files(world: Warm) -> None:
    """Write every file that cannot be run as a hook, and one that can."""
    root = world.root
    world.hook(GUARD, "guard.py")
    world.hook("(", "syntax.py")
    world.hook("import no_such_module", "imports.py")
    world.hook("1 / 0", "crashes.py")
    (root / "bytes.py").write_bytes(b"\xff\xfe\0")
    (root / "directory").mkdir()
    (root / "loop.py").symlink_to("loop.py")
    (root / "dangling.py").symlink_to("gone.py")
    with socket.socket(socket.AF_UNIX) as link:
        previous = Path.cwd()
        os.chdir(root)  # names of sockets are short
        link.bind("socket.py")
        os.chdir(previous)


NOT_FOUND = "anyhook run: hook file not found: "
UNREADABLE = "anyhook run: hook file cannot be read: "
FILES = {
    "a file that is missing": (["gone.py"], 1, f"{NOT_FOUND}gone.py"),
    "a file in a missing directory": (["no/guard.py"], 1, f"{NOT_FOUND}no/guard.py"),
    "a file below a file": (["guard.py/x"], 1, f"{NOT_FOUND}guard.py/x"),
    "an empty name": ([""], 1, NOT_FOUND),
    "a link to a missing file": (["dangling.py"], 1, f"{NOT_FOUND}dangling.py"),
    "a link to itself": (["loop.py"], 1, f"{UNREADABLE}loop.py: "),
    "a name that is too long": (["x" * 300], 1, f"{UNREADABLE}{'x' * 300}: "),
    "a socket": (["socket.py"], 1, f"{UNREADABLE}socket.py: "),
    "a directory": (["directory"], 1, "__main__"),
    "a syntax error": (["syntax.py"], 1, "SyntaxError"),
    "a file that is no text": (["bytes.py"], 1, "SyntaxError"),
    "a missing module": (["imports.py"], 1, "no_such_module"),
    "a crash while loading": (["crashes.py"], 1, "ZeroDivisionError"),
    "an unknown option of the hook": (["guard.py", "--nope"], 1, "no option '--nope'"),
    "an option before the file": (["--timeout", "5", "guard.py"], 64, "--timeout"),
    "an option that Python does not know": (["-Z", "guard.py"], 64, "-Z"),
    "a module": (["-m", "no_such_module"], 64, "-m"),
    "no file": ([], 64, "usage"),
}
QUICK = (
    "a file that is missing",
    "a link to itself",
    "a syntax error",
    "a crash while loading",
    "an unknown option of the hook",
    "an option before the file",
)
"""The files that are tried in each run of the tests."""


@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.parametrize("words", fast_for(FILES, *QUICK))
def test_what_cannot_be_run_as_a_hook_does_not_block(warm, words, switch):
    arguments, code, message = FILES[words]
    if switch == "on":  # the first run starts a server, if the file can have one
        run(warm, *arguments, switch=switch)

    end = run(warm, *arguments, switch=switch)

    assert end.returncode == code, end.stderr
    assert message in end.stderr
    assert end.stdout == ""


EVENTS = {"nothing": b"", "no JSON": b"{", "no object": b"[1]", "an unknown agent": b"{}"}


@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.parametrize("event", fast_for(EVENTS))
def test_an_event_that_cannot_be_read_does_not_block(warm, event, switch):
    if switch == "on":
        warm.wake(warm.root / "guard.py")

    assert run(warm, "guard.py", event=EVENTS[event], switch=switch).returncode == 1


@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.parametrize("redirect", fast_for(["<&- >&- 2>&-", "<&-", "2>&-", "< /"]))
def test_streams_that_cannot_be_used_do_not_block(warm, redirect, switch):
    if switch == "on":
        warm.wake(warm.root / "guard.py")
    world = Warm(warm.root, ["bash", "-c", f'"$@" {redirect}', "bash", *warm.client])
    world.env = warm.env

    assert run(world, "crashes.py", switch=switch).returncode == 1


def test_a_decision_is_still_made_with_exit_code_two(warm):
    world = Warm(warm.root, ["bash", "-c", '"$@" > /dev/full', "bash", *warm.client])
    world.env = warm.env

    assert run(world, "guard.py", switch="off").returncode == 2


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """A package that was built without a C compiler."""
    root = tmp_path_factory.mktemp("package")
    for directory in (PACKAGE, PACKAGE / "worker"):
        copy = root / "anyhook" / directory.relative_to(PACKAGE)
        copy.mkdir()
        for path in directory.iterdir():
            if path.name not in ("anyhook", "worker"):
                (copy / path.name).symlink_to(path)
    world = Warm(tmp_path_factory.mktemp("hooks"), COMMANDS["python -m anyhook run"])
    world.env["PYTHONPATH"] = str(root)
    make_files(world)
    yield world
    world.close()


@pytest.mark.parametrize("words", fast_for(FILES, *QUICK))
def test_without_the_native_program_it_does_not_block_either(cold, words):
    arguments, code, message = FILES[words]

    end = run(cold, *arguments, switch="on")

    assert end.returncode == code, end.stderr
    assert message in end.stderr
    assert end.stdout == ""


def test_without_the_native_program_hooks_run_cold(cold):
    end = run(cold, "guard.py", switch="on")

    assert json.loads(end.stdout)["decision"] == "deny"
    assert not cold.processes


@pytest.mark.parametrize("words", [["--python", "{}"], ["--python={}"]])
@pytest.mark.parametrize("front", ["anyhook run", "python -m anyhook run", "cold"])
@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.parametrize(
    "python", fast_for(["no-such-python", "/nowhere/python", "/", "/etc/passwd"])
)
def test_an_interpreter_that_cannot_be_started_does_not_block(
    tmp_path, cold, words, front, python, switch
):
    command = COMMANDS.get(front, cold.client)
    world = Warm(tmp_path, [*command, *(word.format(python) for word in words)])
    if front == "cold":
        world.env["PYTHONPATH"] = cold.env["PYTHONPATH"]
    world.hook(GUARD, "guard.py")

    end = run(world, "guard.py", switch=switch)

    assert end.returncode == 127
    assert f"anyhook run: {python}: " in end.stderr


SHIM = {
    "no arguments": [],
    "no command": ["--as", "claude", "--"],
    "an unknown agent": ["--as", "nope", "--", "true"],
    "an unknown host": ["--as", "claude", "--host", "nope", "--", "true"],
    "an unknown option": ["--as", "claude", "--nope", "--", "true"],
    "an unknown event": ["--as", "claude", "--event", "Nope", "--", "true"],
    "a broken pattern": ["--as", "claude", "--matcher", "(", "--", "true"],
    "an unknown shell": ["--as", "claude", "--shell", "nope", "--", "true"],
    "a wrong timeout": ["--as", "claude", "--timeout", "soon", "--", "true"],
    "a missing command": ["--as", "claude", "--", "no-such-command"],
    "a missing program": ["--as", "claude", "--", "/nowhere/program", "x"],
}


@pytest.mark.parametrize("program", [[ANYHOOK], [sys.executable, "-m", "anyhook"]])
@pytest.mark.parametrize("arguments", SHIM)
@pytest.mark.parametrize("event", fast_for([json.dumps(WRITE).encode(), b"", b"{"]))
def test_a_shim_that_cannot_run_its_command_does_not_block(tmp_path, program, arguments, event):
    end = subprocess.run(
        [*program, "shim", *SHIM[arguments]],
        input=event,
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )

    assert end.returncode not in (0, 2)
    assert b"Traceback" not in end.stderr


@pytest.mark.parametrize("switch", ["off", "on"])
def test_a_client_that_is_interrupted_ends_without_a_traceback(warm, switch):
    process = warm.start("guard.py", env={"ANYHOOK_WORKER": switch}, start_new_session=True)

    end = interrupted(process)

    assert end in ((130, b""), (-signal.SIGINT, b""))  # which shells report as 130


@pytest.mark.parametrize("program", [[ANYHOOK], [sys.executable, "-m", "anyhook"]])
def test_a_shim_that_is_interrupted_ends_without_a_traceback(tmp_path, program):
    process = subprocess.Popen(
        [*program, "shim", "--as", "claude", "--", "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )

    assert interrupted(process) == (130, b"")


def interrupted(process):
    """Interrupt a program in the middle of its input; its exit code and standard error."""
    process.stdin.write(b" " * PIPE_ROOM * 2)  # returns when the program has begun to read
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    with process:
        return process.wait(), process.stderr.read()


def run(world: Warm, *arguments, event=None, switch):
    """Run a hook file as an agent does."""
    return subprocess.run(
        [*world.client, *arguments],
        input=(json.dumps(WRITE).encode() if event is None else event).decode(),
        capture_output=True,
        text=True,
        check=False,
        cwd=world.root,
        env={**world.env, "ANYHOOK_WORKER": switch},
    )
