"""Denials that the command line of a hook drops: `guard.sh || true` ends with 0.

The exit code of the script is followed to the end of the line. What is not known counts as a code
that denies, so that only a denial is reported that is lost in any case.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.spec import Denial, OutputAction
from anyhook.authoring.inspect import AUTHORING
from anyhook.checks.scripts import CheckedScript, read_scripts
from anyhook.checks.started_scripts import starts_of
from anyhook.expressions import expression
from anyhook.shell import read_commands
from anyhook.shell.parser import UnreadableError
from anyhook.shell.programs import SHELLS, base_name
from anyhook.shell.structure import Block, Element, Pipeline, parse_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.checks.hook import CheckedHook
    from anyhook.model.diagnostics import Diagnostic

ZERO, TWO, OTHER = "0", "2", "other"
"""Exit codes as far as they count here."""
_ANY = frozenset({ZERO, TWO, OTHER})
_NO_DENIAL = frozenset({ZERO, OTHER})
_SUCCEEDS = frozenset("true : echo printf".split())
_NEVER_TWO = frozenset("cat date false logger mkdir rm sleep tee touch wc head tail tr".split())
"""Programs that do not end with 2 because of what a hook decides."""
_CHANGES_CODES = frozenset({"xargs", "find", "parallel", "watch"})
"""Wrappers that end with a code of their own."""
_FOLLOWED_NOWHERE = expression(r"\bset\s+-\w*e|errexit|pipefail|\btrap\b|PIPESTATUS|\bwait\b")
"""What makes the exit code of a line depend on more than its last command."""
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


def lost_denials(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a command line that drops the exit code, or the reply, by which its script denies."""
    line = hook.handler.command
    if not line or hook.spec.denial not in (Denial.PREVENTS, Denial.CONTINUES):
        return
    try:
        block = parse_script(line)
    except UnreadableError:
        return
    for script in read_scripts(hook):
        way = _way_of_denial(hook, script)
        if script.path is None or not way:
            continue
        reason = _loss(hook, script.path, script.text, way, block)
        if reason:
            name = script.path.name
            yield hook.diagnose(
                "denial-lost",
                f"{reason}, so that a denial of {name} has no effect and {hook.form.title} runs "
                f"the call; write only the start of {name}",
            )


def _loss(hook: CheckedHook, script: Path, text: str, way: str, block: Block) -> str:
    """Return how a line loses the denial of a script; empty if it may keep it."""
    line = hook.handler.command or ""
    starts = [start for start in _elements(block) if _is_start(hook, script, start)]
    if not starts:
        return ""
    background = [pipeline for pipeline in _pipelines(block) if pipeline.operator == "&"]
    without_input = [start for start in _elements(background) if not _has_input(start)]
    if all(start in without_input for start in starts):
        return "the command line starts it in the background (&), where it gets no event"
    if _is_event_read_before(block, starts, line, text):
        return "a command in front of it reads the event, and it gets none"
    if way == "code" and not _FOLLOWED_NOWHERE.search(line):
        codes = _Codes(hook, script).of_line(block)
        if codes.isdisjoint(_denying_codes(hook)):
            return "the command line drops exit code 2"
    if way == "reply":
        if all(_sends_output_elsewhere(start, line) for start in starts):
            return "the command line does not send the reply to standard output"
        conditions = ["", *[pipeline.operator for pipeline in block]]
        always = [
            pipeline
            for condition, pipeline in zip(conditions, block, strict=False)
            if condition not in {"&&", "||"}
        ]
        if any(_prints_text(pipeline) for pipeline in always):
            return "the command line prints text next to the reply, which cannot be read then"
    return ""


def _way_of_denial(hook: CheckedHook, script: CheckedScript) -> str:
    """Return by what a script denies: `code` or `reply`; empty if it does not, or by both."""
    facts = script.facts
    if AUTHORING in script.text:
        return "reply"
    decides = any(member in script.text for member in ("decision", "permissionDecision"))
    if facts.may_exit_with_two and not decides:
        return "code" if hook.spec.can_block else ""
    return "reply" if decides and not facts.may_exit_with_two else ""


def _denying_codes(hook: CheckedHook) -> set[str]:
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


