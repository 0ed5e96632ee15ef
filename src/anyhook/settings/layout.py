"""How the hooks of a settings file are laid out, by the tables of an agent.

Most agents have definitions: a matcher and a list of handlers. Some have a flat list of handlers,
each with a matcher of its own, and some name the members of handlers in their own way. Everything
else in the package works on the usual layout: a definition with `hooks`, and the usual names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.model.record import Record
from anyhook.settings.jsonc import dict_at, list_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.jsonc import JsonPath

DEFINITION = "definition"
HANDLER = "handler"
"""Values of `SettingsFormat.entries`."""
MATCHER = "matcher"


class WrittenHandler(Record, kw_only=False):
    """A handler in a settings file: its place, as it is written, and in the usual layout."""

    path: JsonPath
    written: dict[str, Any]
    value: dict[str, Any]


class WrittenDefinition(Record, kw_only=False):
    """An item in the list of an event: its place, as it is written, and in the usual layout.

    A flat one is a handler itself.
    """

    path: JsonPath
    written: dict[str, Any]
    value: dict[str, Any]
    handlers: tuple[WrittenHandler, ...]
    is_flat: bool

    @property
    def event(self) -> str:
        """The agent's name of the event."""
        return str(self.path[-2])


def iter_definitions(
    agent: AgentSpec, settings: Any, hooks_path: tuple[str, ...] = HOOKS_PATH
) -> Iterator[WrittenDefinition]:
    """Yield the definitions of a settings file that have a list of handlers, or are a handler."""
    events = dict_at(settings, hooks_path)
    for event in events:
        for index, item in enumerate(list_at(events, (event,))):
            definition = read_definition(agent, item, (*hooks_path, event, index))
            if definition is not None:
                yield definition


def iter_handlers(
    agent: AgentSpec, settings: Any, hooks_path: tuple[str, ...] = HOOKS_PATH
) -> Iterator[tuple[WrittenDefinition, WrittenHandler]]:
    """Yield the handlers of a settings file, each with its definition."""
    for definition in iter_definitions(agent, settings, hooks_path):
        for handler in definition.handlers:
            yield definition, handler


def read_definition(agent: AgentSpec, item: object, path: JsonPath) -> WrittenDefinition | None:
    """Return the definition that an item of an event's list is; `None` if it is none."""
    if not isinstance(item, dict):
        return None
    if is_flat(agent, item):
        value = usual_members(agent, item)
        matcher = {MATCHER: value.pop(MATCHER)} if MATCHER in value else {}
        handler = WrittenHandler(path, item, value)
        return WrittenDefinition(path, item, {**matcher, "hooks": [value]}, (handler,), True)
    if not isinstance(item.get("hooks"), list):
        return None
    handlers: list[WrittenHandler] = []
    values: list[Any] = []
    for index, written in enumerate(item["hooks"]):
        value = written
        if isinstance(written, dict):
            value = usual_members(agent, written)
            handlers.append(WrittenHandler((*path, "hooks", index), written, value))
        values.append(value)
    return WrittenDefinition(path, item, {**item, "hooks": values}, tuple(handlers), False)


def is_flat(agent: AgentSpec, item: Mapping[str, Any]) -> bool:
    """Return whether an item of an event's list is a handler with a matcher of its own."""
    return HANDLER in agent.settings.entries and "hooks" not in item


def member_name(agent: AgentSpec, handler: Mapping[str, Any], member: str) -> str:
    """Return the name under which a handler has a member; the agent's first name if it lacks it."""
    names = agent.settings.member_names.get(member, (member,))
    for name in names:
        if name in handler:
            return name
    return names[0]


def usual_members(agent: AgentSpec, handler: Mapping[str, Any]) -> dict[str, Any]:
    """Return a handler with the usual names of members, the rest of it as it is."""
    value = dict(handler)
    for member, names in agent.settings.member_names.items():
        written = [name for name in names if name in value]
        if not written:
            continue
        strongest = value[written[0]]
        for name in written:
            del value[name]
        value[member] = strongest
    if "type" not in value and agent.settings.default_type is not None:
        value = {"type": agent.settings.default_type, **value}
    return value


def own_entries(agent: AgentSpec, definition: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a definition of the usual layout as the items that the agent's list has for it."""
    handlers: list[dict[str, Any]] = []
    for handler in definition["hooks"]:
        own: dict[str, Any] = {}
        for name, value in handler.items():
            names = agent.settings.member_names.get(name, (name,))
            own[names[0]] = value
        handlers.append(own)
    if agent.settings.entries[0] == DEFINITION:
        return [{**definition, "hooks": handlers}]
    shared = {name: value for name, value in definition.items() if name != "hooks"}
    return [{**shared, **handler} for handler in handlers]
