"""Collects the commands of a text and of the texts in it.

How a line is walked and what special programs run is handed in, because both come back here for
the texts and commands that they find.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.shell.command import Command
from anyhook.shell.options import canonical_program, find_table
from anyhook.shell.parser import UnreadableError, parse_command_line
from anyhook.shell.programs import base_name
from anyhook.shell.runners import PROGRAMS_WITH_TEXTS, TEXT_OPTIONS
from anyhook.shell.scope import NO_INPUT, UNKNOWN_INPUT
from anyhook.shell.values import LITERAL, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anyhook.shell.parser import Step
    from anyhook.shell.scope import Redirect, Scope

MAX_LENGTH = 64 * 1024
"""Characters; a longer text is one uncertain command."""
_MAX_DEPTH = 12
"""Texts and wrappers inside each other."""
_MAX_COMMANDS = 4096
_MAX_SOURCE = 200
_MAX_POSITIONAL = 10
_GIT_ALIAS = expression(r"alias\.([\w-]+)=(.*)", re.DOTALL)
_GIT_RUNS = expression(
    r"(?:core\.(?:pager|editor|sshcommand|askpass|fsmonitor|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|pager\.\w+|credential(?:\..*)?\.helper|gpg(?:\..*)?\.program"
    r"|(?:diff|merge|filter)(?:tool)?\..*\.(?:cmd|driver|command|textconv|clean|smudge|process)"
    r"|uploadpack\.packobjectshook|remote\..*\.(?:uploadpack|receivepack))=(.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Settings of Git whose value is a command line."""
_GIT_VARIABLES = {
    "GIT_ASKPASS": "core.askpass",
    "GIT_EDITOR": "core.editor",
    "GIT_EXTERNAL_DIFF": "diff.external",
    "GIT_PAGER": "core.pager",
    "GIT_SEQUENCE_EDITOR": "sequence.editor",
    "GIT_SSH_COMMAND": "core.sshcommand",
}
_GIT_KEY = "GIT_CONFIG_KEY_"
_GIT_NO_PROGRAM = expression(r"(?:true|false|cache|store|osxkeychain|manager)?")
_SSH_RUNS = expression(
    r"\s*(?:proxycommand|localcommand|knownhostscommand)[=\s](.*)", re.IGNORECASE
)


class ExpandedCall(NamedTuple):
    """A simple command after the expansions, before its wrappers are taken off."""

    name: str
    """The program without its directory."""
    values: Sequence[Value]
    """All words, the program first."""
    scope: Scope
    wrappers: tuple[Command, ...]
    """The commands that run it, the outermost first."""
    source: str
    redirects: tuple[Redirect, ...] = ()


