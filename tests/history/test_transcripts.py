"""Transcripts that real agents wrote, as payloads of their hooks."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.agents.transcripts import (
    MAX_HELD_EVENTS,
    MAX_LINE,
    get_transcripts,
    parse_time,
    read_records,
    transcript_formats,
)
from tests.tables import each

DATA = Path(__file__).parents[1] / "data" / "transcripts"
AGENTS = ("claude", "gemini", "codex", "qwen", "copilot")
SESSIONS = sorted(
    (agent, truth.parent.name) for agent in AGENTS for truth in (DATA / agent).glob("*/truth.json")
)

NOT_HOOKED = {
    ("claude", "tools"): {"toolu_01e", "toolu_01f", "toolu_01h"},
    ("claude", "parallel"): {"toolu_05g", "toolu_05h"},
    ("qwen", "main"): {
        *("call_10", "call_11", "call_12", "call_14", "call_15", "call_19", "call_21")
    },
    ("qwen", "tui_auto"): {"call_1"},
}
"""Calls that did not reach hooks: unknown tools, wrong arguments, denied before hooks."""
NO_RESULT = {
    ("claude", "hooks"): {"toolu_08c"},  # a hook denied it
    ("gemini", "hooks"): {"write_file__write_file_1795315726990_0"},  # likewise
    ("codex", "tools"): {"call_2", "call_3", "call_6"},  # patches in a shell command
}
"""Calls without an event after them."""


def read(path, agent):
    problems = []
    events = list(get_transcripts(agent).read(path, problems.append))
    return events, problems


def read_session(agent, session):
    """Return the events of each file of a session, and the truth about it."""
    home = DATA / agent / session
    truth = {entry["file"]: entry for entry in json.loads((home / "truth.json").read_text("utf-8"))}
    files = {}
    for path in get_transcripts(agent).find(home, {}):
        events, problems = read(path, agent)
        assert problems == []
        files[path.relative_to(home).as_posix()] = events
    return files, truth


def call_id(event):
    """Return the model's id of a call, which is in the key for agents without it in payloads."""
    for member in ("tool_call_id", "tool_use_id"):
        if member in event.payload:
            return event.payload[member]
    return event.key.split("/")[-2]


def member(event, *names):
    return next(event.payload[name] for name in names if name in event.payload)


def expected_input(agent, call):
    if agent == "codex" and call["name"] == "exec_command":
        return {"command": call["input"]["cmd"]}
    return call["input"]


def expected_name(agent, call):
    return "Bash" if (agent, call["name"]) == ("codex", "exec_command") else call["name"]


def text_of_result(agent, event):
    """Return the text for the model in an event after a call."""
    if event.event == "post_tool_use_failure":
        return event.payload["error"]
    response = member(event, "tool_response", "toolResult")
    if agent == "codex":
        return response
    if agent == "copilot":
        return response["textResultForLlm"]
    content = response["llmContent"]
    return content if isinstance(content, str) else content[0]["text"]


def true_text(agent, call):
    """Return the text for the model of a call."""
    text = call["result"]
    if agent in ("gemini", "qwen"):
        response = json.loads(text)
        text = response.get("error", response.get("output"))
        return text.removesuffix(
            "\n\n[System] Tool input parameters were modified by a hook before execution."
        )
    if agent == "codex" and text.startswith("Chunk ID"):
        return text.partition("\nOutput:\n")[2]
    return text


@each("agent, session", SESSIONS)
def test_every_call_is_an_event_in_the_order_of_the_file(agent, session):
    files, truth = read_session(agent, session)

    assert files.keys() == truth.keys()
    for name, events in files.items():
        calls = truth[name]["tool_calls"]
        before = [event for event in events if event.event == "before_tool"]
        unseen = {
            call_id(event)
            for event in before
            if event.refusal is not None and not event.refusal.has_reached_hooks
        }
        assert unseen == NOT_HOOKED.get((agent, session), set()) & {call["id"] for call in calls}
        assert [call_id(event) for event in before] == [call["id"] for call in calls]
        for event, call in zip(before, calls, strict=True):
            assert member(event, "tool_name", "toolName") == expected_name(agent, call)
            assert member(event, "tool_input", "toolArgs") == expected_input(agent, call)


