"""What commands print, as far as their text decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.shell.options import FIND_CHANGES, FIND_PRINTS, found_files
from anyhook.shell.scope import NO_INPUT, UNKNOWN_INPUT, Input
from anyhook.shell.values import LITERAL, PATTERN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.shell.command import Command
    from anyhook.shell.scope import Scope
    from anyhook.shell.values import Value

_FIND_ACTIONS = FIND_CHANGES | {"-printf", "-ls"}


def known_output(
    command: Command | None, values: Sequence[Value], received: Input | None, scope: Scope
) -> Input:
    """Return what a simple command prints.

    Args:
        command: What it runs, if that is one command.
        values: Its words.
        received: The standard input that its redirections give.
        scope: What the shell knows.
    """
    if command is not None and command.program == "find" and not command.read.may_have_more:
        options = command.read.options
        # One that runs others prints what they print.
        if _FIND_ACTIONS.isdisjoint(options):
            files = found_files(command.read, FIND_PRINTS)
            return Input(files=files, is_certain="-print0" in options, source=command.source)
    if received is None and scope.input is not NO_INPUT:
        received = scope.input
    if not values or any(value.kind == PATTERN for value in values):
        return UNKNOWN_INPUT
    is_certain = all(value.kind == LITERAL for value in values)
    program, *arguments = [value.text for value in values]
    passes_input = program == "tee" or (program == "cat" and not arguments)
    if passes_input and received is not None and received.is_certain:
        return received
    if program == "cat" and len(arguments) == 1:
        return scope.written(arguments[0])
    if program == "echo":
        while arguments and arguments[0] in {"-n", "-e", "-E", "-ne", "-en"}:
            del arguments[0]
        text = " ".join(arguments)
        return UNKNOWN_INPUT if "\\" in text else Input(text, is_certain=is_certain)
    if program == "printf" and arguments:
        return Input(_printf(arguments[0], arguments[1:]), is_certain=is_certain)
    return UNKNOWN_INPUT


def _printf(template: str, arguments: list[str]) -> str | None:
    """Return what `printf` prints; `None` if the template is more than texts and `%s`."""
    template = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
    count = template.count("%s")
    if "\\" in template or template.count("%") > count:
        return None
    if not count:
        return template
    pieces: list[str] = []
    parts = template.split("%s")
    while arguments or not pieces:
        batch = [*arguments[:count], *[""] * (count - len(arguments)), ""]
        del arguments[:count]
        pieces += [part + value for part, value in zip(parts, batch, strict=True)]
    return "".join(pieces)
