"""The table of all rules of `anyhook check`, and the functions that run it.

A rule is a function that yields diagnostics. To add one, write it in the module of the facts that
it reads, and name it in the table of what it is about: a script, a hook, a definition, a hook file,
or all hooks of an agent together. The rules of a table run from top to bottom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.checks import (
    command_texts,
    hook_functions,
    lost_denials,
    scripts,
    settings,
    started_scripts,
)
from anyhook.checks.hook import CheckedHook, HookReader
from anyhook.model.diagnostics import Diagnostic, Place, Severity
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.engine.engine import Engine


class Finding(Record, kw_only=False):
    """A diagnostic about the hooks of one agent."""

    agent: str
    diagnostic: Diagnostic


SCRIPT_RULES = (
    scripts.no_shebang,
    scripts.exit_codes,
    scripts.text_before_json,
    scripts.replies_on_stderr,
    scripts.reply_members,
    scripts.refused_inputs,
    scripts.background_guards,
    scripts.endless_stops,
    command_texts.command_texts,
)
"""Rules about the command line of a hook, and about each script that it names."""


def check_scripts(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Run the rules about the scripts of a hook."""
    for script in scripts.read_scripts(hook):
        for rule in SCRIPT_RULES:
            yield from rule(hook, script)


HOOK_RULES = (
    settings.dead_conditions,
    settings.cannot_start,
    settings.unquoted_paths,
    settings.scripts_of_projects,
    settings.timeout_units,
    settings.command_syntax,
    settings.unknown_variables,
    settings.other_agents_named,
    check_scripts,
    lost_denials.lost_denials,
    settings.duplicates,
)
"""Rules about one hook."""
DEFINITION_RULES = (settings.dead_matchers,)
"""Rules about one definition: a matcher and its hooks."""


def check_definitions(engine: Engine) -> Iterator[Diagnostic]:
    """Run the rules about definitions and hooks, in the order in which these are configured."""
    reader = HookReader(engine)
    for definition in engine.definitions:
        for definition_rule in DEFINITION_RULES:
            yield from definition_rule(engine, definition)
        for hook in reader.hooks_of(definition):
            for rule in HOOK_RULES:
                yield from rule(hook)


HOOK_FILE_RULES = (
    scripts.run_twice,
    scripts.missing_run,
    hook_functions.unknown_events,
    hook_functions.lost_answers,
    scripts.absent_functions,
    scripts.missing_abilities,
    scripts.unknown_subjects,
    scripts.unreached_functions,
    scripts.powerless_functions,
)
"""Rules about the files that are written with `anyhook.authoring`."""


def check_hook_files(engine: Engine) -> Iterator[Diagnostic]:
    """Run the rules about hook files."""
    for file in scripts.read_hook_files(engine):
        for rule in HOOK_FILE_RULES:
            yield from rule(engine, file)


AGENT_RULES = (
    settings.settings_files,
    settings.switched_off,
    settings.same_names,
    check_definitions,
    started_scripts.unreadable_scripts,
)
"""Rules about the hooks of an agent as the agent itself would run them."""
CHECK_RULES = (
    *AGENT_RULES,
    settings.not_trusted,
    settings.not_trusted_by_the_agent,
    settings.changed_guards,
    settings.companion_files,
    check_hook_files,
    settings.no_hooks,
)
"""All rules."""


def check_hooks(engine: Engine) -> Iterator[Diagnostic]:
    """Yield why hooks do not run in their agent, or not as they were meant.

    What depends on anyhook is left out: its own trust, and the hook files that are written with it.
    """
    for rule in AGENT_RULES:
        yield from rule(engine)


def check_settings(engine: Engine) -> Iterator[Diagnostic]:
    """Yield everything that `anyhook check` reports about the hooks of an engine.

    Several hooks can lead to the same diagnostic.
    """
    for rule in CHECK_RULES:
        yield from rule(engine)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the errors first and the notes last."""
    severities = list(Severity)
    return sorted(findings, key=lambda finding: severities.index(finding.diagnostic.severity))


def find_problems(engines: Iterable[Engine]) -> list[Finding]:
    """Return what `anyhook check` reports about the hooks of some agents, sorted by place."""
    findings: list[Finding] = []
    for engine in engines:
        # Several hooks can lead to the same diagnostic.
        unique = dict.fromkeys(check_settings(engine))
        findings += [Finding(engine.agent.name, diagnostic) for diagnostic in unique]

    def sort_key(finding: Finding) -> tuple[str, int, int, str]:
        place = finding.diagnostic.place or Place("")
        return place.file, place.line or 0, place.column or 0, finding.diagnostic.code

    return sorted(findings, key=sort_key)
