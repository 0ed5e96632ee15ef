"""Transcripts of Claude Code: `projects/<directory>/<session>.jsonl`, one record per line.

Source: files that Claude Code 2.1.197 wrote. Files of subagents are in
`<session>/subagents/agent-<id>.jsonl`. Resuming a session appends to its file; forking one copies
its records, with their ids, to a new file.

It is one module because the rules about one form of file are read together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from anyhook.agents import get_agent
from anyhook.agents.tool_results import write_tool_result
from anyhook.agents.transcripts import (
    Draft,
    HookReply,
    Refusal,
    SessionReader,
    TranscriptFormat,
    join_text_blocks,
    object_in,
    objects_in,
    read_json_file,
    remove_line_numbers,
    text_in,
    without_gz,
)
from anyhook.model.json import parse_json
from anyhook.model.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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


# Bookkeeping, and attachments that are not about hooks: a third of the bytes of a session. Both
# forms are the first members of the record, so that no text inside it can look like them.
_NEEDLESS = re.compile(
    rb'\{"type":"(?!user"|assistant"|system"|attachment")'
    rb'|\{"parentUuid":(?:null|"[^"\\]*"),"isSidechain":(?:true|false),'
    rb'(?:"agentId":"[^"\\]*",)?"attachment":\{"type":"(?!hook_)'
)


class _Turn:
    """The turn of the model that is being read. A call of a tool in it means that it goes on.

    Its message is several records. The key is the ID of the first one, and the record and its line
    are the last ones.
    """

    def __init__(self, message_id: str, key: str) -> None:
        self.message_id = message_id
        self.key = key
        self.texts: list[str] = []
        self.has_call = False
        self.record: dict[str, Any] = {}
        self.line = 0


class _Reader(SessionReader):
    """Turns records into events."""

    needless = _NEEDLESS
    follow_up = "attachment"  # what hooks did follows the record of their event
    without_session = "has no record of a session of Claude Code"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._is_subagent = path.parent.name == "subagents" or path.name.startswith("agent-")
        self._transcript_path = str(path)
        self._is_aside = False
        self._agent_type = ""
        if self._is_subagent:
            # Releases before 2.1 wrote the file next to the session's: its path does not name it.
            self._transcript_path = ""
            for parent in path.parents:
                if parent.name == "subagents":
                    session = parent.parent
                    self._transcript_path = str(session.with_name(session.name + ".jsonl"))
                    break
            meta = read_json_file(without_gz(path).with_suffix(".meta.json"))
            self._agent_type = text_in(meta, "agentType")
        self._start: Draft | None = None
        self._prompt_id = ""
        self._permission_mode = ""
        self._turn: _Turn | None = None
        self._was_continued = False
        self._compaction: Draft | None = None

    def take(self, record: dict[str, Any]) -> None:
        """Read a record."""
        take = self.takers.get(text_in(record, "type"))
        session_id = text_in(record, "sessionId")
        if take is None or not session_id:
            return
        if not self._transcript_path:
            self._transcript_path = str(self.path.with_name(f"{session_id}.jsonl"))
        is_first = not self.session_id
        self.session_id = session_id
        if is_first:
            self._add_start(record)
        # Releases before 2.1 wrote the records of subagents into the file of the session.
        self._is_aside = record.get("isSidechain") is True and not self._is_subagent
        take(self, record)

    # -- prompts and results

    def take_user(self, record: dict[str, Any]) -> None:
        content = object_in(record, "message").get("content")
        if isinstance(content, list):
            results = [
                block
                for block in content
                if isinstance(block, dict) and block.get("type") == "tool_result"
            ]
            for block in results:
                self._add_result(record, block)
            if results:
                return
        if self._is_aside:
            return
        text = join_text_blocks(content, "\n")
        if record.get("isCompactSummary") is True:
            self._end_compaction(record, text)
        elif record.get("isMeta") is True:
            if text.startswith(STOP_FEEDBACK):
                self.end_turns()
                self._was_continued = True
        elif text.startswith(INTERRUPTED):
            self._turn = None  # an interrupted turn has no Stop
        elif text:
            self._add_prompt(record, text)

    def _add_prompt(self, record: dict[str, Any], text: str) -> None:
        self.end_turns()
        self.release()
        self._was_continued = False
        self._prompt_id = text_in(record, "promptId") or self._prompt_id
        self._permission_mode = text_in(record, "permissionMode") or self._permission_mode
        if self._is_subagent or text.startswith(NOT_A_PROMPT):
            return
        reconstructed: tuple[str, ...] = ()
        command = COMMAND.match(text)
        if command is not None:
            text = f"/{command[1].removeprefix('/')} {command[2] or ''}".rstrip()
            reconstructed = ("prompt",)
        payload = self._payload("UserPromptSubmit", record, has_mode=True, prompt=text)
        if "permissionMode" not in record and "permission_mode" in payload:
            reconstructed += ("permission_mode",)
        self.add(Draft(payload, "before_prompt", reconstructed))

    def _add_result(self, record: dict[str, Any], block: dict[str, Any]) -> None:
        call_id = text_in(block, "tool_use_id")
        call = self.close_call(call_id)
        if call is None:
            return
        content = block.get("content")
        is_error = block.get("is_error") is True
        text = join_text_blocks(content) if is_error else ""
        if is_error and text.startswith(NOT_CALLED):
            reason = text.removeprefix(NOT_CALLED).removesuffix(END_OF_NOT_CALLED)
            call.refusal = Refusal(reason, has_reached_hooks=False)
            return
        if is_error and REFUSED.match(text):
            call.refusal = Refusal(text)
            denial = CLASSIFIER.match(text)
            if denial is not None:  # other refusals have no event
                payload = self._payload("PermissionDenied", record, has_mode=True)
                for member in ("tool_name", "tool_input", "tool_use_id"):
                    payload[member] = call.payload[member]
                payload["reason"] = denial[1]
                reconstructed = (*call.reconstructed, "reason")
                self.add(Draft(payload, "permission_denied", reconstructed, call.place))
            return
        wire = "PostToolUseFailure" if is_error else "PostToolUse"
        payload = self._payload(wire, record, has_mode=True)
        payload["tool_name"] = call.payload["tool_name"]
        payload["tool_input"] = call.payload["tool_input"]
        reconstructed = call.reconstructed
        changed = changed_input(call.replies)
        if changed is not None:
            payload["tool_input"] = changed
            reconstructed += ("tool_input",)
        if is_error:
            payload["tool_use_id"] = call_id
            payload["error"] = text
            self.add(Draft(payload, "post_tool_use_failure", reconstructed, call.place))
            return
        if "toolUseResult" in record:
            payload["tool_response"] = record["toolUseResult"]
        else:
            # Files of subagents have only the text for the model.
            payload["tool_response"] = make_response(payload, join_text_blocks(content))
            reconstructed += ("tool_response",)
        payload["tool_use_id"] = call_id
        self.add(Draft(payload, "after_tool", reconstructed, call.place))

    # -- answers of the model

    def take_assistant(self, record: dict[str, Any]) -> None:
        message = object_in(record, "message")
        if self._is_aside:
            for block in objects_in(message, "content"):
                if block.get("type") == "tool_use":
                    self._add_call(record, block)
            return
        message_id = text_in(message, "id") or text_in(record, "uuid")
        is_error = record.get("isApiErrorMessage") is True
        if text_in(message, "model") == "<synthetic>" and not is_error:
            return  # written when a session is resumed; no model was called
        turn = self._turn
        if turn is None or turn.message_id != message_id:
            self.release()
            turn = self._turn = _Turn(message_id, text_in(record, "uuid") or message_id)
        turn.record = record
        turn.line = self.line
        for block in objects_in(message, "content"):
            if block.get("type") == "tool_use":
                turn.has_call = True
                self._add_call(record, block)
            elif block.get("type") == "text":
                turn.texts.append(text_in(block, "text"))

    def _add_call(self, record: dict[str, Any], block: dict[str, Any]) -> None:
        call_id = text_in(block, "id")
        name = text_in(block, "name")
        if not call_id or not name:
            return
        payload = self._payload("PreToolUse", record, has_mode=True, tool_name=name)
        payload["tool_input"] = object_in(block, "input")
        payload["tool_use_id"] = call_id
        reconstructed = ("permission_mode",) if "permission_mode" in payload else ()
        self.hold_call(
            call_id,
            Draft(payload, "before_tool", reconstructed, f"{text_in(record, 'uuid')}/{call_id}"),
        )

    def end_turns(self) -> None:
        """Add the event of a turn that has ended: `Stop`, `SubagentStop` or `StopFailure`."""
        self._close_compaction()
        turn, self._turn = self._turn, None
        if turn is None:
            return
        message = object_in(turn.record, "message")
        reconstructed: tuple[str, ...] = ()
        if turn.record.get("isApiErrorMessage") is True:
            event = "stop_failure"
            error = text_in(turn.record, "error")
            payload = self._payload("StopFailure", turn.record)
            payload["error"] = error or error_word(turn.record.get("apiErrorStatus"))
            if not error:
                reconstructed = ("error",)
        elif turn.has_call or message.get("stop_reason") == "tool_use" or not turn.texts:
            return  # the program was killed, or the turn was interrupted
        elif self._is_subagent:
            event = "subagent_stop"
            payload = self._payload("SubagentStop", turn.record)
            payload["stop_hook_active"] = self._was_continued
            payload["agent_transcript_path"] = str(self.path)
            if not self._agent_type:
                reconstructed = ("agent_type",)
        else:
            event = "after_agent"
            payload = self._payload("Stop", turn.record, has_mode=True)
            payload["stop_hook_active"] = self._was_continued
            if "permission_mode" in payload:
                reconstructed = ("permission_mode",)
        payload["last_assistant_message"] = "\n".join(turn.texts)
        self.add(Draft(payload, event, reconstructed, turn.key), (turn.record, turn.line))

    # -- starts, compactions, replies of hooks

    def _add_start(self, record: dict[str, Any]) -> None:
        if self._is_subagent:
            self._prompt_id = text_in(record, "promptId")
            payload = self._payload("SubagentStart", record)
            reconstructed = () if self._agent_type else ("agent_type",)
            self.add(Draft(payload, "subagent_start", reconstructed))
            return
        source = source_of_start(object_in(record, "attachment"))
        payload = self._payload("SessionStart", record, source=source or "startup")
        reconstructed = () if source else ("source",)
        self._start = self.add(Draft(payload, "session_start", reconstructed))

    def take_attachment(self, record: dict[str, Any]) -> None:
        attachment = object_in(record, "attachment")
        reply = reply_of(attachment)
        source = source_of_start(attachment)
        if source and self.last is not self._start:
            self._add_start(record)
        if reply is None:
            return
        wire = text_in(attachment, "hookEvent")
        draft = self.last
        if wire == "PreToolUse":
            draft = self.find_call(text_in(attachment, "toolUseID"))
        elif draft is not None and draft.payload["hook_event_name"] != wire:
            return  # the event is not there any more
        if draft is not None:
            draft.replies.append(reply)

    def take_system(self, record: dict[str, Any]) -> None:
        if record.get("subtype") != "compact_boundary":
            return
        self.end_turns()
        self.release()
        data = object_in(record, "compactMetadata")
        trigger = text_in(data, "trigger")
        payload = self._payload("PreCompact", record)
        reconstructed: tuple[str, ...] = ("prompt_id",) if self._prompt_id else ()
        payload["trigger"] = trigger if trigger in ("manual", "auto") else "auto"
        if payload["trigger"] != trigger:
            reconstructed += ("trigger",)
        draft = self.add(Draft(payload, "before_compress", reconstructed))
        duration = data.get("durationMs")
        if draft.time is not None and isinstance(duration, int | float):
            draft.time -= duration / 1000  # the record is written after the compaction
        # Which prompt it belongs to is in the next record.
        draft.is_open = True
        self._compaction = draft

    def _end_compaction(self, record: dict[str, Any], text: str) -> None:
        started = self._close_compaction()
        if started is None:
            return
        reconstructed = tuple(name for name in started.reconstructed if name != "prompt_id")
        prompt_id = text_in(record, "promptId")
        if prompt_id:
            started.payload["prompt_id"] = prompt_id
            started.reconstructed = reconstructed
        payload = dict(started.payload)
        payload["hook_event_name"] = "PostCompact"
        payload["cwd"] = text_in(record, "cwd")
        summary = SUMMARY.match(text)
        payload["compact_summary"] = summary[1] if summary else text
        reconstructed = (*started.reconstructed, "compact_summary")
        self.add(Draft(payload, "post_compact", reconstructed))

    def _close_compaction(self) -> Draft | None:
        started, self._compaction = self._compaction, None
        if started is not None:
            started.is_open = False
        return started

    # -- payloads

    def _payload(
        self, wire: str, record: dict[str, Any], *, has_mode: bool = False, **members: Any
    ) -> dict[str, Any]:
        """Return what payloads have in common, in the order of the program, and other members."""
        payload: dict[str, Any] = {
            "session_id": record["sessionId"],
            "transcript_path": self._transcript_path,
            "cwd": text_in(record, "cwd"),
        }
        if self._prompt_id:
            payload["prompt_id"] = self._prompt_id
        if has_mode and self._permission_mode:
            payload["permission_mode"] = self._permission_mode
        if self._is_subagent:
            payload["agent_id"] = text_in(record, "agentId")
            payload["agent_type"] = self._agent_type or text_in(record, "attributionAgent")
        payload["hook_event_name"] = wire
        return {**payload, **members}

    takers: ClassVar = {
        "user": take_user,
        "assistant": take_assistant,
        "attachment": take_attachment,
        "system": take_system,
    }


TRANSCRIPTS = TranscriptFormat(
    name="claude",
    variable="CLAUDE_CONFIG_DIR",
    directory=".claude",
    patterns=("projects/*/*.jsonl", "projects/*/*/subagents/**/*.jsonl"),
    read=_Reader.read,
    own_members=frozenset({"parentUuid", "isSidechain", "userType", "sessionId"}),
)
