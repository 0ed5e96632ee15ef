"""How the exit code and the output of a script get through the command line that starts it.

What is not known counts as a code that denies, and as output that arrives.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.spec import OutputAction
from anyhook.checks.started_scripts import starts_of
from anyhook.shell import read_commands
from anyhook.shell.parser import UnreadableError
from anyhook.shell.programs import SHELLS, base_name
from anyhook.shell.structure import Block, Element, Pipeline, parse_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.checks.hook import CheckedHook

ZERO, TWO, OTHER = "0", "2", "other"
"""Exit codes as far as they count here."""
_ANY = frozenset({ZERO, TWO, OTHER})
_NO_DENIAL = frozenset({ZERO, OTHER})
_SUCCEEDS = frozenset("true : echo printf".split())
_NEVER_TWO = frozenset("cat date false logger mkdir rm sleep tee touch wc head tail tr".split())
"""Programs that do not end with 2 because of what a hook decides."""
_ASSIGNS = frozenset("declare export local readonly typeset".split())
"""Commands that end with a code of their own, whatever the substitution in their words does."""
_PRINTS_NOTHING = _ASSIGNS | {"true", ":"}
_CHANGES_CODES = frozenset({"xargs", "find", "parallel", "watch"})
"""Wrappers that end with a code of their own."""
_BLOCKS = frozenset(
    {
        OutputAction.BLOCK,
        OutputAction.APPLY_AND_BLOCK,
        OutputAction.MERGE_DENIAL,
        OutputAction.FAIL_CLOSED,
        OutputAction.DENY_TEXT,
    }
)
_STDOUT_FILES = frozenset({"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
_STDOUT = frozenset({">", ">>", ">|", "1>", "1>>", "1>|", "&>", "&>>"})
MAX_DEPTH = 3
"""Texts of `sh -c` within each other that are followed."""


class HookLine:
    """A command line, or the text of `sh -c`, that may start a script.

    Attributes:
        functions: The bodies of its functions by their names.
    """

    def __init__(
        self, hook: CheckedHook, script: Path, text: str, block: Block, depth: int = 0
    ) -> None:
        self.hook = hook
        self.script = script
        self.text = text
        self.block = block
        self.depth = depth
        self.functions = {
            element.name: element.blocks[0]
            for element in elements_of(block)
            if element.kind == "function"
        }

    def is_start(self, element: Element) -> bool:
        """Return whether a simple command itself starts the script."""
        if element.kind != "command":
            return False
        return any(start.script == self.script for start in starts_of(self.hook, _source(element)))

    def body_called_by(self, element: Element) -> Block | None:
        """Return the body of the function that a command calls."""
        if element.kind != "command":
            return None
        return self.functions.get(element.words[0].text)

    def starts_in(self, block: Block) -> list[Element]:
        """Return the commands that start the script, also those in functions that are called."""
        elements = self._elements_that_run(block, frozenset())
        return [element for element in elements if self.is_start(element)]

    def _elements_that_run(self, block: Block, calls: frozenset[str]) -> Iterator[Element]:
        for element in elements_of(block, with_functions=False):
            yield element
            body = self.body_called_by(element)
            name = element.words[0].text if element.words else ""
            if body is not None and name not in calls:
                yield from self._elements_that_run(body, calls | {name})

    def is_only_in_unused_function(self) -> bool:
        """Return whether only functions that the line does not name again start the script."""
        is_started = any(self.is_start(element) for element in elements_of(self.block))
        return is_started and all(count_name(name, self.text) == 1 for name in self.functions)

    def has_reply_on_stdout(self, block: Block, calls: frozenset[str] = frozenset()) -> bool:
        """Return whether what the script prints may get to the standard output of a block."""
        for pipeline in block:
            for element in pipeline.elements:
                if element.kind == "function" or _sends_output_elsewhere(element, self.text):
                    continue
                if self.is_start(element):
                    return True
                blocks = list(element.blocks)
                if not self._drops_substitutions(element):
                    blocks += element.substitutions
                calls_inside = calls
                body = self.body_called_by(element)
                if body is not None and element.words[0].text not in calls:
                    calls_inside |= {element.words[0].text}
                    blocks.append(body)
                if any(self.has_reply_on_stdout(inner, calls_inside) for inner in blocks):
                    return True
        return False

    def _drops_substitutions(self, element: Element) -> bool:
        """Return whether what substitutions print surely has no effect.

        A variable may be used later, and a test may choose an exit code that denies.
        """
        program = element.words[0].text if element.words else ""
        names = [word.text.partition("=")[0] for word in element.assignments]
        if program in _ASSIGNS:
            names += [word.text.partition("=")[0] for word in element.words[1:]]
        elif element.kind == "test" or program in {"[", "test"}:
            codes = LineCodes(self, code_of_script=ZERO).of_line()
            return codes.isdisjoint(denying_codes(self.hook))
        elif element.kind != "assignment" and program not in _PRINTS_NOTHING:
            return False
        return all(count_name(name, self.text) == 1 for name in names)


def denying_codes(hook: CheckedHook) -> set[str]:
    """Return the exit codes that deny on the event of a hook."""
    rules = hook.engine.rules.exit_rules_for(hook.spec.canonical)
    other = rules.rule_for(1)
    actions = {other.json, other.malformed, other.text, other.empty}
    fails_closed = hook.handler.on_failure == "block" or not _BLOCKS.isdisjoint(actions)
    return {TWO, OTHER} if fails_closed else {TWO}


class _Result(NamedTuple):
    """The exit codes with which a part of a line may end.

    Attributes:
        going_on: With what follows behind it.
        ended: With the end of the shell.
    """

    going_on: frozenset[str]
    ended: frozenset[str] = frozenset()


class LineCodes:
    """Finds the exit codes of a line if a script that it starts ends with a certain code.

    Args:
        code_of_script: By default the code of a denial.
        calls: The functions of the line that are being followed.
    """

    def __init__(
        self, line: HookLine, *, code_of_script: str = TWO, calls: frozenset[str] = frozenset()
    ) -> None:
        self._line = line
        self._code_of_script = code_of_script
        self._calls = calls

    def of_line(self) -> frozenset[str]:
        """Return the codes with which the line may end; all of them if the script does not run."""
        block = self._line.block
        if not self._line.starts_in(block):
            return _ANY
        return self._of_subshell(block)

    def _of_subshell(self, block: Block) -> frozenset[str]:
        result = self._block(block)
        return result.going_on | result.ended

    def _block(self, block: Block) -> _Result:
        codes, ended = frozenset({ZERO}), frozenset[str]()
        condition = ""
        for pipeline in block:
            skipped = frozenset[str]()
            if condition == "&&":
                skipped = codes - {ZERO}
            elif condition == "||":
                skipped = codes & {ZERO}
            runs = condition not in {"&&", "||"} or codes != skipped
            if runs:
                result = self._element(pipeline.elements[-1], codes)
                if len(pipeline.elements) > 1:  # each part runs in a shell of its own
                    result = _Result(result.going_on | result.ended)
                going_on = result.going_on
                if pipeline.is_negated:
                    going_on = frozenset(OTHER if code == ZERO else ZERO for code in going_on)
                codes = skipped | going_on
                ended |= result.ended
            if pipeline.operator == "&":
                codes = frozenset({ZERO})
            condition = pipeline.operator
            if not codes:
                break
        return _Result(codes, ended)

    def _element(self, element: Element, before: frozenset[str]) -> _Result:
        match element.kind:
            case "command":
                return self._command(element, before)
            case "group":
                return self._block(element.blocks[0])
            case "subshell":
                return _Result(self._of_subshell(element.blocks[0]))
            case "assignment" if element.substitutions:
                return _Result(self._of_subshell(element.substitutions[-1]))
            case "assignment" | "function":
                return _Result(frozenset({ZERO}))
            case "branch":
                results = [
                    self._block(block) if block else _Result(frozenset({ZERO}))
                    for block in element.blocks
                ]
                going_on = frozenset[str]().union(*[result.going_on for result in results])
                return _Result(going_on, frozenset().union(*[item.ended for item in results]))
            case "test":
                return _Result(_NO_DENIAL)
        return _Result(_ANY)

    def _command(self, element: Element, before: frozenset[str]) -> _Result:
        words = [word.text for word in element.words]
        match words:
            case ["exit" | "return"] | ["exit" | "return", "$?"]:
                return _Result(frozenset(), before)
            case ["exit" | "return", code, *_] if code.isdecimal():
                return _Result(frozenset(), frozenset({_code(code)}))
            case ["exit" | "return", *_]:
                return _Result(frozenset(), _ANY)
            case ["exec", _, *_]:
                inner = Element("command", element.position, element.words[1:])
                result = self._command(inner, before)
                return _Result(frozenset(), result.going_on | result.ended)
            case [shell, option, text, *_] if base_name(shell) in SHELLS and "c" in option:
                return _Result(self._text(text))
        body = self._line.body_called_by(element)
        if body is not None:
            return self._call(words[0], body)
        name = base_name(words[0])
        if name in _SUCCEEDS:
            return _Result(frozenset({ZERO}))
        if name in _NEVER_TWO or name in _ASSIGNS or name in {"[", "test"}:
            return _Result(_NO_DENIAL)
        if not self._line.is_start(element):
            return _Result(_ANY)
        chains = [command.chain for command in read_commands(_source(element))]
        if any(not _CHANGES_CODES.isdisjoint(chain) for chain in chains):
            return _Result(_NO_DENIAL)
        return _Result(frozenset({self._code_of_script}))

    def _call(self, name: str, body: Block) -> _Result:
        """Return the codes of a call of a function, which `return` ends, and `exit` with it."""
        if name in self._calls:
            return _Result(_ANY)
        inner = LineCodes(
            self._line, code_of_script=self._code_of_script, calls=self._calls | {name}
        )
        result = inner._block(body)
        return _Result(result.going_on | result.ended, result.ended)

    def _text(self, text: str) -> frozenset[str]:
        """Return the codes of a text that is given to a shell."""
        outer = self._line
        if outer.depth >= MAX_DEPTH:
            return _ANY
        try:
            block = parse_script(text)
        except UnreadableError:
            return _ANY
        inner = HookLine(outer.hook, outer.script, text, block, outer.depth + 1)
        return LineCodes(inner, code_of_script=self._code_of_script).of_line()


def _sends_output_elsewhere(element: Element, line: str) -> bool:
    """Return whether a command writes its standard output to what the line names only once."""
    for redirection in element.redirections:
        operator, target = redirection.operator, redirection.target
        if operator in {">&", "1>&"} and target == "2":
            return True
        # What gets the output of `> >(tee log)` may print it.
        is_file = operator in _STDOUT and not (target in _STDOUT_FILES or target.startswith(">("))
        if is_file and (target == os.devnull or line.count(target) == 1):
            return True
    return False


def count_name(name: str, text: str) -> int:
    """Return how often a text holds a name as a word."""
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def has_input(element: Element) -> bool:
    """Return whether the standard input of an element is redirected."""
    operators = [redirection.operator.removeprefix("0") for redirection in element.redirections]
    return any(operator.startswith("<") for operator in operators)


def pipelines_of(block: Block) -> Iterator[Pipeline]:
    """Yield the statements of a line, also those in compounds, functions and substitutions."""
    for pipeline in block:
        yield pipeline
        for element in pipeline.elements:
            for inner in (*element.blocks, *element.substitutions):
                yield from pipelines_of(inner)


def elements_of(block: Block, *, with_functions: bool = True) -> Iterator[Element]:
    """Yield the elements of a line, also those in compounds, functions and substitutions."""
    for pipeline in block:
        for element in pipeline.elements:
            yield element
            if element.kind != "function" or with_functions:
                for inner in (*element.blocks, *element.substitutions):
                    yield from elements_of(inner, with_functions=with_functions)


def _source(element: Element) -> str:
    """Return the text of a command, with what substitutions run replaced."""
    parts: list[str] = []
    for word in element.words:
        part = word.source or word.text
        for start, end in reversed(word.expansions):
            if any(mark in part[start:end] for mark in ("$(", "`", "<(", ">(")):
                part = part[:start] + "$_" + part[end:]
        parts.append(part)
    return " ".join(parts)


def _code(text: str) -> str:
    return text if text in {ZERO, TWO} else OTHER
