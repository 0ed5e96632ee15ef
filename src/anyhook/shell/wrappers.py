"""The command that a simple command runs in the end: behind `env`, `timeout`, `sudo` and the like.

Like the parser, it raises `UnreadableError` where the answer is not certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.parser import ASSIGNMENT, UnreadableError
from anyhook.shell.programs import OPERAND_WRAPPERS, SHELLS, WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.shell.parser import Word

_TEXT_OPTIONS = {
    "env": ("S", "--s"),
    "flock": ("c", "--c"),
    "sudo": ("si", "--s"),
    "doas": ("s", "--s"),
}
"""Options of wrappers (letters, beginning of long ones) that hand the rest to a shell, or split it
into words once more."""
_DURATION = expression(r"[0-9][0-9.]*[smhd]?")
_PRINTS_PATH = expression(r"-\w*[vV]")
"""Options with which `command` prints where a program is instead of running it."""
_SHELL_SYNTAX = expression(r"[;&|`$()<>\n]")

_RUNS_TEXT = frozenset(
    "eval trap alias su ssh rsh parallel sem script runuser sg at batch"
    " setarch setpriv nsenter unshare systemd-run bwrap firejail dbus-run-session cmd"
    " run0 screen tmux".split()
)
"""Programs that hand a text to a shell, or whose options are too many to know their values."""
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
    while start < len(words) and _program_name(words[start]) in WRAPPERS:
        name = _program_name(words[start])
        inner = _inner_start(name, words, start + 1)
        if inner is None:
            return words[start:]
        # `watch` joins its arguments and hands them to a shell.
        if name == "watch" and any(_SHELL_SYNTAX.search(word.text) for word in words[inner:]):
            raise UnreadableError
        start = inner
    return words[start:]


def _inner_start(name: str, words: list[Word], start: int) -> int | None:
    """Return where the command of a wrapper begins; `None` if the wrapper only prints its path.

    `start` is the index of the first argument of the wrapper in the whole command.
    """
    lacks_operand = name in OPERAND_WRAPPERS
    index = start
    while index < len(words):
        text = words[index].text
        if _runs_rest_as_text(name, text):
            raise UnreadableError
        if name == "command" and _PRINTS_PATH.match(text):
            return None
        # `chroot DIR CMD`: the first word that is not an option belongs to the wrapper.
        is_operand = name in OPERAND_WRAPPERS and not text.startswith("-")
        if is_operand:
            width = 1 if lacks_operand else 0
            lacks_operand = False
        else:
            width = _option_width(text, WRAPPERS[name])
        if not width:
            break
        index += width
    return index


def _program_name(word: Word) -> str:
    return word.text.rpartition("/")[2].removesuffix(".exe")


def _runs_rest_as_text(wrapper: str, word: str) -> bool:
    """Return whether an option makes a wrapper read a text as a command line."""
    letters, long = _TEXT_OPTIONS.get(wrapper, ("", ""))
    if not letters or not word.startswith("-"):
        return False
    if word.startswith("--"):
        return word.startswith(long)
    # In `-uS`, the letter `u` takes a value, which is `S`.
    for letter in word[1:]:
        if letter in letters:
            return True
        if letter in WRAPPERS[wrapper]:
            return False
    return False


def _option_width(word: str, valued: str) -> int:
    """Return how many words an option, assignment or duration takes; 0 if it is none of them.

    `valued` has the letters of the options that take a value.
    """
    is_long = word.startswith("--") and len(word) > 2
    # There is no table of long options that take the next word.
    if is_long and valued and "=" not in word:
        raise UnreadableError
    if not word.startswith("-"):
        return 1 if ASSIGNMENT.match(word) or _DURATION.fullmatch(word) else 0
    for index, letter in enumerate(word):
        if letter in valued:
            is_last = index == len(word) - 1
            return 2 if is_last else 1
    return 1


def runs_text(words: Sequence[Word]) -> bool:
    """Return whether a command without wrappers runs a text or a program that is not known."""
    if not words:
        return False
    name = _program_name(words[0])
    arguments = words[1:]
    if words[0].is_vague or name in _RUNS_TEXT:
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
