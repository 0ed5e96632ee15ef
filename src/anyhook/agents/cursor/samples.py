"""What Cursor sends besides the fields that an event requires. Recorded in 2026-11."""

from __future__ import annotations

from anyhook.agents.samples import Samples

CALL = {
    "generation_id": "c0ffee00-0000-4000-8000-000000000002",
    "model": "gpt-5.5-medium",
}
COMMON = {
    **CALL,
    "model_id": "gpt-5.5",
    "model_params": [{"id": "thinking", "value": "true"}],
}
ROOTS = {"workspace_roots": ["{cwd}"]}
SERVER = {**COMMON, "mcp_server_name": "github"}
SESSION = {
    **COMMON,
    "session_id": "c0ffee00-0000-4000-8000-000000000001",
    "is_background_agent": False,
}

SAMPLES = Samples(
    events={
        "afterAgentResponse": COMMON,
        "afterAgentThought": {**COMMON, "duration_ms": 5000},
        "afterFileEdit": COMMON,
        "afterMCPExecution": {
            **SERVER,
            "mcp_server_url": "https://mcp.example/github",
            "result_json": '{"number":7}',
            "duration": 1234,
        },
        "afterShellExecution": {**COMMON, "duration": 1234, "sandbox": False},
        "afterTabFileEdit": COMMON,
        "beforeMCPExecution": SERVER,
        "beforeReadFile": {**COMMON, "attachments": []},
        "beforeShellExecution": {**COMMON, **ROOTS, "sandbox": False},
        "beforeSubmitPrompt": {**COMMON, "attachments": []},
        "beforeTabFileRead": COMMON,
        "postToolUse": {**CALL, **ROOTS, "tool_use_id": "abc123"},
        "postToolUseFailure": {
            **COMMON,
            **ROOTS,
            "tool_use_id": "abc123",
            "failure_type": "timeout",
            "duration": 5000,
            "is_interrupt": False,
        },
        "preCompact": {
            **COMMON,
            "context_usage_percent": 85,
            "context_tokens": 120000,
            "context_window_size": 128000,
            "message_count": 45,
            "messages_to_compact": 30,
            "is_first_compaction": True,
        },
        "preToolUse": {**CALL, **ROOTS, "tool_use_id": "abc123"},
        "sessionEnd": {**SESSION, "duration_ms": 45000, "final_status": "done"},
        "sessionStart": {**SESSION, "composer_mode": "agent"},
        "stop": {**COMMON, "status": "completed"},
        "subagentStart": {
            **COMMON,
            "subagent_id": "abc-123",
            "subagent_type": "generalPurpose",
            "task": "Explore the authentication flow",
            "parent_conversation_id": "conv-456",
            "tool_call_id": "tc-789",
            "subagent_model": "gpt-5.5",
            "is_parallel_worker": False,
            "git_branch": "feature/auth",
        },
        "subagentStop": {
            **COMMON,
            "subagent_type": "generalPurpose",
            "status": "completed",
            "task": "Explore the authentication flow",
            "description": "Exploring auth flow",
            "duration_ms": 45000,
            "message_count": 12,
            "tool_call_count": 8,
            "modified_files": ["src/auth.ts"],
            "agent_transcript_path": None,
        },
    },
    results={"*": {"exitCode": 0, "stdout": "one"}},
)
