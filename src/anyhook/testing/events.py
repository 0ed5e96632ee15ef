"""Events as every agent sends them, made of canonical words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event, encode_event, payload_key
from anyhook.errors import EventError
from anyhook.model.events import ToolEvent, event_class, json_kind
from anyhook.model.tools import MCP_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.model.events import Event

SESSION = {"session_id": "test-session", "transcript_path": "", "cwd": "/project"}
NEUTRAL: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "number": 0,
    "array": [],
    "object": {},
    "any": None,
}
USUAL: dict[str, Any] = {
    "llm_request": {"model": "model", "messages": [], "config": {}},
    "llm_response": {"text": "", "candidates": []},
}
TIMESTAMP = "2026-01-15T10:30:00.000Z"


def make_payload(
    event: str,
    *,
    agent: str,
    tool: str | None = None,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - as everywhere else
    **fields: Any,
) -> dict[str, Any]:
    """Write an event as an agent would send it.

    Args:
        event: Canonical name, or the agent's.
        agent: Name of an agent.
        tool: Canonical name of the tool, or the agent's.
        input: Its arguments, by their canonical names or the agent's.
        fields: Other fields of the event; those that are left out get neutral values.

    Returns:
        A payload.

    Raises:
        EventError: If the event has no such field.
        UnknownNameError: If there is no such agent, or it has no such event.
    """
    agent_spec = get_agent(agent)
    spec = agent_spec.event(event)
    cls = event_class(spec.canonical)
    if tool is not None:
        fields["tool_name"] = agent_spec.vocabulary.name(tool) or tool
        fields["tool_input"] = agent_spec.vocabulary.arguments(tool, input or {})
    if issubclass(cls, ToolEvent) and not fields.get("tool_name"):
        raise EventError(f"{event} needs a tool, like tool='shell'")
    for name in fields:
        if name not in cls.record_fields:
            raise EventError(
                f"{event} has no field {name!r}; it has {', '.join(cls.record_fields)}"
            )
    values = {name: USUAL.get(name, NEUTRAL[json_kind(cls, name)]) for name in cls.record_required}
    if spec.subject and spec.subjects:
        values[spec.subject] = spec.subjects[0]
    values |= (
        SESSION | _mcp(tool if payload_key(agent_spec, spec, "mcp_context") else None) | fields
    )
    if payload_key(agent_spec, spec, "timestamp"):
        values.setdefault("timestamp", TIMESTAMP)
    return encode_event(agent_spec, cls(**values))


def _mcp(tool: str | None) -> dict[str, Any]:
    """Return the server behind an MCP tool, for agents that tell it."""
    server, found, inner = (tool or "").removeprefix(MCP_PREFIX).partition("__")
    if not (tool or "").startswith(MCP_PREFIX) or not found:
        return {}
    return {"mcp_context": {"server_name": server, "tool_name": inner}}


def make_event(event: str, *, agent: str, **fields: Any) -> Event:
    """Make a typed event as it comes from an agent; takes what `make_payload` takes."""
    made, _ = decode_event(get_agent(agent), make_payload(event, agent=agent, **fields))
    return made
