"""The hooks of a project as the subject of a backtest: an engine in copies of project and home."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.translate import decode_any_form, translate_event
from anyhook.backtest.decided import crash_text, decided_of, dependencies
from anyhook.backtest.failures import OUT_OF_TIME, Failure, report_failure
from anyhook.backtest.results import CRASH, Crash, Result, bucket_of, outcome_of
from anyhook.engine.engine import Engine
from anyhook.engine.sync import SyncEngine
from anyhook.files import DATA_VARIABLE
from anyhook.history.record import RECORDED, answer_record
from anyhook.history.recording import is_recorder_command
from anyhook.model.definitions import unique_labels
from anyhook.model.status import NO_ANSWER_CODES, Status
from anyhook.settings.copies import copy_home, copy_project
from anyhook.settings.detect import agents_with_hooks, choose_agent
from anyhook.settings.sources import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.backtest.sources import EventRow
    from anyhook.backtest.subjects import Subject
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.reader import LoadedFile

XDG_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Variables that name directories outside of `HOME`; without them they are inside."""


def load_engine(subject: Subject, project: Path, home: Path | None) -> LoadedProject:
    """Load the engine of a project without the recorder of `anyhook record`.

    The recorder answers nothing and would be counted as a hook of the user.

    Args:
        subject: The project.
        project: Its directory, or a copy of it.
        home: A copy of the user's home; by default the home itself.
    """
    environ = dict(os.environ)
    if home is not None:
        for name in XDG_VARIABLES:
            environ.pop(name, None)
        environ |= {"HOME": str(home), RECORDED: "1", DATA_VARIABLE: str(home / ".anyhook-data")}
    engine = Engine.load(
        project,
        agent=subject.agent or None,
        home=home,
        environ=environ,
        trust_once=subject.trusted,
        on_message=lambda _text: None,
    )
    files = tuple(_without_recorder(file) for file in engine.hooks.files)
    has_recorder = files != engine.hooks.files
    engine.hooks = replace(engine.hooks, files=files)
    return LoadedProject(engine, has_recorder)


def find_engine(subject: Subject, project: Path, preferred_agent: str = "") -> LoadedProject:
    """Load the hooks of the one agent that has some in a project.

    Args:
        subject: The project, without an agent.
        project: Its directory.
        preferred_agent: The agent that counts if it has hooks there, whatever others have.

    Raises:
        UsageError: If several others have hooks.
    """
    settings = agents_with_hooks(project)
    loaded = {
        one.agent: load_engine(replace(subject, agent=one.agent), project, home=None)
        for one in settings
    }
    usable = tuple(one for one in settings if loaded[one.agent].engine.definitions)
    if preferred_agent in [one.agent for one in usable]:
        return loaded[preferred_agent]
    if not usable:
        with_recorder = [one for one in loaded.values() if one.has_recorder]
        return with_recorder[0] if with_recorder else load_engine(subject, project, home=None)
    return loaded[choose_agent(usable, None).agent]


class LoadedProject(NamedTuple):
    """The hooks of a project.

    Attributes:
        engine: The engine.
        has_recorder: Whether the recorder was among the hooks and is left out.
    """

    engine: Engine
    has_recorder: bool


def _is_recorder(handler: HandlerSpec) -> bool:
    return is_recorder_command(handler.command or "")


def _without_recorder(file: LoadedFile) -> LoadedFile:
    definitions: list[HookDefinition] = []
    for definition in file.definitions:
        handlers = tuple(hook for hook in definition.handlers if not _is_recorder(hook))
        if handlers:
            definitions.append(replace(definition, handlers=handlers))
    return replace(file, definitions=tuple(definitions))