class _Codes:
    """Finds the exit codes of a line if a script that it starts denies, thus ends with 2."""

    def __init__(self, hook: CheckedHook, script: Path, depth: int = 0) -> None:
        self._hook = hook
        self._script = script
        self._depth = depth

    def of_line(self, block: Block) -> frozenset[str]:
        """Return the codes with which the line may end; all of them if the script does not run."""
        if not any(_is_start(self._hook, self._script, element) for element in _elements(block)):
            return _ANY
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
                result = self._pipeline(pipeline, codes)
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

    def _pipeline(self, pipeline: Pipeline, before: frozenset[str]) -> _Result:
        result = self._element(pipeline.elements[-1], before)
        if len(pipeline.elements) == 1:
            return result
        # Each part of a pipeline runs in a shell of its own.
        return _Result(result.going_on | result.ended)

    def _element(self, element: Element, before: frozenset[str]) -> _Result:
        match element.kind:
            case "command":
                return self._command(element, before)
            case "group":
                return self._block(element.blocks[0])
            case "subshell":
                result = self._block(element.blocks[0])
                return _Result(result.going_on | result.ended)
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
            case ["exit"] | ["exit", "$?"]:
                return _Result(frozenset(), before)
            case ["exit", code, *_] if code.isdecimal():
                return _Result(frozenset(), frozenset({_code(code)}))
            case ["exit", *_]:
                return _Result(frozenset(), _ANY)
            case ["exec", _, *_]:
                inner = Element("command", element.position, element.words[1:])
                result = self._command(inner, before)
                return _Result(frozenset(), result.going_on | result.ended)
            case [shell, option, text, *_] if base_name(shell) in SHELLS and "c" in option:
                return _Result(self._text(text))
        name = base_name(words[0]) if words else ""
        if name in _SUCCEEDS:
            return _Result(frozenset({ZERO}))
        if name in _NEVER_TWO or name in {"[", "test"}:
            return _Result(_NO_DENIAL)
        if not _is_start(self._hook, self._script, element):
            return _Result(_ANY)
        chains = [command.chain for command in read_commands(_source(element))]
        if any(not _CHANGES_CODES.isdisjoint(chain) for chain in chains):
            return _Result(_NO_DENIAL)
        return _Result(frozenset({TWO}))

    def _text(self, text: str) -> frozenset[str]:
        """Return the codes of a text that is given to a shell."""
        if self._depth >= MAX_DEPTH:
            return _ANY
        try:
            block = parse_script(text)
        except UnreadableError:
            return _ANY
        return _Codes(self._hook, self._script, self._depth + 1).of_line(block)


def _has_input(element: Element) -> bool:
    operators = [redirection.operator.removeprefix("0") for redirection in element.redirections]
    return any(operator.startswith("<") for operator in operators)


def _is_event_read_before(block: Block, starts: list[Element], line: str, text: str) -> bool:
    """Return whether a statement surely reads the event in front of all starts of a script.

    If the line, or the text of the script, names again where the event is kept, the script may get
    it from there.
    """
    conditions = ["", *[pipeline.operator for pipeline in block]]
    for index, pipeline in enumerate(block):
        is_sure = conditions[index] not in {"&&", "||"} and pipeline.operator != "&"
        kept = _read_event(pipeline.elements[0]) if is_sure else None
        if kept is None or any(_count_name(name, line) > 1 for name in kept.names):
            continue
        if any(_count_name(name, text) for name in kept.names if not kept.are_variables):
            continue
        later = [following.elements[0] for following in block[index + 1 :]]
        if all(start in later and not _has_input(start) for start in starts):
            return True
    return False


class _KeptEvent(NamedTuple):
    """The names of the files or variables into which a command puts the event."""

    names: list[str]
    are_variables: bool


def _read_event(element: Element) -> _KeptEvent | None:
    """Return where a command puts all of its standard input.

    It is `None` if it may leave some of it for the next command.
    """
    words = [word.text for word in element.words]
    if element.kind != "command" or not words or _has_input(element):
        return None
    program, operands = base_name(words[0]), [word for word in words[1:] if word != "-r"]
    files = [redirection.target for redirection in element.redirections]
    match program:
        case "cat" if set(operands) <= {"-"}:
            pass
        case "tee" if not any(word.startswith("-") for word in operands):
            files += operands
        case "read" if operands and not any(word.startswith("-") for word in operands):
            return _KeptEvent(operands, are_variables=True)
        case _:
            return None
    names = [base_name(file) for file in files if file != os.devnull]
    return _KeptEvent(names, are_variables=False)


def _count_name(name: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _sends_output_elsewhere(element: Element, line: str) -> bool:
    """Return whether a command writes its standard output to what the line names only once."""
    for redirection in element.redirections:
        operator, target = redirection.operator, redirection.target
        if operator in {">&", "1>&"} and target == "2":
            return True
        is_file = operator in _STDOUT and target not in _STDOUT_FILES
        if is_file and (target == os.devnull or line.count(target) == 1):
            return True
    return False


def _prints_text(pipeline: Pipeline) -> bool:
    """Return whether a statement prints a text that is written out."""
    first, *others = pipeline.elements
    words = [word.text for word in first.words]
    is_vague = any(word.is_vague for word in first.words)
    if others or is_vague or first.redirections or words[:1] not in (["echo"], ["printf"]):
        return False
    text = " ".join(words[1:]).strip()
    return bool(text) and not text.startswith(("{", "-", "%"))


def _pipelines(block: Block) -> Iterator[Pipeline]:
    """Yield the statements of a line, also those in branches, loops and groups."""
    for pipeline in block:
        yield pipeline
        for element in pipeline.elements:
            for inner in element.blocks:
                yield from _pipelines(inner)


def _elements(block: Block) -> Iterator[Element]:
    """Yield the commands of a line, also those in branches, loops and groups."""
    for pipeline in _pipelines(block):
        for element in pipeline.elements:
            if element.kind == "command":
                yield element


def _is_start(hook: CheckedHook, script: Path, element: Element) -> bool:
    """Return whether a simple command starts a script."""
    return any(start.script == script for start in starts_of(hook, _source(element)))


def _source(element: Element) -> str:
    return " ".join([word.source or word.text for word in element.words])


def _code(text: str) -> str:
    return text if text in {ZERO, TWO} else OTHER
