"""The streams: a console for people, one line of JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from anyhook.cli.colors import BAD
from anyhook.model.json import dump_json, repair
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from rich.console import ConsoleOptions, RenderableType

    from anyhook.manage.health import HookHealth
    from anyhook.model.diagnostics import Diagnostic

UNWRAPPED = 10_000
"""Columns of output that is not a terminal: nothing is wrapped or cut in a pipe or a file."""
UNWRAPPED_HEIGHT = 25
MIN_WIDTH = 20
# A match begins where the blanks begin: a table in a pipe pads its cells with thousands of them.
_TRAILING_BLANKS = re.compile(r"(?<![ \t])[ \t]++(?=\n)")


class PrintableConsole(Console):
    """A console that shows invisible characters as escapes, whatever is printed.

    Names, commands and records are texts of strangers, and every command shows some. Commands that
    lay out such a text escape it themselves, so that its width is known.
    """

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
    width = _requested_width()
    if stream.isatty():
        return PrintableConsole(stderr=stderr, highlight=False, width=width)
    trimmed = cast("TextIO", _TrimmedStream(stream))
    # Without a height, rich uses 80 columns if TERM is "dumb" or "unknown".
    return PrintableConsole(
        file=trimmed, highlight=False, width=width or UNWRAPPED, height=UNWRAPPED_HEIGHT
    )


def _requested_width() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    if not columns.isdecimal() or len(columns) > len(str(UNWRAPPED)):
        return None
    width = int(columns)
    return width if MIN_WIDTH <= width <= UNWRAPPED else None


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


def print_json(value: Any) -> None:
    """Write one JSON value on one line; what JSON cannot hold is replaced.

    Invisible characters are written as escapes, because the output may be a terminal.
    """
    try:
        text = dump_json(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = dump_json(repair(value)).decode()
    if printable(text) != text:
        text = json.dumps(json.loads(text), separators=(",", ":"))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic for programs."""
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def health_json(health: HookHealth | None) -> dict[str, Any] | None:
    """Return the health of a hook for programs; `None` of the recorder."""
    if health is None:
        return None
    return {
        "word": str(health.word),
        "evidence": health.evidence,
        "file": health.place.file,
        "line": health.place.line,
        "settle": health.settle or None,
        "old": list(health.old),
    }
