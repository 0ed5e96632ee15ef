"""What hooks of OpenCode print: the members of JSON replies, and the exit codes.

The form is anyhook's own, because OpenCode has none. The members have the names of what the plugin
changes: `args` and `output` are members of the objects that OpenCode gives to its hooks.
"""

from __future__ import annotations

from anyhook.agents.spec import ExitRule, OutputAction, OutputField, usual_exits
from anyhook.model.answers import Outcome

DECISION_WORDS = {
    "allow": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
}
PERMISSION_WORDS = {**DECISION_WORDS, "ask": (Outcome.ASK, False)}
FOREIGN_WORDS = {
    "approve": (Outcome.ALLOW, True),
    "ask": (Outcome.DENY, False),  # nothing can make OpenCode ask its user before a tool
}
"""Words of other agents, and how they are read."""
DENIABLE = frozenset(
    "before_prompt user_prompt_expansion before_tool permission_request after_tool "
    "after_agent".split()
)
"""Events with a decision."""
PERMISSION = frozenset({"permission_request"})
TURN = DENIABLE - {"after_agent"} | {"post_tool_use_failure"}
"""Events of a turn, which can be ended."""
INFORMED = frozenset(
    "session_start before_prompt user_prompt_expansion before_tool after_tool "
    "subagent_start before_compress".split()
)
"""Events whose replies can pass context to the agent."""

OUTPUT = (
    OutputField(("decision",), "outcome", "decision", DENIABLE - PERMISSION),
    OutputField(("decision",), "outcome", "decision", PERMISSION, PERMISSION_WORDS),
    OutputField(("reason",), "reason", "string", DENIABLE),
    OutputField(("continue",), "stop", "not_boolean", TURN),
    OutputField(("stopReason",), "stop_reason", "string", TURN),
    OutputField(("message",), "system_message", "string"),
    OutputField(("args",), "tool_input", "object", frozenset({"before_tool"})),
    OutputField(("output",), "tool_output", "any", frozenset({"after_tool"})),
    OutputField(("context",), "context", "string", INFORMED),
    OutputField(("prompt",), "extra.prompt", "string", frozenset({"before_compress"})),
    OutputField(("text",), "extra.text", "string", frozenset({"agent_response"})),
)

FOREIGN_MEMBERS: dict[tuple[str, ...], str] = {
    ("hookSpecificOutput",): "its members at the top level: args, output, context, decision",
    ("permissionDecision",): '"decision": "deny" (or "allow")',
    ("permissionDecisionReason",): '"reason"',
    ("updatedInput",): '"args": {…}',
    ("tool_input",): '"args": {…}',
    ("updatedToolOutput",): '"output": "…"',
    ("additionalContext",): '"context": "…"',
    ("systemMessage",): '"message": "…"',
}

SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.TEXT, OutputAction.NOTHING)


EXITS = usual_exits(SUCCEEDS)
