"""The worker: one process for each user and interpreter, which hands events to loaded hook files.

It listens on a socket that only its user can reach, finds for each event the process (executor)
that has the hook file loaded for that directory and those arguments, and passes it the client's
connection; the executor answers the client itself. No hook runs in the worker, and it keeps nothing
of any event: its own environment holds only what an interpreter reads when it starts.

Whatever keeps it from serving (too much to do, a file that cannot be warm, an upgrade) is told to
the client, which then runs the hook cold. So is its death: the client sees the connection end.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # the enums around it are copied by each executor
import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from anyhook.files import identity_of
from anyhook.worker.client import HEAD, LEASE, STATUS, STOP, check_private, peer_user, take_lock
from anyhook.worker.executor import (
    BYE,
    IDLE,
    NOT_WARM,
    STALE,
    Executor,
    captured,
    scratch,
)
from anyhook.worker.frames import (
    FrameError,
    Reply,
    Request,
    body_size,
    cold,
    pack_reply,
    parse_request,
    taken,
    told,
)
from anyhook.worker.preparation import fork_handlers, prepare
from anyhook.worker.rehearsal import MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCK = 3
"""The descriptor on which a client hands over its lock."""
BACKLOG = 512
READ = 65536
EAGER = max(2, min(8, os.cpu_count() or 2))
"""Executors of one key that are started without waiting whether one gets free."""
MOST_OF_A_KEY = 16
MOST = 48
"""Executors in all: each holds a few MiB of its own."""
MOST_WAITING = 1024
SOON = 0.03
"""Seconds that an event waits for an executor to get free before another one is started."""
TOO_LONG = 2.0
"""Seconds after which a waiting event is sent away, to be run cold."""
GONE = 0.05
"""Seconds from the end of a connection to the end of a hook that still runs for it."""
GRACE = 1.0
"""Seconds from SIGTERM to SIGKILL."""
NOT_AGAIN = 60.0
"""Seconds in which a file that cannot be warm is not tried again, unless it changes."""
UPGRADED = 1.0
"""Seconds between two looks at whether this program was replaced."""
WORKER_IDLE = 15 * 60.0
EXECUTOR_IDLE = 5 * 60.0
INHERITED = (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM, signal.SIGHUP)
"""Signals that the agent which happened to start the worker may ignore."""
REMEMBERED = 50
"""Reasons for cold runs that are kept for `anyhook doctor`."""


@dataclass(slots=True, eq=False)
class Call:
    """An event, and who waits for the answer.

    Attributes:
        link: The client.
        request: What it wants.
        frame: The same, as it came.
        since: When it came.
    """

    link: socket.socket
    request: Request
    frame: bytes
    since: float

    def take(self, executor: int | None = None) -> None:
        """Promise the client an answer.

        Args:
            executor: The process that works on it; `None` while it waits for one.
        """
        self.say(taken(executor))

    def close(self) -> None:
        """Let go of the client."""
        self.link.close()

    def say(self, frame: bytes) -> None:
        """Tell the client something; it may be gone."""
        with contextlib.suppress(OSError):
            self.link.send(frame)


@dataclass(slots=True, eq=False)
class Child:
    """An executor, seen from the worker.

    Attributes:
        pid: Its process, which leads a group of its own.
        key: What it has loaded.
        control: The connection to it.
        capture: What its hook wrote to standard error.
        call: What it works on.
        used: When it last worked.
        calls: How often it did.
        left: Whether it said that it ends.
        gone: When its client went away, if it did.
        ended: When it was asked to end.
    """

    pid: int
    key: bytes
    control: socket.socket
    capture: int
    call: Call | None = None
    used: float = field(default_factory=time.monotonic)
    calls: int = 0
    left: bool = False
    gone: float | None = None
    ended: float | None = None


class Worker:
    """Listens, and hands out events.

    Args:
        base: The path of its socket and lock, without their suffixes.
        idle: Seconds without an event after which it ends.
    """

    def __init__(self, base: str, idle: float = WORKER_IDLE) -> None:
        self.base = base
        self.idle = idle
        self.children: dict[int, Child] = {}
        self.waiting: dict[bytes, deque[Call]] = {}
        self.dying: list[Child] = []
        self.not_warm: dict[bytes, tuple[str, object, float]] = {}
        self.cold: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
        self.counts = {"warm": 0, "cold": 0}
        self.born = time.time()
        self.used = self.looked = time.monotonic()
        self.stopping = False
        self.poll = select.poll()
        self.actions: dict[int, Callable[[int], None]] = {}
        self.begun: dict[int, tuple[socket.socket, bytearray, float]] = {}
        self.own = {path: identity_of(path) for path in _own_files()}
        self.listener = self._listen()

    def _listen(self) -> socket.socket:
        path = self.base + ".sock"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        with contextlib.suppress(OSError):
            os.ftruncate(LOCK, 0)  # it came up: when it is gone, the next one may start at once
        self._watch(listener.fileno(), select.POLLIN, self._accept)
        return listener

    def run(self) -> None:
        """Serve until nothing is left to do."""
        try:
            while not self._is_done():
                for fd, what in self.poll.poll(self._patience() * 1000):
                    if fd in self.actions:
                        self.actions[fd](what)
                self._tidy(time.monotonic())
        finally:
            self._close()
            for child in self.children.values():
                _signal_group(child.pid, signal.SIGKILL)

    # -- clients

    def _accept(self, _what: int) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except BlockingIOError:
                return
            except OSError:  # no more files may be open: wait until some are closed
                time.sleep(SOON)
                return
            if peer_user(link) != os.getuid():
                link.close()
                continue
            link.setblocking(False)
            self.begun[link.fileno()] = (link, bytearray(), time.monotonic())
            if not self._read(link.fileno()):  # mostly, all of it has come already
                self._watch(link.fileno(), select.POLLIN, partial(self._read_more, link.fileno()))

    def _read_more(self, fd: int, _what: int) -> None:
        self._read(fd)

    def _read(self, fd: int) -> bool:
        """Read what a client has sent; returns whether that is done with."""
        link, data, _ = self.begun[fd]
        try:
            while not _is_whole(data):
                chunk = link.recv(READ)
                if not chunk:
                    raise FrameError("it went away")  # noqa: TRY301 - as what does not make sense
                data += chunk
            self._forget(fd)
            self._take(link, bytes(data))
        except BlockingIOError:
            return False
        except (FrameError, OSError):
            self._forget(fd)
            link.close()
        return True

    def _forget(self, fd: int) -> None:
        self.begun.pop(fd, None)
        self._unwatch(fd)

    def _take(self, link: socket.socket, data: bytes) -> None:
        kind = data[HEAD : HEAD + 1]
        if kind in (STATUS, STOP):
            self.stopping = self.stopping or kind == STOP
            link.setblocking(True)
            with contextlib.suppress(OSError):
                link.sendall(told(json.dumps(self.status()).encode()))
            link.close()
            return
        request = parse_request(data[HEAD:])
        now = time.monotonic()
        call = Call(link, request, data, now)
        self.used = now
        reason = self._refusal(request.key, now)
        if reason is not None:
            self._send_away(call, reason)
        else:
            self._place(call, now)

    def _refusal(self, key: bytes, now: float) -> str | None:
        """Say why an event cannot be served at all."""
        if now - self.looked > UPGRADED:
            self.looked = now
            self.stopping = self.stopping or any(identity_of(p) != s for p, s in self.own.items())
        if self.stopping:
            return "the worker is ending, to be replaced"
        reason, before, when = self.not_warm.get(key, ("", None, 0.0))
        if reason and now - when < NOT_AGAIN and before == identity_of(_file_of(key)):
            return reason
        self.not_warm.pop(key, None)
        return None

    def _place(self, call: Call, now: float) -> None:
        """Give an event to an executor, or let it wait for one."""
        for child in self._of(call.request.key):
            if child.call is not None:
                self._hear(child, 0)  # mostly, it was done before its client started this one
        mine = self._of(call.request.key)
        idle = next((child for child in mine if child.call is None), None)
        if idle is None and len(mine) < EAGER:
            call.take()  # on a busy machine a fork takes longer than a client waits for this
            idle = self._spawn(call.request.key)
        if idle is not None:
            self._assign(idle, call)
            return
        if not mine:
            self._send_away(call, "no process can be started for it")
            return
        queue = self.waiting.setdefault(call.request.key, deque())
        if len(queue) >= MOST_WAITING:
            self._send_away(call, "too much is waiting for it")
            return
        call.take()
        call.since = now
        queue.append(call)

    def _of(self, key: bytes) -> list[Child]:
        """List the executors of a key that go on living."""
        return [c for c in self.children.values() if c.key == key and not c.left]

    def _assign(self, child: Child, call: Call) -> None:
        call.take(child.pid)
        child.call, child.used, child.gone, child.ended = call, time.monotonic(), None, None
        try:
            child.control.settimeout(GRACE)
            sent = socket.send_fds(child.control, [call.frame], [call.link.fileno()])
            if sent < len(call.frame):
                child.control.sendall(call.frame[sent:])
        except OSError:  # it died or hangs; its end sends the event on its way
            _signal_group(child.pid, signal.SIGKILL)
        finally:
            child.control.setblocking(False)
        self._watch(call.link.fileno(), 0, partial(self._client_left, child))

    def _client_left(self, child: Child, _what: int) -> None:
        if child.call is not None:
            self._unwatch(child.call.link.fileno())
            child.gone = time.monotonic()

    def _send_away(self, call: Call, reason: str) -> None:
        self.counts["cold"] += 1
        self.cold.append({"hook": _file_of(call.request.key), "reason": reason, "at": time.time()})
        call.say(cold(reason))
        self._release(call)

    def _release(self, call: Call) -> None:
        self._unwatch(call.link.fileno())
        call.close()

    # -- executors

    def _spawn(self, key: bytes) -> Child | None:
        """Start an executor; `None` if there are enough."""
        if len(self.children) >= MOST and not self._evict():
            return None
        with contextlib.ExitStack() as undo:
            try:
                ours, theirs = socket.socketpair()
                undo.callback(ours.close)
                undo.callback(theirs.close)
                capture = scratch()
                undo.callback(os.close, capture)
                pid = os.fork()
            except OSError:  # too many files or processes
                return None
            undo.pop_all()
        if pid == 0:
            self._become_executor(theirs, capture)
        theirs.close()
        ours.setblocking(False)
        child = Child(pid, key, ours, capture)
        self.children[pid] = child
        self._watch(ours.fileno(), select.POLLIN, partial(self._hear, child))
        return child

    def _become_executor(self, control: socket.socket, capture: int) -> None:
        """Turn a copy of the worker into an executor: nothing of the worker's stays open."""
        try:
            os.setsid()
            _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            for handlers in fork_handlers:
                os.register_at_fork(**handlers)
            _copies.append(self)  # nothing of it may be collected: that would close descriptors
            before = 2
            for kept in sorted((control.fileno(), capture)):
                os.closerange(before + 1, kept)
                before = kept
            os.closerange(before + 1, 4096)
            Executor(control, capture).serve()
        except BaseException:  # noqa: BLE001 - a bug of ours costs one process, and is told
            _log(self.base)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # an exit code would be taken for the hook's

    def _evict(self) -> bool:
        """End the executor that has been idle for longest; returns whether there was one."""
        idle = [child for child in self.children.values() if child.call is None]
        if not idle:
            return False
        self._end(min(idle, key=lambda child: child.used))
        return True

    def _end(self, child: Child) -> None:
        """Let go of an executor that does nothing."""
        self.children.pop(child.pid, None)
        self._unwatch(child.control.fileno())
        child.control.close()
        child.ended = time.monotonic()
        self.dying.append(child)

    def _hear(self, child: Child, _what: int) -> None:
        """Hear what an executor has to say."""
        try:
            said = child.control.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said[:1] == IDLE:
            self._finished(child, int(said[1:] or 1))
            self._next(child)
        elif said[:1] == BYE:
            child.left = True
            self._finished(child, 1)
        elif said[:1] == STALE:
            call, child.call = child.call, None
            self._end(child)
            self._again(call)
        elif said[:1] == NOT_WARM:
            reason = said[1:].decode("utf-8", "replace")
            path = _file_of(child.key)
            self.not_warm[child.key] = (reason, identity_of(path), time.monotonic())
            call, child.call = child.call, None
            self._end(child)
            if call is not None:
                self._unwatch(call.link.fileno())
                self._send_away(call, reason)
            for waiting in self.waiting.pop(child.key, ()):
                self._send_away(waiting, reason)
        else:
            self._died(child)

    def _again(self, call: Call | None) -> None:
        """Give an event that was not begun to another executor."""
        if call is None:
            return
        self._unwatch(call.link.fileno())
        child = self._spawn(call.request.key)
        if child is None:
            self._send_away(call, "too many hooks are running")
            return
        self._assign(child, call)

    def _finished(self, child: Child, events: int) -> None:
        call, child.call, child.gone = child.call, None, None
        child.used = time.monotonic()
        if call is not None:
            self.counts["warm"] += events
            child.calls += events
            self._release(call)

    def _next(self, child: Child) -> None:
        queue = self.waiting.get(child.key)
        if queue:
            self._assign(child, queue.popleft())
        if not queue:
            self.waiting.pop(child.key, None)

    def _died(self, child: Child) -> None:
        """See to the event of an executor that ended."""
        self._end(child)
        self._reap(child, time.monotonic())
        for call in self.waiting.pop(child.key, ()):
            self._place(call, call.since)

    def _reap(self, child: Child, now: float) -> bool:
        """Take the exit status of an executor; returns whether there was one."""
        try:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = child.pid, signal.SIGKILL  # somebody else reaped it
        if pid == 0:
            if child.ended is not None and now - child.ended > GRACE:
                _signal_group(child.pid, signal.SIGKILL)
            return False
        if child in self.dying:
            self.dying.remove(child)
        call, child.call = child.call, None
        if call is not None:
            if os.WIFEXITED(status):  # the hook ended its process itself
                self.counts["warm"] += 1
                err = captured(child.capture)
                call.say(pack_reply(Reply(code=os.WEXITSTATUS(status), err=err)))
            else:  # killed: the end of the connection sends the client on its own way
                self.counts["cold"] += 1
                reason = f"was killed by signal {os.WTERMSIG(status)} in the worker"
                hook = _file_of(child.key)
                self.cold.append({"hook": hook, "reason": reason, "at": time.time()})
            self._release(call)
        os.close(child.capture)
        return True

    # -- time

    def _patience(self) -> float:
        """Return for how many seconds nothing will have to be done."""
        if self.dying or any(child.gone is not None for child in self.children.values()):
            return 0.002
        if self.waiting:
            return SOON
        return min(1.0, self.idle)

    def _tidy(self, now: float) -> None:
        for fd, (link, _, since) in list(self.begun.items()):
            if now - since > TOO_LONG:  # a client sends all that it has at once
                self._forget(fd)
                link.close()
        for child in list(self.dying):
            self._reap(child, now)
        for child in list(self.children.values()):
            self._see_to(child, now)
        for key, queue in list(self.waiting.items()):
            self._hurry(key, queue, now)
        if self.stopping:
            self._close()

    def _see_to(self, child: Child, now: float) -> None:
        """End a hook whose client has gone, and an executor that nobody needs."""
        if child.call is None:
            if self.stopping or now - child.used > EXECUTOR_IDLE:
                self._end(child)
            return
        if child.gone is not None and child.call is not None:
            if child.ended is None and now - child.gone > GONE:
                child.ended = now
                _signal_group(child.pid, signal.SIGTERM)
            elif child.ended is not None and now - child.ended > GRACE:
                _signal_group(child.pid, signal.SIGKILL)

    def _hurry(self, key: bytes, queue: deque[Call], now: float) -> None:
        """Start another executor for what waits, or send it away."""
        while queue and now - queue[0].since > TOO_LONG:
            self._send_away(queue.popleft(), "it waited too long")
        mine = sum(child.key == key for child in self.children.values())
        if queue and now - queue[0].since > SOON and mine < MOST_OF_A_KEY:
            child = self._spawn(key)
            if child is not None:
                self._assign(child, queue.popleft())
                for call in queue:
                    call.since = max(call.since, now - SOON / 2)
        if not queue:
            self.waiting.pop(key, None)

    def _is_done(self) -> bool:
        is_quiet = not self.children and not self.dying and not self.waiting
        if self.stopping:
            return is_quiet
        working = any(child.call for child in self.children.values())
        return not working and time.monotonic() - self.used > self.idle

    def _close(self) -> None:
        """Make room for the next worker: nobody finds this one any more."""
        if self.listener.fileno() < 0:
            return
        self._unwatch(self.listener.fileno())
        self.listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self.base + ".sock")
        with contextlib.suppress(OSError):
            os.ftruncate(LOCK, 0)
            os.close(LOCK)

    def status(self) -> dict[str, Any]:
        """Tell what there is, for `anyhook doctor`; nothing of any event is in it."""
        from anyhook import __version__

        now = time.monotonic()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "python": sys.executable,
            "address": self.base,
            "since": self.born,
            "ends_after_idle_seconds": self.idle,
            "stopping": self.stopping,
            "memory_kib": memory(os.getpid()),
            "events": self.counts,
            "waiting": sum(map(len, self.waiting.values())),
            "executors": [
                {
                    "pid": child.pid,
                    "hook": _file_of(child.key),
                    "directory": os.fsdecode(child.key.split(b"\0")[0]),
                    "busy": child.call is not None,
                    "leased": child.call is not None and child.call.request.kind == LEASE,
                    "events": child.calls,
                    "idle_seconds": round(now - child.used, 1),
                    "memory_kib": memory(child.pid),
                }
                for child in self.children.values()
            ],
            "cold": list(self.cold),
        }

    # -- descriptors

    def _watch(self, fd: int, what: int, action: Callable[[int], None]) -> None:
        self.poll.register(fd, what)
        self.actions[fd] = action

    def _unwatch(self, fd: int) -> None:
        if self.actions.pop(fd, None) is not None:
            self.poll.unregister(fd)


