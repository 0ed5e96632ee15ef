"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.dialects import AGENTS, get_dialect
from anyhook.errors import UsageError
from anyhook.settings.sources import Surroundings, places

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.engine.engine import Engine

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


def print_other_agents(out: Console, engine: Engine) -> None:
    """Tell whose settings are here when the dialect that was asked for has none."""
    around = Surroundings.of(engine.project_dir)
    for name in AGENTS:
        dialect = get_dialect(name)
        found = [path for _, path in places(dialect, around) if path.is_file()]
        if dialect is not engine.dialect and found:
            out.print(f"There are settings of {dialect.title}; see them with --dialect {name}.")
