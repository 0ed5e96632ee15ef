"""A process that answers the events of one hook file, one after the other.

It is a child of the worker and serves one key: working directory, file and arguments. Everything
else that a hook can see (variables, mask) comes with each event and is put in place before the hook
runs; what it writes to standard error is handed on with the answer. A hook that leaves something
behind (a thread, a child, an open file too many, another signal handler) is the last one that this
process ran.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` makes an enum of every number
import _thread
import atexit
import fcntl
import gc
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import sys
from contextlib import suppress

from anyhook.authoring.run import FallbackExit, Output, answer
from anyhook.worker.client import HEAD, LEASE
from anyhook.worker.frames import (
    Reply,
    Request,
    body_size,
    frame,
    pack_reply,
    parse_request,
)
from anyhook.worker.loading import (
    LoadedHookFile,
    NotWarmError,
    load,
    note_variables,
    own_modules,
    watch_environ,
    watch_reads,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

IDLE, BYE, STALE, NOT_WARM = b"I", b"B", b"S", b"N"
"""What it tells the worker: ready for the next event, and how many a lease had; done, and ending;
load it anew and give that the event; must run cold, and why."""
CHUNK = 65536
DESCRIPTORS = 64
"""A hook whose process has opened more than that leaks them."""
MEMORY = 192 * 1024
"""KiB; a process that ever held more is not kept."""
SIGNALS = tuple(map(int, (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM)))
TO_KIB = 1024 if sys.platform == "darwin" else 1
LEASE_IDLE = 60
"""Seconds without an event after which a lease ends: others may need the process."""
CAPTURED = 16 << 20
"""Bytes of standard error that are handed on."""


class Executor:
    """Answers events.

    Args:
        control: The other end is the worker's.
        capture: A file that takes what is written to standard error, and that the worker reads if
            a hook ends this process.
    """

    def __init__(self, control: socket.socket, capture: int) -> None:
        self.control = control
        self.capture = capture
        self.null = os.open(os.devnull, os.O_RDWR)
        self.threads = _thread._count()  # a fork inherits the number, and not the threads
        self.environ = watch_environ()
        self.given: dict[bytes, bytes] = {}
        self.applied: dict[bytes, bytes] = {}
        self.changes: dict[bytes, bytes | None] = {}
        self.raw: bytes | None = None
        self.loaded: LoadedHookFile | None = None
        self.seen = watch_reads()
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.handlers: list[object] = []
        self.exits = 0
        self.is_spent = False
        self.is_copying = False
        self.lowest = self.next = 0
        self.link: socket.socket | None = None
        self._open_streams()
        if not _serving:
            os.register_at_fork(after_in_child=_let_go)
        _serving[:] = [self]

    def close(self) -> None:
        """Let go of what it has opened."""
        _serving[:] = [None]
        os.close(self.null)

    def serve(self) -> NoReturn:
        """Take events until the worker is gone."""
        while True:
            body, descriptors = self._receive()
            request = parse_request(body)
            os.set_inheritable(descriptors[0], False)
            self.link = link = socket.socket(fileno=descriptors[0])
            link.setblocking(True)
            if request.kind == LEASE:
                self._serve_lease(link, request)
            else:
                self._serve_client(link, request)

    def _serve_client(self, link: socket.socket, request: Request) -> None:
        self.put_in_place(request)
        self.run(link, request, leased=False)
        link.close()

    def _serve_lease(self, link: socket.socket, request: Request) -> None:
        """Answer the events of an engine, which holds the connection as long as it likes.

        The file is loaded for the first of them, whose variables may be others than those now.
        """
        os.chdir(request.words[0])
        # not settimeout(), which asks for every byte whether it is there
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", LEASE_IDLE, 0))
        served = 0
        with suppress(OSError):
            link.sendall(_LEASED)
        while (request_body := _read_body(link)) is not None:
            request = parse_request(request_body)
            self.put_in_place(request)
            self.run(link, request, leased=True)
            served += 1
        link.close()
        self.tell(IDLE + str(served).encode())

    # -- one event

    def put_in_place(self, request: Request) -> None:
        """Make the process look as if it had just been started for the event."""
        cwd, path, *arguments = request.words
        os.chdir(cwd)
        os.umask(request.mask)
        given = self._apply(request.environ)
        os.ftruncate(self.capture, 0)
        os.lseek(self.capture, 0, os.SEEK_SET)
        words = [os.fsdecode(word) for word in arguments]
        name = os.fsdecode(path)
        if self.loaded is None:
            self._load(name, words)
        elif self.loaded.staleness(given) is not None:
            self._leave(STALE)
        sys.argv = [name, *words]

    def _open_streams(self) -> None:
        """Have all three open: a number that a hook closed would be the next connection's."""
        os.dup2(self.null, 0)
        os.dup2(self.capture, 1)
        os.dup2(self.capture, 2)

    def _apply(self, raw: bytes) -> dict[bytes, bytes]:
        """Put variables in place, with what loading the file has changed; returns those given."""
        if raw != self.raw:
            pairs = [entry.partition(b"=")[::2] for entry in raw[:-1].split(b"\0")]
            self.given = {name: value for name, value in reversed(pairs) if name}
            self.raw = raw
            self._mix()
        if dict.__ne__(self.environ, self.applied):
            for name in [*dict.keys(self.environ)]:
                if name not in self.applied:
                    os.unsetenv(name)
                    del self.environ[name]
            for name, value in self.applied.items():
                if dict.get(self.environ, name) != value:
                    os.putenv(name, value)
                    self.environ[name] = value
        return self.given

    def _mix(self) -> None:
        mixed: dict[bytes, bytes | None] = {**self.given, **self.changes}
        self.applied = {name: value for name, value in mixed.items() if value is not None}

    def _note_changes(self) -> None:
        """Keep what loading did to the variables: each process of its own would do it again."""
        now = dict(dict.items(self.environ))
        names = now.keys() | self.given.keys()
        self.changes = {n: now.get(n) for n in names if now.get(n) != self.given.get(n)}
        self._mix()

    def _load(self, path: str, arguments: list[str]) -> None:
        """Load the hook file; what it prints meanwhile would be lost, so it must not."""
        try:
            self.loaded = load(path, arguments, self.seen, self.environ, self.given)
            self.flush()
            if os.fstat(self.capture).st_size:
                raise NotWarmError("prints while it is loaded")  # noqa: TRY301 - as what load raises
            if self._has_threads():
                raise NotWarmError("starts a thread while it is loaded")  # noqa: TRY301 - likewise
            if self._has_writers():
                raise NotWarmError("opens a file for writing and keeps it")  # noqa: TRY301 - likewise
        except NotWarmError as error:
            self._leave(NOT_WARM + f"{path} {error}".encode("utf-8", "replace"))
        self.streams = sys.stdin, sys.stdout, sys.stderr
        gc.collect()
        gc.freeze()  # what is loaded stays: nothing of it needs to be looked at on every event
        self.handlers = [_signal.getsignal(number) for number in SIGNALS]
        self.exits = atexit._ncallbacks()
        self.lowest = _lowest_descriptor()
        self._note_changes()

    def run(self, link: socket.socket, request: Request, *, leased: bool) -> None:
        """Have the functions of the file answer an event.

        Args:
            link: Takes the reply.
            request: The event, which was put in place.
            leased: More of them may come over the same connection.
        """
        if self.loaded is None:
            raise RuntimeError("an event came before the hook file")
        self.environ.looked.clear()
        if self.loaded.hooks.state == "fresh":
            self._run_in_a_copy(link, request, self.loaded, leased)
            return
        self._call(link, request, self.loaded, leased)

    def _run_in_a_copy(
        self, link: socket.socket, request: Request, loaded: LoadedHookFile, leased: bool
    ) -> None:
        """Run the functions in a process of their own, which starts as loading left this one."""
        answered = mmap.mmap(-1, 1)
        self.is_copying = True
        child = os.fork()
        self.is_copying = False
        if child == 0:
            try:
                self._call(link, request, loaded, leased, answered)
                os._exit(0)
            finally:
                _die()
        _, status = os.waitpid(child, 0)
        if not answered[0] and not os.WIFEXITED(status):
            _die()  # as if it had been this process: the end of the connection says it all
        if not leased:
            self.tell(IDLE)
        if not answered[0]:
            code, err = os.WEXITSTATUS(status), captured(self.capture)
            link.sendall(pack_reply(Reply(code=code, err=err)))

    def _call(
        self,
        link: socket.socket,
        request: Request,
        loaded: LoadedHookFile,
        leased: bool,
        answered: mmap.mmap | None = None,
    ) -> None:
        output = _Output(self, link, answered)
        code, modules = 0, len(sys.modules)
        try:
            answer(loaded.hooks, sys.argv[1:], request.payload, output)
        except SystemExit as end:
            code = exit_code(end)
        if len(sys.modules) != modules:  # before anybody can know that it is done, and edit them
            note_variables(self.seen, self.environ, self.given)
            loaded.remember()
        self._end_as_a_process_does()
        self.flush()
        is_last = answered is None and self._is_spoiled()
        self._open_streams()
        reply = output.reply(code)
        if is_last:
            self.tell(BYE)
        elif answered is None and not leased and len(reply) < CHUNK:
            self.tell(IDLE)  # first, so that the next event finds this process free
        output.send(reply)
        if is_last:
            self.end()
        if answered is None and not leased and len(reply) >= CHUNK:
            self.tell(IDLE)
        sys.stdin, sys.stdout, sys.stderr = self.streams

    def _end_as_a_process_does(self) -> None:
        """Call what the hook registered for the end, unless threads keep that from coming."""
        if atexit._ncallbacks() > self.exits and not self._has_threads():
            self.is_spent = True
            atexit._run_exitfuncs()
        self.next = _lowest_descriptor()
        if self.next != self.lowest and self._has_writers():
            self.is_spent = True
            self._take_down()

    def _take_down(self) -> None:
        """Let the end of the process come for the hook's objects: files write what they hold."""
        gc.unfreeze()
        for module in own_modules():
            module.__dict__.clear()
        if self.loaded is not None:
            self.loaded.module.__dict__.clear()
        gc.collect()

    def _has_writers(self) -> bool:
        """Tell whether a file is open for writing: what it holds is written at its end."""
        for name in os.listdir("/dev/fd"):
            fd = int(name)
            if fd <= 2 or fd == self.capture:
                continue
            with suppress(OSError):
                can_write = fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR)
                if can_write and stat.S_ISREG(os.fstat(fd).st_mode):
                    return True
        return False

    def let_go(self) -> None:
        """In a process that a hook forked: the connections are not its own."""
        if not self.is_copying and self.link is not None:
            self.link.close()
            self.control.close()

    def flush(self) -> None:
        """Let everything be written that was printed."""
        for stream in self.streams[1:]:
            try:
                stream.flush()
            except (OSError, ValueError):
                continue

    # -- after it

    def _is_spoiled(self) -> bool:
        if self.is_spent or self._has_threads() or any(stream.closed for stream in self.streams):
            return True
        if [_signal.getsignal(number) for number in SIGNALS] != self.handlers:
            return True
        if _has_children():
            return True
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // TO_KIB
        return self.next > DESCRIPTORS or peak > MEMORY

    def _has_threads(self) -> bool:
        return _thread._count() > self.threads

    def _receive(self) -> tuple[bytes, list[int]]:
        data, descriptors, _, _ = socket.recv_fds(self.control, CHUNK, 1)
        if not data:
            os._exit(0)
        size = body_size(data) + HEAD
        if len(data) < size:
            data += _read(self.control, size - len(data))
        return data[HEAD:], descriptors

    def tell(self, word: bytes) -> None:
        """Tell the worker; if it is gone, who asked still gets the answer."""
        with suppress(OSError):
            self.control.send(word)

    def _leave(self, word: bytes) -> NoReturn:
        self.control.sendall(word)
        self.end()

    def end(self) -> NoReturn:
        """End this process."""
        os._exit(0)


