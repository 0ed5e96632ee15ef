"""Mistakes in settings whose form is valid, and hooks that the user has not trusted."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import NAMES, get_agent
from anyhook.agents.spec.settings import LONG_TIMEOUT
from anyhook.agents.tool_names import suggest_tool
from anyhook.authoring.inspect import scan
from anyhook.checks.interpreters import check_shell
from anyhook.checks.started_scripts import find_starts, started_paths
from anyhook.engine.absent import report_shadow
from anyhook.engine.dead_matchers import check_matcher
from anyhook.engine.hook_files import shadow_place
from anyhook.engine.startable import check_start, variables_of_others
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler, handlers_of
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.layers import Layer
from anyhook.model.suggest import closest
from anyhook.model.tools import MCP_PREFIX
from anyhook.settings.companions import State, find_companion
from anyhook.shell.path_variables import unquoted_variables
from anyhook.shell.programs import KEYWORDS, POSIX_SHELLS, base_name
from anyhook.shell.words import split_tokens
from anyhook.trust.changes import changes_to_review
from anyhook.trust.native import RUNNING, native_states

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.checks.hook import CheckedHook
    from anyhook.engine.engine import Engine
    from anyhook.settings.hookset import HookSet


MILLISECONDS_FROM = 1000
"""A timeout in seconds that is a multiple of this was probably meant in milliseconds."""
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]+)")
_USE_OF_VARIABLE = re.compile(r"\$\{\w+\}")
_OPERATORS = frozenset("|&;<>(){}`\n")
_STATEMENTS = KEYWORDS | {"for", "case", "esac", "select", "function"}
"""Words with which a line is more than a command with its arguments."""


def settings_files(engine: Engine) -> Iterator[Diagnostic]:
    """Report what is wrong with the form of the settings files."""
    yield from engine.hooks.diagnostics
    for file in engine.hooks.files:
        if file.ignored is not None:
            yield file.ignored
        yield from file.dropped_events
        yield from file.dropped_hooks


def switched_off(engine: Engine) -> Iterator[Diagnostic]:
    """Report the hooks that are switched off or disabled, and those that are shadows."""
    yield from engine.switched_off()
    for handler in handlers_of(engine.hooks.definitions):
        place = None if handler.shadow else shadow_place(engine, handler)
        if place is not None:
            yield report_shadow(handler, place)


def no_hooks(engine: Engine) -> Iterator[Diagnostic]:
    """Report that nothing is configured, so that nothing was checked.

    Hooks may be switched off, or in a file that cannot be read.
    """
    if engine.definitions or any(file.is_broken for file in engine.hooks.files):
        return
    if any(engine.switched_off()):
        return
    text = "no hook is configured here, so that nothing was checked"
    if engine.hooks.diagnostics:
        text = "the settings here have no hook that runs; correct the other problems of these files"
    yield diagnose("no-hooks", text)


def same_names(engine: Engine) -> Iterator[Diagnostic]:
    """Report different hooks with the same name: switching off one switches off both."""
    by_name: dict[str, HandlerSpec] = {}
    for _, handler in each_handler(engine.definitions):
        if not handler.name or handler.layer is Layer.RUNTIME:
            continue
        first = by_name.setdefault(handler.name, handler)
        if (first.command, first.argv) != (handler.command, handler.argv):
            text = (
                f"{handler.label!r} is also the name of another hook, at {first.place}; "
                "switching off that name switches off both"
            )
            yield diagnose("same-name", text, handler.place, handler=handler.label)


def dead_matchers(engine: Engine, definition: HookDefinition) -> Iterator[Diagnostic]:
    """Report a matcher that matches nothing, or that the event ignores."""
    form = engine.agent.form(definition.form)
    spec = form.by_canonical[definition.event]
    problem = check_matcher(form, spec, definition, engine.guard.may_match)
    if problem is not None:
        yield problem


def dead_conditions(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a condition on a tool that the agent does not have: the hook never runs.

    A host may have tools of its own, so only what nearly is a tool of the agent, or one of another
    agent, is reported.
    """
    agent, spec, text = hook.form, hook.spec, hook.handler.condition
    if text is None or not spec.supports_conditions:
        return
    from anyhook.matching.conditions import compile_condition

    condition = compile_condition(text)
    tool = condition.tool
    if condition.problem is not None or "*" in tool or tool.startswith(MCP_PREFIX):
        return
    names = {name for own in agent.tools for name in agent.match_names(spec, own)}
    suggestion = None if tool in names else suggest_tool(agent, tool)
    if suggestion is not None:
        rule = f"{suggestion}{text.strip().removeprefix(tool)}"
        problem = f"{tool!r} in its condition {text!r} is not a tool of {agent.title}"
        yield hook.diagnose("dead-matcher", f"{problem}, so it never runs; write {rule!r}")


