"""Transcripts of Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`.

A header, then messages and changes of them, one per line; a message that has calls is written
again when they have ended. Files of subagents are in `chats/<session>/`. Source: files that Gemini
CLI 0.61.0 wrote. Older releases wrote one JSON document with the same messages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.transcripts import (
    MAX_LINE,
    Draft,
    Refusal,
    SessionReader,
    TranscriptFormat,
    join_text_blocks,
    object_in,
    objects_in,
    parse_time,
    read_json_file,
    read_small_text,
    text_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.agents.transcripts import Position, Problems

# A change of the header that says only when the session was used last: half of all lines.
_NEEDLESS = re.compile(rb'\{"\$set":\{"lastUpdated":"[^"\\]*"\}\}\s*\Z')

NOT_A_PROMPT = ("<session_context>", "<state_snapshot>")
"""Starts of user texts that the program wrote."""
NOT_CALLED = re.compile(r'Tool "[^"]*" not found|params(?:/| must )')
"""Error of a call that did not reach hooks: an unknown or excluded tool, wrong arguments."""
BLOCKED = "Tool execution blocked: "
"""Start of the error of a call that a hook blocked: it has no event after the tool."""
CANCELLED = "cancelled by the user"
"""Reason of a cancelled call whose record has none."""
CHANGED = "[System] Tool input parameters were modified by a hook before execution."
"""End of the result of a call whose arguments a hook changed; the file has the changed ones."""

MCP_PREFIX = "mcp_"
DISPLAYED_MCP_TOOL = re.compile(r"(?P<tool>.+) \((?P<server>.+) MCP Server\)")


class _Reader(SessionReader):
    """Turns records into events."""

    needless = _NEEDLESS
    without_session = "has no header of a session of Gemini CLI"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._is_subagent = path.parent.name != "chats" and path.parent.parent.name == "chats"
        self._transcript_path = str(path)
        if self._is_subagent:
            # The transcript of the session to which the file belongs.
            session = path.parent.name
            files = sorted(path.parent.parent.glob(f"session-*-{session[:8]}.json*"))
            self._transcript_path = str(files[0]) if files else str(path)
        self._cwd = _find_project(path)
        # Ids of the messages and calls that were read: a resumed session repeats all of them.
        self._messages: set[str] = set()
        self._calls: set[str] = set()
        self._prompt = ""
        self._texts: list[str] = []
        self._last: Position | None = None

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the records of the file; of a document its header, then its messages."""
        if self.path.suffix != ".json":
            yield from super().records(problems)
            return
        document = read_json_file(self.path, MAX_LINE)
        yield 1, {key: value for key, value in document.items() if key != "messages"}
        yield from enumerate(objects_in(document, "messages"), 1)

    def place_of(self, record: dict[str, Any], line: int) -> str:
        """Return what identifies a message."""
        return text_in(record, "id") or str(line)

    def take(self, record: dict[str, Any]) -> None:
        """Read a record."""
        if text_in(record, "sessionId"):
            self._take_header(record)
        elif not self.session_id:
            return
        elif isinstance(record.get("$set"), dict):
            for message in objects_in(object_in(record, "$set"), "messages"):
                is_new = text_in(message, "id").removesuffix("_response") not in self._messages
                if is_new:
                    self._take_message(message)
        else:
            self._take_message(record)

    def _take_header(self, record: dict[str, Any]) -> None:
        is_first = not self.session_id
        self.end_turns()
        self.release()
        # Hooks in a subagent get the session that it belongs to.
        own = self.path.parent.name if self._is_subagent else text_in(record, "sessionId")
        self.session_id = own
        directories = record.get("directories")
        if isinstance(directories, list) and directories and isinstance(directories[0], str):
            self._cwd = self._cwd or directories[0]
        # The record of an event is written before or after its hooks.
        self.nearly = ("timestamp",) if self._cwd else ("timestamp", "cwd")
        if self._is_subagent:
            return
        started = text_in(record, "startTime")
        header = {"timestamp": started}
        payload = self._payload("SessionStart", header, source="startup" if is_first else "resume")
        self.add(
            Draft(
                payload,
                "session_start",
                ("source",) if is_first else (),
                f"{self.session_id}/{started}",
            ),
            (header, self.line),
        )

    def _take_message(self, record: dict[str, Any]) -> None:
        self.record = record
        kind = text_in(record, "type")
        self._messages.add(text_in(record, "id"))
        if kind == "user":
            self._take_user(record)
        elif kind == "gemini":
            self._take_answer(record)

    def _take_user(self, record: dict[str, Any]) -> None:
        content = record.get("content")
        for part in content if isinstance(content, list) else []:
            response = object_in(part, "functionResponse") if isinstance(part, dict) else {}
            # The result of a call that the file has only in the form of the model's API.
            before = self.close_call(text_in(response, "id")) if response else None
            if before is None:
                continue
            result = object_in(response, "response")
            before.refusal = _refusal_of(text_in(result, "error"))
            if before.refusal is None:
                call = {"timestamp": record.get("timestamp")}
                self.append(self._result(before, call, result))
        text = join_text_blocks(record.get("displayContent") or content)
        if not text or text.startswith(NOT_A_PROMPT):
            return
        self.end_turns()
        self.release()
        self._prompt = text
        if self._is_subagent:
            return  # the prompt of a subagent has no event
        payload = self._payload("BeforeAgent", record, prompt=text)
        self.add(Draft(payload, "before_prompt"))

    def _take_answer(self, record: dict[str, Any]) -> None:
        message_id = text_in(record, "id")
        is_same = self._last is not None and text_in(self._last[0], "id") == message_id
        text = join_text_blocks(record.get("content"))
        if text and not is_same:
            self._texts.append(text)
        self._last = record, self.line
        # Hooks get all calls of an answer before the first one has ended.
        results = [self._add_call(record, call) for call in objects_in(record, "toolCalls")]
        for result in results:
            if result is not None:
                self.append(result)
        # The form of a history that was not read from this file.
        for part in objects_in(record, "content"):
            self._add_call(record, object_in(part, "functionCall"))

    def _add_call(self, record: dict[str, Any], call: dict[str, Any]) -> Draft | None:
        """Add the event before a call; return the one after it, if it has ended."""
        name = text_in(call, "name")
        call_id = text_in(call, "id")
        # Ids of calls repeat with some servers.
        place = f"{self.place_of(record, self.line)}/{call_id}"
        if not name or not call_id or place in self._calls:
            return None
        self._calls.add(place)
        response: dict[str, Any] = {}
        for result in objects_in(call, "result"):
            response = response or object_in(object_in(result, "functionResponse"), "response")
        is_decided = "status" in call
        error = text_in(response, "error")
        output = text_in(response, "output")
        is_changed = output.endswith(CHANGED)
        payload = self._payload("BeforeTool", record, tool_name=name)
        payload["tool_input"] = object_in(call, "args")
        reconstructed: tuple[str, ...] = ("tool_input",) if is_changed else ()
        context = _mcp_context(name, text_in(call, "displayName"))
        if context:
            payload["mcp_context"] = context
            reconstructed += ("mcp_context",)
        place = f"{self.session_id}/{place}"
        if not is_decided:
            self.hold_call(call_id, Draft(payload, "before_tool", reconstructed, place))
            return None
        before = self.locate(Draft(payload, "before_tool", reconstructed, place))
        self.append(before)
        is_cancelled = text_in(call, "status") == "cancelled"
        before.refusal = _refusal_of(error, is_cancelled=is_cancelled)
        return None if before.refusal else self._result(before, call, response)

    def _result(self, before: Draft, call: dict[str, Any], response: dict[str, Any]) -> Draft:
        """Return the event after a call."""
        payload = dict(before.payload)
        payload["hook_event_name"] = "AfterTool"
        if parse_time(call.get("timestamp")) is not None:
            payload["timestamp"] = call["timestamp"]
        error = text_in(response, "error")
        text = error or text_in(response, "output").removesuffix("\n\n" + CHANGED)
        result: dict[str, Any] = {"llmContent": text}
        result["returnDisplay"] = call.get("resultDisplay", text)
        if error:
            result["error"] = {"message": error}
        payload["tool_response"] = result
        reconstructed: tuple[str, ...] = ("tool_response",)
        if "mcp_context" in payload:
            reconstructed += ("mcp_context",)
        return self.locate(
            Draft(payload, "after_tool", reconstructed, before.place), (call, self.line)
        )

    def end_turns(self) -> None:
        """Add the event of a turn that has ended."""
        last, self._last = self._last, None
        texts, self._texts = self._texts, []
        if last is None or self._is_subagent or not texts:
            return
        record, _ = last
        if record.get("toolCalls") or not self._prompt:
            return  # the program was killed, or the turn was interrupted
        payload = self._payload("AfterAgent", record, prompt=self._prompt)
        payload["prompt_response"] = "\n".join(texts)
        payload["stop_hook_active"] = False
        self.add(Draft(payload, "after_agent", ("prompt_response", "stop_hook_active")), last)

    # -- payloads

    def _payload(self, wire: str, record: dict[str, Any], **members: Any) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "transcript_path": self._transcript_path,
            "cwd": self._cwd,
            "hook_event_name": wire,
            "timestamp": text_in(record, "timestamp"),
            **members,
        }


