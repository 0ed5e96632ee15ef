r"""Conditions: permission rules that narrow one handler to some calls of a tool.

`Tool` covers every call, `Tool(pattern)` those that the pattern covers:

- `Bash(git *)`: any command of the line, wherever it hides: behind `&&`, in `$(...)`, after `A=1`.
- `Edit(src/**)`, `Read(//etc/**)`: paths as in a `.gitignore`, from the working directory, from
  the project (`/`), from home (`~/`) or from the root (`//`). Capitals do not count, because to
  some file systems they do not.
- `WebFetch(domain:*.example.com)`, `Agent(Explore)`, `Skill(deploy *)`, `mcp__server__*`.
- Any other tool: any text in its input.

Conditions choose which guards run, so every doubt is decided for running: a condition with a
problem covers all calls, and so does a command that cannot be read with certainty.
(Source: the documents of Claude Code on hooks and permissions.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_RULE = re.compile(r"(?P<tool>[\w.*:-]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_SEVERAL = re.compile(r"(?:^[\w.*:-]+|\))\s*(?:[|&,;]|or\b|and\b)")
_PARENTHESIS = re.compile(r"\\.|[()]", re.DOTALL)
_ALTERNATIVES = re.compile(r"\{[^{},]*,[^{}]*\}")
_EVERYTHING = frozenset({"", "*", ":*"})

_ALIASES = {"Task": "Agent"}
_FAMILIES = {
    "Edit": frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob", "LS"}),
}
"""Rules for one tool that speak of all tools of its kind."""
_SEARCHES = {"Grep": "glob", "Glob": "pattern", "LS": None}
"""Tools that look into a directory, and the field that says for which files."""
_PATH_FIELDS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled permission rule.

    Attributes:
        text: As it was written.
        tool: The tool that it names.
        pattern: What its parentheses hold; None if it covers every call of the tool.
        problem: Why it is no rule, and what to write instead; then it covers everything.
    """

    text: str
    tool: str
    pattern: str | None = None
    problem: str | None = None

    def covers(
        self, tool_name: str, tool_input: Mapping[str, Any], *, cwd: str, project: str, home: str
    ) -> bool:
        """Tell whether the rule covers a call of a tool.

        Args:
            tool_name: The canonical name of the tool.
            tool_input: Its arguments, any JSON values.
            cwd: The absolute path that bare patterns and relative arguments start from.
            project: The absolute path that patterns with a leading `/` start from.
            home: The absolute path that `~` stands for.
        """
        if self.problem is not None:
            return True
        if not _is_named(self.tool, tool_name):
            return False
        if self.pattern is None:
            return True
        covers = _TESTS.get(_ALIASES.get(self.tool, self.tool), _covers_text)
        return covers(self.pattern, _Call(tool_name, tool_input, cwd, project, home))


@lru_cache(maxsize=1024)
def compile_condition(text: str) -> Condition:
    """Compile a permission rule. Never raises; what is wrong is the condition's `problem`."""
    rule = text.strip()
    match = _RULE.fullmatch(rule)
    if match is None or not _balances(match["pattern"] or ""):
        return Condition(text, "", problem=_problem(rule))
    tool, pattern = match["tool"], (match["pattern"] or "").strip()
    if pattern in _EVERYTHING:
        return Condition(text, tool)
    pattern = pattern.replace("\\(", "(").replace("\\)", ")")
    problem = _path_problem(tool, pattern) if _TESTS.get(tool) is _covers_path else None
    return Condition(text, tool, pattern, problem)


def _balances(text: str) -> bool:
    depth = 0
    for match in _PARENTHESIS.finditer(text):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0


def _problem(rule: str) -> str:
    if not rule:
        return "the condition is empty; write one rule such as `Bash(git *)`, or leave it out"
    if not _balances(rule):
        return r"the parentheses do not balance; write `\(` and `\)` for those that mean themselves"
    if _SEVERAL.search(rule):
        return "a condition is one rule; write one handler for each rule"
    return "this is no permission rule; write `Tool` or `Tool(pattern)`, such as `Bash(git *)`"


def _path_problem(tool: str, pattern: str) -> str | None:
    if pattern.startswith("!"):
        return "a path pattern cannot be negated; cover all paths and let the handler choose"
    if _ALTERNATIVES.search(pattern):
        return f"path patterns know no `{{a,b}}`; write one handler for each `{tool}(...)`"
    return None