@each("agent, session", SESSIONS)
def test_every_call_is_joined_with_its_result(agent, session):
    files, truth = read_session(agent, session)
    skipped = NOT_HOOKED.get((agent, session), set()) | NO_RESULT.get((agent, session), set())

    for name, events in files.items():
        calls = {c["id"]: c for c in truth[name]["tool_calls"] if c["id"] not in skipped}
        after = {
            call_id(event): event
            for event in events
            if event.event in ("after_tool", "post_tool_use_failure")
        }
        assert after.keys() == calls.keys()
        for key, event in after.items():
            has_failure_event = agent in ("claude", "qwen", "copilot")
            is_failure = event.event == "post_tool_use_failure"
            assert is_failure is (has_failure_event and bool(calls[key].get("is_error")))
            if agent != "claude" or is_failure:
                assert text_of_result(agent, event) == true_text(agent, calls[key])


@pytest.mark.parametrize("session", [name for agent, name in SESSIONS if agent == "claude"])
def test_claude_hooks_got_the_structured_result(session):
    files, _ = read_session("claude", session)
    home = DATA / "claude" / session

    for name, events in files.items():
        records = [json.loads(line) for line in (home / name).read_text("utf-8").splitlines()]
        results = {
            block["tool_use_id"]: record.get("toolUseResult")
            for record in records
            if record["type"] == "user" and isinstance(record["message"]["content"], list)
            for block in record["message"]["content"]
            if block["type"] == "tool_result"
        }
        for event in events:
            if event.event == "after_tool" and "tool_response" not in event.reconstructed:
                assert event.payload["tool_response"] == results[call_id(event)]


@each("agent, session", SESSIONS)
def test_prompts_and_last_messages_are_those_of_the_session(agent, session):
    files, truth = read_session(agent, session)

    for name, events in files.items():
        is_subagent = any(e.event == "subagent_start" for e in events) or (
            agent == "gemini" and "session-" not in name
        )
        prompts = [e.payload["prompt"] for e in events if e.event == "before_prompt"]
        # Hooks of Claude Code get the end of a background command as a prompt.
        prompts = [text for text in prompts if not text.startswith("<task-notification>")]
        # Only Codex CLI runs hooks on the prompt of a subagent.
        hidden = is_subagent and agent != "codex"
        assert prompts == ([] if hidden else truth[name]["prompts"])
        for event in events:
            last = event.payload.get("last_assistant_message")
            assert last is None or last in truth[name]["texts"]


@each("agent, session", SESSIONS)
def test_every_payload_decodes_as_its_event(agent, session):
    tables = get_agent(agent)
    for events in read_session(agent, session)[0].values():
        assert events
        for event in events:
            decoded, problems = decode_event(tables, event.payload)
            assert problems == ()
            assert decoded.name == event.event
            assert set(event.reconstructed) <= event.payload.keys()
            assert event.time is not None


@each("agent, session", SESSIONS)
def test_keys_are_unique_and_lines_ascend(agent, session):
    for events in read_session(agent, session)[0].values():
        lines = [event.line for event in events]

        assert Counter(event.key for event in events).most_common(1)[0][1] == 1
        assert lines == sorted(lines)


RECORDED = {
    ("claude", "recorded"): 19,
    ("codex", "recorded"): 16,
    ("copilot", "recorded"): 30,
    ("gemini", "recorded"): 17,
    ("qwen", "compact"): 14,
    ("qwen", "expansion"): 3,
    ("qwen", "loop"): 8,
    ("qwen", "main"): 38,
    ("qwen", "resume"): 9,
    ("qwen", "tui_auto"): 4,
}
"""Session to its events of which the payload was recorded."""


def is_about_the_same(event, payload):
    """Return whether a payload could be the one of an event, by what identifies it."""
    own = event.payload
    names = ("hook_event_name", "session_id", "sessionId", "agent_id", "agentId", "tool_call_id")
    if any(own.get(name) != payload.get(name) for name in names):
        return False
    for name in ("prompt", "source", "last_assistant_message"):
        if name in own and name not in event.reconstructed and own[name] != payload.get(name):
            return False
    return own.keys() <= payload.keys() | set(event.reconstructed)


