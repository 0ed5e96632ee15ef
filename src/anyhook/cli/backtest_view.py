"""The report of a backtest for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from anyhook.backtest.report import (
    EXAMPLES,
    PERCENTILES,
    BacktestComparison,
    ChangeGroup,
    dependencies_of,
    examples,
    refusals_of,
    summary_text,
)
from anyhook.cli.colors import ACCENT, BAD, CAUTION, GOOD
from anyhook.cli.render import counts_text, make_table, outcome_text, rates_table
from anyhook.history.describe import show_span
from anyhook.model.text import count_of, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from anyhook.backtest.results import Result
    from anyhook.backtest.run import BacktestRun

MAX_GROUPS = 12
"""Groups of changes that are shown."""
MAX_CRASHES = 8
"""Different crashes that are shown."""
MAX_TEXT = 100
"""Characters of an event in an example."""


def print_report(
    out: Console,
    run: BacktestRun,
    comparison: BacktestComparison | None,
    *,
    everything: bool = False,
) -> None:
    """Print the report of a backtest; with `everything`, all decided events and changes.

    The comparison is `None` without a baseline.
    """
    result, progress = run.result, run.progress
    heading = Text(run.subject.title, style="bold")
    heading.append(f"  {summary_text(result)}", style="not bold")
    heading.append(f"  in {show_span(progress.seconds)}", style="not bold dim")
    out.print(heading)
    if not run.is_complete:
        parts = count_of(progress.parts, "part")
        text = f"ended after {progress.done} of {parts}; the report is about these"
        out.print(text, style=CAUTION, soft_wrap=True)
    out.print(_hook_table(result))
    if result.decided:
        outcomes = dict(result.outcomes().most_common())
        in_sessions = {outcome: result.sessions_with(outcome) for outcome in outcomes}
        out.print(rates_table(outcomes, in_sessions, result.total, len(result.sessions)))
    # The most frequent crashes first.
    for crash, number in result.crashes.most_common(MAX_CRASHES):
        line = Text.assemble(("crash", BAD), f"  {count_of(number, 'event')}  ")
        line.append(f"{printable(crash.hook)}: {printable(crash.error)}")
        out.print(line, soft_wrap=True)
    rest = len(result.crashes) - MAX_CRASHES
    if rest > 0:
        out.print(f"and {count_of(rest, 'more error')}; to see them: --json", style="dim")
    _print_timeouts(out, run)
    for text in refusals_of(result):
        out.print(text, soft_wrap=True)
    for text in dependencies_of(result).texts():
        out.print(Text(printable(text), style=CAUTION), soft_wrap=True)
    if comparison is None:
        _print_examples(out, result, everything=everything)
    else:
        _print_changes(out, comparison, everything=everything)


def _hook_table(result: Result) -> Table:
    names = [f"p{share * 100:g}" for share in PERCENTILES]
    table = make_table("hook", "matched", "decisions", "crashed", "timed out", *names)
    for hook, tally in result.hooks.items():
        percentiles = [tally.percentile(share) for share in PERCENTILES]
        table.add_row(
            Text(printable(hook)),
            f"{tally.matched:,}",
            counts_text({name: n for name, n in tally.outcomes.items() if name != "none"}),
            Text(str(tally.crashed or ""), style=BAD),
            Text(str(tally.timed_out or ""), style=BAD),
            *map(show_span, percentiles),
        )
    if not result.hooks:
        table.add_row(Text("no hook was run on these events", style="dim"))
    return table


def _print_timeouts(out: Console, run: BacktestRun) -> None:
    """Print how many events reached a time limit, what that cost, and which option changes it."""
    number, waited = run.result.timeouts, run.progress.seconds_waited
    if not number:
        return
    limit = f"the time limit of {run.timeout:g} s"
    remedy = "for another limit: --timeout SECONDS"
    if run.subject.is_project:
        limit = "the timeout of a hook"
        remedy = "to end events sooner than the settings do: --timeout SECONDS"
    elif 0 < run.result.limit < run.timeout:
        limit = f"the timeout of the hook file, {run.result.limit:g} s"
        remedy = "for another one: Hooks(timeout=SECONDS)"
    line = f"{count_of(number, 'event')} reached {limit}"
    if waited:
        line += f", which took {show_span(waited)} of this run, all processes together"
    out.print(f"{line}; {remedy}", style=CAUTION, soft_wrap=True)


def _print_examples(out: Console, result: Result, *, everything: bool) -> None:
    events = list(result.decided) if everything else examples(result.decided, EXAMPLES)
    for event in events:
        line = Text("  ").append_text(outcome_text(event.outcome))
        line.append(f"  {event.tool or event.event}  ", style=ACCENT)
        line.append(_one_line(event.text))
        out.print(line, no_wrap=True, overflow="ellipsis")
        reason = event.decision.get("reason")
        parts = [shorten(reason)] if reason else []
        if event.crash:
            parts.append(printable(event.crash))
        parts.append(f"session {event.session}")
        if event.reconstructed:
            parts.append(f"depends on what was not recorded: {', '.join(event.reconstructed)}")
        out.print(Text(f"      {'; '.join(parts)}", style="dim"), soft_wrap=True)
    rest = len(result.decided) - len(events)
    if rest > 0:
        out.print(f"  and {rest:,} more; to see them: --all", style="dim")


def _print_changes(out: Console, comparison: BacktestComparison, *, everything: bool) -> None:
    number = len(comparison.changes)
    if not number:
        out.print(Text.assemble(("no decision differs", GOOD), f" from {comparison.title}"))
        return
    denials = len(comparison.new_denials)
    verb = "differs" if number == 1 else "differ"
    line = Text(f"{count_of(number, 'decision')} {verb} from {comparison.title}", style="bold")
    if denials:
        line.append(f", {count_of(denials, 'new denial')}", style=BAD)
    out.print(line)
    groups = comparison.groups if everything else comparison.groups[:MAX_GROUPS]
    for group in groups:
        examples = len(group.changes) if everything else EXAMPLES
        _print_group(out, group, examples)
    rest = len(comparison.groups) - len(groups)
    if rest > 0:
        out.print(f"and {count_of(rest, 'more group')}; to see them: --all", style="dim")


def _print_group(out: Console, group: ChangeGroup, limit: int) -> None:
    line = Text("  ").append_text(outcome_text(group.before)).append(" → ")
    line.append_text(outcome_text(group.after))
    line.append(f"  {group.event} {group.tool or ''}".rstrip(), style=ACCENT)
    line.append(f"  {count_of(len(group.changes), 'event')}")
    line.append(f" in {count_of(group.sessions, 'session')}")
    cause = ", ".join(group.fields)
    if group.hooks:
        cause = f"{', '.join(map(printable, group.hooks))}: {cause}"
    line.append(f"  {cause}", style="dim")
    out.print(line)
    seen: set[str] = set()
    for change in group.changes:
        text = change.event.text
        if text in seen:
            continue
        seen.add(text)
        example = Text(f"      {_one_line(text)}")
        decided = change.after or change.before
        if decided is not None and decided.reconstructed:
            example.append(f"  depends on {', '.join(decided.reconstructed)}", style=CAUTION)
        example.append(f"  {change.event.session}", style="dim")
        out.print(example, no_wrap=True, overflow="ellipsis")
        if len(seen) >= limit:
            break


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))[:MAX_TEXT]
