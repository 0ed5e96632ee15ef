"""What keeps the command of a hook from being started: no shell, no script, no program."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.expressions import expression
from anyhook.file_errors import explain_error, may_exist
from anyhook.handlers.environment import add_variables
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.processes.programs import find_program
from anyhook.shell import read_commands
from anyhook.shell.path_variables import find_variables
from anyhook.shell.programs import BUILTINS, base_name, find_shell
from anyhook.shell.runners import WRAPPERS
from anyhook.shell.words import split_tokens
from anyhook.trust.scripts import missing_scripts, program
from anyhook.worker.commands import PROGRAM, read_command, read_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.definitions import HandlerSpec

_SAME_PATH = WRAPPERS - frozenset(
    "builtin busybox chroot command doas gosu pkexec su-exec sudo toybox".split()
)
"""Wrappers that look for a program on the `PATH` that they inherit."""
_FUNCTION = expression(r"\s*[\w-]+[ \t]*\([ \t]*\)")
"""The definition of a function at the beginning of a command line."""

_NAME = re.compile(r"[\w.+-]+")
MAX_SHEBANG = 256
"""Bytes of a first line that the system reads."""


def check_start(
    agent: AgentSpec,
    handler: HandlerSpec,
    project: Path,
    path_variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Report what keeps a command from being started: no shell, no script, no program."""
    if handler.kind != "command":
        return
    env = dict(environ)
    add_variables(env, handler.env)
    search_path = env.get("PATH")
    shells = agent.settings.shells_for(handler.options.get("shell", ""))
    if handler.argv is None and find_shell(shells, environ.get("PATH"), search_path) is None:
        names = " or ".join(dict.fromkeys(program for program, *_ in shells))
        yield _about(handler, "missing-shell", f"there is no {names} on the PATH to run it")
    empty = dict.fromkeys(variables_of_others(handler, path_variables), "")
    variables = {**empty, **path_variables}
    first = program(handler, project, variables)
    if first in WRAPPERS and handler.command is not None:
        first = _behind_wrappers(handler, project, variables) or first
    missing = missing_scripts(handler, project, variables)
    for path in missing:
        # A bare `x.py` is looked for on the PATH.
        if not isinstance(first, str) or path.name != first:
            yield _about(handler, "missing-script", _explain_missing(path))
    # `guard() { …; }; guard`
    is_function = _FUNCTION.match(handler.command or "") is not None
    if isinstance(first, str):
        is_known = is_function or first in BUILTINS
        if not is_known and find_program(first, env) is None:
            text = f"there is no program {first!r} on the PATH"
            if first == PROGRAM[0]:
                text += "; install it where the agent finds it: pipx install anyhook"
            yield _about(handler, "missing-program", text)
    elif first is not None and first not in missing:
        yield from _check_file(handler, first, env)
    python = Path(_python_of_worker(handler))
    if python.is_absolute():
        yield from _check_file(handler, python, env)


def _check_file(handler: HandlerSpec, file: Path, env: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Report what keeps a program that is named by its path from being started."""
    if not _exists(file):
        yield _about(handler, "missing-program", _explain_missing(file))
    elif file.is_dir():
        yield _about(handler, "missing-program", f"{file} is a directory, not a program")
    elif file.is_file() and not os.access(file, os.X_OK):
        text = f"{file} may not be executed; run: {shlex.join(('chmod', '+x', str(file)))}"
        yield _about(handler, "not-executable", text)
    elif file.is_file():
        problem = _missing_interpreter(file, env)
        if problem is not None:
            yield _about(handler, "missing-program", problem)


def _python_of_worker(handler: HandlerSpec) -> str:
    """Return the interpreter that a command names for a hook file; empty for none."""
    command = read_command(handler.argv) if handler.argv else read_line(handler.command or "")
    return (command.python or "") if command is not None else ""


def _missing_interpreter(script: Path, env: Mapping[str, str]) -> str | None:
    """Return why the system finds no interpreter for a script; `None` if it does."""
    try:
        with script.open("rb") as file:
            line = os.fsdecode(file.readline(MAX_SHEBANG))
    except OSError:
        return None
    if not line.startswith("#!"):
        return None
    interpreter, *arguments = line[2:].split(maxsplit=1) or [""]
    argument = arguments[0].strip() if arguments else ""
    if argument.startswith("-"):
        return None
    if line.endswith("\r\n"):
        text = "has the line ends of Windows, with which the system finds no interpreter"
        return f"{script} {text}; save it with those of Unix"
    is_name = base_name(interpreter) == "env" and _NAME.fullmatch(argument)
    if is_name and find_program(argument, env) is None:
        return f"{script} is run by {argument!r}, which is not on the PATH"
    if interpreter.startswith("/") and not _exists(Path(interpreter)):
        return f"{script} is run by {interpreter!r}, which does not exist"
    return None


def _exists(path: Path) -> bool:
    """Return whether a path leads to something that this user can reach."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises for a closed directory


def _explain_missing(path: Path) -> str:
    try:
        path.stat()
    except OSError as error:
        if may_exist(path):
            return f"{path} cannot be read: {explain_error(path, error)}"
    return f"{path} does not exist"


def _behind_wrappers(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str]
) -> str | Path | None:
    """Return what `env`, `timeout` and the like start; `None` if they look for it elsewhere."""
    first = next(iter(read_commands(handler.command or "")), None)
    if first is None or (first.program and not first.certain):
        return None
    if not _SAME_PATH.issuperset(first.chain) or "PATH=" in first.source:
        return None
    argv = first.arguments
    if first.program:
        # The line names the program with its directory.
        words = split_tokens(first.source)
        argv = (*[word for word in words if base_name(word) == first.program][:1], *argv)
    return program(handler.replace(command=None, argv=argv), project, variables)


def variables_of_others(handler: HandlerSpec, known: Collection[str]) -> set[str]:
    """Return the variables of a command that only other agents set; here they are empty."""
    command = handler.command or ""
    names = {
        use.name
        for use in find_variables(command)
        # In single quotes it is for another program, such as the shim, which sets it.
        if use.quote != "'" and f"{use.name}=" not in command
    }
    names.difference_update(known, handler.env)
    if names:
        # Most commands do not come here, so the tables of the other agents are not imported.
        names &= {name for agent in CODING_AGENTS for name in get_agent(agent).hook_environment}
    return names


def _about(handler: HandlerSpec, code: str, message: str) -> Diagnostic:
    return diagnose(code, f"{handler.label!r}: {message}", handler.place, handler=handler.label)
