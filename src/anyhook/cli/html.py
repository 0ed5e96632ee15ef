"""The option `--html`: a report as one file for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.cli.output import console
from anyhook.errors import MissingLibraryError, UsageError
from anyhook.manage.paths import show_path

if TYPE_CHECKING:
    from anyhook.backtest.evaluation import Evaluation

LIBRARIES = frozenset({"jinja2", "markupsafe", "pygal", "sse_starlette", "starlette", "uvicorn"})

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as a page without scripts."),
]


def write_html(path: Path, done: Evaluation) -> None:
    """Write the report of a backtest.

    Raises:
        UsageError: If a library is missing, or the file cannot be written.
    """
    try:
        from anyhook.page.report import backtest_report
    except ModuleNotFoundError as error:
        raise missing_library(error, "--html") from None
    write_page(path, backtest_report(done))


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


def missing_library(error: ModuleNotFoundError, feature: str, extra: str = "ui") -> Exception:
    """Return the error for a library that is not installed, with the command that installs it."""
    library = (error.name or "").partition(".")[0]
    if library not in LIBRARIES:
        return error
    return MissingLibraryError(feature, library, extra)
