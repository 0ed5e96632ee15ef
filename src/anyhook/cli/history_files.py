"""`anyhook history import` and `anyhook history export`."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.cli import OK
from anyhook.cli.history import Agent, history
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, count_of, print_json
from anyhook.cli.past import open_history, print_problems
from anyhook.history.imports import find_transcripts, import_transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyhook.history.imports import TranscriptFile

MEGABYTE = 1_000_000


@history.command("import")
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
    files = find_transcripts(Path.home(), os.environ, [agent] if agent else [])
    with open_history() as store, _progress(files) as on_file:
        done = import_transcripts(store, files, on_file=on_file)
    print_problems(done.problems)
    if as_json:
        print_json({name: getattr(done, name) for name in done.__slots__})
    else:
        out = console()
        out.print(
            f"{count_of(done.events, 'new event')} from {count_of(done.files, 'transcript')}"
            f" ({done.size / MEGABYTE:.1f} MB); {done.known:,} were known,"
            f" {count_of(done.unchanged, 'transcript')} unchanged"
        )
        if done.events:
            out.print("To see them: anyhook history", style="dim")
    return 1 if done.problems else OK


@contextmanager
def _progress(files: list[TranscriptFile]) -> Iterator[Callable[[TranscriptFile], Any]]:
    """Show how many bytes of the transcripts were read."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    out = console(stderr=True)
    with Progress(*columns, console=out, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("reading transcripts", total=sum(file.size for file in files))
        yield lambda file: bar.advance(task, file.size)
