"""Transcripts of Qwen Code: `projects/<directory>/chats/<session>.jsonl`, one record per line.

Files of subagents that run in the background are in
`projects/<directory>/subagents/<session>/`; other subagents have none. Resuming a session appends
to its file; forking one copies its records, with their ids, to a new file. Source: files that
Qwen Code 0.24.4 wrote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from anyhook.agents.transcripts import (
    Draft,
    Refusal,
    SessionReader,
    TranscriptFormat,
    join_text_blocks,
    object_in,
    objects_in,
    read_json_file,
    text_in,
    without_gz,
)

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.agents.transcripts import Position


# Snapshots, and telemetry of everything but calls. The first members of the record, so that no
# text inside it can look like them.
_NEEDLESS = re.compile(
    rb'\{"uuid":"[^"\\]*","parentUuid":(?:null|"[^"\\]*"),"sessionId":"[^"\\]*",'
    rb'"timestamp":"[^"\\]*","type":"system","provenance":"system","cwd":"(?:[^"\\]|\\.)*",'
    rb'"version":"[^"\\]*","subtype":"(?:(?!ui_telemetry"|chat_compression")'
    rb'|ui_telemetry","systemPayload":\{"uiEvent":\{"event\.name":"(?!qwen-code\.tool_call"))'
)

NOT_CALLED = frozenset({"tool_not_registered", "invalid_tool_params"})
"""Types of errors of calls that did not reach hooks: an unknown tool, wrong arguments."""
DENIED = "execution_denied"
"""Type of the error of a call that was denied: by a permission rule, or by a hook."""
DENIED_BEFORE_HOOKS = re.compile(
    r"Qwen Code requires permission to use |This \"[^\"]*\" invocation was denied by permission"
    r"|Blocked by auto mode policy: "
)
"""Start of the error of a call that was denied before hooks saw it."""
CLASSIFIER = "Blocked by auto mode policy: "
CLASSIFIER_REASON = "classifier_blocked"
SUMMARY = re.compile(r"<summary>.*?</summary>", re.DOTALL)


class _Reader(SessionReader):
    """Turns records into events."""

    needless = _NEEDLESS
    nearly = ("timestamp",)  # the record is written before or after the hook
    without_session = "has no record of a session of Qwen Code"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._is_subagent = path.parent.parent.name == "subagents"
        self._transcript_path = str(path)
        self._agent_type = ""
        self._permission_mode = ""
        if self._is_subagent:
            main_file = path.parents[2] / "chats" / f"{path.parent.name}.jsonl"
            self._transcript_path = str(main_file)
            meta = read_json_file(without_gz(path).with_suffix(".meta.json"))
            self._agent_type = text_in(meta, "agentType")
            self._permission_mode = text_in(meta, "resolvedApprovalMode")
        self._answer: Position | None = None
        # Id of a call to its prompt and run time, which come before its result.
        self._telemetry: dict[str, dict[str, Any]] = {}

    def take(self, record: dict[str, Any]) -> None:
        """Read a record."""
        take = self.takers.get(text_in(record, "type"))
        session_id = text_in(record, "sessionId")
        if take is None or not session_id:
            return
        if not self.session_id:
            self.session_id = session_id
            if self._is_subagent:
                payload = self._payload("SubagentStart", record)
                payload["agent_type"] = self._agent_type or text_in(record, "agentName")
                self.add(Draft(payload, "subagent_start"))
            else:
                payload = self._payload("SessionStart", record, source="startup")
                self.add(Draft(payload, "session_start", ("source",)))
        take(self, record)

    def take_user(self, record: dict[str, Any]) -> None:
        self.end_turns()
        self.release()
        is_typed = record.get("provenance", "real_user") == "real_user"
        if self._is_subagent or not is_typed or record.get("subtype") == "notification":
            return
        typed = text_in(object_in(record, "systemPayload"), "displayText")
        text = typed or _text_of(record)
        if text:
            payload = self._payload("UserPromptSubmit", record, prompt=text)
            self.add(Draft(payload, "before_prompt"))

    # -- calls

    def take_assistant(self, record: dict[str, Any]) -> None:
        self._answer = record, self.line
        for part in objects_in(object_in(record, "message"), "parts"):
            call = object_in(part, "functionCall")
            call_id = text_in(call, "id")
            name = text_in(call, "name")
            if not call_id or not name:
                continue
            payload = self._payload("PreToolUse", record, tool_name=name)
            payload["tool_input"] = object_in(call, "args")
            payload["tool_use_id"] = call_id
            payload["tool_call_id"] = call_id
            place = f"{text_in(record, 'uuid')}/{call_id}"
            self.hold_call(call_id, Draft(payload, "before_tool", ("tool_use_id",), place))

    def take_system(self, record: dict[str, Any]) -> None:
        data = object_in(record, "systemPayload")
        event = object_in(data, "uiEvent")
        subtype = text_in(record, "subtype")
        if subtype == "chat_compression":
            self.end_turns()
            self.release()
            reason = text_in(object_in(data, "info"), "triggerReason")
            trigger = "manual" if reason == "manual" else "auto"
            reconstructed = () if reason in ("manual", "auto") else ("trigger",)
            payload = self._payload("PreCompact", record, trigger=trigger)
            self.add(Draft(payload, "before_compress", reconstructed))
            payload = self._payload("PostCompact", record, trigger=trigger)
            history = objects_in(data, "compressedHistory")
            text = join_text_blocks(history[0].get("parts")) if history else ""
            summary = SUMMARY.match(text)
            payload["compact_summary"] = summary[0] if summary else text
            self.add(Draft(payload, "post_compact", (*reconstructed, "compact_summary")))
            payload = self._payload("SessionStart", record, source="compact")
            self.add(Draft(payload, "session_start"))
        elif subtype == "ui_telemetry" and event.get("event.name") == "qwen-code.tool_call":
            call = self.find_call(text_in(event, "call_id"))
            if call is not None:
                self._telemetry[text_in(event, "call_id")] = event
                if text_in(event, "prompt_id"):
                    call.payload["prompt_id"] = event["prompt_id"]

    def take_result(self, record: dict[str, Any]) -> None:
        result = object_in(record, "toolCallResult")
        for part in objects_in(object_in(record, "message"), "parts"):
            response = object_in(part, "functionResponse")
            call_id = text_in(response, "id")
            call = self.close_call(call_id)
            if call is not None:
                telemetry = self._telemetry.pop(call_id, {})
                self._join(record, call, object_in(response, "response"), result, telemetry)

    def _join(
        self,
        record: dict[str, Any],
        call: Draft,
        response: dict[str, Any],
        result: dict[str, Any],
        telemetry: dict[str, Any],
    ) -> None:
        """Add what follows a call, and drop the call if hooks did not get it."""
        error = text_in(response, "error")
        kind = text_in(result, "errorType")
        is_cancelled = result.get("status") == "cancelled"
        is_not_run = result.get("executionStatus") == "not_started"
        payload = dict(call.payload)
        payload["timestamp"] = text_in(record, "timestamp")
        is_denied_early = kind == DENIED and DENIED_BEFORE_HOOKS.match(error) is not None
        if kind in NOT_CALLED or is_denied_early or (is_cancelled and is_not_run):
            call.refusal = Refusal(error or text_in(result, "status"), has_reached_hooks=False)
            if error.startswith(CLASSIFIER):
                payload["hook_event_name"] = "PermissionDenied"
                payload["reason"] = CLASSIFIER_REASON
                self.add(Draft(payload, "permission_denied", ("reason",), call.place))
            return
        if is_not_run:  # a hook denied it
            call.refusal = Refusal(error)
            return
        reconstructed: tuple[str, ...] = ("tool_use_id",)
        duration = telemetry.get("duration_ms", result.get("durationMs"))
        if isinstance(duration, int | float) and not isinstance(duration, bool):
            payload["duration_ms"] = duration
            reconstructed += ("duration_ms",)
        if error:
            payload["hook_event_name"] = "PostToolUseFailure"
            payload["error"] = error
            payload["is_interrupt"] = is_cancelled
            self.add(Draft(payload, "post_tool_use_failure", reconstructed, call.place))
            return
        payload["hook_event_name"] = "PostToolUse"
        text = text_in(response, "output")
        # The result of an MCP tool is a list of parts, of which the file has the text.
        is_mcp = payload["tool_name"].startswith("mcp__")
        content = [{"text": text}] if is_mcp else text
        display = result.get("resultDisplay", text)
        if isinstance(display, dict) and display.get("type") == "shell_result":
            display = text_in(display, "text")  # hooks get the text only
        payload["tool_response"] = {"llmContent": content, "returnDisplay": display}
        reconstructed += ("tool_response",)
        self.add(Draft(payload, "after_tool", reconstructed, call.place))

    # -- ends

    def end_turns(self) -> None:
        """Add the event of a turn that has ended."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        record, _ = answer
        parts = objects_in(object_in(record, "message"), "parts")
        text = _text_of(record)
        if not text or any("functionCall" in part for part in parts):
            return  # the program was killed, or stopped the turn
        wire = "SubagentStop" if self._is_subagent else "Stop"
        payload = self._payload(wire, record, stop_hook_active=False)
        event = "after_agent"
        if self._is_subagent:
            event = "subagent_stop"
            payload["agent_type"] = self._agent_type or text_in(record, "agentName")
            payload["agent_transcript_path"] = str(self.path)
        payload["last_assistant_message"] = text
        self.add(Draft(payload, event, ("stop_hook_active",)), answer)

    # -- payloads

    def _payload(self, wire: str, record: dict[str, Any], **members: Any) -> dict[str, Any]:
        """Return what payloads have in common, in the order of the program, and other members."""
        payload: dict[str, Any] = {
            "session_id": record["sessionId"],
            "transcript_path": self._transcript_path,
            "cwd": text_in(record, "cwd"),
            "hook_event_name": wire,
            "timestamp": text_in(record, "timestamp"),
        }
        if self._permission_mode:
            payload["permission_mode"] = self._permission_mode
        if self._is_subagent:
            payload["agent_id"] = text_in(record, "agentId")
        return {**payload, **members}

    takers: ClassVar = {
        "user": take_user,
        "assistant": take_assistant,
        "tool_result": take_result,
        "system": take_system,
    }


def _text_of(record: dict[str, Any]) -> str:
    """Return the text of a message, without the thoughts of the model."""
    parts = objects_in(object_in(record, "message"), "parts")
    return join_text_blocks([part for part in parts if part.get("thought") is not True])


TRANSCRIPTS = TranscriptFormat(
    name="qwen",
    variable="QWEN_HOME",
    directory=".qwen",
    patterns=("projects/*/chats/*.jsonl", "projects/*/subagents/*/*.jsonl"),
    read=_Reader.read,
    own_members=frozenset({"uuid", "parentUuid", "sessionId", "version"}),
)
