"""Edits of settings files: show the difference, ask the user, write."""

from __future__ import annotations

import difflib
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer
from rich.text import Text

from anyhook.atomic_write import replace_file
from anyhook.cli.output import console, show_path
from anyhook.errors import SettingsError, UsageError
from anyhook.files import data_directory, locked, read_user_file
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.edit import read_settings
from anyhook.settings.formats import find_rejected, is_blank
from anyhook.settings.hookset import load_hooks
from anyhook.settings.jsonc import SettingsSyntaxError
from anyhook.settings.reader import rejected_message
from anyhook.settings.sources import SIZE_LIMIT, Location, own_places, written_file
from anyhook.settings.write import stay_inside, write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec

Parameters = ParamSpec("Parameters")
TURN_SECONDS = 120.0
"""Seconds that a command waits for other commands that edit settings."""
LAYERS = {"project": Layer.PROJECT, "local": Layer.LOCAL, "user": Layer.USER}
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a command that writes files."""

    yes: bool
    dry_run: bool
    as_json: bool


def one_at_a_time(command: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Let a command that edits settings wait until the one before it has written its files.

    A command reads the settings and writes them later. Of several commands at the same time all but
    one would find another text then, and give up. A command that asks the user holds up no other
    one: the question may be open for hours.

    Args:
        command: The command; `yes` says that it does not ask, `dry_run` that it does not write.
    """

    @wraps(command)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> int:
        if options.get("dry_run") or not options.get("yes", True):
            return command(*arguments, **options)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(data_directory() / "edits", timeout=TURN_SECONDS))
            except TimeoutError as error:
                message = "another process of anyhook edits settings for minutes; try again later"
                raise SettingsError(message, path=str(error.filename)) from error
            except OSError:
                pass  # what the command writes is still compared with what it has read
            return command(*arguments, **options)

    return call