_copies: list[object] = []


def memory(pid: int) -> int | None:
    """Return the KiB that a process adds to the others: what it shares counts in parts."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            found = (line.split() for line in file if line.startswith("Pss:"))
            return next((int(words[1]) for words in found), None)
    except OSError:
        return None


def main() -> None:
    """Be the worker of an address: `python -c WORKER BASE [IDLE_SECONDS]`."""
    base = sys.argv[1]
    idle = float(sys.argv[2]) if len(sys.argv) > 2 else WORKER_IDLE
    os.umask(MASK)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in INHERITED:
        signal.signal(number, signal.SIG_DFL)
    check_private(os.path.dirname(base))
    if not _holds_lock(base):
        return
    try:
        prepare()
        worker = Worker(base, idle)
        signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "stopping", True))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        worker.run()
    except Exception:  # noqa: BLE001 - a bug of ours must not go without a trace
        _log(base)


def _holds_lock(base: str) -> bool:
    """Make sure that the lock is on its descriptor: inherited, or taken now."""
    try:
        mine, there = os.fstat(LOCK), os.stat(base + ".lock")
        if (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino):
            return True
    except OSError:
        pass
    lock = take_lock(base)
    if lock is None:
        return False
    if lock != LOCK:
        os.dup2(lock, LOCK, inheritable=False)
        os.close(lock)
    return True


def _is_whole(data: bytes | bytearray) -> bool:
    return len(data) >= HEAD and len(data) >= body_size(bytes(data[:HEAD])) + HEAD


def _own_files() -> Iterator[str]:
    """Yield the files that this program is made of."""
    yield os.path.realpath(sys.executable)
    yield sys.executable
    yield os.path.join(sys.prefix, "pyvenv.cfg")
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None):
            yield str(module.__file__)


def _file_of(key: bytes) -> str:
    directory, path = key.split(b"\0")[:2]
    return os.path.join(os.fsdecode(directory), os.fsdecode(path))


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _log(base: str) -> None:
    """Write down where this program failed; there is nothing of any event in that."""
    import traceback

    with contextlib.suppress(OSError), open(base + ".log", "w", encoding="utf-8") as file:
        traceback.print_exc(file=file)
