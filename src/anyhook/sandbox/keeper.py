"""The process that owns a sandbox.

It runs no hooks. It makes the world, forks a process for each run, passes on what that process
returns, and kills everything that is left of the run. It ends when the other end of its socket is
closed, however that happens, and everything in the sandbox ends with it.
"""

from __future__ import annotations

import importlib.util
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
import sysconfig
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from anyhook.errors import AnyhookError
from anyhook.sandbox.values import dump_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.sandbox.tree import BarePrograms
    from anyhook.sandbox.world import Places, World

READY, UNAVAILABLE = b"r", b"u"
"""First byte of the answer to `SandboxSetup`: the world is there; the system has no such world."""
OUTPUT, ENDED = b"o", b"e"
"""First byte of messages about a run: bytes that its process wrote; how it ended."""
MESSAGE, RESULT, FAILURE, CRASH = b"m", b"v", b"f", b"c"
"""First byte of what a process writes: a value on the way; its result; the text of an error of this
package; a traceback."""
HEAD = struct.Struct(">cQ")
"""Kind and length of what a process writes."""
BOARD = struct.Struct("dd")
"""What a process notes in memory that it shares with the keeper: the step that it is at, and the
time on the monotonic clock at which it must be killed; 0 for never."""
LOOK = 0.2
"""Seconds between looks whether a process must be killed."""
CHUNK = 1 << 16
IGNORED_SIGNALS = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE),
)
_FIRST_DESCRIPTOR = 3


@dataclass(frozen=True, slots=True)
class SandboxSetup:
    """What a keeper makes."""

    places: Places
    """The directories that hooks may change."""
    is_enclosed: bool
    """Whether the world is one of namespaces; otherwise it is one of copies."""
    module_path: list[str]
    """`sys.path`, so that the functions of a run can be imported."""
    programs: BarePrograms | None = None
    """What is there in place of the user's files; `None` for these."""


@dataclass(frozen=True, slots=True)
class SandboxTask:
    """A call of a function in the sandbox."""

    function: Callable[..., object]
    """A function of a module; it gets a `SandboxRun` and the arguments."""
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Preload:
    """Modules of Python, this package and installed packages that later runs need.

    Others are left out: the keeper runs no code of the user.
    """

    modules: tuple[str, ...]


class End(NamedTuple):
    """How the process of a run ended."""

    status: int
    """Its wait status."""
    step: int
    is_late: bool
    """Whether it was killed because the step took too long."""


class SandboxRun:
    """What a function in the sandbox may say while it runs."""

    def __init__(self, board: mmap.mmap, writer: int) -> None:
        self._board = board
        self._writer = writer

    def begin(self, step: int, seconds: float = 0.0) -> None:
        """Begin a step.

        Unless the next one begins in time, this process is killed after `seconds`; 0 for no limit.
        """
        deadline = time.monotonic() + seconds if seconds else 0.0
        BOARD.pack_into(self._board, 0, step, deadline)

    def send(self, value: object) -> None:
        """Send a value to the caller, before the function returns."""
        _write_all(self._writer, MESSAGE, dump_value(value))


def main(descriptor: int) -> None:
    """Keep a sandbox until the socket is closed."""
    for number in IGNORED_SIGNALS:  # hooks may send them
        signal.signal(number, signal.SIG_IGN)
    control = Connection(descriptor)
    with suppress(EOFError, OSError):
        setup: SandboxSetup = pickle.loads(control.recv_bytes())  # noqa: S301 - the command wrote it
        sys.path[:] = setup.module_path
        try:
            world = _make_world(setup)
        except OSError as error:
            control.send_bytes(UNAVAILABLE + dump_value(str(error)))
            return
        except AnyhookError as error:
            control.send_bytes(FAILURE + dump_value(str(error)))
            return
        control.send_bytes(READY + dump_value((tuple(world.paths), tuple(world.limits))))
        keeper = _Keeper(control, world)
        installed_directories()  # takes a millisecond, which no run needs to wait for
        try:
            keeper.serve()
        finally:
            world.end_processes()
            world.close()


