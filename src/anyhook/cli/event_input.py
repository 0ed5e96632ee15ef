"""The events that `anyhook fire` dispatches: from options, or from a file of payloads."""

from __future__ import annotations

import datetime
import json
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, payload_key
from anyhook.agents.translate import decode_any_form
from anyhook.errors import EventError, UsageError
from anyhook.files import read_user_file
from anyhook.model.events import Event, UnknownEvent, event_class
from anyhook.model.json import parse_json
from anyhook.model.record import Record
from anyhook.model.suggest import did_you_mean
from anyhook.settings.payload_files import read_payloads
from anyhook.testing import make_payload
from anyhook.testing.events import make_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Diagnostic

Payloads = list[tuple[str, dict[str, Any]]]
"""Payloads of a file, each behind its `FILE:LINE`."""
MAX_EVENT_FILE = 256 * 1024 * 1024
"""Bytes; recordings of long sessions are large."""
ALWAYS_SENT = ("tool_response", "details")
"""Fields that every agent sends on the events that have them; by default an empty object."""


class EventOptions(Record, kw_only=False):
    """An event as the options of `anyhook fire` describe it."""

    name: str
    """The agent's or the canonical one."""
    tool: str | None
    input: str | None
    fields: list[str]
    """The options `--set`."""


class DecodedEvent(Record, kw_only=False):
    """An event with the diagnostics about its payload."""

    event: Event
    diagnostics: tuple[Diagnostic, ...] = ()


# -- from a file


def read_event_file(file: Path) -> Payloads:
    """Read payloads from a file; `-` is standard input.

    Raises:
        UsageError: If the file cannot be read.
        EventError: If something in it is not a JSON object.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else _read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    return list(read_payloads(text, str(file)))


def decode_payloads(
    agent: AgentSpec, payloads: Payloads, name: str | None
) -> Iterator[DecodedEvent]:
    """Decode the payloads of an event, or all if no event is named.

    Raises:
        EventError: If the agent has no such event.
    """
    canonical = agent.event(name).canonical if name else None
    for place, payload in payloads:
        event, diagnostics = decode_any_form(agent, payload)
        if isinstance(event, UnknownEvent):
            raise EventError(f"{place}: {diagnostics[0].message}")
        if canonical in (None, event.name):
            yield DecodedEvent(event, diagnostics)


# -- from options


def build_event(engine: Engine, options: EventOptions, directory: Path) -> Event:
    """Build the event that options describe, completed with what an agent would send.

    The transcript of its session is an empty file in the directory.

    Raises:
        UsageError: If an option is malformed or does not fit the event.
        EventError: If the event has no such field, or lacks one.
    """
    agent = engine.agent
    spec = agent.event(options.name)
    cls = event_class(spec.canonical)
    values = _field_values(spec, options)
    own_fields = [name for name in cls.record_fields if name not in NOT_IN_PAYLOAD]
    names = [name for name in own_fields if payload_key(agent, spec, name)]
    for name in values:
        if name not in names:
            hint = did_you_mean(name, names) or f"its fields: {', '.join(names)}"
            raise EventError(f"{spec.wire} has no field {name!r}; {hint}")
    if "tool_name" in cls.record_required and not values.get("tool_name"):
        raise EventError(f"{spec.wire} needs a tool: --tool NAME, like --tool {agent.tools[0]}")
    transcript = directory / "transcript.jsonl"
    transcript.touch()
    sample: dict[str, Any] = {
        "session_id": f"anyhook-{uuid.uuid4()}",
        "transcript_path": str(transcript),
        "cwd": str(engine.project_dir),
    }
    if payload_key(agent, spec, "timestamp"):
        now = datetime.datetime.now(datetime.UTC)
        sample["timestamp"] = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if "tool_name" in cls.record_fields:
        # A placeholder: `--tool` is sent as it is written, also if the agent has no such tool.
        sample |= {"tool": "read_file", "input": {}}
    payload = make_payload(spec.wire, agent=agent.name, **sample)
    for name in ALWAYS_SENT:
        if name in names:
            payload.setdefault(str(payload_key(agent, spec, name)), {})
    tool_input = values.get("tool_input")
    if isinstance(tool_input, dict):
        tool, cwd = str(values["tool_name"]), str(values.get("cwd", sample["cwd"]))
        values["tool_input"] = make_arguments(agent, tool, tool_input, cwd)
    for name, value in values.items():
        payload[str(payload_key(agent, spec, name))] = value
    event, diagnostics = decode_event(agent, payload)
    if diagnostics:
        raise EventError("; ".join(diagnostic.message for diagnostic in diagnostics))
    return event


def _field_values(spec: EventSpec, options: EventOptions) -> dict[str, Any]:
    """Return the values that the options give to fields of the event."""
    cls = event_class(spec.canonical)
    values: dict[str, Any] = {}
    if options.input is not None:
        value = _read_input(options.input)
        if "tool_input" in cls.record_fields:
            values["tool_input"] = value
        elif isinstance(value, dict):
            values.update(value)
        else:
            raise UsageError(f"--input of {options.name} must be a JSON object with its fields")
    if options.tool is not None:
        if "tool_name" not in cls.record_fields:
            raise UsageError(f"{options.name} has no tool; drop --tool")
        values["tool_name"] = options.tool
    for item in options.fields:
        name, separator, text = item.partition("=")
        if not separator:
            raise UsageError(f"--set takes FIELD=JSON, not {item!r}")
        try:
            values[name] = parse_json(text)
        except ValueError:  # a string without quotes
            values[name] = text
    return values


def _read_input(value: str) -> Any:
    """Return the JSON of the option `--input`: the value itself, `@FILE`, or `-` for the input."""
    try:
        text = value
        if value == "-":
            text = sys.stdin.read()
        elif value.startswith("@"):
            text = _read_text(Path(value[1:]))
        return parse_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--input: {value[1:]} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise UsageError(
            f"--input is not JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            'quote it for the shell, like \'{"command": "ls"}\''
        ) from error
    except ValueError as error:
        raise UsageError(f"--input is not JSON: {error}") from error


def _read_text(path: Path) -> str:
    return read_user_file(path, MAX_EVENT_FILE, pipes=True).decode("utf-8-sig")
