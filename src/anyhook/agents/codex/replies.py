"""What hooks of Codex CLI print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.spec import (
    SPECIFIC,
    WARNS,
    ExitRule,
    ExitRules,
    OutputAction,
    member,
    specific,
    usual_exits,
)
from anyhook.model.answers import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.spec import EventSpec
    from anyhook.model.answers import Answer

BLOCK_WORDS = {"block": (Outcome.DENY, False)}
OLD_WORDS = {**BLOCK_WORDS, "approve": (Outcome.ALLOW, True)}
PERMISSION_WORDS = {
    "allow": (Outcome.ALLOW, False),
    "deny": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
}
BEHAVIOR_WORDS = {"allow": (Outcome.ALLOW, True), "deny": (Outcome.DENY, False)}
DECISION_WORDS = {**PERMISSION_WORDS, **OLD_WORDS}

TURN_ENDS = tuple(
    "before_prompt session_start after_agent subagent_stop before_compress post_compact".split()
)
"""Events on which `continue: false` ends the turn."""
COMMON = ("before_tool", "permission_request", "after_tool", "subagent_start", *TURN_ENDS)
"""Events with the members that most replies have."""
BLOCKED = ("after_tool", "before_prompt", "after_agent", "subagent_stop")
"""Events that a top-level `decision` denies."""
CONTEXTS = ("before_tool", "after_tool", "before_prompt", "session_start", "subagent_start")

NEWER = (
    (SPECIFIC, "permissionDecision"),
    (SPECIFIC, "permissionDecisionReason"),
    (SPECIFIC, "updatedInput"),
)
"""Members of PreToolUse with which the older `decision` and `reason` have no effect."""


OUTPUT = (
    member(
        "decision",
        "outcome",
        "decision",
        "before_tool",
        words=OLD_WORDS,
        legacy=True,
        hidden_by=NEWER,
    ),
    member("reason", "reason", "string", "before_tool", legacy=True, hidden_by=NEWER),
    member("decision", "outcome", "decision", *BLOCKED, words=BLOCK_WORDS),
    member("reason", "reason", "string", *BLOCKED),
    member("stopReason", "stop_reason", "string", *TURN_ENDS),
    member("continue", "stop", "not_boolean", *TURN_ENDS),
    member("stopReason", "stop_reason", "string", "after_tool", legacy=True),
    # It does not end the turn: the result is replaced by the reason.
    member("continue", "outcome", "stop_that_denies", "after_tool", legacy=True),
    member(
        "stopReason",
        "extra.stop_reason",
        "string",
        "before_tool",
        "permission_request",
        "subagent_start",
        legacy=True,
    ),
    member(
        "continue",
        "extra.continue",
        "boolean",
        "before_tool",
        "permission_request",
        "subagent_start",
        legacy=True,
    ),
    member("systemMessage", "system_message", "string", *COMMON, "interrupt"),
    member("suppressOutput", "suppress_output", "boolean", *COMMON, legacy=True),
    specific("permissionDecision", "outcome", "decision", "before_tool", words=PERMISSION_WORDS),
    specific("permissionDecisionReason", "reason", "string", "before_tool"),
    specific("updatedInput", "tool_input", "any_input", "before_tool"),
    specific("additionalContext", "context", "string", *CONTEXTS),
    specific("updatedMCPToolOutput", "extra.mcp_output", "any", "after_tool", legacy=True),
    specific(
        "decision.behavior", "outcome", "decision", "permission_request", words=BEHAVIOR_WORDS
    ),
    specific("decision.message", "reason", "string", "permission_request"),
    specific(
        "decision.updatedInput", "extra.updated_input", "any", "permission_request", legacy=True
    ),
    specific(
        "decision.updatedPermissions",
        "extra.updated_permissions",
        "any",
        "permission_request",
        legacy=True,
    ),
    specific("decision.interrupt", "extra.interrupt", "boolean", "permission_request", legacy=True),
)

FOREIGN_MEMBERS = {
    (SPECIFIC, "tool_input"): '"hookSpecificOutput": {"permissionDecision": "allow", '
    '"updatedInput": {…}}',
    (SPECIFIC, "updatedToolOutput"): '"decision": "block" with the text to show as "reason"',
    ("permissionDecision",): '"hookSpecificOutput": {"permissionDecision": "deny"}',
    ("updatedInput",): '"hookSpecificOutput": {"updatedInput": {…}}',
    ("additionalContext",): '"hookSpecificOutput": {"additionalContext": "…"}',
    (SPECIFIC, "llm_request"): "nothing: requests to the model cannot be changed",
    (SPECIFIC, "llm_response"): "nothing: responses of the model cannot be changed",
    (SPECIFIC, "toolConfig"): "nothing: tools cannot be filtered",
}


def make_valid(spec: EventSpec, answer: Answer) -> Answer:
    """Return the answer in a combination of fields that Codex CLI accepts; a denial stays one."""
    if spec.canonical == "before_tool" and answer.tool_input is not None:
        if answer.outcome in (Outcome.NONE, Outcome.ALLOW):
            answer = answer.replace(outcome=Outcome.ALLOW, approve=False)
        else:
            answer = answer.replace(tool_input=None)
    elif spec.canonical == "before_tool" and answer.outcome is Outcome.ALLOW:
        # It is only accepted with changed arguments.
        answer = answer.replace(outcome=Outcome.NONE, approve=False)
    if spec.requires_reason and answer.outcome is not Outcome.DENY:
        answer = answer.replace(reason=None)
    return answer


SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.TEXT, OutputAction.NOTHING)
BLOCKS = ExitRule(
    OutputAction.DENY_TEXT,
    OutputAction.DENY_TEXT,
    OutputAction.DENY_TEXT,
    OutputAction.WARN,
    streams=("stderr",),
    parses_json=False,
    hint="exit code 2 blocks only with a reason on standard error",
)
EXITS = usual_exits(SUCCEEDS, BLOCKS)
NO_TEXT = SUCCEEDS.replace(text=OutputAction.WARN)
"""For events that accept JSON only."""
NOTICE = ExitRules({0: SUCCEEDS}, other=WARNS, signal=WARNS)
UNREAD = ExitRules({0: ExitRule.always(OutputAction.NOTHING)}, other=WARNS, signal=WARNS)
EXIT_RULES = {
    "*": EXITS,
    "after_agent": EXITS.replace(codes={**EXITS.codes, 0: NO_TEXT}),
    "subagent_stop": EXITS.replace(codes={**EXITS.codes, 0: NO_TEXT}),
    "interrupt": NOTICE.replace(codes={0: NO_TEXT}),
    "session_start": NOTICE,
    "subagent_start": NOTICE,
    "before_compress": NOTICE,
    "post_compact": NOTICE,
    "session_end": UNREAD,
    "before_model": UNREAD,
    "after_model": UNREAD,
}