class Reader:
    """Collects commands.

    `walk` adds the commands of the steps of a text, a handler what its program runs.
    """

    def __init__(
        self,
        length: int,
        walk: Callable[[Reader, Scope, tuple[Command, ...], Sequence[Step]], None],
        handlers: Mapping[str, Callable[[Reader, ExpandedCall], None]],
        *,
        reads_zsh: bool,
    ) -> None:
        self.commands: list[Command] = []
        self.doubts = 0
        """How many texts are being read that may hold other commands as well."""
        self.arithmetics = 0
        """How many texts are being read that may be arithmetic instead of commands."""
        self.typed = 0
        """How many texts are being read that may be typed into another program than a shell."""
        self.remotes = 0
        """How many texts are being read that another machine or a container runs."""
        self.waiting_shells = 0
        """How many shells had no input so far; a compound may still give them one."""
        self._walk = walk
        self._handlers = handlers
        self._reads_zsh = reads_zsh
        self._depth = 0
        # A variable with a long text may be run many times.
        self._characters_left = 4 * length + MAX_LENGTH

    def read_text(self, text: str, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the commands of a text."""
        self._characters_left -= len(text)
        is_too_large = (
            len(text) > MAX_LENGTH
            or self._characters_left < 0
            or self._depth >= _MAX_DEPTH
            or len(self.commands) >= _MAX_COMMANDS
        )
        if is_too_large:
            self.add_uncertain(text[:_MAX_SOURCE], scope, wrappers)
            return
        try:
            steps = parse_command_line(text).steps
        except UnreadableError:
            self.add_uncertain(text, scope, wrappers)
            return
        self._depth += 1
        self._walk(self, scope, wrappers, steps)
        self._depth -= 1

    def read_value(self, value: Value, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the commands of an argument that is a command line."""
        is_doubtful = value.kind == VAGUE
        self.doubts += is_doubtful
        self.read_text(value.text, scope, wrappers)
        self.doubts -= is_doubtful

    def read_joined(
        self, values: Sequence[Value], scope: Scope, wrappers: tuple[Command, ...]
    ) -> None:
        """Add the commands of the text that some arguments make."""
        kind = max([value.kind for value in values], default=LITERAL)
        self.read_value(Value(" ".join([value.text for value in values]), kind), scope, wrappers)

    def read_script(
        self,
        text: str,
        arguments: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
    ) -> None:
        """Add the commands of a script, of which the arguments are `$0`, `$1` and so on."""
        for index, value in enumerate(arguments[: _MAX_POSITIONAL + 1]):
            scope.variables[str(index)] = value.text if value.kind != VAGUE else None
        rest = arguments[1:]
        is_known = all(value.kind != VAGUE and " " not in value.text for value in rest)
        for name in "@*":
            joined = " ".join([value.text for value in rest])
            scope.variables[name] = joined if is_known else None
        self.read_text(text, scope, wrappers)

    def read_written(
        self,
        path: str,
        arguments: Sequence[Value] | None,
        scope: Scope,
        wrappers: tuple[Command, ...],
    ) -> None:
        """Add the commands of a script if the line has written it; `source` gives no arguments."""
        written = scope.written(path)
        if written.text is None:
            return
        # A script that runs itself is not read again.
        before = dict(scope.files)
        scope.write_file(path, UNKNOWN_INPUT)
        if arguments is None:
            self.read_text(written.text, scope, wrappers)
        else:
            self.read_script(written.text, arguments, scope, wrappers)
        scope.files.update(before)

    def read_input(self, scope: Scope, wrappers: tuple[Command, ...], source: str) -> None:
        """Add what a shell runs that reads its standard input."""
        received = scope.input
        if received is NO_INPUT:
            self.waiting_shells += 1
            return
        inner = scope.copy()
        inner.input = NO_INPUT
        if received.text is None:
            self.add_uncertain(source, inner, wrappers)
        else:
            kind = LITERAL if received.is_certain else VAGUE
            self.read_value(Value(received.text, kind), inner, wrappers)

    def add_uncertain(self, source: str, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add a command of which nothing is certain."""
        self.commands.append(
            self.make(ExpandedCall("", (), scope, wrappers, source), certain=False)
        )

    def make(
        self, call: ExpandedCall, values: Sequence[Value] | None = None, *, certain: bool = True
    ) -> Command:
        """Return the command of a call; by default its arguments are all words but the first."""
        scope = call.scope
        return Command(
            call.name,
            tuple(call.values[1:]) if values is None else tuple(values),
            path=call.values[0].text if call.name else "",
            source=call.source,
            certain=certain and not (self.doubts or self.arithmetics or self.typed),
            is_complete=certain and not self.doubts,
            redirects=call.redirects,
            wrappers=call.wrappers,
            directories=(scope.directory, *scope.other_directories),
            home=scope.home,
            is_remote=self.remotes > 0,
        )

    def add(self, call: ExpandedCall) -> Command:
        """Add the command of a call, and those that its options hold."""
        command = self.make(call)
        self.commands.append(command)
        self.read_options(command, call.scope)
        return command

    def run(self, call: ExpandedCall) -> None:
        """Add what a simple command runs; its name is not known yet."""
        values = call.values
        if not values:
            if call.redirects:
                self.commands.append(self.make(call._replace(name="")))
            return
        head = values[0]
        placeholder = call.scope.placeholder or "{}"
        is_known = head.kind == LITERAL and placeholder not in head.text
        # `(($count > 3))` is a comparison more likely than a call.
        if not is_known and self.arithmetics:
            return
        if not is_known or len(call.wrappers) >= _MAX_DEPTH:
            unknown = call._replace(name="")
            self.commands.append(self.make(unknown, values, certain=False))
            return
        text = head.text
        # In zsh `=rm` is the path of `rm`.
        if self._reads_zsh and text[:1] == "=" and len(text) > 1:
            text = text[1:]
        name = base_name(text).removesuffix(".exe") if "/" in text or "." in text else text
        scope = call.scope
        call = call._replace(name=name)
        if name in scope.aliases:
            inner = call.scope.copy()
            body = inner.aliases[call.name]
            inner.aliases = {}
            rest = [
                value._replace(text=shlex.quote(value.text)) if value.kind == LITERAL else value
                for value in call.values[1:]
            ]
            self.read_joined([Value(body), *rest], inner, call.wrappers)
        # To some file systems capitals do not count.
        handler = self._handlers.get(name) or self._handlers.get(name.lower())
        if handler is not None:
            handler(self, call)
            return
        if name in scope.functions and self.waiting_shells and scope.input is not NO_INPUT:
            self.add_uncertain(call.source, scope, call.wrappers)
        own = self.add(call)
        if "/" in text:
            self.read_written(text, call.values, scope.copy(), (*call.wrappers, own))

    def read_options(
        self, command: Command, scope: Scope, options: Mapping[str, Sequence[Value]] | None = None
    ) -> None:
        """Add the command lines that options of a command hold, by default those that it read."""
        program = canonical_program(command.program)
        if program not in PROGRAMS_WITH_TEXTS:
            return
        keys = [program]
        if program in {"git", "npm"}:
            keys += [f"{program} {value.text}" for value in command.read.operands[:1]]
        wrappers = (*command.wrappers, command)
        operands = command.read.operands
        if program == "git" and len(operands) == 3 and operands[0].text == "config":
            setting = operands[2]._replace(text=f"{operands[1].text}={operands[2].text}")
            text = _text_of_option("git", setting)
            # It runs when git is used, if at all.
            if text:
                self.read_value(Value(text, VAGUE), scope, wrappers)
        if program == "git":
            self._read_git_variables(scope, wrappers)
        for key in keys:
            for option in TEXT_OPTIONS.get(key, "").split():
                for value in (options or command.read.options).get(option, ()):
                    text = _text_of_option(key, value)
                    if text:
                        self.read_value(value._replace(text=text), scope, wrappers)

    def _read_git_variables(self, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the command lines that variables of the line hold for Git."""
        settings = list(_git_settings(scope.variables))
        if not settings:
            return
        # What they run is not read with the same variables again and again.
        inner = scope.copy()
        for name in scope.variables:
            if name.startswith("GIT_"):
                del inner.variables[name]
        for setting in settings:
            text = _text_of_option("git", setting)
            if text:
                self.read_value(setting._replace(text=text), inner, wrappers)


def _git_settings(variables: Mapping[str, str | None]) -> Iterator[Value]:
    """Yield the settings that variables of a line give to Git, as behind its option `-c`."""
    for name, text in variables.items():
        if not text:
            continue
        if name in _GIT_VARIABLES:
            yield Value(f"{_GIT_VARIABLES[name]}={text}")
        elif name.startswith(_GIT_KEY):
            setting = variables.get(f"GIT_CONFIG_VALUE_{name.removeprefix(_GIT_KEY)}")
            if setting is None:
                yield Value(f"{text}=$VALUE", VAGUE)
            else:
                yield Value(f"{text}={setting}")
        elif name == "GIT_CONFIG_PARAMETERS":
            try:
                # `'core.pager=less'`, and `'core.pager'='less'` from release 2.31 on.
                yield from map(Value, shlex.split(text.replace("'='", "=")))
            except ValueError:  # Git does nothing then
                continue


def _text_of_option(key: str, value: Value) -> str:
    """Return the command line in the value of an option; empty if it holds none."""
    text = value.text
    if key == "git":
        alias = _GIT_ALIAS.match(text)
        runs = _GIT_RUNS.match(text)
        if alias and find_table("git", alias[1]) is not None:
            return ""  # Git ignores aliases of its own commands.
        if alias:
            body = alias[2]
            return body[1:] if body[:1] == "!" else f"git {body}"
        if runs:
            program = runs[1].lstrip("!")
            return "" if _GIT_NO_PROGRAM.fullmatch(program) else program
        return text if value.kind == VAGUE and text[:1] in "$`" else ""
    if key == "mapfile":
        return f'{text} "$INDEX" "$LINE"'
    if key in {"ssh", "scp"}:
        proxy = _SSH_RUNS.match(text)
        return proxy[1] if proxy else ""
    return text.removeprefix("exec=")
