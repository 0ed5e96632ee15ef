"""What a hook file remembers from one event to the next: each event runs in a process of its own.

A hook imports this module when it calls one of the functions.
"""

from __future__ import annotations

import json
import os
import time

from anyhook.files import data_path, read_json_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_SIZE = 1024 * 1024
"""Bytes of what one hook file remembers under one key."""
KEPT_SECONDS = 7 * 86400.0
"""Seconds after which what was not written again is removed."""
MAX_FILES = 500
"""Files of one hook file; the oldest are removed."""


def load_state(name: str, key: str) -> dict[str, Any]:
    """Return what a hook file remembers; empty if that is nothing, or cannot be read.

    Args:
        name: Name of the hook file.
        key: What it belongs to: `event.session_id`, or `event.cwd` for all sessions in a directory.
    """
    return read_json_object(_path(name, key), MAX_SIZE) or {}


def save_state(name: str, key: str, values: Mapping[str, Any]) -> None:
    """Remember values for later events; those of two events at once: the later one stands.

    They are kept in the data directory of the user, for seven days.

    Args:
        name: Name of the hook file.
        key: As for `load_state`.
        values: JSON values.

    Raises:
        OSError: If they cannot be written.
        TypeError: If they are not JSON values.
    """
    path = _path(name, key)
    text = json.dumps(values).encode("utf-8", "backslashreplace")
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
    os.replace(temporary, path)

    oldest = time.time() - KEPT_SECONDS
    files: list[tuple[float, str]] = []
    for entry in os.scandir(directory):
        try:
            files.append((entry.stat().st_mtime, entry.path))
        except OSError:
            continue
    files.sort(reverse=True)
    for number, (modified, old_path) in enumerate(files):
        if modified < oldest or number >= MAX_FILES:
            try:
                os.unlink(old_path)
            except OSError:
                continue


def _path(name: str, key: str) -> str:
    import hashlib

    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    safe_name = "".join(letter if letter.isalnum() else "-" for letter in name)
    return f"{data_path()}/state/{safe_name}/{digest}.json"