def cannot_start(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a command whose shell, script or program does not exist or cannot be executed."""
    engine = hook.engine
    yield from check_start(
        engine.agent, hook.handler, engine.project_dir, hook.variables, engine.environ
    )


def unquoted_paths(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report variables that the shell splits, because the path of the project has a blank."""
    project = str(hook.engine.project_dir)
    has_blank = " " in project or "\t" in project
    command = hook.handler.command
    if not hook.is_command or not command or not has_blank:
        return
    for name in unquoted_variables(command, hook.agent_variables):
        yield hook.diagnose(
            "unquoted-variable",
            f"the shell splits ${name} at the blank in {project!r}; "
            f'write "${{{name}}}" in double quotes',
        )


def scripts_of_projects(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a script that a hook of the user starts from whichever project the agent is in."""
    handler, project = hook.handler, hook.engine.project_dir
    is_of_user = handler.layer is Layer.USER and not Path(handler.place.file).is_relative_to(
        project
    )
    line = handler.command_line
    for script in started_paths(hook) if is_of_user else ():
        if script.is_relative_to(project) and str(script) not in line:
            name = script.relative_to(project)
            yield hook.diagnose(
                "project-script",
                f"it starts {name} of whichever project the agent is in, without trust, because "
                "hooks of the user need none; start a script of yours by its whole path",
            )


def timeout_units(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a timeout in seconds that was probably meant in milliseconds."""
    agent, timeout = hook.engine.agent, hook.handler.timeout
    is_in_seconds = agent.settings.timeout_unit == 1.0
    is_multiple = timeout >= MILLISECONDS_FROM and not timeout % MILLISECONDS_FROM
    if is_in_seconds and is_multiple and timeout <= LONG_TIMEOUT:
        yield hook.diagnose(
            "timeout-unit",
            f"its timeout of {timeout:g} means {timeout / 60:.0f} minutes, because "
            f"{agent.title} counts in seconds; was {timeout / 1000:g} meant?",
        )


def duplicates(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a hook that is configured twice."""
    handler = hook.handler
    if hook.first is not handler:
        text = f"{handler.label!r} is the same as at {hook.first.place}; it runs once"
        yield diagnose("duplicate-hook", text, handler.place, handler=handler.label)


def companion_files(engine: Engine) -> Iterator[Diagnostic]:
    """Report settings files with hooks whose companion is missing, outdated or edited."""
    agent = engine.agent
    for file in engine.hooks.files:
        for companion in agent.settings.companions if file.definitions else ():
            scope = "user" if file.source.layer is Layer.USER else "project"
            command = f"anyhook add HOOK.py --agent {agent.name} --scope {scope}"
            installed = find_companion(companion, file.source.path)
            name, place = installed.path.name, Place(str(installed.path))
            match installed.state:
                case State.MISSING:
                    text = f"{agent.title} runs no hook without the file {name}, which is missing"
                    yield diagnose("companion-missing", f"{text}; write it with: {command}", place)
                case State.OUTDATED:
                    text = f"another release of anyhook has written {name}"
                    yield diagnose("companion-outdated", f"{text}; renew it with: {command}", place)
                case State.CHANGED:
                    text = f"{name} was edited, so hooks may not run as configured"
                    yield diagnose("companion-changed", f"{text}; renew it with: {command}", place)


# -- command lines


def command_syntax(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a command line that the shell cannot read."""
    problem = shell_syntax_problem(hook)
    if problem is not None:
        yield hook.diagnose("command-syntax", f"the shell cannot read the command: {problem}")


def unknown_variables(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report variables that the agent does not set: of other agents, or named like its own."""
    line = hook.handler.command
    if not hook.is_command or not line or shell_syntax_problem(hook) is not None:
        return
    own = {*hook.form.hook_environment, *hook.handler.variables}
    prefixes = tuple(f"{name.partition('_')[0]}_" for name in own if "_" in name)
    of_others = variables_of_others(hook.handler, hook.variables)
    for name in dict.fromkeys(_VARIABLE.findall(line)):
        is_set = name in own or name in hook.variables or f"{name}=" in line
        if is_set or not (name in of_others or name.startswith(prefixes)):
            continue
        suggestion = closest(name, own)
        hint = "the event is JSON on standard input"
        if suggestion:
            hint = f"did you mean {suggestion}?"
        text = f"{hook.form.title} sets no variable {name}; {hint}"
        yield hook.diagnose("unknown-variable", text)


def other_agents_named(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a hook file that is started with the name of another agent than that of its settings.

    An agent that does not have the event cannot read it: the hook decides nothing. One that has it
    may name tools and write answers in another way. What the shim starts gets the events of the
    agent that the shim names.
    """
    if "shim" in split_tokens(hook.handler.command or ""):
        return
    for start in find_starts(hook):
        name = _named_agent(start.arguments)
        if name in (None, hook.engine.agent.name) or not scan(start.script):
            continue
        problem, severity = f"there is no agent {name!r}", Severity.ERROR
        if name in NAMES:
            named = get_agent(name)
            wire = hook.spec.wire
            problem = f"it reads the event {wire}, which {named.title} does not have"
            if wire in named.form_with_event(wire).by_wire:
                # Another agent may read the settings file of the agent that is named.
                if hook.handler.form:
                    continue
                problem = f"it reads and answers {wire} as for {named.title}"
                # Relatives, like Gemini CLI and TerminaI, know the names of each other's tools.
                shell = hook.engine.agent.vocabulary.name("shell")
                if named.vocabulary.canonical.get(shell or "") == "shell":
                    severity = Severity.WARNING
        own = hook.engine.agent.name
        text = f"with --agent {name}, {problem}; write --agent {own}, or leave the option out"
        yield hook.diagnose("wrong-agent", text, severity=severity)


def _named_agent(arguments: Sequence[str]) -> str | None:
    """Return the agent that the arguments of a hook file name; `None` if that is not known."""
    name = None
    for number, word in enumerate(arguments):
        option, has_value, value = word.partition("=")
        if option == "--agent":
            name = value if has_value else "".join(arguments[number + 1 : number + 2])
    return None if name is None or "$" in name else name


def shell_syntax_problem(hook: CheckedHook) -> str | None:
    """Return what is wrong with the syntax of a command line; `None` if it can be read.

    The shell that will run the line reads it without running it (`sh -n`). Most lines are one
    command with its arguments; they are not worth the start of a shell.
    """
    line = hook.handler.command
    if not hook.is_command or not line:
        return None
    words = line.split()
    has_closed_quotes = all(line.count(quote) % 2 == 0 for quote in "'\"")
    has_operator = not _OPERATORS.isdisjoint(_USE_OF_VARIABLE.sub("", line))
    is_statement = words[:1] != [] and words[0] in _STATEMENTS
    if has_closed_quotes and not has_operator and not is_statement:
        return None
    shell = hook.shell
    # Another shell may take `-n` for something else, and run the line.
    if shell is None or base_name(shell) not in POSIX_SHELLS:
        return None
    return check_shell(shell, line).problem


# -- trust


def not_trusted(engine: Engine) -> Iterator[Diagnostic]:
    """Report the hooks that anyhook does not run, because the user has not trusted them in it."""
    yield from engine.guard.diagnostics()


def not_trusted_by_the_agent(engine: Engine) -> Iterator[Diagnostic]:
    """Report the hooks that the agent itself does not run, because it does not trust them."""
    yield from report_native_trust(engine.hooks)


def changed_guards(engine: Engine) -> Iterator[Diagnostic]:
    """Report files of the guards that changed while no hook saw it, until the user reviews them."""
    for change in changes_to_review(engine.project_dir):
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(change.time))
        message = f"it was found changed at {at}, and no hook saw the change; review: anyhook trust"
        yield diagnose("guard-changed", message, Place(change.file))


def report_native_trust(hooks: HookSet) -> Iterator[Diagnostic]:
    """Report the hooks that the agent itself does not run, because it does not trust them.

    A hook that a file has for several events, like a recorder, is reported once, at its first one.
    """
    native = native_states(hooks.agent, hooks)
    if native is None:
        return
    groups: dict[tuple[str, str, str], list[HandlerSpec]] = {}
    for _, handler in each_handler(hooks.definitions):
        state = native.of(handler)
        if state is not None and state not in RUNNING:
            key = (handler.place.file, handler.identifier, state)
            groups.setdefault(key, []).append(handler)
    for (_, _, state), handlers in groups.items():
        events = dict.fromkeys(str(handler.path[-4]) for handler in handlers)
        first = handlers[0]
        message = (
            f"{first.label!r} on {', '.join(events)} is {state} in {hooks.agent.title}, which "
            f"does not run it; {native.review}"
        )
        yield diagnose("native-trust", message, first.place, handler=first.label)
