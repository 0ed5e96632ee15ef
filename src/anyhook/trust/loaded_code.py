"""Which files a process loads as code, noted with Python's audit events while it runs.

What is noted: modules, whatever imports them; code that is compiled with the name of its file
(`runpy`, `compile`); and texts that were read from a file and executed as they are
(`exec(open(path).read())`). Other programs, and code that was changed before it is executed, are
not seen.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import NamedTuple

from anyhook._compat import ContextVar, caller
from anyhook.files import opens_for_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

INSTALLED = (
    os.path.dirname(os.__file__) + os.sep,
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
)
"""Directories of the standard library and of this package."""
# These are large or change by themselves, so they are listed as not bound; their appearance is a
# change.
PACKAGE_DIRECTORIES = frozenset(
    "node_modules .git .hg .venv venv .mypy_cache .pytest_cache .ruff_cache".split()
)
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
MAX_FILES = 500
"""Files of each kind that are noted in one process."""
MAX_TEXTS = 50
"""Executed texts whose files are looked for."""
MAX_TEXT = 1024 * 1024
"""Bytes of a file that is compared with them."""


class LoadedFiles(NamedTuple):
    """Files that a process has loaded.

    Attributes:
        code: Those that code was loaded from.
        data: Others that were read.
    """

    code: set[str]
    data: set[str]


class LoadedCode:
    """Notes the files that a process loads and reads.

    Attributes:
        code_files: Absolute paths that code was loaded from, or claims to be.
        read_files: Absolute paths that were opened for reading.
    """

    def __init__(self) -> None:
        self.code_files: set[str] = set()
        self.read_files: set[str] = set()
        self._texts: list[CodeType] = []

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an audit event; only a function that is an audit hook may call this."""
        # An error would be one of the program, which can also raise events with other arguments.
        with suppress(Exception):
            if event == "exec":
                self._note_code(arguments[0])
            elif event == "import":
                self._add(self.code_files, arguments[1])  # of an extension module, else None
            elif event == "open" and opens_for_reading(arguments[2]):
                self._add(self.read_files, arguments[0])

    def _note_code(self, code: CodeType) -> None:
        name = code.co_filename
        if not name.startswith("<"):
            self._add(self.code_files, name)
        # The caller of the audit hook: dataclasses and others execute texts of their own.
        is_text = name.startswith("<") or not os.path.isabs(name)
        if is_text and len(self._texts) < MAX_TEXTS:
            executor = caller(3).f_code.co_filename
            if not is_installed(executor) and not executor.startswith("<frozen "):
                self._texts.append(code)

    def _add(self, paths: set[str], path: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike) or len(paths) >= MAX_FILES:
            return
        text = os.fsdecode(path)
        if not is_installed(text) and not text.endswith(".pyc"):
            if not os.path.isabs(text):
                text = os.path.abspath(text)
            paths.add(text)

    def files(self) -> LoadedFiles:
        """Return the existing files that were noted."""
        code = set(self.code_files)
        if self._texts:
            code.update(filter(self._is_executed, list(self.read_files)))
        data = self.read_files - code
        return LoadedFiles(set(filter(os.path.isfile, code)), set(filter(os.path.isfile, data)))

    def _is_executed(self, path: str) -> bool:
        """Return whether one of the executed texts is the content of a file."""
        try:
            with open(path, "rb") as file:
                text = file.read(MAX_TEXT)
        except OSError:
            return False
        return any(_is_code_of(text, code) for code in self._texts)


def _is_code_of(text: bytes, code: CodeType) -> bool:
    """Return whether code is what a text compiles to."""
    import __future__

    flags = 0
    for feature in __future__.all_feature_names:
        flags |= code.co_flags & getattr(__future__, feature).compiler_flag
    for mode in ("exec", "eval"):
        try:
            compiled = compile(text, code.co_filename, mode, flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if compiled == code:
            return True
    return False


def is_installed(path: str) -> bool:
    """Return whether a file belongs to the interpreter or to an installed package."""
    return path.startswith(INSTALLED) or any(part in path for part in _PACKAGES)


_current: ContextVar[LoadedCode | None] = ContextVar("loaded_code", default=None)
_installed: list[bool] = []
"""Holds an item once the audit hook is there; Python cannot remove one."""


@contextmanager
def noting(code: LoadedCode) -> Iterator[None]:
    """Note what this process loads within the block, in the same thread or task."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_on_audit_event)
    token = _current.set(code)
    try:
        yield
    finally:
        _current.reset(token)


def _on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
    code = _current.get()
    if code is not None:
        code.note(event, arguments)
