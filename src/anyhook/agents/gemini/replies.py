"""What hooks of Gemini CLI print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.spec import SPECIFIC, ExitRule, OutputAction, OutputField, usual_exits
from anyhook.model.answers import Outcome

DECISION_WORDS = {
    "allow": (Outcome.ALLOW, False),
    "approve": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
}

OUTPUT = (
    OutputField(("decision",), "outcome", "decision"),
    OutputField(("reason",), "reason", "string"),
    OutputField(("continue",), "stop", "not_boolean"),
    OutputField(("stopReason",), "stop_reason", "string"),
    OutputField(("systemMessage",), "system_message", "string"),
    OutputField(("suppressOutput",), "suppress_output", "boolean"),
    OutputField((SPECIFIC, "additionalContext"), "context", "string"),
    OutputField((SPECIFIC, "tool_input"), "tool_input", "object"),
    OutputField((SPECIFIC, "llm_request"), "llm_request", "llm_request"),
    OutputField((SPECIFIC, "llm_response"), "llm_response", "llm_response"),
    OutputField((SPECIFIC, "toolConfig"), "tool_config", "tool_config"),
    OutputField((SPECIFIC, "clearContext"), "clear_context", "boolean"),
    OutputField((SPECIFIC, "tailToolCallRequest"), "tail_tool_call", "tool_call"),
)

FOREIGN_MEMBERS = {
    (SPECIFIC, "permissionDecision"): '"decision": "deny" (or "ask", "allow") at the top level',
    (SPECIFIC, "permissionDecisionReason"): '"reason" at the top level',
    (SPECIFIC, "updatedInput"): '"hookSpecificOutput": {"tool_input": {…}}',
    (SPECIFIC, "updatedToolOutput"): '"decision": "deny" with the text to show as "reason"',
    ("permissionDecision",): '"decision": "deny" (or "ask", "allow")',
    ("updatedInput",): '"hookSpecificOutput": {"tool_input": {…}}',
    ("additionalContext",): '"hookSpecificOutput": {"additionalContext": "…"}',
    ("tool_input",): '"hookSpecificOutput": {"tool_input": {…}}',
    ("toolConfig",): '"hookSpecificOutput": {"toolConfig": {…}}',
    ("llm_request",): '"hookSpecificOutput": {"llm_request": {…}}',
    ("llm_response",): '"hookSpecificOutput": {"llm_response": {…}}',
}

SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING)


EXITS = usual_exits(SUCCEEDS)
