"""`anyhook fire`: fire an event by hand and see who decided what."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.cli import DECIDED, OK
from anyhook.cli.options import HERE, AsJson, DialectName, Project, existing_project
from anyhook.cli.output import console, print_json, print_settings_problems
from anyhook.cli.timeline import print_late, print_timeline, result_json
from anyhook.dialects.recordings import read_payloads
from anyhook.dialects.wire import NOT_ON_WIRE, decode_event, wire_key
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.sync import SyncEngine
from anyhook.errors import EventError, UsageError
from anyhook.model.events import UnknownEvent, event_class, json_kind
from anyhook.model.json import parse_json
from anyhook.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.dialects.base import Dialect
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

PROGRESS_FROM = 20
"""Events from which on a progress bar is worth its place."""

HELP = """Fire one event, or every event of a file, and see who decided what.

The project's own hooks run only if the project is trusted (`anyhook trust`), or with
`--trust-once`.

For example:

    anyhook fire BeforeTool --tool write_file --input '{"file_path": "a.txt", "content": "x"}'
    anyhook fire BeforeAgent --input '{"prompt": "delete everything"}' --json
    anyhook fire PreToolUse --dialect claude --tool Bash --input '{"command": "rm -rf /"}'
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
    dialect: DialectName = "gemini",
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
        bool, typer.Option("--exit-code", help="Exit with 2 if an event was denied or stopped.")
    ] = False,
) -> int:
    """Fire one event and see who decided what."""
    if event_file is None and event is None:
        raise UsageError("name an event, like BeforeTool, or give --event-file FILE")
    engine = Engine.load(
        existing_project(project),
        dialect=dialect,
        rules=rules,
        trust_once=trust_once,
        on_message=discard,
    )
    events = _events(engine.dialect, event, tool, given, fields or [], event_file)
    denied = False
    settings = engine.hooks.diagnostics
    if not as_json:
        print_settings_problems(console(), settings, engine.project_dir)
    with SyncEngine(engine) as sync:
        for given_event, notes in _with_progress(events):
            fired = engine.complete(given_event)
            decision = sync.dispatch(fired)
            denied = denied or decision.denied
            if as_json:
                print_json(result_json(engine, fired, decision, (*settings, *notes)))
            else:
                print_timeline(console(), engine, fired, decision, notes)
        if not as_json:
            _show_background(engine)
    return DECIDED if denied and exit_code else OK


fire.__doc__ = HELP

BACKGROUND = 30.0
"""Seconds that are waited for hooks that run in the background."""


def _show_background(engine: Engine) -> None:
    """Wait for what runs in the background, and show what came of it."""
    engine.background.wait(BACKGROUND)
    late = engine.background.collect()
    if late:
        print_late(console(), late)


def _events(
    dialect: Dialect,
    name: str | None,
    tool: str | None,
    given: str | None,
    fields: list[str],
    event_file: Path | None,
) -> list[tuple[Event, tuple[Diagnostic, ...]]]:
    if event_file is not None:
        if tool or given or fields:
            raise UsageError("--event-file holds whole events; drop --tool, --input and --set")
        found = list(_read_events(dialect, name, event_file))
        if not found:
            raise UsageError(f"{event_file} holds no {f'{name} ' if name else ''}event")
        return found
    return [_build_event(dialect, str(name), tool, given, fields)]


def _build_event(
    dialect: Dialect, name: str, tool: str | None, given: str | None, fields: list[str]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    spec = dialect.event(name)
    cls = event_class(spec.canonical)
    values: dict[str, Any] = {}
    if given is not None:
        value = _read_json(given, "--input")
        if "tool_input" in cls.record_fields:
            values["tool_input"] = value
        elif isinstance(value, dict):
            values.update(value)
        else:
            raise UsageError(f"--input of {name} must be a JSON object with its fields")
    if tool is not None:
        if "tool_name" not in cls.record_fields:
            raise UsageError(f"{name} has no tool; drop --tool")
        values["tool_name"] = tool
    for item in fields:
        key, found, text = item.partition("=")
        if not found:
            raise UsageError(f"--set takes FIELD=JSON, not {item!r}")
        values[key] = _loose_json(text)
    return _with_defaults(dialect, cls, spec.wire, values)


def _with_defaults(
    dialect: Dialect, cls: type[Event], wire: str, values: dict[str, Any]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    spec = dialect.event(wire)
    known = [f for f in cls.record_fields if f not in NOT_ON_WIRE and wire_key(dialect, spec, f)]
    for key in values:
        if key not in known:
            hint = did_you_mean(key, known) or f"it has {', '.join(known)}"
            raise EventError(f"{wire} has no field {key!r}; {hint}")
    if "tool_name" in cls.record_required and not values.get("tool_name"):
        raise EventError(f"{wire} needs a tool: --tool NAME, like --tool {dialect.tools[0]}")
    blanks: dict[str, Any] = {
        "tool_input": {},
        "llm_request": {"model": "", "messages": []},
        "llm_response": {"candidates": []},
    }
    if spec.subject and spec.subjects:
        blanks[spec.subject] = spec.subjects[0]
    neutral = {"array": [], "object": {}, "number": 0, "boolean": False}
    required = {f: neutral.get(json_kind(cls, f), "") for f in cls.record_required if f in known}
    whole = required | {f: blanks[f] for f in blanks.keys() & required.keys()} | values
    payload = {str(wire_key(dialect, spec, f)): value for f, value in whole.items()}
    checked, notes = decode_event(dialect, {dialect.event_key: wire, **payload})
    if notes:
        raise EventError("; ".join(note.message for note in notes))
    return cls(**{f: getattr(checked, f) for f in cls.record_fields if f not in NOT_ON_WIRE}), ()


def _read_events(
    dialect: Dialect, only: str | None, file: Path
) -> Iterator[tuple[Event, tuple[Diagnostic, ...]]]:
    wanted = dialect.event(only).canonical if only else None
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    for where, payload in read_payloads(text, str(file)):
        event, notes = decode_event(dialect, payload)
        if isinstance(event, UnknownEvent):
            raise EventError(f"{where}: {notes[0].message}")
        if wanted in (None, event.name):
            yield event, notes


def _read_json(text: str, option: str) -> Any:
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8-sig")
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
    events: list[tuple[Event, tuple[Diagnostic, ...]]],
) -> Iterator[tuple[Event, tuple[Diagnostic, ...]]]:
    out = console(stderr=True)
    if len(events) < PROGRESS_FROM or sys.stdout.isatty() or not out.is_terminal:
        yield from events
        return
    from rich.progress import Progress

    # standard output is the result and must not pass through the display
    with Progress(console=out, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        yield from bar.track(events, description="firing")
