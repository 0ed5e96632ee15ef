"""What hooks of Qwen Code print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.spec import (
    SPECIFIC,
    ExitRule,
    ExitRules,
    OutputAction,
    member,
    specific,
    usual_exits,
)
from anyhook.model.answers import Outcome

DECISION_WORDS = {
    # The first one is written: the events of the list of things to do know no other denial.
    "block": (Outcome.DENY, False),
    "deny": (Outcome.DENY, False),
    "allow": (Outcome.ALLOW, False),
    "approve": (Outcome.ALLOW, True),
    "ask": (Outcome.ASK, False),
}
BEHAVIOR_WORDS = {"allow": (Outcome.ALLOW, True), "deny": (Outcome.DENY, False)}
PERMISSION_WORDS = {**BEHAVIOR_WORDS, "ask": (Outcome.ASK, False)}
FALSE = {False: (Outcome.DENY, False)}
"""The verdict of `continue: false`."""

STOP_DENIES = (
    "post_tool_batch",
    "before_prompt",
    "user_prompt_expansion",
    "subagent_stop",
)
"""Events on which `continue: false` is a denial: the turn goes on. So it is on PreToolUse."""
TOP_LEVEL = tuple(
    "post_tool_batch before_prompt user_prompt_expansion after_agent subagent_stop "
    "todo_created todo_completed".split()
)
"""Events that a top-level `decision` denies."""


OUTPUT = (
    member("decision", "outcome", "decision", *TOP_LEVEL),
    member("reason", "reason", "string", *TOP_LEVEL),
    # PostToolUse ignores a decision, and PreToolUse prefers the permission decision.
    member("stopReason", "reason", "string", "before_tool", legacy=True),
    member("decision", "outcome", "decision", "before_tool", "after_tool", legacy=True),
    member("reason", "reason", "string", "before_tool", "after_tool", legacy=True),
    member("continue", "outcome", "false_denies", "after_tool", words=FALSE),
    member("stopReason", "reason", "string", "after_tool"),
    member(
        "continue", "outcome", "false_denies", "before_tool", *STOP_DENIES, words=FALSE, legacy=True
    ),
    member("stopReason", "reason", "string", *STOP_DENIES, legacy=True),
    member("continue", "stop", "not_boolean", "after_agent"),
    member("stopReason", "stop_reason", "string", "after_agent"),
    member("systemMessage", "system_message", "string"),
    member("suppressOutput", "suppress_output", "boolean"),
    specific("permissionDecision", "outcome", "decision", "before_tool", words=PERMISSION_WORDS),
    specific("permissionDecisionReason", "reason", "string", "before_tool"),
    specific("updatedInput", "tool_input", "object", "before_tool"),
    specific("additionalContext", "context", "string"),
    specific(
        "decision.behavior", "outcome", "decision", "permission_request", words=BEHAVIOR_WORDS
    ),
    specific("decision.message", "reason", "string", "permission_request"),
    specific("decision.updatedInput", "tool_input", "object", "permission_request"),
    specific(
        "decision.updatedPermissions", "extra.updated_permissions", "array", "permission_request"
    ),
    specific("decision.interrupt", "stop", "interrupt", "permission_request"),
)

FOREIGN_MEMBERS = {
    ("additionalContext",): '"hookSpecificOutput": {"additionalContext": "…"}',
    ("permissionDecision",): '"hookSpecificOutput": {"permissionDecision": "deny"}',
    ("updatedInput",): "a denial with the arguments to use as the reason",
    (SPECIFIC, "tool_input"): "a denial with the arguments to use as the reason",
    (SPECIFIC, "updatedToolOutput"): '"continue": false with the text to show as "stopReason"',
    (SPECIFIC, "llm_request"): "nothing: requests to the model cannot be changed",
    (SPECIFIC, "llm_response"): "nothing: responses of the model cannot be changed",
    (SPECIFIC, "toolConfig"): "nothing: tools cannot be filtered",
    (SPECIFIC, "tailToolCallRequest"): "nothing: hooks cannot call tools",
}

SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.TEXT, OutputAction.NOTHING)
EXITS = usual_exits(SUCCEEDS)

BOTH = ("stdout", "stderr")


def _reads_both(text: OutputAction, stderr_text: OutputAction | None = None) -> ExitRule:
    """Return the rule that reads stdout, or stderr if stdout is blank."""
    return ExitRule(
        OutputAction.APPLY,
        OutputAction.WARN,
        text,
        OutputAction.NOTHING,
        BOTH,
        stderr_text=stderr_text,
    )


DENIES = ExitRule(
    OutputAction.APPLY,
    OutputAction.DENY_TEXT,
    OutputAction.DENY_TEXT,
    OutputAction.NOTHING,
    streams=("stderr",),
)
WARNS_BOTH = _reads_both(OutputAction.WARNING_MESSAGE)
OBSERVED_EXITS = ExitRules(
    {0: _reads_both(OutputAction.MESSAGE), 2: DENIES}, other=WARNS_BOTH, signal=WARNS_BOTH
)
CONTEXT_EXITS = OBSERVED_EXITS.replace(
    codes={0: _reads_both(OutputAction.TEXT, OutputAction.MESSAGE), 2: DENIES}
)
"""For events that take plain text on standard output as context."""
