"""Claude Code.

Sources: the schemas of its nine classic events (C), and where they are silent the hooks reference
at code.claude.com as of 2026-10 (release 2.1.296). The rules `observed` are what release 2.1.330
was seen to do; `OLDER` says what releases before it do differently.
"""

from __future__ import annotations

from anyhook.agents.spec import (
    ONLY_WARNS,
    AgentSpec,
    Denial,
    Differences,
    EnvFileRules,
    EventSpec,
    ExitRule,
    ExitRules,
    HandlerField,
    HandlerType,
    HookToggle,
    OutputAction,
    OutputField,
    PlainText,
    Plugins,
    RuleSet,
    SettingsFile,
    WebRules,
)
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer
from anyhook.model.sequence import SEQUENCE
from anyhook.model.tools import Tool, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPECIFIC = "hookSpecificOutput"

COMMON = frozenset(
    {"stop", "stop_reason", "system_message", "suppress_output", "extra.terminal_sequence"}
)
BLOCK = COMMON | {"outcome", "reason"}
STARTS = frozenset(
    {
        "context",
        "extra.initial_user_message",
        "extra.session_title",
        "extra.watch_paths",
        "extra.reload_skills",
    }
)
SIGNALS = frozenset({"extra.terminal_sequence"})
"""What works even on events that discard every other output."""

DENIES = frozenset({Outcome.DENY})
ALL = frozenset({"command", "http", "mcp_tool", "prompt", "agent", "function"})
NO_PROMPT = ALL - {"prompt", "agent"}
LATE = {"command": 30.0, "http": 30.0, "mcp_tool": 30.0}

# what a prompt handler's "no" does: by itself, and with `continueOnBlock`
DENY_AND_STOP = ({"outcome": Outcome.DENY, "stop": True}, {"outcome": Outcome.DENY})
STOP_ALWAYS = ({"outcome": Outcome.DENY, "stop": True}, {"outcome": Outcome.DENY, "stop": True})
DENY_ONLY = ({"outcome": Outcome.DENY}, {"outcome": Outcome.DENY})

TOOL: dict[str, Any] = {"subject": "tool_name", "supports_conditions": True}

