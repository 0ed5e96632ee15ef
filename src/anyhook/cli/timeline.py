"""A fired event: for people its timeline, verdict and fields, for programs JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.agents.payloads import encode_event
from anyhook.authoring.inspect import Use, scan
from anyhook.cli.colors import ACCENT, CAUTION, OUTCOMES, STATUSES, badge
from anyhook.cli.output import members, place_members
from anyhook.cli.render import (
    RunRow,
    answer_text,
    as_shadow,
    name_text,
    one_line,
    print_diagnostics,
    runs_table,
    show_place,
    status_text,
)
from anyhook.engine.hook_files import files_of
from anyhook.engine.not_run import NotRun, events_with_hooks
from anyhook.journal.records import answer_record
from anyhook.manage.agent_effect import FiredEvent, RulesVerdict
from anyhook.model.decisions import Decision, HandlerResult, Status
from anyhook.model.definitions import HandlerSpec, handlers_of, unique_labels
from anyhook.model.diagnostics import Diagnostic, Severity
from anyhook.model.record import replace
from anyhook.model.text import printable, shorten
from anyhook.settings.detect import agents_with_hooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.model.events import Event
    from anyhook.trust.native import NativeStates


HEADLINE_FIELDS = frozenset({"outcome", "stop", "approve"})
"""Fields of a decision that the verdicts show."""
PROSE_FIELDS = frozenset({"reason", "context", "system_messages"})
"""Fields of a decision that hold text for people, which is printed without quotes."""


def print_timeline(
    out: Console, engine: Engine, fired: FiredEvent, notes: tuple[Diagnostic, ...] = ()
) -> None:
    """Print a fired event; `notes` are about its payload."""
    event, decision = fired.event, fired.decision
    spec = engine.agent.by_canonical[event.name]
    heading = Text(f"\n{spec.wire}", style="bold")
    subject = getattr(event, spec.subject) if spec.subject else None
    if subject:
        heading.append(f"  {printable(str(subject))}", style=f"not bold {ACCENT}")
    out.print(heading)
    if fired.unknown_tool is not None:
        out.print(Text.assemble(("unknown tool", CAUTION), f"  {fired.unknown_tool}"))
    if decision.results or fired.not_run:
        labels = unique_labels(handlers_of(engine.definitions))
        rows = [_run_row(engine, event, result, labels) for result in decision.results]
        for hook in fired.not_run:
            name = labels.get(id(hook.handler), hook.handler.label)
            reason = Text(f"did not run: {printable(hook.reason)}", style="dim")
            rows.append(RunRow(name, show_place(hook.handler.place, short=True), reason))
        out.print(runs_table(out, rows))
    elif not decision.blame:
        out.print(_no_hooks_text(engine, spec.wire))
    out.print(_verdict_table(engine, fired.verdicts))
    if fired.not_decided is not None:
        remedy = fired.not_decided.remedy
        if decision.withheld:
            remedy += "; for one run: anyhook fire … --trust-once"
        out.print(Text.assemble(("to decide it", "bold"), f"  {remedy}"))
    fields = _field_table(decision)
    if fields.row_count:
        out.print(fields)
    for difference in fired.differences:
        # The verdicts show the headline.
        rest = {n: values for n, values in difference.fields.items() if n not in HEADLINE_FIELDS}
        if rest or difference.only_here or difference.only_there:
            others = replace(difference, fields=rest)
            out.print(Text.assemble(("differs", CAUTION), f"  {others}"))
    diagnostics = (*notes, *decision.diagnostics)
    problems = [d for d in diagnostics if d.severity is not Severity.INFO]
    print_diagnostics(out, problems, engine.project_dir)


def print_background_results(out: Console, results: list[HandlerResult]) -> None:
    """Print the answers of hooks that ran in the background."""
    out.print(Text("in the background", style="bold"))
    for result in results:
        out.print(Text(f"  {result.handler.label}  ").append_text(_result_text(result)))
        for text in (result.answer.context, result.answer.system_message):
            if text:
                out.print(Text(f"    {one_line(text)}", style="dim"))


def _no_hooks_text(engine: Engine, event: str) -> Text:
    events = list(events_with_hooks(engine))
    if events:
        configured = f"hooks are configured on: {', '.join(events)}"
        return Text(f"  no hook is configured on {event}; {configured}", style="dim")
    text = Text(f"  no hook is configured on {event}; no hook is configured at all", style="dim")
    agents = agents_with_hooks(engine.project_dir, environ=engine.environ)
    titles = [settings.title for settings in agents if settings.agent != engine.agent.name]
    if titles:
        text.append(f"; {', '.join(titles)} has hooks here", style=CAUTION)
    return text


# -- the hooks


def _run_row(
    engine: Engine, event: Event, result: HandlerResult, labels: Mapping[int, str]
) -> RunRow:
    handler = result.handler
    has_run = result.status not in (Status.WITHHELD, Status.SKIPPED)
    name = labels.get(id(handler), handler.label)
    functions = _functions_for(engine, event, handler)
    if len(functions) == 1:
        name += f":{functions[0].line} {functions[0].name}"
    return RunRow(
        name,
        show_place(handler.place, short=True),
        _result_text(result),
        result.started,
        result.duration if has_run else None,
        STATUSES.get(result.status) or OUTCOMES[result.answer.outcome],
    )


def _result_text(result: HandlerResult) -> Text:
    """Return what a hook answered, or how it ended without an answer."""
    if result.status is Status.RAN:
        if result.handler.shadow:
            return as_shadow(answer_text(answer_record(result.shadow_answer)))
        # The whole reason stands below, among the fields of the decision.
        return answer_text(answer_record(result.answer))
    detail = ""
    if result.status is Status.WARNED:
        detail = result.exit_text
    elif result.status is Status.SKIPPED:
        detail = result.error or ""
    return status_text(result.status, detail)


def _functions_for(engine: Engine, event: Event, handler: HandlerSpec) -> list[Use]:
    """Return the functions of the hook's file that an event reaches, as far as its text shows."""
    if handler.kind != "command":
        return []
    spec = engine.agent.by_canonical[event.name]
    subject = getattr(event, spec.subject) if spec.subject else None
    names: set[str] = set()
    if isinstance(subject, str):
        tools = engine.agent.vocabulary.tools
        names = {subject, *(name for name, tool in tools.items() if subject in tool.names)}
    functions: list[Use] = []
    for path in files_of(engine, handler):
        for use in scan(path):
            is_pattern = any("*" in pattern for pattern in use.subjects)
            is_for_subject = not use.subjects or is_pattern or not names.isdisjoint(use.subjects)
            if use.event == event.name and is_for_subject:
                functions.append(use)
    return functions


