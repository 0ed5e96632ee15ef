"""The metrics of events and hooks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation

from anyhook.model.status import Status, trouble_of
from anyhook.telemetry import names
from anyhook.telemetry.attributes import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.telemetry.attributes import Attributes
    from anyhook.telemetry.sessions import TracedSessions

DecisionKey = tuple[str, str, str, bool]
"""The agent's title, the event, the outcome, and whether a hook ends the agent."""
NOT_RUN = frozenset({Status.WITHHELD, Status.SKIPPED})
"""Status of hooks that have no duration."""


class Metrics:
    """Counts decisions and failures, and measures durations."""

    def __init__(self, meter: Meter, sessions: TracedSessions) -> None:
        # A counter of the SDK takes 10 µs, and most decisions are on events without hooks.
        self._decisions: dict[DecisionKey, int] = {}
        self._lock = threading.Lock()
        self._event_duration = _histogram(meter, names.EVENT_DURATION)
        self._hook_duration = _histogram(meter, names.HOOK_DURATION)
        self._hook_failures = _counter(meter, names.HOOK_FAILURES)
        self._hook_timeouts = _counter(meter, names.HOOK_TIMEOUTS)

        def count_sessions(_options: CallbackOptions) -> Iterable[Observation]:
            # Readers collect once a minute in a thread of their own. So idle sessions end then,
            # also if no further event arrives.
            for title, count in sessions.count().items():
                yield Observation(count, {names.AGENT_NAME: title})

        def count_decisions(_options: CallbackOptions) -> Iterable[Observation]:
            with self._lock:
                decisions = dict(self._decisions)
            for (title, event, outcome, is_stop), count in decisions.items():
                attributes: Attributes = {
                    names.AGENT_NAME: title,
                    names.EVENT: event,
                    names.OUTCOME: outcome,
                }
                if is_stop:
                    attributes[names.STOP] = True
                yield Observation(count, attributes)

        metric = names.DECISIONS
        meter.create_observable_counter(
            metric.name, [count_decisions], unit=metric.unit, description=metric.text
        )
        metric = names.ACTIVE_SESSIONS
        meter.create_observable_up_down_counter(
            metric.name, [count_sessions], unit=metric.unit, description=metric.text
        )

    def record_event(
        self, agent: AgentSpec, event: Event, decision: Decision | None, duration: float
    ) -> None:
        """Record an event, which took some seconds, and its hooks."""
        common = {names.AGENT_NAME: agent.title, names.EVENT: event.name}
        if decision is None:
            self._event_duration.record(duration, {**common, names.ERROR_TYPE: names.CANCELED})
            return
        self._event_duration.record(duration, common)
        self._count((agent.title, event.name, str(decision.outcome), decision.stop))
        for result in decision.results:
            if result.status in NOT_RUN:
                continue
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

    def count_unmatched(self, agent: AgentSpec, event: Event) -> None:
        """Count the decision on an event on which no hook runs."""
        self._count((agent.title, event.name, "none", False))

    def _count(self, key: DecisionKey) -> None:
        with self._lock:
            self._decisions[key] = self._decisions.get(key, 0) + 1


def _counter(meter: Meter, metric: names.Metric) -> Counter:
    return meter.create_counter(metric.name, unit=metric.unit, description=metric.text)


def _histogram(meter: Meter, metric: names.Metric) -> Histogram:
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.text,
        explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
    )