_EVENTS = (
    EventSpec(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear", "compact", "fork"),
        effective_fields=COMMON | STARTS,
        denial=Denial.NOTHING,
        can_block=False,
        plain_text=PlainText.CONTEXT,
        handler_kinds=frozenset({"command", "mcp_tool", "function"}),
    ),
    EventSpec(
        "setup",
        "Setup",
        subject="trigger",
        subjects=("init", "maintenance"),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        handler_kinds=frozenset({"command", "function"}),
    ),
    EventSpec(
        "instructions_loaded",
        "InstructionsLoaded",
        subject="load_reason",
        subjects=("session_start", "nested_traversal", "path_glob_match", "include", "compact"),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "before_prompt",
        "UserPromptSubmit",
        discarded_on_denial=frozenset({"context"}),
        effective_fields=BLOCK
        | {"context", "extra.session_title", "extra.suppress_original_prompt"},
        outcomes=DENIES,
        plain_text=PlainText.CONTEXT,
        tolerates_missing_file=frozenset({Layer.PLUGIN}),
        handler_kinds=ALL,
        default_timeouts=LATE,
        prompt_refusals=STOP_ALWAYS,
    ),
    EventSpec(
        "user_prompt_expansion",
        "UserPromptExpansion",
        subject="command_name",
        effective_fields=BLOCK | {"context", "extra.suppress_original_prompt"},
        outcomes=DENIES,
        plain_text=PlainText.CONTEXT,
        handler_kinds=ALL,
        prompt_refusals=STOP_ALWAYS,
    ),
    EventSpec(
        "message_display",
        "MessageDisplay",
        effective_fields=COMMON | {"extra.display_content"},
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
        default_timeouts={"command": 10.0, "http": 10.0, "mcp_tool": 10.0},
    ),
    EventSpec(
        "before_tool",
        "PreToolUse",
        effective_fields=BLOCK | {"approve", "context", "tool_input"},
        reason_audience=Audience.AGENT,
        allow_audience=Audience.USER,
        field_policies={"tool_input": "replace"},
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        handler_kinds=ALL,
        prompt_refusals=DENY_AND_STOP,
        **TOOL,
    ),
    EventSpec(
        "permission_request",
        "PermissionRequest",
        effective_fields=BLOCK | {"approve", "tool_input", "extra.updated_permissions"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        reason_audience=Audience.AGENT,
        field_policies={"tool_input": "replace"},
        can_block=False,
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        handler_kinds=ALL - {"agent"},
        **TOOL,
    ),
    EventSpec(
        "permission_denied",
        "PermissionDenied",
        effective_fields=COMMON | {"extra.retry"},
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        handler_kinds=ALL,
        fails_closed=False,
        **TOOL,
    ),
    EventSpec(
        "after_tool",
        "PostToolUse",
        effective_fields=BLOCK | {"context", "tool_output", "extra.classifier_context"},
        outcomes=DENIES,
        denial=Denial.INFORMS,
        reason_audience=Audience.AGENT,
        handler_kinds=ALL,
        prompt_refusals=DENY_AND_STOP,
        **TOOL,
    ),
    EventSpec(
        "post_tool_use_failure",
        "PostToolUseFailure",
        effective_fields=BLOCK | {"context"},
        outcomes=DENIES,
        denial=Denial.INFORMS,
        reason_audience=Audience.AGENT,
        handler_kinds=ALL,
        prompt_refusals=DENY_ONLY,
        **TOOL,
    ),
    EventSpec(
        "post_tool_batch",
        "PostToolBatch",
        effective_fields=BLOCK | {"context"},
        outcomes=DENIES,
        denial=Denial.ENDS,
        handler_kinds=ALL,
        prompt_refusals=STOP_ALWAYS,
    ),
    EventSpec(
        "notification",
        "Notification",
        discarded_fields=frozenset({"context"}),
        subject="notification_type",
        subjects=(
            "permission_prompt",
            "idle_prompt",
            "auth_success",
            "elicitation_dialog",
            "elicitation_url_dialog",
            "elicitation_complete",
            "elicitation_response",
            "agent_needs_input",
            "agent_completed",
            "quota_auto_resume_fired",
            "quota_auto_resume_stale",
            "quota_auto_resume_disabled",
            "worker_permission_prompt",
            "push_notification",
            "computer_use_enter",
            "computer_use_exit",
            "model_refusal_fallback",
            "auth_storage_failure",
            "plugin_notification",
        ),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
        optional_fields=frozenset({"notification_type"}),
    ),
    EventSpec(
        "subagent_start",
        "SubagentStart",
        subject="agent_type",
        effective_fields=COMMON | {"context"},
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "subagent_stop",
        "SubagentStop",
        subject="agent_type",
        effective_fields=BLOCK | {"context"},
        outcomes=DENIES,
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        tolerates_missing_file=frozenset(),
        fails_closed=False,
        handler_kinds=ALL,
        prompt_refusals=DENY_ONLY,
        optional_fields=frozenset({"agent_type"}),
        payload_keys={"prompt_response": "last_assistant_message"},
    ),
    EventSpec(
        "task_created",
        "TaskCreated",
        effective_fields=BLOCK - {"stop", "stop_reason"},
        outcomes=DENIES,
        reason_audience=Audience.AGENT,
        handler_kinds=ALL,
        prompt_refusals=DENY_ONLY,
    ),
    EventSpec(
        "task_completed",
        "TaskCompleted",
        effective_fields=BLOCK,
        outcomes=DENIES,
        reason_audience=Audience.AGENT,
        tolerates_missing_file=frozenset(),
        fails_closed=False,
        handler_kinds=ALL,
        prompt_refusals=DENY_ONLY,
    ),
    EventSpec(
        "after_agent",
        "Stop",
        effective_fields=BLOCK | {"context"},
        outcomes=DENIES,
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        tolerates_missing_file=frozenset(),
        fails_closed=False,
        handler_kinds=ALL,
        prompt_refusals=DENY_ONLY,
        optional_fields=frozenset({"prompt_response"}),
        payload_keys={"prompt": None, "prompt_response": "last_assistant_message"},
    ),
    EventSpec(
        "stop_failure",
        "StopFailure",
        subject="error",
        subjects=(
            "rate_limit",
            "overloaded",
            "authentication_failed",
            "oauth_org_not_allowed",
            "account_on_hold",
            "billing_error",
            "invalid_request",
            "model_not_found",
            "server_error",
            "max_output_tokens",
            "cloud_credential_error",
            "verification_required",
            "unknown",
        ),
        matcher_style="narrow",
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "teammate_idle",
        "TeammateIdle",
        effective_fields=BLOCK,
        outcomes=DENIES,
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        handler_kinds=ALL,
        prompt_refusals=({"stop": True}, {"outcome": Outcome.DENY}),
    ),
    EventSpec(
        "config_change",
        "ConfigChange",
        subject="source",
        subjects=(
            "user_settings",
            "project_settings",
            "local_settings",
            "policy_settings",
            "skills",
        ),
        effective_fields=SIGNALS | {"outcome", "reason"},
        outcomes=DENIES,
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "cwd_changed",
        "CwdChanged",
        effective_fields=SIGNALS | {"system_message", "extra.watch_paths"},
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "directory_added",
        "DirectoryAdded",
        subject="source",
        subjects=("slash_command", "register_repo_root"),
        effective_fields=SIGNALS | {"system_message"},
        denial=Denial.NOTHING,
        can_block=False,
        block_audience=Audience.DEBUG,
        message_audience=Audience.AGENT,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "file_changed",
        "FileChanged",
        subject="file_name",
        matcher_style="narrow",
        effective_fields=SIGNALS | {"system_message", "extra.watch_paths"},
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
        payload_keys={"change": "event"},
    ),
    EventSpec(
        "worktree_create",
        "WorktreeCreate",
        effective_fields=SIGNALS | {"outcome", "reason", "extra.worktree_path"},
        outcomes=DENIES,
        plain_text=PlainText.PATH,
        handler_kinds=NO_PROMPT,
        payload_keys={"worktree_name": "name"},
        no_opinion_output="",
        reads_all_output=True,
    ),
    EventSpec(
        "worktree_remove",
        "WorktreeRemove",
        effective_fields=SIGNALS | {"outcome", "reason"},
        outcomes=DENIES,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "before_compress",
        "PreCompact",
        discarded_fields=frozenset({"context", "outcome", "approve", "reason"}),
        subject="trigger",
        subjects=("manual", "auto"),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
        no_opinion_output="",
    ),
    EventSpec(
        "post_compact",
        "PostCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
        no_opinion_output="",
    ),
    EventSpec(
        "pre_model_switch",
        "PreModelSwitch",
        subject="model_name",
        effective_fields=SIGNALS | {"outcome", "approve", "reason", "system_message"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.ASK, Outcome.DENY}),
        blocks_at_timeout=True,
        handler_kinds=NO_PROMPT,
        default_timeouts=LATE,
    ),
    EventSpec(
        "post_model_switch",
        "PostModelSwitch",
        subject="model_name",
        effective_fields=COMMON | {"context"},
        denial=Denial.NOTHING,
        can_block=False,
        plain_text=PlainText.CONTEXT,
        handler_kinds=NO_PROMPT,
        default_timeouts=LATE,
    ),
    EventSpec(
        "session_end",
        "SessionEnd",
        discarded_fields=frozenset({"context"}),
        subject="reason",
        subjects=(
            "clear",
            "resume",
            "logout",
            "prompt_input_exit",
            "other",
            "exit",
            "bypass_permissions_disabled",
        ),
        effective_fields=SIGNALS,
        denial=Denial.NOTHING,
        can_block=False,
        handler_kinds=NO_PROMPT,
        default_timeouts={"command": 1.5, "http": 1.5, "mcp_tool": 1.5},
        max_timeouts={**dict.fromkeys(Layer, 60.0), Layer.PLUGIN: 1.5},
    ),
    EventSpec(
        "elicitation",
        "Elicitation",
        subject="mcp_server_name",
        effective_fields=SIGNALS | {"outcome", "extra.action", "extra.content"},
        outcomes=DENIES,
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    EventSpec(
        "elicitation_result",
        "ElicitationResult",
        subject="mcp_server_name",
        effective_fields=SIGNALS | {"outcome", "extra.action", "extra.content"},
        outcomes=DENIES,
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
)
CLASSIC_OUTPUT = frozenset({"before_tool", "after_tool", "after_agent", "subagent_stop"})
"""Events whose output C shows in the transcript."""

EVENTS = tuple(
    spec.replace(
        chained_fields=SEQUENCE.get(spec.canonical, {}),
        plain_text=PlainText.NOTHING
        if spec.plain_text is PlainText.SYSTEM_MESSAGE
        else spec.plain_text,
        stdout_audience=Audience.TRANSCRIPT if spec.canonical in CLASSIC_OUTPUT else Audience.DEBUG,
    )
    for spec in _EVENTS
)

DECIDING = frozenset(
    {spec.canonical for spec in EVENTS if spec.outcomes == DENIES} | {"before_compress"}
)
"""Events with a decision at the top level."""
PERMITTING = frozenset({"before_tool", "pre_model_switch"})
BLOCK_WORD = {"block": (Outcome.DENY, False)}
OLD_WORDS = {"approve": (Outcome.ALLOW, True), "block": (Outcome.DENY, False)}
PERMISSION_WORDS = {
    "allow": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
    "defer": (Outcome.DEFER, False),
}
SWITCH_WORDS = {word: PERMISSION_WORDS[word] for word in ("allow", "deny", "ask")}
BEHAVIOR_WORDS = {"allow": (Outcome.ALLOW, True), "deny": (Outcome.DENY, False)}


def _on(*events: str) -> frozenset[str]:
    return frozenset(events)


OUTPUT = (
    OutputField(("decision",), "outcome", "decision", DECIDING, BLOCK_WORD),
    OutputField(("decision",), "outcome", "decision", _on("before_tool"), OLD_WORDS, legacy=True),
    OutputField(("reason",), "reason", "string", DECIDING),
    OutputField(
        ("decision",), "outcome", "decision", _on("pre_model_switch"), BLOCK_WORD, legacy=True
    ),
    OutputField(("reason",), "reason", "string", PERMITTING, legacy=True),
    OutputField(("continue",), "stop", "not_boolean"),
    OutputField(("stopReason",), "stop_reason", "string"),
    OutputField(("systemMessage",), "system_message", "string"),
    OutputField(("suppressOutput",), "suppress_output", "boolean"),
    OutputField(("terminalSequence",), "extra.terminal_sequence", "terminal"),
    OutputField(
        (SPECIFIC, "permissionDecision"),
        "outcome",
        "decision",
        _on("before_tool"),
        PERMISSION_WORDS,
    ),
    OutputField(
        (SPECIFIC, "permissionDecision"),
        "outcome",
        "decision",
        _on("pre_model_switch"),
        SWITCH_WORDS,
    ),
    OutputField((SPECIFIC, "permissionDecisionReason"), "reason", "string", PERMITTING),
    OutputField((SPECIFIC, "updatedInput"), "tool_input", "object", _on("before_tool")),
    OutputField((SPECIFIC, "additionalContext"), "context", "string"),
    OutputField((SPECIFIC, "updatedToolOutput"), "tool_output", "any", _on("after_tool")),
    OutputField(
        (SPECIFIC, "updatedMCPToolOutput"), "tool_output", "any", _on("after_tool"), legacy=True
    ),
    OutputField(
        (SPECIFIC, "classifierContext"), "extra.classifier_context", "string", _on("after_tool")
    ),
    OutputField(
        (SPECIFIC, "decision", "behavior"),
        "outcome",
        "decision",
        _on("permission_request"),
        BEHAVIOR_WORDS,
    ),
    OutputField((SPECIFIC, "decision", "message"), "reason", "string", _on("permission_request")),
    OutputField(
        (SPECIFIC, "decision", "updatedInput"), "tool_input", "object", _on("permission_request")
    ),
    OutputField(
        (SPECIFIC, "decision", "updatedPermissions"),
        "extra.updated_permissions",
        "array",
        _on("permission_request"),
    ),
    OutputField(
        (SPECIFIC, "decision", "interrupt"), "stop", "interrupt", _on("permission_request")
    ),
    OutputField((SPECIFIC, "retry"), "extra.retry", "boolean", _on("permission_denied")),
    OutputField(
        (SPECIFIC, "initialUserMessage"),
        "extra.initial_user_message",
        "string",
        _on("session_start"),
    ),
    OutputField(
        (SPECIFIC, "sessionTitle"),
        "extra.session_title",
        "string",
        _on("session_start", "before_prompt"),
    ),
    OutputField(
        (SPECIFIC, "watchPaths"),
        "extra.watch_paths",
        "array",
        _on("session_start", "cwd_changed", "file_changed"),
    ),
    OutputField((SPECIFIC, "reloadSkills"), "extra.reload_skills", "boolean", _on("session_start")),
    OutputField(
        (SPECIFIC, "suppressOriginalPrompt"),
        "extra.suppress_original_prompt",
        "boolean",
        _on("before_prompt", "user_prompt_expansion"),
    ),
    OutputField(
        (SPECIFIC, "displayContent"), "extra.display_content", "string", _on("message_display")
    ),
    OutputField(
        (SPECIFIC, "worktreePath"), "extra.worktree_path", "string", _on("worktree_create")
    ),
    OutputField(
        (SPECIFIC, "action"), "extra.action", "action", _on("elicitation", "elicitation_result")
    ),
    OutputField(
        (SPECIFIC, "content"), "extra.content", "content", _on("elicitation", "elicitation_result")
    ),
)

FOREIGN_OUTPUT = {
    ("additionalContext",): '"hookSpecificOutput": {"additionalContext": "…"}',
    ("permissionDecision",): '"hookSpecificOutput": {"permissionDecision": "deny"}',
    ("updatedInput",): '"hookSpecificOutput": {"updatedInput": {…}}',
    ("tool_input",): '"hookSpecificOutput": {"updatedInput": {…}}',
    (SPECIFIC, "tool_input"): '"hookSpecificOutput": {"updatedInput": {…}}, the whole input',
    (SPECIFIC, "llm_request"): "nothing: requests to the model cannot be changed",
    (SPECIFIC, "llm_response"): "nothing: responses of the model cannot be changed",
    (SPECIFIC, "toolConfig"): "nothing: tools cannot be filtered",
}

TOOL_ALIASES = {
    "Task": "Agent",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "ListPeers": "ListAgents",
    "Brief": "SendUserMessage",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
    "ProposeGoal": "SetGoal",
}
"""Tool names of former releases; matchers still cover today's tool by them."""

TOOLS = (
    *"Agent Artifact AskUserQuestion Bash BashOutput ClaudeDesign CronCreate CronDelete CronList "
    "Edit EndConversation EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep LS LSP "
    "ListAgents ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead "
    "OfferChromeSetup PowerShell Projects PushNotification REPL Read ReadMcpResourceDirTool "
    "ReadMcpResourceTool ReadNotifications RefreshMcpTools RemoteTrigger ReportFindings "
    "ScheduleWakeup SendFeedback SendMessage SendUserFile SendUserMessage SetGoal "
    "ShareOnboardingGuide ShowOnboardingRolePicker Skill SlashCommand SubagentHandback TaskCreate "
    "TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WaitForMcpServers "
    "WebFetch WebSearch Workflow Write".split(),
    *TOOL_ALIASES,
)

TOOL_TABLE = {
    "shell": Tool(
        ("Bash", "PowerShell"),
        {"background": "run_in_background"},
        without=frozenset({"directory"}),
    ),
    "read_file": Tool(("Read",)),
    "write_file": Tool(("Write",)),
    "edit_file": Tool(("Edit", "MultiEdit")),
    "edit_notebook": Tool(("NotebookEdit",)),
    "list_directory": Tool(("LS",)),
    "glob": Tool(("Glob",)),
    "grep": Tool(
        ("Grep",),
        {
            "ignore_case": "-i",
            "only_matching": "-o",
            "line_numbers": "-n",
            "lines_before": "-B",
            "lines_after": "-A",
            "lines_around": "-C",
        },
    ),
    "web_fetch": Tool(("WebFetch",)),
    "web_search": Tool(("WebSearch",)),
    "agent": Tool(
        ("Agent", "Task"), {"agent_type": "subagent_type", "background": "run_in_background"}
    ),
    "ask_user": Tool(("AskUserQuestion",)),
    "write_todos": Tool(("TodoWrite",)),
    "skill": Tool(("Skill",), {"name": "skill"}),
    "enter_plan_mode": Tool(("EnterPlanMode",)),
    "exit_plan_mode": Tool(("ExitPlanMode",)),
}

OLD_TOOLS = {
    "run_shell_command": "Bash",
    "run_terminal_command": "Bash",
    "shell": "Bash",
    "bash": "Bash",
    "write_file": "Write",
    "write_to_file": "Write",
    "write": "Write",
    "replace": "Edit",
    "edit_file": "Edit",
    "edit": "Edit",
    "read_file": "Read",
    "read": "Read",
    "glob": "Glob",
    "grep": "Grep",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "list_directory": "LS",
    "web_fetch": "WebFetch",
    "google_web_search": "WebSearch",
    "web_search": "WebSearch",
    "write_todos": "TodoWrite",
    "invoke_agent": "Agent",
    "ask_user": "AskUserQuestion",
}

FAILS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.WARN, OutputAction.WARN)
BLOCKS = ExitRule(
    OutputAction.APPLY_AND_BLOCK, OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK
)
SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.TEXT, OutputAction.NOTHING)
EXITS = ExitRules(
    {0: SUCCEEDS, 1: FAILS.replace(hint=ONLY_WARNS), 2: BLOCKS}, other=FAILS, signal=FAILS
)
FAILURE_BLOCKS = ExitRules({0: SUCCEEDS}, other=BLOCKS, signal=BLOCKS)
"""Events whose failure fails the action."""
IGNORED = ExitRule(OutputAction.WARN, OutputAction.WARN, OutputAction.WARN, OutputAction.WARN)
ONLY_SUCCESS = ExitRules(
    {
        0: SUCCEEDS,
        1: IGNORED.replace(hint=ONLY_WARNS),
        2: ExitRule(OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK),
    },
    other=IGNORED,
    signal=IGNORED,
)
"""Events whose output counts on success alone."""

