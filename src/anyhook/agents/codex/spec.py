"""Codex CLI: its tables, put together."""

from __future__ import annotations

from anyhook.agents.codex.observed import DOCUMENTED, OBSERVED
from anyhook.agents.codex.replies import DECISION_WORDS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.codex.tools import RENAMED_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec

MISSING_FIELDS = (
    "timestamp effort scratchpad_dir mcp_context mcp_server original_request_name "
    "permission_suggestions duration_ms details background_tasks session_crons session_title "
    "custom_instructions compact_summary seconds_since_last_response context_tokens "
    "prompt_cache_likely_expired estimated_cache_write_usd"
).split()
"""Fields of events that only other agents send."""

CODEX = AgentSpec(
    name="codex",
    title="Codex CLI",
    payload_keys={**dict.fromkeys(MISSING_FIELDS), "prompt_id": "turn_id"},
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    output_event_key=("hookSpecificOutput", "hookEventName"),
    needs_event_name=True,
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.codex.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="after_tool",
    field_defaults={
        "permission_mode": "default_mode",
        "tool_use_id": "call_id",
        "prompt_id": "turn_id",
    },
    tool_prefix="mcp__",
    renamed_tools=RENAMED_TOOLS,
    tool_aliases=TOOL_ALIASES,
    default_timeout=600.0,
    hook_environment={},
    settings_format="anyhook.agents.codex.settings:FORMAT",
)
