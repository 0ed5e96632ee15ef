"""`anyhook backtest` and `anyhook history replay`: what hooks would have decided on past events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.backtest.evaluation import RECORDED, Evaluation, evaluate
from anyhook.backtest.project import find_engine
from anyhook.backtest.report import report_json
from anyhook.backtest.run import TIMEOUT, BacktestProgress, BacktestRun, run_backtest
from anyhook.backtest.sources import Part, parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.backtest_view import print_report
from anyhook.cli.event_filters import (
    check_agent,
    note_on_tool,
    open_history,
    print_no_events,
    print_notes,
    with_recorded_names,
)
from anyhook.cli.history import EventName, SessionArgument, SessionName, Tool
from anyhook.cli.options import (
    AsJson,
    HtmlFile,
    Since,
    TrustOnce,
    Yes,
    extra_required,
    read_directory,
    write_page,
)
from anyhook.cli.output import console, print_json
from anyhook.cli.render import confirm, print_problems, progress
from anyhook.cli.sandboxed import confirm_limits, sandbox_text
from anyhook.errors import UnknownNameError, UsageError
from anyhook.history.describe import parse_since
from anyhook.history.filters import Filter
from anyhook.history.sessions import find_session, sessions
from anyhook.interrupts import INTERRUPTED
from anyhook.journal.lines import history_directory
from anyhook.manage.paths import show_path
from anyhook.manage.scope import existing_project
from anyhook.model.definitions import each_handler, handlers_of, unique_labels
from anyhook.model.events import all_events
from anyhook.model.text import count_of
from anyhook.page.kept import describe, keep_report

if TYPE_CHECKING:
    from anyhook.history.store import History

FAIL_ON = ("new-deny", "any-change")

HookFileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[HOOK.py]", help="A hook file. Default: the hooks of a project."),
]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        "-C",
        metavar="DIR",
        parser=read_directory,
        help="The hooks of this project's settings.",
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="PATH",
        help="Files with events, transcripts or conversations in place of the history: JSON lines, "
        "Parquet, directories, s3://…; may be repeated.",
    ),
]
Against = Annotated[
    str,
    typer.Option(
        "--against",
        metavar="OTHER",
        help="Compare with another hook file or project, git:REVISION, or recorded: what was "
        "decided then.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=0, help="Processes. Default: one per processor.")
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="Run on this Ray cluster; `auto` or `local` work, too."
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.01, help="Seconds after which an event timed out.")
]


def backtest(
    hook: HookFileArgument = None,
    project: ProjectOption = None,
    on: On = None,
    against: Against = "",
    since: Since = "",
    agent: Annotated[str, typer.Option("--agent", help="Only events of this agent.")] = "",
    event: EventName = "",
    tool: Tool = "",
    session: SessionName = "",
    where: Annotated[
        str, typer.Option("--where", metavar="WORDS", help="Only events with all of these words.")
    ] = "",
    refused: Annotated[
        bool,
        typer.Option("--refused", help="Only calls that an agent, its user or a hook refused."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every decided event and every change.")
    ] = False,
    fail_on: Annotated[
        str, typer.Option("--fail-on", help="Exit with 1 on new-deny or any-change.")
    ] = "",
    jobs: Jobs = 0,
    ray: Ray = None,
    timeout: Timeout = TIMEOUT,
    yes: Yes = False,
    trust_once: TrustOnce = False,
    html: HtmlFile = None,
    as_json: AsJson = False,
) -> int:
    """Show what hooks would have decided on past events.

    Hooks run in a sandbox, where they change nothing of yours and reach no network; those of a
    project after a question. Each session begins in a new process. Ctrl-C ends the run with the
    report of what is done.

    For example:

        anyhook backtest guard.py --since 90d
        anyhook backtest guard.py --against git:HEAD --fail-on new-deny
        anyhook backtest --project . --against recorded
        anyhook backtest guard.py --on trajectories.parquet --where "pip install"
        anyhook backtest guard.py --against git:HEAD --html report.html
    """
    if fail_on and fail_on not in FAIL_ON:
        raise UsageError(f"--fail-on takes {' or '.join(FAIL_ON)}, not {fail_on!r}")
    if on and against == RECORDED:
        raise UsageError("--against recorded compares with the history; leave out --on")
    if fail_on and not against:
        raise UsageError("--fail-on compares: add --against, like --against git:HEAD")
    _check_hook(hook, project)
    directory = history_directory()
    with open_history() as store:
        named = Filter(
            since=parse_since(since),
            agent=agent,
            tool=tool,
            event=event,
            session=session,
            text=where,
            refused=refused,
        )
        chosen = with_recorded_names(named, store)
        if chosen.event and chosen.event not in all_events():
            raise UnknownNameError("event", chosen.event, all_events())
        parts = _parts(on, directory, chosen)
        if not parts:
            options = {}
            if on or sessions(store, limit=1):
                names = ("since", "agent", "event", "tool", "session", "refused")
                options = {f"--{name}": bool(getattr(chosen, name)) for name in names}
                options |= {"--where": bool(where), "--on": bool(on)}
            print_no_events(console(stderr=True), options, what="event")
            _print_tool_note(chosen)
            return PROBLEMS
        subject = _subject(hook, project, agent, yes=yes, trust_once=trust_once)
        evaluation = _run(store, subject, parts, against, chosen, timeout, jobs, ray)
    if not evaluation.run.result.total:
        _print_tool_note(chosen)
    keep_report(directory, report_json(evaluation.run, evaluation.comparison), describe(chosen, on))
    if html is not None:
        with extra_required("--html"):
            from anyhook.page.report import backtest_report
        write_page(html, backtest_report(evaluation))
    return _report(evaluation, fail_on, as_json=as_json, everything=everything)


def replay(
    session: SessionArgument = "last",
    hook: Annotated[
        Path | None, typer.Option("--hook", metavar="HOOK.py", help="Only this hook file.")
    ] = None,
    project: ProjectOption = None,
    agent: Annotated[str, typer.Option("--agent", help="The agent of the session.")] = "",
    timeout: Timeout = TIMEOUT,
    yes: Yes = False,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Decide the events of a session again, and show what is decided differently today.

    Without --hook, the hooks of the session's project run. Exits with 1 if something differs.

    For example:

        anyhook history replay last
        anyhook history replay 4f1c --hook guard.py
    """
    check_agent(agent)
    _check_hook(hook, project)
    directory = history_directory()
    with open_history() as store:
        recorded = find_session(store, session, agent)
        if hook is None and project is None and recorded.project:
            project = Path(recorded.project)
        subject = _subject(hook, project, recorded.agent, yes=yes, trust_once=trust_once)
        chosen = Filter(agent=recorded.agent, session=recorded.session)
        parts = list(parts_of_history(directory, chosen))
        evaluation = _run(store, subject, parts, RECORDED, chosen, timeout)
    return _report(evaluation, "any-change", as_json=as_json)


