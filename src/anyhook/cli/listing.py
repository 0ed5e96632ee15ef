"""`anyhook list`: the hooks of every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.agents.entry import load_object
from anyhook.cli import OK
from anyhook.cli.colors import BAD, CAUTION, HEADING, STATES
from anyhook.cli.options import HERE, AgentName, AsJson, Project, print_no_hooks, print_project
from anyhook.cli.output import console, health_members, members, print_json
from anyhook.cli.render import WIDE, health_text, make_table, print_diagnostics, show_place
from anyhook.engine.absent import NOT_READ
from anyhook.manage.health import Health, HealthWord, HookHealth, health
from anyhook.manage.hooks import UNTRUSTED, HookRow, hook_rows, split_recorder
from anyhook.manage.scope import scope_of
from anyhook.model.diagnostics import Diagnostic, Severity
from anyhook.model.text import printable
from anyhook.settings.detect import trust_command
from anyhook.trust.native import RUNNING, native_states

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HookDefinition


FOLDED = ("matcher", "about")
"""Columns whose texts may be folded; a name or a place in pieces cannot be copied."""
MIN_MATCHER = 10
COLUMN_GAP = 2


def list_hooks(project: Project = HERE, agent: AgentName = None, as_json: AsJson = False) -> int:
    """List the hooks of every agent with their state, health and place.

    A hook is on, a shadow (it runs and does not decide), off, not trusted, or changed since it was
    trusted. It works if it was seen to do its work: in a probe, in the history or in a test. In
    a terminal that is too narrow for them, timeouts and descriptions are left out.

    For example:

        anyhook list
        anyhook list --project ~/code/app --json
    """
    scope = scope_of(project, agent)
    engines = list(scope.engines(default=True))
    if as_json:
        err = console(stderr=True)
        items: list[dict[str, Any]] = []
        for engine in engines:
            engine_health = health(engine)
            items += [_hook_json(engine, row, engine_health.of(row)) for row in hook_rows(engine)]
            _print_errors(err, engine)
        print_json(items)
        return OK
    out = console()
    print_project(out, scope.project)
    has_rows = has_unread = False
    changed: dict[Diagnostic, None] = {}
    for engine in engines:
        rows = hook_rows(engine)
        engine_health = health(engine)
        changed.update(dict.fromkeys(engine_health.changed))
        if rows:
            has_rows = True
            if len(engines) > 1:
                out.print(Text(engine.agent.title, style="bold"))
            _print_hooks(out, engine, rows, engine_health)
        has_unread |= any(problem.code in NOT_READ for problem in engine.hooks.diagnostics)
        _print_errors(out, engine)
    if not has_rows:
        print_no_hooks(out, scope, is_read=not has_unread)
    print_diagnostics(out, changed, scope.project)
    return OK


def _hook_json(engine: Engine, row: HookRow, hook_health: HookHealth | None) -> dict[str, Any]:
    handler = row.handler
    hook = {
        "agent": engine.agent.name,
        "name": row.label,
        "identifier": handler.shown_identifier,
        "health": health_members(hook_health),
        "command": handler.command or handler.argv or None,
        "extension": handler.origin,
        "timeout_ms": round(handler.timeout * 1000),
        **members(row, "event", "state", "switched_off_by"),
        **members(handler, "kind", "description", "layer"),
        **members(handler.place, "file", "line", "column"),
        **members(row.definition, "matcher", "sequential"),
    }
    if row.native is not None:
        hook["native_trust"] = row.native
    return hook


def _print_errors(out: Console, engine: Engine) -> None:
    """Print why hooks of settings files are missing in the list."""
    diagnostics = (*engine.hooks.diagnostics, *engine.disabled.problems)
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    print_diagnostics(out, errors, engine.project_dir)


def _print_hooks(out: Console, engine: Engine, rows: list[HookRow], engine_health: Health) -> None:
    """Print the hooks of an agent, why some do not run or work, and what to do about it."""
    # The recorder, which runs on every event, has one line for all of them.
    others, recorder = split_recorder(rows)
    if others:
        out.print(_table(out, engine, others, engine_health))
    if recorder is not None:
        text = f"and the recorder on {recorder.event}; see: anyhook history record status"
        out.print(Text(text, style="dim"))
    print_broken(out, engine, engine_health)
    labels_by_switch: dict[str, list[str]] = {}
    for row in rows:
        if row.switched_off_by:
            labels_by_switch.setdefault(row.switched_off_by, []).append(row.label)
    for switch, labels in labels_by_switch.items():
        names = ", ".join(dict.fromkeys(labels))
        out.print(Text.assemble(("off", "dim"), f"  {switch} switches off: {names}"))
    if any(row.state in UNTRUSTED for row in rows):
        command = trust_command(engine.agent.name, engine.project_dir)
        out.print(Text.assemble(("not trusted", CAUTION), f"  review them with: {command}"))
    print_native(out, engine, rows)


def print_broken(out: Console, engine: Engine, engine_health: Health) -> None:
    """Print which hooks cannot do their work, and why, each reason once."""
    by_reason: dict[str, list[HookHealth]] = {}
    for hook in engine_health.hooks:
        if hook.word is HealthWord.BROKEN:
            by_reason.setdefault(hook.evidence, []).append(hook)
    for reason, hooks in by_reason.items():
        names = ", ".join(dict.fromkeys(hook.row.label for hook in hooks))
        # The places of several hooks are in the table.
        place = show_place(hooks[0].place, engine.project_dir) if len(hooks) == 1 else ""
        line = Text.assemble(("broken", BAD), f"  {names}: {reason}  ", (place, "dim"))
        out.print(line, soft_wrap=True)


def _table(out: Console, engine: Engine, rows: list[HookRow], engine_health: Health) -> Table:
    if out.width < WIDE:
        return _narrow_table(rows, engine_health)
    headings = ["event", "hook", "matcher", "state", "health", "timeout", "layer", "place"]
    has_descriptions = any(row.handler.description for row in rows)
    if has_descriptions:
        headings.append("about")
    table = make_table(*headings, no_wrap=[name for name in headings if name not in FOLDED])
    widths = {name: len(name) for name in headings if name not in FOLDED}
    previous_event = ""
    for row in rows:
        # An event is named above its first hook.
        event = "" if row.event == previous_event else row.event
        handler = row.handler
        layer = f"{handler.layer} {printable(handler.origin or '')}".rstrip()
        cells = [
            Text(event, style=HEADING),
            Text(row.label, style="bold"),
            Text(_matcher(row.definition)),
            Text(row.state, style=STATES[row.state]),
            health_text(engine_health.of(row)),
            Text(f"{handler.timeout:g} s", style="dim"),
            Text(layer, style="dim"),
            Text(show_place(handler.place, engine.project_dir), style="dim"),
        ]
        if has_descriptions:
            cells.append(Text(printable(handler.description or ""), style="dim"))
        table.add_row(*cells)
        for name, cell in zip(headings, cells, strict=True):
            if name in widths:
                widths[name] = max(widths[name], cell.cell_len)
        previous_event = row.event
    needed = sum(width + COLUMN_GAP for width in widths.values()) + MIN_MATCHER
    return table if needed <= out.width else _narrow_table(rows, engine_health)


def _narrow_table(rows: list[HookRow], engine_health: Health) -> Table:
    """Return a table for 80 columns: the name of an event stands above its hooks."""
    no_wrap = ("hook", "state", "health", "place")
    table = make_table("hook", "matcher", "state", "health", "place", no_wrap=no_wrap)
    previous_event = ""
    for row in rows:
        event = row.event
        if event != previous_event:
            table.add_row(Text(event, style=HEADING))
        table.add_row(
            Text(f"  {row.label}", style="bold"),
            Text(_matcher(row.definition)),
            Text(row.state, style=STATES[row.state]),
            health_text(engine_health.of(row)),
            Text(f"{row.handler.layer} {show_place(row.handler.place, short=True)}", style="dim"),
        )
        previous_event = event
    return table


def _matcher(definition: HookDefinition) -> str:
    matcher = printable(definition.matcher or "*")
    return f"{matcher} (in order)" if definition.sequential else matcher


def print_native(out: Console, engine: Engine, rows: list[HookRow]) -> None:
    """Print which hooks the agent itself does not run, because it does not trust them."""
    labels_by_state: dict[str, list[str]] = {}
    for row in rows:
        if row.native is not None and row.native not in RUNNING:
            labels_by_state.setdefault(row.native, []).append(row.label)
    for state, labels in labels_by_state.items():
        names = ", ".join(dict.fromkeys(labels))
        text = f"  {state} in {engine.agent.title}, which does not run them: {names}"
        out.print(Text.assemble(("!", CAUTION), text))
    native = native_states(engine.agent, engine.hooks) if labels_by_state else None
    if native is not None:
        out.print(Text(f"   {native.review}"))


def print_native_trust(out: Console, agent: AgentSpec) -> None:
    """Print what an agent with a trust of its own needs before it runs new hooks."""
    if agent.settings.native_trust:
        review = load_object(agent.settings.native_trust).review
        text = f"{agent.title} runs new and changed hooks only after you trust them: {review}"
        out.print(text, soft_wrap=True)
