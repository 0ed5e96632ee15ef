"""What a recorded event was about, and how long its call took, whatever its agent calls that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyhook.agents import CODING_AGENTS
from anyhook.backtest.sources import shown_text
from anyhook.history.describe import durations_of, subject_of
from anyhook.history.events import RecordedEvent
from anyhook.testing import make_payload

COMMAND = "git status --short"
CURSOR = Path(__file__).parents[1] / "data" / "cursor"


def recorded(agent, name, time=0.0, **members):
    payload = make_payload(name, agent=agent, tool="shell", **members)
    return RecordedEvent(agent, "s1", name, time, payload, "hook", tool="shell", id=int(time))


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_call_is_shown_with_its_arguments(agent):
    call = recorded(agent, "before_tool", input={"command": COMMAND})

    assert COMMAND in subject_of(call)
    assert COMMAND in shown_text(agent, call.payload)


@pytest.mark.parametrize(
    ("event", "member"),
    [("beforeShellExecution", "command"), ("beforeReadFile", "file_path")],
)
def test_an_event_without_a_tool_is_shown_with_its_command_or_file(event, member):
    payload = json.loads((CURSOR / f"{event}.jsonl").read_text("utf-8").splitlines()[0])
    shown = RecordedEvent("cursor", "s1", event, 0.0, payload, "hook")

    assert subject_of(shown) == payload[member] != ""


def test_parallel_calls_are_distinguished_by_their_identifiers():
    slow, fast = {"callID": "c1"}, {"callID": "c2"}
    events = [
        recorded("opencode", "before_tool", 1.0, input={"command": COMMAND}),
        recorded("opencode", "before_tool", 2.0, input={"command": COMMAND}),
        recorded("opencode", "after_tool", 3.0, input={"command": COMMAND}),
        recorded("opencode", "after_tool", 9.0, input={"command": COMMAND}),
    ]
    for event, identifier in zip(events, (slow, fast, fast, slow), strict=True):
        event.payload.update(identifier)

    assert durations_of(events) == {3: 1.0, 9: 8.0}
