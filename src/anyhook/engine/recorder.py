"""Record the events and decisions of an engine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import encode_event
from anyhook.journal.lines import append, history_directory
from anyhook.journal.records import (
    RECORDED,
    RECORDER_KIND,
    decision_record,
    event_record,
    is_recorder_command,
    result_record,
    source_file,
)
from anyhook.model.json import repair
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event

MAX_FILES = 4096
"""Handlers whose files are remembered."""
_log = logging.getLogger("anyhook")


class Recorder:
    """An observer of engines that records every event and its decision in the user's history.

    What it cannot write is lost, which is logged once a minute at most; the decision is not
    affected.

    Commands may name their files with the variables.
    """

    def __init__(
        self,
        project: Path,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = history_directory()
        self._project = project
        self._variables = dict(variables or {})
        self._files: dict[int, tuple[HandlerSpec, str | None]] = {}
        self._has_failed = False

    def observe_unmatched(self, _agent: AgentSpec, _event: Event) -> bool:
        """Record events on which no hook runs, too."""
        return True

    def observe(self, agent: AgentSpec, event: Event) -> _Recording:
        """Begin to record an event."""
        return _Recording(self, agent, event)

    def record(self, agent: AgentSpec, event: Event, decision: Decision | None) -> None:
        """Append an event with its decision to the journal.

        The decision is `None` if the dispatch was canceled.
        """
        record = event_record(
            agent.name,
            event.name,
            str(event.session_id or ""),
            encode_event(agent, event),
            source="engine",
            project=str(self._project),
        )
        if decision is None:
            record["canceled"] = True
        else:
            record["decision"] = decision_record(decision)
            record["results"] = [self._result(result) for result in decision.results]
        try:
            try:
                append(self.directory, record)
            except (TypeError, ValueError, RecursionError):  # an event of a host is not plain JSON
                append(self.directory, repair(record))
        except OSError as error:
            if not self._has_failed:
                _log.warning("events are not recorded in %s: %s", self.directory, error.strerror)
            self._has_failed = True
        else:
            self._has_failed = False

    def _result(self, result: HandlerResult) -> dict[str, Any]:
        handler = result.handler
        known = self._files.get(id(handler))
        if known is None or known[0] is not handler:
            if len(self._files) >= MAX_FILES:
                self._files.clear()
            # The script that a command runs, or the file of a function.
            file = source_file(handler)
            if file is None and (handler.command or handler.argv):
                variables = {**self._variables, **handler.variables}
                files = named_files(handler, self._project, variables)
                file = str(files[0]) if files else None
            known = self._files[id(handler)] = (handler, file)
        record = result_record(result, known[1])
        if handler.command is not None and is_recorder_command(handler.command):
            record["kind"] = RECORDER_KIND
        return record


class _Recording:
    """The recording of one event."""

    def __init__(self, recorder: Recorder, agent: AgentSpec, event: Event) -> None:
        self._recorder = recorder
        self._agent = agent
        self._event = event

    @property
    def variables(self) -> Mapping[str, str]:
        """Keep hook files that run as commands from recording the same event again."""
        return {RECORDED: "1"}

    def finish(self, decision: Decision | None) -> None:
        """Record the event."""
        self._recorder.record(self._agent, self._event, decision)
