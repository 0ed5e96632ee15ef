"""What Qwen Code sends besides the fields that an event requires. Recorded with 0.24."""

from __future__ import annotations

from anyhook.agents.samples import Samples

MODE = {"permission_mode": "default"}
TURN = {**MODE, "prompt_id": "d2462196-935e-4f92-b344-d4acdb266b4d########0"}
CALL = {"tool_use_id": "toolu_1795315957700_ldphja766", "tool_call_id": "call_1"}
SUBAGENT = {"agent_id": "general-purpose-call_17", "agent_type": "general-purpose"}
TODOS = {
    "all_todos": [
        {"id": "1", "content": "write tests", "status": "pending"},
        {"id": "2", "content": "run tests", "status": "in_progress"},
    ],
    "phase": "validation",
}

SAMPLES = Samples(
    events={
        "InstructionsLoaded": MODE,
        "MessageDisplay": {
            **TURN,
            "message_id": "11fcc66a-1f4e-4e26-a609-87c32e59eaf6",
            "is_final": False,
        },
        "Notification": {**MODE, "title": "Permission needed"},
        "PermissionDenied": {**TURN, **CALL},
        "PermissionRequest": TURN,
        "PostCompact": {**TURN, "compact_summary": "<summary>The tests were written.</summary>"},
        "PostToolBatch": MODE,
        "PostToolUse": {**MODE, **CALL, "duration_ms": 83},
        "PostToolUseFailure": {**TURN, **CALL, "is_interrupt": False, "duration_ms": 49},
        "PreCompact": {**TURN, "custom_instructions": ""},
        "PreToolUse": {**MODE, **CALL},
        "SessionDelete": MODE,
        "SessionEnd": MODE,
        "SessionStart": {**MODE, "model": "qwen3-coder"},
        "Stop": {
            **TURN,
            "background_tasks": [],
            "crons": [],
            "context_usage": 0.0005,
            "context_limit": 200000,
            "input_tokens": 100,
        },
        "StopFailure": {**TURN, "error_details": "consecutive_identical_tool_calls"},
        "SubagentStart": {**TURN, **SUBAGENT},
        "SubagentStop": {
            **TURN,
            **SUBAGENT,
            "agent_transcript_path": "{cwd}/agent-general-purpose-call_17.jsonl",
            "background_tasks": [],
            "crons": [],
        },
        "TodoCompleted": {**TURN, **TODOS, "previous_status": "in_progress"},
        "TodoCreated": {**TURN, **TODOS, "todo_status": "pending"},
        "UserPromptExpansion": {**TURN, "command_args": "alpha beta", "prompt": "alpha beta"},
        "UserPromptSubmit": TURN,
    },
    results={"*": {"llmContent": "one\n", "returnDisplay": "one"}},
)
