"""Likely mistakes in hooks whose settings are valid: for `anyhook check`."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from anyhook.agents.tool_names import counterpart_tool, suggest_tool
from anyhook.engine.script_checks import check_scripts
from anyhook.handlers.environment import add_variables
from anyhook.matching.matchers import MATCH_ALL, compile_matcher
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.layers import Layer
from anyhook.model.suggest import closest
from anyhook.shell.path_variables import unquoted_variables
from anyhook.shell.programs import BUILTINS, find_shell
from anyhook.trust.scripts import missing_scripts, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.matching.matchers import Matcher
    from anyhook.model.definitions import HandlerSpec, HookDefinition

_PERMISSION_RULE = re.compile(r"\s*\w+\s*\(.*\)\s*", re.DOTALL)
"""A permission rule, `Bash(git *)`: as a matcher it is a pattern that matches nothing."""
MILLISECONDS_FROM = 1000
"""A timeout in seconds that is a multiple of this was probably meant in milliseconds."""


def check_hooks(  # noqa: PLR0917 - what a check looks at
    agent: AgentSpec,
    definitions: Iterable[HookDefinition],
    project: Path,
    variables: Mapping[str, str],
    environ: Mapping[str, str],
    may_match: Callable[[HookDefinition], bool] = lambda _definition: True,
) -> Iterator[Diagnostic]:
    """Yield the likely mistakes in hooks: why one does not run, or not as it was meant.

    Args:
        agent: The agent.
        definitions: All definitions.
        project: Directory of the project, where commands run.
        variables: Variables of the agent that hold paths.
        environ: Environment that commands inherit; its `PATH` is searched.
        may_match: Returns whether the regular expression of a definition may be evaluated.
    """
    definitions = list(definitions)
    yield from _check_names(definitions)
    first_of: dict[tuple[object, ...], HandlerSpec] = {}
    for definition in definitions:
        form = agent.form(definition.form)
        spec = form.by_canonical[definition.event]
        yield from _check_matcher(form, spec, definition, may_match)
        for handler in definition.handlers:
            path_variables = {**environ, **variables, **handler.variables}
            yield from check_start(agent, handler, project, path_variables, environ)
            if handler.kind == "command":
                yield from _check_quotes(handler, project, variables)
            yield from _check_timeout(agent, handler)
            if handler.kind == "command":
                yield from check_scripts(form, spec, handler, project, path_variables)
            identity = (definition.event, definition.matcher, *handler.identity)
            first = first_of.setdefault(identity, handler)
            if first is not handler:
                text = f"{handler.label!r} is the same as at {first.place}; it runs once"
                yield diagnose("duplicate-hook", text, handler.place, handler=handler.label)


def _about(handler: HandlerSpec, code: str, message: str) -> Diagnostic:
    return diagnose(code, f"{handler.label!r}: {message}", handler.place, handler=handler.label)


# -- names and times


def _check_names(definitions: list[HookDefinition]) -> Iterator[Diagnostic]:
    """Report different hooks with the same name: switching off one switches off both."""
    by_name: dict[str, HandlerSpec] = {}
    for definition in definitions:
        for handler in definition.handlers:
            if not handler.name or handler.layer is Layer.RUNTIME:
                continue
            first = by_name.setdefault(handler.name, handler)
            if (first.command, first.argv) != (handler.command, handler.argv):
                text = (
                    f"{handler.label!r} is also the name of another hook, at {first.place}; "
                    "switching off that name switches off both"
                )
                yield diagnose("same-name", text, handler.place, handler=handler.label)


def _check_timeout(agent: AgentSpec, handler: HandlerSpec) -> Iterator[Diagnostic]:
    is_in_seconds = agent.timeout_unit == 1.0
    is_multiple = handler.timeout >= MILLISECONDS_FROM and not handler.timeout % MILLISECONDS_FROM
    if is_in_seconds and is_multiple and handler.timeout <= agent.long_timeout:
        yield _about(
            handler,
            "timeout-unit",
            f"its timeout of {handler.timeout:g} means {handler.timeout / 60:.0f} minutes, because "
            f"{agent.title} counts in seconds; was {handler.timeout / 1000:g} meant?",
        )


# -- matchers


def _check_matcher(
    agent: AgentSpec,
    spec: EventSpec,
    definition: HookDefinition,
    may_match: Callable[[HookDefinition], bool],
) -> Iterator[Diagnostic]:
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    is_rule = bool(_PERMISSION_RULE.fullmatch(definition.matcher or ""))
    if matcher.expression is not None and not may_match(definition):
        problem = _rule_as_matcher(spec, matcher) if is_rule else None
    elif matcher.pattern in MATCH_ALL:
        problem = None
    elif spec.matcher_style == "ignored" or (spec.subject is None and spec.matcher_text is None):
        text = f"{spec.wire} has nothing to match; the matcher {matcher.pattern!r} is ignored"
        yield diagnose("ignored-matcher", text, definition.place)
        return
    elif spec.subject == "tool_name" and is_rule:
        problem = _rule_as_matcher(spec, matcher)
    else:
        problem = _find_dead_part(agent, spec, matcher)
    if problem:
        yield diagnose("dead-matcher", f"{spec.wire}: {problem}", definition.place)


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
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    for diagnostic in _check_matcher(agent, spec, definition, may_match):
        is_rule = _PERMISSION_RULE.fullmatch(matcher.pattern) is not None
        if diagnostic.code == "dead-matcher" and (is_rule or _covers_nothing(agent, spec, matcher)):
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
    for name in names:
        if _can_occur(agent, spec, name, agent.tools) or not _is_slip(agent, name):
            return False
    return True


def _is_slip(agent: AgentSpec, name: str) -> bool:
    """Return whether a name of no tool is hardly the one of a host's own tool."""
    prefixes = [*agent.foreign_tool_prefixes]
    if agent.tool_prefix:
        prefixes.append(agent.tool_prefix)
    is_renamed = name in agent.renamed_tools or name.startswith(tuple(prefixes))
    return is_renamed or closest(name, agent.tools) is not None


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
        return _find_dead_names(agent, spec, matcher, subjects)
    if any(matcher.matches(name) for name in subjects):
        return None
    if spec.subject != "tool_name":
        return _foreign_tools(agent, matcher) or (
            f"{matcher.pattern!r} hits none of {', '.join(subjects)}"
        )
    return _foreign_tools(agent, matcher) or _dead_tool_pattern(agent, matcher)


