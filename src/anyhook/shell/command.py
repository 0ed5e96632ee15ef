"""One command of a command line, as authors of hooks see it."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from anyhook.shell.effects import Effect, find_effects
from anyhook.shell.options import Arguments, canonical_program, find_table, read_arguments
from anyhook.shell.values import VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.shell.scope import Redirect

_MERGED = frozenset("container image builder buildx".split())
"""Words of `docker` in front of a subcommand: `docker container rm` is `docker rm`."""
_WITH_SUBCOMMANDS = frozenset(
    "git docker kubectl terraform helm aws gcloud az npm yarn pnpm pip cargo apt-get brew systemctl"
    " gh uv poetry pipx conda".split()
)


class Command:
    """A command that a command line runs.

    Attributes:
        program: The program without its directory; empty if only the running shell knows it.
        path: The program as it is written.
        values: The words behind it after the expansions.
        source: The text that it was read from.
        certain: Whether it is certain that this runs, and nothing else.
        is_complete: Whether it is certain that nothing else runs; `((x))` runs `x`, or nothing.
        redirects: Its redirections.
        wrappers: The commands that run this one, the outermost first (`sudo`, `xargs`, `ssh`).
        directories: Where it runs, after every `cd` in front: first where it should, then where it
            does if a `cd` fails. Empty for the directory of the call, `None` for an unknown one.
        home: The user's home, or `None`.
        is_remote: Whether it runs on another machine or in a container.
        piped_into: The command that reads its output, behind `|`; `None` if that is not one
            command alone.
    """

    def __init__(
        self,
        program: str,
        values: tuple[Value, ...] = (),
        *,
        path: str = "",
        source: str = "",
        certain: bool = True,
        is_complete: bool = True,
        redirects: tuple[Redirect, ...] = (),
        wrappers: tuple[Command, ...] = (),
        directories: tuple[str | None, ...] = ("",),
        home: str | None = None,
        is_remote: bool = False,
    ) -> None:
        self.program = program
        self.path = path
        self.values = values
        self.source = source
        self.certain = certain
        self.is_complete = is_complete
        self.redirects = redirects
        self.wrappers = wrappers
        self.directories = directories
        self.home = home
        self.is_remote = is_remote
        self.piped_into: Command | None = None

    def __repr__(self) -> str:
        words = " ".join([*self.chain, self.program or "?", *self.arguments])
        return f"<Command {words!r}{'' if self.certain else ' (uncertain)'}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Command):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self.program, self.values, self.redirects, self.chain, self.certain, self.source)

    def as_uncertain(self) -> Command:
        """Return the same command, of which it is not certain that it runs."""
        command = copy(self)
        command.certain = False
        return command

    @property
    def arguments(self) -> tuple[str, ...]:
        """All words behind the program; expansions that are not known as they are written."""
        return tuple([value.text for value in self.values])

    @property
    def uncertain_arguments(self) -> tuple[str, ...]:
        """The arguments of which only the running shell knows the value."""
        return tuple([value.text for value in self.values if value.kind == VAGUE])

    @property
    def chain(self) -> tuple[str, ...]:
        """The programs that run this one, the outermost first: `("sudo", "xargs")`."""
        return tuple([wrapper.program for wrapper in self.wrappers])

    @property
    def is_unread(self) -> bool:
        """Whether it stands for a text that could not be read, and so may run anything."""
        return not self.program and not self.values and not self.certain

    @cached_property
    def read(self) -> Arguments:
        """The arguments by the table of the program."""
        return read_program(self.program, self.values)

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The options by one name for all spellings, each with its values: `--recursive`."""
        return {
            name: tuple([value.text for value in values])
            for name, values in self.read.options.items()
        }

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are neither options nor their values; a subcommand comes first."""
        return tuple([value.text for value in self.read.operands])

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """What the command does to files and hosts, as far as it is known."""
        effects = find_effects(
            self.program, self.read, self.redirects, directories=self.directories, home=self.home
        )
        return tuple(effects)

    @property
    def read_paths(self) -> tuple[str, ...]:
        """Paths of files that it reads."""
        return self._targets("reads")

    @property
    def written_paths(self) -> tuple[str, ...]:
        """Paths of files that it creates or changes."""
        return self._targets("writes")

    @property
    def deleted_paths(self) -> tuple[str, ...]:
        """Paths of files and directories that it deletes or moves away."""
        return self._targets("deletes")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of hosts that it contacts."""
        return self._targets("contacts")

    def _targets(self, kind: str) -> tuple[str, ...]:
        targets = [effect.target for effect in self.effects if effect.kind == kind]
        return tuple(dict.fromkeys(targets))

    def has_options(self, options: Iterable[str]) -> bool | None:
        """Return whether the command has all of some options, in whatever spelling.

        Returns:
            `True`, `False`, or `None` if an argument that is not known may be one of them.
        """
        read = self.read
        for option in options:
            names = self._names_of(option)
            # Of a program without a table, `-xf` may be one option or two.
            if len(names) > 1 and option in read.options:
                continue
            if len(names) > 1:
                names.discard(option)
            if names <= read.options.keys():
                continue
            return None if read.may_have_more else False
        return True

    def _names_of(self, option: str) -> set[str]:
        """Return the names under which the command would have an option."""
        longest = 2 if canonical_program(self.program) in _WITH_SUBCOMMANDS else 0
        for count in range(longest, -1, -1):
            words = (*self.read.operands[:count], Value(option))
            names = set(read_program(self.program, words).options)
            if names:
                return names
        return {option}


def read_program(program: str, values: tuple[Value, ...]) -> Arguments:
    """Read the arguments of a program, and those of its subcommand."""
    table = find_table(program)
    base = canonical_program(program)
    read = read_arguments(table, values)
    if base not in _WITH_SUBCOMMANDS or not read.operands:
        return read
    operands = read.operands
    first = operands[0].text
    if base == "docker" and first in _MERGED and len(operands) > 1:
        operands = operands[1:]
        first = operands[0].text
    inner = find_table(program, first)
    below = read_arguments(inner, operands, 1)
    # `docker compose exec` has a table of its own.
    if below.operands:
        second = find_table(program, first, below.operands[0].text)
        if second is not None and second is not inner:
            deepest = read_arguments(second, below.operands, 1)
            return _join(
                _join(read, below, [operands[0]]), deepest, [operands[0], below.operands[0]]
            )
    return _join(read, below, [operands[0]])


def _join(outer: Arguments, inner: Arguments, subcommand: list[Value]) -> Arguments:
    joined = Arguments(inner.rest)
    for options in (outer.options, inner.options):
        for name, values in options.items():
            joined.options.setdefault(name, []).extend(values)
    joined.operands = [*subcommand, *inner.operands]
    joined.may_have_more = outer.may_have_more or inner.may_have_more
    joined.is_doubtful = outer.is_doubtful or inner.is_doubtful
    joined.commands = inner.commands
    return joined
