"""Gemini CLI.

Sources: the hooks reference at geminicli.com (G), DeepWork's description of it (D), and where both
are silent the newest documentation of the agent.
"""

from __future__ import annotations

import re

from anyhook.dialects.base import (
    Dialect,
    EventSpec,
    ExitRule,
    Extensions,
    OutputField,
    PlainText,
    RedactionRules,
    Rules,
    SettingsFile,
    Switch,
)
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Audience
from anyhook.model.definitions import Layer

COMMON = frozenset({"system_message", "suppress_output"})
VERDICT = COMMON | {"outcome", "approve", "reason", "stop", "stop_reason"}

EVENTS = (
    EventSpec(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear"),
        acts_on=COMMON | {"context"},
    ),
    EventSpec(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=("exit", "clear", "logout", "prompt_input_exit", "other"),
        acts_on=COMMON,
    ),
    EventSpec(
        "before_prompt",
        "BeforeAgent",
        acts_on=VERDICT | {"context"},
        chain={"context": "prompt"},
    ),
    EventSpec(
        "after_agent",
        "AfterAgent",
        acts_on=VERDICT | {"context", "clear_context"},
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_model",
        "BeforeModel",
        acts_on=VERDICT | {"llm_request", "llm_response"},
        combine={"llm_response": "response"},
        chain={"llm_request": "llm_request"},
    ),
    EventSpec(
        "after_model",
        "AfterModel",
        acts_on=VERDICT | {"llm_response"},
        combine={"llm_response": "response_patch"},
        chain={"llm_response": "llm_response"},
    ),
    EventSpec(
        "before_tool_selection",
        "BeforeToolSelection",
        acts_on=COMMON | {"tool_config"},
        plain_text=PlainText.TOOL_NAMES,
    ),
    EventSpec(
        "before_tool",
        "BeforeTool",
        subject="tool_name",
        acts_on=VERDICT | {"context", "tool_input"},
        reason_audience=Audience.AGENT,
        chain={"tool_input": "tool_input"},
    ),
    EventSpec(
        "after_tool",
        "AfterTool",
        subject="tool_name",
        acts_on=VERDICT | {"context", "tail_tool_call"},
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_compress",
        "PreCompress",
        subject="trigger",
        subjects=("manual", "auto"),
        acts_on=COMMON,
    ),
    EventSpec(
        "notification",
        "Notification",
        subject="notification_type",
        subjects=("ToolPermission",),
        acts_on=COMMON,
    ),
)

SPECIFIC = "hookSpecificOutput"

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

