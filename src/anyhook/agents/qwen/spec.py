"""Qwen Code: its tables, put together. It descends from Gemini CLI; its hooks are Claude Code's."""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.qwen.observed import DOCUMENTED, OBSERVED, OLDER_RELEASES
from anyhook.agents.qwen.replies import DECISION_WORDS, FOREIGN_MEMBERS, OUTPUT
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
    hook_environment={
        "QWEN_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "QWEN_CODE_SESSION_ID": "session_id",
    },
    settings_format="anyhook.agents.qwen.settings:FORMAT",
)
