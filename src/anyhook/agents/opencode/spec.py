"""The rule sets of OpenCode, and its tables, put together.

What a reply does is decided by the plugin of anyhook, which uses nothing that release 1.18.33 does
not have. So the rule sets do not differ. The types name one hook more, `permission.ask`: nothing
calls it, and the plugin answers the event `permission.asked` instead.
"""

from __future__ import annotations

from anyhook.agents.opencode.events import EVENTS
from anyhook.agents.opencode.replies import (
    DECISION_WORDS,
    EXITS,
    FOREIGN_MEMBERS,
    FOREIGN_WORDS,
    OUTPUT,
)
from anyhook.agents.opencode.tools import FOREIGN_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec, Differences, RuleSet
from anyhook.model.answers import Audience

DOCUMENTED = RuleSet(
    name="documented",
    release="plugin documentation and types of 1.18",
    events=EVENTS,
    exit_rules={"*": EXITS},
    warning_audience=Audience.USER,
)

OBSERVED = Differences(
    rules={"name": "observed", "release": "1.18.33"},
    events={
        "before_tool": {
            "input_refusal": "The {tool} tool was called with invalid arguments: "
            "`{argument}` is not a string"
        }
    },
)
"""What release 1.18.33 does differently from the documentation."""

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
    foreign_tools=FOREIGN_TOOLS,
    hook_environment={
        "OPENCODE_PROJECT_DIR": "project_dir",
        "OPENCODE_SESSION_ID": "session_id",
    },
    settings_format="anyhook.agents.opencode.settings:FORMAT",
)
