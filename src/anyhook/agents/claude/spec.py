"""Claude Code: its tables, put together."""

from __future__ import annotations

from anyhook.agents.claude.observed import DOCUMENTED, OBSERVED, OLDER_RELEASES
from anyhook.agents.claude.replies import FOREIGN_MEMBERS, OLD_WORDS, OUTPUT, PERMISSION_WORDS
from anyhook.agents.claude.settings import (
    ENV_FILE,
    HANDLER_TYPES,
    HOOK_TOGGLES,
    LAYER_ORDER,
    PLUGINS,
    PRECEDENCE,
    SETTINGS,
    WEB,
)
from anyhook.agents.claude.tools import RENAMED_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec
from anyhook.model.answers import Outcome
from anyhook.model.layers import Layer

MISSING_FIELDS = ("timestamp", "mcp_context", "original_request_name", "details")
"""Fields of events that only other agents send."""

CLAUDE = AgentSpec(  # noqa: S604 - `shell` names programs, it runs none
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
    tool_result_form="anyhook.agents.claude.tool_results:FORM",
    tool_failure_event="post_tool_use_failure",
    absolute_paths=True,
    field_defaults={"permission_mode": "default_mode", "tool_use_id": "call_id"},
    tool_prefix="mcp__",
    renamed_tools=RENAMED_TOOLS,
    tool_aliases=TOOL_ALIASES,
    settings=SETTINGS,
    # Both releases drop the file without a word; a byte order mark does no harm.
    rejected_json=frozenset({"comment", "comma"}),
    settings_environment=("env",),
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    needs_trust=frozenset({Layer.PROJECT, Layer.LOCAL}),
    hook_toggles=HOOK_TOGGLES,
    renamed_events={
        "BeforeTool": "PreToolUse",
        "AfterTool": "PostToolUse",
        "BeforeAgent": "UserPromptSubmit",
        "AfterAgent": "Stop",
        "PreCompress": "PreCompact",
        "SubAgentStop": "SubagentStop",
    },
    definition_fields=frozenset({"matcher", "hooks", "description"}),
    handler_fields=frozenset({"type", "timeout", "name", "description"}),
    config_dir="{home}/.claude",
    config_variable="CLAUDE_CONFIG_DIR",
    packages=PLUGINS,
    handler_types=HANDLER_TYPES,
    shell=(("sh", "-c"), ("bash", "-c")),
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("pwsh", "-NoProfile", "-Command"), ("powershell", "-Command")),
    },
    hook_environment={
        "CLAUDE_PROJECT_DIR": "project_dir",
        "CLAUDE_CODE_SESSION_ID": "session_id",
        "CLAUDECODE": "=1",
        "CLAUDE_CODE_CHILD_SESSION": "=1",
    },
    env_file=ENV_FILE,
    stripped_prefixes=("OTEL_", "CLAUDE_CODE_MESSAGING_TOKEN"),
    web=WEB,
)
