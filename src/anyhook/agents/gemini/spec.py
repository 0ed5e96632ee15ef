"""Gemini CLI.

Sources: the hooks reference at geminicli.com (G), DeepWork's description of it (D), and where both
are silent the newest documentation of the agent.
"""

from __future__ import annotations

from anyhook.agents.spec import (
    ONLY_WARNS,
    AgentSpec,
    Denial,
    EventSpec,
    ExitRule,
    ExitRules,
    Extensions,
    HandlerType,
    HookToggle,
    OutputAction,
    OutputField,
    PlainText,
    RedactionRules,
    RuleSet,
    SettingsFile,
)
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer
from anyhook.model.tools import Tool, Vocabulary

CLAUDE_FIELDS = (
    "prompt_id",
    "permission_mode",
    "agent_id",
    "agent_type",
    "effort",
    "scratchpad_dir",
    "tool_use_id",
    "mcp_server",
    "duration_ms",
    "session_title",
    "background_tasks",
    "session_crons",
    "model",
    "seconds_since_last_response",
    "context_tokens",
    "prompt_cache_likely_expired",
    "estimated_cache_write_usd",
    "custom_instructions",
    "title",
)
"""Fields of events that only Claude Code sends."""

COMMON = frozenset({"system_message", "suppress_output"})
VERDICT = COMMON | {"outcome", "approve", "reason", "stop", "stop_reason"}

EVENTS = (
    EventSpec(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear"),
        acts_on=COMMON | {"context"},
        denial=Denial.NOTHING,
    ),
    EventSpec(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=("exit", "clear", "logout", "prompt_input_exit", "other"),
        acts_on=COMMON,
        denial=Denial.NOTHING,
    ),
    EventSpec(
        "before_prompt",
        "BeforeAgent",
        acts_on=VERDICT | {"context"},
        keys={"source": None},
        chain={"context": "prompt"},
    ),
    EventSpec(
        "after_agent",
        "AfterAgent",
        acts_on=VERDICT | {"context", "clear_context"},
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_model",
        "BeforeModel",
        acts_on=VERDICT | {"llm_request", "llm_response"},
        combine={"llm_response": "response"},
        implied={"llm_response": {"outcome": Outcome.DENY}},
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
        denial=Denial.NOTHING,
        plain_text=PlainText.TOOL_NAMES,
        silence="",
        reads_all_output=True,
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
        denial=Denial.HIDES,
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_compress",
        "PreCompress",
        subject="trigger",
        subjects=("manual", "auto"),
        acts_on=COMMON,
        denial=Denial.NOTHING,
    ),
    EventSpec(
        "notification",
        "Notification",
        subject="notification_type",
        subjects=("ToolPermission",),
        words={"ToolPermission": "permission_prompt"},
        acts_on=COMMON,
        denial=Denial.NOTHING,
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
    secret_values=(
        r"-----BEGIN (?:RSA|OPENSSH|EC|PGP) PRIVATE KEY-----",
        r"-----BEGIN CERTIFICATE-----",
        r"(?:https?|ftp|smtp)://[^:\s]+:[^@\s]+@",
        r"(?:gh[pousr]|github_pat)_[a-z0-9_]{36,}",
        r"AIzaSy[a-z0-9_\\-]{33}",
        r"AKIA[A-Z0-9]{16}",
        r"eyJ[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+",
        r"(?:s|r)k_(?:live|test)_[0-9a-z]{24}",
        r"xox[abpr]-[a-z0-9-]+",
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
    secret_names="TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT",  # noqa: S106 - a pattern
)

TOOL_TABLE = {
    "shell": Tool(("run_shell_command",), {"directory": "dir_path", "background": "is_background"}),
    "read_file": Tool(("read_file",)),
    "read_many_files": Tool(("read_many_files",)),
    "write_file": Tool(("write_file",)),
    "edit_file": Tool(("replace",), {"replace_all": "allow_multiple"}),
    "list_directory": Tool(("list_directory",), {"path": "dir_path"}),
    "glob": Tool(("glob",), {"path": "dir_path"}),
    "grep": Tool(
        ("grep_search", "search_file_content"), {"path": "dir_path", "glob": "include_pattern"}
    ),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("google_web_search",)),
    "agent": Tool(("invoke_agent", "delegate_to_agent"), {"agent_type": "agent_name"}),
    "ask_user": Tool(("ask_user",)),
    "write_todos": Tool(("write_todos",), items={"todos": {"content": "description"}}),
    "save_memory": Tool(("save_memory",)),
    "skill": Tool(("activate_skill",)),
    "enter_plan_mode": Tool(("enter_plan_mode",)),
    "exit_plan_mode": Tool(("exit_plan_mode",)),
}

WARNS = ExitRule(OutputAction.WARN, OutputAction.WARN, OutputAction.WARN, OutputAction.WARN)

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-01",
    events=EVENTS,
    exits={
        "*": ExitRules(
            {
                0: ExitRule(
                    OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING
                ),
                1: WARNS.replace(hint=ONLY_WARNS),
                2: ExitRule(
                    OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK, OutputAction.BLOCK
                ),
            },
            other=WARNS,
            signal=WARNS,
        )
    },
)