def _find_dead_names(
    agent: AgentSpec, spec: EventSpec, matcher: Matcher, subjects: tuple[str, ...]
) -> str | None:
    if not matcher.names:
        return f"{matcher.pattern!r} names nothing"
    dead = [name for name in sorted(matcher.names) if not _can_occur(agent, spec, name, subjects)]
    hints = [f"{name!r} {_suggest_name(agent, spec, name, subjects)}" for name in dead]
    return "; ".join(hints) or None


def _can_occur(agent: AgentSpec, spec: EventSpec, name: str, subjects: tuple[str, ...]) -> bool:
    if name in subjects:
        return True
    is_old = name in agent.renamed_tools
    is_foreign = any(name.startswith(prefix) for prefix in agent.foreign_tool_prefixes)
    if spec.subjects or is_old or is_foreign or not name.startswith(agent.tool_prefix):
        return False
    return not _names_server_only(agent, name)


def _names_server_only(agent: AgentSpec, name: str) -> bool:
    """Return whether a name has the server of an MCP tool, but no tool: `mcp__github`."""
    template = agent.vocabulary.mcp_name
    separator = template.partition("{server}")[2].partition("{tool}")[0]
    rest = name.removeprefix(agent.tool_prefix)
    return bool(agent.tool_prefix and separator) and separator not in rest


