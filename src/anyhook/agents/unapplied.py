"""Reports of decisions that a command printed and that are not applied."""

from __future__ import annotations

from anyhook.agents.printed import parse_object
from anyhook.agents.reply_members import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.output_context import OutputContext

DECIDING_MEMBERS = ("decision", "continue", "hookSpecificOutput")
"""Members of replies that decide something."""


def report_ignored_decision(context: OutputContext, stdout: str) -> None:
    """Report a decision in the output of a command that did not succeed."""
    members = _deciding_members(stdout)
    if members:
        context.report(
            "ignored-output",
            f"printed {members}, which is not applied, because the command did not succeed; "
            "to decide, exit with 0 and JSON, or with 2",
        )


def report_decision_on_stderr(context: OutputContext, stderr: str) -> None:
    """Report a decision on the stream that is not read."""
    if not any(f'"{name}"' in stderr for name in DECIDING_MEMBERS):
        return
    for text in (stderr, *stderr.splitlines()):
        members = _deciding_members(text) if text.startswith("{") else ""
        if members:
            context.report(
                "ignored-output",
                f"printed a decision on stderr ({members}), which is not applied; "
                "print the JSON object on stdout",
            )
            return


def _deciding_members(text: str) -> str:
    """Return the members of a JSON object that decide something, for messages."""
    value = parse_object(text) or {}
    members = [f"{name}: {shorten(value[name])}" for name in DECIDING_MEMBERS if name in value]
    return ", ".join(members)
