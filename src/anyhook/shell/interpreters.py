"""What shells and interpreters run: a text in their arguments, or their standard input."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.builtins import OPEN_INPUT, PIPED_FILE, read_variables
from anyhook.shell.code import find_awk_calls, find_calls
from anyhook.shell.options import canonical_program
from anyhook.shell.programs import SHELLS
from anyhook.shell.runners import CODE_OPTIONS
from anyhook.shell.scope import NO_INPUT, Input
from anyhook.shell.values import LITERAL, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.shell.command import Command
    from anyhook.shell.reader import ExpandedCall, Reader

_OWN_SYNTAX = frozenset("fish csh tcsh pwsh powershell nu elvish xonsh posh cmd".split())
"""Shells whose texts the parser does not read."""
_FLAGS = expression(r"[-+][abcefhiklmnoprstuvxBCDEGHIJLOPTXY]+")
_CRON_TIME = expression(r"^\s*(?:@\w+|(?:[\w*/,-]+\s+){4}[\w*/,-]+)\s", re.MULTILINE)
_VALUED = frozenset({"--rcfile", "--init-file"})
_PRINTS = frozenset({"--version", "--help"})
_SED_RUNS = expression(
    r"(?:^|[;{}\n])\s*(?:\d+|\$|/[^/]*/)?\s*e(?:\s+([^\n]*)|$|\n)|s([^\w\s]).*?\2.*?\2\w*e"
)
_EDITOR_RUNS = expression(r"(?:silent\s*)?!+(.*)|.*\bsystem\(", re.DOTALL)
_CLIENTS = {"psql": "--command", "mysql": "--execute", "sqlite3": ""}
_CLIENT_RUNS = expression(
    r"\\!\s*([^\n]*)|^\s*\.(?:shell|system)\s+([^\n]*)|^\s*system\s+([^;\n]*)", re.MULTILINE
)
_TCL_RUNS = expression(
    r"(?:^|[;\n{\[])\s*(?:spawn|exec|system)\s+(?:-(?:ignore\s+)?[a-z]+\s+)*((?:[^;\n\]}\\]|\\.)+)"
)
_TCL_HIDDEN = expression(r"\b(?:send|eval|source|subst|uplevel)\b|\bopen\s+\"?\|")
"""Commands of Tcl with which more runs than its text shows."""
_NO_PROGRAM = frozenset("-V --version -v -h --help -i -l -m --module -c -e".split())


def _run_shell(reader: Reader, call: ExpandedCall) -> None:
    """Add what a shell runs: a text, its standard input, or a script."""
    arguments = _ShellArguments(call.values)
    own = reader.make(call)
    wrappers = (*call.wrappers, own)
    count = len(reader.commands)
    operands = arguments.operands
    script = operands[0].text if operands else ""
    if call.redirects:
        reader.commands.append(own)
    read_variables(reader, call, wrappers)
    if call.name in _OWN_SYNTAX:
        reads_text = arguments.has_text or (not operands and call.scope.input is not NO_INPUT)
        if reads_text or arguments.is_vague:
            source = script if arguments.has_text else call.source
            reader.add_uncertain(source, call.scope, wrappers)
    elif arguments.has_text and operands and not arguments.is_vague:
        is_doubtful = operands[0].kind == VAGUE
        reader.doubts += is_doubtful
        reader.read_script(script, operands[1:], call.scope.copy(), wrappers)
        reader.doubts -= is_doubtful
    elif arguments.is_vague or script == PIPED_FILE:
        reader.add_uncertain(call.source, call.scope, wrappers)
    elif arguments.reads_input or script in OPEN_INPUT:
        reader.read_input(call.scope, wrappers, call.source)
    elif operands:
        if not call.redirects:
            reader.commands.append(own)
        reader.read_written(script, operands, call.scope.copy(), wrappers)
    if len(reader.commands) == count:
        reader.commands.append(own)


class _ShellArguments:
    """The arguments of a shell.

    Attributes:
        has_text: Whether the first operand is a command line (`-c`).
        reads_input: Whether the shell reads its standard input.
        is_vague: Whether a word that only the running shell knows may be any of these.
        operands: The words behind the options.
    """

    def __init__(self, values: Sequence[Value]) -> None:
        self.has_text = self.is_vague = reads_input = False
        index = 1
        while index < len(values):
            text = values[index].text
            if values[index].kind == VAGUE and text[:1] in "$`{":
                self.is_vague = not self.has_text
                break
            if text in {"--", "-"}:
                index += 1
                break
            if text[:2] == "--":
                index += 2 if text in _VALUED else 1
            elif _FLAGS.match(text):
                self.has_text = self.has_text or (text[0] == "-" and "c" in text)
                reads_input = reads_input or (text[0] == "-" and "s" in text)
                index += 2 if text[-1] in "oO" else 1
            else:
                # What an unknown option makes of the next word is not known.
                self.is_vague = text[:1] in {"-", "+"}
                break
        self.operands = values[index:]
        prints = not _PRINTS.isdisjoint([value.text for value in values[1:]])
        self.reads_input = (reads_input or not self.operands) and not prints


def _run_interpreter(reader: Reader, call: ExpandedCall) -> None:
    """Add an interpreter, and the programs that its code starts."""
    own = reader.add(call)
    base = canonical_program(call.name)
    read = own.read
    codes: list[Value] = []
    for option in CODE_OPTIONS.get(base, ()):
        codes += read.options.get(option, ())
    script = read.operands[0].text if read.operands else ""
    if base == "deno" and script == "eval":
        codes = list(read.operands[1:])
    elif base == "bun" and script == "x":  # `bun x` is `bunx`
        reader.run(call._replace(values=[Value("bunx"), *call.values[2:]]))
    elif base == "python" and not codes and Value("-m") in own.values:
        module = list(own.values[own.values.index(Value("-m")) + 1 :])
        reader.run(call._replace(values=module, wrappers=(*call.wrappers, own), redirects=()))
    received = call.scope.input
    reads_input = not codes and (not script or script in OPEN_INPUT)
    if reads_input and _NO_PROGRAM.isdisjoint(read.options) and received is not NO_INPUT:
        kind = LITERAL if received.text is not None and received.is_certain else VAGUE
        codes = [Value(received.text or "", kind)]
    elif script == PIPED_FILE and not codes:
        reader.add_uncertain(call.source, call.scope, (*call.wrappers, own))
    written = call.scope.written(script).text
    if written is not None and not codes:
        codes = [Value(written)]
    for code in codes:
        calls = find_calls(code.text)
        for words in calls.words:
            inner = call._replace(wrappers=(*call.wrappers, own), redirects=())
            reader.run(inner._replace(values=[Value(word) for word in words]))
        _read_calls(reader, call, own, calls.texts, calls.is_certain and code.kind != VAGUE)


def _read_calls(
    reader: Reader, call: ExpandedCall, own: Command, texts: Sequence[str], is_certain: bool
) -> None:
    """Add the command lines that the code of a program runs."""
    wrappers = (*call.wrappers, own)
    for text in texts:
        reader.read_text(text, call.scope, wrappers)
    if not is_certain:
        reader.add_uncertain(call.source, call.scope, wrappers)


def _run_awk(reader: Reader, call: ExpandedCall) -> None:
    """Add `awk`, and what its program runs."""
    own = reader.add(call)
    programs = list(own.read.options.get("--source", ()))
    if not programs and "--file" not in own.read.options:
        programs = own.read.operands[:1]
    for program in programs:
        calls = find_awk_calls(program.text)
        _read_calls(reader, call, own, calls.texts, calls.is_certain)


def _run_sed(reader: Reader, call: ExpandedCall) -> None:
    """Add `sed`, and what its command `e` runs."""
    own = reader.add(call)
    for script in own.read.options.get("--expression") or own.read.operands[:1]:
        runs = _SED_RUNS.search(script.text)
        if runs:
            _read_calls(reader, call, own, [runs[1]] if runs[1] else [], bool(runs[1]))


def _run_editor(reader: Reader, call: ExpandedCall) -> None:
    """Add an editor, and the programs that its commands start."""
    own = reader.add(call)
    for value in call.values[1:]:
        runs = _EDITOR_RUNS.match(value.text.lstrip("+:% "))
        if runs:
            _read_calls(reader, call, own, [runs[1]] if runs[1] else [], bool(runs[1]))


def _run_client(reader: Reader, call: ExpandedCall) -> None:
    r"""Add a client of a database, and the programs that `\!` starts."""
    own = reader.add(call)
    texts = [value.text for value in own.read.options.get(_CLIENTS[call.name], ())]
    texts += [value.text for value in own.read.operands[1:]]
    texts.append(call.scope.input.text or "")
    for text in texts:
        for runs in _CLIENT_RUNS.finditer(text):
            line = runs[1] or runs[2] or runs[3] or ""
            reader.read_text(line, call.scope, (*call.wrappers, own))


def _run_tcl(reader: Reader, call: ExpandedCall) -> None:
    """Add `expect` or `tclsh`, and the programs that its code starts."""
    own = reader.add(call)
    words = [value.text for value in call.values[1:]]
    codes = [code for option, code in pairwise(words) if option == "-c"]
    if not words or words[-1] == "-":
        codes.append(call.scope.input.text or "")
    for code in codes:
        texts = [runs[1] for runs in _TCL_RUNS.finditer(code)]
        _read_calls(reader, call, own, texts, not _TCL_HIDDEN.search(code))


def _run_crontab(reader: Reader, call: ExpandedCall) -> None:
    """Add `crontab`, and what the lines of its input run."""
    own = reader.add(call)
    if not OPEN_INPUT.isdisjoint([value.text for value in call.values]):
        received = call.scope.input
        inner = call.scope.copy()
        text = received.text and _CRON_TIME.sub("", received.text)
        inner.input = Input(text, is_certain=received.is_certain)
        reader.read_input(inner, (*call.wrappers, own), call.source)


def _run_later(reader: Reader, call: ExpandedCall) -> None:
    """Add `at` or `batch`, and what they run later."""
    own = reader.add(call)
    reader.read_input(call.scope, (*call.wrappers, own), call.source)


def _run_capsh(reader: Reader, call: ExpandedCall) -> None:
    """Add `capsh`, and the shell to which it hands the words behind `--`."""
    own = reader.add(call)
    texts = [value.text for value in call.values]
    if "--" in texts:
        words = [Value("bash"), *call.values[texts.index("--") + 1 :]]
        reader.run(call._replace(values=words, wrappers=(*call.wrappers, own), redirects=()))


INTERPRETER_HANDLERS: dict[str, Callable[[Reader, ExpandedCall], None]] = {
    **dict.fromkeys((*SHELLS, "cmd"), _run_shell),
    **dict.fromkeys(CODE_OPTIONS, _run_interpreter),
    **dict.fromkeys(("nodejs", "python2", "python3", "pypy3"), _run_interpreter),
    **{f"python3.{minor}": _run_interpreter for minor in range(6, 20)},
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _run_awk),
    **dict.fromkeys(("sed", "gsed"), _run_sed),
    **dict.fromkeys(("vi", "vim", "nvim", "view", "ex", "gvim", "rvim"), _run_editor),
    **dict.fromkeys(_CLIENTS, _run_client),
    **dict.fromkeys(("at", "batch"), _run_later),
    **dict.fromkeys(("expect", "tclsh"), _run_tcl),
    "crontab": _run_crontab,
    "capsh": _run_capsh,
}
"""Program to the function that adds what it runs."""
