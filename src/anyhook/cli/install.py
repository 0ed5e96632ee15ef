"""`anyhook init`, `install` and `uninstall`: hook files in the settings of agents."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.entry import load_object
from anyhook.authoring.inspect import NEVER_RUNS, calls_run
from anyhook.authoring.load import load_hooks
from anyhook.cli import OK, USAGE
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.options import HERE, AgentNames, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_error, print_json
from anyhook.cli.render import print_note
from anyhook.cli.starter import STARTER_PATH, STARTER_TEXT
from anyhook.cli.unsupported import print_unsupported, unsupported_by_agent
from anyhook.errors import SettingsError, UsageError
from anyhook.manage.adding import (
    Installation,
    add_hook_file,
    choose_launcher,
    launcher_problem,
    remove_hook_file,
    trust_hook_file,
)
from anyhook.manage.paths import show_path
from anyhook.manage.protection import require_user
from anyhook.manage.scope import agents_here, existing_project
from anyhook.settings.changes import SCOPES, Change
from anyhook.settings.companions import companion_changes, program_words
from anyhook.settings.write import stay_inside

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.hooks import Hooks

SettingsScope = Annotated[
    str,
    typer.Option("--scope", metavar="SCOPE", help=f"Settings to edit: {', '.join(SCOPES)}."),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python", metavar="PROGRAM", help="Interpreter of the command; it must have anyhook."
    ),
]
Cold = Annotated[
    bool, typer.Option("--cold", help="Start an interpreter for each event, not a warm worker.")
]
HookPath = Annotated[Path, typer.Argument(metavar="FILE", help="The hook file.")]

NO_AGENT = "no agent is found in this project or your home"


@one_at_a_time
def init(
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Write a first hook file and configure it for your agents.

    It shows the changes and asks before it writes. Without `--agent`, your agents are those with
    settings in the project or in your home; if there are none, only the file is written.

    For example:

        anyhook init
        anyhook init --agent claude --agent gemini --yes
    """
    directory = existing_project(project)
    path = directory / STARTER_PATH
    stay_inside(directory, path)
    specs = agents_here(directory, agents)
    launcher = choose_launcher(python, scope, cold=cold)
    program = program_words(scope, python)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    if path.exists():
        installation = Installation(path, directory, scope, launcher, program, _load(path))
        return _install(installation, path, specs, options)
    # The hooks are read from a copy: the file itself is written only if the user agrees.
    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / STARTER_PATH.name
        copy.write_text(STARTER_TEXT, encoding="utf-8")
        installation = Installation(path, directory, scope, launcher, program, _load(copy))
        starter = Change(path, None, STARTER_TEXT, "Write a first hook file")
        return _install(installation, copy, specs, options, starter)


@one_at_a_time
def install(
    file: HookPath,
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Configure a hook file in the settings of your agents.

    Each event of the file becomes one hook; hooks of an earlier install are replaced. Comments,
    order and indentation of the settings stay. It reports what an agent cannot do.

    For example:

        anyhook install hooks/guard.py --agent claude --agent gemini
        anyhook install ~/hooks/guard.py --scope user --yes
    """
    directory = existing_project(project)
    specs = agents_here(directory, agents)
    if not specs:
        choices = " or ".join(f"--agent {name}" for name in CODING_AGENTS)
        raise UsageError(f"{NO_AGENT}; name one: {choices}")
    launcher = choose_launcher(python, scope, cold=cold)
    program = program_words(scope, python)
    installation = Installation(file, directory, scope, launcher, program, _load(file))
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    return _install(installation, file, specs, options)


@one_at_a_time
def uninstall(
    file: HookPath,
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Remove a hook file from the settings of your agents.

    The file itself stays.

    For example:

        anyhook uninstall hooks/guard.py
        anyhook uninstall ~/hooks/guard.py --scope user --yes
    """
    if not dry_run:
        require_user()
    directory = existing_project(project)
    names = agents or CODING_AGENTS
    changes: list[Change] = []
    exit_code = OK
    for name in dict.fromkeys(names):
        try:
            changes += remove_hook_file(get_agent(name), directory, scope, file)
        except SettingsError as error:  # the other files are still edited
            print_error(str(error))
            exit_code = USAGE
        except UsageError:  # this agent has no settings of the scope
            if agents:
                raise
    if exit_code == OK and not any(change.has_effect for change in changes):
        raise UsageError(
            f"no settings of the scope {scope!r} run {show_path(str(file))}; see: anyhook list"
        )
    written = apply_changes(changes, WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json))
    if as_json:
        print_json(_result_json(changes, {}, written=written))
    return exit_code


def _load(file: Path) -> Hooks:
    """Load a hook file.

    Raises:
        UsageError: If it is not a hook file, or never runs its hooks.
    """
    hooks = load_hooks(file)
    if not calls_run(file.read_bytes()):
        raise UsageError(f"{show_path(str(file))}: {NEVER_RUNS}")
    return hooks


def _install(
    installation: Installation,
    source: Path,
    agents: list[AgentSpec],
    options: WriteOptions,
    starter: Change | None = None,
) -> int:
    """Change the settings of agents. `source` has the text of the hook file."""
    project, scope, program = installation.project, installation.scope, installation.program
    settings = {agent.name: add_hook_file(agent, installation) for agent in agents}
    companions: list[Change] = []
    for agent in agents:
        companions += companion_changes(agent, settings[agent.name], project, scope, program)
    unsupported = unsupported_by_agent(source, agents)
    changes = [*settings.values(), *companions]
    written = apply_changes([starter, *changes] if starter else changes, options)
    if written and scope != "user":
        for agent in agents:
            trust_hook_file(agent, settings[agent.name].path, installation)
    if options.as_json:
        print_json(_result_json(changes, unsupported, written=written))
        return OK
    out = console()
    print_unsupported(out, unsupported)
    file, project = installation.file.resolve(), project.resolve()
    shown = shlex.quote(str(file.relative_to(project) if file.is_relative_to(project) else file))
    if not agents:
        names = ", ".join(CODING_AGENTS)
        out.print(f"{NO_AGENT.capitalize()}. Configure the file for one ({names}):", soft_wrap=True)
        out.print(f"  anyhook install {shown} --agent NAME", markup=False, soft_wrap=True)
        return OK
    warning = launcher_problem(program if companions else installation.launcher)
    if warning:
        print_note(console(stderr=True), "warning:", warning)
    if written:
        for agent in agents:
            if agent.native_trust:
                review = load_object(agent.native_trust).review
                text = f"{agent.title} runs new hooks only after you trust them: {review}"
                out.print(text, markup=False, soft_wrap=True)
        out.print("Next, try its examples:")
        out.print(f"  anyhook test {shown}", markup=False, soft_wrap=True)
    return OK


def _result_json(
    changes: list[Change], unsupported: dict[str, list[str]], *, written: bool
) -> dict[str, Any]:
    files = [
        {
            "agent": None if change.agent is None else change.agent.name,
            "path": change.path,
            "changes": change.has_effect,
            "text": change.after,
        }
        for change in changes
    ]
    return {"written": written, "files": files, "degraded": unsupported}
