"""Names of hooks that people recognise, made from what the hooks run."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.model.definitions import HandlerSpec

SCRIPT_ENDINGS = tuple(
    ".py .sh .bash .zsh .fish .js .mjs .cjs .ts .mts .rb .pl .php .lua .ps1 .exe .cmd .bat".split()
)
"""Endings of files that a command runs, not reads."""
SHELLS = frozenset("sh bash zsh dash ksh".split())
INTERPRETERS = frozenset("python python3 node deno bun ruby perl php lua".split())
WRAPPERS = SHELLS | frozenset(
    "sudo env command exec nice nohup time timeout stdbuf xargs npx bunx uvx pipx uv poetry "
    "run dlx eval if then else elif fi for do done while until ! { }".split()
)
"""Words that come before the program that does the work."""
TAKES_OPERAND = frozenset("cd source . export set".split())
"""Words that prepare for the program, with the word behind them."""
TASK_RUNNERS = frozenset("npm pnpm yarn make just task cargo go git gh docker".split())
"""Programs that are recognised only with the task that they are given."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATOR = re.compile(r"[();<>|&\n]+")
_NUMBER_OR_OPTION = re.compile(r"-.*|[\d.]+[smhd]?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_LABEL_WITH_NUMBER = "{}#{}"
LONGEST_COMMAND = 64 * 1024
"""Characters; a longer command is labelled by its first word."""


@lru_cache(maxsize=4096)
def command_label(command: str) -> str:
    """Return a short name for a command line.

    That is the base name of the first script that it names, or the module that an interpreter
    runs, or else its program.

    Args:
        command: A line for the shell.
    """
    if len(command) > LONGEST_COMMAND:
        return _base_name(next(iter(command[:LONGEST_COMMAND].split()), ""))
    return words_label(_words(command))


def words_label(words: Sequence[str]) -> str:
    """Return a short name for a program and its arguments: see `command_label`."""
    inner = _wrapped_command(words)
    if inner is not None:
        return inner
    for word in words:
        if word.lower().endswith(SCRIPT_ENDINGS) and not word.startswith("-"):
            return _base_name(word)
    for option, module in pairwise(words):
        if option == "-m" and _MODULE.fullmatch(module):
            return module
    return _program_label(words) or _base_name(next(iter(words), ""))


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an unclosed quote
        return command.split()


def _wrapped_command(words: Sequence[str]) -> str | None:
    """Return the label of the command that `anyhook shim` or a shell runs, if that is known."""
    if "shim" in words[:3] and "--" in words:
        rest = words[words.index("--") + 1 :]
        return command_label(rest[0]) if len(rest) == 1 else words_label(rest)
    if len(words) == 3 and _base_name(words[0]) in SHELLS and words[1] == "-c":
        return command_label(words[2])
    return None


def _program_label(words: Sequence[str]) -> str | None:
    """Return the first program that does the work, with its task if it runs tasks."""
    commands = _without_tests(words)
    for index, word in enumerate(commands):
        name = _base_name(word)
        if name in TASK_RUNNERS:
            task = next((w for w in commands[index + 1 :] if _is_program(w)), "")
            return f"{name} {task}".rstrip()
        if name in INTERPRETERS:
            inline = next((word for word in commands[index:] if word in ("-c", "-e")), "")
            return f"{name} {inline}".rstrip()
        if _is_program(word):
            return name
    return None


def _without_tests(words: Sequence[str]) -> list[str]:
    """Leave out operators, `[ … ]`, files of redirections, and words that only prepare."""
    commands: list[str] = []
    in_test = False
    skips_next = False
    for word in words:
        if in_test:
            in_test = word not in ("]", "]]")
        elif skips_next:
            skips_next = False
        elif word in ("[", "[["):
            in_test = True
        elif _OPERATOR.fullmatch(word):
            skips_next = "<" in word or ">" in word
        elif word in TAKES_OPERAND:
            skips_next = True
        else:
            commands.append(word)
    return commands


def _is_program(word: str) -> bool:
    is_wrapper = word in WRAPPERS or ("/" in word and _base_name(word) in SHELLS)
    return not (is_wrapper or _ASSIGNMENT.match(word) or _NUMBER_OR_OPTION.fullmatch(word))


def _base_name(word: str) -> str:
    path = word.rstrip("/\\").replace("\\", "/")
    return path.rpartition("/")[2] or word


def unique_labels(handlers: Iterable[HandlerSpec]) -> dict[int, str]:
    """Return a label for every handler that no handler of another name or command has.

    Of several scripts with one name, the second one is `guard.py#2`.

    Args:
        handlers: All handlers, in the order of a plan.

    Returns:
        The `id` of a handler to its label.
    """
    identifiers: dict[str, list[str]] = {}
    labels: dict[int, str] = {}
    for handler in handlers:
        same = identifiers.setdefault(handler.label, [])
        if handler.identifier not in same:
            same.append(handler.identifier)
        number = same.index(handler.identifier) + 1
        numbered = _LABEL_WITH_NUMBER.format(handler.label, number)
        labels[id(handler)] = numbered if number > 1 else handler.label
    return labels
