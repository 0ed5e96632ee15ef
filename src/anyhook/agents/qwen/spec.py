"""Qwen Code: its tables, put together. It descends from Gemini CLI; its hooks are Claude Code's."""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.qwen.observed import DOCUMENTED, OBSERVED, OLDER_RELEASES
from anyhook.agents.qwen.replies import DECISION_WORDS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.qwen.settings import (
    EXTENSIONS,
    HANDLER_TYPES,
    HOOK_TOGGLES,
    SETTINGS,
    WEB,
)
from anyhook.agents.qwen.tools import RENAMED_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY

MISSING_FIELDS = (
    "effort scratchpad_dir mcp_context mcp_server original_request_name session_title "
    "seconds_since_last_response context_tokens prompt_cache_likely_expired "
    "estimated_cache_write_usd"
).split()
"""Fields of events that only other agents send."""

QWEN = GEMINI.replace(
    name="qwen",
    title="Qwen Code",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    documented=DOCUMENTED,
    observed=OBSERVED,
    older_releases=OLDER_RELEASES,
    output_fields=OUTPUT,
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.qwen.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    field_defaults={
        "permission_mode": "default_mode",
        "tool_use_id": "call_id",
        "timestamp": "now",
    },
    tool_prefix="mcp__",
    foreign_tool_prefixes={},
    renamed_tools=RENAMED_TOOLS,
    tool_aliases=TOOL_ALIASES,
    settings=SETTINGS,
    # 0.24.4 drops the file without a word. It accepts comments.
    rejected_json=frozenset({"comma"}),
    hook_toggles=HOOK_TOGGLES,
    renamed_events={
        "BeforeTool": "PreToolUse",
        "AfterTool": "PostToolUse",
        "BeforeAgent": "UserPromptSubmit",
        "AfterAgent": "Stop",
        "PreCompress": "PreCompact",
        "TaskCreated": "TodoCreated",
        "TaskCompleted": "TodoCompleted",
    },
    home_variable=None,
    config_dir="{home}/.qwen",
    config_variable="QWEN_HOME",
    packages=EXTENSIONS,
    timeout_unit=1.0,
    short_timeout=0.0,
    long_timeout=6 * 3600.0,
    handler_types=HANDLER_TYPES,
    foreign_types={"agent": "Claude Code", "mcp_tool": "Claude Code"},
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("powershell", "-Command"), ("pwsh", "-Command")),
    },
    hook_environment={
        "QWEN_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "QWEN_CODE_SESSION_ID": "session_id",
    },
    redaction=None,
    web=WEB,
)
