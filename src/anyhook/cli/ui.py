"""`anyhook ui`: a page about what hooks decide, for the browser of this machine."""

from __future__ import annotations

import os
import webbrowser
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from anyhook.atomic_write import replace_file
from anyhook.cli import OK
from anyhook.cli.colors import HEADING
from anyhook.cli.html import missing_library
from anyhook.cli.options import HERE, AsJson, Project
from anyhook.cli.output import console, print_json
from anyhook.errors import UsageError
from anyhook.journal.lines import history_directory
from anyhook.manage.scope import existing_project
from anyhook.server.address import listen

PORT = 8790
ENTRANCE = '<!doctype html><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Open</a>\n'


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
    """Show in a browser what hooks decide, live and in past sessions.

    The page is for this machine only, and for the browser that opens the printed address. It works
    without a network. Ctrl-C ends it.

    For example:

        anyhook ui
        anyhook ui --open --project ~/code/app
    """
    try:
        from anyhook.page import app
        from anyhook.page.access import Access
        from anyhook.server import http
    except ModuleNotFoundError as error:
        raise missing_library(error, "anyhook ui") from None
    directory_of_project = existing_project(project)
    directory = Path(history_directory())
    listening, address = listen("127.0.0.1", port, is_guarded=True)
    with closing(listening):
        access = Access.load(directory, address.port)

        def announce() -> None:
            if as_json:
                print_json({"url": access.url, "pid": os.getpid()})
            else:
                console().print(
                    Text.assemble("The page is at ", (access.url, HEADING)), soft_wrap=True
                )
                console().print("The address is for you alone. Ctrl-C ends it.", style="dim")
            if is_opened:
                webbrowser.open(entrance(directory, access.url).as_uri())

        with suppress(KeyboardInterrupt):  # Ctrl-C is the usual way to end it
            http.run(app.make_app(directory, access, directory_of_project), listening, announce)
    return OK


def entrance(directory: Path, url: str) -> Path:
    """Write a file that leads to the first address, and return its path.

    Other users of this machine can read the arguments of a browser that is started, but not the
    file.

    Raises:
        UsageError: If it cannot be written.
    """
    path = directory / "ui-open.html"
    try:
        replace_file(path, ENTRANCE.format(url).encode(), mode=0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path
