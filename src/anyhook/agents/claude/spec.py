"""Claude Code: its tables, put together."""

from __future__ import annotations

from anyhook.agents.claude.observed import DOCUMENTED, OBSERVED, OLDER_RELEASES
from anyhook.agents.claude.replies import FOREIGN_MEMBERS, OLD_WORDS, OUTPUT, PERMISSION_WORDS
from anyhook.agents.claude.tools import RENAMED_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec
from anyhook.model.answers import Outcome

MISSING_FIELDS = ("timestamp", "mcp_context", "original_request_name", "details")
"""Fields of events that only other agents send."""

CLAUDE = AgentSpec(
    name="claude",
    title="Claude Code",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    payload_terminator=b"\n",
    documented=DOCUMENTED,
    observed=OBSERVED,
    older_releases=OLDER_RELEASES,
    output_fields=OUTPUT,
    output_event_key=("hookSpecificOutput", "hookEventName"),
    reply_signals=frozenset({"async", "asyncTimeout"}),
    needs_event_name=True,
    decision_words={**PERMISSION_WORDS, **OLD_WORDS},
    foreign_decisions={"deny": (Outcome.DENY, False), "block": (Outcome.DENY, False)},
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.claude.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    absolute_paths=True,
    field_defaults={"permission_mode": "default_mode", "tool_use_id": "call_id"},
    tool_prefix="mcp__",
    renamed_tools=RENAMED_TOOLS,
    tool_aliases=TOOL_ALIASES,
    default_timeout=600.0,
    hook_environment={
        "CLAUDE_PROJECT_DIR": "project_dir",
        "CLAUDE_CODE_SESSION_ID": "session_id",
        "CLAUDECODE": "=1",
        "CLAUDE_CODE_CHILD_SESSION": "=1",
    },
    settings_format="anyhook.agents.claude.settings:FORMAT",
)
