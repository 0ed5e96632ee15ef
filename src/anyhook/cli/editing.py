"""Editing settings files for people: the difference is shown, they are asked, and it is written."""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from anyhook.atomic_write import replace_file
from anyhook.cli.output import console, show_path
from anyhook.errors import SettingsError, UsageError
from anyhook.files import read_user_file
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.edit import stay_inside, write_atomically
from anyhook.settings.jsonc import JsonSyntaxError, line_starts, parse, strip_comments
from anyhook.settings.sources import SIZE_LIMIT, Location, places

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

LAYERS = {"project": Layer.PROJECT, "local": Layer.LOCAL, "user": Layer.USER}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How the user wants it: without asking, without writing, for programs."""

    yes: bool
    dry_run: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class StarterFile:
    """A hook file that is to be written."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One settings file as it is and as it will be.

    Attributes:
        agent: Whose it is.
        path: The file.
        before: Its text; `None` if there is none.
        after: Its new text.
    """

    agent: AgentSpec
    path: Path
    before: str | None
    after: str

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return self.after != (self.before or "")


def settings_file(agent: AgentSpec, project: Path, scope: str) -> Path:
    """Return the file of an agent that a scope stands for.

    Raises:
        UsageError: If there is no such scope, or the agent has no file for it.
        SettingsError: If a link of the repository leads elsewhere.
    """
    if scope not in LAYERS:
        raise UsageError(f"--scope is {', '.join(LAYERS)}, not {scope!r}")
    layer = LAYERS[scope]
    location = Location.of(project, home_variable=agent.home_variable)
    found = next((path for own, path in places(agent, location) if own is layer), None)
    if found is None:
        raise UsageError(f"{agent.title} has no settings of the scope {scope!r}")
    if scope != "user":
        stay_inside(project, found)
    return found


def read_text(path: Path) -> str | None:
    """Return what a settings file holds; `None` if there is none.

    Raises:
        SettingsError: If it cannot be read, is no UTF-8 or no JSON with comments, or is too large
            to have been written by people.
    """
    try:
        found = read_user_file(path, SIZE_LIMIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        told = f"it cannot be read: {error.strerror}; it was not touched"
        raise SettingsError(told, path=str(path)) from error
    try:
        text = found.decode()
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"it cannot be read: it is not UTF-8 at byte {error.start}; it was not touched",
            path=str(path),
            line=found.count(b"\n", 0, error.start) + 1,
        ) from error
    parsed(text, path)
    return text


def parsed(text: str, path: Path) -> Any:
    """Return the value of a settings file; of one that holds nothing, an empty object.

    Raises:
        SettingsError: If it is no JSON with comments.
    """
    try:
        return parse(text, str(path)).value if strip_comments(text).strip() else {}
    except JsonSyntaxError as problem:
        line = sum(start <= problem.offset for start in line_starts(text))
        told = f"{problem}; it was not changed"
        raise SettingsError(told, path=str(path), line=line) from None


def list_at(text: str, where: tuple[str, ...], path: Path) -> Any:
    """Return what stands at some keys of a settings file; `None` if nothing does."""
    value = parsed(text, path)
    for key in where:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def write_edits(
    edits: list[Edit],
    wish: WriteOptions,
    starter: StarterFile | None = None,
    *,
    backup: bool = False,
) -> bool:
    """Show the differences, ask, and write.

    Args:
        edits: The files.
        wish: How the user wants it.
        starter: A new file beside them.
        backup: Keep what was there before in a file beside each.

    Returns:
        Whether anything was written.

    Raises:
        SettingsError: If a file changed meanwhile, is locked or cannot be written.
    """
    changed = [edit for edit in edits if edit.changes]
    if not wish.as_json:
        show_edits(edits, starter)
    if wish.dry_run or not (changed or starter) or not agreed(wish):
        return False
    if starter:
        starter.path.parent.mkdir(exist_ok=True)
        replace_file(starter.path, starter.text.encode())
    kept = [
        write_atomically(edit.path, edit.after, expected=edit.before, backup=backup)
        for edit in changed
    ]
    if not wish.as_json:
        written = [*([starter.path] if starter else []), *(edit.path for edit in changed)]
        for path in written:
            console().print(Text.assemble(("written", "green"), f"  {show_path(str(path))}"))
        for copy in filter(None, kept):
            console().print(f"before   {show_path(str(copy))}", markup=False)
    return True


def agreed(wish: WriteOptions) -> bool:
    """Ask, unless that was answered beforehand.

    Raises:
        UsageError: If nobody is there to ask.
    """
    if wish.yes:
        return True
    if wish.as_json or sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody is there to ask; look with --dry-run, then use --yes")
    return typer.confirm("Write this?", default=False)


def show_edits(edits: list[Edit], starter: StarterFile | None) -> None:
    """Show what would change, file by file."""
    if starter:
        console().print(f"a new file {show_path(str(starter.path))}", markup=False)
    for edit in edits:
        if edit.changes:
            _show(edit)
        else:
            console().print(f"{show_path(str(edit.path))} stays as it is", markup=False)


def _show(edit: Edit) -> None:
    name = show_path(str(edit.path))
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(),
        edit.after.splitlines(),
        name if edit.before is not None else os.devnull,
        name,
        lineterm="",
        n=2,
    )
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        console().print(Text(printable(line), style=styles.get(line[:1], "")), soft_wrap=True)
