"""Short names of commands for people: the script, the module or the program that does the work."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from anyhook.shell.programs import (
    KEYWORDS,
    PACKAGE_RUNNERS,
    SHELLS,
    TASK_RUNNERS,
    base_name,
    is_interpreter,
)
from anyhook.shell.runners import RUNNERS, STRIPPED
from anyhook.shell.words import split_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT_SUFFIXES = tuple(
    ".py .sh .bash .zsh .fish .js .mjs .cjs .ts .mts .rb .pl .php .lua .ps1 .exe .cmd .bat".split()
)
_LABELLED_WITH_TASK = TASK_RUNNERS | {"git", "gh"}
_WRAPPERS = frozenset(
    [
        name
        for name, runner in RUNNERS.items()
        if runner.in_conditions == STRIPPED and (runner.has_number or not runner.operands)
    ]
)
_BEFORE_PROGRAM = SHELLS | KEYWORDS | PACKAGE_RUNNERS | _WRAPPERS | {"for", "run", "dlx", "eval"}
"""Words that may precede the program that does the work."""
_SETUP_COMMANDS = frozenset({"cd", "source", ".", "export", "set"})
"""Commands that prepare for the program, with one operand."""
_TEST_BRACKETS = {"[": "]", "[[": "]]"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATOR = re.compile(r"[();<>|&\n]+")
_NUMBER_OR_OPTION = re.compile(r"-.*|[\d.]+[smhd]?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
MAX_COMMAND = 64 * 1024
"""Characters; a longer command is labelled by its first word."""


@lru_cache(maxsize=4096)
def command_label(command: str) -> str:
    """Return a short name for a command line; see `words_label`."""
    if len(command) > MAX_COMMAND:
        return _first_name(command[:MAX_COMMAND].split())
    return words_label(split_tokens(command))


def words_label(words: Sequence[str]) -> str:
    """Return a short name for a program and its arguments.

    That is the base name of the first script that it names, or the module that an interpreter runs,
    or else its program.
    """
    if "shim" in words[:3] and "--" in words:
        inner = words[words.index("--") + 1 :]
        # A single word is a command line of its own.
        return command_label(inner[0]) if len(inner) == 1 else words_label(inner)
    if len(words) == 3 and base_name(words[0]) in SHELLS and words[1] == "-c":
        return command_label(words[2])
    for word in words:
        if word.lower().endswith(SCRIPT_SUFFIXES) and not word.startswith("-"):
            return base_name(word)
    for option, module in pairwise(words):
        if option == "-m" and _MODULE.fullmatch(module):
            return module
    candidates = _without_setup(words)
    for index, word in enumerate(candidates):
        name = base_name(word)
        arguments = candidates[index + 1 :]
        if name in _LABELLED_WITH_TASK:
            task = next(filter(_is_program, arguments), "")
            return f"{name} {task}".rstrip()
        if is_interpreter(name):
            inline = next((word for word in arguments if word in {"-c", "-e"}), "")
            return f"{name} {inline}".rstrip()
        if _is_program(word):
            return name or _first_name(words)
    return _first_name(words)


def _first_name(words: Sequence[str]) -> str:
    return base_name(words[0]) if words else ""


def _without_setup(words: Sequence[str]) -> list[str]:
    """Leave out operators, targets of redirections, `[ … ]`, and `cd` and the like."""
    remaining: list[str] = []
    closing_bracket = ""
    skips_next = False
    for word in words:
        if closing_bracket:
            if word == closing_bracket:
                closing_bracket = ""
        elif skips_next:
            skips_next = False
        elif word in _TEST_BRACKETS:
            closing_bracket = _TEST_BRACKETS[word]
        elif _OPERATOR.fullmatch(word):
            skips_next = "<" in word or ">" in word
        elif word in _SETUP_COMMANDS:
            skips_next = True
        else:
            remaining.append(word)
    return remaining


def _is_program(word: str) -> bool:
    is_shell = "/" in word and base_name(word) in SHELLS
    if is_shell or word in _BEFORE_PROGRAM:
        return False
    return not (_ASSIGNMENT.match(word) or _NUMBER_OR_OPTION.fullmatch(word))
