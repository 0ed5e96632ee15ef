"""In which order a script prints and ends: whether text reaches standard output before JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.checks.script_facts import ScriptFacts, ScriptOutput, TextBeforeJson
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CALLS = 20
"""Calls of functions within each other that are followed."""


class Exit(Record, kw_only=False):
    """The end of the script; `code` is `None` if it is not written out."""

    line: int
    code: int | None


class Return(Record):
    """The end of a function."""


class ScriptCall(Record, kw_only=False):
    """A call of a function of the script."""

    name: str


class Branch(Record, kw_only=False):
    """Several ways to go on; each is a list of statements."""

    blocks: list[list[Statement]]


Statement = ScriptOutput | Exit | Return | ScriptCall | Branch


@dataclass(slots=True)
class Flow:
    """The statements of a script that print or end something.

    Attributes:
        statements: What runs when the script starts.
        functions: What its functions do, by name.
    """

    text: str
    statements: list[Statement] = field(default_factory=list)
    functions: dict[str, list[Statement]] = field(default_factory=dict)


def facts_of_flow(flow: Flow) -> ScriptFacts:
    """Collect what a script prints, how it ends, and in which order."""
    facts = ScriptFacts(flow.text)
    blocks = [flow.statements, *flow.functions.values()]
    for block in blocks:
        _collect(facts, block)
    for block in blocks:
        _Order(facts, flow.functions).follow(block, None, 0)
    return facts


def _collect(facts: ScriptFacts, block: list[Statement]) -> None:
    """Record outputs and exit codes, in whatever order they happen."""
    denies_here = any(isinstance(item, Exit) and item.code == 2 for item in block)
    for statement in block:
        if isinstance(statement, Exit) and statement.code is not None:
            facts.exit_codes.setdefault(statement.code, statement.line)
        elif isinstance(statement, ScriptOutput):
            # With exit code 2, standard error holds the reason, and the call is denied.
            if not (statement.is_stderr and denies_here):
                facts.add_output(statement)
        elif isinstance(statement, Branch):
            for inner in statement.blocks:
                _collect(facts, inner)


@dataclass(slots=True)
class _End:
    """How a block was left.

    Attributes:
        goes_on: Whether the statement behind it runs.
        text_line: The line of text that was printed by then; `None` if there is none.
    """

    goes_on: bool
    text_line: int | None


class _Order:
    """Follows the statements of a script, and records JSON behind text."""

    def __init__(self, facts: ScriptFacts, functions: Mapping[str, list[Statement]]) -> None:
        self._facts = facts
        self._functions = functions
        self._ends: dict[tuple[str, int | None], _End] = {}
        self._returned: list[int | None] = []

    def follow(
        self, block: list[Statement], text_line: int | None, depth: int, *, is_choice: bool = False
    ) -> _End:
        """Follow a block, which may be one of several, at some depth of calls of functions.

        The line of text was printed before it.
        """
        for statement in block:
            match statement:
                case ScriptOutput(is_stderr=False, is_json=True):
                    if text_line is not None:
                        self._facts.texts_before_json.append(TextBeforeJson(text_line, statement))
                case ScriptOutput(is_stderr=False, is_text=True):
                    text_line = text_line or statement.line
                case Exit():
                    return _End(goes_on=False, text_line=text_line)
                case Return():
                    # Behind an early return the caller usually takes another way.
                    self._returned.append(None if is_choice else text_line)
                    return _End(goes_on=False, text_line=text_line)
                case ScriptCall(name) if name in self._functions:
                    end = self._call(name, text_line, depth + 1)
                    if not end.goes_on:
                        return end
                    text_line = end.text_line
                case Branch(blocks):
                    ends = [
                        self.follow(block, text_line, depth, is_choice=True) for block in blocks
                    ]
                    going_on = [end for end in ends if end.goes_on]
                    if not going_on:
                        return _End(goes_on=False, text_line=None)
                    lines = [end.text_line for end in going_on if end.text_line is not None]
                    text_line = min(lines, default=None)
        return _End(goes_on=True, text_line=text_line)

    def _call(self, name: str, text_line: int | None, depth: int) -> _End:
        key = (name, text_line)
        if key in self._ends or depth > MAX_CALLS:
            return self._ends.get(key, _End(goes_on=True, text_line=text_line))
        self._ends[key] = _End(goes_on=True, text_line=text_line)  # for a call of itself
        outer, self._returned = self._returned, []
        end = self.follow(self._functions[name], text_line, depth)
        lines = [*self._returned, *([end.text_line] if end.goes_on else [])]
        goes_on = bool(lines)
        printed = [line for line in lines if line is not None]
        self._returned = outer
        self._ends[key] = _End(goes_on=goes_on, text_line=min(printed, default=None))
        return self._ends[key]
