"""Recording what hooks do in an agent: their commands are run by `tap.py`, which keeps a record.

Only the text of the commands in the copied settings changes. Everything else stays byte for byte,
so that an agent that drops a file or an entry drops it here, too.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.history import journal
from anyhook.probe.overlay import replace_values
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, list_at
from anyhook.settings.layout import iter_definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.formats import SettingsDocument
    from anyhook.settings.jsonc import JsonPath

TAP = Path(journal.__file__).with_name("tap.py")
FOREIGN_SHELLS = frozenset({"powershell", "pwsh"})
"""Shells, and members for their command lines, that are not recorded."""
MAX_STREAM = 1024 * 1024
"""Bytes of a recorded stream that are read."""


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a hook's command in an agent.

    Attributes:
        tap: Number of the command.
        time: Seconds since the epoch at its start.
        payload: The payload on standard input; empty if it was no JSON object.
        stdout: Standard output.
        stderr: Standard error.
        exit_code: Its exit code; `None` if a signal or the agent ended it.
        signal: Number of the signal that ended it.
        ended: Whether it ended before this program was killed.
    """

    tap: int
    time: float
    payload: Mapping[str, Any]
    stdout: str
    stderr: str
    exit_code: int | None
    signal: int | None
    ended: bool


@dataclass(slots=True)
class Taps:
    """The commands that are recorded, and their records.

    Equal commands of an event have one number: agents run equal hooks once, which must stay so.

    Attributes:
        agent: The agent.
        directory: Where records are written; it exists.
        in_copy: Replaces paths of the originals by those of the copies in a command.
    """

    agent: AgentSpec
    directory: Path
    in_copy: Callable[[str], str]
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)

    def number(self, event: str, handler: Mapping[str, Any]) -> int | None:
        """Return the number of a hook's command; `None` if it is not recorded.

        Args:
            event: The event as its settings file names it.
            handler: The hook as its settings file holds it.
        """
        words = self.command_words(handler)
        if not words:
            return None
        return self._numbers.setdefault((event, *words), len(self._numbers))

    def command_words(self, handler: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a hook runs; empty if that is no command for a POSIX shell."""
        if handler.get("shell") in FOREIGN_SHELLS:
            return ()
        words = [f"{key}={handler[key]}" for key in self._line_keys(handler)]
        arguments = handler.get("args")
        if words and isinstance(arguments, list):
            if not all(isinstance(word, str) for word in arguments):
                return ()
            words += arguments
        return tuple(words)

    def _line_keys(self, handler: Mapping[str, Any]) -> list[str]:
        """Return the members of a hook that hold a command line."""
        names = self.agent.member_names.get("command", ("command",))
        lines = [key for key in names if key not in FOREIGN_SHELLS]
        return [key for key in lines if _is_line(handler.get(key))]

    def wrap(self, text: str, file: str, hooks_path: tuple[str, ...]) -> str:
        """Return the text of a settings file with recorded commands.

        Args:
            text: The text; one that cannot be parsed stays as it is.
            file: Path of the file.
            hooks_path: Keys to the hooks.
        """
        try:
            document = parse_settings(text, file)
        except SettingsSyntaxError:
            return text
        changes: dict[JsonPath, Any] = {}
        identifiers: dict[str, list[str]] = {}
        for path, handler in iter_hooks(self.agent, document.value, hooks_path):
            event = str(path[len(hooks_path)])
            for key, value in self._wrapped(event, handler).items():
                changes[*path, key] = value
                if isinstance(value, str):
                    identifiers.setdefault(handler[key], []).append(value)
        changes |= self._wrapped_identifiers(document, identifiers)
        return replace_values(document, changes)

    def _wrapped(self, event: str, handler: Mapping[str, Any]) -> dict[str, Any]:
        number = self.number(event, handler)
        if number is None:
            return {}
        start = [sys.executable, "-I", "-S", str(TAP), "files", str(self.directory), str(number)]
        if isinstance(handler.get("args"), list):
            program = self.in_copy(handler["command"])
            if "$" not in program and shutil.which(program) is None:
                return {}  # the agent has to fail to start it by itself
            words = [self.in_copy(word) for word in handler["args"]]
            return {"command": start[0], "args": [*start[1:], "--", program, *words]}
        line = shlex.join(start)
        mark = f"ANYHOOK_PROBE_{number}"
        wrapped: dict[str, Any] = {}
        for key in self._line_keys(handler):
            # The command stands in a here-document, where the agent still finds its variables, and
            # the shell leaves all of it alone.
            inner = self.in_copy(handler[key])
            wrapped[key] = f"exec {line} \"$0\" 9<<'{mark}'\n{inner}\n{mark}\n"
        return wrapped

    def _wrapped_identifiers(
        self, document: SettingsDocument, identifiers: Mapping[str, list[str]]
    ) -> dict[JsonPath, Any]:
        """Let lists of disabled hooks name the commands as they are now."""
        changes: dict[JsonPath, Any] = {}
        for toggle in self.agent.hook_toggles:
            items = list_at(document.value, toggle.path)
            if toggle.kind != "disabled" or not any(str(item) in identifiers for item in items):
                continue
            wrapped: list[Any] = []
            for item in items:
                wrapped += [item, *identifiers.get(str(item), ())]
            changes[toggle.path] = wrapped
        return changes

    def records(self) -> list[Record]:
        """Return all records, in the order of their start."""
        starts = sorted(self.directory.glob("*.start"), key=lambda path: path.name)
        return [_read_record(path.with_suffix("")) for path in starts]


def iter_hooks(
    agent: AgentSpec, settings: Any, hooks_path: tuple[str, ...]
) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """Yield the hooks in a settings file as they are written, with their paths."""
    for definition in iter_definitions(agent, settings, hooks_path):
        for handler in definition.handlers:
            yield handler.path, handler.written


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _read_record(base: Path) -> Record:
    start = json.loads(base.with_suffix(".start").read_text("ascii"))
    end: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # there is none if it was killed
        end = json.loads(base.with_suffix(".end").read_text("ascii"))
    try:
        payload = json.loads(_read_stream(base.with_suffix(".in")))
    except ValueError:
        payload = {}
    return Record(
        tap=start["tap"],
        time=start["time"],
        payload=payload if isinstance(payload, dict) else {},
        stdout=_read_stream(base.with_suffix(".out")),
        stderr=_read_stream(base.with_suffix(".err")),
        exit_code=end.get("exit_code"),
        signal=end.get("signal"),
        ended=bool(end),
    )


def _read_stream(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_STREAM).decode(errors="replace")
    except OSError:
        return ""
