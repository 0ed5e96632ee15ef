"""Ask interpreters whether they can read scripts, without running the scripts.

An interpreter gets the text of a script on its standard input, an environment without the variables
that load other code, and `/` as its directory: it finds no file of a project. Perl is left out,
because `perl -c` runs the `BEGIN` blocks of a script.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.processes.blocking import run_in_thread
from anyhook.shell.programs import base_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.processes.result import ProcessResult

SECONDS = 10.0
"""How long an interpreter may take for all scripts that it gets at once."""
MAX_PROCESSES = 4
"""Interpreters that run at the same time."""
MAX_STARTS = 4
"""Starts of one interpreter that checks many scripts; it is started again behind a script that ends
it."""
_PROGRAMS = Path(__file__).with_name("programs")
_LANGUAGE = expression(
    r"(?:(?P<python>python|pypy)|(?P<javascript>node|nodejs)|(?P<ruby>ruby)|(?P<shell>bash|dash|sh))"
    r"[\d.]*\Z"
)
_SHELL_ERROR = expression(r"[^\n]*?: (?:line )?(\d+): ([^\n]*)")
_RUBY_ERROR = expression(r"^-:(\d+): ([^\n]*)", re.MULTILINE)


class ScriptText(NamedTuple):
    """A script that an interpreter should read.

    Attributes:
        path: Its name in messages.
        directories: Where its imports are looked for first; `None` if they are not looked for.
        module_type: Of JavaScript: `module`, `commonjs`, or empty if the syntax decides.
    """

    text: str
    path: str
    directories: tuple[str, ...] | None = None
    module_type: str = ""


class SyntaxReport(NamedTuple):
    """What an interpreter reports about a script.

    Attributes:
        problem: Its message; `None` if it can read the script.
        line: The line of the problem; `None` if it names none.
        missing_modules: Line and name of each import that it cannot find.
    """

    problem: str | None = None
    line: int | None = None
    missing_modules: tuple[tuple[int, str], ...] = ()


READABLE = SyntaxReport()
"""The report about a script in which nothing was found."""


def language_of_interpreter(name: str) -> str | None:
    """Return the language of an interpreter, by its name; `None` if it cannot check scripts."""
    match = _LANGUAGE.match(name)
    return match.lastgroup if match else None


def interpreter_in(text: str) -> str | None:
    """Return the interpreter that the first line of a script names; `None` if it names none."""
    if not text.startswith("#!"):
        return None
    words = text.partition("\n")[0][2:].split()
    if words and base_name(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def check_scripts(interpreter: str, scripts: Sequence[ScriptText]) -> list[SyntaxReport]:
    """Return what an interpreter reports about each script, in their order.

    The interpreter is an absolute path, whose name has a language (`language_of_interpreter`).
    """
    match language_of_interpreter(os.path.basename(interpreter)):
        case "python":
            program = (_PROGRAMS / "check_python.py").read_text(encoding="utf-8")
            options = ["-I", "-S", "-B", "-W", "ignore", "-c", program]
            return _check_together([interpreter, *options], scripts)
        case "javascript":
            program = (_PROGRAMS / "check_node.js").read_text(encoding="utf-8")
            options = ["--experimental-vm-modules", "-e", program]
            return _check_together([interpreter, *options], scripts)
        case language:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(MAX_PROCESSES) as pool:
                check = check_shell if language == "shell" else _check_ruby
                return list(pool.map(check, repeat(interpreter), [s.text for s in scripts]))


@lru_cache(maxsize=1024)
def check_shell(shell: str, text: str) -> SyntaxReport:
    """Return what a shell reports about a script or a command line, with its option `-n`."""
    options = ["-n"]
    # A script may switch on these patterns, which `-n` does not execute.
    if "extglob" in text and os.path.basename(shell) == "bash":
        options += ["-O", "extglob"]
    return _report_of(_run([shell, *options], text), text, _SHELL_ERROR)


@lru_cache(maxsize=256)
def _check_ruby(ruby: str, text: str) -> SyntaxReport:
    result = _run([ruby, "--disable=gems,rubyopt", "-c", "-"], text)
    return _report_of(result, text, _RUBY_ERROR)


def _report_of(result: ProcessResult, text: str, error: re.Pattern[str]) -> SyntaxReport:
    """Read the first message of an interpreter that fails on a script with an error."""
    match = error.search(result.stderr)
    if result.exit_code in {0, None} or match is None:
        return READABLE
    # The end of a script counts as the line behind its last one.
    last_line = len(text.splitlines())
    return SyntaxReport(match[2].strip(), min(int(match[1]), last_line))


def _check_together(argv: list[str], scripts: Sequence[ScriptText]) -> list[SyntaxReport]:
    """Check scripts in one process, which prints a line of JSON for each."""
    reports: list[SyntaxReport] = []
    for _start in range(MAX_STARTS):
        remaining = scripts[len(reports) :]
        if not remaining:
            break
        texts = [
            {
                "text": script.text,
                "path": script.path,
                "directories": script.directories,
                "type": script.module_type,
            }
            for script in remaining
        ]
        result = _run(argv, json.dumps(texts))
        for line in result.stdout.splitlines():
            if line.endswith("}"):
                answer = json.loads(line)
                modules = [(int(at), str(name)) for at, name in answer.get("modules", ())]
                reports.append(SyntaxReport(answer["problem"], answer["line"], tuple(modules)))
        # An interpreter that ends without an error has answered for every script. A program that
        # has not is not an interpreter of that language.
        if result.error or result.timed_out or result.exit_code == 0:
            break
        # The script behind the last answer has ended the interpreter.
        reports.append(READABLE)
    missing = len(scripts) - len(reports)
    return [*reports, *[READABLE] * missing][: len(scripts)]


def _run(argv: list[str], text: str) -> ProcessResult:
    """Run an interpreter with nothing of the environment that makes it load other files."""
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    if "HOME" in os.environ:
        environment["HOME"] = os.environ["HOME"]  # Python finds the modules of the user there
    stdin = text.encode("utf-8", "surrogateescape")
    return run_in_thread(argv, cwd="/", env=environment, stdin=stdin, timeout=SECONDS)
