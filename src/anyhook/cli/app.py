"""The table of commands. A command's module is imported when it is run or listed in the help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from anyhook import __version__

GROUPS = {
    "Write hooks": {
        "init": "init:init",
        "add": "add:add",
        "remove": "remove:remove",
        "test": "test:test",
        "score": "score:score",
    },
    "Inspect and control hooks": {
        "fire": "fire:fire",
        "list": "listing:list_hooks",
        "hooks": "hooks:hooks",
        "check": "check:check",
        "probe": "probe:probe",
        "redteam": "redteam:redteam",
        "trust": "trust:trust",
        "enable": "switch:enable",
        "disable": "switch:disable",
        "shadow": "shadow:shadow",
        "promote": "shadow:promote",
        "allow": "allow:allow",
    },
    "Look back": {
        "ui": "ui:ui",
        "history": "history_files:history",
        "backtest": "backtest:backtest",
        "replay": "backtest:replay",
        "report": "report:report",
    },
    "Run hooks": {
        "run": "run:run",
        "serve": "serve:serve",
        "dispatch": "dispatch:dispatch",
        "worker": "worker:worker",
        "record": "record:record",
        "doctor": "doctor:doctor",
        "bench": "bench:bench",
    },
    "Use several agents": {
        "migrate": "migrate:migrate",
        "shim": "shim:shim",
        "convert-payload": "convert:convert_payload",
        "capabilities": "capabilities:capabilities",
        "schema": "schema:schema",
        "completion": "completion:completion",
    },
}
"""Heading in the help to its commands, each as `MODULE:NAME` of a function or of an app."""


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """Make the application for a command line.

    It holds only the command that the arguments name, because importing every command takes longer
    than most commands run. Help and suggestions for a misspelt command need all of them.

    Args:
        arguments: The command line without the program's name.
    """
    app = typer.Typer(
        name="anyhook",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    named = arguments[0] if arguments else None
    is_command = any(named in commands for commands in GROUPS.values())
    for heading, commands in GROUPS.items():
        for name, location in commands.items():
            if is_command and name != named:
                continue
            command = _import_command(location)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=heading)
            else:
                app.command(name, rich_help_panel=heading)(command)
    return app


def _import_command(location: str) -> typer.Typer | Callable[..., Any]:
    module, _, name = location.partition(":")
    command: typer.Typer | Callable[..., Any]
    command = getattr(import_module(f"anyhook.cli.{module}"), name)
    return command


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"anyhook {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Run, test and explain the lifecycle hooks of AI coding agents."""
