"""`anyhook history report`: a session as one file for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyhook.cli import OK
from anyhook.cli.history import AllEvents, SessionArgument
from anyhook.cli.html import missing_library, write_page
from anyhook.cli.open_history import open_history
from anyhook.history.sessions import find_session

OUTPUT = Path("report.html")


def report(
    session: SessionArgument = "last",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ] = OUTPUT,
    agent: Annotated[str, typer.Option("--agent", help="The agent of the session.")] = "",
    everything: AllEvents = False,
) -> int:
    """Write a session as one file, to send or to attach.

    The file needs neither a server nor scripts nor a network. Secrets that are recognized are
    replaced. For a backtest: `anyhook backtest --html FILE`.

    For example:

        anyhook history report last -o session.html
    """
    try:
        from anyhook.page.report import session_report
    except ModuleNotFoundError as error:
        raise missing_library(error, "anyhook history report") from None
    with open_history() as store:
        text = session_report(store, find_session(store, session, agent), everything=everything)
    write_page(output, text)
    return OK
