"""`anyhook doctor`: whether hooks run as fast as they can here, and what to do if not."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from anyhook import __version__
from anyhook.agents import CODING_AGENTS
from anyhook.cli import OK, PROBLEMS, USAGE
from anyhook.cli.options import HERE, AsJson, Project, existing_project
from anyhook.cli.output import console, print_json, show_path, show_place
from anyhook.cli.worker import format_memory, format_time, server_json, summarize_cold
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.files import read_user_file
from anyhook.migrate.commands import is_portable
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.trust.scripts import named_files
from anyhook.worker.client import RUNTIME_DIR_ENV, SOCKET, WORKER_ENV, which
from anyhook.worker.commands import NATIVE, native_client, read_command, read_line
from anyhook.worker.control import (
    ServerInfo,
    find_runtime_directory,
    list_logs,
    list_servers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec
    from anyhook.worker.commands import HookCommand

FINE, NOTE, WRONG = "fine", "note", "wrong"
MARKS = {FINE: ("✓", "green"), NOTE: ("!", "yellow"), WRONG: ("✗", "bold red")}
NAME_LENGTH = 16
"""Characters of a socket's name without the suffix."""
LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107
"""Bytes of the path of a socket that the system takes."""
LARGEST_LOG = 16 * 1024 * 1024
"""Bytes of the log of a worker that are read."""
LEAST_SPACE = 1024 * 1024
"""Bytes; sockets and locks need next to none, but a full disk has room for none at all."""
PATIENCE = 10.0
"""Seconds that the native client may take to say how it is used."""


class Check(NamedTuple):
    """What one look found.

    Attributes:
        name: What was looked at.
        state: `fine`; `note`: it works, and could work better; `wrong`: it does not work.
        says: What was found.
        do: What to do about it; empty if there is nothing to do.
    """

    name: str
    state: str
    says: str
    do: str = ""


class Diagnosis:
    """What is looked at.

    Args:
        project: Directory whose hooks are looked at.
        environ: Environment that the hooks would be started with.
    """

    def __init__(self, project: Path, environ: Mapping[str, str]) -> None:
        self.project = project
        self.environ = environ
        self.directory = find_runtime_directory(environ)

    @cached_property
    def servers(self) -> list[ServerInfo]:
        """The servers that there are; none if another user could have put them there."""
        try:
            return list_servers(self.directory)
        except UsageError:
            return []


def doctor(project: Project = HERE, as_json: AsJson = False) -> int:
    """Look whether hooks run warm here, and say what to do if they do not.

    It looks at the installation, at the workers and why they sent hooks away, and at every hook
    file that the settings of the project, of its user and of the system run, for every agent.
    Exits with 1 if something does not work.

    For example:

        anyhook doctor
        anyhook doctor --project ~/code/app --json
    """
    diagnosis = Diagnosis(existing_project(project), os.environ)
    found = [check for look in LOOKS for check in look(diagnosis)]
    is_wrong = any(check.state == WRONG for check in found)
    if as_json:
        report: dict[str, Any] = {
            "ok": not is_wrong,
            "checks": [check._asdict() for check in found],
            "workers": list(map(server_json, diagnosis.servers)),
        }
        print_json(report)
        return PROBLEMS if is_wrong else OK
    out = console()
    for check in found:
        mark, style = MARKS[check.state]
        head = Text.assemble((mark, style), f" {check.name}: ", (check.says, ""))
        out.print(head, soft_wrap=True)
        if check.do:
            out.print(Text(f"  → {check.do}", style="dim"), soft_wrap=True)
    return PROBLEMS if is_wrong else OK


# -- what is installed


def _look_at_anyhook(_patient: Diagnosis) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    says = f"{__version__}, with Python {version} at {show_path(sys.executable)}"
    yield Check("anyhook", FINE, says)


