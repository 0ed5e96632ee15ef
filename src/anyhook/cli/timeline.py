"""How a fired event is shown: a timeline of handlers, then the decision field by field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.agents.payloads import encode_event
from anyhook.agents.replies import encode_decision
from anyhook.cli.hook_functions import functions_for
from anyhook.cli.output import diagnostic_json, print_diagnostics, show_place
from anyhook.cli.verdict import Verdict, verdicts
from anyhook.engine.compare import Difference, differences
from anyhook.engine.not_run import NotRun, events_with_hooks, hooks_that_did_not_run, unknown_tool
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Status
from anyhook.model.diagnostics import Severity
from anyhook.model.explain import exit_text, shorten
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Blame, Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

BAR_WIDTH = 24
"""Columns of the bars."""
NARROW_BAR = 8
"""The same on a narrow terminal."""
WIDE = 100
"""Columns from which on a terminal is not narrow."""

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
STATUS_WORD = {
    Status.WARNED: "warning",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "timed out",
    Status.WITHHELD: "not trusted",
    Status.SKIPPED: "skipped",
    Status.STARTED: "in the background",
}


def print_timeline(
    out: Console,
    engine: Engine,
    event: Event,
    decision: Decision,
    notes: tuple[Diagnostic, ...] = (),
) -> None:
    """Show one fired event to a person."""
    spec = engine.agent.by_canonical[event.name]
    subject = getattr(event, spec.subject) if spec.subject else None
    out.print()
    shown = f"  {printable(str(subject))}" if subject else ""
    out.print(Text.assemble((spec.wire, "bold"), (shown, "cyan")))
    unknown = unknown_tool(engine, event)
    if unknown is not None:
        out.print(Text.assemble(("unknown tool", "yellow"), f"  {unknown}"))
    skipped = hooks_that_did_not_run(engine, event, decision)
    if decision.results or skipped:
        width = BAR_WIDTH if out.width >= WIDE else NARROW_BAR
        out.print(_timeline(engine, event, decision, skipped, width))
    elif not decision.blame:
        out.print(_no_hooks(engine, spec.wire))
    changes = differences(engine, event, decision)
    _print_verdicts(out, engine, verdicts(engine, event, decision, changes))
    fields = _fields(decision)
    if fields.row_count:
        out.print(fields)
    for difference in changes:
        _print_difference(out, difference)
    problems = [d for d in (*notes, *decision.diagnostics) if d.severity is not Severity.INFO]
    print_diagnostics(out, problems, engine.project_dir)


def _no_hooks(engine: Engine, wire: str) -> Text:
    others = ", ".join(events_with_hooks(engine))
    configured = f"hooks are configured on: {others}" if others else "no hook is configured at all"
    text = Text(f"  no hook is configured on {wire}; {configured}", style="dim")
    agents = agents_with_hooks(engine.project_dir, environ=engine.environ)
    titles = [agent.title for agent in agents if agent.agent != engine.agent.name]
    if titles and not others:
        text.append(f"; {', '.join(titles)} has hooks here", style="yellow")
    return text


def _print_verdicts(out: Console, engine: Engine, found: list[Verdict]) -> None:
    """Show what the agent does: in one line if all rule sets agree, else in a line for each."""
    table = Table.grid(padding=(0, 2))
    for verdict in found:
        subject = engine.agent.title
        if len(found) > 1 and verdict.rules == "documented":
            subject = f"by its reference, {subject}"
        elif len(found) > 1:
            subject = f"{subject} ({verdict.release})"
        table.add_row(
            Text("→", style="bold"),
            Text(f" {verdict.word} ", style=verdict.style, no_wrap=True),
            Text(f"{subject} {verdict.effect}", style="bold" if len(found) > 1 else "default"),
            Text(f"rules {verdict.rules}" if len(found) > 1 else "", style="dim"),
        )
    out.print(table)


HEADLINE_FIELDS = frozenset({"outcome", "stop", "approve"})
"""Fields of a decision that the headline shows."""


def _print_difference(out: Console, difference: Difference) -> None:
    """Show where another rule set decides otherwise, besides the headline."""
    fields = {n: values for n, values in difference.fields.items() if n not in HEADLINE_FIELDS}
    rest = replace(difference, fields=fields)
    if rest.fields or rest.only_here or rest.only_there:
        out.print(Text.assemble(("differs", "bold yellow"), f"  {rest}"))


def _timeline(
    engine: Engine, event: Event, decision: Decision, skipped: list[NotRun], width: int
) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for heading in ("hook", "place", "time", "", "answer"):
        table.add_column(heading, justify="right" if heading == "" else "left")
    total = max((r.started + r.duration for r in decision.results), default=0.0) or 1.0
    for result in decision.results:
        handler = result.handler
        table.add_row(
            Text(f"  {shown_label(engine, event, handler)}", overflow="ellipsis", no_wrap=True),
            Text(show_place(handler.place, short=True), style="dim", no_wrap=True),
            _bar(result, total, width),
            Text(f"{result.duration * 1000:.0f} ms", style="dim", justify="right", no_wrap=True),
            _said(result),
        )
    for absent in skipped:
        table.add_row(
            Text(f"  {absent.handler.label}", style="dim", overflow="ellipsis", no_wrap=True),
            Text(show_place(absent.handler.place, short=True), style="dim", no_wrap=True),
            Text("·" * width, style="dim", no_wrap=True),
            "",
            Text(f"did not run: {printable(absent.reason)}", style="dim"),
        )
    return table


def shown_label(engine: Engine, event: Event, handler: HandlerSpec) -> str:
    """Return the label of a hook, with the function of a hook file that the event reaches."""
    functions = functions_for(engine, event, handler)
    if len(functions) != 1:
        return handler.label
    return f"{handler.label}:{functions[0].line} {functions[0].name}"


def _bar(result: HandlerResult, total: float, width: int) -> Text:
    start = min(round(result.started / total * width), width - 1)
    length = max(round(result.duration / total * width), 1)
    length = min(length, width - start)
    if result.status in (Status.WITHHELD, Status.SKIPPED):
        return Text("·" * width, style="dim", no_wrap=True)
    style = STATUS_STYLE.get(result.status, OUTCOME_STYLE[result.answer.outcome])
    rest = width - start - length
    return Text.assemble(
        ("─" * start, "dim"), ("━" * length, style), ("─" * rest, "dim"), no_wrap=True
    )


def _said(result: HandlerResult) -> Text:
    if result.status is not Status.RAN:
        word, style = STATUS_WORD[result.status], STATUS_STYLE[result.status]
        end = exit_text(result) if result.status is Status.WARNED else ""
        text = Text(f"{word} {end}".rstrip(), style=style)
        if result.status is Status.SKIPPED and result.error:
            text.append(f"  {_prose(result.error)}", style="dim")
        return text
    answer = result.answer
    words = ["stop"] if answer.stop else []
    if answer.outcome is not Outcome.NONE:
        words.append("approve" if answer.approve else str(answer.outcome))
    extras = [name for name in _EXTRAS if getattr(answer, name)]
    words += [_EXTRAS[name] for name in extras]
    style = "bold red" if answer.stop else OUTCOME_STYLE[answer.outcome]
    text = Text(", ".join(words) or "no opinion", style=style if words else "dim")
    text.no_wrap, text.overflow = True, "ellipsis"
    why = answer.reason or answer.stop_reason
    decided = answer.outcome is not Outcome.NONE or answer.stop
    return text.append(f"  {_prose(why)}", style="default not bold") if why and decided else text


_EXTRAS = {
    "tool_input": "rewrites the input",
    "context": "adds context",
    "system_message": "shows the user a message",
    "llm_request": "changes the request",
    "llm_response": "changes the response",
    "tool_config": "filters tools",
    "clear_context": "clears the context",
    "tail_tool_call": "calls a tool",
    "tool_output": "replaces the result",
    "extra": "says more",
}


def _fields(decision: Decision) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, blames in decision.blame.items():
        if name in ("outcome", "stop", "approve") or _has_parts(decision, name):
            continue
        for blame in blames:
            value = _prose(blame.value) if name in _PROSE else shorten(blame.value)
            table.add_row(
                "", Text(name, style="bold"), Text(value).append(f"  ← {_who(blame)}", style="dim")
            )
    return table


_PROSE = ("reason", "context", "system_messages")


def _prose(value: object) -> str:
    return shorten(" ".join(str(value).split()))


def _has_parts(decision: Decision, name: str) -> bool:
    return any(other.startswith(f"{name}.") for other in decision.blame)


def _who(blame: Blame) -> str:
    text = f"{blame.handler.label} {show_place(blame.handler.place, short=True)}"
    for lost in blame.overrode:
        owner = lost.handler.label if lost.handler else "the event"
        text += f", over {shorten(lost.value)} of {owner}"
    return text


def print_late(out: Console, results: list[HandlerResult]) -> None:
    """Show the answers of hooks that ran in the background."""
    out.print(Text("in the background", style="bold"))
    for result in results:
        text = Text.assemble("  ", result.handler.label, "  ")
        out.print(text.append(_said(result)))
        for said in (result.answer.context, result.answer.system_message):
            if said:
                out.print(Text(f"    {_prose(said)}", style="dim"))


# -- for programs


def result_json(
    engine: Engine, event: Event, decision: Decision, notes: tuple[Diagnostic, ...] = ()
) -> dict[str, Any]:
    """Return one fired event as programs read it; see `docs/commands.md`."""
    changes = differences(engine, event, decision)
    spec = engine.agent.by_canonical[event.name]
    return {
        "event": encode_event(engine.agent, event),
        "decision": {
            "outcome": str(decision.outcome),
            "stop": decision.stop,
            "approve": decision.approve,
            "reason": decision.reason,
            "context": list(decision.context),
            "system_messages": list(decision.system_messages),
            "suppress_output": decision.suppress_output,
            "tool_input": decision.tool_input,
            "llm_request": decision.llm_request,
            "llm_response": decision.llm_response,
            "tool_config": decision.tool_config,
            "clear_context": decision.clear_context,
            "tail_tool_call": decision.tail_tool_call,
            "tool_output": decision.tool_output,
            "extra": dict(decision.extra),
            "messages": [
                {
                    "audience": str(message.audience),
                    "field": message.field,
                    "text": message.text,
                    "handler": message.handler.label,
                }
                for message in decision.messages
            ],
            "wire": encode_decision(engine.agent, spec, decision),
            "blame": {
                name: [_blame_json(blame) for blame in blames]
                for name, blames in decision.blame.items()
            },
        },
        "handlers": [_handler_json(result) for result in decision.results],
        "did_not_run": [
            {
                "name": absent.handler.label,
                "file": absent.handler.place.file,
                "line": absent.handler.place.line,
                "reason": absent.reason,
            }
            for absent in hooks_that_did_not_run(engine, event, decision)
        ],
        "unknown_tool": unknown_tool(engine, event),
        "verdicts": [
            {
                "rules": verdict.rules,
                "release": verdict.release,
                "outcome": verdict.word,
                "effect": f"{engine.agent.title} {verdict.effect}",
                "denied": verdict.denied,
            }
            for verdict in verdicts(engine, event, decision, changes)
        ],
        "agent": engine.agent.name,
        "rules": engine.rules.name,
        "differences": [
            {
                "rules": difference.rules,
                "release": difference.release,
                "fields": {
                    name: {"here": here, "there": there}
                    for name, (here, there) in difference.fields.items()
                },
                "only_here": list(difference.only_here),
                "only_there": list(difference.only_there),
            }
            for difference in changes
        ],
        "diagnostics": [diagnostic_json(d) for d in (*notes, *decision.diagnostics)],
    }


def _blame_json(blame: Blame) -> dict[str, Any]:
    overrode = [
        {
            "handler": lost.handler.label if lost.handler else None,
            "file": lost.handler.place.file if lost.handler else None,
            "line": lost.handler.place.line if lost.handler else None,
            "value": lost.value,
        }
        for lost in blame.overrode
    ]
    return {
        "handler": blame.handler.label,
        "file": blame.handler.place.file,
        "line": blame.handler.place.line,
        "value": blame.value,
        "overrode": overrode or None,
    }


def _handler_json(result: HandlerResult) -> dict[str, Any]:
    handler = result.handler
    return {
        "name": handler.label,
        "kind": handler.kind,
        "layer": str(handler.layer),
        "file": handler.place.file,
        "line": handler.place.line,
        "status": str(result.status),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "started_ms": round(result.started * 1000, 3),
        "duration_ms": round(result.duration * 1000, 3),
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        "outcome": str(result.answer.outcome),
        "stop": result.answer.stop,
        "error": result.error,
    }
