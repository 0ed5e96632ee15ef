"""A fired event for people: a timeline of its hooks, what the agent does, and who set what."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from anyhook.authoring.inspect import scan
from anyhook.cli.output import WIDE, make_table, print_diagnostics, show_place
from anyhook.cli.verdict import Verdict, verdicts_by_rules
from anyhook.engine.compare import Difference, differences
from anyhook.engine.hook_files import files_of
from anyhook.engine.not_run import (
    NotRun,
    events_with_hooks,
    hooks_that_did_not_run,
    unknown_tool,
    why_not_decided,
)
from anyhook.manage.hooks import configured_handlers
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Status
from anyhook.model.definitions import unique_labels
from anyhook.model.diagnostics import Severity
from anyhook.model.text import printable, shorten
from anyhook.settings.detect import agents_with_hooks

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.authoring.inspect import Use
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Blame, Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

BAR_WIDTH = 24
NARROW_BAR_WIDTH = 8

OUTCOME_STYLE = {
    Outcome.DENY: "bold red",
    Outcome.ASK: "bold yellow",
    Outcome.DEFER: "bold yellow",
    Outcome.ALLOW: "bold green",
    Outcome.NONE: "dim",
}
STATUS_STYLE = {
    Status.WARNED: "yellow",
    Status.FAILED: "red",
    Status.TIMED_OUT: "magenta",
    Status.WITHHELD: "yellow",
    Status.SKIPPED: "dim",
    Status.STARTED: "cyan",
}
STATUS_TEXT = {
    Status.WARNED: "warning",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "timed out",
    Status.WITHHELD: "not trusted",
    Status.SKIPPED: "skipped",
    Status.STARTED: "in the background",
}
EFFECT_TEXT = {
    "tool_input": "rewrites the input",
    "context": "adds context",
    "system_message": "shows the user a message",
    "llm_request": "changes the request",
    "llm_response": "changes the response",
    "tool_config": "filters tools",
    "clear_context": "clears the context",
    "tail_tool_call": "calls a tool",
    "tool_output": "replaces the result",
    "extra": "sets other fields",
}
"""Fields of an answer besides its outcome."""
HEADLINE_FIELDS = frozenset({"outcome", "stop", "approve"})
"""Fields of a decision that the verdicts show."""
PROSE_FIELDS = frozenset({"reason", "context", "system_messages"})
"""Fields of a decision that hold text for people, which is printed without quotes."""


def print_timeline(
    out: Console,
    engine: Engine,
    event: Event,
    decision: Decision,
    notes: tuple[Diagnostic, ...] = (),
) -> None:
    """Print a fired event.

    Args:
        out: Where to print.
        engine: The engine that dispatched the event.
        event: The event as it was dispatched.
        decision: Its decision.
        notes: Diagnostics about the payload of the event.
    """
    spec = engine.agent.by_canonical[event.name]
    heading = Text(f"\n{spec.wire}", style="bold")
    subject = getattr(event, spec.subject) if spec.subject else None
    if subject:
        heading.append(f"  {printable(str(subject))}", style="not bold cyan")
    out.print(heading)
    unknown = unknown_tool(engine, event)
    if unknown is not None:
        out.print(Text.assemble(("unknown tool", "yellow"), f"  {unknown}"))
    skipped = hooks_that_did_not_run(engine, event, decision)
    if decision.results or skipped:
        out.print(_timeline(out, engine, event, decision, skipped))
    elif not decision.blame:
        out.print(_no_hooks_text(engine, spec.wire))
    changes = differences(engine, event, decision)
    out.print(_verdict_table(engine, verdicts_by_rules(engine, event, decision, changes)))
    not_decided = why_not_decided(engine, decision)
    if not_decided is not None:
        remedy = f"{not_decided.remedy}; for one run: anyhook fire … --trust-once"
        out.print(Text.assemble(("to decide it", "bold"), f"  {remedy}"))
    fields = _field_table(decision)
    if fields.row_count:
        out.print(fields)
    for difference in changes:
        _print_difference(out, difference)
    diagnostics = (*notes, *decision.diagnostics)
    problems = [d for d in diagnostics if d.severity is not Severity.INFO]
    print_diagnostics(out, problems, engine.project_dir)


def print_background_results(out: Console, results: list[HandlerResult]) -> None:
    """Print the answers of hooks that ran in the background."""
    out.print(Text("in the background", style="bold"))
    for result in results:
        out.print(Text(f"  {result.handler.label}  ").append_text(_answer(result)))
        for text in (result.answer.context, result.answer.system_message):
            if text:
                out.print(Text(f"    {_one_line(text)}", style="dim"))


def _no_hooks_text(engine: Engine, event: str) -> Text:
    events = events_with_hooks(engine)
    if events:
        configured = f"hooks are configured on: {', '.join(events)}"
        return Text(f"  no hook is configured on {event}; {configured}", style="dim")
    text = Text(f"  no hook is configured on {event}; no hook is configured at all", style="dim")
    agents = agents_with_hooks(engine.project_dir, environ=engine.environ)
    titles = [settings.title for settings in agents if settings.agent != engine.agent.name]
    if titles:
        text.append(f"; {', '.join(titles)} has hooks here", style="yellow")
    return text


# -- the hooks


def _timeline(
    out: Console, engine: Engine, event: Event, decision: Decision, skipped: list[NotRun]
) -> Table:
    width = BAR_WIDTH if out.width >= WIDE else NARROW_BAR_WIDTH
    table = make_table("hook", "place", "time", "", "answer", no_wrap=("hook", "place", "time", ""))
    table.columns[0].overflow = "ellipsis"
    table.columns[3].justify = "right"
    total = max((result.started + result.duration for result in decision.results), default=0.0)
    labels = unique_labels(configured_handlers(engine))
    for result in decision.results:
        name = labels.get(id(result.handler), result.handler.label)
        label = Text(f"  {name}{_function_of(engine, event, result.handler)}")
        place = Text(show_place(result.handler.place, short=True), style="dim")
        bar = _bar(result, total or 1.0, width)
        duration = Text(f"{result.duration * 1000:.0f} ms", style="dim")
        table.add_row(label, place, bar, duration, _answer(result))
    for hook in skipped:
        label = Text(f"  {hook.handler.label}", style="dim")
        place = Text(show_place(hook.handler.place, short=True), style="dim")
        reason = Text(f"did not run: {printable(hook.reason)}", style="dim")
        table.add_row(label, place, Text("·" * width, style="dim"), "", reason)
    return table


def _bar(result: HandlerResult, total: float, width: int) -> Text:
    if result.status in (Status.WITHHELD, Status.SKIPPED):
        return Text("·" * width, style="dim")
    # A hook that ends at once still gets one column.
    start = min(round(result.started / total * width), width - 1)
    length = max(round(result.duration / total * width), 1)
    length = min(length, width - start)
    style = STATUS_STYLE.get(result.status, OUTCOME_STYLE[result.answer.outcome])
    rest = width - start - length
    return Text.assemble(("─" * start, "dim"), ("━" * length, style), ("─" * rest, "dim"))


def _answer(result: HandlerResult) -> Text:
    """Return what a hook answered, or how it ended without an answer."""
    if result.status is not Status.RAN:
        return _status(result)
    answer = result.answer
    effects: list[str] = []
    if answer.stop:
        effects.append("stop")
    if answer.outcome is not Outcome.NONE:
        effects.append("approve" if answer.approve else str(answer.outcome))
    effects += [text for field, text in EFFECT_TEXT.items() if getattr(answer, field)]
    if not effects:
        return Text("no opinion", style="dim")
    style = "bold red" if answer.stop else OUTCOME_STYLE[answer.outcome]
    # The whole reason stands below, among the fields of the decision.
    text = Text.assemble((", ".join(effects), style), no_wrap=True, overflow="ellipsis")
    decides = answer.outcome is not Outcome.NONE or answer.stop
    reason = answer.reason or answer.stop_reason
    if decides and reason:
        text.append(f"  {_one_line(reason)}")
    return text


def _status(result: HandlerResult) -> Text:
    text = Text(STATUS_TEXT[result.status], style=STATUS_STYLE[result.status])
    if result.status is Status.WARNED:
        text.append(f" {result.exit_text}")
    if result.status is Status.SKIPPED and result.error:
        text.append(f"  {_one_line(result.error)}")
    return text


def _function_of(engine: Engine, event: Event, handler: HandlerSpec) -> str:
    """Return the function of a hook file that the event reaches, if it is only one."""
    functions = _functions_for(engine, event, handler)
    return f":{functions[0].line} {functions[0].name}" if len(functions) == 1 else ""


def _functions_for(engine: Engine, event: Event, handler: HandlerSpec) -> list[Use]:
    """Return the functions of the hook's file that an event reaches, as far as its text shows."""
    if handler.kind != "command":
        return []
    names = _subject_names(engine, event)
    functions: list[Use] = []
    for path in files_of(engine, handler):
        for use in scan(path):
            is_pattern = any("*" in subject for subject in use.subjects)
            is_for_subject = not use.subjects or is_pattern or not names.isdisjoint(use.subjects)
            if use.event == event.name and is_for_subject:
                functions.append(use)
    return functions


