"""Edits of the hooks in the text of a settings file: definitions are added, handlers removed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.errors import SettingsError
from anyhook.expressions import expression
from anyhook.settings.edit import (
    add_items,
    prune,
    read_settings,
    remove_at,
    remove_item,
    set_member,
)
from anyhook.settings.formats import is_blank
from anyhook.settings.jsonc import value_at
from anyhook.settings.layout import iter_handlers, own_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.layout import WrittenDefinition, WrittenHandler

_NOT_UNICODE = expression(r"[\ud800-\udfff]")
_WORD = expression(r"[^\s'\"]+")


def add_definitions(
    agent: AgentSpec,
    text: str,
    file: str,
    definitions: Mapping[str, Sequence[Mapping[str, Any]]],
) -> str:
    """Return the text of a settings file, empty if there is none, with more definitions.

    What the agent needs to run hooks is set, too: members that every file has, and the switch of
    agents that run no hooks without it. The definitions are by the agent's names of events, in the
    usual layout; one that is there already is not added again.

    Raises:
        SettingsError: If the file has not the format of its name, a value on the way to the hooks
            has the wrong type, the file switches hooks off, or a definition is not Unicode.
    """
    if not definitions:
        return text
    for name, value in agent.settings.members.items():
        text = set_member(text, (name,), value, file=file)
    for event, added in definitions.items():
        entries: list[dict[str, Any]] = []
        for definition in added:
            entries += own_entries(agent, definition)
        written = json.dumps(entries, ensure_ascii=False)
        # Paths are bytes, and JSON and TOML are Unicode. The word is searched separately: a command
        # may be one long word, which an expression for the whole word reads again and again.
        if _NOT_UNICODE.search(written):
            path = next(word for word in _WORD.findall(written) if _NOT_UNICODE.search(word))
            raise SettingsError(
                f"no settings file can name {path!a}, which is not UTF-8; choose another "
                "directory, for copies of guards with ANYHOOK_DATA_DIR",
                path=file,
            )
        if entries:
            text = add_items(text, (*HOOKS_PATH, event), entries, file=file)
    observed = agent.newest_rules
    if observed.enabled_by_default:
        return text
    return switch_hooks_on(agent, text, file)


def switch_hooks_on(agent: AgentSpec, text: str, file: str) -> str:
    """Return the text of a settings file with the switch that lets the agent run hooks.

    Raises:
        SettingsError: If the file switches hooks off.
    """
    for toggle in agent.settings.hook_toggles:
        if toggle.kind == "enabled":
            return set_member(text, toggle.path, True, file=file)
    return text


def remove_handlers(
    agent: AgentSpec,
    text: str,
    file: str,
    is_removed: Callable[[WrittenDefinition, WrittenHandler], bool],
) -> str:
    """Return the text of a settings file without some handlers, and without what becomes empty.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    while not is_blank(text, file):
        # Each removal changes the places of what follows, so the text is read again.
        pairs = iter_handlers(agent, read_settings(text, file).value)
        removed = next((pair for pair in pairs if is_removed(*pair)), None)
        if removed is None:
            break
        text = remove_handler(text, *removed, file)
    return text


def remove_handler(
    text: str, definition: WrittenDefinition, handler: WrittenHandler, file: str
) -> str:
    """Return the text of a settings file without a handler, and without what becomes empty.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    if len(definition.handlers) > 1:
        return remove_at(text, handler.path, file=file)
    text = remove_at(text, definition.path, file=file)
    return prune(text, definition.path[:-1], file=file)


# -- the lists of disabled hooks


def disabled_lists(agent: AgentSpec) -> list[tuple[str, ...]]:
    """Return the keys to the agent's lists of disabled hooks, those of older releases last."""
    toggles = [toggle for toggle in agent.settings.hook_toggles if toggle.kind == "disabled"]
    toggles.sort(key=lambda toggle: toggle.legacy)
    return [toggle.path for toggle in toggles]


def disable_name(agent: AgentSpec, text: str, file: str, name: str) -> str:
    """Return the text of a settings file that disables the hooks of a name.

    The name goes into the list that stands next to the switches that the file has.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    lists = disabled_lists(agent)
    value = {} if is_blank(text, file) else read_settings(text, file).value
    parents = [
        toggle.path[:-1]
        for toggle in agent.settings.hook_toggles
        if value_at(value, toggle.path) is not None
    ]
    chosen = next((path for path in lists if path[:-1] in parents), lists[0])
    return add_items(text, chosen, [name], file=file)


def enable_name(agent: AgentSpec, text: str, file: str, name: str) -> str:
    """Return the text of a settings file without a name in its lists of disabled hooks.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    for path in disabled_lists(agent):
        shorter = remove_item(text, path, name, file=file)
        if shorter != text:
            text = prune(shorter, path, file=file)
    return text
