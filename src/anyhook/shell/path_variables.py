"""Variables in a command line, with the quotes that they stand in.

Extensions write `${extensionPath}/check.sh`, in double quotes, in single quotes or in none, and
mean the path in all of them. Replacing the variable in the text would break at the first blank and
run what the name of a directory says. So the variable goes into the environment, and the command
line refers to it with the quotes that keep it one word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

TOP_OF_REPOSITORY = "$(git rev-parse --show-toplevel 2>/dev/null || pwd)"
"""For agents without a variable that holds the project; they run hooks of a repository in any of
its directories, and others in the directory of the project."""
_VARIABLE = r"\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)"
_NEXT = {
    "": expression(
        rf"""\\.|['"`)]|\$\(|(?:(?<=\s)|^)\#[^\n]*|<<|\bcase\b|{_VARIABLE}""",
        re.DOTALL | re.MULTILINE,
    ),
    '"': expression(rf"""\\.|["`]|\$\(|{_VARIABLE}""", re.DOTALL),
    "'": expression(rf"'|{_VARIABLE}"),
}
"""What the scan stops at, by the quotes that it is in."""
_ONE_WORD = {"": '"${{{}}}"', '"': "${{{}}}", "'": "'\"${{{}}}\"'"}
"""How a variable is written so that its value stays a part of one word, by the quotes around it."""


class VariableUse(NamedTuple):
    """A place in a command line where a variable is named."""

    name: str
    source: str
    """`$name` or `${name}`."""
    quote: str
    """The quotes around it: none, `"` or `'`."""
    start: int


def find_variables(command: str) -> Iterator[VariableUse]:
    """Yield every use of a variable.

    The scan ends at the first here-document, backtick or `case`: quotes inside have other rules.
    """
    # One state for the command line, and one for each `$(` that is open.
    quotes = [""]
    position = 0
    while match := _NEXT[quotes[-1]].search(command, position):
        position = match.end()
        quote = quotes[-1]
        source = match[0]
        name = match["braced"] or match["bare"]
        if name:
            yield VariableUse(name, source, quote, match.start())
        elif source in {"'", '"'}:
            quotes[-1] = "" if quote else source
        elif source == "$(":
            quotes.append("")
        elif source == ")" and len(quotes) > 1:
            quotes.pop()
        elif source in {"<<", "`", "case"}:
            return


def replace_variables(command: str, replace: Callable[[VariableUse], str | None]) -> str:
    """Replace uses of variables in a command line; `None` leaves one as it is."""
    pieces = []
    position = 0
    for use in find_variables(command):
        replacement = replace(use)
        if replacement is not None:
            pieces += [command[position : use.start], replacement]
            position = use.start + len(use.source)
    return "".join([*pieces, command[position:]])


def quote_path_variables(command: str, names: Collection[str]) -> str:
    """Rewrite `${name}` for a POSIX shell so that its value is a part of one word everywhere."""
    if not any(f"${{{name}}}" in command for name in names):
        return command

    def quote(use: VariableUse) -> str | None:
        is_path = use.name in names and use.source.startswith("${")
        return _ONE_WORD[use.quote].format(use.name) if is_path else None

    return replace_variables(command, quote)


def unquoted_variables(command: str, names: Collection[str]) -> list[str]:
    """List the variables of some that stand outside quotes, where the shell splits their value."""
    uses = find_variables(command)
    return [use.name for use in uses if not use.quote and use.name in names]
