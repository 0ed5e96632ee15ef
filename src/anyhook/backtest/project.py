"""The hooks of a project as the subject of a backtest: an engine in a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.translate import decode_any_form, translate_event
from anyhook.backtest.results import Crash, Result, bucket_of
from anyhook.backtest.sources import crash_text
from anyhook.backtest.subjects import OUT_OF_TIME, BacktestSubject, Failure, Opinion, failure_text
from anyhook.engine.engine import Engine
from anyhook.engine.sync import SyncEngine
from anyhook.history.verdicts import CRASH, verdict_of
from anyhook.journal.records import answer_record, is_recorder_command
from anyhook.model.definitions import handlers_of, unique_labels
from anyhook.model.record import replace
from anyhook.model.status import Status, trouble_of
from anyhook.settings.detect import agents_with_hooks, choose_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.backtest.sources import EventRow
    from anyhook.model.decisions import HandlerResult


def load_project(
    subject: BacktestSubject, project: Path, *, rules: str = "documented", warm: bool = True
) -> LoadedProject:
    """Load the engine of a project without the recorder of `anyhook history record`.

    The recorder answers nothing and would be counted as a hook of the user.
    """
    engine = Engine.load(
        project,
        agent=subject.agent or None,
        rules=rules,
        trust_once=subject.trusted,
        on_message=lambda _text: None,
        warm=warm,
    )
    hooks = engine.hooks
    engine.hooks = hooks.only(lambda _, handler: not is_recorder_command(handler.command or ""))
    return LoadedProject(engine, has_recorder=engine.hooks.files != hooks.files)


def find_engine(
    subject: BacktestSubject, project: Path, preferred_agent: str = ""
) -> LoadedProject:
    """Load the hooks of the one agent that has some in a project.

    The hooks of `preferred_agent` count if it has some there, whatever others have.

    Raises:
        UsageError: If several others have hooks.
    """
    settings = agents_with_hooks(project)
    loaded = {
        entry.agent: load_project(replace(subject, agent=entry.agent), project)
        for entry in settings
    }
    usable = tuple(entry for entry in settings if loaded[entry.agent].engine.definitions)
    if preferred_agent in [entry.agent for entry in usable]:
        return loaded[preferred_agent]
    if not usable:
        with_recorder = [entry for entry in loaded.values() if entry.has_recorder]
        return with_recorder[0] if with_recorder else load_project(subject, project)
    return loaded[choose_agent(usable, None).agent]


class LoadedProject(NamedTuple):
    """The hooks of a project."""

    engine: Engine
    has_recorder: bool


class ProjectHooks:
    """The hooks of a project's settings, run on recorded events in a sandbox.

    Commands get the recorded events of every agent in the form of the project's agent. `limit` is
    how many seconds an event may take: commands have timeouts of their own, so the process is
    killed.

    Raises:
        UsageError: If the project has no hooks of one agent.
    """

    def __init__(self, subject: BacktestSubject, limit: float) -> None:
        self.limit = limit
        self._engine = SyncEngine(load_project(subject, Path(subject.path)).engine)
        definitions = self._engine.engine.definitions
        self._labels = unique_labels(handlers_of(definitions))
        self.events = frozenset(definition.event for definition in definitions)

    def may_decide(self, row: EventRow) -> bool:
        """Return whether a hook is defined for the event."""
        return row.event in self.events

    def evaluate(self, row: EventRow, payload: Mapping[str, Any], result: Result) -> Opinion:
        """Decide a recorded event, and count what comes out."""
        source, target = get_agent(row.agent), self._engine.engine.agent
        event, _ = decode_any_form(source, payload)
        if source.name != target.name:
            event = translate_event(event, source, target)
        decision = self._engine.dispatch(event)
        hooks: list[str] = []
        first_crash = ""
        waits: list[float] = []
        for run in decision.results:
            label = self._labels.get(id(run.handler), run.handler.label)
            tally = result.tally(label)
            tally.matched += 1
            tally.durations[bucket_of(run.duration)] += 1
            answer = answer_record(run.answer)
            crash = crash_of(run)
            first_crash = first_crash or crash
            if run.status is Status.TIMED_OUT:
                tally.timed_out += 1
                waits.append(run.duration)
            elif crash:
                tally.crashed += 1
                result.add_crash(Crash(label, crash))
            tally.outcomes[verdict_of(answer, has_failed=bool(crash))] += 1
            if answer or crash:
                hooks.append(label)
        if waits:
            result.add_timeouts(1, max(waits))
        return Opinion(answer_record(decision), tuple(hooks), first_crash)

    def fail(
        self, row: EventRow, _payload: Mapping[str, Any], failure: Failure, result: Result
    ) -> Opinion:
        """Count a recorded event on which the process ended, or `--timeout` was reached.

        Which hook it was is not known.
        """
        labels = list(dict.fromkeys(self._labels.values()))
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
        problem = failure_text(row, label, failure.problem)
        return Opinion({}, (label,), failure.problem, problem)

    def has_changed(self) -> bool:
        """Return true: an engine remembers variables of its session, and what runs only once."""
        return True

    def reads(self) -> frozenset[str]:
        """Return nothing: what commands read is not seen."""
        return frozenset()


def crash_of(result: HandlerResult) -> str:
    """Return why a hook failed, timed out or could not be started; empty if it did not."""
    trouble = trouble_of(result.status, result.exit_code, result.signal)
    if trouble == Status.TIMED_OUT:
        return OUT_OF_TIME
    if trouble != Status.FAILED:
        return ""
    if result.signal:
        return f"ended by {result.signal}"
    if result.status is Status.FAILED:
        return crash_text(result.error or "failed")
    first = crash_text(result.stderr)
    problem = f"exit code {result.exit_code}"
    return f"{problem}: {first}" if first else problem
