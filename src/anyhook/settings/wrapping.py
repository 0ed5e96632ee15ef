"""Commands of settings files that are wrapped, so that they are recorded or do not decide.

Only the text of the commands changes. Everything else stays byte for byte, so that an agent that
drops a file or an entry drops it here, too.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, list_at
from anyhook.settings.layout import iter_handlers
from anyhook.settings.overlay import replace_values
from anyhook.shell.tapped import (
    TappedCommand,
    read_tapped_line,
    read_tapped_words,
    write_tapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.diagnostics import Place
    from anyhook.settings.jsonc import JsonPath

FOREIGN_SHELLS = frozenset({"powershell", "pwsh"})
"""Shells, and members for their command lines, that are not recorded."""


class Wrapper(NamedTuple):
    """What a command is wrapped in.

    Attributes:
        words: The words that start the program which records (`shell.tapped.tap_words`).
        mark: Ends the here-document that holds the command; no line of it.
    """

    words: tuple[str, ...]
    mark: str


class NewMember(NamedTuple):
    """A member of a hook: the command without a wrapper, and the new command."""

    plain: Any
    value: Any


def wrap_commands(
    agent: AgentSpec,
    text: str,
    file: str,
    hooks_path: tuple[str, ...],
    *,
    wrapper: Callable[[JsonPath, Mapping[str, Any]], Wrapper | None],
    rewrite: Callable[[str], str] = lambda text: text,
) -> str:
    """Return the text of a settings file with wrapped commands.

    A text that cannot be parsed stays as it is. `wrapper` returns the wrapper of the hook at a
    path, or `None` to leave it alone; `rewrite` changes the texts of a command.
    """
    try:
        document = parse_settings(text, file)
    except SettingsSyntaxError:
        return text
    changes: dict[JsonPath, Any] = {}
    identifiers: dict[str, list[str]] = {}
    for _, hook in iter_handlers(agent, document.value, hooks_path):
        path, handler = hook.path, hook.written
        wrapped_in = wrapper(path, handler)
        if wrapped_in is None:
            continue
        for key, value in _wrapped_members(agent, handler, wrapped_in, rewrite).items():
            changes[*path, key] = value
            if isinstance(value, str):
                identifiers.setdefault(handler[key], []).append(value)
    # Lists of disabled hooks name the commands as they are now, too.
    for toggle in agent.settings.hook_toggles:
        items = list_at(document.value, toggle.path)
        if toggle.kind != "disabled" or not any(str(item) in identifiers for item in items):
            continue
        named: list[Any] = []
        for item in items:
            named += [item, *identifiers.get(str(item), ())]
        changes[toggle.path] = named
    return replace_values(document, changes)


def _wrapped_members(
    agent: AgentSpec, handler: Mapping[str, Any], wrapper: Wrapper, rewrite: Callable[[str], str]
) -> dict[str, Any]:
    if isinstance(handler.get("args"), list):
        program = rewrite(handler["command"])
        if "$" not in program and shutil.which(program) is None:
            return {}  # the agent has to fail to start it by itself
        words = [rewrite(word) for word in handler["args"]]
        start = wrapper.words
        return {"command": start[0], "args": [*start[1:], "--", program, *words]}
    return {
        key: write_tapped(wrapper.words, rewrite(handler[key]), wrapper.mark)
        for key in line_keys(agent, handler)
    }


def line_keys(agent: AgentSpec, handler: Mapping[str, Any]) -> list[str]:
    """Return the members of a hook that hold a command line for a POSIX shell."""
    if handler.get("shell") in FOREIGN_SHELLS:
        return []
    names = agent.settings.member_names.get("command", ("command",))
    lines = {key: handler.get(key) for key in names if key not in FOREIGN_SHELLS}
    return [key for key, line in lines.items() if isinstance(line, str) and line.strip()]


def unwrap_commands(agent: AgentSpec, text: str, file: str, sinks: frozenset[str]) -> str:
    """Return the text of a settings file whose commands are not recorded any more in some sinks.

    A text that cannot be parsed stays as it is.
    """
    try:
        document = parse_settings(text, file)
    except SettingsSyntaxError:
        return text
    changes: dict[JsonPath, Any] = {}
    removed: set[str] = set()
    for _, hook in iter_handlers(agent, document.value):
        path, handler = hook.path, hook.written
        for key in line_keys(agent, handler):
            tapped = read_tapped(handler, key)
            if tapped is None or tapped.sink not in sinks:
                continue
            if tapped.words:
                changes[*path, "command"] = tapped.words[0]
                changes[*path, "args"] = [*tapped.words[1:]]
            else:
                changes[*path, key] = tapped.line
                removed.add(handler[key])
    for toggle in agent.settings.hook_toggles:
        items = list_at(document.value, toggle.path)
        if toggle.kind == "disabled" and any(str(item) in removed for item in items):
            changes[toggle.path] = [item for item in items if str(item) not in removed]
    return replace_values(document, changes)


def change_commands(
    agent: AgentSpec,
    text: str,
    file: str,
    hooks_path: tuple[str, ...],
    new_members: Callable[[Place, Mapping[str, Any]], Mapping[str, NewMember]],
) -> str:
    """Return the text of a settings file with other commands.

    `new_members` returns the members of a hook at a place that change.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    document = parse_settings(text, file)
    plain: dict[JsonPath, Any] = {}
    values: dict[JsonPath, Any] = {}
    for _, hook in iter_handlers(agent, document.value, hooks_path):
        path, handler = hook.path, hook.written
        for key, member in new_members(document.place(path), handler).items():
            plain[*path, key] = member.plain
            values[*path, key] = member.value
    # In two steps, so that the arguments of the command stay on their lines.
    unwrapped = replace_values(document, plain)
    return replace_values(parse_settings(unwrapped, file), values)


def read_tapped(handler: Mapping[str, Any], key: str) -> TappedCommand | None:
    """Return the command of a hook that is recorded; `None` if it is not."""
    line, arguments = handler.get(key), handler.get("args")
    if not isinstance(line, str):
        return None
    if isinstance(arguments, list):
        words = [line, *arguments]
        is_text = all(isinstance(word, str) for word in words)
        return read_tapped_words(words) if is_text else None
    return read_tapped_line(line)
