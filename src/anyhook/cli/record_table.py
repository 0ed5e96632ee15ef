"""What `anyhook record` adds to settings files, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from anyhook.cli.editing import parsed, print_difference
from anyhook.cli.output import console, make_table, show_path
from anyhook.cli.record_settings import is_recorder, is_tapped
from anyhook.settings.layout import iter_definitions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.cli.editing import Edit
    from anyhook.cli.record_settings import RecordingEdit


class Recorded(NamedTuple):
    """What recording has added to a settings file.

    Attributes:
        events: Number of events with a recorder.
        recorders: Number of recorders.
        taps: Number of wrapped commands.
    """

    events: int = 0
    recorders: int = 0
    taps: int = 0


def show_record_edits(edits: Iterable[RecordingEdit], *, difference: bool, is_asked: bool) -> None:
    """Print what is added to each file or removed from it.

    Args:
        edits: The edits.
        difference: Print the lines that change, too.
        is_asked: Whether the user is asked whether to write them.
    """
    out = console()
    table = make_table("agent", "file", "events", "hooks", "wrapped commands", no_wrap=("agent",))
    for heading in table.columns[2:]:
        heading.justify = "right"
    changed: list[Edit] = []
    for edit in edits:
        one = edit.edit
        changes = [_change(after - before) for before, after in zip(*_both(one), strict=True)]
        path = show_path(str(one.path))
        table.add_row(one.agent.title, Text(path), *(changes if one.changes else ["as it is"]))
        for companion in edit.companions:
            if companion.changes:
                table.add_row(one.agent.title, Text(show_path(str(companion.path))), "", "", "")
        changed += [file for file in (one, *edit.companions) if file.changes]
    if table.row_count:
        out.print(table)
    if difference:
        for file in changed:
            print_difference(out, file)
    elif changed and is_asked:
        out.print("To see the lines that change: --diff", style="dim")


def _both(edit: Edit) -> tuple[Recorded, Recorded]:
    """Return what a file has of recording before and after an edit."""
    return (
        count_recorded(edit.agent, edit.before or "", edit.path),
        count_recorded(edit.agent, edit.after or "", edit.path),
    )


def count_recorded(agent: AgentSpec, text: str, path: Path) -> Recorded:
    """Count what recording has added to a settings file.

    Raises:
        SettingsError: If the text has not the format of its name.
    """
    events: set[str] = set()
    recorders = taps = 0
    for definition in iter_definitions(agent, parsed(text, path)):
        for handler in definition.handlers:
            if is_recorder(handler.value):
                events.add(definition.event)
                recorders += 1
            taps += is_tapped(agent, handler.written)
    return Recorded(len(events), recorders, taps)


def _change(number: int) -> str:
    return f"{number:+d}" if number else "-"