def _make_world(setup: SandboxSetup) -> World:
    if not setup.is_enclosed:
        from anyhook.sandbox.copies import Copies

        return Copies(setup.places)
    from anyhook.sandbox import system
    from anyhook.sandbox.tree import BareTree, Namespaces, SandboxTree

    system.enter_namespaces()
    first = os.fork()
    if first:  # only its child is in the new process namespace
        os.closerange(_FIRST_DESCRIPTOR, os.sysconf("SC_OPEN_MAX"))
        os.waitpid(first, 0)
        os._exit(0)
    places, programs = setup.places, setup.programs
    if programs is not None:
        return Namespaces(places.project, lambda: BareTree(programs))
    return Namespaces(places.project, lambda: SandboxTree(places.all()))


class _Keeper:
    """Serves the runs of a sandbox."""

    def __init__(self, control: Connection, world: World) -> None:
        self._control = control
        self._world = world
        self._board = mmap.mmap(-1, BOARD.size)
        self._children, wakeup = socket.socketpair()
        self._children.setblocking(False)
        wakeup.setblocking(False)
        self._wakeup = wakeup
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Do one task after the other, until the command ends.

        Raises:
            EOFError: At that time.
        """
        while True:
            # The modules that a task names are imported here once, and not in each process.
            task: SandboxTask | Preload = pickle.loads(self._control.recv_bytes())  # noqa: S301 - as above
            if isinstance(task, Preload):
                _import_installed(task.modules)
                continue
            self._world.renew()
            end = self._run(task)
            self._world.end_processes()
            self._control.send_bytes(ENDED + dump_value(tuple(end)))

    def _run(self, task: SandboxTask) -> End:
        """Run a task in a process, and pass on what it writes."""
        BOARD.pack_into(self._board, 0, 0, 0)
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            self._work(task, writer)
        os.close(writer)
        try:
            return self._pass_on(process, reader)
        finally:
            os.close(reader)

    def _pass_on(self, process: int, reader: int) -> End:
        sources = [reader, self._control.fileno(), self._children.fileno()]
        is_late = False
        while True:
            ready, _, _ = select.select(sources, [], [], LOOK)
            if self._control.fileno() in ready:
                raise EOFError  # the command says nothing before a run has ended
            if reader in ready and not self._read(reader):
                sources.remove(reader)
            if self._children.fileno() in ready:
                self._children.recv(CHUNK)
                ended, status = os.waitpid(process, os.WNOHANG)
                if ended:
                    break
                continue
            _, deadline = BOARD.unpack_from(self._board)
            if not is_late and 0 < deadline < time.monotonic():
                is_late = True
                os.kill(process, signal.SIGKILL)
        os.set_blocking(reader, False)  # a process in the background may hold the other end
        with suppress(BlockingIOError):
            while self._read(reader):
                pass
        step, _ = BOARD.unpack_from(self._board)
        return End(status, int(step), is_late)

    def _read(self, reader: int) -> bool:
        data = os.read(reader, CHUNK)
        if data:
            self._control.send_bytes(OUTPUT + data)
        return bool(data)

    def _work(self, task: SandboxTask, writer: int) -> NoReturn:
        """Call the function in this process, which ends with it."""
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            os.closerange(_FIRST_DESCRIPTOR, writer)
            os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX"))
            # Signals have the effects that they have in a new Python, whatever the command ignores.
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for number in (*IGNORED_SIGNALS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            self._world.enter()
            try:
                kind = RESULT
                content = dump_value(
                    task.function(SandboxRun(self._board, writer), *task.arguments)
                )
            except AnyhookError as error:
                kind, content = FAILURE, dump_value(str(error))
            except BaseException:  # noqa: BLE001 - the caller gets it
                kind, content = CRASH, dump_value(traceback.format_exc())
            _write_all(writer, kind, content)
        finally:
            os._exit(0)


@cache
def installed_directories() -> tuple[str, ...]:
    """Return the directories of Python, installed packages and this package."""
    directories = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    directories |= {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    directories |= {os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__))}
    return tuple(f"{directory}{os.sep}" for directory in directories)


def _import_installed(names: Iterable[str]) -> None:
    """Import modules, unless they are code of the user."""
    directories = installed_directories()
    for name in names:
        package = name.partition(".")[0]
        # Modules in C are imported by those in Python, some of which need another order.
        if package.startswith("_"):
            continue
        with suppress(Exception):  # a run that needs it meets the same error
            spec = importlib.util.find_spec(package)
            if spec is not None and (spec.origin or "").startswith(directories):
                importlib.import_module(name)


def _write_all(writer: int, kind: bytes, content: bytes) -> None:
    data = memoryview(HEAD.pack(kind, len(content)) + content)
    while data:
        data = data[os.write(writer, data) :]
