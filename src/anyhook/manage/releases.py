"""Which release of an agent is installed, without starting it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents.program import get_program
from anyhook.files import read_user_file

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE_LEVELS = 4
"""Directories above a program in which its package may be."""
MAX_PACKAGE_FILE = 1024 * 1024
VERSION = re.compile(r"\d+\.\d+\.\d+")


def installed_version(agent: str, environ: Mapping[str, str]) -> str:
    """Return the version of the installed program of an agent; empty if it is not known.

    Of a program that npm has installed it is in the `package.json` above it, of a native one in its
    path (`versions/2.1.330`).

    Args:
        agent: Name of the agent.
        environ: Environment, for `PATH`.
    """
    program = get_program(agent)
    for name in program.executables if program is not None else ():
        path = shutil.which(name, path=environ.get("PATH"))
        if path is not None:
            return _version_of(Path(path).resolve())
    return ""


def _version_of(program: Path) -> str:
    for directory in program.parents[:PACKAGE_LEVELS]:
        try:
            package = json.loads(read_user_file(directory / "package.json", MAX_PACKAGE_FILE))
        except (OSError, ValueError):
            continue
        version = package.get("version") if isinstance(package, dict) else None
        return version if isinstance(version, str) else ""
    parts = [VERSION.fullmatch(part) for part in program.parts]
    return next((match[0] for match in parts if match is not None), "")
