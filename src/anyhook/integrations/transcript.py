"""The transcript of a session: one JSON object per line."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.events import Event

log = logging.getLogger("anyhook.integrations")


class Transcript:
    """Appends lines to a file; a file that cannot be written ends the transcript, not the session.

    Args:
        path: The file; `None` for no transcript.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = Path(path) if path else None

    def write(self, kind: str, session_id: str, **fields: Any) -> None:
        """Append a line."""
        if self.path is None:
            return
        record = {"type": kind, "session_id": session_id, **fields}
        line = json.dumps(record, ensure_ascii=False, default=str)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            log.warning("the transcript cannot be written: %s", error)
            self.path = None

    def write_hook_runs(self, event: Event, decision: Decision, session_id: str) -> None:
        """Append the runs of an event's hooks, except those that suppress their output."""
        runs = [
            _describe_run(result)
            for result in decision.results
            if not result.answer.suppress_output
        ]
        if runs:
            self.write("hooks", session_id, event=event.name, hooks=runs)


def _describe_run(result: HandlerResult) -> dict[str, Any]:
    answer = result.answer
    return {
        "hook": result.handler.label,
        "status": str(result.status),
        "outcome": "stop" if answer.stop else str(answer.outcome),
        "reason": answer.stop_reason or answer.reason or result.error,
    }
