"""A walk over the steps of a command line, which keeps what the shell knows at each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.shell.command import Redirect
from anyhook.shell.expansions import LITERAL, VAGUE, Value
from anyhook.shell.scope import NO_INPUT, UNKNOWN_INPUT, Input, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.shell.command import Command
    from anyhook.shell.commands import Reader
    from anyhook.shell.parser import Step, Word

_LOOPS = frozenset({"for", "select"})
_OPENERS = frozenset({"if", "while", "until", "for", "select", "case", "{", "("})
_CLOSERS = {
    "fi": ("if",),
    "done": ("while", "until", "for", "select"),
    "esac": ("case",),
    "}": ("{",),
}
_BRANCHES = frozenset({"elif", "else"})
_CHANGES_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
_LEAVES = frozenset({"exit", "return"})
_PRINTS = frozenset({"echo", "printf"})
_TIME_VALUES = ("f", "o")


class _Frame(NamedTuple):
    """A compound command or a substitution that is being walked through.

    Attributes:
        keyword: What opened it.
        entry: The scope in front of it.
        is_function: Whether it is the body of a function.
    """

    keyword: str
    entry: Scope
    is_function: bool = False


class Walk:
    """Walks over the steps of one text."""

    def __init__(self, reader: Reader, scope: Scope, wrappers: tuple[Command, ...]) -> None:
        self.reader = reader
        self.scope = scope
        self.wrappers = wrappers
        self.frames: list[_Frame] = []
        self.redirects: list[Redirect] = []
        self.input: Input | None = None
        self.assignments: list[Word] = []
        self.precedes_time = False
        self.skips_word = False
        self.is_function = False
        # The state of the list: where a failed `cd` leaves the shell, and what the last command was.
        self.before_directory: tuple[str | None, ...] | None = None
        self.last_program = ""
        self.last_output: str | None = None
        self.operator = ""
        self.list_start: Scope | None = None
        self.outer_inputs: list[Input] = []
        self.saved: list[tuple[list[Redirect], Input | None, list[Word]]] = []

    def walk(self, steps: Sequence[Step]) -> None:
        """Add the commands of all steps to the reader."""
        bodies = _bodies(steps)
        self._forget_what_loops_change(steps)
        for index, step in enumerate(steps):
            match step.kind:
                case "command":
                    self._command(step)
                case "end":
                    self._end(step.text)
                case "redirection":
                    self._redirection(step, bodies.get(index))
                case "assignment":
                    self.assignments.append(step.words[0])
                case "keyword":
                    self._keyword(step.text)
                case "open":
                    self.frames.append(_Frame("$(", self.scope.copy()))
                    self.saved.append((self.redirects, self.input, self.assignments))
                    self.redirects, self.input, self.assignments = [], None, []
                case "close":
                    self._close("$(")
                    self.redirects, self.input, self.assignments = self.saved.pop()
                case "function":
                    self.scope.functions.add(step.text)
                    self.is_function = True
                case "pattern":
                    if self.frames:
                        self.scope.merge(self.frames[-1].entry)
        self._flush_redirects()

    # --- what loops change ---------------------------------------------------------------------

    def _forget_what_loops_change(self, steps: Sequence[Step]) -> None:
        """Forget variables that a loop or a function sets: their value depends on the round."""
        depth = 0
        for step in steps:
            keyword = step.words[0].source if step.kind == "command" else step.text
            if step.kind == "function" or (
                step.kind in {"keyword", "command"} and keyword in {"while", "until", *_LOOPS}
            ):
                depth += 1
                if step.kind == "command" and len(step.words) > 1:
                    self.reader_forgets(step.words[1].text)
            elif step.kind == "keyword" and keyword == "done":
                depth -= 1
            elif step.kind == "assignment" and depth > 0:
                self.reader_forgets(step.words[0].source.partition("=")[0].rstrip("+"))

    def reader_forgets(self, name: str) -> None:
        self.scope.variables[name] = None
        self.scope.fixed.add(name)

    # --- steps ---------------------------------------------------------------------------------

    def _keyword(self, keyword: str) -> None:
        if keyword in _OPENERS:
            is_loop = keyword in {"while", "until", "for", "select"}
            self.frames.append(_Frame(keyword, self.scope.copy(), self.is_function))
            self.is_function = False
            if is_loop and self.scope.moves_in_loop:
                self.scope.add_directories((None,))
            self._start_list()
        elif keyword in _CLOSERS:
            self._close(*_CLOSERS[keyword])
        elif keyword in _BRANCHES and self.frames:
            self.scope.merge(self.frames[-1].entry)
        self.precedes_time = keyword == "time" or (self.precedes_time and keyword[:1] == "-")
        if self.precedes_time and keyword != "time":
            self.skips_word = keyword.endswith(_TIME_VALUES)

    def _close(self, *keywords: str) -> None:
        index = len(self.frames) - 1
        while index >= 0 and self.frames[index].keyword not in keywords:
            index -= 1
        if index < 0:
            return
        frame = self.frames[index]
        del self.frames[index:]
        if frame.keyword in {"(", "$("}:
            self.scope.restore(frame.entry)
        elif frame.keyword != "{" or frame.is_function:
            self.scope.merge(frame.entry)
            self.scope.input = frame.entry.input
        else:
            self.scope.input = frame.entry.input
        self.last_program = self.last_program if frame.keyword == "{" else ""
        self.last_output = None

    def _redirection(self, step: Step, body: str | None) -> None:
        operator, word = step.text, step.words[0]
        kind = operator.lstrip("0123456789")
        if kind in {"<<", "<<-"}:
            text = body or ""
            if kind == "<<-":
                text = "\n".join([line.lstrip("\t") for line in text.split("\n")])
            is_literal = any(mark in word.source for mark in "\\'\"")
            known = text if is_literal or not ("$" in text or "`" in text) else None
            self.input = Input(known if known is not None else None)
            self.redirects.append(Redirect(operator, text, known is not None))
            if known is None:
                self.doubtful_text = text
            return
        if kind == "<<<":
            known = self.scope.expand_text(word)
            self.input = Input(known)
            self.redirects.append(Redirect(operator, known or word.text, known is not None))
            return
        values = self.scope.expand(word)
        value = values[0] if len(values) == 1 else Value(word.text, VAGUE)
        if kind in {">&", "<&"} and (value.text.isdigit() or value.text in {"-"}):
            return
        if kind in {"<", "<>"} and operator[:1] in {"<", "0"}:
            self.input = UNKNOWN_INPUT
        self.redirects.append(Redirect(operator, value.text, value.kind == LITERAL))

    def _command(self, step: Step) -> None:
        words = step.words
        redirects = tuple(self.redirects)
        self.redirects = []
        own_input, self.input = self.input, None
        assignments, self.assignments = self.assignments, []
        scope = self.scope
        first = words[0]
        if first.source in _LOOPS:
            self._keyword(first.text)
            self._set_loop_variable(words)
            return
        values: list[Value] = []
        for word in words:
            if word.is_vague or word.source[:1] == "~":
                values += scope.expand(word)
            else:
                values.append(Value(word.text))
        if self.skips_word:
            values = values[1:]
            self.skips_word = False
        self.precedes_time = False
        inner = scope
        if own_input is not None or assignments:
            inner = scope.copy()
            inner.input = own_input or scope.input
            for assignment in assignments:
                name, text = scope.assignment(assignment)
                inner.variables[name] = text
        before = (scope.directory, *scope.other_directories)
        changes_directory = bool(values) and values[0].text in _CHANGES_DIRECTORY
        target = scope if changes_directory or (values and values[0].text in _SHARED) else inner
        self.reader.run(values, target, self.wrappers, step.source, redirects)
        self.before_directory = before if changes_directory else self.before_directory
        self.last_program = values[0].text if values else ""
        self.last_output = _output(values, own_input)

    def _set_loop_variable(self, words: Sequence[Word]) -> None:
        """Keep the value of `for NAME in WORD` if there is one."""
        if len(words) < 2:
            return
        values: list[Value] = []
        for word in words[3:]:
            values += self.scope.expand(word)
        is_known = len(values) == 1 and values[0].kind == LITERAL
        self.scope.variables[words[1].text] = values[0].text if is_known else None

    def _end(self, operator: str) -> None:
        scope = self.scope
        if self.assignments:
            is_conditional = self.operator in {"&&", "||", "|", "|&"}
            for assignment in self.assignments:
                name, text = scope.assignment(assignment)
                is_known = not is_conditional and name not in scope.fixed
                scope.variables[name] = text if is_known else None
            self.assignments = []
            self.last_program = ""
        self._flush_redirects()
        if operator in {"|", "|&"}:
            scope.input = Input(self.last_output)
        else:
            self._end_pipeline(operator)
        if operator == ")":
            if self.frames and self.frames[-1].keyword == "(":
                self._close("(")
                self.operator = ""
                return
        self.operator = operator

    def _end_pipeline(self, operator: str) -> None:
        scope = self.scope
        scope.input = self.frames[-1].entry.input if self.frames else scope.base_input
        self.last_output = None
        failed = self.before_directory
        if failed is None:
            return
        # `cd a && b` runs `b` in `a` alone; `cd a; b` runs it elsewhere if there is no `a`.
        if operator == "&&":
            return
        leaves = self.operator == "||" and self.last_program in _LEAVES
        if not leaves and not scope.exits_on_error:
            scope.add_directories(failed)
        if operator != "||":
            self.before_directory = None

    def _start_list(self) -> None:
        self.operator = ""

    def _flush_redirects(self) -> None:
        """Add the redirections of a compound command, or those without a command."""
        if not self.redirects:
            return
        redirects, self.redirects = tuple(self.redirects), []
        own_input, self.input = self.input, None
        self.reader.run((), self.scope, self.wrappers, "", redirects)
        if own_input is not None and self.reader.waiting_shells:
            self.reader.add_uncertain("", self.scope, self.wrappers)


_SHARED = frozenset(
    "export declare local typeset readonly read unset eval source . alias set shopt".split()
)
"""Builtins that change the shell that runs them."""


def _bodies(steps: Sequence[Step]) -> dict[int, str]:
    """Return the bodies of here-documents by the index of their redirection."""
    waiting: list[int] = []
    bodies: dict[int, str] = {}
    for index, step in enumerate(steps):
        if step.kind == "redirection" and step.text.endswith(("<<", "<<-")):
            waiting.append(index)
        elif step.kind == "body" and waiting:
            bodies[waiting.pop(0)] = step.text
    return bodies


def _output(values: Sequence[Value], own_input: Input | None) -> str | None:
    """Return what a command prints, if its text decides it."""
    if not values or any(value.kind != LITERAL for value in values):
        return None
    texts = [value.text for value in values]
    if texts[0] == "cat" and len(texts) == 1 and own_input is not None:
        return own_input.text
    if texts[0] == "echo":
        arguments = texts[1:]
        while arguments[:1] and arguments[0] in {"-n", "-e", "-E", "-ne", "-en"}:
            arguments = arguments[1:]
        text = " ".join(arguments)
        return None if "\\" in text else text
    if texts[0] == "printf" and len(texts) > 1:
        return _printf(texts[1], texts[2:])
    return None


def _printf(template: str, arguments: list[str]) -> str | None:
    template = template.replace("\\n", "\n").replace("\\t", "\t")
    if "\\" in template or template.count("%") > template.count("%s"):
        return None
    count = template.count("%s")
    if not count:
        return template
    pieces: list[str] = []
    while arguments or not pieces:
        batch, arguments = arguments[:count], arguments[count:]
        batch += [""] * (count - len(batch))
        parts = template.split("%s")
        pieces += [part + value for part, value in zip(parts, [*batch, ""], strict=True)]
    return "".join(pieces)
