"""Which files a command names, as far as its text shows that without running it.

Trust is bound to them and to the directories that they are in (`anyhook.trust.trees`). Constructs
that only the running shell can resolve are listed as unclear, so that a person sees what is not
bound. The work for one command is bounded, whatever a stranger wrote.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.trust.trees import beside, is_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}$]*))?\}|(\w+))")
_HERE = re.compile(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$PWD\b|\$\{PWD\}|~\+(?=/|\Z)")
_SCRIPT_NAME = re.compile(r"[\w./~${}-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|ps1|php|lua)")
_OPERATORS = frozenset("();<>|&\n")
_BREAKS = re.compile(r"[\s;|&<>()\"'`,=:]+")
_NESTED = " '\""
"""What a word holds that is a command line by itself."""
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"([^{}]*)\{([^{}]*)\}(.*)", re.DOTALL)
_UNCLEAR = re.compile(r"\$\(|`|\$\{?\w|\$'|\$\Z|~[+-]")
_OPAQUE = frozenset(
    "eval exec source . xargs parallel find -exec -execdir run-parts for printf function trap "
    "npx bunx pnpx uvx pipx npm pnpm yarn bun uv poetry pdm hatch nox tox make just task rake "
    "bundle composer cargo go gradle mvn bazel nix docker podman ssh".split()
)
"""Words that run something which the command line does not name in full."""
_SEARCH_PATH = re.compile(r"(?:\w*PATH|\w*LIB|\w*_ENV|ENV|LD_\w+)\Z")
"""Variables that say where programs and modules are looked for."""
_ASSIGNMENT = re.compile(r"(\w+)\+?=")
_INTERPRETER = re.compile(r"(?:.*/)?(?:python|pypy|node|ruby|perl|php|bun|deno)[\d.]*\Z")
_INLINE = re.compile(r"-(?:[cemp].*|-eval|-print)?\Z")
"""Options after which an interpreter looks for modules in the working directory."""
_CHANGES_DIRECTORY = frozenset({"cd", "pushd", "-C", "--directory", "--prefix", "--chdir", "--cwd"})
_MODULE_FILES = ("{}.py", "{}/__main__.py")
_PACKAGE = ("package.json",)
_READ_BY = {
    "npm": _PACKAGE,
    "pnpm": _PACKAGE,
    "yarn": _PACKAGE,
    "bun": _PACKAGE,
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
"""Programs that run what a file of the project says."""
_COMPLETIONS = ("{}.js", "{}.mjs", "{}.cjs", "{}.ts", "{}.py", "{}.sh")
_ENTRIES = ("index.js", "index.mjs", "index.cjs", "__main__.py", "package.json")
"""What an interpreter looks for when it is given a name without an ending, or a directory."""

_LITERAL = "\ue000"
"""Stands for a `$` in the value of a variable, which means itself."""
LONGEST_WORD = 4096
"""Characters; a longer word is no path."""
LONGEST_COMMAND = 16 * 1024
"""Characters; a longer command is not looked into, and shown as unclear."""
ENTRIES = 2000
"""Directory entries that are looked at for the patterns of one command."""
MOST_WORDS = 500
"""Different words of a command that are looked into."""
MOST_LOOKUPS = 5_000
"""Paths that are made of the words of a command."""
MOST_MISSING = 10
"""Missing scripts of a command that are listed."""
MOST_UNCLEAR = 20
"""Unclear words of a command that are listed."""
ALTERNATIVES = 64
"""Words that braces are expanded to at most."""
MOST_DIRECTORIES = 16
"""Directories that a command may change to; names are looked up in each."""
DEPTH = 3
"""Command lines inside command lines that are looked into."""


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """What the text of a command shows of the files that it runs.

    Attributes:
        files: Files that it names; one with a slash also if it is not there.
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
) -> CommandFiles:
    """Find the files that a handler's command names and that its author can change.

    Those are the files of the project, read through links, and scripts elsewhere; where the
    command runs outside of the project, also the files there.

    Args:
        handler: A command handler.
        project: Directory of the project.
        variables: Variables that hold paths, like `GEMINI_PROJECT_DIR`.
        start: Where the command runs; by default in the project.
    """
    search = _Search(handler, start or project, variables)
    place = _Place(project, start)
    is_opaque = search.is_opaque
    files: dict[str, None] = {}
    directories: dict[str, None] = dict.fromkeys(search.bases[1:])
    looked_at: dict[str, None] = {}
    for word, path in search.candidates():
        looked_at[path] = None
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            if is_opaque:
                directories[path] = None
        elif mode and (_SCRIPT_NAME.fullmatch(word) or place.holds(path)):
            files[path] = None
            if is_script(path):
                directories[os.path.dirname(path)] = None  # noqa: PTH120 - text is faster
        elif not mode and _is_one_path(word) and place.holds(path):
            files[path] = None
        if is_opaque and "/" in word:
            directories[os.path.dirname(path)] = None  # noqa: PTH120
    if search.runs_inline:
        looked_at[search.start] = None
        files |= dict.fromkeys(map(str, beside(Path(search.start), " ".join(search.words))))
    inner = [d for d in directories if place.is_below(d) and stat.S_ISDIR(_mode(d))]
    return CommandFiles(
        tuple(map(Path, files)),
        tuple(map(Path, inner)),
        (*looked_at, *search.listed),
        tuple(_unclear(search, place)),
    )


