"""A runtime directory of its own, and real clients of the workers in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.client import STATUS, STOP
from anyhook.worker.commands import native_client
from anyhook.worker.control import SilentError, ask, workers
from tests.waiting import until

HEADER = "from anyhook.authoring import Hooks, allow, ask, context, deny\nhooks = Hooks()\n"
FOOTER = "\nif __name__ == '__main__':\n    hooks.run()\n"
INTERPRETER = [sys.executable, "-IS", client.__file__, sys.executable]
CLIENTS = {"interpreter": INTERPRETER}
if native := native_client():
    CLIENTS["native"] = [native, sys.executable]
PATIENT = 10
"""How often an event is sent to a worker that has no time: then clients run it cold."""
WRITE = make_payload(
    "before_tool", agent="gemini", tool="write_file", input={"file_path": "a", "content": "AKIA"}
)


class Warm:
    """Hook files, clients and their worker.

    Args:
        root: An empty directory for files.
        client: Words in front of a hook file.
    """

    def __init__(self, root: Path, client: list[str]) -> None:
        self.root = root
        self.client = client
        self.runtime = Path(tempfile.mkdtemp(prefix="anyhook-", dir="/tmp"))  # names are short
        self.env = {
            **os.environ,
            "ANYHOOK_RUNTIME_DIR": str(self.runtime),
            "ANYHOOK_WORKER": "on",
        }

    def hook(self, body: str, name: str = "hook.py", *, header=HEADER, footer=FOOTER) -> Path:
        """Write a hook file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header + dedent(body) + footer)
        return path

    def start(self, path, *arguments, env=None, cwd=None, **options) -> subprocess.Popen[bytes]:
        """Start a client."""
        return subprocess.Popen(
            [*self.client, str(path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
            cwd=cwd or self.root,
            **options,
        )

    def run(self, path, *arguments, payload=WRITE, **options) -> tuple[int, str, str]:
        """Run a client to its end: its exit code, standard output and standard error."""
        text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with self.start(path, *arguments, **options) as process:
            out, err = process.communicate(text, timeout=60)
        return process.returncode, out.decode(), err.decode()

    def cold(self, path, *arguments, env=None, **options) -> tuple[int, str, str]:
        """Run a hook file in an interpreter of its own."""
        return self.run(path, *arguments, env={**(env or {}), "ANYHOOK_WORKER": "off"}, **options)

    def warm(self, path, *arguments, **options) -> tuple[int, str, str]:
        """Run a hook file on the worker, which is started first; fails if it ran cold."""
        self.wake(options.get("env"))
        served = self.served
        for _ in range(PATIENT):
            end = self.run(path, *arguments, **options)
            until(lambda: self.served > served or not self.is_busy)
            if self.served > served:
                return end
        raise AssertionError(f"it ran cold: {self.reasons}; {end}")

    def wake(self, env=None) -> None:
        """Have a worker up."""
        base = client.address(sys.executable, {**self.env, **(env or {})})
        nothing = self.hook("", "nothing.py")
        until(lambda: self._answers(base) or not self.run(nothing, env=env), "no worker came up")

    @staticmethod
    def _answers(base):
        try:
            return ask(base, STATUS)
        except SilentError:
            return None

    @property
    def workers(self) -> list[dict]:
        """What the workers tell of themselves."""
        return [found.status for found in workers(str(self.runtime)) if found.status]

    @property
    def worker(self) -> dict:
        """What the only worker tells of itself."""
        (only,) = self.workers
        return only

    @property
    def is_busy(self) -> bool:
        """Whether a worker has events to answer."""
        return any(
            worker["waiting"] or any(entry["busy"] for entry in worker["executors"])
            for worker in self.workers
        )

    @property
    def served(self) -> int:
        """Events that were answered warm."""
        return sum(worker["events"]["warm"] for worker in self.workers)

    @property
    def reasons(self) -> list[str]:
        """Why events ran cold, as far as a worker was asked."""
        return [entry["reason"] for worker in self.workers for entry in worker["cold"]]

    @property
    def processes(self) -> list[int]:
        """Every process of every worker here, executors too."""
        return [pid for pid, line in command_lines() if str(self.runtime) in line]

    def executors(self, path) -> list[int]:
        """The executors of a hook file."""
        return [
            entry["pid"]
            for worker in self.workers
            for entry in worker["executors"]
            if entry["hook"] == str(path)
        ]

    def close(self) -> None:
        """Stop the workers, and make sure that nothing is left of them."""
        until(self._stop, f"left: {self.processes}")
        logs = [path.read_text() for path in self.runtime.glob("*.log")]
        shutil.rmtree(self.runtime, ignore_errors=True)
        assert not logs, logs

    def _stop(self) -> bool:
        for found in workers(str(self.runtime)):
            with suppress(SilentError):
                ask(found.base, STOP)
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
    """Tell whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
