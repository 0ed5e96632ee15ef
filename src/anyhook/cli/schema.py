"""`anyhook schema`: JSON Schemas for editors and programs."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from anyhook.agents import get_agent
from anyhook.agents.schema import event_schema, reply_schema, settings_schema
from anyhook.cli import OK
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    agent_of_event,
    existing_project,
    one_agent,
)
from anyhook.errors import UsageError


def schema(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[settings|EVENT]", help="The settings file, or an event's payload."
        ),
    ] = "settings",
    reply: Annotated[
        bool, typer.Option("--reply", help="What a hook of the event may print.")
    ] = False,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> int:
    """Write the JSON Schema of the settings, of an event, or of a reply to it.

    The schemas are made of the tables that read the files, so they say what anyhook accepts.

    For example:

        anyhook schema > .gemini/hooks.schema.json
        anyhook schema BeforeTool
        anyhook schema BeforeTool --reply
    """
    tables = get_agent(agent or agent_of_event(what) or one_agent(existing_project(HERE), None))
    if what == "settings" and reply:
        raise UsageError("name the event of the reply: anyhook schema BeforeTool --reply")
    if what == "settings":
        found = settings_schema(tables)
    else:
        spec = tables.event(what)
        found = reply_schema(tables, spec) if reply else event_schema(tables, spec)
    text = json.dumps(found, ensure_ascii=False, indent=None if as_json else 2)
    sys.stdout.write(text + "\n")
    return OK
