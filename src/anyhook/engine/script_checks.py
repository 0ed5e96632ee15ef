"""Mistakes in the scripts and command lines that hooks run: for `anyhook check`."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial
from anyhook.engine.script_facts import ScriptFacts, facts_of, language_of
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.events import EVENTS
from anyhook.model.suggest import closest
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.trust.scripts import named_files, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.definitions import HandlerSpec

OWN_MARK = "anyhook.authoring"
"""What a hook file of anyhook imports; anyhook writes its output and exit code."""
STOP_FLAG = "stop_hook_active"
"""Member of a payload that is true while the agent continues because of a hook."""
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]+)")
SYNTAX_SECONDS = 5.0
POWERLESS = (
    "it denies, and the agent does not wait for it, so that the denial has no effect; remove "
    '"async" from its settings'
)


def check_scripts(
    agent: AgentSpec,
    spec: EventSpec,
    handler: HandlerSpec,
    project: Path,
    variables: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Check the command line and the scripts of a command hook.

    Args:
        agent: The agent.
        spec: The event of the hook.
        handler: The hook.
        project: Directory of the project.
        variables: The environment, with the variables that the agent sets.

    Yields:
        Diagnostics, at the line of the script where that is known.
    """
    if handler.command:
        yield from _check_line(agent, spec, handler, variables)
    started = program(handler, project, variables)
    for path in named_files(handler, project, variables):
        text = read_script(path)
        if text is None:
            continue
        if path == started and not text.startswith("#!") and os.access(path, os.X_OK):
            yield _about(
                handler,
                "no-shebang",
                f"{path} has no first line like #!/usr/bin/env python3, so the shell runs it as a "
                "shell script",
                Place(str(path), 1),
            )
        language = language_of(path, text)
        if language and OWN_MARK not in text:
            facts = facts_of(language, text)
            yield from _check_facts(agent, spec, handler, facts, str(path))


def read_script(path: Path) -> str | None:
    """Return the text of a script; `None` if it is no file that can be read as text."""
    try:
        return read_user_file(path, SIZE_LIMIT).decode("utf-8")
    except (OSError, ValueError):
        return None


# -- the line in the settings


def _check_line(
    agent: AgentSpec, spec: EventSpec, handler: HandlerSpec, variables: Mapping[str, str]
) -> Iterator[Diagnostic]:
    line = str(handler.command)
    problem = shell_syntax_problem(line)
    if problem is not None:
        yield _about(handler, "command-syntax", f"the shell cannot read the command: {problem}")
        return
    yield from _check_variables(agent, handler, line, variables)
    facts = facts_of("shell", line)
    for item in _check_facts(agent, spec, handler, facts, handler.place.file):
        # The place of the command in the settings, not a line of the command.
        yield Diagnostic(item.code, item.message, handler.place, item.severity, item.handler)


