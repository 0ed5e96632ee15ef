r"""Conditions: permission rules that narrow one handler to some calls of a tool.

`Tool` covers every call, `Tool(pattern)` those that the pattern covers:

- `Bash(git *)`: any command of the line, wherever it hides: behind `&&`, in `$(...)`, after `A=1`.
- `Edit(src/**)`, `Read(//etc/**)`: paths as in a `.gitignore`, from the working directory, from
  the project (`/`), from home (`~/`) or from the root (`//`). Capitals do not count, because to
  some file systems they do not. A path counts both as it is written and as links lead it.
- `WebFetch(domain:*.example.com)`, `Agent(Explore)`, `Skill(deploy *)`, `mcp__server__*`.
- Any other tool: any text in its input.

Conditions choose which guards run, so every doubt is decided for running: a condition with a
problem covers all calls, and so does a command that cannot be read with certainty.
(Source: the documents of Claude Code on hooks and permissions.)
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from anyhook.shell.commands import UnreadableError, read_commands

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

_DRIVE = re.compile(r"(?:[\\/]{2}[?.][\\/])?([A-Za-z]):(?=[\\/]|\Z)")
_LONGEST_PATH = 32 * 1024
"""Characters; no system opens a longer path."""
_PATH_STEP = re.compile(r"\\(.)|(\[[!^]?\]?[^\]]*\])|\*+|.", re.DOTALL)


def _covers_path(pattern: str, call: _Call) -> bool:
    targets = _targets(call)
    if not targets:
        return True
    for path, places in _views(targets, call):
        base, steps = _anchored(pattern, places)
        parts = _parts(path)
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
        named += [files] if _DRIVE.match(files) else []
    return named


def _views(targets: list[str], call: _Call) -> Iterator[tuple[str, _Call]]:
    """Yield absolute paths and the directories to compare them with: as written, then real."""
    paths = [path for target in targets for path in _absolutes(target, call)]
    for view in (_written, _real):
        places = call._replace(cwd=view(call.cwd), project=view(call.project), home=view(call.home))
        for path in paths:
            yield view(path), places
            if view is _real and ".." in path:  # some tools follow `..` before they follow links
                yield view(os.path.normpath(path)), places


def _absolutes(path: str, call: _Call) -> list[str]:
    """List the absolute paths that a path may mean; Windows is told by the drive's letter."""
    on_windows = _DRIVE.match(call.cwd)
    if on_windows:
        path = path.replace("\\", "/")
    if path == "~" or path.startswith("~/"):
        return [call.home + path[1:]]
    if path.startswith("/") and not _DRIVE.match(path):
        return [path]
    with_drive = [path] if _DRIVE.match(path) else []
    return with_drive if on_windows and with_drive else [*with_drive, f"{call.cwd}/{path}"]


def _written(path: str) -> str:
    r"""Write a path as patterns do: `C:\x` is `/C/x`."""
    match = _DRIVE.match(path)
    return f"/{match[1]}{path[match.end() :]}".replace("\\", "/") if match else path


def _real(path: str) -> str:
    """Follow the links in a path; what cannot be followed stays as it is."""
    short = path if len(path) <= _LONGEST_PATH else os.path.normpath(path)
    try:
        if os.path.isabs(short) and len(short) <= _LONGEST_PATH:  # noqa: PTH117 - as the rest
            path = os.path.realpath(short)
    except (OSError, ValueError, RecursionError):
        pass
    return _written(path)


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
LONGEST_COMMAND = 64 * 1024
"""Characters; a longer command is covered unread, because reading it would hold the host up."""
_OTHER_SYNTAX = re.compile(r"[`{}(@\u2018-\u201e]|<#|\\(?![\w.\\*-])")
"""What PowerShell reads in another way than a POSIX shell."""


def _covers_command(pattern: str, call: _Call) -> bool:
    command = call.arguments.get("command")
    if not isinstance(command, str) or len(command) > LONGEST_COMMAND:
        return True
    if call.tool == "PowerShell":
        pattern, command = pattern.lower(), command.lower().replace("\r\n", "\n")
        if _OTHER_SYNTAX.search(command):
            return True
    try:
        script = read_commands(command)
    except UnreadableError:
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
