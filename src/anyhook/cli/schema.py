"""`anyhook agents schema`: JSON Schemas for editors and programs."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from anyhook.agents import get_agent
from anyhook.agents.schema import event_schema, reply_schema, settings_schema
from anyhook.cli import OK
from anyhook.cli.options import HERE, AgentName, AsJson
from anyhook.errors import UsageError
from anyhook.manage.scope import existing_project, one_agent

SETTINGS = "settings"


def schema(
    subject: Annotated[
        str,
        typer.Argument(metavar="settings|EVENT", help="The settings, or the payload of an event."),
    ] = SETTINGS,
    reply: Annotated[
        bool, typer.Option("--reply", help="Write the schema of a reply to the event.")
    ] = False,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> int:
    """Write the JSON Schema of settings, events or replies.

    The schemas are made of the tables with which anyhook reads the files.

    For example:

        anyhook agents schema > .gemini/hooks.schema.json
        anyhook agents schema BeforeTool
        anyhook agents schema BeforeTool --reply
    """
    agent_name = one_agent(existing_project(HERE), agent, subject)
    spec = get_agent(agent_name)
    if subject == SETTINGS:
        if reply:
            raise UsageError(
                "name the event of the reply: anyhook agents schema BeforeTool --reply"
            )
        value = settings_schema(spec)
    elif reply:
        value = reply_schema(spec, spec.event(subject))
    else:
        value = event_schema(spec, spec.event(subject))
    text = json.dumps(value, ensure_ascii=False, indent=None if as_json else 2)
    sys.stdout.write(text + "\n")
    return OK
