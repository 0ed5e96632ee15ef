"""`anyhook bench`: what hooks cost an agent, cold and warm."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
from anyhook.cli.colors import CAUTION, GOOD
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, print_json
from anyhook.cli.render import progress
from anyhook.cli.timing import Samples, cold_since, in_turns, warm_up
from anyhook.errors import UsageError
from anyhook.manage.scope import existing_project
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.worker.commands import native_client
from anyhook.worker.control import find_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

EXPECTED = (0, 2)
"""Exit codes of a hook that did what it is for: 2 denies."""
QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
STYLES = {FLOOR: "dim", COLD: CAUTION, WRITTEN: CAUTION, WARM: GOOD}
BLOCKS = " ▁▂▃▄▅▆▇█"
MIN_PICTURE_WIDTH, MAX_PICTURE_WIDTH = 20, 48
OTHER_COLUMNS = 72
"""Characters of a line next to the picture."""
STEPS = (1, 2, 5)
"""First digits of the marks of an axis."""
MS = 1000.0


class Row(NamedTuple):
    """What is measured, and how long its calls took."""

    candidate: Candidate
    samples: Samples


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
    directory = existing_project(project or Path())
    left_out: list[str] = []
    if file is not None:
        candidates = of_file(file, agent or _agent_of(directory), event, directory)
    else:
        agents = (get_agent(agent).name,) if agent else CODING_AGENTS
        candidates, left_out = of_project(directory, agents, event, trust_once=trust_once)
    if not candidates:
        _print_left_out(console(stderr=True), left_out)
        raise UsageError(
            f"no command of the settings of {directory} can be measured; name a hook file, or see: "
            "anyhook list"
        )
    begun = time.time()
    with console(stderr=True).status("warming up"):
        warmed = _warm_up(candidates)
    measured = [*floors(candidates[0].command), *warmed.candidates]
    with progress("calling hooks", len(measured) * rounds) as bar:
        samples = in_turns([candidate.command for candidate in measured], rounds, bar.advance)
    rows = [Row(*pair) for pair in zip(measured, samples, strict=True)]
    problems = [*_problems(rows, begun), *warmed.problems]
    sessions = list(_sessions(rows))
    if as_json:
        print_json(
            {
                "calls_of_each": rounds,
                "client": "native" if native_client() else "interpreter",
                "rows": [_row_json(*row) for row in rows],
                "session": {
                    "calls": calls,
                    "agents": [session.cost(calls) for session in sessions],
                },
                "problems": problems,
                "not_measured": left_out,
            }
        )
    else:
        _print_report(console(), rows, sessions, calls, problems)
        _print_left_out(console(), left_out)
    return PROBLEMS if any(_failures(*row) for row in rows) else OK


def _agent_of(project: Path) -> str | None:
    """Return the one agent that has hooks in the project; `None` if none or several have."""
    candidates = detected(agents_with_hooks(project))
    if len(candidates) != 1:
        return None
    return candidates[0].agent


@dataclass(frozen=True, slots=True)
class _Warmed:
    """What can be measured after worker processes have loaded the hook files.

    Attributes:
        candidates: What can be measured.
        problems: Which hooks stay cold, and why.
    """

    candidates: list[Candidate]
    problems: list[str]


def _warm_up(candidates: Sequence[Candidate]) -> _Warmed:
    warmed = _Warmed([], [])
    for candidate in candidates:
        reason = _why_cold(candidate) if candidate.kind == WARM else ""
        if reason:
            warmed.problems.append(f"{_title(candidate)}: {reason}")
        else:
            warmed.candidates.append(candidate)
    return warmed


def _why_cold(candidate: Candidate) -> str:
    """Let a worker load a hook file. Returns why it stays cold; empty if it is warm."""
    if not candidate.worker:
        return "its interpreter is not found"
    return warm_up(candidate.command, candidate.worker)


# -- the figures


def _failures(candidate: Candidate, samples: Samples) -> str:
    """Return how a hook failed; empty if it did not."""
    if samples.problem or candidate.kind == FLOOR:
        return samples.problem
    failures: list[str] = []
    for code, count in sorted(samples.codes.items()):
        if code in EXPECTED:
            continue
        end = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        failures.append(f"{end} in {count} of {samples.codes.total()} calls")
    if not failures:
        return ""
    return f"failed {', '.join(failures)}"


def _problems(rows: Sequence[Row], begun: float) -> Iterator[str]:
    """Yield what went wrong, and which calls that should have been warm were not."""
    for candidate, samples in rows:
        failures = _failures(candidate, samples)
        if failures:
            yield f"{_title(candidate)}: {failures}"
        if candidate.kind != WARM:
            continue
        status = find_server(candidate.worker).status
        if status is None:
            continue
        for reason, count in Counter(cold_since(status, begun)).items():
            yield f"{_title(candidate)}: ran cold {count} times: {reason}"


def _title(candidate: Candidate) -> str:
    return f"{candidate.wire} {candidate.name}, {candidate.kind}".strip()


class _Session:
    """What hooks cost for each call of a tool; those of one event run at once.

    Attributes:
        agent: Name of the agent.
        is_of_tools: Whether they are hooks of tool calls; else each counts once for a call.
        seconds: Seconds for each call, `cold` and `warm`.
        has_warm: Whether a hook was measured warm.
    """

    def __init__(self, agent: str, rows: Sequence[Row]) -> None:
        self.agent = agent
        tool_rows = [row for row in rows if row.candidate.event in TOOL_CALL]
        self.is_of_tools = bool(tool_rows)
        rows = tool_rows or rows
        self.seconds = {
            COLD: _sum_of_slowest(rows, (COLD, WRITTEN, WARM)),
            WARM: _sum_of_slowest(rows, (WARM, WRITTEN, COLD)),
        }
        self.has_warm = any(row.candidate.kind == WARM for row in rows)

    def cost(self, calls: int) -> dict[str, Any]:
        """Return what a number of calls cost, for programs."""
        warm = self.seconds[WARM] * calls if self.has_warm else None
        return {
            "agent": self.agent,
            "of_tool_calls": self.is_of_tools,
            "cold_seconds": self.seconds[COLD] * calls,
            "warm_seconds": warm,
        }


def _sum_of_slowest(rows: Sequence[Row], kinds: tuple[str, ...]) -> float:
    """Add up the slowest hook of each event; of each hook, the first kind that was measured."""
    means_of: dict[tuple[str, str], dict[str, float]] = {}
    for candidate, samples in rows:
        hook = candidate.event, candidate.file or candidate.name
        means_of.setdefault(hook, {})[candidate.kind] = samples.mean
    slowest: dict[str, float] = {}
    for (event, _), means in means_of.items():
        measured = [means[kind] for kind in kinds if kind in means]
        slowest[event] = max(measured[0], slowest.get(event, 0.0))
    return sum(slowest.values())


def _sessions(rows: Sequence[Row]) -> Iterator[_Session]:
    rows_of: dict[str, list[Row]] = {}
    for candidate, samples in rows:
        if candidate.agent and samples.seconds:
            rows_of.setdefault(candidate.agent, []).append(Row(candidate, samples))
    for agent, agent_rows in rows_of.items():
        yield _Session(agent, agent_rows)


def _row_json(candidate: Candidate, samples: Samples) -> dict[str, Any]:
    figures: dict[str, float | None] = dict.fromkeys(("mean_ms", *QUANTILES))
    if samples.seconds:
        figures["mean_ms"] = samples.mean * MS
        for name, share in QUANTILES.items():
            figures[name] = samples.quantile(share) * MS
    return {
        "kind": candidate.kind,
        "name": candidate.name,
        "agent": candidate.agent or None,
        "event": candidate.wire or None,
        "command": list(candidate.command.argv),
        "as_written": candidate.is_written,
        **figures,
        "exit_codes": {str(code): count for code, count in samples.codes.items()},
        "problem": _failures(candidate, samples) or None,
        "samples_ms": samples.milliseconds,
    }


# -- the report for people


def _print_report(
    out: Console, rows: Sequence[Row], sessions: Sequence[_Session], calls: int, problems: list[str]
) -> None:
    rows = [row for row in rows if row.samples.seconds]
    if rows:
        out.print(_table(rows, _shared_axis(rows, out.width - OTHER_COLUMNS)))
    for problem in problems:
        out.print(Text.assemble(("! ", CAUTION), printable(problem)), soft_wrap=True)
    for session in sessions:
        out.print(_sentence(session, calls), soft_wrap=True)


def _shared_axis(rows: Sequence[Row], free_width: int) -> Axis:
    """Return the axis for the samples of all rows."""
    low = min(min(row.samples.milliseconds) for row in rows)
    high = max(max(row.samples.milliseconds) for row in rows)
    width = min(MAX_PICTURE_WIDTH, max(MIN_PICTURE_WIDTH, free_width))
    return Axis(low, high, width)


def _table(rows: Sequence[Row], axis: Axis) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("hook", overflow="fold")
    table.add_column("how", no_wrap=True)
    for name in QUANTILES:
        table.add_column(name.removesuffix("_ms"), justify="right", no_wrap=True)
    table.add_column("milliseconds, logarithmic", no_wrap=True)
    has_mark = False
    name_above = ""
    for candidate, samples in rows:
        name = printable(f"{candidate.wire} {candidate.name}".strip())
        kind = candidate.kind
        if candidate.is_written and kind != WRITTEN:
            kind += " *"
            has_mark = True
        figures = [f"{samples.quantile(share) * MS:.2f}" for share in QUANTILES.values()]
        picture = Text(axis.picture(samples.milliseconds), style=STYLES[candidate.kind])
        table.add_row("" if name == name_above else Text(name), kind, *figures, picture)
        name_above = name
    table.add_row("", "", "", "", "", Text(axis.marks(), style="dim"))
    if has_mark:
        table.caption = "* as the settings have it"
        table.caption_justify = "left"
    return table


def _sentence(session: _Session, calls: int) -> Text:
    """Return what a session costs, for people."""
    cost = session.cost(calls)
    events = "tool calls" if session.is_of_tools else "such events"
    pays = f"{cost['cold_seconds']:.2f} s"
    if session.has_warm:
        pays += f" cold, {cost['warm_seconds']:.2f} s warm"
    title = get_agent(session.agent).title
    return Text(f"{title}: a session of {calls} {events} pays {pays}.")


def _print_left_out(out: Console, left_out: Sequence[str]) -> None:
    for text in left_out:
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
        # Rounded up, so that a single value among thousands is visible.
        top = max(counts)
        heights = [math.ceil(count / top * (len(BLOCKS) - 1)) for count in counts]
        return "".join(BLOCKS[height] for height in heights)

    def marks(self) -> str:
        """Return round numbers below their columns, as many as there is room for."""
        line = ""
        high = self._low + self._span
        powers = range(math.floor(self._low / math.log(10)), math.ceil(high / math.log(10)) + 1)
        for power in powers:
            for step in STEPS:
                value = step * 10.0**power
                column = self.column(value)
                text = f"{value:g}"
                has_room = len(line) <= column and column + len(text) <= self._width
                if has_room and self._low <= math.log(value) <= high:
                    line = f"{line:<{column}}{text} "
        return line.rstrip()
