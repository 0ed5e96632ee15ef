"""A hook file as the subject of a backtest: its functions are called in this process."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.degrade import EVENT_FIELDS, UnsupportedError, fit
from anyhook.authoring.functions import (
    call_function,
    describe_crash,
    drop_wrong_fields,
    to_answer,
)
from anyhook.authoring.load import load_hooks
from anyhook.backtest.example_secrets import remove_examples
from anyhook.backtest.read_files import ReadFiles
from anyhook.backtest.results import CRASH, Crash, Decided, Result, bucket_of, outcome_of
from anyhook.history.record import answer_record
from anyhook.history.redact import redact_json, redact_start
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.text import shorten
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
        self._reads = ReadFiles(str(Path(path).resolve().parent))
        with self._reads:
            self._hooks = load_hooks(path)
        self.events = frozenset(function.event for function in self._hooks.functions)
        self._by_label = {function.name: function for function in self._hooks.functions}
        self._agents: dict[str, AgentSpec] = {}
        self._covered: dict[tuple[str, str | None], bool] = {}

    def labels(self) -> list[str]:
        """Return the names of the functions."""
        return list(self._by_label)

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result."""
        if not self._may_cover(row.event, row.tool):
            return
        payload = row.read_payload()
        run = self._run(row, payload)
        _count(run.calls, result)
        if run.answer is NO_OPINION and not run.crash:
            return
        decision = self._decision_of(run)
        if not decision and not run.crash:
            return

        def decide(rest: Mapping[str, Any]) -> Mapping[str, Any]:
            again = self._run(row, rest)
            return decision if again.has_decision_of(run) else self._decision_of(again)

        made_up = dependencies(row, payload, decision, decide)
        decided = decided_of(
            row, payload, decision, run.labels, reconstructed=made_up, crash=run.crash
        )
        result.add_decided(decided)

    def _may_cover(self, event: str, tool: str | None) -> bool:
        """Return whether a function may cover the events of a tool, before they are parsed."""
        known = self._covered.get((event, tool))
        if known is None:
            functions = [f for f in self._hooks.functions if f.event == event]
            known = any(_may_cover(function, tool) for function in functions)
            self._covered[event, tool] = known
        return known

    def read_files(self) -> Mapping[str, str] | None:
        """Return the files that the hook file has read, as `ReadFiles.digests`."""
        return self._reads.digests()

    def _run(self, row: EventRow, payload: Mapping[str, Any]) -> _Run:
        """Call the functions that cover an event."""
        agent = self._agent(row.agent).form_of(payload)
        event, _ = decode_event(agent, payload)
        calls: list[_Call] = []

        def call(function: HookFunction, copied: Any) -> Answer:
            started = time.perf_counter()
            answer, error = _call(function, copied)
            seconds = time.perf_counter() - started
            if error is not None:
                problem = describe_crash(function, f"failed ({type(error).__name__})")
                answer = self._answer_crash(agent, event, problem)
            crash = "" if error is None else describe_error(error, function.file)
            calls.append(_Call(function.name, seconds, crash, answer))
            return answer

        with self._reads:
            answer = self._hooks.decide(event, agent, call)
        return _Run(agent, event, answer, calls)

    def _decision_of(self, run: _Run) -> dict[str, Any]:
        """Return what the agent makes of an answer."""
        if run.answer is NO_OPINION:
            return {}
        agent, event = run.agent, run.event
        must_refuse = self._hooks.unsupported == "refuse"
        try:
            fitted, _ = fit(agent, event, run.answer, refuse=must_refuse)
        except UnsupportedError as error:
            last = self._by_label.get(run.labels[-1])
            problem = describe_crash(last, f"is refused: {error}")
            fitted, _ = fit(agent, event, self._answer_crash(agent, event, problem))
        return answer_record(fitted)

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


class _Call(NamedTuple):
    """A call of a function.

    Attributes:
        label: Name of the function.
        seconds: How long it took.
        crash: What it raised; empty if it did not.
        answer: Its answer, or what the file answers for a crash.
    """

    label: str
    seconds: float
    crash: str
    answer: Answer


