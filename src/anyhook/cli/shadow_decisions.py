"""What shadows would have decided: hooks that ran and did not decide."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.cli.output import console, count_of, make_table
from anyhook.cli.past import open_store
from anyhook.engine.hook_files import files_of
from anyhook.errors import HistoryError
from anyhook.history.events import RecordedResult
from anyhook.history.ingest import ingest
from anyhook.history.journal import history_directory, is_recording
from anyhook.history.record import version_record
from anyhook.history.store import FILE
from anyhook.manage.hooks import configured_handlers
from anyhook.model.text import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.history.store import History
    from anyhook.model.definitions import HandlerSpec

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """What a shadow would have decided on an event.

    Attributes:
        time: Unix timestamp.
        session: Identifier of the session.
        event: Canonical name of the event.
        tool: Canonical name of the tool.
        outcome: The verdict; `stop` or `change` if it has none but an effect; `failed` or
            `timed_out` if it did not answer.
        reason: Its reason, or why it failed.
    """

    time: float
    session: str
    event: str
    tool: str | None
    outcome: str
    reason: str


@dataclass(slots=True)
class ShadowDecisions:
    """What shadows would have decided: counts, and some of each decision.

    Attributes:
        counts: Decision to number of events.
        sessions: Identifiers of the sessions.
        examples: Decision to its newest examples, the newest first.
    """

    counts: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    examples: dict[str, list[ShadowDecision]] = field(default_factory=dict)

    def add(self, decision: ShadowDecision, limit: int) -> None:
        """Count a decision, and keep it if there are fewer than `limit` examples like it."""
        self.counts[decision.outcome] += 1
        self.sessions.add(decision.session)
        examples = self.examples.setdefault(decision.outcome, [])
        if len(examples) < limit:
            examples.append(decision)


def shadow_decisions(
    engine: Engine, handlers: list[HandlerSpec], limit: int = EXAMPLES
) -> ShadowDecisions:
    """Return what the hooks would have decided.

    A shadow may have run on millions of events: only examples are kept.

    Args:
        engine: The hooks of the agent.
        handlers: The shadows.
        limit: Examples of each decision.
    """
    decisions = ShadowDecisions()
    if not (Path(history_directory()) / FILE).exists() and not is_recording(history_directory()):
        return decisions
    labels = {handler.label for handler in handlers}
    files = _files_of(engine, handlers)
    ids = {id(handler) for handler in handlers}
    others = [
        handler
        for handler in configured_handlers(engine)
        if handler.label in labels and id(handler) not in ids
    ]
    other_files = _files_of(engine, others) - files
    try:
        with open_store() as history:
            ingest(history)
            digests = _digests_of(history, engine, others) - _digests_of(history, engine, handlers)
            places = [", ".join("?" * len(one)) for one in (labels, files, other_files, digests)]
            rows = history.connection.execute(
                "SELECT time, session, event, tool, results.outcome, status, answer, error"  # noqa: S608 - only marks
                " FROM results JOIN hooks ON hooks.id = hook_id"
                " JOIN events ON events.id = results.event_id"
                " JOIN sessions ON sessions.id = session_id"
                f" WHERE shadow AND agent = ? AND (label IN ({places[0]}) OR file IN ({places[1]}))"
                # Two hooks may have the same label: `grep` and `grep#2`.
                f" AND ifnull(file, '') NOT IN ({places[2]})"
                f" AND ifnull(digest, '') NOT IN ({places[3]})"
                " ORDER BY time DESC",
                (engine.agent.name, *labels, *files, *other_files, *digests),
            )
            for row in rows:
                decisions.add(_decision(*row), limit)
    except HistoryError as error:
        console(stderr=True).print(str(error), style="yellow", markup=False)
        return ShadowDecisions()
    return decisions


def _files_of(engine: Engine, handlers: Iterable[HandlerSpec]) -> set[str]:
    files: set[str] = set()
    for handler in handlers:
        files.update([str(file) for file in files_of(engine, handler)])
    return files


def _digests_of(history: History, engine: Engine, handlers: Iterable[HandlerSpec]) -> set[str]:
    """Return the content hashes under which the present versions of commands are recorded."""
    digests: set[str] = set()
    for handler in handlers:
        command = handler.command or shlex.join(handler.argv or ())
        names = [str(file) for file in files_of(engine, handler)]
        version = version_record(command, names[0] if names else None)
        digest = history.digest_of(RecordedResult(handler.label, version=version))
        if digest is not None:
            digests.add(digest)
    return digests


def _decision(*row: Any) -> ShadowDecision:
    time, session, event, tool, outcome, status, answer, error = row
    value = json.loads(answer) if answer else {}
    if outcome == "none" and value.get("stop"):
        outcome = "stop"
    elif outcome == "none" and set(value) - {"outcome", "blame"}:
        outcome = "change"  # as in every view of events (`anyhook.history.describe.verdict_of`)
    elif outcome == "none" and status in ("failed", "timed_out"):
        outcome = status
    reason = value.get("reason") or value.get("stop_reason") or error or ""
    return ShadowDecision(time, session, event, tool, outcome, str(reason))


def print_decisions(out: Console, name: str, decisions: ShadowDecisions) -> None:
    """Print what a shadow would have decided, with some examples of each decision."""
    if not decisions.counts:
        out.print(
            f"Nothing is recorded of what {printable(name)!r} would have decided", markup=False
        )
        return
    events = count_of(decisions.counts.total(), "event")
    where = f"{events} of {count_of(len(decisions.sessions), 'session')}"
    out.print(f"In {where}, {printable(name)!r} would have decided:", markup=False)
    table = make_table("decision", "events", "session", "event", "reason")
    has_more = False
    for outcome, count in decisions.counts.most_common():
        shown = decisions.examples[outcome]
        has_more = has_more or (outcome != "none" and count > len(shown))
        if outcome == "none" or not shown:
            table.add_row(printable(outcome), f"{count:,}", "", "", "")
            continue
        for number, one in enumerate(shown):
            is_first = number == 0
            table.add_row(
                printable(outcome) if is_first else "",
                f"{count:,}" if is_first else "",
                printable(one.session[:8]),
                printable(f"{one.event} {one.tool or ''}".strip()),
                shorten(one.reason),
            )
    out.print(table)
    if has_more:
        command = printable(shlex.join(("anyhook", "history", "search", "--hook", name)))
        has_examples = any(decisions.examples.values())
        text = "The newest of each decision. " if has_examples else ""
        out.print(f"{text}All events: {command}", style="dim", markup=False)


def decisions_json(decisions: ShadowDecisions) -> dict[str, Any]:
    """Return the counts and the examples for `--json`."""
    shown: list[dict[str, Any]] = []
    for examples in decisions.examples.values():
        shown += [asdict(one) for one in examples]
    counts = decisions.counts
    return {"events": counts.total(), "counts": dict(counts), "examples": shown}
