"""What is likely wrong with hooks that are configured correctly: for `anyhook check`."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from anyhook.handlers.environment import add_own
from anyhook.handlers.shell import find_shell, unquoted, wanted_shells
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.matching import MATCH_ALL, compile_matcher
from anyhook.model.suggest import closest
from anyhook.trust.scripts import missing_scripts, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.matching import Matcher

_BUILTINS = frozenset(
    ". : [ [[ alias break case cd command continue declare echo eval exec exit export false for "
    "function getopts hash if let local printf pwd read readonly return select set shift source "
    "test time times trap true type ulimit umask unalias unset until wait while { !".split()
)


def check_hooks(  # noqa: PLR0917 - what a check looks at
    dialect: Dialect,
    definitions: Iterable[HookDefinition],
    project: Path,
    variables: Mapping[str, str],
    environ: Mapping[str, str],
    may_match: Callable[[HookDefinition], bool] = lambda _definition: True,
) -> Iterator[Diagnostic]:
    """Look at every definition with the eyes of somebody who wonders why a hook does not run.

    Args:
        dialect: Whose hooks.
        definitions: All of them.
        project: Directory of the project, where commands run.
        variables: Variables of the dialect that hold paths.
        environ: Environment that commands inherit; its `PATH` is searched.
        may_match: Tells whether a definition's regular expression may be evaluated.

    Yields:
        Diagnostics.
    """
    seen: dict[tuple[object, ...], HandlerSpec] = {}
    for definition in definitions:
        style = dialect.by_canonical[definition.event].style
        if compile_matcher(definition.matcher, style).expression is None or may_match(definition):
            yield from _check_matcher(dialect, definition)
        for handler in definition.handlers:
            yield from _check_shell(dialect, handler, environ)
            yield from _check_command(handler, project, variables, environ)
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


# -- matchers


def _check_matcher(dialect: Dialect, definition: HookDefinition) -> Iterator[Diagnostic]:
    spec = dialect.by_canonical[definition.event]
    matcher = compile_matcher(definition.matcher, spec.style)
    if matcher.pattern in MATCH_ALL:
        return
    if spec.subject is None:
        yield diagnose(
            "ignored-matcher",
            f"{spec.wire} has nothing to match; the matcher {matcher.pattern!r} is ignored",
            definition.place,
        )
        return
    known = spec.subjects or (dialect.tools if spec.subject == "tool_name" else ())
    if not known:
        return
    problem = _dead_names(dialect, spec, matcher, known) or _dead_pattern(
        dialect, spec, matcher, known
    )
    if problem:
        yield diagnose("dead-matcher", problem, definition.place)


def _dead_names(
    dialect: Dialect, spec: EventSpec, matcher: Matcher, known: tuple[str, ...]
) -> str | None:
    if matcher.names is None:
        return None
    dead = [name for name in sorted(matcher.names) if not _can_be(dialect, spec, name, known)]
    if not dead and matcher.names:
        return None
    hints = "; ".join(f"{name!r} {_instead(dialect, spec, name, known)}" for name in dead)
    return f"{spec.wire}: {hints}" if dead else f"{spec.wire}: {matcher.pattern!r} names nothing"


def _can_be(dialect: Dialect, spec: EventSpec, name: str, known: tuple[str, ...]) -> bool:
    if name in known:
        return True
    if name in dialect.old_tools:
        return False
    foreign = any(name.startswith(prefix) for prefix in dialect.foreign_tool_prefixes)
    return not spec.subjects and name.startswith(dialect.tool_prefix) and not foreign


def _instead(dialect: Dialect, spec: EventSpec, name: str, known: tuple[str, ...]) -> str:
    for prefix, form in dialect.foreign_tool_prefixes.items():
        if name.startswith(prefix):
            return f"is not how {dialect.title} names MCP tools; write {form}"
    meant = (None if spec.subjects else dialect.old_tools.get(name)) or closest(name, known)
    what = "no value that the event has" if spec.subjects else f"no tool of {dialect.title}"
    return f"is {what}" + (f"; did you mean {meant!r}?" if meant else "")


def _dead_pattern(
    dialect: Dialect, spec: EventSpec, matcher: Matcher, known: tuple[str, ...]
) -> str | None:
    if matcher.names is not None or any(matcher.matches(name) for name in known):
        return None
    for prefix, form in dialect.foreign_tool_prefixes.items():
        if prefix in matcher.pattern:
            return (
                f"{spec.wire}: {dialect.title} names MCP tools {form}, not {prefix}…; "
                f"{matcher.pattern!r} hits none of them"
            )
    if spec.subjects:
        return f"{spec.wire}: {matcher.pattern!r} hits none of {', '.join(known)}"
    meant = {dialect.old_tools[n]: n for n in sorted(dialect.old_tools) if matcher.matches(n)}
    if not meant and dialect.tool_prefix in matcher.pattern:
        return None
    if meant:
        hints = [f"{old} is {new!r} here" for new, old in meant.items()]
        return (
            f"{spec.wire}: {matcher.pattern!r} hits no tool of {dialect.title} ({', '.join(hints)})"
        )
    words = [word for word in re.findall(r"\w{2,}", matcher.pattern) if word in dialect.old_tools]
    hints = [f"{word} is {dialect.old_tools[word]!r} here" for word in words]
    hint = f" ({', '.join(hints)})" if hints else ""
    return f"{spec.wire}: {matcher.pattern!r} hits no tool that {dialect.title} has{hint}"


# -- commands


def _check_shell(
    dialect: Dialect, handler: HandlerSpec, environ: Mapping[str, str]
) -> Iterator[Diagnostic]:
    needs_shell = handler.kind == "command" and handler.argv is None
    shells = wanted_shells(dialect, handler)
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
