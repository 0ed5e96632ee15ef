"""`anyhook init`, `install` and `uninstall`: hooks into the settings of agents, and out again."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring.inspect import NEVER_RUNS, calls_run, gaps, scan
from anyhook.authoring.load import load_hooks
from anyhook.cli import OK, USAGE
from anyhook.cli.editing import (
    LAYERS,
    Edit,
    StarterFile,
    WriteOptions,
    parsed,
    read_text,
    settings_file,
    write_edits,
)
from anyhook.cli.options import HERE, AsJson, Project, existing_project
from anyhook.cli.output import console, print_error, print_json, show_path
from anyhook.engine.guard import Guard
from anyhook.errors import SettingsError, UsageError
from anyhook.migrate.merge import switched_on
from anyhook.settings.edit import add_item, prune, remove_item, stay_inside
from anyhook.settings.hookset import load_hooks as load_hooks_of
from anyhook.settings.sources import Location, places
from anyhook.trust.store import TrustStore
from anyhook.worker.commands import PROGRAM, prefix, read_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.hooks import HookFunction, Hooks
    from anyhook.model.definitions import HandlerSpec

STARTER = Path(".anyhook") / "guard.py"
STARTER_TEXT = '''"""Hooks of this project, for every agent. Try: anyhook test .anyhook/guard.py"""

from anyhook.authoring import Hooks, context, deny

hooks = Hooks()

SECRETS = ("AKIA", "-----BEGIN PRIVATE KEY-----", "ghp_")


@hooks.before_tool("write_file", "edit_file", "shell")
def keep_secrets_out(event):
    """Keep secrets out of files and commands."""
    for secret in SECRETS:
        if secret in event.text:
            return deny(f"this looks like a secret ({secret}…); read it from the environment")


@hooks.session_start
def introduce(event):
    """Tell the agent how this project is tested."""
    return context("Run the tests before you say that you are done.")


hooks.example(
    tool="write_file",
    input={"file_path": "settings.py", "content": "KEY = 'AKIAIOSFODNN7EXAMPLE'"},
    expect="deny",
)
hooks.example(tool="shell", input={"command": "ls"}, expect="none")
hooks.example("session_start", source="startup", expect="context")

if __name__ == "__main__":
    hooks.run()
'''

Agents = Annotated[
    list[str] | None,
    typer.Option("--agent", help="Agent to wire it into; by default those that are found."),
]
Scope = Annotated[str, typer.Option("--scope", help="Whose settings: project, local or user.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the difference, change nothing.")]
Python = Annotated[
    str | None,
    typer.Option("--python", help="Interpreter of the command; it must have anyhook."),
]
Cold = Annotated[
    bool,
    typer.Option("--cold", help="Start an interpreter for each event, instead of a warm worker."),
]
HookPath = Annotated[Path, typer.Argument(metavar="FILE", help="A hook file.")]

SHARED_PYTHON = "python3"
"""The interpreter that settings name which are shared."""
DEVIATION = 5.0
"""Seconds that an agent waits longer than the hook takes at most."""


def init(
    project: Project = HERE,
    agents: Agents = None,
    scope: Scope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Write a starter hook and wire it into the settings of the agents that are found.

    It shows the difference and asks before anything is written.

    For example:

        anyhook init
        anyhook init --agent claude --agent gemini --yes
    """
    here = existing_project(project)
    path = here / STARTER
    stay_inside(here, path)
    with TemporaryDirectory() as scratch:
        source, starter = path, None
        if not path.exists():
            source, starter = Path(scratch) / STARTER.name, StarterFile(path, STARTER_TEXT)
            source.write_text(STARTER_TEXT, encoding="utf-8")
        return _wire(
            path,
            source,
            here,
            _agents(here, agents),
            scope,
            _front(python, scope, cold=cold),
            WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json),
            starter,
        )


