"""`anyhook run` in builds without the native program, and as `python -m anyhook run`."""

from __future__ import annotations

import errno
import os
import stat
import sys

from anyhook._help import USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_FOUND = 127
PYTHON = "--python"


def main(argv: Sequence[str]) -> int:
    """Become the native client that runs a hook file, or else the hook itself.

    Args:
        argv: `[--python PYTHON] HOOK.py [ARGUMENT ...]`; without the option, the interpreter of
            this program runs the file.

    Returns:
        The exit code, if there is nothing to run.
    """
    python, words = sys.executable, [*argv]
    match words:
        case ["--python", path, *rest]:
            python, words = path, rest
        case [first, *rest] if first.startswith(f"{PYTHON}="):
            python, words = first.removeprefix(f"{PYTHON}="), rest
    if not words:
        return _fail("usage: anyhook run [--python PYTHON] HOOK.py [ARGUMENT ...]", USAGE)
    if words[0].startswith("-"):  # the interpreter exits with 2 for an option it does not know
        text = f"anyhook run: {words[0]}: the hook file comes first, its options follow it"
        return _fail(text, USAGE)
    native = os.path.join(os.path.dirname(__file__), "anyhook")
    try:
        os.execv(native, [native, "run", PYTHON, python, *words])
    except OSError:  # none was built
        return _run_cold(python, words)


def _run_cold(python: str, words: Sequence[str]) -> int:
    problem = _problem_of(words[0])
    if problem:
        return _fail(f"anyhook run: {problem}", 1)  # which denies in no agent
    command = [python, *words]
    try:
        if os.name == "posix":
            os.execvp(python, command)
        import subprocess  # elsewhere, a program that replaces itself has ended for its parent

        return subprocess.run(command, check=False).returncode
    except OSError as error:
        return _fail(f"anyhook run: {python}: {error.strerror}", NOT_FOUND)


def _problem_of(path: str) -> str:
    """Return why a file cannot be opened: the interpreter exits with 2, which means a denial."""
    try:
        if stat.S_ISSOCK(os.stat(path).st_mode):
            reason = os.strerror(errno.ENXIO)
        elif os.access(path, os.R_OK):
            return ""
        else:
            reason = os.strerror(errno.EACCES)
    except (FileNotFoundError, NotADirectoryError):
        return f"hook file not found: {path}"
    except OSError as error:
        reason = error.strerror or ""
    return f"hook file cannot be read: {path}: {reason}"


def _fail(message: str, code: int) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"{message}\n")
    return code
