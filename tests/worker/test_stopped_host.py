"""A host that is stopped (Ctrl-Z) past a deadline gets the answer that was there in time."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.protocol import Reply, pack_accepted, pack_reply
from tests.waiting import LONGEST_WAIT, until
from tests.warm import CLIENT, is_running
from tests.world import World

TIMEOUT = 2.0
HOST = """
import sys, anyio
from anyhook import BeforeTool, Engine

async def main():
    engine = Engine.load(sys.argv[1], home=sys.argv[2], trust_once=True)
    decision = await engine.dispatch(BeforeTool(tool_name="write_file", tool_input={}))
    print(decision.results[0].status, decision.outcome)

anyio.run(main, backend=sys.argv[3])
"""
HOOK = "echo $$ >pid; mv pid started; read -r _ <go; echo no >&2; exit 2"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    os.mkfifo(world.project / "go")
    return world


def configure(world, line):
    handler = {"type": "command", "command": line, "timeout": int(TIMEOUT * 1000)}
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [handler]}]}})


@contextmanager
def stopped(process, started: Path):
    """Stop a process once its hook has started, and continue it after the hook's deadline."""
    until(started.exists)
    deadline = time.monotonic() + TIMEOUT
    process.send_signal(signal.SIGSTOP)
    until(lambda: state_of(process.pid) == "T")
    yield
    until(lambda: time.monotonic() > deadline)
    process.send_signal(signal.SIGCONT)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def start_host(world, backend):
    return subprocess.Popen(
        [sys.executable, "-c", HOST, str(world.project), str(world.home), backend],
        env=world.environ,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_denial_given_in_time_counts_after_the_deadline(world, backend):
    configure(world, HOOK)
    with start_host(world, backend) as host:
        with stopped(host, world.project / "started"):
            (world.project / "go").write_text("now\n")
            hook = int((world.project / "started").read_text())
            until(lambda: not is_running(hook))
        assert host.communicate()[0].split() == ["ran", "deny"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_hook_that_is_late_has_timed_out(world, backend):
    configure(world, HOOK)
    with start_host(world, backend) as host:
        with stopped(host, world.project / "started"):
            pass
        assert host.communicate()[0].split() == ["timed_out", "none"]


@pytest.fixture
def listener(world):
    """Listen where the server of the hook file would."""
    with tempfile.TemporaryDirectory(prefix="anyhook-", dir="/tmp") as directory:
        world.environ |= {"ANYHOOK_RUNTIME_DIR": directory, "ANYHOOK_WORKER": "on"}
        world.environ["LC_ALL"] = "C.UTF-8"  # or the interpreter chooses one, and another address
        with socket.socket(socket.AF_UNIX) as listener:
            names = ("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
            environ = {**world.environ, **dict.fromkeys(names, str(world.project))}
            path = client.address(sys.executable, str(world.root / "hook.py"), environ)
            listener.bind(path + client.SOCKET)
            listener.listen()
            listener.settimeout(LONGEST_WAIT)
            yield listener


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("size", [0, 3_000_000])
def test_a_warm_denial_given_in_time_counts_after_the_deadline(world, listener, backend, size):
    configure(world, shlex.join([*CLIENT, str(world.root / "hook.py")]))
    reply = pack_reply(Reply(code=2, err=b"no" + b"!" * size))
    with start_host(world, backend) as host, ExitStack() as stack:
        link = stack.enter_context(listener.accept()[0])
        client.read_frame(link, 20)
        link.sendall(pack_accepted(os.getpid()))
        (world.project / "started").touch()
        with stopped(host, world.project / "started"):
            answer = threading.Thread(target=link.sendall, args=(reply,))
            answer.start()
            if not size:
                answer.join()
        assert host.communicate()[0].split() == ["ran", "deny"]
        answer.join()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_hook_that_a_worker_loses_after_the_deadline_is_not_run_again(world, listener, backend):
    hook = world.write(world.root / "hook.py", "open('again', 'w')")
    configure(world, shlex.join([*CLIENT, str(hook)]))
    with start_host(world, backend) as host:
        with listener.accept()[0] as link:
            client.read_frame(link, 20)
            link.sendall(pack_accepted(os.getpid()))
            (world.project / "started").touch()
            with stopped(host, world.project / "started"):
                link.close()
        assert host.communicate()[0].split() == ["timed_out", "none"]
    assert not (world.project / "again").exists()


def test_a_shim_that_is_stopped_hands_on_the_denial(world):
    payload = make_payload("before_tool", agent="claude", tool="Bash", input={"command": "ls"})
    shim = [sys.executable, "-m", "anyhook", "shim", "--as", "gemini", "--host", "claude"]
    with subprocess.Popen(
        [*shim, "--timeout", str(TIMEOUT), "--", HOOK],
        env=world.environ,
        cwd=world.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.write(json.dumps(payload))
        process.stdin.close()
        with stopped(process, world.project / "started"):
            (world.project / "go").write_text("now\n")
            hook = int((world.project / "started").read_text())
            until(lambda: not is_running(hook))
        assert '"deny"' in process.stdout.read()
