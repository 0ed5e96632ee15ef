"""`anyhook history`: sessions, what was decided in them, searches and counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.colors import ACCENT, CAUTION, OUTCOMES, QUIET, STATUSES
from anyhook.cli.event_filters import (
    check_agent,
    notes_on,
    open_history,
    print_no_events,
    print_notes,
    project_path,
    with_recorded_names,
)
from anyhook.cli.options import AsJson, Since
from anyhook.cli.output import console, encode, members, print_json
from anyhook.cli.render import (
    RunRow,
    answer_text,
    as_shadow,
    counts_text,
    make_table,
    name_text,
    outcome_text,
    print_rows,
    runs_table,
    status_text,
)
from anyhook.errors import UsageError
from anyhook.history.describe import (
    durations_of,
    hit_of,
    notes_of,
    outcome_of_call,
    parse_since,
    problem_of,
    show_span,
    show_time,
    subject_of,
)
from anyhook.history.filters import Filter
from anyhook.history.search import newest
from anyhook.history.sessions import (
    SessionSummary,
    events_of,
    find_session,
    get_event,
    sessions,
    short_names,
)
from anyhook.history.verdicts import NO_VERDICT
from anyhook.journal.records import RECORDER_KIND
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console
    from rich.table import Table

    from anyhook.history.events import RecordedEvent, RecordedResult

Agent = Annotated[str, typer.Option("--agent", metavar="AGENT", help="Only this agent.")]
Project = Annotated[
    str,
    typer.Option("--project", metavar="DIR", help="Only this project, or those below a directory."),
]
Failed = Annotated[
    bool,
    typer.Option("--failed", help="Only where a hook failed, timed out or could not be started."),
]
Refused = Annotated[
    bool,
    typer.Option("--refused", help="Only calls that were not executed, because they were refused."),
]
Shadow = Annotated[
    bool,
    typer.Option("--shadow", help="Only where a shadow ran; with --outcome, what it answered."),
]
Tool = Annotated[str, typer.Option("--tool", help="Only this tool, like shell or Bash.")]
EventName = Annotated[str, typer.Option("--event", help="Only these, like before_tool.")]
Outcome = Annotated[
    str,
    typer.Option(
        "--outcome",
        help="deny, ask, allow, defer, stop, change or none; with --hook, what this hook answered.",
    ),
]
HookLabel = Annotated[str, typer.Option("--hook", help="Only where this hook ran.")]
SessionName = Annotated[str, typer.Option("--session", help="Only this session.")]
SessionArgument = Annotated[
    str, typer.Argument(help="A session, the beginning of its identifier, or `last`.")
]
AllEvents = Annotated[bool, typer.Option("--all", help="Events without hooks and decisions too.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many are shown.")]
EVENT_MEMBERS = (
    *("id", "agent", "session", "event", "time", "tool", "project", "source", "result", "refusal"),
    *("has_reached_hooks", "stop", "decision", "reconstructed", "redacted", "cut", "payload"),
)
RESULT_MEMBERS = (
    *("hook", "place", "kind", "digest", "status", "shadow", "started", "duration", "exit_code"),
    *("signal", "answer", "stdout", "stderr", "truncated", "error"),
)
"""Members of an event and of a hook's result in the output for programs."""
MAX_HIT = 120
"""Characters of what an event is about, and of the surroundings of a hit, in a search."""
MAX_SUBJECT = 200
"""Characters of what an event is about in a timeline."""
MAX_REASON = 400
"""Characters of a reason in a timeline."""


def list_sessions(
    context: typer.Context,
    agent: Agent = "",
    since: Since = "",
    project: Project = "",
    limit: Limit = 20,
    as_json: AsJson = False,
) -> int:
    """See, search, count and record what hooks decide in sessions.

    Without a command, the sessions are listed, the newest first.

    For example:

        anyhook history
        anyhook history --since 7d --agent claude
        anyhook history show last
        anyhook history search "rm -rf" --outcome deny
    """
    if context.invoked_subcommand is not None:
        return OK
    check_agent(agent)
    with open_history() as store:
        summaries = sessions(
            store,
            agent=agent,
            since=parse_since(since),
            project=project_path(project),
            limit=limit,
        )
        names = short_names(store, [session.session for session in summaries])
    if as_json:
        print_json(summaries)
        return OK
    out = console()
    if summaries:
        out.print(_session_table(summaries, names))
        _print_limit(out, len(summaries), limit)
    else:
        options = {"--agent": agent, "--since": since, "--project": project}
        print_no_events(out, options, what="session")
    return OK


