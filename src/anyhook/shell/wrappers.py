"""The command that a simple command runs in the end: behind `env`, `timeout`, `sudo` and the like.

Like the parser, it raises `UnreadableError` where the answer is not certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.options import NO_OPTIONS, find_table, read_arguments, takes_values
from anyhook.shell.parser import ASSIGNMENT, UnreadableError
from anyhook.shell.programs import SHELLS
from anyhook.shell.runners import DOUBTED, RUNNERS, STRIPPED, TEXT, TEXT_OPTIONS
from anyhook.shell.values import LITERAL, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.shell.parser import Word
    from anyhook.shell.runners import Runner

_OWN_WORD = expression(rf"(?:-|[0-9][0-9.]*[smhd]?)\Z|{ASSIGNMENT.pattern}")
"""Numbers, durations and assignments in front of a command."""
_DASH = expression(r"-\Z")
_SURE_OPTIONS = frozenset({"chroot", "nice", "torsocks", "watch"})
"""Wrappers whose long options are read as the table says. Those of others that have options with
values differ between releases, and a condition covers every doubt."""
_SHELL_SYNTAX = expression(r"[;&|`$()<>\n]")

_RUNS_TEXT = frozenset("trap alias su sem script runuser sg at batch cmd tmux".split())
"""Programs that hand a text to a shell, of those that are not in the table."""
_RUNNING_OPTIONS = {
    "find": expression(r"-(?:exec|ok)(?:dir)?"),
    "fd": expression(r"-\w*[xX].*|--exec.*"),
    "fdfind": expression(r"-\w*[xX].*|--exec.*"),
}
"""Programs that run others with some of their options."""
_COMMAND_OPTION = expression(r"-\w*c\w*")
_SHELL_OPTION = expression(
    r"[-+][abefhiklmnprtuvxBCDEHPT]*(o?)|--(?:norc|noprofile|posix|login|verbose|restricted)"
)
"""Options after which a shell still reads its script from a file; `o` takes the next word."""
_OPEN_FILE = expression(r"/(?:dev|proc)/")
"""Directories of files that hold a part of the command line, such as `/dev/stdin`."""


def unwrap(words: list[Word]) -> list[Word]:
    """Return the words of the command behind all wrappers; empty if there is none.

    Raises:
        UnreadableError: If it is not certain where that command begins.
    """
    start = 0
    values: list[Value] = []
    while start < len(words):
        name = _program_name(words[start])
        runner = RUNNERS.get(name)
        if runner is None or runner.in_conditions != STRIPPED:
            break
        if not values:
            values = [Value(word.text, VAGUE if word.is_vague else LITERAL) for word in words]
        inner = _inner_start(name, runner, values, start + 1)
        if inner is None:
            return words[start:]
        # `watch` joins its arguments and hands them to a shell.
        if runner.kind == TEXT and any(_SHELL_SYNTAX.search(word.text) for word in words[inner:]):
            raise UnreadableError
        start = inner
    return words[start:]


def _inner_start(name: str, runner: Runner, values: list[Value], start: int) -> int | None:
    """Return where the command of a wrapper begins; `None` if the wrapper only prints its path.

    `start` is the index of the first argument of the wrapper in the whole command.
    """
    table = find_table(name)
    doubts_long = name not in _SURE_OPTIONS and (table is None or takes_values(table))
    # A number is known by its form, so that the program behind `timeout $A` is not.
    operands = 0 if runner.has_number else runner.operands
    own_words = _OWN_WORD if operands == 0 else _DASH
    index, before = start, -1
    while index > before:
        before = index
        read = read_arguments(table or NO_OPTIONS, values, index, operands)
        if name == "command" and read.has("-v", "-V"):
            return None
        has_doubt = doubts_long and any(map(_is_bare_long, values[index : read.rest]))
        runs_text = read.has(*runner.shell_options, *TEXT_OPTIONS.get(name, "").split())
        # `$A` in `nice -n $A` may be a number and a program.
        numbers = read.values("--adjustment", "--interval")
        if has_doubt or runs_text or any(value.kind == VAGUE for value in numbers):
            raise UnreadableError
        index = read.rest
        operands -= len(read.operands)
        if index < len(values) and own_words.match(values[index].text):
            index += 1
    return index


def _is_bare_long(value: Value) -> bool:
    """Return whether a word is a long option of which the next word may be the value."""
    return value.text.startswith("--") and len(value.text) > 2 and "=" not in value.text


def _program_name(word: Word) -> str:
    return word.text.rpartition("/")[2].removesuffix(".exe")


def runs_text(words: Sequence[Word]) -> bool:
    """Return whether a command without wrappers runs a text or a program that is not known."""
    if not words:
        return False
    name = _program_name(words[0])
    arguments = words[1:]
    runner = RUNNERS.get(name)
    is_doubted = runner is not None and runner.in_conditions == DOUBTED
    if words[0].is_vague or is_doubted or name in _RUNS_TEXT:
        return True
    if name in SHELLS:
        # `bash -ec 'rm x'` runs a text, and `bash` alone runs its standard input.
        has_text = any(_COMMAND_OPTION.fullmatch(word.text) for word in arguments)
        return has_text or not _runs_script_file(arguments)
    if name in {"source", "."}:
        return any(word.is_vague or _OPEN_FILE.match(word.text) for word in arguments)
    options = _RUNNING_OPTIONS.get(name)
    return options is not None and any(options.fullmatch(word.text) for word in arguments)


def _runs_script_file(arguments: Sequence[Word]) -> bool:
    """Return whether a shell with these arguments runs a script file, or nothing."""
    if [word.text for word in arguments] in (["--version"], ["--help"]):
        return True
    index = 0
    while index < len(arguments):
        text = arguments[index].text
        if arguments[index].is_vague:
            return False
        if text in {"-", "--"}:
            index += 1
            break
        if not text.startswith(("-", "+")):
            break
        option = _SHELL_OPTION.fullmatch(text)
        if option is None:
            return False
        index += 2 if option[1] else 1
    if index >= len(arguments):
        return False
    script = arguments[index]
    return not script.is_vague and not _OPEN_FILE.match(script.text)
