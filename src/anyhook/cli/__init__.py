"""The `anyhook` command: one file per subcommand, imported when the subcommand is used."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook._help import USAGE, answer
from anyhook.interrupts import INTERRUPTED, end_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OK = 0
PROBLEMS = 1
# Agents read exit code 2 of a hook as a denial, so that no failure of this program may use it.
DENIED = 2
RULES_DIFFER = 3
NOT_DECIDED = 4
BUG = 70

MAX_TERMINAL_SIZE = 1000
"""Columns or lines; typer and rich fill lines up to the width that the environment asks for."""
SIZE_VARIABLES = ("COLUMNS", "LINES", "TERMINAL_WIDTH")
REHEARSING_COMMANDS = frozenset(
    {"test", "fire", "worker", "probe", "migrate", "check", "init", "add", "backtest", "redteam"}
)
"""Commands whose events no agent has sent: hook files do not record them."""
INTERRUPTING_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, by default with the arguments of the process.

    Returns:
        The exit code: 0 success, 1 a check found problems, 2 an event was denied and 3 the rule
        sets differ about it (`fire --exit-code`), 4 an event was not decided, because a hook that
        listens to it was not run, 64 usage, 70 a bug of anyhook, 130 interrupted.
    """
    # Streams that the caller closed are opened; what a stream cannot encode is escaped.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Variables with a terminal size that is not a positive number are removed.
    for name in SIZE_VARIABLES:
        value = os.environ.get(name)
        if value is None:
            continue
        is_positive = value.isascii() and value.isdecimal() and value.strip("0") != ""
        if not is_positive:
            del os.environ[name]
        elif len(value) > len(str(MAX_TERMINAL_SIZE)) or int(value) > MAX_TERMINAL_SIZE:
            os.environ[name] = str(MAX_TERMINAL_SIZE)
    arguments = list(sys.argv[1:] if argv is None else argv)
    exit_code = answer(arguments)
    if exit_code is not None:
        return exit_code
    if arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and print its error."""
    from typer.exceptions import Abort, Exit, TyperException

    from anyhook.cli.app import make_app
    from anyhook.cli.output import print_error, write_bug_report
    from anyhook.errors import AnyhookError, StartedByAgentError

    try:
        _check_home()
        app = make_app(arguments)
        with _interrupt_on_signals(), _not_recorded(arguments):
            exit_code = app(arguments, prog_name="anyhook", standalone_mode=False)
    except Exit as error:
        exit_code = error.exit_code
    except TyperException as error:
        # Without the words of typer's validation, and lists in one line.
        message = error.format_message().replace(": Value error, ", ": ", 1).replace("\n\t", " ")
        print_error(message or "a command is missing; see: anyhook --help")
        return USAGE
    except StartedByAgentError as error:
        directory, line = shlex.quote(str(Path.cwd())), shlex.join(["anyhook", *arguments])
        print_error(f"{error}; in a terminal of yours: cd {directory} && {line}")
        return PROBLEMS
    except AnyhookError as error:
        print_error(str(error))
        return USAGE
    except (KeyboardInterrupt, Abort):
        exit_code = INTERRUPTED
    except (SystemExit, BrokenPipeError):
        # The reader closed the pipe (`anyhook --help | head -1`); typer makes a SystemExit of it.
        discard_stdout()
        return OK
    except OSError as error:
        print_error(_system_message(error))
        return USAGE
    except Exception as error:  # noqa: BLE001 - the outermost boundary: a report, no traceback
        print_error(
            f"this is a bug of anyhook: {type(error).__name__}: {error}\n"
            f"a report is in {write_bug_report(error)}"
        )
        return BUG
    if exit_code == INTERRUPTED:
        print_error("interrupted")
    return exit_code if isinstance(exit_code, int) else OK


def _check_home() -> None:
    """Check that the home directory is known, which holds settings, data and trust.

    Raises:
        UsageError: If it is not.
    """
    from anyhook.errors import UsageError

    with suppress(RuntimeError):  # `HOME` is not set, and the system does not know the user
        if Path.home().is_absolute():
            return
    home = os.environ.get("HOME", "not set")
    raise UsageError(f"the home directory is unknown: HOME is {home}; set it to an absolute path")


def _system_message(error: OSError) -> str:
    if not error.filename:
        return str(error.strerror or error)
    from anyhook.file_errors import explain_error

    return f"{error.filename}: {explain_error(error.filename, error)}"


@contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    """Make signals raise `KeyboardInterrupt`, so that running hooks are ended.

    A signal that the caller ignores stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in INTERRUPTING_SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    for number, handler in handlers.items():
        if handler in (signal.SIG_DFL, end_quietly):
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _not_recorded(arguments: Sequence[str]) -> Iterator[None]:
    """Keep hook files from recording events that a command has made up."""
    variable = "ANYHOOK_RECORDED"  # `anyhook.journal.records.RECORDED`
    if variable in os.environ or REHEARSING_COMMANDS.isdisjoint(arguments[:1]):
        yield
        return
    os.environ[variable] = "rehearsal"  # `anyhook.journal.records.REHEARSAL`
    try:
        yield
    finally:
        del os.environ[variable]


def discard_stdout() -> None:
    """Point standard output at the null device, because its reader has closed the pipe.

    A command goes on: its exit code counts (`anyhook check | head -1`). The interpreter flushes
    standard output when it exits.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # standard output has no descriptor
        pass
    finally:
        os.close(null)
