"""What one handler becomes for another agent."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import OutputAction
from anyhook.agents.tool_results import read_tool_result, write_tool_result
from anyhook.agents.translate import AFTER_TOOL, FAILED_TOOL
from anyhook.files import read_user_file
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.context import ANYTHING, MORE
from anyhook.migrate.entries import has_names, is_generated
from anyhook.migrate.handler_command import migrate_command
from anyhook.migrate.lost_answers import mentions_ability, record_lost_abilities, record_lost_fields
from anyhook.model.tools import ToolCall, ToolResult, all_texts
from anyhook.trust.scripts import program

if TYPE_CHECKING:
    from anyhook.migrate.context import HandlerMigration

SELF_CONTAINED_PROGRAMS = frozenset(
    "true false : exit echo printf jq grep egrep fgrep test [ cat sed awk sh bash zsh dash "
    "node python python3 perl ruby deno bun if case while for read cd set exec export trap env "
    "[[ { (".split()
)
"""Programs whose command line, with the scripts that it names, is all of their text."""
# Characters. A command line is one argument of a shell; Linux allows 128 KiB for one argument.
MAX_COMMAND_LENGTH = 100_000
# Bytes. A larger file is not a script that people wrote.
MAX_SCRIPT_SIZE = 512 * 1024
# Seconds that the agent waits longer than the shim, which must see the end of the command.
SHIM_MARGIN = 5.0
RESULT_MEMBERS = {
    "exit_code": r"(?i)\bexit.?code\b",
    "stderr": r"\b(?:tool_response|tool_output|toolResult)\b\W+(?:(?:get|or)\W+)*stderr\b",
}
"""Member of the result of a shell command to what a command contains that reads it."""
_OTHER_EXIT_CODE = re.compile(r"exit[ (]+(?:[3-9]|[1-9]\d+)\b")


def migrate_handler(move: HandlerMigration) -> tuple[dict[str, Any], bool]:
    """Migrate a handler; losses are recorded.

    Return the handler for the target's settings, and whether its command runs behind the shim.
    """
    handler, target = move.handler, move.target
    command = migrate_command(move)
    value: dict[str, Any] = {"type": "command"}
    if handler.name and "name" in target.settings.handler_fields:
        target_uses_names = has_names(target) and move.own_options is None
        is_useful = command.is_shimmed or target_uses_names
        if is_useful or not is_generated(handler.name, str(handler.command)):
            value["name"] = handler.name
    value["command"] = command.line
    value |= command.members
    description = handler.description or handler.options.get("status_message")
    if description and "description" in target.settings.handler_fields:
        value["description"] = description
    timeout = _migrate_timeout(move)
    if timeout is not None:
        value["timeout"] = timeout
    if handler.options.get("once"):
        move.record_loss(
            "changed",
            f"once: {handler.label}",
            f"{target.title} runs a hook on every event",
            "let the command remember that it ran",
        )
    if move.inner is None:
        _record_answer_losses(move)
    else:
        for name in move.shim_only_settings:
            move.record_loss(
                "changed",
                f"{name}: {handler.label}",
                "it stands next to a command that is behind the shim already",
                "give it to the shim instead",
                ANYTHING,
            )
    return value, command.is_shimmed


def _migrate_timeout(move: HandlerMigration) -> float | None:
    """Return the timeout in the target's unit; `None` where its default will do."""
    target, event = move.target, move.target_event
    seconds = move.handler.timeout
    is_written = "timeout" in move.written
    if move.own_options is not None:
        seconds = move.own_options.timeout or seconds
    elif move.handler.on_failure == "block" and move.context.shim:
        seconds += SHIM_MARGIN
        is_written = True
    cap = event.max_timeouts.get(move.layer, math.inf)
    if seconds > cap:
        move.record_loss(
            "changed",
            f"timeout: {move.handler.label}",
            f"{target.title} ends it after {cap:g} s, not {seconds:g}",
            "make it quicker",
        )
        seconds = cap
    default = target.command_timeout(event)
    if not is_written and seconds <= default:
        return None
    return target.settings.write_timeout(seconds)


def may_ask(move: HandlerMigration) -> bool:
    """Return whether the known text of a command has the words that ask the user."""
    text, _ = _read_command_text(move)
    return mentions_ability(move, "ask", text)


