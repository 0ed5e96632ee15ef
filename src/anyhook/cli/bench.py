"""`anyhook worker bench`: what each hook costs, cold and warm, and what a session pays."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.hook_calls import TOOL_CALL, MeasuredHook, of_file, of_project
from anyhook.cli.options import AsJson, TrustOnce
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table, print_note, progress
from anyhook.cli.timing import Samples, in_turns, warm_up
from anyhook.errors import UsageError
from anyhook.manage.scope import existing_project
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.worker.control import find_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from anyhook.cli.timing import Command

EXPECTED = (0, 2)
"""Exit codes of a hook that did what it is for: 2 denies."""
SESSION_CALLS = 200
"""Calls of tools in the session whose cost is shown."""
MS = 1000.0


class MeasuredCost:
    """What a hook cost.

    Attributes:
        hook: The hook.
        cold: Its calls with an interpreter of its own, or of a command that is no hook file.
        warm: Its calls through a worker; `None` if it stays cold.
        why_cold: Why it does; empty if it does not, or cannot be warm.
    """

    def __init__(self, hook: MeasuredHook) -> None:
        self.hook = hook
        self.cold = Samples()
        self.warm: Samples | None = None
        self.why_cold = ""
        if hook.warm is not None:
            self.why_cold = warm_up(hook.warm, hook.worker)
            self.warm = None if self.why_cold else Samples()

    def calls(self) -> Iterator[tuple[Command, Samples]]:
        """Yield the commands that are called, each with what takes its times."""
        yield self.hook.cold, self.cold
        if self.hook.warm is not None and self.warm is not None:
            yield self.hook.warm, self.warm

    def failures(self) -> Iterator[str]:
        """Yield how its calls failed."""
        for kind, samples in (("cold", self.cold), ("warm", self.warm)):
            if samples is None:
                continue
            if samples.problem:
                yield f"{self.hook.title}, {kind}: {samples.problem}"
            for code, count in sorted(samples.codes.items()):
                if code not in EXPECTED:
                    end = f"signal {-code}" if code < 0 else f"exit code {code}"
                    calls = f"{count} of {samples.codes.total()} calls"
                    yield f"{self.hook.title}, {kind}: failed with {end} in {calls}"

    def cold_calls(self, begun: float) -> Iterator[str]:
        """Yield why calls that should have been warm were not.

        Args:
            begun: Unix timestamp of the first call.
        """
        if self.why_cold:
            yield f"{self.hook.title} stays cold: {self.why_cold}"
        if self.warm is None:
            return
        status = find_server(self.hook.worker).status or {"cold": []}
        reasons = Counter(str(entry["reason"]) for entry in status["cold"] if entry["at"] >= begun)
        for reason, count in reasons.items():
            yield f"{self.hook.title} ran cold {count} times: {reason}"


def bench(
    file: Annotated[Path | None, typer.Argument(metavar="[HOOK.py]", help="A hook file.")] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project", "-C", help="Project whose hooks are measured, or where the file runs."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("-n", min=1, max=100_000, help="Calls of each.")] = 50,
    event: Annotated[
        str | None, typer.Option("--event", help="The only event; by default all that have hooks.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent that sends the events.")
    ] = None,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Measure what your hooks cost.

    A hook file is called with an event as an agent sends it: cold, with an interpreter of its own,
    and warm, through the worker. Without a file the commands of the project's settings are called,
    and really run. The calls take turns. Exits with 1 if a hook fails.

    For example:

        anyhook worker bench .anyhook/guard.py
        anyhook worker bench .anyhook/guard.py -n 200 --event PreToolUse --json
        anyhook worker bench --project ~/code/app --trust-once
    """
    directory = existing_project(project or Path())
    left_out: list[str] = []
    if file is not None:
        hooks = of_file(file, agent or _agent_of(directory), event, directory)
    else:
        agents = (get_agent(agent).name,) if agent else CODING_AGENTS
        hooks, left_out = of_project(directory, agents, event, trust_once=trust_once)
    if not hooks:
        _print_left_out(console(stderr=True), left_out)
        raise UsageError(
            f"no command of the settings of {directory} can be measured; name a hook file, or see: "
            "anyhook list"
        )
    begun = time.time()
    with progress("warming up", len(hooks)) as bar:
        costs = []
        for hook in hooks:
            costs.append(MeasuredCost(hook))
            bar.advance()
    calls = [call for cost in costs for call in cost.calls()]
    with progress("calling hooks", len(calls) * rounds) as bar:
        in_turns(calls, rounds, bar.advance)
    failures = [text for cost in costs for text in cost.failures()]
    problems = [*failures, *(text for cost in costs for text in cost.cold_calls(begun))]
    sessions = list(_sessions(costs))
    if as_json:
        print_json(
            {
                "calls_of_each": rounds,
                "hooks": [_cost_json(cost) for cost in costs],
                "session": {"calls": SESSION_CALLS, "agents": sessions},
                "problems": problems,
                "not_measured": left_out,
            }
        )
    else:
        _print_report(console(), costs, sessions, problems)
        _print_left_out(console(), left_out)
    return PROBLEMS if failures else OK


