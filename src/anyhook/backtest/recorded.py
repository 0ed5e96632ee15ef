"""The decisions that were made when the events happened, as a baseline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.backtest.hook_file import shown_text
from anyhook.backtest.results import Decided, Result

if TYPE_CHECKING:
    from anyhook.backtest.sources import Selection
    from anyhook.history.store import History


def recorded_result(history: History, selection: Selection, after: Result) -> Result:
    """Return the recorded decisions on the events of a selection.

    Args:
        history: The store.
        selection: The events.
        after: The result that will be compared; both count the same events.
    """
    condition, values = selection.condition()
    rows = history.connection.execute(
        "SELECT events.id, agent || '/' || session, event, tool, payload, decision,"
        " (SELECT group_concat(label, char(10)) FROM results JOIN hooks ON hooks.id = hook_id"
        "  WHERE results.event_id = events.id AND answer IS NOT NULL) FROM events"
        " JOIN sessions ON sessions.id = session_id JOIN bodies ON bodies.event_id = events.id"
        f" WHERE {condition} AND decision IS NOT NULL AND decision <> '{{}}' ORDER BY events.id",
        values,
    )
    result = Result(after.events, after.sessions)
    for number, session, event, tool, payload, decision, labels in rows:
        fields = json.loads(decision)
        fields.pop("blame", None)
        hooks = labels.split("\n") if labels else []
        if fields:
            text = shown_text(json.loads(payload))
            result.add_decided(
                Decided(str(number), session, event, tool, text, fields, tuple(sorted(hooks)))
            )
    return result
