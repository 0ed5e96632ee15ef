"""A file that a user can paste into an issue when anyhook itself broke."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def write_report(error: BaseException) -> Path:
    """Write versions, and types and places of an exception, to a new file.

    Texts of exceptions and lines of source are left out, because they may hold an event.

    Args:
        error: The exception, whose causes are written too.

    Returns:
        The file.
    """
    from anyhook import __version__

    lines = [
        f"anyhook {__version__}, Python {sys.version.split()[0]}, {platform.platform()}",
        "",
        *_types_and_places(error),
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="anyhook-bug-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(lines) + "\n")
    return Path(file.name)


def _types_and_places(error: BaseException) -> Iterator[str]:
    """Yield the type of an exception and where it was raised, and those of what led to it."""
    pending, seen = [error], set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield type(current).__qualname__
        for frame, line in traceback.walk_tb(current.__traceback__):
            code = frame.f_code
            yield f"  {code.co_filename}:{line} in {code.co_name}"
        led_to_it = (current.__cause__, current.__context__)
        members = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        pending += [one for one in (*members, *led_to_it) if one is not None]
