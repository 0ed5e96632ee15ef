"""The metrics of events and hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.metrics import Observation

from anyhook.model.status import Status, trouble_of
from anyhook.telemetry import names
from anyhook.telemetry.attributes import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.events import Event
    from anyhook.telemetry.attributes import Attributes
    from anyhook.telemetry.sessions import TracedSessions

NOT_RUN = frozenset({Status.WITHHELD, Status.SKIPPED})
"""Status of hooks that have no duration."""


class Metrics:
    """Counts decisions and failures, and measures durations.

    Args:
        meter: Makes the instruments.
        sessions: The open sessions.
    """

    def __init__(self, meter: Meter, sessions: TracedSessions) -> None:
        self._decisions = _counter(meter, names.DECISIONS)
        self._event_duration = _histogram(meter, names.EVENT_DURATION)
        self._hook_duration = _histogram(meter, names.HOOK_DURATION)
        self._hook_failures = _counter(meter, names.HOOK_FAILURES)
        self._hook_timeouts = _counter(meter, names.HOOK_TIMEOUTS)

        def count_sessions(_options: CallbackOptions) -> Iterable[Observation]:
            # Readers collect once a minute in a thread of their own. So idle sessions end then,
            # also if no further event arrives.
            for title, count in sessions.count().items():
                yield Observation(count, {names.AGENT_NAME: title})

        metric = names.ACTIVE_SESSIONS
        meter.create_observable_up_down_counter(
            metric.name, [count_sessions], unit=metric.unit, description=metric.text
        )

    def record_event(
        self, agent: AgentSpec, event: Event, decision: Decision | None, duration: float
    ) -> None:
        """Record an event and its hooks.

        Args:
            agent: The agent.
            event: The event.
            decision: The decision; `None` if there is none.
            duration: Seconds.
        """
        common = {names.AGENT_NAME: agent.title, names.EVENT: event.name}
        if decision is None:
            self._event_duration.record(duration, {**common, names.ERROR_TYPE: names.CANCELED})
            return
        self._event_duration.record(duration, common)
        verdict: Attributes = {**common, names.OUTCOME: str(decision.outcome)}
        if decision.stop:
            verdict[names.STOP] = True
        self._decisions.add(1, verdict)
        for result in decision.results:
            self._record_hook(common, result)

    def _record_hook(self, common: dict[str, str], result: HandlerResult) -> None:
        if result.status in NOT_RUN:
            return
        # Several hooks may have one name: `bash`, with other arguments.
        place = clean(result.handler.place, limit=4096)
        hook = {
            **common,
            names.HOOK_NAME: clean(result.handler.label),
            names.HOOK_PLACE: place,
        }
        status = str(result.status)
        self._hook_duration.record(result.duration, {**hook, names.HOOK_STATUS: status})
        trouble = trouble_of(result.status, result.exit_code, result.signal)
        if trouble == Status.TIMED_OUT:
            self._hook_timeouts.add(1, hook)
        elif trouble:
            self._hook_failures.add(1, {**hook, names.ERROR_TYPE: trouble})


def _counter(meter: Meter, metric: names.Metric) -> Counter:
    return meter.create_counter(metric.name, unit=metric.unit, description=metric.text)


def _histogram(meter: Meter, metric: names.Metric) -> Histogram:
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.text,
        explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
    )