@pytest.mark.parametrize(("agent", "session"), RECORDED)
def test_payloads_equal_those_that_hooks_got_in_the_same_session(agent, session):
    home = DATA / agent / session
    text = (home / "hooks.jsonl").read_text("utf-8")
    sent = [json.loads(line) for line in text.splitlines()]
    compared = 0
    for path in get_transcripts(agent).find(home, {}):
        events, problems = read(path, agent)
        assert problems == []
        for event in events:
            if event.refusal is not None:
                continue  # hooks may not have got it
            matching = [p for p in sent if is_about_the_same(event, p)]
            if not matching:
                continue  # not every payload was recorded
            compared += 1
            held = {
                name: value.replace(f"{home}/", "/home/dev/") if "ath" in name else value
                for name, value in event.payload.items()
                if name not in event.reconstructed
            }
            assert any(held == {name: p.get(name) for name in held} for p in matching), event
    assert compared == RECORDED[agent, session]


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "gemini"])
def test_a_transcript_gives_the_events_that_hooks_got_and_no_others(agent):
    home = DATA / agent / "recorded"
    tables = get_agent(agent)
    sent = [
        decode_event(tables, json.loads(line))[0].name
        for line in (home / "hooks.jsonl").read_text("utf-8").splitlines()
    ]
    imported = [
        event.event
        for path in get_transcripts(agent).find(home, {})
        for event in read(path, agent)[0]
        if event.refusal is None
    ]
    hidden = {"claude": {"session_end"}, "gemini": {"session_end", "before_compress"}}

    assert sorted(imported) == sorted(name for name in sent if name not in hidden.get(agent, ()))
    assert len(imported) == RECORDED[agent, "recorded"]


# -- what makes keys stable


def test_a_fork_repeats_the_keys_of_the_records_that_it_copied():
    home = DATA / "qwen" / "resume"
    original, fork = (
        read(home / f".qwen/projects/-home-dev-project/chats/{name}.jsonl", "qwen")[0]
        for name in (
            "c0de0000-0000-4000-8000-0000000000aa",
            "2b98c8a6-6069-4e5a-9856-6010b84c129e",
        )
    )
    originals = {event.key for event in original}

    assert originals < {event.key for event in fork}
    new = [event for event in fork if event.key not in originals]
    assert [event.event for event in new] == ["before_prompt", "after_agent"]
    assert new[0].payload["prompt"] == "forked prompt"


def test_a_fork_of_claude_repeats_the_keys(tmp_path):
    [path] = (DATA / "claude" / "tools").glob(".claude/projects/*/*.jsonl")
    fork = tmp_path / "fork.jsonl"
    fork.write_text(path.read_text("utf-8").replace(path.stem, "another-session"), "utf-8")

    original, copied = read(path, "claude")[0], read(fork, "claude")[0]

    assert [event.key for event in copied] == [event.key for event in original]
    assert {event.payload["session_id"] for event in copied} == {"another-session"}


@pytest.mark.parametrize(("agent", "session"), SESSIONS)
def test_a_file_that_grows_keeps_its_keys(agent, session, tmp_path):
    home = tmp_path / session
    shutil.copytree(DATA / agent / session, home)
    for path in list(get_transcripts(agent).find(home, {})):
        whole = path.read_bytes().splitlines(keepends=True)
        keys = [event.key for event in read(path, agent)[0]]
        tools = {key for key in keys if key.endswith(("before_tool", "after_tool"))}
        for count in range(1, len(whole), 3):
            path.write_bytes(b"".join(whole[:count]))
            events, _ = read(path, agent)
            earlier = {event.key for event in events if event.event == "after_tool"}
            assert earlier <= tools


def test_the_resumed_session_of_gemini_gives_no_event_twice():
    files, _ = read_session("gemini", "resume")
    [events] = files.values()

    sources = [e.payload["source"] for e in events if e.event == "session_start"]
    assert sources == ["startup", "resume", "resume", "resume"]
    assert Counter(e.event for e in events)["before_tool"] == 3


# -- particular events


