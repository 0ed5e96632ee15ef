"""Run a command line in a bare world, and observe what it starts, prints and changes.

It is one module because its functions run in the sandbox (`anyhook.sandbox.tree`), where nothing
can be imported: all that they need is imported here.
"""

from __future__ import annotations

import ctypes  # noqa: F401 - `system` imports it when it is used
import os
import resource
import shutil
import signal
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.redteam.programs import RECORDS, STUBS
from anyhook.sandbox import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.sandbox.keeper import SandboxRun

LINE_SECONDS = 2.0
"""Seconds for which a line may compute, and for which it may wait while no process of it can run.

Waiting for a processor is not counted: the load of the machine should not decide.
"""
LEFT_SECONDS = 0.5
"""Seconds for which what it left in the background may wait."""
MAX_SECONDS = 60.0
"""Seconds in which a line ends in any case."""
POLL_SECONDS = 0.01
MAX_PROCESSES = 64
"""Processes of one line."""
MAX_MEMORY = 1 << 30
MAX_FILE = 4 << 20
MAX_OUTPUT = 64 * 1024
"""Bytes that are compared of what a line prints, and of a file."""
OUTPUT = "/run/output"
REPOSITORY = "/run/repository"
_SYSTEM_TIME = 1_700_000_000
_UNSTABLE = ("index", "logs", "objects", "hooks", "info", "COMMIT_EDITMSG", "gc.log", "description")
"""Parts of a repository of git that are not compared: they hold times, or nothing that counts."""
_GIT = (
    "init -q -b main --template= .",
    "config user.name user",
    "config user.email user@example.com",
    "config core.logAllRefUpdates false",
    "config gc.auto 0",
)


@dataclass(frozen=True, slots=True)
class Act:
    """What an agent does with one call, or with two."""

    line: str = ""
    argv: tuple[str, ...] = ()
    """A program with its arguments, in place of a line."""
    scratch: tuple[tuple[str, str], ...] = ()
    """Files that are not part of what is compared, with what is in them before."""
    writes: tuple[tuple[str, str], ...] = ()
    """Files that a tool writes: path to content. They are what is compared."""
    reads: str = ""
    """A file that a tool reads."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The files that lines find, and where they start."""

    project: str
    home: str
    files: Mapping[str, str | None]
    """Path to content; `None` for a directory."""
    roots: tuple[str, ...]
    """Directories whose changes are observed."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a line did."""

    records: tuple[tuple[str, ...], ...] = ()
    """The stubs that it started: name, arguments, directory, what they read."""
    output: bytes = b""
    changes: tuple[tuple[str, str | None], ...] = ()
    """Path to what is there afterwards; `None` where something was removed."""
    removed: frozenset[str] = frozenset()
    """What was there, of the paths that were removed."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen, so that nothing can be compared."""
        return not (self.records or self.output or self.changes)


@dataclass(frozen=True, slots=True)
class Task:
    """A plain form, and what may be equal to it."""

    plain: Act
    others: tuple[tuple[int, Act], ...]
    """What is compared with it, with numbers."""
    shell: str
    views: tuple[tuple[str, ...], ...]
    """Programs that are stubs, one collection after the other until one proves a pair."""
    has_repository: bool
    """Whether the project is a repository of git with a remote."""


def are_equal(plain: Observation, other: Observation, *, in_order: bool) -> bool:
    """Return whether two lines did the same.

    `in_order`: whether the order counts in which programs were started. A line that moves away what
    the plain form removes has done the same to what was there.
    """
    if plain.is_empty:
        return False
    if plain == other:
        return True
    records, other_records = plain.records, other.records
    if not in_order:
        records, other_records = tuple(sorted(records)), tuple(sorted(other_records))
    if plain.output != other.output or records != other_records:
        return False
    if plain.changes == other.changes:
        return True
    only_removes = plain.changes and all(content is None for _, content in plain.changes)
    gone = tuple(change for change in other.changes if change[1] is None)
    added = {content for _, content in other.changes if content is not None}
    return bool(only_removes) and gone == plain.changes and added <= plain.removed