# --- which calls -----------------------------------------------------------------------------


class _Call(NamedTuple):
    tool: str
    arguments: Mapping[str, Any]
    cwd: str
    project: str
    home: str


def _is_named(rule: str, tool: str) -> bool:
    rule, tool = _ALIASES.get(rule, rule), _ALIASES.get(tool, tool)
    if "*" in rule:
        return _fits(rule, tool)
    if rule.startswith("mcp__") and "__" not in rule[5:]:
        return tool == rule or tool.startswith(f"{rule}__")
    return tool in _FAMILIES.get(rule, (rule,))


def _covers_text(pattern: str, call: _Call) -> bool:
    return any(_fits_command(pattern, text) for text in _strings(list(call.arguments.values())))


def _strings(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value; not recursive, because it may nest deeply."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _covers_agent(pattern: str, call: _Call) -> bool:
    kind = call.arguments.get("subagent_type")
    kind = "general-purpose" if kind is None else kind
    return not isinstance(kind, str) or _fits(pattern, kind)


def _covers_skill(pattern: str, call: _Call) -> bool:
    skill, arguments = call.arguments.get("skill"), call.arguments.get("args")
    if not isinstance(skill, str):
        return True
    name = skill.removeprefix("/")
    return _fits_command(pattern, name) or _fits_command(pattern, f"{name} {arguments}")


_HOST = re.compile(r"[a-z0-9._:-]+")


def _covers_url(pattern: str, call: _Call) -> bool:
    kind, _, domain = pattern.partition(":")
    url = call.arguments.get("url")
    if kind != "domain":
        return _covers_text(pattern, call)
    if not isinstance(url, str):
        return True
    try:
        # To a browser a backslash is a slash, so what looks like credentials may be the path.
        host = urlsplit(url.replace("\\", "/")).hostname or ""
    except ValueError:
        return True
    host = host.removesuffix(".")
    return not _HOST.fullmatch(host) or _fits(domain.strip().lower().removesuffix("."), host)


# --- globs -----------------------------------------------------------------------------------

_STAR = re.compile(r"(?<!\\)\*+")


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(piece.replace("\\*", "*") for piece in _STAR.split(pattern))


def _fits(pattern: str, text: str) -> bool:
    r"""Match a glob in which only `*` is special, `\*` means a star, and nothing backtracks."""
    first, *rest = _pieces(pattern)
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in middle:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return len(text) - at >= len(last) and text.endswith(last)


def _fits_command(pattern: str, text: str) -> bool:
    """Match a command's glob: a final ` *` or `:*` stands for arguments, of which may be none."""
    base = pattern[:-2] if pattern.endswith((" *", ":*")) else None
    if base is None:
        return _fits(pattern, text)
    return _fits(base, text) or _fits(f"{base} *", text)


def _walks(
    pattern: Sequence[str], subject: Sequence[str], many: str, fits: Callable[[str, str], bool]
) -> bool:
    """Match step by step, where `many` stands for any number of steps: two pointers, O(n*m)."""
    at = step = mark = 0
    star = -1
    while at < len(subject):
        if step < len(pattern) and pattern[step] == many:
            star, mark, step = step, at, step + 1
        elif step < len(pattern) and fits(pattern[step], subject[at]):
            at, step = at + 1, step + 1
        elif star >= 0:
            mark += 1
            at, step = mark, star + 1
        else:
            return False
    return all(rest == many for rest in pattern[step:])


# --- paths -----------------------------------------------------------------------------------

_PATH_STEP = re.compile(r"\\(.)|(\[[!^]?\]?[^\]]*\])|\*+|.", re.DOTALL)


def _covers_path(pattern: str, call: _Call) -> bool:
    targets = _targets(call)
    if not targets:
        return True
    base, steps = _anchored(pattern, call)
    for target in targets:
        parts = _parts(_absolute(target, call))
        if parts[: len(base)] == base and _walks(steps, parts[len(base) :], "**", _fits_name):
            return True
    return False


def _targets(call: _Call) -> list[str]:
    """List the paths that a call names; none if they cannot be told."""
    named = [value for key in _PATH_FIELDS if (value := call.arguments.get(key)) is not None]
    if call.tool in _SEARCHES and not named:
        named = [call.cwd]
    if not all(isinstance(path, str) for path in named):
        return []
    if call.tool in _SEARCHES:
        files = call.arguments.get(_SEARCHES[call.tool] or "")
        files = files if isinstance(files, str) else "*"
        named += [files if files.startswith("/") else f"{path}/{files}" for path in named]
    return named


def _absolute(path: str, call: _Call) -> str:
    if path == "~" or path.startswith("~/"):
        return call.home + path[1:]
    return path if path.startswith("/") else f"{call.cwd}/{path}"


def _parts(path: str) -> list[str]:
    """Split a path in lower case, and follow its `.` and `..`."""
    parts: list[str] = []
    for part in path.lower().split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in {"", "."}:
            parts.append(part)
    return parts


def _anchored(pattern: str, call: _Call) -> tuple[list[str], list[str]]:
    """Find the directory that a pattern starts from, and its steps from there."""
    floats = False
    if pattern.startswith("//"):
        base = "/"
    elif pattern.startswith("~/"):
        base, pattern = call.home, pattern[2:]
    elif pattern.startswith("/"):
        base = call.project
    else:
        base, floats = call.cwd, "/" not in pattern.rstrip("/")
    root = _parts(base)
    while pattern.startswith("../"):
        root, pattern = root[:-1], pattern[3:]
    steps = [*(["**"] if floats else []), *_parts(pattern)]
    if pattern.endswith("/") or steps[-1:] == ["**"]:
        steps = [*(steps[:-1] if steps[-1:] == ["**"] else steps), "*"]
    return root, [*steps, "**"]  # what covers a directory covers what is in it


def _fits_name(pattern: str, name: str) -> bool:
    return _walks(_name_steps(pattern), name, "*", _fits_character)


@lru_cache(maxsize=1024)
def _name_steps(pattern: str) -> tuple[str, ...]:
    steps = []
    for match in _PATH_STEP.finditer(pattern):
        escaped, one_of = match[1], match[2]
        if escaped:
            steps.append(f"[{escaped}]")
        elif one_of:
            steps.append(f"[!{one_of[2:]}" if one_of.startswith("[^") else one_of)
        else:
            steps.append("*" if match[0].startswith("*") else match[0])
    return tuple(steps)


def _fits_character(step: str, character: str) -> bool:
    if len(step) == 1:
        return step in ("?", character)
    return fnmatchcase(character, step)


# --- commands --------------------------------------------------------------------------------

_NAME_ONLY = re.compile(r"[^\s*]+(?:\*| \*)?")
_OPERATOR = re.compile(r"[;&|\n]")
_OTHER_SYNTAX = re.compile(r"[`{}(@\u2018-\u201e]|<#|\\(?![\w.\\*-])")
"""What PowerShell reads in another way than a POSIX shell."""


def _covers_command(pattern: str, call: _Call) -> bool:
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return True
    if call.tool == "PowerShell":
        pattern, command = pattern.lower(), command.lower().replace("\r\n", "\n")
        if _OTHER_SYNTAX.search(command):
            return True
    script = _Script()
    try:
        _Reader(command, script).commands("")
    except _UnreadableError:
        return True
    if script.expansions and not _NAME_ONLY.fullmatch(pattern):
        return True
    if _OPERATOR.search(pattern) and _fits(f"*{pattern}*", command):
        return True
    return any(
        run.is_vague or any(_fits_command(pattern, text) for text in run.texts)
        for run in script.runs
    )


_TESTS: dict[str, Callable[[str, _Call], bool]] = {
    **dict.fromkeys(("Bash", "PowerShell", "Monitor"), _covers_command),
    **dict.fromkeys((*_FAMILIES["Edit"], *_FAMILIES["Read"]), _covers_path),
    "WebFetch": _covers_url,
    "Agent": _covers_agent,
    "Skill": _covers_skill,
}


class _UnreadableError(Exception):
    """Nobody can tell for sure what a command line runs."""


class _Run(NamedTuple):
    """One simple command: the ways to write it, and whether its name is known only to the shell."""

    texts: tuple[str, ...]
    is_vague: bool


@dataclass(slots=True)
class _Script:
    """What a command line runs, and how often it expands something."""

    runs: list[_Run] = field(default_factory=list)
    expansions: int = 0


class _Word(NamedTuple):
    text: str
    is_vague: bool


@dataclass(slots=True)
class _Draft:
    """A simple command that is being read; positions count characters."""

    start: int
    name: int = 0
    end: int = 0
    words: list[_Word] = field(default_factory=list)


class _Here(NamedTuple):
    delimiter: str
    is_literal: bool
    has_tabs: bool


_MAX_DEPTH = 32
"""How deep commands may nest: keeps the work linear, and the stack of the reader small."""

_SPACE = re.compile(r"(?:[ \t]|\\\n)*+")
_BLANK = re.compile(r"(?:[ \t]|\\\n|#[^\n]*+)*+")
_SIGN = re.compile(
    r"(?P<torn>(?:<<|[(<>])\\\n)"
    r"|(?P<here><<(?!<)-?)"
    r"|(?P<into>&>>?|<<<|[<>]&|<>|>>|>\||[<>](?!\())"
    r"|(?P<stop>;;&?|;&|&&|\|[|&]?|[;&\n])"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
)
_EXPANSION = r"\$\(?\\\n|\$\(\(|\$\(|\$\{[\s|(]|\$[\[{]|\$(?:[A-Za-z_]\w*|[0-9@*#?!$-])|`"
_PIECE = re.compile(
    r"""(?P<plain>[^ \t\n;&|()<>\\'"$`]++)"""
    r"""|(?P<escape>\\.)"""
    r"""|(?P<single>'[^']*+')"""
    r"""|(?P<ansi>\$'(?:[^'\\]|\\.)*+')"""
    r"""|(?P<torn>\$?')"""
    r"""|(?P<double>\$?")"""
    rf"""|(?P<expansion>{_EXPANSION}|[<>]\()"""
    r"""|(?P<paren>\()"""
    r"""|(?P<lone>[$\\])""",
    re.DOTALL,
)
_INSIDE = re.compile(rf"""\\.|\$'|{_EXPANSION}|['"}}]|[<>]\(""", re.DOTALL)
_IN_ARITHMETIC = re.compile(rf"""{_EXPANSION}|[()'"\\]""")
_PLAIN_EXPANSION = re.compile(
    r"""\$\w+|\$.|\$\{[^(){}'"`\\]*+\}|\$\([^()'"`\\#]*+\)|`[^()'"`\\]*+`"""
)
_TICKS = re.compile(r"((?:[^`\\]|\\.)*+)`", re.DOTALL)
_IN_TICKS = re.compile(r"\\([\\`$])")
_IN_QUOTES = re.compile(r"\\(?:\n|([\\\"`$]))")

_QUOTED = re.compile(r"[^']*+'")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[(?![\w$@*+-]*\])")
"""An array's index that may hold blanks and operators."""
_EVALUATED = re.compile(r"\w\[(?:[^\[\]]|\[[^\[\]]*\])*?(?:\$\(|`)")
"""An array's index that `let`, `test` and others run even if it was quoted."""
_WRONG_ITEM = re.compile(r"[?*+@!=]\(")
_DESCRIPTOR = re.compile(r"[0-9]+|\{\w+\}")
_PARAMETERS = re.compile(r"[ \t]*\([ \t]*\)")
_ARITHMETIC = re.compile(r"[ \t]*\(\(")
_IN = re.compile(r"in(?=[\s(])")
_ESAC = re.compile(r"esac(?=[\s;&|)<>]|\Z)")
_MANY_FILES = re.compile(r"[*?\[{]")

_KEYWORDS = frozenset("if then elif else fi while until do done ! time { }".split())
_WRAPPERS = {
    "timeout": "ks",
    "time": "fo",
    "nice": "",
    "nohup": "",
    "stdbuf": "ioe",
    "xargs": "adEILnPs",
    "env": "uC",
    "sudo": "ugCDhpRrTtU",
    "doas": "uC",
    "watch": "",
    "ionice": "cnpPu",
    "setsid": "",
    "command": "",
    "builtin": "",
    "exec": "a",
}
"""Programs that run their arguments as a command, and their options that take the next word."""
_DURATION = re.compile(r"[0-9][0-9.]*[smhd]?")
_SHELLS = frozenset("sh bash dash zsh ksh".split())
_RUN_TEXT = re.compile(r"-\w*c\w*")


class _Reader:
    """One pass over a command line for a POSIX shell, which collects what it runs.

    What shells read in different ways raises: it is better to run a guard too often. Above all,
    nothing may count as quoted, commented or part of a here-document that a shell would run.
    """

    __slots__ = ("at", "depth", "pending", "script", "text")

    def __init__(self, text: str, script: _Script, depth: int = 0) -> None:
        if "\0" in text or "\r" in text:  # shells drop the one, and words may hold the other
            raise _UnreadableError
        self.text = text
        self.script = script
        self.depth = depth
        self.at = 0
        self.pending: list[_Here] = []

    def commands(self, end: str) -> None:
        """Read commands up to a sign: `)`, `;;` of a case, or nothing for the end of the text."""
        self._enter()
        while (sign := self._command(end)) != end:
            if sign in {"", ")", ";;"}:
                raise _UnreadableError
        self.depth -= 1

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _UnreadableError

    def _matched(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    # --- signs between words

    def _command(self, end: str) -> str:
        """Read one command and return the sign that ended it."""
        self._matched(_BLANK)
        draft = _Draft(self.at)
        while True:
            self._matched(_BLANK)
            sign = _SIGN.match(self.text, self.at)
            kind = sign.lastgroup if sign else "word" if self.at < len(self.text) else "stop"
            ended = None
            if kind == "torn":
                raise _UnreadableError
            if kind == "word":
                ended = self._argument(draft, end)
            elif kind == "open":
                ended = self._group(draft)
            elif kind == "here":
                self._here()
            elif kind == "into":
                self._target()
            else:
                self._record(draft)
                return self._stop()
            draft.end = self.at
            if ended is not None:
                return ended

    def _stop(self) -> str:
        sign = self._matched(_SIGN)
        if sign == "\n":
            self._bodies()
        return ";;" if sign in {";;", ";&", ";;&"} else sign

    def _argument(self, draft: _Draft, end: str) -> str | None:
        """Read a word, or what a keyword begins; return the sign that this amounts to, if any."""
        start = self.at
        word = self._word()
        raw = self._raw(start)
        if _DESCRIPTOR.fullmatch(raw) and self.text[self.at : self.at + 1] in {"<", ">"}:
            return None
        if not draft.words:
            if raw in _KEYWORDS or raw.startswith("-") or _ASSIGNMENT.match(raw):
                return None
            if raw == "esac" and end == ";;":
                self.at = start
                return ";;"
            if self._compound(raw):
                return ";"
            draft.name = start
        elif raw == "do" and len(draft.words) == 2 and draft.words[0].text in {"for", "select"}:
            self._record(draft)
            return ";"
        draft.words.append(word)
        return None

    def _compound(self, keyword: str) -> bool:
        """Read what follows a keyword that does not simply precede a command."""
        if keyword == "case":
            self._case()
        elif keyword == "[[":
            self._test()
        elif keyword == "function":
            self._space()
            self._word()
            self._matched(_PARAMETERS)
        elif keyword in {"for", "select"} and self._matched(_ARITHMETIC):
            self._arithmetic()
        elif keyword == "coproc":
            raise _UnreadableError
        else:
            return False
        return True

    def _group(self, draft: _Draft) -> str:
        """Read a subshell, an arithmetic command, or the parentheses of a function's definition."""
        if draft.words:
            if len(draft.words) > 1 or not self._matched(_PARAMETERS):
                raise _UnreadableError
        elif self._matched(_ARITHMETIC):
            self._arithmetic()
        else:
            self.at += 1
            self.commands(")")
        return ";"

    def _record(self, draft: _Draft) -> None:
        if not draft.words:
            return
        words, end = draft.words, draft.end
        inner = _unwrapped(words)
        texts = (
            self.text[draft.name : end],
            self.text[draft.start : end],
            " ".join(word.text for word in words),
            " ".join(word.text for word in inner),
        )
        is_vague = words[0].is_vague or _runs_text(inner)
        self.script.runs.append(_Run(tuple(dict.fromkeys(texts)), is_vague))

    def _space(self, blank: re.Pattern[str] = _BLANK) -> None:
        """Skip blanks and line ends."""
        self._matched(blank)
        while self.text.startswith("\n", self.at):
            self.at += 1
            self._bodies()
            self._matched(blank)

    def _case(self) -> None:
        self._space()
        self._word()
        self._space()
        if self._matched(_IN) != "in":
            raise _UnreadableError
        while True:
            self._space()
            if self._matched(_ESAC):
                return
            if self.text.startswith("(", self.at):
                self.at += 1
            self._patterns()
            self.commands(";;")

    def _patterns(self) -> None:
        """Read words with `|` between them up to a closing parenthesis."""
        self._enter()
        while self._inner_word() or self.text.startswith("|", self.at):
            if self.text.startswith("|", self.at):
                self.at += 1
        self._closing()
        self.depth -= 1

    def _items(self) -> None:
        """Read the words of an array; after a wrong one a shell would go on with the next line."""
        self._enter()
        while item := self._inner_word():
            if _WRONG_ITEM.search(item):
                raise _UnreadableError
        self._closing()
        self.depth -= 1

    def _closing(self) -> None:
        if not self.text.startswith(")", self.at):
            raise _UnreadableError
        self.at += 1

    def _test(self) -> None:
        while (word := self._inner_word()) != "]]":
            if not word:
                if self.text[self.at : self.at + 1] not in {"&", "|", "(", ")", "<", ">"}:
                    raise _UnreadableError
                self.at += 1

    def _inner_word(self) -> str:
        """Read a word where `#` may or may not begin a comment."""
        self._space(_SPACE)
        if self.text.startswith("#", self.at):
            raise _UnreadableError
        start = self.at
        self._word()
        return self.text[start : self.at]

    # --- redirections

    def _target(self) -> None:
        self._matched(_SIGN)
        self._matched(_SPACE)
        start = self.at
        self._word()
        if self.at == start:
            raise _UnreadableError

    def _here(self) -> None:
        sign = self._matched(_SIGN)
        self._matched(_SPACE)
        start = self.at
        word = self._word()
        raw = self.text[start : self.at]
        if not raw or "$" in raw or "`" in raw or "\n" in raw:
            raise _UnreadableError
        is_literal = any(quote in raw for quote in "\\'\"")
        self.pending.append(_Here(word.text, is_literal, sign == "<<-"))

    def _bodies(self) -> None:
        for here in self.pending:
            start = self.at
            end = self._body(here)
            if not here.is_literal:
                _Reader(self.text[start:end], self.script, self.depth)._through("")  # noqa: SLF001
        self.pending.clear()

    def _body(self, here: _Here) -> int:
        """Go past a here-document and return where its body ends."""
        while self.at < len(self.text):
            start = self.at
            line = self._line(here)
            if line == here.delimiter:
                return start
            # Some shells end a document at its delimiter's line even if a `)` stands there too.
            if self.depth > 1 and line.startswith(here.delimiter) and ")" in line:
                raise _UnreadableError
        return len(self.text)

    def _line(self, here: _Here) -> str:
        pieces = []
        while True:
            end = self.text.find("\n", self.at)
            piece = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = end + 1 if end >= 0 else len(self.text)
            slashes = len(piece) - len(piece.rstrip("\\"))
            if here.is_literal or slashes % 2 == 0:
                break
            pieces.append(piece[:-1])
        line = "".join([*pieces, piece])
        return line.lstrip("\t") if here.has_tabs else line

    # --- words

    def _word(self) -> _Word:
        start, before = self.at, self.script.expansions
        parts, is_vague = [], False
        while piece := _PIECE.match(self.text, self.at):
            if piece.lastgroup == "paren" and not self._belongs(start):
                break
            self.at = piece.end()
            text, is_unknown = self._piece(piece)
            parts.append(text)
            is_vague = is_vague or is_unknown
        if _SUBSCRIPT.match(self._raw(start)):
            raise _UnreadableError
        text = "".join(parts)
        if _EVALUATED.search(text):
            raise _UnreadableError
        return _Word(text, (is_vague and text != "[") or self.script.expansions > before)

    def _belongs(self, start: int) -> bool:
        """Tell whether a parenthesis goes on with a word: an array or an extended pattern."""
        before = self.text[self.at - 1] if self.at > start else ""
        if before == "\n":
            raise _UnreadableError  # the line goes on, and so may be what stands before it
        if before == "=":
            return _ASSIGNMENT.fullmatch(self._raw(start)) is not None
        return before != "" and before in "?*+@!"

    def _raw(self, start: int) -> str:
        """Return what was read since a position, with continued lines joined."""
        return self.text[start : self.at].replace("\\\n", "")

    def _piece(self, piece: re.Match[str]) -> tuple[str, bool]:
        """Read on from the start of a piece; return its text, and whether it stands for others."""
        sign, start = piece[0], piece.end()
        match piece.lastgroup:
            case "plain":
                return sign, _MANY_FILES.search(sign) is not None
            case "escape":
                return sign[1:].replace("\n", ""), False
            case "single":
                return sign[1:-1], False
            case "ansi":
                return sign[2:-1], "\\" in sign
            case "double":
                self._through('"')
                return _IN_QUOTES.sub(r"\1", self.text[start : self.at - 1]), False
            case "expansion":
                self._expand(sign)
            case "paren" if self.text[piece.start() - 1] == "=":
                self._items()
            case "paren":
                self._patterns()
            case "torn":
                raise _UnreadableError
        return self.text[piece.start() : self.at], piece.lastgroup == "paren"

    def _expand(self, sign: str, *, is_quoted: bool = False) -> None:
        self.script.expansions += 1
        if sign in {"$(", "<(", ">("}:
            self._substitution()
        elif sign == "$((":
            self._arithmetic()
        elif sign == "${":
            self._through("}", is_quoted=is_quoted)
        elif sign == "`":
            self._backticks(is_quoted=is_quoted)
        elif sign[1] in "\\([{":
            raise _UnreadableError

    def _substitution(self) -> None:
        # Shells do not agree on where the body of a document begins that is open out here.
        if self.pending:
            raise _UnreadableError
        self.commands(")")
        if self.pending:
            raise _UnreadableError

    def _backticks(self, *, is_quoted: bool) -> None:
        match = _TICKS.match(self.text, self.at)
        if match is None or (is_quoted and '\\"' in match[1]):
            raise _UnreadableError
        self.at = match.end()
        _Reader(_IN_TICKS.sub(r"\1", match[1]), self.script, self.depth).commands("")

    def _through(self, closer: str, *, is_quoted: bool = False) -> None:
        """Read up to `"` or `}`, or to the end, and look into the expansions on the way."""
        self._enter()
        while found := _INSIDE.search(self.text, self.at):
            sign, self.at = found[0], found.end()
            if sign[0] in "$`" and sign != "$'":
                self._expand(sign, is_quoted=is_quoted or closer != "}")
            elif sign == closer:
                break
            elif closer == "}":
                self._in_braces(sign, is_quoted=is_quoted)
        else:
            if closer:
                raise _UnreadableError
        self.depth -= 1

    def _in_braces(self, sign: str, *, is_quoted: bool) -> None:
        if sign == '"':
            self._through('"')
        elif sign == "'" and not is_quoted:
            quoted = self._matched(_QUOTED)
            # As an index or offset, what is quoted here is expanded all the same.
            if not quoted or "$" in quoted or "`" in quoted:
                raise _UnreadableError
        elif sign in {"'", "$'", "<(", ">("}:
            raise _UnreadableError

    def _arithmetic(self) -> None:
        """Read up to `))`. Shells count the parentheses before they look into expansions."""
        self._enter()
        opened = 0
        while found := _IN_ARITHMETIC.search(self.text, self.at):
            sign, self.at = found[0], found.end()
            if sign[0] in "$`":
                self._expand(sign)
                if not _PLAIN_EXPANSION.fullmatch(self.text, found.start(), self.at):
                    raise _UnreadableError
            elif sign == "(":
                opened += 1
            elif sign == ")" and opened:
                opened -= 1
            elif sign == ")":
                self._closing()  # it takes two, or they were subshells
                self.depth -= 1
                return
            else:
                break
        raise _UnreadableError


def _unwrapped(words: list[_Word]) -> list[_Word]:
    """Skip the programs that only run another one, with their options."""
    at = 0
    while at < len(words) and (valued := _WRAPPERS.get(words[at].text)) is not None:
        at += 1
        while at < len(words) and (width := _option(words[at].text, valued)):
            at += width
    return words[at:]


def _option(word: str, valued: str) -> int:
    """Count the words of an option, assignment or duration; 0 if it is none of them."""
    if word.startswith("--") and valued and len(word) > 2 and "=" not in word:
        raise _UnreadableError  # who knows which of them take the next word
    if word.startswith("-"):
        taking = next((i for i, letter in enumerate(word) if letter in valued), 0)
        return 2 if taking and taking == len(word) - 1 else 1
    return 1 if _ASSIGNMENT.match(word) or _DURATION.fullmatch(word) else 0


def _runs_text(words: list[_Word]) -> bool:
    """Tell whether a command runs a text or a program that only the shell will know."""
    if not words:
        return False
    name, is_vague = words[0]
    return (
        is_vague
        or name == "eval"
        or (name in _SHELLS and any(_RUN_TEXT.fullmatch(word.text) for word in words[1:]))
    )