@dataclass(frozen=True, slots=True)
class StarterFile:
    """A new hook file that is to be written."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The edit of one settings file.

    Attributes:
        agent: The agent whose settings it holds.
        path: The file.
        before: Its text; `None` if it does not exist.
        after: Its new text; `None` to remove it.
    """

    agent: AgentSpec
    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether the text changes."""
        if self.after is None:
            return self.before is not None
        return self.after != (self.before or "")


def settings_file(agent: AgentSpec, project: Path, scope: str) -> Path:
    """Return the settings file of an agent for a scope.

    If it does not exist, and the hooks are in a file of another format beside it, that one.

    Raises:
        UsageError: If there is no such scope, or the agent has no file for it.
        SettingsError: If a link of the repository leads out of the project.
    """
    if scope not in LAYERS:
        raise UsageError(f"--scope is {', '.join(LAYERS)}, not {scope!r}")
    location = Location.of(project, home_variable=agent.home_variable)
    path = written_file(agent, location, LAYERS[scope])
    if path is None:
        raise UsageError(f"{agent.title} has no settings of the scope {scope!r}")
    if not path.exists():
        path = _file_with_hooks(agent, location, path) or path
    if scope != "user":
        stay_inside(project, path)
    return path


def _file_with_hooks(agent: AgentSpec, location: Location, missing: Path) -> Path | None:
    """Return a file with hooks in another format, in the directory of one that is missing."""
    beside = [
        path
        for _, path in own_places(agent, location)
        if path.parent == missing.parent and path.suffix != missing.suffix and path.exists()
    ]
    if not beside:
        return None
    for file in load_hooks(agent, location).files:
        if file.source.path in beside and file.definitions:
            return file.source.path
    return None


def read_text(path: Path) -> str | None:
    """Return the text of a settings file; `None` if there is none.

    Raises:
        SettingsError: If it cannot be read, is not UTF-8, has not the format of its name, does
            not hold an object, or is too large to have been written by people.
    """
    try:
        content = read_user_file(path, SIZE_LIMIT)
        text = content.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"it cannot be read: {error.strerror}; it was not changed"
        raise SettingsError(message, path=str(path)) from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"it cannot be read: it is not UTF-8 at byte {error.start}; it was not changed",
            path=str(path),
            line=content.count(b"\n", 0, error.start) + 1,
        ) from error
    parsed(text, path)
    return text


def parsed(text: str, path: Path) -> Any:
    """Return the value of a settings file; an empty object for a file without a value.

    Raises:
        SettingsError: If it has not the format of its name, or does not hold an object.
    """
    try:
        is_empty = is_blank(text, str(path))
    except SettingsSyntaxError:
        is_empty = False
    return {} if is_empty else read_settings(text, str(path)).value


def write_edits(
    edits: list[Edit],
    options: WriteOptions,
    starter: StarterFile | None = None,
    *,
    backup: bool = False,
    show: Callable[[], object] | None = None,
) -> bool:
    """Show the differences, ask the user, and write the files.

    Args:
        edits: The edits.
        options: The options of the command.
        starter: A new hook file to write with them.
        backup: Keep the former content of each file in a file beside it.
        show: Shows the edits in place of their differences.

    Returns:
        Whether anything was written.

    Raises:
        SettingsError: If a file changed meanwhile, is locked or cannot be written.
    """
    changed = [edit for edit in edits if edit.changes]
    if not options.as_json and show is not None:
        show()
    elif not options.as_json:
        _show_edits(edits, starter)
    if options.dry_run or not (changed or starter) or not _confirm(options):
        return False
    written: list[Path] = []
    backups: list[Path] = []
    if starter:
        starter.path.parent.mkdir(exist_ok=True)
        replace_file(starter.path, starter.text.encode())
        written.append(starter.path)
    removed: list[Path] = []
    for edit in changed:
        if edit.after is None:
            edit.path.unlink(missing_ok=True)
            removed.append(edit.path)
            continue
        copy = write_atomically(edit.path, edit.after, expected=edit.before, backup=backup)
        written.append(edit.path)
        if copy is not None:
            backups.append(copy)
    if not options.as_json:
        for edit in changed:
            _warn_of_rejected(edit)
        _show_written(written, removed, backups)
    return True


def _show_written(written: list[Path], removed: list[Path], backups: list[Path]) -> None:
    for path in written:
        console().print(Text.assemble(("written", "green"), f"  {show_path(str(path))}"))
    for path in removed:
        console().print(Text.assemble(("removed", "green"), f"  {show_path(str(path))}"))
    for path in backups:
        console().print(f"before   {show_path(str(path))}", markup=False)


def _warn_of_rejected(edit: Edit) -> None:
    """Report that the agent will ignore the file, because of what its user has written there."""
    if edit.after is None or edit.path.suffix != ".json":
        return
    if is_blank(edit.after, str(edit.path)):
        return
    rejected = find_rejected(read_settings(edit.after, str(edit.path)), edit.agent.rejected_json)
    if rejected is not None:
        place = f"{show_path(str(edit.path))}:{rejected.place.line}"
        message = f"{place}: {rejected_message(edit.agent, rejected)}"
        warning = Text.assemble(("warning  ", "yellow"), printable(message))
        console(stderr=True).print(warning, soft_wrap=True)


def _confirm(options: WriteOptions) -> bool:
    if options.yes:
        return True
    if options.as_json or sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask at; see the difference with --dry-run, then add --yes"
        )
    return typer.confirm("Write this?", default=False)


def _show_edits(edits: list[Edit], starter: StarterFile | None) -> None:
    if starter:
        console().print(f"a new file {show_path(str(starter.path))}", markup=False)
    for edit in edits:
        if edit.changes:
            print_difference(console(), edit)
        else:
            console().print(f"{show_path(str(edit.path))} stays as it is", markup=False)


def print_difference(out: Console, edit: Edit) -> None:
    """Print the lines that an edit changes."""
    name = show_path(str(edit.path))
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(),
        (edit.after or "").splitlines(),
        name if edit.before is not None else os.devnull,
        name if edit.after is not None else os.devnull,
        lineterm="",
        n=2,
    )
    for line in lines:
        style = DIFF_STYLES.get(line[:1], "")
        out.print(Text(printable(line), style=style), soft_wrap=True)
