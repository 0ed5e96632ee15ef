"""What a hook was before it was migrated, so that migrating it back restores it.

Most of it follows from the migrated hook: `^run_shell_command$` behind `anyhook shim --as claude`
was `Bash`. What does not follow stands in the shim's option `--was`, as a definition with the
members that differ; `null` is a member that was not there:

    anyhook shim --as claude --was '{"matcher": "startup|resume"}' -- ./hello.sh

A member is restored only while the migrated hook is what the member would become: a matcher that
was edited after the migration counts as it is now.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anyhook.migrate.matchers import Translated, translate_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.options import ShimOptions

HOOKS = "hooks"
"""The member of a definition that holds, in `--was`, what differs in the handler."""
DEFINITION_MEMBERS = ("matcher", "sequential", "description")
_LIST = re.compile(r"(\^\(|)([^()^$]+)(\)\$|)\Z")
"""Alternatives, with or without what makes them cover whole names."""
_ANCHORED = re.compile(r"\^\(?([^()^$]+)\)?\$\Z")


def read_original(options: ShimOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the members of the definition and of the handler that `--was` records."""
    try:
        value = json.loads(options.was) if options.was else {}
    except (ValueError, RecursionError):
        value = {}
    if not isinstance(value, dict):
        return {}, {}
    members = value.pop(HOOKS, {})
    return value, members if isinstance(members, dict) else {}


def write_original(definition: Mapping[str, Any], members: Mapping[str, Any]) -> str:
    """Return the value of `--was`; empty if there is nothing to record."""
    value = {**definition, **({HOOKS: dict(members)} if members else {})}
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of `before` that `after` lacks or has otherwise; `None` for absent."""
    keys = [*before, *(key for key in after if key not in before)]
    return {key: before.get(key) for key in keys if before.get(key) != after.get(key)}


def restored_matcher(
    options: ShimOptions,
    pattern: str | None,
    *,
    away: AgentSpec,
    event: EventSpec,
    home: AgentSpec,
    home_event: EventSpec,
) -> Translated:
    """Return the matcher that a migrated hook had at its own agent.

    Args:
        options: What the shim is given.
        pattern: The matcher of the hook as it is now.
        away: The agent whose settings have the hook now.
        event: Its event there.
        home: The agent that the hook was written for.
        home_event: Its event there.
    """
    translated = translate_matcher(away, event, pattern, home, home_event)
    for candidate in _matchers(options, pattern, translated, home):
        there = translate_matcher(home, home_event, candidate, away, event)
        if pattern in there.patterns and there.check == options.matcher:
            return Translated(patterns=(candidate,))
    if options.matcher:
        return Translated(patterns=(options.matcher,))
    return translated


def _matchers(
    options: ShimOptions, pattern: str | None, translated: Translated, home: AgentSpec
) -> Iterator[str | None]:
    """Yield what the matcher may have been, the most likely one first."""
    definition, _ = read_original(options)
    recorded = definition.get("matcher", pattern)
    if "matcher" in definition and isinstance(recorded, str | None):
        yield recorded
    if options.matcher:
        yield options.matcher
        return
    for written in translated.patterns[:1]:
        for likely in (_newest_names(home, written), written):
            anchored = _ANCHORED.match(likely or "")
            if anchored:
                yield anchored[1]
            yield likely
    yield pattern


def _newest_names(agent: AgentSpec, pattern: str | None) -> str | None:
    """Leave out the names that a tool had in former releases or has on other platforms."""
    match = _LIST.match(pattern or "")
    if match is None:
        return pattern
    names = match[2].split("|")
    others = {
        name
        for row in agent.vocabulary.tools.values()
        if row.names[0] in names
        for name in row.names[1:]
    }
    kept = [name for name in names if name not in others]
    if match[1] and len(kept) == 1:
        return f"^{kept[0]}$"
    return match[1] + "|".join(kept) + match[3]


def spellings(line: str, agent: AgentSpec) -> Iterator[str]:
    """Yield a migrated command line as its author may have written it.

    A migration writes every variable of the agent as `${NAME}` in double quotes. The first one
    has them as the agent's reference does.
    """
    names = "|".join(map(re.escape, agent.hook_environment))
    braced = rf"\$\{{({names})\}}"
    bare = re.sub(rf'"{braced}"', r"$\1", line)
    quoted = re.sub(braced, r"$\1", line)
    yield bare if agent.quotes_variables_itself else quoted
    yield line
