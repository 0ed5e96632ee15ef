"""`anyhook worker doctor`: whether hooks run as fast as they can here, and what to do if not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from anyhook import __version__
from anyhook.agents import CODING_AGENTS
from anyhook.checks.settings import companion_files
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import RESULTS
from anyhook.cli.options import HERE, AsJson, Project
from anyhook.cli.output import console, print_json
from anyhook.cli.render import show_place
from anyhook.cli.worker import format_memory, format_time, server_json, summarize_cold
from anyhook.engine.engine import Engine
from anyhook.engine.hook_files import files_of
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.files import read_user_file
from anyhook.manage.paths import show_path
from anyhook.manage.scope import existing_project
from anyhook.migrate.commands import is_portable
from anyhook.model.definitions import HandlerSpec, each_handler
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.companions import find_companion
from anyhook.worker.client import RUNTIME_DIR_ENV, SOCKET, WORKER_ENV, which
from anyhook.worker.commands import SIBLING, is_native, native_client, read_command, read_line
from anyhook.worker.control import ServerInfo, find_runtime_directory, list_logs, list_servers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FINE, NOTE, WRONG = "fine", "note", "wrong"
NAME_LENGTH = 16
"""Characters of a socket's name without the suffix."""
MAX_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
"""Bytes of the path of a socket that the system takes."""
MAX_LOG_SIZE = 16 * 1024 * 1024
"""Bytes of the log of a worker that are read."""
CLIENT_TIMEOUT = 10.0
"""Seconds that the native program may take to end."""
OTHER_DIRECTORY = f"name a directory of your own in {RUNTIME_DIR_ENV}"


class Check(NamedTuple):
    """The result of one check."""

    name: str
    state: str
    """`fine`; `note`: it works, and could work better; `wrong`: it does not work."""
    says: str
    do: str = ""
    """What to do about it; empty if there is nothing to do."""


class Diagnosis:
    """What is checked: the hooks of a project that are started with an environment."""

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

    @cached_property
    def engines(self) -> list[Engine]:
        """The hooks of every agent."""
        return [
            Engine.load(self.project, agent=name, environ=self.environ, on_message=discard)
            for name in CODING_AGENTS
        ]


def doctor(project: Project = HERE, as_json: AsJson = False) -> int:
    """Look whether hooks run warm here, and what to do if not.

    It looks at the installation, at the workers and why they sent hooks away, and at every hook
    file that the settings of the project, of its user and of the system run, for every agent.
    Exits with 1 if something does not work.

    For example:

        anyhook worker doctor
        anyhook worker doctor --project ~/code/app --json
    """
    diagnosis = Diagnosis(existing_project(project), os.environ)
    checks: list[Check] = []
    for look in LOOKS:
        checks.extend(look(diagnosis))
    is_wrong = any(check.state == WRONG for check in checks)
    if as_json:
        print_json(
            {
                "ok": not is_wrong,
                "checks": [check._asdict() for check in checks],
                "workers": list(map(server_json, diagnosis.servers)),
            }
        )
        return PROBLEMS if is_wrong else OK
    out = console()
    for check in checks:
        mark, style = RESULTS[check.state]
        head = Text.assemble((mark, style), f" {check.name}: ", (check.says, ""))
        out.print(head, soft_wrap=True)
        if check.do:
            out.print(Text(f"  → {check.do}", style="dim"), soft_wrap=True)
    return PROBLEMS if is_wrong else OK


# -- what is installed


def _look_at_installation(_diagnosis: Diagnosis) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    says = f"{__version__}, with Python {version} at {show_path(sys.executable)}"
    yield Check("anyhook", FINE, says)
    name = "native program"
    path = native_client()
    if path is None:
        yield Check(
            name,
            NOTE,
            "there was no C compiler when anyhook was installed; every hook runs cold",
            "install gcc or clang, and then anyhook again: pip install --force-reinstall anyhook",
        )
        return
    try:
        process = subprocess.run([path], capture_output=True, timeout=CLIENT_TIMEOUT, check=False)
        is_alone = SIBLING.encode() in process.stderr  # it reports that its script is missing
        problem = "" if is_alone else f"it ends with {process.returncode}"
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
    place = show_path(path)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        parent = os.path.dirname(path) or "."  # noqa: PTH120 - as clients read it
        if os.access(parent, os.W_OK | os.X_OK):
            yield Check(name, FINE, f"{place} is made at the first event")
        else:
            says = f"{place} is not there, and cannot be made in {show_path(parent)}"
            yield Check(name, WRONG, says, OTHER_DIRECTORY)
    except OSError as error:
        yield Check(name, WRONG, f"{place}: {error.strerror}", OTHER_DIRECTORY)
    else:
        mode = stat.S_IMODE(status.st_mode)
        problem, do = "", OTHER_DIRECTORY
        if not stat.S_ISDIR(status.st_mode):
            problem = "it is not a directory"
        elif status.st_uid != os.getuid():
            problem = f"it belongs to user {status.st_uid}"
        elif mode & 0o077:
            problem = f"it is open to others (mode {mode:04o}), so no worker is used"
            do = f"chmod 700 {place}"
        elif not os.access(path, os.W_OK | os.X_OK):
            problem = "it cannot be written"
        if problem:
            yield Check(name, WRONG, f"{place}: {problem}", do)
        else:
            yield Check(name, FINE, f"{place}, yours alone, mode {mode:04o}")
    length = len(os.fsencode(path)) + len("/") + NAME_LENGTH + len(SOCKET)
    if length > MAX_SOCKET_PATH:
        says = f"paths of sockets there have {length} bytes; the system takes {MAX_SOCKET_PATH}"
        yield Check(name, WRONG, says, f"name a shorter one in {RUNTIME_DIR_ENV}")


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
        status = server.status
        if status is not None:
            events = status["events"]
            says = (
                f"{status['pid']}, {show_path(str(status['hook']))}, "
                f"{show_path(str(status['python']))}, since {format_time(status['since'])}: "
                f"{events['warm']} events warm, {events['cold']} cold"
            )
            memory = format_memory(status["memory_kib"])
            if memory:
                says += f", {memory}"
            yield Check(name, FINE, says)
            if status["version"] != __version__:
                says = f"{status['pid']} is of anyhook {printable(str(status['version']))}"
                yield Check(name, NOTE, f"{says}; it is replaced at the next event")
            yield from (Check("ran cold", NOTE, line) for line in summarize_cold(status["cold"]))
        elif server.is_stale:
            says = f"{path} is stale: {server.problem}"
            yield Check(name, FINE, f"{says}; the next event starts a new one there")
        else:
            yield Check(name, NOTE, f"{path}: {server.problem}", "anyhook worker stop --all")


