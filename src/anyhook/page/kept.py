"""The results of backtests, kept next to the history, so that the page shows those of the command.

A file holds what `anyhook backtest --json` prints, when it was made, and of which events.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.atomic_write import replace_file
from anyhook.errors import UsageError
from anyhook.files import read_user_file
from anyhook.history.describe import show_time
from anyhook.secrets.redact import redact_json

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from anyhook.history.filters import Filter

DIRECTORY = "backtests"
MAX_KEPT = 50
"""Results that are kept; older ones are removed."""
MAX_SIZE = 256 * 1024 * 1024
"""Bytes of one result."""
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class KeptBacktest:
    """The result of a backtest."""

    name: str
    made: float
    """Unix timestamp."""
    events: str
    """Which events took part, for people."""
    report: dict[str, Any]
    """What `report_json` returned."""


def describe(selection: Filter, files: Sequence[str] | None = None) -> str:
    """Return for people which events take part."""
    parts = [f"of {name}" for name in files or ()] or ["of the history"]
    if selection.since:
        parts.append(f"since {show_time(selection.since)}")
    if selection.until:
        parts.append(f"until {show_time(selection.until)}")
    for name in ("agent", "event", "tool", "session"):
        value = getattr(selection, name)
        if value:
            parts.append(f"{name} {value}")
    if selection.text:
        parts.append(f"words {selection.text}")
    return ", ".join(parts)


def keep_report(
    directory: str | os.PathLike[str], report: dict[str, Any], events: str, *, made: float = 0.0
) -> str:
    """Keep a result without its secrets, remove the oldest ones, and return its name.

    A result that cannot be written is not kept; the command has shown it. It was `made` at a Unix
    timestamp, by default now.
    """
    made = made or time.time()
    moment = re.sub(r"\D", "", show_time(made))
    name = f"{moment[:8]}-{moment[8:]}-{secrets.token_hex(3)}"
    text, _ = redact_json(json.dumps({"made": made, "events": events, "report": report}))
    folder = Path(directory) / DIRECTORY
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(folder / f"{name}.json", text.encode(), mode=0o600)
        for path in _files(folder)[MAX_KEPT:]:
            path.unlink(missing_ok=True)
    return name


def kept_backtests(directory: str | os.PathLike[str]) -> list[KeptBacktest]:
    """Return the results that are kept, the newest first."""
    backtests: list[KeptBacktest] = []
    for path in _files(Path(directory) / DIRECTORY):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            backtests.append(_read(path))
    return backtests


def kept_backtest(directory: str | os.PathLike[str], name: str) -> KeptBacktest:
    """Return a result by its name.

    Raises:
        UsageError: If there is none.
    """
    path = Path(directory) / DIRECTORY / f"{name}.json"
    try:
        if _NAME.fullmatch(name):
            return _read(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the backtest {name!r} cannot be read: {error}") from error
    raise UsageError(f"there is no backtest {name!r}")


def _files(folder: Path) -> list[Path]:
    """Return the files of results, the newest first."""
    files = [path for path in folder.glob("*.json") if _NAME.fullmatch(path.stem)]
    return sorted(files, key=lambda path: path.name, reverse=True)


def _read(path: Path) -> KeptBacktest:
    value = json.loads(read_user_file(path, MAX_SIZE))
    return KeptBacktest(path.stem, float(value["made"]), str(value["events"]), value["report"])
