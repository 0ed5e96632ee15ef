"""`anyhook completion`: print the script with which a shell completes commands."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files
from typing import Annotated

import typer

from anyhook.cli import OK


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
    script = files("anyhook.cli").joinpath("shells", f"completion.{shell.value}")
    typer.echo(script.read_text(encoding="utf-8"), nl=False)
    return OK
