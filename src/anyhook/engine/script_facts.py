"""What a hook's script prints and how it ends, as far as its text shows. Nothing of it is run."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DECISION_MEMBERS = ("decision", "permissionDecision", "continue")
"""Members of a reply by which a script decides something."""
_QUOTED_DECISION = re.compile(
    r"""["']?\b(?:decision|permissionDecision|continue)\b\\?["']?\s*[:=]"""
)


@dataclass(slots=True)
class ScriptFacts:
    """What the text of a script shows.

    Attributes:
        text: The text.
        exit_codes: Exit code to the first line with it; only codes that are written out.
        text_line: First line that prints something to standard output that is no JSON.
        json_line: First line that prints JSON to standard output.
        text_before_json_line: First line that prints text, where JSON follows.
        stderr_decision_line: First line that prints a decision to standard error.
    """

    text: str
    exit_codes: dict[int, int] = field(default_factory=dict)
    text_line: int | None = None
    json_line: int | None = None
    text_before_json_line: int | None = None
    stderr_decision_line: int | None = None

    @property
    def blocks(self) -> bool:
        """Whether it may deny something: by exit code 2 or by a reply."""
        return 2 in self.exit_codes or bool(re.search(r"\b(?:block|deny)\b", self.text))

    def add_exit(self, code: int, line: int) -> None:
        """Note an exit code."""
        self.exit_codes.setdefault(code, line)

    def add_output(self, line: int, *, is_json: bool, is_stderr: bool, decides: bool) -> None:
        """Note something that is printed."""
        if is_stderr:
            if decides and self.stderr_decision_line is None:
                self.stderr_decision_line = line
        elif is_json:
            self.json_line = self.json_line or line
            self.text_before_json_line = self.text_before_json_line or self.text_line
        else:
            self.text_line = self.text_line or line


LANGUAGES = {
    ".py": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "javascript",
}
_SHEBANGS = {"python": "python", "sh": "shell", "node": "javascript", "bun": "javascript"}


def language_of(path: Path, text: str) -> str | None:
    """Return the language of a script, by its ending or its first line."""
    by_ending = LANGUAGES.get(path.suffix)
    if by_ending or not text.startswith("#!"):
        return by_ending
    first_line = text.partition("\n")[0]
    return next((lang for word, lang in _SHEBANGS.items() if word in first_line), None)


def facts_of(language: str, text: str) -> ScriptFacts:
    """Read a script.

    Args:
        language: `python`, `shell` or `javascript`.
        text: The script.
    """
    facts = ScriptFacts(text)
    if language == "python":
        try:
            _read_python(facts, ast.parse(text))
        except (SyntaxError, ValueError, RecursionError):
            return facts
    else:
        patterns = SHELL if language == "shell" else JAVASCRIPT
        for number, line in enumerate(text.splitlines(), 1):
            patterns.read_line(facts, line, number)
    return facts


# -- Python


def _read_python(facts: ScriptFacts, tree: ast.Module) -> None:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(nodes, key=lambda node: node.lineno):
        name = ast.unparse(call.func)
        if name in ("sys.exit", "exit", "SystemExit", "os._exit", "quit"):
            _read_exit(facts, call)
        elif name in ("print", "sys.stdout.write", "sys.stderr.write"):
            _read_print(facts, call, name)
        elif name == "json.dump" and len(call.args) > 1:
            _read_print(facts, call, f"json.{ast.unparse(call.args[1])}")


def _read_exit(facts: ScriptFacts, call: ast.Call) -> None:
    value = call.args[0] if call.args else None
    if isinstance(value, ast.Constant) and type(value.value) is int:
        facts.add_exit(value.value, call.lineno)


def _read_print(facts: ScriptFacts, call: ast.Call, name: str) -> None:
    if not call.args:
        return
    targets = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "file"]
    printed = ast.unparse(call.args[0])
    is_json = "json.dump" in printed or name.startswith("json.") or _looks_like_json(call.args[0])
    is_text = isinstance(call.args[0], ast.Constant | ast.JoinedStr)
    if is_json or is_text:
        facts.add_output(
            call.lineno,
            is_json=is_json,
            is_stderr="stderr" in name or "sys.stderr" in targets,
            decides=any(member in printed for member in DECISION_MEMBERS),
        )


def _looks_like_json(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and value.value.lstrip().startswith("{")
    )


# -- shell and JavaScript, line by line


@dataclass(frozen=True, slots=True)
class LinePatterns:
    """How a language prints and ends, within one line.

    Attributes:
        comment: A line that does nothing.
        exit: An exit code, in group 1.
        prints: A line that prints something: what is printed in group 1.
        json: What printed JSON looks like.
        stderr: What sends it to standard error.
        hidden: What sends it elsewhere: to a file, to another program, into a variable.
    """

    comment: re.Pattern[str]
    exit: re.Pattern[str]
    prints: re.Pattern[str]
    json: re.Pattern[str]
    stderr: re.Pattern[str]
    hidden: re.Pattern[str]

    def read_line(self, facts: ScriptFacts, line: str, number: int) -> None:
        """Note what a line prints and with what it exits."""
        if self.comment.match(line):
            return
        for code in self.exit.findall(line):
            facts.add_exit(int(code), number)
        for printed in self.prints.finditer(line):
            is_stderr = bool(self.stderr.search(printed[0]))
            if self.hidden.search(line[: printed.start()] + printed[0]) and not is_stderr:
                continue
            facts.add_output(
                number,
                is_json=bool(self.json.search(printed[1])),
                is_stderr=is_stderr,
                decides=bool(_QUOTED_DECISION.search(printed[1])),
            )


SHELL = LinePatterns(
    comment=re.compile(r"\s*#"),
    exit=re.compile(r"\bexit\s+(\d{1,3})\b"),
    prints=re.compile(
        r"""\b(?:echo|printf|jq\s+-\w*n\w*)\s((?:'[^']*'|"(?:\\.|[^"\\])*"|[^;&|'"]|&\d|>&)*)"""
    ),
    json=re.compile(r"""^\s*(?:-\S+\s+)*(?:%s\s+)?['"]?\s*\\?\{"""),
    stderr=re.compile(r">&\s*2|>\s*/dev/stderr"),
    hidden=re.compile(r">(?!&)|\$\($|=\$\(|\|\s*\w|<<<"),
)
JAVASCRIPT = LinePatterns(
    comment=re.compile(r"\s*//"),
    exit=re.compile(r"\bprocess\.exit\(\s*(\d{1,3})\s*\)"),
    prints=re.compile(r"\b((?:console\.\w+|process\.std(?:out|err)\.write)\(.*)"),
    json=re.compile(r"""JSON\.stringify|\(\s*[`'"]\s*\{"""),
    stderr=re.compile(r"console\.(?:error|warn)\(|process\.stderr"),
    hidden=re.compile(r"(?!)"),
)
