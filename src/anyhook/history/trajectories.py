"""Conversations with tool calls in the form of OpenAI's API, as events with canonical names.

Data sets and evaluation harnesses publish them: as JSON lines, as one JSON document, as Parquet, of
which `anyhook.backtest.files` reads the rows, or as `.traj` files of SWE-agent. They have no times
and no sessions, and which hooks ran is not known.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.transcripts import (
    MAX_LINE,
    Problems,
    TranscriptEvent,
    join_text_blocks,
    object_in,
    objects_in,
    parse_time,
    read_records,
    text_in,
)
from anyhook.model.json import parse_json
from anyhook.model.tools import TOOLS, Tool, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


AGENT = "generic"
"""Name of the agent whose events they are."""
MESSAGE_LISTS = ("messages", "trajectory", "conversations", "conversation", "history")
"""Members that may hold the messages; the first one that does counts."""
IDS = ("trajectory_id", "session_id", "conversation_id", "instance_id", "id")
"""Members that may hold the id of the conversation."""

HARNESS_TOOLS = Vocabulary(
    agent="OpenHands and SWE-agent",
    tools={
        "shell": Tool(("execute_bash", "execute_command", "bash", "run_bash", "terminal")),
        "web_fetch": Tool(("fetch",)),
    },
    mcp_name="mcp__{server}__{tool}",
)
"""Tools of harnesses that are not coding agents."""
EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
EDITOR_COMMANDS = {
    "view": ("read_file", {"path": "file_path"}),
    "create": ("write_file", {"path": "file_path", "file_text": "content"}),
    "str_replace": (
        "edit_file",
        {"path": "file_path", "old_str": "old_string", "new_str": "new_string"},
    ),
}
"""Command of an editor tool to the canonical tool, and its arguments to the canonical ones."""


def read(path: Path, problems: Problems) -> Iterator[TranscriptEvent]:
    """Yield the events of the conversations in a file.

    The file is JSON lines, a JSON document, or `.traj`.
    """
    read_rows = read_records if path.suffix in (".jsonl", ".ndjson") else _read_document
    for number, row in read_rows(path, problems):
        yield from Conversation(str(path), path.stem, number, row).read(problems)


# -- rows


def drop_nulls(value: Any) -> Any:
    """Remove members that are null: Parquet gives every object the members of all of them."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [drop_nulls(item) for item in value]
    return value