def _subject_names(engine: Engine, event: Event) -> set[str]:
    """Return the agent's name and the canonical names of what an event is about."""
    spec = engine.agent.by_canonical[event.name]
    subject = getattr(event, spec.subject) if spec.subject else None
    if not isinstance(subject, str):
        return set()
    tools = engine.agent.vocabulary.tools
    return {subject, *(name for name, tool in tools.items() if subject in tool.names)}


# -- the decision


def _verdict_table(engine: Engine, found: list[Verdict]) -> Table:
    """Return what the agent does: one row if all rule sets agree, otherwise a row for each."""
    table = Table.grid(padding=(0, 2))
    for verdict in found:
        subject, style, rules = engine.agent.title, "default", ""
        if len(found) > 1:
            style, rules = "bold", f"rules {verdict.rules}"
            subject = f"{subject} ({verdict.release})"
            if verdict.rules == "documented":
                subject = f"by its reference, {engine.agent.title}"
        table.add_row(
            Text("→", style="bold"),
            Text(f" {verdict.word} ", style=verdict.style, no_wrap=True),
            Text(verdict.sentence(subject), style=style),
            Text(rules, style="dim"),
        )
    return table


def _field_table(decision: Decision) -> Table:
    """Return the fields of a decision with the hooks that set them."""
    table = Table.grid(padding=(0, 2))
    for name, blames in decision.blame.items():
        # `tool_input.content` and the like are shown in place of the whole `tool_input`.
        has_parts = any(other.startswith(f"{name}.") for other in decision.blame)
        if name in HEADLINE_FIELDS or has_parts:
            continue
        for blame in blames:
            value = _one_line(blame.value) if name in PROSE_FIELDS else shorten(blame.value)
            readers = _readers(decision, str(blame.value)) if name == "reason" else ""
            text = Text.assemble(value, (f"  {readers}← {_blame_text(blame)}", "dim"))
            table.add_row("", Text(name, style="bold"), text)
    return table


def _readers(decision: Decision, reason: str) -> str:
    """Return who gets a reason, as the decision routes it; empty if nobody does."""
    readers = [m.audience for m in decision.messages if m.field == "reason" and reason in m.text]
    return f"for the {readers[0]}  " if readers else ""


def _blame_text(blame: Blame) -> str:
    text = f"{blame.handler.label} {show_place(blame.handler.place, short=True)}"
    for overridden in blame.overrode:
        owner = overridden.handler.label if overridden.handler else "the event"
        text += f", over {shorten(overridden.value)} of {owner}"
    return text


def _print_difference(out: Console, difference: Difference) -> None:
    """Print where another rule set decides otherwise, besides the verdicts."""
    fields = {
        name: values for name, values in difference.fields.items() if name not in HEADLINE_FIELDS
    }
    if fields or difference.only_here or difference.only_there:
        rest = replace(difference, fields=fields)
        out.print(Text.assemble(("differs", "bold yellow"), f"  {rest}"))


def _one_line(value: object) -> str:
    return shorten(" ".join(str(value).split()))
