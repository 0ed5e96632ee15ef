"""Events to fire at a hook: a sample that reaches it, in the form of the options of `fire`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import NOT_IN_PAYLOAD, payload_key
from anyhook.agents.translate import decode_any_form
from anyhook.cli.event_input import EventOptions
from anyhook.cli.panel.snapshot import PanelHook, command_line
from anyhook.errors import EventError
from anyhook.manage.reaching import SAMPLE_INPUT, SAMPLE_TOOL, reaching_fields
from anyhook.model.events import UnknownEvent, event_class
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine
    from anyhook.history.events import RecordedEvent

OF_SESSION = frozenset({"session_id", "transcript_path", "timestamp", "cwd"})
"""Fields of a recorded event that belong to its session, which is over."""


def sample_event(hook: PanelHook) -> EventOptions:
    """Return a sample event that reaches a hook; if none is found, any sample."""
    engine, definition = hook.engine, hook.row.definition
    spec = engine.agent.by_canonical[definition.event]
    fields = reaching_fields(engine, definition, hook.handler)
    if fields is None and takes_tool(hook):
        fields = {"tool": engine.agent.vocabulary.name(SAMPLE_TOOL), "input": SAMPLE_INPUT}
    rest = dict(fields or {})
    tool = rest.pop("tool", None)
    value = rest.pop("input", rest or None)
    return EventOptions(spec.wire, tool, None if value is None else _json(value), [])


def takes_tool(hook: PanelHook) -> bool:
    """Return whether the event of a hook is about a tool."""
    return "tool_name" in event_class(hook.row.definition.event).record_fields


def fire_command(engine: Engine, options: EventOptions) -> str:
    """Return the command line that fires an event."""
    words = ["fire", options.name]
    if options.tool:
        words += ["--tool", options.tool]
    if options.input:
        words += ["--input", options.input]
    for item in options.fields:
        words += ["--set", item]
    return command_line(engine.project_dir, *words, "--agent", engine.agent.name)


def recorded_event(agent: AgentSpec, recorded: RecordedEvent) -> EventOptions:
    """Return a recorded event as the options that fire it again, in a new session.

    Raises:
        EventError: If the agent cannot decode it.
    """
    event, diagnostics = decode_any_form(agent, dict(recorded.payload))
    if isinstance(event, UnknownEvent):
        raise EventError(diagnostics[0].message)
    spec = agent.by_canonical[event.name]
    tool = text = None
    fields: list[str] = []
    for name in type(event).record_fields:
        value = getattr(event, name)
        is_sent = name not in NOT_IN_PAYLOAD and payload_key(agent, spec, name)
        if not is_sent or name in OF_SESSION or value is None:
            continue
        if name == "tool_name":
            tool = str(value)
        elif name == "tool_input":
            text = _json(value)
        else:
            fields.append(f"{name}={_json(value)}")
    return EventOptions(spec.wire, tool, text, fields)


def _json(value: Any) -> str:
    return dump_json(repair(value)).decode()
