"""The events of OpenCode.

OpenCode has no hooks that are commands. Its plugins are JavaScript functions, and the plugin that
anyhook installs (`plugin.js`) sends what they get to commands. So events have the names of
OpenCode's hooks and of the events on its bus. Three have names of their own, because OpenCode
uses one name for several things: `tool.execute.error` (an update of a message part whose tool has
failed), `subagent.created` and `subagent.idle` (the events of a session that has a parent).

Sources: the types of `@opencode-ai/plugin` 1.18 and the plugin documentation at opencode.ai; where
they are silent, release 1.18.33.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.opencode.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome
from anyhook.model.layers import Layer
from anyhook.model.sequence import SEQUENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMON = frozenset({"system_message"})
"""Fields of answers that every event uses."""
STOP = COMMON | {"stop", "stop_reason"}
"""Fields of answers on events of a turn, which can be ended."""
VERDICT = STOP | {"outcome", "reason"}
"""Fields of answers on events that can be denied."""

DENIES = frozenset({Outcome.DENY})
ALLOWS = frozenset({Outcome.ALLOW, Outcome.DENY})
EXIT_TIMEOUT = 5.0
"""Seconds that hooks may take while the agent exits."""
TOOL: dict[str, Any] = {"subject": "tool_name", "supports_conditions": True}


_notice = partial(
    EventSpec,
    denial=Denial.NOTHING,
    can_block=False,
    effective_fields=COMMON,
    plain_text=PlainText.NOTHING,
)
"""An event that cannot be denied."""


EVENTS = (
    _notice(
        "session_start",
        "session.created",
        subject="source",
        subjects=("startup", "resume"),
        effective_fields=COMMON | {"context"},
        plain_text=PlainText.CONTEXT,
    ),
    EventSpec(
        "before_prompt",
        "chat.message",
        effective_fields=VERDICT | {"context"},
        outcomes=DENIES,
        discarded_on_denial=frozenset({"context"}),
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        plain_text=PlainText.CONTEXT,
        payload_keys={"prompt_id": "messageID"},
        chained_fields=SEQUENCE["before_prompt"],
    ),
    EventSpec(
        "user_prompt_expansion",
        "command.execute.before",
        subject="command_name",
        effective_fields=VERDICT | {"context"},
        outcomes=DENIES,
        discarded_on_denial=frozenset({"context"}),
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        plain_text=PlainText.CONTEXT,
        payload_keys={
            "expansion_type": None,
            "command_name": "command",
            "command_args": "arguments",
        },
        optional_fields=frozenset({"expansion_type"}),
    ),
    EventSpec(
        "before_tool",
        "tool.execute.before",
        effective_fields=VERDICT | {"approve", "tool_input", "context"},
        outcomes=ALLOWS,
        reason_audience=Audience.AGENT,
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        plain_text=PlainText.NOTHING,
        required_arguments=VOCABULARY.required,
        chained_fields=SEQUENCE["before_tool"],
        **TOOL,
    ),
    EventSpec(
        "permission_request",
        "permission.asked",
        effective_fields=VERDICT | {"approve"},
        outcomes=ALLOWS | {Outcome.ASK},
        reason_audience=Audience.AGENT,
        implied_fields={"stop": {"outcome": Outcome.DENY}},
        plain_text=PlainText.NOTHING,
        payload_keys={"permission_suggestions": "always"},
        **TOOL,
    ),
    EventSpec(
        "after_tool",
        "tool.execute.after",
        effective_fields=VERDICT | {"tool_output", "context"},
        outcomes=DENIES,
        denial=Denial.HIDES,
        reason_audience=Audience.AGENT,
        plain_text=PlainText.NOTHING,
        payload_keys={"tool_response": "output"},
        **TOOL,
    ),
    _notice(
        "post_tool_use_failure",
        "tool.execute.error",
        effective_fields=STOP,
        **TOOL,
    ),
    _notice(
        "agent_response",
        "experimental.text.complete",
        effective_fields=COMMON | {"extra.text"},
        payload_keys={"response": "text"},
    ),
    _notice(
        "after_file_edit",
        "file.edited",
        payload_keys={"file_path": "file", "edits": None},
        optional_fields=frozenset({"edits"}),
    ),
    _notice(
        "file_changed",
        "file.watcher.updated",
        subject="file_name",
        matcher_style="narrow",
        payload_keys={"file_path": "file", "change": "event"},
    ),
    _notice(
        "subagent_start",
        "subagent.created",
        subject="agent_type",
        effective_fields=COMMON | {"context"},
        plain_text=PlainText.CONTEXT,
        optional_fields=frozenset({"agent_type"}),
    ),
    _notice(
        "subagent_stop",
        "subagent.idle",
        subject="agent_type",
        payload_keys={"prompt_response": "response", "stop_hook_active": "continued"},
        optional_fields=frozenset({"agent_type"}),
    ),
    _notice(
        "before_compress",
        "experimental.session.compacting",
        effective_fields=COMMON | {"context", "extra.prompt"},
        plain_text=PlainText.CONTEXT,
        payload_keys={"trigger": None},
        optional_fields=frozenset({"trigger"}),
    ),
    _notice(
        "post_compact",
        "session.compacted",
        payload_keys={"trigger": None},
        optional_fields=frozenset({"trigger"}),
    ),
    EventSpec(
        "after_agent",
        "session.idle",
        effective_fields=COMMON | {"outcome", "reason"},
        outcomes=DENIES,
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
        fails_closed=False,
        plain_text=PlainText.NOTHING,
        payload_keys={"prompt_response": "response", "stop_hook_active": "continued"},
        optional_fields=frozenset({"prompt", "prompt_response"}),
    ),
    _notice("agent_error", "session.error"),
    _notice(
        "session_delete",
        "session.deleted",
        payload_keys={"deleted_session_id": "sessionID"},
    ),
    _notice(
        "session_end",
        "dispose",
        payload_keys={"reason": None},
        optional_fields=frozenset({"reason"}),
        default_timeouts={"command": EXIT_TIMEOUT, "http": EXIT_TIMEOUT},
        max_timeouts=dict.fromkeys(Layer, EXIT_TIMEOUT),
    ),
)
