"""`anyhook bench`: what hooks cost an agent, cold and warm."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.candidates import (
    COLD,
    FLOOR,
    TOOL_CALL,
    WARM,
    WRITTEN,
    Candidate,
    floors,
    of_file,
    of_project,
)
from anyhook.cli.options import AsJson, existing_project
from anyhook.cli.output import console, print_json
from anyhook.cli.timing import Samples, cold_since, in_turns, warm_up
from anyhook.errors import UsageError
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.worker.commands import native_client
from anyhook.worker.control import find_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

    Row = tuple[Candidate, Samples]

EXPECTED = (0, 2)
"""Exit codes of a hook that did what it is for: 2 denies."""
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
STYLES = {FLOOR: "dim", COLD: "yellow", WRITTEN: "yellow", WARM: "green"}
BLOCKS = " ▁▂▃▄▅▆▇█"
NARROW, WIDE = 20, 48
"""Columns of a picture."""
BESIDE = 72
"""Columns of what stands beside it."""
STEPS = (1, 2, 5)
"""What the marks of an axis begin with."""
MS = 1000.0


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
    calls: Annotated[
        int, typer.Option("--session-calls", min=1, help="Calls of tools in a session.")
    ] = 200,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent that sends the events.")
    ] = None,
    trust_once: Annotated[
        bool, typer.Option("--trust-once", help="Run the project's hooks without asking.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Measure what hooks cost an agent, from their start until they have ended.

    A hook file is called with an event as an agent sends it: cold, with an interpreter of its own,
    and warm, through the worker; beside them stands what no hook can be faster than. Without a file
    the commands of the project's settings are called as they are written there, and really run.
    The calls take turns. Exits with 1 if a hook fails.

    For example:

        anyhook bench .anyhook/guard.py
        anyhook bench .anyhook/guard.py -n 200 --event PreToolUse --json
        anyhook bench --project ~/code/app --trust-once
    """
    here = existing_project(project or Path())
    agents = (get_agent(agent).name,) if agent else CODING_AGENTS
    left: list[str] = []
    if file is not None:
        candidates = of_file(file, agent or _agent_of(here), event, here)
    else:
        candidates, left = of_project(here, agents, event, trust_once=trust_once)
    if not candidates:
        _tell_left(console(stderr=True), left)
        raise UsageError(
            f"no command of the settings of {here} can be measured; name a hook file, or see: "
            "anyhook list"
        )
    candidates = [*floors(candidates[0].command), *candidates]
    begun = time.time()
    cold = _warmed(candidates)
    warm = [one for one in candidates if id(one) not in cold]
    with _progress(len(warm) * rounds) as on_call:
        samples = in_turns([one.command for one in warm], rounds, on_call)
    rows = list(zip(warm, samples, strict=True))
    problems = [*_problems(rows, begun), *(f"{_title(c)}: {why}" for c, why in cold.values())]
    sessions = list(_sessions(rows))
    if as_json:
        print_json(
            {
                "calls_of_each": rounds,
                "client": "native" if native_client() else "interpreter",
                "rows": [_json(*row) for row in rows],
                "session": {"calls": calls, "agents": [_in_session(s, calls) for s in sessions]},
                "problems": problems,
                "not_measured": left,
            }
        )
    else:
        _show(console(), rows, sessions, calls, problems)
        _tell_left(console(), left)
    return PROBLEMS if any(_failures(*row) for row in rows) else OK


def _agent_of(project: Path) -> str | None:
    """Return the one agent that has hooks in the project; `None` if none or several have."""
    candidates = detected(agents_with_hooks(project))
    return candidates[0].agent if len(candidates) == 1 else None


def _warmed(candidates: Iterable[Candidate]) -> dict[int, tuple[Candidate, str]]:
    """Let workers load the hook files. Returns what stays cold, and why, by identity."""
    wanted = [one for one in candidates if one.kind == WARM]
    with console(stderr=True).status("warming up"):
        found = {id(one): (one, _why_cold(one)) for one in wanted}
    return {key: (one, why) for key, (one, why) in found.items() if why}


