"""Which call of the scripted model a run of a hook belongs to.

The arguments do not decide: a hook may have rewritten them before the next one ran.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.probe.models.server import turn_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.probe.plan import PlanStep
    from anyhook.probe.taps import TapRecord

CALL_IDENTIFIER = re.compile(r"(?:toolu|call)_(?P<turn>(?:main|sub)_\d{4})_\d+")
"""What the scripted models call the calls of their turns."""


@dataclass(frozen=True, slots=True)
class CallFinder:
    """Finds the call of a model's turn to which a run of a hook belongs. Each turn has one call."""

    agent: AgentSpec
    steps: Sequence[PlanStep]
    times: Sequence[float]
    """When the model was asked for each turn, in seconds since the epoch."""
    in_subagent: bool

    def records_of(self, index: int, records: Sequence[TapRecord]) -> tuple[TapRecord, ...]:
        """Return the runs of hooks on the events of a call, for which the model was asked."""
        turn = turn_number(index + 1, in_subagent=self.in_subagent)
        start, end = self.times[index], math.inf
        if index + 1 < len(self.times):
            end = self.times[index + 1]
        of_call: list[TapRecord] = []
        for record in records:
            if not _names_tool(self.agent, record, self.steps[index]):
                continue
            texts = [value for value in record.payload.values() if isinstance(value, str)]
            identifiers = filter(None, map(CALL_IDENTIFIER.fullmatch, texts))
            # A hook in the background may start after the model was asked for the next turn, so the
            # identifier counts more than the time; agents with such hooks send it.
            identifier = next(identifiers, None)
            if identifier is not None:
                is_of_call = identifier["turn"] == turn
            else:
                is_of_call = start <= record.time < end
            if is_of_call:
                of_call.append(record)
        return tuple(of_call)


def _names_tool(agent: AgentSpec, record: TapRecord, step: PlanStep) -> bool:
    """Return whether the payload of a run is about the tool of a step."""
    for form in _forms(agent):
        name = record.payload.get(_payload_key(form, "tool_name"))
        if not isinstance(name, str):
            continue
        call = form.vocabulary.call(name, _arguments(form, record) or {})
        if step.name == name or step.sample.tool == call.tool:
            return True
    return False


def has_other_arguments(agent: AgentSpec, record: TapRecord, step: PlanStep, project: Path) -> bool:
    """Return whether a run of a hook got other arguments than the model gave to its call."""
    expected = step.arguments(project)
    for form in _forms(agent):
        name = record.payload.get(_payload_key(form, "tool_name"))
        arguments = _arguments(form, record)
        if not isinstance(name, str) or arguments is None:
            continue
        received = form.vocabulary.call(name, arguments).arguments
        if all(received.get(key) == expected[key] for key in expected):
            return False
    return True


def _forms(agent: AgentSpec) -> tuple[AgentSpec, ...]:
    """Return the forms in which an agent sends its payloads."""
    return (agent, *agent.forms.values())


def _payload_key(agent: AgentSpec, field: str) -> str:
    """Return an agent's name of a member of payloads."""
    return agent.payload_keys.get(field) or field


def _arguments(form: AgentSpec, record: TapRecord) -> dict[str, object] | None:
    arguments = record.payload.get(_payload_key(form, "tool_input"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    return arguments if isinstance(arguments, dict) else None
