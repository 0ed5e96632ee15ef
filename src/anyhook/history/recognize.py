"""What a file with events is: an export, conversations, or a transcript of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from anyhook.agents.transcripts import parse_line, transcript_formats
from anyhook.history.export import REQUIRED
from anyhook.history.trajectories import MESSAGE_LISTS, find_messages
from anyhook.model.json import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection

HEAD = 1 << 18
"""Bytes at the start of a file that show what it is, unless its first line is longer."""
FIRST_RECORDS = 50
"""Records of a transcript among which one has the members of its agent."""
PARQUET_MARK = b"PAR1"


class FileKind(StrEnum):
    """What a file holds."""

    EXPORT = "export"
    CONVERSATIONS = "conversations"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class Recognized:
    """What a file is."""

    kind: FileKind
    agent: str = ""
    """The agent of a transcript; empty for other kinds."""
    is_parquet: bool = False
    is_lines: bool = False
    """Whether it is one JSON object per line, so that it can be read in parts."""


def recognize_file(head: bytes) -> Recognized | None:
    """Return what a text file holds; `None` if it is nothing that can be read.

    `head` holds the first lines, or all of it; a cut last line is ignored.
    """
    for line in head.split(b"\n")[:FIRST_RECORDS]:
        record = parse_line(line)
        if not isinstance(record, dict):
            continue
        kind = recognize_members(record)
        if kind is not None:
            return Recognized(kind, is_lines=True)
        agent = _agent_of(record)
        if agent:
            return Recognized(FileKind.TRANSCRIPT, agent, is_lines=True)
    # It is not lines, but may be one document.
    try:
        document = parse_json(head.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    has_messages = False
    if isinstance(document, dict):
        agent = _agent_of(document)
        if agent:
            return Recognized(FileKind.TRANSCRIPT, agent)
        has_messages = bool(find_messages(document))
    elif isinstance(document, list) and document:
        first = document[0]
        has_messages = isinstance(first, list)
        if isinstance(first, dict):
            is_message = isinstance(first.get("role"), str)
            has_messages = is_message or bool(find_messages(first))
    return Recognized(FileKind.CONVERSATIONS) if has_messages else None


def recognize_members(members: Collection[str]) -> FileKind | None:
    """Return what a row or the columns of a table hold; `None` if no events."""
    if set(REQUIRED) <= set(members):
        return FileKind.EXPORT
    has_messages = not set(MESSAGE_LISTS).isdisjoint(members)
    if isinstance(members, dict):
        has_messages = bool(find_messages(members))
    return FileKind.CONVERSATIONS if has_messages else None


def _agent_of(record: dict[str, Any]) -> str:
    for name, transcripts in transcript_formats().items():
        if transcripts.own_members and transcripts.own_members <= record.keys():
            return name
    return ""
