"""What one handler becomes for another agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import OutputAction
from anyhook.agents.tool_results import read_tool_result, write_tool_result
from anyhook.agents.translate import AFTER_TOOL, FAILED_TOOL
from anyhook.files import read_user_file
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.handler_command import migrate_command
from anyhook.migrate.losses import ANYTHING, MORE
from anyhook.migrate.lost_answers import (
    mentions_ability,
    record_lost_abilities,
    record_lost_fields,
)
from anyhook.migrate.names import has_names, is_generated
from anyhook.migrate.timeouts import migrate_timeout
from anyhook.model.tools import ToolCall, ToolResult
from anyhook.trust.scripts import program

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
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
_OTHER_EXIT_CODE = re.compile(r"exit[ (]+(?:[3-9]|[1-9]\d+)\b")


def migrate_handler(move: HandlerMigration) -> tuple[dict[str, Any], bool]:
    """Migrate a handler; losses are recorded.

    Return the handler for the target's settings, and whether its command runs behind the shim.
    """
    handler, target = move.handler, move.target
    command = migrate_command(move)
    value: dict[str, Any] = {"type": "command"}
    can_have_name = handler.name and "name" in target.handler_fields
    if can_have_name and _keeps_name(move, is_shimmed=command.is_shimmed):
        value["name"] = handler.name
    value["command"] = command.line
    value |= command.members
    description = handler.description or handler.options.get("status_message")
    if description and "description" in target.handler_fields:
        value["description"] = description
    timeout = migrate_timeout(move)
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
                "it stands beside a command that is behind the shim already",
                "give it to the shim instead",
                ANYTHING,
            )
    return value, command.is_shimmed


def may_ask(move: HandlerMigration) -> bool:
    """Return whether the known text of a command has the words that ask the user."""
    text, _ = _read_command_text(move)
    return mentions_ability(move, "ask", text)


def _keeps_name(move: HandlerMigration, *, is_shimmed: bool) -> bool:
    """Return whether the name is the user's own, or of use to the target."""
    target_uses_names = has_names(move.target) and move.own_options is None
    if is_shimmed or target_uses_names:
        return True
    return not is_generated(str(move.handler.name), str(move.handler.command))


def _record_answer_losses(move: HandlerMigration) -> None:
    """Report answers of the command that have less effect, and fields that it reads in vain."""
    source, label = move.source, move.handler.label
    text, is_whole = _read_command_text(move)
    record_lost_abilities(move, text, is_whole=is_whole)
    record_lost_fields(move, text)
    _record_hidden_failures(move)
    if _OTHER_EXIT_CODE.search(text) and _other_exit_codes_deny(source):
        move.record_loss(
            "changed",
            f"{label}: exit codes beside 0 and 2",
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
    if not (is_split and is_joined) or not _covers_shell(move) or _reports_failures(target):
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


def _covers_shell(move: HandlerMigration) -> bool:
    """Return whether the translated matcher covers shell commands."""
    name = move.target.vocabulary.name("shell")
    for pattern in move.matcher.patterns:
        matcher = compile_matcher(pattern, move.target_event.matcher_style)
        if name is not None and matcher.matches(name):
            return True
    return False


def _reports_failures(agent: AgentSpec) -> bool:
    """Return whether the result of a shell command shows that it failed."""
    call = ToolCall(tool="shell", arguments={"command": "make"})
    failure = ToolResult(text="make: failed", exit_code=1, error="failed", raw="make: failed")
    result = write_tool_result(agent, call, failure)
    return read_tool_result(agent, call, result).error is not None


def _read_command_text(move: HandlerMigration) -> tuple[str, bool]:
    """Return the known text of a command and its scripts, and whether that is all of it."""
    texts = [move.handler.command or " ".join(move.handler.argv or ())]
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


def _other_exit_codes_deny(source: AgentSpec) -> bool:
    """Return whether a release denies where its reference says that a command only failed."""
    observed = source.rule_sets.get("observed")
    return (
        observed is not None and observed.exit_rules_for("*").other.text is OutputAction.DENY_TEXT
    )
