"""Conversations in the form of OpenAI's API, as events with canonical names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.history.trajectories import canonical_call, drop_nulls, read
from anyhook.model.tools import TOOLS
from tests.properties.strategies import json_objects, json_values

DATA = Path(__file__).parents[1] / "data" / "transcripts" / "openai"
ROWS = DATA / "openhands_rows.jsonl"
GENERIC = get_agent("generic")


def read_all(path):
    problems = []
    return list(read(path, problems.append)), problems


def rows():
    return [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]


def call(name="bash", arguments='{"command": "ls"}', **members):
    return {
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **members,
    }


def conversation(*calls, **row):
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": list(calls)},
        {"role": "tool", "content": "out", "tool_call_id": "c1"},
        {"role": "assistant", "content": "done"},
    ]
    return {"messages": messages, **row}


def write(tmp_path, *documents, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(document) for document in documents), "utf-8")
    return path


def test_every_call_of_a_row_is_an_event_joined_with_its_result():
    events, problems = read_all(ROWS)

    assert problems == []
    calls = [
        (call, {m["tool_call_id"]: m["content"] for m in row["trajectory"] if m["role"] == "tool"})
        for row in rows()
        for message in row["trajectory"]
        for call in message.get("tool_calls") or ()
    ]
    before = [event for event in events if event.event == "before_tool"]
    after = [event for event in events if event.event == "after_tool"]
    assert len(calls) == len(before) == len(after) == 28
    for (one, results), event, result in zip(calls, before, after, strict=True):
        assert event.payload["tool_use_id"] == result.payload["tool_use_id"] == one["id"]
        name = event.payload.get("original_request_name", event.payload["tool_name"])
        assert name == one["function"]["name"] or name in TOOLS
        arguments = json.loads(one["function"]["arguments"])
        assert sorted(map(str, event.payload["tool_input"].values())) == sorted(
            map(str, arguments.values())
        )
        assert result.payload["tool_response"] == results[one["id"]]
    assert {event.line for event in events} == {1, 2, 3}
    assert before[0].payload["session_id"] == rows()[0]["trajectory_id"]


@pytest.mark.parametrize("file", sorted(DATA.iterdir()), ids=lambda file: file.name)
def test_payloads_decode_as_events_of_the_generic_agent(file):
    events, _ = read_all(file)

    for event in events:
        decoded, problems = decode_event(GENERIC, event.payload)
        assert problems == ()
        assert decoded.name == event.event
        assert set(event.reconstructed) <= event.payload.keys()
    assert Counter(e.key for e in events).most_common(1)[0][1] == 1


def test_a_file_of_swe_agent_has_a_working_directory():
    events, problems = read_all(DATA / "swe_agent.traj")

    assert problems == []
    assert {event.payload["cwd"] for event in events} == {"/home/dev/project"}
    assert all("cwd" in event.reconstructed for event in events)
    assert Counter(e.event for e in events)["after_tool"] == 22


@pytest.mark.parametrize("name", ["messages", "trajectory", "conversations", "history"])
@pytest.mark.parametrize("as_text", [False, True])
def test_the_messages_may_have_any_usual_name_and_be_a_text(tmp_path, name, as_text):
    messages = conversation(call())["messages"]
    row = {name: json.dumps(messages) if as_text else messages, "id": "x"}

    events, problems = read_all(write(tmp_path, row))

    assert problems == []
    assert [event.event for event in events] == [
        *("before_prompt", "before_tool", "after_tool", "after_agent")
    ]
    assert events[-1].payload["prompt_response"] == "done"


@pytest.mark.parametrize("arguments", ['{"command": "ls"}', {"command": "ls"}])
def test_arguments_may_be_a_text_or_an_object(tmp_path, arguments):
    events, _ = read_all(write(tmp_path, conversation(call(arguments=arguments))))

    assert events[1].payload["tool_input"] == {"command": "ls"}
    assert events[1].payload["tool_name"] == "shell"
    assert events[1].payload["original_request_name"] == "bash"


def test_a_json_document_is_a_row_a_list_of_rows_or_a_list_of_messages(tmp_path):
    row = conversation(call())
    expected = [e.payload["event"] for e in read_all(write(tmp_path, row))[0]]

    for document in (row, [row], row["messages"], [row["messages"]]):
        events, problems = read_all(write(tmp_path, document, name="one.json"))
        assert problems == []
        assert [e.payload["event"] for e in events] == expected


def test_lines_are_read_whatever_the_file_is_called(tmp_path):
    path = write(tmp_path, conversation(call(), id="a"), conversation(call(), id="b"), name="x.txt")

    events, problems = read_all(path)

    assert problems == []
    assert {event.payload["session_id"] for event in events} == {"a", "b"}


def test_members_that_only_other_rows_of_parquet_have_are_left_out():
    assert drop_nulls({"a": None, "b": [{"c": None, "d": 0}]}) == {"b": [{"d": 0}]}


def test_calls_as_text_are_reported_and_not_guessed(tmp_path):
    row = {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "```bash\nrm -rf /\n```"},
            {"role": "user", "content": "OBSERVATION: done"},
        ]
    }

    path = write(
        tmp_path, row, {"conversations": [{"from": "human", "value": "hi"}]}, {"text": "a"}
    )
    events, problems = read_all(path)

    assert events == []
    assert problems[0] == f"{path}:1: has no function calls; calls as text are not read"
    assert "has no list of messages with roles" in problems[1]
    assert len(problems) == 3


def test_arguments_that_are_not_json_are_reported_and_their_call_is_left_out(tmp_path):
    path = write(tmp_path, conversation(call(arguments='{"command": ')))

    events, problems = read_all(path)

    assert [event.event for event in events] == ["before_prompt", "after_agent"]
    assert problems == [f"{path}:1: message 2: arguments of 'bash' are not an object"]


def test_a_result_without_an_id_answers_the_first_call_that_waits(tmp_path):
    row = conversation(call(id=None), call("cat", "{}", id=None))
    row["messages"][2:3] = [{"role": "tool", "content": text} for text in ("one", "two")]

    events, _ = read_all(write(tmp_path, row))

    after = [event for event in events if event.event == "after_tool"]
    assert [event.payload["tool_response"] for event in after] == ["one", "two"]
    assert all("tool_use_id" in event.reconstructed for event in after)


def test_the_same_conversation_in_another_place_has_the_same_keys(tmp_path):
    row = conversation(call(), id="a")
    other = conversation(call(arguments='{"command": "pwd"}'), id="a")

    first, _ = read_all(write(tmp_path, row))
    second, _ = read_all(write(tmp_path, other, row, name="more.jsonl"))

    keys = [event.key for event in first]
    assert [event.key for event in second][4:] == keys
    assert set(keys).isdisjoint(event.key for event in second[:4])


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "canonical"),
    [
        ("execute_bash", {"command": "ls"}, "shell", {"command": "ls"}),
        ("run_shell_command", {"command": "ls"}, "shell", {"command": "ls"}),
        (
            "str_replace_editor",
            {"command": "create", "path": "a", "file_text": "x"},
            "write_file",
            {"file_path": "a", "content": "x"},
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
            "edit_file",
            {"file_path": "a", "old_string": "x", "new_string": "y"},
        ),
        (
            "str_replace_editor",
            {"command": "undo_edit", "path": "a"},
            "str_replace_editor",
            {"command": "undo_edit", "path": "a"},
        ),
        (
            "Write",
            {"file_path": "a", "content": "b"},
            "write_file",
            {"file_path": "a", "content": "b"},
        ),
        ("think", {"thought": "x"}, "think", {"thought": "x"}),
        ("mcp__a__b", {"x": 1}, "mcp__a__b", {"x": 1}),
    ],
)
def test_tools_of_agents_and_harnesses_get_canonical_names(name, arguments, tool, canonical):
    assert canonical_call(name, arguments) == (tool, canonical)


messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "function", "system"]) | json_values,
        "content": json_values,
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "id": json_values,
                    "function": st.fixed_dictionaries(
                        {},
                        optional={"name": json_values | st.just("bash"), "arguments": json_values},
                    )
                    | json_values,
                },
            )
            | json_values,
            max_size=3,
        )
        | json_values,
        "tool_call_id": json_values,
        "tool_call_ids": json_values,
        "function_call": json_objects | json_values,
        "timestamp": json_values,
    },
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    row=st.fixed_dictionaries(
        {"messages": st.lists(messages, max_size=5) | json_values},
        optional={"id": json_values, "trajectory": json_values},
    )
)
def test_values_of_wrong_types_at_any_place_never_raise(row, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("fuzz"), row)

    for event in read_all(path)[0]:
        decode_event(GENERIC, event.payload)
