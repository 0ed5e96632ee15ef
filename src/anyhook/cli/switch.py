"""`anyhook disable`, and what `anyhook enable` shares with it: switch one hook, or all."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.colors import CAUTION
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project
from anyhook.cli.output import console, members, print_error, print_json
from anyhook.cli.render import print_diagnostics
from anyhook.engine.absent import NOT_READ, shadow_remedy
from anyhook.engine.engine import Engine
from anyhook.engine.hook_files import shadow_place
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.hooks import all_handlers, handlers_named, hook_rows, split_recorder
from anyhook.manage.paths import show_path
from anyhook.manage.scope import one_agent, scope_of
from anyhook.manage.switching import SwitchResult, switch_changes, switch_hook
from anyhook.model.diagnostics import Diagnostic
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.changes import EDITABLE_LAYERS

_HOOK_HELP = "Name of the hook, its script (guard.py), or its place (FILE:LINE)."
HookName = Annotated[str, typer.Argument(metavar="HOOK", help=_HOOK_HELP)]
HookOrAll = Annotated[str | None, typer.Argument(metavar="HOOK", help=_HOOK_HELP)]
AllHooks = Annotated[
    bool, typer.Option("--all", help="All hooks of the user and the project, except the recorder.")
]


def disable(
    name: HookOrAll = None,
    is_all: AllHooks = False,
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
        anyhook disable --all
    """
    return switch(
        name, project, agent, is_all=is_all, is_on=False, dry_run=dry_run, as_json=as_json
    )


@one_at_a_time
def switch(
    name: str | None,
    project: Path,
    agent: str | None,
    *,
    is_all: bool,
    is_on: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Switch a hook, or all hooks of the user and the project, and print their states.

    Returns the highest exit code.
    """
    if not is_all:
        name = required_name(name)
        engine = load_engine(project, agent, name)
        report, exit_code = _switch(engine, name, is_on=is_on, dry_run=dry_run, as_json=as_json)
        if as_json:
            print_json(report)
        return exit_code
    if name is not None:
        raise UsageError(f"--all stands for every hook; drop it, or drop {name!r}")
    reports: list[dict[str, Any]] = []
    exit_codes = [OK]
    unread: list[Diagnostic] = []
    for engine in scope_of(project, agent).engines():
        unread += [problem for problem in engine.hooks.diagnostics if problem.code in NOT_READ]
        rows, _recorder = split_recorder(hook_rows(engine))
        rows = [row for row in rows if row.handler.layer in EDITABLE_LAYERS]
        if is_on:  # the last one that was taken out first, so that files become what they were
            rows.reverse()
        # A hook on several events is one; an edit moves the lines, but the names stay.
        for label in dict.fromkeys(row.label for row in rows if (row.state == "off") is is_on):
            report, code = _switch(engine, label, is_on=is_on, dry_run=dry_run, as_json=as_json)
            reports.append(report)
            exit_codes.append(code)
    if as_json:
        print_json(reports)
    elif not reports and not unread:
        opposite = "off" if is_on else "on"
        console().print(f"No hook here is {opposite}.")
    if unread:
        print_diagnostics(console(stderr=True), unread)
        exit_codes.append(PROBLEMS)
    return max(exit_codes)


def required_name(name: str | None) -> str:
    """Return the name of a hook.

    Raises:
        UsageError: If there is none.
    """
    if name is None:
        raise UsageError("name the hook, or add --all")
    return name


def _switch(
    engine: Engine, name: str, *, is_on: bool, dry_run: bool, as_json: bool
) -> tuple[dict[str, Any], int]:
    """Switch a hook, and print its state if it is for people. Returns its state and exit code."""
    if dry_run:
        handlers, changes = switch_changes(engine, name, is_on=is_on)
        apply_changes(changes, WriteOptions(yes=True, dry_run=True, as_json=as_json))
        state = "on" if is_on else "off"
        changed = [change.path for change in changes if change.has_effect]
        switch = None
        if is_on and not changed:
            switch = engine.hooks.switched_off(handlers[0])
        if switch is not None:
            state = "off"
            print_error(f"{name!r} stays off: {switch} switches it off")
        elif not as_json and not changed:
            console().print(f"{printable(name)!r} is {state} already")
        report: dict[str, Any] = {"name": name, "state": state, "switched_off_by": switch}
        exit_code = OK if switch is None else PROBLEMS
        return {**report, "written": False, "changed": changed}, exit_code
    result = switch_hook(engine, name, is_on=is_on)
    stays_off = is_on and result.switched_off_by is not None
    exit_code = PROBLEMS if stays_off else OK
    if not as_json:
        _print_state(engine, name, result, should_be_on=is_on)
    report = {
        "name": name,
        **members(result, "state", "switched_off_by", "changed"),
        "written": bool(result.changed),
    }
    return report, exit_code


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


def _print_state(engine: Engine, name: str, result: SwitchResult, *, should_be_on: bool) -> None:
    """Print the state of a hook after an edit."""
    out = console()
    files = ", ".join(show_path(str(path)) for path in result.changed)
    action = f"switched {result.state} in {files}" if files else f"was {result.state} already"
    out.print(f"{printable(name)!r} {action}{result.extent}")
    shadow = shadow_place(engine, result.handler) if should_be_on else None
    if shadow is not None:
        in_file = shadow_remedy(result.handler, shadow)
        remedy = "give this command again" if result.handler.shadow else in_file
        out.print(f"It is a shadow; to let it decide, {remedy}.", soft_wrap=True)
    if result.taken_out and files:
        command = f"anyhook enable {shlex.quote(name)} --agent {engine.agent.name}"
        out.print(
            f"{engine.agent.title} cannot switch off a single hook, so it was taken out of the "
            f"file; put it back with: {command}",
            soft_wrap=True,
        )
        if result.handler.layer is Layer.PROJECT:
            out.print(
                f"{show_path(result.handler.place.file)} is shared with the project: the change "
                "switches the hook off for every user of the project",
                style=CAUTION,
                soft_wrap=True,
            )
    if result.switched_off_by and should_be_on:
        print_error(f"{name!r} stays off: {result.switched_off_by} switches it off")
