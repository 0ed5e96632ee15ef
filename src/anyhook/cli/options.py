"""Options that commands share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.cli.output import console
from anyhook.cli.render import make_table
from anyhook.errors import MissingLibraryError, UsageError
from anyhook.file_errors import may_exist
from anyhook.manage.paths import show_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from anyhook.engine.observers import Observer
    from anyhook.manage.scope import CommandScope

    Observers = tuple[Observer, ...]

HERE = Path()


def read_directory(text: str) -> Path:
    """Read the directory of an option; an empty one is a variable of a script that is not set.

    Raises:
        BadParameter: If it is empty.
    """
    if not text:
        raise typer.BadParameter("it is empty; name a directory")
    return Path(text)


Project = Annotated[
    Path,
    typer.Option(
        "--project",
        "-C",
        metavar="DIR",
        parser=read_directory,
        help="Directory of the project. Default: the project of the current directory.",
        show_default=False,
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help=f"One of {', '.join(AGENTS)}. Default: the agents with hooks here.",
        show_default=False,
    ),
]
AgentNames = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help=f"One of {', '.join(AGENTS)}; may be repeated. Default: every agent found here.",
    ),
]
GuardNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[HOOK]...",
        help="Hook files, programs, or hooks of the settings by name. Default: all hooks of the "
        "settings that decide calls of tools.",
    ),
]
TrustOnce = Annotated[
    bool, typer.Option("--trust-once", help="Run untrusted hooks of the project this time.")
]
Otel = Annotated[
    bool,
    typer.Option(
        "--otel",
        envvar="ANYHOOK_OTEL",
        help="Export spans and metrics of the hooks to an OpenTelemetry collector, which the "
        "variables OTEL_EXPORTER_OTLP_ENDPOINT etc. name.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only what happened since then: 90d, 12h, 30min, 2026-11-01, 2026-11-01T12:00.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes and write nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]


@contextmanager
def open_telemetry(
    is_wanted: bool, environ: Mapping[str, str] | None = None
) -> Iterator[Observers]:
    """Yield the observers of an engine for the option `--otel`, and export the rest at the end.

    The parent trace is named by the variables in `environ`, by default those of this process.

    Raises:
        UsageError: If OpenTelemetry is not installed, or its variables are not valid.
    """
    if not is_wanted:
        yield ()
        return
    try:
        from anyhook.telemetry import Telemetry
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from None
    with Telemetry.from_environment(environ=environ, every_event=True) as telemetry:
        yield (telemetry,)


def print_project(out: Console, project: Path) -> None:
    """Print the project if it is not the current directory."""
    if os.path.realpath(project) != os.path.realpath(HERE):
        out.print(f"project {show_path(str(project))}", style="dim")


def print_no_hooks(out: Console, scope: CommandScope, *, is_read: bool = True) -> None:
    """Report that no hooks are configured; of named agents, which files were looked for.

    `is_read` is false if a file could not be read: it may have hooks.
    """
    finding = "No hooks are configured here" if is_read else "No hooks were read here"
    if scope.agents:
        from anyhook.settings.sources import Location, places

        out.print(f"{finding}. These files were looked for:")
        table = make_table("agent", "layer", "file", "", no_wrap=("agent", "layer"))
        for agent in map(get_agent, scope.agents):
            location = Location.of(scope.project, agent)
            for layer, path in places(agent, location):
                state = "" if may_exist(path) else "not found"
                file = Text(show_path(str(path), scope.project))
                table.add_row(agent.title, str(layer), file, state)
        out.print(table)
    else:
        titles = ", ".join(get_agent(name).title for name in CODING_AGENTS)
        text = f"{finding}; anyhook looked for those of {titles}."
        out.print(text, soft_wrap=True)
    out.print("To write a hook and configure it for your agent: anyhook init")
    for settings in scope.with_hooks:
        if settings.agent not in scope.agents:
            where = show_path(str(settings.files[0]), scope.project)
            out.print(f"{settings.title} has hooks here, in {where}; add: --agent {settings.agent}")


LIBRARIES = frozenset(
    {"jinja2", "markupsafe", "pygal", "sse_starlette", "starlette", "textual", "uvicorn"}
)

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as a page without scripts."),
]


def write_page(path: Path, text: str) -> None:
    """Write a page, and print where it is.

    Raises:
        UsageError: If it cannot be written.
    """
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    console(stderr=True).print(f"wrote {show_path(str(path))}", soft_wrap=True)


@contextmanager
def extra_required(feature: str, extra: str = "ui", otherwise: str = "") -> Iterator[None]:
    """Import libraries of an extra in the block; `otherwise` is what else the user can do.

    Raises:
        MissingLibraryError: If one is not installed, with the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in LIBRARIES:
            raise
        raise MissingLibraryError(feature, library, extra, otherwise) from None
