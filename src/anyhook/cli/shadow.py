"""`anyhook shadow` and `anyhook promote`: hooks that run and do not decide, and their way back."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from anyhook.agents.spec import PlainText
from anyhook.cli import OK
from anyhook.cli.editing import Edit, WriteOptions, read_text, write_edits
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, count_of, make_table, print_json
from anyhook.cli.past import open_store
from anyhook.cli.record_settings import TAP_MARK
from anyhook.cli.switch import HookName, load_engine
from anyhook.cli.switching import EDITABLE_LAYERS, find_hook
from anyhook.engine.hook_files import files_of
from anyhook.errors import HistoryError, SettingsError, UsageError
from anyhook.history.ingest import ingest
from anyhook.history.journal import history_directory, is_recording
from anyhook.history.store import FILE
from anyhook.model.layers import Layer
from anyhook.model.text import printable, shorten
from anyhook.probe.overlay import replace_values
from anyhook.probe.tap_settings import TAP, iter_hooks, line_keys
from anyhook.settings.formats import parse_settings
from anyhook.settings.kept import kept_hooks
from anyhook.settings.write import stay_inside
from anyhook.shell.tapped import (
    HISTORY,
    OPTIONS,
    SHADOW,
    SHADOW_OPTION,
    TAPPED_SHADOW,
    read_recorded,
    read_tapped_line,
    read_tapped_words,
    write_tapped,
)
from anyhook.worker.commands import read_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.jsonc import JsonPath
    from anyhook.shell.tapped import TappedCommand

MARK = "ANYHOOK_SHADOW"
EXAMPLES = 5
Examples = Annotated[
    int,
    typer.Option("--examples", metavar="N", min=0, help="Decisions of each kind that are shown."),
]


def shadow(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a hook run without deciding: what it answers is recorded and kept from the agent.

    The command of a hook file gets the option `--shadow`; any other command is wrapped. Switch
    recording on, too (`anyhook record on`), to see later what it would have decided.

    For example:

        anyhook shadow guard.py
        anyhook promote guard.py
    """
    engine = load_engine(project, agent, name)
    handlers = find_hook(engine, name, kept_hooks(engine.agent, engine.hooks.files))
    check_can_be_shadow(engine, handlers)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    edits = shadow_edits(engine, handlers, is_shadow=True)
    is_written = write_edits(edits, options)
    if as_json:
        print_json(_result_json(name, edits, state="shadow", is_written=is_written))
        return OK
    out = console()
    if not any(edit.changes for edit in edits):
        out.print(f"{printable(name)!r} is a shadow already", markup=False)
    elif is_written:
        out.print(f"{printable(name)!r} runs and does not decide", markup=False)
    if not is_recording(history_directory()):
        out.print("Recording is off. To see what it would have decided: anyhook record on")
    return OK