_serving: list[Executor | None] = []
"""The executor that this process is, once it has been one; `None` if it is none any more."""


def _let_go() -> None:
    for executor in _serving:
        if executor is not None:
            executor.let_go()


class _Output(Output):
    """Takes the answer and hands it on together with the exit code.

    Args:
        executor: Whose event it is.
        link: Who asked.
        answered: Where a copy of the process notes for the original that it did answer.
    """

    def __init__(
        self,
        executor: Executor,
        link: socket.socket,
        answered: mmap.mmap | None,
    ) -> None:
        self._executor = executor
        self._link = link
        self._answered = answered
        self._text = b""
        self._lost: FallbackExit | None = None

    def write(self, text: bytes, lost: FallbackExit) -> None:
        """Take the answer."""
        self._text, self._lost = text, lost

    def leave(self) -> NoReturn:
        """Hand it on and end the process: what runs here has run out of time."""
        self._executor.flush()
        if self._answered is None:
            self._executor.tell(BYE)
        self.send(self.reply(self.code))
        self._executor.end()

    def reply(self, code: int) -> bytes:
        """Write the frame of the reply."""
        if self._answered is not None:
            self._answered[0] = 1
        reply = Reply(code=code, out=self._text, err=captured(self._executor.capture))
        if self._lost is not None:
            text = self._lost.message.replace("{why}", "its reader is gone") + "\n"
            reply = reply.replace(lost=text.encode("utf-8", "replace"), lost_code=self._lost.code)
        return pack_reply(reply)

    def send(self, reply: bytes) -> None:
        """Hand it on."""
        try:
            self._link.sendall(reply)
        except OSError:  # who asked is gone
            return


