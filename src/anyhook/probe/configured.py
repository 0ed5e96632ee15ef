"""The hooks in an agent's settings files, those that never run among them, and the records of both.

Their commands are run by `tap.py`, which keeps a record. Only the text of the commands in the
copied settings changes. Everything else stays byte for byte, so that an agent that drops a file or
an entry drops it here, too.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.files import read_user_file
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.record import Record, replace
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, parse
from anyhook.settings.layout import iter_definitions
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.settings.wrapping import Wrapper, line_keys, wrap_commands
from anyhook.shell.labels import command_label
from anyhook.shell.tapped import tap_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Diagnostic, Place
    from anyhook.settings.jsonc import JsonPath
    from anyhook.settings.reader import LoadedFile


class ConfiguredHook(Record):
    """A hook as a settings file holds it."""

    label: str
    event: str
    """Name of the event as it is written."""
    matcher: str | None
    place: Place
    file: Path
    tap: int | None
    """Its number in the records; `None` if it is not recorded."""
    definition: HookDefinition | None = None
    """The definition that anyhook reads; `None` if the hook never runs."""
    handler: HandlerSpec | None = None
    spec: EventSpec | None = None
    """The event under the rules of the release; `None` if it has no such event."""


def diagnostics_about(hook: ConfiguredHook, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics about a hook: at its place or inside of it, or by its label."""
    own_places = [] if hook.definition is None else [hook.place, hook.definition.place]
    about_hook: list[Diagnostic] = []
    for diagnostic in diagnostics:
        place = diagnostic.place
        # Two hooks of a file may have the same label, so a place in that file decides.
        is_in_settings = place is not None and place.file == hook.place.file
        if diagnostic.handler is None:
            is_about = place in own_places
        elif is_in_settings:
            is_about = diagnostic.handler == hook.label and place == hook.place
        else:
            is_about = diagnostic.handler == hook.label
        if is_about:
            about_hook.append(diagnostic)
    return about_hook


def find_configured(engine: Engine, taps: Taps, recorded: Collection[Path]) -> list[ConfiguredHook]:
    """Return every hook in the settings files of an engine, also of unknown events."""
    hooks: list[ConfiguredHook] = []
    for file in engine.hooks.files:
        if file.exists:
            taps_of_file = taps if file.source.path in recorded else None
            hooks += _hooks_of_file(engine, file, taps_of_file)
    return hooks


def _hooks_of_file(engine: Engine, file: LoadedFile, taps: Taps | None) -> Iterator[ConfiguredHook]:
    """Yield the hooks of a file; those without a definition are the ones that never run."""
    handlers = {pair[1].place: pair for pair in each_handler(file.definitions)}
    path = file.source.path
    try:
        document = parse_settings(read_user_file(path, SIZE_LIMIT).decode("utf-8"), str(path))
    except (OSError, ValueError, SettingsSyntaxError):
        return
    for entry in iter_definitions(engine.agent, document.value, file.source.hooks_path):
        matcher = entry.written.get("matcher")
        if not isinstance(matcher, str):
            matcher = None
        for written in entry.handlers:
            tap = None
            if taps is not None:
                tap = taps.number(str(path), written.path, written.written)
            hook = ConfiguredHook(
                label=_label(written.value),
                event=entry.event,
                matcher=matcher,
                place=document.place(written.path),
                file=path,
                tap=tap,
            )
            if hook.place in handlers:
                definition, handler = handlers[hook.place]
                hook = replace(
                    hook,
                    label=handler.label,
                    definition=definition,
                    handler=handler,
                    spec=engine.rules.by_canonical[definition.event],
                )
            yield hook


def _label(members: Mapping[str, object]) -> str:
    name, command = members.get("name"), members.get("command")
    if isinstance(name, str) and name:
        return name
    if isinstance(command, str):
        return command_label(command)
    return str(members.get("type", "hook"))


