"""Forks the processes that answer the events of one hook file.

Two children always wait on the socket (`anyhook.worker.child`). Each of them answers one event and
exits, and is replaced. The server itself only waits and forks; it never calls a hook function.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.authoring.process_exit import exit_now, getpid
from anyhook.worker.child import (
    ANSWERED,
    CONNECTED,
    MESSAGE_SIZE,
    MUST_END,
    WorkerChild,
    send_quietly,
)
from anyhook.worker.client import SOCKET
from anyhook.worker.endpoint import LOCK_FD, Endpoint, log_traceback
from anyhook.worker.process_state import read_output
from anyhook.worker.protocol import Reply, pack_late, pack_reply
from anyhook.worker.slots import Slots

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from anyhook.worker.child import LoadedHookFile
    from anyhook.worker.slots import Slot

IDLE_CHILDREN = 2
MAX_BUSY = 32
"""Children of one server that run hooks; what comes then waits until its client runs it cold."""
REPLACE_DELAY = 0.02
"""Seconds in which most hooks answer: a fork in that time would only delay them."""
REHEARSALS = 10
"""Sample events that a server answers; more of them have no effect on an answer in a child."""
LATE_CHECK = 0.1
"""Seconds between two checks of whether the time of a hook is over."""
MAX_FAILURES = 8
"""Children that die one after the other before they have taken an event."""
ABANDONED_DELAY = 0.05
"""Seconds from the end of a client to the end of a hook that still runs for it."""
KILL_DELAY = 1.0
"""Seconds from SIGTERM to SIGKILL."""
_kill = os.kill
"""Taken before a hook can replace it."""


@dataclass
class ChildState:
    """A child, as its server sees it.

    Attributes:
        slot: What it shares with its server.
        slot_number: The number of the slot.
        link: The connection that it took; `None` while it waits for one.
        output_file: Descriptor of what its hook wrote to standard output and error.
        accepted_at: When it took the connection.
        is_finished: Whether it has reported its end.
        abandoned_at: When its client closed the connection.
        terminated_at: When it was asked to end because of that.
        is_late: Whether it was killed because its time was over.
    """

    slot: Slot
    slot_number: int
    link: socket.socket | None = None
    output_file: int = -1
    accepted_at: float = 0.0
    is_finished: bool = False
    abandoned_at: float | None = None
    terminated_at: float | None = None
    is_late: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a connection."""
        return self.link is None and not self.is_finished

    @property
    def is_busy(self) -> bool:
        """Whether it works on a connection."""
        return self.link is not None and not self.is_finished


