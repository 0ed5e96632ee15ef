"""`anyhook fire`: dispatch an event by hand and show the decision."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.agents import get_agent, recognize
from anyhook.cli import DENIED, NOT_DECIDED, OK, RULES_DIFFER
from anyhook.cli.event_input import (
    DecodedEvent,
    EventOptions,
    Payloads,
    build_event,
    decode_payloads,
    read_event_file,
)
from anyhook.cli.listing import print_native
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    Otel,
    Project,
    TrustOnce,
    open_telemetry,
    print_project,
)
from anyhook.cli.output import console, print_json
from anyhook.cli.render import print_settings_problems, progress
from anyhook.cli.timeline import fired_event_json, print_background_results, print_timeline
from anyhook.cli.trust import accept_own_edits
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.sync import SyncEngine
from anyhook.errors import UsageError
from anyhook.manage.agent_effect import FiredEvent, fired_event
from anyhook.manage.hooks import hook_rows
from anyhook.manage.scope import existing_project, one_agent
from anyhook.trust.native import native_states

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRESS_FROM = 20
"""Events from which on a progress bar is shown."""
RUNS_FOR_REAL = "Hooks run for real, as in the agent. To try them in a sandbox: anyhook test"
BACKGROUND_TIMEOUT = 30.0
"""Seconds that the command waits for hooks in the background."""


def fire(
    event: Annotated[
        str | None,
        typer.Argument(metavar="EVENT", help="The event, by the agent's or the canonical name."),
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="The tool of a tool event.")
    ] = None,
    tool_input: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="JSON|@FILE|-",
            help="Arguments of the tool, or the fields of another event.",
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
            metavar="FILE|-",
            help="Payloads to fire: one JSON object, a list, or one object per line.",
        ),
    ] = None,
    project: Project = HERE,
    agent: AgentName = None,
    rules: Annotated[
        str,
        typer.Option(
            "--rules",
            metavar="RULES",
            help="documented: what the agent's reference promises; observed: what its newest "
            "release does; observed@VERSION: what that release does.",
        ),
    ] = "documented",
    trust_once: TrustOnce = False,
    otel: Otel = False,
    as_json: AsJson = False,
    reports_denial: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Exit with 2 if every rule set denies an event, with 3 if only some do. "
            "With 4, also without this option, if an event is not decided.",
        ),
    ] = False,
) -> int:
    """Fire an event and show what the hooks decide. They run for real, like in the agent.

    The event is described by options, or read from a file of payloads. Every hook on the event is
    shown with its answer, or with the reason why it did not run. Hooks of the project run only if
    they are trusted (`anyhook trust`), or with `--trust-once`; an event that others listen to is
    not decided, and the exit code is 4.

    For example:

        anyhook fire BeforeTool --tool write_file --input '{"content": "x"}'
        anyhook fire PreToolUse --tool Bash --input '{"command": "rm -r x"}'
        anyhook fire BeforeAgent --input '{"prompt": "hello"}' --json
        anyhook fire --event-file session.jsonl --project ~/code/app
    """
    directory = existing_project(project)
    payloads: Payloads = []
    if event_file is not None:
        if tool or tool_input or fields:
            raise UsageError("--event-file holds whole events; drop --tool, --input and --set")
        payloads = read_event_file(event_file)
    elif event is None:
        raise UsageError("name an event, like BeforeTool, or give --event-file FILE")
    agent_name = _choose_agent(directory, agent, event, payloads)
    if not (trust_once or as_json):
        accept_own_edits(directory, agent_name)
    engine = Engine.load(
        directory, agent=agent_name, rules=rules, trust_once=trust_once, on_message=discard
    )
    with tempfile.TemporaryDirectory(prefix="anyhook-") as scratch:
        if event_file is not None:
            events = list(decode_payloads(engine.agent, payloads, event))
        else:
            options = EventOptions(str(event), tool, tool_input, fields or [])
            events = [DecodedEvent(build_event(engine, options, Path(scratch)))]
        if not events:
            kind = f"{event} event" if event else "event"
            raise UsageError(f"{event_file} holds no {kind}")
        with open_telemetry(otel) as observers:
            for observer in observers:
                engine.add_observer(observer)
            exit_code = _fire_all(engine, events, as_json=as_json)
    is_reported = reports_denial or exit_code == NOT_DECIDED
    return exit_code if is_reported else OK


def _choose_agent(project: Path, agent: str | None, event: str | None, payloads: Payloads) -> str:
    """Return the named agent, else the one of the event, of the payloads, or of the project."""
    if agent is not None:
        return get_agent(agent).name
    recognized = {recognize(payload, {}) for _, payload in payloads}
    agent_names = sorted(name for name in recognized if name is not None)
    if len(agent_names) == 1:
        return agent_names[0]
    configured = one_agent(project, None, event)
    if agent_names and configured not in agent_names:
        names = ", ".join(agent_names)
        raise UsageError(f"the file holds events of several agents ({names}); name one: --agent")
    return configured


def _fire_all(engine: Engine, events: list[DecodedEvent], *, as_json: bool) -> int:
    """Dispatch and show events, and return the exit code for `--exit-code`.

    It is that of an event that was not decided, else of one that is denied for certain, else of one
    about which rule sets differ.
    """
    out = console()
    settings_diagnostics = (*engine.hooks.diagnostics, *engine.disabled.problems)
    native = native_states(engine.agent, engine.hooks)
    if not as_json:
        print_project(out, engine.project_dir)
        print_settings_problems(out, settings_diagnostics, engine.project_dir)
        print_native(out, engine, hook_rows(engine))
        if any(engine.plan(decoded.event).handlers for decoded in events):
            console(stderr=True).print(Text(RUNS_FOR_REAL, style="dim"))
    exit_codes: set[int] = set()
    with SyncEngine(engine) as sync:
        for decoded in _with_progress(events):
            event = engine.complete(decoded.event)
            fired = fired_event(engine, event, sync.dispatch(event))
            exit_codes.add(_exit_code_of(fired))
            if as_json:
                diagnostics = (*settings_diagnostics, *decoded.diagnostics)
                print_json(fired_event_json(engine, fired, diagnostics, native))
            else:
                print_timeline(out, engine, fired, decoded.diagnostics)
        # JSON has one line for each event, and a late answer belongs to none of them.
        if not as_json:
            engine.background.wait(BACKGROUND_TIMEOUT)
            results = engine.background.collect()
            if results:
                print_background_results(out, results)
    for exit_code in (NOT_DECIDED, DENIED, RULES_DIFFER):
        if exit_code in exit_codes:
            return exit_code
    return OK


def _exit_code_of(fired: FiredEvent) -> int:
    if fired.not_decided is not None:
        return NOT_DECIDED
    denials = [verdict.denied for verdict in fired.verdicts]
    if all(denials):
        return DENIED
    if any(denials):
        return RULES_DIFFER
    return OK


def _with_progress(events: list[DecodedEvent]) -> Iterator[DecodedEvent]:
    """Yield events; show a progress bar if standard output is redirected and errors are not."""
    out = console(stderr=True)
    if len(events) < PROGRESS_FROM or sys.stdout.isatty() or not out.is_terminal:
        yield from events
        return
    with progress("firing", len(events)) as bar:
        for event in events:
            yield event
            bar.advance()