_LEASED = frame(LEASE)
"""Tells an engine that the process at the other end is its own until it closes the connection."""


def exit_code(end: SystemExit) -> int:
    """Return the exit code of a process that ends like that; a text is printed, as Python does."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def _die() -> NoReturn:
    """End as killed: an exit code would be taken for the hook's."""
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _lowest_descriptor() -> int:
    """Return the number that the next file would get."""
    lowest = os.dup(0)
    os.close(lowest)
    return lowest


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def captured(capture: int) -> bytes:
    """Return what a hook wrote to standard error."""
    size = os.fstat(capture).st_size
    return os.pread(capture, min(size, CAPTURED), 0) if size else b""


def scratch() -> int:
    """Open a file that nobody else sees."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("anyhook")
    from tempfile import TemporaryFile

    with TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def _read(link: socket.socket, size: int) -> bytes:
    chunks = []
    while size:
        chunk = link.recv(min(size, 1 << 20))
        if not chunk:
            os._exit(0)
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _read_body(link: socket.socket) -> bytes | None:
    """Read the next request of a lease; `None` if it is given back."""
    try:
        data = link.recv(CHUNK)
    except OSError:
        return None  # nothing came for too long, or it is gone
    if not data:
        return None
    while len(data) < HEAD:
        data += _read(link, HEAD - len(data))
    size = body_size(data) + HEAD
    if len(data) < size:
        data += _read(link, size - len(data))
    return data[HEAD:]