def _check_hook(hook: Path | None, project: Path | None) -> None:
    """Check what is to be evaluated, before the history is looked at."""
    if hook is None:
        return
    if project is not None:
        raise UsageError("give a hook file or --project, not both")
    if not hook.is_file():
        raise UsageError(f"there is no file {str(hook)!r}")
    if hook.suffix not in ("", ".py"):
        raise UsageError(
            f"{str(hook)!r} is not a Python file; --project runs the commands of a project's "
            "settings, in any language"
        )


def _subject(
    hook: Path | None, project: Path | None, preferred_agent: str, *, yes: bool, trust_once: bool
) -> BacktestSubject:
    """Return what is evaluated; the commands of a project need the user's consent.

    The hooks of the preferred agent, if one is named, count if a project has some of several.
    """
    if hook is not None:
        confirm_limits(is_agreed=yes)
        return BacktestSubject(str(hook.resolve()), show_path(str(hook)))
    directory = existing_project(project or Path())
    subject = BacktestSubject(str(directory), show_path(str(directory)))
    engine, has_recorder = find_engine(subject, directory, preferred_agent)
    if not engine.definitions:
        which = (
            "no hooks but the recorder of anyhook history record" if has_recorder else "no hooks"
        )
        raise UsageError(f"{subject.title} has {which}; give a hook file or --project")
    if has_recorder:
        console(stderr=True).print(
            "The recorder of anyhook history record is left out: it decides nothing."
        )
    confirm_limits(is_agreed=yes)
    is_trusted = not engine.guard.changes()
    is_agreed = trust_once or (yes and is_trusted)
    out = console(stderr=True)
    handlers = handlers_of(engine.definitions)
    out.print(
        f"{count_of(len(handlers), 'hook')} of {subject.title} will run on past events, "
        f"{sandbox_text()}:"
    )
    labels = unique_labels(handlers)
    for definition, handler in each_handler(engine.definitions):
        out.print(f"  {labels[id(handler)]}  {definition.event}")
    option = "--yes" if is_trusted else "--trust-once, because you have not trusted them"
    instead = f"to run these hooks, add {option}"
    if not confirm("Run them?", is_agreed=is_agreed, instead=instead, err=True):
        raise UsageError("nothing was run")
    return BacktestSubject(str(directory), subject.title, engine.agent.name, trusted=True)


def _parts(on: list[str] | None, directory: str, chosen: Filter) -> list[Part]:
    if not on:
        return list(parts_of_history(directory, chosen))
    from anyhook.backtest.files import parts_of_files

    problems: list[str] = []
    parts: list[Part] = list(parts_of_files(on, chosen, on_problem=problems.append))
    print_problems(problems)
    return parts


def _print_tool_note(chosen: Filter) -> None:
    note = note_on_tool(chosen.tool)
    if note is not None:
        print_notes([note])


def _run(
    store: History,
    subject: BacktestSubject,
    parts: Sequence[Part],
    against: str,
    chosen: Filter,
    timeout: float,
    jobs: int = 1,
    ray: str | None = None,
) -> Evaluation:
    def run_one(hooks: BacktestSubject) -> BacktestRun:
        with progress(hooks.title) as bar:

            def show(state: BacktestProgress) -> None:
                text = f"{state.done}/{state.parts}  {state.rate:,.0f} events/s"
                if state.remaining is not None:
                    text += f", {state.remaining:.0f} s left"
                bar.show(state.done, state.parts, text)

            executor = None
            if ray is not None:
                from anyhook.backtest.on_ray import RayExecutor

                executor = RayExecutor(hooks, ray, timeout=timeout)
            return run_backtest(
                hooks,
                parts,
                jobs=jobs or None,
                timeout=timeout,
                executor=executor,
                on_progress=show,
            )

    return evaluate(store, subject, against, chosen, run_one)


def _report(
    evaluation: Evaluation, fail_on: str, *, as_json: bool, everything: bool = False
) -> int:
    run, comparison = evaluation.run, evaluation.comparison
    print_problems(run.result.problems, run.result.problem_count)
    if as_json:
        print_json(report_json(run, comparison))
    else:
        print_report(console(), run, comparison, everything=everything)
    if not run.is_complete:
        return INTERRUPTED
    if comparison is None:
        return OK
    differences = comparison.new_denials if fail_on == "new-deny" else comparison.changes
    has_failed = fail_on and differences
    return PROBLEMS if has_failed else OK