def test_a_recorded_hook_and_what_it_changed_come_with_the_event():
    files, _ = read_session("claude", "hooks")
    [events] = files.values()
    by_key = {(event.event, event.payload.get("tool_use_id")): event for event in events}

    before = by_key["before_tool", "toolu_08a"]
    assert before.payload["tool_input"]["command"] == "echo original"
    assert [reply.kind for reply in before.replies] == ["hook_success"]
    assert before.replies[0].exit_code == 0
    assert "echo changed by hook" in before.replies[0].stdout
    after = by_key["after_tool", "toolu_08a"]
    assert after.payload["tool_input"]["command"] == "echo changed by hook"
    assert "tool_input" in after.reconstructed
    assert by_key["session_start", None].payload["source"] == "startup"
    assert by_key["session_start", None].reconstructed == ()
    stops = [event for event in events if event.event == "after_agent"]
    assert [event.payload["stop_hook_active"] for event in stops] == [False, True]
    assert [reply.stderr for reply in stops[0].replies] == ["one more step"]


def test_a_subagent_of_claude_belongs_to_its_session():
    files, _ = read_session("claude", "subagent")
    main, sub = sorted(files, key=len)
    start, *_, stop = files[sub]

    assert start.event == "subagent_start"
    assert start.payload["agent_type"] == "general-purpose"
    assert stop.event == "subagent_stop"
    assert stop.payload["last_assistant_message"] == "sub says 3 lines"
    assert stop.payload["agent_transcript_path"].endswith(sub)
    assert {e.payload["session_id"] for e in files[sub]} == {files[main][0].payload["session_id"]}
    assert all(e.payload["transcript_path"].endswith(main) for e in files[sub])


def test_compaction_is_two_events_around_it():
    files, _ = read_session("claude", "resume")
    [events] = files.values()
    before, after = (
        next(event for event in events if event.event == name)
        for name in ("before_compress", "post_compact")
    )

    assert before.payload["trigger"] == after.payload["trigger"] == "manual"
    assert after.payload["compact_summary"] == "did things."
    assert before.time < after.time


def write_claude(tmp_path, *records):
    path = tmp_path / "session.jsonl"
    common = {"sessionId": "s", "cwd": "/p", "timestamp": "2026-11-22T02:46:00.000Z"}
    lines = [json.dumps({"uuid": str(n), **common, **r}) for n, r in enumerate(records)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def prompt(text):
    return {"type": "user", "message": {"content": text}, "permissionMode": "auto"}


def bash(call, message="m"):
    block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "x"}}
    return {"type": "assistant", "message": {"id": message, "content": [block]}}


def result(call, text, is_error=True):
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}
    return {"type": "user", "message": {"content": [block]}}


REASON = (
    "Permission for this action was denied by the Claude Code auto mode classifier. Reason: "
    "exfiltration. If you have other tasks that don't depend on this action, continue."
)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("Exit code 1", ["before_tool", "post_tool_use_failure"]),
        ("<tool_use_error>Error: No such tool available: X</tool_use_error>", ["before_tool"]),
        ("Permission to use Bash with command x has been denied.", ["before_tool"]),
        ("Hook PreToolUse:Bash denied this tool", ["before_tool"]),
        ("The user doesn't want to proceed with this tool use.", ["before_tool"]),
        (REASON, ["before_tool", "permission_denied"]),
    ],
)
def test_a_call_that_was_refused_did_not_fail(tmp_path, text, events):
    path = write_claude(tmp_path, prompt("go"), bash("c"), result("c", text))

    read_events = read(path, "claude")[0]

    assert [e.event for e in read_events[2:]] == events
    call = read_events[2]
    is_failure = events[-1] == "post_tool_use_failure"
    assert (call.refusal is None) is is_failure
    if not is_failure:
        assert call.refusal.reason in text
        assert call.refusal.has_reached_hooks is ("No such tool" not in text)
    if text == REASON:
        assert read_events[-1].payload["reason"] == "exfiltration"


def test_an_answer_of_the_api_that_is_an_error_is_the_event_of_a_failed_turn(tmp_path):
    error = {
        "type": "assistant",
        "isApiErrorMessage": True,
        "apiErrorStatus": 529,
        "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "!"}]},
    }

    *_, event = read(write_claude(tmp_path, prompt("go"), error), "claude")[0]

    assert event.event == "stop_failure"
    assert event.payload["error"] == "overloaded"
    assert "error" in event.reconstructed