def _agent_of(project: Path) -> str | None:
    """Return the one agent that has hooks in the project; `None` if none or several have."""
    agents = detected(agents_with_hooks(project))
    return agents[0].agent if len(agents) == 1 else None


# -- the figures


def _sessions(costs: Sequence[MeasuredCost]) -> Iterator[dict[str, Any]]:
    """Yield what the tool calls of a session cost each agent; hooks of one event run at once."""
    for agent in dict.fromkeys(cost.hook.agent for cost in costs):
        cold = warm = 0.0
        for event in TOOL_CALL:
            of_event = [c for c in costs if (c.hook.agent, c.hook.event) == (agent, event)]
            measured = [cost for cost in of_event if cost.cold.seconds]
            cold += max((cost.cold.mean for cost in measured), default=0.0)
            warm += max(((cost.warm or cost.cold).mean for cost in measured), default=0.0)
        if cold:
            seconds = {"cold_seconds": cold * SESSION_CALLS, "warm_seconds": warm * SESSION_CALLS}
            yield {"agent": agent, **seconds}


def _quantiles(samples: Samples | None) -> dict[str, float] | None:
    if samples is None or not samples.seconds:
        return None
    return {f"p{share}_ms": samples.quantile(share / 100) * MS for share in (50, 95)}


def _cost_json(cost: MeasuredCost) -> dict[str, Any]:
    return {
        **members(cost.hook, "name", "agent"),
        "event": cost.hook.wire,
        "cold": _quantiles(cost.cold),
        "warm": _quantiles(cost.warm),
    }


# -- the report for people


def _print_report(
    out: Console,
    costs: Sequence[MeasuredCost],
    sessions: Sequence[dict[str, Any]],
    problems: Sequence[str],
) -> None:
    table = make_table("event", "hook", "cold p50", "p95", "warm p50", "p95", no_wrap=("event",))
    for column in table.columns[2:]:
        column.justify = "right"
    for cost in costs:
        cells: list[str] = []
        for samples in (cost.cold, cost.warm):
            figures = _quantiles(samples) or {}
            cells += [f"{value:.1f} ms" for value in figures.values()] or ["-", "-"]
        table.add_row(cost.hook.wire, Text(printable(cost.hook.name)), *cells)
    out.print(table)
    for problem in problems:
        print_note(out, "!", problem)
    for session in sessions:
        title = get_agent(session["agent"]).title
        cold, warm = session["cold_seconds"], session["warm_seconds"]
        pays = f"{cold:.2f} s cold, {warm:.2f} s warm" if warm < cold else f"{cold:.2f} s"
        out.print(f"{title}: a session of {SESSION_CALLS} tool calls pays {pays}.", soft_wrap=True)


def _print_left_out(out: Console, left_out: Sequence[str]) -> None:
    for text in left_out:
        print_note(out, "not measured:", text, "dim")
