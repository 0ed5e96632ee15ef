"""Changes of settings files in commands: show the difference, ask the user, write."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from rich.text import Text

from anyhook.cli.colors import CAUTION, DIFFERENCES, GOOD
from anyhook.cli.output import console
from anyhook.cli.render import confirm
from anyhook.manage.paths import show_path
from anyhook.model.text import printable
from anyhook.settings.changes import Change, exclusive_edits, write_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console


Parameters = ParamSpec("Parameters")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a command that writes files."""

    yes: bool
    dry_run: bool
    as_json: bool


def one_at_a_time(command: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Let a command that changes settings wait until the one before it has written its files.

    A command that asks the user, without `yes`, holds up no other one: the question may be open for
    hours.
    """

    @wraps(command)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> int:
        if options.get("dry_run") or not options.get("yes", True):
            return command(*arguments, **options)
        with exclusive_edits():
            return command(*arguments, **options)

    return call


def apply_changes(
    changes: Sequence[Change],
    options: WriteOptions,
    *,
    backup: bool = False,
    show: Callable[[], object] | None = None,
) -> bool:
    """Show the differences, ask the user, and write the files; return whether any was written.

    Args:
        changes: The changes.
        options: The options of the command.
        backup: Keep the old content of each file in a file next to it.
        show: Shows the changes in place of their differences.

    Raises:
        SettingsError: If a file changed meanwhile, is locked or cannot be written; then none is
            changed.
        UsageError: If there is no terminal to ask at.
    """
    has_effect = any(change.has_effect for change in changes)
    if not options.as_json and show is not None:
        show()
    elif not options.as_json:
        _show_changes(changes)
    if options.dry_run or not has_effect:
        return False
    instead = "see the difference with --dry-run, then add --yes"
    question = "Write this?"
    if not confirm(question, is_agreed=options.yes, is_quiet=options.as_json, instead=instead):
        return False
    result = write_changes(changes, backup=backup)
    if options.as_json:
        return True
    for change in changes:
        if change.has_effect and change.rejection:
            warning = printable(show_path(change.rejection))
            text = Text.assemble(("warning  ", CAUTION), warning)
            console(stderr=True).print(text, soft_wrap=True)
    out = console()
    for path in result.written:
        out.print(Text.assemble(("written", GOOD), f"  {show_path(str(path))}"))
    for path in result.removed:
        out.print(Text.assemble(("removed", GOOD), f"  {show_path(str(path))}"))
    for path in result.backups:
        out.print(f"before   {show_path(str(path))}")
    return True


def _show_changes(changes: Sequence[Change]) -> None:
    out = console()
    for change in changes:
        path = show_path(str(change.path))
        if not change.is_shown:
            continue
        if not change.has_effect:
            out.print(f"{path}: nothing to change")
        elif change.agent is None and change.before is None:
            out.print(f"a new file {path}")
        elif change.agent is None and change.after is None:
            out.print(f"remove {path}")
        else:
            print_difference(out, change)


def print_difference(out: Console, change: Change) -> None:
    """Print the lines that change."""
    name = show_path(str(change.path))
    old_name = os.devnull if change.before is None else name
    new_name = os.devnull if change.after is None else name
    lines = difflib.unified_diff(
        (change.before or "").splitlines(),
        (change.after or "").splitlines(),
        old_name,
        new_name,
        lineterm="",
        n=2,
    )
    for line in lines:
        style = DIFFERENCES.get(line[:1], "")
        out.print(Text(printable(line), style=style), soft_wrap=True)
