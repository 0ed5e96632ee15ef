"""What a hook's script prints and how it ends, as far as its text shows without running it.

Python is parsed. Scripts for shells and JavaScript are searched line by line: a hint needs no more,
and `anyhook.shell.parser` refuses everything that shells may read in different ways.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DECISION_MEMBERS = ("decision", "permissionDecision", "continue")
"""Members of a reply by which a script decides something."""
_QUOTED_DECISION = re.compile(
    r"""["']?\b(?:decision|permissionDecision|continue)\b\\?["']?\s*[:=]"""
)
_QUOTED_DENIAL = re.compile(r"""["'](?:block|deny)\\?["']""")


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

    @property
    def denies(self) -> bool:
        """Whether it surely denies something: by exit code 2 or by the word of a reply."""
        return 2 in self.exit_codes or _QUOTED_DENIAL.search(self.text) is not None

    def add_exit(self, code: int, line: int) -> None:
        """Record an exit code."""
        self.exit_codes.setdefault(code, line)

    def add_output(self, line: int, *, is_json: bool, is_stderr: bool, has_decision: bool) -> None:
        """Record something that is printed."""
        if is_stderr:
            if has_decision:
                self.stderr_decision_line = self.stderr_decision_line or line
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
    """Return the language of a script, by its suffix or its first line."""
    by_suffix = LANGUAGES.get(path.suffix)
    if by_suffix or not text.startswith("#!"):
        return by_suffix
    first_line = text.partition("\n")[0]
    for interpreter, language in _SHEBANGS.items():
        if interpreter in first_line:
            return language
    return None


def facts_of(language: str, text: str) -> ScriptFacts:
    """Collect what the text of a script shows.

    Args:
        language: `python`, `shell` or `javascript`.
        text: The script.
    """
    facts = ScriptFacts(text)
    if language == "python":
        # A script with an error has no facts.
        with suppress(SyntaxError, ValueError, RecursionError):
            _read_python(facts, ast.parse(text))
        return facts
    patterns = SHELL if language == "shell" else JAVASCRIPT
    for number, line in enumerate(text.splitlines(), 1):
        patterns.read_line(facts, line, number)
    return facts


# -- Python


def _read_python(facts: ScriptFacts, tree: ast.Module) -> None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: node.lineno):
        name = ast.unparse(call.func)
        if name in _PYTHON_EXITS:
            _read_exit(facts, call)
        elif name in _PYTHON_PRINTS:
            _read_print(facts, call, name)
        elif name == "json.dump" and len(call.args) > 1:
            _read_print(facts, call, f"json.{ast.unparse(call.args[1])}")


_PYTHON_EXITS = frozenset({"sys.exit", "exit", "SystemExit", "os._exit", "quit"})
_PYTHON_PRINTS = frozenset({"print", "sys.stdout.write", "sys.stderr.write"})


def _read_exit(facts: ScriptFacts, call: ast.Call) -> None:
    value = call.args[0] if call.args else None
    if isinstance(value, ast.Constant) and type(value.value) is int:
        facts.add_exit(value.value, call.lineno)


def _read_print(facts: ScriptFacts, call: ast.Call, name: str) -> None:
    if not call.args:
        return
    value = call.args[0]
    printed = ast.unparse(value)
    files = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "file"]
    is_json = "json.dump" in printed or name.startswith("json.") or _looks_like_json(value)
    is_text = isinstance(value, ast.Constant | ast.JoinedStr)
    # Only the running script knows what a variable holds.
    if is_json or is_text:
        facts.add_output(
            call.lineno,
            is_json=is_json,
            is_stderr="stderr" in name or "sys.stderr" in files,
            has_decision=any(member in printed for member in DECISION_MEMBERS),
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
    """Patterns of what a line prints and how it ends the script.

    Attributes:
        comment: A comment line.
        exit: An exit; the code is group 1.
        prints: A statement that prints; what is printed is group 1.
        json: The beginning of printed JSON.
        stderr: A redirection to standard error.
        hidden: A redirection to a file, to another program or into a variable.
    """

    comment: re.Pattern[str]
    exit: re.Pattern[str]
    prints: re.Pattern[str]
    json: re.Pattern[str]
    stderr: re.Pattern[str]
    hidden: re.Pattern[str]

    def read_line(self, facts: ScriptFacts, line: str, number: int) -> None:
        """Record what a line prints and its exit codes."""
        if self.comment.match(line):
            return
        for code in self.exit.findall(line):
            facts.add_exit(int(code), number)
        for printed in self.prints.finditer(line):
            is_stderr = bool(self.stderr.search(printed[0]))
            up_to_end = line[: printed.end()]
            if self.hidden.search(up_to_end) and not is_stderr:
                continue
            facts.add_output(
                number,
                is_json=bool(self.json.search(printed[1])),
                is_stderr=is_stderr,
                has_decision=bool(_QUOTED_DECISION.search(printed[1])),
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
