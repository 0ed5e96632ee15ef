"""The journal: where hooks and engines leave what they recorded, one JSON object per line.

An agent may wait for the process that records, so it appends one line to a file and does nothing
else: no database, no lock. `anyhook.history.ingest` moves the lines into the store later.

- Every hour has a file of its own. Its name begins with the version of the format, so that two
  releases can write at the same time, each to its own files.
- A line is appended with one `write` in append mode, which the system does not mix with another
  process's. It starts with a line break: a line that a full disk or a killed process cut short
  spoils only itself.
- A hook imports this module when recording is on: it imports only what a hook has loaded anyway.
"""

from __future__ import annotations

import json
import os
import time

from anyhook.files import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# `json.dumps` makes an encoder for each call, which takes as long as the encoding.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
FORMAT = 1
"""Version of the lines. A release reads the formats up to its own."""
SWITCH = "recording.json"
"""File in the directory of the history whose existence means that hook files record."""
DIRECTORY = "journal"
MAX_LINE_LENGTH = 1024 * 1024
"""Bytes. The strings of a longer record are cut."""
MAX_TEXT_LENGTH = 16 * 1024
"""Characters that are kept of each string of such a record."""
MAX_FILE_SIZE = 256 * 1024 * 1024
"""Bytes of an hour; what comes later in that hour is not recorded, which the store reports."""
FULL_MARK = ".full"
SECONDS_OF_FILE = 3600


def history_directory(environ: Mapping[str, str] | None = None) -> str:
    """Return the directory of the history in the user's data directory."""
    return f"{data_path(environ)}/history"


def is_recording(directory: str) -> bool:
    """Return whether the user has switched recording on, for hook files that run as commands."""
    try:
        os.stat(f"{directory}/{SWITCH}")  # noqa: PTH116 - a hook calls it, and `Path` is slower
    except OSError:
        return False
    return True


def append(directory: str, record: Mapping[str, Any]) -> bool:
    """Append a record to the journal without its secrets, and return whether it was written.

    It is not if the file of this hour is full. The directory of the history is created if it does
    not exist.

    Raises:
        OSError: If it cannot be written: a full disk, a directory without permission.
        ValueError: If the record holds what is not JSON.
    """
    line = encode_line(record)
    path = f"{directory}/{DIRECTORY}/{file_name(time.time())}"
    try:
        descriptor = _open(path)
    except FileNotFoundError:
        for part in (directory, f"{directory}/{DIRECTORY}"):  # the mode is only for the last part
            os.makedirs(part, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
        descriptor = _open(path)
    try:
        if os.fstat(descriptor).st_size > MAX_FILE_SIZE:
            os.close(_open(path + FULL_MARK))
            return False
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
    return True


def _open(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    # A pipe in the place of the file must not keep a hook waiting for a reader.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)


def file_name(timestamp: float) -> str:
    """Return the name of the journal's file for a Unix timestamp: `1-490123.jsonl`."""
    return f"{FORMAT}-{int(timestamp // SECONDS_OF_FILE)}.jsonl"


def encode_line(record: Mapping[str, Any]) -> bytes:
    """Return the line of a record, without secrets, and cut if it is too long.

    Raises:
        ValueError: If the record holds what is not JSON.
    """
    text = _encode(record)
    if len(text) > MAX_LINE_LENGTH:
        text = _encode({**_cut(record), "cut": True})
    from anyhook.secrets.redact import redact_json

    text, count = redact_json(text)
    if count:
        text = f'{text[:-1]},"redacted":{count}}}'
    return f"\n{text}\n".encode("utf-8", "backslashreplace")


def _cut(value: Any) -> Any:
    """Return a value whose long strings are cut."""
    if isinstance(value, str):
        rest = len(value) - MAX_TEXT_LENGTH
        if rest <= 0:
            return value
        from anyhook.secrets.redact import redact_start

        return f"{redact_start(value, MAX_TEXT_LENGTH)}… [{rest} characters left out]"
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value[:1000]]
    return value
