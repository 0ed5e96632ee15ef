"""Let a real agent work on one prompt, with a scripted model and no way out."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.e2e.agents import Agent
from tests.e2e.models import Body, Turn

ENCLOSED = Path(__file__).with_name("enclosed.py")
SECONDS = 25.0  # a run takes one to four


@dataclass(frozen=True)
class Run:
    """What an agent did.

    Attributes:
        agent: Who it was.
        requests: What the model was asked, one body for each turn.
        stdout: The agent's output.
        stderr: Its errors and warnings.
        exit_code: Its exit code; minus the number of the signal that killed it.
    """

    agent: Agent
    requests: tuple[Body, ...]
    stdout: str
    stderr: str
    exit_code: int

    def heard(self, number: int) -> str:
        """Put together all that the model was told up to a request, the first of them being 0."""
        return "\n".join(self.agent.model.heard(self.requests[number]))

    def tool_results(self) -> list[str]:
        """List what the model was told about the tools it called."""
        return self.agent.model.tool_results(self.requests[-1])


@functools.cache
def fence() -> tuple[str, ...]:
    """Find the command which shuts another one in; empty if there is none.

    What runs in there has no network but a loopback interface, and ends, to the last tool in the
    background, when the agent ends.
    """
    command = (*("unshare", "--map-root-user", "--net"),
               *("--pid", "--mount-proc", "--fork", "--kill-child"))  # fmt: skip
    if shutil.which(command[0]) is None:
        return ()
    works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if works else ()


def run_agent(
    agent: Agent,
    project: Path,
    home: Path,
    turns: Sequence[Turn],
    prompt: str,
    extra_settings: Mapping[str, object] | None = None,
) -> Run:
    """Give an agent a prompt, its model's turns, and wait until it ends.

    Args:
        agent: An agent that is installed.
        project: Where it works.
        home: Its user's home; gets the files of a user who has used the agent before.
        turns: What the model says.
        prompt: What the user says.
        extra_settings: Settings of the project. Without, a file that is there stays as it is.

    Raises:
        TimeoutError: It did not end in time. Its process group was killed.
    """
    for name, content in agent.home_files(project).items():
        _write_json(home / name, content)
    if extra_settings is not None:
        _write_json(project / agent.settings_path, extra_settings)
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        with theirs:
            process = subprocess.Popen(
                [
                    *fence(),
                    *(sys.executable, "-I", "-S", str(ENCLOSED)),
                    *(str(theirs.fileno()), agent.url_variable),
                    *agent.command(prompt),
                ],
                cwd=project,
                env=_environment(agent, home),
                stdin=subprocess.DEVNULL,
                stdout=stdout,  # files, so that no grandchild can keep us waiting
                stderr=stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            with agent.model(_receive_listener(ours), turns) as model:
                exit_code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{agent} did not end:\n{_text(stdout)}\n{_text(stderr)}") from None
        except EOFError:
            raise RuntimeError(f"{agent} was not started:\n{_text(stderr)}") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Run(agent, tuple(model.requests), _text(stdout), _text(stderr), exit_code)


def _environment(agent: Agent, home: Path) -> dict[str, str]:
    """Write the environment of the agent: nothing of the developer's but where programs are."""
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    # Where there is no fence, at least whoever obeys these variables gets nowhere.
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": "/bin/sh",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
        "HTTPS_PROXY": nowhere,
        "HTTP_PROXY": nowhere,
        **agent.environment,
    }


def _receive_listener(connection: socket.socket) -> socket.socket:
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not descriptors:
        raise EOFError
    return socket.socket(fileno=descriptors[0])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
