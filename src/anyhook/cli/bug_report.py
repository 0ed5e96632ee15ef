"""The file that a user attaches to an issue after an unexpected exception."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from pathlib import Path

from anyhook import __version__


def write_bug_report(error: BaseException) -> Path:
    """Write versions, and the types and places of an exception and its causes, to a new file.

    Messages of exceptions and lines of source are left out, because they may contain an event.
    """
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