def _check_variables(
    agent: AgentSpec, handler: HandlerSpec, line: str, variables: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Report variables that are named like the agent's own and that it does not set."""
    own = {*agent.hook_environment, *handler.variables}
    prefixes = tuple(f"{name.partition('_')[0]}_" for name in own if "_" in name)
    for name in dict.fromkeys(_VARIABLE.findall(line)):
        is_set = name in own or name in variables or f"{name}=" in line
        if is_set or not name.startswith(prefixes):
            continue
        suggestion = closest(name, own)
        hint = "the event is JSON on standard input"
        if suggestion:
            hint = f"did you mean {suggestion}?"
        yield _about(handler, "unknown-variable", f"{agent.title} sets no variable {name}; {hint}")


@lru_cache(maxsize=1024)
def shell_syntax_problem(line: str) -> str | None:
    """Return what is wrong with the syntax of a shell line; `None` if it can be read.

    The system's shell reads the line without running it (`sh -n`). Most lines have balanced quotes
    and brackets; they are not worth the start of a shell.
    """
    has_closed_quotes = all(line.count(quote) % 2 == 0 for quote in "'\"`")
    has_closed_brackets = all(line.count(pair[0]) == line.count(pair[1]) for pair in ("()", "{}"))
    if has_closed_quotes and has_closed_brackets:
        return None
    try:
        process = subprocess.run(
            ["/bin/sh", "-n"],
            input=line + "\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=SYNTAX_SECONDS,
            env={"PATH": os.defpath},
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if process.returncode == 0:
        return None
    first_line = next(iter(process.stderr.strip().splitlines()), "syntax error")
    return first_line.rpartition("sh: ")[2] or first_line


# -- what scripts print and how they end


def _check_facts(
    agent: AgentSpec, spec: EventSpec, handler: HandlerSpec, facts: ScriptFacts, file: str
) -> Iterator[Diagnostic]:
    yield from _check_exit(spec, handler, facts, file)
    yield from _check_output(handler, facts, file)
    yield from _check_members(agent, handler, facts, file)
    if facts.denies and is_powerless(spec, handler):
        yield _about(handler, "background-guard", POWERLESS, Place(file))
    may_repeat = spec.denial is Denial.CONTINUES and facts.blocks
    if may_repeat and STOP_FLAG not in facts.text:
        yield _about(
            handler,
            "endless-stop",
            f"it can keep the agent from stopping and never looks at {STOP_FLAG}, so the agent may "
            f"go on for ever; allow the stop when {STOP_FLAG} is true",
            Place(file),
        )


def is_powerless(spec: EventSpec, handler: HandlerSpec) -> bool:
    """Return whether a denial has no effect because the agent does not wait for the hook."""
    is_background = handler.background and not handler.options.get("wakes")
    return is_background and spec.denial is not Denial.NOTHING


def _check_exit(
    spec: EventSpec, handler: HandlerSpec, facts: ScriptFacts, file: str
) -> Iterator[Diagnostic]:
    is_guard = spec.can_block and spec.denial in (Denial.PREVENTS, Denial.CONTINUES)
    exits_with_one_only = 1 in facts.exit_codes and 2 not in facts.exit_codes
    if is_guard and exits_with_one_only and facts.json_line is None:
        yield _about(
            handler,
            "exit-code",
            f"it exits with 1 and never with 2; on {spec.wire} exit code 2 blocks and 1 only warns",
            Place(file, facts.exit_codes[1]),
        )


def _check_output(handler: HandlerSpec, facts: ScriptFacts, file: str) -> Iterator[Diagnostic]:
    if facts.text_before_json_line is not None:
        yield _about(
            handler,
            "text-before-json",
            "it prints text to standard output before its JSON, so the reply is no JSON; print "
            "the text to standard error",
            Place(file, facts.text_before_json_line),
        )
    if facts.stderr_decision_line and facts.json_line is None:
        yield _about(
            handler,
            "reply-on-stderr",
            "it prints a decision to standard error; a reply is read from standard output",
            Place(file, facts.stderr_decision_line),
        )


def _check_members(
    agent: AgentSpec, handler: HandlerSpec, facts: ScriptFacts, file: str
) -> Iterator[Diagnostic]:
    """Report a member of a reply that the script names without the object that it belongs to."""
    for item in agent.output_fields:
        *parents, name = item.path
        is_top_level = not parents or any(other.path == (name,) for other in agent.output_fields)
        # A script also names the members of the payload that it reads.
        if is_top_level or name in _payload_keys():
            continue
        line = _line_of(facts.text, name)
        if line is not None and not any(parent in facts.text for parent in parents):
            yield _about(
                handler,
                "reply-place",
                f"it prints {name!r}, which {agent.title} reads only inside {parents[0]!r}",
                Place(file, line),
            )


@lru_cache(maxsize=1)
def _payload_keys() -> frozenset[str]:
    return frozenset(field for event in EVENTS.values() for field in event.record_fields)


def _line_of(text: str, member: str) -> int | None:
    """Return the first line that has a member of JSON, or of a literal in code."""
    match = re.search(rf"""(?:["'\\]|\b){re.escape(member)}(?:\\?["'])?\s*:""", text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def _about(handler: HandlerSpec, code: str, message: str, place: Place | None = None) -> Diagnostic:
    return diagnose(
        code, f"{handler.label!r}: {message}", place or handler.place, handler=handler.label
    )
