"""Mistakes for which Claude Code ignores a whole settings file.

Observed in 2.1.197 and 2.1.332: an entry of hooks that does not fit the schema of the settings,
however far from the other hooks, leaves the file without effect and prints nothing. Unknown members
and unknown events are ignored, and the rest of the file counts.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.claude.settings import HANDLER_TYPES
from anyhook.agents.spec.settings import SchemaFault
from anyhook.matching.matchers import explain_matcher

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from anyhook.agents.spec.settings import HandlerField

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:")
EXPECTED = {
    "string": "a string",
    "strings": "a list of strings",
    "boolean": "true or false",
    "object": "an object",
    "texts": "an object of strings",
}
"""Kind of a member to what it must be."""


MEMBERS = {"disableAllHooks": "boolean", "permissions": "object"}
"""Members other than the hooks to what they must be, as far as that was observed."""


def find_schema_fault(settings: Mapping[str, Any], events: Collection[str]) -> SchemaFault | None:
    """Return the first mistake in a settings file with hooks; `None` without one."""
    for name, kind in MEMBERS.items():
        if name in settings and not _fits(settings[name], kind):
            return SchemaFault((name,), f"{name} must be {EXPECTED[kind]}")
    for fault in _faults_of(settings["hooks"], events):
        return SchemaFault(("hooks", *fault.path), fault.problem)
    return None


def _faults_of(hooks: object, events: Collection[str]) -> Iterator[SchemaFault]:
    if not isinstance(hooks, dict):
        yield SchemaFault((), '"hooks" must be an object of events')
        return
    for event, definitions in hooks.items():
        if event not in events:
            continue
        if not isinstance(definitions, list):
            yield SchemaFault((event,), f"{event} must be a list: [{{…}}]")
            continue
        for index, definition in enumerate(definitions):
            for fault in _faults_of_definition(definition):
                yield SchemaFault((event, index, *fault.path), fault.problem)


def _faults_of_definition(definition: object) -> Iterator[SchemaFault]:
    if not isinstance(definition, dict):
        yield SchemaFault((), 'a definition must be an object with "hooks"')
        return
    if not isinstance(definition.get("matcher", ""), str):
        yield SchemaFault(("matcher",), explain_matcher(definition["matcher"]))
    handlers = definition.get("hooks")
    if not isinstance(handlers, list):
        path = ("hooks",) if "hooks" in definition else ()
        yield SchemaFault(path, 'a definition needs a list of hooks: "hooks": [{…}]')
        return
    for index, handler in enumerate(handlers):
        for fault in _faults_of_handler(handler):
            yield SchemaFault(("hooks", index, *fault.path), fault.problem)


def _faults_of_handler(handler: object) -> Iterator[SchemaFault]:
    if not isinstance(handler, dict):
        yield SchemaFault((), "a hook must be an object")
        return
    name = handler.get("type")
    handler_type = HANDLER_TYPES.get(name) if isinstance(name, str) else None
    if handler_type is None:
        path = ("type",) if "type" in handler else ()
        types = ", ".join(map(json.dumps, HANDLER_TYPES))
        yield SchemaFault(path, f'a hook needs a "type": {types}')
        return
    if handler_type.programs:
        if not isinstance(handler.get("command"), str):
            path = ("command",) if "command" in handler else ()
            yield SchemaFault(path, 'a hook needs a "command": a string')
        if "args" in handler and not _fits(handler["args"], "strings"):
            yield SchemaFault(("args",), "args must be a list of strings")
    timeout = handler.get("timeout", 1)
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or timeout <= 0:
        yield SchemaFault(("timeout",), "timeout must be a positive number of seconds")
    yield from _faults_of_members(handler, handler_type.fields)


def _faults_of_members(
    handler: Mapping[str, Any], fields: Mapping[str, HandlerField]
) -> Iterator[SchemaFault]:
    for name, field in fields.items():
        if name not in handler:
            if field.required:
                yield SchemaFault((), f'a hook of this type needs "{name}"')
            continue
        value = handler[name]
        if not _fits(value, field.kind):
            yield SchemaFault((name,), f"{name} must be {EXPECTED[field.kind]}")
        elif field.words and value not in field.words:
            words = " or ".join(map(json.dumps, field.words))
            yield SchemaFault((name,), f"{name} must be {words}")
        elif name == "url" and not _SCHEME.match(value):
            yield SchemaFault((name,), "url must be a whole URL, like https://…")


def _fits(value: object, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "strings":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case "texts":
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        case "object":
            return isinstance(value, dict)
    return True
