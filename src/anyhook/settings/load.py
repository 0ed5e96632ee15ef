"""Reads one settings file, and parses it only if its content changed."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

from anyhook.file_errors import dead_link, explain_error
from anyhook.files import changed_within_tick, file_stamp, read_user_file
from anyhook.model.definitions import handlers_of
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.record import Record, replace
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError
from anyhook.settings.reader import LoadedFile, read_document
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.files import FileIdentity
    from anyhook.settings.sources import Source


class FileStamp(Record, kw_only=False):
    """The identity of a file at one time.

    Attributes:
        identity: Device, inode, size and times of the file; `None` if it does not exist.
        taken_at: When the identity was taken, in nanoseconds since the epoch.
    """

    path: Path
    identity: FileIdentity
    taken_at: int

    @classmethod
    def take(cls, path: Path) -> FileStamp:
        """Take the stamp of a file; call it before the file is read."""
        taken_at = time.time_ns()
        return cls(path, file_stamp(path), taken_at)

    @property
    def is_settled(self) -> bool:
        """Whether every later edit changes the identity, given the clock of the file system."""
        return not changed_within_tick(self.identity, self.taken_at)

    def is_current(self) -> bool:
        """Return whether the file certainly did not change since."""
        return self.is_settled and file_stamp(self.path) == self.identity


class _CacheEntry(Record, kw_only=False):
    """A file as it was last read: its stamp before that, its bytes or their problem, the result."""

    stamp: FileStamp
    content: bytes | Diagnostic | None
    file: LoadedFile


_CACHE: dict[tuple[object, ...], _CacheEntry] = {}
MAX_CACHE_ENTRIES = 2048


def load_file(agent: AgentSpec, source: Source) -> LoadedFile:
    """Read a file; one with the same content as last time is not parsed again.

    The result is the same object as last time if nothing changed. Never raises because of the
    content of a file.
    """
    key = (
        agent.name,
        source.layer,
        str(source.path),
        source.origin,
        tuple(source.path_variables.items()),
        tuple(source.env.items()),
        tuple(source.placeholders.items()),
        source.hooks_path,
        source.forms,
        source.directory,
    )
    cached = _CACHE.get(key)
    if cached is not None and cached.stamp.is_current():
        return cached.file
    stamp = FileStamp.take(source.path)
    content = _read_content(source)
    if cached is not None and cached.content == content:
        file = cached.file
    else:
        file = _parse_content(agent, source, content)
    if key not in _CACHE and len(_CACHE) >= MAX_CACHE_ENTRIES:
        oldest = next(iter(_CACHE))
        del _CACHE[oldest]
    _CACHE[key] = _CacheEntry(stamp, content, file)
    return file


def keep_last_good(file: LoadedFile, before: LoadedFile | None) -> LoadedFile:
    """Return a file, with its former hooks and switches if it is broken now.

    Editors and agents rewrite files in place: a reader may see them empty or half-written. A file
    that is deleted has no hooks.
    """
    if before is None or not before.exists or before.is_broken:
        return file
    count = len(handlers_of(before.definitions))
    place = Place(str(file.source.path))
    if not file.exists and count:
        message = f"the file is gone; its {count} hook(s) do not run"
        gone = diagnose("settings-gone", message, place)
        return replace(file, diagnostics=(*file.diagnostics, gone))
    if file.is_broken:
        message = (
            f"the file cannot be read now; its {count} hook(s) stay in force as they were before"
        )
        kept = diagnose("settings-kept", message, place)
        return replace(before, diagnostics=(*file.diagnostics, kept))
    return file


def _read_content(source: Source) -> bytes | Diagnostic | None:
    """Return the bytes of a file, why it cannot be read or trusted, or `None` if there is none."""
    try:
        if source.file is not None and source.file.is_protected and os.name == "posix":
            status = source.path.stat()
            path = source.path
            reason = ""
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                reason = f"others may change it, so no hook of it runs; use: chmod go-w {path}"
            elif source.owner is not None and status.st_uid != source.owner:
                reason = (
                    f"it does not belong to root, so no hook of it runs; use: chown root {path}"
                )
            if reason:
                return diagnose("settings-unreadable", reason, Place(str(source.path)))
        return read_user_file(source.path, SIZE_LIMIT)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not dead_link(source.path):
            return None
        reason = explain_error(source.path, error)
        return diagnose("settings-unreadable", reason, Place(str(source.path)))


def _parse_content(
    agent: AgentSpec, source: Source, content: bytes | Diagnostic | None
) -> LoadedFile:
    if content is None:
        return LoadedFile(source)
    if isinstance(content, Diagnostic):
        return _broken(source, content)
    file = str(source.path)
    try:
        is_strict = source.file is not None and source.file.strict_json
        document = parse_settings(content.decode(), file, strict_json=is_strict)
        return read_document(agent, source, document)
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        return _broken(source, diagnose("settings-unreadable", message, Place(file)))
    except SettingsSyntaxError as error:
        place = Place(file, error.line, error.column)
        message = f"{error}; no hook of this file runs"
        return _broken(source, diagnose("settings-syntax", message, place))
    except RecursionError:
        message = "nested too deep; no hook of this file runs"
        return _broken(source, diagnose("settings-syntax", message, Place(file)))


def _broken(source: Source, diagnostic: Diagnostic) -> LoadedFile:
    return LoadedFile(source, exists=True, is_broken=True, diagnostics=(diagnostic,))
