"""A runtime directory of its own, and real clients of the workers in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.client import STOP
from anyhook.worker.control import NoReplyError, ask, list_servers
from tests.waiting import until

HEADER = "from anyhook.authoring import Hooks, allow, ask, context, deny\nhooks = Hooks()\n"
FOOTER = "\nif __name__ == '__main__':\n    hooks.run()\n"
CLIENT = [str(Path(sys.executable).with_name("anyhook")), "run", "--python", sys.executable]
"""Words in front of a hook file."""
MAX_ATTEMPTS = 10
"""How often an event is sent until it is answered warm: on a busy machine, clients give up."""
WRITE = make_payload(
    "before_tool", agent="gemini", tool="write_file", input={"file_path": "a", "content": "AKIA"}
)


class Warm:
    """Hook files, clients and their servers.

    Args:
        root: An empty directory for files.
        client: Words in front of a hook file.
    """

    def __init__(self, root: Path, client: list[str] = CLIENT) -> None:
        self.root = root
        self.client = client
        self.runtime = Path(tempfile.mkdtemp(prefix="anyhook-", dir="/tmp"))  # names are short
        # Tests that start no worker of their own do not close it.
        weakref.finalize(self, shutil.rmtree, self.runtime, ignore_errors=True)
        self.env = {
            **os.environ,
            "ANYHOOK_RUNTIME_DIR": str(self.runtime),
            "ANYHOOK_DATA_DIR": os.environ.get("ANYHOOK_DATA_DIR", str(root / "data")),
            "ANYHOOK_WORKER": "on",
        }
        self.started: list[subprocess.Popen[bytes]] = []

    def hook(self, body: str, name: str = "hook.py", *, header=HEADER, footer=FOOTER) -> Path:
        """Write a hook file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header + dedent(body) + footer)
        return path

    def start(self, path, *arguments, env=None, cwd=None, **options) -> subprocess.Popen[bytes]:
        """Start a client, which ends with this object if the test does not end it."""
        process = subprocess.Popen(
            [*self.client, str(path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
            cwd=cwd or self.root,
            **options,
        )
        self.started.append(process)
        return process

    def run(self, path, *arguments, payload=WRITE, **options) -> tuple[int, str, str]:
        """Run a client to its end; return its exit code, standard output and standard error."""
        text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with self.start(path, *arguments, **options) as process:
            out, err = process.communicate(text, timeout=60)
        return process.returncode, out.decode(), err.decode()

    def cold(self, path, *arguments, env=None, **options) -> tuple[int, str, str]:
        """Run a hook file in an interpreter of its own."""
        return self.run(path, *arguments, env={**(env or {}), "ANYHOOK_WORKER": "off"}, **options)

    def warm(self, path, *arguments, **options) -> tuple[int, str, str]:
        """Run a hook file on its server, which is started first; fail if it ran cold."""
        env = options.get("env")
        result = None
        for _ in range(MAX_ATTEMPTS):
            self.wake(path, *arguments, **options)
            before = self.status(path, env)
            result = self.run(path, *arguments, **options)
            if before and self._was_warm(path, env, before):
                return result
        raise AssertionError(f"it ran cold: {self.reasons}; {result}")

    def _was_warm(self, path, env, before) -> bool:
        """Return whether the server has counted one more event, which it does after its reply."""
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            now = self.status(path, env)
            if not now or now["pid"] != before["pid"]:
                return False
            if now["events"]["warm"] > before["events"]["warm"]:
                return True
            time.sleep(0.01)
        return False

    def wake(self, path, *arguments, **options) -> None:
        """Start the server of a hook file, with an event that is none."""
        options["payload"] = b""
        env = options.get("env")
        until(
            lambda: self.status(path, env) or not self.run(path, *arguments, **options),
            "no server started",
        )

    def address(self, path, env=None) -> str:
        """Return the address of the server of a hook file."""
        return client.address(sys.executable, str(path), {**self.env, **(env or {})})

    def status(self, path, env=None) -> dict | None:
        """Return the status of the server of a hook file."""
        try:
            return ask(self.address(path, env), client.STATUS)
        except NoReplyError:
            return None

    @property
    def servers(self) -> list[dict]:
        """The statuses of all servers."""
        return [server.status for server in list_servers(str(self.runtime)) if server.status]

    @property
    def server(self) -> dict:
        """The status of the only server."""
        (only,) = self.servers
        return only

    @property
    def served(self) -> int:
        """Events that were answered warm."""
        return sum(server["events"]["warm"] for server in self.servers)

    @property
    def reasons(self) -> list[str]:
        """Why events ran cold, as far as a server was asked."""
        return [entry["reason"] for server in self.servers for entry in server["cold"]]

    @property
    def processes(self) -> list[int]:
        """Every process of every server here, children too."""
        return [pid for pid, line in command_lines() if str(self.runtime) in line]

    def kill(self, *, but: int | None = None) -> None:
        """Kill every process of every server here, but one that is named.

        The process that started a server ends by itself, so one that was listed may be gone.
        """
        for pid in self.processes:
            if pid != but:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def running(self, path) -> list[int]:
        """The processes that run a hook file for an event."""
        return (self.status(path) or {"running": []})["running"]

    def child(self, path) -> int:
        """Wait until exactly one process runs a hook file; the event that woke the server ends."""
        (only,) = until(lambda: pids if len(pids := self.running(path)) == 1 else None)
        return only

    def close(self) -> None:
        """Stop the servers, and make sure that nothing is left of them."""
        for process in self.started:  # a test that failed may have left them running
            process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                with suppress(OSError):
                    stream.close()
            process.wait()
        until(self._stop, f"left: {self.processes}")
        logs = [path.read_text() for path in self.runtime.glob("*.log")]
        shutil.rmtree(self.runtime, ignore_errors=True)
        assert not logs, logs

    def _stop(self) -> bool:
        for server in list_servers(str(self.runtime)):
            with suppress(NoReplyError):
                ask(server.base, STOP)
        return not self.processes


def command_lines():
    """Yield process and command line of everything that runs."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def is_running(pid: int) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
