"""`anyhook shadow` and `anyhook promote`: hooks that run and do not decide, and their way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.cli import OK
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.shadow_decisions import decisions_json, print_decisions
from anyhook.cli.switch import HookName, load_engine
from anyhook.errors import UsageError
from anyhook.journal.lines import history_directory, is_recording
from anyhook.manage.hooks import find_hook
from anyhook.manage.protection import require_user
from anyhook.manage.shadows import (
    EXAMPLES,
    check_can_be_shadow,
    shadow_changes,
    would_have_decided,
)
from anyhook.model.text import printable

if TYPE_CHECKING:
    from anyhook.settings.changes import Change

Examples = Annotated[
    int,
    typer.Option("--examples", metavar="N", min=0, help="Decisions of each kind that are shown."),
]


@one_at_a_time
def shadow(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a hook run without deciding: what it answers is recorded and kept from the agent.

    The command of a hook file gets the option `--shadow`; any other command is wrapped. Switch
    recording on, too (`anyhook record on`), to see later what it would have decided.

    For example:

        anyhook shadow guard.py
        anyhook promote guard.py
    """
    if not dry_run:
        require_user()
    engine = load_engine(project, agent, name)
    handlers = find_hook(engine, name)
    check_can_be_shadow(engine, handlers)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    changes = shadow_changes(engine, handlers, is_shadow=True)
    is_written = apply_changes(changes, options)
    if as_json:
        print_json(_result_json(name, changes, state="shadow", is_written=is_written))
        return OK
    out = console()
    if not any(change.has_effect for change in changes):
        out.print(f"{printable(name)!r} is a shadow already", markup=False)
    elif is_written:
        out.print(f"{printable(name)!r} runs and does not decide", markup=False)
    if not is_recording(history_directory()):
        out.print("Recording is off. To see what it would have decided: anyhook record on")
    return OK


@one_at_a_time
def promote(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    examples: Examples = EXAMPLES,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a shadow decide, after a look at what it would have decided.

    It decides once you have confirmed; --dry-run only shows what it would have decided.

    For example:

        anyhook promote guard.py
        anyhook promote guard.py --examples 20 --dry-run
    """
    engine = load_engine(project, agent, name)
    handlers = find_hook(engine, name)
    shadows = [handler for handler in handlers if handler.shadow]
    if not shadows:
        raise UsageError(
            f"{printable(name)!r} is no shadow in its settings; if its file says "
            "Hooks(shadow=True), remove that there"
        )
    decisions = would_have_decided(engine, shadows, examples)
    if not as_json:
        print_decisions(console(), name, decisions)
    changes = shadow_changes(engine, shadows, is_shadow=False)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    is_written = apply_changes(changes, options)
    if as_json:
        result = _result_json(name, changes, state="on", is_written=is_written)
        print_json({**result, "would_have_decided": decisions_json(decisions)})
    elif is_written:
        console().print(f"{printable(name)!r} decides from now on", markup=False)
    return OK


def _result_json(
    name: str, changes: list[Change], *, state: str, is_written: bool
) -> dict[str, Any]:
    changed = [change.path for change in changes if change.has_effect]
    return {"name": name, "state": state, "written": is_written, "changed": changed}
