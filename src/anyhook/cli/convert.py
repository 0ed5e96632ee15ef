"""`anyhook convert-payload`: one agent's payload as another one's."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from anyhook.cli import OK
from anyhook.cli.output import print_json, say_error
from anyhook.dialects import get_dialect, recognise
from anyhook.dialects.translate import translate_payload
from anyhook.errors import EventError, UsageError
from anyhook.model.json import parse_json

HELP = """Write an agent's payload as another agent's, from standard input to standard output.

One JSON object, or one a line. Tool names, arguments, what tools returned and the names of events
are put in the other agent's words; `generic` is a form that keeps the payload it was made of.

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
    new = get_dialect(target)
    old = None if source is None else get_dialect(source)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("give payloads on standard input: anyhook convert-payload … < FILE")
    for number, payload in _payloads(sys.stdin.buffer.read()):
        name = None if old else recognise(payload, {})
        if old is None and name is None:
            raise EventError(
                f"<stdin>:{number}: nothing tells which agent sent this; say so with --from"
            )
        made, problems = translate_payload(payload, old or get_dialect(str(name)), new)
        for problem in problems:
            say_error(f"<stdin>:{number}: {problem.message}")
        print_json(made)
    return OK


convert_payload.__doc__ = HELP


def _payloads(data: bytes) -> list[tuple[int, dict[str, object]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EventError(f"<stdin>: not UTF-8 at byte {error.start}") from None
    try:
        whole = parse_json(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict):
        return [(1, whole)]
    found: list[tuple[int, dict[str, object]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError as error:
                raise EventError(f"<stdin>:{number}: this is no JSON: {error}") from None
            if not isinstance(value, dict):
                raise EventError(f"<stdin>:{number}: a payload is a JSON object")
            found.append((number, value))
    if not found:
        raise EventError("<stdin>: there is no payload")
    return found
