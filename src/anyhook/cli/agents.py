"""`anyhook agents`: the agents that anyhook knows, and which of them have hooks here."""

from __future__ import annotations

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK
from anyhook.cli.options import HERE, AsJson, Project
from anyhook.cli.output import console, print_json
from anyhook.cli.render import make_table
from anyhook.manage.paths import show_path
from anyhook.manage.scope import existing_project
from anyhook.settings.detect import agents_with_hooks


def list_agents(context: typer.Context, project: Project = HERE, as_json: AsJson = False) -> int:
    """List the agents that anyhook knows, and which have hooks here.

    The name of an agent is what `--agent` takes.

    For example:

        anyhook agents
        anyhook agents capabilities before_tool
        anyhook agents schema BeforeTool --agent gemini
    """
    if context.invoked_subcommand is not None:
        return OK
    directory = existing_project(project)
    files = {settings.agent: settings.files for settings in agents_with_hooks(directory)}
    if as_json:
        rows = [
            {"name": name, "title": get_agent(name).title, "files": files.get(name, ())}
            for name in CODING_AGENTS
        ]
        print_json(rows)
        return OK
    table = make_table("name", "agent", "files with hooks")
    for name in CODING_AGENTS:
        paths = "\n".join(show_path(str(path)) for path in files.get(name, ()))
        table.add_row(name, get_agent(name).title, Text(paths or "-"))
    console().print(table)
    return OK