# -- the decision


def _verdict_table(engine: Engine, verdicts: list[RulesVerdict]) -> Table:
    """Return what the agent does: one row if all rule sets agree, otherwise a row for each."""
    table = Table.grid(padding=(0, 2))
    for verdict in verdicts:
        subject, style, rules = engine.agent.title, "default", ""
        if len(verdicts) > 1:
            style, rules = "bold", f"rules {verdict.rules}"
            subject = f"{subject} ({verdict.release})"
            if verdict.rules == "documented":
                subject = f"by its reference, {engine.agent.title}"
        table.add_row(
            Text("→", style="bold"),
            Text(
                f" {verdict.word} ",
                style=badge(OUTCOMES.get(verdict.outcome, CAUTION)),
                no_wrap=True,
            ),
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
            text = Text(shorten(blame.value))
            if name in PROSE_FIELDS:
                # What to do instead is often at the end of a reason.
                text = Text(name_text(str(blame.value)))
            if name == "reason":
                reason = str(blame.value)
                messages = [m for m in decision.messages if m.field == name and reason in m.text]
                if messages:
                    text.append(f"  for the {messages[0].audience}", style="dim")
            handler = blame.handler
            text.append(f"  ← {handler.label} {show_place(handler.place, short=True)}", "dim")
            for overridden in blame.overrode:
                owner = overridden.handler.label if overridden.handler else "the event"
                text.append(f", over {shorten(overridden.value)} of {owner}", style="dim")
            table.add_row("", Text(name, style="bold"), text)
    return table


# -- for programs

DECISION = (
    *("outcome", "stop", "approve", "reason", "context", "system_messages", "suppress_output"),
    *("tool_input", "llm_request", "llm_response", "tool_config", "clear_context"),
    *("tail_tool_call", "tool_output", "extra"),
)
"""Members of a decision that are written as they are."""
RESULT = ("status", "exit_code", "signal", "timed_out", "stdout", "stderr", "truncated", "error")


def fired_event_json(
    engine: Engine,
    fired: FiredEvent,
    diagnostics: tuple[Diagnostic, ...],
    native: NativeStates | None,
) -> dict[str, Any]:
    """Return a fired event with its decision, and diagnostics about the settings and the payload.

    `native` is `None` if the agent keeps no record of how far it trusts its hooks.
    """
    event, decision, not_decided = fired.event, fired.decision, fired.not_decided
    why: dict[str, Any] | None = None
    if not_decided is not None:
        why = {
            "reason": not_decided.text,
            "hooks": [_not_run(hook, native) for hook in not_decided.hooks],
            "remedy": not_decided.remedy,
        }
    verdicts = []
    for verdict in fired.verdicts:
        parts = members(verdict, "rules", "release", "decided", "denied")
        effect = verdict.sentence(engine.agent.title)
        verdicts.append({**parts, "outcome": verdict.word, "effect": effect})
    difference_members = []
    for difference in fired.differences:
        parts = members(difference, "rules", "release", "only_here", "only_there")
        fields = {}
        for name, (own_value, other_value) in difference.fields.items():
            fields[name] = {"here": own_value, "there": other_value}
        difference_members.append({**parts, "fields": fields})
    return {
        "event": encode_event(engine.agent, event),
        "decided": not_decided is None,
        "not_decided": why,
        "decision": _decision(engine, event, decision),
        "handlers": [_result(result, native) for result in decision.results],
        "did_not_run": [_not_run(hook, native) for hook in fired.not_run],
        "unknown_tool": fired.unknown_tool,
        "verdicts": verdicts,
        "agent": engine.agent.name,
        "rules": engine.rules.name,
        "differences": difference_members,
        "diagnostics": [*diagnostics, *decision.diagnostics],
    }


def _decision(engine: Engine, event: Event, decision: Decision) -> dict[str, Any]:
    blame: dict[str, list[dict[str, Any]]] = {}
    for name, blames in decision.blame.items():
        blame[name] = []
        for entry in blames:
            overrode = []
            for overridden in entry.overrode:
                owner = overridden.handler
                label, place = (owner.label, owner.place) if owner else (None, None)
                parts = {"handler": label, **place_members(place)}
                overrode.append({**parts, "value": overridden.value})
            parts = {"handler": entry.handler.label, **place_members(entry.handler.place)}
            blame[name].append({**parts, "value": entry.value, "overrode": overrode or None})
    messages = []
    for message in decision.messages:
        parts = members(message, "audience", "field", "text")
        messages.append({**parts, "handler": message.handler.label})
    return {
        **members(decision, *DECISION),
        "messages": messages,
        "wire": engine.reply(event, decision),
        "blame": blame,
    }


def _native(handler: HandlerSpec, native: NativeStates | None) -> dict[str, str]:
    """Return how far the agent itself trusts a hook, under the name that `list --json` has."""
    state = native.of(handler) if native is not None else None
    return {} if state is None else {"native_trust": state}


def _result(result: HandlerResult, native: NativeStates | None) -> dict[str, Any]:
    handler = result.handler
    return {
        "name": handler.label,
        **members(handler, "kind", "layer"),
        **place_members(handler.place),
        **members(result, *RESULT),
        **members(result.answer, "outcome", "stop"),
        "started_ms": round(result.started * 1000, 3),
        "duration_ms": round(result.duration * 1000, 3),
        **_native(handler, native),
    }


def _not_run(hook: NotRun, native: NativeStates | None) -> dict[str, Any]:
    handler = hook.handler
    return {
        "name": handler.label,
        **place_members(handler.place),
        "reason": hook.reason,
        **_native(handler, native),
    }
