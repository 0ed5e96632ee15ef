"""Which files a command names, as far as its text shows that without running it.

Trust is bound to them and to the directories that they are in (`anyhook.trust.trees`). What exceeds
a limit is listed as unclear, so that a person sees what is not bound; `anyhook.trust.following`
adds what only the running shell can resolve. The work for one command is bounded, because commands
come from strangers.

Paths are texts here: thousands are looked up for one command, and `Path` takes ten times as long.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.model.record import Record
from anyhook.shell.programs import PACKAGE_RUNNERS, TASK_RUNNERS
from anyhook.trust.languages import PROJECT_FILES
from anyhook.trust.scope import TrustScope
from anyhook.trust.trees import is_script
from anyhook.trust.words import (
    CHANGES_DIRECTORY,
    LITERAL_DOLLAR,
    MAX_WORDS,
    QUOTED_DOLLAR,
    SEPARATORS,
    VARIABLE,
    command_words,
    expand_variables,
    is_too_long,
    pieces_of,
    words_in_context,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec


_SCRIPT_NAME = expression(
    rf"[\w./~${LITERAL_DOLLAR}{{}}-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|ps1|php|lua)"
)
_PROGRAM = expression(r"[\w./~@+${}-]+")
_PATTERN = expression(r"[*?\[]")
_NEEDS_SHELL = expression(r"\$\(|`|\$\{?\w|\$'|\$\Z|~[+-]|\[\[:|\{[^{},]*\.\.")
"""What only the running shell can resolve, once known variables are expanded."""
_INDIRECT = frozenset(
    "eval exec source . xargs parallel find -exec -execdir run-parts for printf function trap"
    " ssh".split()
).union(TASK_RUNNERS, PACKAGE_RUNNERS)
"""Words that run something which the command line does not name in full."""
_SEARCH_PATH = expression(r"(?:\w*PATH|\w*LIB|\w*_ENV|ENV|LD_\w+)\Z")
"""Variables that say where programs and modules are looked for."""
_ASSIGNMENT = expression(r"(\w+)\+?=")
_MODULE_FILES = ("{}.py", "{}/__main__.py")
_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".py", ".sh")
_ENTRY_FILES = ("index.js", "index.mjs", "index.cjs", "__main__.py", "package.json")
"""What an interpreter looks for when it gets a name without a suffix, or a directory."""

MAX_WORD_LENGTH = 4096
"""Characters; a longer word is not a path."""
MAX_ENTRIES = 2000
"""Directory entries that are looked at for the patterns of one command."""
MAX_PATTERN_DEPTH = 20
"""Directories of a pattern of files."""
MAX_LOOKUPS = 5_000
"""Paths that are made of the words of a command."""
MAX_DIRECTORIES = 16
"""Directories that a command may change to; names are looked up in each."""
MAX_MISSING = 10
"""Missing scripts of a command that are listed."""
MAX_UNCLEAR = 20
"""Unclear words of a command that are listed."""


class CommandFiles(Record, kw_only=False):
    """What the text of a command shows of the files that it runs.

    Attributes:
        files: Files that it names; one with a slash also if it does not exist.
        directories: Directories of the project whose files it may run.
        looked_at: Everything whose appearance or change may change this answer.
        unclear: Words that may name files that are not in the answer.
    """

    files: tuple[Path, ...] = ()
    directories: tuple[Path, ...] = ()
    looked_at: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


def command_files(
    handler: HandlerSpec,
    project: Path,
    variables: Mapping[str, str],
    *,
    start: Path | None = None,
    modes: dict[str, int] | None = None,
) -> CommandFiles:
    """Find the files that a handler's command names and that its author can change.

    Those are the files of the project, read through links, and scripts elsewhere; where the command
    runs outside of the project, also the files there. It runs in `start`, by default in its own
    directory, else in the project. The variables hold paths, like `GEMINI_PROJECT_DIR`.
    """
    if start is None and handler.cwd is not None:
        start = Path(handler.cwd)
    scope = TrustScope(project, start, modes)
    search = _PathSearch(handler, start or project, variables, scope)
    runs_unnamed = search.runs_unnamed_files()
    files: dict[str, None] = {}
    directories: dict[str, None] = dict.fromkeys(search.bases[1:])
    looked_at: dict[str, None] = {}
    candidates = list(search.candidates())
    # A name of a file with separators was also split: its pieces are not missing files.
    pieces: set[str] = set()
    for word, path in candidates:
        if SEPARATORS.search(word) and scope.mode_of(path):
            pieces.update(pieces_of(word))
    for word, path in candidates:
        looked_at[path] = None
        mode = scope.mode_of(path)
        if not mode and word in pieces:
            continue
        if stat.S_ISDIR(mode):
            if runs_unnamed:
                directories[path] = None
        elif _names_file(word, path, scope, exists=mode != 0):
            files[path] = None
            # A script may load what is next to it.
            if mode and is_script(path):
                directories[os.path.dirname(path)] = None
        # Only a part of the path may be known: `hooks/$NAME` runs some file of `hooks`.
        if runs_unnamed and "/" in word:
            directories[os.path.dirname(path)] = None
    inner = [path for path in directories if scope.is_inner_directory(path)]
    return CommandFiles(
        files=tuple(map(Path, files)),
        directories=tuple(map(Path, inner)),
        looked_at=(*looked_at, *search.listed),
        unclear=tuple(_unclear_words(search, scope)),
    )


def _names_file(word: str, path: str, scope: TrustScope, *, exists: bool) -> bool:
    """Return whether a word names a file to which trust is bound."""
    if exists:
        return _SCRIPT_NAME.fullmatch(word) is not None or scope.contains(path)
    # A file that does not exist yet is bound too, so that its appearance is a change.
    if "/" not in word or _has_braces(word) or QUOTED_DOLLAR in word:
        return False
    return not SEPARATORS.search(VARIABLE.sub("", word)) and scope.contains(path)


def named_files(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> list[Path]:
    """List the files that a handler's command names; see `command_files`."""
    return list(command_files(handler, project, variables).files)


