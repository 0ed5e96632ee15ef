"""Transcripts of Copilot CLI: `session-state/<session>/events.jsonl`, one event per line.

Where hooks were configured, the file holds their inputs too (`hook.start`), nearly as hooks got
them. Source: files that Copilot CLI 1.0.102 wrote.
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
    parse_time,
    text_in,
)

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.agents.transcripts import Position


# Instructions and usage. The first members of the record, so that no text inside it can look like
# them.
_NEEDLESS = re.compile(
    rb'\{"type":"(?:system\.message|session\.usage_record|assistant\.turn_(?:start|end)|hook\.end)"'
)

DENIED = re.compile(r"Permission to run this tool was denied|The user rejected|Denied by ")
"""Start of the error of a call that was denied: it has no event after the tool."""
DENIED_CODES = frozenset({"denied", "rejected"})

ONLY_FROM_HOOKS = {
    "permissionRequest": "permission_request",
    "preCompact": "before_compress",
    "notification": "notification",
}
"""Events that the file has only where hooks were configured for them."""

MAX_TIME = 1 << 53
"""Milliseconds since the epoch of which a float holds every one."""


class _Reader(SessionReader):
    """Turns records into events."""

    needless = _NEEDLESS
    follow_up = "hook.start"  # the input of a hook follows the record of its event
    nearly = ("timestamp",)  # the record is written before or after the hook
    without_session = "has no session.start event of Copilot CLI"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._cwd = ""
        # Of each agent, by its id, which is empty for the main one.
        self._agents: dict[str, dict[str, Any]] = {}
        self._inputs: dict[tuple[str, str], dict[str, Any]] = {}
        self._answers: dict[str, Position] = {}
        self._start: Draft | None = None
        self._has_end = False

    def take(self, record: dict[str, Any]) -> None:
        """Read a record."""
        kind = text_in(record, "type")
        take = self.takers.get(kind)
        if take is not None and (self.session_id or kind == "session.start"):
            take(self, object_in(record, "data"))

    def place_of(self, record: dict[str, Any], line: int) -> str:
        """Return what identifies a record among those of all sessions."""
        return f"{self.session_id}/{text_in(record, 'id') or line}"

    @property
    def _agent_id(self) -> str:
        """The subagent whose record is being read; empty for the main agent."""
        return text_in(self.record, "agentId")

    def take_start(self, data: dict[str, Any]) -> None:
        self.session_id = text_in(data, "sessionId") or self.path.parent.name
        self._cwd = text_in(object_in(data, "context"), "cwd")
        payload = self._payload(source="new")
        self._start = self.add(Draft(payload, "session_start", ("source",)))

    def take_hook(self, data: dict[str, Any]) -> None:
        """Read the input of a hook, which is what the payload was made of."""
        kind = text_in(data, "hookType")
        hook_input = object_in(data, "input")
        time = hook_input.get("timestamp")
        if not isinstance(time, int) or not 0 <= time <= MAX_TIME:
            return
        self._cwd = text_in(hook_input, "cwd") or self._cwd
        last = self.last
        if kind == "sessionStart":
            if self._start is None or self._start is not last:
                self._start = self.add(Draft(self._payload(), "session_start"))
            self._replace(self._start, hook_input)
        elif kind == "subagentStart":
            if last is not None and last.event == "subagent_start":
                self._replace(last, hook_input)
        elif kind in ("userPromptSubmitted", "userPromptTransformed", "subagentStop"):
            self._inputs[kind, text_in(hook_input, "agentId")] = hook_input
        elif kind == "agentStop":
            draft = self._end_turn(text_in(hook_input, "agentId"))
            if draft is not None:
                self._replace(draft, hook_input)
        elif kind == "sessionEnd":
            self.end_turns()
            self._has_end = True
            self._replace(self.add(Draft(self._payload(), "session_end")), hook_input)
        elif kind in ONLY_FROM_HOOKS:
            event = ONLY_FROM_HOOKS[kind]
            place = f"{self.session_id}/{text_in(data, 'hookInvocationId') or self.line}"
            self._replace(self.add(Draft(self._payload(), event, place=place)), hook_input)

    def _replace(self, draft: Draft, hook_input: dict[str, Any]) -> None:
        """Use the input of a hook for an event."""
        draft.payload.update(hook_input)
        draft.time = hook_input["timestamp"] / 1000
        draft.reconstructed = ()

    def take_prompt(self, data: dict[str, Any]) -> None:
        agent_id = self._agent_id
        self._end_turn(agent_id)
        if not agent_id:
            self.release()
        text = text_in(data, "content")
        if not text:
            return
        payload = self._payload(prompt=text)
        draft = self.add(Draft(payload, "before_prompt"))
        hook_input = self._inputs.pop(("userPromptSubmitted", agent_id), {})
        if hook_input.get("prompt") == text:
            self._replace(draft, hook_input)
        transformed = text_in(data, "transformedContent")
        if transformed:
            payload = self._payload(prompt=text, transformedPrompt=transformed)
            draft = self.add(Draft(payload, "prompt_transformed"))
            hook_input = self._inputs.pop(("userPromptTransformed", agent_id), {})
            if hook_input.get("transformedPrompt") == transformed:
                self._replace(draft, hook_input)

    # -- subagents

    def take_subagent_start(self, data: dict[str, Any]) -> None:
        call = self.find_call(text_in(data, "toolCallId"))
        parent = call.payload["sessionId"] if call is not None else self.session_id
        name = text_in(data, "agentName")
        self._agents[self._agent_id] = {
            "agentId": self._agent_id,
            "agentType": text_in(data, "agentType") or name,
            "parentAgentId": parent,
        }
        self.add(Draft(self._subagent_payload(data), "subagent_start"))

    def take_subagent_end(self, data: dict[str, Any]) -> None:
        agent_id = self._agent_id
        answer = self._answers.get(agent_id)
        self._end_turn(agent_id)
        payload = self._subagent_payload(data)
        response = object_in(answer[0], "data") if answer is not None else {}
        payload["response"] = text_in(response, "content")
        payload["stopReason"] = "end_turn"
        payload["stop_hook_active"] = False
        draft = self.add(Draft(payload, "subagent_stop", ("response", "stop_hook_active")))
        hook_input = self._inputs.pop(("subagentStop", agent_id), None)
        if hook_input is not None:
            self._replace(draft, hook_input)
        self._agents.pop(agent_id, None)

    def _subagent_payload(self, data: dict[str, Any]) -> dict[str, Any]:
        agent = self._agents.get(self._agent_id, {"agentId": self._agent_id})
        payload = self._payload(sessionId=agent.get("parentAgentId", self.session_id))
        payload["transcriptPath"] = str(self.path)
        payload["agentName"] = text_in(data, "agentName")
        return {**payload, **agent}

    # -- calls

    def take_call(self, data: dict[str, Any]) -> None:
        call_id = text_in(data, "toolCallId")
        name = text_in(data, "toolName")
        if not call_id or not name:
            return
        payload = self._payload(toolName=name)
        # A tool like `apply_patch` takes one text in place of an object.
        payload["toolArgs"] = text_in(data, "arguments") or object_in(data, "arguments")
        # Ids of calls repeat with some servers.
        place = f"{self.session_id}/{text_in(self.record, 'id')}/{call_id}"
        self.hold_call(call_id, Draft(payload, "before_tool", place=place))

    def take_result(self, data: dict[str, Any]) -> None:
        call = self.close_call(text_in(data, "toolCallId"))
        if call is None:
            return
        # The record of a result names the agent of the call.
        payload = {**call.payload, "timestamp": self._payload()["timestamp"]}
        content = object_in(data, "result").get("content")
        text = join_text_blocks(content)
        if data.get("success") is not False:
            payload["toolResult"] = {"resultType": "success", "textResultForLlm": text}
            self.add(Draft(payload, "after_tool", place=call.place))
            return
        error = object_in(data, "error")
        text = text_in(error, "message") or text_in(data, "error") or text
        if text_in(error, "code") in DENIED_CODES or DENIED.match(text):
            call.refusal = Refusal(text)
            return
        payload["error"] = text
        self.add(Draft(payload, "post_tool_use_failure", ("error",), call.place))

    # -- ends

    def take_answer(self, data: dict[str, Any]) -> None:
        self._answers.pop(self._agent_id, None)
        if not objects_in(data, "toolRequests"):
            self._answers[self._agent_id] = self.record, self.line

    def end_turns(self) -> None:
        """Add the events of the turns that have ended."""
        for agent_id in list(self._answers):
            self._end_turn(agent_id)

    def _end_turn(self, agent_id: str) -> Draft | None:
        answer = self._answers.pop(agent_id, None)
        if answer is None:
            return None
        payload = self._payload(answer[0], transcriptPath=str(self.path), stopReason="end_turn")
        payload["stop_hook_active"] = False
        return self.add(Draft(payload, "after_agent", ("stop_hook_active",)), answer)

    def take_shutdown(self, data: dict[str, Any]) -> None:
        self.end_turns()
        self.release()
        has_end, self._has_end = self._has_end, False
        if has_end:
            return
        payload = self._payload()
        is_error = text_in(data, "shutdownType") == "error"
        payload["reason"] = "error" if is_error else "complete"
        self.add(Draft(payload, "session_end", ("reason",)))

    # -- payloads

    def _payload(self, record: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
        """Return what payloads have in common, in the order of the program, and other members."""
        record = self.record if record is None else record
        agent_id = text_in(record, "agentId")
        time = parse_time(record.get("timestamp"))
        payload = {
            "sessionId": agent_id or self.session_id,
            "timestamp": round((time or 0.0) * 1000),
            "cwd": self._cwd,
        }
        return {**payload, **self._agents.get(agent_id, {}), **members}

    takers: ClassVar = {
        "session.start": take_start,
        "hook.start": take_hook,
        "user.message": take_prompt,
        "assistant.message": take_answer,
        "subagent.started": take_subagent_start,
        "subagent.completed": take_subagent_end,
        "subagent.failed": take_subagent_end,
        "tool.execution_start": take_call,
        "tool.execution_complete": take_result,
        "session.shutdown": take_shutdown,
    }


TRANSCRIPTS = TranscriptFormat(
    name="copilot",
    variable="COPILOT_HOME",
    directory=".copilot",
    patterns=("session-state/*/events.jsonl",),
    read=_Reader.read,
    own_members=frozenset({"type", "data", "parentId", "timestamp"}),
)