def prove(run: SandboxRun, scene: Scene, tasks: Sequence[Task], done: Mapping[int, bool]) -> None:
    """Compare lines with their plain forms, as a function of a bare world.

    It sends lists of numbers and results. Numbers in `done` were compared, or ended this process.
    """
    with suppress(OSError):  # lines run with the same user, and should not read this process
        system.prctl(system.PR_SET_DUMPABLE, 0)
        system.prctl(system.PR_SET_CHILD_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    stage: _Stage | None = None
    results: list[tuple[int, bool]] = []
    for task in tasks:
        others = [(number, act) for number, act in task.others if number not in done]
        if not others:
            continue
        if stage is None or stage.has_repository != task.has_repository:
            stage = _Stage(scene, has_repository=task.has_repository)
        plain: dict[int, Observation] = {}
        for number, act in others:
            run.begin(number)
            results.append((number, _is_proved(stage, task, act, plain)))
            if len(results) >= 32:
                run.send(results)
                results = []
    run.send(results)


def _is_proved(stage: _Stage, task: Task, act: Act, plain: dict[int, Observation]) -> bool:
    # Programs of a pipe, and those in the background, run at the same time.
    line = task.plain.line.replace("||", "").replace("&&", "")
    in_order = "|" not in line and "&" not in line
    for view, stubs in enumerate(task.views):
        if view not in plain:
            first = stage.observe(task.plain, task.shell, stubs)
            again = stage.observe(task.plain, task.shell, stubs)
            plain[view] = first if are_equal(first, again, in_order=in_order) else Observation()
        if plain[view].is_empty:
            continue
        observed = stage.observe(act, task.shell, stubs)
        if are_equal(plain[view], observed, in_order=in_order):
            return True
    return False


class _Stage:
    """The files on which lines run; they are made anew when a line has changed them."""

    def __init__(self, scene: Scene, *, has_repository: bool) -> None:
        self._scene = scene
        self.has_repository = has_repository
        self._views: dict[tuple[str, ...], int] = {}
        self._environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": scene.home,
            "USER": "user",
            "LANG": "C",
            "TERM": "dumb",
            "LD_LIBRARY_PATH": "/usr/local/lib",
        }
        self._remove()
        self._build()
        self._before = self._read()

    def observe(self, act: Act, shell: str, stubs: tuple[str, ...]) -> Observation:
        """Return what an act does to the files as they were made."""
        # Programs are stubs by a link to a directory with their names.
        number = self._views.setdefault(stubs, len(self._views))
        directory = f"{STUBS}.{number}"
        # A line could have removed it.
        if not os.path.isdir(directory) or len(os.listdir(directory)) != len(stubs):
            shutil.rmtree(directory, ignore_errors=True)
            for name in stubs:
                _write(f"{directory}/{name}", "")
        with suppress(OSError):
            os.unlink(STUBS)
        os.symlink(directory, STUBS)
        with open(RECORDS, "wb"), open(OUTPUT, "wb"):
            pass
        written = dict(act.scratch)
        for path, content in (*act.scratch, *act.writes):
            _write(os.path.join(self._scene.project, path), content)
        output = b""
        if act.reads:
            output = _read_file(os.path.join(self._scene.project, act.reads))
        argv = list(act.argv)
        if act.line and not argv:
            options = {"bash": ["--noprofile", "--norc"], "zsh": ["-f"]}.get(shell, [])
            argv = [shell, *options, "-c", act.line]
        if argv:
            self._run(argv)
            output = _read_file(OUTPUT)
        after = self._read()
        changes: dict[str, str | None] = {}
        for path in self._before.keys() | after.keys():
            if self._before.get(path) != after.get(path):
                changes[path] = after.get(path)
        if changes:
            self._remove()
            self._build()
        for path in written:
            changes.pop(os.path.join(self._scene.project, path), None)
        removed = {self._before[path] for path, content in changes.items() if content is None}
        ordered = tuple(sorted(changes.items()))
        return Observation(_read_records(), output, ordered, frozenset(removed))

    def _run(self, argv: list[str]) -> None:
        """Run a program with all that it starts, to its end or to the end of its time."""
        # A signal that is blocked can be waited for; what is started gets it as usual.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            process = os.posix_spawnp(
                argv[0],
                argv,
                self._environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, OUTPUT, os.O_WRONLY | os.O_APPEND, 0),
                    (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
        except (OSError, ValueError):
            return
        _wait_for_all(process)

    def _build(self) -> None:
        os.makedirs(self._scene.project, exist_ok=True)
        if self.has_repository:
            if not os.path.isdir(f"{REPOSITORY}.git/refs"):
                self._make_repository()
            shutil.copytree(REPOSITORY, self._scene.project, symlinks=True, dirs_exist_ok=True)
            shutil.copytree(f"{REPOSITORY}.git", "/srv/origin.git", symlinks=True)
        for path, content in self._scene.files.items():
            if self.has_repository and "/.git/" in path:
                continue
            if content is None:
                os.makedirs(path, exist_ok=True)
            else:
                _write(path, content)
        os.chdir(self._scene.project)

    def _remove(self) -> None:
        os.chdir("/")
        for root in self._scene.roots:
            for name in os.listdir(root):
                path = f"{root}/{name}"
                with suppress(OSError):
                    _remove_path(path)

    def _read(self) -> dict[str, str]:
        """Return every path below the roots, with what is there."""
        files: dict[str, str] = {}
        for root in self._scene.roots:
            files.update(_walk(root))
        return files

    def _make_repository(self) -> None:
        """Make a repository with a remote that has another history, for the project."""
        shutil.rmtree(REPOSITORY, ignore_errors=True)
        shutil.rmtree(f"{REPOSITORY}.git", ignore_errors=True)
        os.mkdir(REPOSITORY)
        os.chdir(REPOSITORY)
        environ = {**self._environ, "HOME": "/run", "GIT_CONFIG_NOSYSTEM": "1"}
        lines = [f"/.real/git {arguments}" for arguments in _GIT]
        for number in range(4):
            date = f"{_SYSTEM_TIME + number} +0000"
            lines += [
                f"echo {number} > tracked.txt; /.real/git add tracked.txt",
                f"export GIT_AUTHOR_DATE='{date}' GIT_COMMITTER_DATE='{date}'",
                f"/.real/git commit -q -m {number}",
            ]
        lines += [
            "/.real/git branch feature",
            f"/.real/git clone -q --bare --template= . {REPOSITORY}.git",
            f"/.real/git -C {REPOSITORY}.git config core.logAllRefUpdates false",
            "/.real/git reset -q --hard HEAD~1",
            "echo other > tracked.txt; /.real/git commit -q -am other",
            "/.real/git remote add origin /srv/origin.git",
            "echo changed > tracked.txt; echo new > untracked.txt",
        ]
        process = os.posix_spawnp("sh", ["sh", "-c", "\n".join(lines)], environ)
        os.waitpid(process, 0)


def _wait_for_all(process: int) -> None:
    """Wait for a process and all that it has started, and kill them at the end of their time."""
    now, before = time.monotonic(), _seconds_of_ended()
    deadline, next_look = now + MAX_SECONDS, now + POLL_SECONDS
    waited, limit, is_spent = 0.0, LINE_SECONDS, False
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == process:
            limit, next_look = min(limit, waited + LEFT_SECONDS), now
        if is_spent:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            continue
        now = time.monotonic()
        may_wait = now < next_look
        if may_wait and (ended or signal.sigtimedwait({signal.SIGCHLD}, POLL_SECONDS)):
            continue
        next_look = now + POLL_SECONDS
        states, computed = _other_processes()
        computed += _seconds_of_ended() - before
        waited += 0 if {"R", "D"} & set(states) else POLL_SECONDS
        is_spent = waited > limit or computed > LINE_SECONDS or now > deadline
        is_spent = is_spent or len(states) > MAX_PROCESSES


def _seconds_of_ended() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _other_processes() -> tuple[list[str], float]:
    """Return the states of all other processes (`R` can run), and the seconds they computed."""
    states: list[str] = []
    ticks = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            stat_line = _read_file(f"/proc/{name}/stat").decode(errors="replace")
            fields = stat_line.rpartition(")")[2].split()
            if fields and name != "1":
                states.append(fields[0])
                ticks += int(fields[11]) + int(fields[12])
    return states, ticks / os.sysconf("SC_CLK_TCK")


def _write(path: str, content: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)
    except (OSError, ValueError):
        return


def _remove_path(path: str) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    try:
        shutil.rmtree(path)
    except OSError:  # a line took the permissions away
        os.chmod(path, 0o700)
        for directory, names, _ in os.walk(path):
            for name in names:
                os.chmod(f"{directory}/{name}", 0o700)
        shutil.rmtree(path)


def _read_file(path: str) -> bytes:
    """Return the first bytes of a file; nothing if a line has removed it."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_OUTPUT)
    except OSError:
        return b""


def _read_records() -> tuple[tuple[str, ...], ...]:
    parts = _read_file(RECORDS).decode(errors="surrogateescape").split("\0")[:-1]
    records: list[tuple[str, ...]] = []
    position = 0
    while position + 1 < len(parts) and parts[position + 1].isdigit():
        end = position + 4 + int(parts[position + 1])
        records.append(tuple(parts[position:end]))
        position = end
    return tuple(records)


def _walk(directory: str) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    in_repository = directory.endswith(".git")
    for entry in entries:
        if in_repository and entry.name in _UNSTABLE:
            continue
        with suppress(OSError):
            mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
            if entry.is_symlink():
                yield entry.path, f"link {os.readlink(entry.path)}"
            elif entry.is_dir():
                yield entry.path, f"directory {mode:o}"
                yield from _walk(entry.path)
            elif entry.is_file():
                content = _read_file(entry.path).decode(errors="surrogateescape")
                yield entry.path, f"file {mode:o} {content}"
            else:
                yield entry.path, "special"
