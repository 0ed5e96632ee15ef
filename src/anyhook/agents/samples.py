"""The members of payloads that are made up, as each agent sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.entry import load_object
from anyhook.model.record import EMPTY, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec


class Samples(Record, kw_only=False):
    """Plausible values of what an agent sends besides the fields that an event requires.

    In texts `{cwd}` stands for the working directory of the event.

    Attributes:
        events: The agent's name of an event to the members that all of its recorded payloads have.
        results: The agent's name of a tool to its result; `*` for any other tool.
    """

    events: Mapping[str, Mapping[str, Any]]
    results: Mapping[str, Any] = EMPTY

    def members(self, event: str, cwd: str) -> dict[str, Any]:
        """Return the members of the payloads of an event.

        `cwd` is the working directory of the event, which has its name in the agent.
        """
        members = self.events.get(event, {})
        return {name: _in_directory(value, cwd) for name, value in members.items()}

    def result(self, tool: str, cwd: str) -> Any:
        """Return what a tool answers; `None` if that is not known."""
        return _in_directory(self.results.get(tool, self.results.get("*")), cwd)


NO_SAMPLES = Samples({})


def samples_of(agent: AgentSpec) -> Samples:
    """Return the samples of an agent."""
    if not agent.samples:
        return NO_SAMPLES
    samples: Samples = load_object(agent.samples)
    return samples


def _in_directory(value: Any, cwd: str) -> Any:
    """Return a copy of a JSON value with the working directory in its texts."""
    if isinstance(value, str):
        return value.replace("{cwd}", cwd)
    if isinstance(value, list):
        return [_in_directory(item, cwd) for item in value]
    if isinstance(value, dict):
        return {name: _in_directory(item, cwd) for name, item in value.items()}
    return value