FOREIGN_OUTPUT = {
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

TOOLS = (
    "activate_skill",
    "ask_user",
    "complete_task",
    "enter_plan_mode",
    "exit_plan_mode",
    "get_internal_docs",
    "glob",
    "google_web_search",
    "grep_search",
    "invoke_agent",
    "list_directory",
    "list_mcp_resources",
    "read_file",
    "read_many_files",
    "read_mcp_resource",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "tracker_add_dependency",
    "tracker_create_task",
    "tracker_get_task",
    "tracker_list_tasks",
    "tracker_update_task",
    "tracker_visualize",
    "update_topic",
    "web_fetch",
    "write_file",
    "write_todos",
)

OLD_TOOLS = {
    "Agent": "invoke_agent",
    "Bash": "run_shell_command",
    "Edit": "replace",
    "Glob": "glob",
    "Grep": "grep_search",
    "LS": "list_directory",
    "MultiEdit": "replace",
    "Read": "read_file",
    "Shell": "run_shell_command",
    "Task": "invoke_agent",
    "TodoWrite": "write_todos",
    "WebFetch": "web_fetch",
    "WebSearch": "google_web_search",
    "Write": "write_file",
    "edit": "replace",
    "grep": "grep_search",
    "ls": "list_directory",
    "shell": "run_shell_command",
}

LAYER_ORDER = (
    Layer.RUNTIME,
    Layer.PROJECT,
    Layer.USER,
    Layer.SYSTEM,
    Layer.SYSTEM_DEFAULTS,
    Layer.EXTENSION,
)

AUTHORITY = {
    Layer.PROJECT: 0,
    Layer.EXTENSION: 1,
    Layer.SYSTEM_DEFAULTS: 2,
    Layer.USER: 2,
    Layer.SYSTEM: 3,
    Layer.RUNTIME: 4,
}

SETTINGS = (
    SettingsFile(Layer.PROJECT, {"*": "{project}/.gemini/settings.json"}),
    SettingsFile(Layer.USER, {"*": "{home}/.gemini/settings.json"}),
    SettingsFile(
        Layer.SYSTEM,
        {
            "*": "/etc/gemini-cli/settings.json",
            "darwin": "/Library/Application Support/GeminiCli/settings.json",
            "win32": "C:/ProgramData/gemini-cli/settings.json",
        },
        variable="GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ),
    SettingsFile(
        Layer.SYSTEM_DEFAULTS,
        {"*": "{system_dir}/system-defaults.json"},
        variable="GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    ),
)

REDACTION = RedactionRules(
    path=("security", "environmentVariableRedaction"),
    strict_where={"GITHUB_SHA": "", "SURFACE": "Github"},
    secret_values=tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            r"-----BEGIN (?:RSA|OPENSSH|EC|PGP) PRIVATE KEY-----",
            r"-----BEGIN CERTIFICATE-----",
            r"(?:https?|ftp|smtp)://[^:\s]+:[^@\s]+@",
            r"(?:gh[pousr]|github_pat)_[a-z0-9_]{36,}",
            r"AIzaSy[a-z0-9_\\-]{33}",
            r"AKIA[A-Z0-9]{16}",
            r"eyJ[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+",
            r"(?:s|r)k_(?:live|test)_[0-9a-z]{24}",
            r"xox[abpr]-[a-z0-9-]+",
        )
    ),
    kept_prefixes=("GEMINI_CLI_",),
    harmless_prefixes=("GIT_CONFIG_",),
    always_allowed=frozenset(
        "PATH SYSTEMROOT COMSPEC PATHEXT WINDIR TEMP TMP USERPROFILE SYSTEMDRIVE HOME LANG SHELL "
        "TMPDIR USER LOGNAME TERM COLORTERM ADDITIONAL_CONTEXT AVAILABLE_LABELS BRANCH_NAME "
        "DESCRIPTION EVENT_NAME GITHUB_ENV IS_PULL_REQUEST ISSUES_TO_TRIAGE ISSUE_BODY "
        "ISSUE_NUMBER ISSUE_TITLE PULL_REQUEST_NUMBER REPOSITORY TITLE TRIGGERING_ACTOR".split()
    ),
    never_allowed=frozenset(
        "CLIENT_ID DB_URI CONNECTION_STRING AWS_DEFAULT_REGION AZURE_CLIENT_ID AZURE_TENANT_ID "
        "SLACK_WEBHOOK_URL TWILIO_ACCOUNT_SID DATABASE_URL GOOGLE_CLOUD_PROJECT "
        "GOOGLE_CLOUD_ACCOUNT FIREBASE_PROJECT_ID".split()
    ),
    secret_names=re.compile(
        "TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT", re.IGNORECASE
    ),
)

DOCUMENTED = Rules(
    name="documented",
    release="hooks reference of 2026-01",
    exit_codes={0: ExitRule.PARSE, 2: ExitRule.BLOCK},
    other_exit=ExitRule.WARN,
    on_signal=ExitRule.WARN,
)

GEMINI = Dialect(  # noqa: S604 - `shell` names programs, it runs none
    name="gemini",
    title="Gemini CLI",
    events=EVENTS,
    event_key="hook_event_name",
    rules={"documented": DOCUMENTED},
    output=OUTPUT,
    output_event_key=(SPECIFIC, "hookEventName"),
    words={
        "allow": (Outcome.ALLOW, False),
        "approve": (Outcome.ALLOW, True),
        "deny": (Outcome.DENY, False),
        "block": (Outcome.DENY, False),
        "ask": (Outcome.ASK, False),
    },
    foreign_output=FOREIGN_OUTPUT,
    tools=TOOLS,
    tool_prefix="mcp_",
    foreign_tool_prefixes={"mcp__": "mcp_SERVER_TOOL"},
    old_tools=OLD_TOOLS,
    settings=SETTINGS,
    layer_order=LAYER_ORDER,
    authority=AUTHORITY,
    needs_trust=frozenset({Layer.PROJECT}),
    switches=(
        Switch(("hooksConfig", "enabled"), "enabled"),
        Switch(("hooksConfig", "disabled"), "disabled"),
        Switch(("hooks", "enabled"), "enabled", legacy=True),
        Switch(("hooks", "disabled"), "disabled", legacy=True),
        Switch(("tools", "enableHooks"), "enabled", legacy=True),
    ),
    hooks_path=("hooks",),
    not_events=frozenset({"enabled", "disabled", "notifications"}),
    old_events={
        "PreToolUse": "BeforeTool",
        "PostToolUse": "AfterTool",
        "UserPromptSubmit": "BeforeAgent",
        "Stop": "AfterAgent",
        "PreCompact": "PreCompress",
    },
    definition_fields=frozenset({"matcher", "sequential", "hooks", "description"}),
    handler_fields=frozenset({"name", "type", "command", "args", "description", "timeout", "env"}),
    home_variable="GEMINI_CLI_HOME",
    extensions=Extensions(
        directory="{home}/.gemini/extensions",
        manifest="gemini-extension.json",
        hooks="hooks/hooks.json",
        enablement="extension-enablement.json",
        install_record=".gemini-extension-install.json",
        path_variables={"extensionPath": "extension", "workspacePath": "project"},
        text_variables={"/": "/", "pathSeparator": "/"},
    ),
    timeout_unit=0.001,
    default_timeout=60.0,
    short_timeout=0.5,
    kinds={"command": "command"},
    other_kinds={
        "prompt": "Claude Code",
        "agent": "Claude Code",
        "http": "Claude Code",
        "mcp_tool": "Claude Code",
    },
    shell=(("bash", "-c"), ("sh", "-c")),
    environment={
        "GEMINI_PROJECT_DIR": "project_dir",
        "GEMINI_CWD": "cwd",
        "GEMINI_SESSION_ID": "session_id",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    redaction=REDACTION,
)
