"""How the end of a command is interpreted: its exit code, and the form of its output."""

from __future__ import annotations

from enum import StrEnum

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_1_HINT = "exit code 2 blocks; 1 only warns"
"""Added to the report of exit code 1: authors of guards expect it to deny."""


class OutputAction(StrEnum):
    """What is done with the output of a command."""

    NOTHING = "nothing"
    """Ignore it: the hook has no opinion."""
    APPLY = "apply"
    """Apply the members of the JSON reply."""
    TEXT = "text"
    """Interpret it as plain text (`EventSpec.plain_text`)."""
    BLOCK = "block"
    """Deny; the reason is taken from stderr, from the JSON reply or from the text."""
    APPLY_AND_BLOCK = "apply_and_block"
    """Apply the members of the JSON reply, and deny in any case."""
    DENY_TEXT = "deny_text"
    """Deny with the text as the reason."""
    MESSAGE = "message"
    """Allow, and show the text to the user."""
    WARNING_MESSAGE = "warning_message"
    """Like `MESSAGE`, with `Warning:` before the text."""
    WARN = "warn"
    """Report a failure of the command; apply nothing."""
    FAIL = "fail"
    """Report a reply that cannot be read; the handler has failed, whatever its exit code."""


class ExitRule(Record, kw_only=False):
    """What is done with the output of a command that ended with a certain exit code.

    The first five attributes but `streams` are the forms that output can have.

    Attributes:
        json: For JSON.
        malformed: For text that looks like a JSON object and cannot be parsed.
        text: For other text.
        empty: For no output.
        streams: The streams that are read; the first one that is not blank counts.
        parses_json: Whether the output may be JSON; otherwise all of it is text.
        hint: Added to the report of the failure, on events that exit code 2 can deny.
    """

    json: OutputAction
    malformed: OutputAction
    text: OutputAction
    empty: OutputAction
    streams: tuple[str, ...] = ("stdout",)
    parses_json: bool = True
    hint: str = ""

    @classmethod
    def always(cls, action: OutputAction, hint: str = "") -> ExitRule:
        """Return the rule that does the same for every form of output."""
        return cls(action, action, action, action, hint=hint)

    @property
    def truncated(self) -> OutputAction:
        """For a JSON reply that was cut because of its length: it may have held a denial."""
        return OutputAction.FAIL if self.json is OutputAction.APPLY else self.malformed


class ExitRules(Record, kw_only=False):
    """The exit rules of an event.

    Attributes:
        codes: Exit code to its rule.
        other: The rule for every other exit code.
        signal: The rule for a command that a signal ended.
    """

    codes: Mapping[int, ExitRule]
    other: ExitRule
    signal: ExitRule

    def rule_for(self, exit_code: int | None) -> ExitRule:
        """Return the rule for an exit code; `None` means that a signal ended the command."""
        if exit_code is None:
            return self.signal
        return self.codes.get(exit_code, self.other)