def _session_table(summaries: list[SessionSummary], names: Mapping[str, str]) -> Table:
    table = make_table("started", "agent", "session", "events", "decisions", "project")
    for column in table.columns[:3]:
        column.no_wrap = True
    for session in summaries:
        project = name_text(show_path(session.project)) if session.project else ""
        table.add_row(
            show_time(session.started),
            session.agent,
            Text(name_text(names[session.session]), style=ACCENT),
            str(session.events),
            counts_text(session.outcomes),
            Text(project, style="dim"),
        )
    return table


def show(
    session: SessionArgument = "last",
    event: Annotated[
        int,
        typer.Option("--event", metavar="NUMBER", min=1, help="One event, with all that is known."),
    ] = 0,
    agent: Agent = "",
    everything: AllEvents = False,
    as_json: AsJson = False,
) -> int:
    """Show the events of a session in their order, with the answer of every hook and the reasons.

    In a session with hooks, events on which none ran and nothing was decided are only counted.

    For example:

        anyhook history show last
        anyhook history show 4f1c --all
        anyhook history show --event 4711
    """
    check_agent(agent)
    with open_history() as store:
        recorded = get_event(store, event) if event else None
        if recorded is not None and session == "last":
            session = recorded.session
        summary = find_session(store, session, agent)
        if recorded is not None:
            if (recorded.agent, recorded.session) != (summary.agent, summary.session):
                name = printable(recorded.session)
                raise UsageError(
                    f"event {event} is not of this session; write: "
                    f"anyhook history show {name} --event {event}"
                )
            events = [recorded]
        else:
            events = events_of(store, summary)
        names = short_names(store, [summary.session])
    if as_json:
        print_json({**encode(summary), "events": [_event_json(event) for event in events]})
        return OK
    out = console()
    out.print(_session_table([summary], names))
    everything = everything or bool(event) or not any(map(_has_hooks, events))
    printed = [item for item in events if everything or _has_hooks(item) or item.refusal]
    durations = durations_of(events)
    for item in printed:
        print_event(out, item, full=bool(event), seconds=durations.get(item.id))
    # Once for all events; of one event, it is among its notes.
    counts: Counter[str] = Counter()
    for item in printed:
        counts.update(item.reconstructed)
    if counts and not event:
        inferred = ", ".join(f"{name} ({number:,})" for name, number in counts.most_common())
        text = f"Not recorded but inferred, in payloads: {inferred}"
        out.print(text, style="dim", soft_wrap=True)
    hidden = len(events) - len(printed)
    if hidden:
        out.print(f"{count_of(hidden, 'event')} without hooks; to see them: --all", style="dim")
    return OK


def _has_hooks(event: RecordedEvent) -> bool:
    return bool(event.decision) or any(result.kind != RECORDER_KIND for result in event.results)


def print_event(out: Console, event: RecordedEvent, *, full: bool, seconds: float | None) -> None:
    """Print a recorded event with the answers of its hooks.

    With `full`, also the payload, the output of the hooks and the blame. The seconds are those of
    the call whose result the event is.
    """
    heading = Text(f"\n{show_time(event.time)[11:]}  ", style="dim")
    heading.append(event.event, style="bold not dim")
    heading.append(f"  {name_text(event.tool or '')}  ", style=f"not dim {ACCENT}")
    subject = subject_of(event)
    if len(subject) > MAX_SUBJECT and not full:
        subject = f"{subject[:MAX_SUBJECT]}…"
    heading.append(subject, style="not dim")
    if seconds is not None:
        heading.append(f"  {show_span(seconds)}")
    out.print(heading, no_wrap=not full, overflow="ellipsis")
    outcome = outcome_of_call(event)
    if outcome.text:
        style = CAUTION if outcome.is_bad else QUIET
        line = Text(f"  {outcome.word}  ", style=style)
        line.append(printable(" ".join(outcome.text.split()))[:MAX_REASON], style="default")
        out.print(line, no_wrap=not full, overflow="ellipsis")
    rows = [_run_row(result) for result in event.results if result.kind != RECORDER_KIND]
    if rows:
        out.print(runs_table(out, rows, has_header=False))
    if event.verdict != NO_VERDICT:
        line = Text("  → ").append_text(outcome_text(event.verdict))
        line.append(f"  {printable(event.reason)[:MAX_REASON]}")
        out.print(line)
    notes = notes_of(event, has_reconstructed=full)
    if notes:
        out.print(Text(f"  {'; '.join(notes)}", style="dim"))
    if full:
        _print_details(out, event)


