"""The entry point of the `anyhook` program.

Commands that an agent starts on every event, and the one that a shell starts at every completion,
are dispatched here, before the libraries of the other commands are imported.
"""

from __future__ import annotations

import gc
import os
import sys

from anyhook._compat import signals
from anyhook._help import HELP_OPTIONS, answer
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
GC_THRESHOLD = 50_000
"""Objects. Collections during the imports take 20 ms and free nothing."""


def main() -> int:
    """Run the program, and return its exit code (see `anyhook.cli.main`)."""
    is_interruptible = signals.getsignal(signals.SIGINT) is signals.default_int_handler
    if is_interruptible:
        signals.signal(signals.SIGINT, end_quietly)
    if os.environ.get("HOME") == "":  # Python would take the root directory for the home
        del os.environ["HOME"]
    words = sys.argv[1:]
    if words[:1] == ["--version"]:
        from anyhook import __version__

        if sys.stdout is not None:
            sys.stdout.write(f"anyhook {__version__}\n")
        _leave(0)
    if (
        words
        and words[0] in FAST_COMMANDS
        and words[1:2] not in ([option] for option in HELP_OPTIONS)
    ):
        gc.disable()  # the process ends before there is anything to collect
        try:
            module = __import__(FAST_COMMANDS[words[0]], fromlist=["main"])
            if is_interruptible:  # from here on an interrupt may need a cleanup
                signals.signal(signals.SIGINT, signals.default_int_handler)
            code: int = module.main(words[1:])
        except KeyboardInterrupt:  # the model must not read a traceback
            code = INTERRUPTED
        _leave(code)
    answered = answer(words)
    if answered is not None:
        _leave(answered)
    gc.set_threshold(GC_THRESHOLD)
    from anyhook.cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # skip the collection at the end of the interpreter


def _leave(code: int) -> NoReturn:
    """End the process at once: finalizing the interpreter takes one or two milliseconds."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the reader is gone
            continue
    os._exit(code)
