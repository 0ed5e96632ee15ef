"""TerminaI: a fork of Gemini CLI with places, variables and tool names of its own.

Source: its hooks reference (T); the rules `observed` are those of its engine, which is that of
Gemini CLI v0.23 whatever TerminaI's own version says.
"""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI, SETTINGS, WARNS
from anyhook.agents.spec import (
    Denial,
    EventSpec,
    ExitRule,
    ExitRules,
    Extensions,
    HookToggle,
    OutputAction,
    PlainText,
    RuleSet,
    SettingsFile,
)
from anyhook.model.answers import Outcome
from anyhook.model.layers import Layer
from anyhook.model.tools import Tool, Vocabulary

NOT_HERE = frozenset({"tool_input", "tail_tool_call", "clear_context"})
"""Fields of an answer that the reference does not have."""
CONTEXT_EVENTS = frozenset({"session_start", "before_prompt", "after_tool"})

EVENTS = tuple(
    spec.replace(
        effective_fields=spec.effective_fields
        - NOT_HERE
        - (frozenset() if spec.canonical in CONTEXT_EVENTS else frozenset({"context"})),
        plain_text=PlainText.SYSTEM_MESSAGE,
        chained_fields={
            field: target for field, target in spec.chained_fields.items() if field not in NOT_HERE
        },
    )
    for spec in GEMINI.events
)

DOCUMENTED = GEMINI.documented.replace(release="hooks reference of Current (v0.1)", events=EVENTS)

STDERR = ("stderr",)
TELLS = ExitRule(
    OutputAction.WARNING_MESSAGE,
    OutputAction.WARNING_MESSAGE,
    OutputAction.WARNING_MESSAGE,
    OutputAction.WARN,
    STDERR,
    parses_json=False,
)
ACTS = frozenset({"outcome", "reason", "stop", "stop_reason"})
BLOCKS = frozenset({Outcome.ALLOW, Outcome.DENY})

