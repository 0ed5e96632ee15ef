"""A hook file as the subject of a backtest: its functions are called in this process."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.degrade import UnsupportedError, fit
from anyhook.authoring.functions import (
    call_function,
    describe_crash,
    drop_wrong_fields,
    to_answer,
)
from anyhook.authoring.load import load_hooks
from anyhook.backtest.results import Decided, Result, bucket_of, outcome_of
from anyhook.history.record import answer_record
from anyhook.history.redact import redact_json, redact_start
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.backtest.sources import EventRow
    from anyhook.model.events import Event

LONGEST_TEXT = 200
"""Characters of an event that are shown in an example."""


class HookFile:
    """The functions of a hook file, called on recorded events.

    Args:
        path: The file.

    Raises:
        UsageError: If it is no hook file, or cannot be imported.
    """

    def __init__(self, path: str) -> None:
        self._hooks = load_hooks(path)
        self.events = frozenset(function.event for function in self._hooks.functions)
        self._labels = {id(f): f.name for f in self._hooks.functions}
        self._by_label = {function.name: function for function in self._hooks.functions}
        self._agents: dict[str, AgentSpec] = {}
        self._covered: dict[tuple[str, str | None], bool] = {}

    def labels(self) -> list[str]:
        """Return the names of the functions."""
        return list(dict.fromkeys(self._labels.values()))

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result."""
        if not self._may_cover(row.event, row.tool):
            return
        payload = row.read_payload()
        answer, hooks = self._answer(row, payload, result)
        if answer is NO_OPINION:
            return
        decision = answer_record(answer)
        if not decision:
            return
        made_up = dependencies(row, payload, decision, lambda rest: self._decide(row, rest))
        result.add_decided(decided_of(row, payload, decision, hooks, made_up))

    def _decide(self, row: EventRow, payload: Mapping[str, Any]) -> dict[str, Any]:
        return answer_record(self._answer(row, payload, Result())[0])

    def _may_cover(self, event: str, tool: str | None) -> bool:
        """Return whether a function may cover the events of a tool, before they are parsed."""
        known = self._covered.get((event, tool))
        if known is None:
            functions = [f for f in self._hooks.functions if f.event == event]
            known = any(_may_cover(function, tool) for function in functions)
            self._covered[event, tool] = known
        return known

    def _answer(
        self, row: EventRow, payload: Mapping[str, Any], result: Result
    ) -> tuple[Answer, list[str]]:
        agent = self._agent(row.agent).form_of(payload)
        event, _ = decode_event(agent, payload)
        hooks: list[str] = []

        def call(function: HookFunction, copied: Any) -> Answer:
            label = self._labels[id(function)]
            tally = result.tally(label)
            started = time.perf_counter()
            answer, error = _call(function, copied)
            tally.durations[bucket_of(time.perf_counter() - started)] += 1
            tally.matched += 1
            if error is not None:
                tally.crashed += 1
                problem = describe_crash(function, f"failed ({type(error).__name__})")
                answer = self._answer_crash(agent, event, problem)
            if answer is NO_OPINION:
                tally.outcomes["none"] += 1
            else:
                tally.outcomes[_verdict_of(answer)] += 1
                hooks.append(label)
            return answer

        answer = self._hooks.decide(event, agent, call)
        if answer is NO_OPINION:
            return answer, hooks
        try:
            must_refuse = self._hooks.unsupported == "refuse"
            return fit(agent, event, answer, refuse=must_refuse)[0], hooks
        except UnsupportedError as error:
            last = self._by_label.get(hooks[-1])
            problem = describe_crash(last, f"is refused: {error}")
            return fit(agent, event, self._answer_crash(agent, event, problem))[0], hooks

    def _agent(self, name: str) -> AgentSpec:
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = get_agent(name)
        return agent

    def _answer_crash(self, agent: AgentSpec, event: Event, problem: str) -> Answer:
        """Return what a hook file answers when a function fails."""
        spec = agent.by_canonical.get(event.name)
        can_deny = spec is not None and spec.can_fail_closed
        return self._hooks.answer_crash(problem, can_deny=can_deny)


def _call(function: HookFunction, event: Any) -> tuple[Answer, BaseException | None]:
    """Call a function, and return its answer and what it raised."""
    try:
        answer = to_answer(function, call_function(function, event))
        return answer if answer is NO_OPINION else drop_wrong_fields(answer)[0], None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an exit is a crash too
        return NO_OPINION, error


def dependencies(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    decide: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return the members of a payload on which a decision depends and that were not recorded.

    Each of them is left out once, and the event is decided again. A decision that quotes a secret
    which was replaced depends on `secrets`.

    Args:
        row: The recorded event.
        payload: Its payload.
        decision: Its decision.
        decide: Decides another payload of the event.
    """
    found = ["secrets"] if row.redacted and "[redacted:" in json.dumps(decision) else []
    for name in (row.reconstructed or "").split(","):
        if name in payload:
            rest = {key: value for key, value in payload.items() if key != name}
            if decide(rest) != decision:
                found.append(name)
    return tuple(found)


def decided_of(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    hooks: Iterable[str],
    reconstructed: tuple[str, ...],
) -> Decided:
    """Return what is kept of a decision: it holds no secrets.

    Args:
        row: The recorded event.
        payload: Its payload.
        decision: Its decision.
        hooks: Labels of the hooks with an opinion.
        reconstructed: The members that it depends on and that were not recorded.
    """
    text = longest_text(payload)
    if not row.is_redacted:
        text = redact_start(text, LONGEST_TEXT)
        decision = _without_secrets(decision)
    text = text[:LONGEST_TEXT]
    return Decided(
        row.ref, row.session, row.event, row.tool, text, decision, tuple(hooks), reconstructed
    )


def _without_secrets(decision: Mapping[str, Any]) -> Mapping[str, Any]:
    text, count = _redact_decision(json.dumps(decision, default=str))
    if not count:
        return decision
    found: dict[str, Any] = json.loads(text)
    return found


# Most decisions of a hook are equal.
_redact_decision = lru_cache(maxsize=1024)(redact_json)


def _verdict_of(answer: Answer) -> str:
    """Return the verdict of an answer that is an opinion (`outcome_of`)."""
    if answer.outcome is not Outcome.NONE:
        return str(answer.outcome)
    return outcome_of(answer_record(answer))


def _may_cover(function: HookFunction, tool: str | None) -> bool:
    """Return whether a function may cover a tool by its canonical name or by an agent's."""
    has_other_names = any(name not in TOOLS for name in function.subjects)
    return tool is None or has_other_names or function.covers([tool])


def shown_text(payload: Mapping[str, Any]) -> str:
    """Return what an event was about, cut for an example."""
    return longest_text(payload)[:LONGEST_TEXT]


def longest_text(payload: Mapping[str, Any]) -> str:
    """Return what an event was about: the longest string of its arguments, else of the rest."""
    for name in ("tool_input", "toolArgs", "prompt", "command"):
        text = _longest_string(payload.get(name))
        if text:
            return text
    return ""


def _longest_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    return max((_longest_string(item) for item in items), key=len, default="")
