"""What the examples of a hook file miss: `anyhook test --coverage` and `anyhook test --mutate`."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.syntax import Syntax
from rich.text import Text

from anyhook.backtest.hook_file import digest_of
from anyhook.backtest.run import available_processors
from anyhook.backtest.sources import EventRow, parts_of_history
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import BAD, CAUTION, GOOD, QUIET
from anyhook.cli.event_filters import open_history
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table, progress
from anyhook.errors import MissingLibraryError, UsageError
from anyhook.history.filters import Filter
from anyhook.interrupts import INTERRUPTED
from anyhook.journal.lines import history_directory
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable
from anyhook.redteam.covered import SOURCES, Coverage, cover, read_report
from anyhook.redteam.mutants import OPERATORS, Mutant, mutants_of
from anyhook.redteam.trials import (
    Kept,
    MutantStatus,
    Noticed,
    TrialPlan,
    TriedMutant,
    example_of,
    plan_trials,
    result_key,
    try_mutants,
)
from anyhook.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from anyhook.testing.cases import Case


WORDS = {"examples": "examples", "cases": "cases", "history": "past events"}
MAX_EVENTS = 5000
"""Events of the history that are tried: the latest."""


def cover_hook_file(
    file: Path,
    agents: Sequence[str],
    cases: Sequence[Case],
    *,
    with_history: bool,
    as_json: bool,
) -> int:
    """Show which lines and rules of a hook file decide anything.

    The agents are those for examples that name none. Returns the exit code.

    Raises:
        UsageError: If it is not a hook file, or `coverage` is not installed.
    """
    if find_spec("coverage") is None:
        raise MissingLibraryError("--coverage", "coverage", "coverage")
    path = file.resolve()
    rows: list[EventRow] = []
    if with_history:
        with open_history():
            parts = list(parts_of_history(history_directory(), Filter()))
        while parts and len(rows) < MAX_EVENTS:
            rows = [*parts.pop().read(None).rows, *rows]
    history = [(row.agent, row.read_payload()) for row in rows[-MAX_EVENTS:]]
    more = list(filter(None, map(example_of, cases)))
    with Sandbox.for_project(Path(), discards_output=True) as sandbox:
        inside = sandbox.inside(str(path))
        measured = sandbox.run(cover, inside, list(agents), more, sandbox.inside(history))
    source = path.read_text(encoding="utf-8")
    coverage = read_report(source, *measured)
    if as_json:
        left_out = len(cases) - len(more)
        print_json({"file": str(path), "cases_left_out": left_out, **coverage.to_json()})
    else:
        _print_coverage(console(), file, source, coverage)
    return OK


def _print_coverage(out: Console, file: Path, source: str, coverage: Coverage) -> None:
    # Source to the number of its events, for people.
    events: dict[str, str] = {}
    for name in SOURCES:
        if coverage.events[name]:
            events[name] = f"{coverage.events[name]:,} {WORDS[name]}"
    used = list(events)
    tried = ", ".join(events.values()) or "no event"
    heading = Text(printable(show_path(str(file))), style="bold")
    out.print(heading.append(f"  on {tried}", "default"))
    for name in used:
        if coverage.failed[name]:
            out.print(f"it failed on {coverage.failed[name]:,} of {events[name]}", style=BAD)
    table = make_table("line", "rule", "function", *used, no_wrap=("line",))
    idle = 0
    for rule in coverage.rules:
        counts = coverage.decided(rule)
        idle += not any(counts.values())
        row = [Text(str(rule.line)), Text(printable(rule.text)), Text(rule.function)]
        for name in used:
            cell = Text("never", style=BAD)
            if counts[name]:
                cell = Text(f"{counts[name]:,}")
            row.append(cell)
        table.add_row(*row)
    out.print(table)
    out.print()
    _print_listing(out, source, coverage, used)
    reached = sum(bool(counts) for counts in coverage.lines.values())
    has_gaps = idle > 0 or bool(coverage.branches)
    out.print(
        f"\n{reached} of {count_of(len(coverage.lines), 'line')} ran; "
        f"branches never taken: {len(coverage.branches)}; "
        f"{idle} of {count_of(len(coverage.rules), 'rule')} never decided anything",
        style=CAUTION if has_gaps else GOOD,
    )


def _print_listing(out: Console, source: str, coverage: Coverage, used: Sequence[str]) -> None:
    """Print the functions with the number of events that reached each line."""
    ends: dict[int, list[str]] = {}
    for start, end in coverage.branches:
        name = f"line {end}" if end > 0 else "the end"
        ends.setdefault(start, []).append(name)
    width = max([5, *map(len, used)])
    out.print(Text("".join([f"{name:>{width}}  " for name in used]), style=QUIET))
    for number, line in enumerate(source.splitlines(), 1):
        counts = coverage.lines.get(number)
        text = Text(style=QUIET)
        for name in used:
            cell = ""  # the line is not a statement of a function
            if counts is not None:
                cell = str(counts[name] or "-")
            text.append(f"{cell:>{width}}  ")
        was_missed = counts is not None and not counts
        style = BAD if was_missed else ""
        text.append(f"{number:>4} {printable(line)}", style)
        if number in ends and counts:
            text.append(f"   never to {' and '.join(ends[number])}", CAUTION)
        out.print(text, soft_wrap=True)


# -- mutants

KEPT = "mutants"
"""Directory of kept results, next to the history."""


def mutate_hook_file(
    file: Path,
    agents: Sequence[str],
    cases: Sequence[Case],
    *,
    jobs: int,
    min_killed: float | None,
    as_json: bool,
) -> int:
    """Try small changes of a hook file, and print those that nothing notices.

    Args:
        file: The hook file.
        agents: Names of the agents for examples that name none.
        cases: Cases; those that the file itself answers are used.
        jobs: Number of sandboxes; 0 for one per processor.
        min_killed: The smallest share of noticed changes for success; `None` for any.
        as_json: Write JSON.

    Raises:
        UsageError: If it is not a hook file, or its examples fail.
    """
    path = file.resolve()
    digest = digest_of(path)
    with Sandbox.for_project(Path(), discards_output=True) as sandbox:
        plan = plan_trials(sandbox, path, agents, cases, digest)
        if plan.failed:
            place, agent = plan.failed[0]
            raise UsageError(
                f"{place} fails for {agent}; mend the examples first: anyhook test {file}"
            )
        if not plan.tests:
            raise UsageError(f"{file} has no examples, so nothing notices a change")
        source = path.read_text(encoding="utf-8")
        mutants = mutants_of(source)
        kept = Kept(Path(history_directory()) / KEPT, plan)
        is_complete = _try_all(plan, mutants, kept, sandbox, jobs)
    results = [
        TriedMutant(mutant, kept.results.get(result_key(plan, mutant))) for mutant in mutants
    ]
    counts = Counter([result.status for result in results])
    tried = len(mutants) - counts[MutantStatus.NOT_TRIED]
    share = counts[MutantStatus.KILLED] / tried if tried else 1.0
    is_ok = min_killed is None or share >= min_killed
    if as_json:
        print_json(
            {
                "ok": is_ok and is_complete,
                "complete": is_complete,
                "kept": str(kept.path),
                "mutants": len(mutants),
                "tried": tried,
                "killed": counts[MutantStatus.KILLED],
                "results": [_result_json(result, source, file.name) for result in results],
            }
        )
    else:
        _print_mutants(console(), file, source, results)
        if not is_ok:
            console().print(f"--min-killed is {min_killed:g}", style=BAD)
    if not is_complete:
        return INTERRUPTED
    return OK if is_ok else PROBLEMS


def _try_all(
    plan: TrialPlan, mutants: Sequence[Mutant], kept: Kept, sandbox: Sandbox, jobs: int
) -> bool:
    """Try the files that are not known, and return whether none is left."""
    with progress("changed files", len(mutants)) as bar:
        bar.show(sum(result_key(plan, mutant) in kept.results for mutant in mutants), len(mutants))

        def on_result(key: str, noticed: Noticed) -> None:
            kept.add(key, noticed)
            bar.advance()

        try:
            try_mutants(
                plan,
                mutants,
                kept.results,
                sandbox=sandbox,
                jobs=jobs or available_processors(),
                on_result=on_result,
            )
        except KeyboardInterrupt:
            return False
    return True


def _print_mutants(out: Console, file: Path, source: str, results: Sequence[TriedMutant]) -> None:
    name = show_path(str(file))
    table = make_table("change", "tried", "noticed", "what is changed")
    total: Counter[str] = Counter()
    for operator in OPERATORS:
        counts = Counter(
            [result.status for result in results if result.mutant.operator == operator.name]
        )
        total += counts
        tried = counts[MutantStatus.KILLED] + counts[MutantStatus.SURVIVED]
        if tried:
            table.add_row(
                operator.name, str(tried), str(counts[MutantStatus.KILLED]), operator.what
            )
    out.print(table)
    for result in results:
        mutant, noticed = result
        if noticed is None or noticed.by:
            continue
        heading = f"\n{name}:{mutant.line}: {mutant.operator}: no example notices this"
        out.print(Text(printable(heading), style=CAUTION), soft_wrap=True)
        lines = [printable(line) for line in mutant.diff(source, file.name).splitlines()]
        out.print(Syntax("\n".join(lines), "diff", background_color="default"))
        if noticed.proposal:
            out.print("This one does; check that it is what you want:")
            out.print(Text(f"  {printable(noticed.proposal)}", style=GOOD), soft_wrap=True)
        else:
            out.print("No call was found on which it decides differently.", style=QUIET)
    tried = total[MutantStatus.KILLED] + total[MutantStatus.SURVIVED]
    text = f"\n{name}: {total[MutantStatus.KILLED]} of {count_of(tried, 'change')} noticed"
    if total[MutantStatus.NOT_TRIED]:
        text += f"; {total[MutantStatus.NOT_TRIED]} not tried, the next run continues there"
    out.print(text)


def _result_json(result: TriedMutant, source: str, name: str) -> dict[str, Any]:
    mutant, noticed = result.mutant, result.noticed or Noticed()
    return {
        **members(mutant, "operator", "line"),
        "status": result.status,
        "by": noticed.by or None,
        "diff": mutant.diff(source, name),
        "proposal": noticed.proposal or None,
    }
