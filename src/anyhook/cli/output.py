"""The streams: a console for people, one line of JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from anyhook import __version__
from anyhook.cli import discard_stdout
from anyhook.cli.colors import BAD
from anyhook.model.diagnostics import Diagnostic, Place
from anyhook.model.json import dump_json, repair
from anyhook.model.record import Record
from anyhook.model.text import printable

if TYPE_CHECKING:
    from anyhook.manage.health import HookHealth

NO_PLACE = dict.fromkeys(("file", "line", "column"))
UNWRAPPED = 10_000
"""Columns of output that is not a terminal: nothing is wrapped or cut in a pipe or a file."""
UNWRAPPED_HEIGHT = 25
MIN_WIDTH = 20
# A match begins where the blanks begin: a table in a pipe pads its cells with thousands of them.
_TRAILING_BLANKS = re.compile(r"(?<![ \t])[ \t]++(?=\n)")


class PrintableConsole(Console):
    """A console that shows invisible characters as escapes, whatever is printed.

    Names, commands and records are texts of strangers, and every command shows some: what looks
    like markup of rich in them is text, too. Commands that lay out such a text escape it
    themselves, so that its width is known.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def on_broken_pipe(self) -> None:
        """Write nothing more, and go on."""
        self.quiet = True
        discard_stdout()

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render an object; controls of the console, like colors, stay as they are."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """Return a console for people.

    It is as wide as the terminal, and unwrapped if the output is a pipe or a file. The variable
    `COLUMNS` sets another width.
    """
    stream = sys.stderr if stderr else sys.stdout
    columns = os.environ.get("COLUMNS", "")
    width = None
    if columns.isdecimal() and len(columns) <= len(str(UNWRAPPED)):
        requested = int(columns)
        width = requested if MIN_WIDTH <= requested <= UNWRAPPED else None
    if stream.isatty():
        return PrintableConsole(stderr=stderr, width=width)
    trimmed = cast("TextIO", _TrimmedStream(stream))
    # Without a height, rich uses 80 columns if TERM is "dumb" or "unknown".
    return PrintableConsole(file=trimmed, width=width or UNWRAPPED, height=UNWRAPPED_HEIGHT)


class _TrimmedStream:
    """A stream without the blanks that pad the last column of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_error(message: str) -> None:
    """Write an error to standard error."""
    text = Text.assemble(("error:", BAD), f" {printable(message)}")
    console(stderr=True).print(text, soft_wrap=True)


def write_bug_report(error: BaseException) -> Path:
    """Write versions, and the types and places of an exception and its causes, to a new file.

    Messages of exceptions and lines of source are left out, because they may contain an event.
    """
    import platform
    import tempfile
    import traceback

    python = sys.version.split()[0]
    lines = [f"anyhook {__version__}, Python {python}, {platform.platform()}", ""]
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        lines.append(type(current).__qualname__)
        for frame, line in traceback.walk_tb(current.__traceback__):
            code = frame.f_code
            lines.append(f"  {code.co_filename}:{line} in {code.co_name}")
        if isinstance(current, BaseExceptionGroup):
            pending.extend(current.exceptions)
        pending += [current.__cause__, current.__context__]
    with tempfile.NamedTemporaryFile(
        "w", prefix="anyhook-bug-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(lines) + "\n")
    return Path(file.name)


# -- JSON: what `docs/json.md` promises


def print_json(value: Any) -> None:
    """Write one JSON value on one line; what JSON cannot hold is replaced.

    Values of ours are written as `encode` has them. Invisible characters are written as escapes,
    because the output may be a terminal.
    """
    try:
        text = _ENCODER.encode(value)
        text.encode()
    except ValueError:  # a number or a surrogate that JSON does not have
        text = dump_json(repair(json.loads(json.dumps(value, default=encode)))).decode()
    if printable(text) != text:
        text = json.dumps(json.loads(text), separators=(",", ":"))
    write_line(text)


def write_line(text: str) -> None:
    """Write a line to standard output, or nothing if its reader has closed the pipe."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def encode(value: object) -> Any:
    """Return what JSON has in place of a value that is not JSON.

    Paths are text, collections are arrays or objects, dataclasses and records are objects of their
    fields. A place has `file` and `line`; a diagnostic has those of its place as its own.

    Raises:
        TypeError: If it is none of them.
    """
    if isinstance(value, Diagnostic):
        place = NO_PLACE
        if value.place is not None:
            place = members(value.place, "file", "line", "column")
        return {**members(value, "code", "severity", "message"), **place}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    if isinstance(value, Record):
        return value.as_dict()
    if is_dataclass(value):
        return members(value, *(field.name for field in fields(value)))
    raise TypeError(f"{type(value).__name__} has no form in JSON")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=encode
)


def members(value: object, *names: str) -> dict[str, Any]:
    """Return attributes of a value as members of an object."""
    return {name: getattr(value, name) for name in names}


def place_members(place: Place | None) -> dict[str, Any]:
    """Return the members `file` and `line` for a place."""
    if place is None:
        return {"file": None, "line": None}
    return members(place, "file", "line")


def health_members(health: HookHealth | None) -> dict[str, Any] | None:
    """Return the health of a hook; `None` of the recorder."""
    if health is None:
        return None
    return {
        **members(health, "word", "evidence", "old"),
        **place_members(health.place),
        "settle": health.settle or None,
    }


def hook_health(health: HookHealth) -> dict[str, Any]:
    """Return a hook with its health."""
    row = health.row
    names = {"agent": row.agent.name, "hook": row.label, "event": row.event}
    return {**names, **(health_members(health) or {})}
