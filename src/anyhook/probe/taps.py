"""Recording what hooks do in an agent: their commands are run by `tap.py`, which keeps a record.

Only the text of the commands in the copied settings changes. Everything else stays byte for byte,
so that an agent that drops a file or an entry drops it here, too.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.settings.wrapping import Wrapper, line_keys, wrap_commands
from anyhook.shell.tapped import tap_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.jsonc import JsonPath

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
            try:
                payload = json.loads(_read_stream(path.with_suffix(".in")))
            except ValueError:
                payload = {}
            record = TapRecord(
                tap=start["tap"],
                time=start["time"],
                payload=payload if isinstance(payload, dict) else {},
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
