"""How a fired event is shown: a timeline of handlers, then the decision field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.cli.output import diagnostic_json, print_diagnostics, show_place
from anyhook.dialects.wire import encode_decision, encode_event
from anyhook.engine.compare import differences
from anyhook.model.answers import Outcome
from anyhook.model.decisions import Status
from anyhook.model.diagnostics import Severity
from anyhook.model.explain import exit_text, shorten
from anyhook.model.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Blame, Decision, HandlerResult
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
    spec = engine.dialect.by_canonical[event.name]
    subject = getattr(event, spec.subject) if spec.subject else None
    out.print()
    shown = f"  {printable(str(subject))}" if subject else ""
    out.print(Text.assemble((spec.wire, "bold"), (shown, "cyan")))
    if decision.results:
        out.print(_timeline(decision, BAR_WIDTH if out.width >= WIDE else NARROW_BAR))
    out.print(_headline(decision))
    fields = _fields(decision)
    if fields.row_count:
        out.print(fields)
    for difference in differences(engine, event, decision):
        out.print(Text.assemble(("differs", "bold yellow"), f"  {difference}"))
    problems = [d for d in (*notes, *decision.diagnostics) if d.severity is not Severity.INFO]
    print_diagnostics(out, problems, engine.project_dir)


def _timeline(decision: Decision, width: int) -> Table:
    table = Table.grid(padding=(0, 2))
    total = max((r.started + r.duration for r in decision.results), default=0.0) or 1.0
    for result in decision.results:
        handler = result.handler
        table.add_row(
            "",
            Text(handler.label, overflow="ellipsis", no_wrap=True),
            Text(show_place(handler.place, short=True), style="dim", no_wrap=True),
            _bar(result, total, width),
            Text(f"{result.duration * 1000:.0f} ms", style="dim", justify="right", no_wrap=True),
            _said(result),
        )
    return table


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
    "system_message": "tells the user",
    "llm_request": "changes the request",
    "llm_response": "changes the response",
    "tool_config": "filters tools",
    "clear_context": "clears the context",
    "tail_tool_call": "calls a tool",
    "tool_output": "replaces the result",
    "extra": "says more",
}


def _headline(decision: Decision) -> Text:
    parts = [("STOP", "bold white on red")] if decision.stop else []
    if decision.outcome is not Outcome.NONE or not decision.stop:
        word = "approve" if decision.approve else str(decision.outcome)
        parts.append((word.upper() if word != "none" else "no decision", _headline_style(decision)))
    text = Text("→ ", style="bold")
    for i, (word, style) in enumerate(parts):
        text.append(" + " if i else "").append(f" {word} ", style=style)
    return text


def _headline_style(decision: Decision) -> str:
    return {
        Outcome.DENY: "bold white on red",
        Outcome.ASK: "bold black on yellow",
        Outcome.DEFER: "bold black on yellow",
        Outcome.ALLOW: "bold black on green",
        Outcome.NONE: "dim",
    }[decision.outcome]


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
    """Show what hooks said that nobody waited for."""
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
    spec = engine.dialect.by_canonical[event.name]
    return {
        "event": encode_event(engine.dialect, event),
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
            "wire": encode_decision(engine.dialect, spec, decision),
            "blame": {
                name: [_blame_json(blame) for blame in blames]
                for name, blames in decision.blame.items()
            },
        },
        "handlers": [_handler_json(result) for result in decision.results],
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
            for difference in differences(engine, event, decision)
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
