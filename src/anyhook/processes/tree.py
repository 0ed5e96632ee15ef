"""The processes that a command started, wherever they went.

A command leads a process group of its own, but a child may leave it: `setsid`, `set -m`, `timeout`,
a double fork. So each run has a random mark in its environment, which children inherit. It is
looked for only when a command has to be ended, so a command that ends by itself pays for one more
variable. Linux alone shows the environment of other processes (`/proc`); elsewhere only the group
is ended. Out of reach is a process that has left the group and the session, has lost its parent,
and has cleared its environment or belongs to another user.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RUN_VARIABLE = "ANYHOOK_RUN"
"""The variable that holds the mark; inside a hook of a hook it holds the marks of both."""
POLL = 0.02
"""Seconds between two looks for processes that were killed: they take a moment to disappear."""


class Process:
    """A process as it was seen.

    Attributes:
        pid: Its number.
        parent: The number of its parent.
        group: Its process group.
        session: Its session.
        started: When it was started; with its number, its identity.
    """

    __slots__ = ("group", "parent", "pid", "session", "started")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.parent, self.group, self.session = map(int, fields[1:4])
        self.started = fields[19]


class ProcessTree:
    """The processes of one run of a command.

    `variable` is what the environment of the command has to hold; the leader is the command itself,
    as soon as it was started.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._mark = os.urandom(8).hex()
        outer = environ.get(RUN_VARIABLE)
        self.variable = f"{outer}.{self._mark}" if outer else self._mark
        self.leader = -1
        self._seen: dict[int, Process] = {}

    def others(self) -> list[int]:
        """Return the numbers of all processes but the command itself that still run."""
        return [process.pid for process in self._find()]

    def send(self, number: signal.Signals) -> list[int]:
        """Signal every process but those of the command's group, which `killpg` reaches.

        Return the numbers of all processes but the command itself that still ran.
        """
        members = self._find()
        for process in members:
            if process.group != self.leader:
                _send(process, number)
        return [process.pid for process in members]

    def _find(self) -> list[Process]:
        """Find the processes that are in the session, have the mark, or descend from those."""
        everything = list(_processes())
        members: dict[int, Process] = {}
        for process in everything:
            # The parent of one that was seen before may have ended since.
            seen = self._seen.get(process.pid)
            was_seen = seen is not None and seen.started == process.started
            is_near = self.leader in (process.session, process.group)
            if is_near or was_seen or self._is_marked(process.pid):
                members[process.pid] = process
        before = -1
        while before != len(members):
            before = len(members)
            parents = {self.leader, *members}
            members |= {p.pid: p for p in everything if p.parent in parents}
        members.pop(self.leader, None)
        self._seen = members
        return list(members.values())

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                return self._mark.encode() in file.read()
        except OSError:  # it is gone, or another user's
            return False


def _processes() -> Iterable[Process]:
    """Yield the processes that run, this one and those that only wait to be reaped excepted."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    own = os.getpid()
    for name in names:
        if name.isdigit() and int(name) != own:
            fields = _fields(int(name))
            if fields and fields[0] not in (b"Z", b"X"):
                yield Process(int(name), fields)


def _fields(pid: int) -> list[bytes]:
    """Return what the system says of a process, from its state on; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _send(process: Process, number: signal.Signals) -> None:
    """Signal a process, and never another one that has got its number since."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (OSError, AttributeError):  # it is gone; or an old kernel, or a jail that forbids it
        descriptor = None
    try:
        if _fields(process.pid)[19:20] != [process.started]:
            return
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:  # it is gone, or another user's
        return
    finally:
        if descriptor is not None:
            os.close(descriptor)
