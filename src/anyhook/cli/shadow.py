"""`anyhook shadow` and `anyhook enable`: let a hook run without deciding, and decide again."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.cli import OK
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.render import make_table
from anyhook.cli.switch import AllHooks, HookName, HookOrAll, load_engine, required_name, switch
from anyhook.history.verdicts import NO_VERDICT
from anyhook.manage.hooks import find_hook
from anyhook.manage.protection import require_user
from anyhook.manage.shadows import EXAMPLES, plan_shadow
from anyhook.model.definitions import HandlerSpec, handlers_of
from anyhook.model.text import count_of, printable, shorten
from anyhook.settings.changes import exclusive_edits

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.history.shadows import ShadowDecisions


@one_at_a_time
def shadow(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a hook run without deciding; record what it would decide.

    The command of a hook file gets the option `--shadow`; any other command is wrapped. Switch
    recording on, too (`anyhook history record on`), to see later what it would have decided.

    For example:

        anyhook shadow guard.py
        anyhook enable guard.py
    """
    if not dry_run:
        require_user()
    engine = load_engine(project, agent, name)
    plan = plan_shadow(engine, find_hook(engine, name), is_shadow=True)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    is_written = apply_changes(plan.changes, options)
    if as_json:
        result = {"name": name, "state": "shadow", "written": is_written}
        print_json({**result, "changed": plan.changed})
        return OK
    out = console()
    if not plan.has_effect:
        out.print(f"{printable(name)!r} is a shadow already")
    elif is_written:
        out.print(f"{printable(name)!r} runs and does not decide")
    if not plan.is_recording:
        out.print("Recording is off. To see what it would have decided: anyhook history record on")
    return OK


def print_decisions(out: Console, name: str, decisions: ShadowDecisions) -> None:
    """Print what a shadow would have decided, with some examples of each decision."""
    if not decisions.counts:
        out.print(f"Nothing is recorded of what {printable(name)!r} would have decided")
        return
    events = count_of(decisions.counts.total(), "event")
    where = f"{events} of {count_of(len(decisions.sessions), 'session')}"
    out.print(f"In {where}, {printable(name)!r} would have decided:")
    table = make_table("decision", "events", "session", "event", "reason")
    has_more = False
    for outcome, count in decisions.counts.most_common():
        examples = decisions.examples[outcome]
        has_more = has_more or (outcome != NO_VERDICT and count > len(examples))
        if outcome == NO_VERDICT or not examples:
            table.add_row(printable(outcome), f"{count:,}", "", "", "")
            continue
        first = (printable(outcome), f"{count:,}")
        for example in examples:
            table.add_row(
                *first,
                printable(example.session[:8]),
                printable(f"{example.event} {example.tool or ''}".strip()),
                shorten(example.reason),
            )
            first = ("", "")
    out.print(table)
    if has_more:
        command = printable(shlex.join(("anyhook", "history", "search", "--hook", name)))
        has_examples = any(decisions.examples.values())
        text = "The newest of each decision. " if has_examples else ""
        out.print(f"{text}All events: {command}", style="dim")


Examples = Annotated[
    int,
    typer.Option(
        "--examples", metavar="N", min=0, help="Decisions of each kind of a shadow that are shown."
    ),
]


def enable(
    name: HookOrAll = None,
    is_all: AllHooks = False,
    project: Project = HERE,
    agent: AgentName = None,
    examples: Examples = EXAMPLES,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Switch a hook on, or let a shadow decide.

    Of a shadow that is on, it shows what it would have decided, and asks. Exits with 1 if the hook
    stays off, because the system layer or a switch for all hooks turns it off.

    For example:

        anyhook enable secret-guard
        anyhook enable settings.json:12 --dry-run
        anyhook enable guard.py --examples 20 --dry-run
        anyhook enable --all
    """
    if not is_all:
        name = required_name(name)
        # Between the two files that another process writes, a hook would be in neither.
        with nullcontext() if dry_run else exclusive_edits():
            is_shadow = bool(_shadows(load_engine(project, agent, name), name))
        if is_shadow:
            options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
            with exclusive_edits() if yes else nullcontext():
                return _let_decide(load_engine(project, agent, name), name, examples, options)
    return switch(name, project, agent, is_all=is_all, is_on=True, dry_run=dry_run, as_json=as_json)


def _shadows(engine: Engine, name: str) -> list[HandlerSpec]:
    """Return the handlers of a hook that are switched on and do not decide."""
    handlers = find_hook(engine, name)
    shadows: list[HandlerSpec] = []
    for handler in handlers_of(engine.definitions):
        is_on = engine.hooks.switched_off(handler) is None
        if handler.shadow and is_on and handler in handlers:
            shadows.append(handler)
    return shadows


def _let_decide(engine: Engine, name: str, examples: int, options: WriteOptions) -> int:
    """Show what a shadow would have decided, ask, and let it decide."""
    plan = plan_shadow(engine, _shadows(engine, name), is_shadow=False, examples=examples)
    decisions = plan.decisions
    if not options.as_json:
        print_decisions(console(), name, decisions)
    is_written = apply_changes(plan.changes, options)
    if options.as_json:
        result = {"name": name, "state": "on", "switched_off_by": None, "written": is_written}
        would_decide = {
            "events": decisions.counts.total(),
            "counts": decisions.counts,
            "examples": list(chain(*decisions.examples.values())),
        }
        print_json({**result, "changed": plan.changed, "would_have_decided": would_decide})
    elif is_written:
        console().print(f"{printable(name)!r} decides from now on")
    return OK
