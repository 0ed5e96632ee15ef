"""The `anyhook` command: one file per subcommand, none of them imported before it is asked for."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.interrupts import INTERRUPTED, end_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OK = 0
PROBLEMS = 1
DECIDED = 2
"""Only as a decision: no failure of ours may look like a hook that blocks."""
USAGE = 64
BUG = 70
WIDEST = 1000
"""Columns of the widest terminal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Arguments without the program's name; by default the process's.

    Returns:
        The exit code: 0 fine, 1 a check found problems, 2 a decision to block (`fire --exit-code`),
        64 usage, 70 a bug of anyhook, 130 interrupted.
    """
    _prepare_streams()
    _limit_width()
    from typer.exceptions import Abort, Exit, TyperException

    from anyhook.cli.app import make_app
    from anyhook.cli.output import say_error
    from anyhook.errors import AnyhookError

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        app = make_app(arguments)
        with _signals_interrupt():
            code = app(arguments, prog_name="anyhook", standalone_mode=False)
    except Exit as end:
        code = end.exit_code
    except (AnyhookError, TyperException) as error:
        message = error.format_message() if isinstance(error, TyperException) else str(error)
        say_error(message or "say what to do; see: anyhook --help")
        return USAGE
    except (KeyboardInterrupt, Abort):
        say_error("interrupted")
        return INTERRUPTED
    except (SystemExit, BrokenPipeError):  # typer exits when nobody reads the output any more
        return _without_stdout()
    except OSError as error:
        say_error(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return USAGE
    except Exception as error:  # noqa: BLE001 - the last boundary: a report instead of a traceback
        from anyhook.cli.report import write_report

        say_error(
            f"this is a bug of anyhook: {type(error).__name__}: {error}\n"
            f"a report is in {write_report(error)}"
        )
        return BUG
    if code == INTERRUPTED:  # typer makes an exit code of Ctrl-C
        say_error("interrupted")
    return code if isinstance(code, int) else OK


def _prepare_streams() -> None:
    """Open what the caller closed, and never fail for a character that the terminal lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _limit_width() -> None:
    """Drop sizes of terminals that are none, and limit the others: lines are filled up to them."""
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        text = os.environ.get(name)
        if text is None:
            continue
        is_number = text.isascii() and text.isdecimal()
        if not is_number or not text.strip("0"):
            del os.environ[name]
        elif len(text) > len(str(WIDEST)) or int(text) > WIDEST:
            os.environ[name] = str(WIDEST)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt`, which ends running hooks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    for name in names:
        if before[name] in (signal.SIG_DFL, end_quietly):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        yield
    finally:
        for name in names:
            signal.signal(getattr(signal, name), before[name])


def _without_stdout() -> int:
    """Leave quietly when whoever read the output went away (`anyhook list | head -1`)."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # there is no such stream at all
        return OK
    finally:
        os.close(null)
    return OK
