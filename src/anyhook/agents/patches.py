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
        added = _text([line[1:] for line in self.lines if line.startswith("+")])
        if self.header == ADD:
            return {"file_path": self.path, "content": added}
        before = [line[1:] for line in self.lines if line.startswith((" ", "-"))]
        after = [line[1:] for line in self.lines if line.startswith((" ", "+"))]
        return {
            "file_path": self.path,
            "old_string": "\n".join(before),
            "new_string": "\n".join(after),
        }


def read_patch(text: str) -> list[FileChange]:
    """Return what a patch does to each file, in order; empty if it is no patch.

    A file that is moved is changed at its old path and added at the new one.
    """
    changes: list[FileChange] = []
    header, path, destination = "", "", ""
    lines: list[str] = []

    def finish() -> None:
        if header:
            changes.append(FileChange(header, path, tuple(lines)))
        if destination:
            kept = [f"+{line[1:]}" for line in lines if line.startswith((" ", "+"))]
            changes.append(FileChange(ADD, destination, tuple(kept)))

    for line in text.split("\n"):
        # Codex CLI also takes a header with blanks before it.
        stripped = line.strip()
        own_header = next((mark for mark in (ADD, UPDATE, DELETE) if stripped.startswith(mark)), "")
        if own_header or stripped == END:
            finish()
            header, path, destination = own_header, stripped.removeprefix(own_header).strip(), ""
            lines = []
        elif stripped.startswith(MOVE):
            destination = stripped.removeprefix(MOVE).strip()
        else:
            lines.append(line.removesuffix("\r"))
    finish()
    return changes


def write_patch(tool: str, arguments: Mapping[str, Any], cwd: str) -> str | None:
    """Return the patch that does what a call does; `None` if it edits no file.

    Args:
        tool: Canonical name of the tool.
        arguments: Its canonical arguments.
        cwd: The working directory, to which paths in patches are relative.
    """
    path = arguments.get("file_path")
    if not isinstance(path, str):
        return None
    path = path.removeprefix(f"{cwd}/") if cwd else path
    if tool == "write_file":
        lines = [f"+{line}" for line in _lines(arguments.get("content"))]
        return FileChange(ADD, path, tuple(lines)).patch
    edits = arguments.get("edits")
    hunks: list[str] = []
    for edit in edits if isinstance(edits, list) else [arguments]:
        if isinstance(edit, dict):
            hunks.append(HUNK)
            hunks += [f"-{line}" for line in _lines(edit.get("old_string"))]
            hunks += [f"+{line}" for line in _lines(edit.get("new_string"))]
    return FileChange(UPDATE, path, tuple(hunks)).patch


def deny_changed_patch(answer: Answer, shown: ToolEvent) -> Answer:
    """Return a denial with the arguments that a hook wants, unless it changes none."""
    changed = {k: v for k, v in (answer.tool_input or {}).items() if shown.tool_input.get(k) != v}
    kept = answer.replace(tool_input=None)
    if not changed or answer.outcome is Outcome.DENY:
        return kept
    arguments = json.dumps(changed, ensure_ascii=False, default=str)
    reason = f"call it with these arguments instead: {arguments}"
    return kept.replace(outcome=Outcome.DENY, approve=False, reason=reason)


def _lines(text: Any) -> list[str]:
    if not isinstance(text, str) or not text:
        return []
    return text.removesuffix("\n").split("\n")


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
