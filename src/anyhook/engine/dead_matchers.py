"""Matchers that match nothing: no tool of the agent, and no other subject of the event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.agents.tool_names import counterpart_tool, suggest_tool
from anyhook.matching.matchers import MATCH_ALL, compile_matcher
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.matching.matchers import Matcher
    from anyhook.model.definitions import HookDefinition

_PERMISSION_RULE = re.compile(r"\s*\w+\s*\(.*\)\s*", re.DOTALL)
"""A permission rule, `Bash(git *)`: as a matcher it is a pattern that matches nothing."""

_WORDS = re.compile(r"[\w|]+")
"""A pattern of words, which is fast to evaluate, so a project that is not trusted may have it."""

_TOOL_NAME = re.compile(r"[\w.:/-]+")
"""What the name of a tool may be, in any host."""


def check_matcher(
    agent: AgentSpec,
    spec: EventSpec,
    definition: HookDefinition,
    may_match: Callable[[HookDefinition], bool],
) -> Diagnostic | None:
    """Report a matcher that matches none of the subjects that are known here, or that is ignored.

    The agent and the event are in the form that the definition is written in. `may_match` returns
    whether the regular expression of a definition may be evaluated.
    """
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    is_rule = bool(_PERMISSION_RULE.fullmatch(definition.matcher or ""))
    has_subject = spec.subject is not None or spec.matcher_text is not None
    is_costly = matcher.expression is not None and not _WORDS.fullmatch(matcher.pattern)
    if is_costly and not may_match(definition):
        problem = _rule_as_matcher(spec, matcher) if is_rule else None
    elif matcher.pattern in MATCH_ALL:
        problem = None
    elif spec.matcher_style == "ignored" or not has_subject:
        text = f"{spec.wire} has nothing to match; the matcher {matcher.pattern!r} is ignored"
        return diagnose("ignored-matcher", text, definition.place)
    elif spec.subject == "tool_name" and is_rule:
        problem = _rule_as_matcher(spec, matcher)
    else:
        problem = _find_dead_part(agent, spec, matcher)
    if problem is None:
        return None
    return diagnose("dead-matcher", f"{spec.wire}: {problem}", definition.place)


def _rule_as_matcher(spec: EventSpec, matcher: Matcher) -> str:
    rule = matcher.pattern
    tool = rule.partition("(")[0].strip()
    instead = f'; write the matcher {tool!r} and "if": "{rule}"' if spec.supports_conditions else ""
    return f"{rule!r} is a permission rule and no tool name{instead}"


def check_never_matches(
    agent: AgentSpec,
    spec: EventSpec,
    definition: HookDefinition,
    may_match: Callable[[HookDefinition], bool],
) -> Diagnostic | None:
    """Report a matcher that matches nothing in any host; `None` if it may match something.

    A host may have tools of its own. So a name of a tool that does not exist is reported if it is a
    name of another agent's tool, or close to one of this agent.
    """
    diagnostic = check_matcher(agent, spec, definition, may_match)
    if diagnostic is None or diagnostic.code != "dead-matcher":
        return None
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    is_rule = _PERMISSION_RULE.fullmatch(matcher.pattern) is not None
    if is_rule or _covers_nothing(agent, spec, matcher):
        return diagnostic
    return None


def _covers_nothing(agent: AgentSpec, spec: EventSpec, matcher: Matcher) -> bool:
    if spec.matcher_text is not None:
        return not matcher.matches(spec.matcher_text)
    if spec.subjects:
        return not any(map(matcher.matches, spec.subjects))
    names = matcher.names
    if names is None or matcher.expression is not None:
        names = frozenset(re.findall(r"\w{2,}", matcher.pattern))
        if not names:
            return False
    prefixes = [*agent.foreign_tool_prefixes]
    if agent.tool_prefix:
        prefixes.append(agent.tool_prefix)
    for name in names:
        # A pattern that does not compile matches its own text.
        if not _TOOL_NAME.fullmatch(name):
            continue
        if _can_occur(agent, spec, name, agent.tools):
            return False
        # Others may be names of a host's own tools.
        is_renamed = name in agent.foreign_tools or name.startswith(tuple(prefixes))
        if not is_renamed and closest(name, agent.tools) is None:
            return False
    return True


def _find_dead_part(agent: AgentSpec, spec: EventSpec, matcher: Matcher) -> str | None:
    """Return what is wrong with a matcher that covers none of the event's subjects."""
    subjects = spec.subjects
    if spec.matcher_text is not None:
        subjects = (spec.matcher_text,)
    elif not subjects and spec.subject == "tool_name":
        subjects = agent.tools
    if not subjects:
        return None
    if matcher.names is not None and matcher.expression is None:
        if not matcher.names:
            return f"{matcher.pattern!r} names nothing"
        names = sorted(matcher.names)
        dead = [name for name in names if not _can_occur(agent, spec, name, subjects)]
        hints = [f"{name!r} {_suggest_name(agent, spec, name, subjects)}" for name in dead]
        return "; ".join(hints) or None
    if any(matcher.matches(name) for name in subjects):
        return None
    if spec.subject != "tool_name":
        return _foreign_tools(agent, matcher) or (
            f"{matcher.pattern!r} hits none of {', '.join(subjects)}"
        )
    return _foreign_tools(agent, matcher) or _dead_tool_pattern(agent, matcher)


