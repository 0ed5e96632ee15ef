"""JSON Schemas of payloads and replies, from the command that writes them."""

from __future__ import annotations

import json

import jsonschema
import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.schema import settings_schema
from tests.conftest import DATA

SCHEMAS = {}
"""Schemas that were written already, by the arguments of the command."""


@pytest.fixture
def schema_of(run):
    def write(*arguments):
        if arguments not in SCHEMAS:
            _, out, _ = run("agents", "schema", *arguments, "--json")
            SCHEMAS[arguments] = json.loads(out)
            jsonschema.Draft202012Validator.check_schema(SCHEMAS[arguments])
        return SCHEMAS[arguments]

    return write


def is_valid(value, schema):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def specific(event="PreToolUse", **members):
    return {"hookSpecificOutput": {"hookEventName": event, **members}}


@pytest.mark.parametrize(
    "reply",
    [
        {"desicion": "deny"},
        {"decison": "deny"},
        {"Decision": "deny"},
        {"decusion": "deny"},
        {"systemmessage": "m"},
        {"system_message": "m"},
        {"hookspecificOutput": {}},
        {"hookSpecificOutput": {"additionalcontext": "c"}},
        {"hookSpecificOutput": {"toolInput": {}}},
        {"hookSpecificOutput": {"decision": "deny"}},
        {"hookSpecificOutput": {"permissionDecision": "deny"}},
        {"permissionDecision": "deny"},
        {"additionalContext": "c"},
    ],
    ids=json.dumps,
)
def test_a_mistaken_member_of_a_reply_is_refused(schema_of, reply):
    assert not is_valid(reply, schema_of("BeforeTool", "--reply"))


@pytest.mark.parametrize(
    "reply",
    [
        {"permissionDecision": "deny"},
        specific(permission_decision="deny"),
        specific(permissiondecision="deny"),
        specific(decision="deny"),
        {"hookSpecificOutput": {"permissionDecision": "deny"}},
        {"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "deny"}},
    ],
    ids=json.dumps,
)
def test_a_mistaken_member_of_a_reply_to_claude_code_is_refused(schema_of, reply):
    assert not is_valid(reply, schema_of("PreToolUse", "--reply", "--agent", "claude"))


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"decision": "deny", "reason": "x", "mood": "good"},
        {"continue": False, "stopReason": "x", "suppressOutput": True},
        {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {}, "x-mine": 1}},
        {"hookSpecificOutput": {"clearContext": True}},
    ],
    ids=json.dumps,
)
def test_members_that_resemble_none_are_kept(schema_of, reply):
    assert is_valid(reply, schema_of("BeforeTool", "--reply"))


@pytest.mark.parametrize(("event", "agent"), [("Stop", "claude"), ("AfterAgent", "gemini")])
def test_a_denial_that_sends_the_agent_on_needs_a_reason(schema_of, event, agent):
    schema = schema_of(event, "--reply", "--agent", agent)

    assert not is_valid({"decision": "block"}, schema)
    assert not is_valid({"decision": "block", "reason": ""}, schema)
    assert is_valid({"decision": "block", "reason": "tests fail"}, schema)
    assert is_valid({}, schema)


def test_the_schema_of_a_model_event_is_complete(schema_of):
    schema = schema_of("AfterModel")
    response = schema["properties"]["llm_response"]
    candidate = response["properties"]["candidates"]["items"]["properties"]

    assert set(response["properties"]["usageMetadata"]["properties"]) == {
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
    }
    assert set(candidate["safetyRatings"]["items"]["properties"]) == {
        "category",
        "probability",
        "blocked",
    }
    assert candidate["safetyRatings"]["items"]["required"] == ["category", "probability"]
    messages = schema["properties"]["llm_request"]["properties"]["messages"]["items"]
    assert is_valid({"role": "user", "content": [{"type": "text"}]}, messages)
    assert not is_valid({"role": "user", "content": [{"text": "x"}]}, messages)
    assert response["required"] == ["candidates"]
    assert schema["properties"]["llm_request"]["required"] == ["model", "messages"]


@pytest.mark.parametrize(
    ("agent", "base"),
    [
        ("gemini", {"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"}),
        ("terminai", {"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"}),
        ("claude", {"session_id", "transcript_path", "cwd", "hook_event_name"}),
    ],
)
def test_base_fields_are_required(schema_of, agent, base):
    assert base <= set(schema_of("SessionStart", "--agent", agent)["required"])


@pytest.mark.parametrize("file", sorted((DATA / "claude").glob("*.jsonl")), ids=lambda f: f.stem)
def test_schemas_accept_recorded_payloads_of_claude_code(schema_of, file):
    schema = schema_of(file.stem, "--agent", "claude")

    for line in file.read_text(encoding="utf-8").splitlines():
        jsonschema.validate(json.loads(line), schema)


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_every_member_of_a_handler_has_a_schema(name):
    agent = get_agent(name)

    handlers = settings_schema(agent)["$defs"]["handler"]

    members = {key for kind in agent.settings.handler_types.values() for key in kind.fields}
    schemas = handlers.get("oneOf", [handlers])
    assert members <= {key for schema in schemas for key in schema["properties"]}


@pytest.mark.parametrize(("name", "required"), [("cursor", ["version"]), ("copilot", None)])
def test_a_member_of_the_file_is_required_where_every_file_needs_it(name, required):
    schema = settings_schema(get_agent(name))

    assert schema["properties"]["version"] == {"const": 1}
    assert schema.get("required") == required
