"""What a hook's script prints, in which order, and how it ends, as far as its text shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping


DECISION_MEMBERS = ("decision", "permissionDecision", "continue")
"""Members of a reply by which a script decides something."""
_QUOTED_DENIAL = re.compile(r"""["'](?:block|deny)\\?["']""")
_COMMENT = re.compile(r"^\s*(?:#|//).*", re.MULTILINE)
_EXITS_WITH_TWO = re.compile(r"\bexit\b[ (]+2\b|\breturn 2\b")


class ScriptOutput(NamedTuple):
    """A statement that prints.

    Attributes:
        text: What it prints, as far as that is written out.
        is_json: Whether it is JSON.
        is_text: Whether it surely is text. Of some values only the running script knows.
        is_stderr: Whether it goes to standard error.
        has_decision: Whether it holds a member by which a reply decides.
    """

    line: int
    text: str
    is_json: bool
    is_text: bool
    is_stderr: bool
    has_decision: bool


class TextBeforeJson(NamedTuple):
    """Text that is printed before JSON: the line that prints the text, and what prints the JSON."""

    line: int
    json: ScriptOutput


@dataclass(slots=True)
class ScriptFacts:
    """What the text of a script shows.

    Attributes:
        exit_codes: Exit code to the first line with it; only codes that are written out.
        replies: What prints JSON to standard output.
        texts_before_json: Lines that print text, each with the JSON that follows.
        stderr_decision_line: First line that prints a decision to standard error.
    """

    text: str
    exit_codes: dict[int, int] = field(default_factory=dict)
    replies: list[ScriptOutput] = field(default_factory=list)
    texts_before_json: list[TextBeforeJson] = field(default_factory=list)
    stderr_decision_line: int | None = None

    @property
    def may_exit_with_two(self) -> bool:
        """Whether exit code 2 stands anywhere in it, also in a program inside of it."""
        code = _COMMENT.sub("", self.text)
        return 2 in self.exit_codes or _EXITS_WITH_TWO.search(code) is not None

    @property
    def blocks(self) -> bool:
        """Whether it may deny something: by exit code 2 or by a reply."""
        return 2 in self.exit_codes or bool(re.search(r"\b(?:block|deny)\b", self.text))

    @property
    def denies(self) -> bool:
        """Whether it surely denies something: by exit code 2 or by the word of a reply."""
        return 2 in self.exit_codes or _QUOTED_DENIAL.search(self.text) is not None

    def add_output(self, output: ScriptOutput) -> None:
        """Record something that is printed."""
        if output.is_stderr and output.has_decision:
            self.stderr_decision_line = self.stderr_decision_line or output.line
        elif output.is_json and not output.is_stderr:
            self.replies.append(output)


_TEXTS = expression(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.)*+`?",
    re.DOTALL,
)
_EVENTS = expression(
    r"(?P<open>\{)|(?P<close>\})|(?P<end>\breturn\b|\bthrow\b)"
    r"|\bprocess\.exit\(\s*(?P<code>\d{1,3})?"
    r"|(?P<print>\b(?:console\.\w+|process\.std(?:out|err)\.write)\()"
)
_JSON = expression(r"""\s*(?:JSON\.stringify\(|[`'"]\s*\{)""")
_TEXT = expression(r"""\s*[`'"](?!\s*\{)(?!\$\{)(?!(?:\\n)*[`'"])""")
_STDERR = expression(r"console\.(?:error|warn)\(|process\.stderr")
_DECISION = expression(r"""["']?\b(?:decision|permissionDecision|continue)\b\\?["']?\s*[:=]""")


def javascript_facts(text: str) -> ScriptFacts:
    """Collect what a script shows.

    Text counts as printed before JSON if the JSON follows in the same block, or in a block inside
    of it: then it is printed first on every way to the JSON.
    """
    facts = ScriptFacts(text)
    code = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    texts: list[int | None] = [None]
    for event in _EVENTS.finditer(code):
        line = code.count("\n", 0, event.start()) + 1
        if event["open"]:
            texts.append(None)
        elif event["close"]:
            if len(texts) > 1:
                texts.pop()
        elif event["print"]:
            output = _read_output(text, code, event, line)
            facts.add_output(output)
            if output.is_json and not output.is_stderr:
                before = [number for number in texts if number is not None]
                if before:
                    facts.texts_before_json.append(TextBeforeJson(min(before), output))
            elif output.is_text and not output.is_stderr:
                texts[-1] = texts[-1] or line
        else:
            # What was printed in this block is followed by nothing.
            texts[-1] = None
            if event["code"]:
                facts.exit_codes.setdefault(int(event["code"]), line)
    return facts


def _read_output(text: str, code: str, event: re.Match[str], line: int) -> ScriptOutput:
    depth = 1
    end = len(code)
    # Up to the parenthesis that closes the call.
    for match in re.compile(r"[()]").finditer(code, event.end()):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            end = match.start()
            break
    printed = text[event.end() : end]
    is_json = _JSON.match(printed) is not None
    return ScriptOutput(
        line=line,
        text=printed,
        is_json=is_json,
        is_text=not is_json and _TEXT.match(printed) is not None,
        is_stderr=_STDERR.match(event["print"]) is not None,
        has_decision=_DECISION.search(printed) is not None,
    )


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
