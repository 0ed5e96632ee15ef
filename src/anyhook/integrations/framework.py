"""What frameworks cannot do of what hooks may decide; reported when a session starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from anyhook.agents.capabilities import ABILITIES, Support, can_express, support
from anyhook.errors import RequiredHooksError
from anyhook.manage.health import HealthWord, health
from anyhook.model.diagnostics import diagnose
from anyhook.model.record import EMPTY, Record
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine


class Framework(Record):
    """A framework, and what it cannot do.

    Attributes:
        title: Its own name.
        missing: Event (`before_model`), or event and ability (`before_model.change_request`; the
            abilities are those of `anyhook.agents.capabilities.ABILITIES`), to what happens
            instead, for people.
        own_tools: Tools that it adds to agents by itself.
    """

    title: str
    missing: Mapping[str, str] = EMPTY
    own_tools: frozenset[str] = frozenset()


UNLIMITED = Framework(title="this agent")
"""A host that carries out everything that a session returns."""

ALWAYS_SUPPORTED = frozenset({"approve", "ask", "stop"})
"""Abilities that a session adds to every event, also where the agent's reference does not."""


def can_be_requested(agent: AgentSpec, event: str, ability: str) -> bool:
    """Return whether a hook of an agent may use an ability on an event; true for unknown words."""
    if ability not in ABILITIES:
        return True
    if ability in ALWAYS_SUPPORTED:
        return can_express(agent, event, ability)
    return support(agent, event, ability) is not Support.NO


def missing_for(framework: Framework, engine: Engine) -> Iterator[str]:
    """Yield, for people, what configured hooks may decide and the framework cannot do."""
    for key, instead in framework.missing.items():
        event, _, ability = key.partition(".")
        spec = engine.rules.by_canonical.get(event)
        definitions = [d for d in engine.definitions if d.event == event]
        if spec is None or not definitions:
            continue
        if not can_be_requested(engine.agent, event, ability):
            continue
        places = dict.fromkeys(str(definition.place) for definition in definitions)
        problem = f"has no {ability.replace('_', ' ')} on" if ability else "does not fire"
        yield f"{framework.title} {problem} {spec.wire} ({instead}): hooks in {', '.join(places)}"


async def problems_at_start(framework: Framework, engine: Engine, reported: set[str]) -> list[str]:
    """Return, for people, what the framework cannot do, and which hooks do not work.

    Texts in `reported` are not returned again; those that are returned are added to it.
    """
    if not engine.definitions:
        return []
    broken = await to_thread.run_sync(broken_hooks, engine)
    texts = [text for text in (*missing_for(framework, engine), *broken) if text not in reported]
    reported.update(texts)
    return texts


def broken_hooks(engine: Engine) -> list[str]:
    """Return, for people, which hooks cannot do their work, where the engine has not said it.

    What was recorded last may not be in the history yet: a session does not wait for that.
    """
    reported = [diagnostic.message for diagnostic in engine.diagnostics]
    texts: list[str] = []
    for hook in health(engine, stores_first=False).hooks:
        is_known = any(hook.evidence in message for message in reported)
        if hook.word is HealthWord.BROKEN and not is_known:
            label = printable(hook.row.label)
            texts.append(f"{hook.place}: {label!r} does not work: {printable(hook.evidence)}")
    return texts


def require_events(framework: Framework, engine: Engine) -> None:
    """Check that no required hook (`Engine.load(require=…)`) is on an event that never fires.

    Raises:
        RequiredHooksError: With one reason for each definition concerned.
    """
    required = engine.required
    if required is False:
        return
    problems = []
    for definition in engine.definitions:
        event = definition.event
        instead = framework.missing.get(event)
        if instead is None or not (required is True or event in required):
            continue
        wire = engine.agent.event(event).wire
        text = f"{framework.title} does not fire {wire} ({instead})"
        problems.append(diagnose("no-hooks", text, definition.place))
    if problems:
        raise RequiredHooksError(problems)
