"""What the agent itself trusts, besides the trust store of anyhook.

Some agents keep a record of their own: a hook that it does not hold does not run in the agent,
whatever anyhook trusts. It is shown, never changed: the user trusts hooks in the agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents.entry import load_object
from anyhook.model.definitions import handlers_of
from anyhook.settings.jsonc import dict_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.agents.spec.settings import NativeTrust
    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.hookset import HookSet

RUNNING = frozenset({"managed", "trusted"})
"""States in which the agent runs a hook."""


class NativeStates(NamedTuple):
    """How far the agent itself trusts its hooks.

    Attributes:
        states: `id` of a handler to its state.
        review: How the user trusts hooks in the agent.
    """

    states: Mapping[int, str]
    review: str

    def of(self, handler: HandlerSpec) -> str | None:
        """Return the state of a handler; `None` if the agent does not know it."""
        return self.states.get(id(handler))


def native_states(agent: AgentSpec, hooks: HookSet) -> NativeStates | None:
    """Return how far an agent trusts the hooks of its settings; `None` if it has no record."""
    if not agent.settings.native_trust:
        return None
    trust: NativeTrust = load_object(agent.settings.native_trust)
    record: dict[str, Any] = {}
    for file in hooks.files:
        if file.source.layer is trust.layer:
            record |= dict_at(file.values, trust.path)
    states: dict[int, str] = {}
    for file in hooks.files:
        for handler in handlers_of(file.definitions):
            if len(handler.path) < 4:
                continue
            event, number, _, index = map(str, handler.path[-4:])
            definition: Any = file.values
            for step in handler.path[:-2]:
                definition = definition[step]
            key = trust.key_of(str(file.source.path), event, int(number), int(index))
            digest = trust.hash_of(event, definition, int(index))
            states[id(handler)] = trust.state_of(record, key, digest, handler.layer)
    return NativeStates(states, trust.review)
