"""`anyhook history import` and `anyhook history export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.agents import get_agent
from anyhook.agents.transcripts import transcript_formats
from anyhook.atomic_write import replacing
from anyhook.cli import OK
from anyhook.cli.event_filters import notes_on, open_history, print_notes, with_recorded_names
from anyhook.cli.history import (
    Agent,
    EventName,
    Failed,
    HookLabel,
    Outcome,
    Project,
    Refused,
    SessionName,
    Tool,
)
from anyhook.cli.options import AsJson, Since
from anyhook.cli.output import console, print_json
from anyhook.cli.render import ProgressBar, print_problems, progress
from anyhook.errors import UsageError
from anyhook.history.describe import parse_since
from anyhook.history.export import export_jsonl, export_parquet
from anyhook.history.filters import Filter
from anyhook.history.imports import find_transcripts, import_transcripts
from anyhook.history.search import iterate
from anyhook.model.text import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.history.events import RecordedEvent

MEGABYTE = 1_000_000
SHOWN_EVENTS = 1000
"""Events after which the progress of an export is shown again."""
EXPORT_SUFFIXES = (".jsonl", ".parquet")


def import_sessions(
    agent: Agent = "",
    as_json: AsJson = False,
) -> int:
    """Read the sessions that agents have left on disk, as far as they are new.

    What a transcript does not hold is marked as reconstructed. Nothing is changed, and nothing
    leaves this machine. Exits with 1 if a part of a transcript could not be read.

    For example:

        anyhook history import
        anyhook history import --agent codex
    """
    agents = [agent] if agent else []
    files = find_transcripts(Path.home(), os.environ, agents)
    size = sum(file.size for file in files)
    with open_history() as store, progress("reading transcripts", size) as bar:
        imported = import_transcripts(store, files, on_file=lambda file: bar.advance(file.size))
    print_problems(imported.problems)
    if as_json:
        print_json(imported)
    else:
        out = console()
        events = count_of(imported.events, "new event")
        read = count_of(imported.files, "transcript")
        unchanged = count_of(imported.unchanged, "transcript")
        out.print(
            f"{events} from {read} ({imported.size / MEGABYTE:.1f} MB); {imported.known:,} were "
            f"known, {unchanged} unchanged"
        )
        if not files:
            names = [agent] if agent else transcript_formats()
            titles = ", ".join(get_agent(name).title for name in names)
            home = "your home directory"
            out.print(f"No transcript is in {home} where these agents write them: {titles}")
        if imported.events:
            out.print("To see them: anyhook history", style="dim")
    return 1 if imported.problems else OK


def export(
    output: Annotated[
        Path, typer.Argument(help="A file: .jsonl or .parquet; - for JSON lines on the output.")
    ],
    text: Annotated[str, typer.Option("--text", help="Only events with these words.")] = "",
    tool: Tool = "",
    event: EventName = "",
    outcome: Outcome = "",
    hook: HookLabel = "",
    failed: Failed = False,
    refused: Refused = False,
    session: SessionName = "",
    project: Project = "",
    agent: Agent = "",
    since: Since = "",
    as_json: AsJson = False,
) -> int:
    """Write events with decisions and results to a file, for other programs and for backtests.

    The secrets were replaced when the events were stored.

    For example:

        anyhook history export events.parquet --since 90d
        anyhook history export - --outcome deny | jq .reason
    """
    is_stream = str(output) == "-"
    if not is_stream and output.suffix not in EXPORT_SUFFIXES:
        raise UsageError(f"{output}: the name ends with {' or '.join(EXPORT_SUFFIXES)}")
    if not is_stream and not output.parent.is_dir():
        raise UsageError(f"{output}: there is no directory {str(output.parent)!r}")
    with open_history() as store:
        named = Filter(
            text=text,
            agent=agent,
            event=event,
            tool=tool,
            verdict=outcome,
            hook=hook,
            session=session,
            since=parse_since(since),
            project=project,
            failed=failed,
            refused=refused,
        )
        chosen = with_recorded_names(named, store)
        with progress("writing", is_quiet=is_stream) as bar:
            events = _counted(iterate(store, chosen), bar)
            if is_stream:
                count = export_jsonl(events, sys.stdout)
            else:
                count = _export_to_file(events, output)
        if not count:
            print_notes(notes_on(chosen, store))
    if is_stream:
        return OK
    if as_json:
        print_json({"file": str(output), "events": count})
    else:
        console().print(f"{count_of(count, 'event')} in {output}")
    return OK


def _export_to_file(events: Iterator[RecordedEvent], output: Path) -> int:
    """Write a file, which is there when it is complete, and return the number of events."""
    with replacing(output) as path:
        if output.suffix == ".parquet":
            return export_parquet(events, path)
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            return export_jsonl(events, stream)


def _counted(events: Iterator[RecordedEvent], bar: ProgressBar) -> Iterator[RecordedEvent]:
    """Yield events, and show how many were written; how many there will be is not known before."""
    for number, event in enumerate(events):
        if number % SHOWN_EVENTS == 0:
            bar.show(text=f"{number:,} events")
        yield event