def _mcp_context(name: str, display_name: str) -> dict[str, str]:
    """Return the server and the tool of an MCP tool; empty for another tool.

    The name is `mcp_SERVER_TOOL`, the name for the user `TOOL (SERVER MCP Server)`. The form of the
    model's API lacks the latter: then the server ends at the first underscore, as Gemini CLI
    assumes in its policies.
    """
    if not name.startswith(MCP_PREFIX):
        return {}
    displayed = DISPLAYED_MCP_TOOL.fullmatch(display_name)
    if displayed is not None and name == f"{MCP_PREFIX}{displayed['server']}_{displayed['tool']}":
        return {"server_name": displayed["server"], "tool_name": displayed["tool"]}
    server, _, tool = name.removeprefix(MCP_PREFIX).partition("_")
    return {"server_name": server, "tool_name": tool} if server and tool else {}


def _refusal_of(error: str, *, is_cancelled: bool = False) -> Refusal | None:
    """Return why a call was not executed, from its error; `None` if it was."""
    if NOT_CALLED.match(error):
        return Refusal(error, has_reached_hooks=False)
    if is_cancelled or error.startswith(BLOCKED):
        return Refusal(error or CANCELLED)
    return None


def _find_project(path: Path) -> str:
    """Return the directory of the project; an empty string if it is not known."""
    for parent in path.parents:
        if parent.name != "chats":
            continue
        project = parent.parent
        root = read_small_text(project / ".project_root").strip()
        if root:
            return root
        projects = object_in(read_json_file(project.parent.parent / "projects.json"), "projects")
        for directory, name in projects.items():
            if name == project.name:
                return directory
    return ""


TRANSCRIPTS = TranscriptFormat(
    name="gemini",
    variable="GEMINI_CLI_HOME",
    directory="",
    patterns=(
        ".gemini/tmp/*/chats/session-*.json",
        ".gemini/tmp/*/chats/session-*.jsonl",
        ".gemini/tmp/*/chats/*/*.jsonl",
    ),
    read=_Reader.read,
    own_members=frozenset({"sessionId", "projectHash"}),
)
