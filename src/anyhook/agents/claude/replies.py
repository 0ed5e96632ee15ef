"""What hooks of Claude Code print: the members of JSON replies, and the exit codes."""

from __future__ import annotations

from anyhook.agents.claude.events import DENIES, EVENTS
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

BLOCK_WORD = {"block": (Outcome.DENY, False)}
OLD_WORDS = {"approve": (Outcome.ALLOW, True), "block": (Outcome.DENY, False)}
PERMISSION_WORDS = {
    "allow": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
    "defer": (Outcome.DEFER, False),
}
HELD_WORDS = {
    "deny": (Outcome.DENY, False),
    "ask": (Outcome.DENY, False),
    "defer": (Outcome.DENY, False),
    "allow": (Outcome.ALLOW, False),
}
"""On an event on which a question cannot wait for its answer: it keeps the command from running."""
SWITCH_WORDS = {word: PERMISSION_WORDS[word] for word in ("allow", "deny", "ask")}
BEHAVIOR_WORDS = {"allow": (Outcome.ALLOW, True), "deny": (Outcome.DENY, False)}

SWITCHES = ("pre_model_switch", "pre_skill_shell_command")
PERMITTING = ("before_tool", *SWITCHES)
"""Events with a `permissionDecision`."""
_DENIABLE = {spec.canonical for spec in EVENTS if spec.outcomes == DENIES} | {"before_compress"}
BLOCKABLE = _DENIABLE.difference(PERMITTING)
"""Events with a decision at the top level."""


OUTPUT = (
    member("decision", "outcome", "decision", *BLOCKABLE, words=BLOCK_WORD),
    member("decision", "outcome", "decision", "before_tool", words=OLD_WORDS, legacy=True),
    member("reason", "reason", "string", *BLOCKABLE),
    member("decision", "outcome", "decision", *SWITCHES, words=BLOCK_WORD, legacy=True),
    member("reason", "reason", "string", *PERMITTING, legacy=True),
    member("continue", "stop", "not_boolean"),
    member("stopReason", "stop_reason", "string"),
    member("systemMessage", "system_message", "string"),
    member("suppressOutput", "suppress_output", "boolean"),
    member("terminalSequence", "extra.terminal_sequence", "terminal"),
    specific("permissionDecision", "outcome", "decision", "before_tool", words=PERMISSION_WORDS),
    specific("permissionDecision", "outcome", "decision", "pre_model_switch", words=SWITCH_WORDS),
    specific(
        "permissionDecision", "outcome", "decision", "pre_skill_shell_command", words=HELD_WORDS
    ),
    specific("permissionDecisionReason", "reason", "string", *PERMITTING),
    specific("updatedInput", "tool_input", "object", "before_tool"),
    specific("additionalContext", "context", "string"),
    specific("updatedToolOutput", "tool_output", "any", "after_tool"),
    specific("updatedMCPToolOutput", "tool_output", "any", "after_tool", legacy=True),
    specific("classifierContext", "extra.classifier_context", "string", "after_tool"),
    specific(
        "decision.behavior", "outcome", "decision", "permission_request", words=BEHAVIOR_WORDS
    ),
    specific("decision.message", "reason", "string", "permission_request"),
    specific("decision.updatedInput", "tool_input", "object", "permission_request"),
    specific(
        "decision.updatedPermissions", "extra.updated_permissions", "array", "permission_request"
    ),
    specific("decision.interrupt", "stop", "interrupt", "permission_request"),
    specific("retry", "extra.retry", "boolean", "permission_denied"),
    specific("initialUserMessage", "extra.initial_user_message", "string", "session_start"),
    specific("sessionTitle", "extra.session_title", "string", "session_start", "before_prompt"),
    specific(
        "watchPaths", "extra.watch_paths", "array", "session_start", "cwd_changed", "file_changed"
    ),
    specific("reloadSkills", "extra.reload_skills", "boolean", "session_start"),
    specific(
        "suppressOriginalPrompt",
        "extra.suppress_original_prompt",
        "boolean",
        "before_prompt",
        "user_prompt_expansion",
    ),
    specific("displayContent", "extra.display_content", "string", "message_display"),
    specific("worktreePath", "extra.worktree_path", "string", "worktree_create"),
    specific("action", "extra.action", "action", "elicitation", "elicitation_result"),
    specific("content", "extra.content", "content", "elicitation", "elicitation_result"),
)

FOREIGN_MEMBERS = {
    ("additionalContext",): '"hookSpecificOutput": {"additionalContext": "…"}',
    ("permissionDecision",): '"hookSpecificOutput": {"permissionDecision": "deny"}',
    ("updatedInput",): '"hookSpecificOutput": {"updatedInput": {…}}',
    ("tool_input",): '"hookSpecificOutput": {"updatedInput": {…}}',
    (SPECIFIC, "tool_input"): '"hookSpecificOutput": {"updatedInput": {…}}, the whole input',
    (SPECIFIC, "llm_request"): "nothing: requests to the model cannot be changed",
    (SPECIFIC, "llm_response"): "nothing: responses of the model cannot be changed",
    (SPECIFIC, "toolConfig"): "nothing: tools cannot be filtered",
}

FAILS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.WARN, OutputAction.WARN)
BLOCKS = ExitRule(
    OutputAction.APPLY_AND_BLOCK, OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK
)
SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.TEXT, OutputAction.NOTHING)
EXITS = usual_exits(SUCCEEDS, BLOCKS, FAILS)

FAILURE_BLOCKS = ExitRules({0: SUCCEEDS}, other=BLOCKS, signal=BLOCKS)
"""For events whose failed hook prevents the action."""

ONLY_SUCCESS = usual_exits(SUCCEEDS)
"""For events whose JSON replies count only with exit code 0."""

SPECIAL_EXITS = {
    "worktree_create": FAILURE_BLOCKS,
    "worktree_remove": FAILURE_BLOCKS,
    "elicitation": ONLY_SUCCESS,
    "elicitation_result": ONLY_SUCCESS,
}
