"""Builtins that change the shell that runs them, or run a text in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.paths import join_path
from anyhook.shell.values import LITERAL, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.shell.command import Command
    from anyhook.shell.reader import ExpandedCall, Reader
    from anyhook.shell.scope import Scope

PIPED_FILE = "/dev/fd/63"
"""What `<(…)` becomes."""
OPEN_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"})
_SETS_UP = expression(
    r"(?:eval|source|\.)\s+(\"?)(?:\$\(|`|<\()\s*"
    r"(?:ssh-agent(?:\s+-[skc])*|(?:(?:brew\s+shellenv|(?:opam|fnm)\s+env|direnv\s+(?:hook|export)"
    r"|mise\s+activate|minikube\s+docker-env|conda\s+shell\.\w+\s+hook|thefuck\s+--alias"
    r"|(?:py|rb|nod|go|j)env\s+(?:virtualenv-)?init|(?:starship|zoxide|atuin|oh-my-posh)\s+init"
    r"|(?:kubectl|helm|gh|npm|docker|poetry|rustup)\s+completions?|dircolors)(?:\s+[\w./=-]+)*))"
    r"\s*[)`]\1"
)
"""Commands whose output sets up a shell for a program, as the manual of that program says."""
_DECLARES = frozenset({"export", "declare", "local", "typeset", "readonly"})
_RUN_BY_SHELLS = frozenset({"BASH_ENV", "PS4"})
_SETS_UNKNOWN = frozenset("read let unset getopts mapfile readarray printf vared integer".split())
_OPTIONS_OF_CD = frozenset({"--", "-L", "-P", "-e"})


def change_directory(scope: Scope, target: Value | None) -> None:
    """Follow a `cd`; `None` goes home."""
    if target is None:
        # A line that sets `HOME` or `CDPATH` decides where a `cd` leads.
        home = scope.home if scope.home is not None else "~"
        scope.set_directories((None if "HOME" in scope.variables else home,))
    elif target.kind == LITERAL and target.text[:1] == "/":
        scope.set_directories((join_path("", target.text),))
    elif target.kind != LITERAL or target.text == "-" or "CDPATH" in scope.variables:
        scope.set_directories((None,))
    else:
        scope.set_directories(
            tuple(
                None if directory is None else join_path(directory, target.text)
                for directory in scope.directories
            )
        )


def read_variables(reader: Reader, call: ExpandedCall, wrappers: tuple[Command, ...]) -> None:
    """Add what a shell runs by its variables: the file `BASH_ENV`, and substitutions in `PS4`."""
    for name in _RUN_BY_SHELLS.intersection(call.scope.variables):
        text = call.scope.variables[name]
        inner = call.scope.copy()
        del inner.variables[name]
        has_substitution = text is not None and ("$(" in text or "`" in text)
        if name == "BASH_ENV" and text != "":
            is_vague = text is None or has_substitution
            file = Value(text or "$BASH_ENV", VAGUE if is_vague else LITERAL)
            words = [Value("."), file]
            reader.run(call._replace(values=words, scope=inner, wrappers=wrappers, redirects=()))
        if has_substitution:
            # A prompt is shown if the shell traces, and the text is expanded as in quotes.
            reader.read_value(Value(f": <<END\n{text}\nEND\n", VAGUE), inner, wrappers)


def _sets_up(call: ExpandedCall) -> bool:
    """Return whether a call evaluates what a program prints for that: `eval "$(pyenv init -)"`."""
    is_setup = _SETS_UP.fullmatch(call.source) is not None
    return is_setup and not call.scope.redefines(call.source)


def _run_eval(reader: Reader, call: ExpandedCall) -> None:
    """Add what `eval` runs, in the same shell."""
    own = reader.make(call)
    count = len(reader.commands)
    sets_up = _sets_up(call)
    if call.redirects or sets_up:
        reader.commands.append(own)
    text = call.values[1:]
    if text and text[0].text == "--":
        text = text[1:]
    if not sets_up:
        reader.read_joined(text, call.scope, (*call.wrappers, own))
    # `eval "a=1"` runs no program.
    if len(reader.commands) == count:
        reader.commands.append(own)
    call.scope.forget_variables()


def _run_source(reader: Reader, call: ExpandedCall) -> None:
    """Add what `source` runs: its standard input, or a script."""
    own = reader.add(call)
    script = call.values[1] if len(call.values) > 1 else Value("")
    wrappers = (*call.wrappers, own)
    if script.text in OPEN_INPUT:
        reader.read_input(call.scope, wrappers, call.source)
    elif (script.text == PIPED_FILE or script.kind == VAGUE) and not _sets_up(call):
        reader.add_uncertain(call.source, call.scope, wrappers)
    reader.read_written(script.text, None, call.scope, wrappers)
    call.scope.forget_variables()


def _run_trap(reader: Reader, call: ExpandedCall) -> None:
    """Add the text of a `trap`."""
    own = reader.add(call)
    operands = [value for value in call.values[1:] if value.text not in {"--", "-"}]
    if len(operands) > 1 and operands[0].text[:2] not in {"-l", "-p"}:
        before = call.scope.copy()
        reader.read_value(operands[0], call.scope, (*call.wrappers, own))
        call.scope.merge(before)  # it runs later, if at all


def _run_alias(reader: Reader, call: ExpandedCall) -> None:
    """Add the texts of aliases, and keep them for their uses."""
    own = reader.add(call)
    scope = call.scope
    for value in call.values[1:]:
        alias, separator, text = value.text.partition("=")
        if separator:
            scope.aliases = {**scope.aliases, alias: text}
            reader.read_value(value._replace(text=text), scope, (*call.wrappers, own))


def _run_cd(reader: Reader, call: ExpandedCall) -> None:
    """Follow `cd`, `pushd` and `popd`."""
    reader.add(call)
    operands = [value for value in call.values[1:] if value.text not in _OPTIONS_OF_CD]
    if call.name in {"popd", "pushd"} and not operands:
        operands = [Value("-")]
    change_directory(call.scope, operands[0] if operands else None)


def _declare(reader: Reader, call: ExpandedCall) -> None:
    """Keep the variables that `export` and its like set."""
    reader.add(call)
    scope = call.scope
    for value in call.values[1:]:
        name, separator, text = value.text.partition("=")
        if separator:
            is_known = value.kind == LITERAL and name not in scope.fixed
            scope.variables[name] = text if is_known else None


def _run_hash(reader: Reader, call: ExpandedCall) -> None:
    """Keep the program that `hash -p` gives a name."""
    own = reader.add(call)
    for path in own.read.values("-p"):
        for name in own.read.operands:
            call.scope.aliases = {**call.scope.aliases, name.text: path.text}


def _forget(reader: Reader, call: ExpandedCall) -> None:
    """Forget the variables that `read` and its like set."""
    reader.add(call)
    scope = call.scope
    for value in call.values[1:]:
        name = value.text.partition("=")[0].partition("[")[0]
        if name.isidentifier():
            scope.variables[name] = None
        elif value.kind == VAGUE:
            scope.forget_variables()


def _set(reader: Reader, call: ExpandedCall) -> None:
    """Notice `set -e`, `set +e` and `set -x`, and forget `$1` and so on."""
    own = reader.add(call)
    scope = call.scope
    if "PS4" in scope.variables:
        read_variables(reader, call, (*call.wrappers, own))
    for value in call.values[1:]:
        text = value.text
        if value.kind == VAGUE or text[:1] == "+":
            scope.exits_on_error = False
        elif text[:1] != "-" or text == "--":
            break
        elif "e" in text:
            scope.exits_on_error = True
    for name in "0123456789@*":
        scope.variables.pop(name, None)


BUILTIN_HANDLERS: dict[str, Callable[[Reader, ExpandedCall], None]] = {
    "eval": _run_eval,
    "source": _run_source,
    ".": _run_source,
    "trap": _run_trap,
    "alias": _run_alias,
    **dict.fromkeys(("cd", "chdir", "pushd", "popd"), _run_cd),
    **dict.fromkeys(_DECLARES, _declare),
    **dict.fromkeys(_SETS_UNKNOWN, _forget),
    **dict.fromkeys(("set", "shift"), _set),
    "hash": _run_hash,
}
"""Builtin to the function that adds what it runs."""
SHARED = frozenset(BUILTIN_HANDLERS)
"""Builtins that see and change the scope of the line itself."""
