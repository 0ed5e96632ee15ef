"""`anyhook add` and `anyhook remove`: guards and hook files in the settings of agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook._help import USAGE
from anyhook.agents import get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.colors import ACCENT, CAUTION, QUIET
from anyhook.cli.options import HERE, AgentNames, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, hook_health, members, print_error, print_json
from anyhook.cli.render import health_text, make_table, print_note, print_quoted
from anyhook.cli.sandboxed import evidence_may_be_lost, print_unsupported, unsupported_uses
from anyhook.errors import UsageError
from anyhook.manage.add_remove import (
    Addition,
    choose_launcher,
    finish_addition,
    finish_removal,
    guard_rows,
    health_of_files,
    hook_files,
    launcher_problem,
    plan_addition,
    plan_additions_of,
    plan_guard_updates,
    plan_removal,
)
from anyhook.manage.guard_files import all_guards, find_guard
from anyhook.manage.hook_file_settings import SettingsPlace
from anyhook.manage.paths import show_path
from anyhook.manage.protection import require_user
from anyhook.manage.scope import existing_project, require_agents
from anyhook.manage.tried import keep_examples, try_hook_file
from anyhook.sandbox.sandbox import Sandbox, sandbox_limits
from anyhook.settings.changes import SCOPES, Change
from anyhook.settings.companions import program_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from anyhook.manage.add_remove import GuardRow
    from anyhook.manage.guard_files import GuardFile, GuardUpdate
    from anyhook.manage.health import HookHealth


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME | FILE]...",
        help="Guards that come with anyhook, or hook files of yours (a path, or a name in .py).",
        show_default=False,
    ),
]
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
ShowList = Annotated[
    bool, typer.Option("--list", help="Show the guards, and where they are added.")
]
Why = Annotated[bool, typer.Option("--why", help="Show what guards do, and what happened without.")]
Update = Annotated[
    bool,
    typer.Option("--update", help="Update guards to this release; your changes are merged."),
]


@one_at_a_time
def add(
    names: Names = None,
    show_list: ShowList = False,
    why: Why = False,
    update: Update = False,
    project: Project = HERE,
    agents: AgentNames = None,
    scope: SettingsScope = "project",
    python: Python = None,
    cold: Cold = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Add guards, or hook files of yours, to the settings of your agents.

    A guard is one Python file, which is copied into `.anyhook/` and is yours to change. Each event
    of a file becomes one hook; hooks of an earlier `add` are replaced. Comments, order and
    indentation of the settings stay. It reports what an agent cannot do.

    For example:

        anyhook add --list
        anyhook add files git secrets
        anyhook add --why remote-code
        anyhook add --update
        anyhook add hooks/guard.py --agent claude --agent gemini
        anyhook add ~/hooks/guard.py --scope user --yes
    """
    directory = existing_project(project)
    if scope not in SCOPES:
        raise UsageError(f"--scope is {', '.join(SCOPES)}, not {scope!r}")
    if show_list + why + update > 1 or (show_list and names):
        raise UsageError("give one of --list, --why and --update; --list takes no names")
    if show_list:
        print_guard_list(guard_rows(directory), as_json=as_json)
        return OK
    if why:
        guards = all_guards()
        chosen = [find_guard(name, guards) for name in names or guards]
        print_guards(chosen, as_json=as_json)
        return OK
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    place = make_place(directory, scope, python, cold=cold)
    if update:
        return _update(names or [], place, agents, options)
    if not names:
        raise UsageError("name a guard or a hook file; the guards are in: anyhook add --list")
    specs = require_agents(directory, agents)
    addition = plan_addition(place, specs, hook_files(names, directory, scope))
    write_additions([addition], options)
    return OK


