"""`anyhook shim --help`; the shim itself starts without the libraries of this package."""

from __future__ import annotations

from typing import Annotated

import typer

from anyhook.migrate.shim import main

HELP = """Run a command that was written for another agent.

The agent whose settings this stands in sends its event; the command gets the event of its own
agent, and its answer comes out in the form of the agent that asked. `anyhook migrate` writes such
commands.

One argument after `--` is a command line for the shell; several are a program and its arguments.

For example:

    anyhook shim --as claude -- ./guard.sh
    anyhook shim --as claude --event PostToolUse --if 'Bash(git *)' -- 'jq … | ./check.sh'

Options: `--as AGENT`, `--host AGENT` (by default found out), `--event NAME`, `--matcher PATTERN`,
`--if RULE`, `--shell NAME`, `--timeout SECONDS`, `--on-failure block`, `--env NAME=VALUE`,
`--background`.
"""


def shim(
    words: Annotated[list[str] | None, typer.Argument(metavar="OPTIONS -- COMMAND")] = None,
) -> int:
    """Run a command that was written for another agent."""
    return main(words or [])


shim.__doc__ = HELP