class _Place:
    """The project, and the directory outside of it in which a command runs."""

    def __init__(self, project: Path, start: Path | None) -> None:
        self.project = str(project)
        self._real = os.path.realpath(project)
        outside = start is not None and not start.is_relative_to(project)
        self._start = str(start) if outside else None

    def holds(self, path: str) -> bool:
        """Return whether a path, or what it links to, is inside."""
        if _is_inside(path, self.project):
            return True
        if self._start is not None and _is_inside(path, self._start):
            return True
        return _is_inside(os.path.realpath(path), self._real)

    def is_below(self, path: str) -> bool:
        """Return whether a path is inside of the project, and not the project itself."""
        return path != self.project and _is_inside(path, self.project)


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _mode(path: str) -> int:
    """Return the kind of a file; 0 if there is none."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def named_files(
    handler: HandlerSpec,
    project: Path,
    variables: Mapping[str, str],
    *,
    start: Path | None = None,
) -> list[Path]:
    """List the files that a handler's command names; see `command_files`."""
    return list(command_files(handler, project, variables, start=start).files)


def missing_scripts(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str]
) -> list[Path]:
    """List the files that a command surely means to run and that do not exist."""
    there: set[str] = set()
    missing: dict[str, str] = {}
    for word, path in _Search(handler, project, variables).candidates(hidden=False):
        if os.path.exists(path):  # noqa: PTH110
            there.add(word)
        elif _SCRIPT_NAME.fullmatch(word) and "{" not in word.replace("${", ""):
            missing.setdefault(word, path)
    pieces = {piece for word in there for piece in word.split()[1:] + word.split()[:-1]}
    surely = [
        Path(path)
        for word, path in missing.items()
        if word not in there | pieces and not any(_ends(found, word) for found in there)
    ]
    return surely[:MOST_MISSING]


def _ends(found: str, word: str) -> bool:
    """Tell whether a word is what quotes left of one that was found."""
    return word.startswith("/") and found.endswith(f"}}{word}")


