"""Child processes that misbehave in every way that hooks do, on both event loops."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import uuid
from textwrap import dedent

import anyio
import pytest

from anyhook.processes import child
from anyhook.processes import run as process_driver
from anyhook.processes.result import OUTPUT_LIMIT, REPLY_LIMIT
from anyhook.processes.run import run_process
from tests.leftovers import descriptors, none_left
from tests.waiting import until
from tests.warm import is_running

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for leftovers in /proc"),
]


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """Both event loops; the second one with the slower tests."""
    return request.param


@pytest.fixture(params=["pidfd", pytest.param("thread", marks=pytest.mark.slow)])
def exit_watch(request, monkeypatch):
    """Where there is no pidfd, a thread notices the exit."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open")
    return request.param


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    """The time from SIGTERM to SIGKILL."""
    monkeypatch.setattr(process_driver, "GRACE", 0.2)


@pytest.fixture
def shell(tmp_path):
    """Run a command line in the shell, and look for leftovers after it."""

    async def run(line, *, stdin=b"", timeout=30.0, **options):
        mark = uuid.uuid4().hex
        with none_left(mark) as env, anyio.fail_after(20):
            options.setdefault("cwd", str(tmp_path))
            argv = line if isinstance(line, list) else ["bash", "-c", line]
            return await run_process(argv, env=env, stdin=stdin, timeout=timeout, **options)

    return run


async def test_a_signal_during_the_start_of_a_command_leaves_nothing(tmp_path, monkeypatch):
    """The command runs already when the start is interrupted."""
    start = subprocess.Popen.__init__

    def interrupted_start(process, *arguments, **options):
        start(process, *arguments, **options)
        until((tmp_path / "started").exists)
        process.returncode = 0  # as if it had never been known
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted_start)
    line = f"sleep 60 & touch {tmp_path}/started; sleep 60"
    with none_left(uuid.uuid4().hex) as env, pytest.raises(KeyboardInterrupt):
        await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env, stdin=b"", timeout=60)


async def test_output_exit_code_and_input_arrive(shell, exit_watch):
    end = await shell("cat; echo err >&2; exit 3", stdin=b"in")

    assert (end.stdout, end.stderr, end.exit_code, end.signal) == ("in", "err\n", 3, None)


@pytest.mark.slow
async def test_a_command_that_ignores_sigterm_is_killed(shell, exit_watch):
    end = await shell("trap '' TERM; echo started; while :; do sleep 60; done", timeout=0.3)

    assert end.timed_out
    assert end.signal == "SIGKILL"
    assert end.stdout == "started\n"


async def test_a_command_that_cleans_up_on_sigterm_gets_the_time(shell, tmp_path, monkeypatch):
    monkeypatch.setattr(process_driver, "GRACE", 5)
    line = "trap 'echo bye > done; exit 0' TERM; echo started; sleep 60 & wait"

    end = await shell(line, timeout=0.3)

    assert end.timed_out
    assert (tmp_path / "done").read_text() == "bye\n"


async def test_a_timeout_ends_the_grandchildren_too(shell, exit_watch):
    end = await shell("(trap '' TERM; sleep 60) & sleep 60; echo late", timeout=0.2)

    assert end.timed_out
    assert end.stdout == ""


async def test_a_child_that_holds_the_pipes_does_not_hold_the_result(shell, exit_watch):
    end = await shell("sleep 60 & echo done")

    assert (end.exit_code, end.stdout, end.held_open, end.timed_out) == (0, "done\n", True, False)


async def test_the_last_words_of_a_filter_behind_the_command_are_heard(shell):
    end = await shell("exec > >(sleep 0.05; cat); echo through; exit 4")

    assert (end.exit_code, end.stdout) == (4, "through\n")


@pytest.mark.slow
async def test_a_flood_of_output_is_cut_and_read_to_its_end(shell):
    end = await shell("head -c 200000000 /dev/zero | tr '\\0' x; echo end >&2")

    assert len(end.stdout) == OUTPUT_LIMIT
    assert end.stdout_truncated
    assert not end.stderr_truncated
    assert (end.exit_code, end.stderr) == (0, "end\n")


