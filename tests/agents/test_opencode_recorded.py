"""What the real OpenCode gave a plugin, sent by ours: payloads are read and come back equal."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from anyhook.agents import get_agent, recognize
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of, translate_payload
from anyhook.model.events import ToolEvent, UnknownEvent
from tests.agents.opencode import run_plugin, write_plugin
from tests.world import World

DATA = Path(__file__).parents[1] / "data" / "opencode"
OPENCODE = get_agent("opencode")
ORDER = (
    "session.created chat.message command.execute.before tool.execute.before permission.asked "
    "tool.execute.after experimental.text.complete experimental.session.compacting"
).split()
"""The order of a session; other events come last."""
SINK = """
import json, sys
out = open(sys.argv[1], "a")
for line in sys.stdin:
    request = json.loads(line)
    out.write(json.dumps(request["event"]) + "\\n")
    out.flush()
    print(json.dumps({"id": request["id"], "reply": {}}), flush=True)
"""


def recorded_steps():
    """Return the recorded inputs as steps, each scenario in the order of a session."""
    steps = []
    for file in sorted((DATA / "recorded").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            name = file.stem if file.stem != "event" else entry["input"]["type"]
            step = {"event": entry["input"]}
            if file.stem != "event":
                step = {"hook": name, "input": entry["input"], "output": entry["output"]}
            position = ORDER.index(name) if name in ORDER else len(ORDER)
            steps.append((entry["scenario"], position, step))
    return [step for _, _, step in sorted(steps, key=lambda item: item[:2])]


@pytest.fixture(scope="module")
def payloads(tmp_path_factory):
    """What the plugin sent for the recorded inputs."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    world = World(tmp_path_factory.mktemp("opencode"), agent="opencode")
    sink, log = world.write(world.root / "sink.py", SINK), world.root / "log.jsonl"
    plugin = write_plugin(world, (sys.executable, str(sink), str(log)))
    run_plugin(world, recorded_steps(), plugins=[plugin])
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_every_kind_of_event_was_recorded(payloads):
    sent = {payload["hook"] for payload in payloads}
    never_recorded = {"session.deleted"}

    assert {spec.wire for spec in OPENCODE.events} - sent == never_recorded


def test_a_payload_is_read_without_a_problem_and_comes_back_equal(payloads):
    for payload in payloads:
        event, problems = decode_event(OPENCODE, payload)

        assert problems == ()
        assert not isinstance(event, UnknownEvent)
        assert encode_event(OPENCODE, event) == payload


def test_opencode_is_recognized_by_its_payloads(payloads):
    assert {recognize(payload, {}) for payload in payloads} == {"opencode"}


def test_the_generic_form_names_tools_and_keeps_the_payload(payloads):
    generic = get_agent("generic")
    for payload in payloads:
        made, problems = translate_payload(payload, OPENCODE, generic)
        event, _ = decode_event(OPENCODE, payload)

        assert problems == ()
        assert (made["raw_input"], made["platform"]) == (payload, "opencode")
        if isinstance(event, ToolEvent):
            assert made["tool_name"] == call_of(event, OPENCODE).tool


def test_recorded_calls_have_canonical_names(payloads):
    calls = {}
    for payload in payloads:
        event, _ = decode_event(OPENCODE, payload)
        if event.name == "before_tool":
            calls[event.tool_name] = event.call

    assert calls["write"].file_path == "/home/dev/project/a.txt"
    assert calls["edit"].new_string == "y"
    assert calls["task"].agent_type == "general"
    assert calls["todowrite"].todos[0]["content"] == "c"
    assert calls["fakesrv_echo"].tool == "mcp__fakesrv__echo"


def test_results_are_read_in_one_form(payloads):
    results = {}
    for payload in payloads:
        event, _ = decode_event(OPENCODE, payload)
        if event.name == "after_tool":
            call = call_of(event, OPENCODE)
            results[event.tool_name] = read_tool_result(OPENCODE, call, event.tool_response)

    assert results["bash"].exit_code == 0
    assert results["write"].file_path == "/home/dev/project/a.txt"
    assert results["fakesrv_echo"].text == "echo: hi"
    assert "sub done" in results["task"].text


def test_a_subagent_is_named_in_its_payloads(payloads):
    of_subagents = [payload for payload in payloads if "subagentID" in payload]
    event, _ = decode_event(OPENCODE, of_subagents[-1])

    assert {payload["hook"] for payload in of_subagents} >= {
        "subagent.created",
        "tool.execute.before",
        "subagent.idle",
    }
    assert event.agent_id == event.session_id
    assert event.agent_type == "general"
