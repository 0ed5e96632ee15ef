"""What a hook's script prints and how it ends, as far as its text shows without running it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

DECISION_MEMBERS = ("decision", "permissionDecision", "continue")
"""Members of a reply by which a script decides something."""
_QUOTED_DENIAL = re.compile(r"""["'](?:block|deny)\\?["']""")
_COMMENT = re.compile(r"^\s*(?:#|//).*", re.MULTILINE)
_EXITS_WITH_TWO = re.compile(r"\bexit\b[ (]+2\b|\breturn 2\b")


class ScriptOutput(NamedTuple):
    """A statement that prints.

    Attributes:
        text: What it prints, as far as that is written out.
        is_json: Whether it is JSON.
        is_text: Whether it surely is text. Of some values only the running script knows.
        is_stderr: Whether it goes to standard error.
        has_decision: Whether it holds a member by which a reply decides.
    """

    line: int
    text: str
    is_json: bool
    is_text: bool
    is_stderr: bool
    has_decision: bool


class TextBeforeJson(NamedTuple):
    """Text that is printed before JSON: the line that prints the text, and what prints the JSON."""

    line: int
    json: ScriptOutput


@dataclass(slots=True)
class ScriptFacts:
    """What the text of a script shows.

    Attributes:
        exit_codes: Exit code to the first line with it; only codes that are written out.
        replies: What prints JSON to standard output.
        texts_before_json: Lines that print text, each with the JSON that follows.
        stderr_decision_line: First line that prints a decision to standard error.
    """

    text: str
    exit_codes: dict[int, int] = field(default_factory=dict)
    replies: list[ScriptOutput] = field(default_factory=list)
    texts_before_json: list[TextBeforeJson] = field(default_factory=list)
    stderr_decision_line: int | None = None

    @property
    def may_exit_with_two(self) -> bool:
        """Whether exit code 2 stands anywhere in it, also in a program inside of it."""
        code = _COMMENT.sub("", self.text)
        return 2 in self.exit_codes or _EXITS_WITH_TWO.search(code) is not None

    @property
    def blocks(self) -> bool:
        """Whether it may deny something: by exit code 2 or by a reply."""
        return 2 in self.exit_codes or bool(re.search(r"\b(?:block|deny)\b", self.text))

    @property
    def denies(self) -> bool:
        """Whether it surely denies something: by exit code 2 or by the word of a reply."""
        return 2 in self.exit_codes or _QUOTED_DENIAL.search(self.text) is not None

    def add_output(self, output: ScriptOutput) -> None:
        """Record something that is printed."""
        if output.is_stderr and output.has_decision:
            self.stderr_decision_line = self.stderr_decision_line or output.line
        elif output.is_json and not output.is_stderr:
            self.replies.append(output)
