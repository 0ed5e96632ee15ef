"""Paths for people."""

from __future__ import annotations

from pathlib import Path

from anyhook.model.text import printable


def show_path(path: str | Path, project: Path | None = None) -> str:
    """Return a path for people: relative to the project, or with `~` for the home."""
    if project is not None and Path(path).is_relative_to(project):
        return printable(str(Path(path).relative_to(project)))
    if Path(path).is_relative_to(Path.home()):
        return printable(f"~/{Path(path).relative_to(Path.home())}")
    return printable(str(path))
