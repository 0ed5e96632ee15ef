"""OpenCode: its tables, put together."""

from __future__ import annotations

from anyhook.agents.opencode.observed import DOCUMENTED, OBSERVED
from anyhook.agents.opencode.replies import (
    DECISION_WORDS,
    FOREIGN_MEMBERS,
    FOREIGN_WORDS,
    OUTPUT,
)
from anyhook.agents.opencode.tools import RENAMED_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec

MISSING_FIELDS = (
    "transcript_path timestamp prompt_id permission_mode effort scratchpad_dir mcp_context "
    "original_request_name mcp_server duration_ms is_interrupt background_tasks session_crons "
    "agent_transcript_path seconds_since_last_response context_tokens prompt_cache_likely_expired "
    "estimated_cache_write_usd custom_instructions compact_summary command_source error_context "
    "recoverable"
).split()
"""Fields of events that OpenCode does not send."""

OPENCODE = AgentSpec(
    name="opencode",
    title="OpenCode",
    event_key="hook",
    payload_keys={
        **dict.fromkeys(MISSING_FIELDS),
        "session_id": "sessionID",
        "cwd": "directory",
        "agent_id": "subagentID",
        "agent_type": "subagentType",
        "tool_name": "tool",
        "tool_input": "args",
        "tool_use_id": "callID",
        "session_title": "title",
    },
    payload_terminator=b"\n",
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    output_event_key=(),
    decision_words=DECISION_WORDS,
    foreign_decisions=FOREIGN_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    absolute_paths=True,
    field_defaults={"tool_use_id": "call_id"},
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER_TOOL", "mcp_": "SERVER_TOOL"},
    renamed_tools=RENAMED_TOOLS,
    hook_environment={
        "OPENCODE_PROJECT_DIR": "project_dir",
        "OPENCODE_SESSION_ID": "session_id",
    },
    settings_format="anyhook.agents.opencode.settings:FORMAT",
)
