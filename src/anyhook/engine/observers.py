"""Observers of an engine: recording and tracing.

An observer sees every event and its decision, and changes neither. What it raises is reported as a
problem of the engine and never reaches the host or a hook.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from anyhook.model.diagnostics import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

_log = logging.getLogger("anyhook")
OWN_SESSIONS = "anyhook-"
"""Beginning of the name of the session of events that have none. Nothing ends it."""


class EventObservation(Protocol):
    """The observation of one event, from its dispatch to its decision."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables for the commands that run on the event."""
        ...

    def finish(self, decision: Decision | None) -> None:
        """Take the decision; `None` if the dispatch was canceled or raised."""
        ...


class Observer(Protocol):
    """Observes the events of an engine. It is called on the event loop, so it must be quick."""

    def observe_unmatched(self, agent: AgentSpec, event: Event) -> bool:
        """Take note of an event on which no hook runs.

        Most events of a session are such events, so this must take microseconds.

        Args:
            agent: The agent whose hooks decide.
            event: The event as it was dispatched, which may lack its time and directory.

        Returns:
            Whether to call `observe`, too, with the completed event.
        """
        ...

    def observe(self, agent: AgentSpec, event: Event) -> EventObservation | None:
        """Begin to observe an event.

        Args:
            agent: The agent whose hooks decide.
            event: The event with its time, directory and vocabulary set; not to be changed.

        Returns:
            The observation; `None` if the observer takes no interest in the event.
        """
        ...


@runtime_checkable
class SessionObserver(Protocol):
    """An observer that keeps something open from one event of a session to the next."""

    def close_sessions(self, agent: AgentSpec) -> None:
        """End the open sessions of an agent, whose engine was closed. Must not block."""
        ...


def report_closed(observers: Iterable[Observer], agent: AgentSpec) -> None:
    """Report to observers that their engine was closed."""
    for observer in observers:
        if not isinstance(observer, SessionObserver):
            continue
        try:
            observer.close_sessions(agent)
        except Exception as error:  # noqa: BLE001 - an observer must not keep a host from closing
            _log.warning("%s", _report(observer, error).message)


def observers_of_unmatched(
    observers: Iterable[Observer], agent: AgentSpec, event: Event
) -> tuple[list[Observer], tuple[Diagnostic, ...]]:
    """Return the observers that observe an event on which no hook runs, and their problems."""
    interested: list[Observer] = []
    problems: tuple[Diagnostic, ...] = ()
    for observer in observers:
        try:
            if observer.observe_unmatched(agent, event):
                interested.append(observer)
        except Exception as error:  # noqa: BLE001 - an observer must not cost a host its decision
            problems = (*problems, _report(observer, error))
    return interested, problems


class Observations:
    """The observations of one event by all observers."""

    def __init__(self, observers: Iterable[Observer], agent: AgentSpec, event: Event) -> None:
        self.problems: list[Diagnostic] = []
        self.variables: dict[str, str] = {}
        self._observations: list[EventObservation] = []
        for observer in observers:
            try:
                observation = observer.observe(agent, event)
                if observation is not None:
                    self._observations.append(observation)
                    self.variables |= observation.variables
            except Exception as error:  # noqa: BLE001 - an observer must not cost a host its decision
                self.problems.append(_report(observer, error))

    def finish(self, decision: Decision | None) -> None:
        """Hand the decision to all observers, the last one that began first."""
        for observation in reversed(self._observations):
            try:
                observation.finish(decision)
            except Exception as error:  # noqa: BLE001 - an observer must not cost a host its decision
                self.problems.append(_report(observation, error))


def _report(source: object, error: Exception) -> Diagnostic:
    name, kind = type(source).__name__, type(error).__name__
    text = f"{name} failed ({kind}: {error}); the event was decided without it"
    return diagnose("observer-failed", text, subject=f"{name}: {kind}")