BOTH = ("stdout", "stderr")
ANY_OUTPUT = {"tool_config": {"mode": "AUTO", "allowedFunctionNames": []}}
BLOCKS = frozenset({Outcome.ALLOW, Outcome.DENY})
ACTS = frozenset({"system_message", "outcome", "reason", "stop", "stop_reason"})
CONTEXTS = {"context": "every_context"}
POLICIES = "anyhook.agents.gemini.observed"
"""Module of the ways in which only these releases combine the values of several hooks."""

OBSERVED_EVENTS: dict[str, dict[str, object]] = {
    "session_start": {
        "style": "equal",
        "acts_on": frozenset({"system_message", "context"}),
        "combine": CONTEXTS,
    },
    "session_end": {"style": "equal", "verdict": "none"},
    "before_prompt": {"acts_on": ACTS | {"context"}, "combine": CONTEXTS},
    "after_agent": {"acts_on": ACTS | {"clear_context"}},
    "before_model": {
        "acts_on": ACTS | {"llm_request", "llm_response"},
        "verdict": "last",
        "combine": {
            "llm_request": f"{POLICIES}:merge_request",
            "llm_response": f"{POLICIES}:take_response_of_denial",
        },
    },
    "after_model": {
        "acts_on": ACTS | {"llm_response"},
        "verdict": "last",
        "combine": {"llm_response": f"{POLICIES}:take_shown_response"},
        "chain": {},
    },
    "before_tool_selection": {"verdict": "none", "any_output": ANY_OUTPUT},
    "before_tool": {
        "style": "expression",
        "acts_on": ACTS | {"tool_input"},
        "outcomes": BLOCKS | {Outcome.ASK},
        "combine": {"tool_input": "last"},
    },
    "after_tool": {
        "style": "expression",
        "acts_on": ACTS | {"context", "tail_tool_call"},
        "combine": CONTEXTS,
    },
    "before_compress": {"style": "equal", "verdict": "none"},
    "notification": {"subject": None, "subjects": (), "verdict": "none"},
}
"""What release 0.61 does differently on each event."""

