"""The values that effects follow from, and the effects themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from anyhook.shell.expansions import Value
    from anyhook.shell.options import Arguments


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


class Effect(NamedTuple):
    """Something that a command does.

    Attributes:
        kind: `reads`, `writes`, `deletes` or `contacts`.
        target: An absolute path or pattern of paths, or the name of a host.
        is_known: Whether the target is known.
        is_recursive: Whether it reaches all that is in a directory; `None` if that is not known.
        is_likely: Whether it depends on the files that exist.
    """

    kind: str
    target: str
    is_known: bool = True
    is_recursive: bool | None = False
    is_likely: bool = False


class Subject(NamedTuple):
    """What a command's effects follow from."""

    program: str
    read: Arguments
    redirects: tuple[Redirect, ...]
    directories: tuple[str | None, ...]
    """Where it may run, the likeliest first."""
    home: str | None

    def has(self, *options: str) -> bool:
        """Return whether the command has one of some options."""
        return not self.read.options.keys().isdisjoint(options)

    def values(self, *options: str) -> list[Value]:
        """Return the values of some options."""
        values: list[Value] = []
        for option in options:
            values += self.read.options.get(option, ())
        return values
