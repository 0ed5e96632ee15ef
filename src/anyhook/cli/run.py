"""`anyhook run --help`; the command itself starts without the libraries of this package."""

from __future__ import annotations

from typing import Annotated

import typer

from anyhook.worker.launch import main

HELP = """Run a hook file as an agent does, in a warm worker if possible.

An agent starts this on every event; the event comes on standard input. The first call starts a
worker, which keeps the file loaded for the calls after it. If the worker cannot answer
(`anyhook worker doctor` shows why), the file runs here, with the same answer.

For example:

    anyhook run .anyhook/guard.py < event.json
    ANYHOOK_WORKER=off anyhook run .anyhook/guard.py < event.json

The file runs with the interpreter that anyhook is installed in, or the one that `--python` names:

    anyhook run --python /opt/app/bin/python .anyhook/guard.py < event.json
"""


def run(
    words: Annotated[list[str] | None, typer.Argument(metavar="HOOK.py [ARGUMENT ...]")] = None,
) -> int:
    """Run a hook file as an agent does, in a warm worker if possible."""
    return main(words or [])


run.__doc__ = HELP
