"""The entry point of the `anyhook` program.

Commands that an agent starts on every event, and the one that a shell starts at every completion,
are dispatched here, before the libraries of the other commands are imported.
"""

from __future__ import annotations

import gc
import os
import sys

from anyhook._compat import signals
from anyhook.interrupts import INTERRUPTED, end_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FAST_COMMANDS = {
    "run": "anyhook.worker.launch",
    "shim": "anyhook.migrate.shim",
    "--complete": "anyhook.cli.completion_words",
}
"""Command to the module whose `main` takes its arguments and returns the exit code."""
HELP_OPTIONS = ("-h", "--help")
USAGE = 64
MAX_DIGITS = 6
"""Digits of a number of columns."""
GC_THRESHOLD = 50_000
"""Objects. Collections during the imports take 20 ms and free nothing."""


def main() -> int:
    """Run the program, and return its exit code (see `anyhook.cli.main`)."""
    is_interruptible = signals.getsignal(signals.SIGINT) is signals.default_int_handler
    if is_interruptible:
        signals.signal(signals.SIGINT, end_quietly)
    words = sys.argv[1:]
    if words[:1] == ["--version"]:
        from anyhook import __version__

        if sys.stdout is not None:
            sys.stdout.write(f"anyhook {__version__}\n")
        _leave(0)
    if words and words[0] in FAST_COMMANDS and not {"-h", "--help"} & set(words[1:2]):
        gc.disable()  # the process ends before there is anything to collect
        try:
            module = __import__(FAST_COMMANDS[words[0]], fromlist=["main"])
            if is_interruptible:  # from here on an interrupt may need a cleanup
                signals.signal(signals.SIGINT, signals.default_int_handler)
            code: int = module.main(words[1:])
        except KeyboardInterrupt:  # the model must not read a traceback
            code = INTERRUPTED
        _leave(code)
    answered = _answer_from_text(words)
    if answered is not None:
        _leave(answered)
    gc.set_threshold(GC_THRESHOLD)
    from anyhook.cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # skip the collection at the end of the interpreter


def _answer_from_text(words: list[str]) -> int | None:
    """Print the help, or what is wrong with the name of a command.

    Returns:
        The exit code; `None` if only the command line interface can answer.
    """
    from contextlib import suppress

    from anyhook._help_text import COMMANDS, HELP

    if words and words[0] not in (*COMMANDS, *HELP_OPTIONS) and not words[0].startswith("-"):
        from anyhook.model.suggest import did_you_mean

        hint = did_you_mean(words[0], COMMANDS) or "the commands are in: anyhook --help"
        text = f"error: there is no command {words[0]!r}; {hint}\n"
        with suppress(OSError, AttributeError):  # standard error is closed
            sys.stderr.write(text.encode("ascii", "backslashreplace").decode())
        return USAGE
    if words not in ([option] for option in HELP_OPTIONS) or not _fits():
        return None
    with suppress(OSError):  # the reader is gone, which is no failure
        sys.stdout.write(HELP)
    return 0


def _fits() -> bool:
    """Return whether the text is readable where it is printed."""
    from anyhook._help_text import COLUMNS

    if sys.stdout is None or sys.stdout.encoding.lower() != "utf-8":
        return False
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and len(columns) < MAX_DIGITS:
        return int(columns) >= COLUMNS
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns >= COLUMNS
    except (OSError, ValueError):  # no terminal
        return True


def _leave(code: int) -> NoReturn:
    """End the process at once: finalizing the interpreter takes one or two milliseconds."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the reader is gone
            continue
    os._exit(code)