SPECIAL_EXITS = {
    "worktree_create": FAILURE_BLOCKS,
    "worktree_remove": FAILURE_BLOCKS,
    "elicitation": ONLY_SUCCESS,
    "elicitation_result": ONLY_SUCCESS,
}

DOCUMENTED = RuleSet(
    name="documented",
    release="schemas of the nine classic events, then the hooks reference of 2.1.296",
    events=EVENTS,
    exit_rules={"*": EXITS, **SPECIAL_EXITS},
    objects_only=True,
    async_replies=True,
    warning_audience=Audience.USER,
)

OBSERVED = DOCUMENTED.with_differences(
    Differences(
        rules={
            "name": "observed",
            "release": "2.1.330",
            "strict": True,
            "stderr_as_reason": False,
            "accepted_decisions": frozenset(OLD_WORDS),
            "default_reason": "",
            "last_duplicate_wins": True,
            "drops_ineffective_fields": True,
            "toggle_policy": "precedence",
        },
        every_event={"stdout_audience": Audience.DEBUG},
        events={
            "before_tool": {"stop_prevents": False},
            "before_compress": {
                "discarded_fields": frozenset(),
                "can_block": True,
                "denial": Denial.PREVENTS,
                "effective_fields": SIGNALS | {"outcome", "reason", "context"},
                "outcomes": DENIES,
                "stdout_field": "context",
            },
            "post_compact": {
                "effective_fields": SIGNALS | {"system_message"},
                "stdout_field": "system_message",
            },
            "session_start": {"effective_fields": COMMON - {"stop", "stop_reason"} | STARTS},
            "notification": {"block_audience": Audience.DEBUG},
        },
    )
)