class Server:
    """Forks children and replaces them.

    Args:
        endpoint: Where it listens.
        loaded: The hook file.
        sample: Body of the request that each child answers first.

    Attributes:
        listener: The socket on which the children wait.
        lifeline: A pipe that ends when the server does.
        child_control: Takes the reports of the children.
        variables: The environment of the process, which children change.
    """

    def __init__(self, endpoint: Endpoint, loaded: LoadedHookFile, sample: bytes) -> None:
        self.endpoint = endpoint
        self.loaded = loaded
        self.listener = endpoint.listen()
        self.lifeline, self._lifeline_end = os.pipe()
        self._control, self.child_control = socket.socketpair()
        self._control.setblocking(False)
        # Children that ended keep their slots until they are reaped.
        slots = MAX_BUSY + IDLE_CHILDREN + 2 * MAX_FAILURES
        self.sample = sample
        self.variables = dict(os.environb)
        self._counts = memoryview(mmap.mmap(-1, 8 * 2)).cast("q")
        self._slots = Slots(slots)
        self._free_slots = list(range(slots))
        self._children: dict[int, ChildState] = {}
        self._failures = 0
        self._is_ending = self._must_end = False
        self._used_at = time.monotonic()
        self._wakeup, wakeup_end = os.pipe()
        for fd in (self._wakeup, wakeup_end):
            os.set_blocking(fd, False)
        # Handlers that loading has installed belong to the hook: children get them back
        self._hook_signals = {
            signal.SIGCHLD: signal.signal(signal.SIGCHLD, lambda *_: None),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: self._ask_to_end()),
        }
        self._hook_mask = signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self._hook_wakeup = signal.set_wakeup_fd(wakeup_end, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(self._wakeup, select.POLLIN)

    def rehearse(self) -> None:
        """Answer sample events, so that children find what an interpreter learns from them.

        CPython specializes code that it has executed some times.
        """
        child = WorkerChild(self, self._slots[0])
        for _ in range(REHEARSALS):
            child.rehearse()
        child.close()

    def run(self) -> None:
        """Serve until the server has to end and no hook runs any more."""
        while self._children or not self._is_ending:
            if not self._is_ending:
                self._fork_children(time.monotonic())
            for fd, _ in self._poll.poll(self._timeout(time.monotonic()) * 1000):
                if fd == self._wakeup:
                    with contextlib.suppress(BlockingIOError):
                        os.read(fd, 4096)
                elif fd != self._control.fileno():
                    self._note_abandoned(fd)
            self._read_reports()
            self._reap()
            now = time.monotonic()
            self._end_abandoned(now)
            self._end_late()
            if not self._busy():
                is_idle = now - self._used_at > self.endpoint.idle
                is_outdated = self.loaded.trace.changed_installation() is not None
                self._must_end = self._must_end or is_idle or is_outdated
            if self._must_end and not self._is_ending:
                # The waiting children exit when the other end of the pipe is closed.
                self._is_ending = True
                os.close(self._lifeline_end)
                self.endpoint.close(self.listener)

    def status(self) -> dict[str, Any]:
        """Return the status; a child calls it."""
        warm, cold = self._counts
        return self.endpoint.status(
            os.getppid(),
            warm=warm,
            cold=cold,
            running=self._slots.running(),
            is_ending=self._is_ending,
        )

    # -- children

    def _fork_children(self, now: float) -> None:
        """Have enough children wait, once those that have just begun had time to answer."""
        busy = self._busy()
        waiting = sum(child.is_waiting for child in self._children.values())
        is_early = any(now - child.accepted_at < REPLACE_DELAY for child in busy)
        if is_early or waiting >= IDLE_CHILDREN or len(busy) >= MAX_BUSY:
            return
        # checked here, so that children have less to check when an event waits for them
        if self._failures >= MAX_FAILURES or self.loaded.trace.changed_file() is not None:
            self._must_end = True
            return
        for _ in range(IDLE_CHILDREN - waiting):
            if not self._free_slots:
                return
            number = self._free_slots.pop()
            slot = self._slots[number]
            slot.clear()
            try:
                pid = os.fork()
            except OSError:  # too many processes: the loop comes back to it
                self._free_slots.append(number)
                return
            if pid == 0:
                self._become_child(slot)
            self._children[pid] = ChildState(slot, number)

    def _become_child(self, slot: Slot) -> NoReturn:
        try:
            os.setsid()  # the hook and its own children form a group that can be killed
            os.close(LOCK_FD)
            os.close(self._lifeline_end)
            self._control.close()
            for child in self._children.values():
                if child.link is not None:
                    child.link.close()
                    os.close(child.output_file)
            signal.set_wakeup_fd(self._hook_wakeup)
            for number, handler in self._hook_signals.items():
                signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._hook_mask)
            WorkerChild(self, slot).run()
        except BaseException:  # noqa: BLE001 - a bug of this package costs one event its warmth
            log_traceback(self.endpoint.base)
        finally:
            _kill(getpid(), signal.SIGKILL)  # an exit code would count as the hook's
            exit_now(1)

    def _busy(self) -> list[ChildState]:
        return [child for child in self._children.values() if child.is_busy]

    def _read_reports(self) -> None:
        while True:
            try:
                report, fds, _, _ = socket.recv_fds(self._control, MESSAGE_SIZE, 2)
            except BlockingIOError:
                return
            child = self._children[int.from_bytes(report[1:], "little")]
            if report[:1] == CONNECTED:
                child.link, child.output_file = socket.socket(fileno=fds[0]), fds[1]
                child.accepted_at = time.monotonic()
                self._failures = 0
                self._poll.register(child.link, 0)
                continue
            child.is_finished = True
            self._release(child)
            if report[:1] == ANSWERED:
                self._count_warm()
            elif report[:1] == MUST_END:
                self._must_end = True

    def _count_warm(self) -> None:
        self._counts[0] += 1
        self._used_at = time.monotonic()
        with contextlib.suppress(OSError):
            os.utime(self.endpoint.base + SOCKET)  # for make_room

    def _release(self, child: ChildState) -> None:
        """Close the server's copies of a child's connection and output."""
        child.slot.finish()
        if child.link is not None:
            if child.abandoned_at is None:
                self._poll.unregister(child.link)
            child.link.close()
            os.close(child.output_file)
            child.link = None

    def _reap(self) -> None:
        """Collect the children that have exited, and answer for those that did not."""
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._read_reports()  # the last one came before the end
            child = self._children.pop(pid)
            if not child.is_finished:
                self._answer_for(child, status)
            self._free_slots.append(child.slot_number)

    def _answer_for(self, child: ChildState, status: int) -> None:
        """Send the reply of a hook whose process has ended before it sent one."""
        answer = child.slot.answer()
        if answer is None and os.WIFEXITED(status):  # in the middle of a function
            answer = Reply(code=os.WEXITSTATUS(status))
        if child.link is None:
            self._failures += 1
        elif child.slot.is_sending:
            self._count_warm()
        elif answer is not None:
            err = read_output(child.output_file) + answer.err
            send_quietly(child.link, pack_reply(answer.replace(err=err)))
            self._count_warm()
        elif child.is_late:
            self._counts[1] += 1
            self.endpoint.note_cold("ran out of time in the worker, which it did not notice")
            send_quietly(child.link, pack_late())
        else:
            self._counts[1] += 1
            self.endpoint.note_cold(f"was killed by signal {os.WTERMSIG(status)} in the worker")
            with contextlib.suppress(OSError):  # a process that the hook forked may hold it open
                child.link.shutdown(socket.SHUT_RDWR)
        self._release(child)

    def _note_abandoned(self, link: int) -> None:
        for child in self._busy():
            if child.link is not None and child.link.fileno() == link:
                child.abandoned_at = time.monotonic()
                self._poll.unregister(link)  # its end would be reported for ever

    def _end_abandoned(self, now: float) -> None:
        """End hooks whose client is gone, with the processes that they have started."""
        for pid, child in self._children.items():
            if child.is_finished or child.abandoned_at is None:
                continue
            if child.terminated_at is None:
                if now - child.abandoned_at > ABANDONED_DELAY:
                    child.terminated_at = now
                    _signal_group(pid, signal.SIGTERM)
            elif now - child.terminated_at > KILL_DELAY:
                _signal_group(pid, signal.SIGKILL)

    def _end_late(self) -> None:
        """End children that block signals or hang in compiled code when their time is over."""
        for pid, child in self._children.items():
            seconds_left = child.slot.seconds_left()
            is_late = seconds_left is not None and seconds_left <= 0
            if child.is_busy and is_late and not child.is_late and not child.slot.is_sending:
                child.is_late = True
                _signal_group(pid, signal.SIGKILL)

    # -- time

    def _timeout(self, now: float) -> float:
        """Return the seconds until something has to be done without a report."""
        busy = self._busy()
        if any(child.abandoned_at is not None for child in busy):
            return ABANDONED_DELAY / 4
        if any(now - child.accepted_at < REPLACE_DELAY for child in busy):
            return REPLACE_DELAY
        if any(child.slot.seconds_left() is not None for child in busy):
            return LATE_CHECK
        return min(1.0, self.endpoint.idle)

    def _ask_to_end(self) -> None:
        self._must_end = True


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
