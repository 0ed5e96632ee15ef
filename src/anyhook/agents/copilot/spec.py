"""GitHub Copilot CLI: its tables, put together, in its two forms."""

from __future__ import annotations

from anyhook.agents.copilot import SHAPES
from anyhook.agents.copilot.observed import DOCUMENTED, OBSERVED
from anyhook.agents.copilot.pascal import PASCAL_EVENTS, PASCAL_OBSERVED, PASCAL_OUTPUT
from anyhook.agents.copilot.replies import FOREIGN_MEMBERS, OUTPUT, PERMISSION_WORDS
from anyhook.agents.copilot.tools import (
    CLAUDE_NAMES,
    PASCAL_VOCABULARY,
    RENAMED_TOOLS,
    TITLE,
    TOOLS,
    VOCABULARY,
)
from anyhook.agents.spec import SPECIFIC, AgentSpec

MISSING_FIELDS = (
    "transcript_path prompt_id permission_mode effort scratchpad_dir mcp_context mcp_server "
    "original_request_name tool_use_id duration_ms is_interrupt session_title prompt_response "
    "agent_transcript_path background_tasks session_crons model seconds_since_last_response "
    "context_tokens prompt_cache_likely_expired estimated_cache_write_usd url command"
).split()
"""Fields of events that Copilot does not send, or not with every event."""
ABSENT: dict[str, str | None] = dict.fromkeys(MISSING_FIELDS)

CAMEL_KEYS: dict[str, str | None] = {
    **ABSENT,
    "session_id": "sessionId",
    "agent_id": "agentId",
    "agent_type": "agentType",
    "tool_name": "toolName",
    "tool_input": "toolArgs",
    "tool_response": "toolResult",
}

HOOK_ENVIRONMENT = {
    "COPILOT_CLI": "=1",
    "COPILOT_PROJECT_DIR": "root",
    "CLAUDE_PROJECT_DIR": "root",
    "COPILOT_HOOK_DIR": "hook_dir",
}

COPILOT = AgentSpec(
    name="copilot",
    title=TITLE,
    event_key="",
    payload_keys=CAMEL_KEYS,
    payload_shapes=SHAPES,
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    output_event_key=(),
    decision_words=PERMISSION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.copilot.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    field_defaults={"timestamp": "now"},
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER-TOOL", "mcp_": "SERVER-TOOL"},
    renamed_tools=RENAMED_TOOLS,
    default_timeout=30.0,
    hook_environment=HOOK_ENVIRONMENT,
    protected_environment=frozenset(HOOK_ENVIRONMENT),
    settings_format="anyhook.agents.copilot.settings:FORMAT",
)

PASCAL = COPILOT.replace(
    form_name="pascal",
    matches_both_names=True,
    event_key="hook_event_name",
    payload_keys={**ABSENT, "prompt": "prompt", "tool_response": "tool_result"},
    payload_shapes={},
    documented=DOCUMENTED.replace(events=PASCAL_EVENTS),
    observed=PASCAL_OBSERVED,
    output_fields=PASCAL_OUTPUT,
    output_event_key=(SPECIFIC, "hookEventName"),
    ignores_event_name=True,
    foreign_members={},
    tools=tuple(dict.fromkeys([CLAUDE_NAMES.get(tool, tool) for tool in TOOLS])),
    vocabulary=PASCAL_VOCABULARY,
    tool_aliases={"Task": "Agent"},
    renamed_tools={},
)
COPILOT = COPILOT.replace(forms={"pascal": PASCAL})
