"""The directories that belong to hooks, with the content of every file in them.

A script loads what it likes: modules beside it, files that it sources, names that it puts together.
That cannot be told from its text. Trust is therefore bound to every file below the directories that
hooks are in, and any change there asks again.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.files import changed_within_tick, identity_of, read_user_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.files import FileIdentity

CODE = frozenset(
    ".sh .bash .zsh .fish .py .pyw .pyc .so .pyd .js .mjs .cjs .jsx .ts .mts .cts .rb .pl .pm .php "
    ".lua .ps1 .mk".split()
)
"""Suffixes of files that interpreters load by a name without a suffix, or that people source."""
CACHES = frozenset(
    "node_modules .git .hg .venv venv __pycache__ .mypy_cache .pytest_cache .ruff_cache".split()
)
"""Directories of installed packages and caches. They are large or change by themselves, so they
are listed as not bound; their appearance is a change."""
WRITTEN = frozenset(".log .jsonl .pid .lock .tmp .swp".split())
"""Suffixes of files that hooks write beside themselves. They are listed as not bound."""
MOST_FILES = 500
"""Files of one directory, with those below it."""
LARGEST_FILE = 4 * 1024 * 1024
"""Bytes of a file in a directory."""
LARGEST_SCRIPT = 64 * 1024 * 1024
"""Bytes of the files that a command names, all together."""
MOST_TREES = 8
"""Directories of one hook."""
SHOWN_BYTES = 256 * 1024
"""A longer file is bound by its hash and not kept to show a difference."""
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of all files of one directory."""
_HASH_BASED = 1
"""Flag of compiled Python that is loaded without a look at the time of its source."""
_WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Script:
    """A file as it is now.

    Attributes:
        path: The file.
        digest: SHA-256 of its content; `None` if it is not there; otherwise why it is not bound.
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


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory as it is now.

    Attributes:
        root: The directory.
        files: Its files, and those below it, by their path from the root.
        identities: Identities of all directories and files that were looked at.
        left_out: What is there and not bound, for people.
        packages: Directories of installed packages among them.
    """

    root: Path
    files: Mapping[str, Script]
    identities: Mapping[Path, FileIdentity]
    left_out: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        lines = [f"{name}\0{script.digest}" for name, script in sorted(self.files.items())]
        lines += [f"{name}\0packages" for name in self.packages]
        made = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape"))
        object.__setattr__(self, "digest", made.hexdigest())


_READ: dict[tuple[Path, int], Script] = {}
_READ_SIZE = 4096


def read_script(path: Path, limit: int = LARGEST_SCRIPT) -> Script:
    """Read a file; one that did not change since the last time is not read again."""
    identity = identity_of(path)
    known = _READ.get((path, limit))
    if known is not None and known.identity == identity and identity is not None:
        return known
    is_settled = not changed_within_tick(identity)
    made = _read(path, identity, limit)
    if is_settled:
        if len(_READ) >= _READ_SIZE:
            _READ.clear()
        _READ[path, limit] = made
    return made


def _read(path: Path, identity: FileIdentity, limit: int) -> Script:
    if identity is None or os.path.isdir(path):  # noqa: PTH112 - never raises
        return Script(path, None, None, identity)
    try:
        content = read_user_file(path, limit)
    except OSError as error:
        why = f"{error.strerror or 'unreadable'} ({identity[2]} bytes)"
        return Script(path, why, None, identity)
    text = None
    if len(content) <= SHOWN_BYTES:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = None
    return Script(path, hashlib.sha256(content).hexdigest(), text, identity)


def read_tree(root: Path) -> Tree:
    """Read every file of a directory and below it, up to a number and a size."""
    files: dict[str, Script] = {}
    identities: dict[Path, FileIdentity] = {}
    left_out: dict[str, None] = {}
    packages: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    size = 0
    while waiting:
        directory = waiting.pop(0)
        identity = identity_of(directory)
        if identity is None or identity[:2] in seen:  # a link that leads back
            continue
        seen.add(identity[:2])
        identities[directory] = identity
        for path in _entries(directory):
            name = str(path.relative_to(root))
            if path.name in CACHES and path.name != "__pycache__":
                packages.append(f"{name}/")
            elif _is_written(path):
                left_out[name] = None
            elif os.path.isdir(path):  # noqa: PTH112
                waiting.append(path)
            elif len(files) >= MOST_FILES or size > MOST_BYTES:
                left_out["and more files than can be bound"] = None
                waiting.clear()
                break
            else:
                script = files[name] = read_script(path, LARGEST_FILE)
                identities[path] = script.identity
                size += script.identity[2] if script.identity else 0
                if not script.is_bound:
                    left_out[f"{name} ({script.digest})"] = None
    return Tree(root, files, identities, (*packages, *left_out), tuple(packages))


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory / name for name in os.listdir(directory))  # noqa: PTH208 - names
    except OSError:
        return []


def _is_written(path: Path) -> bool:
    """Return whether a file is one that hooks or Python write while they run."""
    if path.parent.name == "__pycache__":
        return not _is_loaded_unchecked(path)
    return path.suffix in WRITTEN and not os.access(path, os.X_OK)


def _is_loaded_unchecked(path: Path) -> bool:
    """Return whether compiled Python is used without a look at the time of its source.

    Python itself writes files that name the time of their source; a repository can hold others.
    """
    try:
        head = read_user_file(path, LARGEST_FILE)[:8]
    except OSError:
        return True
    return bool(int.from_bytes(head[4:], "little") & _HASH_BASED)


def is_script(path: str) -> bool:
    """Return whether a file is code, by its name or its permissions."""
    suffix = os.path.splitext(path)[1]  # noqa: PTH122 - text is faster
    return suffix in CODE or not suffix or os.access(path, os.X_OK)


def beside(directory: Path, text: str) -> list[Path]:
    """List the code directly in a directory that a program there may load.

    Those are files named like a module of Python's library, which they would replace, and files
    whose name is a word of the program, or of a file that was found like that.

    Args:
        directory: A directory that also holds what is not part of a hook.
        text: The program.
    """
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []
    code = {name: _module(directory, name) for name in names[:ENTRIES]}
    words = _words(text) | sys.stdlib_module_names
    found: dict[Path, None] = {}
    waiting = True
    while waiting:
        waiting = False
        for name, path in code.items():
            if path is None or path in found or name.partition(".")[0] not in words:
                continue
            found[path] = None
            words |= _words(read_script(path).text or "")
            waiting = True
    return list(found)


def _words(text: str) -> set[str]:
    found = set(_WORD.findall(text))
    return found | {piece for word in found if "-" in word for piece in word.split("-")}


ENTRIES = 10_000
"""Entries of a directory that are looked at."""


def _module(directory: Path, name: str) -> Path | None:
    path = directory / name
    if path.suffix in CODE:
        return path if stat.S_ISREG(_mode(path)) else None
    package = path / "__init__.py"
    return package if not path.suffix and stat.S_ISREG(_mode(package)) else None


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0
