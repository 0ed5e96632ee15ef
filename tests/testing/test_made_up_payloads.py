"""Payloads that are made up have the members that agents really send."""

from __future__ import annotations

import json
from pathlib import Path

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.patches import read_patch
from anyhook.agents.payloads import decode_event
from anyhook.agents.samples import samples_of
from anyhook.model.events import event_class
from anyhook.testing import make_event, make_payload
from tests.tables import each

DATA = Path(__file__).parents[1] / "data"
AGENTS = ("claude", "codex", "copilot", "cursor", "gemini", "qwen")
"""Agents whose payloads were recorded."""


def recorded():
    """Return a row for each agent and event: both names and the payloads."""
    rows = []
    for agent in AGENTS:
        for file in sorted((DATA / agent).glob("*.jsonl")):
            lines = file.read_text(encoding="utf-8").splitlines()
            payloads = [json.loads(line) for line in lines if line.strip()]
            rows.append((agent, file.stem, payloads))
    return rows


def make(agent, event, **fields):
    cls = event_class(get_agent(agent).event(event).canonical)
    if "tool_name" in cls.record_required:
        fields = {"tool": "shell", "input": {"command": "ls"}, **fields}
    return make_payload(event, agent=agent, **fields)


def tool_input(agent, tool, arguments):
    return make_event("before_tool", agent=agent, tool=tool, input=arguments).tool_input


@each("agent, event, payloads", recorded())
def test_a_payload_has_the_members_of_all_recorded_ones(agent, event, payloads):
    made = make(agent, event)

    in_all = set.intersection(*[set(payload) for payload in payloads])
    in_some = set.union(*[set(payload) for payload in payloads])
    assert in_all - made.keys() == set()
    assert made.keys() - in_some == set()


@each("agent, event, payloads", recorded())
def test_the_values_are_of_recorded_types(agent, event, payloads):
    made = make(agent, event)
    samples = samples_of(get_agent(agent)).members(event, "/project")

    for name in samples.keys() & made.keys():
        types = {type(payload.get(name)) for payload in payloads if name in payload}
        assert type(made[name]) in types, name


@each("agent, event, payloads", recorded())
def test_a_payload_has_no_problem(agent, event, payloads):
    assert decode_event(get_agent(agent), make(agent, event))[1] == ()


def test_given_fields_take_precedence():
    payload = make("claude", "PreToolUse", permission_mode="plan", tool_use_id="mine")

    assert payload["permission_mode"] == "plan"
    assert payload["tool_use_id"] == "mine"


def test_a_result_is_the_one_of_its_tool_and_directory():
    payload = make("claude", "PostToolUse", tool="write_file", cwd="/p")

    assert payload["tool_response"]["filePath"] == "/p/a.txt"
    assert make("claude", "PostToolUse")["tool_response"]["stdout"] == "one"


@each("agent", CODING_AGENTS)
@each(
    "tool, arguments",
    [
        ("write_file", {"file_path": "/project/.env", "content": "x\n"}),
        ("edit_file", {"file_path": "a.py", "old_string": "old", "new_string": "new"}),
    ],
)
def test_files_are_changed_by_a_patch_where_the_agent_has_only_that(agent, tool, arguments):
    spec = get_agent(agent)
    row = spec.vocabulary.tools[tool]
    sent = tool_input(agent, tool, arguments)

    if not row.only_patches:
        assert sent == spec.vocabulary.arguments(tool, arguments)
        return
    (change,) = read_patch(sent[row.patch])
    path = arguments["file_path"].removeprefix("/project/")
    assert (change.tool, change.arguments) == (tool, {**arguments, "file_path": path})


def test_the_agents_name_of_a_tool_becomes_a_patch_too():
    arguments = {"file_path": "a.py", "content": "x"}

    assert tool_input("codex", "apply_patch", arguments) == tool_input(
        "codex", "write_file", arguments
    )


def test_a_patch_that_is_given_stays_as_it_is():
    patch = {"command": "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}

    assert tool_input("codex", "apply_patch", patch) == patch
