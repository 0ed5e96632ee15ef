"""Gemini CLI: its tables, put together."""

from __future__ import annotations

from anyhook.agents.gemini.observed import DOCUMENTED, OBSERVED
from anyhook.agents.gemini.replies import DECISION_WORDS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.gemini.settings import (
    EXTENSIONS,
    HOOK_TOGGLES,
    LAYER_ORDER,
    PRECEDENCE,
    REDACTION,
    SETTINGS,
)
from anyhook.agents.gemini.tools import RENAMED_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec, HandlerType
from anyhook.model.layers import Layer

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
    tool_result_form="anyhook.agents.gemini.tool_results:FORM",
    tool_failure_event="after_tool",
    field_defaults={"timestamp": "now", "details": "no_details"},
    tool_prefix="mcp_",
    foreign_tool_prefixes={"mcp__": "mcp_SERVER_TOOL"},
    renamed_tools=RENAMED_TOOLS,
    settings=SETTINGS,
    # 0.61.0 does not start. It accepts comments.
    rejected_json=frozenset({"comma", "mark"}),
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    needs_trust=frozenset({Layer.PROJECT}),
    hook_toggles=HOOK_TOGGLES,
    non_event_keys=frozenset({"enabled", "disabled", "notifications"}),
    renamed_events={
        "PreToolUse": "BeforeTool",
        "PostToolUse": "AfterTool",
        "UserPromptSubmit": "BeforeAgent",
        "Stop": "AfterAgent",
        "PreCompact": "PreCompress",
    },
    definition_fields=frozenset({"matcher", "sequential", "hooks", "description"}),
    handler_fields=frozenset({"name", "type", "description", "timeout", "env"}),
    home_variable="GEMINI_CLI_HOME",
    config_dir="{home}/.gemini",
    packages=EXTENSIONS,
    timeout_unit=0.001,
    long_timeout=float("inf"),
    short_timeout=0.5,
    handler_types={"command": HandlerType("command", 60.0)},
    foreign_types={
        "prompt": "Claude Code",
        "agent": "Claude Code",
        "http": "Claude Code",
        "mcp_tool": "Claude Code",
    },
    hook_environment={
        "GEMINI_PROJECT_DIR": "project_dir",
        "GEMINI_CWD": "cwd",
        "GEMINI_SESSION_ID": "session_id",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    expands_env=True,
    redaction=REDACTION,
)
