"""`anyhook ui`: a page about what hooks decide, for the browser of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.atomic_write import replace_file
from anyhook.cli import OK
from anyhook.cli.check import find_problems
from anyhook.cli.html import missing_library
from anyhook.cli.listing import hook_rows, split_recorder
from anyhook.cli.options import HERE, AsJson, Project, existing_project, scope_of
from anyhook.cli.output import console, count_of, print_json
from anyhook.cli.past import open_store
from anyhook.errors import HistoryError, UsageError
from anyhook.history.journal import history_directory
from anyhook.history.store import FILE
from anyhook.model.diagnostics import Severity
from anyhook.page.settings import ConfiguredHook, Problem, Switched
from anyhook.server.address import listen

if TYPE_CHECKING:
    from types import ModuleType

    from anyhook.cli.listing import HookRow
    from anyhook.engine.engine import Engine

PORT = 8790
ENTRANCE = '<!doctype html><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Open</a>\n'
SWITCH_SECONDS = 60.0
"""Seconds after which switching a hook is given up."""
SEVERITIES = list(Severity)


def ui(
    project: Project = HERE,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")
    ] = PORT,
    is_opened: Annotated[
        bool, typer.Option("--open", "-o", help="Open the page in the browser.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show in a browser what hooks decide: live, in the past, and what to look at first.

    The page is for this machine only, and for the browser that opens the printed address. It works
    without a network. Ctrl-C ends it.

    For example:

        anyhook ui
        anyhook ui --open --project ~/code/app
    """
    app, server = import_page("ui")
    settings = ProjectSettings(existing_project(project))
    directory = Path(history_directory())
    _migrate(directory)
    listening, address = listen("127.0.0.1", port, is_guarded=True)
    with closing(listening):
        access = app.Access.load(directory, address.port)

        def announce() -> None:
            if as_json:
                print_json({"url": access.url, "pid": os.getpid()})
            else:
                _show(access.url)
            if is_opened:
                webbrowser.open(entrance(directory, access.url).as_uri())

        with suppress(KeyboardInterrupt):  # Ctrl-C is the usual way to end it
            server.run(app.make_app(directory, access, settings), listening, announce)
    return OK


def _migrate(directory: Path) -> None:
    """Migrate a store of a former release before the page waits for it; it reports any problem."""
    if (directory / FILE).exists():
        with suppress(HistoryError), open_store():
            pass


def entrance(directory: Path, url: str) -> Path:
    """Write a file that leads to the first address, and return its path.

    Other users of this machine can read the arguments of a browser that is started, but not the
    file.

    Args:
        directory: Directory of the history.
        url: The first address.

    Raises:
        UsageError: If it cannot be written.
    """
    path = directory / "ui-open.html"
    try:
        replace_file(path, ENTRANCE.format(url).encode(), mode=0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _show(url: str) -> None:
    out = console()
    out.print(Text.assemble("The page is at ", (url, "bold cyan")), soft_wrap=True)
    out.print("The address is for you alone. Ctrl-C ends it.", style="dim")


def import_page(command: str) -> tuple[ModuleType, ModuleType]:
    """Import the application and the server.

    Args:
        command: The command that needs them.

    Raises:
        UsageError: If a library is not installed.
    """
    try:
        from anyhook.page import app
        from anyhook.server import http
    except ModuleNotFoundError as error:
        raise missing_library(error, f"anyhook {command}") from None
    return app, http


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of a project and its user, as `list` and `check` read them.

    Attributes:
        project: Directory of the project.
    """

    project: Path

    def problems(self) -> list[Problem]:
        """Return the mistakes, the worst first."""
        found: list[Problem] = []
        scope = scope_of(self.project, None)
        for finding in find_problems(list(scope.engines(default=True))):
            diagnostic = finding.diagnostic
            place = "" if diagnostic.place is None else str(diagnostic.place)
            severity = str(diagnostic.severity)
            found.append(
                Problem(finding.agent, severity, diagnostic.code, diagnostic.message, place)
            )
        return sorted(found, key=lambda problem: SEVERITIES.index(Severity(problem.severity)))

    def hooks(self) -> list[ConfiguredHook]:
        """Return the hooks of every agent."""
        found: list[ConfiguredHook] = []
        for engine in scope_of(self.project, None).engines(default=True):
            rows, recorder = split_recorder(hook_rows(engine))
            found += [_configured_hook(engine, row) for row in rows]
            if recorder:
                found.append(_configured_recorder(engine, recorder))
        return found

    def switch(self, agent: str, name: str, *, is_on: bool) -> Switched:
        """Switch a hook with `anyhook enable` or `anyhook disable`."""
        if name.startswith("-"):
            return Switched(is_done=False, message=f"{name!r} cannot be the name of a hook")
        command = "enable" if is_on else "disable"
        arguments = [command, name, "--agent", agent, "--project", str(self.project), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "anyhook", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SWITCH_SECONDS,
            check=False,
        )
        if done.returncode not in (OK, 1) or not done.stdout:
            message = done.stderr.strip() or f"anyhook {command} exited with {done.returncode}"
            return Switched(is_done=False, message=message)
        answer = json.loads(done.stdout)
        state, is_changed = answer["state"], bool(answer["changed"])
        verb = "is now" if is_changed else "was already"
        message = f"{name} {verb} {state}"
        if answer["switched_off_by"] and is_on:
            message += f": {answer['switched_off_by']} switches it off"
        return Switched(state == ("on" if is_on else "off"), message)


def _configured_hook(engine: Engine, row: HookRow) -> ConfiguredHook:
    return ConfiguredHook(
        agent=engine.agent.name,
        event=engine.agent.by_canonical[row.definition.event].wire,
        name=row.label,
        matcher=row.definition.matcher or "*",
        state=row.state,
        layer=str(row.handler.layer),
        place=str(row.handler.place),
        is_switchable=row.state in ("on", "off"),
    )


def _configured_recorder(engine: Engine, rows: list[HookRow]) -> ConfiguredHook:
    """Return the one hook that stands for the recorder on all of its events."""
    handler = rows[0].handler
    return ConfiguredHook(
        agent=engine.agent.name,
        event=count_of(len(rows), "event"),
        name=rows[0].label,
        matcher="*",
        state="on",
        layer=str(handler.layer),
        place=handler.place.file,
        is_switchable=False,
        command="anyhook record off",
    )
