"""The events of Claude Code.

Sources: the schemas of the nine classic events, and where they are silent the hooks reference at
code.claude.com as of 2026-10 (release 2.1.296); `PreSkillShellCommand` from the schema in
release 2.1.332.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.claude.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer
from anyhook.model.sequence import SEQUENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMON = frozenset(
    {"stop", "stop_reason", "system_message", "suppress_output", "extra.terminal_sequence"}
)
"""Fields of answers that most events use."""
BLOCK = COMMON | {"outcome", "reason"}
"""Fields of answers on events that can be denied."""
STARTS = frozenset(
    {
        "context",
        "extra.initial_user_message",
        "extra.session_title",
        "extra.watch_paths",
        "extra.reload_skills",
    }
)
"""Fields of answers that the start of a session uses."""
SIGNALS = frozenset({"extra.terminal_sequence"})
"""Fields that have an effect even on events that ignore the rest of the output."""

DENIES = frozenset({Outcome.DENY})

# Kinds of handlers.
ALL = frozenset({"command", "http", "mcp_tool", "prompt", "agent", "function"})
NO_PROMPT = ALL - {"prompt", "agent"}

SHORT_TIMEOUTS = {"command": 30.0, "http": 30.0, "mcp_tool": 30.0}

# What a prompt handler that refuses does: without and with `continueOnBlock`.
DENY_AND_STOP = ({"outcome": Outcome.DENY, "stop": True}, {"outcome": Outcome.DENY})
STOP_ALWAYS = ({"outcome": Outcome.DENY, "stop": True}, {"outcome": Outcome.DENY, "stop": True})
DENY_ONLY = ({"outcome": Outcome.DENY}, {"outcome": Outcome.DENY})

TOOL: dict[str, Any] = {"subject": "tool_name", "supports_conditions": True}

_TEXT, _FLAG, _LIST = ("string",), ("boolean",), ("array",)
_CHANGED_FILE = {
    "filePath": _TEXT,
    "originalFile": ("string", "null"),
    "structuredPatch": _LIST,
}
RESULT_MEMBERS: dict[str, dict[str, tuple[str, ...]]] = {
    "Bash": {"stdout": _TEXT, "stderr": _TEXT, "interrupted": _FLAG},
    "Read": {"type": _TEXT, "file": ("object",)},
    "Write": {"type": _TEXT, "content": _TEXT, **_CHANGED_FILE},
    "Edit": {
        "oldString": _TEXT,
        "newString": _TEXT,
        "userModified": _FLAG,
        "replaceAll": _FLAG,
        **_CHANGED_FILE,
    },
}
"""Tool to the members without which a changed result is ignored (releases 2.1.197 and 2.1.330)."""


_event = partial(
    EventSpec,
    plain_text=PlainText.NOTHING,
    stdout_audience=Audience.DEBUG,
    outcomes=DENIES,
    handler_kinds=ALL,
)
"""An event that hooks can deny, unless its attributes say otherwise."""
_notice = partial(
    _event,
    denial=Denial.NOTHING,
    outcomes=None,
    can_block=False,
    handler_kinds=NO_PROMPT,
    effective_fields=SIGNALS,
)
"""An event that cannot be denied; prompt handlers do not run on it."""


EVENTS = (
    _notice(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear", "compact", "fork"),
        effective_fields=COMMON | STARTS,
        plain_text=PlainText.CONTEXT,
        handler_kinds=frozenset({"command", "mcp_tool", "function"}),
    ),
    _notice(
        "setup",
        "Setup",
        subject="trigger",
        subjects=("init", "maintenance"),
        block_audience=Audience.DEBUG,
        handler_kinds=frozenset({"command", "function"}),
    ),
    _notice(
        "instructions_loaded",
        "InstructionsLoaded",
        subject="load_reason",
        subjects=("session_start", "nested_traversal", "path_glob_match", "include", "compact"),
        block_audience=Audience.DEBUG,
    ),
    _event(
        "before_prompt",
        "UserPromptSubmit",
        discarded_on_denial=frozenset({"context"}),
        effective_fields=BLOCK
        | {"context", "extra.session_title", "extra.suppress_original_prompt"},
        plain_text=PlainText.CONTEXT,
        default_timeouts=SHORT_TIMEOUTS,
        prompt_refusals=STOP_ALWAYS,
        chained_fields=SEQUENCE["before_prompt"],
    ),
    _event(
        "user_prompt_expansion",
        "UserPromptExpansion",
        subject="command_name",
        effective_fields=BLOCK | {"context", "extra.suppress_original_prompt"},
        plain_text=PlainText.CONTEXT,
        prompt_refusals=STOP_ALWAYS,
    ),
    _notice(
        "message_display",
        "MessageDisplay",
        effective_fields=COMMON | {"extra.display_content"},
        block_audience=Audience.DEBUG,
        default_timeouts={"command": 10.0, "http": 10.0, "mcp_tool": 10.0},
    ),
    _event(
        "before_tool",
        "PreToolUse",
        effective_fields=BLOCK | {"approve", "context", "tool_input"},
        reason_audience=Audience.AGENT,
        allow_audience=Audience.USER,
        required_arguments=VOCABULARY.required,
        field_policies={"tool_input": "replace_whole"},
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        prompt_refusals=DENY_AND_STOP,
        outcomes=None,
        chained_fields=SEQUENCE["before_tool"],
        stdout_audience=Audience.TRANSCRIPT,  # by the schema
        **TOOL,
    ),
    _event(
        "permission_request",
        "PermissionRequest",
        effective_fields=BLOCK | {"approve", "tool_input", "extra.updated_permissions"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        reason_audience=Audience.AGENT,
        required_arguments=VOCABULARY.required,
        field_policies={"tool_input": "replace_whole"},
        can_block=False,
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        handler_kinds=ALL - {"agent"},
        **TOOL,
    ),
    _event(
        "pre_skill_shell_command",
        "PreSkillShellCommand",
        effective_fields=BLOCK,
        reason_audience=Audience.AGENT,
        handler_kinds=NO_PROMPT,
        **TOOL,
    ),
    _notice(
        "permission_denied",
        "PermissionDenied",
        effective_fields=COMMON | {"extra.retry"},
        block_audience=Audience.DEBUG,
        handler_kinds=ALL,
        fails_closed=False,
        **TOOL,
    ),
    _event(
        "after_tool",
        "PostToolUse",
        effective_fields=BLOCK | {"context", "tool_output", "extra.classifier_context"},
        denial=Denial.INFORMS,
        reason_audience=Audience.AGENT,
        prompt_refusals=DENY_AND_STOP,
        field_policies={"tool_output": "checked_result"},
        result_members=RESULT_MEMBERS,
        stdout_audience=Audience.TRANSCRIPT,  # by the schema
        **TOOL,
    ),
    _event(
        "post_tool_use_failure",
        "PostToolUseFailure",
        effective_fields=BLOCK | {"context"},
        denial=Denial.INFORMS,
        reason_audience=Audience.AGENT,
        prompt_refusals=DENY_ONLY,
        **TOOL,
    ),
    _event(
        "post_tool_batch",
        "PostToolBatch",
        effective_fields=BLOCK | {"context"},
        denial=Denial.ENDS,
        prompt_refusals=STOP_ALWAYS,
    ),
    _notice(
        "notification",
        "Notification",
        subject="notification_type",
        subjects=tuple(
            "permission_prompt idle_prompt auth_success elicitation_dialog "
            "elicitation_url_dialog elicitation_complete elicitation_response "
            "agent_needs_input agent_completed quota_auto_resume_fired "
            "quota_auto_resume_stale quota_auto_resume_disabled worker_permission_prompt "
            "push_notification computer_use_enter computer_use_exit model_refusal_fallback "
            "auth_storage_failure plugin_notification".split()
        ),
        optional_fields=frozenset({"notification_type"}),
    ),
    _notice(
        "subagent_start",
        "SubagentStart",
        subject="agent_type",
        effective_fields=COMMON | {"context"},
    ),
    _event(
        "subagent_stop",
        "SubagentStop",
        subject="agent_type",
        effective_fields=BLOCK | {"context"},
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        prompt_refusals=DENY_ONLY,
        optional_fields=frozenset({"agent_type"}),
        payload_keys={"prompt_response": "last_assistant_message"},
        stdout_audience=Audience.TRANSCRIPT,  # by the schema
    ),
    _event(
        "task_created",
        "TaskCreated",
        effective_fields=BLOCK - {"stop", "stop_reason"},
        reason_audience=Audience.AGENT,
        prompt_refusals=DENY_ONLY,
    ),
    _event(
        "task_completed",
        "TaskCompleted",
        effective_fields=BLOCK,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        prompt_refusals=DENY_ONLY,
    ),
    _event(
        "after_agent",
        "Stop",
        effective_fields=BLOCK | {"context"},
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        prompt_refusals=DENY_ONLY,
        optional_fields=frozenset({"prompt_response"}),
        payload_keys={"prompt": None, "prompt_response": "last_assistant_message"},
        stdout_audience=Audience.TRANSCRIPT,  # by the schema
    ),
    _notice(
        "stop_failure",
        "StopFailure",
        subject="error",
        subjects=tuple(
            "rate_limit overloaded authentication_failed oauth_org_not_allowed "
            "account_on_hold billing_error invalid_request model_not_found server_error "
            "max_output_tokens cloud_credential_error verification_required unknown".split()
        ),
        matcher_style="narrow",
        block_audience=Audience.DEBUG,
    ),
    _event(
        "teammate_idle",
        "TeammateIdle",
        effective_fields=BLOCK,
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        prompt_refusals=({"stop": True}, {"outcome": Outcome.DENY}),
    ),
    _event(
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
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    _notice(
        "cwd_changed",
        "CwdChanged",
        effective_fields=SIGNALS | {"system_message", "extra.watch_paths"},
    ),
    _notice(
        "directory_added",
        "DirectoryAdded",
        subject="source",
        subjects=("slash_command", "register_repo_root"),
        effective_fields=SIGNALS | {"system_message"},
        block_audience=Audience.DEBUG,
        message_audience=Audience.AGENT,
    ),
    _notice(
        "file_changed",
        "FileChanged",
        subject="file_name",
        matcher_style="narrow",
        effective_fields=SIGNALS | {"system_message", "extra.watch_paths"},
        payload_keys={"change": "event"},
    ),
    _event(
        "worktree_create",
        "WorktreeCreate",
        effective_fields=SIGNALS | {"outcome", "reason", "extra.worktree_path"},
        plain_text=PlainText.PATH,
        handler_kinds=NO_PROMPT,
        payload_keys={"worktree_name": "name"},
        no_opinion_output="",
        reads_all_output=True,
    ),
    _event(
        "worktree_remove",
        "WorktreeRemove",
        effective_fields=SIGNALS | {"outcome", "reason"},
        handler_kinds=NO_PROMPT,
    ),
    _notice(
        "before_compress",
        "PreCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        no_opinion_output="",
    ),
    _notice(
        "post_compact",
        "PostCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        no_opinion_output="",
    ),
    _event(
        "pre_model_switch",
        "PreModelSwitch",
        subject="model_name",
        effective_fields=SIGNALS | {"outcome", "approve", "reason", "system_message"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.ASK, Outcome.DENY}),
        denying_failures=frozenset({"timeout"}),
        handler_kinds=NO_PROMPT,
        default_timeouts=SHORT_TIMEOUTS,
    ),
    _notice(
        "post_model_switch",
        "PostModelSwitch",
        subject="model_name",
        effective_fields=COMMON | {"context"},
        plain_text=PlainText.CONTEXT,
        default_timeouts=SHORT_TIMEOUTS,
    ),
    _notice(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=tuple(
            "clear resume logout prompt_input_exit other exit bypass_permissions_disabled".split()
        ),
        default_timeouts={"command": 1.5, "http": 1.5, "mcp_tool": 1.5},
        max_timeouts={**dict.fromkeys(Layer, 60.0), Layer.PLUGIN: 1.5},
    ),
    _event(
        "elicitation",
        "Elicitation",
        subject="mcp_server_name",
        effective_fields=SIGNALS | {"outcome", "extra.action", "extra.content"},
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
    _event(
        "elicitation_result",
        "ElicitationResult",
        subject="mcp_server_name",
        effective_fields=SIGNALS | {"outcome", "extra.action", "extra.content"},
        reason_audience=Audience.DEBUG,
        handler_kinds=NO_PROMPT,
    ),
)
