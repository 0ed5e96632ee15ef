"""Where the `anyhook` program starts.

Commands that an agent starts on every event go their own way: they must not wait for the libraries
of the commands that people use.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` makes an enum of every number
import gc
import os
import sys

from anyhook.interrupts import INTERRUPTED, end_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

QUICK = {"run": "anyhook.worker.launch", "shim": "anyhook.migrate.shim"}
"""Command to the module whose `main` takes its arguments and returns the exit code."""
COLLECT_AFTER = 50_000
"""Objects: collections while libraries are imported take 20 ms and free nothing."""


def main() -> int:
    """Run the program.

    Returns:
        The exit code: see `anyhook.cli.main`.
    """
    is_interruptible = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if is_interruptible:
        _signal.signal(_signal.SIGINT, end_quietly)
    words = sys.argv[1:]
    if words[:1] == ["--version"]:
        from anyhook import __version__

        if sys.stdout is not None:
            sys.stdout.write(f"anyhook {__version__}\n")
        _leave(0)
    if words and words[0] in QUICK and not {"-h", "--help"} & set(words[1:2]):
        gc.disable()  # it ends before there is anything to collect
        try:
            module = __import__(QUICK[words[0]], fromlist=["main"])
            if is_interruptible:  # from here on there may be something to clean up
                _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            code: int = module.main(words[1:])
        except KeyboardInterrupt:  # no traceback for the model
            code = INTERRUPTED
        _leave(code)
    gc.set_threshold(COLLECT_AFTER)
    from anyhook.cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # else the interpreter looks at every object once more before it ends


def _leave(code: int) -> NoReturn:
    """End now: taking an interpreter down tidily costs the agent a millisecond or two."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
            continue
    os._exit(code)