def _update(
    names: Sequence[str], place: SettingsPlace, agents: list[str] | None, options: WriteOptions
) -> int:
    """Update copies of guards, or show where they conflict."""
    updates = plan_guard_updates(names, place.project, place.scope)
    conflicts = [update for update in updates if update.conflicts]
    extra = {"guards": [update_json(update) for update in updates]}
    if conflicts:
        if options.as_json:
            print_json({"written": False, "files": [], "degraded": {}, "health": [], **extra})
        else:
            print_conflicts(conflicts)
        return PROBLEMS
    if not options.as_json:
        for update in updates:
            if not update.change.has_effect:
                console().print(f"{update.guard.name}: version {update.guard.version}, nothing new")
        if not updates:
            console().print(f"no guard is added in the scope {place.scope!r}")
    specs = [get_agent(name) for name in agents or ()]
    write_additions(plan_additions_of(updates, place, specs), options, extra)
    return OK


# -- what `add` and `init` share


def make_place(project: Path, scope: str, python: str | None, *, cold: bool) -> SettingsPlace:
    """Return where hook files are added, and what starts them."""
    launcher = choose_launcher(python, scope, cold=cold)
    return SettingsPlace(project, scope, launcher, program_words(scope, python))


def write_additions(
    additions: Sequence[Addition],
    options: WriteOptions,
    extra: dict[str, Any] | None = None,
    *,
    show: Callable[[], object] | None = None,
) -> None:
    """Write additions with one question, try the guards, and show what is guarded now.

    The output for programs gets the members `extra`; `show` replaces the differences.
    """
    changes: list[Change] = []
    for addition in additions:
        changes += addition.changes
    written = apply_changes(changes, options, show=show)
    health: list[HookHealth] = []
    unsupported: dict[str, list[str]] = {}
    for addition in additions:
        if written:
            _try_guards(addition)
            finish_addition(addition)
        if not options.dry_run:
            paths = [file.path for file in addition.files]
            health += health_of_files(addition.place.project, addition.agents, paths)
        for file in addition.files:
            texts_by_agent = unsupported_uses(file.path.name, file.uses, addition.agents)
            for agent, texts in texts_by_agent.items():
                unsupported.setdefault(agent, []).extend(texts)
    if options.as_json:
        print_json(
            {
                "written": written,
                "files": changes_json(changes),
                "degraded": unsupported,
                "health": [hook_health(hook) for hook in health],
                **(extra or {}),
            }
        )
        return
    print_unsupported(console(), unsupported)
    for addition in additions:
        # What the hooks need and this machine lacks.
        words = addition.place.launcher
        if any(agent_changes.companions for agent_changes in addition.settings):
            words = addition.place.program
        warning = launcher_problem(words)
        if warning and addition.settings:
            print_note(console(stderr=True), "warning:", warning)
    print_added(console(), health)


def _try_guards(addition: Addition) -> None:
    """Run the examples of guards that come with anyhook, so that `health` knows whether they work.

    Files of the user are run by `anyhook test`, where the user asks for it.
    """
    guards = [file.path for file in addition.files if file.change is not None]
    names = [agent.name for agent in addition.agents]
    # Without namespaces, `test` asks before it runs anything.
    if not guards or not names or sandbox_limits():
        return
    with Sandbox.for_project(addition.place.project, discards_output=True) as sandbox:
        for path in guards:
            tried = try_hook_file(sandbox, path, names)
            with evidence_may_be_lost():
                keep_examples(path.resolve(), tried)


