"""Transcripts of Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`.

Each line is one record with a type and a payload: what the model got (`response_item`), and what
the interface showed (`event_msg`), which has the output of commands. A subagent is a thread with a
file of its own. Source: files that Codex CLI 0.169.0 wrote.
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
    text_in,
)
from anyhook.model.json import parse_json

if TYPE_CHECKING:
    from pathlib import Path

# State, usage, instructions and reasoning: most bytes of a file. The first members of the record,
# so that no text inside it can look like them.
_NEEDLESS = re.compile(
    rb'\{"timestamp":"[^"\\]*",(?:"ordinal":\d+,)?"type":"(?:world_state"|token_usage_record"'
    rb'|event_msg","payload":\{"type":"(?:token_count|agent_reasoning)'
    rb'|response_item","payload":\{"type":"(?:message|reasoning)")'
)

SHELL_TOOLS = frozenset({"exec_command", "shell", "local_shell", "shell_command", "container.exec"})
"""Names by which the model calls the tool that hooks know as `Bash`."""
NOT_HOOKED = frozenset({"write_stdin", "exec", "wait", "web_search"})
"""Tools without hooks: input for a running command, scripts, hosted tools."""
NO_RESULT = frozenset({"request_user_input", "tool_search"})
"""Tools without an event after them."""
OWN_NAMESPACES = frozenset({"", "functions"})
"""Namespaces that are not part of the name that hooks get."""
OBJECT_RESULTS = frozenset({"get_goal", "create_goal", "update_goal"})
"""Tools whose result hooks get as an object; the file has its JSON text."""
NOT_CALLED = ("unsupported call: ", "failed to parse function arguments", "unsupported custom tool")
"""Starts of the output of a call that did not reach hooks."""
REFUSED = re.compile(
    r"Command blocked by PreToolUse hook: |Tool call blocked by PreToolUse hook: "
    r"|apply_patch verification failed|patch rejected|user rejected"
    r"|(?:exec_command failed|execution error).*\bRejected\("
)
"""Start of the output of a call that was refused: it has no event after the tool."""
FAILED_CALL_TEXTS = ("exec_command failed", "aborted", "execution error")
"""Starts of the output of a call that failed: it has no event after the tool, either."""
EXITED = re.compile(r"(?:Chunk ID: .*\n)?Wall time: .*\nProcess exited with code -?\d+\n")
RUNNING = re.compile(r"(?:Chunk ID: .*\n)?Wall time: .*\nProcess running with session ID ")
PATCHED = re.compile(r"Exit code: 0\n")
SPAWN_AGENT = ("multi_agent_v1", "spawn_agent")
"""The one tool of its namespace whose name hooks get without it."""


class _Reader(SessionReader):
    """Turns records into events."""

    needless = _NEEDLESS
    without_session = "has no session_meta record of Codex CLI"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._thread_id = ""
        self._parent_path = ""
        self._agent_type = ""
        self._is_subagent = False
        self._is_one_turn = False
        self._is_started = False
        self._cwd = ""
        self._turn_id = ""
        self._model = ""
        self._permission_mode = ""
        # Some releases write a prompt in two forms, before the answer.
        self._prompt = ""
        # Calls whose result came as an item, before the text for the model.
        self._finished: dict[str, None] = {}

    def take(self, record: dict[str, Any]) -> None:
        """Read a record; that of the thread is the first one."""
        payload = object_in(record, "payload")
        kind = text_in(record, "type")
        if kind != "session_meta":
            take = self.takers.get(kind) or self.takers.get(f"{kind}/{text_in(payload, 'type')}")
            if take is not None and self.session_id:
                take(self, payload)
            return
        if self._thread_id:
            return
        self._thread_id = text_in(payload, "id")
        self.session_id = text_in(payload, "session_id") or self._thread_id
        self._cwd = text_in(payload, "cwd")
        self._is_one_turn = payload.get("source") == "exec"
        parent = text_in(payload, "parent_thread_id")
        self._is_subagent = bool(parent)
        self._agent_type = text_in(payload, "agent_role") or "default"
        self._parent_path = ""
        if re.fullmatch(r"[\w-]+", parent):
            name = f"rollout-*-{parent}.jsonl"
            files = sorted(self.path.parent.glob(name))
            if not files and len(self.path.parents) > 3:
                files = sorted(self.path.parents[3].glob(f"*/*/*/{name}"))
            if files:
                self._parent_path = str(files[0])

    def place_of(self, _record: dict[str, Any], line: int) -> str:
        """Return what identifies an event of a turn."""
        return f"{self._thread_id}/{self._turn_id or line}"

    # -- threads and turns

    def take_context(self, context: dict[str, Any]) -> None:
        turn_id = text_in(context, "turn_id")
        is_new = turn_id != self._turn_id or not self._is_started
        self._turn_id = turn_id
        self._cwd = text_in(context, "cwd") or self._cwd
        self._model = text_in(context, "model")
        never_asks = context.get("approval_policy") == "never"
        self._permission_mode = "bypassPermissions" if never_asks else "default"
        if not is_new:
            return
        self.release()
        if self._is_subagent and not self._is_started:
            payload = self._payload("SubagentStart", is_about_agent=True, agent_id=self._thread_id)
            payload["agent_type"] = self._agent_type
            self.add(Draft(payload, "subagent_start"))
        elif not self._is_subagent and (not self._is_started or self._is_one_turn):
            payload = self._payload("SessionStart", has_turn=False)
            payload["source"] = "resume" if self._is_started else "startup"
            self.add(Draft(payload, "session_start", ("source",)))
        self._is_started = True

    def take_complete(self, data: dict[str, Any]) -> None:
        self._prompt = ""
        self.release()
        reconstructed: tuple[str, ...] = ("stop_hook_active",)
        message = data.get("last_agent_message")
        if self._is_subagent:
            payload = self._payload("SubagentStop", is_about_agent=True)
            payload["transcript_path"] = self._parent_path
            payload["agent_transcript_path"] = str(self.path)
            payload["stop_hook_active"] = False
            payload["agent_id"] = self._thread_id
            payload["agent_type"] = self._agent_type
            payload["last_assistant_message"] = message if isinstance(message, str) else None
            if not self._parent_path:
                reconstructed += ("transcript_path",)
            self.add(Draft(payload, "subagent_stop", reconstructed))
            return
        payload = self._payload("Stop", stop_hook_active=False)
        payload["last_assistant_message"] = message if isinstance(message, str) else None
        self.add(Draft(payload, "after_agent", reconstructed))
        if self._is_one_turn:
            payload = self._payload("SessionEnd", has_turn=False)
            del payload["model"], payload["permission_mode"]
            payload["reason"] = "other"
            self.add(Draft(payload, "session_end", ("reason",)))

    def take_abort(self, data: dict[str, Any]) -> None:
        self.release()
        if not self._is_subagent and data.get("reason") == "interrupted":
            self.add(Draft(self._payload("Interrupt"), "interrupt"))

    def take_compaction(self, _data: dict[str, Any]) -> None:
        self.release()
        for wire, event in (("PreCompact", "before_compress"), ("PostCompact", "post_compact")):
            payload = self._payload(wire)
            del payload["permission_mode"]
            payload["trigger"] = "auto"
            place = f"{self._thread_id}/{self._turn_id}/{self.line}"
            self.add(Draft(payload, event, ("trigger",), place))

    def take_prompt(self, data: dict[str, Any]) -> None:
        item = object_in(data, "item")
        self._add_prompt(join_text_blocks(item.get("content")), text_in(item, "id"))

    def take_message(self, data: dict[str, Any]) -> None:
        """Read a prompt of a release that did not write items."""
        self._add_prompt(text_in(data, "message"), "")

    def _add_prompt(self, text: str, item_id: str) -> None:
        if text and text != self._prompt:
            self._prompt = text
            payload = self._payload("UserPromptSubmit", prompt=text)
            place = f"{self._thread_id}/{item_id}" if item_id else ""
            self.add(Draft(payload, "before_prompt", place=place))

    # -- calls

    def take_call(self, call: dict[str, Any]) -> None:
        self._prompt = ""
        namespace, name = text_in(call, "namespace"), text_in(call, "name")
        if name in SHELL_TOOLS and namespace in OWN_NAMESPACES:
            name = "Bash"
        elif namespace not in OWN_NAMESPACES and (namespace, name) != SPAWN_AGENT:
            name = namespace + name
        call_id = text_in(call, "call_id")
        if name in NOT_HOOKED or not name or not call_id:
            return
        arguments = call.get("arguments", call.get("input"))
        if name == "apply_patch" and isinstance(arguments, str) and arguments[:1] != "{":
            tool_input: dict[str, Any] | None = {"command": arguments}
        else:
            tool_input = _read_arguments(arguments)
        if tool_input is None:
            draft = self._hold(name, {"arguments": arguments}, call_id)
            draft.refusal = Refusal("failed to parse function arguments", has_reached_hooks=False)
            return
        if name == "Bash":
            command = tool_input.get("cmd", tool_input.get("command"))
            tool_input = {"command": _join_command(command)}
        self._hold(name, tool_input, call_id)

    def _hold(self, name: str, tool_input: dict[str, Any], call_id: str) -> Draft:
        payload = self._payload("PreToolUse", tool_name=name, tool_input=tool_input)
        payload["tool_use_id"] = call_id
        place = f"{self._thread_id}/{self._turn_id}/{call_id}"
        return self.hold_call(call_id, Draft(payload, "before_tool", place=place))

    def take_item(self, data: dict[str, Any]) -> None:
        """Read what the interface showed of a prompt, a command or a call of an MCP tool."""
        item = object_in(data, "item")
        kind = text_in(item, "type")
        call_id = text_in(item, "id")
        if kind == "UserMessage":
            self.take_prompt(data)
        elif kind == "CommandExecution":
            if self.find_call(call_id) is None and call_id.startswith("exec-"):
                # A call inside a script of the model, which only the interface shows.
                self._hold("Bash", {"command": _join_command(item.get("command"))}, call_id)
            output = item.get("aggregated_output")
            if isinstance(output, str):
                self._finish(call_id, output, ())
        elif kind == "McpToolCall" and isinstance(item.get("result"), dict):
            self._finish(call_id, item["result"], ())

    def take_output(self, output: dict[str, Any]) -> None:
        call_id = text_in(output, "call_id")
        if call_id in self._finished:
            del self._finished[call_id]
            return
        call = self.find_call(call_id)
        if call is None:
            return
        value = output.get("output")
        text = join_text_blocks(value)
        name = call.payload["tool_name"]
        if RUNNING.match(text):
            call.is_open = False  # its result comes when the command has ended
        elif text.startswith(NOT_CALLED):
            self.close_call(call_id)
            call.refusal = Refusal(text, has_reached_hooks=False)
        elif REFUSED.match(text):
            self.close_call(call_id)
            call.refusal = Refusal(text)
        elif text.startswith(FAILED_CALL_TEXTS) or name in NO_RESULT:
            self.close_call(call_id)
        elif name == "Bash":
            # A patch in a shell command has no event after it, a refused command neither.
            printed = _output_of_command(text)
            if printed is None:
                self.close_call(call_id)
            else:
                self._finish(call_id, printed, ("tool_response",))
        elif name != "apply_patch" or PATCHED.match(text):
            self._finish(call_id, *_read_result(name, value))
        else:
            self.close_call(call_id)
        self._finished.pop(call_id, None)

    def _finish(self, call_id: str, response: object, reconstructed: tuple[str, ...]) -> None:
        """Add the event after a call."""
        call = self.close_call(call_id)
        if call is None:
            return
        self._finished[call_id] = None
        payload = dict(call.payload)
        payload["hook_event_name"] = "PostToolUse"
        payload["tool_response"] = response
        payload["tool_use_id"] = payload.pop("tool_use_id")
        self.add(Draft(payload, "after_tool", reconstructed, call.place))

    # -- payloads

    def _payload(
        self, wire: str, *, has_turn: bool = True, is_about_agent: bool = False, **members: Any
    ) -> dict[str, Any]:
        """Return what payloads have in common, in the order of the program, and other members."""
        payload: dict[str, Any] = {"session_id": self.session_id}
        if has_turn:
            payload["turn_id"] = self._turn_id
        if self._is_subagent and not is_about_agent:
            payload["agent_id"] = self._thread_id
            payload["agent_type"] = self._agent_type
        payload["transcript_path"] = str(self.path)
        payload["cwd"] = self._cwd
        payload["hook_event_name"] = wire
        payload["model"] = self._model
        payload["permission_mode"] = self._permission_mode
        return {**payload, **members}

    takers: ClassVar = {
        "turn_context": take_context,
        "compacted": take_compaction,
        "event_msg/item_completed": take_item,
        "event_msg/user_message": take_message,
        "event_msg/task_complete": take_complete,
        "event_msg/turn_aborted": take_abort,
        "response_item/function_call": take_call,
        "response_item/custom_tool_call": take_call,
        "response_item/function_call_output": take_output,
        "response_item/custom_tool_call_output": take_output,
    }
    """Type of a record, or that and the type of its payload, to what reads the payload."""


def _read_arguments(arguments: object) -> dict[str, Any] | None:
    """Return the arguments of a call, which are a JSON text; `None` if they are not an object."""
    if not isinstance(arguments, str):
        return arguments if isinstance(arguments, dict) else None
    try:
        value = parse_json(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _join_command(command: object) -> str:
    """Return a command line; of `["bash", "-lc", script]` the script."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in command if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def _output_of_command(text: str) -> str | None:
    """Return the output of a command from the text for the model; `None` if it did not run."""
    if EXITED.match(text):
        return text.partition("\nOutput:\n")[2]
    if text.startswith('{"output"'):  # releases before 0.100
        return text_in(_read_arguments(text) or {}, "output")
    return None


def _read_result(name: str, value: object) -> tuple[object, tuple[str, ...]]:
    """Return a result in the form that hooks get, and whether it is only close to it."""
    is_mcp = name.startswith("mcp__")
    if not isinstance(value, str) or not (is_mcp or name in OBJECT_RESULTS):
        return value, ()
    try:
        parsed = parse_json(value)
    except (ValueError, RecursionError):
        parsed = None
    if is_mcp and isinstance(parsed, list):
        parsed = {"content": parsed}
    if isinstance(parsed, dict):
        return parsed, ("tool_response",)
    return {"content": [{"type": "text", "text": value}]}, ("tool_response",)


TRANSCRIPTS = TranscriptFormat(
    name="codex",
    variable="CODEX_HOME",
    directory=".codex",
    patterns=("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
    read=_Reader.read,
    own_members=frozenset({"timestamp", "type", "payload"}),
)
