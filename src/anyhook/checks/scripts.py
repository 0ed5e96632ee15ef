"""Mistakes in the scripts, hook files and command lines that hooks run."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents.printed import parse_object
from anyhook.agents.spec import AgentSpec, Denial, EventSpec
from anyhook.agents.spec.rules import REFUSED_INPUT
from anyhook.agents.tool_names import suggest_tool
from anyhook.authoring.inspect import (
    AUTHORING,
    STOP_FLAG,
    Use,
    builds_hooks,
    names_all_functions,
    never_runs,
    scan,
    uses_without_support,
)
from anyhook.checks.interpreters import interpreter_in
from anyhook.checks.python_flow import python_flow
from anyhook.checks.script_facts import ScriptFacts, ScriptOutput, facts_of_flow, javascript_facts
from anyhook.checks.settings import shell_syntax_problem
from anyhook.checks.shell_flow import shell_flow
from anyhook.engine.hook_files import files_of
from anyhook.files import read_user_file
from anyhook.journal.records import is_recorder_command
from anyhook.matching.matchers import compile_matcher
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.events import EVENTS
from anyhook.model.suggest import closest
from anyhook.model.tools import TOOLS
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.shell.programs import POSIX_SHELLS, base_name
from anyhook.trust.languages import JAVASCRIPT, PYTHON, language_of_program
from anyhook.trust.scripts import program
from anyhook.trust.trees import MAX_SCRIPT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.checks.hook import CheckedHook
    from anyhook.engine.engine import Engine


POWERLESS = (
    "it denies, and the agent does not wait for it, so that the denial has no effect; remove "
    '"async" from its settings'
)


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
"""Languages of scripts whose outputs and exit codes are read, by the suffixes of their files."""


class CheckedScript(NamedTuple):
    """A script that a hook runs, or the command line of the hook.

    Attributes:
        facts: What the text shows; nothing for a hook file of anyhook and an unknown language.
        path: The file; `None` for the command line.
        language: `python`, `shell` or `javascript`; `None` if it is another one.
    """

    text: str
    facts: ScriptFacts
    path: Path | None
    language: str | None

    def place(self, line: int | None = None) -> Place | None:
        """Return the place of a line; `None` for the place of the command in the settings."""
        return Place(str(self.path), line) if self.path else None


def read_scripts(hook: CheckedHook) -> Iterator[CheckedScript]:
    """Yield the command line of a hook, then the scripts that it names."""
    if not hook.is_command:
        return
    line = hook.handler.command
    if line and shell_syntax_problem(hook) is None:
        yield CheckedScript(line, facts_of("shell", line), None, "shell")
    for path in hook.files():
        try:
            text = read_user_file(path, SIZE_LIMIT).decode("utf-8")
        except (OSError, ValueError):
            continue
        language = language_of(path, text)
        facts = ScriptFacts("")
        # anyhook writes the output and the exit code of its own hook files.
        if language and AUTHORING not in text:
            facts = facts_of(language, text)
        yield CheckedScript(text, facts, path, language)


def language_of(path: Path, text: str) -> str | None:
    """Return the language of a script, by its suffix or its first line."""
    by_suffix = LANGUAGES.get(path.suffix)
    if by_suffix:
        return by_suffix
    interpreter = base_name(interpreter_in(text) or "")
    if interpreter in POSIX_SHELLS:
        return "shell"
    if interpreter == "uv":  # `uv run --script`
        return "python"
    language = language_of_program(interpreter)
    if language is PYTHON:
        return "python"
    return "javascript" if language is JAVASCRIPT else None


def facts_of(language: str, text: str) -> ScriptFacts:
    """Collect what the text of a script in a language of `LANGUAGES` shows."""
    match language:
        case "python":
            return facts_of_flow(python_flow(text))
        case "shell":
            return facts_of_flow(shell_flow(text))
    return javascript_facts(text)


def no_shebang(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a program without a first line that names its interpreter.

    A shell runs such a file itself, so only a program in another language fails. Without a shell it
    depends on the agent's runtime whether the file starts.
    """
    path = script.path
    if path is None or script.text.startswith("#!") or not os.access(path, os.X_OK):
        return
    if path != program(hook.handler, hook.engine.project_dir, hook.variables):
        return
    if script.language in {"python", "javascript"}:
        text = (
            f"{path} has no first line like #!/usr/bin/env python3, so the shell runs it as a "
            "shell script"
        )
        yield hook.diagnose("no-shebang", text, script.place(1))
    elif hook.handler.argv is not None:
        text = (
            f"{path} has no first line like #!/bin/sh, and {hook.form.title} starts it without a "
            "shell"
        )
        yield hook.diagnose("no-shebang", text, script.place(1), severity=Severity.WARNING)


