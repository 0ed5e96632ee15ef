"""Shows a migration and its proof to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.cli.colors import BAD, CAUTION, GOOD, LOSSES, RESULTS
from anyhook.cli.output import console, members
from anyhook.cli.render import WIDE, make_table, show_place
from anyhook.cli.sandboxed import sandbox_text
from anyhook.manage.paths import show_path
from anyhook.migrate.corpus import missing_tools
from anyhook.model.text import printable
from anyhook.sandbox.copies import copied_directories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Column, Table

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.comparison import Difference, Proof
    from anyhook.migrate.context import Loss
    from anyhook.migrate.plan import Migration
    from anyhook.settings.sources import Location

HOOK_WIDTH = 40
NARROW_HOOK_WIDTH = 16
"""Columns of the name of a hook, in a wide and in a narrow terminal."""
MAX_DIFFERENCES = 3
"""Differences of one hook that are shown."""


def show_moved_hooks(migration: Migration, losses: Sequence[Loss], project: Path) -> None:
    """Show the hooks that are migrated."""
    source = migration.source
    if not migration.entries and not losses:
        paths = [show_path(str(file.source.path), project) for file in migration.hooks.files]
        message = f"There are no hooks of {source.title} here ({', '.join(paths)})."
        console().print(message)
    if not migration.entries:
        return
    title = f"{source.title} → {migration.target.title}"
    table = make_table("hook", "from", "to", "matcher", "", title=title)
    _limit_width(table.columns[0])
    for entry, origin in migration.origins():
        event = source.by_canonical[origin.event].wire
        how = "shim" if origin.shimmed else "direct"
        table.add_row(
            Text(origin.handler.label),
            f"{event} {show_place(origin.handler.place, project, short=True)}",
            entry.event,
            Text(printable(str(entry.definition.get("matcher", "")))),
            Text(how, style="dim"),
        )
    console().print(table)


def show_losses(migration: Migration, losses: Sequence[Loss], project: Path) -> None:
    """Show what is lost or changes."""
    if not losses:
        if migration.entries:
            console().print(Text("nothing is lost", style=GOOD))
        return
    table = make_table("", "where", "what", "why", "what to do", title="Lost or changed")
    for loss in losses:
        table.add_row(
            Text(loss.kind, style=LOSSES[loss.kind]),
            show_place(loss.place, project, short=True),
            Text(printable(loss.subject)),
            Text(printable(loss.reason)),
            Text(printable(loss.remedy)),
        )
    console().print(table)


def show_what_runs(migration: Migration, location: Location) -> None:
    """Show which commands a proof runs, and where."""
    out = console()
    out.print("The proof runs these commands, on both sides and several times:")
    commands = [origin.handler.shown_identifier for _, origin in migration.origins()]
    for command in dict.fromkeys(map(printable, commands)):
        out.print(Text(f"  {command}"), soft_wrap=True)
    home = "which is empty"
    directories = [show_path(str(path)) for path in copied_directories(location)]
    if directories:
        home = f"with copies of {', '.join(directories)}"
    out.print(
        f"They run {sandbox_text()}, each side in a copy of the project and with a home directory "
        f"of its own {home}.",
        soft_wrap=True,
    )


# -- the proof


def show_proof(proof: Proof, migration: Migration, project: Path) -> None:
    """Show the results of a proof."""
    out = console()
    out.print(_proof_table(proof, project))
    _show_missing_tools(migration)
    for hook in proof.hooks:
        unexplained_first = sorted(hook.differences, key=lambda each: each.is_explained)
        for difference in unexplained_first[:MAX_DIFFERENCES]:
            _show_difference(hook.label, difference, migration)
        more = len(hook.differences) - MAX_DIFFERENCES
        if more > 0:
            out.print(Text(f"         and on {more} more events; --json has them", style="dim"))
    for hook in proof.hooks:
        for event, fields in hook.unstable.items():
            message = f"  {event}  ({hook.label}): {', '.join(fields)} differs from run to run"
            out.print(Text.assemble(("unstable", CAUTION), printable(message)))
    for difference in proof.combined:
        _show_difference("all hooks together", difference, migration)
    undecided = sum(not hook.decided for hook in proof.hooks)
    if undecided:
        out.print(
            f"{undecided} hook(s) had no effect on any of these events; prove them with "
            "recorded ones: --events FILE",
            style=CAUTION,
        )
    if not proof.differs and migration.loses:
        text = "both sides decide these events the same; what is lost above was not compared"
        out.print(text, style=CAUTION)
    elif not proof.differs:
        out.print("both sides decide these events the same", style=GOOD)
    elif proof.holds:
        out.print("the two sides differ only as reported above", style=CAUTION)


def _show_missing_tools(migration: Migration) -> None:
    missing = missing_tools(migration.source, migration.target)
    if missing:
        text = f"not compared: {migration.target.title} has no tool like {', '.join(missing)}"
        console().print(Text(text, style="dim"))


def _proof_table(proof: Proof, project: Path) -> Table:
    headings = ("", "hook", "where", "event", "reached it", "it decided", "differ")
    table = make_table(*headings, title=f"Proof over {proof.events} events")
    _limit_width(table.columns[1])
    for hook in proof.hooks:
        verdict = Text("·", style="dim")
        if not all(difference.is_explained for difference in hook.differences):
            verdict = Text(*RESULTS["failed"])
        elif hook.differences:
            verdict = Text(*RESULTS["degraded"])
        elif hook.decided:
            verdict = Text(*RESULTS["ok"])
        table.add_row(
            verdict,
            Text(hook.label),
            show_place(hook.place, project, short=True),
            hook.event,
            str(hook.events),
            str(hook.decided),
            str(len(hook.differences)),
        )
    return table


def _limit_width(hooks: Column) -> None:
    hooks.max_width = HOOK_WIDTH if console().width >= WIDE else NARROW_HOOK_WIDTH
    hooks.no_wrap = True
    hooks.overflow = "ellipsis"


def _show_difference(label: str, difference: Difference, migration: Migration) -> None:
    out = console()
    style, status = BAD, "not reported above"
    if difference.is_explained:
        style, status = CAUTION, "reported above"
    event = printable(difference.event)
    out.print(Text.assemble(("differs", style), f"  {event}  ({label}; {status})"))
    _show_answer(migration.source, difference.source_answer)
    _show_answer(migration.target, difference.target_answer)


def _show_answer(agent: AgentSpec, answer: Mapping[str, Any]) -> None:
    fields = ", ".join(f"{key}: {value!r}" for key, value in answer.items())
    console().print(Text(f"    {agent.title}: {printable(fields or 'nothing')}"))


def proof_json(proof: Proof) -> dict[str, Any]:
    """Return the results of a proof, for programs."""
    hooks = []
    for hook in proof.hooks:
        names = {"hook": hook.label, "place": str(hook.place)}
        counts = {**members(hook, "event", "decided", "unstable"), "reached": hook.events}
        differences = [_difference_json(difference) for difference in hook.differences]
        hooks.append({**names, **counts, "differences": differences})
    return {
        "events": proof.events,
        "holds": proof.holds,
        "hooks": hooks,
        "combined": [_difference_json(difference) for difference in proof.combined],
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "event": difference.event,
        "from": difference.source_answer,
        "to": difference.target_answer,
        "explained": difference.is_explained,
    }
