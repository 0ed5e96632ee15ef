"""Command lines: variables renamed, arguments quoted, the shim put in front and taken off again."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.authoring.inspect import LARGEST, MARK
from anyhook.errors import UsageError
from anyhook.files import read_user_file
from anyhook.migrate.options import ShimOptions, parse_options, write_options
from anyhook.shell.path_variables import uses

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec

PROGRAM = ("anyhook",)
_ACTS = frozenset(";|&<>()#*?[~\n")
"""What a shell does something with outside quotes."""
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
EVERYWHERE = {"cwd": "PWD"}
"""What variables hold to the variable of every shell that holds it too."""
CANNOT_BE_QUOTED = ("powershell",)
"""Shells with other rules for quotes."""


def wrap(options: ShimOptions, target: AgentSpec, program: Sequence[str] = PROGRAM) -> str:
    """Write the command line that runs a command through the shim.

    Args:
        options: What the shim is told.
        target: The agent whose settings it is for.
        program: The words in front of `shim`.
    """
    words = [*program, "shim", *write_options(options)]
    own = get_agent(options.agent).hook_environment
    return " ".join(quote(word, target, own) for word in words)


def quote(word: str, target: AgentSpec, own: Collection[str] = ()) -> str:
    """Quote a word so that neither a shell nor the reader of the settings changes it.

    Some agents put environment variables into their settings as they read them, whatever the
    quotes: there a `$` is kept apart from the name behind it.

    Args:
        word: A word of a command line.
        target: The agent that reads the settings.
        own: Variables that are set for hooks alone: `${name}` of them stays readable.
    """
    quoted = shlex.quote(word)
    if not target.expands_env:
        return quoted
    kept = "".join(rf"(?!\{{{name}\}})" for name in own)
    return re.sub(rf"\${kept}(?=[A-Za-z0-9_{{])", "$''", quoted)


def unwrap(command: str | None) -> ShimOptions | None:
    """Read a command line that runs a command through the shim; `None` if it is something else.

    One that lets the shell change what the shim is told is something else.
    """
    if command is None or "shim" not in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    at = words.index("shim") if "shim" in words else -1
    named = at == 1 and words[0].replace("\\", "/").rpartition("/")[2] == PROGRAM[0]
    if not named and [w for w in words[1 : at + 1] if w != "-P"] != ["-m", "anyhook", "shim"]:
        return None
    if _shell_acts(command):
        return None
    try:
        return parse_options(words[at + 1 :])
    except UsageError:
        return None


def _shell_acts(command: str) -> bool:
    """Tell whether the shell puts something in: a variable or a command outside single quotes."""
    quotes = ""
    skip = False
    for char in command:
        if skip:
            skip = False
        elif char == "\\" and not quotes:
            return True
        elif char == "\\" and quotes == '"':
            skip = True
        elif char in "'\"" and quotes in ("", char):
            quotes = "" if quotes else char
        elif (char in "$`" and quotes != "'") or (char in _ACTS and not quotes):
            return True
    return False


def own_variables(line: str, source: AgentSpec, shell: str = "") -> str:
    """Write an agent's own variables in the one form that means the same everywhere.

    `$NAME` becomes `${NAME}`, which no agent replaces in the text by itself, and gets the quotes
    that keep a path with blanks one word.
    """
    if shell in CANNOT_BE_QUOTED:
        return line
    names = {name: name for name in source.hook_environment}
    return _rewritten(line, names, in_single=False)


def renamed(
    line: str, names: Mapping[str, str], shell: str = "", *, kept_apart: bool = False
) -> str:
    """Give the variables of a command line other names, in all their forms.

    Args:
        line: A command line.
        names: Old name to new name.
        shell: The shell that reads it, if it is not a POSIX one.
        kept_apart: Keep the `$` apart from other names in single quotes, where no shell would put
            a value in but the reader of the settings does.
    """
    if shell not in CANNOT_BE_QUOTED:
        line = _rewritten(line, names, in_single=True)
        line = _kept_apart(line, frozenset(names.values())) if kept_apart else line
    for old, new in names.items():
        if old != new:
            line = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", new, line)
    return line


def _kept_apart(line: str, own: Collection[str]) -> str:
    pieces, done = [], 0
    for match, quotes in uses(line):
        if quotes == "'" and (match[1] or match[2]) not in own:
            pieces += [line[done : match.start()], "$''", match[0][1:]]
            done = match.end()
    return "".join([*pieces, line[done:]])


def _rewritten(line: str, names: Mapping[str, str], *, in_single: bool) -> str:
    pieces, done = [], 0
    for match, quotes in uses(line):
        name = names.get(match[1] or match[2])
        if name is None or (quotes == "'" and not in_single):
            continue
        text = f"${{{name}}}"
        pieces += [line[done : match.start()], text if quotes else f'"{text}"']
        done = match.end()
    return "".join([*pieces, line[done:]])


def counterpart_variables(source: AgentSpec, target: AgentSpec) -> tuple[dict[str, str], list[str]]:
    """Pair the variables that two agents set.

    Returns:
        The source's variables with the target's names, and those that the target has nothing for.
    """
    pairs: dict[str, str] = {}
    lost: list[str] = []
    for name, what in source.hook_environment.items():
        if what.startswith("="):
            continue
        there = next(
            (n for n, w in target.hook_environment.items() if w == what), EVERYWHERE.get(what)
        )
        if there is None:
            lost.append(name)
        else:
            pairs[name] = there
    return pairs, lost


def line_of(argv: Sequence[str], names: Collection[str]) -> str:
    """Write a program and its arguments as a command line.

    Args:
        argv: The words; `${name}` in them stands for a variable.
        names: The variables that count; everything else is plain text.

    Returns:
        A line in which everything else stands in single quotes.
    """
    return " ".join(_word(word, names) for word in argv)


def _word(word: str, names: Collection[str]) -> str:
    pieces, done = [], 0
    for match in _PLACEHOLDER.finditer(word):
        if match[1] in names:
            before = word[done : match.start()]
            pieces += [shlex.quote(before) if before else "", f'"{match[0]}"']
            done = match.end()
    rest = word[done:]
    return "".join([*pieces, shlex.quote(rest) if rest or not pieces else ""])


def is_portable(command: str, files: Sequence[Path]) -> bool:
    """Tell whether a command is a hook file of anyhook's, which speaks every agent's language."""
    return unwrap(command) is None and any(_is_hook_file(file) for file in files)


def _is_hook_file(file: Path) -> bool:
    try:
        return file.suffix == ".py" and MARK.encode() in read_user_file(file, LARGEST)
    except (OSError, ValueError):
        return False
