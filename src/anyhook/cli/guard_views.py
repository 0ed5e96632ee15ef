"""How guards look in commands: the list, what one is for, updates, and what is guarded now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.cli.colors import ACCENT, QUIET
from anyhook.cli.output import console, members, print_error, print_json
from anyhook.cli.render import health_text, make_table, print_quoted
from anyhook.manage.paths import show_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from anyhook.manage.additions import GuardRow
    from anyhook.manage.guard_files import GuardFile
    from anyhook.manage.guard_updates import GuardUpdate
    from anyhook.manage.health import HookHealth

GUARD = ("name", "summary", "prose", "families", "why", "source", "version")
"""Members of a guard."""


def print_guard_list(rows: Sequence[GuardRow], *, as_json: bool) -> None:
    """Print the guards that come with anyhook, and where they are added."""
    if as_json:
        guards = []
        for row in rows:
            copies = [
                {
                    "scope": added.scope,
                    "file": added.copy.path,
                    "version": added.copy.version,
                    "changed": added.copy.is_edited,
                    "agents": [agent.name for agent in added.agents],
                }
                for added in row.added
            ]
            parts = {"added": copies, "problems": row.problems}
            guards.append({**members(row.guard, *GUARD), **parts})
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
