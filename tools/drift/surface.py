"""The events of a program, the members of their payloads and of the replies to them.

They are read out of the program as it is published: the names of members in bundled JavaScript, in
the schemas of minified JavaScript, and in the JSON schemas that a binary contains.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

ANY_EVENT = "*"
"""Stands for all events, where members cannot be attributed to one."""


@dataclass(frozen=True, slots=True)
class Surface:
    """What a release of an agent and its hooks exchange.

    Attributes:
        events: The agent's names of its events.
        payloads: Event to the members of its payloads.
        replies: Event to the members of replies.
    """

    events: frozenset[str] = frozenset()
    payloads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    replies: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the surface as JSON with sorted names."""
        return {
            "events": sorted(self.events),
            "payloads": {event: sorted(names) for event, names in sorted(self.payloads.items())},
            "replies": {event: sorted(names) for event, names in sorted(self.replies.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Surface:
        """Return the surface that JSON describes."""
        return cls(
            frozenset(value["events"]),
            {event: frozenset(names) for event, names in value["payloads"].items()},
            {event: frozenset(names) for event, names in value["replies"].items()},
        )


def read_surface(form: str, files: list[Path]) -> Surface:
    """Read the surface of an installed release.

    Args:
        form: A key of `READERS`.
        files: The files of the release that may hold it.
    """
    # The names are ASCII, and a program has 300 MB: any bytes are text in this encoding.
    return READERS[form]([file.read_bytes().decode("latin-1") for file in files])


# -- bundled JavaScript, with the names of its modules in comments (Gemini CLI, Qwen Code)

_MODULE = re.compile(r"^// packages/\S*/src/(\S+)$", re.MULTILINE)
_ENUM_EVENT = re.compile(r'HookEventName\d*\["(\w+)"\] = "(\w+)"')
_PAYLOAD_KEY = re.compile(r"^\s+([a-z]+(?:_[a-z]+)*)(?:[,:]|$)", re.MULTILINE)
_SPREAD_KEY = re.compile(r"\.\.\..{0,120}?\{ ([a-z]+(?:_[a-z]+)*)(?:: [\w.]+)? \}", re.DOTALL)
_INPUT_OBJECT = re.compile(r"(?:const input\w* = |return )\{\n(.*?)\n\s*\};", re.DOTALL)
_BASE_INPUT = re.compile(r"createBaseInput\((?:\"(\w+)\"|[\w.$]+\.(\w+))")
_FIELD = re.compile(r"this\.(\w+) = data\.\w+")
_SPECIFIC = re.compile(r'(?:hookSpecificOutput\??\.?\[|specific\[|decision\[)"(\w+)"\]')
_SPECIFIC_IN = re.compile(r'"(\w+)" in (?:this\.)?(?:\w+\.)?hookSpecificOutput')
EVENT_HANDLER = "hooks/hookEventHandler.ts"


def read_modules(texts: list[str]) -> Surface:
    """Read the modules of hooks in bundles that keep the names of modules."""
    modules: dict[str, str] = {}
    for text in texts:
        if "HookEventName" in text:
            for name, body in _split_modules(text):
                if name.startswith("hooks/"):
                    modules[name] = modules.get(name, "") + body
    events: frozenset[str] = frozenset()
    names: set[str] = set()
    for body in modules.values():
        events |= {name for _, name in _ENUM_EVENT.findall(body)}
        for pattern in (_FIELD, _SPECIFIC, _SPECIFIC_IN):
            names |= set(pattern.findall(body))
    payloads = dict(_payloads_of(modules.get(EVENT_HANDLER, "")))
    replies = {ANY_EVENT: frozenset(names)} if names else {}
    return Surface(events, payloads, replies)


def _split_modules(text: str) -> Iterator[tuple[str, str]]:
    marks = [*_MODULE.finditer(text)]
    ends = [*[mark.start() for mark in marks[1:]], len(text)]
    for mark, end in zip(marks, ends, strict=False):
        yield mark[1], text[mark.end() : end]


def _payloads_of(handler: str) -> Iterator[tuple[str, frozenset[str]]]:
    for match in _INPUT_OBJECT.finditer(handler):
        body = match[1]
        keys = frozenset([*_PAYLOAD_KEY.findall(body), *_SPREAD_KEY.findall(body)])
        base = _BASE_INPUT.search(body)
        if base is not None:
            yield base[1] or base[2], keys
        elif "session_id" in keys:
            yield ANY_EVENT, keys


# -- schemas in minified JavaScript (Claude Code)

_PAYLOAD_SCHEMA = re.compile(r'hook_event_name:[\w$.]+\("(\w+)"\)')
_REPLY_SCHEMA = re.compile(r'hookEventName:[\w$.]+\("(\w+)"\)')
_TOP_LEVEL_REPLY = re.compile(r"\{continue:[^{}]{0,400}?suppressOutput:")


def read_schemas(texts: list[str]) -> Surface:
    """Read the object schemas around the literals that name events."""
    payloads: dict[str, frozenset[str]] = {}
    replies: dict[str, frozenset[str]] = {}
    for text in texts:
        for pattern, members in ((_PAYLOAD_SCHEMA, payloads), (_REPLY_SCHEMA, replies)):
            for match in pattern.finditer(text):
                start = text.rfind("{", 0, match.start())
                keys = frozenset(_object_keys(text, start))
                members[match[1]] = members.get(match[1], frozenset()) | keys
        for match in _TOP_LEVEL_REPLY.finditer(text):
            keys = frozenset(_object_keys(text, match.start()))
            replies[ANY_EVENT] = replies.get(ANY_EVENT, frozenset()) | keys
    return Surface(frozenset(payloads), payloads, replies)


_KEY = re.compile(r"([A-Za-z_$][\w$]*):")
LONGEST_OBJECT = 20_000


def _object_keys(text: str, start: int) -> Iterator[str]:
    """Yield the keys of an object literal; those of inner objects, calls and texts are skipped."""
    depth = 0
    position = start
    expects_key = False
    end = min(len(text), start + LONGEST_OBJECT)
    while position < end:
        char = text[position]
        if char in "\"'`":
            position = _end_of_text(text, position, end)
            continue
        if char in "{[(":
            depth += 1
            expects_key = depth == 1
        elif char in "}])":
            depth -= 1
            if depth == 0:
                return
        elif char == "," and depth == 1:
            expects_key = True
        elif expects_key and depth == 1:
            match = _KEY.match(text, position)
            if match:
                yield match[1]
            expects_key = False
        position += 1


def _end_of_text(text: str, start: int, end: int) -> int:
    quote = text[start]
    position = start + 1
    while position < end and text[position] != quote:
        position += 2 if text[position] == "\\" else 1
    return position + 1


# -- JSON schemas in a binary (Codex)

_SCHEMA_START = re.compile(r'\{\s*"\$schema": "http')
_COMMAND_TITLE = re.compile(r"([a-z-]+)\.command\.(input|output)\Z")


def read_json_schemas(texts: list[str]) -> Surface:
    """Read the JSON schemas of hook commands."""
    payloads: dict[str, frozenset[str]] = {}
    replies: dict[str, frozenset[str]] = {}
    decoder = json.JSONDecoder()
    for text in texts:
        for match in _SCHEMA_START.finditer(text):
            try:
                schema, _ = decoder.raw_decode(text, match.start())
            except ValueError:
                continue
            title = _COMMAND_TITLE.match(str(schema.get("title", "")))
            if title is None:
                continue
            event = "".join(word.capitalize() for word in title[1].split("-"))
            members = payloads if title[2] == "input" else replies
            members[event] = frozenset(_schema_members(schema))
    return Surface(frozenset(payloads), payloads, replies)


def _schema_members(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the members of a schema, and those of its event-specific output."""
    yield from schema.get("properties", {})
    for name, definition in schema.get("definitions", {}).items():
        if "HookSpecificOutput" in name:
            for member in definition.get("properties", {}):
                yield f"hookSpecificOutput.{member}"


# -- names of triggers in a binary with JavaScript (OpenCode)

_TRIGGER = re.compile(r'\btrigger\("([a-z][a-z.]*)"')


def read_triggers(texts: list[str]) -> Surface:
    """Read the names of the hooks of plugins that the program calls."""
    names: frozenset[str] = frozenset()
    for text in texts:
        names |= frozenset(_TRIGGER.findall(text))
    return Surface(names)


READERS: dict[str, Callable[[list[str]], Surface]] = {
    "modules": read_modules,
    "schemas": read_schemas,
    "json-schemas": read_json_schemas,
    "triggers": read_triggers,
}
"""Form of a program to the function that reads its surface."""
