"""`anyhook enable`: switch one hook on, or all, or let a shadow decide."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.cli import OK
from anyhook.cli.changes import WriteOptions, apply_changes
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.shadow_decisions import decisions_json, print_decisions
from anyhook.cli.switch import (
    AllHooks,
    HookOrAll,
    load_engine,
    required_name,
    switch,
)
from anyhook.manage.hooks import find_hook
from anyhook.manage.shadows import EXAMPLES, shadow_changes, would_have_decided
from anyhook.model.definitions import HandlerSpec, handlers_of
from anyhook.model.text import printable
from anyhook.settings.changes import exclusive_edits

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine

Examples = Annotated[
    int,
    typer.Option(
        "--examples", metavar="N", min=0, help="Decisions of each kind of a shadow that are shown."
    ),
]


def enable(
    name: HookOrAll = None,
    is_all: AllHooks = False,
    project: Project = HERE,
    agent: AgentName = None,
    examples: Examples = EXAMPLES,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Switch a hook on, or let a shadow decide.

    Of a shadow that is on, it shows what it would have decided, and asks. Exits with 1 if the hook
    stays off, because the system layer or a switch for all hooks turns it off.

    For example:

        anyhook enable secret-guard
        anyhook enable settings.json:12 --dry-run
        anyhook enable guard.py --examples 20 --dry-run
        anyhook enable --all
    """
    if not is_all:
        name = required_name(name)
        # Between the two files that another process writes, a hook would be in neither.
        with nullcontext() if dry_run else exclusive_edits():
            is_shadow = bool(_shadows(load_engine(project, agent, name), name))
        if is_shadow:
            options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
            with exclusive_edits() if yes else nullcontext():
                return _let_decide(load_engine(project, agent, name), name, examples, options)
    return switch(name, project, agent, is_all=is_all, is_on=True, dry_run=dry_run, as_json=as_json)


def _shadows(engine: Engine, name: str) -> list[HandlerSpec]:
    """Return the handlers of a hook that are switched on and do not decide."""
    handlers = find_hook(engine, name)
    shadows = [handler for handler in handlers_of(engine.definitions) if handler.shadow]
    return [
        handler
        for handler in shadows
        if handler in handlers and engine.hooks.switched_off(handler) is None
    ]


def _let_decide(engine: Engine, name: str, examples: int, options: WriteOptions) -> int:
    """Show what a shadow would have decided, ask, and let it decide."""
    shadows = _shadows(engine, name)
    decisions = would_have_decided(engine, shadows, examples)
    if not options.as_json:
        print_decisions(console(), name, decisions)
    changes = shadow_changes(engine, shadows, is_shadow=False)
    is_written = apply_changes(changes, options)
    if options.as_json:
        changed = [change.path for change in changes if change.has_effect]
        result = {"name": name, "state": "on", "switched_off_by": None, "written": is_written}
        would_decide = decisions_json(decisions)
        print_json({**result, "changed": changed, "would_have_decided": would_decide})
    elif is_written:
        console().print(f"{printable(name)!r} decides from now on")
    return OK
