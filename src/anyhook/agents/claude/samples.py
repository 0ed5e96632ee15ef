"""What Claude Code sends besides the fields that an event requires. Recorded with 2.1.330."""

from __future__ import annotations

from anyhook.agents.samples import Samples

PROMPT = {"prompt_id": "f042a830-43b4-4bef-99d2-dfacbe9fab65"}
MODE = {**PROMPT, "permission_mode": "default"}
TURN = {**MODE, "effort": {"level": "high"}}
CALL = {**TURN, "tool_use_id": "toolu_b08ed8e49f024310916c4901"}
SUBAGENT = {"agent_id": "a0d7350f8501d8ab9", "agent_type": "general-purpose"}
TASK = {**PROMPT, "task_description": "Write the tests"}
WORK: dict[str, list[str]] = {"background_tasks": [], "session_crons": []}

SAMPLES = Samples(
    events={
        "ConfigChange": {**PROMPT, "file_path": "{cwd}/.claude/settings.json"},
        "CwdChanged": PROMPT,
        "Elicitation": {
            **PROMPT,
            "mode": "form",
            "requested_schema": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
        "ElicitationResult": {**PROMPT, "mode": "form"},
        "FileChanged": PROMPT,
        "MessageDisplay": {
            **PROMPT,
            "turn_id": "d190f090-5c50-42f2-8375-02dbaa7eee8c",
            "message_id": "23c2399f-355d-4333-80b1-c710961fbf3c",
            "index": 0,
            "final": True,
        },
        "Notification": PROMPT,
        "PermissionDenied": CALL,
        "PermissionRequest": {
            **TURN,
            "permission_suggestions": [
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
            ],
        },
        "PostCompact": {**PROMPT, "compact_summary": "The tests were written."},
        "PostToolBatch": TURN,
        "PostToolUse": {**CALL, "duration_ms": 39},
        "PostToolUseFailure": {**CALL, "is_interrupt": False, "duration_ms": 14},
        "PreCompact": {**PROMPT, "custom_instructions": None},
        "PreSkillShellCommand": {
            **CALL,
            "command_source": "projectSettings",
            "invoked_by": "user",
        },
        "PreToolUse": CALL,
        "Stop": {**TURN, **WORK},
        "StopFailure": {
            **PROMPT,
            "effort": {"level": "high"},
            "last_assistant_message": "Invalid API key",
        },
        "SubagentStart": {**PROMPT, **SUBAGENT},
        "SubagentStop": {
            **TURN,
            **SUBAGENT,
            "agent_transcript_path": "{cwd}/agent-a0d7350f8501d8ab9.jsonl",
            **WORK,
        },
        "TaskCompleted": TASK,
        "TaskCreated": TASK,
        "TeammateIdle": {**MODE, "team_name": "session-013eb60c"},
        "UserPromptExpansion": {
            **MODE,
            "command_args": "alpha beta",
            "command_source": "projectSettings",
            "prompt": "/command alpha beta",
        },
        "UserPromptSubmit": MODE,
        "WorktreeCreate": PROMPT,
        "WorktreeRemove": PROMPT,
    },
    results={
        "Bash": {
            "stdout": "one",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        },
        "Write": {
            "type": "create",
            "filePath": "{cwd}/a.txt",
            "content": "one\n",
            "structuredPatch": [],
            "originalFile": None,
            "userModified": False,
        },
        "Edit": {
            "filePath": "{cwd}/a.txt",
            "oldString": "one",
            "newString": "two",
            "originalFile": "one\n",
            "structuredPatch": [],
            "userModified": False,
            "replaceAll": False,
        },
        "Read": {
            "type": "text",
            "file": {
                "filePath": "{cwd}/a.txt",
                "content": "one\n",
                "numLines": 2,
                "startLine": 1,
                "totalLines": 2,
            },
        },
        "*": [{"type": "text", "text": "one"}],
    },
)
