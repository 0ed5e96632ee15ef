"""Cursor: its tables, put together."""

from __future__ import annotations

from anyhook.agents.cursor.claude_form import make_form
from anyhook.agents.cursor.events import VERSION
from anyhook.agents.cursor.observed import DOCUMENTED, OBSERVED
from anyhook.agents.cursor.replies import FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.cursor.tools import RENAMED_TOOLS, REPORTED_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec
from anyhook.model.answers import Outcome

FIELDS_OF_OTHERS = (
    "agent_id agent_type background_tasks custom_instructions details effort "
    "estimated_cache_write_usd mcp_context mcp_server original_request_name permission_mode "
    "prompt_cache_likely_expired scratchpad_dir seconds_since_last_response session_crons "
    "session_title source timestamp title"
).split()
"""Fields of events that Cursor does not send."""

BASE = AgentSpec(
    name="cursor",
    title="Cursor",
    payload_keys={
        **dict.fromkeys(FIELDS_OF_OTHERS),
        "session_id": "conversation_id",
        "prompt_id": "generation_id",
        "duration_ms": "duration",
    },
    payload_members={"cursor_version": VERSION, "user_email": None},
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    output_event_key=(),
    decision_words={
        "allow": (Outcome.ALLOW, False),
        "deny": (Outcome.DENY, False),
        "ask": (Outcome.ASK, False),
    },
    foreign_members=FOREIGN_MEMBERS,
    tools=(*TOOLS, *REPORTED_TOOLS),
    samples="anyhook.agents.cursor.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    field_defaults={"tool_use_id": "call_id"},
    tool_prefix="MCP:",
    foreign_tool_prefixes={"mcp__": "MCP:TOOL"},
    renamed_tools=RENAMED_TOOLS,
    session_variables="env",
    hook_environment={
        "CURSOR_PROJECT_DIR": "project_dir",
        "CURSOR_VERSION": f"={VERSION}",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.cursor.settings:FORMAT",
)
CURSOR = BASE.replace(forms={"claude": make_form(BASE)})
