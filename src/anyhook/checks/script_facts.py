"""What a hook's script prints and how it ends, as far as its text shows without running it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from anyhook.expressions import expression

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
