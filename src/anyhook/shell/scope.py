"""What a shell knows at a place in a command line: its directory, variables and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.shell.paths import join_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.shell.values import Value

MAX_DIRECTORIES = 4
"""Directories in which a place may be; of more of them none is known."""
_NAME = expression(r"[^\s$()`;|&<>\"'\\]+")
"""A word that may be the name of a program."""


class Redirect(NamedTuple):
    """A redirection of a command.

    Attributes:
        operator: With a descriptor in front if there is one: `>`, `2>>`, `<`, `<<<`.
        target: The file; for `<<` and `<<<` the text.
        certain: Whether the target is known.
    """

    operator: str
    target: str
    certain: bool = True

    @property
    def is_text(self) -> bool:
        """Whether the target is a text and not a file."""
        return self.operator.endswith(("<<", "<<-", "<<<"))


class Input:
    """The standard input of a command: nothing, a known text, or an unknown one.

    If it is not certain, an expansion may change the text. The names of files that `find` prints
    are known as patterns; if they are not certain, a part of a name may be another one. The source
    is the text of that `find`.
    """

    __slots__ = ("files", "is_certain", "source", "text")

    def __init__(
        self,
        text: str | None = None,
        *,
        is_certain: bool = True,
        files: Sequence[Value] = (),
        source: str = "",
    ) -> None:
        self.text = text
        self.is_certain = is_certain
        self.files = files
        self.source = source


NO_INPUT = Input("")
UNKNOWN_INPUT = Input()


class Scope:
    """What is known at a place.

    Attributes:
        directory: The working directory; empty for that of the call, `None` if it is not known.
        other_directories: Where it may be instead, if a `cd` failed.
        home: The user's home, or `None`.
        variables: Variables that the line sets; `None` for a value that is not known.
        aliases: Texts of the aliases that the line defines.
        functions: Names of the functions that it defines.
        fixed: Variables whose value stays unknown, because a loop or a function sets them.
        input: The standard input of the next command.
        base_input: The standard input of the text.
        exits_on_error: Whether the shell ends when a command fails (`set -e`).
        files: Texts of the files that the line has written; all scopes of a line share them.
        placeholder: What `xargs` or `parallel` replaces by a word of its input; empty outside.
    """

    __slots__ = (
        "aliases",
        "base_input",
        "directory",
        "exits_on_error",
        "files",
        "fixed",
        "functions",
        "home",
        "input",
        "other_directories",
        "placeholder",
        "variables",
    )

    def __init__(self, home: str | None, directory: str | None) -> None:
        self.home = home
        self.directory = directory
        self.other_directories: tuple[str | None, ...] = ()
        self.variables: dict[str, str | None] = {}
        self.aliases: dict[str, str] = {}
        self.functions: set[str] = set()
        self.fixed: set[str] = set()
        self.files: dict[str, Input] = {}
        self.input = self.base_input = NO_INPUT
        self.exits_on_error = False
        self.placeholder = ""

    @property
    def directories(self) -> tuple[str | None, ...]:
        """Where the shell is, and where it may be instead."""
        return (self.directory, *self.other_directories)

    def copy(self) -> Scope:
        """Return a scope for a subshell."""
        copy = Scope(self.home, self.directory)
        copy.other_directories = self.other_directories
        copy.variables = dict(self.variables)
        copy.aliases = self.aliases
        copy.functions = self.functions
        copy.fixed = self.fixed
        copy.files = self.files
        copy.input = copy.base_input = self.input
        copy.exits_on_error = self.exits_on_error
        copy.placeholder = self.placeholder
        return copy

    def write_file(self, path: str, output: Input, *, appends: bool = False) -> None:
        """Keep what the line writes to a file, if that is known."""
        name = join_path(self.directory or "", path)
        if output.text is not None and output.is_certain:
            # What was in the file is not known if the line has not written that, too.
            before = self.files.get(name, UNKNOWN_INPUT) if appends else NO_INPUT
            is_whole = before.text is not None and before.is_certain
            self.files[name] = Input(f"{before.text or ''}{output.text}", is_certain=is_whole)
        elif not appends:
            self.files.pop(name, None)

    def written(self, path: str) -> Input:
        """Return what the line has written to a file; if it did not, that is not known."""
        return self.files.get(join_path(self.directory or "", path), UNKNOWN_INPUT)

    def redefines(self, source: str) -> bool:
        """Return whether a word of some commands may mean something else than the usual program.

        The line defines a function or an alias of that name, or sets where programs are found.
        """
        own_names = self.functions | self.aliases.keys()
        return "PATH" in self.variables or not own_names.isdisjoint(_NAME.findall(source))

    def forget_variables(self) -> None:
        """Forget the values of all variables that the line sets."""
        self.variables = dict.fromkeys(self.variables)

    def restore(self, other: Scope) -> None:
        """Return to the state of a copy, at the end of a subshell."""
        self.directory = other.directory
        self.other_directories = other.other_directories
        self.variables = dict(other.variables)
        self.input = other.input
        self.exits_on_error = other.exits_on_error

    def merge(self, other: Scope) -> None:
        """Join with the state of another way to this place: what differs is not known."""
        for name in {*self.variables, *other.variables}:
            has_both = name in self.variables and name in other.variables
            if not has_both or self.variables[name] != other.variables[name]:
                self.variables[name] = None
        self.exits_on_error &= other.exits_on_error
        self.add_directories(other.directories)

    def restore_variables(self, other: Scope, names: Iterable[str]) -> None:
        """Give some variables the values that they have in another scope."""
        for name in names:
            if name in other.variables:
                self.variables[name] = other.variables[name]
            else:
                self.variables.pop(name, None)

    def set_directories(self, directories: tuple[str | None, ...]) -> None:
        """Go to the first of some directories, or to one of the others."""
        self.directory, *others = dict.fromkeys(directories)
        self.other_directories = tuple(others)

    def add_directories(self, directories: tuple[str | None, ...]) -> None:
        """Add directories in which this place may be reached."""
        others = dict.fromkeys((*self.other_directories, *directories))
        others.pop(self.directory, None)
        if len(others) > MAX_DIRECTORIES:
            self.directory, others = None, {}
        self.other_directories = tuple(others)
