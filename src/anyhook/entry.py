"""Where the `anyhook` program starts.

Commands that an agent starts on every event go their own way: they must not wait for the libraries
of the commands that people use.
"""

from __future__ import annotations

import sys

QUICK = {"shim": "anyhook.migrate.shim"}
"""Command to the module whose `main` takes its arguments and returns the exit code."""


def main() -> int:
    """Run the program.

    Returns:
        The exit code: see `anyhook.cli.main`.
    """
    words = sys.argv[1:]
    if words and words[0] in QUICK and not {"-h", "--help"} & set(words[1:2]):
        module = __import__(QUICK[words[0]], fromlist=["main"])
        code: int = module.main(words[1:])
        return code
    from anyhook.cli import main as run

    return run()
