"""`anyhook convert-payload`: one agent's payload as another one's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.agents import get_agent, recognise
from anyhook.agents.translate import call_of, counterparts, translate_payload
from anyhook.agents.wire import decode_event
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.output import print_error, print_json
from anyhook.errors import EventError, UsageError
from anyhook.model.events import ToolEvent
from anyhook.settings.recordings import read_payloads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec

STDIN = "<stdin>"
HELP = """Write an agent's payload as another agent's, from standard input to standard output.

One JSON object, or one a line. Tool names, arguments, what tools returned and the names of events
are put in the other agent's words; `generic` is a form that keeps the payload it was made of. What
the other agent would never send is told, and the exit code is 1.

For example:

    anyhook convert-payload --from claude --to gemini < event.json
    anyhook convert-payload --to generic < session.jsonl
"""


def convert_payload(
    target: Annotated[str, typer.Option("--to", help="Whose form is wanted.")],
    source: Annotated[
        str | None,
        typer.Option("--from", help="Whose payloads they are; by default that is found out."),
    ] = None,
) -> int:
    """Write an agent's payload as another agent's."""
    new = get_agent(target)
    code = OK
    if source is not None:
        get_agent(source)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("give payloads on standard input: anyhook convert-payload … < FILE")
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EventError(f"{STDIN}: not UTF-8 at byte {error.start}") from None
    payloads = list(read_payloads(text, STDIN)) if text.strip() else []
    if not payloads:
        raise EventError(f"{STDIN}: there is no payload")
    for where, payload in payloads:
        name = source or recognise(payload, {})
        if name is None:
            told = "nothing tells which agent sent this; say so with --from"
            raise EventError(f"{where}: {told}")
        old = get_agent(name)
        made, problems = translate_payload(payload, old, new)
        unknown = _unknown(payload, old, new)
        if unknown:
            print_error(f"{where}: {unknown}")
            code = PROBLEMS
        for problem in problems:
            print_error(f"{where}: {problem.message}")
        print_json(made)
    return code


def _unknown(payload: Mapping[str, Any], old: AgentSpec, new: AgentSpec) -> str | None:
    """Say what the other agent would never send; `None` if it would send this."""
    event, _ = decode_event(old, payload)
    if not counterparts(old, event.name, new):
        return f"{new.title} has no event for {event.wire_name!r}; it keeps its name"
    if isinstance(event, ToolEvent):
        call = call_of(event, old)
        own = event.tool_name in old.tools or event.tool_name in old.vocabulary.canonical
        if own and new.vocabulary.name(call.tool) is None:
            return f"{new.title} has no tool for {event.tool_name!r}; it keeps its name"
    return None


convert_payload.__doc__ = HELP
