"""What starts hook files in the settings of agents."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from anyhook.settings.companions import SHARED_PROGRAM
from anyhook.worker.commands import PROGRAM, PYTHON, prefix

SHARED_PYTHON = "python3"
"""The interpreter in settings that are shared by all users of a project."""


def choose_launcher(python: str | None, scope: str, *, cold: bool) -> tuple[str, ...]:
    """Return the words of the command before the hook file.

    In shared settings they mean the same on every machine. In the user's own settings they are
    absolute paths, because an agent need not have the `PATH` of this shell.
    """
    is_cold = cold or os.name != "posix"
    if scope == "project" and python is None:
        return (SHARED_PYTHON,) if is_cold else PROGRAM
    interpreter = python or sys.executable
    if is_cold:
        return (interpreter,)
    if Path(interpreter).is_absolute():
        return prefix(interpreter)
    # A program in the environment of this interpreter is not on the PATH of the agent.
    program = shutil.which(PROGRAM[0])
    is_global = program is not None and not Path(program).is_relative_to(sys.prefix)
    return (*PROGRAM, PYTHON, interpreter) if is_global else (interpreter,)


def launcher_problem(launcher: tuple[str, ...]) -> str | None:
    """Return what the command needs and this machine lacks."""
    if launcher[:1] == SHARED_PROGRAM and not shutil.which(PROGRAM[0]):
        return (
            "the command starts anyhook, but anyhook is not on the PATH here; install it where the "
            "agent finds it, for example with: pipx install anyhook"
        )
    if launcher == (SHARED_PYTHON,):
        python = shutil.which(SHARED_PYTHON)
        command = [python or SHARED_PYTHON, "-c", "import anyhook.authoring"]
        if python is None or subprocess.run(command, capture_output=True, check=False).returncode:
            return (
                f"the {SHARED_PYTHON} on the PATH here has no anyhook; install it there, for "
                f"example with: {SHARED_PYTHON} -m pip install anyhook"
            )
    return None
