"""A walk over the steps of a command line, which keeps what the shell knows at each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.shell.builtins import SHARED
from anyhook.shell.expansions import expand, expand_assignment, expand_text, expand_words
from anyhook.shell.outputs import known_output
from anyhook.shell.reader import ExpandedCall, Reader
from anyhook.shell.scope import MAX_DIRECTORIES, UNKNOWN_INPUT, Input, Redirect, Scope
from anyhook.shell.values import LITERAL, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anyhook.shell.command import Command
    from anyhook.shell.parser import Step, Word

_LOOPS = frozenset({"for", "select", "while", "until"})
_NAMED_LOOPS = frozenset({"for", "select"})
_OPENERS = frozenset({"if", "case", "{", "(", *_LOOPS})
_CLOSERS = {"fi": {"if"}, "done": _LOOPS, "esac": {"case"}, "}": {"{"}}
_BRANCHES = frozenset({"elif", "else"})
_SUBSHELL, _SUBSTITUTION, _ARITHMETIC, _FUNCTION = "(", "$(", "((", "()"
_CHANGES_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
_CHANGES_SHELL = SHARED | {"builtin", "command"}
_PIPES = frozenset({"|", "|&"})
_CONDITIONAL = frozenset({"&&", "||", "&", "!", *_PIPES})
"""Operators beside which the failure of a command need not end a shell with `set -e`."""
_NEED_NOT_MOVE = frozenset({"||", "!", *_PIPES})
"""Operators in front of a `cd` behind which the shell may be where it was, without a failure."""
_LEAVES = frozenset({"exit", "return"})
_DUPLICATES = frozenset({">&", "<&"})
_POSITIONAL = dict.fromkeys("0123456789@*")
"""The arguments, which are others in a function."""
_READS = frozenset({"<", "<>", "0<", "0<>"})
_KEEPS_OUTPUT = frozenset({">", ">|", ">>", "1>", "1>|", "1>>", "&>", "&>>"})
_KEEPS_TEXT = frozenset("cat chmod chown echo printf tee touch".split())
"""Programs of which it is known what they write, or that leave the text of a file."""
_NO_NEWLINE = frozenset({"-n", "-ne", "-en"})

Directories = tuple[str | None, ...]


class _Frame(NamedTuple):
    """A compound command or a substitution that is being walked through."""

    keyword: str
    entry: Scope
    """The scope in front of it."""
    is_function: bool
    line: _Line
    """The state of the list in which it stands."""


class _Line:
    """The state of a list of pipelines, such as `cd a && b | c`.

    Attributes:
        redirects: Redirections in front of the next command, or behind a compound one.
        input: The standard input that they give.
        assignments: Assignments in front of the next command.
        operator: The operator in front of it.
        last_program: The program of the last command.
        last_output: What the last command printed.
        before: Where the shell was in front of the next command.
        moved: Where the shell is if each `cd` in this list succeeds, and if one fails.
        sole: What the last command runs, if that is one command.
    """

    __slots__ = (
        "assignments",
        "before",
        "input",
        "last_output",
        "last_program",
        "moved",
        "operator",
        "redirects",
        "sole",
    )

    def __init__(self, before: Directories) -> None:
        self.redirects: list[Redirect] = []
        self.input: Input | None = None
        self.assignments: list[Word] = []
        self.operator = ""
        self.last_program = ""
        self.last_output = UNKNOWN_INPUT
        self.before = before
        self.moved: tuple[Directories, Directories] | None = None
        self.sole: Command | None = None


def walk(
    reader: Reader, scope: Scope, wrappers: tuple[Command, ...], steps: Sequence[Step]
) -> None:
    """Add the commands of the steps of a text."""
    _Walk(reader, scope, wrappers, steps).walk()


def _is_repeated(frames: Sequence[str]) -> bool:
    """Return whether what is in these compound commands may run again in the same shell."""
    for keyword in reversed(frames):
        if keyword in {_SUBSHELL, _SUBSTITUTION}:
            return False
        if keyword in _LOOPS or keyword == _FUNCTION:
            return True
    return False


class _Walk:
    """Walks over the steps of one text."""

    def __init__(
        self, reader: Reader, scope: Scope, wrappers: tuple[Command, ...], steps: Sequence[Step]
    ) -> None:
        self.reader = reader
        self.scope = scope
        self.wrappers = wrappers
        self.steps = steps
        self.frames: list[_Frame] = []
        self.line = _Line(scope.directories)
        self.is_function = False
        self.precedes_time = False
        self.skips_word = False
        self.moves_in_loop = False
        self.bodies: dict[int, str] = {}
        """Bodies of here-documents by the identity of the step of their redirection."""
        waiting: list[Step] = []
        for step in steps:
            if step.kind == "redirection" and step.text.endswith(("<<", "<<-")):
                waiting.append(step)
            elif step.kind == "body" and waiting:
                self.bodies[id(waiting.pop(0))] = step.text

    def walk(self) -> None:
        """Add the commands of all steps to the reader."""
        if any(step.kind == "function" or step.text == "done" for step in self.steps):
            self._look_into_loops()
        for step in self.steps:
            handle = _HANDLERS.get(step.kind)
            if handle is not None:
                handle(self, step)
        self._flush_redirects()

    def _look_into_loops(self) -> None:
        """Forget variables that a loop or a function sets, and notice a `cd` in a loop.

        A round of a loop sees what the round before has changed further down.
        """
        frames: list[str] = []
        changed: set[str] = set()
        for step in self.steps:
            first = step.words[0].source if step.words else step.text
            opens_loop = step.kind in {"keyword", "command"} and first in _LOOPS
            is_inside = _is_repeated(frames)
            if opens_loop:
                frames.append(first)
                changed.update([word.text for word in step.words[1:2]])
            elif step.kind == "function":
                frames.append(_FUNCTION)
            elif step.kind == "open":
                frames.append(_SUBSTITUTION)
            elif step.kind == "keyword" and first in _OPENERS:
                frames.append(first)
            elif step.kind == "close" or first == ")" or first in _CLOSERS:
                del frames[-1:]
                if frames[-1:] == [_FUNCTION]:  # it was the body of the function
                    del frames[-1]
            elif step.kind == "assignment" and is_inside:
                changed.add(first.partition("=")[0].rstrip("+"))
            elif step.kind == "command" and is_inside and first in _CHANGES_DIRECTORY:
                self.moves_in_loop = True
        if changed:
            self.scope.fixed = self.scope.fixed | changed
            self.scope.variables.update(dict.fromkeys(changed))

    # --- compound commands ---------------------------------------------------------------------

    def _push(self, keyword: str) -> None:
        self.line.sole = None
        self.frames.append(_Frame(keyword, self.scope.copy(), self.is_function, self.line))
        if self.is_function:
            self.scope.variables.update(_POSITIONAL)
        self.is_function = False
        self.line = _Line(self.scope.directories)

    def _pop(self, keywords: Collection[str]) -> None:
        """Leave the innermost compound that one of some keywords opened, and all in it."""
        index = len(self.frames) - 1
        while index >= 0 and self.frames[index].keyword not in keywords:
            index -= 1
        if index < 0:
            return
        frame = self.frames[index]
        del self.frames[index:]
        last_program = self.line.last_program
        self.line = frame.line
        is_group = frame.keyword == "{" and not frame.is_function
        if frame.keyword in {_SUBSHELL, _SUBSTITUTION}:
            self.scope.restore(frame.entry)
        elif not is_group:
            self.scope.merge(frame.entry)
            self.scope.restore_variables(frame.entry, _POSITIONAL)
        self.scope.input = frame.entry.input
        if frame.keyword != _SUBSTITUTION:
            self.line.last_program = last_program if is_group else ""
            self.line.last_output = UNKNOWN_INPUT

    def on_open(self, step: Step) -> None:
        self.reader.arithmetics += step.text == _ARITHMETIC
        self._push(_SUBSTITUTION)

    def on_close(self, step: Step) -> None:
        self._flush_redirects()
        self._pop({_SUBSTITUTION})
        self.reader.arithmetics -= step.text == _ARITHMETIC

    def on_function(self, step: Step) -> None:
        self.scope.functions = self.scope.functions | {step.text}
        self.is_function = True

    def on_branch(self, _step: Step) -> None:
        """Begin another branch: what the last one changed may have happened or not."""
        if self.frames:
            self.scope.merge(self.frames[-1].entry)

    def on_keyword(self, step: Step) -> None:
        keyword = step.text
        if keyword in _OPENERS:
            self._push(keyword)
            if keyword in _LOOPS and self.moves_in_loop:
                self.scope.add_directories((None,))
        elif keyword in _CLOSERS:
            self._pop(_CLOSERS[keyword])
        elif keyword in _BRANCHES:
            self.on_branch(step)
        elif keyword == "!":
            self.line.operator = keyword
        # `time -f FORMAT` of dash is a program, whose option takes the next word.
        is_option_of_time = self.precedes_time and keyword[:1] == "-"
        self.skips_word = is_option_of_time and keyword[-1:] in {"f", "o"}
        self.precedes_time = keyword == "time" or is_option_of_time

    # --- parts of a command --------------------------------------------------------------------

    def on_assignment(self, step: Step) -> None:
        self.line.assignments.append(step.words[0])

    def on_redirection(self, step: Step) -> None:
        operator, word = step.text, step.words[0]
        line = self.line
        kind = operator.lstrip("0123456789")
        if kind in {"<<", "<<-"}:
            text = self.bodies.get(id(step), "")
            if kind == "<<-":
                text = "\n".join([row.lstrip("\t") for row in text.split("\n")])
            is_literal = not {"\\", "'", '"'}.isdisjoint(word.source)
            is_certain = is_literal or {"$", "`"}.isdisjoint(text)
            line.input = Input(text, is_certain=is_certain)
            line.redirects.append(Redirect(operator, text, is_certain))
            return
        if kind == "<<<":
            known = expand_text(word, self.scope)
            line.input = Input(known)
            line.redirects.append(Redirect(operator, known or word.text, known is not None))
            return
        values = expand(word, self.scope)
        value = values[0] if len(values) == 1 else Value(word.text, VAGUE)
        if kind in _DUPLICATES and (value.text.isdigit() or value.text == "-"):
            return
        if operator in _READS:
            written = self.scope.written(value.text) if value.kind == LITERAL else UNKNOWN_INPUT
            line.input = Input("") if value.text == "/dev/null" else written
        # `((count > $limit))` compares two numbers.
        is_comparison = self.reader.arithmetics and (value.kind == VAGUE or "/" not in value.text)
        if is_comparison:
            return
        line.redirects.append(Redirect(operator, value.text, value.kind == LITERAL))

    def _flush_redirects(self) -> None:
        """Add the redirections of a compound command, or those without a command."""
        line = self.line
        if not line.redirects:
            return
        redirects, line.redirects = tuple(line.redirects), []
        received, line.input = line.input, None
        self.reader.run(ExpandedCall("", (), self.scope, self.wrappers, "", redirects))
        # A shell in the compound reads the input that it is given at its end.
        if received is not None and self.reader.waiting_shells:
            self.reader.add_uncertain("", self.scope, self.wrappers)

    # --- commands ------------------------------------------------------------------------------

    def on_command(self, step: Step) -> None:
        words, line, scope = step.words, self.line, self.scope
        if words[0].source in _NAMED_LOOPS:
            self._push(words[0].source)
            if self.moves_in_loop:
                scope.add_directories((None,))
            return
        values = expand_words(words, scope)
        if self.skips_word:
            del values[:1]
        self.precedes_time = self.skips_word = False
        redirects, line.redirects = tuple(line.redirects), []
        received, line.input = line.input, None
        assignments, line.assignments = line.assignments, []
        program = values[0].text if values else ""
        inner = scope
        if received is not None or assignments:
            inner = scope.copy()
            inner.input = received or scope.input
            inner.variables.update([expand_assignment(word, scope) for word in assignments])
        if program in _CHANGES_SHELL and inner is not scope:
            scope.input = inner.input
            inner = scope
        count = len(self.reader.commands)
        self.reader.run(ExpandedCall("", values, inner, self.wrappers, step.source, redirects))
        commands = self.reader.commands[count:]
        sole = commands[0] if len(commands) == 1 else None
        if line.sole is not None and line.operator in _PIPES:
            line.sole.piped_into = sole
        line.sole = sole
        line.last_program = program
        line.last_output = known_output(line.sole, values, received, scope)
        if scope.files:
            self._forget_files(commands)
        self._keep_files(values, redirects, inner)

    def _forget_files(self, commands: Sequence[Command]) -> None:
        """Forget the texts of files that `cp` or the like writes again."""
        for command in commands:
            if command.program not in _KEEPS_TEXT:
                for path in command.written_paths:
                    self.scope.files.pop(path, None)

    def _keep_files(
        self, values: Sequence[Value], redirects: Sequence[Redirect], scope: Scope
    ) -> None:
        """Keep what a command writes to files: `echo 'rm x' > a.sh`, `tee a.sh << END`."""
        texts = [value.text for value in values]
        output = self.line.last_output
        ends_line = texts[:1] == ["echo"] and not _NO_NEWLINE.issuperset(texts[1:2])
        if ends_line and output.text is not None:
            output = Input(f"{output.text}\n", is_certain=output.is_certain)
        for redirect in redirects:
            if redirect.certain and redirect.operator in _KEEPS_OUTPUT:
                appends = redirect.operator.endswith(">>")
                scope.write_file(redirect.target, output, appends=appends)
        if texts[:1] == ["tee"]:
            appends = not {"-a", "--append"}.isdisjoint(texts)
            for value in values[1:]:
                if value.kind == LITERAL and value.text[:1] != "-":
                    scope.write_file(value.text, output, appends=appends)

    # --- operators -----------------------------------------------------------------------------

    def on_end(self, step: Step) -> None:
        operator, line = step.text, self.line
        if line.assignments:
            # One behind an operator may not be reached.
            is_conditional = line.operator in {"&&", "||", *_PIPES}
            for word in line.assignments:
                name, text = expand_assignment(word, self.scope)
                is_unknown = is_conditional or name in self.scope.fixed
                self.scope.variables[name] = None if is_unknown else text
            line.last_program = ""
            line.assignments = []
        self._flush_redirects()
        # There `set -e` runs in a subshell, or only perhaps.
        if line.last_program == "set" and not {operator, line.operator}.isdisjoint(_CONDITIONAL):
            self.scope.exits_on_error = False
        if operator in _PIPES:
            self.scope.input = line.last_output
            self.scope.set_directories(line.before)  # it ran in a subshell
        else:
            self._end_pipeline(operator)
        if operator == ")" and self.frames and self.frames[-1].keyword == _SUBSHELL:
            self._pop({_SUBSHELL})
        else:
            line.operator = operator
            line.before = self.scope.directories

    def _end_pipeline(self, operator: str) -> None:
        scope, line = self.scope, self.line
        scope.input = self.frames[-1].entry.input if self.frames else scope.base_input
        line.last_output = UNKNOWN_INPUT
        has_moved = scope.directories != line.before
        if has_moved:
            # Of `cd a && cd b` each may fail.
            failed = line.before if line.moved is None else (*line.before, *line.moved[1])
            if len(failed) > MAX_DIRECTORIES:
                failed = (None,)
            line.moved = (scope.directories, failed)
            # Some shells run the end of a pipeline in a subshell, and `true || cd a` does not run.
            if line.operator in _NEED_NOT_MOVE:
                scope.add_directories(line.before)
        if line.moved is None:
            return
        # `set -e` ends the shell if a `cd` fails that is the last command of its list.
        ends_shell = scope.exits_on_error and has_moved and line.operator not in _CONDITIONAL
        # `cd a && b` runs `b` in `a` alone; `cd a; b` runs it elsewhere if there is no `a`.
        succeeded, failed = line.moved
        if operator == "&&":
            return
        if operator == "||":
            scope.add_directories(failed)
            return
        line.moved = None
        if operator == "&":
            scope.set_directories(failed)
        elif line.operator == "||" and line.last_program in _LEAVES:
            scope.set_directories(succeeded)
        elif not ends_shell:
            scope.add_directories(failed)


_HANDLERS = {
    "command": _Walk.on_command,
    "end": _Walk.on_end,
    "redirection": _Walk.on_redirection,
    "assignment": _Walk.on_assignment,
    "keyword": _Walk.on_keyword,
    "open": _Walk.on_open,
    "close": _Walk.on_close,
    "function": _Walk.on_function,
    "pattern": _Walk.on_branch,
}
"""Kind of a step to the method that handles it."""