def changes_json(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return the files of changes, for programs."""
    files: list[dict[str, Any]] = []
    for change in changes:
        if change.is_shown:
            agent = change.agent.name if change.agent is not None else None
            content = {"path": change.path, "changes": change.has_effect, "text": change.after}
            files.append({"agent": agent, **content})
    return files


# -- the guards

GUARD = ("name", "summary", "prose", "families", "why", "source", "version")
"""Members of a guard."""


def print_guard_list(rows: Sequence[GuardRow], *, as_json: bool) -> None:
    """Print the guards that come with anyhook, and where they are added."""
    if as_json:
        guards = []
        for row in rows:
            copies = []
            for added in row.added:
                copy = {
                    "scope": added.scope,
                    "file": added.copy.path,
                    "version": added.copy.version,
                    "changed": added.copy.is_edited,
                }
                copies.append({**copy, "agents": [agent.name for agent in added.agents]})
            guard = members(row.guard, *GUARD)
            guards.append({**guard, "added": copies, "problems": row.problems})
        print_json({"guards": guards})
        return
    out = console()
    table = make_table("guard", "what it guards", "families", "added", no_wrap=("guard",))
    for row in rows:
        texts = []
        for added in row.added:
            names = ", ".join(agent.name for agent in added.agents) or "no agent"
            changed = ", changed" if added.copy.is_edited else ""
            texts.append(f"{added.scope}: {names}, version {added.copy.version}{changed}")
        families = ", ".join(row.guard.families)
        table.add_row(row.guard.name, row.guard.summary, families, Text("; ".join(texts)))
    out.print(table)
    for row in rows:
        for problem in row.problems:
            print_error(problem)
    out.print("To read more: anyhook add --why NAME. To add some: anyhook add NAME…")


def print_guards(guards: Sequence[GuardFile], *, as_json: bool) -> None:
    """Print what guards do, and what happened without them."""
    if as_json:
        print_json({"guards": [members(guard, *GUARD) for guard in guards]})
        return
    out = console()
    for guard in guards:
        out.print(Text.assemble((guard.name, "bold"), f"  {guard.summary}"), soft_wrap=True)
        out.print(f"\n{guard.prose}\n", soft_wrap=True)
        out.print(f"Why: {guard.why}", soft_wrap=True)
        out.print(f"Source: {guard.source}\n", soft_wrap=True)


def print_conflicts(updates: Sequence[GuardUpdate]) -> None:
    """Print where the user and new versions of guards changed the same lines."""
    out = console()
    for update in updates:
        path = show_path(update.copy.path)
        print_error(
            f"{path}: you and version {update.guard.version} changed the same lines; nothing was "
            f"changed. Take the lines of the new version over, or undo yours, then: anyhook add "
            f"--update {update.guard.name}"
        )
        for conflict in update.conflicts:
            place = f"{path}:{conflict.line}" if conflict.line is not None else path
            out.print(Text(f"{place}: yours", style=ACCENT))
            print_quoted(out, "\n".join(conflict.yours) or "(removed)")
            out.print(Text(f"version {update.guard.version}", style=ACCENT))
            print_quoted(out, "\n".join(conflict.released) or "(removed)")


def update_json(update: GuardUpdate) -> dict[str, Any]:
    """Return an update for programs."""
    return {
        "name": update.guard.name,
        "file": update.copy.path,
        "from": update.copy.version,
        "to": update.guard.version,
        "state": update.state,
        "conflicts": update.conflicts,
    }


def print_added(out: Console, hooks: Sequence[HookHealth]) -> None:
    """Print whether hooks work; events with the same word and evidence share a line."""
    groups: dict[tuple[str, str, str, str], list[HookHealth]] = {}
    for hook in hooks:
        key = (hook.row.agent.title, hook.row.label, hook.word, hook.evidence)
        groups.setdefault(key, []).append(hook)
    table = make_table("guarded now", "agent", "hook", "events", "", no_wrap=("hook",))
    for (agent, label, _, evidence), group in groups.items():
        events = ", ".join(dict.fromkeys(hook.row.event for hook in group))
        table.add_row(health_text(group[0]), agent, Text(label), events, Text(evidence))
    if groups:
        out.print(table)
    for settle in dict.fromkeys(hook.settle for hook in hooks):
        if settle:
            out.print(f"to settle it: {settle}", style=QUIET, soft_wrap=True)


# -- removing

RemovedNames = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME | FILE]...",
        help="Guards that come with anyhook, or hook files of yours (a path, or a name in .py).",
    ),
]


@one_at_a_time
def remove(
    names: RemovedNames,
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
