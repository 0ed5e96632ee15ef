"""Hooks in the settings of Claude Code, as Cursor runs them.

Source: "Third-Party Imports" in Cursor's documentation: the maps of events, tools and replies. The
payload that such a hook gets is not documented; here it has the names of Claude Code.
"""

from __future__ import annotations

from anyhook.agents.cursor.events import EVENTS
from anyhook.agents.cursor.observed import DOCUMENTED
from anyhook.agents.cursor.replies import DENIES
from anyhook.agents.spec import SPECIFIC, Differences, EventSpec, OutputField
from anyhook.model.answers import Outcome
from anyhook.model.tools import Tool, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.agents.spec import AgentSpec

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

BLOCKS = {"block": (Outcome.DENY, False)}
TOOL = frozenset({"before_tool"})
ENDS = frozenset({"after_agent", "subagent_stop"})
OUTPUT = (
    OutputField((SPECIFIC, "permissionDecision"), "outcome", "decision", TOOL, DENIES),
    OutputField((SPECIFIC, "permissionDecisionReason"), "reason", "string", TOOL),
    OutputField((SPECIFIC, "updatedInput"), "tool_input", "object", TOOL),
    OutputField(("decision",), "outcome", "decision", ENDS, BLOCKS),
    OutputField(("reason",), "reason", "string", ENDS),
    OutputField((SPECIFIC, "decision"), "outcome", "decision", ENDS, BLOCKS, legacy=True),
    OutputField((SPECIFIC, "reason"), "reason", "string", ENDS, legacy=True),
)

VOCABULARY = Vocabulary(
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


def make_form(agent: AgentSpec) -> AgentSpec:
    """Return the form of the settings of Claude Code, from the agent's own tables."""
    return agent.replace(
        form_name="claude",
        payload_keys={**agent.payload_keys, "session_id": "session_id", "duration_ms": None},
        documented=DOCUMENTED.replace(events=FORM_EVENTS),
        observed=Differences(rules=agent.observed.rules if agent.observed else {}),
        output_fields=OUTPUT,
        output_event_key=(SPECIFIC, "hookEventName"),
        foreign_members={},
        tools=("Bash", "Shell", "Read", "Write", "Edit", "Grep", "Task", "WebFetch", "WebSearch"),
        vocabulary=VOCABULARY,
        renamed_tools={},
        tool_aliases=ALIASES,
        settings_format="anyhook.agents.cursor.settings:CLAUDE_FORMAT",
    )
