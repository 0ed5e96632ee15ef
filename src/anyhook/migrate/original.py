"""What a hook was before it was migrated, so that migrating it back restores it.

Most of it follows from the migrated hook: `^run_shell_command$` behind `anyhook shim --as claude`
was `Bash`. What does not follow stands in the shim's option `--was`, as a definition with the
members that differ; `null` is a member that was absent:

    anyhook shim --as claude --was '{"matcher": "startup|resume"}' -- ./hello.sh

A member is restored only while the migrated hook is what the member would become: a matcher that
was edited after the migration counts as it is now.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.migrate.matchers import TranslatedMatcher, translate_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.options import ShimOptions

HOOKS = "hooks"
"""The member of a definition that holds, in `--was`, the members of the handler."""
_ALTERNATIVES = re.compile(r"(\^\(|)([^()^$]+)(\)\$|)\Z")
_ANCHORED = re.compile(r"\^\(?([^()^$]+)\)?\$\Z")


@dataclass(frozen=True, slots=True)
class OriginalMembers:
    """The former members that `--was` records.

    Attributes:
        definition: Those of the definition.
        handler: Those of the handler.
    """

    definition: dict[str, Any] = field(default_factory=dict)
    handler: dict[str, Any] = field(default_factory=dict)

    def write(self) -> str:
        """Return the value of `--was`; empty if there is nothing to record."""
        value = dict(self.definition)
        if self.handler:
            value[HOOKS] = self.handler
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""


def read_original(options: ShimOptions) -> OriginalMembers:
    """Return what `--was` records; nothing if it is not an object."""
    try:
        definition = json.loads(options.was) if options.was else {}
    except (ValueError, RecursionError):
        definition = {}
    if not isinstance(definition, dict):
        return OriginalMembers()
    handler = definition.pop(HOOKS, {})
    return OriginalMembers(definition, handler if isinstance(handler, dict) else {})


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of `before` that differ in `after`; `None` for absent ones."""
    keys = dict.fromkeys([*before, *after])
    return {key: before.get(key) for key in keys if before.get(key) != after.get(key)}


def restore_matcher(
    options: ShimOptions,
    pattern: str | None,
    *,
    source: AgentSpec,
    source_event: EventSpec,
    target: AgentSpec,
    target_event: EventSpec,
) -> TranslatedMatcher:
    """Return the matcher that a hook had before it was migrated away from the target.

    Args:
        options: The options of its shim.
        pattern: Its present matcher.
        source: The agent whose settings hold the hook now.
        source_event: Its event there.
        target: The agent that the hook was written for.
        target_event: Its event there.
    """
    translated = translate_matcher(source, source_event, pattern, target, target_event)
    for candidate in _original_matchers(options, pattern, translated, target):
        away = translate_matcher(target, target_event, candidate, source, source_event)
        if pattern in away.patterns and away.check == options.matcher:
            return TranslatedMatcher(patterns=(candidate,))
    if options.matcher:
        return TranslatedMatcher(patterns=(options.matcher,))
    return translated


def _original_matchers(
    options: ShimOptions, pattern: str | None, translated: TranslatedMatcher, agent: AgentSpec
) -> Iterator[str | None]:
    """Yield what the matcher may have been, the most likely one first."""
    definition = read_original(options).definition
    recorded = definition.get("matcher")
    if "matcher" in definition and isinstance(recorded, str | None):
        yield recorded
    if options.matcher:
        yield options.matcher
        return
    for written in translated.patterns[:1]:
        for likely in (_newest_names(agent, written), written):
            anchored = _ANCHORED.match(likely or "")
            if anchored:
                yield anchored[1]
            yield likely
    yield pattern


def _newest_names(agent: AgentSpec, pattern: str | None) -> str | None:
    """Leave out the names that a tool had in former releases or has on other platforms."""
    match = _ALTERNATIVES.match(pattern or "")
    if match is None:
        return pattern
    names = match[2].split("|")
    other_names: set[str] = set()
    for tool in agent.vocabulary.tools.values():
        if tool.names[0] in names:
            other_names.update(tool.names[1:])
    newest = [name for name in names if name not in other_names]
    if match[1] and len(newest) == 1:
        return f"^{newest[0]}$"
    return match[1] + "|".join(newest) + match[3]


def spellings(line: str, agent: AgentSpec) -> Iterator[str]:
    """Yield a migrated command line as its author may have written it.

    A migration writes every variable of the agent as `${NAME}` in double quotes. The first
    spelling has them as the agent's reference does.
    """
    names = "|".join(map(re.escape, agent.hook_environment))
    braced = rf"\$\{{({names})\}}"
    if agent.quotes_variables_itself:
        yield re.sub(rf'"{braced}"', r"$\1", line)
    else:
        yield re.sub(braced, r"$\1", line)
    yield line
