"""What a hook file records of the event that it has answered, if the user has switched that on.

A hook imports this module after its answer was written, and only if recording is on. So it imports
little.
"""

from __future__ import annotations

import os

from anyhook.journal.lines import append
from anyhook.journal.records import (
    RECORDER,
    RECORDER_KIND,
    answer_record,
    event_record,
    project_directory,
    version_record,
)
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.answers import Answer
    from anyhook.model.events import Event


class FunctionRun(Record):
    """How a hook file has answered an event.

    Attributes:
        hook: Name of the hook.
        file: The hook file; `None` if it is unknown.
        started: Unix timestamp.
        duration: Seconds.
        status: A member of `anyhook.model.status.Status`.
        answer: What its functions have answered.
        exit_code: With which the process ends.
        error: Why it failed.
        shadow: Whether the answer was kept from the agent.
        note: What else happened, for the reader of the history.
    """

    hook: str
    file: str | None
    started: float
    duration: float
    status: str
    answer: Answer
    exit_code: int = 0
    error: str | None = None
    shadow: bool = False
    note: str = ""


def record_hook(
    directory: str, agent: AgentSpec, event: Event, payload: Mapping[str, Any], run: FunctionRun
) -> str | None:
    """Append what a hook file has answered to the journal in the directory of the history.

    Returns why nothing was recorded; `None` if it was.
    """
    record = event_record(
        agent.name,
        event.name,
        str(event.session_id or ""),
        payload,
        source="hook",
        project=project_directory(agent, event.cwd or os.getcwd()),
    )
    answer = answer_record(run.answer)
    record["time"] = run.started
    record["decision"] = {} if run.shadow else answer
    result: dict[str, Any] = {
        "hook": run.hook,
        "kind": RECORDER_KIND if run.hook == RECORDER else "command",
        "status": run.status,
        "duration": round(run.duration, 6),
        "exit_code": run.exit_code,
    }
    optional = {
        "place": run.file,
        "answer": answer,
        "error": run.error,
        "shadow": run.shadow,
        "stderr": run.note,
        "version": version_record("", run.file),
    }
    record["results"] = [result | {name: value for name, value in optional.items() if value}]
    try:
        try:
            is_written = append(directory, record)
        except (TypeError, ValueError, RecursionError):  # the answer is not plain JSON
            from anyhook.model.json import repair

            is_written = append(directory, repair(record))
    except OSError as error:
        return f"the event is not recorded in {directory}: {error.strerror}"
    return None if is_written else "the event is not recorded: the journal of this hour is full"
