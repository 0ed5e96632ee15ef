"""Events to fire at a hook: a sample that reaches it, in the form of the options of `fire`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import NOT_IN_PAYLOAD, payload_key
from anyhook.agents.translate import decode_any_form
from anyhook.cli.event_input import EventOptions, build_event, subject_fields
from anyhook.cli.panel.snapshot import command_line
from anyhook.errors import AnyhookError, EventError
from anyhook.model.events import UnknownEvent, event_class
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.cli.panel.snapshot import PanelHook
    from anyhook.engine.engine import Engine
    from anyhook.history.events import RecordedEvent

MAX_SAMPLES = 200
"""Samples that are tried until one reaches the hook."""
OF_SESSION = frozenset({"session_id", "transcript_path", "timestamp", "cwd"})
"""Fields of a recorded event that belong to its session, which is over."""


def sample_event(hook: PanelHook) -> EventOptions:
    """Return a sample event that reaches a hook; if none is found, the first sample."""
    engine = hook.engine
    spec = engine.agent.by_canonical[hook.row.definition.event]
    first: EventOptions | None = None
    with tempfile.TemporaryDirectory(prefix="anyhook-") as scratch:
        samples = subject_fields(engine.agent, hook.row.definition, spec)
        for number, fields in enumerate(samples):
            rest = dict(fields)
            tool = rest.pop("tool", None)
            value = rest.pop("input", rest or None)
            text = None if value is None else _json(value)
            options = EventOptions(spec.wire, tool, text, [])
            first = first or options
            if number >= MAX_SAMPLES:
                break
            try:
                event = build_event(engine, options, Path(scratch))
            except AnyhookError:
                continue
            planned = [handler.identity for handler in engine.plan(event).handlers]
            if hook.handler.identity in planned:
                return options
    return first or EventOptions(spec.wire, None, None, [])


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