def missing_scripts(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str]
) -> list[Path]:
    """List the files that a command surely means to run and that do not exist."""
    existing: set[str] = set()
    missing: dict[str, str] = {}
    start = Path(handler.cwd) if handler.cwd is not None else project
    search = _PathSearch(handler, start, variables, TrustScope(project, start))
    for word, path in search.candidates(with_implied=False):
        if os.path.exists(path):
            existing.add(word)
        elif _SCRIPT_NAME.fullmatch(word) and not _has_braces(word):
            missing.setdefault(word, path)
    # A path with separators was also split: its pieces are not missing.
    excused: set[str] = set()
    for word in existing:
        excused.update(pieces_of(word))
    # Only the shell knows where these are; quotes inside of a text split off their ends.
    unresolved = [word for word, text, _previous in search.context if "$" in text]
    scripts: list[Path] = []
    for word, path in missing.items():
        is_end = False
        if word.startswith("/"):
            # Quotes split it off, too, if `"${DIR}"/guard.sh` exists as a whole.
            ends = [whole for whole in existing if whole.endswith(f"}}{word}")]
            is_end = bool(ends) or any(whole.endswith(word) for whole in unresolved)
        if word not in excused and not is_end:
            scripts.append(Path(path))
    return scripts[:MAX_MISSING]


def _has_braces(word: str) -> bool:
    """Return whether a word has other braces than those of whole variables."""
    rest = VARIABLE.sub("", word)
    return "{" in rest or "}" in rest