class _Run(NamedTuple):
    """The functions were called with a payload.

    Attributes:
        agent: The agent.
        event: The event of the payload.
        answer: The answer of all functions.
        calls: The calls, in order.
    """

    agent: AgentSpec
    event: Event
    answer: Answer
    calls: list[_Call]

    @property
    def labels(self) -> list[str]:
        """The names of the functions with an opinion."""
        return [call.label for call in self.calls if call.answer is not NO_OPINION]

    @property
    def crash(self) -> str:
        """The error of the first function that failed; empty if none did."""
        return next((call.crash for call in self.calls if call.crash), "")

    def has_decision_of(self, other: _Run) -> bool:
        """Return whether the decision is that of another run, as far as that is known at once."""
        if vars(self.answer) != vars(other.answer) or self.labels != other.labels:
            return False
        if self.agent is not other.agent or type(self.event) is not type(other.event):
            return False
        mine, theirs = self.event.__dict__, other.event.__dict__
        return all(mine.get(name) == theirs.get(name) for name in EVENT_FIELDS)


def _count(calls: Iterable[_Call], result: Result) -> None:
    """Add calls to the results of their functions."""
    for call in calls:
        tally = result.tally(call.label)
        tally.matched += 1
        tally.durations[bucket_of(call.seconds)] += 1
        verdict = "none" if call.answer is NO_OPINION else _verdict_of(call.answer)
        if call.crash:
            tally.crashed += 1
            result.add_crash(Crash(call.label, call.crash))
            verdict = CRASH if verdict in ("none", "change") else verdict
        tally.outcomes[verdict] += 1


def _call(function: HookFunction, event: Any) -> tuple[Answer, BaseException | None]:
    """Call a function, and return its answer and what it raised."""
    try:
        answer = to_answer(function, call_function(function, event))
        return answer if answer is NO_OPINION else drop_wrong_fields(answer)[0], None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an exit is a crash too
        return NO_OPINION, error


def describe_error(error: BaseException, file: str) -> str:
    """Return an exception with its text and its line, without secrets.

    Args:
        error: The exception.
        file: The hook file. The last line of it that was run is named, or that of another file if
            none of it was.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the code of a hook
        text = ""
    name = type(error).__name__
    message = f"{name}: {text}" if text else name
    return f"{crash_text(message)}{_line_of(error, file)}"


def crash_text(message: str) -> str:
    """Return the first line of a message about a crash, without secrets and not too long."""
    first = message.strip().partition("\n")[0]
    redacted: str = json.loads(_redact_decision(json.dumps(first)))
    return shorten(redacted)


def _line_of(error: BaseException, file: str) -> str:
    """Return the last line of a hook file that was run, else of any file: ` (guard.py:7)`."""
    last, last_own = "", ""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        last = f" ({Path(name).name}:{traceback.tb_lineno})"
        if name == file:
            last_own = last
        traceback = traceback.tb_next
    return last_own or last


def dependencies(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    decide: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return the members of a payload on which a decision depends and that were not recorded.

    The event is decided again without all of them, and if that changes the decision, without each
    one. A decision depends on `secrets` if it is another one for the payload as it is stored, with
    placeholders for secrets.

    Args:
        row: The recorded event.
        payload: Its payload.
        decision: Its decision.
        decide: Decides another payload of the event.
    """
    found: list[str] = []
    if row.redacted and decide(row.read_stored_payload()) != decision:
        found.append("secrets")
    names = [name for name in (row.reconstructed or "").split(",") if name in payload]
    if len(names) > 1 and decide(_without(payload, names)) == decision:
        return tuple(found)
    found += [name for name in names if decide(_without(payload, [name])) != decision]
    return tuple(found)


def _without(payload: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    rest = dict(payload)
    for name in names:
        del rest[name]
    return rest


def decided_of(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    hooks: Iterable[str],
    *,
    reconstructed: tuple[str, ...],
    crash: str,
) -> Decided:
    """Return what is kept of a decision: it holds no secrets.

    Args:
        row: The recorded event.
        payload: Its payload.
        decision: Its decision.
        hooks: Labels of the hooks with an opinion.
        reconstructed: The members that it depends on and that were not recorded.
        crash: The error of the first hook that failed, without secrets.
    """
    text = longest_text(row.read_stored_payload() if row.redacted else payload)
    if not row.is_redacted:
        text = redact_start(text, LONGEST_TEXT)
    if row.redacted or not row.is_redacted:
        decision = _without_secrets(decision)
    text = text[:LONGEST_TEXT]
    return Decided(
        row.ref,
        row.session,
        row.event,
        row.tool,
        text,
        decision,
        tuple(hooks),
        reconstructed,
        crash,
    )


def _without_secrets(decision: Mapping[str, Any]) -> Mapping[str, Any]:
    text = json.dumps(decision, default=str)
    redacted = _redact_decision(text)
    if redacted == text:
        return decision
    found: dict[str, Any] = json.loads(redacted)
    return found


@lru_cache(maxsize=1024)  # most decisions of a hook are equal
def _redact_decision(text: str) -> str:
    return redact_json(remove_examples(text))[0]


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
