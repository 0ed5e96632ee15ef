"""The directories that belong to hooks, with the content of every file in them.

A script may load modules next to it, source files, or put the names of files together; its text
does not show which. Trust is therefore bound to every file below the directories that hooks are in,
and any change there asks again.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from typing import TYPE_CHECKING

from anyhook.files import changed_within_tick, file_stamp, read_user_file
from anyhook.model.record import Record
from anyhook.trust.languages import CODE_SUFFIXES
from anyhook.trust.loaded_code import PACKAGE_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.files import FileIdentity

OUTPUT_SUFFIXES = frozenset(".log .jsonl .pid .lock .tmp .swp".split())
"""Suffixes of files that hooks write next to themselves. They are listed as not bound."""
MAX_TREES = 8
"""Directories of one hook."""
MAX_FILES = 500
"""Files of one directory, with those below it."""
MAX_BYTES = 16 * 1024 * 1024
"""Bytes of all files of one directory."""
MAX_FILE_SIZE = 4 * 1024 * 1024
"""Bytes of a file in a directory."""
MAX_SCRIPT_SIZE = 64 * 1024 * 1024
"""Bytes of the files that a command names, all together."""
SHOWN_BYTES = 256 * 1024
"""A longer file is bound by its hash and not kept to show a difference."""


class Script(Record, kw_only=False):
    """A file as it is now.

    Attributes:
        digest: SHA-256 of its content; `None` if it does not exist; otherwise why it is not bound.
        text: Its content, if it is text and not too long.
        identity: Its identity when it was read.
    """

    path: Path
    digest: str | None
    text: str | None
    identity: FileIdentity

    @property
    def is_bound(self) -> bool:
        """Whether every change of its content is noticed."""
        return self.digest is None or " " not in self.digest


class Tree(Record, kw_only=False):
    """A directory as it is now.

    Attributes:
        files: Its files, and those below it, by their path from the root.
        identities: Identities of all directories and files that were looked at.
        left_out: What it holds that is not bound, for people.
        packages: Directories of installed packages in it.
    """

    root: Path
    files: Mapping[str, Script]
    identities: Mapping[Path, FileIdentity]
    left_out: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and digests of the files and packages."""
        lines = [f"{name}\0{script.digest}" for name, script in sorted(self.files.items())]
        lines += [f"{name}\0packages" for name in self.packages]
        content = "\n".join(lines).encode("utf-8", "surrogateescape")
        return hashlib.sha256(content).hexdigest()


_cache: dict[tuple[Path, int], Script] = {}
_CACHE_SIZE = 4096


def read_script(path: Path, limit: int = MAX_SCRIPT_SIZE) -> Script:
    """Read a file; one that did not change since the last time is not read again."""
    identity = file_stamp(path)
    cached = _cache.get((path, limit))
    if cached is not None and cached.identity == identity and identity is not None:
        return cached
    # A file that changed just now may change again without another time stamp.
    is_settled = not changed_within_tick(identity)
    script = _read(path, identity, limit)
    if is_settled:
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[path, limit] = script
    return script


def _read(path: Path, identity: FileIdentity, limit: int) -> Script:
    if identity is None or os.path.isdir(path):
        return Script(path, None, None, identity)
    try:
        content = read_user_file(path, limit)
    except OSError as error:
        reason = f"{error.strerror or 'unreadable'} ({identity[2]} bytes)"
        return Script(path, reason, None, identity)
    text = None
    if len(content) <= SHOWN_BYTES:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = None
    return Script(path, hashlib.sha256(content).hexdigest(), text, identity)


def read_tree(root: Path) -> Tree:
    """Read every file of a directory and below it, breadth first, up to a number and a size."""
    files: dict[str, Script] = {}
    identities: dict[Path, FileIdentity] = {}
    left_out: dict[str, None] = {}
    packages: list[str] = []
    size = 0
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    while waiting:
        directory = waiting.pop(0)
        identity = file_stamp(directory)
        # A link may lead back to a directory that was read.
        if identity is None or identity[:2] in seen:
            continue
        seen.add(identity[:2])
        identities[directory] = identity
        try:
            entries = sorted(os.listdir(directory))
        except OSError:
            continue
        for entry in entries:
            path = directory / entry
            name = str(path.relative_to(root))
            if path.name in PACKAGE_DIRECTORIES:
                packages.append(f"{name}/")
                continue
            if _is_output(path):
                left_out[name] = None
                continue
            if os.path.isdir(path):
                waiting.append(path)
                continue
            if len(files) >= MAX_FILES or size > MAX_BYTES:
                left_out["and more files than can be bound"] = None
                waiting.clear()
                break
            script = read_script(path, MAX_FILE_SIZE)
            files[name] = script
            identities[path] = script.identity
            size += script.identity[2] if script.identity else 0
            if not script.is_bound:
                left_out[f"{name} ({script.digest})"] = None
    return Tree(root, files, identities, (*packages, *left_out), tuple(packages))


def _is_output(path: Path) -> bool:
    """Return whether a file is one that hooks or Python write while they run."""
    if path.parent.name != "__pycache__":
        return path.suffix in OUTPUT_SUFFIXES and not os.access(path, os.X_OK)
    # Python itself writes files with the time of their source; a repository can hold files with the
    # hash of a source instead, which are loaded unchecked (PEP 552: bit 0 of the flags).
    try:
        header = read_user_file(path, MAX_FILE_SIZE)[:8]
    except OSError:
        return False
    flags = int.from_bytes(header[4:], "little")
    return not flags & 1


def is_script(path: str) -> bool:
    """Return whether a file is code, by its name or its permissions."""
    suffix = os.path.splitext(path)[1]
    return suffix in CODE_SUFFIXES or not suffix or os.access(path, os.X_OK)