class ProjectHooks:
    """The hooks of a project's settings, run on recorded events in a copy.

    Commands get the recorded events of every agent in the form of the project's agent.

    Args:
        subject: The project.

    Raises:
        UsageError: If the project is too large to copy, or has no hooks of one agent.
    """

    def __init__(self, subject: Subject) -> None:
        scratch = tempfile.mkdtemp(prefix="anyhook-backtest-")
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        self._scratch = scratch
        self._project = Path(subject.path).resolve()
        copy, home = Path(scratch, self._project.name), Path(scratch, "home")
        copy_home(Location.of(self._project), home)
        copy_project(self._project, copy)
        self._engine = SyncEngine(load_engine(subject, copy, home).engine)
        self._copy = copy
        self._on_start: Callable[[], object] = lambda: None
        handlers = [
            handler
            for definition in self._engine.engine.definitions
            for handler in definition.handlers
        ]
        self._labels = unique_labels(handlers)
        self.events = frozenset(definition.event for definition in self._engine.engine.definitions)

    def labels(self) -> list[str]:
        """Return the labels of the hooks."""
        return list(dict.fromkeys(self._labels.values()))

    def set_limit(self, seconds: float, on_start: Callable[[], object]) -> float:
        """Return the time limit: commands have timeouts of their own, so the process is killed."""
        self._on_start = on_start
        return seconds

    def close(self) -> None:
        """Remove the copies."""
        self._engine.close()
        self._remove()

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result."""
        payload = row.read_payload()
        self._on_start()
        decided = self._decide(row, payload)
        hooks = self._count(decided, result)
        waits = [run.duration for run in decided.results if run.status is Status.TIMED_OUT]
        if waits:
            result.add_timeouts(1, max(waits))
        decision = self._record(decided)
        crash = _first_crash(decided)
        if not decision and not crash:
            return

        def decide(rest: Mapping[str, Any]) -> Mapping[str, Any]:
            self._on_start()
            return self._record(self._decide(row, rest))

        made_up = dependencies(row, payload, decision, decide)
        found = decided_of(row, payload, decision, hooks, reconstructed=made_up, crash=crash)
        result.add_decided(found)

    def fail(self, row: EventRow, failure: Failure, result: Result) -> None:
        """Count a recorded event on which the process ended, or `--timeout` was reached.

        Which hook it was is not known.
        """
        payload = row.read_payload()
        labels = self.labels()
        label = labels[0] if len(labels) == 1 else f"a hook on {row.event}"
        tally = result.tally(label)
        tally.matched += 1
        tally.outcomes[CRASH] += 1
        if failure.seconds:
            tally.timed_out += 1
            result.add_timeouts(1, failure.seconds)
        else:
            tally.crashed += 1
            result.add_crash(Crash(label, failure.problem))
        report_failure(row, label, failure.problem, result)
        found = decided_of(row, payload, {}, [label], reconstructed=(), crash=failure.problem)
        result.add_decided(found)

    def read_files(self) -> Mapping[str, str] | None:
        """Return no files: what commands read is not seen."""
        return {}

    def _decide(self, row: EventRow, payload: Mapping[str, Any]) -> Decision:
        source, target = get_agent(row.agent), self._engine.engine.agent
        event, _ = decode_any_form(source, payload)
        if source.name != target.name:
            event = translate_event(event, source, target)
        return self._engine.dispatch(event)

    def _count(self, decision: Decision, result: Result) -> list[str]:
        """Add the results of the hooks, and return the labels of those with an opinion."""
        hooks: list[str] = []
        for found in decision.results:
            label = self._labels.get(id(found.handler), found.handler.label)
            tally = result.tally(label)
            tally.matched += 1
            tally.durations[bucket_of(found.duration)] += 1
            answer = answer_record(found.answer)
            crash = _crash_of(found)
            if found.status is Status.TIMED_OUT:
                tally.timed_out += 1
            elif crash:
                tally.crashed += 1
                result.add_crash(Crash(label, crash))
            tally.outcomes[outcome_of(answer, has_crashed=bool(crash))] += 1
            if answer or crash:
                hooks.append(label)
        return hooks

    def _record(self, decision: Decision) -> dict[str, Any]:
        """Return a decision with the paths of the originals."""
        record = answer_record(decision)
        if not record:
            return {}
        text = json.dumps(record, default=str)
        text = text.replace(str(self._copy), str(self._project))
        found: dict[str, Any] = json.loads(text)
        return found


def _first_crash(decision: Decision) -> str:
    """Return the error of the first hook that failed; empty if none did."""
    return next(filter(None, map(_crash_of, decision.results)), "")


def _crash_of(result: HandlerResult) -> str:
    """Return why a hook failed, timed out or could not be started; empty if it did not.

    Exit codes are answers of the hook, but for those of `NO_ANSWER_CODES`.
    """
    if result.status is Status.TIMED_OUT:
        return OUT_OF_TIME
    if result.status is Status.FAILED:
        return crash_text(result.error or "failed")
    if result.signal:
        return f"ended by {result.signal}"
    if result.exit_code in NO_ANSWER_CODES and result.status is not Status.STARTED:
        first = crash_text(result.stderr)
        return f"exit code {result.exit_code}{f': {first}' if first else ''}"
    return ""
