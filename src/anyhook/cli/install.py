"""`anyhook init`, `install` and `uninstall`: hook files in the settings of agents."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.entry import load_object
from anyhook.authoring.inspect import NEVER_RUNS, calls_run
from anyhook.authoring.load import load_hooks
from anyhook.cli import OK, USAGE
from anyhook.cli.companion_files import SHARED_PROGRAM, companion_edits, program_words
from anyhook.cli.editing import (
    LAYERS,
    Edit,
    StarterFile,
    WriteOptions,
    one_at_a_time,
    write_edits,
)
from anyhook.cli.hook_file_settings import (
    Installation,
    add_hook_file,
    file_arguments,
    remove_hook_file,
    runs_file,
)
from anyhook.cli.options import (
    HERE,
    AgentNames,
    AsJson,
    DryRun,
    Project,
    Yes,
    existing_project,
)
from anyhook.cli.output import console, print_error, print_json, show_path
from anyhook.cli.starter import STARTER_PATH, STARTER_TEXT
from anyhook.cli.unsupported import print_unsupported, unsupported_by_agent
from anyhook.engine.guard import Guard
from anyhook.errors import SettingsError, UsageError
from anyhook.settings.hookset import load_hooks as load_hook_set
from anyhook.settings.sources import Location, own_places
from anyhook.settings.write import stay_inside
from anyhook.trust.store import TrustStore
from anyhook.worker.commands import PROGRAM, prefix

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.hooks import Hooks
    from anyhook.trust.subjects import Subject

SettingsScope = Annotated[
    str,
    typer.Option("--scope", metavar="SCOPE", help=f"Settings to edit: {', '.join(LAYERS)}."),
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
SHARED_PYTHON = "python3"
"""The interpreter in settings that are shared by all users of a project."""


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
    specs = _select_agents(directory, agents)
    launcher = _choose_launcher(python, scope, cold=cold)
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
        return _install(installation, copy, specs, options, StarterFile(path, STARTER_TEXT))


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
    specs = _select_agents(directory, agents)
    if not specs:
        choices = " or ".join(f"--agent {name}" for name in CODING_AGENTS)
        raise UsageError(f"{NO_AGENT}; name one: {choices}")
    launcher = _choose_launcher(python, scope, cold=cold)
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
    directory = existing_project(project)
    names = agents or CODING_AGENTS
    edits: list[Edit] = []
    exit_code = OK
    for name in dict.fromkeys(names):
        agent = get_agent(name)
        try:
            edit = remove_hook_file(agent, directory, scope, file)
            edits.append(edit)
            if edit.changes:
                edits += companion_edits(edit, directory, scope, program_words(scope))
        except SettingsError as error:  # the other files are still edited
            print_error(str(error))
            exit_code = USAGE
        except UsageError:  # this agent has no settings of the scope
            if agents:
                raise
    if exit_code == OK and not any(edit.changes for edit in edits):
        raise UsageError(
            f"no settings of the scope {scope!r} run {show_path(str(file))}; see: anyhook list"
        )
    written = write_edits(edits, WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json))
    if as_json:
        print_json(_result_json(edits, {}, written=written))
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
    starter: StarterFile | None = None,
) -> int:
    """Edit the settings of agents. `source` has the text of the hook file."""
    edits = [add_hook_file(agent, installation) for agent in agents]
    companions: list[Edit] = []
    for edit in edits:
        companions += companion_edits(
            edit, installation.project, installation.scope, installation.program
        )
    unsupported = unsupported_by_agent(source, agents)
    written = write_edits([*edits, *companions], options, starter)
    if written and installation.scope != "user":
        for edit in edits:
            _trust_written_hooks(edit, installation)
    if options.as_json:
        print_json(_result_json([*edits, *companions], unsupported, written=written))
        return OK
    out = console()
    print_unsupported(out, unsupported)
    file, project = installation.file.resolve(), installation.project.resolve()
    shown = shlex.quote(str(file.relative_to(project) if file.is_relative_to(project) else file))
    if not agents:
        names = ", ".join(CODING_AGENTS)
        out.print(f"{NO_AGENT.capitalize()}. Configure the file for one ({names}):", soft_wrap=True)
        out.print(f"  anyhook install {shown} --agent NAME", markup=False, soft_wrap=True)
        return OK
    warning = _launcher_problem(installation.program if companions else installation.launcher)
    if warning:
        console(stderr=True).print(f"[yellow]warning:[/] {warning}", soft_wrap=True)
    if written:
        for agent in agents:
            if agent.native_trust:
                review = load_object(agent.native_trust).review
                text = f"{agent.title} runs new hooks only after you trust them: {review}"
                out.print(text, markup=False, soft_wrap=True)
        out.print("Next, try its examples:")
        out.print(f"  anyhook test {shown}", markup=False, soft_wrap=True)
    return OK


def _trust_written_hooks(edit: Edit, installation: Installation) -> None:
    """Trust the written hooks, which the user has seen and confirmed, and no other new ones."""
    agent, project = edit.agent, installation.project
    hooks = load_hook_set(agent, Location.of(project, home_variable=agent.home_variable))
    store = TrustStore()
    subjects = Guard(agent, project, store, tuple(hooks.definitions)).subjects()
    changes, _ = store.changes(project, subjects)
    untrusted = {id(change.subject) for change in changes}
    arguments = file_arguments(agent, project, installation.file)

    def is_trusted(subject: Subject) -> bool:
        handler = subject.handler
        is_in_file = handler.place.file == str(edit.path)
        is_written = is_in_file and runs_file({"command": handler.command}, arguments)
        return is_written or id(subject) not in untrusted

    trusted = [subject for subject in subjects if is_trusted(subject)]
    store.trust(project, trusted, agent=agent.name)


def _result_json(
    edits: list[Edit], unsupported: dict[str, list[str]], *, written: bool
) -> dict[str, Any]:
    files = []
    for edit in edits:
        path = str(edit.path)
        files.append(
            {"agent": edit.agent.name, "path": path, "changes": edit.changes, "text": edit.after}
        )
    return {"written": written, "files": files, "degraded": unsupported}


# -- agents


def _select_agents(project: Path, names: list[str] | None) -> list[AgentSpec]:
    """Return the named agents, or those with a settings directory in the project or the home."""
    if names:
        return [get_agent(name) for name in dict.fromkeys(names)]
    agents = [get_agent(name) for name in CODING_AGENTS]
    location = Location.of(project)
    return [agent for agent in agents if is_here(agent, location)]


def is_here(agent: AgentSpec, location: Location) -> bool:
    """Return whether an agent has a settings directory in the project or in the home."""
    for layer, path in own_places(agent, location):
        if layer in LAYERS.values() and path.parent.is_dir():
            return True
    return False


# -- the command


def _choose_launcher(python: str | None, scope: str, *, cold: bool) -> tuple[str, ...]:
    """Return the words of the command before the hook file.

    In shared settings they mean the same on every machine. In the user's own settings they are the
    fastest client of the worker on this machine.
    """
    is_cold = cold or os.name != "posix"
    if scope == "project" and python is None:
        return (SHARED_PYTHON,) if is_cold else PROGRAM
    interpreter = python or sys.executable
    if is_cold:
        return (interpreter,)
    if Path(interpreter).is_absolute():
        return prefix(interpreter)
    # A program in the environment of this interpreter is not on the PATH of the agent.
    program = shutil.which(PROGRAM[0])
    is_global = program is not None and not Path(program).is_relative_to(sys.prefix)
    return PROGRAM if is_global else (interpreter,)


def _launcher_problem(launcher: tuple[str, ...]) -> str | None:
    """Return what the command needs and this machine lacks."""
    if launcher in (PROGRAM, SHARED_PROGRAM) and not shutil.which(PROGRAM[0]):
        return (
            "the command starts anyhook, but anyhook is not on the PATH here; install it where the "
            "agent finds it, for example with: pipx install anyhook"
        )
    if launcher == (SHARED_PYTHON,) and not _has_anyhook(SHARED_PYTHON):
        return (
            f"the {SHARED_PYTHON} on the PATH here has no anyhook; install it there, for example "
            f"with: {SHARED_PYTHON} -m pip install anyhook"
        )
    return None


def _has_anyhook(python: str) -> bool:
    program = shutil.which(python)
    if program is None:
        return False
    command = [program, "-c", "import anyhook.authoring"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