def install(
    file: HookPath,
    project: Project = HERE,
    agents: Agents = None,
    scope: Scope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Wire a hook file into the settings of agents.

    Each event that the file has functions for becomes one hook. Comments, order and indentation of
    the settings stay; what is there already is not added again. What an agent cannot do of what
    the file asks for is told.

    For example:

        anyhook install hooks/guard.py --agent claude --agent gemini
        anyhook install ~/hooks/guard.py --scope user --yes
    """
    here = existing_project(project)
    return _wire(
        file,
        file,
        here,
        _agents(here, agents),
        scope,
        _front(python, scope, cold=cold),
        WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json),
    )


def _wire(
    file: Path,
    source: Path,
    project: Path,
    agents: list[AgentSpec],
    scope: str,
    front: tuple[str, ...],
    wish: WriteOptions,
    starter: StarterFile | None = None,
) -> int:
    """Wire a file into settings; `source` is where its text is now."""
    hooks = load_hooks(source)
    if not calls_run(source.read_bytes()):
        raise UsageError(f"{show_path(str(source))}: {NEVER_RUNS}")
    edits = [_installed(d, project, scope, file, hooks, front) for d in agents]
    missing = {
        d.name: [f"{file.name}:{u.line}: {text}" for u, text in gaps(scan(source), d)]
        for d in agents
    }
    done = write_edits(edits, wish, starter)
    if done and scope != "user":
        for edit in edits:
            _trust_written(edit, project, file)
    if wish.as_json:
        print_json(_json(edits, missing, done))
        return OK
    out = console()
    for name, texts in missing.items():
        for text in texts:
            out.print(Text.assemble(("degraded", "yellow"), f"  {name}  {text}"))
    missing_program = _cannot_start(front)
    if missing_program:
        console(stderr=True).print(f"[yellow]warning:[/] {missing_program}", soft_wrap=True)
    if done:
        _show_next(file, project)
    return OK


def _trust_written(edit: Edit, project: Path, file: Path) -> None:
    """Trust the hooks that were written, and no others: the user has seen and agreed to them."""
    agent = edit.agent
    hooks = load_hooks_of(agent, Location.of(project, home_variable=agent.home_variable))
    store = TrustStore()
    subjects = Guard(agent, project, store, tuple(hooks.definitions)).subjects()
    changes, _ = store.changes(project, subjects)
    untrusted = {id(change.subject) for change in changes}
    marks = _marks(agent, project, file)
    store.trust(
        project,
        [s for s in subjects if id(s) not in untrusted or _runs(s.handler, edit.path, marks)],
        agent=agent.name,
    )


def _runs(handler: HandlerSpec, path: Path, marks: tuple[str, ...]) -> bool:
    """Return whether a hook of a settings file is one that `install` writes."""
    return handler.place.file == str(path) and _is_ours({"command": handler.command}, marks)


def _show_next(file: Path, project: Path) -> None:
    resolved = file.resolve()
    is_inside = resolved.is_relative_to(project.resolve())
    shown = resolved.relative_to(project.resolve()) if is_inside else resolved
    out = console()
    out.print("Next, try its examples:")
    out.print(f"  anyhook test {shlex.quote(str(shown))}", markup=False, soft_wrap=True)


def uninstall(
    file: HookPath,
    project: Project = HERE,
    agents: Agents = None,
    scope: Scope = "project",
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Take a hook file out of the settings of agents; the file itself stays.

    For example:

        anyhook uninstall hooks/guard.py
    """
    here = existing_project(project)
    edits: list[Edit] = []
    broken = False
    for agent in _agents(here, agents, every=True):
        try:
            edits.append(_uninstalled(agent, here, scope, file))
        except SettingsError as error:  # one broken file must not keep the hook in the others
            broken = True
            print_error(str(error))
        except UsageError:
            if agents:
                raise
    done = write_edits(edits, WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json))
    if as_json:
        print_json(_json(edits, {}, done))
    return USAGE if broken else OK


# -- which agents


def _agents(project: Path, given: list[str] | None, *, every: bool = False) -> list[AgentSpec]:
    """Return the agents that were named, or those that have left traces here or in the home."""
    if given:
        return [get_agent(name) for name in dict.fromkeys(given)]
    known = [get_agent(name) for name in CODING_AGENTS]
    location = Location.of(project)
    found = [d for d in known if every or is_here(d, location)]
    if not found:
        names = " or ".join(f"--agent {d.name}" for d in known)
        raise UsageError(f"no agent is found in this project or your home; say which: {names}")
    return found


