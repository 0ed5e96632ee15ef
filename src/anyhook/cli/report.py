"""`anyhook history report`: a session or a backtest as one file for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyhook.cli import OK
from anyhook.cli.backtest import Against, On, ProjectOption, backtest
from anyhook.cli.html import missing_library, write_page
from anyhook.cli.open_history import open_history
from anyhook.cli.options import Since, TrustOnce, Yes
from anyhook.errors import UsageError
from anyhook.history.sessions import find_session

OUTPUT = Path("report.html")


def report(
    session: Annotated[
        str,
        typer.Argument(
            metavar="[SESSION]", help="A session, the beginning of its identifier, or `last`."
        ),
    ] = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ] = OUTPUT,
    hook: Annotated[
        Path | None,
        typer.Option("--backtest", metavar="HOOK.py", help="What this file would have decided."),
    ] = None,
    project: ProjectOption = None,
    against: Against = "",
    on: On = None,
    since: Since = "",
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Events without hooks and decisions too.")
    ] = False,
    yes: Yes = False,
    trust_once: TrustOnce = False,
) -> int:
    """Write a session or a backtest as one file, to send or to attach.

    The file needs neither a server nor scripts nor a network. Secrets that are recognized are
    replaced. With `--backtest` or `--project`, it is the report of `anyhook backtest`, which takes
    the same options.

    For example:

        anyhook history report last -o session.html
        anyhook history report --backtest guard.py --against git:HEAD -o backtest.html
    """
    is_backtest = hook is not None or project is not None
    if is_backtest == bool(session):
        raise UsageError("give a session (like last), or --backtest HOOK.py, or --project DIR")
    if is_backtest:
        return backtest(
            hook,
            project=project,
            on=on,
            against=against,
            since=since,
            agent=agent,
            yes=yes,
            trust_once=trust_once,
            html=output,
        )
    try:
        from anyhook.page.report import session_report
    except ModuleNotFoundError as error:
        raise missing_library(error, "anyhook history report") from None
    with open_history() as store:
        found = find_session(store, session, agent)
        text = session_report(store, found, everything=everything)
    write_page(output, text)
    return OK
