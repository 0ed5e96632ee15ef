"""Reads one settings file: from bytes to hooks, and never twice."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anyhook.files import changed_within_tick, identity_of, read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.settings.jsonc import JsonSyntaxError, line_starts, parse
from anyhook.settings.reader import LoadedFile, read_document
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.files import FileIdentity
    from anyhook.settings.sources import Source


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read last.

    Attributes:
        identity: Its identity before it was read.
        content: Its bytes, or why they could not be read.
        is_settled: Whether every later edit changes the identity.
        file: What the bytes mean.
    """

    identity: FileIdentity
    content: bytes | Diagnostic | None
    is_settled: bool
    file: LoadedFile


_CACHE: dict[tuple[object, ...], _Read] = {}
_CACHE_SIZE = 256


def load_file(agent: AgentSpec, source: Source) -> LoadedFile:
    """Read a file; one with the same content as last time is not parsed again.

    Args:
        agent: Whose settings they are.
        source: The file and its layer.

    Returns:
        Its hooks and switches; the same object as last time if nothing changed. Never raises for
        what a file holds.
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
    )
    identity = identity_of(source.path)
    known = _CACHE.get(key)
    if known is not None and known.is_settled and known.identity == identity:
        return known.file
    is_settled = not changed_within_tick(identity, time.time_ns())
    content = _content(source)
    if known is not None and known.content == content:
        file = known.file
    else:
        file = _parsed(agent, source, content)
    if key not in _CACHE and len(_CACHE) >= _CACHE_SIZE:
        _CACHE.pop(next(iter(_CACHE)))  # the oldest
    _CACHE[key] = _Read(identity, content, is_settled, file)
    return file


def last_good(file: LoadedFile, before: LoadedFile | None) -> LoadedFile:
    """Keep what a file held before it was broken.

    Editors and agents rewrite files in place: a reader may see them empty or half-written.

    Args:
        file: The file as it is now.
        before: The file as it was before; `None` if it was not loaded.

    Returns:
        The file; if it is broken, with the hooks and switches that it had before. A file that is
        gone has no hooks.
    """
    if before is None or not before.exists or before.is_broken:
        return file
    count = sum(len(definition.handlers) for definition in before.definitions)
    place = Place(str(file.source.path))
    if not file.exists:
        if not count:
            return file
        gone = diagnose("settings-gone", f"the file is gone; its {count} hook(s) do not run", place)
        return replace(file, diagnostics=(*file.diagnostics, gone))
    if not file.is_broken:
        return file
    kept = diagnose(
        "settings-kept",
        f"the file cannot be read now; its {count} hook(s) stay in force as they were before",
        place,
    )
    return replace(before, diagnostics=(*file.diagnostics, kept))


def _content(source: Source) -> bytes | Diagnostic | None:
    """Return the bytes of a file, why it cannot be read, or `None` if there is none."""
    try:
        return read_user_file(source.path, SIZE_LIMIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        return diagnose("settings-unreadable", why, Place(str(source.path)))


def _parsed(agent: AgentSpec, source: Source, content: bytes | Diagnostic | None) -> LoadedFile:
    file = str(source.path)
    if content is None:
        return LoadedFile(source)
    if isinstance(content, Diagnostic):
        return _broken(source, content)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _broken(
            source,
            diagnose("settings-unreadable", f"not UTF-8 at byte {error.start}", Place(file)),
        )
    try:
        document = parse(text, file)
    except JsonSyntaxError as problem:
        starts = [s for s in line_starts(text) if s <= problem.offset]
        place = Place(file, len(starts), problem.offset - starts[-1] + 1)
        return _broken(
            source, diagnose("settings-syntax", f"{problem}; no hook of this file runs", place)
        )
    try:
        return read_document(agent, source, document)
    except RecursionError:
        told = diagnose(
            "settings-syntax", "nested too deep; no hook of this file runs", Place(file)
        )
        return _broken(source, told)


def _broken(source: Source, diagnostic: Diagnostic) -> LoadedFile:
    return LoadedFile(source, exists=True, is_broken=True, diagnostics=(diagnostic,))
