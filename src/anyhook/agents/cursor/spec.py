"""The rule sets of Cursor, and its tables, put together, in its two forms.

Cursor could not be run for these tables. Each difference names who measured it, and with which
release. The other form is that of hooks in the settings of Claude Code; its source is "Third-Party
Imports" in Cursor's documentation: the maps of events, tools and replies. The payload that such a
hook gets is not documented; here it has the names of Claude Code.
"""

from __future__ import annotations

from anyhook.agents.cursor.events import EVENTS, VERSION
from anyhook.agents.cursor.replies import ACCEPTED, DENIES, EXITS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.cursor.tools import FOREIGN_TOOLS, REPORTED_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import SPECIFIC, AgentSpec, Differences, EventSpec, OutputField, RuleSet
from anyhook.model.answers import Outcome
from anyhook.model.tools import Tool, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026",
    events=EVENTS,
    exit_rules={"*": EXITS},
    accepted_decisions=ACCEPTED,
    drops_ineffective_fields=True,
    exit_reader="anyhook.agents.cursor.output:CursorExitReader",
    default_reason="",
)

CONTEXT = {"effective_fields": frozenset({"outcome", "reason", "context"})}
OBSERVED = Differences(
    rules={"name": "observed", "release": "Cursor 3.9.16 and cursor-agent 2026.09.10"},
    events={
        # The model saw a context of `beforeSubmitPrompt` in the same turn (3.9.16, exocortex).
        "before_prompt": CONTEXT,
    },
)

WIRE_NAMES = {
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "before_prompt": "UserPromptSubmit",
    "after_agent": "Stop",
    "subagent_stop": "SubagentStop",
    "session_start": "SessionStart",
    "session_end": "SessionEnd",
    "before_compress": "PreCompact",
}
FIELDS = {"before_tool": frozenset({"outcome", "reason", "tool_input"})}
"""Event to the fields of answers that the map of replies has."""

BLOCK_WORD = {"block": (Outcome.DENY, False)}
TOOL = frozenset({"before_tool"})
ENDS = frozenset({"after_agent", "subagent_stop"})
CLAUDE_OUTPUT = (
    OutputField((SPECIFIC, "permissionDecision"), "outcome", "decision", TOOL, DENIES),
    OutputField((SPECIFIC, "permissionDecisionReason"), "reason", "string", TOOL),
    OutputField((SPECIFIC, "updatedInput"), "tool_input", "object", TOOL),
    OutputField(("decision",), "outcome", "decision", ENDS, BLOCK_WORD),
    OutputField(("reason",), "reason", "string", ENDS),
    OutputField((SPECIFIC, "decision"), "outcome", "decision", ENDS, BLOCK_WORD, legacy=True),
    OutputField((SPECIFIC, "reason"), "reason", "string", ENDS, legacy=True),
)

CLAUDE_VOCABULARY = Vocabulary(
    agent="Cursor",
    tools={
        "shell": Tool(("Bash",)),
        "read_file": Tool(("Read",)),
        "write_file": Tool(("Write",)),
        "edit_file": Tool(("Edit",)),
        "grep": Tool(("Grep",)),
        "web_fetch": Tool(("WebFetch",)),
        "web_search": Tool(("WebSearch",)),
        "agent": Tool(("Task",), {"agent_type": "subagent_type"}),
    },
    mcp_name="MCP:{tool}",
)
# A matcher may have either name (the example of the documentation has `Shell`), and `Edit` stands
# for Cursor's `Write`.
ALIASES = {"Shell": "Bash", "Edit": "Write"}


def _event_of_form(spec: EventSpec) -> EventSpec:
    fields: dict[str, Any] = {}
    if spec.canonical not in ENDS:
        fields["effective_fields"] = FIELDS.get(spec.canonical, spec.effective_fields)
    return spec.replace(
        wire=WIRE_NAMES[spec.canonical],
        matcher_text=None,
        payload_keys={"prompt": None} if spec.canonical == "after_agent" else {},
        payload_forms={},
        denial_fields=frozenset(),
        **fields,
    )


FORM_EVENTS = tuple([_event_of_form(spec) for spec in EVENTS if spec.canonical in WIRE_NAMES])


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
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
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
    foreign_tools=FOREIGN_TOOLS,
    session_variables="env",
    hook_environment={
        "CURSOR_PROJECT_DIR": "project_dir",
        "CURSOR_VERSION": f"={VERSION}",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.cursor.settings:FORMAT",
)
CLAUDE_FORM = BASE.replace(
    form_name="claude",
    payload_keys={**BASE.payload_keys, "session_id": "session_id", "duration_ms": None},
    documented=DOCUMENTED.replace(events=FORM_EVENTS),
    observed=Differences(rules=OBSERVED.rules),
    output_fields=CLAUDE_OUTPUT,
    event_name_rule="own",
    foreign_members={},
    tools=("Bash", "Shell", "Read", "Write", "Edit", "Grep", "Task", "WebFetch", "WebSearch"),
    vocabulary=CLAUDE_VOCABULARY,
    foreign_tools=(),
    tool_aliases=ALIASES,
    settings_format="anyhook.agents.cursor.settings:CLAUDE_FORMAT",
)
"""The form of the settings of Claude Code."""
CURSOR = BASE.replace(forms={"claude": CLAUDE_FORM})
