"""The rule sets of GitHub Copilot CLI, and its tables, put together, in its two forms.

Hooks with PascalCase events have the form of Claude Code and VS Code: such a hook gets other
members, the names of Claude Code for tools, and may put the members of its reply into
`hookSpecificOutput`. Some of these events send the payload of the camelCase form.
"""

from __future__ import annotations

from anyhook.agents.copilot import SHAPES
from anyhook.agents.copilot.events import EVENTS, VERDICT
from anyhook.agents.copilot.replies import (
    CLOSED_PERMISSION_EXITS,
    EXITS,
    FOREIGN_MEMBERS,
    OUTPUT,
    PERMISSION_EXITS,
    PERMISSION_WORDS,
    STDERR_ADVISES,
    STDOUT_ADVISES,
    TOOL_EXITS,
)
from anyhook.agents.copilot.tools import (
    CLAUDE_NAMES,
    FOREIGN_TOOLS,
    PASCAL_VOCABULARY,
    TITLE,
    TOOLS,
    VOCABULARY,
)
from anyhook.agents.spec import SPECIFIC, AgentSpec, Differences, OutputField, RuleSet
from anyhook.model.layers import Layer
from anyhook.model.record import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.agents.spec import EventSpec

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-08",
    events=EVENTS,
    exit_rules={
        "*": EXITS,
        "before_tool": TOOL_EXITS,
        "permission_request": PERMISSION_EXITS,
        "post_tool_use_failure": STDOUT_ADVISES,
    },
    output_form="anyhook.agents.copilot.output:classify",
    exit_reader="anyhook.agents.copilot.output:CopilotExitReader",
    text_bodies="ignored",
    drops_ineffective_fields=True,
    sequence_scope="always",
    handler_identity="place",
)

COMMANDS = frozenset({"command"})
OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "GitHub Copilot CLI 1.0.102",
        "exit_rules": {
            **DOCUMENTED.exit_rules,
            "permission_request": CLOSED_PERMISSION_EXITS,
            "post_tool_use_failure": STDERR_ADVISES,
        },
        "expands_handler_env": False,
        "last_duplicate_wins": True,
        "toggle_policy": "any",
        "self_switching_layers": frozenset({Layer.USER}),
    },
    events={
        "before_prompt": {
            "effective_fields": VERDICT
            | {"context", "extra.modified_prompt", "extra.handled", "extra.response_content"},
        },
        "before_tool": {
            "denying_failures": COMMANDS | {"http"},
            "input_refusal": 'Invalid input: "{argument}": Expected string',
        },
        "permission_request": {"denying_failures": COMMANDS},
    },
)
"""What release 1.0.102 does differently from the reference."""

WIRE = {
    "session_start": "SessionStart",
    "session_end": "SessionEnd",
    "before_prompt": "UserPromptSubmit",
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "post_tool_use_failure": "PostToolUseFailure",
    "permission_request": "PermissionRequest",
    "after_agent": "Stop",
    "subagent_start": "SubagentStart",
    "subagent_stop": "SubagentStop",
    "agent_error": "ErrorOccurred",
    "before_compress": "PreCompact",
    "notification": "Notification",
}
"""Canonical event to its name in this form."""

TRANSCRIPT = {"transcript_path": "transcript_path"}
CAMEL_MEMBERS = {"session_id": "sessionId", "tool_name": "toolName"}
KEYS: dict[str, dict[str, str | None]] = {
    "before_prompt": {"source": None},
    "after_agent": {**TRANSCRIPT, "prompt": None},
    "subagent_stop": {
        **TRANSCRIPT,
        "agent_type": "agent_name",
        "prompt_response": "last_assistant_message",
    },
    "before_compress": {**TRANSCRIPT, "custom_instructions": "custom_instructions"},
    "agent_error": {"error_context": "error_context"},
    "notification": {**CAMEL_MEMBERS, "details": None},
    "subagent_start": {
        **CAMEL_MEMBERS,
        "transcript_path": "transcriptPath",
        "agent_type": "agentName",
        "agent_id": "agent_id",
    },
    "permission_request": {
        **CAMEL_MEMBERS,
        "tool_input": "toolInput",
        "permission_suggestions": "permissionSuggestions",
    },
}
"""Event to the keys of its fields, where they differ from those of other events."""
MEMBERS = {
    "after_agent": {"stop_reason": "end_turn"},
    "subagent_stop": {"stop_reason": "end_turn"},
    "permission_request": {"hookName": "permissionRequest"},
}
WITH_CAMEL_PAYLOAD = frozenset({"permission_request", "subagent_start", "notification"})
NAMELESS = WITH_CAMEL_PAYLOAD - {"notification"}
"""Events whose payloads do not hold the name of the event."""
WITH_CLAUDE_MATCHER = frozenset({"before_tool", "after_tool", "permission_request"})


