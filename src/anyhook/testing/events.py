"""Events as agents send them, made from canonical names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event, encode_event, payload_key
from anyhook.agents.samples import samples_of
from anyhook.agents.tool_names import counterpart_tool
from anyhook.agents.translate import as_patch
from anyhook.errors import EventError
from anyhook.model.events import ToolEvent, event_class, json_kind
from anyhook.model.suggest import did_you_mean
from anyhook.model.tools import MCP_PREFIX, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.events import Event

SESSION = {"session_id": "test-session", "transcript_path": "", "cwd": "/project"}
TIMESTAMP = "2026-01-15T10:30:00.000Z"
NEUTRAL_VALUES: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "number": 0,
    "array": [],
    "object": {},
    "any": None,
}
"""Kind of JSON to the value of a required field that is not given."""
SAMPLE_VALUES: dict[str, Any] = {
    "llm_request": {"model": "model", "messages": [], "config": {}},
    "llm_response": {"text": "", "candidates": []},
}
"""Required fields whose neutral value would not be a valid one."""


def make_payload(
    event: str,
    *,
    agent: str,
    tool: str | None = None,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - the name in hooks and payloads
    **fields: Any,
) -> dict[str, Any]:
    """Make a payload as an agent sends it.

    Args:
        event: Name of the event, canonical (`before_tool`) or the agent's (`PreToolUse`).
        agent: Name of any agent in the registry.
        tool: Name of the tool, canonical (`shell`) or the agent's.
        input: Arguments of the tool, by canonical names or the agent's; without a tool, fields.
        fields: Other fields of the event, by canonical names. Required ones get neutral values,
            and the other members that the agent always sends plausible ones.

    Returns:
        The payload, with the agent's names.

    Raises:
        EventError: If the event has no such field, or needs a tool.
        UnknownNameError: If there is no such agent, or it has no such event.
    """
    spec = get_agent(agent)
    event_spec = spec.event(event)
    cls = event_class(event_spec.canonical)
    if tool is not None:
        _warn_of_mistyped_tool(spec, tool)
        fields["tool_name"] = spec.vocabulary.name(tool) or tool
        cwd = str(fields.get("cwd", SESSION["cwd"]))
        fields["tool_input"] = make_arguments(spec, tool, input or {}, cwd)
    else:
        fields |= input or {}
    if issubclass(cls, ToolEvent) and not fields.get("tool_name"):
        raise EventError(f"{event} needs a tool, like tool='shell'")
    for name in fields:
        if name not in cls.record_fields:
            names = ", ".join(cls.record_fields)
            raise EventError(f"{event} has no field {name!r}; it has {names}")
    values: dict[str, Any] = {}
    for name in cls.record_required:
        values[name] = SAMPLE_VALUES.get(name, NEUTRAL_VALUES[json_kind(cls, name)])
    # Where the agent has a fixed set of words, an empty text would not be a valid subject.
    if event_spec.subject and event_spec.subjects:
        values[event_spec.subject] = event_spec.subjects[0]
    values |= SESSION
    has_mcp_context = payload_key(spec, event_spec, "mcp_context") is not None
    if has_mcp_context and tool is not None and tool.startswith(MCP_PREFIX):
        # The tool is `mcp__SERVER__TOOL`.
        server, separator, name = tool.removeprefix(MCP_PREFIX).partition("__")
        if separator:
            values["mcp_context"] = {"server_name": server, "tool_name": name}
    values |= fields
    if payload_key(spec, event_spec, "timestamp"):
        values.setdefault("timestamp", TIMESTAMP)
    return _encode_with_samples(spec, event_spec, values)


def make_arguments(
    agent: AgentSpec, tool: str, arguments: Mapping[str, Any], cwd: str
) -> dict[str, Any]:
    """Return the arguments of a tool as an agent sends them.

    Args:
        agent: The agent.
        tool: Name of the tool, canonical or the agent's.
        arguments: By canonical names or the agent's.
        cwd: Working directory, to which paths in patches are relative.
    """
    vocabulary = agent.vocabulary
    canonical = tool if tool in TOOLS else vocabulary.tool(tool)
    return vocabulary.arguments(tool, as_patch(canonical, arguments, agent, cwd))


def _warn_of_mistyped_tool(agent: AgentSpec, name: str) -> None:
    """Warn of a tool that is named almost like one; other names may be tools of a program."""
    if name in TOOLS or name in agent.tools or name in agent.foreign_tools:
        return
    if not agent.tools or name.startswith(MCP_PREFIX) or counterpart_tool(agent, name):
        return
    hint = did_you_mean(name, [*agent.tools, *TOOLS])
    if hint:
        warnings.warn(f"{agent.title} has no tool {name!r}; {hint}", stacklevel=3)


def _encode_with_samples(
    agent: AgentSpec, event_spec: EventSpec, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the payload of an event with these fields, and with what the agent always sends."""
    cls = event_class(event_spec.canonical)
    cwd = str(values["cwd"])
    samples = samples_of(agent)
    if "tool_response" in cls.record_fields and payload_key(agent, event_spec, "tool_response"):
        result = samples.result(str(values.get("tool_name", "")), cwd)
        if result is not None:
            values.setdefault("tool_response", result)
    payload = encode_event(agent, cls(**values))
    for name, value in samples.members(event_spec.wire, cwd).items():
        payload.setdefault(name, value)
    return payload


def make_event(event: str, *, agent: str, **fields: Any) -> Event:
    """Make an event as it is decoded from an agent's payload.

    Args:
        event: Name of the event, canonical or the agent's.
        agent: Name of any agent in the registry.
        fields: The other arguments of `make_payload`.

    Raises:
        EventError: If the event has no such field, or needs a tool.
        UnknownNameError: If there is no such agent, or it has no such event.
    """
    payload = make_payload(event, agent=agent, **fields)
    decoded, _ = decode_event(get_agent(agent), payload)
    return decoded


def missing_in(agent: AgentSpec, event: str, tool: object) -> str | None:
    """Return what an agent lacks for an event of a tool, like `no event before_model`."""
    if event not in agent.by_canonical:
        return f"no event {event}"
    if isinstance(tool, str) and tool in TOOLS and agent.vocabulary.name(tool) is None:
        return f"no tool {tool}"
    return None
