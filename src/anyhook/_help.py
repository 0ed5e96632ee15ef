"""The help of the program, which is answered before the libraries of its commands are imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HELP_OPTIONS = ("-h", "--help")
USAGE = 64
"""Exit code of a wrong command line."""


def answer(words: Sequence[str]) -> int | None:
    """Print the help of the program, or what is wrong with the name of a command.

    Args:
        words: The command line without the program's name.

    Returns:
        The exit code; `None` if the words name a command.
    """
    from contextlib import suppress

    from anyhook._help_text import COMMANDS, HELP, PLUMBING

    if not words or (len(words) == 1 and words[0] in (*HELP_OPTIONS, "help")):
        text, code, stream = HELP, 0 if words else USAGE, sys.stdout if words else sys.stderr
    elif [*words] == ["help", "plumbing"]:
        text, code, stream = PLUMBING, 0, sys.stdout
    else:
        name = words[1] if words[0] == "help" else words[0]
        if name in COMMANDS or name.startswith("-"):
            return None
        from anyhook.model.suggest import did_you_mean

        hint = did_you_mean(name, COMMANDS) or "the commands are in: anyhook --help"
        problem = f"error: there is no command {name!r}; {hint}\n"
        text = problem.encode("ascii", "backslashreplace").decode()
        code, stream = USAGE, sys.stderr
    with suppress(OSError, AttributeError):  # the stream is closed, or its reader is gone
        stream.write(text)
    return code
