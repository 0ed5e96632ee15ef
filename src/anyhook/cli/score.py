"""`anyhook score`: what hooks stop of a labelled set or of past calls, and by mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.call_review import review_history
from anyhook.cli.colors import ACCENT, BAD, CAUTION, QUIET
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    GuardNames,
    HtmlFile,
    Project,
    TrustOnce,
    Yes,
    extra_required,
    write_page,
)
from anyhook.cli.output import console, encode, members, print_json
from anyhook.cli.render import make_table, print_note, print_quoted
from anyhook.cli.sandboxed import confirm_limits
from anyhook.errors import UsageError
from anyhook.history.describe import show_span
from anyhook.history.verdicts import NO_VERDICT
from anyhook.manage.redteam import choose_guards
from anyhook.manage.scope import existing_project
from anyhook.manage.scoring import HookScore, score_guards
from anyhook.model.text import count_of, printable, shorten
from anyhook.redteam.labelled import OWN_SET, LabelledSet, read_set
from anyhook.redteam.score import PER, Counts, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def score(
    hooks: GuardNames = None,
    on: Annotated[
        list[Path] | None,
        typer.Option(
            "--on", metavar="FILE", help="A labelled set. Default: the set of anyhook. Repeatable."
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", help="Only this kind of danger, like git. Repeatable."),
    ] = None,
    min_detection: Annotated[
        float | None,
        typer.Option("--min-detection", min=0, max=1, help="Exit with 1 below it, like 0.9."),
    ] = None,
    max_false_blocks: Annotated[
        float | None,
        typer.Option(
            "--max-false-blocks", min=0, help="Exit with 1 above it: of 1,000 benign calls."
        ),
    ] = None,
    from_history: Annotated[
        bool, typer.Option("--history", help="Review what it would have stopped of past calls.")
    ] = False,
    label: Annotated[
        Path | None,
        typer.Option("--label", metavar="FILE", help="With --history: ask, and add to this set."),
    ] = None,
    project: Project = HERE,
    agent: AgentName = None,
    yes: Yes = False,
    trust_once: TrustOnce = False,
    html: HtmlFile = None,
    as_json: AsJson = False,
) -> int:
    """Measure what guards stop, and what they stop by mistake.

    Each call of a labelled set is asked of each hook alone, in a sandbox, as its agent would. The
    score is given for the kinds of danger that the hook names with `hooks.about(families=[…])`, in
    a line `Families: …` of its docstring, or with --family; otherwise for all of the set.

    For example:

        anyhook score .anyhook/guard.py
        anyhook score guard.py --family git --min-detection 0.9 --max-false-blocks 20
        anyhook score guard.py --on calls.jsonl --html score.html
        anyhook score guard.py --history --label our-calls.jsonl
    """
    confirm_limits(is_agreed=yes)
    directory = existing_project(project)
    chosen = choose_guards(directory, hooks or [], agent, trust_once=trust_once)
    guards = chosen.guards
    problems = [
        f"{title} was not asked: you have not trusted it; add --trust-once"
        for title in chosen.untrusted
    ]
    if from_history:
        for_sets = {
            "--on": on,
            "--family": family,
            "--min-detection": min_detection,
            "--max-false-blocks": max_false_blocks,
            "--html": html,
        }
        for name, value in for_sets.items():
            if value not in (None, []):
                raise UsageError(f"{name} is about labelled sets; leave it out with --history")
        return review_history(guards, problems, label, as_json=as_json)
    if label is not None:
        raise UsageError("--label labels calls of the history; add --history")
    sets = [read_set(path) for path in on or [OWN_SET]]
    scores = score_guards(directory, guards, sets, family or [])
    for each in scores:
        limits = each.score.problems(min_detection=min_detection, max_false_blocks=max_false_blocks)
        problems += [f"{each.guard.title} on {each.labelled.path.name}: {text}" for text in limits]
    data = _json(scores, sets, problems)
    if html is not None:
        with extra_required("--html"):
            from anyhook.page.report import score_report
        write_page(html, score_report(data))
    if as_json:
        print_json(data)
    else:
        _print(scores, sets, problems)
    return PROBLEMS if problems else OK


# -- for programs


def _json(
    scores: Sequence[HookScore], sets: Sequence[LabelledSet], problems: list[str]
) -> dict[str, Any]:
    set_members = []
    for labelled in sets:
        origins = [{**encode(origin), "rows": rows} for origin, rows in labelled.origins.items()]
        file, size = str(labelled.path), len(labelled.calls)
        set_members.append({"file": file, "rows": size, "origins": origins})
    score_members = []
    for each in scores:
        guard = {"hook": each.guard.title, "agent": each.guard.agent}
        about = {
            "set": each.labelled.path.name,
            **members(each, "claimed", "not_in_set", "not_asked"),
        }
        score_members.append({**guard, **about, **each.score.to_json()})
    return {
        "ok": not problems,
        "problems": problems,
        "sets": set_members,
        "scores": score_members,
    }


# -- for people


def _print(scores: Sequence[HookScore], sets: Sequence[LabelledSet], problems: list[str]) -> None:
    out = console()
    for each in scores:
        _print_score(out, each)
    for labelled in sets:
        for origin, rows in labelled.origins.items():
            facts = (origin.source or "source unknown", origin.commit, origin.license)
            text = ", ".join(fact for fact in facts if fact)
            line = f"{labelled.path.name}: {count_of(rows, 'row')} from {text}"
            out.print(line, style=QUIET, soft_wrap=True)
    for problem in problems:
        print_note(out, "✗", problem, BAD)


def _print_score(out: Console, each: HookScore) -> None:
    result = each.score
    heading = Text(printable(each.guard.title), style="bold")
    place = f"{printable(each.labelled.path.name)}, agent {each.guard.agent}"
    out.print(heading.append(f"  on {place}", "default"))
    if not each.claimed:
        out.print(
            "It names no kinds of danger, so all of the set are shown, also those that it is "
            "not for; write hooks.about(families=[…]) or add --family.",
            style=CAUTION,
            soft_wrap=True,
        )
    if each.not_in_set:
        text = f"the set has no rows about {', '.join(each.not_in_set)}, which the hook names"
        out.print(printable(text), style=CAUTION, soft_wrap=True)
    false_blocks = f"false blocks / {PER:,}"
    headings = ("family", "detected", "95 %", "deny", "ask", false_blocks, "95 %", "deny", "ask")
    table = make_table(*headings, no_wrap=headings[:2], right=headings[1:])
    for family in result.families:
        cells = [*_cells(family.detection, 100, "%"), *_cells(family.false_blocks, PER, "")]
        table.add_row(Text(printable(family.family)), *cells)
    out.print(table)
    if result.median is not None and result.p95 is not None:
        latency = f"median {show_span(result.median)}, 95 % within {show_span(result.p95)}"
        out.print(f"latency: {latency}")
    if result.failed:
        out.print(f"it failed on {count_of(result.failed, 'call')}", style=BAD)
    if each.not_asked:
        text = f"{count_of(each.not_asked, 'call')} of tools or events that {each.guard.agent} "
        out.print(f"{text}does not have", style=QUIET)
    for family in result.families:
        _print_rows(out, f"{family.family}: passed", family.detection)
        _print_rows(out, f"{family.family}: stopped by mistake", family.false_blocks)


def _cells(counts: Counts, scale: int, unit: str) -> list[str]:
    """Return a rate with its interval, and how many calls were denied and asked about."""
    if counts.share is None:
        return ["", "no calls", "", ""]
    low, high = (limit * scale for limit in wilson(counts.stopped, counts.total))
    rate = f"{counts.share * scale:.0f}{unit}"
    span = f"{low:.0f} to {high:.0f}{unit} of {counts.total:,}"
    return [rate, span, str(counts.denied), str(counts.asked)]


def _print_rows(out: Console, heading: str, counts: Counts) -> None:
    if not counts.others:
        return
    out.print(f"{heading} ({len(counts.others):,} of {counts.total:,})")
    for call, answer in counts.others:
        place = call.place if call.shell == "bash" else f"{call.place} ({call.shell})"
        outcome = "" if answer.outcome == NO_VERDICT else answer.outcome
        facts = (call.reason, outcome, answer.reason, answer.error)
        note = " · ".join(shorten(fact) for fact in facts if fact)
        out.print(Text.assemble((f"  {place}  ", ACCENT), (printable(note), QUIET)), soft_wrap=True)
        print_quoted(out, shorten(call.text))
