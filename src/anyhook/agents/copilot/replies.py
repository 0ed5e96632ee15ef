"""What hooks of GitHub Copilot CLI print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.spec import SPECIFIC, ExitRule, ExitRules, OutputAction, member
from anyhook.model.answers import Outcome

PERMISSION_WORDS = {
    "allow": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
}
BEHAVIOR_WORDS = {"allow": (Outcome.ALLOW, True), "deny": (Outcome.DENY, False)}
BLOCK_WORD = {"block": (Outcome.DENY, False)}
STOP_WORDS = {**BLOCK_WORD, "allow": (Outcome.ALLOW, False)}

BLOCKABLE = ("before_prompt", "after_tool")
STOPPABLE = ("after_agent", "subagent_stop")
INFORMED = tuple(
    "session_start before_prompt after_tool post_tool_use_failure subagent_start "
    "notification".split()
)
"""Events whose context is a string; on `before_tool` a number is one, too."""


# A reason stands before its decision, because some decisions need one.
OUTPUT = (
    member("permissionDecisionReason", "reason", "text", "before_tool"),
    member("permissionDecision", "outcome", "decision", "before_tool", words=PERMISSION_WORDS),
    member("modifiedArgs", "tool_input", "arguments", "before_tool"),
    member("additionalContext", "context", "text", "before_tool"),
    member("message", "reason", "string", "permission_request"),
    member("behavior", "outcome", "decision", "permission_request", words=BEHAVIOR_WORDS),
    member("interrupt", "stop", "denied_interrupt", "permission_request"),
    member("reason", "reason", "string", *BLOCKABLE, *STOPPABLE),
    member("decision", "outcome", "explained_decision", *BLOCKABLE, words=BLOCK_WORD),
    member("decision", "outcome", "explained_decision", *STOPPABLE, words=STOP_WORDS),
    member("modifiedResult", "tool_output", "result_object", "after_tool"),
    member("additionalContext", "context", "string", *INFORMED),
    member("modifiedPrompt", "extra.modified_prompt", "string", "before_prompt"),
    member("responseContent", "extra.response_content", "string", "before_prompt"),
    member("handled", "extra.handled", "handled", "before_prompt"),
    member(
        "modifiedTransformedPrompt",
        "extra.modified_transformed_prompt",
        "string",
        "prompt_transformed",
    ),
    member("modifiedResponse", "extra.modified_response", "string", "subagent_stop"),
    member("metaToUse", "extra.meta_to_use", "object", "before_mcp_call"),
)

TO_DENY = '"permissionDecision": "deny" at the top level, or "behavior" on permissionRequest'
FOREIGN_MEMBERS = {
    (SPECIFIC, "permissionDecision"): TO_DENY,
    (SPECIFIC, "permissionDecisionReason"): '"permissionDecisionReason" at the top level',
    (SPECIFIC, "decision"): '"behavior" and "message" at the top level',
    (SPECIFIC, "additionalContext"): '"additionalContext" at the top level',
    (SPECIFIC, "updatedInput"): '"modifiedArgs" at the top level, with all arguments',
    (SPECIFIC, "tool_input"): '"modifiedArgs" at the top level, with all arguments',
    (SPECIFIC, "updatedToolOutput"): '"modifiedResult": {"textResultForLlm": "…"}',
    ("updatedInput",): '"modifiedArgs", with all arguments',
    ("permission_decision",): '"permissionDecision"',
    ("continue",): '"decision": "block" with a "reason" where the event has it',
    ("stopReason",): '"reason" next to the decision',
    ("systemMessage",): "the text to standard error, with exit code 2 on other events than calls",
}

SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING)
SHOWS = ExitRule(
    OutputAction.APPLY_AND_BLOCK, OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK
)
"""Exit code 2 shows standard error to the user; a reply counts as with exit code 0."""
DENIES = ExitRule.always(OutputAction.MERGE_DENIAL)
FAILS = ExitRule.always(OutputAction.WARN)
CLOSES = ExitRule.always(OutputAction.FAIL_CLOSED)

EXITS = ExitRules({0: SUCCEEDS, 2: SHOWS}, other=FAILS, signal=FAILS)
TOOL_EXITS = ExitRules({0: SUCCEEDS, 2: DENIES}, other=CLOSES, signal=CLOSES)
PERMISSION_EXITS = ExitRules({0: SUCCEEDS, 2: DENIES}, other=FAILS, signal=FAILS)
CLOSED_PERMISSION_EXITS = ExitRules(
    {
        0: ExitRule(
            OutputAction.APPLY,
            OutputAction.FAIL_CLOSED,
            OutputAction.FAIL_CLOSED,
            OutputAction.NOTHING,
        ),
        2: DENIES,
    },
    other=CLOSES,
    signal=CLOSES,
)
SILENT_SUCCESS = SUCCEEDS.replace(malformed=OutputAction.NOTHING, text=OutputAction.NOTHING)
STDOUT_ADVISES = ExitRules(
    {0: SILENT_SUCCESS, 2: ExitRule.always(OutputAction.TEXT)}, other=FAILS, signal=FAILS
)
"""Exit code 2 gives standard output to the agent, as the reference has it."""
STDERR_ADVISES = ExitRules(
    {0: SILENT_SUCCESS, 2: ExitRule.always(OutputAction.STDERR_AS_CONTEXT)},
    other=FAILS,
    signal=FAILS,
)
"""Exit code 2 gives standard error to the agent."""
