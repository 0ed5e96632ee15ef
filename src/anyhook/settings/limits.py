"""How much of the settings of a repository is read.

Settings are read before they are trusted, so a repository must not be able to block the host. What
is left out is an error with its place.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Place, diagnose

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


MAX_ITEMS = 1000
"""Events, definitions, hooks and disabled names of one file, and hooks of one layer, that are read:
people have a few dozen."""
MAX_FILES = 1000
"""Files of one pattern that are read."""
MAX_TOTAL_SIZE = 4 * 1024 * 1024
"""Bytes of all files of one pattern that are read."""


def limit_files(paths: Sequence[Path], directory: Path) -> tuple[list[Path], list[Diagnostic]]:
    """Return the first files of a pattern that searches a directory.

    There is a diagnostic if some are left out.
    """
    kept: list[Path] = []
    total_size = 0
    for path in paths[:MAX_FILES]:
        with suppress(OSError):  # why it cannot be read is reported when it is read
            total_size += path.stat().st_size
        if total_size > MAX_TOTAL_SIZE:
            break
        kept.append(path)
    if len(kept) == len(paths):
        return kept, []
    message = (
        f"{len(paths):,} files are more than anyhook reads ({MAX_FILES:,} files or "
        f"{MAX_TOTAL_SIZE >> 20} MiB in a directory); the last {len(paths) - len(kept):,}, from "
        f"{paths[len(kept)].name} on, are left out; write their hooks into fewer files"
    )
    return kept, [diagnose("too-many-hooks", message, Place(str(directory)))]
