"""Run functions that call hooks where they can change nothing."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyhook.errors import RunEndedError, SandboxError, UsageError
from anyhook.model.text import printable
from anyhook.sandbox import keeper
from anyhook.sandbox.copies import ALWAYS_POSSIBLE, copied_directories
from anyhook.sandbox.keeper import Preload, SandboxSetup, SandboxTask
from anyhook.sandbox.values import load_value
from anyhook.sandbox.world import Places, move_paths, move_variables
from anyhook.settings.sources import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from anyhook.sandbox.tree import BarePrograms

T = TypeVar("T")
_KEEPER = "import sys; from anyhook.sandbox.keeper import main; main(int(sys.argv[1]))"
"""The program of the keeper. As `-m`, its classes would not be those that tasks name."""
HAS_NAMESPACES = sys.platform == "linux"
"""Whether a world of namespaces is tried; otherwise it is one of copies."""
MAX_RECORD_SIZE = 1024**3
"""Bytes."""
END_SECONDS = 10.0
"""Seconds that the processes of a sandbox have to end."""
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - hooks may change them in the sandbox only
_SOCKETS = frozenset(
    "CONTAINER_HOST DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DISPLAY DOCKER_HOST"
    " GPG_AGENT_INFO NOTIFY_SOCKET SSH_AGENT_PID SSH_AUTH_SOCK TMUX WAYLAND_DISPLAY XAUTHORITY"
    " XDG_RUNTIME_DIR".split()
)
"""Variables that name sockets of other programs."""
_OF_TERMINALS = frozenset(
    "COLUMNS LINES OLDPWD PWD SHLVL SSH_CLIENT SSH_CONNECTION SSH_TTY STY TERM_SESSION_ID TMUX_PANE"
    " WINDOWID XDG_SESSION_ID _".split()
)
"""Variables that are others in each terminal: nothing that is tried may depend on them."""
_OF_SANDBOX = {"ANYHOOK_RECORDED": "rehearsal", "ANYHOOK_WORKER": "off"}
"""Nothing is recorded, and no worker is started, which would be ended with the sandbox."""


class Sandbox:
    """A place where hooks are tried: they can change nothing of the user's.

    On Linux it is one of namespaces: the project, the home and directories for temporary files are
    there under their own paths and can be written, all other files can be read; what is written is
    kept in memory and discarded. There is no network but a loopback interface of its own, and no
    other process or socket. Where namespaces are not allowed, and on macOS, it is one of copies,
    and `limits` says what hooks could change. Each run finds it as new. Nothing outlives it,
    whatever ends this process.

    Args:
        project: Directory of the project.
        home: Home directory of the user.
        others: Further directories that hooks may change, like those of agents outside of the home.
        environ: Environment of hooks; by default that of this process.
        discards_output: Discard what hooks print; otherwise it goes to standard error.
        programs: Make a bare world: it has these programs, and nothing of the user's. A run in it
            can import nothing: what its function needs has to be imported by its module.

    Raises:
        SandboxError: If it cannot be made. There is no bare world without namespaces.
        UsageError: If the project is too large to copy.
    """

    def __init__(
        self,
        project: str | os.PathLike[str],
        home: str | os.PathLike[str],
        others: Sequence[str | os.PathLike[str]] = (),
        *,
        environ: Mapping[str, str] | None = None,
        discards_output: bool = False,
        programs: BarePrograms | None = None,
    ) -> None:
        temporary = (*TEMPORARY, tempfile.gettempdir())
        self.places = Places(
            str(Path(project).absolute()),
            str(Path(home).absolute()),
            tuple(str(Path(path).absolute()) for path in (*others, *temporary)),
        )
        removed = _SOCKETS | _OF_TERMINALS
        variables = os.environ if environ is None else environ
        kept = {name: value for name, value in variables.items() if name not in removed}
        self.environ = {**kept, **_OF_SANDBOX}
        self._discards_output = discards_output
        self.paths: Sequence[tuple[str, str]] = ()
        """Each directory that has another path inside: the real path, and the path inside."""
        self.limits: tuple[str, ...] = ()
        """What hooks could reach although they are in the sandbox, for people."""
        self._programs = programs
        is_made = HAS_NAMESPACES and self._start(is_enclosed=True)
        if not is_made and programs is not None:
            raise SandboxError("this system allows no namespaces")
        if not is_made:
            self._start(is_enclosed=False)
            self.environ = move_variables(self.environ, self.paths)

    @classmethod
    def for_project(
        cls, project: Path, location: Location | None = None, *, discards_output: bool = False
    ) -> Self:
        """Make a sandbox for the hooks of a project and of its user.

        By default, the home and the environment are those of this process.

        Raises:
            SandboxError: If it cannot be made.
            UsageError: If the project is too large to copy.
        """
        real = Location.of(project.resolve()) if location is None else location
        return cls(
            real.project,
            real.home,
            copied_directories(real),
            environ=real.environ,
            discards_output=discards_output,
        )

    def _start(self, *, is_enclosed: bool) -> bool:
        """Start the keeper, and return whether it could make the world."""
        ours, theirs = socket.socketpair()
        with theirs:
            output = subprocess.DEVNULL if self._discards_output else subprocess.PIPE
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _KEEPER, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output == subprocess.PIPE else output,
                pass_fds=(theirs.fileno(),),
                env=self.environ,
                # Ctrl-C is for the command, also while the keeper starts; hooks get no terminal.
                start_new_session=True,
            )
        self._control = Connection(ours.detach())
        self._output = threading.Thread(target=self._copy_output, daemon=True)
        self._output.start()
        setup = SandboxSetup(self.places, is_enclosed, list(sys.path), self._programs)
        try:
            self._control.send_bytes(pickle.dumps(setup))
            reply = self._control.recv_bytes()
        except (EOFError, OSError) as error:
            self.close()
            raise SandboxError("the sandbox ended while it was made") from error
        kind, content = reply[:1], load_value(reply[1:])
        if kind == keeper.READY:
            self.paths, self.limits = content
            return True
        self.close()
        if kind == keeper.FAILURE:
            raise UsageError(content)
        return False

    @property
    def protects_files(self) -> bool:
        """Whether hooks cannot write to any file of the user, wherever they write."""
        return self.limits != ALWAYS_POSSIBLE

    def _copy_output(self) -> None:
        """Write what hooks print to standard error, without control characters."""
        if self._process.stdout is None:
            return
        for line in self._process.stdout:
            sys.stderr.write(printable(line.decode(errors="replace").rstrip("\n")) + "\n")

    def inside(self, value: Any) -> Any:
        """Return a JSON value with the paths that files have inside."""
        return move_paths(value, self.paths)

    def outside(self, value: Any) -> Any:
        """Return a JSON value with the real paths of files."""
        return move_paths(value, [(inside, real) for real, inside in self.paths])

    def run(
        self,
        function: Callable[..., T],
        *arguments: Any,
        on_message: Callable[[Any], object] = lambda _value: None,
    ) -> T:
        """Call a function in a process of its own in the sandbox, which is as new.

        What it started is killed when it has returned.

        The function gets a `keeper.SandboxRun` and the arguments, which can be pickled;
        `on_message` receives each value that it sends. It may return values only: numbers, texts,
        collections, paths, and records and enumerations of this package.

        Raises:
            UsageError: If the function raises an error of this package, with its text.
            RunEndedError: If the process ended without returning, or was killed.
            SandboxError: If what it returns cannot be read.
        """
        task = SandboxTask(function, arguments)
        output = bytearray()
        returned: list[tuple[bytes, bytes]] = []
        try:
            self._control.send_bytes(pickle.dumps(task))
            while (data := self._control.recv_bytes())[:1] != keeper.ENDED:
                output += data[1:]
                for kind, content in _take_records(output):
                    if kind == keeper.MESSAGE:
                        on_message(load_value(content))
                    else:
                        returned.append((kind, content))
        except (EOFError, OSError) as error:
            raise SandboxError("the sandbox ended while hooks ran in it") from error
        if not returned:
            status, step, is_late = load_value(data[1:])
            raise RunEndedError(os.waitstatus_to_exitcode(status), step=step, is_late=is_late)
        kind, content = returned[-1]
        value = load_value(content)
        if kind == keeper.FAILURE:
            raise UsageError(value)
        if kind == keeper.CRASH:
            raise SandboxError(f"a run in the sandbox failed:\n{value}")
        result: T = value
        return result

    def preload(self, modules: Iterable[str]) -> None:
        """Import modules that further runs need once, and not in each of their processes.

        Only those of Python, this package and installed packages are imported.

        Raises:
            SandboxError: If the sandbox has ended.
        """
        try:
            self._control.send_bytes(pickle.dumps(Preload(tuple(modules))))
        except OSError as error:
            raise SandboxError("the sandbox has ended") from error

    def close(self) -> None:
        """End everything in the sandbox, and remove it."""
        self._control.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._output.join(END_SECONDS)
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@cache
def sandbox_limits() -> tuple[str, ...]:
    """Return what hooks could reach in a sandbox of this system; nothing on most systems.

    Raises:
        SandboxError: If no sandbox can be made.
    """
    with (
        tempfile.TemporaryDirectory(prefix="anyhook-") as empty,
        Sandbox(empty, empty) as sandbox,
    ):
        return tuple(sandbox.limits)


def _take_records(output: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Take the complete records from the start of what a process wrote: kind and content.

    Raises:
        SandboxError: If one is larger than any that a function returns.
    """
    while len(output) >= keeper.HEAD.size:
        kind, length = keeper.HEAD.unpack_from(output)
        if length > MAX_RECORD_SIZE:
            raise SandboxError(f"a result from the sandbox has {length:,} bytes")
        end = keeper.HEAD.size + length
        if len(output) < end:
            return
        content = bytes(output[keeper.HEAD.size : end])
        del output[:end]
        yield kind, content
