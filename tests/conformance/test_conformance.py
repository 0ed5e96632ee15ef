"""One short test a feature; the rows are in `cases/`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from anyhook.agents import get_agent
from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
)
from anyhook.agents.payloads import payload_key
from anyhook.checks.rules import check_hooks
from anyhook.errors import UnknownEventError
from anyhook.handlers.environment import Redaction
from anyhook.matching.matchers import compile_matcher
from anyhook.model.events import UnknownEvent
from anyhook.model.llm import merge_request, merge_response, union_tool_configs
from anyhook.settings.edit import add_item, remove_item
from tests.conformance import rows
from tests.world import World, command

GEMINI = get_agent("gemini")
DEFAULTS = {
    "outcome": "none",
    "stop": False,
    "approve": False,
    "reason": None,
    "context": [],
    "system_messages": [],
    "suppress_output": False,
    "tool_input": None,
    "llm_request": None,
    "llm_response": None,
    "tool_config": None,
    "clear_context": False,
    "tail_tool_call": None,
    "tool_output": None,
    "extra": {},
}
FIELDS = {
    "BeforeTool": {"tool_name": "write_file", "tool_input": {}},
    "AfterTool": {"tool_name": "write_file", "tool_input": {}, "tool_response": {"llmContent": ""}},
    "BeforeAgent": {"prompt": "hello"},
    "AfterAgent": {"prompt": "hello", "prompt_response": "done", "stop_hook_active": False},
    "BeforeModel": {"llm_request": {"model": "m", "messages": [], "config": {}}},
    "AfterModel": {
        "llm_request": {"model": "m", "messages": []},
        "llm_response": {
            "text": "hi",
            "candidates": [{"content": {"role": "model", "parts": ["hi"]}}],
        },
    },
    "BeforeToolSelection": {"llm_request": {"model": "m", "messages": [], "config": {}}},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "exit"},
    "PreCompress": {"trigger": "auto"},
    "Notification": {"notification_type": "ToolPermission", "message": "?", "details": {}},
}


CLAUDE_FIELDS = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_response": {"stdout": "a", "stderr": "", "interrupted": False},
        "tool_use_id": "t1",
    },
    "PostToolUseFailure": {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "error": "Exit code 1\nno",
    },
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "PermissionDenied": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "reason": "no"},
    "PreSkillShellCommand": {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t1",
        "command_name": "deploy",
    },
    "PostToolBatch": {"tool_calls": []},
    "UserPromptSubmit": {"prompt": "hello"},
    "UserPromptExpansion": {"expansion_type": "slash_command", "command_name": "deploy"},
    "Stop": {"stop_hook_active": False},
    "SubagentStart": {"agent_type": "Explore", "agent_id": "a1"},
    "SubagentStop": {"agent_type": "Explore", "agent_id": "a1", "stop_hook_active": False},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "Setup": {"trigger": "init"},
    "Notification": {"message": "?", "notification_type": "idle_prompt"},
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
    "PostCompact": {"trigger": "auto", "compact_summary": "s"},
    "TaskCreated": {"task_id": "1", "task_subject": "s"},
    "TaskCompleted": {"task_id": "1", "task_subject": "s"},
    "TeammateIdle": {"teammate_name": "mate"},
    "StopFailure": {"error": "rate_limit"},
    "ConfigChange": {"source": "user_settings"},
    "CwdChanged": {"old_cwd": "/a", "new_cwd": "/b"},
    "DirectoryAdded": {"directory": "/a", "source": "slash_command"},
    "FileChanged": {"file_path": "/a/.envrc", "event": "change"},
    "WorktreeCreate": {"name": "wt1"},
    "WorktreeRemove": {"worktree_path": "/a/wt1"},
    "InstructionsLoaded": {
        "file_path": "/a/CLAUDE.md",
        "memory_type": "Project",
        "load_reason": "session_start",
    },
    "MessageDisplay": {"delta": "hi"},
    "PreModelSwitch": {"from_model": "claude-opus-4", "to_model": "claude-opus-5"},
    "PostModelSwitch": {"from_model": "claude-opus-4", "to_model": "claude-opus-5"},
    "Elicitation": {"mcp_server_name": "srv", "message": "name?"},
    "ElicitationResult": {"mcp_server_name": "srv", "action": "accept"},
}
TERMINAI_FIELDS = {
    **FIELDS,
    "BeforeTool": {"tool_name": "run_terminal_command", "tool_input": {"command": "ls"}},
    "AfterTool": {
        "tool_name": "run_terminal_command",
        "tool_input": {"command": "ls"},
        "tool_response": {"llmContent": "a"},
    },
}
CURSOR_TOOL = {"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}
CURSOR_FIELDS = {
    "sessionStart": {"session_id": "s1", "is_background_agent": False, "composer_mode": "agent"},
    "sessionEnd": {"session_id": "s1", "reason": "completed", "duration_ms": 5},
    "beforeSubmitPrompt": {"prompt": "hello", "attachments": []},
    "preToolUse": CURSOR_TOOL,
    "postToolUse": {**CURSOR_TOOL, "tool_output": '{"exitCode":0,"stdout":"a"}', "duration": 7},
    "postToolUseFailure": {**CURSOR_TOOL, "error_message": "no", "failure_type": "error"},
    "subagentStart": {"subagent_id": "a1", "subagent_type": "explore", "task": "look"},
    "subagentStop": {"subagent_type": "explore", "status": "completed", "loop_count": 0},
    "beforeShellExecution": {"command": "ls -l", "sandbox": False},
    "afterShellExecution": {"command": "ls -l", "output": "a", "duration": 7, "sandbox": False},
    "beforeMCPExecution": {
        "tool_name": "create_issue",
        "tool_input": '{"title":"t"}',
        "mcp_server_name": "github",
        "command": "npx github",
    },
    "afterMCPExecution": {
        "tool_name": "create_issue",
        "tool_input": '{"title":"t"}',
        "mcp_server_name": "github",
        "result_json": "{}",
        "duration": 7,
    },
    "beforeReadFile": {"file_path": "/p/a", "content": "x", "attachments": []},
    "afterFileEdit": {"file_path": "/p/a", "edits": [{"old_string": "a", "new_string": "b"}]},
    "preCompact": {"trigger": "auto", "context_usage_percent": 85},
    "stop": {"status": "completed", "loop_count": 0},
    "afterAgentResponse": {"text": "done"},
    "afterAgentThought": {"text": "hm", "duration_ms": 5},
    "beforeTabFileRead": {"file_path": "/p/a", "content": "x"},
    "afterTabFileEdit": {"file_path": "/p/a", "edits": []},
    "workspaceOpen": {},
}
OPENCODE_FIELDS = {
    "session.created": {"source": "startup", "title": "New session"},
    "chat.message": {"prompt": "hello", "messageID": "msg_1", "agent": "build", "parts": []},
    "command.execute.before": {"command": "deploy", "arguments": "now", "prompt": "Deploy now"},
    "tool.execute.before": {"tool": "bash", "callID": "c1", "args": {"command": "ls"}},
    "permission.asked": {
        "tool": "bash",
        "callID": "c1",
        "args": {"command": "ls"},
        "requestID": "per_1",
        "permission": "bash",
        "patterns": ["ls"],
        "always": ["ls *"],
    },
    "tool.execute.after": {
        "tool": "bash",
        "callID": "c1",
        "args": {"command": "ls"},
        "output": {"title": "ls", "output": "a\n", "metadata": {"exit": 0}},
    },
    "tool.execute.error": {
        "tool": "read",
        "callID": "c1",
        "args": {"filePath": "/a"},
        "error": "File not found: /a",
    },
    "experimental.text.complete": {"text": "done"},
    "file.edited": {"file": "/a/b.py"},
    "file.watcher.updated": {"file": "/a/.env", "event": "change"},
    "subagent.created": {"subagentID": "s2", "subagentType": "general"},
    "subagent.idle": {
        "subagentID": "s2",
        "subagentType": "general",
        "response": "found",
        "continued": False,
    },
    "experimental.session.compacting": {},
    "session.compacted": {},
    "session.idle": {"prompt": "hello", "response": "done", "continued": False},
    "session.error": {"error": {"name": "APIError", "data": {"message": "no"}}},
    "session.deleted": {},
    "dispose": {},
}
QWEN_TOOL = {
    "tool_name": "run_shell_command",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}
QWEN_TODO = {"todo_id": "1", "todo_content": "write tests", "phase": "validation"}
QWEN_FIELDS = {
    "PreToolUse": QWEN_TOOL,
    "PostToolUse": {**QWEN_TOOL, "tool_response": {"llmContent": "a", "returnDisplay": "a"}},
    "PostToolUseFailure": {**QWEN_TOOL, "error": "File not found: a"},
    "PostToolBatch": {"tool_calls": []},
    "PermissionRequest": QWEN_TOOL,
    "UserPromptSubmit": {"prompt": "hello"},
    "UserPromptExpansion": {"command_name": "say", "command_args": "", "prompt": "hello"},
    "SessionStart": {"source": "startup", "model": "m"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "done"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "general-purpose"},
    "SubagentStop": {"agent_id": "a1", "agent_type": "general-purpose"},
    "TodoCreated": {**QWEN_TODO, "todo_status": "pending"},
    "TodoCompleted": {**QWEN_TODO, "previous_status": "pending"},
    "MessageDisplay": {"message_id": "m1", "displayed_text": "hi", "is_final": True},
    "Notification": {"message": "?", "notification_type": "idle_prompt", "title": "?"},
}
COPILOT_CALL = {"toolName": "bash", "toolArgs": {"command": "ls"}}
COPILOT_FIELDS = {
    "sessionStart": {"source": "new", "initialPrompt": "go"},
    "sessionEnd": {"reason": "complete"},
    "userPromptSubmitted": {"prompt": "hello"},
    "userPromptTransformed": {"prompt": "hello", "transformedPrompt": "<now/> hello"},
    "preToolUse": COPILOT_CALL,
    "postToolUse": {
        **COPILOT_CALL,
        "toolResult": {"resultType": "success", "textResultForLlm": "a"},
    },
    "postToolUseFailure": {**COPILOT_CALL, "error": "Path does not exist"},
    "permissionRequest": {"toolName": "bash", "toolInput": {"command": "ls"}},
    "preMcpToolCall": {"toolCallId": "c", "serverName": "s", "toolName": "t", "arguments": {}},
    "agentStop": {"transcriptPath": "/t", "stopReason": "end_turn", "stop_hook_active": False},
    "subagentStart": {"transcriptPath": "/t", "agentName": "explore"},
    "subagentStop": {
        "transcriptPath": "/t",
        "agentName": "explore",
        "response": "done",
        "stopReason": "end_turn",
    },
    "errorOccurred": {"errorContext": "model_call", "error": {"message": "no"}},
    "preCompact": {"transcriptPath": "/t", "trigger": "auto", "customInstructions": ""},
    "notification": {"message": "m", "notification_type": "shell_completed"},
}
CODEX_CALL = {"tool_name": "Bash", "tool_input": {"command": "echo RAN"}, "tool_use_id": "c1"}
CODEX_FIELDS = {
    "PreToolUse": CODEX_CALL,
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": "echo RAN"}},
    "PostToolUse": {**CODEX_CALL, "tool_response": "ran-output\n"},
    "UserPromptSubmit": {"prompt": "go"},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "after"},
    "SubagentStart": {"agent_id": "a", "agent_type": "default"},
    "SubagentStop": {
        "stop_hook_active": False,
        "agent_id": "a",
        "agent_type": "default",
        "last_assistant_message": "after",
    },
    "PreCompact": {"trigger": "auto"},
    "PostCompact": {"trigger": "auto"},
    "PreModelRequest": {},
    "PostModelRequest": {"status": "completed", "error": None, "token_usage": None},
    "Interrupt": {},
}
FIELDS_OF = {
    "copilot": COPILOT_FIELDS,
    "gemini": FIELDS,
    "claude": CLAUDE_FIELDS,
    "terminai": TERMINAI_FIELDS,
    "cursor": CURSOR_FIELDS,
    "opencode": OPENCODE_FIELDS,
    "qwen": QWEN_FIELDS,
    "codex": CODEX_FIELDS,
}


@rows.parametrize("dispatch")
def test_dispatch(row, tmp_path):
    check_dispatch(row, tmp_path, "gemini")


@rows.parametrize("claude")
def test_claude(row, tmp_path):
    check_dispatch(row, tmp_path, "claude")


@rows.parametrize("terminai")
def test_terminai(row, tmp_path):
    check_dispatch(row, tmp_path, "terminai")


@rows.parametrize_rules("cursor")
def test_cursor(row, tmp_path):
    check_dispatch(row, tmp_path, "cursor")


@rows.parametrize_rules("opencode")
def test_opencode(row, tmp_path):
    check_dispatch(row, tmp_path, "opencode")


@rows.parametrize_rules("copilot")
def test_copilot(row, tmp_path):
    check_dispatch(row, tmp_path, "copilot")


@rows.parametrize_rules("copilot_settings")
def test_copilot_settings(row, tmp_path):
    check_settings(row, tmp_path, "copilot")


@rows.parametrize("qwen")
def test_qwen(row, tmp_path):
    check_dispatch(row, tmp_path, "qwen")


@rows.parametrize_rules("codex")
def test_codex(row, tmp_path):
    check_dispatch(row, tmp_path, "codex")


@rows.parametrize("replies")
def test_replies(row, tmp_path):
    check_dispatch(row, tmp_path, row["given"]["agent"])


def check_dispatch(row, tmp_path, agent):
    given, expect = row["given"], row["expect"]
    world = build(given, tmp_path, agent)
    event, notes = world.engine.decode(payload(given, world))

    decision = asyncio.run(world.engine.dispatch(event))

    wanted = {**DEFAULTS, **{k: v for k, v in expect.items() if k in DEFAULTS}}
    assert {k: plain(getattr(decision, k)) for k in DEFAULTS} == fill(wanted, world)
    codes = [d.code for d in (*notes, *decision.diagnostics)]
    assert sorted(codes) == sorted(expect.get("codes", [])), decision.explain()
    if "ran" in expect:
        assert [r.handler.label for r in decision.results if r.status != "skipped"] == expect["ran"]
    if "statuses" in expect:
        assert {r.handler.label: str(r.status) for r in decision.results} == expect["statuses"]
    if "results" in expect:
        for name, wanted_result in expect["results"].items():
            result = next(r for r in decision.results if r.handler.label == name)
            got = {k: plain(getattr(result, k)) for k in wanted_result}
            assert got == fill(wanted_result, world)
    if "denied" in expect:
        assert decision.denied is expect["denied"]
    if "blame" in expect:
        blame = {k: [b.handler.label for b in v] for k, v in decision.blame.items()}
        assert blame == expect["blame"]
    for name, wanted_lost in expect.get("overrode", {}).items():
        (blame,) = decision.blame[name]
        lost = [[o.handler.label if o.handler else None, o.value] for o in blame.overrode]
        assert lost == wanted_lost
    if "messages" in expect:
        got = [[str(m.audience), m.field, m.text] for m in decision.messages]
        assert got == expect["messages"]
    if "wire" in expect:
        assert world.engine.reply(event, decision) == expect["wire"]
    if "told" in expect:
        told = "\n".join(d.message for d in decision.diagnostics)
        for words in expect["told"]:
            assert words in told
    for name, fields in expect.get("seen", {}).items():
        seen = json.loads((world.project / f"seen-{name}.json").read_text(encoding="utf-8"))
        assert {k: seen.get(k) for k in fields} == fill(fields, world)


@rows.parametrize("settings")
def test_settings(row, tmp_path):
    check_settings(row, tmp_path, "gemini")


@rows.parametrize("claude_settings")
def test_claude_settings(row, tmp_path):
    check_settings(row, tmp_path, "claude")


@rows.parametrize("opencode_settings")
def test_opencode_settings(row, tmp_path):
    check_settings(row, tmp_path, "opencode")


@rows.parametrize("terminai_settings")
def test_terminai_settings(row, tmp_path):
    check_settings(row, tmp_path, "terminai")


@rows.parametrize("cursor_settings")
def test_cursor_settings(row, tmp_path):
    check_settings(row, tmp_path, "cursor")


def check_settings(row, tmp_path, agent):
    given, expect = row["given"], row["expect"]
    world = build(given, tmp_path, agent)
    engine = world.engine
    found = list(engine.diagnostics)
    if given.get("check"):
        found += [problem for problem in check_hooks(engine) if problem not in found]

    if "hooks" in expect:
        plans = [
            [world.agent.by_canonical[d.event].wire, str(d.layer), h.label]
            for d in engine.definitions
            for h in d.handlers
        ]
        assert plans == expect["hooks"]
    if "handlers" in expect:
        handlers = {h.label: h for d in engine.definitions for h in d.handlers}
        for name, fields in expect["handlers"].items():
            got = {k: plain(getattr(handlers[name], k)) for k in fields}
            assert got == fill(fields, world)
    if "places" in expect:
        places = {
            h.label: [h.place.line, h.place.column] for d in engine.definitions for h in d.handlers
        }
        assert places == expect["places"]
    if "off" in expect:
        off = [
            h.label
            for d in engine.definitions
            for h in d.handlers
            if engine.hooks.switched_off(h, engine.rules) is not None
        ]
        assert sorted(off) == sorted(expect["off"])
    codes = [[d.code, d.place.line if d.place else None] for d in found]
    wanted = [[c, line] for c, line in expect.get("codes", [])]
    assert sorted(map(str, codes)) == sorted(map(str, wanted)), "\n".join(map(str, found))
    told = "\n".join(d.message for d in found)
    for words in expect.get("told", []):
        assert words in told


@pytest.mark.slow
@rows.parametrize("generic")
def test_generic(row, tmp_path):
    """One hook file for every agent, as a real process."""
    given, expect = row["given"], row["expect"]
    seen = tmp_path / "seen.json"
    hook = tmp_path / "hook.py"
    hook.write_text(PORTABLE_HOOK, encoding="utf-8")
    text = given["stdin"] if isinstance(given["stdin"], str) else json.dumps(given["stdin"])
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **given.get("environ", {})}
    environ |= {"ANYHOOK_ALLOW": "off", "ROW": json.dumps({**given, "seen": str(seen)})}

    done = subprocess.run(
        [sys.executable, str(hook), *given.get("args", [])],
        input=text.encode("utf-8", "surrogateescape"),
        capture_output=True,
        env=environ,
        check=False,
    )

    said, told = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == expect.get("exit", 0), told
    wanted = expect["stdout"]
    assert any_text(json.loads(said) if said.startswith("{") else said, wanted) == wanted, told
    assert said.isascii()
    assert "\n" not in said
    heard = json.loads(seen.read_text(encoding="utf-8")) if seen.exists() else None
    assert (heard is not None) is expect.get("heard", True)
    for name, value in expect.get("event", {}).items():
        assert heard[name] == value, name
    for words in expect.get("told", []):
        assert words in told
    if "told" not in expect:
        assert told == ""
    for words in expect.get("never", ["Traceback"]):
        assert words not in said + told


PORTABLE_HOOK = """
import json, os
from anyhook.authoring import *
from anyhook.model.events import all_events

