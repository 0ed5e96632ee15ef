"""`anyhook worker bench`: what the hooks of the settings cost."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.options import HERE, AgentName, AsJson, Project, TrustOnce
from anyhook.cli.output import console, print_json
from anyhook.cli.render import make_table, print_note, progress
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.sync import SyncEngine
from anyhook.errors import UsageError
from anyhook.history.hooks import percentile
from anyhook.journal.records import is_recorder_command
from anyhook.manage.hooks import reaching_fields
from anyhook.manage.scope import scope_of
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.status import Status
from anyhook.model.text import printable
from anyhook.settings.detect import trust_command
from anyhook.testing import make_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.model.decisions import HandlerResult
    from anyhook.model.events import Event

UNCOUNTED_CALLS = 5
"""Calls of each event that are not counted: the first one of a warm hook starts its worker."""
TOOL_CALL = ("before_tool", "after_tool")
"""Events that every call of a tool has."""
MS = 1000.0


@dataclass(slots=True)
class HookCost:
    """What a hook cost on an event."""

    agent: str
    event: str
    hook: str
    seconds: list[float] = field(default_factory=list)
    """The duration of each call that it answered."""
    failures: Counter[str] = field(default_factory=Counter)
    """How it failed, to how often."""

    def take(self, result: HandlerResult) -> None:
        """Count a call."""
        if result.status is Status.SKIPPED:  # a hook before it has denied the event
            return
        if result.status in (Status.RAN, Status.WARNED):
            self.seconds.append(result.duration)
        if result.status is not Status.RAN:
            self.failures[result.error or result.exit_text or str(result.status)] += 1

    def quantile(self, percent: int) -> float | None:
        """Return the milliseconds that a share of the calls did not exceed."""
        seconds = percentile(self.seconds, percent / 100)
        return None if seconds is None else seconds * MS

    def to_json(self) -> dict[str, Any]:
        """Return the cost for programs."""
        figures = {"p50_ms": self.quantile(50), "p95_ms": self.quantile(95)}
        return {"name": self.hook, "agent": self.agent, "event": self.event, **figures}


@dataclass(frozen=True, slots=True)
class Workload:
    """The events that reach the hooks of one agent, and what their hooks cost.

    Attributes:
        engine: The hooks.
        events: The events, each with its canonical name.
        costs: The event and the identity of each hook that is measured, to its cost.
        left_out: Why other hooks are not measured, without the recorder.
        waits: The name of an event to the seconds that the agent waits for all of its hooks.
    """

    engine: Engine
    events: list[tuple[str, Event]] = field(default_factory=list)
    costs: dict[tuple[str, object], HookCost] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    waits: dict[str, list[float]] = field(default_factory=dict)

    def add(self, definition: HookDefinition, handler: HandlerSpec) -> None:
        """Find an event that reaches a hook."""
        engine = self.engine
        agent = engine.agent
        spec = agent.by_canonical[definition.event]
        key = definition.event, handler.identity
        if key in self.costs:  # several files have the same hook
            return
        switch = engine.hooks.switched_off(handler)
        reason = ""
        if switch is not None:
            reason = f"is switched off by {switch}"
        elif handler.background:
            reason = "runs in the background"
        elif engine.guard.withhold(handler, str(engine.project_dir)) is not None:
            reason = f"is not trusted: {trust_command(agent.name, engine.project_dir)}"
        fields = None if reason else reaching_fields(engine, definition, handler)
        if fields is None:
            # `anyhook history record on` adds it to every event.
            if is_recorder_command(handler.command or ""):
                return
            reason = reason or "is reached by no event"
            self.left_out.append(f"{agent.title}, {spec.wire}: {handler.label} {reason}")
            return
        cwd = str(engine.project_dir)
        event = make_event(spec.canonical, agent=agent.name, cwd=cwd, **fields)
        self.costs[key] = HookCost(agent.name, spec.wire, handler.label)
        if (definition.event, event) not in self.events:
            self.events.append((definition.event, event))

    def call(self, sync: SyncEngine, name: str, event: Event, *, is_counted: bool) -> None:
        """Dispatch an event once."""
        results = sync.dispatch(event).results
        if not is_counted:
            return
        ends = [result.started + result.duration for result in results]
        self.waits.setdefault(name, []).append(max(ends, default=0.0))
        for result in results:
            cost = self.costs.get((name, result.handler.identity))
            if cost is not None:
                cost.take(result)

    def tool_call(self) -> float:
        """Return the milliseconds that a tool call waits for hooks, by the median."""
        waits = [self.waits[name] for name in TOOL_CALL if name in self.waits]
        return sum(map(statistics.median, waits)) * MS


def bench(
    project: Project = HERE,
    rounds: Annotated[
        int, typer.Option("-n", min=1, max=100_000, help="Calls that are counted.")
    ] = 30,
    agent: AgentName = None,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Measure what your hooks cost.

    The hooks of the settings are called with an event that reaches them, as the agent calls them:
    they really run. The first calls, which start warm workers, are not counted. Exits with 1 if a
    hook fails. Whether a hook runs warm: `anyhook worker doctor`.

    For example:

        anyhook worker bench
        anyhook worker bench --project ~/code/app --agent claude --trust-once
    """
    scope = scope_of(project, agent)
    directory = scope.project
    workloads: list[Workload] = []
    for name in scope.agents:
        engine = Engine.load(directory, agent=name, trust_once=trust_once, on_message=discard)
        workload = Workload(engine)
        for definition, handler in each_handler(engine.definitions):
            workload.add(definition, handler)
        workloads.append(workload)
    left_out: list[str] = []
    costs: list[HookCost] = []
    for workload in workloads:
        left_out += workload.left_out
        costs += workload.costs.values()
    if not costs:
        _print_left_out(left_out, is_error=True)
        raise UsageError(f"no hook of {directory} can be measured; see: anyhook list")
    _measure(workloads, rounds)
    problems = []
    for cost in costs:
        for how, count in cost.failures.items():
            problems.append(f"{cost.event} {cost.hook}: {how} in {count} calls")
    # Milliseconds that a call of a tool waits, by agent.
    waits: dict[str, float] = {}
    for workload in workloads:
        wait = workload.tool_call()
        if wait:
            waits[workload.engine.agent.name] = wait
    if as_json:
        report = {
            "hooks": [cost.to_json() for cost in costs],
            "tool_call_ms": waits,
            "problems": problems,
            "not_measured": left_out,
        }
        print_json(report)
    else:
        _print_costs(costs, waits, problems)
        _print_left_out(left_out, is_error=False)
    return PROBLEMS if problems else OK


