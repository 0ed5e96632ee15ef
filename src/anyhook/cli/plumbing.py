"""Commands that agents, plugins and shells start. Each imports late what it alone needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from anyhook.cli import OK


def run(
    words: Annotated[list[str] | None, typer.Argument(metavar="HOOK.py [ARGUMENT ...]")] = None,
) -> int:
    """Run a hook file as an agent does, in a warm worker if possible.

    An agent starts this on every event; the event comes on standard input. The first call starts a
    worker, which keeps the file loaded for the calls after it. If the worker cannot answer
    (`anyhook worker doctor` shows why), the file runs here, with the same answer.

    For example:

        anyhook run .anyhook/guard.py < event.json
        ANYHOOK_WORKER=off anyhook run .anyhook/guard.py < event.json

    The file runs with the interpreter that anyhook is installed in, or the one that `--python`
    names:

        anyhook run --python /opt/app/bin/python .anyhook/guard.py < event.json
    """
    from anyhook.worker.launch import main

    return main(words or [])


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
    from anyhook.migrate.shim import main

    return main(words or [])


class Shell(StrEnum):
    """Shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)],
) -> int:
    """Print the script with which a shell completes commands.

    Put the line of your shell into its start file.

    For example:

        eval "$(anyhook completion bash)"      # ~/.bashrc
        source <(anyhook completion zsh)       # ~/.zshrc, after compinit
        anyhook completion fish | source       # ~/.config/fish/config.fish
    """
    from importlib.resources import files

    script = files("anyhook.cli").joinpath("shells", f"completion.{shell.value}")
    typer.echo(script.read_text(encoding="utf-8"), nl=False)
    return OK