def _look_at_client(_patient: Diagnosis) -> Iterator[Check]:
    name = "native client"
    path = native_client()
    if path is None:
        yield Check(
            name,
            NOTE,
            "no C compiler was there when anyhook was installed; hooks use the interpreter's "
            "client, which takes about 8 ms instead of 1",
            "install gcc or clang, and then anyhook again: pip install --force-reinstall anyhook",
        )
        return
    try:
        done = subprocess.run([path], capture_output=True, timeout=PATIENCE, check=False)
        problem = "" if done.returncode == USAGE else f"it ends with {done.returncode}"
    except OSError as error:
        problem = error.strerror or str(error)
    except subprocess.TimeoutExpired:
        problem = "it does not end"
    if problem:
        do = "was it built for another machine? pip install --force-reinstall anyhook"
        yield Check(name, WRONG, f"{show_path(path)} does not run here: {problem}", do)
    else:
        yield Check(name, FINE, show_path(path))


# -- where workers are found


def _look_at_directory(diagnosis: Diagnosis) -> Iterator[Check]:
    name, path = "runtime directory", diagnosis.directory
    shown = show_path(path)
    other = f"name a directory of your own in {RUNTIME_DIR_ENV}"
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        yield _place_to_be(name, path)
    except OSError as error:
        yield Check(name, WRONG, f"{shown}: {error.strerror}", other)
    else:
        mode = stat.S_IMODE(found.st_mode)
        problems = (
            (not stat.S_ISDIR(found.st_mode), "it is no directory", other),
            (found.st_uid != os.getuid(), f"it belongs to user {found.st_uid}", other),
            (
                bool(mode & 0o077),
                f"it is open to others (mode {mode:04o}), so no worker is used",
                f"chmod 700 {shown}",
            ),
            (not os.access(path, os.W_OK | os.X_OK), "it cannot be written", other),
            (_space(path) < LEAST_SPACE, "its disk is full", "make room"),
        )
        wrong = [Check(name, WRONG, f"{shown}: {what}", do) for bad, what, do in problems if bad]
        says = f"{shown}, yours alone, mode {mode:04o}"
        yield wrong[0] if wrong else Check(name, FINE, says)
    length = len(os.fsencode(path)) + len("/") + NAME_LENGTH + len(SOCKET)
    if length > LONGEST_SOCKET:
        says = f"paths of sockets there have {length} bytes; the system takes {LONGEST_SOCKET}"
        yield Check(name, WRONG, says, f"name a shorter one in {RUNTIME_DIR_ENV}")


def _place_to_be(name: str, path: str) -> Check:
    """Look whether the directory can be made; only its last part is."""
    parent = os.path.dirname(path) or "."  # noqa: PTH120 - as clients read it
    if os.access(parent, os.W_OK | os.X_OK):
        return Check(name, FINE, f"{show_path(path)} is made at the first event")
    says = f"{show_path(path)} is not there, and cannot be made in {show_path(parent)}"
    return Check(name, WRONG, says, f"name a directory of your own in {RUNTIME_DIR_ENV}")


def _space(path: str) -> int:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return LEAST_SPACE


def _look_at_switch(diagnosis: Diagnosis) -> Iterator[Check]:
    value = diagnosis.environ.get(WORKER_ENV)
    if value == "off":
        yield Check(WORKER_ENV, NOTE, "it is off: every hook runs cold", f"unset {WORKER_ENV}")
    elif value not in (None, "", "on"):
        says = f"{printable(value)!r} means nothing, so workers are used"
        yield Check(
            WORKER_ENV, NOTE, says, f"write {WORKER_ENV}=off to run every hook cold, or unset it"
        )


# -- the workers


def _look_at_workers(diagnosis: Diagnosis) -> Iterator[Check]:
    name = "worker"
    if not any(server.status for server in diagnosis.servers):
        yield Check(name, FINE, "none runs; the next event starts one")
    for server in diagnosis.servers:
        path = f"{show_path(server.base)}{SOCKET}"
        if server.status is not None:
            yield from _look_at_server(server.status)
        elif server.is_stale:
            says = f"{path} is stale: {server.problem}"
            yield Check(name, FINE, f"{says}; the next event starts a new one there")
        else:
            yield Check(name, NOTE, f"{path}: {server.problem}", "anyhook worker stop --all")


