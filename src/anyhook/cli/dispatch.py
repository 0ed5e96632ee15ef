"""`anyhook dispatch`: answer the events that a plugin of an agent sends."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import anyio
import typer

from anyhook.agents import get_agent
from anyhook.cli import OK
from anyhook.cli.options import HERE, Otel, Project, TrustOnce, open_telemetry
from anyhook.engine.engine import Engine
from anyhook.manage.scope import existing_project
from anyhook.server.lines import LineServer


def dispatch(
    agent: Annotated[str, typer.Option("--agent", help="The agent whose events they are.")],
    project: Project = HERE,
    trust_once: TrustOnce = False,
    otel: Otel = False,
) -> int:
    """Answer events on standard input with the hooks of the settings.

    The plugin that `anyhook add` generates for an agent without hooks of its own starts this
    once for a session. One line is one event; each reply is a line of standard output. Settings
    that are edited are read again. It ends with its input, or after a quarter of an hour without
    events. To try hooks by hand, use `anyhook fire`.

    For example:

        anyhook dispatch --agent opencode < events.jsonl
    """
    directory = existing_project(project)
    get_agent(agent)
    descriptor = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write between answers
    problems: list[str] = []
    with open_telemetry(otel) as observers:
        engine = Engine.load(
            directory,
            agent=agent,
            trust_once=trust_once,
            watch=True,
            on_message=problems.append,
            observers=observers,
        )
        server = LineServer(engine, descriptor)
        for problem in problems:
            server.send_message(problem)
        engine.messages.on_message = server.send_message
        with contextlib.suppress(KeyboardInterrupt):
            anyio.run(server.serve, sys.stdin.buffer)
        engine.close()
    os._exit(OK)  # a thread may still wait for a line
