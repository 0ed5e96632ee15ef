"""A file that a user can paste into an issue when anyhook itself broke."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from pathlib import Path


def write_report(error: BaseException) -> Path:
    """Write versions and the traceback to a new file. No environment, no arguments: no secrets."""
    from anyhook import __version__

    lines = [
        f"anyhook {__version__}, Python {sys.version.split()[0]}, {platform.platform()}",
        "",
        *traceback.format_exception(error),
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="anyhook-bug-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(lines))
    return Path(file.name)