def _record_answer_losses(move: HandlerMigration) -> None:
    """Report answers of the command that have less effect, and fields that it reads in vain."""
    source, label = move.source, move.handler.label
    text, is_whole = _read_command_text(move)
    record_lost_abilities(move, text, is_whole=is_whole)
    record_lost_fields(move, text)
    _record_hidden_failures(move)
    _record_lost_result_members(move, text)
    if mentions_ability(move, "replace_result", text):
        _record_shorter_results(move)
    observed = source.rule_sets.get("observed")
    if observed is not None and _OTHER_EXIT_CODE.search(text):
        other_exit = observed.exit_rules_for("*").other
        if other_exit.text is OutputAction.DENY_TEXT:
            move.record_loss(
                "changed",
                f"{label}: exit codes other than 0 and 2",
                f"{source.title} itself denies then, though its reference says it only warns",
                "exit with 2 to deny",
            )
    if len(move.handler.command or "") > MAX_COMMAND_LENGTH:
        move.record_loss(
            "lost",
            f"{label}: its length",
            "the system starts no program with an argument as long as that",
            "put it into a script",
        )


def _record_hidden_failures(move: HandlerMigration) -> None:
    """Record that an event of the target does not report whether its tool failed."""
    source, source_event = move.source, move.source_event
    target, target_event = move.target, move.target_event
    is_split = source.tool_failure_event == FAILED_TOOL
    is_joined = target.tool_failure_event == target_event.canonical == AFTER_TOOL
    shell = target.vocabulary.name("shell")
    if not (is_split and is_joined) or shell is None:
        return
    style = target_event.matcher_style
    matchers = [compile_matcher(pattern, style) for pattern in move.matcher.patterns]
    covers_shell = any(matcher.matches(shell) for matcher in matchers)
    call = ToolCall(tool="shell", arguments={"command": "make"})
    failure = ToolResult(text="make: failed", exit_code=1, error="failed", raw="make: failed")
    result = read_tool_result(target, call, write_tool_result(target, call, failure))
    if not covers_shell or result.error is not None:
        return
    subject = f"{source_event.wire}: {move.handler.label}"
    if source_event.canonical == FAILED_TOOL:
        move.record_loss(
            "weaker",
            subject,
            f"the results of {target.title} do not show whether a shell command failed, so it "
            "does not run then",
            f"look at the result in {target_event.wire}",
            ANYTHING,
        )
    elif source_event.canonical == AFTER_TOOL:
        move.record_loss(
            "note",
            subject,
            f"{target_event.wire} of {target.title} also happens after a shell command that "
            "failed, and does not show it",
            "nothing, unless it is for successful commands only",
            MORE,
        )


def _record_lost_result_members(move: HandlerMigration, text: str) -> None:
    """Record what a command reads of the result of a shell command that the target lacks."""
    if move.source_event.canonical != AFTER_TOOL:
        return
    call = ToolCall(tool="shell", arguments={"command": "make"})
    result = ToolResult(text="made\nfailed", stdout="made", stderr="failed", exit_code=3)
    source, target = move.source, move.target
    before = read_tool_result(source, call, write_tool_result(source, call, result))
    after = read_tool_result(target, call, write_tool_result(target, call, result))
    for name, pattern in RESULT_MEMBERS.items():
        is_lost = getattr(before, name) and not getattr(after, name)
        if is_lost and re.search(pattern, text):
            move.record_loss(
                "changed",
                f"{move.handler.label}: reads the {name.replace('_', ' ')} of shell commands",
                f"the results of {move.target.title} do not show it",
                "change the command so that it does not need it",
                ANYTHING,
            )


def _record_shorter_results(move: HandlerMigration) -> None:
    """Record that a written file stands in the result of the source's tool alone."""
    source, target, event = move.source, move.target, move.source_event
    text = "what is written"
    call = ToolCall(tool="write_file", arguments={"file_path": "file", "content": text})
    result = ToolResult(text="done")
    is_passed = text in all_texts(write_tool_result(source, call, result))
    is_kept = text in all_texts(write_tool_result(target, call, result))
    if event.canonical == AFTER_TOOL and is_passed and not is_kept:
        move.record_loss(
            "note",
            f"{event.wire}: {move.handler.label}",
            f"the result of writing a file does not repeat its text in {target.title}, so it has "
            "nothing to hide there",
            "look at the text in the arguments",
            "context",
            "tool_output",
        )


def _read_command_text(move: HandlerMigration) -> tuple[str, bool]:
    """Return the known text of a command and its scripts, and whether that is all of it."""
    texts = [move.handler.command_line]
    for file in move.files():
        try:
            content = read_user_file(file, MAX_SCRIPT_SIZE)
        except OSError:
            continue
        if b"\0" not in content:
            texts.append(content.decode("utf-8", "replace"))
    path = program(move.handler, move.context.location.project, {})
    name = str(path).replace("\\", "/").rpartition("/")[2]
    is_whole = len(texts) > 1 or path is None or name in SELF_CONTAINED_PROGRAMS
    return "\n".join(texts), is_whole
