"""Mistakes for which Claude Code leaves out hooks, or ignores a whole settings file.

Observed in 2.1.332: an entry that does not fit the schema is left out. It costs the whole file if
it is, or holds, a hook of an event of `GUARD_EVENTS`, because the permissions next to it may rely
on that hook; such hooks outside "hooks" cost it, too. Unknown members are ignored, and so are
unknown events without such hooks. Release 2.1.197 ignores the whole file for an entry of any event,
and prints nothing.
"""

from __future__ import annotations

import json
import math
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
    "list": "a list",
    "strings": "a list of strings",
    "boolean": "true or false",
    "number": "a number",
    "object": "an object",
    "texts": "an object of strings",
}
"""Kind of a member to what it must be."""

MEMBERS = {
    ("allowManagedHooksOnly",): "boolean",
    ("allowedHttpHookUrls",): "strings",
    ("cleanupPeriodDays",): "number",
    ("disableAllHooks",): "boolean",
    ("enabledPlugins",): "object",
    ("env",): "object",
    ("httpHookAllowedEnvVars",): "strings",
    ("model",): "string",
    ("permissions",): "object",
    ("permissions", "allow"): "list",
    ("permissions", "ask"): "list",
    ("permissions", "deny"): "list",
    ("statusLine",): "object",
}
"""Paths of other members than the hooks to what they must be, as far as that was observed."""
GUARD_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "PreSkillShellCommand"})
"""Events of which one hook that cannot be loaded costs the whole file."""
UNSEARCHED = frozenset(
    "mcpServers managedMcpServers lspServers pluginConfigs enabledPlugins extraKnownMarketplaces "
    "env skillOverrides modelSettings".split()
)
"""Members in which no hooks are looked for: their keys are names of the user."""
SEARCH_DEPTH = 3
"""Levels below a member that hooks are looked for in."""


def find_schema_faults(
    settings: Mapping[str, Any], events: Collection[str]
) -> Iterator[SchemaFault]:
    """Yield the mistakes in a settings file with hooks."""
    for path, kind in MEMBERS.items():
        *parents, name = path
        members = settings.get(parents[0]) if parents else settings
        if isinstance(members, dict) and name in members and not _fits(members[name], kind):
            yield SchemaFault(path, f"{'.'.join(path)} must be {EXPECTED[kind]}")
    for name, member in settings.items():
        if name == "hooks" or name in UNSEARCHED:
            continue
        is_guard = name in GUARD_EVENTS and member not in (None, [])
        is_event = name in events
        if is_guard or _holds_guards(member, events, skipped=UNSEARCHED, in_event=is_event):
            yield SchemaFault((name,), f'the hooks in {name!r} must stand inside "hooks"')
    hooks = settings["hooks"]
    is_list_of_groups = isinstance(hooks, list) and any(isinstance(item, dict) for item in hooks)
    if is_list_of_groups or _is_group(hooks, events):
        yield SchemaFault(("hooks",), '"hooks" must be an object of events')
    elif isinstance(hooks, dict):
        for event, groups in hooks.items():
            yield from _faults_of_event(event, groups, events)


def _faults_of_event(event: str, groups: object, events: Collection[str]) -> Iterator[SchemaFault]:
    path: tuple[str | int, ...] = ("hooks", event)
    if event not in events:
        if _holds_guards(groups, events, in_event=isinstance(groups, list)):
            yield SchemaFault(path, f"{event} is not an event, and holds hooks of events")
        return
    costs_file = event in GUARD_EVENTS
    if not isinstance(groups, list):
        if groups is not None:
            costs_file = costs_file or _holds_guards(groups, events, in_event=True)
            problem = f"{event} must be a list: [{{…}}]"
            yield SchemaFault(path, problem, None if costs_file else path)
        return
    for index, definition in enumerate(groups):
        own_path = (*path, index)
        if _holds_guards(definition, events, in_event=True):
            yield SchemaFault(own_path, "events must stand in the object of hooks only")
            continue
        for fault in _faults_of_definition(definition):
            is_of_hook = len(fault.path) > 1 and fault.path[0] == "hooks"
            left_out = (*own_path, *fault.path[:2]) if is_of_hook else own_path
            fault_path = (*own_path, *fault.path)
            yield SchemaFault(fault_path, fault.problem, None if costs_file else left_out)


def _holds_guards(
    value: object,
    events: Collection[str],
    *,
    in_event: bool,
    skipped: Collection[str] = (),
    in_hooks: bool = False,
    depth: int = SEARCH_DEPTH,
) -> bool:
    """Return whether a value holds hooks of `GUARD_EVENTS`, as far as Claude Code looks for them.

    Args:
        value: What is searched.
        events: The names of all events.
        in_event: Whether it is what an event has, where groups of hooks belong to that event.
        skipped: Keys whose values are not searched.
        in_hooks: Whether it stands in a list of hooks; a hook with a type is not searched.
        depth: Levels below it that are searched.
    """
    if isinstance(value, dict):
        guards = [value[name] for name in GUARD_EVENTS & value.keys()]
        if any(hooks not in (None, []) for hooks in guards):
            return True
    if not in_event and _is_group(value, events):
        return True
    if depth == 0:
        return False
    if isinstance(value, list):
        return any(
            _holds_guards(
                item, events, in_event=in_event, skipped=skipped, in_hooks=in_hooks, depth=depth - 1
            )
            for item in value
        )
    if not isinstance(value, dict) or (in_hooks and isinstance(value.get("type"), str)):
        return False
    for name, member in value.items():
        if name not in skipped and _holds_guards(
            member,
            events,
            in_event=in_event or name in events,
            skipped=skipped,
            in_hooks=name == "hooks" and isinstance(member, list),
            depth=depth - 1,
        ):
            return True
    return False


def _is_group(value: object, events: Collection[str]) -> bool:
    """Return whether a value looks like a matcher with its hooks, and not like events."""
    if not isinstance(value, dict):
        return False
    has_matcher = "matcher" in value
    if not has_matcher and not value.keys().isdisjoint(events):
        return False
    hooks = value.get("hooks")
    if isinstance(hooks, list):
        return bool(hooks)
    return isinstance(hooks, dict) and (has_matcher or isinstance(hooks.get("type"), str))


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
    if not _fits(timeout, "number") or timeout <= 0:
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
        if field.other_value:
            continue
        if not _fits(value, field.kind):
            yield SchemaFault((name,), f"{name} must be {EXPECTED[field.kind]}")
        elif field.not_empty and value == "":
            yield SchemaFault((name,), f"{name} must not be empty")
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
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and value not in (math.inf, -math.inf)
        case "list":
            return isinstance(value, list)
        case "strings":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case "texts":
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        case "object":
            return isinstance(value, dict)
    return True