def _run_row(result: RecordedResult) -> RunRow:
    text = status_text(result.trouble, problem_of(result))
    if not result.trouble:
        text = answer_text(result.answer)
    if result.shadow:
        text = as_shadow(text)
    style = STATUSES.get(result.trouble) or OUTCOMES.get(result.verdict, "")
    return RunRow(result.hook, result.place, text, result.started, result.duration, style)


def _print_details(out: Console, event: RecordedEvent) -> None:
    from rich.json import JSON

    decision = dict(event.decision or {})
    for title, value in (("payload", event.payload), ("decision", decision)):
        if value:
            out.print(Text(f"\n{title}", style="dim"))
            out.print(JSON.from_data(value, default=str))
    for result in event.results:
        for name in ("stdout", "stderr"):
            text = getattr(result, name)
            if text:
                out.print(Text(f"\n{name} of {printable(result.hook)}", style="dim"))
                out.print(Text(printable(text)))


def search_events(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD...",
            help='Words that must all occur; "words in a row" in quotation marks. Behind --, '
            "they may begin with a dash.",
        ),
    ] = None,
    tool: Tool = "",
    event: EventName = "",
    outcome: Outcome = "",
    hook: HookLabel = "",
    failed: Failed = False,
    refused: Refused = False,
    shadow: Shadow = False,
    session: SessionName = "",
    project: Project = "",
    agent: Agent = "",
    since: Since = "",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """Search the events of all sessions, the newest first.

    All text of an event is searched, up to a million characters: arguments, results, errors,
    prompts, reasons. `deplo*` finds words that begin so. Exits with 1 if there are none.

    For example:

        anyhook history search "rm -rf"
        anyhook history search --outcome deny --since 30d
        anyhook history search --hook guard.py --tool shell
        anyhook history search --failed --since 7d
        anyhook history search --refused "rm -rf"
    """
    with open_history() as store:
        named = Filter(
            text=" ".join(words or []),
            agent=agent,
            event=event,
            tool=tool,
            verdict=outcome,
            hook=hook,
            session=session,
            since=parse_since(since),
            project=project,
            failed=failed,
            refused=refused,
            shadow=shadow,
        )
        chosen = with_recorded_names(named, store)
        hits = newest(store, chosen, limit=limit)
        names = short_names(store, [item.session for item in hits])
        if not hits:
            print_notes(notes_on(chosen, store))
    if as_json:
        print_json([_event_json(item) for item in hits])
        return OK if hits else 1
    out = console()
    if not hits:
        out.print("No event was found.")
        return 1
    headings = ("time", "event", "tool", "decision", "what", "session", "number")
    rows: list[list[str | Text]] = []
    for item in hits:
        decision = outcome_text(item.verdict)
        if item.verdict == NO_VERDICT and item.refusal is not None:
            decision = Text("refused", style=CAUTION)
        rows.append(
            [
                Text(show_time(item.time), style="dim"),
                name_text(item.event),
                name_text(item.tool or ""),
                decision,
                _hit_text(item, chosen.text),
                Text(name_text(names[item.session]), style=ACCENT),
                str(item.id),
            ]
        )
    print_rows(out, headings, rows, below=["what"])
    out.print(f"To see all of one: anyhook history show --event {hits[0].id}", style="dim")
    _print_limit(out, len(hits), limit)
    return OK


def _print_limit(out: Console, number: int, limit: int) -> None:
    """Print that there may be more than the rows that are shown."""
    if number == limit:
        out.print(f"Only the newest {limit} are shown; for more: --limit {limit * 4}", style="dim")


def _hit_text(event: RecordedEvent, words: str) -> Text:
    """Return what an event was about, and the words that were searched with their surroundings."""
    subject = subject_of(event)[:MAX_HIT]
    hit = printable(hit_of(event, words, MAX_HIT))
    text = Text(subject)
    searched = [word.strip('"*') for word in words.split()]
    shows_all = all(word.lower() in subject.lower() for word in searched)
    if hit and not shows_all and hit.strip("…") not in subject:
        text.append(f"\n{hit}", style="dim")
    text.highlight_words(searched, "bold", case_sensitive=False)
    return text


def _event_json(event: RecordedEvent) -> dict[str, Any]:
    """Return an event for programs."""
    results = []
    for result in event.results:
        words = {"outcome": result.verdict, "trouble": result.trouble or None}
        results.append({**members(result, *RESULT_MEMBERS), **words})
    words = {"outcome": event.verdict, "reason": event.reason or None}
    return {**members(event, *EVENT_MEMBERS), **words, "results": results}
