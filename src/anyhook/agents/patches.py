"""Patches, which some agents take as the argument of one tool that edits files.

The format is that of `apply_patch` of Codex CLI: sections that add, update or delete one file each.
A hook of an agent that edits one file in each call sees one call for each section. No published
library reads the format; only what hooks look at is read: paths, removed lines and added lines.
"""

from __future__ import annotations

import json

from anyhook.model.answers import Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from anyhook.model.events import ToolEvent

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, UPDATE, DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
MOVE = "*** Move to: "
HUNK = "@@"
ADDED, BEFORE, AFTER = ("+",), (" ", "-"), (" ", "+")
"""First characters of the lines that are added, and of those of the file before and after."""


class FileChange(Record, kw_only=False):
    """What a patch does to one file.

    Attributes:
        header: The first line of its section without the path: `ADD`, `UPDATE` or `DELETE`.
        path: Path of the file.
        lines: The other lines of its section.
    """

    header: str
    path: str
    lines: tuple[str, ...] = ()

    @property
    def patch(self) -> str:
        """A patch that does this alone."""
        return "\n".join([BEGIN, f"{self.header}{self.path}", *self.lines, END, ""])

    @property
    def tool(self) -> str:
        """Canonical name of the tool that does the same to one file."""
        return "write_file" if self.header == ADD else "edit_file"

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of that tool; the hunks of an edit are joined."""
        if self.header == ADD:
            content = "".join(f"{line}\n" for line in _marked(self.lines, ADDED))
            return {"file_path": self.path, "content": content}
        return {
            "file_path": self.path,
            "old_string": "\n".join(_marked(self.lines, BEFORE)),
            "new_string": "\n".join(_marked(self.lines, AFTER)),
        }


class _Section:
    """The lines of a patch from one header to the next one, while they are read.

    The header is empty for lines that belong to no file. A file that is moved has a destination.
    """

    def __init__(self, header: str, path: str) -> None:
        self.header = header
        self.path = path
        self.destination = ""
        self.lines: list[str] = []

    def changes(self) -> list[FileChange]:
        """Return the change of the file, and the addition of the one that it is moved to."""
        changes: list[FileChange] = []
        if self.header:
            changes.append(FileChange(self.header, self.path, tuple(self.lines)))
        if self.destination:
            content = tuple([f"+{line}" for line in _marked(self.lines, AFTER)])
            changes.append(FileChange(ADD, self.destination, content))
        return changes


def read_patch(text: str) -> list[FileChange]:
    """Return what a patch does to each file, in order; empty if it is not a patch.

    A file that is moved is changed at its old path and added at the new one.
    """
    changes: list[FileChange] = []
    section = _Section("", "")
    for line in text.split("\n"):
        # Codex CLI also takes a header with blanks before it.
        stripped = line.strip()
        header = ""
        for start in (ADD, UPDATE, DELETE):
            # OpenCode also takes a header without the blank after it.
            if stripped.startswith(start.rstrip()):
                header = start
        if header or stripped == END:
            changes += section.changes()
            section = _Section(header, stripped.removeprefix(header.rstrip()).strip())
        elif stripped.startswith(MOVE.rstrip()):
            section.destination = stripped.removeprefix(MOVE.rstrip()).strip()
        else:
            section.lines.append(line.removesuffix("\r"))
    changes += section.changes()
    return changes


def write_patch(tool: str, arguments: Mapping[str, Any], cwd: str) -> str | None:
    """Return the patch that does what a call does; `None` if it edits no file.

    The tool and its arguments have canonical names. Paths in patches are relative to `cwd`.
    """
    path = arguments.get("file_path")
    if not isinstance(path, str):
        return None
    if cwd:
        path = path.removeprefix(f"{cwd}/")
    # In an agent that has one tool for both, only the arguments say which one is meant.
    if tool == "write_file" or "content" in arguments:
        lines = [f"+{line}" for line in _lines(arguments.get("content"))]
        return FileChange(ADD, path, tuple(lines)).patch
    edits = arguments.get("edits")
    if not isinstance(edits, list):
        edits = [arguments]  # a call with one edit has its members next to the path
    hunks: list[str] = []
    for edit in edits:
        if not isinstance(edit, dict):
            continue
        hunks.append(HUNK)
        hunks += [f"-{line}" for line in _lines(edit.get("old_string"))]
        hunks += [f"+{line}" for line in _lines(edit.get("new_string"))]
    return FileChange(UPDATE, path, tuple(hunks)).patch


def deny_changed_patch(answer: Answer, hook_event: ToolEvent) -> Answer:
    """Return a denial with the arguments that a hook wants, unless it changes none."""
    new, old = answer.tool_input or {}, hook_event.tool_input
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    unchanged_call = answer.replace(tool_input=None)
    if not changed or answer.outcome is Outcome.DENY:
        return unchanged_call
    arguments = json.dumps(changed, ensure_ascii=False, default=str)
    reason = f"call it with these arguments instead: {arguments}"
    return unchanged_call.replace(outcome=Outcome.DENY, approve=False, reason=reason)


def _marked(lines: Sequence[str], marks: tuple[str, ...]) -> list[str]:
    """Return the lines that start with one of some marks, without the mark."""
    return [line[1:] for line in lines if line.startswith(marks)]


def _lines(text: Any) -> list[str]:
    if not isinstance(text, str) or not text:
        return []
    return text.removesuffix("\n").split("\n")