def test_an_interrupted_turn_has_no_stop(tmp_path):
    answer = {
        "type": "assistant",
        "message": {"id": "m", "content": [{"type": "text", "text": "a"}]},
    }
    path = write_claude(
        tmp_path, prompt("go"), answer, prompt("[Request interrupted by user]"), prompt("again")
    )

    events = [event.event for event in read(path, "claude")[0]]

    assert events == ["session_start", "before_prompt", "before_prompt"]


def test_a_command_of_the_user_is_the_prompt_that_was_typed(tmp_path):
    text = (
        "<command-message>mine</command-message>\n<command-name>/mine</command-name>\n"
        "<command-args>alpha beta</command-args>"
    )
    local = "<command-name>/compact</command-name>\n<command-message>compact</command-message>"

    events = read(write_claude(tmp_path, prompt(local), prompt(text)), "claude")[0]

    [event] = [event for event in events if event.event == "before_prompt"]
    assert event.payload["prompt"] == "/mine alpha beta"
    assert "prompt" in event.reconstructed


def test_the_end_of_a_background_command_is_a_prompt():
    [path] = (DATA / "claude" / "parallel").glob(".claude/projects/*/*.jsonl")

    prompts = [e.payload["prompt"] for e in read(path, "claude")[0] if e.event == "before_prompt"]

    assert prompts[0] == "do several things at once"
    assert prompts[1].startswith("<task-notification>\n<task-id>")


@pytest.mark.slow
def test_many_calls_without_a_result_are_all_read(tmp_path):
    count = MAX_HELD_EVENTS + 10
    path = write_claude(tmp_path, prompt("go"), *(bash(str(n)) for n in range(count)))

    calls = [e.payload["tool_use_id"] for e in read(path, "claude")[0][2:]]

    assert calls == [str(n) for n in range(count)]


def test_a_call_without_a_result_is_an_event_when_the_model_has_gone_on(tmp_path):
    path = write_claude(tmp_path, prompt("go"), bash("a"), bash("b", "n"), result("b", "", False))

    events = [(event.event, event.payload.get("tool_use_id")) for event in read(path, "claude")[0]]

    assert events[2:] == [("before_tool", "a"), ("before_tool", "b"), ("after_tool", "b")]


def test_ids_of_calls_may_repeat_in_a_session(tmp_path):
    path = write_claude(
        tmp_path,
        *(prompt("go"), bash("a", "m"), prompt("again")),
        *(bash("a", "n"), result("a", "out", False)),
    )

    events = [(event.event, event.line) for event in read(path, "claude")[0]]

    assert events[2:] == [
        ("before_tool", 2),
        ("before_prompt", 3),
        ("before_tool", 4),
        ("after_tool", 5),
    ]


def test_a_call_whose_id_is_used_again_does_not_hold_what_follows(tmp_path):
    path = write_claude(
        tmp_path, prompt("go"), bash("a"), bash("a"), result("a", "out", False), prompt("again")
    )

    events = [event.event for event in read(path, "claude")[0]]

    assert events[2:] == ["before_tool", "before_tool", "after_tool", "before_prompt"]


def test_calls_of_gemini_with_the_same_id_in_two_answers_are_two_events(tmp_path):
    path = tmp_path / "session.jsonl"
    call = {"id": "c", "name": "read_file", "args": {}, "status": "success", "result": []}
    records = [
        {"sessionId": "s", "startTime": "2026-11-22T02:47:20.950Z"},
        *({"id": i, "type": "gemini", "content": "", "toolCalls": [call]} for i in "abb"),
    ]
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")

    events = read(path, "gemini")[0]

    assert [event.event for event in events] == [
        "session_start",
        *["before_tool", "after_tool"] * 2,
    ]
    assert len({event.key for event in events}) == 5


def test_an_older_document_of_gemini_is_read(tmp_path):
    path = tmp_path / "session-2025-01-01T00-00-abcdef01.json"
    call = {"id": "c", "name": "read_file", "args": {"file_path": "a"}, "status": "success"}
    call["result"] = [{"functionResponse": {"response": {"output": "text"}}}]
    messages = [
        {"id": "1", "type": "user", "content": "go", "timestamp": "2025-01-01T00:00:00Z"},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [call]},
        {"id": "3", "type": "gemini", "content": "done"},
    ]
    path.write_text(json.dumps({"sessionId": "s", "startTime": "", "messages": messages}), "utf-8")

    events, problems = read(path, "gemini")

    assert problems == []
    assert [event.event for event in events] == [
        *("session_start", "before_prompt", "before_tool", "after_tool", "after_agent")
    ]
    assert events[3].payload["tool_response"]["llmContent"] == "text"


