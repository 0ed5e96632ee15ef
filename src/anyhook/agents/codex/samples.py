"""What Codex CLI sends besides the fields that an event requires. Recorded with 0.169.0."""

from __future__ import annotations

from anyhook.agents.samples import Samples

MODEL = {"model": "gpt-5.5"}
REQUEST = {"turn_id": "01a1fb7f-8f80-7533-909a-4b89f6f84bde", **MODEL}
TURN = {**REQUEST, "permission_mode": "default"}
CALL = {**TURN, "tool_use_id": "call_3ed3679f58d5444bba9b"}
SUBAGENT = {**TURN, "agent_id": "01a1fb7f-9274-74e0-bae4-85923e2b6b02", "agent_type": "default"}

SAMPLES = Samples(
    events={
        "Interrupt": TURN,
        "PermissionRequest": TURN,
        "PostCompact": REQUEST,
        "PostModelRequest": {
            **REQUEST,
            "status": "completed",
            "error": None,
            "token_usage": {
                "input_tokens": 100,
                "cached_input_tokens": 0,
                "cache_write_input_tokens": 0,
                "output_tokens": 10,
                "reasoning_output_tokens": 0,
                "total_tokens": 110,
            },
        },
        "PostToolUse": CALL,
        "PreCompact": REQUEST,
        "PreModelRequest": REQUEST,
        "PreToolUse": CALL,
        "SessionStart": {**MODEL, "permission_mode": "default"},
        "Stop": TURN,
        "SubagentStart": SUBAGENT,
        "SubagentStop": {**SUBAGENT, "agent_transcript_path": "{cwd}/rollout.jsonl"},
        "UserPromptSubmit": TURN,
    },
    results={
        "apply_patch": (
            "Exit code: 0\nWall time: 0 seconds\nOutput:\n"
            "Success. Updated the following files:\nA a.txt\n"
        ),
        "*": "one\n",
    },
)