def unclear_words(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> list[str]:
    """List what a command may run and what is not bound: for a person to see.

    Those are words that only the running shell can resolve, programs that run what files of the
    project or installed packages hold, and directories of the project.
    """
    return list(command_files(handler, project, variables).unclear)


def _unclear(search: _Search, place: _Place) -> list[str]:
    if search.is_too_long:
        return ["the whole command: it is too long to look into"]
    found: dict[str, None] = {}
    for word, text, previous in search.words_in_context:
        if text == "$":
            found["$(…) (the output of a command)"] = None
        elif _UNCLEAR.search(text) or (word in _OPAQUE and word not in found):
            found[word] = None
        elif previous not in _CHANGES_DIRECTORY:
            inside = (p for p in search.paths(text, [place.project]) if place.is_below(p))
            if any(stat.S_ISDIR(_mode(path)) for path in inside):
                found[f"{word} (a directory)"] = None
    words = list(found)
    if len(words) > MOST_UNCLEAR:
        words = [*words[:MOST_UNCLEAR], f"{len(words) - MOST_UNCLEAR} more words"]
    if search.is_exhausted:
        words.append("the rest of the command: it is too complex to look into")
    return words


def program(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> str | Path | None:
    """Return what a command starts: a name, or the path of a file; `None` if it is more complex."""
    word = next(iter(_words(handler)), "")
    if not re.fullmatch(r"[\w./~@+${}-]+", word):
        return None
    text = _expand(word, variables, project)  # the value of a variable may hold blanks
    if "$" in text.replace(_LITERAL, ""):
        return None
    text = text.replace(_LITERAL, "$")
    if "/" not in text:
        return text
    path = _resolve(text, str(project))
    return None if path is None else Path(path)


@dataclass(slots=True)
class _Search:
    """The paths that the words of one command may mean, within a budget.

    Attributes:
        bases: Directories in which the command may run: where it starts, and where it changes to.
        listed: Directories whose entries were compared with patterns.
        is_exhausted: Whether something was left out because the command is too complex.
    """

    handler: HandlerSpec
    directory: Path
    variables: Mapping[str, str]
    start: str = ""
    words: tuple[str, ...] = ()
    words_in_context: list[tuple[str, str, str]] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    listed: dict[str, None] = field(default_factory=dict)
    is_exhausted: bool = False
    lookups: int = MOST_LOOKUPS
    entries: list[int] = field(default_factory=lambda: [ENTRIES])

    def __post_init__(self) -> None:
        self.start = str(self.directory)
        self.words = tuple(dict.fromkeys(_words(self.handler)))
        if len(self.words) > MOST_WORDS:
            self.words = self.words[:MOST_WORDS]
            self.is_exhausted = True
        all_words = _words(self.handler)[: 4 * MOST_WORDS]
        context = _with_previous(all_words, self.variables, self.directory)
        self.words_in_context = list(dict.fromkeys(context))[:MOST_WORDS]
        self.bases = [self.start]
        for word, text, previous in self.words_in_context:
            if previous in _CHANGES_DIRECTORY and not word.startswith("-"):
                self._change_to(text)

    def _change_to(self, text: str) -> None:
        for path in self.paths(text, self.bases):
            if len(self.bases) >= MOST_DIRECTORIES:
                self.is_exhausted = True
                return
            if path not in self.bases and os.path.isdir(path):  # noqa: PTH112
                self.bases.append(path)

    @property
    def is_too_long(self) -> bool:
        return _is_too_long(self.handler)

    @property
    def is_opaque(self) -> bool:
        """Whether the command may run files whose names it does not hold in full."""
        if not _OPAQUE.isdisjoint(self.words) or any(map(_SEARCH_PATH.match, self.handler.env)):
            return True
        for word in self.words:
            assigned = _ASSIGNMENT.match(word)
            if assigned and (_SEARCH_PATH.match(assigned[1]) or "/" in word):
                return True
        return any(_UNCLEAR.search(text) for _, text, _ in self.words_in_context)

    @property
    def runs_inline(self) -> bool:
        """Whether an interpreter gets its program without a file, and looks for modules here."""
        return any(
            _INTERPRETER.match(previous) and _INLINE.match(word)
            for previous, word in zip(self.words, self.words[1:], strict=False)
        )

    def candidates(self, *, hidden: bool = True) -> Iterator[tuple[str, str]]:
        """Yield every word that may be a path, with the paths that it may mean."""
        for word, text, previous in self.words_in_context:
            for name in _hidden_names(text, previous) if hidden else ():
                for path in self.paths(name, self.bases):
                    yield name if stat.S_ISREG(_mode(path)) else "", path
            for path in self.paths(text, self.bases):
                yield word, path

    def paths(self, text: str, bases: Iterable[str]) -> list[str]:
        """Return the paths that a word may mean in some directories."""
        if not text or len(text) > LONGEST_WORD or "$" in text or not _can_be_a_name(text):
            return []
        text = text.replace(_LITERAL, "$")
        found: list[str] = []
        for base in bases:
            if self.lookups <= 0:
                self.is_exhausted = True
                return found
            self.lookups -= 1
            if _GLOB.search(text) and not text.startswith(("/", "~")):
                found += self._glob(base, text.split("/"))
            path = _resolve(text, base)
            if path is not None:
                found.append(path)
        return found

    def _glob(self, base: str, pieces: list[str]) -> list[str]:
        if len(pieces) > DEEPEST_PATTERN:
            self.is_exhausted = True
            return []
        self.listed[base] = None
        found = [str(path) for path in _glob(Path(base), pieces, self.entries)]
        if self.entries[0] <= 0:
            self.is_exhausted = True
        return found


DEEPEST_PATTERN = 20
"""Directories of a pattern of files."""


def _with_previous(
    words: Iterable[str], variables: Mapping[str, str], here: Path
) -> Iterator[tuple[str, str, str]]:
    """Yield every word, as written and expanded, and the one before it that is no mere option."""
    previous = ""
    for word in words:
        text = _expand(word, variables, here)
        yield word, text, previous
        if not word.startswith("-") or word in _CHANGES_DIRECTORY or word == "-m":
            previous = text


def _hidden_names(text: str, previous: str) -> list[str]:
    """Return the files that a program reads without being told their names in full."""
    module = text if previous == "-m" else text[2:] if text.startswith("-m") else ""
    return [
        *_READ_BY.get(text, ()),
        *(form.format(module.replace(".", "/")) for form in _MODULE_FILES if module),
        *(form.format(text) for form in _COMPLETIONS if text and len(text) < LONGEST_WORD),
        *(f"{text}/{name}" for name in _ENTRIES if text and len(text) < LONGEST_WORD),
    ]


def _is_too_long(handler: HandlerSpec) -> bool:
    texts = (handler.command or "", *(handler.argv or ()), *handler.env.values())
    return sum(map(len, texts)) > LONGEST_COMMAND


def _words(handler: HandlerSpec) -> tuple[str, ...]:
    if _is_too_long(handler):
        return ()
    return _split(handler.command or "", handler.argv or (), tuple(handler.env.values()))


@lru_cache(maxsize=512)
def _split(command: str, argv: tuple[str, ...], env: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    words: list[str] = []
    for word in (*argv, *_without_targets(_lex(command)), *env):
        if len(found) > 2 * MOST_WORDS:
            break
        if word in found:
            words.append(word)
            continue
        pieces: list[str] = []
        _add(word, pieces, DEPTH)
        found |= dict.fromkeys(pieces)
        words += pieces[: 2 * MOST_WORDS]
    return tuple(words)


def _without_targets(words: list[str]) -> Iterator[str]:
    """Leave out the files that a command writes: they are named again where they are run."""
    previous = ""
    for word in words:
        if not previous.startswith(">"):
            yield word
        previous = word


def _add(word: str, found: list[str], depth: int) -> None:
    """Add a word, what its braces stand for, and the words of a command line inside it."""
    if set(word) <= _OPERATORS:
        return
    if len(found) > 2 * MOST_WORDS:
        return
    found += _alternatives(word)
    plain = _HERE.sub(".", word)
    if depth and _BREAKS.search(plain):
        nested = any(char in plain for char in _NESTED)
        inner = [*_lex(plain), *_BREAKS.split(plain)] if nested else _BREAKS.split(plain)
        for piece in dict.fromkeys(inner):
            if piece and piece != word:
                _add(piece, found, depth - 1)


def _lex(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\\\n", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # unbalanced quotes; the shell will complain
        return text.split()


def _alternatives(word: str) -> list[str]:
    done, waiting = [word], [word]
    while waiting and len(done) < ALTERNATIVES:
        match = _BRACES.fullmatch(waiting.pop())
        if match and "," in match[2] and not match[1].endswith("$"):
            made = [match[1] + choice + match[3] for choice in match[2].split(",")]
            done += made[:ALTERNATIVES]
            waiting += made
    return done


def _expand(word: str, variables: Mapping[str, str], here: Path) -> str:
    word = _HERE.sub(lambda _match: str(here), word)

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1] or match[3])
        if found is None:
            return match[0] if match[2] is None else match[2]
        return found.replace("$", _LITERAL)

    return _VARIABLE.sub(value, word)


def _is_one_path(word: str) -> bool:
    return (
        "/" in word
        and not re.search(r"[{}]", _VARIABLE.sub("", word))
        and not (_BREAKS.search(_VARIABLE.sub("", word)))
    )


def _can_be_a_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _glob(base: Path, pieces: list[str], budget: list[int]) -> list[Path]:
    """Resolve a pattern, looking at a bounded number of directory entries."""
    from fnmatch import fnmatchcase

    first, rest = pieces[0], pieces[1:]
    if not _GLOB.search(first):
        matched = [base / first]
    else:
        matched = []
        try:
            with os.scandir(base) as entries:
                for entry in entries:
                    budget[0] -= 1
                    if budget[0] < 0:
                        break
                    if fnmatchcase(entry.name, first):
                        matched.append(base / entry.name)
        except OSError:
            return []
    if not rest:
        return matched
    return [path for found in matched for path in _glob(found, rest, budget)]


def _resolve(word: str, base: str) -> str | None:
    """Return an absolute path; `None` if a word is none."""
    if word.startswith("~"):
        word = os.path.expanduser(word)  # noqa: PTH111
        if word.startswith("~"):  # a user who does not exist
            return None
    return os.path.normpath(os.path.join(base, word))  # noqa: PTH118
