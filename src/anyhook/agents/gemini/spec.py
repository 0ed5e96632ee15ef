"""Gemini CLI: its tables, put together."""

from __future__ import annotations

from anyhook.agents.gemini.observed import DOCUMENTED, OBSERVED
from anyhook.agents.gemini.replies import DECISION_WORDS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.gemini.tools import RENAMED_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec

MISSING_FIELDS = (
    "prompt_id permission_mode agent_id agent_type effort scratchpad_dir tool_use_id mcp_server "
    "duration_ms session_title background_tasks session_crons model seconds_since_last_response "
    "context_tokens prompt_cache_likely_expired estimated_cache_write_usd custom_instructions "
    "title"
).split()
"""Fields of events that only other agents send."""

GEMINI = AgentSpec(
    name="gemini",
    title="Gemini CLI",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    output_event_key=("hookSpecificOutput", "hookEventName"),
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.gemini.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="after_tool",
    field_defaults={"timestamp": "now", "details": "no_details"},
    tool_prefix="mcp_",
    foreign_tool_prefixes={"mcp__": "mcp_SERVER_TOOL"},
    renamed_tools=RENAMED_TOOLS,
    hook_environment={
        "GEMINI_PROJECT_DIR": "project_dir",
        "GEMINI_CWD": "cwd",
        "GEMINI_SESSION_ID": "session_id",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.gemini.settings:FORMAT",
)
