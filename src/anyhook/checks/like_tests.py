"""Whether a hook starts its file as a test of the file does."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from anyhook.checks.interpreters import language_of_interpreter
from anyhook.checks.started_scripts import find_starts
from anyhook.expressions import expression
from anyhook.shell.programs import SHELLS, base_name
from anyhook.shell.runners import WRAPPER_NAMES
from anyhook.shell.structure import parse_script

if TYPE_CHECKING:
    from anyhook.checks.hook import CheckedHook

_SAME_MODULES = frozenset({"-u", "-B"})
"""Options of Python with which a script finds the same modules and runs as it does without them."""
_DURATION = expression(r"(\d+\.?\d*|\.\d+)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
START_TIMEOUT = 1.0
"""Seconds in which a hook file surely starts and answers, also cold and under load."""


def how_start_differs(hook: CheckedHook) -> str:
    """Return why a start of its file by a hook may end otherwise than a test of the file.

    It is empty if nothing differs. The hook must start only this file (`only_starts_file`).
    """
    (start,) = find_starts(hook)
    options = [word.partition("=")[0] for word in start.arguments if word.startswith("-")]
    is_like_test = not hook.handler.env and {"--agent"}.issuperset(options)
    if not is_like_test or not _is_like_test(hook.handler.command_line):
        return "its command line was not seen to run it"
    if hook.handler.timeout < START_TIMEOUT:
        return f"its timeout of {hook.handler.timeout:g} s may be too short"
    return ""


def _is_like_test(line: str) -> bool:
    """Return whether a line starts a file without another environment or a short limit of time."""
    statements = parse_script(line)
    elements = [pipeline.elements[0] for pipeline in statements]
    if any(element.assignments for element in elements):
        return False
    words = [word.text for word in elements[-1].words]
    match words:
        case [shell, option, text, *_] if base_name(shell) in SHELLS and "c" in option:
            return _is_like_test(text)
    while words and words[0] in ("exec", "timeout"):
        if words[0] == "timeout":
            limit = _DURATION.fullmatch(words[1])
            if limit is None or float(limit[1]) * _UNITS[limit[2]] < START_TIMEOUT:
                return False
        words = words[2 if words[0] == "timeout" else 1 :]
    # `exec -c` empties the environment.
    if not words or words[0].startswith("-"):
        return False
    name = base_name(words[0])
    if name in WRAPPER_NAMES:
        return False
    if language_of_interpreter(name) is None:
        return True
    options = takewhile(lambda word: word.startswith("-"), words[1:])
    return _SAME_MODULES.issuperset(options)
