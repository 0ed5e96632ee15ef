"""What changes where the target runs the hooks of an event one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.migrate.handler import may_ask
from anyhook.model.answers import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.context import MigrationContext
    from anyhook.migrate.entries import Entry, EntryOrigin

ADDED_FIELDS = ("reason", "context", "system_message", "tool_input")
"""Fields of a decision that hooks after a denial would have added to."""


def record_ended_sequences(context: MigrationContext, entries: Sequence[Entry]) -> None:
    """Record the events on which the hooks after a denial do not run, but did in the source."""
    source, target = context.source, context.target
    origins_by_event: dict[str, list[EntryOrigin]] = {}
    for entry in entries:
        origins_by_event.setdefault(entry.event, []).extend(entry.origins)
    for wire, origins in origins_by_event.items():
        outcomes = _ending_outcomes(target, target.by_wire[wire].canonical)
        ends_in_source = _ending_outcomes(source, origins[0].event)
        if len(origins) < 2 or not outcomes or outcomes <= ends_in_source:
            continue
        words = " or ".join(sorted(outcomes))
        context.record_loss(
            "note",
            origins[1].handler.place,
            f"{len(origins)} hooks on {wire}",
            f"{target.title} runs them one after another, and those after an answer {words} "
            "do not run",
            "nothing, unless one has to see every event, like a log; let it come first",
            *ADDED_FIELDS,
        )
        if Outcome.ASK in outcomes - ends_in_source:
            _record_questions(context, wire, origins)


def _record_questions(context: MigrationContext, wire: str, origins: Sequence[EntryOrigin]) -> None:
    """Record the hooks whose question keeps those after them from denying."""
    for origin in origins[:-1]:
        if may_ask(origin.move):
            context.record_loss(
                "weaker",
                origin.handler.place,
                f"{origin.handler.label}: asking the user",
                f"after a question on {wire} {context.target.title} runs no other hook, also "
                "none that would deny",
                "put the hooks that deny before it",
                str(Outcome.DENY),
            )


def _ending_outcomes(agent: AgentSpec, event: str) -> frozenset[Outcome]:
    """Return the verdicts after which no other hook of an event runs."""
    if agent.documented.sequence_scope != "always":
        return frozenset()
    return agent.by_canonical[event].ending_outcomes or frozenset()
