"""`anyhook shadow` and `anyhook promote`: hooks that run and do not decide, and their way back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from anyhook.agents.spec import PlainText
from anyhook.cli import OK
from anyhook.cli.editing import Edit, WriteOptions, one_at_a_time, read_text, write_edits
from anyhook.cli.options import HERE, AgentName, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.record_settings import TAP_MARK
from anyhook.cli.shadow_decisions import (
    EXAMPLES,
    decisions_json,
    print_decisions,
    shadow_decisions,
)
from anyhook.cli.switch import HookName, load_engine
from anyhook.cli.switching import EDITABLE_LAYERS, find_hook
from anyhook.errors import SettingsError, UsageError
from anyhook.history.journal import history_directory, is_recording
from anyhook.model.layers import Layer
from anyhook.model.text import printable
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

    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.jsonc import JsonPath
    from anyhook.shell.tapped import TappedCommand

MARK = "ANYHOOK_SHADOW"
Examples = Annotated[
    int,
    typer.Option("--examples", metavar="N", min=0, help="Decisions of each kind that are shown."),
]


@one_at_a_time
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


@one_at_a_time
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
        print_json({**result, "would_have_decided": decisions_json(decisions)})
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


def _result_json(name: str, edits: list[Edit], *, state: str, is_written: bool) -> dict[str, Any]:
    changed = [str(edit.path) for edit in edits if edit.changes]
    return {"name": name, "state": state, "written": is_written, "changed": changed}