def _read_document(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a JSON document: a row, a list of rows, or a list of messages."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LINE + 1)
    except OSError as error:
        problems(f"{path}: cannot be read: {error.strerror}")
        return
    if len(data) > MAX_LINE:
        problems(f"{path}: is longer than {MAX_LINE >> 20} MiB; write one row per line")
        return
    try:
        document = parse_json(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        yield from read_records(path, problems)  # one row per line, by another name
        return
    if isinstance(document, dict):
        yield 1, document
    elif isinstance(document, list) and document and _is_message(document[0]):
        yield 1, {"messages": document}
    elif isinstance(document, list):
        for number, row in enumerate(document, 1):
            messages = {"messages": row} if isinstance(row, list) else row
            if isinstance(messages, dict):
                yield number, messages
            else:
                problems(f"{path}:{number}: is not an object; skipped")
    else:
        problems(f"{path}: is not a list of conversations")


# -- conversations


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def find_messages(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a row; an empty list if it has none."""
    for name in MESSAGE_LISTS:
        value = row.get(name)
        if isinstance(value, str):
            value = _parse(value)
        if isinstance(value, list) and value and _is_message(value[0]):
            return [message for message in value if isinstance(message, dict)]
    return []


class Conversation:
    """Turns one conversation into events.

    `stem` begins the name of its session if it has no id; `number` is that of the row, from 1.
    """

    def __init__(self, file: str, stem: str, number: int, row: dict[str, Any]) -> None:
        self._place = f"{file}:{number}"
        self._line = number
        self._messages = find_messages(row)
        names = [row[name] for name in IDS if isinstance(row.get(name), str | int)]
        self._session_id = str(names[0]) if names else f"{stem}-{number}"
        self._is_named = bool(names)
        self._cwd = _working_dir(row)
        self._key = ""
        self._prompt = ""
        self._calls: deque[TranscriptEvent] = deque()

    def read(self, problems: Problems) -> Iterator[TranscriptEvent]:
        """Yield the events."""
        if not self._messages:
            names = ", ".join(MESSAGE_LISTS)
            problems(f"{self._place}: has no list of messages with roles ({names}); skipped")
            return
        if not any(_calls_of(message) for message in self._messages):
            problems(f"{self._place}: has no function calls; calls as text are not read")
            return
        # The same conversation in another file or row gives the same keys.
        text = json.dumps(self._messages, default=str)
        digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        self._key = f"{self._session_id}/{digest}" if self._is_named else digest
        answer: tuple[int, dict[str, Any]] | None = None
        for index, message in enumerate(self._messages):
            role = text_in(message, "role")
            if role == "user":
                yield from self._end_turn(answer)
                answer = None
                self._calls.clear()
                self._prompt = join_text_blocks(message.get("content"))
                if self._prompt:
                    yield self._event("before_prompt", index, message, {"prompt": self._prompt})
            elif role == "assistant":
                answer = index, message
                yield from self._read_calls(index, message, problems)
            elif role in ("tool", "function"):
                yield from self._read_result(index, message)
        yield from self._end_turn(answer)

    def _read_calls(
        self, index: int, message: dict[str, Any], problems: Problems
    ) -> Iterator[TranscriptEvent]:
        self._calls.clear()
        for position, call in enumerate(_calls_of(message)):
            function = object_in(call, "function") or call
            name = text_in(function, "name")
            arguments = function.get("arguments")
            if isinstance(arguments, str):
                arguments = _parse(arguments) if arguments.strip() else {}
            if not name or not isinstance(arguments, dict):
                problems(
                    f"{self._place}: message {index + 1}: arguments of {name!r} are not an object"
                )
                continue
            tool, tool_input = canonical_call(name, arguments)
            members: dict[str, Any] = {"tool_name": tool, "tool_input": tool_input}
            if tool != name:
                members["original_request_name"] = name
            members["tool_use_id"] = text_in(call, "id") or f"call_{index}_{position}"
            reconstructed = () if text_in(call, "id") else ("tool_use_id",)
            event = self._event("before_tool", index, message, members, reconstructed)
            self._calls.append(event)
            yield event

    def _read_result(self, index: int, message: dict[str, Any]) -> Iterator[TranscriptEvent]:
        call_ids = message.get("tool_call_ids")
        call_id = text_in(message, "tool_call_id")
        if not call_id and isinstance(call_ids, list) and call_ids:
            call_id = str(call_ids[0])
        for call in self._calls:  # without an id, the first one that waits
            if not call_id or call.payload["tool_use_id"] == call_id:
                break
        else:
            return
        self._calls.remove(call)
        members = {key: call.payload[key] for key in call.payload if key != "event"}
        members["tool_response"] = join_text_blocks(message.get("content"))
        reconstructed = tuple(name for name in call.reconstructed if name == "tool_use_id")
        yield self._event("after_tool", index, message, members, reconstructed)

    def _end_turn(self, answer: tuple[int, dict[str, Any]] | None) -> Iterator[TranscriptEvent]:
        if answer is None or _calls_of(answer[1]):
            return
        text = join_text_blocks(answer[1].get("content"))
        if text:
            members = {"prompt": self._prompt, "prompt_response": text}
            yield self._event("after_agent", *answer, members)

    def _event(
        self,
        event: str,
        index: int,
        message: dict[str, Any],
        members: dict[str, Any],
        reconstructed: tuple[str, ...] = (),
    ) -> TranscriptEvent:
        payload: dict[str, Any] = {"event": event, "session_id": self._session_id}
        if self._cwd:
            payload["cwd"] = self._cwd
            reconstructed += ("cwd",)  # the directory of the first step
        if not self._is_named:
            reconstructed += ("session_id",)
        payload |= members
        payload["event"] = event
        time = parse_time(message.get("timestamp"))
        key = f"{self._key}/{index}/{members.get('tool_use_id', '')}/{event}"
        return TranscriptEvent(payload, event, time, reconstructed, key, self._line)


def _calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message, also the one of the API before 2024."""
    calls = objects_in(message, "tool_calls")
    function = object_in(message, "function_call")
    return calls or ([function] if function else [])


def _working_dir(row: dict[str, Any]) -> str:
    """Return the working directory of the first step that SWE-agent recorded."""
    for step in objects_in(row, "trajectory"):
        state = step.get("state")
        if isinstance(state, str):
            state = _parse(state)
        if isinstance(state, dict) and text_in(state, "working_dir"):
            return text_in(state, "working_dir")
    return ""


def _parse(text: str) -> Any:
    """Return the value of a JSON text; `None` if it is none."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


# -- tools


def canonical_call(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the canonical names of a tool and its arguments; its own, if they are not known.

    The tool may have its name of any agent or harness.
    """
    if name in EDITORS:
        command = arguments.get("command")
        if not isinstance(command, str):
            command = ""
        tool, names = EDITOR_COMMANDS.get(command, (name, {}))
        if tool == name:
            return name, arguments
        kept = {key: value for key, value in arguments.items() if key != "command"}
        return tool, {names.get(key, key): value for key, value in kept.items()}
    for vocabulary in _vocabularies():
        if name in vocabulary.canonical:
            call = vocabulary.call(name, arguments)
            if vocabulary is HARNESS_TOOLS or call.arguments.keys() <= set(TOOLS[call.tool]):
                return call.tool, dict(call.arguments)
    return name, arguments


@cache
def _vocabularies() -> tuple[Vocabulary, ...]:
    """Return the names of tools of all agents, after those of harnesses."""
    return (HARNESS_TOOLS, *[get_agent(name).vocabulary for name in CODING_AGENTS])
