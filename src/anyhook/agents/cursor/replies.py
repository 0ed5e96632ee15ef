"""What hooks of Cursor print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.spec import SPECIFIC, ExitRule, OutputAction, member, usual_exits
from anyhook.model.answers import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Words = Mapping[str | bool, tuple[Outcome, bool]]

# `allow` does not always skip the question of the agent (affaan-m/ECC #2620), so it approves
# nothing.
ALLOWS: Words = {"allow": (Outcome.ALLOW, False)}
DENIES: Words = {**ALLOWS, "deny": (Outcome.DENY, False)}
ASKS: Words = {**DENIES, "ask": (Outcome.ASK, False)}
ASK_DENIES: Words = {**DENIES, "ask": (Outcome.DENY, False)}
CONTINUES: Words = {True: (Outcome.ALLOW, False), False: (Outcome.DENY, False)}
FOLLOWS_UP: Words = {"followup_message": (Outcome.DENY, False)}

ASKING = ("before_shell", "before_mcp_call")
READING = ("before_file_read", "before_tab_read")
SPEAKING = ("before_tool", *ASKING)
"""Events whose replies have a text for the agent."""
SHOWING = ("before_prompt", "before_file_read", "subagent_start")
"""Events whose replies have a text for the user alone."""
ENDING = ("after_agent", "subagent_stop")


OUTPUT = (
    member("permission", "outcome", "decision", "before_tool", *READING, words=DENIES),
    member("permission", "outcome", "decision", *ASKING, words=ASKS),
    member("permission", "outcome", "decision", "subagent_start", words=ASK_DENIES),
    member("continue", "outcome", "decision", "before_prompt", words=CONTINUES),
    member("followup_message", "outcome", "continuation", *ENDING, words=FOLLOWS_UP),
    member("agent_message", "reason", "string", *SPEAKING),
    member("user_message", "system_message", "shown_reason", *SPEAKING),
    member("user_message", "reason", "string", *SHOWING),
    member("user_message", "system_message", "string", "before_compress"),
    member("updated_input", "tool_input", "object", "before_tool"),
    member(
        "additional_context", "context", "string", "session_start", "after_tool", "before_prompt"
    ),
    member("updated_mcp_tool_output", "extra.updated_mcp_tool_output", "object", "after_tool"),
    member("env", "extra.env", "object", "session_start"),
    member("pluginPaths", "extra.plugin_paths", "array", "workspace_open"),
)

ACCEPTED = dict.fromkeys(("permission", "permissionDecision", "decision"), frozenset({"ask"}))
"""Member to the word that is valid where it has no effect."""

FOREIGN_MEMBERS = {
    ("decision",): '"permission": "deny"; at the end of a turn "followup_message": "…"',
    ("systemMessage",): '"user_message": "…"',
    (SPECIFIC, "permissionDecision"): '"permission": "deny"',
    (SPECIFIC, "permissionDecisionReason"): '"user_message" and "agent_message"',
    (SPECIFIC, "updatedInput"): '"updated_input": {…}',
    (SPECIFIC, "additionalContext"): '"additional_context": "…"',
    # Releases before 2.0.64 read these.
    ("userMessage",): '"user_message": "…"',
    ("agentMessage",): '"agent_message": "…"',
}


SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.WARN, OutputAction.NOTHING)
EXITS = usual_exits(SUCCEEDS)