def _in_this_form(spec: EventSpec) -> EventSpec:
    name = spec.canonical
    changes: dict[str, Any] = {
        "wire": WIRE[name],
        "payload_keys": KEYS.get(name, EMPTY),
        "payload_members": MEMBERS.get(name, EMPTY),
        "names_itself": name not in NAMELESS,
    }
    if name not in WITH_CAMEL_PAYLOAD:
        changes["payload_forms"] = {"tool_input": "arguments"}
    if spec.required_arguments:
        changes["required_arguments"] = PASCAL_VOCABULARY.required
    if name in WITH_CLAUDE_MATCHER:
        changes["matcher_style"] = "names_whole_or_all"
    return spec.replace(**changes)


PASCAL_EVENTS = tuple([_in_this_form(spec) for spec in EVENTS if spec.canonical in WIRE])
PASCAL_DIFFERENCES = dict(OBSERVED.events)
for _event in WITH_CLAUDE_MATCHER:
    _own = OBSERVED.events.get(_event, EMPTY)
    PASCAL_DIFFERENCES[_event] = {**_own, "matcher_style": "names_or_whole"}

BEFORE_TOOL = frozenset({"before_tool"})


def _specific(name: str, field: str, kind: str) -> OutputField:
    words = PERMISSION_WORDS if field == "outcome" else EMPTY
    path = (SPECIFIC, name)
    return OutputField(path, field, kind, BEFORE_TOOL, words, overrides=True, legacy=True)


PASCAL_OUTPUT = (
    *OUTPUT,
    _specific("permissionDecisionReason", "reason", "text"),
    _specific("permissionDecision", "outcome", "decision"),
    _specific("updatedInput", "tool_input", "arguments_or_null"),
    _specific("additionalContext", "context", "text"),
)
"""Members of `hookSpecificOutput` win over those at the top, one by one; they are not written."""

MISSING_FIELDS = (
    "transcript_path prompt_id permission_mode effort scratchpad_dir mcp_context mcp_server "
    "original_request_name tool_use_id duration_ms is_interrupt session_title prompt_response "
    "agent_transcript_path background_tasks session_crons model seconds_since_last_response "
    "context_tokens prompt_cache_likely_expired estimated_cache_write_usd url command"
).split()
"""Fields of events that Copilot does not send, or not with every event."""
ABSENT: dict[str, str | None] = dict.fromkeys(MISSING_FIELDS)

CAMEL_KEYS: dict[str, str | None] = {
    **ABSENT,
    "session_id": "sessionId",
    "agent_id": "agentId",
    "agent_type": "agentType",
    "tool_name": "toolName",
    "tool_input": "toolArgs",
    "tool_response": "toolResult",
}

HOOK_ENVIRONMENT = {
    "COPILOT_CLI": "=1",
    "COPILOT_PROJECT_DIR": "root",
    "CLAUDE_PROJECT_DIR": "root",
    "COPILOT_HOOK_DIR": "hook_dir",
}

COPILOT = AgentSpec(
    name="copilot",
    title=TITLE,
    event_key="",
    payload_keys=CAMEL_KEYS,
    payload_shapes=SHAPES,
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    decision_words=PERMISSION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.copilot.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    field_defaults={"timestamp": "now"},
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER-TOOL", "mcp_": "SERVER-TOOL"},
    foreign_tools=FOREIGN_TOOLS,
    renamed_tools={"list_directory": "view"},
    default_timeout=30.0,
    hook_environment=HOOK_ENVIRONMENT,
    protected_environment=frozenset(HOOK_ENVIRONMENT),
    settings_format="anyhook.agents.copilot.settings:FORMAT",
)

PASCAL = COPILOT.replace(
    form_name="pascal",
    matches_both_names=True,
    event_key="hook_event_name",
    payload_keys={**ABSENT, "prompt": "prompt", "tool_response": "tool_result"},
    payload_shapes={},
    documented=DOCUMENTED.replace(events=PASCAL_EVENTS),
    observed=OBSERVED.replace(events=PASCAL_DIFFERENCES),
    output_fields=PASCAL_OUTPUT,
    event_name_rule="ignored",
    foreign_members={},
    tools=tuple(dict.fromkeys([CLAUDE_NAMES.get(tool, tool) for tool in TOOLS])),
    vocabulary=PASCAL_VOCABULARY,
    tool_aliases={"Task": "Agent"},
    foreign_tools=(),
    renamed_tools={},
)
COPILOT = COPILOT.replace(forms={"pascal": PASCAL})