def program(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> str | Path | None:
    """Return what a command starts: a name, or the path of a file; `None` if it is more complex."""
    words = command_words(handler)
    if not words or not _PROGRAM.fullmatch(words[0]):
        return None
    # The word is checked before its variables are expanded, because a value may hold blanks.
    text = expand_variables(words[0], variables, project)
    if "$" in text:
        return None
    text = text.replace(LITERAL_DOLLAR, "$")
    if "/" not in text:
        return text
    path = _resolve(text, handler.cwd or str(project))
    return None if path is None else Path(path)


def _unclear_words(search: _PathSearch, scope: TrustScope) -> list[str]:
    """List the directories of the project that are arguments, and what was not analyzed."""
    if is_too_long(search.handler):
        return ["the whole command: it is too long to look into"]
    unclear: dict[str, None] = {}
    for word, text, previous in search.context:
        if previous in CHANGES_DIRECTORY:
            continue
        if any(map(scope.is_inner_directory, search.paths(text, [scope.project]))):
            unclear[f"{word.rstrip('/')}/ (a directory)"] = None
    words = list(unclear)
    if len(words) > MAX_UNCLEAR:
        words = [*words[:MAX_UNCLEAR], f"{len(words) - MAX_UNCLEAR} more words"]
    if search.is_exhausted:
        words.append("the rest of the command: it is too complex to look into")
    return words


class _PathSearch:
    """The paths that the words of one command may mean, within a budget.

    Attributes:
        start: The directory in which the command starts.
        context: The different words of the command, with what stands in front of them.
        bases: Directories in which the command may run: where it starts, and where it changes to.
        listed: Directories whose entries were compared with patterns.
        is_exhausted: Whether something was left out because the command is too complex.
    """

    def __init__(
        self, handler: HandlerSpec, start: Path, variables: Mapping[str, str], scope: TrustScope
    ) -> None:
        words = command_words(handler)
        # A long command repeats words; only different ones count for the budget.
        different = list(dict.fromkeys(words))
        context = words_in_context(words[: 4 * MAX_WORDS], variables, start)
        self.handler = handler
        self.scope = scope
        self.start = str(start)
        directories = {self.start, os.path.expanduser("~"), *variables.values()}
        self._directories = sorted(
            [path.rstrip("/") for path in directories], key=len, reverse=True
        )
        self.words = different[:MAX_WORDS]
        self.context = list(dict.fromkeys(context))[:MAX_WORDS]
        self.listed: dict[str, None] = {}
        self.is_exhausted = len(different) > MAX_WORDS
        self._lookups_left = MAX_LOOKUPS
        self._entries_left = MAX_ENTRIES
        self.bases = [self.start]
        for word, text, previous in self.context:
            if previous not in CHANGES_DIRECTORY or word.startswith("-"):
                continue
            for path in self.paths(text, self.bases):
                if len(self.bases) >= MAX_DIRECTORIES:
                    self.is_exhausted = True
                    break
                if path not in self.bases and os.path.isdir(path):
                    self.bases.append(path)

    def runs_unnamed_files(self) -> bool:
        """Return whether the command may run files whose names it does not hold in full."""
        if not _INDIRECT.isdisjoint(self.words):
            return True
        # With another `PATH` or `PYTHONPATH`, a name means another file.
        if any(_SEARCH_PATH.match(name) for name in self.handler.env):
            return True
        for word in self.words:
            assignment = _ASSIGNMENT.match(word)
            # It sets a variable that holds a path, or one that says where files are found.
            if assignment and ("/" in word or _SEARCH_PATH.match(assignment[1])):
                return True
        return any(_NEEDS_SHELL.search(word.text) for word in self.context)

    def candidates(self, *, with_implied: bool = True) -> Iterator[tuple[str, str]]:
        """Yield every word that may be a path, with each path that it may mean.

        With `with_implied`, also files that a program reads without an argument that names them.
        Those that do not exist are yielded with an empty word.
        """
        for word, text, previous in self.context:
            if with_implied:
                yield from self._implied_candidates(text, previous)
            for path in self.paths(text, self.bases):
                yield word, path

    def _implied_candidates(self, text: str, previous: str) -> Iterator[tuple[str, str]]:
        """Yield files that a program reads although its arguments do not name them in full."""
        names = list(PROJECT_FILES.get(text, ()))
        module = ""
        if previous == "-m":
            module = text
        elif text.startswith("-m"):
            module = text[2:]
        if module:
            names += [form.format(module.replace(".", "/")) for form in _MODULE_FILES]
        # What a command starts is looked for under its name alone, and without a slash on the PATH.
        is_program_name = not previous and "/" not in text
        if text and not is_program_name and len(text) < MAX_WORD_LENGTH:
            names += [f"{text}{suffix}" for suffix in _SUFFIXES]
            names += [f"{text}/{name}" for name in _ENTRY_FILES]
        for name in names:
            for path in self.paths(name, self.bases):
                is_file = stat.S_ISREG(self.scope.mode_of(path))
                yield name if is_file else "", path

    def paths(self, text: str, bases: Iterable[str]) -> list[str]:
        """Return the paths that a word may mean in some directories."""
        if not text or len(text) > MAX_WORD_LENGTH or "$" in text or not _can_be_path(text):
            return []
        plain = text.replace(LITERAL_DOLLAR, "$").replace(QUOTED_DOLLAR, "$")
        paths = self._paths_of_text(plain, bases)
        if plain != text:
            # The name of a file may hold the characters that stand for it.
            paths += self._paths_of_text(text, bases)
        return paths

    def _paths_of_text(self, text: str, bases: Iterable[str]) -> list[str]:
        text = os.path.expanduser(text)
        is_absolute = text.startswith(("/", "~"))
        # The longest known directory in front is not a pattern, whatever its name holds.
        prefixes = [prefix for prefix in self._directories if text.startswith(f"{prefix}/")]
        prefix = prefixes[0] if prefixes else ""
        is_pattern = _PATTERN.search(text, len(prefix)) is not None
        paths: list[str] = []
        if is_pattern and is_absolute:
            # `$CLAUDE_PROJECT_DIR/hooks/*.sh`: look from the last directory that is spelled out.
            pieces = text.split("/")
            literal = len(prefix.split("/")) if prefix else 0
            while literal < len(pieces) and not _PATTERN.search(pieces[literal]):
                literal += 1
            paths += self._match_pattern("/".join(pieces[:literal]) or "/", pieces[literal:])
        for base in bases:
            if self._lookups_left <= 0:
                self.is_exhausted = True
                return paths
            self._lookups_left -= 1
            if is_pattern and not is_absolute:
                paths += self._match_pattern(base, text.split("/"))
            path = _resolve(text, base)
            if path is not None:
                paths.append(path)
        return paths

    def _match_pattern(self, base: str, pieces: list[str]) -> list[str]:
        """List the files that a pattern matches, looking at a bounded number of entries."""
        if len(pieces) > MAX_PATTERN_DEPTH:
            self.is_exhausted = True
            return []
        self.listed[base] = None
        matches = [Path(base)]
        for piece in pieces:
            if not _PATTERN.search(piece):
                matches = [directory / piece for directory in matches]
                continue
            parents = matches
            matches = []
            for parent in parents:
                matches += self._matching_entries(parent, piece)
        if self._entries_left < 0:
            self.is_exhausted = True
        return list(map(str, matches))

    def _matching_entries(self, directory: Path, pattern: str) -> list[Path]:
        if self._entries_left < 0:
            return []
        matches: list[Path] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if self._entries_left < 0:
                        break
                    if fnmatchcase(entry.name, pattern):
                        matches.append(directory / entry.name)
        except OSError:
            return []
        return matches


def _can_be_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _resolve(word: str, base: str) -> str | None:
    """Return an absolute path; `None` if it starts from the home of a user who does not exist."""
    if word.startswith("~"):
        word = os.path.expanduser(word)
        if word.startswith("~"):
            return None
    return os.path.normpath(os.path.join(base, word))


# -- where the files are that the author of a project can change
