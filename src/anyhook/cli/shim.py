"""`anyhook shim --help`. Without help, the program starts `anyhook.migrate.shim` by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from anyhook.migrate.shim import main


def shim(
    words: Annotated[list[str] | None, typer.Argument(metavar="OPTIONS -- COMMAND")] = None,
) -> int:
    """Run a command that was written for another agent.

    The command gets the event in the form of its own agent; its answer is converted to the form of
    the agent that runs the shim. `anyhook migrate` writes such commands. One argument after `--` is
    a command line for the shell; several are a program and its arguments.

    For example:

        anyhook shim --as claude -- ./guard.sh
        anyhook shim --as claude --event PostToolUse -- 'jq . | ./check.sh'

    Options: `--as AGENT`, `--host AGENT` (default: recognized), `--event NAME`,
    `--matcher PATTERN`, `--if RULE`, `--shell NAME`, `--timeout SECONDS`, `--on-failure block`,
    `--env NAME=VALUE`, `--background`.
    """
    return main(words or [])