def misplaced_files(agent: AgentSpec, engine: Engine) -> list[Path]:
    """Return JSON files next to the settings that hold hooks of the agent, which it never reads.

    People put hooks into `hooks.json` or `settings.hooks.json` next to the file that counts.
    """
    known_files = [file.source.path for file in engine.hooks.files]
    directories: list[Path] = []
    for file in known_files:
        # Only directories of the agent itself.
        if file.parent.name.startswith("."):
            directories += [file.parent, file.parent / "hooks"]
    misplaced: list[Path] = []
    for directory in dict.fromkeys(directories):
        candidates = [path for path in sorted(directory.glob("*.json")) if path not in known_files]
        misplaced += [path for path in candidates if _holds_hooks(agent, path)]
    return misplaced


def _holds_hooks(agent: AgentSpec, path: Path) -> bool:
    try:
        value = parse(read_user_file(path, SIZE_LIMIT).decode("utf-8")).value
    except (OSError, ValueError, SettingsSyntaxError):
        return False
    if not isinstance(value, dict):
        return False
    events = value.get("hooks", value)
    return isinstance(events, dict) and not events.keys().isdisjoint(agent.by_wire)


MAX_STREAM = 1024 * 1024
"""Bytes of a recorded stream that are read."""


@dataclass(frozen=True, slots=True)
class TapRecord:
    """One run of a hook's command in an agent."""

    tap: int
    """Number of the command."""
    time: float
    """Seconds since the epoch at its start."""
    payload: Mapping[str, Any]
    """The payload on standard input; empty if it was not a JSON object."""
    stdout: str
    stderr: str
    exit_code: int | None
    """Its exit code; `None` if a signal or the agent ended it."""
    signal: int | None
    """Number of the signal that ended it."""
    ended: bool
    """Whether it ended before this program was killed."""


@dataclass(slots=True)
class Taps:
    """The commands that are recorded, and their records.

    Each hook has a number of its own, so that a run counts for this hook and for no other that has
    the same command. An agent that runs equal hooks once runs each of them here.
    """

    agent: AgentSpec
    directory: Path
    """Where records are written; it exists."""
    in_copy: Callable[[str], str]
    """Replaces paths of the originals by those of the copies in a command."""
    _numbers: dict[tuple[str, JsonPath], int] = field(default_factory=dict)

    def number(self, file: str, path: JsonPath, handler: Mapping[str, Any]) -> int | None:
        """Return the number of the command of a hook at a path of its settings file.

        It is `None` if the hook runs neither a command line for a POSIX shell nor a program.
        """
        arguments = handler.get("args")
        if isinstance(arguments, list) and not all(isinstance(word, str) for word in arguments):
            return None
        if not line_keys(self.agent, handler):
            return None
        return self._numbers.setdefault((file, path), len(self._numbers))

    def wrap(self, text: str, file: str, hooks_path: tuple[str, ...]) -> str:
        """Return a settings file with recorded commands; as it is if it cannot be parsed."""

        def wrapper(path: JsonPath, handler: Mapping[str, Any]) -> Wrapper | None:
            number = self.number(file, path, handler)
            if number is None:
                return None
            words = tap_words("files", str(self.directory), str(number))
            return Wrapper(words, f"ANYHOOK_PROBE_{number}")

        return wrap_commands(
            self.agent, text, file, hooks_path, wrapper=wrapper, rewrite=self.in_copy
        )

    def records(self) -> list[TapRecord]:
        """Return all records, in the order of their start."""
        records: list[TapRecord] = []
        for path in sorted(self.directory.glob("*.start"), key=lambda path: path.name):
            start = json.loads(path.read_text("ascii"))
            end: dict[str, Any] = {}
            with suppress(OSError, ValueError):  # there is none if it was killed
                end = json.loads(path.with_suffix(".end").read_text("ascii"))
            payload: object = None
            with suppress(ValueError):
                payload = json.loads(_read_stream(path.with_suffix(".in")))
            if not isinstance(payload, dict):
                payload = {}
            record = TapRecord(
                tap=start["tap"],
                time=start["time"],
                payload=payload,
                stdout=_read_stream(path.with_suffix(".out")),
                stderr=_read_stream(path.with_suffix(".err")),
                exit_code=end.get("exit_code"),
                signal=end.get("signal"),
                ended=bool(end),
            )
            records.append(record)
        return records


def _read_stream(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_STREAM).decode(errors="replace")
    except OSError:
        return ""