def is_here(agent: AgentSpec, location: Location) -> bool:
    """Return whether an agent has a settings directory in the project or in the home."""
    directories = {path.parent for layer, path in places(agent, location) if layer in OWN}
    return any(directory.is_dir() for directory in directories)


OWN = frozenset(LAYERS.values())


# -- what is written


def _installed(
    agent: AgentSpec, project: Path, scope: str, file: Path, hooks: Hooks, front: tuple[str, ...]
) -> Edit:
    path = settings_file(agent, project, scope)
    before = read_text(path)
    after = before or ""
    command = _command(agent, project, scope, file, front)
    wanted: dict[tuple[str, ...], dict[str, Any]] = {}
    for event in dict.fromkeys(function.event for function in hooks.functions):
        spec = agent.by_canonical.get(event)
        if spec is not None:
            functions = [f for f in hooks.functions if f.event == event]
            entry = _definition(agent, spec, hooks, functions, command, file)
            wanted[*agent.hooks_path, spec.wire] = entry
    after = _without(agent, after, path, _marks(agent, project, file), keep=wanted)
    for where, entry in wanted.items():
        after = add_item(after, where, entry, file=str(path))
    after = switched_on(agent, after, str(path))
    return Edit(agent, path, before, after)


def _definition(
    agent: AgentSpec,
    spec: EventSpec,
    hooks: Hooks,
    functions: list[HookFunction],
    command: str,
    file: Path,
) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": command}
    if "name" in agent.handler_fields and "env" in agent.handler_fields:
        handler["name"] = file.stem
    if hooks.timeout is not None:
        units = (hooks.timeout + DEVIATION) / agent.timeout_unit
        handler["timeout"] = int(units) if units == int(units) else units
    entry: dict[str, Any] = {}
    matcher = _matcher(agent, spec, functions)
    if matcher is not None:
        entry["matcher"] = matcher
    return {**entry, "hooks": [handler]}


def _matcher(agent: AgentSpec, spec: EventSpec, functions: list[HookFunction]) -> str | None:
    """Return a pattern that covers what the functions are for, in the agent's words."""
    if spec.subject is None or any(not function.subjects for function in functions):
        return "*" if spec.subject == "tool_name" else None
    subjects = dict.fromkeys(subject for f in functions for subject in f.subjects)
    if spec.subject != "tool_name":
        return "|".join(subjects)
    names = dict.fromkeys(name for subject in subjects for name in _tool_names(agent, subject))
    if all("*" not in name for name in names):
        return "|".join(names)
    escaped = (name.replace(".", r"\.").replace("*", ".*") for name in names)
    return f"^(?:{'|'.join(escaped)})$"


def _tool_names(agent: AgentSpec, subject: str) -> tuple[str, ...]:
    words = agent.vocabulary
    fitting = [tool for tool in words.tools if fnmatchcase(tool, subject)]
    names = [name for tool in fitting for name in words.tools[tool].names]
    if not fitting or ("*" in subject and subject not in words.tools):
        names.append(words.name(subject) or subject)
    return tuple(names)


def _command(
    agent: AgentSpec, project: Path, scope: str, file: Path, front: tuple[str, ...]
) -> str:
    script = file.resolve()
    program = shlex.join(front)
    if scope == "user" or not script.is_relative_to(project.resolve()):
        return f"{program} {shlex.quote(str(script))}"
    variable = next(n for n, what in agent.environment.items() if what == "project_dir")
    relative = script.relative_to(project.resolve()).as_posix()
    plain = re.sub(r'(["$`\\])', r"\\\1", relative)
    return f'{program} "${{{variable}}}/{plain}"'


