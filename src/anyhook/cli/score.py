"""`anyhook score`: what hooks stop of a labelled set or of past calls, and by mistake."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.text import Text

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import ACCENT, BAD, CAUTION, QUIET
from anyhook.cli.event_filters import open_history
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
from anyhook.cli.render import (
    make_table,
    outcome_text,
    print_problems,
    print_quoted,
    require_terminal,
)
from anyhook.cli.sandboxed import confirm_limits
from anyhook.errors import EventError, UnknownNameError, UsageError
from anyhook.history.describe import show_span
from anyhook.history.verdicts import NO_VERDICT
from anyhook.interrupts import INTERRUPTED
from anyhook.manage.redteam import choose_guards
from anyhook.manage.review import CallReview, ReviewGroup, label_calls, review_calls
from anyhook.manage.scope import existing_project
from anyhook.model.text import count_of, printable, shorten
from anyhook.redteam.asking import Asker, Guard
from anyhook.redteam.labelled import BENIGN, DANGEROUS, FAMILIES, OWN_SET, LabelledSet, read_set
from anyhook.redteam.score import (
    PER,
    Counts,
    Judged,
    Score,
    claimed_families,
    score_answers,
    wilson,
)
from anyhook.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from anyhook.history.store import History


class HookScore(NamedTuple):
    """The score of one hook on one set."""

    guard: Guard
    labelled: LabelledSet
    claimed: bool
    """Whether the hook or an option names the kinds of danger."""
    score: Score
    not_asked: int
    """Calls of tools and events that the agent does not have."""


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
        return review_history(guards, label, as_json=as_json)
    if label is not None:
        raise UsageError("--label labels calls of the history; add --history")
    sets = [read_set(path) for path in on or [OWN_SET]]
    scores: list[HookScore] = []
    with Sandbox.for_project(directory, discards_output=True) as sandbox:
        for guard in guards:
            families = family or []
            if not families and guard.file:
                families = sandbox.run(claimed_families, sandbox.inside(guard.file))
            scores += [_score(sandbox, guard, labelled, families) for labelled in sets]
    for each in scores:
        limits = each.score.problems(min_detection=min_detection, max_false_blocks=max_false_blocks)
        problems += [f"{each.guard.title} on {each.labelled.path.name}: {text}" for text in limits]
    set_members = []
    for labelled in sets:
        origins = [{**encode(origin), "rows": rows} for origin, rows in labelled.origins.items()]
        file, size = str(labelled.path), len(labelled.calls)
        set_members.append({"file": file, "rows": size, "origins": origins})
    score_members = [
        {
            "hook": each.guard.title,
            "agent": each.guard.agent,
            "set": each.labelled.path.name,
            "claimed": each.claimed,
            "not_asked": each.not_asked,
            **each.score.to_json(),
        }
        for each in scores
    ]
    data = {
        "ok": not problems,
        "problems": problems,
        "sets": set_members,
        "scores": score_members,
    }
    if html is not None:
        with extra_required("--html"):
            from anyhook.page.report import score_report
        write_page(html, score_report(data))
    if as_json:
        print_json(data)
    else:
        _print(scores, sets, problems)
    return PROBLEMS if problems else OK


def _score(
    sandbox: Sandbox, guard: Guard, labelled: LabelledSet, families: Sequence[str]
) -> HookScore:
    """Ask a hook about the calls of a set that are about the kinds of danger."""
    occurring = dict.fromkeys(name for call in labelled.calls for name in call.families)
    for name in families:
        if name not in occurring:
            raise UsageError(
                f"{labelled.path.name} has no rows about {name!r}; {', '.join(occurring)}"
            )
    names = list(families) or list(occurring)
    calls = [call for call in labelled.calls if any(map(call.is_about, names))]
    asked, payloads = [], []
    for call in calls:
        try:
            payloads.append((call.payload(guard.agent, guard.project),))
        except (EventError, UnknownNameError):
            continue
        asked.append(call)
    with closing(Asker(guard, sandbox=sandbox)) as asker:
        answers = asker.ask(payloads)
    judged = [Judged(call, answer) for call, answer in zip(asked, answers, strict=True)]
    not_asked = len(calls) - len(asked)
    return HookScore(guard, labelled, bool(families), score_answers(judged, names), not_asked)


# -- output


def _print(scores: Sequence[HookScore], sets: Sequence[LabelledSet], problems: list[str]) -> None:
    out = console()
    for each in scores:
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
        false_blocks = f"false blocks / {PER:,}"
        headings = ("family", "detected", "95 %", "deny", "ask", false_blocks, "95 % ", "deny ")
        table = make_table(
            *headings, "ask ", no_wrap=("family", "detected"), right=(*headings[1:], "ask ")
        )
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
    for labelled in sets:
        for origin, rows in labelled.origins.items():
            facts = (origin.source or "source unknown", origin.commit, origin.license)
            text = ", ".join(fact for fact in facts if fact)
            line = f"{labelled.path.name}: {count_of(rows, 'row')} from {text}"
            out.print(line, style=QUIET, soft_wrap=True)
    for problem in problems:
        out.print(Text.assemble(("✗ ", BAD), printable(problem)), soft_wrap=True)


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


# -- calls of the history

MAX_CALLS = 5
"""Different calls of a group that are shown."""
KEYS = {"b": BENIGN, "d": DANGEROUS}


def review_history(guards: Sequence[Guard], label: Path | None, *, as_json: bool) -> int:
    """Show what hook files would have stopped among past calls that were not stopped.

    With `label`, it asks about each call, and adds it to this labelled set. Returns the exit code.

    Raises:
        UsageError: If a hook is not a Python file, or there is no terminal to ask at.
    """
    if label is not None:
        require_terminal("leave out --label", is_quiet=as_json)
    data: list[dict[str, Any]] = []
    out = console()
    with open_history() as store:
        for guard in guards:
            review = review_calls(store, guard)
            if not review.is_complete:
                return INTERRUPTED
            print_problems(review.problems, review.problem_count)
            groups = [
                {
                    **members(group, "outcome", "number"),
                    "reason": group.reason or None,
                    "calls": [
                        {"call": call, "number": len(events), "events": [e.ref for e in events]}
                        for call, events in group.ordered()
                    ],
                }
                for group in review.groups
            ]
            counts = {"calls": review.total, "stopped": review.stopped}
            data.append({"hook": guard.title, **counts, "groups": groups})
            if not as_json:
                heading = Text(printable(guard.title), style="bold")
                out.print(heading.append(f"  {review_text(review)}", "default"))
                for group in review.groups:
                    print_group(out, group)
            if label is not None and not _label(out, store, review, label):
                return INTERRUPTED
    if as_json:
        print_json({"reviews": data})
    return OK


def review_text(review: CallReview) -> str:
    """Return the counts of a review for people."""
    return f"would have stopped {review.stopped:,} of {review.total:,} calls; to review"


def group_text(group: ReviewGroup) -> Text:
    """Return the number of calls, the answer and the reason of a group, on one line."""
    reason = printable(shorten(group.reason)) or "no reason"
    return Text.assemble(f"{group.number:>6,}  ", outcome_text(group.outcome), f"  {reason}")


def print_group(out: Console, group: ReviewGroup) -> None:
    """Print a group with its most frequent calls."""
    out.print(group_text(group))
    for call, events in group.ordered()[:MAX_CALLS]:
        out.print(f"        {count_of(len(events), 'time')}", style=QUIET)
        print_quoted(out, shorten(call))
    rest = len(group.calls) - MAX_CALLS
    if rest > 0:
        out.print(f"        and {count_of(rest, 'more call')}; all: --json", style=QUIET)


def _label(out: Console, store: History, review: CallReview, file: Path) -> bool:
    """Ask for a label of each call, and return whether the user went to the end."""
    families = ", ".join(FAMILIES)
    out.print(f"b benign, d dangerous, s skip, q end; kinds of danger: {families}", style=QUIET)
    for group in review.groups:
        for call, events in group.ordered():
            print_quoted(out, shorten(call))
            key = typer.getchar().lower()
            if key == "q":
                return False
            if key not in KEYS:
                continue
            names: list[str] = []
            while KEYS[key] == DANGEROUS and not names:
                own = ", ".join(review.families) or None
                answer = typer.prompt("kinds of danger, with commas", default=own)
                names = [name.strip() for name in answer.split(",") if name.strip()]
            label_calls(store, events[:1], KEYS[key], names, file)
            out.print(f"{KEYS[key]}: written to {printable(str(file))}", style=QUIET)
    return True
