"""Starting programs: ours, and the standard library's where ours is not known to fit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from anyhook.handlers import process_start

TELLS = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
    "environ": {k: os.fsencode(v).hex() for k, v in os.environ.items()},
    "leader": os.getsid(0) == os.getpid() == os.getpgrp(),
    "open": [n for n in os.listdir("/dev/fd") if os.path.exists("/dev/fd/" + n) and int(n) > 2],
    "stdin": sys.stdin.read(),
}))
os.write(2, b"and that")
"""


@pytest.fixture(params=["ours", "popen"])
def way(request, monkeypatch):
    if request.param == "popen":
        monkeypatch.setattr(process_start, "_fork_exec", None)
    elif process_start._fork_exec is None:
        pytest.skip("not with this version of Python")
    return request.param


@pytest.fixture
def started(way, tmp_path):
    """Start a program and wait for it; gives its exit code and what it wrote."""

    def call(*argv, stdin=b"", cwd=tmp_path, env=None, program=None):
        files = [tmp_path / f".{name}" for name in ("in", "out", "err")]
        files[0].write_bytes(stdin)
        writing = os.O_RDWR | os.O_CREAT | os.O_TRUNC
        modes = (os.O_RDONLY, writing, writing)
        ends = [os.open(file, mode) for file, mode in zip(files, modes, strict=True)]
        try:
            pid = process_start.start(argv, cwd=str(cwd), env=env or {}, ends=ends, program=program)
            status = os.waitpid(pid, 0)[1]
        finally:
            for fd in ends:
                os.close(fd)
        return os.waitstatus_to_exitcode(status), files[1].read_bytes(), files[2].read_bytes()

    return call


def test_a_program_gets_what_it_was_given_and_nothing_else(started, tmp_path):
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    env = {"PLAIN": "a=b", "EMPTY": "", "BYTES": os.fsdecode(b"\xff\xfe"), "ÜML": "é"}
    try:
        code, out, err = started(sys.executable, "-c", TELLS, "x", "é", stdin=b"event", env=env)
    finally:
        os.close(inheritable)

    told = json.loads(out)
    assert (code, err) == (0, b"and that")
    assert told["argv"] == ["x", "é"]
    assert told["cwd"] == str(tmp_path)
    assert told["stdin"] == "event"
    assert told["leader"] is True
    assert len(told["open"]) <= 1  # its own, of the listing
    assert {k: bytes.fromhex(v) for k, v in told["environ"].items() if k != "LC_CTYPE"} == {
        k: os.fsencode(v) for k, v in env.items()
    }


def test_signals_that_python_ignores_are_not_ignored_in_the_program(started):
    code, out, _ = started("/bin/sh", "-c", "grep SigIgn /proc/self/status", env={"PATH": "/bin"})

    assert code == 0
    ignored = int(out.split()[1], 16)
    assert not any(ignored >> number - 1 & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))


def test_a_program_is_looked_up_on_the_path_it_gets(started, tmp_path):
    for name in ("first", "second"):
        file = tmp_path / name / "tool"
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\necho {name}\n")
    (tmp_path / "second" / "tool").chmod(0o755)
    path = os.pathsep.join(str(tmp_path / name) for name in ("none", "first", "second"))

    assert started("tool", env={"PATH": path})[1] == b"second\n"


def test_a_program_may_have_another_name(started):
    code, out, _ = started("called", "-c", "echo $0", program="/bin/sh")

    assert (code, out) == (0, b"called\n")


@pytest.mark.parametrize(
    ("argv", "options", "error", "says"),
    [
        (["/proc/nowhere/tool"], {}, FileNotFoundError, "/proc/nowhere/tool"),
        (["nowhere"], {"env": {"PATH": "/bin:/usr/bin"}}, FileNotFoundError, "nowhere"),
        (["./plain"], {}, PermissionError, "plain"),
        (["./nonsense"], {}, OSError, "Exec format error"),
        (["/bin/true"], {"cwd": Path("/proc/nowhere")}, FileNotFoundError, "nowhere"),
        (["/bin/true", "a\0b"], {}, ValueError, "null"),
        (["/bin/true"], {"env": {"A": "a\0b"}}, ValueError, "null"),
        (["/bin/true"], {"env": {"A=B": "c"}}, ValueError, "environment"),
        (["/bin/true"], {"env": {"A": "\ud800"}}, UnicodeEncodeError, "surrogates"),
        (["/bin/true", "x" * 200_000], {}, OSError, "too long"),
    ],
)
def test_what_cannot_be_started_is_told_as_the_library_tells_it(
    started, tmp_path, argv, options, error, says
):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "nonsense").write_text("\1\2")
    (tmp_path / "nonsense").chmod(0o755)
    before = sorted(os.listdir("/dev/fd"))

    with pytest.raises(error, match=says):
        started(*argv, **options)

    assert sorted(os.listdir("/dev/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_host_whose_standard_streams_are_closed_starts_programs_too(tmp_path):
    program = dedent("""
        import os, sys
        from anyhook.processes.start import start
        out = os.open("out", os.O_RDWR | os.O_CREAT)
        given = [os.dup(out) for _ in range(3)]
        for fd in (0, 1, 2):
            os.close(fd)
        pid = start(["/bin/echo", "said"], cwd="/", env={}, ends=given)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)

    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "said\n"


def test_each_program_gets_the_environment_of_its_own_start(started):
    own = {"A": "1", "B": "2"}
    for env in (own, {"A": "1"}, {"A": "1", "B": "3"}, own, {**own, "C": "4"}, own):
        told = json.loads(started(sys.executable, "-ISc", TELLS, env=env)[1])["environ"]
        found = {name: bytes.fromhex(value).decode() for name, value in told.items()}
        assert {name: found.get(name) for name in ("A", "B")} == {
            name: env.get(name) for name in ("A", "B")
        }
    own["B"] = "5"
    told = json.loads(started(sys.executable, "-ISc", TELLS, env=own)[1])["environ"]
    assert bytes.fromhex(told["B"]) == b"5"