def test_a_subagent_in_the_file_of_its_session_has_calls_but_no_prompt_and_no_stop(tmp_path):
    aside = {"isSidechain": True}
    text = {"type": "assistant", "message": {"id": "t", "content": [{"type": "text", "text": "a"}]}}
    path = write_claude(
        tmp_path,
        *(prompt("go"), bash("task", "m")),
        *(prompt("the task") | aside, bash("inner", "n") | aside),
        *(result("inner", "out", False) | aside, text | aside),
        *(result("task", "done", False), text),
    )

    events = [(e.event, e.payload.get("tool_use_id")) for e in read(path, "claude")[0]]

    assert events[1:] == [
        ("before_prompt", None),
        ("before_tool", "task"),
        ("before_tool", "inner"),
        ("after_tool", "inner"),
        ("after_tool", "task"),
        ("after_agent", None),
    ]


def test_a_subagent_beside_its_session_belongs_to_it(tmp_path):
    path = write_claude(tmp_path, prompt("the task") | {"agentId": "ab", "isSidechain": True})
    path = path.rename(tmp_path / "agent-ab.jsonl")

    [event] = read(path, "claude")[0]

    assert event.event == "subagent_start"
    assert event.payload["transcript_path"] == str(tmp_path / "s.jsonl")


def test_the_form_of_codex_before_items_is_read(tmp_path):
    path = tmp_path / "rollout-2025-10-01T00-00-00-t.jsonl"
    arguments = json.dumps({"command": ["bash", "-lc", "ls"], "timeout_ms": 1000})
    call = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c"}
    output = json.dumps({"output": "a.txt\n", "metadata": {"exit_code": 0}})
    records = [
        ("session_meta", {"id": "t", "cwd": "/p", "source": "cli"}),
        ("turn_context", {"cwd": "/p", "approval_policy": "on-request", "model": "m"}),
        ("event_msg", {"type": "user_message", "message": "go", "kind": "plain"}),
        ("response_item", call),
        ("response_item", {"type": "function_call_output", "call_id": "c", "output": output}),
        ("turn_context", {"cwd": "/p", "approval_policy": "on-request", "model": "m"}),
        ("event_msg", {"type": "user_message", "message": "go", "kind": "plain"}),
    ]
    lines = [
        json.dumps({"timestamp": "2025-10-01T00:00:00Z", "type": kind, "payload": payload})
        for kind, payload in records
    ]
    path.write_text("\n".join(lines), "utf-8")

    events, problems = read(path, "codex")

    assert problems == []
    assert [event.event for event in events] == [
        *("session_start", "before_prompt", "before_tool", "after_tool", "before_prompt")
    ]
    assert events[2].payload["tool_input"] == {"command": "ls"}
    assert events[2].payload["permission_mode"] == "default"
    assert events[3].payload["tool_response"] == "a.txt\n"
    assert len({event.key for event in events}) == 5


def say(text, message):
    block = {"type": "text", "text": text}
    return {"type": "assistant", "message": {"id": message, "content": [block]}}


def test_a_turn_after_the_next_prompt_was_not_continued_by_a_hook(tmp_path):
    feedback = prompt("Stop hook feedback:\ngo on") | {"isMeta": True}
    path = write_claude(
        tmp_path, prompt("go"), say("1", "a"), feedback, say("2", "b"), prompt("x"), say("3", "c")
    )

    stops = [e.payload for e in read(path, "claude")[0] if e.event == "after_agent"]

    assert [stop["stop_hook_active"] for stop in stops] == [False, True, False]


