"""`anyhook remove`: guards and hook files out of the settings of agents."""

from __future__ import annotations

from typing import Annotated

import typer

from anyhook.agents import get_agent
from anyhook.cli import OK, USAGE
from anyhook.cli.add import SettingsScope, changes_json
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.colors import CAUTION
from anyhook.cli.options import HERE, AgentNames, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_error, print_json
from anyhook.manage.additions import finish_removal, plan_removal
from anyhook.manage.paths import show_path
from anyhook.manage.protection import require_user
from anyhook.manage.scope import existing_project

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME | FILE]...",
        help="Guards that come with anyhook, or hook files of yours (a path, or a name in .py).",
    ),
]


@one_at_a_time
def remove(
    names: Names,
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Remove guards and hook files from the settings of your agents.

    The settings are as they were before `anyhook add`, unless something else changed in them. The
    copy of a guard is removed, too; a hook file of yours stays.

    For example:

        anyhook remove files git
        anyhook remove hooks/guard.py
        anyhook remove ~/hooks/guard.py --scope user --yes
    """
    if not dry_run:
        require_user()
    directory = existing_project(project)
    removal = plan_removal(names, directory, scope, [get_agent(name) for name in agents or ()])
    for problem in removal.problems:
        print_error(problem)
    if not as_json:
        for copy in removal.copies:
            if copy.is_edited:
                path = show_path(str(copy.path))
                text = f"{path} has changes of yours, which are removed with it"
                console().print(text, style=CAUTION, soft_wrap=True)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    written = apply_changes(removal.changes, options)
    if written:
        finish_removal(removal)
    if as_json:
        print_json({"written": written, "files": changes_json(removal.changes)})
    return USAGE if removal.problems else OK
