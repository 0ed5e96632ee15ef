"""The events of Qwen Code.

Source: `docs/features/hooks.md` of release 0.24.4. Where it is silent, as the release was observed.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.qwen.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer
from anyhook.model.record import EMPTY
from anyhook.model.sequence import SEQUENCE

COMMON = frozenset({"system_message", "suppress_output"})
"""Fields of answers that the reference has on every event."""
BLOCK = COMMON | {"outcome", "reason"}
"""Fields of answers on events that can be denied."""

DENIES = frozenset({Outcome.DENY})
ASKS = frozenset({Outcome.DENY, Outcome.ASK})

REFUSAL = ({"outcome": Outcome.DENY}, {"outcome": Outcome.DENY})
"""A prompt handler that refuses denies; there is no `continueOnBlock`."""

BATCH_TIMEOUT = 15.0
"""Seconds after which hooks on a batch have no effect."""


_event = partial(
    EventSpec,
    matcher_style="listed",
    outcomes=DENIES,
    reason_audience=Audience.AGENT,
    stdout_audience=Audience.DEBUG,
    prompt_refusals=REFUSAL,
)
"""An event that hooks can deny, with the reason for the agent."""
_notice = partial(
    _event,
    denial=Denial.NOTHING,
    outcomes=None,
    reason_audience=Audience.USER,
    can_block=False,
    block_audience=Audience.DEBUG,
    effective_fields=frozenset(),
    prompt_refusals=(EMPTY, EMPTY),
)
"""An event that cannot be denied."""


EVENTS = (
    _event(
        "before_tool",
        "PreToolUse",
        subject="tool_name",
        effective_fields=BLOCK | {"approve", "context", "tool_input"},
        required_arguments=VOCABULARY.required,
        field_policies={"tool_input": "replace_whole"},
        chained_fields=SEQUENCE["before_tool"],
        outcomes=None,
    ),
    _event(
        "after_tool",
        "PostToolUse",
        subject="tool_name",
        effective_fields=BLOCK | {"context"},
        denial=Denial.HIDES,
    ),
    _notice(
        "post_tool_use_failure",
        "PostToolUseFailure",
        subject="tool_name",
        effective_fields=COMMON | {"context"},
    ),
    _event(
        "post_tool_batch",
        "PostToolBatch",
        effective_fields=BLOCK | {"context"},
        denial=Denial.HIDES,
        max_timeouts=dict.fromkeys(Layer, BATCH_TIMEOUT),
    ),
    _notice(
        "notification",
        "Notification",
        subject="notification_type",
        subjects=("permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog"),
        effective_fields=COMMON | {"context"},
        payload_keys={"details": None},
    ),
    _event(
        "before_prompt",
        "UserPromptSubmit",
        plain_text=PlainText.CLEAN_CONTEXT,
        effective_fields=BLOCK | {"context"},
        chained_fields=SEQUENCE["before_prompt"],
        outcomes=ASKS,
        discarded_on_denial=frozenset({"context"}),
        payload_keys={"source": None},
        reason_audience=Audience.USER,
    ),
    _event(
        "user_prompt_expansion",
        "UserPromptExpansion",
        plain_text=PlainText.CLEAN_CONTEXT,
        subject="command_name",
        effective_fields=BLOCK | {"context"},
        discarded_on_denial=frozenset({"context"}),
        chained_fields={"context": "prompt"},
        optional_fields=frozenset({"expansion_type"}),
        payload_keys={"expansion_type": None, "command_source": None},
        reason_audience=Audience.USER,
    ),
    _notice(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear", "compact"),
        effective_fields=COMMON | {"context"},
        plain_text=PlainText.CLEAN_CONTEXT,
        payload_keys={"model": "model"},
    ),
    _notice(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=("clear", "logout", "prompt_input_exit", "bypass_permissions_disabled", "other"),
        effective_fields=COMMON,
    ),
    _notice("session_delete", "SessionDelete"),
    _notice(
        "instructions_loaded",
        "InstructionsLoaded",
        subject="file_path",
        payload_keys={"globs": None},
    ),
    _notice(
        "message_display",
        "MessageDisplay",
        payload_keys={
            "delta": "displayed_text",
            "final": "is_final",
            "turn_id": None,
            "index": None,
        },
    ),
    _event(
        "after_agent",
        "Stop",
        effective_fields=BLOCK | {"stop", "stop_reason", "context"},
        denial=Denial.CONTINUES,
        optional_fields=frozenset({"prompt_response"}),
        payload_keys={
            "prompt": None,
            "prompt_response": "last_assistant_message",
            "session_crons": "crons",
        },
    ),
    _notice(
        "stop_failure",
        "StopFailure",
        subject="error",
        subjects=tuple(
            "rate_limit authentication_failed billing_error invalid_request server_error "
            "max_output_tokens loop_detected unknown".split()
        ),
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
        effective_fields=BLOCK,
        denial=Denial.CONTINUES,
        payload_keys={"prompt_response": "last_assistant_message", "session_crons": "crons"},
    ),
    _notice(
        "before_compress",
        "PreCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        effective_fields=COMMON | {"context"},
    ),
    _notice("post_compact", "PostCompact", subject="trigger", subjects=("manual", "auto")),
    _event(
        "permission_request",
        "PermissionRequest",
        subject="tool_name",
        effective_fields=BLOCK | {"approve", "tool_input", "stop", "extra.updated_permissions"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        field_policies={"tool_input": "replace_whole"},
        prompt_refusals=(EMPTY, EMPTY),
    ),
    _notice("permission_denied", "PermissionDenied", subject="tool_name"),
    _event(
        "todo_created",
        "TodoCreated",
        effective_fields=BLOCK,
    ),
    _event(
        "todo_completed",
        "TodoCompleted",
        effective_fields=BLOCK,
    ),
)