row = json.loads(os.environ["ROW"])
hooks = Hooks(**row.get("hooks", {}))

def answer(event):
    call = getattr(event, "call", None)
    with open(row["seen"], "w") as file:
        json.dump(
            {
                "event": event.name,
                "tool": call.tool if call else None,
                "arguments": dict(call.arguments) if call else None,
                "raw": dict(event.raw),
                "fields": {f: getattr(event, f) for f in row.get("fields", [])},
            },
            file,
        )
    if "raises" in row:
        raise getattr(__builtins__, row["raises"])(row.get("message", ""))
    return Answer(**row["answer"]) if "answer" in row else row.get("returns")

if "code" in row:
    exec(row["code"])  # more functions, in front of the usual one
for name in all_events():
    hooks.on(name)(answer)
hooks.run()
"""


@rows.parametrize("matcher")
def test_matcher(row):
    given = row["given"]
    matcher = compile_matcher(given["pattern"])
    assert matcher.matches(given.get("subject")) is row["expect"]["matches"]
    assert (matcher.problem is not None) is row["expect"].get("problem", False)


@rows.parametrize("payload")
def test_payload(row):
    from anyhook.agents.payloads import decode_event, encode_event

    event, problems = decode_event(GEMINI, row["given"]["payload"])
    expect = row["expect"]
    assert type(event).__name__ == expect["class"]
    assert isinstance(event, UnknownEvent) is (expect["class"] == "UnknownEvent")
    assert {k: getattr(event, k) for k in expect.get("fields", {})} == expect.get("fields", {})
    assert [p.code for p in problems] == expect.get("codes", [])
    assert encode_event(GEMINI, event) == row["given"]["payload"]


MODEL = {
    "merge_request": merge_request,
    "merge_response": merge_response,
    "union_tool_configs": lambda *configs: union_tool_configs(configs),
    "request_from_api": request_from_api,
    "request_to_api": request_to_api,
    "response_from_api": response_from_api,
    "response_to_api": response_to_api,
}


@rows.parametrize("model")
def test_model(row):
    given = row["given"]
    assert MODEL[given["call"]](*given["args"]) == row["expect"]["value"]


@rows.parametrize("environment")
def test_environment(row):
    given = row["given"]
    rules, environ = GEMINI.settings.redaction, given["environ"]
    redaction = Redaction.from_settings(given.get("settings", {}), environ, rules)
    assert sorted(redaction.apply(environ, rules)) == sorted(row["expect"]["kept"])


@rows.parametrize("edit")
def test_edit(row):
    given = row["given"]
    edit = {"add": add_item, "remove": remove_item}[given["edit"]]
    assert edit(given["text"], tuple(given["path"]), given["value"]) == row["expect"]["text"]


def test_there_are_enough_rows_and_every_id_is_one_of_a_kind():
    everything = [row for file in sorted(rows.CASES.glob("*.json")) for row in rows.load(file.stem)]
    ids = [row["id"] for row in everything]
    assert len(ids) == len(set(ids))
    assert sum("gap" not in row for row in everything) >= 200


def test_every_gap_says_why():
    for file in sorted(rows.CASES.glob("*.json")):
        for row in rows.load(file.stem):
            assert len(row.get("gap", "a reason of some length")) > 10, row["id"]


# -- helpers


def build(given, tmp_path, agent="gemini"):
    world = World(tmp_path, given.get("project_name", "project"), agent)
    world.environ |= fill(given.get("environ", {}), world)
    for layer, content in given.get("layers", {}).items():
        world.settings(layer, content)
    for name, hooks in given.get("extensions", {}).items():
        world.extension(name, hooks)
    for name, plugin in given.get("plugins", {}).items():
        world.plugin(name, **plugin)
    for path, text in given.get("files", {}).items():
        world.write(tmp_path / path, text)
    if "says" in given:
        spoken(given, world)
    world.engine = world.load(
        trust_once=given.get("trust", "once") == "once", rules=given.get("rules", "documented")
    )
    return world


def spoken(given, world):
    """Make hooks that say what the row says they say, each definition holding all of its layer."""
    by_layer = {}
    for i, says in enumerate(given["says"], 1):
        name = says.get("name", f"h{i}")
        hook = {"name": name, "type": "command", **fill(says.get("hook", {}), world)}
        line = command({"record": f"{world.project}/seen-{name}.json", **says})
        if "name" not in world.agent.settings.handler_fields:
            # A script of this name: it is the label of a hook that has none.
            del hook["name"]
            line = str(world.write(world.home / name, f"#!/bin/sh\n{line}\n"))
        hook["command"] = says.get("command") or line
        definition = {"matcher": says.get("matcher", "*"), "hooks": [hook]}
        if world.agent.settings.entries[0] == "handler":
            matcher = {"matcher": says["matcher"]} if "matcher" in says else {}
            definition = {**matcher, **hook}
        by_layer.setdefault(says.get("layer", "project"), []).append(definition)
    for layer, definitions in by_layer.items():
        if given.get("sequential"):
            hooks = [hook for d in definitions for hook in d["hooks"]]
            definitions = [{"sequential": True, "hooks": hooks}]
        members = world.agent.settings.members
        world.settings(layer, {**members, "hooks": {given["event"]: definitions}})


def payload(given, world):
    name = given["event"]
    if world.agent.name == "cursor":
        sent = cursor_payload(name, world) | given.get("fields", {})
        return {key: value for key, value in sent.items() if key not in given.get("without", ())}
    common = {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(world.project),
        "timestamp": None if world.agent.name == "claude" else "2026-01-15T10:30:00.000Z",
    }
    keys = {field: payload_key(world.agent, None, field) for field in common}
    sent = {
        **{
            keys[field]: value
            for field, value in common.items()
            if keys[field] and value is not None
        },
        world.agent.event_key: name,
        **FIELDS_OF[world.agent.name].get(wire_name(world.agent, name), {}),
        **given.get("fields", {}),
    }
    sent.pop("", None)  # of an agent whose payloads do not name their event
    return {key: value for key, value in sent.items() if key not in given.get("without", ())}


def wire_name(agent, name):
    """Return the agent's own name of an event that a row names; another agent's stays."""
    try:
        return agent.event(name).wire
    except UnknownEventError:
        return name


def cursor_payload(name, world):
    workspace = {
        "hook_event_name": name,
        "cursor_version": "3.9.16",
        "workspace_roots": [str(world.project)],
        "user_email": None,
    }
    if name == "workspaceOpen":
        return workspace
    session = {
        "conversation_id": "s1",
        "generation_id": "g1",
        "model": "gpt-5.5",
        "transcript_path": None,
    }
    return {**session, **workspace, **CURSOR_FIELDS[name]}


def fill(value, world):
    """Put the directories of this run into an expectation."""
    if isinstance(value, str):
        names = {"project": world.project, "home": world.home, "system": world.system}
        for name, path in names.items():
            value = value.replace(f"<{name}>", str(path))
        return value
    if isinstance(value, list):
        return [fill(item, world) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, world) for key, item in value.items()}
    return value


def any_text(value, wanted):
    """Put `<any>` where a row says that any text will do."""
    if wanted == "<any>" and isinstance(value, str) and value:
        return wanted
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {key: any_text(item, wanted.get(key)) for key, item in value.items()}
    return value


def plain(value):
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