def _front(python: str | None, scope: str, *, cold: bool) -> tuple[str, ...]:
    """Return the words in front of the hook file: an interpreter, or what reaches its worker.

    A file that is shared gets words that mean the same on every machine; the user's own files get
    the fastest there is here.
    """
    is_cold = cold or os.name != "posix"
    if scope == "project" and python is None:
        return (SHARED_PYTHON,) if is_cold else PROGRAM
    python = python or sys.executable
    if is_cold:
        return (python,)
    if Path(python).is_absolute():
        return prefix(python)
    found = shutil.which(PROGRAM[0])
    is_shared = found is not None and not Path(found).is_relative_to(sys.prefix)
    return PROGRAM if is_shared else (python,)


def _cannot_start(front: tuple[str, ...]) -> str | None:
    """Return what is missing here for the command that was written; `None` if nothing is."""
    if front == PROGRAM and not shutil.which(PROGRAM[0]):
        return (
            "anyhook is not on the PATH here, and the hook starts it; install it where the agent "
            "finds it, for example with: pipx install anyhook"
        )
    if front == (SHARED_PYTHON,) and not _has_anyhook(SHARED_PYTHON):
        return (
            f"the {SHARED_PYTHON} on the PATH here has no anyhook; install it there, for example "
            f"with: {SHARED_PYTHON} -m pip install anyhook"
        )
    return None


def _has_anyhook(python: str) -> bool:
    found = shutil.which(python)
    if found is None:
        return False
    check = [found, "-c", "import anyhook.authoring"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def _uninstalled(agent: AgentSpec, project: Path, scope: str, file: Path) -> Edit:
    path = settings_file(agent, project, scope)
    before = read_text(path)
    after = before or ""
    if before is None:
        return Edit(agent, path, before, after)
    after = _without(agent, after, path, _marks(agent, project, file), keep={})
    return Edit(agent, path, before, after)


def _without(
    agent: AgentSpec,
    text: str,
    path: Path,
    marks: tuple[str, ...],
    *,
    keep: Mapping[tuple[str, ...], dict[str, Any]],
) -> str:
    """Take every handler of ours out, but the definitions that are wanted as they are."""
    while (found := _find_ours(agent, text, path, marks, keep)) is not None:
        where, index, definition, handler = found
        if all(_is_ours(h, marks) for h in definition["hooks"]):
            text = remove_item(text, where, definition, file=str(path))
            text = prune(text, where, file=str(path))
        else:
            text = remove_item(text, (*where, index, "hooks"), handler, file=str(path))
    return text


def _find_ours(
    agent: AgentSpec,
    text: str,
    path: Path,
    marks: tuple[str, ...],
    keep: Mapping[tuple[str, ...], dict[str, Any]],
) -> tuple[tuple[str, ...], int, dict[str, Any], Any] | None:
    """Return the first handler of ours: the path and index of its definition, both values."""
    for where, index, definition in _definitions(agent, text, path):
        if definition == keep.get(where):
            continue
        for handler in definition["hooks"]:
            if _is_ours(handler, marks):
                return where, index, definition, handler
    return None


def _marks(agent: AgentSpec, project: Path, file: Path) -> tuple[str, ...]:
    """Return what a command holds that runs the file."""
    return tuple(
        shlex.split(_command(agent, project, scope, file, ("python",)))[1]
        for scope in ("project", "user")
    )


def _is_ours(handler: Any, marks: tuple[str, ...]) -> bool:
    """Tell whether a handler is what `install` writes: the file, and what runs it, and no more."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str) or "args" in handler:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    warm = read_command(words)
    rest = words[1:] if warm is None else warm.words
    return len(rest) == 1 and rest[0] in marks


def _definitions(
    agent: AgentSpec, text: str, path: Path
) -> Iterator[tuple[tuple[str, ...], int, dict[str, Any]]]:
    value = parsed(text, path)
    for key in agent.hooks_path:
        value = value.get(key) if isinstance(value, dict) else None
    for event, entries in value.items() if isinstance(value, dict) else ():
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and isinstance(entry.get("hooks"), list):
                yield (*agent.hooks_path, event), index, entry


def _json(edits: list[Edit], missing: dict[str, list[str]], done: bool) -> dict[str, Any]:
    return {
        "written": done,
        "files": [
            {"agent": e.agent.name, "path": str(e.path), "changes": e.changes, "text": e.after}
            for e in edits
        ],
        "degraded": missing,
    }