def _why_cold(one: Candidate) -> str:
    if not one.worker:
        return "its interpreter is not found"
    return warm_up(one.command, one.worker)


@contextmanager
def _progress(calls: int) -> Iterator[Callable[[], None]]:
    from rich.progress import Progress

    out = console(stderr=True)
    # standard output is the result and must not pass through the display
    with Progress(
        console=out,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not out.is_terminal,
    ) as bar:
        task = bar.add_task("calling hooks", total=calls)
        yield lambda: bar.advance(task)


# -- what it comes to


def _failures(one: Candidate, samples: Samples) -> str:
    """Say how a hook failed; empty if it did not."""
    if samples.problem:
        return samples.problem
    bad = {code: count for code, count in samples.codes.items() if code not in EXPECTED}
    if one.kind == FLOOR or not bad:
        return ""
    failures = (
        f"{f'with exit code {code}' if code >= 0 else f'by signal {-code}'} in {count} of "
        f"{samples.codes.total()} calls"
        for code, count in sorted(bad.items())
    )
    return f"failed {', '.join(failures)}"


def _problems(rows: Sequence[Row], begun: float) -> Iterator[str]:
    """Say what went wrong, and which calls that should have been warm were not."""
    for one, samples in rows:
        if failed := _failures(one, samples):
            yield f"{_title(one)}: {failed}"
        if one.kind == WARM:
            status = find_server(one.worker).status
            reasons = cold_since(status, begun) if status else []
            for reason in dict.fromkeys(reasons):
                yield f"{_title(one)}: ran cold {reasons.count(reason)} times: {reason}"


def _title(one: Candidate) -> str:
    return f"{one.wire} {one.name}, {one.kind}".strip()


class _Session:
    """What hooks cost for each call of a tool; those of one event run at once.

    Attributes:
        agent: Name of the agent.
        is_of_tools: Whether they are hooks of tool calls; else each counts once for a call.
        seconds: Seconds for each call, `cold` and `warm`.
    """

    def __init__(self, agent: str, rows: Sequence[Row]) -> None:
        self.agent = agent
        of_tools = [row for row in rows if row[0].event in TOOL_CALL]
        self.is_of_tools = bool(of_tools)
        self.seconds = {
            COLD: _sum_of_slowest(of_tools or rows, (COLD, WRITTEN, WARM)),
            WARM: _sum_of_slowest(of_tools or rows, (WARM, WRITTEN, COLD)),
        }
        self.has_warm = any(one.kind == WARM for one, _ in of_tools or rows)


def _sum_of_slowest(rows: Sequence[Row], kinds: tuple[str, ...]) -> float:
    """Add up the slowest hook of each event; of each hook the first way that there is."""
    ways: dict[tuple[str, str], dict[str, float]] = {}
    for one, samples in rows:
        ways.setdefault((one.event, one.file or one.name), {})[one.kind] = samples.mean
    slowest: dict[str, float] = {}
    for (event, _), means in ways.items():
        mean = next(means[kind] for kind in kinds if kind in means)
        slowest[event] = max(mean, slowest.get(event, 0.0))
    return sum(slowest.values())


def _sessions(rows: Sequence[Row]) -> Iterator[_Session]:
    measured = [row for row in rows if row[0].agent and row[1].seconds]
    for agent in dict.fromkeys(one.agent for one, _ in measured):
        yield _Session(agent, [row for row in measured if row[0].agent == agent])


def _in_session(session: _Session, calls: int) -> dict[str, Any]:
    warm = session.seconds[WARM] * calls if session.has_warm else None
    return {
        "agent": session.agent,
        "of_tool_calls": session.is_of_tools,
        "cold_seconds": session.seconds[COLD] * calls,
        "warm_seconds": warm,
    }


def _json(one: Candidate, samples: Samples) -> dict[str, Any]:
    has = bool(samples.seconds)
    return {
        "kind": one.kind,
        "name": one.name,
        "agent": one.agent or None,
        "event": one.wire or None,
        "command": list(one.command.argv),
        "as_written": one.is_written,
        "mean_ms": samples.mean * MS if has else None,
        **{name: samples.quantile(q) * MS if has else None for name, q in _QUANTILES_MS.items()},
        "exit_codes": {str(code): count for code, count in samples.codes.items()},
        "problem": _failures(one, samples) or None,
        "samples_ms": [seconds * MS for seconds in samples.seconds],
    }


