"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from anyhook import __version__
from anyhook.cli.bench import bench
from anyhook.cli.capabilities import capabilities
from anyhook.cli.check import check
from anyhook.cli.convert import convert_payload
from anyhook.cli.doctor import doctor
from anyhook.cli.fire import fire
from anyhook.cli.install import init, install, uninstall
from anyhook.cli.listing import list_hooks
from anyhook.cli.migrate import migrate
from anyhook.cli.run import run as run_hook
from anyhook.cli.schema import schema
from anyhook.cli.serve import serve
from anyhook.cli.shim import shim
from anyhook.cli.switch import disable, enable
from anyhook.cli.test import test
from anyhook.cli.trust import trust
from anyhook.cli.worker import worker

app = typer.Typer(
    name="anyhook",
    help="Run, test and explain the lifecycle hooks of AI coding agents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("init")(init)
app.command("fire")(fire)
app.command("list")(list_hooks)
app.command("check")(check)
app.command("enable")(enable)
app.command("disable")(disable)
app.command("trust")(trust)
app.command("test")(test)
app.command("serve")(serve)
app.command("doctor")(doctor)
app.command("bench")(bench)
app.add_typer(worker, name="worker")
app.command("install")(install)
app.command("uninstall")(uninstall)
app.command("migrate")(migrate)
app.command("run")(run_hook)
app.command("shim")(shim)
app.command("convert-payload")(convert_payload)
app.command("capabilities")(capabilities)
app.command("schema")(schema)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anyhook {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Run, test and explain the lifecycle hooks of AI coding agents."""