def _suggest_name(agent: AgentSpec, spec: EventSpec, name: str, subjects: tuple[str, ...]) -> str:
    for prefix, form in agent.foreign_tool_prefixes.items():
        if name.startswith(prefix):
            return f"is not how {agent.title} names MCP tools; write {form}"
    if spec.subjects:
        suggestion = closest(name, subjects)
        kind = "no value that the event has"
    elif agent.tool_prefix and name.startswith(agent.tool_prefix):
        server = name.removeprefix(agent.tool_prefix).strip("_")
        pattern = agent.vocabulary.mcp_name.format(server=server, tool=".*")
        return f"names a server and no tool; for all of its tools write {pattern!r}"
    else:
        suggestion = suggest_tool(agent, name)
        kind = f"no tool of {agent.title}"
    return f"is {kind}" + (f"; did you mean {suggestion!r}?" if suggestion else "")


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
    for old_name in sorted(agent.renamed_tools):
        if matcher.matches(old_name):
            new_names[agent.renamed_tools[old_name]] = old_name
    if new_names:
        hints = ", ".join(f"{old} is {new!r} here" for new, old in new_names.items())
        return f"{matcher.pattern!r} hits no tool of {agent.title} ({hints})"
    if agent.tool_prefix in matcher.pattern:
        return None
    tools = {word: counterpart_tool(agent, word) for word in re.findall(r"\w{2,}", matcher.pattern)}
    hints = ", ".join(f"{word} is {tool!r} here" for word, tool in tools.items() if tool)
    text = f"{matcher.pattern!r} hits no tool that {agent.title} has"
    return f"{text} ({hints})" if hints else text


# -- commands


def check_start(
    agent: AgentSpec,
    handler: HandlerSpec,
    project: Path,
    path_variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Report what keeps a command from being started: no shell, no script, no program."""
    if handler.kind == "command":
        yield from _check_shell(agent, handler, environ)
        yield from _check_command(handler, project, path_variables, environ)


def _check_shell(
    agent: AgentSpec, handler: HandlerSpec, environ: Mapping[str, str]
) -> Iterator[Diagnostic]:
    if handler.argv is not None:
        return
    shells = agent.shells_for(handler.options.get("shell", ""))
    if find_shell(shells, environ.get("PATH"), _own_path(handler, environ)) is None:
        names = " or ".join(dict.fromkeys(program for program, *_ in shells))
        yield _about(handler, "missing-shell", f"there is no {names} on the PATH to run it")


def _own_path(handler: HandlerSpec, environ: Mapping[str, str]) -> str | None:
    """Return the `PATH` that a hook's command gets."""
    env = dict(environ)
    add_variables(env, handler.env)
    return env.get("PATH")


def _check_command(
    handler: HandlerSpec,
    project: Path,
    path_variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Report scripts and programs that do not exist or cannot be executed."""
    for path in missing_scripts(handler, project, path_variables):
        yield _about(handler, "missing-script", f"{path} does not exist")
    first = program(handler, project, path_variables)
    if isinstance(first, str):
        search_path = _own_path(handler, environ)
        if first not in BUILTINS and shutil.which(first, path=search_path) is None:
            yield _about(handler, "missing-program", f"there is no program {first!r} on the PATH")
    elif first is not None and first.is_file() and not os.access(first, os.X_OK):
        text = f"{first} may not be executed; run: chmod +x {first}"
        yield _about(handler, "not-executable", text)


def _check_quotes(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str]
) -> Iterator[Diagnostic]:
    has_blank = " " in str(project) or "\t" in str(project)
    if handler.command and has_blank:
        for name in unquoted_variables(handler.command, variables):
            yield _about(
                handler,
                "unquoted-variable",
                f"the shell splits ${name} at the blank in {str(project)!r}; "
                f'write "${{{name}}}" in double quotes',
            )
