"""Which events of the history are wanted: by words, properties, hooks, projects and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.history.text import mark, query_of
from anyhook.model.status import NO_ANSWER_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

HAS_FAILED = (
    "(status IN ('failed', 'timed_out') OR status = 'warned'"
    f" AND (signal IS NOT NULL OR exit_code IN {tuple(sorted(NO_ANSWER_CODES))}))"
)
"""Condition on a result: the hook failed, timed out, could not be started or was ended."""
HAS_ANSWER = "(answer IS NOT NULL AND NOT shadow)"
"""Condition on a result: the hook has answered something that counted."""
NO_RESULT = "0"
"""Condition that no result meets."""
_STOPS = "ifnull(json_extract(answer, '$.stop'), 0)"
_ANSWERED = {
    **{
        outcome: f"(results.outcome = '{outcome}' AND NOT shadow)"
        for outcome in ("deny", "ask", "allow", "defer")
    },
    "stop": f"(results.outcome = 'none' AND {HAS_ANSWER} AND {_STOPS})",
    "change": f"(results.outcome = 'none' AND {HAS_ANSWER} AND NOT {_STOPS})",
    "none": "(results.outcome = 'none' AND answer IS NULL)",
}
"""Verdict to the condition on the result of a hook."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events are wanted; an empty field means all.

    Attributes:
        text: Words that must occur; words in quotation marks in that order.
        agent: Name of the agent.
        event: Canonical name of the event.
        tool: Canonical name of the tool.
        outcome: `deny`, `ask`, `allow`, `defer`, `stop`, `change` (an answer without a verdict) or
            `none`. With a hook, that is what this hook answered.
        hook: Label of a hook that ran.
        session: Identifier of the session.
        project: Directory of the project, or one above it.
        failed: Whether a hook failed or timed out; with a hook, whether this one did.
        since: Unix timestamp of the first event.
        until: Unix timestamp after the last event.
    """

    text: str = ""
    agent: str = ""
    event: str = ""
    tool: str = ""
    outcome: str = ""
    hook: str = ""
    session: str = ""
    since: float = 0.0
    until: float = 0.0
    project: str = ""
    failed: bool = False

    def index_query(self) -> str:
        """Return the query to the full-text index; empty if it is not needed."""
        words = [query_of(self.text)] if self.text else []
        for kind in ("agent", "event", "tool", "hook", "session"):
            value = getattr(self, kind)
            if value:
                words.append(f"marks:{mark(kind, value)}")
        # An event is denied if one of its hooks denies; a hook may allow what another one denies.
        if self.outcome == "deny" or (self.outcome and not self.hook):
            in_index = "none" if self.outcome == "change" else self.outcome
            words.append(f"marks:{mark('outcome', in_index)}")
        return " AND ".join(word for word in words if word)

    def conditions(self, number: str, after: int, before: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield the conditions that the index has no words for, each with its values.

        Args:
            number: Name of the column with the number of an event.
            after: Number before the first event.
            before: Number after the last event; 0 for no limit.
        """
        about_results: list[str] = []
        if self.failed:
            about_results.append(HAS_FAILED)
        if self.hook and self.outcome:
            about_results.append(_ANSWERED.get(self.outcome, NO_RESULT))
        elif self.outcome == "change":
            about_results.append(HAS_ANSWER)
        for condition in about_results:
            if self.hook:
                results = (
                    "SELECT 1 FROM results JOIN hooks ON hooks.id = hook_id"
                    f" WHERE event_id = {number} AND label = ? AND {condition}"
                )
                yield f"EXISTS ({results})", [self.hook]
            else:
                # Few results are failures or changes, so they are read first. With the plus sign,
                # the events still come in the order of their numbers.
                bounds = "event_id > ? AND event_id < ?" if before else "event_id > ?"
                results = f"SELECT event_id FROM results WHERE {bounds} AND {condition}"
                yield f"+{number} IN ({results})", [after, before] if before else [after]
        if self.outcome == "none" and not self.hook:
            # The index has the same word for a change.
            results = f"SELECT 1 FROM results WHERE event_id = {number} AND {HAS_ANSWER}"
            yield f"NOT EXISTS ({results})", []
        if self.project:
            yield in_project(self.project)


def in_project(directory: str) -> tuple[str, list[str]]:
    """Return the condition on sessions of a project, or of those below a directory."""
    below = directory.rstrip("/") + "/"
    # A range, because a name may hold the wildcards of LIKE.
    return "(project = ? OR project >= ? AND project < ?)", [directory, below, f"{below}\U0010ffff"]