OBSERVED = RuleSet(
    name="observed",
    release="@google/gemini-cli-core 0.61.0",
    events=tuple(
        spec.replace(
            **{"outcomes": BLOCKS, "reasons": "all", "plain_text": PlainText.SYSTEM_MESSAGE}
            | OBSERVED_EVENTS[spec.canonical]
        )
        for spec in EVENTS
    ),
    exits={
        "*": ExitRules(
            {
                0: ExitRule(
                    OutputAction.APPLY,
                    OutputAction.MESSAGE,
                    OutputAction.MESSAGE,
                    OutputAction.NOTHING,
                    BOTH,
                ),
                1: ExitRule(
                    OutputAction.APPLY,
                    OutputAction.WARNING_MESSAGE,
                    OutputAction.WARNING_MESSAGE,
                    OutputAction.NOTHING,
                    BOTH,
                ),
            },
            other=ExitRule(
                OutputAction.APPLY,
                OutputAction.DENY_TEXT,
                OutputAction.DENY_TEXT,
                OutputAction.NOTHING,
                BOTH,
            ),
            signal=ExitRule(
                OutputAction.APPLY,
                OutputAction.MESSAGE,
                OutputAction.MESSAGE,
                OutputAction.NOTHING,
                BOTH,
            ),
        )
    },
    strings_are_text=True,
    ignores_unused=True,
    unchecked=True,
    merged_by_agent=frozenset({"tool_input"}),
    sequence="all",
    ends_sequence=False,
    same="name_and_command",
    switches="precedence",
    unexplained="",
    last_key_counts=True,
)

WORDS = {
    "allow": (Outcome.ALLOW, False),
    "approve": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
}

GEMINI = AgentSpec(
    name="gemini",
    title="Gemini CLI",
    event_key="hook_event_name",
    keys=dict.fromkeys(CLAUDE_FIELDS),
    rule_sets={"documented": DOCUMENTED, "observed": OBSERVED},
    output=OUTPUT,
    output_event_key=(SPECIFIC, "hookEventName"),
    words=WORDS,
    foreign_output=FOREIGN_OUTPUT,
    tools=TOOLS,
    vocabulary=Vocabulary(agent="Gemini CLI", tools=TOOL_TABLE, mcp_name="mcp_{server}_{tool}"),
    response_form="content",
    failed_tools="after_tool",
    defaults={"timestamp": "now", "details": "no_details"},
    tool_prefix="mcp_",
    foreign_tool_prefixes={"mcp__": "mcp_SERVER_TOOL"},
    old_tools=OLD_TOOLS,
    settings=SETTINGS,
    layer_order=LAYER_ORDER,
    precedence=(Layer.SYSTEM_DEFAULTS, Layer.USER, Layer.PROJECT, Layer.SYSTEM),
    authority=AUTHORITY,
    needs_trust=frozenset({Layer.PROJECT}),
    switches=(
        HookToggle(("hooksConfig", "enabled"), "enabled"),
        HookToggle(("hooksConfig", "disabled"), "disabled"),
        HookToggle(("hooks", "enabled"), "enabled", legacy=True),
        HookToggle(("hooks", "disabled"), "disabled", legacy=True),
        HookToggle(("tools", "enableHooks"), "enabled", legacy=True),
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
    handler_fields=frozenset({"name", "type", "description", "timeout", "env"}),
    home_variable="GEMINI_CLI_HOME",
    config_dir="{home}/.gemini",
    packages=Extensions(
        directory="{home}/.gemini/extensions",
        manifest="gemini-extension.json",
        hooks="hooks/hooks.json",
        enablement="extension-enablement.json",
        install_record=".gemini-extension-install.json",
        path_variables={"extensionPath": "extension", "workspacePath": "project"},
        text_variables={"/": "/", "pathSeparator": "/"},
    ),
    timeout_unit=0.001,
    short_timeout=0.5,
    types={"command": HandlerType("command", 60.0)},
    other_types={
        "prompt": "Claude Code",
        "agent": "Claude Code",
        "http": "Claude Code",
        "mcp_tool": "Claude Code",
    },
    environment={
        "GEMINI_PROJECT_DIR": "project_dir",
        "GEMINI_CWD": "cwd",
        "GEMINI_SESSION_ID": "session_id",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    bare_variables=True,
    expands_env=True,
    redaction=REDACTION,
)