def write_codex(tmp_path, *records):
    path = tmp_path / "rollout.jsonl"
    first = [
        ("session_meta", {"id": "t", "cwd": "/p"}),
        ("turn_context", {"turn_id": "1", "cwd": "/p", "approval_policy": "never", "model": "m"}),
    ]
    lines = [json.dumps({"type": kind, "payload": payload}) for kind, payload in [*first, *records]]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_prompt_that_codex_wrote_in_two_forms_is_one_event(tmp_path):
    item = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "go"}]}
    path = write_codex(
        tmp_path,
        ("event_msg", {"type": "user_message", "message": "go"}),
        ("event_msg", {"type": "item_completed", "item": item}),
    )

    events = [event.event for event in read(path, "codex")[0]]

    assert events == ["session_start", "before_prompt"]


@pytest.mark.parametrize(
    ("output", "events"),
    [
        ("fine", ["before_tool", "after_tool"]),
        ("Tool call blocked by PreToolUse hook: no. Tool: view_image", ["before_tool"]),
        ("unsupported call: view_image", ["before_tool"]),
        ('exec_command failed: CreateProcess { message: "Rejected(\\"no\\")" }', ["before_tool"]),
    ],
)
def test_what_follows_a_call_of_codex_is_in_its_output(tmp_path, output, events):
    call = {"type": "function_call", "name": "view_image", "arguments": "{}", "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": output}
    path = write_codex(tmp_path, ("response_item", call), ("response_item", result))

    read_events = read(path, "codex")[0][1:]
    assert [event.event for event in read_events] == events
    refusal = read_events[0].refusal
    assert (refusal.reason if refusal else "fine") == output
    if refusal:
        assert refusal.has_reached_hooks is not output.startswith("unsupported")


def test_hooks_of_qwen_got_the_text_of_a_shell_command():
    home = DATA / "qwen" / "main"
    sent = {}
    for line in (home / "hooks.jsonl").read_text("utf-8").splitlines():
        payload = json.loads(line)
        if payload["hook_event_name"] == "PostToolUse":
            sent[payload["tool_call_id"]] = payload["tool_response"]
    [path] = home.glob(".qwen/projects/*/chats/*.jsonl")

    responses = {
        event.payload["tool_call_id"]: event.payload["tool_response"]
        for event in read(path, "qwen")[0]
        if event.event == "after_tool"
    }

    same = {call for call, response in responses.items() if response == sent[call]}
    # The launch of a subagent and a skill are reported to hooks in another form.
    assert responses.keys() - same == {"call_17", "call_18"}


def test_values_that_are_nested_very_deep_become_their_text(tmp_path):
    deep = "[" * 300 + "]" * 300
    path = write_claude(tmp_path, prompt("go"), bash("c"))
    text = path.read_text("utf-8").replace('"command": "x"', f'"command": {deep}')
    path.write_text(text, "utf-8")

    *_, event = read(path, "claude")[0]

    value = event.payload["tool_input"]["command"]
    while isinstance(value, list):
        [value] = value
    assert isinstance(value, str)


# -- files that are damaged, or large


@pytest.mark.parametrize(("agent", "session"), SESSIONS)
def test_a_last_line_that_was_cut_is_reported_and_the_rest_is_read(agent, session, tmp_path):
    home = tmp_path / session
    shutil.copytree(DATA / agent / session, home)
    for path in list(get_transcripts(agent).find(home, {})):
        data = path.read_bytes()
        path.write_bytes(data + b'{"type":"user","message":{"ro')
        whole = read(DATA / agent / session / path.relative_to(home), agent)[0]

        events, problems = read(path, agent)

        number = data.count(b"\n") + 1
        assert problems == [f"{path}:{number}: is not JSON: the last line was cut; skipped"]
        assert [event.key for event in events] == [event.key for event in whole]


@pytest.mark.slow
def test_a_line_of_50_megabytes_is_read(tmp_path):
    text = "x" * 50_000_000
    path = write_claude(tmp_path, prompt("go"), bash("c"), result("c", text))

    *_, event = read(path, "claude")[0]

    assert event.payload["error"] == text


