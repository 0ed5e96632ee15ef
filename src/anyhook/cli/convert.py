"""`anyhook convert`: an agent's payload in the form of another agent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.agents import get_agent, recognize
from anyhook.agents.payloads import decode_event
from anyhook.agents.translate import call_of, counterparts, translate_payload
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.output import print_error, print_json
from anyhook.errors import EventError, UsageError
from anyhook.model.events import Event, ToolEvent
from anyhook.settings.payload_files import read_payloads

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

STDIN = "<stdin>"


def convert(
    target: Annotated[
        str, typer.Option("--to", metavar="AGENT", help="The agent whose form is written.")
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="AGENT",
            help="The agent that sent the payloads. Default: it is recognized.",
        ),
    ] = None,
) -> int:
    """Convert payloads of one agent to the form of another agent.

    It reads one JSON object, or one per line, from standard input, and writes one per line. Event
    names, tool names, arguments and results are converted; `generic` keeps the original payload.
    Exits with 1 if the other agent has no such event or tool.

    For example:

        anyhook convert --from claude --to gemini < event.json
        anyhook convert --to generic < session.jsonl
    """
    target_agent = get_agent(target)
    if source is not None:
        get_agent(source)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("give payloads on standard input: anyhook convert … < FILE")
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EventError(f"{STDIN}: not UTF-8 at byte {error.start}") from None
    payloads = list(read_payloads(text, STDIN)) if text.strip() else []
    if not payloads:
        raise EventError(f"{STDIN}: there is no payload")
    exit_code = OK
    for place, payload in payloads:
        agent_name = source or recognize(payload, {})
        if agent_name is None:
            raise EventError(f"{place}: the payload does not show its agent; name it with --from")
        source_agent = get_agent(agent_name)
        converted, diagnostics = translate_payload(payload, source_agent, target_agent)
        event, _ = decode_event(source_agent, payload)
        problem = _unsupported(event, source_agent, target_agent) if event.wire_name else None
        if problem is not None:
            print_error(f"{place}: {problem}")
        for diagnostic in diagnostics:
            print_error(f"{place}: {diagnostic.message}")
        if problem is not None or not event.wire_name:
            exit_code = PROBLEMS
        # Without an event, nothing of the payload has a meaning.
        if event.wire_name:
            print_json(converted)
    return exit_code


def _unsupported(event: Event, source: AgentSpec, target: AgentSpec) -> str | None:
    """Return that the target agent does not have an event, or its tool; `None` if it has both."""
    if not counterparts(source, event.name, target):
        return f"{target.title} has no event for {event.wire_name!r}; it keeps its name"
    if isinstance(event, ToolEvent):
        tool = event.tool_name
        is_source_tool = tool in source.tools or tool in source.vocabulary.canonical
        if is_source_tool and target.vocabulary.name(call_of(event, source).tool) is None:
            return f"{target.title} has no tool for {tool!r}; it keeps its name"
    return None
