"""How the health of hooks looks in commands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.cli.output import show_place
from anyhook.manage.health import Word

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from anyhook.manage.health import Health, HookHealth

WORD_STYLE = {Word.WORKS: "green", Word.BROKEN: "bold red", Word.UNKNOWN: "yellow"}
MARKS = {Word.WORKS: "✓", Word.BROKEN: "✗", Word.UNKNOWN: "?"}


def word_text(health: HookHealth | None) -> Text:
    """Return the word for a hook with its color; empty of the recorder."""
    if health is None:
        return Text()
    return Text(f"{MARKS[health.word]} {health.word}", style=WORD_STYLE[health.word])


def print_health(out: Console, project: Path, healths: Sequence[Health]) -> None:
    """Print which hooks do not surely work, why, and how many of them there are."""
    counts: Counter[Word] = Counter()
    for health in healths:
        counts.update(health.counts)
        for hook in health.hooks:
            if hook.word is not Word.WORKS:
                _print_hook(out, project, hook)
    if counts:
        parts = [f"{counts[word]} {word}" for word in Word if counts[word]]
        out.print(Text.assemble(("hooks: ", "bold"), (", ".join(parts), "bold")))


def _print_hook(out: Console, project: Path, hook: HookHealth) -> None:
    row = hook.row
    line = word_text(hook)
    line.append(f"  {row.label}", style="bold")
    line.append(f"  {row.agent.title} {row.event}", style="cyan")
    line.append(f"  {show_place(hook.place, project)}", style="dim")
    out.print(line, soft_wrap=True)
    out.print(Text(f"    {hook.evidence}"), soft_wrap=True)
    for text in hook.old:
        out.print(Text(f"    {text}", style="dim"), soft_wrap=True)
    if hook.settle:
        out.print(Text(f"    to settle it: {hook.settle}", style="dim"), soft_wrap=True)


def health_json(health: HookHealth | None) -> dict[str, Any] | None:
    """Return the health of a hook for programs; `None` of the recorder."""
    if health is None:
        return None
    return {
        "word": str(health.word),
        "evidence": health.evidence,
        "file": health.place.file,
        "line": health.place.line,
        "settle": health.settle or None,
        "old": list(health.old),
    }
