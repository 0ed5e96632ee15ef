"""`anyhook init`: from nothing to guards that work."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.agents import CODING_AGENTS
from anyhook.cli import OK
from anyhook.cli.add import Cold, Python, SettingsScope, make_place, write_additions
from anyhook.cli.changes import WriteOptions, one_at_a_time
from anyhook.cli.options import HERE, AgentNames, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_error
from anyhook.cli.render import make_table, require_terminal
from anyhook.errors import UsageError
from anyhook.manage.add_remove import DEFAULT_GUARDS, hook_files, plan_addition
from anyhook.manage.guard_files import all_guards, copy_path, find_guard
from anyhook.manage.hook_file_settings import SettingsPlace, load_hook_file
from anyhook.manage.paths import show_path
from anyhook.manage.scope import NO_AGENT, agents_here, existing_project, require_agents
from anyhook.settings.changes import Change, settings_file
from anyhook.settings.write import stay_inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.agents.spec import AgentSpec

STARTER_PATH = Path(".anyhook") / "guard.py"
"""Path in the project."""
STARTER_TEXT = '''"""Hooks of this project, for every agent. Try: anyhook test .anyhook/guard.py"""

from anyhook.authoring import Hooks, ask, context, deny

# A crash denies the call: a guard with a mistake in it must not let everything pass.
hooks = Hooks(on_crash="deny")

SECRETS = ("AKIA", "-----BEGIN PRIVATE KEY-----", "ghp_")


@hooks.before_tool("write_file", "edit_file", "shell")
def keep_secrets_out(event):
    """Deny files and commands that contain a secret."""
    for secret in SECRETS:
        if secret in event.text:
            return deny(f"this looks like a secret ({secret}…); read it from the environment")


@hooks.before_tool("shell")
def keep_files(event):
    """Deny deleting the home or the history of the project; ask where only the shell knows."""
    if match := event.deletes("~", ".git/**"):
        return deny(match.why) if match.certain else ask(match.why)


@hooks.session_start
def introduce(event):
    """Add how this project is tested to the context."""
    return context("Run the tests before you say that you are done.")


hooks.example(
    tool="write_file",
    input={"file_path": "settings.py", "content": "KEY = 'AKIAIOSFODNN7EXAMPLE'"},
    expect="deny",
)
hooks.example(tool="shell", input={"command": "find ~ -delete"}, expect="deny")
hooks.example(tool="shell", input={"command": "ls"}, expect="none")
hooks.example("session_start", source="startup", expect="context")

if __name__ == "__main__":
    hooks.run()
'''
NONE = "none"
Guards = Annotated[
    str | None,
    typer.Option(
        "--guards",
        metavar="NAME,NAME",
        help=f"The guards to add, or {NONE!r}. Default: it asks.",
        show_default=False,
    ),
]
Bare = Annotated[
    bool, typer.Option("--bare", help="Write a small hook file to start from, and no guards.")
]


@one_at_a_time
def init(
    guards: Guards = None,
    bare: Bare = False,
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Choose guards, add them to your agents, and see that they work.

    It asks which guards to add. With `--yes` these are files, git, secrets and own-hooks. Without
    `--agent`, your agents are those with settings in the project or in your home. `--bare` writes
    a hook file of your own to start from.

    For example:

        anyhook init
        anyhook init --agent claude --agent gemini --yes
        anyhook init --guards files,secrets --yes
        anyhook init --bare
    """
    directory = existing_project(project)
    place = make_place(directory, scope, python, cold=cold)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    if bare:
        if guards is not None:
            raise UsageError("--bare adds no guards; leave out --guards, or --bare")
        return _write_starter(place, agents_here(directory, agents), options)
    specs = require_agents(directory, agents)
    show: Callable[[], object] | None = None
    if guards is not None:
        names = _chosen(guards)
    elif yes or dry_run:
        names = list(DEFAULT_GUARDS)
    else:
        require_terminal("add --yes, or --guards NAME,NAME", is_quiet=as_json)
        names = _ask(place, specs)
        options = WriteOptions(yes=True, dry_run=False, as_json=False)
        show = _show_nothing  # the question has named the files
    if not names:
        console().print("No guards were added. To see them: anyhook add --list")
        return OK
    addition = plan_addition(place, specs, hook_files(names, directory, scope))
    write_additions([addition], options, show=show)
    return OK


def _show_nothing() -> None:
    """Show no difference."""


def _chosen(text: str) -> list[str]:
    """Return the guards that a text names, separated by commas or spaces."""
    names = text.replace(",", " ").split()
    if names == [NONE]:
        return []
    guards = all_guards()
    if names == ["all"]:
        return list(guards)
    return [find_guard(name, guards).name for name in names]


def _ask(place: SettingsPlace, agents: list[AgentSpec]) -> list[str]:
    """Show what is going to be written, and ask which guards to add, until the answer is one."""
    out = console()
    titles = " and ".join(agent.title for agent in agents)
    out.print(f"anyhook guards {titles} in this project:", soft_wrap=True)
    table = make_table("guard", "", no_wrap=("guard",))
    for guard in all_guards().values():
        table.add_row(guard.name, guard.summary)
    out.print(table)
    copy = show_path(copy_path("NAME", place.project, place.scope), place.project)
    files = [settings_file(agent, place.project, place.scope) for agent in agents]
    names = ", ".join(show_path(file, place.project) for file in files)
    out.print(f"Each is one file that you can read and change, {copy}, and goes into {names}.")
    default = ", ".join(DEFAULT_GUARDS)
    while True:
        text = out.input(f"Which? Enter for {default}; names, all, or {NONE}: ")
        try:
            return _chosen(text.strip() or default)
        except UsageError as error:
            print_error(str(error))


def _write_starter(place: SettingsPlace, agents: list[AgentSpec], options: WriteOptions) -> int:
    """Write a hook file to start from, and configure it."""
    path = place.project / STARTER_PATH
    stay_inside(place.project, path)
    change = None
    if not path.exists():
        change = Change(path, None, STARTER_TEXT, "Write a first hook file")
    addition = plan_addition(place, agents, [load_hook_file(path, change)])
    write_additions([addition], options)
    if not agents and not options.as_json:
        file_name = shlex.quote(show_path(path, place.project))
        names = ", ".join(CODING_AGENTS)
        out = console()
        out.print(f"{NO_AGENT.capitalize()}. Configure the file for one ({names}):", soft_wrap=True)
        out.print(f"  anyhook add {file_name} --agent NAME", soft_wrap=True)
    return OK
