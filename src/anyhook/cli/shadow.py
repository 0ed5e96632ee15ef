"""`anyhook shadow`: let a hook run without deciding."""

from __future__ import annotations

from anyhook.cli import OK
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.switch import HookName, load_engine
from anyhook.journal.lines import history_directory, is_recording
from anyhook.manage.hooks import find_hook
from anyhook.manage.protection import require_user
from anyhook.manage.shadows import check_can_be_shadow, shadow_changes
from anyhook.model.text import printable


@one_at_a_time
def shadow(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a hook run without deciding; record what it would decide.

    The command of a hook file gets the option `--shadow`; any other command is wrapped. Switch
    recording on, too (`anyhook history record on`), to see later what it would have decided.

    For example:

        anyhook shadow guard.py
        anyhook enable guard.py
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
        changed = [change.path for change in changes if change.has_effect]
        print_json({"name": name, "state": "shadow", "written": is_written, "changed": changed})
        return OK
    out = console()
    if not any(change.has_effect for change in changes):
        out.print(f"{printable(name)!r} is a shadow already")
    elif is_written:
        out.print(f"{printable(name)!r} runs and does not decide")
    if not is_recording(history_directory()):
        out.print("Recording is off. To see what it would have decided: anyhook history record on")
    return OK
