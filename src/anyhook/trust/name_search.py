"""The files of a project whose names a text holds.

A text names the parts of a path, perhaps in several places, and the directories from which paths
start are computed when it runs. So the directories of the project are searched from every place
that a path may start from, as far as the text holds their names.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.model.record import Record
from anyhook.trust.code_names import is_plain, names_in
from anyhook.trust.code_text import read_code
from anyhook.trust.languages import (
    CODE_SUFFIXES,
    DATA,
    JAVASCRIPT,
    LANGUAGES,
    PYTHON,
    SHELL,
    language_of_file,
)
from anyhook.trust.loaded_code import PACKAGE_DIRECTORIES
from anyhook.trust.trees import MAX_FILE_SIZE, read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from anyhook.trust.code_names import CodeText

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
_ALL_ENTRIES = frozenset().union(*[language.entries for language in LANGUAGES])
_SEARCHES_UPWARDS = frozenset({SHELL, JAVASCRIPT})
"""Languages whose scripts name modules by paths, which may lead to any directory above."""


class Listing(Record, kw_only=False):
    """The entries of a directory.

    Attributes:
        by_stem: The files, by their names up to the first dot.
        composite: Names of files and directories that texts do not hold as one name (`is_plain`).
        is_truncated: Whether there are more.
    """

    directories: frozenset[str]
    files: frozenset[str]
    by_stem: Mapping[str, list[str]]
    composite: frozenset[str]
    is_truncated: bool


class ProjectFiles:
    """What the hooks of a project have in common: directories, texts and searches, read once."""

    def __init__(self) -> None:
        self._listings: dict[str, Listing] = {}
        self._codes: dict[str, CodeText | None] = {}
        self._searches: dict[tuple[Any, ...], NameSearch] = {}

    def of(self, directory: str) -> Listing:
        """Return the entries of a directory; none if it cannot be read."""
        listing = self._listings.get(directory)
        if listing is None:
            listing = self._listings[directory] = _list(directory)
        return listing

    def code_of(self, path: str) -> CodeText | None:
        """Return what the text of a file names; `None` if it cannot be read as text."""
        if path not in self._codes:
            text = read_script(Path(path), MAX_FILE_SIZE).text
            code = None
            if text is not None:
                code = read_code(text, language_of_file(os.path.basename(path), text))
            self._codes[path] = code
        return self._codes[path]

    def search(
        self,
        project: str,
        code: CodeText,
        directory: str,
        roots: tuple[str, ...],
        search_roots: frozenset[str],
        *,
        may_search: bool,
    ) -> NameSearch:
        """Look for the files that a text names; see `NameSearch`."""
        key = (id(code), directory, roots, search_roots, may_search)
        search = self._searches.get(key)
        # The identity of a text that is gone may be that of another one.
        if search is None or search.code is not code:
            search = NameSearch(
                project, self, code, directory, roots, search_roots, may_search=may_search
            )
            search.run()
            self._searches[key] = search
        return search


def _list(directory: str) -> Listing:
    directories: set[str] = set()
    files: set[str] = set()
    by_stem: dict[str, list[str]] = {}
    is_truncated = False
    try:
        with os.scandir(directory) as entries:
            for number, entry in enumerate(entries):
                is_truncated = number >= MAX_ENTRIES
                if is_truncated:
                    break
                names = directories if entry.is_dir() else files
                names.add(entry.name)
    except OSError:
        pass
    for name in files:
        by_stem.setdefault(name.partition(".")[0], []).append(name)
    composite = frozenset([name for name in directories | files if not is_plain(name)])
    return Listing(frozenset(directories), frozenset(files), by_stem, composite, is_truncated)


class NameSearch:
    """Looks for the files that one text names.

    Paths in the text may start from the roots; modules are looked for in those of them that are
    search roots, and elsewhere if a text of the hook may search there.

    Attributes:
        matched: Names of files that were found, and of directories all of whose code is bound.
        loaded_files: Files that may be loaded.
        unclear: What is loaded and not bound, for a person.
        visited: Directories in which files were looked for.
        added_roots: Directories in which modules are looked for from now on.
    """

    def __init__(  # noqa: PLR0917 - a search has no defaults
        self,
        project: str,
        files: ProjectFiles,
        code: CodeText,
        directory: str,
        roots: Iterable[str],
        search_roots: AbstractSet[str],
        *,
        may_search: bool,
    ) -> None:
        self.project = project
        self.files = files
        self.code = code
        self.directory = directory
        self.roots = tuple(roots)
        self.matched: set[str] = set()
        self.loaded_files: dict[str, None] = {}
        self.unclear: dict[str, None] = {}
        self.visited: dict[str, None] = {}
        self.added_roots: dict[str, None] = {}
        self._search_roots = search_roots
        self._may_search = may_search
        self._entered: set[str] = set()
        self._mentioned: dict[str, str] = {}

    def run(self) -> None:
        """Search all directories from which paths may start."""
        for root in self.roots:
            self._visit(root, 0)
        for relative in self.code.entered:
            self._add_entries(os.path.normpath(os.path.join(self.directory, relative)))
        if not self.code.computed:
            return
        # All code of a directory of which some file is loaded is bound.
        for held, root in product(sorted(self.code.held), self.roots):
            directory = os.path.normpath(os.path.join(root, held))
            if os.path.isdir(directory) and directory not in self.roots:
                self._add_code_below(directory)

    def mentioned(self, names: AbstractSet[str]) -> list[str]:
        """Return what exists of some names and is not bound."""
        paths = [path for name, path in self._mentioned.items() if name in names]
        return paths[:MAX_MENTIONED]

    def _visit(self, directory: str, depth: int) -> None:
        if directory in self._entered or len(self._entered) >= MAX_DIRECTORIES:
            return
        self._entered.add(directory)
        listing = self._list(directory)
        for name in sorted(self._candidates(directory, listing)):
            if self._is_loaded(directory, name, depth):
                self.matched.add(name)
                self.loaded_files[os.path.join(directory, name)] = None
            elif self.code.names_file(name):
                self._mention(directory, name)
        for name in sorted(listing.directories & self._names_in(listing)):
            self._enter(directory, name, depth)
        if self.code.language is JAVASCRIPT and "node_modules" in listing.directories:
            # A script loads installed packages by their names.
            packages = os.path.join(directory, "node_modules")
            for name in sorted(self._list(packages).directories & self.code.loaded):
                label = os.path.relpath(os.path.join(packages, name), self.project)
                self.unclear[f"what {label} holds: it is an installed package"] = None
        if self._is_first_in_search(directory):
            for name in sorted(listing.directories & _LIBRARY):
                self._add_entries(os.path.join(directory, name))

    def _enter(self, directory: str, name: str, depth: int) -> None:
        """Search a directory whose name the text holds."""
        path = os.path.join(directory, name)
        self._mention(directory, f"{name}/")
        if name in _INSTALLED:
            label = os.path.relpath(path, self.project)
            self.unclear[f"what is installed in {label}/"] = None
        if names_in(name) <= self.code.searched:
            self.added_roots[path] = None
        if self.code.loads_file(name):
            self._add_entries(path)
        if depth < MAX_DEPTH:
            self._visit(path, depth + 1)

    def _list(self, directory: str) -> Listing:
        """Return the entries of a directory, on which the result depends from now on."""
        self.visited[directory] = None
        listing = self.files.of(directory)
        if listing.is_truncated:
            label = os.path.relpath(directory, self.project)
            self.unclear[f"what {label}/ holds: it has more than {MAX_ENTRIES} entries"] = None
        return listing

    def _names_in(self, listing: Listing) -> AbstractSet[str]:
        """Return the names that the text holds, with the composite ones of a directory."""
        composite = set(filter(self.code.names_file, listing.composite))
        return self.code.names | composite if composite else self.code.names

    def _candidates(self, directory: str, listing: Listing) -> set[str]:
        """Return the files of a directory whose names the text may mean."""
        names = set(listing.files & self._names_in(listing))
        stems = listing.by_stem.keys() & (self.code.loaded | self.code.imported)
        if self._is_first_in_search(directory):
            stems = stems | (listing.by_stem.keys() & _LIBRARY)
            names.update(name for name in listing.files if name.endswith(_PATH_FILE))
        for stem in stems:
            names.update(listing.by_stem[stem])
        return names

    def _mention(self, directory: str, name: str) -> None:
        path = os.path.relpath(os.path.join(directory, name), self.project)
        if name.endswith("/"):
            path += "/"
        self._mentioned.setdefault(name.rstrip("/"), path)

    def _is_loaded(self, directory: str, name: str, depth: int) -> bool:
        code = self.code
        stem, dot, _ = name.partition(".")
        if is_code(name):
            if code.names_file(name):
                return True
            is_search_root = directory in self._search_roots
            # Python runs lines of such a file when it adds its directory.
            if name.endswith(_PATH_FILE) and is_search_root:
                return True
            is_module = stem in _LIBRARY and name.endswith(_MODULE_SUFFIXES)
            if is_module and self._is_first_in_search(directory):
                return True
            # Modules are loaded without their suffix.
            is_near = depth > 0 or directory == self.directory or is_search_root
            searches = bool(code.searched) or code.language in _SEARCHES_UPWARDS
            is_module = stem in code.imported and name.endswith(_MODULE_SUFFIXES)
            if is_module and stem in _LIBRARY and stem not in code.loaded and not self._may_search:
                # Python finds its own module, unless this one is imported from a package.
                is_module = os.path.basename(directory) in code.imported
            return (stem in code.loaded or is_module) and (is_near or searches)
        if not code.names_file(name):
            return False
        if code.loads_file(name):
            # Data that a module system reads is not code.
            is_data = os.path.splitext(name)[1] in DATA.suffixes
            return not (is_data and code.language is JAVASCRIPT)
        if not dot:
            is_program = name in code.programs and bool(code.searched)
            has_path = re.search(rf"/{re.escape(name)}(?![\w@+~-])", code.text) is not None
            path = os.path.join(directory, name)
            return (is_program or has_path) and os.access(path, os.X_OK) and os.path.isfile(path)
        return False

    def _is_first_in_search(self, directory: str) -> bool:
        """Return whether a module here replaces one of Python's library."""
        is_own = directory == self.directory and self.code.language is PYTHON
        return is_own or directory in self._search_roots

    def _add_entries(self, directory: str) -> None:
        language = self.code.language
        entries = _ALL_ENTRIES if language is SHELL else frozenset(language.entries)
        for name in sorted(self._list(directory).files & entries):
            self.matched.add(os.path.basename(directory))
            self.loaded_files[os.path.join(directory, name)] = None

    def _add_code_below(self, directory: str) -> None:
        waiting = [directory]
        files: list[str] = []
        while waiting:
            parent = waiting.pop(0)
            listing = self._list(parent)
            for name in sorted(listing.files):
                path = os.path.join(parent, name)
                if is_code(name) or os.access(path, os.X_OK):
                    files.append(path)
            waiting += [os.path.join(parent, name) for name in sorted(listing.directories)]
            is_packages = not PACKAGE_DIRECTORIES.isdisjoint(listing.directories)
            if len(files) > MAX_HELD or is_packages:
                return
        self.matched.add(os.path.basename(directory))
        self.loaded_files |= dict.fromkeys(files)


_INSTALLED = frozenset({"node_modules", ".venv", "venv"})
"""Directories of packages, which programs install and change."""
_LIBRARY = sys.stdlib_module_names
"""Names of modules that a file in a search path replaces."""
_PATH_FILE = ".pth"
_MODULE_SUFFIXES = (".py", ".pyc", ".so", ".pyd")


def is_code(path: str) -> bool:
    """Return whether a file is code, by its suffix."""
    return os.path.splitext(path)[1].lower() in CODE_SUFFIXES