def promote(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    examples: Examples = EXAMPLES,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Let a shadow decide, after a look at what it would have decided.

    It decides once you have confirmed; --dry-run only shows what it would have decided.

    For example:

        anyhook promote guard.py
        anyhook promote guard.py --examples 20 --dry-run
    """
    engine = load_engine(project, agent, name)
    handlers = find_hook(engine, name, kept_hooks(engine.agent, engine.hooks.files))
    shadows = [handler for handler in handlers if handler.shadow]
    if not shadows:
        raise UsageError(
            f"{printable(name)!r} is no shadow in its settings; if its file says "
            "Hooks(shadow=True), remove that there"
        )
    decisions = shadow_decisions(engine, shadows, examples)
    if not as_json:
        print_decisions(console(), name, decisions)
    edits = shadow_edits(engine, shadows, is_shadow=False)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    is_written = write_edits(edits, options)
    if as_json:
        result = _result_json(name, edits, state="on", is_written=is_written)
        print_json({**result, "would_have_decided": _decisions_json(decisions)})
    elif is_written:
        console().print(f"{printable(name)!r} decides from now on", markup=False)
    return OK


def check_can_be_shadow(engine: Engine, handlers: Sequence[HandlerSpec]) -> None:
    """Check that hooks can run without deciding.

    Raises:
        UsageError: If one is no command, or does the agent's work.
        SettingsError: If its file is not the user's.
    """
    for handler in handlers:
        if handler.kind != "command":
            raise UsageError(
                f"{handler.label!r} is no command ({handler.kind}); only commands can be shadows"
            )
        if handler.layer not in EDITABLE_LAYERS:
            raise SettingsError(
                f"the hook belongs to the {handler.layer} layer, whose file is not yours to edit",
                path=handler.place.file,
                line=handler.place.line,
            )
    identities = {id(handler) for handler in handlers}
    for definition in engine.definitions:
        spec = engine.agent.by_canonical[definition.event]
        is_concerned = any(id(handler) in identities for handler in definition.handlers)
        if is_concerned and spec.plain_text is PlainText.PATH:
            raise UsageError(
                f"on {spec.wire} the hook does the agent's work, so it cannot be a shadow"
            )


def _by_file(handlers: Iterable[HandlerSpec]) -> Iterable[tuple[str, list[HandlerSpec]]]:
    groups: dict[str, list[HandlerSpec]] = {}
    for handler in handlers:
        groups.setdefault(handler.place.file, []).append(handler)
    return groups.items()


# -- the settings


def shadow_edits(engine: Engine, handlers: Iterable[HandlerSpec], *, is_shadow: bool) -> list[Edit]:
    """Return the edits that make hooks shadows, or let shadows decide.

    Raises:
        SettingsError: If a file cannot be edited.
    """
    return [_edit(engine, file, group, is_shadow=is_shadow) for file, group in _by_file(handlers)]


def _edit(engine: Engine, file: str, handlers: list[HandlerSpec], *, is_shadow: bool) -> Edit:
    """Return the edit that changes hooks of a settings file.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    source = next(f.source for f in engine.hooks.files if str(f.source.path) == file)
    path = source.path
    if source.layer is not Layer.USER:
        stay_inside(engine.project_dir, path)
    before = read_text(path) or ""
    document = parse_settings(before, file)
    places = {handler.place for handler in handlers}
    hooks_path = source.hooks_path or engine.agent.hooks_path
    plain: dict[JsonPath, Any] = {}
    changes: dict[JsonPath, Any] = {}
    for steps, handler in iter_hooks(engine.agent, document.value, hooks_path):
        if document.place(steps) not in places:
            continue
        for key, member in _members(engine, handler, is_shadow=is_shadow).items():
            plain[*steps, key] = member.plain
            changes[*steps, key] = member.value
    # In two steps, so that the characters of the command stay as they are written.
    unwrapped = replace_values(document, plain)
    after = replace_values(parse_settings(unwrapped, file), changes)
    return Edit(engine.agent, path, before, after)


class _Member(NamedTuple):
    """A member of a hook that changes.

    Attributes:
        plain: Its value without what records or discards.
        value: Its new value.
    """

    plain: Any
    value: Any


def _members(engine: Engine, handler: Mapping[str, Any], *, is_shadow: bool) -> dict[str, _Member]:
    """Return the members of a hook that change."""
    name = engine.agent.name
    if isinstance(handler.get("args"), list):
        words = (handler["command"], *handler["args"])
        plain, was_shadow = read_recorded(words)
        if was_shadow == is_shadow or plain is None:
            return {}
        sink = _sink(read_tapped_words(words), is_shadow=is_shadow)
        new = plain if sink is None else (*_start(sink, name), "--", *plain)
        return {
            "command": _Member(plain[0], new[0]),
            "args": _Member([*plain[1:]], [*new[1:]]),
        }
    changes: dict[str, _Member] = {}
    for key in line_keys(engine.agent, handler):
        line, was_shadow = read_recorded(handler[key])
        if was_shadow == is_shadow or not isinstance(line, str):
            continue
        sink = _sink(read_tapped_line(handler[key]), is_shadow=is_shadow)
        changes[key] = _Member(line, line if sink is None else _wrapped(line, sink, name))
    return changes


def _sink(tapped: TappedCommand | None, *, is_shadow: bool) -> str | None:
    """Return where a command records as a shadow or when it decides; `None` if it does not."""
    sink = None if tapped is None else tapped.sink
    if is_shadow:
        return TAPPED_SHADOW if sink == HISTORY else SHADOW
    is_tapped_again = sink == TAPPED_SHADOW and is_recording(history_directory())
    return HISTORY if is_tapped_again else None


def _start(sink: str, agent: str) -> tuple[str, ...]:
    return (sys.executable, *OPTIONS, str(TAP), sink, agent)


def _wrapped(line: str, sink: str, agent: str) -> str:
    if sink == HISTORY:
        return write_tapped(_start(sink, agent), line, TAP_MARK)
    if read_line(line) is not None:
        return f"{line} {SHADOW_OPTION}"
    return write_tapped(_start(sink, agent), line, MARK)


# -- what it would have decided


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """What a shadow would have decided on an event.

    Attributes:
        time: Unix timestamp.
        session: Identifier of the session.
        event: Canonical name of the event.
        tool: Canonical name of the tool.
        outcome: The verdict; `stop` or `change` if it has none but an effect; `failed` or
            `timed_out` if it did not answer.
        reason: Its reason, or why it failed.
    """

    time: float
    session: str
    event: str
    tool: str | None
    outcome: str
    reason: str


@dataclass(slots=True)
class ShadowDecisions:
    """What shadows would have decided: counts, and some of each decision.

    Attributes:
        counts: Decision to number of events.
        sessions: Identifiers of the sessions.
        examples: Decision to its newest examples, the newest first.
    """

    counts: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    examples: dict[str, list[ShadowDecision]] = field(default_factory=dict)

    def add(self, decision: ShadowDecision, limit: int) -> None:
        """Count a decision, and keep it if there are fewer than `limit` examples like it."""
        self.counts[decision.outcome] += 1
        self.sessions.add(decision.session)
        examples = self.examples.setdefault(decision.outcome, [])
        if len(examples) < limit:
            examples.append(decision)


def shadow_decisions(
    engine: Engine, handlers: list[HandlerSpec], limit: int = EXAMPLES
) -> ShadowDecisions:
    """Return what the hooks would have decided.

    A shadow may have run on millions of events: only examples are kept.

    Args:
        engine: The hooks of the agent.
        handlers: The shadows.
        limit: Examples of each decision.
    """
    decisions = ShadowDecisions()
    if not (Path(history_directory()) / FILE).exists() and not is_recording(history_directory()):
        return decisions
    labels: set[str] = set()
    files: set[str] = set()
    for handler in handlers:
        labels.add(handler.label)
        files.update([str(file) for file in files_of(engine, handler)])
    try:
        with open_store() as history:
            ingest(history)
            places = ", ".join("?" * len(labels)), ", ".join("?" * len(files))
            rows = history.connection.execute(
                "SELECT time, session, event, tool, results.outcome, status, answer, error"  # noqa: S608 - only marks
                " FROM results JOIN hooks ON hooks.id = hook_id"
                " JOIN events ON events.id = results.event_id"
                " JOIN sessions ON sessions.id = session_id"
                f" WHERE shadow AND agent = ? AND (label IN ({places[0]}) OR file IN ({places[1]}))"
                " ORDER BY time DESC",
                (engine.agent.name, *labels, *files),
            )
            for row in rows:
                decisions.add(_decision(*row), limit)
    except HistoryError as error:
        console(stderr=True).print(str(error), style="yellow", markup=False)
        return ShadowDecisions()
    return decisions


def _decision(*row: Any) -> ShadowDecision:
    time, session, event, tool, outcome, status, answer, error = row
    value = json.loads(answer) if answer else {}
    if outcome == "none" and value.get("stop"):
        outcome = "stop"
    elif outcome == "none" and set(value) - {"outcome", "blame"}:
        outcome = "change"  # as in every view of events (`anyhook.history.describe.verdict_of`)
    elif outcome == "none" and status in ("failed", "timed_out"):
        outcome = status
    reason = value.get("reason") or value.get("stop_reason") or error or ""
    return ShadowDecision(time, session, event, tool, outcome, str(reason))


def print_decisions(out: Console, name: str, decisions: ShadowDecisions) -> None:
    """Print what a shadow would have decided, with some examples of each decision."""
    if not decisions.counts:
        out.print(
            f"Nothing is recorded of what {printable(name)!r} would have decided", markup=False
        )
        return
    events = count_of(decisions.counts.total(), "event")
    where = f"{events} of {count_of(len(decisions.sessions), 'session')}"
    out.print(f"In {where}, {printable(name)!r} would have decided:", markup=False)
    table = make_table("decision", "events", "session", "event", "reason")
    has_more = False
    for outcome, count in decisions.counts.most_common():
        shown = decisions.examples[outcome]
        has_more = has_more or (outcome != "none" and count > len(shown))
        if outcome == "none" or not shown:
            table.add_row(printable(outcome), f"{count:,}", "", "", "")
            continue
        for number, one in enumerate(shown):
            is_first = number == 0
            table.add_row(
                printable(outcome) if is_first else "",
                f"{count:,}" if is_first else "",
                printable(one.session[:8]),
                printable(f"{one.event} {one.tool or ''}".strip()),
                shorten(one.reason),
            )
    out.print(table)
    if has_more:
        command = printable(shlex.join(("anyhook", "history", "search", "--hook", name)))
        has_examples = any(decisions.examples.values())
        text = "The newest of each decision. " if has_examples else ""
        out.print(f"{text}All events: {command}", style="dim", markup=False)


def _decisions_json(decisions: ShadowDecisions) -> dict[str, Any]:
    shown: list[dict[str, Any]] = []
    for examples in decisions.examples.values():
        shown += [asdict(one) for one in examples]
    counts = decisions.counts
    return {"events": counts.total(), "counts": dict(counts), "examples": shown}


def _result_json(name: str, edits: list[Edit], *, state: str, is_written: bool) -> dict[str, Any]:
    changed = [str(edit.path) for edit in edits if edit.changes]
    return {"name": name, "state": state, "written": is_written, "changed": changed}
