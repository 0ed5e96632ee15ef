"""The events of Codex CLI.

Sources: the hooks page of developers.openai.com as of 2026-10, and where it is silent release
0.169.0 as it was observed. `PreModelRequest` and `PostModelRequest` are not documented.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.codex.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer

MESSAGE = frozenset({"system_message"})
STOP = MESSAGE | {"stop", "stop_reason"}
BLOCK = frozenset({"outcome", "reason"})
DENIES = frozenset({Outcome.DENY})

COMMANDS = frozenset({"command", "function"})
SHORT = {"command": 1.0, "mcp_tool": 1.0}
"""Default timeouts in seconds of events at which the user waits."""
AT_MOST = dict.fromkeys(Layer, 3.0)
"""Their limits."""
NO_TURN = {"prompt_id": None}
"""The events of a session do not belong to a turn."""
NO_REQUEST = {"llm_request": None, "llm_response": None}
"""The events of requests to the model do not hold the request."""


_event = partial(
    EventSpec,
    matcher_style="rust",
    outcomes=DENIES,
    reason_audience=Audience.AGENT,
    plain_text=PlainText.NOTHING,
    stdout_audience=Audience.DEBUG,
    block_audience=Audience.DEBUG,
    fails_closed=False,
    field_policies={"context": "every_context"},
    no_opinion_output="",
)
"""An event that hooks can influence; it takes all contexts, also empty ones."""
_notice = partial(
    _event,
    denial=Denial.NOTHING,
    outcomes=None,
    reason_audience=Audience.USER,
    can_block=False,
    effective_fields=STOP,
)
"""An event that cannot be denied."""


EVENTS = (
    _notice(
        "before_model",
        "PreModelRequest",
        effective_fields=frozenset(),
        payload_keys=NO_REQUEST,
        optional_fields=frozenset({"llm_request"}),
    ),
    _notice(
        "after_model",
        "PostModelRequest",
        effective_fields=frozenset(),
        payload_keys=NO_REQUEST,
        optional_fields=frozenset({"llm_request", "llm_response"}),
    ),
    _event(
        "before_tool",
        "PreToolUse",
        subject="tool_name",
        effective_fields=MESSAGE | BLOCK | {"context", "tool_input"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        reason_policy="first",
        field_policies={"context": "every_context", "tool_input": "last"},
        required_arguments=VOCABULARY.required,
        input_refusal="hook returned updatedInput without string field `{argument}`",
        fails_closed=True,
        requires_reason=True,
    ),
    _event(
        "permission_request",
        "PermissionRequest",
        subject="tool_name",
        effective_fields=MESSAGE | BLOCK | {"approve"},
        outcomes=frozenset({Outcome.ALLOW, Outcome.DENY}),
        reason_policy="first",
        default_reason="PermissionRequest hook denied approval",
        fails_closed=True,
    ),
    _event(
        "after_tool",
        "PostToolUse",
        subject="tool_name",
        effective_fields=MESSAGE | BLOCK | {"context"},
        denial=Denial.HIDES,
        fails_closed=True,
        requires_reason=True,
    ),
    _notice(
        "before_compress",
        "PreCompact",
        subject="trigger",
        subjects=("manual", "auto"),
    ),
    _notice(
        "post_compact",
        "PostCompact",
        subject="trigger",
        subjects=("manual", "auto"),
        stop_prevents=False,
    ),
    _notice(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear", "compact", "fork"),
        effective_fields=STOP | {"context"},
        plain_text=PlainText.CONTEXT,
        payload_keys=NO_TURN,
    ),
    _notice(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=("other",),
        payload_keys=NO_TURN,
        effective_fields=frozenset(),
        handler_kinds=COMMANDS,
        default_timeouts=SHORT,
        max_timeouts=AT_MOST,
        runs_background=False,
    ),
    _event(
        "before_prompt",
        "UserPromptSubmit",
        effective_fields=STOP | BLOCK | {"context"},
        plain_text=PlainText.CONTEXT,
        payload_keys={"source": None, "session_title": None},
        discarded_on_denial=frozenset({"context"}),
        fails_closed=True,
        requires_reason=True,
        reason_audience=Audience.USER,
    ),
    _notice(
        "subagent_start",
        "SubagentStart",
        subject="agent_type",
        effective_fields=MESSAGE | {"context"},
        plain_text=PlainText.CONTEXT,
    ),
    _event(
        "subagent_stop",
        "SubagentStop",
        subject="agent_type",
        effective_fields=STOP | BLOCK,
        denial=Denial.CONTINUES,
        payload_keys={"prompt_response": "last_assistant_message"},
        requires_reason=True,
    ),
    _event(
        "after_agent",
        "Stop",
        effective_fields=STOP | BLOCK,
        denial=Denial.CONTINUES,
        optional_fields=frozenset({"prompt_response"}),
        payload_keys={"prompt": None, "prompt_response": "last_assistant_message"},
        requires_reason=True,
    ),
    _notice(
        "interrupt",
        "Interrupt",
        effective_fields=MESSAGE,
        default_timeouts=SHORT,
        max_timeouts=AT_MOST,
    ),
)
