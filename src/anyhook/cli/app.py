"""The table of commands: each is imported when it is run, or when help lists all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from anyhook import __version__

COMMANDS = {
    "init": "install:init",
    "fire": "fire:fire",
    "list": "listing:list_hooks",
    "check": "check:check",
    "enable": "switch:enable",
    "disable": "switch:disable",
    "trust": "trust:trust",
    "test": "test:test",
    "serve": "serve:serve",
    "doctor": "doctor:doctor",
    "bench": "bench:bench",
    "worker": "worker:worker",
    "install": "install:install",
    "uninstall": "install:uninstall",
    "migrate": "migrate:migrate",
    "run": "run:run",
    "shim": "shim:shim",
    "convert-payload": "convert:convert_payload",
    "capabilities": "capabilities:capabilities",
    "schema": "schema:schema",
}
"""Command to its module in this package and its function, or its group of commands, there."""


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """Make the application that runs a command line.

    Importing every command costs more than most commands take. So the application holds the
    command that is named, and all of them only for help and for suggestions.

    Args:
        arguments: The command line without the program's name.
    """
    app = typer.Typer(
        name="anyhook",
        help="Run, test and explain the lifecycle hooks of AI coding agents.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    is_command = bool(arguments) and arguments[0] in COMMANDS
    for name in arguments[:1] if is_command else COMMANDS:
        command = _imported(COMMANDS[name])
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _imported(place: str) -> typer.Typer | Callable[..., Any]:
    module, _, name = place.partition(":")
    command: typer.Typer | Callable[..., Any] = getattr(
        import_module(f"anyhook.cli.{module}"), name
    )
    return command


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anyhook {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Run, test and explain the lifecycle hooks of AI coding agents."""
