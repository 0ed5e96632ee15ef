"""`anyhook fire`: fire an event by hand and see who decided what."""

from __future__ import annotations

import json
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.agents import get_agent, recognise
from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, payload_key
from anyhook.cli import DECIDED, OK
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    Project,
    agent_of_event,
    existing_project,
    one_agent,
    print_project,
)
from anyhook.cli.output import console, print_json, print_settings_problems
from anyhook.cli.timeline import print_late, print_timeline, result_json
from anyhook.cli.verdict import verdicts
from anyhook.engine.compare import differences
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.sync import SyncEngine
from anyhook.errors import EventError, UsageError
from anyhook.files import read_user_file
from anyhook.model.events import UnknownEvent, event_class
from anyhook.model.json import parse_json
from anyhook.model.suggest import did_you_mean
from anyhook.settings.recordings import read_payloads
from anyhook.testing import make_payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

    Payload = dict[str, Any]
    Noted = tuple[Event, tuple[Diagnostic, ...]]

OBJECTS_THAT_AGENTS_SEND = ("tool_response", "details")
"""Fields that every agent sends where its event has them, and that an empty object stands for."""
DIFFERS = 3
"""Exit code of `--exit-code` where one rule set denies and another one does not."""
LARGEST_EVENTS = 256 * 1024 * 1024
"""Bytes of a file of events: recordings of long sessions."""
PROGRESS_FROM = 20
"""Events from which on a progress bar is worth its place."""

HELP = """Fire one event, or every event of a file, and see who decided what.

The project's own hooks run only if the project is trusted (`anyhook trust`), or with
`--trust-once`.

For example:

    anyhook fire BeforeTool --tool write_file --input '{"file_path": "a.txt", "content": "x"}'
    anyhook fire BeforeAgent --input '{"prompt": "delete everything"}' --json
    anyhook fire PreToolUse --agent claude --tool Bash --input '{"command": "rm -rf /"}'
    anyhook fire --event-file session.jsonl --project ~/code/app
"""


def fire(
    event: Annotated[
        str | None, typer.Argument(help="Event, as the agent names it or canonical.")
    ] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Tool of a tool event.")] = None,
    given: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="JSON|@FILE|-",
            help="Arguments of the tool; for other events, the fields of the event.",
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=JSON", help="Any other field of the event."),
    ] = None,
    event_file: Annotated[
        Path | None,
        typer.Option(
            "--event-file",
            metavar="FILE",
            help="Payloads to fire: one JSON object, or one a line; - reads standard input.",
        ),
    ] = None,
    project: Project = HERE,
    agent: AgentName = None,
    rules: Annotated[
        str,
        typer.Option(
            "--rules",
            help="documented: what the references promise; observed: what the newest release does; "
            "observed@VERSION: what that release does.",
        ),
    ] = "documented",
    trust_once: Annotated[
        bool, typer.Option("--trust-once", help="Run the project's hooks without asking.")
    ] = False,
    as_json: AsJson = False,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Exit with 2 if an event was denied under every rule set, with 3 if they differ.",
        ),
    ] = False,
) -> int:
    """Fire one event and see who decided what."""
    if event_file is None and event is None:
        raise UsageError("name an event, like BeforeTool, or give --event-file FILE")
    here = existing_project(project)
    payloads = None if event_file is None else _read_payloads(event_file, (tool, given, fields))
    agent_name = _agent(here, agent, event, payloads)
    engine = Engine.load(
        here, agent=agent_name, rules=rules, trust_once=trust_once, on_message=discard
    )
    with tempfile.TemporaryDirectory(prefix="anyhook-") as directory:
        if payloads is None:
            given_event = _Given(str(event), tool, given, fields or [])
            events: list[Noted] = [(_build_event(engine, given_event, Path(directory)), ())]
        else:
            events = list(_decoded(engine.agent, event, payloads))
        if not events:
            raise UsageError(f"{event_file} holds no {f'{event} ' if event else ''}event")
        code = _fire_all(engine, events, as_json=as_json)
    return code if exit_code else OK


def _agent(
    project: Path, named: str | None, event: str | None, payloads: list[tuple[str, Payload]] | None
) -> str:
    """Return the agent that is named, or whose event or payloads these are, or that has hooks."""
    if named is not None:
        return get_agent(named).name
    by_event = agent_of_event(event) if event else None
    if by_event is not None:
        return by_event
    agents = {recognise(payload, {}) for _, payload in payloads or ()} - {None}
    if len(agents) == 1:
        return str(agents.pop())
    configured = one_agent(project, None)
    if agents and configured not in agents:
        names = ", ".join(sorted(map(str, agents)))
        raise UsageError(f"the file holds events of several agents ({names}); name one: --agent")
    return configured


def _fire_all(engine: Engine, events: list[Noted], *, as_json: bool) -> int:
    """Fire events and show them. Returns the exit code for `--exit-code`."""
    settings = engine.hooks.diagnostics
    if not as_json:
        print_project(console(), engine.project_dir)
        print_settings_problems(console(), settings, engine.project_dir)
    code = OK
    with SyncEngine(engine) as sync:
        for given_event, notes in _with_progress(events):
            fired = engine.complete(given_event)
            decision = sync.dispatch(fired)
            if code != DECIDED:
                code = _exit_code(engine, fired, decision) or code
            if as_json:
                print_json(result_json(engine, fired, decision, (*settings, *notes)))
            else:
                print_timeline(console(), engine, fired, decision, notes)
        if not as_json:
            _show_background(engine)
    return code


