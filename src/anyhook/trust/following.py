"""The files of a project that the texts of its hooks name, followed from file to file.

What is loaded without a name that leads to a file is described, for a person to see.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.trust.code_text import read_code
from anyhook.trust.languages import PROJECT_FILES, SHELL
from anyhook.trust.name_search import is_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.trust.code_names import CodeText
    from anyhook.trust.name_search import ProjectFiles

MAX_FOLLOWED = 200
"""Files that one hook loads."""
MAX_SEARCH_ROOTS = 20
"""Directories in which one hook looks for modules."""


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


class Follower:
    """Follows the texts of one hook, whose command runs in the directory `start`.

    The files `bound` are bound anyway, in the directories of hooks.
    """

    def __init__(
        self, project: Path, start: Path, files: ProjectFiles, bound: Iterable[str] = ()
    ) -> None:
        self._project = str(project)
        self._start = str(start)
        self._files = files
        self._bound = frozenset(bound)
        self._search_roots: dict[str, None] = {}
        self._may_search = False
        self._waiting: list[tuple[CodeText, str, str]] = []
        self._seen: set[str] = set()
        self.result = Followed()

    def follow(self, command: str, scripts: Iterable[Path]) -> Followed:
        """Follow a command line and the existing scripts that it names.

        Assignments of its environment stand in front of the command.
        """
        self._waiting.append((read_code(command, SHELL), self._start, ""))
        for path in scripts:
            self._enqueue(str(path))
        self._follow_waiting()
        if self.result.unclear and self._bound:
            # Something is loaded without its name, perhaps a file in the directories of hooks.
            code_files = filter(is_code, self._bound)
            for code_file in sorted(code_files)[:MAX_FOLLOWED]:
                self._enqueue(code_file)
            self._follow_waiting()
        return self.result

    def _enqueue(self, path: str) -> None:
        if path in self._seen:
            return
        self._seen.add(path)
        code = self._files.code_of(path)
        if code is not None:
            self._waiting.append((code, os.path.dirname(path), path))
        elif os.path.isfile(path):
            self._add_unclear(f"what {path} loads: it cannot be read as text")

    def _follow_waiting(self) -> None:
        followed: list[tuple[CodeText, str, str]] = []
        while self._waiting:
            item = self._waiting.pop(0)
            before = (len(self._search_roots), self._may_search)
            followed.append(item)
            self._follow_one(*item)
            # What a text adds to the search path counts for what was loaded before, too.
            if (len(self._search_roots), self._may_search) != before and followed:
                self._waiting += followed
                followed = []

    def _follow_one(self, code: CodeText, directory: str, path: str) -> None:
        self._may_search |= code.may_search
        if code.searches_start:
            self._add_search_root(self._start)
        # Paths in the text may start from its directory, or from one above it in the project.
        above = [path for path in Path(directory).parents if path.is_relative_to(self._project)]
        roots = dict.fromkeys([directory, *map(str, above)])
        roots[self._project] = None
        roots[self._start] = None
        roots |= self._search_roots
        search_roots = frozenset(self._search_roots)
        search = self._files.search(
            self._project,
            code,
            directory,
            tuple(roots),
            search_roots,
            may_search=self._may_search,
        )
        for root in search.added_roots:
            self._add_search_root(root)
        for file in search.loaded_files:
            self._add(file)
        self.result.unclear |= search.unclear
        self.result.directories |= search.visited
        self.result.operands |= code.operands
        for name in sorted(code.runners):
            for project_file, root in product(PROJECT_FILES.get(name, ()), search.roots):
                if project_file in self._files.of(root).files:
                    self._add(os.path.join(root, project_file), follow=False)
            self._add_unclear(f"what {name} runs: files of the project or packages define it")
        holder = os.path.relpath(path, self._project) if path else "the command"
        if holder.startswith(".."):
            holder = path
        for computed in code.computed:
            if not computed.names_any(search.matched):
                mentioned = search.mentioned(computed.names) or search.mentioned(code.names)
                also = f"; it names {', '.join(mentioned)}" if mentioned else ""
                text = f"what {holder} loads with `{computed.excerpt}`{also}"
                self._add_unclear(text)

    def _add(self, path: str, *, follow: bool = True) -> None:
        if path not in self._bound and path not in self.result.files:
            if len(self.result.files) >= MAX_FOLLOWED:
                self._add_unclear(f"what more than {MAX_FOLLOWED} files of the project load")
                return
            self.result.files[path] = None
        if follow:
            self._enqueue(path)

    def _add_unclear(self, text: str) -> None:
        self.result.unclear[text] = None

    def _add_search_root(self, directory: str) -> None:
        if len(self._search_roots) >= MAX_SEARCH_ROOTS:
            self._add_unclear(f"modules of more than {MAX_SEARCH_ROOTS} directories")
            return
        self._search_roots[directory] = None
