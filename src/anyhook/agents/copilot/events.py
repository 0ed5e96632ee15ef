"""The events of GitHub Copilot CLI, in the form of camelCase names.

Source: the hooks reference of GitHub Copilot (2026-08), and where it is silent what release 1.0.102
did. Hooks of the form of PascalCase names are in `pascal`.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.copilot.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERDICT = frozenset({"outcome", "reason"})
DENIES = frozenset({Outcome.DENY})
NEVER: frozenset[Outcome] = frozenset()
"""No verdict ends the sequence: all hooks run."""
CONTEXT = frozenset({"context"})

HANDLERS = frozenset({"command", "http", "function"})
TRANSCRIPT = {"transcript_path": "transcriptPath"}
FORMS = {"timestamp": "milliseconds", "tool_input": "arguments"}
TOOL: dict[str, Any] = {"subject": "tool_name", "matcher_style": "whole"}
ANY_SUBJECT: dict[str, Any] = {"matcher_style": "ignored"}
"""The agent ignores a matcher on these events."""


_event = partial(
    EventSpec,
    plain_text=PlainText.NOTHING,
    outcomes=DENIES,
    reason_audience=Audience.AGENT,
    stdout_audience=Audience.DEBUG,
    can_block=False,
    handler_kinds=HANDLERS,
    ending_outcomes=NEVER,
    payload_forms=FORMS,
)
"""An event that hooks can influence; exit code 2 shows standard error to the user."""
_notice = partial(_event, denial=Denial.NOTHING, outcomes=None, reason_audience=Audience.USER)
"""An event that cannot be denied."""


EVENTS = (
    _notice(
        "session_start",
        "sessionStart",
        subject="source",
        subjects=("new", "resume", "startup"),
        subject_aliases={"new": "startup"},
        effective_fields=CONTEXT | {"extra.initial_user_message"},
        handler_kinds=HANDLERS | {"first_message"},
        **ANY_SUBJECT,
    ),
    _notice(
        "session_end",
        "sessionEnd",
        subject="reason",
        subjects=("complete", "error", "abort", "timeout", "user_exit"),
        subject_aliases={"user_exit": "prompt_input_exit", "complete": "other"},
        **ANY_SUBJECT,
    ),
    _event(
        "before_prompt",
        "userPromptSubmitted",
        effective_fields=VERDICT,
        requires_reason=True,
        ending_outcomes=DENIES,
        field_policies={"context": "last_context"},
        payload_keys={"source": None},
        reason_audience=Audience.USER,
    ),
    _notice(
        "prompt_transformed",
        "userPromptTransformed",
        effective_fields=frozenset({"extra.modified_transformed_prompt"}),
        payload_keys={"transformed_prompt": "transformedPrompt"},
    ),
    _event(
        "before_tool",
        "preToolUse",
        effective_fields=VERDICT | {"approve", "context", "tool_input"},
        can_block=True,
        denying_failures=frozenset({"command"}),
        default_reason="No reason provided",
        ending_outcomes=frozenset({Outcome.DENY, Outcome.ASK}),
        required_arguments=VOCABULARY.required,
        field_policies={"tool_input": "replace_whole"},
        chained_fields={"tool_input": "tool_input"},
        discarded_on_denial=frozenset({"tool_input"}),
        outcomes=None,
        **TOOL,
    ),
    _event(
        "permission_request",
        "permissionRequest",
        effective_fields=VERDICT | {"approve", "stop"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        can_block=True,
        default_reason="Permission denied by hook.",
        verdict_policy="last_or_administrators",
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        payload_keys={
            "tool_input": "toolInput",
            "permission_suggestions": "permissionSuggestions",
        },
        payload_members={"hookName": "permissionRequest"},
        **TOOL,
    ),
    _notice(
        "before_mcp_call",
        "preMcpToolCall",
        subject="tool_name",
        effective_fields=frozenset({"extra.meta_to_use"}),
        payload_keys={
            "tool_use_id": "toolCallId",
            "mcp_server_name": "serverName",
            "tool_input": "arguments",
        },
        **ANY_SUBJECT,
    ),
    _event(
        "after_tool",
        "postToolUse",
        effective_fields=VERDICT | {"context", "tool_output"},
        requires_reason=True,
        denial=Denial.HIDES,
        chained_fields={"tool_output": "tool_response"},
        discarded_on_denial=frozenset({"context", "tool_output"}),
        **TOOL,
    ),
    _notice(
        "post_tool_use_failure",
        "postToolUseFailure",
        subject="tool_name",
        effective_fields=CONTEXT,
        plain_text=PlainText.CONTEXT,
        **ANY_SUBJECT,
    ),
    _event(
        "after_agent",
        "agentStop",
        effective_fields=VERDICT,
        denial=Denial.CONTINUES,
        verdict_policy="last",
        payload_keys={**TRANSCRIPT, "prompt": None},
        payload_members={"stopReason": "end_turn"},
    ),
    _notice(
        "subagent_start",
        "subagentStart",
        subject="agent_type",
        effective_fields=CONTEXT,
        matcher_style="whole",
        payload_keys={**TRANSCRIPT, "agent_type": "agentName"},
    ),
    _event(
        "subagent_stop",
        "subagentStop",
        subject="agent_type",
        effective_fields=VERDICT | {"extra.modified_response"},
        denial=Denial.CONTINUES,
        verdict_policy="last",
        discarded_on_denial=frozenset({"extra"}),
        payload_keys={
            **TRANSCRIPT,
            "agent_type": "agentName",
            "prompt_response": "response",
        },
        payload_members={"stopReason": "end_turn"},
        **ANY_SUBJECT,
    ),
    _notice(
        "agent_error",
        "errorOccurred",
        payload_keys={"error_context": "errorContext"},
    ),
    _notice(
        "before_compress",
        "preCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        matcher_style="whole",
        payload_keys={**TRANSCRIPT, "custom_instructions": "customInstructions"},
    ),
    _notice(
        "notification",
        "notification",
        subject="notification_type",
        subjects=tuple(
            "shell_completed shell_detached_completed agent_completed agent_idle "
            "permission_prompt elicitation_dialog".split()
        ),
        subject_aliases={"agent_idle": "idle_prompt"},
        effective_fields=CONTEXT,
        matcher_style="whole",
        payload_keys={"details": None},
        payload_members={"hook_event_name": "Notification"},
    ),
)