def _exit_code(engine: Engine, event: Event, decision: Decision) -> int:
    changes = differences(engine, event, decision)
    denied = {found.denied for found in verdicts(engine, event, decision, changes)}
    if denied == {True}:
        return DECIDED
    return DIFFERS if len(denied) > 1 else OK


fire.__doc__ = HELP

BACKGROUND = 30.0
"""Seconds that are waited for hooks that run in the background."""


def _show_background(engine: Engine) -> None:
    """Wait for what runs in the background, and show what came of it."""
    engine.background.wait(BACKGROUND)
    late = engine.background.collect()
    if late:
        print_late(console(), late)


@dataclass(frozen=True, slots=True)
class _Given:
    """An event as it is written on the command line."""

    name: str
    tool: str | None
    input: str | None
    fields: list[str]


def _build_event(engine: Engine, given: _Given, directory: Path) -> Event:
    agent = engine.agent
    spec = agent.event(given.name)
    cls = event_class(spec.canonical)
    values: dict[str, Any] = {}
    if given.input is not None:
        value = _read_json(given.input, "--input")
        if "tool_input" in cls.record_fields:
            values["tool_input"] = value
        elif isinstance(value, dict):
            values.update(value)
        else:
            raise UsageError(f"--input of {given.name} must be a JSON object with its fields")
    if given.tool is not None:
        if "tool_name" not in cls.record_fields:
            raise UsageError(f"{given.name} has no tool; drop --tool")
        values["tool_name"] = given.tool
    for item in given.fields:
        key, separator, text = item.partition("=")
        if not separator:
            raise UsageError(f"--set takes FIELD=JSON, not {item!r}")
        values[key] = _loose_json(text)
    return _with_defaults(engine, spec, values, directory)


def _with_defaults(
    engine: Engine, spec: EventSpec, values: dict[str, Any], directory: Path
) -> Event:
    """Complete an event with what an agent would send: a session, a transcript, a result."""
    agent, cls = engine.agent, event_class(spec.canonical)
    known = [
        f for f in cls.record_fields if f not in NOT_IN_PAYLOAD and payload_key(agent, spec, f)
    ]
    for key in values:
        if key not in known:
            hint = did_you_mean(key, known) or f"it has {', '.join(known)}"
            raise EventError(f"{spec.wire} has no field {key!r}; {hint}")
    if "tool_name" in cls.record_required and not values.get("tool_name"):
        raise EventError(f"{spec.wire} needs a tool: --tool NAME, like --tool {agent.tools[0]}")
    transcript = directory / "transcript.jsonl"
    transcript.touch()
    plausible: dict[str, Any] = {
        "session_id": f"anyhook-{uuid.uuid4()}",
        "transcript_path": str(transcript),
        "cwd": str(engine.project_dir),
    }
    # The tool is set as it was written: it need not be one that the agent has.
    sample = make_payload(spec.wire, agent=agent.name, **plausible, **_sample_tool(cls))
    payload = dict(sample)
    for name in OBJECTS_THAT_AGENTS_SEND:
        if name in known:
            payload.setdefault(str(payload_key(agent, spec, name)), {})
    for name, value in values.items():
        payload[str(payload_key(agent, spec, name))] = value
    event, notes = decode_event(agent, payload)
    if notes:
        raise EventError("; ".join(note.message for note in notes))
    fields = [field for field in cls.record_fields if field not in NOT_IN_PAYLOAD]
    return cls(**{field: getattr(event, field) for field in fields})


def _sample_tool(cls: type[Event]) -> dict[str, Any]:
    if "tool_name" not in cls.record_fields:
        return {}
    return {"tool": "read_file", "input": {}}


def _read_payloads(file: Path, other_options: Iterable[object]) -> list[tuple[str, Payload]]:
    if any(other_options):
        raise UsageError("--event-file holds whole events; drop --tool, --input and --set")
    try:
        text = sys.stdin.read() if str(file) == "-" else _read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    return list(read_payloads(text, str(file)))


def _decoded(
    agent: AgentSpec, only: str | None, payloads: list[tuple[str, Payload]]
) -> Iterator[Noted]:
    wanted = agent.event(only).canonical if only else None
    for where, payload in payloads:
        event, notes = decode_event(agent, payload)
        if isinstance(event, UnknownEvent):
            raise EventError(f"{where}: {notes[0].message}")
        if wanted in (None, event.name):
            yield event, notes


def _read_text(path: Path) -> str:
    return read_user_file(path, LARGEST_EVENTS, pipes=True).decode("utf-8-sig")


def _read_json(text: str, option: str) -> Any:
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = _read_text(Path(text[1:]))
        return parse_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option}: {text[1:]} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{option} is no JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            'quote it for the shell, like \'{"command": "ls"}\''
        ) from error
    except ValueError as error:
        raise UsageError(f"{option} is no JSON: {error}") from error


def _loose_json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _with_progress(
    events: list[Noted],
) -> Iterator[Noted]:
    out = console(stderr=True)
    if len(events) < PROGRESS_FROM or sys.stdout.isatty() or not out.is_terminal:
        yield from events
        return
    from rich.progress import Progress

    # standard output is the result and must not pass through the display
    with Progress(console=out, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        yield from bar.track(events, description="firing")
