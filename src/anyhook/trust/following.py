"""The files of a project that the texts of its hooks name, followed from file to file.

A text names the parts of a path, perhaps in several places, and the directories from which paths
start are computed when it runs. So the directories of the project are searched from every place
that a path may start from, as far as the text holds their names. What is loaded without a name that
leads to a file is described, for a person to see.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.trust.code_text import read_code
from anyhook.trust.languages import (
    CODE_SUFFIXES,
    DATA,
    JAVASCRIPT,
    LANGUAGES,
    PROJECT_FILES,
    PYTHON,
    SHELL,
    language_of_file,
)
from anyhook.trust.trees import LARGEST_FILE, PACKAGE_DIRECTORIES, read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from anyhook.trust.code_names import CodeText

MAX_FOLLOWED = 200
"""Files that one hook loads."""
MAX_HELD = 100
"""Code files of a directory of which some file is loaded."""
MAX_DIRECTORIES = 200
"""Directories that are searched for the names of one text."""
MAX_DEPTH = 8
"""Directories inside of directories that are searched."""
MAX_ENTRIES = 5_000
"""Entries of a directory that are looked at."""
MAX_MENTIONED = 4
"""Files and directories that are listed with a statement."""
_ALL_ENTRIES = frozenset(entry for language in LANGUAGES for entry in language.entries)
_SEARCHES_UPWARDS = frozenset({SHELL, JAVASCRIPT})
"""Languages whose scripts name modules by paths, which may lead to any directory above."""


@dataclass(slots=True)
class Followed:
    """What the texts of a hook lead to.

    Attributes:
        files: Files of the project that may be loaded.
        unclear: What is loaded and not among the files, for a person.
        directories: Directories in which files were looked for.
        operands: Relative paths that are loaded from the working directory.
    """

    files: dict[str, None] = field(default_factory=dict)
    unclear: dict[str, None] = field(default_factory=dict)
    directories: dict[str, None] = field(default_factory=dict)
    operands: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a directory: names of its directories and of its files."""

    directories: frozenset[str]
    files: frozenset[str]


class Listings:
    """Reads directories, each of them once."""

    def __init__(self) -> None:
        self._listings: dict[str, Listing] = {}

    def of(self, directory: str) -> Listing:
        """Return the entries of a directory; none if it cannot be read."""
        listing = self._listings.get(directory)
        if listing is None:
            listing = self._listings[directory] = _list(directory)
        return listing


def _list(directory: str) -> Listing:
    directories: set[str] = set()
    files: set[str] = set()
    try:
        with os.scandir(directory) as entries:
            for _, entry in zip(range(MAX_ENTRIES), entries, strict=False):
                (directories if entry.is_dir() else files).add(entry.name)
    except OSError:
        pass
    return Listing(frozenset(directories), frozenset(files))


