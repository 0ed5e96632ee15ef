"""What is likely wrong with hooks that are configured correctly: for `anyhook check`."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from anyhook.engine.script_checks import check_scripts
from anyhook.handlers.environment import add_own
from anyhook.matching.matchers import MATCH_ALL, compile_matcher
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.layers import Layer
from anyhook.model.suggest import closest
from anyhook.shell.path_variables import find_shell, unquoted
from anyhook.trust.scripts import missing_scripts, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.matching.matchers import Matcher
    from anyhook.model.definitions import HandlerSpec, HookDefinition

_BUILTINS = frozenset(
    ". : [ [[ alias break case cd command continue declare echo eval exec exit export false for "
    "function getopts hash if let local printf pwd read readonly return select set shift source "
    "test time times trap true type ulimit umask unalias unset until wait while { !".split()
)


def check_hooks(  # noqa: PLR0917 - what a check looks at
    agent: AgentSpec,
    definitions: Iterable[HookDefinition],
    project: Path,
    variables: Mapping[str, str],
    environ: Mapping[str, str],
    may_match: Callable[[HookDefinition], bool] = lambda _definition: True,
) -> Iterator[Diagnostic]:
    """Look at every definition with the eyes of somebody who wonders why a hook does not run.

    Args:
        agent: Whose hooks.
        definitions: All of them.
        project: Directory of the project, where commands run.
        variables: Variables of the agent that hold paths.
        environ: Environment that commands inherit; its `PATH` is searched.
        may_match: Tells whether a definition's regular expression may be evaluated.

    Yields:
        Diagnostics.
    """
    seen: dict[tuple[object, ...], HandlerSpec] = {}
    definitions = list(definitions)
    yield from _check_names(definitions)
    for definition in definitions:
        style = agent.by_canonical[definition.event].matcher_style
        if compile_matcher(definition.matcher, style).expression is None or may_match(definition):
            yield from _check_matcher(agent, definition)
        elif _RULE.fullmatch(definition.matcher or ""):
            yield _rule_as_matcher(agent, definition)
        for handler in definition.handlers:
            yield from _check_shell(agent, handler, environ)
            yield from _check_command(handler, project, variables, environ)
            yield from _check_timeout(agent, handler)
            if handler.kind == "command":
                spec = agent.by_canonical[definition.event]
                known = {**environ, **variables, **handler.variables}
                yield from check_scripts(agent, spec, handler, project, known)
            first = seen.setdefault(
                (definition.event, definition.matcher, *handler.identity), handler
            )
            if first is not handler:
                yield diagnose(
                    "duplicate-hook",
                    f"{handler.label!r} is the same as at {first.place}; it runs once",
                    handler.place,
                    handler=handler.label,
                )


# -- names and times


def _check_names(definitions: list[HookDefinition]) -> Iterator[Diagnostic]:
    """Report hooks that differ and have one name: switching one off switches off both."""
    by_name: dict[str, HandlerSpec] = {}
    for handler in (h for definition in definitions for h in definition.handlers):
        if not handler.name or handler.layer is Layer.RUNTIME:
            continue
        first = by_name.setdefault(handler.name, handler)
        if (first.command, first.argv) != (handler.command, handler.argv):
            yield diagnose(
                "same-name",
                f"{handler.label!r} is also the name of another hook, at {first.place}; "
                "switching off that name switches off both",
                handler.place,
                handler=handler.label,
            )


MILLISECONDS_FROM = 1000
"""A timeout in seconds that is a multiple of this was probably meant in milliseconds."""


def _check_timeout(agent: AgentSpec, handler: HandlerSpec) -> Iterator[Diagnostic]:
    is_in_seconds = agent.timeout_unit == 1.0
    is_suspicious = handler.timeout >= MILLISECONDS_FROM and not handler.timeout % MILLISECONDS_FROM
    if is_in_seconds and is_suspicious and handler.timeout <= agent.long_timeout:
        yield _about(
            handler,
            "timeout-unit",
            f"its timeout of {handler.timeout:g} means {handler.timeout / 60:.0f} minutes, because "
            f"{agent.title} counts in seconds; was {handler.timeout / 1000:g} meant?",
        )


# -- matchers

_RULE = re.compile(r"\s*\w+\s*\(.*\)\s*", re.DOTALL)
"""What permissions look like, `Bash(git *)`: as a matcher it is a pattern that matches nothing."""


def _rule_as_matcher(agent: AgentSpec, definition: HookDefinition) -> Diagnostic:
    spec = agent.by_canonical[definition.event]
    matcher = str(definition.matcher)
    tool = matcher.partition("(")[0].strip()
    instead = (
        f'; write the matcher {tool!r} and "if": "{matcher}"' if spec.supports_conditions else ""
    )
    text = f"{spec.wire}: {matcher!r} is a permission rule and no tool name{instead}"
    return diagnose("dead-matcher", text, definition.place)


def _check_matcher(agent: AgentSpec, definition: HookDefinition) -> Iterator[Diagnostic]:
    spec = agent.by_canonical[definition.event]
    matcher = compile_matcher(definition.matcher, spec.matcher_style)
    if matcher.pattern in MATCH_ALL:
        return
    if spec.subject is None:
        yield diagnose(
            "ignored-matcher",
            f"{spec.wire} has nothing to match; the matcher {matcher.pattern!r} is ignored",
            definition.place,
        )
        return
    if spec.subject == "tool_name" and _RULE.fullmatch(matcher.pattern):
        yield _rule_as_matcher(agent, definition)
        return
    known = spec.subjects or (agent.tools if spec.subject == "tool_name" else ())
    if not known:
        return
    problem = _dead_names(agent, spec, matcher, known) or _dead_pattern(agent, spec, matcher, known)
    if problem:
        yield diagnose("dead-matcher", problem, definition.place)


def _dead_names(
    agent: AgentSpec, spec: EventSpec, matcher: Matcher, known: tuple[str, ...]
) -> str | None:
    if matcher.names is None:
        return None
    dead = [name for name in sorted(matcher.names) if not _can_be(agent, spec, name, known)]
    if not dead and matcher.names:
        return None
    hints = "; ".join(f"{name!r} {_instead(agent, spec, name, known)}" for name in dead)
    return f"{spec.wire}: {hints}" if dead else f"{spec.wire}: {matcher.pattern!r} names nothing"


def _can_be(agent: AgentSpec, spec: EventSpec, name: str, known: tuple[str, ...]) -> bool:
    if name in known:
        return True
    if name in agent.renamed_tools:
        return False
    foreign = any(name.startswith(prefix) for prefix in agent.foreign_tool_prefixes)
    if spec.subjects or foreign or not name.startswith(agent.tool_prefix):
        return False
    return not _is_half_an_mcp_name(agent, name)


def _is_half_an_mcp_name(agent: AgentSpec, name: str) -> bool:
    """Return whether a name has the server of an MCP tool and not the tool: `mcp__github`."""
    form = agent.vocabulary.mcp_name
    separator = form.partition("{server}")[2].partition("{tool}")[0]
    rest = name.removeprefix(agent.tool_prefix)
    return bool(agent.tool_prefix and separator) and separator not in rest


def _instead(agent: AgentSpec, spec: EventSpec, name: str, known: tuple[str, ...]) -> str:
    for prefix, form in agent.foreign_tool_prefixes.items():
        if name.startswith(prefix):
            return f"is not how {agent.title} names MCP tools; write {form}"
    if not spec.subjects and agent.tool_prefix and name.startswith(agent.tool_prefix):
        whole = agent.vocabulary.mcp_name.format(server=_server(agent, name), tool=".*")
        return f"names a server and no tool; for all of its tools write {whole!r}"
    meant = (None if spec.subjects else agent.renamed_tools.get(name)) or closest(name, known)
    what = "no value that the event has" if spec.subjects else f"no tool of {agent.title}"
    return f"is {what}" + (f"; did you mean {meant!r}?" if meant else "")


def _server(agent: AgentSpec, name: str) -> str:
    return name.removeprefix(agent.tool_prefix).strip("_")


def _dead_pattern(
    agent: AgentSpec, spec: EventSpec, matcher: Matcher, known: tuple[str, ...]
) -> str | None:
    if matcher.names is not None or any(matcher.matches(name) for name in known):
        return None
    for prefix, form in agent.foreign_tool_prefixes.items():
        if prefix in matcher.pattern:
            return (
                f"{spec.wire}: {agent.title} names MCP tools {form}, not {prefix}…; "
                f"{matcher.pattern!r} hits none of them"
            )
    if spec.subjects:
        return f"{spec.wire}: {matcher.pattern!r} hits none of {', '.join(known)}"
    meant = {agent.renamed_tools[n]: n for n in sorted(agent.renamed_tools) if matcher.matches(n)}
    if not meant and agent.tool_prefix in matcher.pattern:
        return None
    if meant:
        hints = [f"{old} is {new!r} here" for new, old in meant.items()]
        return (
            f"{spec.wire}: {matcher.pattern!r} hits no tool of {agent.title} ({', '.join(hints)})"
        )
    words = [word for word in re.findall(r"\w{2,}", matcher.pattern) if word in agent.renamed_tools]
    hints = [f"{word} is {agent.renamed_tools[word]!r} here" for word in words]
    hint = f" ({', '.join(hints)})" if hints else ""
    return f"{spec.wire}: {matcher.pattern!r} hits no tool that {agent.title} has{hint}"


# -- commands


def _check_shell(
    agent: AgentSpec, handler: HandlerSpec, environ: Mapping[str, str]
) -> Iterator[Diagnostic]:
    needs_shell = handler.kind == "command" and handler.argv is None
    shells = agent.shells_for(handler.options.get("shell", ""))
    if needs_shell and find_shell(shells, environ.get("PATH"), _own_path(handler, environ)) is None:
        names = " or ".join(dict.fromkeys(program for program, *_ in shells))
        yield _about(handler, "missing-shell", f"there is no {names} on the PATH to run it")


def _own_path(handler: HandlerSpec, environ: Mapping[str, str]) -> str | None:
    """Return the `PATH` that a hook's command gets."""
    env = dict(environ)
    add_own(env, handler.env)
    return env.get("PATH")


def _check_command(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str], environ: Mapping[str, str]
) -> Iterator[Diagnostic]:
    if handler.kind != "command":
        return
    known = {**environ, **variables, **handler.variables}
    for path in missing_scripts(handler, project, known):
        yield _about(handler, "missing-script", f"{path} does not exist")
    first = program(handler, project, known)
    if isinstance(first, str):
        own_path = _own_path(handler, environ)
        if first not in _BUILTINS and shutil.which(first, path=own_path) is None:
            yield _about(handler, "missing-program", f"there is no program {first!r} on the PATH")
    elif first is not None and first.is_file() and not os.access(first, os.X_OK):
        yield _about(
            handler, "not-executable", f"{first} may not be executed; run: chmod +x {first}"
        )
    if handler.command and any(blank in str(project) for blank in " \t"):
        for name in unquoted(handler.command, variables):
            yield _about(
                handler,
                "unquoted-variable",
                f"the shell splits ${name} at the blank in {str(project)!r}; "
                f'write "${{{name}}}" in double quotes',
            )


def _about(handler: HandlerSpec, code: str, message: str) -> Diagnostic:
    return diagnose(code, f"{handler.label!r}: {message}", handler.place, handler=handler.label)