@pytest.mark.slow
def test_a_line_that_is_too_long_is_skipped_without_holding_it(tmp_path):
    path = tmp_path / "session.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n')
        file.seek(MAX_LINE * 2, os.SEEK_CUR)  # a hole, which takes no space
        file.write(b'\n{"b": 2}\n')
    problems = []

    records = list(read_records(path, problems.append))

    assert records == [(1, {"a": 1}), (3, {"b": 2})]
    assert problems == [f"{path}:2: is longer than 256 MiB; skipped"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_is_none_of_the_agent_is_reported(agent, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_bytes(b'[]\n\n"text"\nnot json\n{"type": "x"}\n\xff\n' + b"[" * 5000 + b"\n{}")

    events, problems = read(path, agent)

    assert events == []
    assert [problem.split(": ")[0].removeprefix(f"{path}:") for problem in problems[:-1]] == [
        *("1", "3", "4", "6", "7")
    ]
    assert "has no" in problems[-1]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_is_not_there_is_reported(agent, tmp_path):
    path = tmp_path / "missing.jsonl"

    events, problems = read(path, agent)

    assert events == []
    assert problems[0] == f"{path}: cannot be read: No such file or directory"


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "user", "2026-11-22T02:46:00Z", "\ud800", "exec", "assistant"]),
    st.sampled_from([[], {}, [None], [[]], [{}], [{"type": 1}], {"content": 1}, {"text": []}]),
)


@pytest.fixture(scope="module")
def records_by_agent():
    """Return records of every type that the samples of an agent have."""
    kept = {}
    for agent in AGENTS:
        samples = {}
        for _, session in [pair for pair in SESSIONS if pair[0] == agent]:
            for path in get_transcripts(agent).find(DATA / agent / session, {}):
                for line in path.read_text("utf-8").splitlines():
                    record = json.loads(line)
                    inner = record.get("payload") or record.get("attachment") or {}
                    kind = record.get("type"), inner.get("type"), tuple(record)
                    samples.setdefault(kind, []).append(line)
        kept[agent] = [line for lines in samples.values() for line in lines[:3]]
    return kept


def places(value, path=()):
    """Yield the paths of all values in a JSON value."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def replaced(value, path, new):
    if not path:
        return new
    if isinstance(value, dict):
        return {key: replaced(item, path[1:], new) if key == path[0] else item
                for key, item in value.items()}  # fmt: skip
    return [
        replaced(item, path[1:], new) if index == path[0] else item
        for index, item in enumerate(value)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
@settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(data=st.data())
def test_values_of_wrong_types_at_any_place_never_raise(
    agent, data, records_by_agent, tmp_path_factory
):
    lines = data.draw(st.lists(st.sampled_from(records_by_agent[agent]), min_size=1, max_size=6))
    header = records_by_agent[agent][0]
    changed = []
    for line in [header, *lines]:
        record = json.loads(line)
        for _ in range(data.draw(st.integers(0, 3))):
            path = data.draw(st.sampled_from(list(places(record))))
            record = replaced(record, path, data.draw(VALUES))
        changed.append(json.dumps(record))
    path = tmp_path_factory.mktemp("fuzz") / "session.jsonl"
    path.write_text("\n".join(changed), "utf-8")

    events, _ = read(path, agent)

    for event in events:
        decode_event(get_agent(agent), event.payload)
        assert isinstance(event.key, str)


# -- the registry


def test_the_formats_are_found_by_the_name_of_the_agent():
    assert set(transcript_formats()) == set(AGENTS)
    assert get_transcripts("generic") is None
    assert all(name == transcripts.name for name, transcripts in transcript_formats().items())


@pytest.mark.parametrize(
    ("agent", "variable", "below"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude"),
        ("codex", "CODEX_HOME", ".codex"),
        ("qwen", "QWEN_HOME", ".qwen"),
        ("copilot", "COPILOT_HOME", ".copilot"),
        ("gemini", "GEMINI_CLI_HOME", ""),
    ],
)
def test_the_variable_of_an_agent_says_where_its_files_are(agent, variable, below, tmp_path):
    session = next(name for owner, name in SESSIONS if owner == agent)
    home = DATA / agent / session
    transcripts = get_transcripts(agent)

    assert list(transcripts.find(tmp_path, {})) == []
    assert list(transcripts.find(tmp_path, {variable: str(home / below)})) == list(
        transcripts.find(home, {})
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01.500Z", 1.5),
        ("1970-01-01T00:00:01", 1.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("yesterday", None),
        ("", None),
        (None, None),
        (12, None),
    ],
)
def test_times_are_seconds_since_the_epoch(text, seconds):
    assert parse_time(text) == seconds