OLD_SUCCEEDS = ExitRule(
    OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING
)
"""JSON that cannot be parsed was plain text then (hooks reference of 2026-08)."""

OLDER = {
    "2.1.197": Differences(
        rules={
            "exit_rules": {"*": EXITS.replace(codes={0: OLD_SUCCEEDS, 2: BLOCKS}), **SPECIAL_EXITS},
            "blocks_despite_invalid_json": False,
        },
        every_event={"fails_closed": False},
        events={"session_start": {"block_audience": Audience.DEBUG}},
    )
}
"""Release to what it does differently from the release after it that was observed."""

GEMINI_FIELDS = ("timestamp", "mcp_context", "original_request_name", "details")
"""Fields of events that Claude Code does not send."""

ON_FAILURE = HandlerField("on_failure", "string", words=("continue", "block"))
SHARED = {
    "if": HandlerField("condition", "string"),
    "statusMessage": HandlerField("status_message", "string"),
    "once": HandlerField("once", "boolean"),
    "cloud": HandlerField("cloud", "string", words=("device", "skip")),
}

TYPES = {
    "command": HandlerType(
        "command",
        600.0,
        {
            **SHARED,
            "shell": HandlerField("shell", "string", words=("bash", "powershell")),
            "async": HandlerField("background", "boolean"),
            "asyncRewake": HandlerField("wakes", "boolean"),
            "rewakeMessage": HandlerField("rewake_message", "string"),
            "rewakeSummary": HandlerField("rewake_summary", "string"),
            "holdsTools": HandlerField("holds_tools", "boolean"),
            "onFailure": ON_FAILURE,
        },
        programs=True,
    ),
    "http": HandlerType(
        "http",
        600.0,
        {
            **SHARED,
            "url": HandlerField("url", "string", required=True),
            "headers": HandlerField("headers", "texts"),
            "allowedEnvVars": HandlerField("allowed_variables", "strings"),
            "onFailure": ON_FAILURE,
        },
    ),
    "mcp_tool": HandlerType(
        "mcp_tool",
        600.0,
        {
            **SHARED,
            "server": HandlerField("server", "string", required=True),
            "tool": HandlerField("tool", "string", required=True),
            "input": HandlerField("input", "object"),
            "onFailure": ON_FAILURE,
        },
    ),
    "prompt": HandlerType(
        "prompt",
        30.0,
        {
            **SHARED,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
            "continueOnBlock": HandlerField("continue_on_block", "boolean"),
        },
    ),
    "agent": HandlerType(
        "agent",
        60.0,
        {
            **SHARED,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
        },
        fixed={"agentic": True, "continue_on_block": True},
    ),
}

