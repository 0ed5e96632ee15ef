"""`anyhook disable`, and what `anyhook enable` shares with it: switch one hook."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.colors import CAUTION
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project
from anyhook.cli.output import console, members, print_error, print_json
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.manage.hooks import all_handlers, handlers_named
from anyhook.manage.paths import show_path
from anyhook.manage.scope import one_agent, scope_of
from anyhook.manage.switching import switch_changes, switch_hook
from anyhook.model.layers import Layer
from anyhook.model.text import printable

if TYPE_CHECKING:
    from anyhook.manage.switching import SwitchResult

HookName = Annotated[
    str,
    typer.Argument(
        metavar="HOOK", help="Name of the hook, its script (guard.py), or its place (FILE:LINE)."
    ),
]


def disable(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Turn a hook off in the file that defines it.

    Comments, order and indentation of the file stay. If the agent cannot switch off a single hook
    (see `anyhook list`), the hook is taken out of the file and kept for `anyhook enable`. Hooks of
    the system layer cannot be switched off.

    For example:

        anyhook disable secret-guard
        anyhook disable settings.json:12 --dry-run
    """
    return switch(name, project, agent, is_on=False, dry_run=dry_run, as_json=as_json)


@one_at_a_time
def switch(
    name: str, project: Path, agent: str | None, *, is_on: bool, dry_run: bool, as_json: bool
) -> int:
    """Switch a hook on or off, and print its state. Returns the exit code."""
    engine = load_engine(project, agent, name)
    if dry_run:
        _show_changes(engine, name, is_on=is_on, as_json=as_json)
        return OK
    result = switch_hook(engine, name, is_on=is_on)
    stays_off = is_on and result.switched_off_by is not None
    if as_json:
        print_json(
            {
                "name": name,
                **members(result, "state", "switched_off_by", "changed"),
                "written": bool(result.changed),
            }
        )
    else:
        _print_result(engine, name, result, should_be_on=is_on)
        if stays_off:
            print_error(f"{name!r} stays off: {result.switched_off_by} switches it off")
    return PROBLEMS if stays_off else OK


def load_engine(project: Path, agent: str | None, name: str) -> Engine:
    """Load the only agent that has a hook of that name, else the agent of the project."""
    scope = scope_of(project, agent)
    engines = list(scope.engines())
    if len(engines) == 1:
        return engines[0]
    candidates = [engine for engine in engines if handlers_named(name, all_handlers(engine))]
    if len(candidates) == 1:
        return candidates[0]
    agent_name = one_agent(scope.project, None)
    return Engine.load(scope.project, agent=agent_name, on_message=discard)


def _show_changes(engine: Engine, name: str, *, is_on: bool, as_json: bool) -> None:
    """Show what would be written."""
    _, changes = switch_changes(engine, name, is_on=is_on)
    apply_changes(changes, WriteOptions(yes=True, dry_run=True, as_json=as_json))
    changed = [change.path for change in changes if change.has_effect]
    state = "on" if is_on else "off"
    if as_json:
        result = {"name": name, "state": state, "switched_off_by": None, "written": False}
        print_json({**result, "changed": changed})
    elif not changed:
        console().print(f"{printable(name)!r} is {state} already", markup=False)


def _print_result(engine: Engine, name: str, result: SwitchResult, *, should_be_on: bool) -> None:
    """Print the state of a hook after an edit."""
    handler, changed = result.handler, result.changed
    out = console()
    files = ", ".join(show_path(str(path)) for path in changed)
    action = f"switched {result.state} in {files}" if changed else f"was {result.state} already"
    out.print(f"{printable(name)!r} {action}", markup=False)
    if should_be_on and handler.shadow:
        out.print("It is a shadow; to let it decide, give this command again.")
    if result.taken_out and changed:
        command = f"anyhook enable {shlex.quote(name)} --agent {engine.agent.name}"
        out.print(
            f"{engine.agent.title} cannot switch off a single hook, so it was taken out of the "
            f"file; put it back with: {command}",
            markup=False,
            soft_wrap=True,
        )
        if handler.layer is Layer.PROJECT:
            out.print(
                f"{show_path(handler.place.file)} is shared with the project: the change switches "
                "the hook off for every user of the project",
                style=CAUTION,
                soft_wrap=True,
            )