_QUANTILES_MS = {f"{name}_ms": share for name, share in QUANTILES.items()}


# -- what is shown


def _show(
    out: Console, rows: Sequence[Row], sessions: Sequence[_Session], calls: int, problems: list[str]
) -> None:
    shown = [(one, samples) for one, samples in rows if samples.seconds]
    every = [seconds * MS for _, samples in shown for seconds in samples.seconds]
    if every:
        axis = Axis(min(every), max(every), max(NARROW, min(WIDE, out.width - BESIDE)))
        out.print(_table(shown, axis))
    for problem in problems:
        out.print(Text.assemble(("! ", "yellow"), printable(problem)), soft_wrap=True)
    for session in sessions:
        out.print(_sentence(session, calls), soft_wrap=True)


def _table(rows: Sequence[Row], axis: Axis) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("hook", overflow="fold")
    table.add_column("how", no_wrap=True)
    for name in QUANTILES:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("milliseconds, logarithmic", no_wrap=True)
    before = ""
    for one, samples in rows:
        name = printable(f"{one.wire} {one.name}".strip())
        how = f"{one.kind}{' *' if one.is_written and one.kind != WRITTEN else ''}"
        cells = (f"{samples.quantile(share) * MS:.2f}" for share in QUANTILES.values())
        picture = Text(axis.picture([s * MS for s in samples.seconds]), style=STYLES[one.kind])
        table.add_row("" if name == before else Text(name), how, *cells, picture)
        before = name
    table.add_row("", "", "", "", "", Text(axis.marks(), style="dim"))
    if any(one.is_written and one.kind != WRITTEN for one, _ in rows):
        table.caption = "* as the settings have it"
        table.caption_justify = "left"
    return table


def _sentence(session: _Session, calls: int) -> Text:
    """Say what a session costs."""
    cost = _in_session(session, calls)
    what = "tool calls" if session.is_of_tools else "such events"
    title = get_agent(session.agent).title
    if not session.has_warm:
        return Text(f"{title}: a session of {calls} {what} pays {cost['cold_seconds']:.2f} s.")
    return Text(
        f"{title}: a session of {calls} {what} pays {cost['cold_seconds']:.2f} s cold, "
        f"{cost['warm_seconds']:.2f} s warm."
    )


def _tell_left(out: Console, left: Sequence[str]) -> None:
    for text in left:
        out.print(Text.assemble(("not measured  ", "dim"), printable(text)), soft_wrap=True)


class Axis:
    """A logarithmic axis that pictures share.

    Args:
        low: The least value; more than 0.
        high: The greatest value.
        width: Columns.
    """

    def __init__(self, low: float, high: float, width: int) -> None:
        self._low = math.log(low)
        self._span = max(math.log(high) - self._low, math.log(2))
        self._width = width

    def column(self, value: float) -> int:
        """Return the column of a value."""
        share = (math.log(value) - self._low) / self._span
        return min(self._width - 1, max(0, int(share * self._width)))

    def picture(self, values: Sequence[float]) -> str:
        """Draw how values are distributed; the fullest column is the highest."""
        counts = [0] * self._width
        for value in values:
            counts[self.column(value)] += 1
        top = max(counts)
        return "".join(BLOCKS[math.ceil(count / top * (len(BLOCKS) - 1))] for count in counts)

    def marks(self) -> str:
        """Write round numbers below their columns, as many as there is room for."""
        line = ""
        low, high = self._low / math.log(10), (self._low + self._span) / math.log(10)
        for power in range(math.floor(low), math.ceil(high) + 1):
            for step in STEPS:
                value = step * 10.0**power
                at = self.column(value)
                is_inside = self._low <= math.log(value) <= self._low + self._span
                text = f"{value:g}"
                if is_inside and len(line) <= at and at + len(text) <= self._width:
                    line = f"{line:<{at}}{text} "
        return line.rstrip()
