"""The commands that a command line runs in the end, for guards.

`rm` is found behind `sudo`, `xargs`, `sh -c "…"`, `eval`, `find -exec`, `ssh`, `docker exec`, in
`$(…)`, and as `X=rm; $X`. What the text does not decide is uncertain, and only that: an unknown
argument leaves the program certain. Nothing is run and no file is read, so a script that a line
starts is a program like any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.shell.code import find_awk_calls, find_calls
from anyhook.shell.command import Command, Redirect
from anyhook.shell.expansions import LITERAL, PATTERN, VAGUE, Value
from anyhook.shell.options import canonical_program, find_table, read_arguments
from anyhook.shell.parser import ASSIGNMENT, Step, UnreadableError, parse_command_line
from anyhook.shell.programs import SHELLS, base_name
from anyhook.shell.runners import (
    CODE_OPTIONS,
    RUNNERS,
    STDIN_RUNNERS,
    TEXT,
    TEXT_OPTIONS,
    Runner,
)
from anyhook.shell.scope import NO_INPUT, Scope
from anyhook.shell.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.shell.parser import Word

MAX_LENGTH = 64 * 1024
"""Characters; a longer text is one uncertain command."""
_MAX_DEPTH = 12
"""Texts and wrappers inside each other."""
_MAX_COMMANDS = 4096
_POSIX_SHELLS = frozenset("sh bash dash zsh ash ksh".split())
_OWN_SYNTAX = frozenset("fish csh tcsh pwsh powershell nu elvish xonsh posh cmd".split())
_SHELL_FLAGS = re.compile(r"[-+][A-Za-z]+")
_VALUED_SHELL_OPTIONS = frozenset({"--rcfile", "--init-file"})
_OPEN_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"})
_PIPED_FILE = "/dev/fd/63"
_GIT_ALIAS = re.compile(r"alias\.([\w-]+)=(.*)", re.DOTALL)
_GIT_RUNS = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|askpass|fsmonitor|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|pager\.\w+|credential(?:\..*)?\.helper|gpg(?:\..*)?\.program"
    r"|(?:diff|merge|filter)tool?\..*\.(?:cmd|driver|command|textconv|clean|smudge|process)"
    r"|uploadpack\.packobjectshook|remote\..*\.(?:uploadpack|receivepack))=(.*)",
    re.IGNORECASE | re.DOTALL,
)
_SSH_RUNS = re.compile(
    r"\s*(?:proxycommand|localcommand|knownhostscommand)[=\s](.*)", re.IGNORECASE
)
_EXEC_ACTION = re.compile(r"exec=")
_SED_RUNS = re.compile(
    r"(?:^|[;{}\n])\s*(?:\d+|\$|/[^/]*/)?\s*e(?:\s+([^\n]*)|$|\n)|s(.).*?\2.*?\2\w*e"
)
_EDITOR_RUNS = re.compile(r"(?:silent\s*)?!+(.*)|.*\bsystem\(", re.DOTALL)
_EDITORS = frozenset("vi vim nvim view ex gvim rvim".split())
_INLINE_ESCAPE = re.compile(
    r"\\!\s*([^\n]*)|^\s*\.(?:shell|system)\s+([^\n]*)|\bsystem\s+([^;\n]*)", re.MULTILINE
)
_SQL_CLIENTS = {"psql": "--command", "mysql": "--execute", "sqlite3": ""}
_SETS_VARIABLES = frozenset(
    "read export declare local typeset readonly let unset getopts mapfile readarray printf eval"
    " source . set shift wait vared integer float".split()
)
_CHANGES_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
_DECLARES = frozenset({"export", "declare", "local", "typeset", "readonly"})


def read_commands(
    text: str, *, home: str | None = None, cwd: str | None = None, shell: str | None = "bash"
) -> tuple[Command, ...]:
    """Return the commands that a command line runs, in the order of the text.

    Never raises: text that cannot be read is one command with `certain=False`.

    Args:
        text: The command line.
        home: The absolute path that `~` stands for; without it, paths keep their `~`.
        cwd: The absolute path in which the line runs; without it, paths stay relative.
        shell: `bash`, `dash`, `sh` or `zsh`; `None` if it may be any of them. Any other shell has
            its own syntax, and its text is one command with `certain=False`.
    """
    reader = Reader(len(text), reads_zsh=shell in {None, "zsh"})
    scope = Scope(home, cwd or "")
    if shell is not None and shell not in _POSIX_SHELLS:
        reader.add_uncertain(text, scope, ())
    else:
        reader.read_text(text, scope, ())
    return tuple(reader.commands)


class Reader:
    """Collects the commands of a text and of the texts in it."""

    def __init__(self, length: int, *, reads_zsh: bool) -> None:
        self.commands: list[Command] = []
        self.reads_zsh = reads_zsh
        self.depth = 0
        # A variable with a long text may be run many times.
        self.characters_left = 4 * length + 64 * 1024
        self.is_doubtful = 0
        self.is_remote = 0
        self.waiting_shells = 0

    # --- texts -------------------------------------------------------------------------------

    def read_text(self, text: str, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the commands of a text."""
        self.characters_left -= len(text)
        is_too_large = (
            len(text) > MAX_LENGTH
            or self.characters_left < 0
            or self.depth >= _MAX_DEPTH
            or len(self.commands) >= _MAX_COMMANDS
        )
        if is_too_large:
            self.add_uncertain(text[:200], scope, wrappers)
            return
        try:
            steps = parse_command_line(text).steps
        except UnreadableError:
            self.add_uncertain(text, scope, wrappers)
            return
        self.depth += 1
        Walk(self, scope, wrappers).walk(steps)
        self.depth -= 1

    def add_uncertain(self, source: str, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add a command of which nothing is certain."""
        self.add("", (), scope, wrappers, source, certain=False)

    def add(
        self,
        program: str,
        values: tuple[Value, ...],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...] = (),
        *,
        certain: bool = True,
    ) -> Command:
        """Add a command."""
        command = self.make(program, values, scope, wrappers, source, redirects, certain=certain)
        self.commands.append(command)
        return command

    def make(
        self,
        program: str,
        values: tuple[Value, ...],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...] = (),
        *,
        certain: bool = True,
    ) -> Command:
        """Return a command in the state of a scope."""
        return Command(
            program,
            values,
            source=source,
            certain=certain and not self.is_doubtful,
            redirects=redirects,
            wrappers=wrappers,
            directory=scope.directory,
            other_directories=scope.other_directories,
            home=scope.home,
            is_remote=self.is_remote > 0,
        )

    def read_doubtful(self, text: str, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the commands of a text that may hold others as well."""
        self.is_doubtful += 1
        self.read_text(text, scope, wrappers)
        self.is_doubtful -= 1

    # --- one command ---------------------------------------------------------------------------

    def run(
        self,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...] = (),
    ) -> None:
        """Add what a simple command runs."""
        if not values:
            if redirects:
                self.add("", (), scope, wrappers, source, redirects)
            return
        head = values[0]
        text = head.text
        if head.kind != LITERAL or len(wrappers) >= _MAX_DEPTH:
            self.add("", tuple(values), scope, wrappers, source, redirects, certain=False)
            return
        if self.reads_zsh and text[:1] == "=" and len(text) > 1:
            text = text[1:]
        name = base_name(text).removesuffix(".exe") if "/" in text or "." in text else text
        run = _SPECIAL.get(name)
        if run is not None:
            run(self, name, values, scope, wrappers, source, redirects)
            return
        if name in scope.aliases:
            rest = " ".join([value.text for value in values[1:]])
            body = scope.aliases[name]
            inner = scope.copy()
            inner.aliases = {}
            self.read_text(f"{body} {rest}", inner, wrappers)
        if name in scope.functions and self.waiting_shells and scope.input is not NO_INPUT:
            self.add_uncertain(source, scope, wrappers)
        self._add_shown(name, values, scope, wrappers, source, redirects)

    def _add_shown(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> Command:
        command = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        self._run_option_texts(command, scope)
        return command

    def _run_option_texts(self, command: Command, scope: Scope) -> None:
        """Add the command lines that options of a command hold."""
        program = canonical_program(command.program)
        keys = [program]
        if program in {"git", "npm"} and command.values:
            keys += [f"{program} {value.text}" for value in command.read.operands[:1]]
        for key in keys:
            for option in TEXT_OPTIONS.get(key, ()):
                for value in command.read.options.get(option, ()):
                    self._run_option_text(command, value, scope)

    def _run_option_text(self, command: Command, value: Value, scope: Scope) -> None:
        text = value.text
        if command.program == "git":
            alias = _GIT_ALIAS.match(text)
            runs = _GIT_RUNS.match(text)
            if alias:
                body = alias[2]
                text = body[1:] if body[:1] == "!" else f"git {body}"
            elif runs:
                text = runs[1].lstrip("!")
                if re.fullmatch(r"(?:true|false|cache|store|osxkeychain|manager)?", text):
                    return
            elif command.read.operands[:1] == [Value("rebase")]:
                pass
            elif value.kind != VAGUE:
                return
        elif command.program in {"ssh", "scp", "slogin"}:
            proxy = _SSH_RUNS.match(text)
            if proxy is None:
                return
            text = proxy[1]
        else:
            text = _EXEC_ACTION.sub("", text, count=1)
        self._read_value(value._replace(text=text), scope, (*command.wrappers, command))

    def _read_value(self, value: Value, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        """Add the commands of an argument that is a command line."""
        if value.kind == VAGUE:
            self.read_doubtful(value.text, scope, wrappers)
        else:
            self.read_text(value.text, scope, wrappers)

    def run_wrapper(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add what a program runs that takes a command as its arguments."""
        base = canonical_program(name)
        runner = RUNNERS.get(base) or RUNNERS.get(name)
        if runner is None:
            self._run_subcommand(name, base, values, scope, wrappers, source, redirects)
            return
        self._run_inner(
            runner, name, find_table(name), values, 1, scope, wrappers, source, redirects
        )

    def _run_subcommand(
        self,
        name: str,
        base: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add what `docker exec` and the like run."""
        table = find_table(name)
        outer = read_arguments(table, values, 1, 0)
        index = outer.rest
        words = [value.text for value in values[index : index + 4]]
        if base == "docker" and words[:1] in (["container"], ["image"]):
            index += 1
            words = words[1:]
        for length in (3, 2, 1):
            path = words[:length]
            runner = RUNNERS.get(" ".join((base, *path))) or RUNNERS.get(" ".join((name, *path)))
            if runner is not None and len(path) == length:
                inner_table = find_table(name, *path)
                self._run_inner(
                    runner,
                    name,
                    inner_table,
                    values,
                    index + length,
                    scope,
                    wrappers,
                    source,
                    redirects,
                )
                return
            # `docker compose -f file exec`: options stand between the words.
            if length == 1 and (name, *path) == (name, "compose"):
                compose = read_arguments(find_table(name, "compose"), values, index + 1, 0)
                following = [value.text for value in values[compose.rest : compose.rest + 1]]
                runner = RUNNERS.get(" ".join((base, "compose", *following)))
                if following and runner is not None:
                    inner_table = find_table(name, "compose", following[0])
                    self._run_inner(
                        runner,
                        name,
                        inner_table,
                        values,
                        compose.rest + 1,
                        scope,
                        wrappers,
                        source,
                        redirects,
                    )
                    return
        self._add_shown(name, values, scope, wrappers, source, redirects)

    def _run_inner(
        self,
        runner: Runner,
        name: str,
        table: object,
        values: Sequence[Value],
        start: int,
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        from anyhook.shell.options import Table

        options = table if isinstance(table, Table) else Table({}, frozenset({"%stop"}))
        read = read_arguments(options, values, start, runner.operands)
        index = read.rest
        inner_scope = scope
        while runner.assigns and index < len(values) and ASSIGNMENT.match(values[index].text):
            variable, _, assigned = values[index].text.partition("=")
            if inner_scope is scope:
                inner_scope = scope.copy()
            is_known = values[index].kind == LITERAL
            inner_scope.variables[variable] = assigned if is_known else None
            index += 1
        only_prints = name == "command" and not {"-v", "-V"}.isdisjoint(read.options)
        has_command = index < len(values) and not only_prints
        own = self.make(name, tuple(values[1:index]), scope, wrappers, source, redirects)
        if runner.is_shown or not has_command:
            full = self.make(name, tuple(values[1:]), scope, wrappers, source, redirects)
            self.commands.append(full)
            own = full
        inner_wrappers = (*wrappers, own)
        directory = read.options.get("--chdir") if name in {"env", "sudo"} else None
        if directory:
            inner_scope = inner_scope.copy()
            inner_scope.change_directory(directory[-1])
        if runner.is_remote:
            inner_scope = Scope(None, None)
            inner_scope.input = scope.input
            self.is_remote += 1
        is_doubtful = read.may_have_more or (read.is_doubtful and runner.operands >= 0)
        is_doubtful = is_doubtful or any(
            value.may_split for value in values[start:index] if value.kind == VAGUE
        )
        self.is_doubtful += is_doubtful
        self._run_option_texts(own, inner_scope)
        rest = list(values[index:])
        if not has_command:
            if is_doubtful and not only_prints:
                self.add_uncertain(source, inner_scope, inner_wrappers)
            self._run_without_command(name, runner, own, inner_scope)
        elif runner.kind == TEXT:
            self._run_joined(rest, inner_scope, inner_wrappers)
        else:
            self._run_words(name, own, rest, inner_scope, inner_wrappers, source, redirects)
        self.is_doubtful -= is_doubtful
        if runner.is_remote:
            self.is_remote -= 1

    def _run_without_command(self, name: str, runner: Runner, own: Command, scope: Scope) -> None:
        """Add what a program runs that was given no command: `ssh host < script`."""
        reads_commands = runner.is_remote and runner.kind == TEXT
        is_shell = name == "sudo" and not {"-s", "-i", "--shell", "--login"}.isdisjoint(
            own.read.options
        )
        if reads_commands or is_shell:
            self.run_input(scope, (*own.wrappers, own), own.source)

    def _run_joined(
        self, values: Sequence[Value], scope: Scope, wrappers: tuple[Command, ...]
    ) -> None:
        text = " ".join([value.text for value in values])
        if any(value.kind == VAGUE for value in values):
            self.read_doubtful(text, scope, wrappers)
        else:
            self.read_text(text, scope, wrappers)

    def _run_words(
        self,
        name: str,
        own: Command,
        rest: list[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        if name in {"xargs", "gxargs"}:
            rest = self._with_input(own, rest, scope)
            scope = scope.copy()
            scope.input = NO_INPUT
        elif name == "parallel":
            texts = [value.text for value in rest]
            end = next(
                (i for i, text in enumerate(texts) if text[:3] in {":::", "::::"}), len(texts)
            )
            template = [*rest[:end]]
            if not any("{" in value.text for value in template):
                template.append(Value("{}", VAGUE))
            self._run_joined(template, scope, wrappers)
            return
        elif name in {"npx", "uvx", "bunx", "pnpx"} and rest:
            package = rest[0]
            version = package.text.find("@", 1)
            rest = [
                package._replace(text=package.text[:version] if version > 0 else package.text),
                *rest[1:],
            ]
        elif own.program == "uv" and "--module" in own.read.options:
            rest = [Value("python"), Value("-m"), *rest]
        elif own.program in {"docker", "podman", "nerdctl"} and "--entrypoint" in own.read.options:
            entry = own.read.options["--entrypoint"][-1:]
            rest = [*entry, *rest]
        self.run(rest, scope, wrappers, source, redirects if not own.redirects else ())

    def _with_input(self, xargs: Command, rest: list[Value], scope: Scope) -> list[Value]:
        """Return the words of a command with those that `xargs` adds."""
        options = xargs.read.options
        replaced = [value.text for value in options.get("-I", [])]
        if "--replace" in options or "-i" in options:
            replaced.append("{}")
        if replaced:
            placeholder = replaced[-1] or "{}"
            return [
                value._replace(kind=VAGUE) if placeholder in value.text else value for value in rest
            ]
        text = scope.input.text
        is_plain = options.keys() <= {"--max-args", "--no-run-if-empty", "--verbose", "--max-procs"}
        if text and is_plain and not {"'", '"', "\\"} & set(text):
            return [*rest, *[Value(word) for word in text.split()]]
        return [*rest, Value("{}", VAGUE, may_split=True)]

    def run_input(self, scope: Scope, wrappers: tuple[Command, ...], source: str) -> None:
        """Add what a shell runs that reads its standard input."""
        if scope.input is NO_INPUT:
            self.waiting_shells += 1
            return
        inner = scope.copy()
        inner.input = NO_INPUT
        if scope.input.text is None:
            self.add_uncertain(source, inner, wrappers)
        else:
            self.read_text(scope.input.text, inner, wrappers)

    def run_shell(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add what a shell runs: a text, its standard input, or a script."""
        index = 1
        has_text = reads_input = is_vague = False
        while index < len(values):
            value = values[index]
            text = value.text
            if value.kind == VAGUE and text[:1] in "$`{":
                is_vague = is_vague or value.may_split or text[:1] != "{"
                break
            if text in {"--", "-"}:
                index += 1
                break
            if text[:2] == "--":
                index += 2 if text in _VALUED_SHELL_OPTIONS else 1
            elif _SHELL_FLAGS.match(text):
                has_text = has_text or (text[0] == "-" and "c" in text)
                reads_input = reads_input or (text[0] == "-" and "s" in text)
                index += 2 if text[-1] in "oO" else 1
            else:
                break
        own = self.make(name, tuple(values[1:]), scope, wrappers, source, redirects)
        inner_wrappers = (*wrappers, own)
        operands = values[index:]
        if name in _OWN_SYNTAX:
            self.commands.append(own)
            if has_text or not operands or is_vague:
                self._run_foreign(operands if has_text else [], scope, inner_wrappers, source)
            return
        if redirects:
            self.commands.append(own)
        if has_text and operands:
            inner = scope.copy()
            _set_positional(inner, operands[1:])
            self._read_value(operands[0], inner, inner_wrappers)
        elif is_vague:
            self.add_uncertain(source, scope, inner_wrappers)
        elif operands and operands[0].text == _PIPED_FILE:
            self.add_uncertain(source, scope, inner_wrappers)
        elif reads_input or has_text or not operands or operands[0].text in _OPEN_INPUT:
            prints = {"--version", "--help"} & {value.text for value in values[1:]}
            if scope.input is NO_INPUT and not redirects:
                self.commands.append(own)
            if not prints:
                self.run_input(scope, inner_wrappers, source)
        elif not redirects:
            self.commands.append(own)

    def _run_foreign(
        self, operands: Sequence[Value], scope: Scope, wrappers: tuple[Command, ...], source: str
    ) -> None:
        if not operands and scope.input is NO_INPUT:
            return
        text = operands[0].text if operands else source
        self.add_uncertain(text, scope, wrappers)

    def run_eval(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add what `eval` runs, in the same shell."""
        own = self.make(name, tuple(values[1:]), scope, wrappers, source, redirects)
        if len(values) == 1 or redirects:
            self.commands.append(own)
        if len(values) > 1:
            self._run_joined(values[1:], scope, (*wrappers, own))
        for variable in scope.variables:
            scope.variables[variable] = None

    def run_source(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add what `source` runs: its standard input, or a script."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        script = values[1] if len(values) > 1 else Value("")
        if script.text in _OPEN_INPUT:
            self.run_input(scope, (*wrappers, own), source)
        elif script.text == _PIPED_FILE or script.kind == VAGUE:
            self.add_uncertain(source, scope, (*wrappers, own))
        for variable in scope.variables:
            scope.variables[variable] = None

    def run_trap(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add the text of a `trap`."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        operands = [value for value in values[1:] if value.text not in {"--", "-"}]
        if len(operands) > 1 and operands[0].text[:2] not in {"-l", "-p"}:
            self._read_value(operands[0], scope, (*wrappers, own))

    def run_alias(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add the texts of aliases, and keep them for their uses."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        for value in values[1:]:
            alias, separator, text = value.text.partition("=")
            if separator:
                scope.aliases = {**scope.aliases, alias: text}
                self._read_value(value._replace(text=text), scope, (*wrappers, own))

    def run_directory(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Follow a change of the directory."""
        self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        operands = [value for value in values[1:] if value.text not in {"--", "-L", "-P", "-e"}]
        if name in {"popd", "pushd"} and not operands:
            operands = [Value("-")]
        scope.change_directory(operands[0] if operands else None)

    def run_declaration(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Keep the variables that `export`, `read` and the like set."""
        self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        for value in values[1:]:
            variable, separator, text = value.text.partition("=")
            is_known = separator and name in _DECLARES and value.kind == LITERAL
            if is_known:
                scope.variables[variable] = text
            elif name not in _DECLARES or separator:
                scope.variables[variable] = None
        if any(value.kind == VAGUE for value in values[1:]) and name not in _DECLARES:
            for variable in scope.variables:
                scope.variables[variable] = None

    def run_find(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add `find`, and what it runs for each file."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        read = own.read
        if read.may_have_more:
            self.is_doubtful += 1
        for command in read.commands:
            self.run(_with_files(command, own), scope, (*wrappers, own), source)
        if read.may_have_more:
            self.is_doubtful -= 1

    def run_fd(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add `fd`, and what it runs behind `-x`."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        for index, value in enumerate(values):
            if value.text in {"-x", "-X", "--exec", "--exec-batch"}:
                command = [*values[index + 1 :], Value("{}", VAGUE)]
                self.run(command, scope, (*wrappers, own), source)
                return
            if re.match(r"-\w+[xX]$|-[xX].|--exec", value.text):
                self.add_uncertain(source, scope, (*wrappers, own))

    def run_interpreter(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add an interpreter, and the programs that its code starts."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        base = canonical_program(name)
        inner_wrappers = (*wrappers, own)
        options = own.read.options
        codes: list[Value] = []
        for option in CODE_OPTIONS.get(base, ()):
            codes += options.get(option, ())
        if not codes and base == "deno" and own.values[:1] == (Value("eval"),):
            codes = list(own.values[1:2])
        for code in codes:
            self._run_code(code.text, code.kind == VAGUE, scope, inner_wrappers, source)
        operands = own.read.operands
        reads_input = not codes and (not operands or operands[0].text in _OPEN_INPUT)
        runs_module = not {"-m", "--module"}.isdisjoint(options)
        prints = not {"-V", "--version", "-v", "-h", "--help", "-i", "-l", "-m"}.isdisjoint(options)
        if reads_input and not runs_module and not prints and scope.input is not NO_INPUT:
            text = scope.input.text
            self._run_code(text or "", text is None, scope, inner_wrappers, source)
        elif operands and operands[0].text == _PIPED_FILE and not codes:
            self.add_uncertain(source, scope, inner_wrappers)

    def _run_code(
        self, code: str, is_vague: bool, scope: Scope, wrappers: tuple[Command, ...], source: str
    ) -> None:
        calls = find_calls(code)
        for text in calls.texts:
            self.read_text(text, scope, wrappers)
        for words in calls.words:
            self.run([Value(word) for word in words], scope, wrappers, source)
        if is_vague or not calls.is_certain:
            self.add_uncertain(source, scope, wrappers)

    def run_awk(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add `awk`, and what its program runs."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        programs = list(own.read.options.get("--source", ()))
        if not programs and "--file" not in own.read.options:
            programs = own.read.operands[:1]
        for program in programs:
            calls = find_awk_calls(program.text)
            for text in calls.texts:
                self.read_text(text, scope, (*wrappers, own))
            if not calls.is_certain:
                self.add_uncertain(source, scope, (*wrappers, own))

    def run_sed(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add `sed`, and what its command `e` runs."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        scripts = list(own.read.options.get("--expression", ())) or own.read.operands[:1]
        for script in scripts:
            runs = _SED_RUNS.search(script.text)
            if runs and runs[1]:
                self.read_text(runs[1], scope, (*wrappers, own))
            elif runs:
                self.add_uncertain(source, scope, (*wrappers, own))

    def run_editor(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add an editor, and the programs that its commands start."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        for value in values[1:]:
            text = value.text.lstrip("+:% ")
            runs = _EDITOR_RUNS.match(text)
            if runs and runs[1]:
                self.read_text(runs[1], scope, (*wrappers, own))
            elif runs:
                self.add_uncertain(source, scope, (*wrappers, own))

    def run_client(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        r"""Add a client of a database, and the programs that `\!` starts."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        texts = list(own.read.options.get(_SQL_CLIENTS[name], ()))
        texts += own.read.operands[1:] if name == "sqlite3" else []
        if scope.input.text:
            texts.append(Value(scope.input.text))
        for text in texts:
            for runs in _INLINE_ESCAPE.finditer(text.text):
                self.read_text(runs[1] or runs[2] or runs[3] or "", scope, (*wrappers, own))

    def run_stdin(
        self,
        name: str,
        values: Sequence[Value],
        scope: Scope,
        wrappers: tuple[Command, ...],
        source: str,
        redirects: tuple[Redirect, ...],
    ) -> None:
        """Add `at` or `batch`, and what they run later."""
        own = self.add(name, tuple(values[1:]), scope, wrappers, source, redirects)
        self.run_input(scope, (*wrappers, own), source)


def _set_positional(scope: Scope, values: Sequence[Value]) -> None:
    """Set `$0`, `$1` and so on."""
    for index, value in enumerate(values[:10]):
        scope.variables[str(index)] = value.text if value.kind != VAGUE else None
    rest = values[1:]
    is_known = all(value.kind != VAGUE and " " not in value.text for value in rest)
    for name in "@*":
        scope.variables[name] = " ".join([value.text for value in rest]) if is_known else None


def _with_files(command: list[Value], find: Command) -> list[Value]:
    """Return a command of `find -exec` with what `{}` stands for."""
    roots = find.read.operands or [Value(".")]
    names = find.read.options.get("-name", [])
    is_simple = len(names) <= 1 and "-o" not in find.read.options
    name = f"/{names[0].text}" if names and is_simple else ""
    words: list[Value] = []
    for value in command:
        if value.text != "{}":
            is_part = "{}" in value.text
            words.append(value._replace(kind=VAGUE) if is_part else value)
        elif any(root.kind == VAGUE for root in roots):
            words.append(Value("{}", VAGUE))
        else:
            words += [Value(f"{root.text}/**{name}", PATTERN) for root in roots]
    return words


_SPECIAL = {
    **dict.fromkeys((*SHELLS, "cmd"), Reader.run_shell),
    **dict.fromkeys({name.split()[0] for name in RUNNERS}, Reader.run_wrapper),
    **dict.fromkeys(
        ("podman", "nerdctl", "oc", "gxargs", "gtimeout", "genv", "k3s"), Reader.run_wrapper
    ),
    **dict.fromkeys(
        ("linux32", "linux64", "proxychains4", "mamba", "bunx", "pnpx"), Reader.run_wrapper
    ),
    "eval": Reader.run_eval,
    "source": Reader.run_source,
    ".": Reader.run_source,
    "trap": Reader.run_trap,
    "alias": Reader.run_alias,
    **dict.fromkeys(_CHANGES_DIRECTORY, Reader.run_directory),
    **dict.fromkeys(_SETS_VARIABLES - {"eval", "source", "."}, Reader.run_declaration),
    **dict.fromkeys(("find", "gfind"), Reader.run_find),
    **dict.fromkeys(("fd", "fdfind"), Reader.run_fd),
    **dict.fromkeys(CODE_OPTIONS, Reader.run_interpreter),
    **dict.fromkeys(("nodejs", "python2", "python3", "pypy3"), Reader.run_interpreter),
    **dict.fromkeys((f"python3.{minor}" for minor in range(6, 16)), Reader.run_interpreter),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), Reader.run_awk),
    **dict.fromkeys(("sed", "gsed"), Reader.run_sed),
    **dict.fromkeys(_EDITORS, Reader.run_editor),
    **dict.fromkeys(_SQL_CLIENTS, Reader.run_client),
    **dict.fromkeys(STDIN_RUNNERS, Reader.run_stdin),
}
