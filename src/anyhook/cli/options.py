"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyhook.errors import UsageError

Project = Annotated[
    Path, typer.Option("--project", "-C", help="Directory of the project.", show_default="here")
]
DialectName = Annotated[
    str,
    typer.Option(
        "--dialect", help="Whose settings and wire format: gemini, claude, terminai or generic."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
HERE = Path()


def existing_project(project: Path) -> Path:
    """Return the absolute directory.

    Raises:
        UsageError: If it is no directory.
    """
    try:
        if project.is_dir():
            return project.absolute()
    except (OSError, ValueError):  # the current directory is gone, or no path at all
        pass
    raise UsageError(f"there is no directory {str(project)!r}; give the project with --project")