SYSTEM_DIRS = {
    "*": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}

SETTINGS = (
    SettingsFile(
        Layer.MANAGED,
        {
            platform: f"{directory}/managed-settings.json"
            for platform, directory in SYSTEM_DIRS.items()
        },
        variable="ANYHOOK_MANAGED_SETTINGS",
    ),
    SettingsFile(Layer.MANAGED, {"*": "{system_dir}/managed-settings.d/*.json"}),
    SettingsFile(Layer.LOCAL, {"*": "{project}/.claude/settings.local.json"}),
    SettingsFile(Layer.PROJECT, {"*": "{project}/.claude/settings.json"}),
    SettingsFile(Layer.USER, {"*": "{config}/settings.json"}),
)

CLAUDE = AgentSpec(  # noqa: S604 - `shell` names programs, it runs none
    name="claude",
    title="Claude Code",
    event_key="hook_event_name",
    payload_keys=dict.fromkeys(GEMINI_FIELDS),
    rule_sets={"documented": DOCUMENTED, "observed": OBSERVED},
    older_releases=OLDER,
    output_fields=OUTPUT,
    output_event_key=(SPECIFIC, "hookEventName"),
    reply_signals=frozenset({"async", "asyncTimeout"}),
    needs_event_name=True,
    decision_words={**PERMISSION_WORDS, **OLD_WORDS},
    foreign_decisions={"deny": (Outcome.DENY, False), "block": (Outcome.DENY, False)},
    foreign_members=FOREIGN_OUTPUT,
    tools=TOOLS,
    vocabulary=Vocabulary(agent="Claude Code", tools=TOOL_TABLE, mcp_name="mcp__{server}__{tool}"),
    tool_result_form="structured",
    tool_failure_event="post_tool_use_failure",
    absolute_paths=True,
    field_defaults={"permission_mode": "default_mode", "tool_use_id": "call_id"},
    tool_prefix="mcp__",
    renamed_tools=OLD_TOOLS,
    tool_aliases=TOOL_ALIASES,
    settings=SETTINGS,
    layer_order=(
        Layer.RUNTIME,
        Layer.PLUGIN,
        Layer.USER,
        Layer.PROJECT,
        Layer.LOCAL,
        Layer.MANAGED,
    ),
    precedence=(Layer.USER, Layer.PROJECT, Layer.LOCAL, Layer.MANAGED),
    authority={
        Layer.PROJECT: 0,
        Layer.LOCAL: 0,
        Layer.PLUGIN: 1,
        Layer.USER: 2,
        Layer.MANAGED: 3,
        Layer.RUNTIME: 4,
    },
    needs_trust=frozenset({Layer.PROJECT, Layer.LOCAL}),
    hook_toggles=(
        HookToggle(("disableAllHooks",), "off"),
        HookToggle(
            ("allowManagedHooksOnly",),
            "only",
            layers=frozenset({Layer.MANAGED}),
            keeps=frozenset({Layer.MANAGED, Layer.RUNTIME}),
        ),
        HookToggle(
            ("strictPluginOnlyCustomization",),
            "only",
            layers=frozenset({Layer.MANAGED}),
            keeps=frozenset({Layer.MANAGED, Layer.PLUGIN, Layer.RUNTIME}),
            value="hooks",
            or_true=True,
        ),
    ),
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
    packages=Plugins(
        record="{config}/plugins/installed_plugins.json",
        manifest=".claude-plugin/plugin.json",
        hooks="hooks/hooks.json",
        enabled=("enabledPlugins",),
        data="{config}/plugins/data/{plugin}",
        path_variables={"CLAUDE_PLUGIN_ROOT": "plugin", "CLAUDE_PLUGIN_DATA": "data"},
        option_variable="CLAUDE_PLUGIN_OPTION_",
        option_placeholder="user_config.",
    ),
    timeout_unit=1.0,
    long_timeout=6 * 3600.0,
    handler_types=TYPES,
    shell=(("sh", "-c"), ("bash", "-c")),
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("pwsh", "-NoProfile", "-Command"), ("powershell", "-Command")),
    },
    settings_environment=("env",),
    hook_environment={
        "CLAUDE_PROJECT_DIR": "project_dir",
        "CLAUDE_CODE_SESSION_ID": "session_id",
        "CLAUDECODE": "=1",
        "CLAUDE_CODE_CHILD_SESSION": "=1",
    },
    env_file=EnvFileRules(
        variable="CLAUDE_ENV_FILE",
        events=_on("session_start", "setup", "cwd_changed", "file_changed"),
        clears={"cwd_changed": _on("cwd_changed", "file_changed")},
    ),
    stripped_prefixes=("OTEL_", "CLAUDE_CODE_MESSAGING_TOKEN"),
    payload_terminator=b"\n",
    web=WebRules(
        allowed_urls=("allowedHttpHookUrls",), allowed_variables=("httpHookAllowedEnvVars",)
    ),
)