def _look_at_server(status: Mapping[str, Any]) -> Iterator[Check]:
    events = status["events"]
    says = (
        f"{status['pid']}, {show_path(str(status['hook']))}, "
        f"{show_path(str(status['python']))}, since {format_time(status['since'])}: "
        f"{events['warm']} events warm, {events['cold']} cold"
    )
    memory = format_memory(status["memory_kib"])
    yield Check("worker", FINE, f"{says}, {memory}" if memory else says)
    if status["version"] != __version__:
        says = f"{status['pid']} is of anyhook {printable(str(status['version']))}"
        yield Check("worker", NOTE, f"{says}; it is replaced at the next event")
    yield from (Check("ran cold", NOTE, line) for line in summarize_cold(status["cold"]))


def _look_at_logs(diagnosis: Diagnosis) -> Iterator[Check]:
    for path in list_logs(diagnosis.directory):
        try:
            lines = read_user_file(path, LARGEST_LOG).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        last = printable(lines[-1]) if lines else "it is empty"
        do = "report what is in it, and remove it"
        yield Check("bug", NOTE, f"a worker failed, see {show_path(path)}: {last}", do)


# -- the hooks


def _look_at_hooks(diagnosis: Diagnosis) -> Iterator[Check]:
    found = [check for agent in CODING_AGENTS for check in _hooks_of(diagnosis, agent)]
    yield from dict.fromkeys(found)
    if not found:
        says = f"no settings of {show_path(str(diagnosis.project))} run a hook file"
        yield Check("hooks", FINE, says, "write one and wire it in: anyhook init")


def _hooks_of(diagnosis: Diagnosis, agent: str) -> Iterator[Check]:
    engine = Engine.load(
        diagnosis.project, agent=agent, environ=diagnosis.environ, on_message=discard
    )
    for handler in (h for d in engine.definitions for h in d.handlers):
        files = hook_files(engine, handler)
        if handler.kind != "command" or not files:
            continue
        place = show_place(handler.place, engine.project_dir)
        name = f"{engine.agent.title}, {show_path(str(files[0]), engine.project_dir)} ({place})"
        how = warm_command(handler)
        missing = _missing(how, diagnosis.environ) if how else ""
        if missing:
            says = f"there is no program {missing}, so the hook does not run"
            yield Check(name, WRONG, says, _install(files[0], engine, handler))
        elif how is not None:
            is_native = Path(how.program).name == NATIVE
            by = "" if is_native else ", by way of an interpreter"
            yield Check(name, FINE, f"through the worker{by}")
        else:
            says = "starts an interpreter on every event"
            yield Check(name, NOTE, says, _install(files[0], engine, handler))


def _missing(how: HookCommand, environ: Mapping[str, str]) -> str:
    """Name the program that a command needs and that is not there; empty if all are."""
    needed = [name for name in (how.program, how.python) if name and "$" not in name]
    return next((n for n in needed if not _is_there(which(n, environ))), "")


def _is_there(program: str) -> bool:
    return os.access(program, os.F_OK if program.endswith(".py") else os.X_OK)


def _install(file: Path, engine: Engine, handler: HandlerSpec) -> str:
    """Write the command that wires a hook file in anew."""
    scope = " --scope user" if handler.layer is Layer.USER else ""
    shown = show_path(str(file), engine.project_dir)
    return f"anyhook install {shown} --agent {engine.agent.name}{scope}"


def hook_files(engine: Engine, handler: HandlerSpec) -> list[Path]:
    """List the hook files, written with `anyhook.authoring`, that a command runs."""
    variables = {**engine.environ, **engine.guard.variables(), **handler.variables}
    try:
        named = named_files(handler, engine.project_dir, variables)
    except (OSError, ValueError):
        return []
    line = handler.command or " ".join(handler.argv or ())
    return [file for file in named if is_portable(line, [file])]


def warm_command(handler: HandlerSpec) -> HookCommand | None:
    """Read the command of a handler; `None` if it runs no hook file through a worker."""
    if handler.argv is not None:
        return read_command(handler.argv)
    return read_line(handler.command or "")


LOOKS = (
    _look_at_anyhook,
    _look_at_client,
    _look_at_directory,
    _look_at_switch,
    _look_at_workers,
    _look_at_logs,
    _look_at_hooks,
)
"""The checks, in the order in which they are reported."""
