"""What frameworks cannot do of what hooks may decide; reported when a session starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.capabilities import ABILITIES, Support, can_express, support
from anyhook.errors import RequiredHooksError
from anyhook.model.diagnostics import diagnose
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine


class Framework(Record):
    """What a framework cannot do.

    Attributes:
        title: Its own name.
        package: What `pip install "anyhook[…]"` calls it.
        missing: Event (`before_model`), or event and ability (`before_model.change_request`; the
            abilities are those of `anyhook.agents.capabilities.ABILITIES`), to what happens
            instead, for people.
    """

    title: str
    package: str
    missing: Mapping[str, str] = {}

    def lacks(self, event: str, ability: str) -> str | None:
        """Return what happens instead of an ability on an event; `None` if it is there."""
        return self.missing.get(f"{event}.{ability}") or self.missing.get(event)


EVERYTHING = Framework(title="this agent", package="")
"""A host that does all that a session says."""


ON_EVERY_EVENT = frozenset({"approve", "ask", "stop"})
"""Abilities that a session gives to every event, also where the agent's reference does not."""


def may_be_wanted(agent: AgentSpec, event: str, ability: str) -> bool:
    """Return whether a hook of an agent may ask for an ability on an event.

    Args:
        agent: The agent.
        event: Canonical name of the event.
        ability: A key of `ABILITIES`; any other word counts as wanted.
    """
    if ability not in ABILITIES:
        return True
    if ability in ON_EVERY_EVENT:
        return can_express(agent, event, ability)
    return support(agent, event, ability) is not Support.NO


def missing_for(framework: Framework, engine: Engine) -> Iterator[str]:
    """Yield what hooks of an engine may decide and the framework cannot do, for people."""
    for key, instead in framework.missing.items():
        event, _, ability = key.partition(".")
        spec = engine.rules.by_canonical.get(event)
        definitions = [d for d in engine.definitions if d.event == event]
        if spec is None or not definitions:
            continue
        if not may_be_wanted(engine.agent, event, ability):
            continue
        where = ", ".join(dict.fromkeys(str(definition.place) for definition in definitions))
        what = f"has no {ability.replace('_', ' ')} on" if ability else "does not fire"
        yield f"{framework.title} {what} {spec.wire} ({instead}): hooks in {where}"


def check_events(framework: Framework, engine: Engine) -> None:
    """Raise if hooks that the host requires are configured on events that never fire.

    Args:
        framework: What the host cannot do.
        engine: Whose hooks decide; `Engine.load(require=…)` says which ones are required.

    Raises:
        RequiredHooksError: With one reason for each definition concerned.
    """
    required = engine.required
    if required is False:
        return
    reasons = []
    for definition in engine.definitions:
        event = definition.event
        instead = framework.missing.get(event)
        if instead is None or not (required is True or event in required):
            continue
        wire = engine.agent.event(event).wire
        text = f"{framework.title} does not fire {wire} ({instead})"
        reasons.append(diagnose("no-hooks", text, definition.place))
    if reasons:
        raise RequiredHooksError(reasons)
