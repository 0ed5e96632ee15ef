"""Conditions: permission rules that narrow one handler to some calls of a tool.

`Tool` covers every call, `Tool(pattern)` those that the pattern covers:

- `Bash(git *)`: see `anyhook.matching.commands`.
- `Edit(src/**)`, `Read(//etc/**)`: see `anyhook.matching.paths`.
- `WebFetch(domain:*.example.com)`, `Agent(Explore)`, `Skill(deploy *)`, `mcp__server__*`.
- Any other tool: any text in its input.

Conditions choose which guards run, so every doubt is decided for running: a condition with a
problem covers all calls, and so does an argument of the wrong type.
(Source: the documents of Claude Code on hooks and permissions.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from anyhook.matching.commands import covers_command, covers_powershell
from anyhook.matching.globs import matches_command
from anyhook.matching.paths import Directories, covers_path, path_pattern_problem
from anyhook.model.globs import matches_glob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_RULE = re.compile(r"(?P<tool>[\w.*:-]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_SEVERAL_RULES = re.compile(r"(?:^[\w.*:-]+|\))\s*(?:[|&,;]|or\b|and\b)")
_PARENTHESIS = re.compile(r"\\.|[()]", re.DOTALL)
_COVERS_EVERYTHING = frozenset({"", "*", ":*"})

_ALIASES = {"Task": "Agent"}
_TOOL_GROUPS = {
    "Edit": frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob", "LS"}),
}
"""Rules for one tool that apply to several."""
_HOST = re.compile(r"[a-z0-9._:-]+")


class _Call(NamedTuple):
    tool: str
    arguments: Mapping[str, Any]
    directories: Directories


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled permission rule."""

    text: str
    tool: str
    pattern: str | None = None
    """What its parentheses hold; `None` if it covers every call of the tool."""
    problem: str | None = None
    """Why it is not a rule, and what to write instead; then it covers everything."""

    def covers(
        self, tool_name: str, tool_input: Mapping[str, Any], *, cwd: str, project: str, home: str
    ) -> bool:
        """Return whether the rule covers a call of a tool.

        The name is canonical, and the arguments are any JSON values. Bare patterns and relative
        arguments start from `cwd`, patterns with a leading `/` from `project`; `~` stands for
        `home`. All three are absolute paths.
        """
        if self.problem is not None:
            return True
        rule = _ALIASES.get(self.tool, self.tool)
        tool = _ALIASES.get(tool_name, tool_name)
        if "*" in rule:
            names_tool = matches_glob(rule, tool)
        elif rule.startswith("mcp__") and "__" not in rule[5:]:
            # `mcp__server` names all tools of a server.
            names_tool = tool == rule or tool.startswith(f"{rule}__")
        else:
            names_tool = tool in _TOOL_GROUPS.get(rule, (rule,))
        if not names_tool:
            return False
        if self.pattern is None:
            return True
        covers = _PATTERN_KINDS.get(rule, _covers_text)
        return covers(self.pattern, _Call(tool_name, tool_input, Directories(cwd, project, home)))


@lru_cache(maxsize=1024)
def compile_condition(text: str) -> Condition:
    """Compile a permission rule. Never raises; what is wrong is the condition's `problem`."""
    rule = text.strip()
    match = _RULE.fullmatch(rule)
    if match is None or not _has_balanced_parentheses(match["pattern"] or ""):
        return Condition(text, "", problem=_rule_problem(rule))
    tool = match["tool"]
    pattern = (match["pattern"] or "").strip()
    if pattern in _COVERS_EVERYTHING:
        return Condition(text, tool)
    pattern = pattern.replace("\\(", "(").replace("\\)", ")")
    if _PATTERN_KINDS.get(tool) is _covers_path:
        return Condition(text, tool, pattern, path_pattern_problem(tool, pattern))
    return Condition(text, tool, pattern)


def covers_call(
    text: str,
    tool_names: Iterable[str | None],
    tool_input: Mapping[str, Any],
    *,
    cwd: str,
    project: str,
    home: str,
) -> bool:
    """Return whether a permission rule covers a call of a tool that has several names.

    It never raises. The directories are those of `Condition.covers`.
    """
    condition = compile_condition(text)
    try:
        return any(
            condition.covers(name, tool_input, cwd=cwd, project=project, home=home)
            for name in tool_names
            if name is not None
        )
    except Exception:  # noqa: BLE001 - a guard whose condition cannot be evaluated must run
        return True


def _has_balanced_parentheses(text: str) -> bool:
    depth = 0
    for match in _PARENTHESIS.finditer(text):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
        if depth < 0:
            return False
    return depth == 0


def _rule_problem(rule: str) -> str:
    if not rule:
        return "the condition is empty; write one rule such as `Bash(git *)`, or leave it out"
    if not _has_balanced_parentheses(rule):
        return r"the parentheses do not balance; write `\(` and `\)` for those that mean themselves"
    if _SEVERAL_RULES.search(rule):
        return "a condition is one rule; write one handler for each rule"
    return "this is not a permission rule; write `Tool` or `Tool(pattern)`, such as `Bash(git *)`"


# --- kinds of patterns ---------------------------------------------------------------------------


def _covers_command(pattern: str, call: _Call) -> bool:
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return True
    if call.tool == "PowerShell":
        return covers_powershell(pattern, command)
    return covers_command(pattern, command)


def _covers_path(pattern: str, call: _Call) -> bool:
    return covers_path(pattern, call.tool, call.arguments, call.directories)


def _covers_text(pattern: str, call: _Call) -> bool:
    # Not recursive, because a JSON value may nest deeply.
    waiting = [*call.arguments.values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if matches_command(pattern, item):
                return True
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return False


def _covers_agent(pattern: str, call: _Call) -> bool:
    agent_type = call.arguments.get("subagent_type")
    if agent_type is None:
        agent_type = "general-purpose"
    return not isinstance(agent_type, str) or matches_glob(pattern, agent_type)


def _covers_skill(pattern: str, call: _Call) -> bool:
    skill = call.arguments.get("skill")
    if not isinstance(skill, str):
        return True
    name = skill.removeprefix("/")
    with_arguments = f"{name} {call.arguments.get('args')}"
    return matches_command(pattern, name) or matches_command(pattern, with_arguments)


def _covers_url(pattern: str, call: _Call) -> bool:
    kind, _, domain = pattern.partition(":")
    if kind != "domain":
        return _covers_text(pattern, call)
    url = call.arguments.get("url")
    if not isinstance(url, str):
        return True
    try:
        # To a browser a backslash is a slash, so what looks like credentials may be the path.
        host = urlsplit(url.replace("\\", "/")).hostname or ""
    except ValueError:
        return True
    host = host.removesuffix(".")
    if not _HOST.fullmatch(host):
        return True
    return matches_glob(domain.strip().lower().removesuffix("."), host)


_PATTERN_KINDS: dict[str, Callable[[str, _Call], bool]] = {
    **dict.fromkeys(("Bash", "PowerShell", "Monitor"), _covers_command),
    **dict.fromkeys((*_TOOL_GROUPS["Edit"], *_TOOL_GROUPS["Read"]), _covers_path),
    "WebFetch": _covers_url,
    "Agent": _covers_agent,
    "Skill": _covers_skill,
}
"""How the pattern of a tool is read; for every other tool by `_covers_text`."""
