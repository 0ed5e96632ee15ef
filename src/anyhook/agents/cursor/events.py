"""The events of Cursor.

Source: the hooks reference at cursor.com/docs/hooks as of 2026 (it has `model_id` and
`workspaceOpen`). Where it is silent, what was measured with Cursor 3.9.16 holds.
"""

from __future__ import annotations

from functools import partial

from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome
from anyhook.model.record import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = "3.9.16"
"""The release of the only published payloads (exocortex, 2026-06-30)."""

EVERY_PAYLOAD = {"cursor_version": VERSION, "user_email": None}
"""Members of all payloads besides the fields of events."""

VERDICT = frozenset({"outcome", "reason"})
"""Fields of answers on events that can be denied."""
MESSAGE = frozenset({"system_message"})

ALLOWS_OR_DENIES = frozenset({Outcome.ALLOW, Outcome.DENY})
ASKS_TOO = ALLOWS_OR_DENIES | {Outcome.ASK}
DENY_ONLY = ({"outcome": Outcome.DENY}, {"outcome": Outcome.DENY})
"""What a prompt hook that refuses does."""

ROOT = {"cwd": "workspace_roots"}
"""Most payloads name the working directory only as the first directory of the workspace."""
NO_SESSION = dict.fromkeys(("session_id", "transcript_path", "prompt_id"))


def _event(
    canonical: str,
    wire: str,
    keys: Mapping[str, str | None] | None = None,
    forms: Mapping[str, str] | None = None,
    payload_members: Mapping[str, Any] = EMPTY,
    **attributes: Any,
) -> EventSpec:
    """Return an event; without `cwd` in its keys its directory is that of the workspace."""
    payload_keys = {**ROOT, **(keys or {})}
    payload_forms = dict(forms or {})
    if payload_keys["cwd"] != "cwd":
        payload_forms["cwd"] = "list"
    return EventSpec(
        canonical,
        wire,
        payload_keys=payload_keys,
        payload_forms=payload_forms,
        payload_members={**EVERY_PAYLOAD, **payload_members},
        matcher_style="untrimmed",
        plain_text=PlainText.NOTHING,
        stdout_audience=Audience.DEBUG,
        **attributes,
    )


_gate = partial(
    _event,
    effective_fields=VERDICT,
    outcomes=ALLOWS_OR_DENIES,
    prompt_refusals=DENY_ONLY,
    verdict_policy="highest_layer",
)
"""An event at which hooks allow or deny an action."""
_end = partial(
    _event,
    effective_fields=VERDICT,
    outcomes=frozenset({Outcome.DENY}),
    denial=Denial.CONTINUES,
    reason_audience=Audience.AGENT,
    can_block=False,
    block_audience=Audience.DEBUG,
    prompt_refusals=DENY_ONLY,
)
"""An event at which hooks can continue an agent; exit code 2 does not."""
_notice = partial(_event, denial=Denial.NOTHING, can_block=False, block_audience=Audience.DEBUG)
"""An event that hooks cannot deny."""


OWN_DIRECTORY = {"cwd": "cwd"}
TOOL: dict[str, Any] = {"subject": "tool_name"}
# The reference does not say what matchers of MCP calls see; payloads have the bare name.
MCP_TOOL: dict[str, Any] = {**TOOL, "writes_matchers": False}
COMPLETED = {"status": "completed"}
"""How a turn ended that other agents report: they report none that was interrupted."""
AGENT_KEYS = {"agent_type": "subagent_type", "agent_id": "subagent_id"}
JSON_INPUT = {"tool_input": "json_text"}
"""The events of MCP calls send the arguments as a JSON text."""

EVENTS = (
    _notice(
        "session_start",
        "sessionStart",
        {"source": None},
        effective_fields=frozenset({"context", "extra.env"}),
        optional_fields=frozenset({"source"}),
    ),
    _notice("session_end", "sessionEnd"),
    _gate("before_prompt", "beforeSubmitPrompt", matcher_text="UserPromptSubmit"),
    # The reference: "ask" is accepted and not enforced.
    _gate(
        "before_tool",
        "preToolUse",
        OWN_DIRECTORY,
        effective_fields=VERDICT | {"tool_input"},
        denial_fields=MESSAGE,
        reason_audience=Audience.AGENT,
        **TOOL,
    ),
    _notice(
        "after_tool",
        "postToolUse",
        {**OWN_DIRECTORY, "tool_response": "tool_output"},
        {"tool_response": "json_text"},
        effective_fields=frozenset({"context", "extra.updated_mcp_tool_output"}),
        **TOOL,
    ),
    _notice(
        "post_tool_use_failure",
        "postToolUseFailure",
        {**OWN_DIRECTORY, "error": "error_message"},
        **TOOL,
    ),
    _gate("subagent_start", "subagentStart", AGENT_KEYS, subject="agent_type"),
    _end(
        "subagent_stop",
        "subagentStop",
        {**AGENT_KEYS, "prompt_response": "summary", "stop_hook_active": "loop_count"},
        {"stop_hook_active": "count"},
        subject="agent_type",
        payload_members=COMPLETED,
        limit_continuation="anyhook.agents.cursor.continuation:limit_completed",
    ),
    _gate(
        "before_shell",
        "beforeShellExecution",
        OWN_DIRECTORY,
        subject="command",
        denial_fields=MESSAGE,
        outcomes=ASKS_TOO,
        reason_audience=Audience.AGENT,
    ),
    _notice("after_shell", "afterShellExecution", subject="command"),
    _gate(
        "before_mcp_call",
        "beforeMCPExecution",
        {"url": "mcp_server_url", "tool_use_id": None},
        JSON_INPUT,
        denial_fields=MESSAGE,
        outcomes=ASKS_TOO,
        reason_audience=Audience.AGENT,
        **MCP_TOOL,
    ),
    _notice("after_mcp_call", "afterMCPExecution", {"tool_use_id": None}, JSON_INPUT, **MCP_TOOL),
    _gate("before_file_read", "beforeReadFile", matcher_text="Read"),
    _notice("after_file_edit", "afterFileEdit", matcher_text="Write"),
    _notice("before_compress", "preCompact", effective_fields=MESSAGE),
    _end(
        "after_agent",
        "stop",
        {"prompt": None, "prompt_response": None, "stop_hook_active": "loop_count"},
        {"stop_hook_active": "count"},
        matcher_text="Stop",
        payload_members=COMPLETED,
        optional_fields=frozenset({"prompt", "prompt_response"}),
        limit_continuation="anyhook.agents.cursor.continuation:limit",
    ),
    _notice(
        "agent_response",
        "afterAgentResponse",
        {"response": "text"},
        matcher_text="AgentResponse",
    ),
    _notice(
        "agent_thought",
        "afterAgentThought",
        {"thought": "text", "duration_ms": "duration_ms"},
        matcher_text="AgentThought",
    ),
    _gate("before_tab_read", "beforeTabFileRead", matcher_text="TabRead"),
    _notice("after_tab_edit", "afterTabFileEdit", matcher_text="TabWrite"),
    _notice(
        "workspace_open",
        "workspaceOpen",
        {**NO_SESSION, "cwd": None},
        effective_fields=frozenset({"extra.plugin_paths"}),
    ),
)