OBSERVED_EVENTS: dict[str, dict[str, object]] = {
    "session_start": {"matcher_style": "equal", "effective_fields": frozenset()},
    "session_end": {
        "matcher_style": "equal",
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
    "before_prompt": {"effective_fields": ACTS | {"context"}},
    "after_agent": {
        "effective_fields": ACTS - {"stop", "stop_reason"},
        "inverted_fields": frozenset({"stop"}),
    },
    "before_model": {
        "effective_fields": ACTS | {"llm_request", "llm_response"},
        "verdict_policy": "last",
        "field_policies": {"llm_request": "last_request", "llm_response": "response_of_denial"},
    },
    "after_model": {
        "effective_fields": frozenset({"stop", "stop_reason", "llm_response"}),
        "verdict_policy": "last",
        "field_policies": {"llm_response": "shown_response"},
    },
    "before_tool_selection": {
        "effective_fields": frozenset({"tool_config"}),
        "verdict_policy": "none",
        "any_output_sets": {"tool_config": {"mode": "AUTO", "allowedFunctionNames": []}},
    },
    "before_tool": {
        "matcher_style": "expression",
        "effective_fields": ACTS - {"stop", "stop_reason"},
    },
    "after_tool": {
        "matcher_style": "expression",
        "effective_fields": frozenset({"context"}),
        "denial": Denial.NOTHING,
    },
    "before_compress": {
        "matcher_style": "equal",
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
    "notification": {
        "subject": None,
        "subjects": (),
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
}
"""What the engine of v0.23 does on each event."""


def _observed(spec: EventSpec) -> EventSpec:
    usual: dict[str, object] = {
        "outcomes": BLOCKS,
        "reason_policy": "all",
        "plain_text": GEMINI.event("before_tool").plain_text,
    }
    return spec.replace(**usual | OBSERVED_EVENTS[spec.canonical])


OBSERVED = RuleSet(
    name="observed",
    release="engine of Gemini CLI 0.23",
    events=tuple(_observed(spec) for spec in EVENTS),
    exit_rules={
        "*": ExitRules(
            {
                0: ExitRule(
                    OutputAction.APPLY,
                    OutputAction.MESSAGE,
                    OutputAction.MESSAGE,
                    OutputAction.NOTHING,
                ),
                2: ExitRule(
                    OutputAction.DENY_TEXT,
                    OutputAction.DENY_TEXT,
                    OutputAction.DENY_TEXT,
                    OutputAction.WARN,
                    STDERR,
                    parses_json=False,
                ),
            },
            other=TELLS,
            signal=WARNS,
        )
    },
    strings_are_text=True,
    drops_ineffective_fields=True,
    sequence_scope="all",
    ends_sequence=False,
    handler_identity="name_and_command",
    toggle_policy="precedence",
    enabled_by_default=False,
    default_reason="",
    last_duplicate_wins=True,
)

REFERENCE_TOOLS = (
    "glob google_web_search list_directory replace run_shell_command search_file_content "
    "write_file write_todos"
).split()
"""Names that the reference still uses; the program itself renamed these tools when it forked."""

TOOLS = (
    *"agent_control delegate_to_agent edit_file execute_repl file_operations get_internal_docs "
    "glob_files grep_search list_files manage_processes manage_todos read_file read_many_files "
    "run_terminal_command save_memory search_web web_fetch write_to_file".split(),
    *REFERENCE_TOOLS,
)

TOOL_TABLE = {
    "shell": Tool(("run_terminal_command", "run_shell_command")),
    "read_file": Tool(("read_file",)),
    "read_many_files": Tool(("read_many_files",)),
    "write_file": Tool(("write_to_file", "write_file")),
    "edit_file": Tool(("edit_file", "replace")),
    "list_directory": Tool(("list_files", "list_directory"), {"path": "dir_path"}),
    "glob": Tool(("glob_files", "glob"), {"path": "dir_path"}),
    "grep": Tool(("grep_search", "search_file_content"), {"path": "dir_path", "glob": "include"}),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("search_web", "google_web_search")),
    "agent": Tool(("delegate_to_agent",), {"agent_type": "agent_name"}),
    "write_todos": Tool(
        ("manage_todos", "write_todos"), items={"todos": {"content": "description"}}
    ),
    "save_memory": Tool(("save_memory",)),
}
"""The program's name of each tool, then the reference's."""

OLD_TOOLS = {
    "edit": "edit_file",
    "shell": "run_terminal_command",
    "grep": "grep_search",
    "ls": "list_files",
    "web_search": "search_web",
    "Bash": "run_terminal_command",
    "Write": "write_to_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "Read": "read_file",
    "Glob": "glob_files",
    "Grep": "grep_search",
    "LS": "list_files",
    "WebFetch": "web_fetch",
    "WebSearch": "search_web",
    "TodoWrite": "manage_todos",
    "Task": "delegate_to_agent",
    "Agent": "delegate_to_agent",
    "invoke_agent": "delegate_to_agent",
}

TERMINAI = GEMINI.replace(
    name="terminai",
    title="TerminaI",
    rule_sets={"documented": DOCUMENTED, "observed": OBSERVED},
    tools=TOOLS,
    vocabulary=Vocabulary(agent="TerminaI", tools=TOOL_TABLE, mcp_name="{server}__{tool}"),
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER__TOOL"},
    renamed_tools=OLD_TOOLS,
    settings=(
        SettingsFile(Layer.PROJECT, {"*": "{project}/.terminai/settings.json"}),
        SettingsFile(Layer.USER, {"*": "{home}/.terminai/settings.json"}),
        *(file for file in SETTINGS if file.layer in (Layer.SYSTEM, Layer.SYSTEM_DEFAULTS)),
    ),
    precedence=(Layer.SYSTEM_DEFAULTS, Layer.USER, Layer.PROJECT, Layer.SYSTEM),
    hook_toggles=(
        HookToggle(("tools", "enableHooks"), "enabled"),
        HookToggle(("hooks", "disabled"), "disabled"),
    ),
    non_event_keys=frozenset({"disabled"}),
    home_variable=None,
    config_dir="{home}/.terminai",
    packages=Extensions(
        directory="{home}/.terminai/extensions",
        manifest="gemini-extension.json",
        hooks="hooks/hooks.json",
        enablement="extension-enablement.json",
        install_record=".gemini-extension-install.json",
        path_variables={"extensionPath": "extension", "workspacePath": "project"},
        text_variables={"/": "/", "pathSeparator": "/"},
    ),
    hook_environment={
        "TERMINAI_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    quotes_variables_itself=True,
    redaction=None,
)