class Follower:
    """Follows the texts of one hook.

    Args:
        project: Directory of the project.
        start: Directory in which the command runs.
        listings: Entries of directories.
        bound: Files that are bound anyway, in the directories of hooks.
    """

    def __init__(
        self, project: Path, start: Path, listings: Listings, bound: Iterable[str] = ()
    ) -> None:
        self._project = str(project)
        self._start = str(start)
        self._listings = listings
        self._bound = frozenset(bound)
        self._search_roots: dict[str, None] = {}
        self._waiting: list[tuple[CodeText, str, str]] = []
        self._seen: set[str] = set()
        self._has_searched = False
        self.result = Followed()

    def follow(self, command: str, scripts: Mapping[Path, str | None]) -> Followed:
        """Follow a command and the scripts that it names.

        Args:
            command: The command line, with assignments of its environment in front.
            scripts: Files with their texts; `None` for one that cannot be read as text.
        """
        self._waiting.append((read_code(command, SHELL), self._start, ""))
        for path, text in scripts.items():
            self._enqueue(str(path), text)
        self._follow_waiting()
        if self.result.unclear and self._bound:
            # Something is loaded without its name, perhaps a file in the directories of hooks.
            code_files = filter(_is_code, self._bound)
            for code_file in sorted(code_files)[:MAX_FOLLOWED]:
                self._enqueue_file(code_file)
            self._follow_waiting()
        return self.result

    def _enqueue_file(self, path: str) -> None:
        if path not in self._seen:
            self._enqueue(path, read_script(Path(path), LARGEST_FILE).text)

    def _enqueue(self, path: str, text: str | None) -> None:
        if path in self._seen:
            return
        self._seen.add(path)
        if text is None:
            if os.path.isfile(path):
                self.add_unclear(f"what {path} loads: it cannot be read as text")
            return
        code = read_code(text, language_of_file(os.path.basename(path), text))
        self._waiting.append((code, os.path.dirname(path), path))

    def _follow_waiting(self) -> None:
        followed: list[tuple[CodeText, str, str]] = []
        while self._waiting:
            item = self._waiting.pop(0)
            roots_before = len(self._search_roots)
            followed.append(item)
            self._follow_one(*item)
            # What a text adds to the search path counts for what it loaded before, too.
            if len(self._search_roots) > roots_before and followed:
                self._waiting += followed
                followed = []

    def _follow_one(self, code: CodeText, directory: str, path: str) -> None:
        if code.searches_start:
            self.add_search_root(self._start)
        search = _Search(self, code, directory)
        search.run()
        self.result.operands |= code.operands
        for name in sorted(code.runners):
            self._add_runner(name, search)
        holder = os.path.relpath(path, self._project) if path else "the command"
        if holder.startswith(".."):
            holder = path
        for computed in code.computed:
            if computed.names.isdisjoint(search.matched):
                mentioned = search.mentioned(computed.names) or search.mentioned(code.names)
                also = f"; it names {', '.join(mentioned)}" if mentioned else ""
                text = f"what {holder} loads with `{computed.excerpt}`{also}"
                self.add_unclear(text)

    def _add_runner(self, name: str, search: _Search) -> None:
        for file in PROJECT_FILES.get(name, ()):
            for root in search.roots:
                if file in self._listings.of(root).files:
                    self.add(os.path.join(root, file), follow=False)
        self.add_unclear(f"what {name} runs: files of the project or packages define it")

    def add(self, path: str, *, follow: bool = True) -> None:
        """Add a file that may be loaded."""
        if path not in self._bound and path not in self.result.files:
            if len(self.result.files) >= MAX_FOLLOWED:
                self.add_unclear(f"what more than {MAX_FOLLOWED} files of the project load")
                return
            self.result.files[path] = None
        if follow:
            self._enqueue_file(path)

    def add_unclear(self, text: str) -> None:
        """Add a description of what is loaded and not bound."""
        self.result.unclear[text] = None

    def add_search_root(self, directory: str) -> None:
        """Note that modules are looked for in a directory."""
        self._search_roots[directory] = None

    def roots_of(self, directory: str) -> list[str]:
        """Return the directories from which paths in a text of a directory may start."""
        roots = {directory: None}
        parent = directory
        while self._is_inside(parent) and parent != self._project:
            parent = os.path.dirname(parent)
            roots[parent] = None
        roots[self._project] = None
        roots[self._start] = None
        return list(roots | self._search_roots)

    def is_search_root(self, directory: str) -> bool:
        """Return whether modules are looked for in a directory."""
        return directory in self._search_roots

    def _is_inside(self, path: str) -> bool:
        return path == self._project or path.startswith(self._project + os.sep)

    def listing(self, directory: str) -> Listing:
        """Return the entries of a directory, on which the result depends from now on."""
        self.result.directories[directory] = None
        return self._listings.of(directory)

    def relative(self, path: str) -> str:
        """Return a path as it is shown."""
        return os.path.relpath(path, self._project)


