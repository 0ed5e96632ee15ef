"""What the records of Claude Code's transcripts mean that only their texts show.

Source: files that Claude Code 2.1.197 wrote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.tool_results import write_tool_result
from anyhook.agents.transcripts import HookReply, object_in, remove_line_numbers, text_in
from anyhook.model.json import parse_json
from anyhook.model.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_CALLED = "<tool_use_error>"
"""Start of the result of a call that did not reach hooks: an unknown tool, wrong arguments."""
END_OF_NOT_CALLED = "</tool_use_error>"
REFUSED = re.compile(
    r"PreToolUse:.* hook error: |Hook PreToolUse:\S* denied this tool"
    r"|Permission to use .* has been denied|Permission for this action was denied"
    r"|Permission for this action has been denied"
    r"|Claude requested permissions to |The user doesn't want to (?:proceed|take this action)",
    re.DOTALL,
)
"""Start of the result of a call that was refused: it has no event after the tool."""
CLASSIFIER = re.compile(
    r"Permission for this action (?:was|has been) denied by the Claude Code auto mode classifier\. "
    r"Reason: (.*?)\. If you have other tasks that don't depend on this action",
    re.DOTALL,
)
"""Result of a call that the classifier of the mode `auto` denied, with its reason."""

STOP_FEEDBACK = "Stop hook feedback:"
INTERRUPTED = "[Request interrupted by user"
NOT_A_PROMPT = (
    "<command-name>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    INTERRUPTED,
)
"""Starts of user texts that the program wrote: its own commands, and what they printed. Hooks get
a `<task-notification>` as a prompt."""
COMMAND = re.compile(
    r"<command-message>.*?</command-message>\s*<command-name>(/?.*?)</command-name>"
    r"(?:\s*<command-args>(.*?)</command-args>)?",
    re.DOTALL,
)
"""A command of the user's own, which is a prompt."""
SUMMARY = re.compile(
    r"This session is being continued.*?\n\n(?:Summary:\s*)?"
    r"(?:<system-reminder>.*?</system-reminder>\s*)?(.*?)"
    r"(?:\n\nIf you need specific details from before.*)?\Z",
    re.DOTALL,
)
ERRORS = {
    400: "invalid_request",
    401: "authentication_failed",
    403: "authentication_failed",
    404: "model_not_found",
    429: "rate_limit",
    529: "overloaded",
}
"""HTTP status to the word of `StopFailure`; any other from 500 is `server_error`."""


def source_of_start(attachment: dict[str, Any]) -> str:
    """Return why a session started, if a hook was run on it; otherwise an empty string."""
    wire, _, source = text_in(attachment, "hookName").partition(":")
    return source if wire == "SessionStart" else ""


def reply_of(attachment: dict[str, Any]) -> HookReply | None:
    """Return what a hook did; `None` if the record only repeats a part of it."""
    kind = text_in(attachment, "type")
    blocking = object_in(attachment, "blockingError")
    if blocking:
        command, reason = text_in(blocking, "command"), text_in(blocking, "blockingError")
        return HookReply(kind, command, None, "", reason)
    if "stdout" not in attachment and "exitCode" not in attachment:
        return None
    code = attachment.get("exitCode")
    return HookReply(
        kind,
        text_in(attachment, "command"),
        code if isinstance(code, int) else None,
        text_in(attachment, "stdout"),
        text_in(attachment, "stderr"),
    )


def changed_input(replies: Iterable[HookReply]) -> dict[str, Any] | None:
    """Return the input that hooks gave a tool; the transcript keeps the model's."""
    changed: dict[str, Any] | None = None
    for reply in replies:
        if "updatedInput" not in reply.stdout:
            continue
        try:
            output = parse_json(reply.stdout)
        except ValueError:
            continue
        if isinstance(output, dict):
            changed = object_in(object_in(output, "hookSpecificOutput"), "updatedInput") or changed
    return changed


def error_word(status: object) -> str:
    """Return the word of `StopFailure` for an HTTP status."""
    if not isinstance(status, int):
        return "unknown"
    return ERRORS.get(status) or ("server_error" if status >= 500 else "unknown")


def make_response(payload: dict[str, Any], text: str) -> Any:
    """Return a result in the form of its tool, from the text that the model got."""
    agent = get_agent("claude")
    call = agent.vocabulary.call(payload["tool_name"], payload["tool_input"])
    if call.tool == "read_file":
        text = remove_line_numbers(text)
    return write_tool_result(agent, call, ToolResult(text=text, raw=text))
