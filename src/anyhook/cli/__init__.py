"""The `anyhook` command: one file per subcommand, none of them imported before it is asked for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OK = 0
PROBLEMS = 1
DECIDED = 2
"""Only as a decision: no failure of ours may look like a hook that blocks."""
USAGE = 64
BUG = 70
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Arguments without the program's name; by default the process's.

    Returns:
        The exit code: 0 fine, 1 a check found problems, 2 a decision to block (`fire --exit-code`),
        64 usage, 70 a bug of anyhook, 130 interrupted.
    """
    from typer.exceptions import Abort, Exit, TyperException

    from anyhook.cli.app import app
    from anyhook.cli.output import say_error
    from anyhook.errors import AnyhookError

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
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
    except BrokenPipeError:
        return _without_stdout()
    except Exception as error:  # noqa: BLE001 - the last boundary: a report instead of a traceback
        from anyhook.cli.report import write_report

        say_error(
            f"this is a bug of anyhook: {type(error).__name__}: {error}\n"
            f"a report is in {write_report(error)}"
        )
        return BUG
    return code if isinstance(code, int) else OK


def _without_stdout() -> int:
    """Leave quietly when whoever read the output went away (`anyhook list | head -1`)."""
    import os

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return OK