class _Search:
    """Looks for the files that one text names.

    Attributes:
        roots: Directories from which its paths may start.
        matched: Names of files that were found, and of directories all of whose code is bound.
    """

    def __init__(self, follower: Follower, code: CodeText, directory: str) -> None:
        self.follower = follower
        self.code = code
        self.directory = directory
        self.roots = follower.roots_of(directory)
        self.matched: set[str] = set()
        self._visited: set[str] = set()
        self._mentioned: dict[str, str] = {}

    def run(self) -> None:
        for root in self.roots:
            self._visit(root, 0)
        for relative in self.code.entered:
            self._add_entries(os.path.normpath(os.path.join(self.directory, relative)))
        if self.code.computed:
            for held in sorted(self.code.held):
                self._add_held(held)

    def mentioned(self, names: AbstractSet[str]) -> list[str]:
        """Return what exists of some names and is not bound."""
        paths = [path for name, path in self._mentioned.items() if name in names]
        return paths[:MAX_MENTIONED]

    def _visit(self, directory: str, depth: int) -> None:
        if directory in self._visited or len(self._visited) >= MAX_DIRECTORIES:
            return
        self._visited.add(directory)
        listing = self.follower.listing(directory)
        for name in sorted(self._candidates(listing.files)):
            if self._is_loaded(directory, name, depth):
                self.matched.add(name)
                self.follower.add(os.path.join(directory, name))
            elif name in self.code.names:
                self._mention(directory, name)
        for name in sorted(listing.directories & self.code.names):
            self._enter(directory, name, depth)
        self._list_packages(directory, listing)
        if self._is_first_in_search(directory):
            for name in sorted(listing.directories & _LIBRARY):
                self._add_entries(os.path.join(directory, name))

    def _enter(self, directory: str, name: str, depth: int) -> None:
        """Search a directory whose name the text holds."""
        path = os.path.join(directory, name)
        self._mention(directory, f"{name}/")
        if name in _INSTALLED:
            shown = self.follower.relative(path)
            self.follower.add_unclear(f"what is installed in {shown}/")
        if name in self.code.searched:
            self.follower.add_search_root(path)
        if name in self.code.loaded:
            self._add_entries(path)
        if depth < MAX_DEPTH:
            self._visit(path, depth + 1)

    def _list_packages(self, directory: str, listing: Listing) -> None:
        """List the installed packages that a script loads by their names."""
        packages = os.path.join(directory, "node_modules")
        if self.code.language is JAVASCRIPT and "node_modules" in listing.directories:
            for name in sorted(self.follower.listing(packages).directories & self.code.loaded):
                shown = self.follower.relative(os.path.join(packages, name))
                self.follower.add_unclear(f"what {shown} holds: it is an installed package")

    def _candidates(self, files: frozenset[str]) -> Iterator[str]:
        """Yield the files of a directory whose names the text may mean."""
        for name in files:
            stem = name.partition(".")[0]
            is_named = name in self.code.names or stem in self.code.loaded
            if is_named or stem in _LIBRARY or name.endswith(_PATH_FILE):
                yield name

    def _mention(self, directory: str, name: str) -> None:
        path = self.follower.relative(os.path.join(directory, name))
        self._mentioned.setdefault(name.rstrip("/"), path + ("/" if name.endswith("/") else ""))

    def _is_loaded(self, directory: str, name: str, depth: int) -> bool:
        code = self.code
        stem, dot, _ = name.partition(".")
        if _is_code(name):
            if name in code.names:
                return True
            is_library = stem in _LIBRARY and self._is_first_in_search(directory)
            is_module = is_library and name.endswith(_MODULE_SUFFIXES)
            is_module = is_module or self._is_path_file(directory, name)
            return is_module or (stem in code.loaded and self._offers_modules(directory, depth))
        if name not in code.names:
            return False
        if name in code.loaded:
            # Data that a module system reads is no code.
            is_data = os.path.splitext(name)[1] in DATA.suffixes
            return not (is_data and code.language is JAVASCRIPT)
        if not dot:
            is_program = name in code.programs and bool(code.searched)
            has_path = f"/{name}" in code.text
            path = os.path.join(directory, name)
            return (is_program or has_path) and os.access(path, os.X_OK) and os.path.isfile(path)
        return False

    def _is_first_in_search(self, directory: str) -> bool:
        """Return whether a module here replaces one of Python's library."""
        is_own = directory == self.directory and self.code.language is PYTHON
        return is_own or self.follower.is_search_root(directory)

    def _is_path_file(self, directory: str, name: str) -> bool:
        """Return whether a file holds lines that Python runs when it adds its directory."""
        return name.endswith(_PATH_FILE) and self.follower.is_search_root(directory)

    def _offers_modules(self, directory: str, depth: int) -> bool:
        """Return whether modules may be loaded from a directory without their suffix."""
        if depth > 0 or directory == self.directory or self.code.language in _SEARCHES_UPWARDS:
            return True
        return bool(self.code.searched) or self.follower.is_search_root(directory)

    def _add_entries(self, directory: str) -> None:
        language = self.code.language
        entries = _ALL_ENTRIES if language is SHELL else frozenset(language.entries)
        for name in sorted(self.follower.listing(directory).files & entries):
            self.matched.add(os.path.basename(directory))
            self.follower.add(os.path.join(directory, name))

    def _add_held(self, relative: str) -> None:
        """Bind the code of a directory of which some file is loaded."""
        for root in self.roots:
            directory = os.path.normpath(os.path.join(root, relative))
            if os.path.isdir(directory) and directory not in self.roots:
                self._add_code_below(directory)

    def _add_code_below(self, directory: str) -> None:
        waiting = [directory]
        files: list[str] = []
        while waiting:
            parent = waiting.pop(0)
            listing = self.follower.listing(parent)
            names = sorted(name for name in listing.files if _is_code_file(parent, name))
            files += [os.path.join(parent, name) for name in names]
            waiting += [os.path.join(parent, name) for name in sorted(listing.directories)]
            is_packages = not PACKAGE_DIRECTORIES.isdisjoint(listing.directories)
            if len(files) > MAX_HELD or is_packages:
                return
        self.matched.add(os.path.basename(directory))
        for path in files:
            self.follower.add(path)


_INSTALLED = frozenset({"node_modules", ".venv", "venv"})
"""Directories of packages, which programs install and change."""
_LIBRARY = sys.stdlib_module_names
"""Names of modules that a file in a search path replaces."""
_PATH_FILE = ".pth"
_MODULE_SUFFIXES = (".py", ".pyc", ".so", ".pyd")


def _is_code(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in CODE_SUFFIXES


def _is_code_file(directory: str, name: str) -> bool:
    return _is_code(name) or os.access(os.path.join(directory, name), os.X_OK)
