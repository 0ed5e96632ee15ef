"""`anyhook run`: a hook file through a worker, by the fastest client that is there."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 64


def main(argv: Sequence[str]) -> int:
    """Become the client that runs a hook file with the interpreter of this program.

    Args:
        argv: The hook file and its arguments.

    Returns:
        The exit code, if there is nothing to run.
    """
    if not argv:
        sys.stderr.write("usage: anyhook run HOOK.py [ARGUMENT ...]\n")
        return USAGE
    words = [sys.executable, *argv]
    native = os.path.join(os.path.dirname(__file__), "anyhook-run")
    try:
        os.execv(native, [native, *words])
    except OSError:  # none was built
        from anyhook.worker.client import main as run

        run(words)