def _can_occur(agent: AgentSpec, spec: EventSpec, name: str, subjects: tuple[str, ...]) -> bool:
    if name in subjects:
        return True
    is_old = name in agent.foreign_tools
    is_foreign = any(name.startswith(prefix) for prefix in agent.foreign_tool_prefixes)
    if spec.subjects or is_old or is_foreign or not name.startswith(agent.tool_prefix):
        return False
    # The server of an MCP tool without a tool: `mcp__github`.
    template = agent.vocabulary.mcp_name
    separator = template.partition("{server}")[2].partition("{tool}")[0]
    rest = name.removeprefix(agent.tool_prefix)
    has_parts = bool(agent.tool_prefix and separator)
    return not has_parts or separator in rest


def _suggest_name(agent: AgentSpec, spec: EventSpec, name: str, subjects: tuple[str, ...]) -> str:
    for prefix, form in agent.foreign_tool_prefixes.items():
        if name.startswith(prefix):
            return f"is not how {agent.title} names MCP tools; write {form}"
    if spec.subjects:
        suggestion = closest(name, subjects)
        kind = "a value that the event has"
    elif agent.tool_prefix and name.startswith(agent.tool_prefix):
        server = name.removeprefix(agent.tool_prefix).strip("_")
        pattern = agent.vocabulary.mcp_name.format(server=server, tool=".*")
        return f"names a server and no tool; for all of its tools write {pattern!r}"
    else:
        suggestion = suggest_tool(agent, name)
        kind = f"a tool of {agent.title}"
    return f"is not {kind}" + (f"; did you mean {suggestion!r}?" if suggestion else "")


def _foreign_tools(agent: AgentSpec, matcher: Matcher) -> str | None:
    """Return what is wrong with a pattern for MCP tools that is written for another agent."""
    for prefix, form in agent.foreign_tool_prefixes.items():
        if prefix in matcher.pattern:
            return (
                f"{agent.title} names MCP tools {form}, not {prefix}…; "
                f"{matcher.pattern!r} hits none of them"
            )
    return None


def _dead_tool_pattern(agent: AgentSpec, matcher: Matcher) -> str | None:
    """Return what is wrong with a pattern that matches no tool of the agent."""
    new_names: dict[str, str] = {}
    for old_name in sorted(agent.foreign_tools):
        if matcher.matches(old_name):
            new_names[str(counterpart_tool(agent, old_name))] = old_name
    if new_names:
        hints = ", ".join(f"{old} is {new!r} here" for new, old in new_names.items())
        return f"{matcher.pattern!r} hits no tool of {agent.title} ({hints})"
    if agent.tool_prefix in matcher.pattern:
        return None
    tools = {word: counterpart_tool(agent, word) for word in re.findall(r"\w{2,}", matcher.pattern)}
    hints = ", ".join(f"{word} is {tool!r} here" for word, tool in tools.items() if tool)
    text = f"{matcher.pattern!r} hits no tool that {agent.title} has"
    return f"{text} ({hints})" if hints else text
