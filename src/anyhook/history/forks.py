"""Transcripts that begin with a copy of another session: a user has forked it.

Such a file repeats the records of the original and does not always name it. The events that both
have belong to the original, whichever of the two was written last.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from anyhook.agents.transcripts import transcript_formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LATEST = float("inf")


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript that was found."""

    agent: str
    path: Path
    size: int
    """Bytes."""
    mtime: int
    """Time of the last change, in nanoseconds."""
    inode: int


def find_originals(files: Iterable[TranscriptFile]) -> dict[TranscriptFile, TranscriptFile]:
    """Return each fork with its original, among all transcripts, also those not read this time."""
    by_directory = attrgetter("agent", "path.parent")
    originals: dict[TranscriptFile, TranscriptFile] = {}
    for _, group in groupby(sorted(files, key=by_directory), by_directory):
        families: dict[str, list[TranscriptFile]] = {}
        for file in group:
            events = transcript_formats()[file.agent].read(file.path, lambda _problem: None)
            first = next(events, None)
            if first is not None and first.key:
                families.setdefault(first.key, []).append(file)
        for family in families.values():
            if len(family) > 1:
                original = _original_of(family)
                originals |= {file: original for file in family if file is not original}
    return originals


def keys_of(file: TranscriptFile) -> set[str]:
    """Return the keys of all events of a transcript."""
    return set(_times_by_key(file))


def _original_of(family: Sequence[TranscriptFile]) -> TranscriptFile:
    """Return the transcript that the others have copied.

    A copy is made when its session goes on, with everything that the original has then. So what
    the original has for itself came later than the first event that a copy has for itself.
    """
    times = {file: _times_by_key(file) for file in family}

    def first_own_time(file: TranscriptFile) -> float:
        others = {key for other in family if other is not file for key in times[other]}
        own = [time for key, time in times[file].items() if key not in others]
        return min(own, default=LATEST)

    return max(family, key=lambda file: (first_own_time(file), -file.mtime))


def _times_by_key(file: TranscriptFile) -> dict[str, float]:
    events = transcript_formats()[file.agent].read(file.path, lambda _problem: None)
    return {event.key: event.time or 0.0 for event in events}