def _measure(workloads: Sequence[Workload], rounds: int) -> None:
    calls = UNCOUNTED_CALLS + rounds
    total = calls * sum(len(workload.events) for workload in workloads)
    with progress("calling hooks", total) as bar:
        for workload in workloads:
            with SyncEngine(workload.engine) as sync:
                for number in range(calls):
                    for name, event in workload.events:
                        is_counted = number >= UNCOUNTED_CALLS
                        workload.call(sync, name, event, is_counted=is_counted)
                        bar.advance()


def _print_costs(
    costs: Sequence[HookCost], waits: Mapping[str, float], problems: Sequence[str]
) -> None:
    out = console()
    headings = ("agent", "event", "hook", "p50", "p95")
    table = make_table(*headings, no_wrap=headings[:2], right=headings[3:])
    for cost in costs:
        row = [Text(cost.agent), Text(cost.event), Text(printable(cost.hook))]
        for percent in (50, 95):
            milliseconds = cost.quantile(percent)
            cell = "-" if milliseconds is None else f"{milliseconds:.1f} ms"
            row.append(Text(cell))
        table.add_row(*row)
    out.print(table)
    for problem in problems:
        print_note(out, "!", problem)
    for name, wait in waits.items():
        title = get_agent(name).title
        out.print(f"{title}: a tool call waits {wait:.1f} ms for hooks.", soft_wrap=True)


def _print_left_out(left_out: Sequence[str], *, is_error: bool) -> None:
    for text in left_out:
        print_note(console(stderr=is_error), "not measured:", text, "dim")
