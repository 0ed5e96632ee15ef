"""A decision in words: every field, who set it, and what it overrode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.model.decisions import Status
from anyhook.model.json import repair
from anyhook.model.text import printable

if TYPE_CHECKING:
    from anyhook.model.decisions import Blame, Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec

VALUE_WIDTH = 100
"""Longer values are cut; the decision itself holds them whole."""


def explain(decision: Decision) -> str:
    """Return a text of one paragraph per field, and one line per handler that has no say in it."""
    lines = [_headline(decision)]
    for field_name, blames in decision.blame.items():
        lines.append(f"{field_name}:")
        for blame in blames:
            lines += _blame_lines(blame)
    silent = [line for line in map(_silence, decision.results) if line]
    if silent:
        lines.append("no say:")
        lines += silent
    if decision.diagnostics:
        lines.append("diagnostics:")
        lines += [f"  {diagnostic}" for diagnostic in decision.diagnostics]
    return "\n".join(lines)


def _headline(decision: Decision) -> str:
    parts = ["stop"] if decision.stop else []
    if decision.outcome != "none" or not decision.stop:
        parts.append(str(decision.outcome))
    head = " + ".join(parts)
    return f"{head}: {shorten(decision.reason)}" if decision.reason else head


def _blame_lines(blame: Blame) -> list[str]:
    lines = [f"  {shorten(blame.value)}   set by {where(blame.handler)}"]
    for lost in blame.overrode:
        owner = where(lost.handler) if lost.handler else "the event itself"
        lines.append(f"    overrode {shorten(lost.value)} of {owner}")
    return lines


def _silence(result: HandlerResult) -> str | None:
    if result.status is Status.RAN:
        return None
    how = {
        Status.WARNED: f"ended with {exit_text(result)}, which is a warning",
        Status.FAILED: f"failed: {result.error}",
        Status.TIMED_OUT: f"ran into its timeout of {result.handler.timeout:g} s",
        Status.WITHHELD: "was not run: the project is not trusted",
        Status.SKIPPED: "was not run: one before it in its sequence had decided",
    }[result.status]
    return f"  {where(result.handler)} {how}"


def exit_text(result: HandlerResult) -> str:
    """Say how a command ended: `exit 3` or `SIGKILL`."""
    return result.signal or (f"exit {result.exit_code}" if result.exit_code is not None else "")


def where(handler: HandlerSpec) -> str:
    """Name a handler with its file and line."""
    return f"{handler.label!r} ({handler.place})"


def shorten(value: object) -> str:
    """Show a value on one line; line breaks and runs of blanks in a text are shown as escapes."""
    if isinstance(value, str) and value == " ".join(value.split()):
        text = value
    else:
        text = json.dumps(repair(value), ensure_ascii=False)
    text = printable(text)
    return text if len(text) <= VALUE_WIDTH else text[: VALUE_WIDTH - 1] + "…"
