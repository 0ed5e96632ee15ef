"""Hooks of GitHub Copilot CLI with PascalCase events: the form of Claude Code and VS Code.

Such a hook gets other members, the names of Claude Code for tools, and may put the members of its
reply into `hookSpecificOutput`. Some events send the payload of the camelCase form.
"""

from __future__ import annotations

from anyhook.agents.copilot.events import EVENTS
from anyhook.agents.copilot.observed import OBSERVED
from anyhook.agents.copilot.replies import OUTPUT, PERMISSION_WORDS
from anyhook.agents.copilot.tools import PASCAL_VOCABULARY
from anyhook.agents.spec import SPECIFIC, OutputField
from anyhook.agents.spec.rules import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.agents.spec import EventSpec

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
PASCAL_OBSERVED = OBSERVED.replace(
    events={
        name: {
            **OBSERVED.events.get(name, EMPTY),
            **({"matcher_style": "names_or_whole"} if name in WITH_CLAUDE_MATCHER else {}),
        }
        for name in {*OBSERVED.events, *WITH_CLAUDE_MATCHER}
    }
)

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