def _look_at_logs(diagnosis: Diagnosis) -> Iterator[Check]:
    for path in list_logs(diagnosis.directory):
        try:
            lines = read_user_file(path, MAX_LOG_SIZE).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        last = printable(lines[-1]) if lines else "it is empty"
        do = "report what is in it, and remove it"
        yield Check("bug", NOTE, f"a worker failed, see {show_path(path)}: {last}", do)


# -- the hooks


def _look_at_hooks(diagnosis: Diagnosis) -> Iterator[Check]:
    checks: dict[Check, None] = {}  # settings of several agents may have the same hook
    for engine in diagnosis.engines:
        for _, handler in each_handler(engine.definitions):
            if handler.kind != "command":
                continue
            try:
                named = files_of(engine, handler)
            except (OSError, ValueError):
                continue
            line = handler.command_line
            # Hook files that are written with `anyhook.authoring`.
            files = [file for file in named if is_portable(line, [file])]
            if files:
                checks[_check_hook(diagnosis, engine, handler, files[0])] = None
    yield from checks
    if not checks:
        says = f"no settings of {show_path(str(diagnosis.project))} run a hook file"
        yield Check("hooks", FINE, says, "write one and wire it in: anyhook init")


def _check_hook(diagnosis: Diagnosis, engine: Engine, handler: HandlerSpec, file: Path) -> Check:
    place = show_place(handler.place, engine.project_dir)
    name = f"{engine.agent.title}, {show_path(str(file), engine.project_dir)} ({place})"
    if handler.argv is None:
        command = read_line(handler.command or "")
    else:
        command = read_command(handler.argv)
    if command is None:
        says = "starts an interpreter on every event"
        return Check(name, NOTE, says, _install(file, engine, handler))
    for program in (command.program, command.python):
        if program and "$" not in program and not _is_there(which(program, diagnosis.environ)):
            says = f"there is no program {program}, so the hook does not run"
            return Check(name, WRONG, says, _install(file, engine, handler))
    program = which(command.program, diagnosis.environ)
    if is_native(program):
        return Check(name, FINE, "through the worker")
    says = f"{show_path(program)} is not the native program of this installation"
    return Check(name, NOTE, says, _install(file, engine, handler))


def _look_at_companions(diagnosis: Diagnosis) -> Iterator[Check]:
    """Look at the generated files without which an agent runs no hooks."""
    for engine in diagnosis.engines:
        for problem in companion_files(engine):
            name = engine.agent.title
            if problem.place is not None:
                name += f", {show_path(problem.place.file, engine.project_dir)}"
            message, _, remedy = problem.message.partition("; ")
            yield Check(name, WRONG, message, remedy)
        # The programs that companions start.
        files = [file for file in engine.hooks.files if file.definitions]
        for file in files:
            for companion in engine.agent.settings.companions:
                location = find_companion(companion, file.source.path)
                if not location.command:
                    continue
                program = location.command[0]
                name = f"{engine.agent.title}, {show_path(str(location.path), engine.project_dir)}"
                if _is_there(which(program, diagnosis.environ)):
                    yield Check(name, FINE, f"sends events to {program}")
                else:
                    says = f"there is no program {program}, so every tool is denied"
                    yield Check(name, WRONG, says, "pipx install anyhook")


def _is_there(program: str) -> bool:
    return os.access(program, os.X_OK)


def _install(file: Path, engine: Engine, handler: HandlerSpec) -> str:
    """Write the command that wires a hook file in anew."""
    scope = " --scope user" if handler.layer is Layer.USER else ""
    place = show_path(str(file), engine.project_dir)
    return f"anyhook add {place} --agent {engine.agent.name}{scope}"


LOOKS = (
    _look_at_installation,
    _look_at_directory,
    _look_at_switch,
    _look_at_workers,
    _look_at_logs,
    _look_at_hooks,
    _look_at_companions,
)
"""The checks, in the order in which they are reported."""