@pytest.mark.parametrize("begin", ["{", " \n\t{", "\ufeff{"])
async def test_a_reply_may_be_longer_than_other_output(shell, begin):
    end = await shell(
        f"printf '{begin}'; head -c 3000000 /dev/zero | tr '\\0' x", output_limit=1000
    )

    assert not end.stdout_truncated
    assert len(end.stdout) == len(begin) + 3_000_000


@pytest.mark.parametrize("begin", ["{", ""])
async def test_a_reply_and_blanks_are_bounded_too(shell, begin):
    end = await shell(
        f"printf '{begin}'; head -c 30000000 /dev/zero | tr '\\0' ' '", output_limit=9
    )

    assert end.stdout_truncated
    assert len(end.stdout) == REPLY_LIMIT


async def test_a_flood_of_errors_is_cut_too(shell):
    end = await shell("head -c 3000000 /dev/zero >&2", output_limit=1000)

    assert (len(end.stderr), end.stderr_truncated, end.stdout_truncated) == (1000, True, False)


async def test_input_that_nobody_reads_is_no_error(shell, exit_watch):
    end = await shell("exit 0", stdin=b"x" * 10_000_000)

    assert end.exit_code == 0
    assert end.error is None


async def test_input_is_written_while_output_is_read(shell):
    end = await shell("cat", stdin=b"x" * 900_000)

    assert len(end.stdout) == 900_000


async def test_input_that_nobody_reads_ends_with_the_timeout(shell):
    end = await shell("sleep 60", stdin=b"x" * 10_000_000, timeout=0.2)

    assert end.timed_out


async def test_half_a_character_is_replaced(shell):
    end = await shell("printf 'a\\xe2\\x82'")

    assert end.stdout == "a\ufffd"


async def test_characters_survive_the_borders_of_chunks(shell):
    end = await shell("printf 'x'; for i in {1..60000}; do printf '\\xe2\\x82\\xac'; done")

    assert end.stdout == "x" + "€" * 60000


async def test_a_command_that_exits_at_once_is_a_result(shell, exit_watch):
    end = await shell(["true"])

    assert (end.exit_code, end.stdout, end.stderr) == (0, "", "")


async def test_a_working_directory_that_is_gone_is_a_result(shell):
    end = await shell("true", cwd="/no/such/place")

    assert end.error == "the working directory '/no/such/place' does not exist"
    assert end.exit_code is None


async def test_a_working_directory_that_goes_away_is_no_trouble(shell, tmp_path):
    end = await shell('rmdir "$PWD"; echo still here', cwd=str(tmp_path))

    assert end.stdout == "still here\n"


async def test_a_program_that_is_missing_is_a_result(shell):
    end = await shell(["no-such-program-anywhere"])

    assert end.error == "'no-such-program-anywhere' cannot be started: No such file or directory"


async def test_an_argument_with_a_null_is_a_result(shell):
    end = await shell(["echo", "a\0b"])

    assert "null byte" in end.error


async def test_a_command_line_that_is_too_long_is_a_result(shell):
    end = await shell("x" * 3_000_000)

    assert "Argument list too long" in end.error


@pytest.mark.parametrize("number", ["KILL", "SEGV", "USR1"])
async def test_a_death_by_signal_has_the_name_of_the_signal(shell, number):
    end = await shell(f"echo said; kill -{number} $$")

    assert (end.exit_code, end.signal, end.stdout) == (None, f"SIG{number}", "said\n")


async def test_an_unknown_signal_has_a_number(shell):
    end = await shell("kill -40 $$")

    assert end.signal == "signal 40"