def exit_codes(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a guard that exits with 1, which only warns, and never with 2, which denies."""
    spec, facts = hook.spec, script.facts
    is_guard = spec.can_block and spec.denial in (Denial.PREVENTS, Denial.CONTINUES)
    exits_with_one_only = 1 in facts.exit_codes and not facts.may_exit_with_two
    has_reply = any(_may_be_reply(hook.form, output) for output in facts.replies)
    if is_guard and exits_with_one_only and not has_reply:
        yield hook.diagnose(
            "exit-code",
            f"it exits with 1 and never with 2; on {spec.wire} exit code 2 blocks and 1 only warns",
            script.place(facts.exit_codes[1]),
        )


def text_before_json(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report text on standard output before a reply, which then cannot be read."""
    for text in script.facts.texts_before_json:
        if _may_be_reply(hook.form, text.json):
            yield hook.diagnose(
                "text-before-json",
                f"it prints text to standard output before its JSON, so {hook.form.title} cannot "
                "read the reply; print the text to standard error",
                script.place(text.line),
            )
            return


def _may_be_reply(agent: AgentSpec, output: ScriptOutput) -> bool:
    """Return whether printed JSON may be a reply: its members are unknown, or some are known."""
    written = output.text.lstrip().removeprefix("JSON.stringify(").lstrip()
    is_written_out = written.startswith("{") and "..." not in written and "**" not in written
    members = {member for item in agent.output_fields for member in item.path}
    return not is_written_out or any(_has_member(output, member) for member in members)


def replies_on_stderr(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a decision that is printed to standard error, where no reply is read."""
    line = script.facts.stderr_decision_line
    if line and not script.facts.replies:
        yield hook.diagnose(
            "reply-on-stderr",
            "it prints a decision to standard error; a reply is read from standard output",
            script.place(line),
        )


def reply_members(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a member of a reply that the script prints without the object that it belongs to."""
    agent, text = hook.form, script.facts.text
    for item in agent.output_fields:
        *parents, name = item.path
        is_of_event = item.events is None or hook.spec.canonical in item.events
        is_top_level = not parents or any(other.path == (name,) for other in agent.output_fields)
        # A script also names the members of the payload that it reads.
        if not is_of_event or is_top_level or name in _payload_keys():
            continue
        # The object may be put together in several statements.
        if any(parent in text for parent in parents):
            continue
        reply = next((reply for reply in script.facts.replies if _has_member(reply, name)), None)
        if reply is not None:
            yield hook.diagnose(
                "reply-place",
                f"it prints {name!r}, which {agent.title} reads only inside {parents[0]!r}",
                script.place(reply.line),
            )


def refused_inputs(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a reply, written out in the script, whose changed arguments the agent refuses."""
    tool = hook.matcher or ""
    members = [item.path for item in hook.form.output_fields if item.field == "tool_input"]
    for reply, path in product(script.facts.replies, members):
        changed: Any = parse_object(reply.text)
        for name in path:
            changed = changed.get(name) if isinstance(changed, dict) else None
        if not isinstance(changed, dict):
            continue
        argument = hook.engine.rules.refused_argument(hook.spec, tool, None, changed)
        if argument and hook.spec.replaces_whole_input:
            problem = REFUSED_INPUT.format(tool=tool, argument=argument)
            yield hook.diagnose("output-field", f"it {problem}", script.place(reply.line))


@lru_cache(maxsize=1)
def _payload_keys() -> frozenset[str]:
    return frozenset(field for event in EVENTS.values() for field in event.record_fields)


def _has_member(reply: ScriptOutput, member: str) -> bool:
    """Return whether printed JSON, or the code that makes it, has a member."""
    pattern = rf"""(?:["'\\]|\b){re.escape(member)}(?:\\?["'])?\s*:"""
    return re.search(pattern, reply.text) is not None


def background_guards(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a denial that has no effect, because the agent does not wait for the hook."""
    if script.facts.denies and is_powerless(hook.spec, hook.handler):
        # The place is that of the entry: others may start the same script and wait for it.
        yield hook.diagnose("background-guard", POWERLESS)


def is_powerless(spec: EventSpec, handler: HandlerSpec) -> bool:
    """Return whether a denial has no effect because the agent does not wait for the hook."""
    is_background = handler.background and not handler.options.get("wakes")
    return is_background and spec.denial is not Denial.NOTHING


def endless_stops(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a hook that may keep the agent from stopping again and again."""
    may_repeat = hook.spec.denial is Denial.CONTINUES and script.facts.blocks
    if may_repeat and STOP_FLAG not in script.facts.text:
        yield hook.diagnose(
            "endless-stop",
            f"it can keep the agent from stopping and never looks at {STOP_FLAG}, so the agent may "
            f"go on for ever; allow the stop when {STOP_FLAG} is true",
            script.place(),
        )


# -- hook files


class CheckedFile(NamedTuple):
    """A hook file, with the hooks whose commands name it, and its functions."""

    path: Path
    hooks: list[tuple[HookDefinition, HandlerSpec]]
    uses: list[Use]

    @property
    def handler(self) -> HandlerSpec:
        """The first hook."""
        return self.hooks[0][1]


def read_hook_files(engine: Engine) -> Iterator[CheckedFile]:
    """Yield the hook files that commands name, each with the hooks that name it.

    The recorder is left out: it has no functions on purpose.
    """
    hooks: dict[Path, list[tuple[HookDefinition, HandlerSpec]]] = {}
    for definition, handler in each_handler(engine.definitions):
        if handler.kind == "command" and not is_recorder_command(handler.command or ""):
            for path in files_of(engine, handler):
                hooks.setdefault(path, []).append((definition, handler))
    for path, hooks_of_file in hooks.items():
        uses = scan(path)
        if uses or _is_hook_file(path):
            yield CheckedFile(path, hooks_of_file, uses)


def _is_hook_file(path: Path) -> bool:
    try:
        source = read_user_file(path, MAX_SCRIPT_SIZE)
    except (OSError, ValueError):
        return False
    return AUTHORING.encode() in source and builds_hooks(source)


def run_twice(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a hook file that two settings files start on the same event.

    Cursor reads the settings of Claude Code, too.
    """
    first: dict[str, HandlerSpec] = {}
    for definition, handler in file.hooks:
        other = first.setdefault(definition.event, handler)
        is_elsewhere = other.place.file != handler.place.file
        if is_elsewhere and other.identity != handler.identity:
            text = (
                f"{engine.agent.title} also runs {file.path.name} for {other.place}, so that it "
                "runs twice; remove one of them"
            )
            label = handler.label
            yield diagnose("duplicate-hook", f"{label!r}: {text}", handler.place, handler=label)


def missing_run(_engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a hook file that decides nothing when it is started."""
    problem = never_runs(read_user_file(file.path, MAX_SCRIPT_SIZE))
    if problem:
        yield diagnose("never-runs", f"{file.path.name}: {problem}", Place(str(file.path)))


def absent_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report an entry on an event for which the hook file has no function."""
    if not names_all_functions(read_user_file(file.path, MAX_SCRIPT_SIZE)):
        return
    events = list(dict.fromkeys(use.event for use in file.uses))
    for definition, handler in file.hooks:
        if definition.event in events:
            continue
        spec = engine.agent.form(definition.form).by_canonical[definition.event]
        remedy = f"write @hooks.{definition.event} above one, or remove this entry"
        if events:
            remedy = f"it has functions for {', '.join(events)}: add one, or remove this entry"
        text = (
            f"{handler.label!r}: {file.path.name} has no function for {definition.event}, so it "
            f"decides nothing on {spec.wire}; {remedy}"
        )
        yield diagnose("never-runs", text, handler.place, handler=handler.label)


def missing_abilities(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report what a function asks for and the agent cannot do."""
    for use, problem in uses_without_support(file.uses, engine.agent):
        place = Place(str(file.path), use.line)
        yield diagnose("ability", f"{use.name}: {problem}", place, handler=file.handler.label)


def unknown_subjects(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report tools that a function is registered for and that no agent has."""
    # Of names that are as similar, `closest` suggests the last one: the common name.
    tools = [*engine.agent.tools, *engine.agent.foreign_tools, *TOOLS]
    for use in file.uses:
        spec = engine.agent.by_canonical.get(use.event)
        if spec is None or spec.subject != "tool_name":
            continue
        for subject in use.subjects:
            is_pattern = not subject.replace("_", "").isalnum()
            is_mcp_tool = "__" in subject
            # A pattern or the tool of a server may match something that is not known here.
            if subject in tools or is_pattern or is_mcp_tool:
                continue
            suggestion = closest(subject, tools)
            hint = f"tools: {', '.join(sorted(TOOLS))}"
            if suggestion:
                hint = f"did you mean {suggestion!r}?"
            text = f"{use.name}: {subject!r} is not a tool; {hint}"
            yield diagnose("unknown-subject", text, Place(str(file.path), use.line))


def unreached_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a matcher that matches none of the tools that the functions of the file are for."""
    for definition, handler in file.hooks:
        form = engine.agent.form(definition.form)
        spec = form.by_canonical[definition.event]
        uses = [use for use in file.uses if use.event == definition.event]
        is_written_out = all(use.subjects and use.has_all_subjects for use in uses)
        if spec.subject != "tool_name" or not uses or not is_written_out:
            continue
        names: list[str] = []
        for use in uses:
            for subject in use.subjects:
                names += form.vocabulary.tool_names(subject)
        names = list(dict.fromkeys(names))
        matcher = compile_matcher(definition.matcher, spec.matcher_style)
        may_match = matcher.expression is None or engine.guard.may_match(definition)
        has_patterns = any("*" in name for name in names)
        if has_patterns or not may_match or any(map(matcher.matches, names)):
            continue
        own_tools = {*form.tools, *TOOLS}
        foreign = [name for name in names if name not in own_tools and "__" not in name]
        tools = f"{handler.label!r}: its functions on {spec.wire} are for {', '.join(names)}, which"
        text = f"{tools} the matcher {matcher.pattern!r} does not match; name one in the matcher"
        if foreign == names:
            meant = suggest_tool(form, names[0])
            canonical = form.vocabulary.canonical.get(meant or "")
            hint = f"write {canonical!r} in the file" if canonical else "name one of its tools"
            text = f"{tools} {form.title} does not have; {hint}"
        yield diagnose("dead-matcher", text, handler.place, handler=handler.label)


def powerless_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a function whose denial has no effect, because the agent does not wait for it."""
    for definition, handler in file.hooks:
        spec = engine.agent.by_canonical.get(definition.event)
        if spec is None or not is_powerless(spec, handler):
            continue
        for use in file.uses:
            if use.event == definition.event and "deny" in use.abilities:
                text = f"{handler.label!r}: {use.name}: {POWERLESS}"
                yield diagnose("background-guard", text, handler.place, handler=handler.label)
