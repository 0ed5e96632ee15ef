"""The names that a text holds, by what the text does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.shell.parser import Word
    from anyhook.trust.languages import Language

MAX_PATH = 1024
"""Characters of a path that is looked into."""
MAX_COMPUTED = 20
"""Statements of one text that are listed."""
MAX_EXCERPT = 60
"""Characters of a statement that are shown."""
SEARCH_MODULES = frozenset(
    "sys site importlib runpy pkgutil imp zipimport os posix subprocess asyncio multiprocessing "
    "pty ctypes".split()
)
"""Modules with which Python programs change where modules are looked for, or start others."""
_NAME = expression(r"[\w@+~.%-]+")
_WITHOUT_QUOTES = str.maketrans("", "", "\\'\"")
_ANY_VARIABLE = expression(r"\$\w+|\$\{[^{}]*\}")
_VAGUE = expression(r"[$`*?\[{]|%[sd]")
_DIRECTORY_OF_VAGUE = expression(r"((?:[\w@+~.-]+/)*[\w@+~.-]+)/[^/\s]*[$`*?\[{%][^/\s]*\Z")


def names_in(text: str) -> frozenset[str]:
    """Return the parts of paths and modules in a text."""
    names: set[str] = set()
    for match in _NAME.finditer(text):
        name = match[0]
        names.add(name)
        # `.gemini/` is a directory, and `.gemini` may be a module that is imported from next to it.
        if name[0] == "." and text.startswith("/", match.end()):
            continue
        if name[0] == "-":
            names.update((name.lstrip("-"), name[2:]))
        if "." in name:
            names.update(name.split("."))
    names.difference_update(("", ".", ".."))
    return frozenset(names)


def is_plain(name: str) -> bool:
    """Return whether `names_in` finds the name of a file as a whole: `guard.py`, not `it's.py`."""
    return _NAME.fullmatch(name) is not None


def is_vague(text: str) -> bool:
    """Return whether a word holds an expansion or a pattern."""
    return _VAGUE.search(text) is not None


class Computed(NamedTuple):
    """A statement that loads or runs what its text does not spell out.

    Attributes:
        excerpt: The beginning of the statement.
        names: The names in it; if one of them names a file, that is what it loads.
    """

    excerpt: str
    names: frozenset[str]

    def names_any(self, matched: Iterable[str]) -> bool:
        """Return whether the statement names one of some files."""
        for name in matched:
            pieces = {name} if is_plain(name) else names_in(name)
            if pieces <= self.names:
                return True
        return False


class CodeText:
    """What a text names.

    Attributes:
        names: All parts of paths and modules that it holds.
        loaded: Those in statements that load or run.
        imported: Those in `import` statements of Python, which load no file of another language.
        modules: Modules that interpreters run by an option.
        programs: Programs that are run by their name.
        searched: Those in statements that change where modules are looked for.
        operands: Relative paths that are loaded from the working directory.
        held: Directories of which some file is loaded, as far as they are spelled out.
        entered: Relative directories that are loaded as a whole.
        runners: Programs that run what files of the project define.
        computed: What it loads without spelling it out.
        searches_start: Whether modules are looked for in the working directory.
    """

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.language = language
        self.names: set[str] = set()
        self.loaded: set[str] = set()
        self.imported: set[str] = set()
        self.modules: set[str] = set()
        self.programs: set[str] = set()
        self.searched: set[str] = set()
        self.operands: set[str] = set()
        self.held: set[str] = set()
        self.entered: set[str] = set()
        self.runners: set[str] = set()
        self.computed: dict[Computed, None] = {}
        self.searches_start = False

    @property
    def may_search(self) -> bool:
        """Whether it may change where modules are looked for, also in a way that is not read."""
        return bool(self.searched) or not SEARCH_MODULES.isdisjoint(self.imported | self.loaded)

    def names_file(self, name: str) -> bool:
        """Return whether the text holds a name; one with blanks or quotes also with escapes."""
        if is_plain(name):
            return name in self.names
        # The pieces are compared first, because searching a long text takes time.
        if not names_in(name) <= self.names:
            return False
        # `it\'s.sh`, 'it'"'"'s.sh'
        return name.translate(_WITHOUT_QUOTES) in self.text.translate(_WITHOUT_QUOTES)

    def loads_file(self, name: str) -> bool:
        """Return whether a statement that loads holds a name."""
        if is_plain(name):
            return name in self.loaded or name in self.imported
        return self.names_file(name) and names_in(name) <= self.loaded

    def load(self, word: Word, source: str) -> None:
        """Note that a word of a command names what is loaded."""
        names = names_in(word.text)
        self.loaded |= names
        self.hold_directory(word.text)
        if is_vague(word.text):
            operand = word.text if names else source
            self.add_computed(source, operand)
        elif not word.text.startswith(("/", "~")):
            self.operands.add(word.text)

    def hold_directory(self, text: str) -> None:
        """Note the directory of a path whose last part is computed."""
        # The value of a variable may be any directory, or the name of a file.
        directory = None
        if len(text) <= MAX_PATH:
            directory = _DIRECTORY_OF_VAGUE.search(_ANY_VARIABLE.sub("$", text))
        if directory is not None:
            self.held.add(directory[1].removeprefix("./"))

    def add_computed(self, statement: str, operand: str) -> None:
        """Note that a statement does not spell out what it loads."""
        if len(self.computed) < MAX_COMPUTED:
            excerpt = " ".join(statement.split())
            if len(excerpt) > MAX_EXCERPT:
                excerpt = excerpt[: MAX_EXCERPT - 1] + "…"
            self.computed[Computed(excerpt, names_in(operand))] = None