REPORT = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
    "environ": {k: os.fsencode(v).hex() for k, v in os.environ.items()},
    "open": [n for n in os.listdir("/dev/fd") if os.path.exists("/dev/fd/" + n) and int(n) > 2],
    "stdin": sys.stdin.read(),
}))
"""


async def test_a_command_gets_what_it_was_given_and_nothing_else(tmp_path):
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    env = {"PLAIN": "a=b", "EMPTY": "", "BYTES": os.fsdecode(b"\xff\xfe"), "ÜML": "é"}
    argv = [sys.executable, "-c", REPORT, "x", "é"]
    try:
        end = await run_process(argv, cwd=str(tmp_path), env=env, stdin=b"event")
    finally:
        os.close(inheritable)

    report = json.loads(end.stdout)
    added = {"LC_CTYPE", "ANYHOOK_RUN"}
    environ = {k: bytes.fromhex(v) for k, v in report["environ"].items() if k not in added}
    assert report["argv"] == ["x", "é"]
    assert report["cwd"] == str(tmp_path)
    assert report["stdin"] == "event"
    assert len(report["open"]) <= 1  # its own, of the listing
    assert environ == {k: os.fsencode(v) for k, v in env.items()}


async def test_signals_that_python_ignores_are_not_ignored_in_the_command(shell):
    end = await shell("grep SigIgn /proc/self/status")

    ignored = int(end.stdout.split()[1], 16)
    assert not any(ignored >> number - 1 & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))


async def test_a_program_is_looked_up_on_the_path_it_gets(tmp_path):
    for name in ("first", "second"):
        file = tmp_path / name / "tool"
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\necho {name}\n")
    (tmp_path / "second" / "tool").chmod(0o755)
    path = os.pathsep.join(str(tmp_path / name) for name in ("none", "first", "second"))

    end = await run_process(["tool"], cwd="/", env={"PATH": path})

    assert end.stdout == "second\n"


@pytest.mark.parametrize(
    ("argv", "env", "message"),
    [
        (["/proc/nowhere/tool"], {}, "No such file or directory"),
        (["./plain"], {}, "Permission denied"),
        (["./nonsense"], {}, "Exec format error"),
        (["/bin/true"], {"A": "a\0b"}, "null byte"),
        (["/bin/true"], {"A=B": "c"}, "illegal environment variable name"),
        (["/bin/true"], {"A": "\ud800"}, "surrogates not allowed"),
        (["/bin/true", "x" * 200_000], {}, "Argument list too long"),
    ],
)
async def test_a_start_that_fails_is_a_result_and_leaves_nothing(tmp_path, argv, env, message):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "nonsense").write_text("\1\2")
    (tmp_path / "nonsense").chmod(0o755)
    before = descriptors()
    children = own_children()

    end = await run_process(argv, cwd=str(tmp_path), env=env)

    assert end.error.startswith(f"{argv[0]!r} cannot be started: ")
    assert message in end.error
    assert not descriptors() - before
    assert own_children() == children


def own_children():
    """Return the processes that this one has started; other tests may have left some."""
    command = ["ps", "-A", "-o", "pid=,ppid=,comm="]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return {pid for pid, ppid, command in rows if ppid == str(os.getpid()) and command != "ps"}


def test_a_host_whose_standard_streams_are_closed_runs_commands_too(tmp_path):
    program = dedent("""
        import asyncio, os, sys
        from anyhook.processes.run import run_process
        for fd in (0, 1, 2):
            os.close(fd)
        end = asyncio.run(run_process(["/bin/cat"], cwd="/", env={}, stdin=b"input"))
        open("out", "w").write(end.stdout)
    """)

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)

    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "input"


async def test_the_command_leads_its_own_session_and_group(shell):
    end = await shell("ps -o pid=,pgid=,sid= -p $$")

    pid, group, session = end.stdout.split()
    assert pid == group == session


@pytest.mark.slow
async def test_two_hundred_commands_at_once(tmp_path):
    mark = uuid.uuid4().hex
    ends = []

    async def one(number):
        argv = ["bash", "-c", f"cat >/dev/null; echo {number}"]
        ends.append(await run_process(argv, cwd=str(tmp_path), env=env, stdin=b"{}"))

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    with none_left(mark) as env, anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(one, number)

    assert sorted(int(end.stdout) for end in ends) == list(range(200))


async def test_without_descriptors_a_command_is_a_failed_result(tmp_path):
    mark = uuid.uuid4().hex
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with none_left(mark) as env:
        for spare in range(12):  # the limit falls on every step of the start once
            resource.setrlimit(resource.RLIMIT_NOFILE, (_next_descriptor() + spare, hard))
            try:
                end = await run_process(["true"], cwd=str(tmp_path), env=env)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert (end.exit_code == 0) is (end.error is None)


class Refusing(selectors.DefaultSelector):
    """A selector that takes so many descriptors, and no more."""

    room = 0

    def register(self, *arguments):
        if len(self.get_map()) == self.room:
            raise OSError(28, "no space for a watch")
        return super().register(*arguments)


@pytest.mark.parametrize("room", range(4))
@pytest.mark.parametrize("line", ["sleep 60", "trap '' TERM; sleep 60"])
async def test_a_command_that_cannot_be_watched_is_ended(tmp_path, monkeypatch, room, line):
    mark = uuid.uuid4().hex
    monkeypatch.setattr(process_driver.selectors, "DefaultSelector", Refusing)
    monkeypatch.setattr(Refusing, "room", room)
    much = b"x" * 1_000_000  # more than a pipe takes at once

    with none_left(mark) as env:
        end = await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env, stdin=much)

    assert "no space for a watch" in end.error


async def test_a_command_for_which_there_is_no_selector_does_not_begin(tmp_path, monkeypatch):
    def refuse():
        raise OSError(24, "too many open files")

    monkeypatch.setattr(process_driver.selectors, "DefaultSelector", refuse)
    with none_left(uuid.uuid4().hex) as env:
        end = await run_process(["bash", "-c", "> begun; sleep 60"], cwd=str(tmp_path), env=env)

    assert "too many open files" in end.error
    assert not (tmp_path / "begun").exists()


async def test_a_quick_command_needs_no_watch(tmp_path, monkeypatch):
    monkeypatch.setattr(process_driver.selectors, "DefaultSelector", Refusing)

    end = await run_process(["echo", "quick"], cwd=str(tmp_path), env=dict(os.environ))

    assert (end.stdout, end.error) == ("quick\n", None)


async def test_a_command_that_has_ended_unwatched_keeps_its_exit_code(tmp_path, monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setattr(process_driver.selectors, "DefaultSelector", Refusing)

    with none_left(mark) as env:
        line = "echo why >&2; sleep 60 & exit 2"
        end = await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env)

    assert (end.exit_code, end.stderr, end.error) == (2, "why\n", None)


async def test_a_cancelled_command_that_cannot_be_watched_is_ended(tmp_path, monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setattr(process_driver, "QUICK", 30.0)
    monkeypatch.setattr(process_driver.selectors, "DefaultSelector", Refusing)

    with none_left(mark) as env, anyio.fail_after(20), anyio.move_on_after(0.2) as scope:
        await run_process(["sleep", "60"], cwd=str(tmp_path), env=env)

    assert scope.cancelled_caught


@pytest.mark.parametrize("line", ["sleep 60", "sleep 60 & sleep 60", "trap '' TERM; sleep 60"])
async def test_cancelling_ends_the_command_and_its_children(tmp_path, line, exit_watch):
    mark = uuid.uuid4().hex
    with none_left(mark) as env, anyio.fail_after(20):
        with anyio.move_on_after(0.2) as scope:
            await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env)

    assert scope.cancelled_caught


ESCAPES = {
    "another session": "setsid sleep 60 & sleep 60",
    "another group": "set -m; sleep 60 & sleep 60",
    "timeout in a pipeline": "timeout 60 sleep 60 | cat",
    "a double fork": "(setsid sh -c 'sleep 60 & sleep 60 &' &); sleep 60",
    "deaf in another session": "setsid sh -c \"trap '' TERM; sleep 60; sleep 60\" & sleep 60",
    "after a cleanup": "trap 'setsid sleep 60 & exit' TERM; sleep 60 & wait",
    "its output closed": "setsid sleep 60 </dev/null >/dev/null 2>&1 & sleep 60",
}


@pytest.mark.parametrize("line", ESCAPES.values(), ids=ESCAPES)
async def test_a_timeout_ends_what_has_left_the_group(shell, line):
    end = await shell(line, timeout=0.3)

    assert end.timed_out
    assert end.survivors == ()


@pytest.mark.parametrize("line", ESCAPES.values(), ids=ESCAPES)
async def test_cancelling_ends_what_has_left_the_group(tmp_path, line):
    mark = uuid.uuid4().hex
    with none_left(mark) as env, anyio.fail_after(20):
        with anyio.move_on_after(0.3) as scope:
            await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env)

    assert scope.cancelled_caught


@pytest.mark.slow
async def test_a_child_that_cleared_its_environment_is_found_by_its_parent(shell, tmp_path):
    line = "env -i setsid sh -c 'echo $$ > parent; sleep 60 & echo $! > child; wait' & sleep 60"

    end = await shell(line, timeout=2.0)

    assert end.timed_out
    for name in ("parent", "child"):
        pid = int((tmp_path / name).read_text())
        until(lambda pid=pid: not is_running(pid))


async def test_a_command_that_ends_by_itself_keeps_what_it_left_in_the_background(tmp_path):
    daemon = "setsid sh -c 'echo $$ > pid; exec sleep 60' </dev/null >/dev/null 2>&1 &"
    line = f"{daemon} until test -s pid; do :; done"
    with anyio.fail_after(20):
        end = await run_process(["bash", "-c", line], cwd=str(tmp_path), env=dict(os.environ))

    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)  # fails if it was ended
    assert end.exit_code == 0


@pytest.mark.slow
async def test_what_cannot_be_ended_is_not_reported_as_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *_: None)
    line = "setsid sh -c 'echo $$ > pid; exec sleep 60' & sleep 60"
    env = dict(os.environ)

    end = await run_process(["bash", "-c", line], cwd=str(tmp_path), env=env, timeout=2.0)

    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    assert end.timed_out
    assert end.survivors == (pid,)


async def test_a_command_inside_a_command_has_the_marks_of_both():
    inner = "import os; print(os.environ['ANYHOOK_RUN'])"
    end = await run_process(
        [sys.executable, "-c", inner], cwd="/", env={**os.environ, "ANYHOOK_RUN": "outer"}
    )

    outer, _, own = end.stdout.strip().partition(".")
    assert outer == "outer"
    assert len(own) == 16


def test_a_second_cancellation_leaves_nothing_either(tmp_path):
    """The second one passes through every shield: asyncio's own, and impatient."""

    async def run(environ):
        deaf = "trap '' TERM; echo ready > started; sleep 60 & wait; sleep 60"
        task = asyncio.ensure_future(
            run_process(["sh", "-c", deaf], cwd=str(tmp_path), env=environ, stdin=b"", timeout=50)
        )
        while not (tmp_path / "started").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0)
        for _ in range(2):
            task.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    with none_left(str(tmp_path)) as environ:
        asyncio.run(run(environ))


async def test_cancelling_before_the_first_wait_leaves_nothing(tmp_path):
    mark = uuid.uuid4().hex
    with none_left(mark) as env, anyio.fail_after(20), anyio.CancelScope() as scope:
        scope.cancel()
        await run_process(["sleep", "60"], cwd=str(tmp_path), env=env)


async def test_cancelling_while_the_output_is_drained_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "DRAIN", 30.0)
    mark = uuid.uuid4().hex
    with none_left(mark) as env, anyio.fail_after(20), anyio.move_on_after(0.3) as scope:
        await run_process(["bash", "-c", "sleep 60 & exit 0"], cwd=str(tmp_path), env=env)

    assert scope.cancelled_caught


def _next_descriptor() -> int:
    fd = os.open(os.devnull, os.O_RDONLY)
    os.close(fd)
    return fd
