"""Hooks that run and do not decide: their settings, and what they would have decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import PlainText
from anyhook.errors import SettingsError, UsageError
from anyhook.history.hooks import recorded_hooks
from anyhook.history.ingest import ingest
from anyhook.history.shadows import ShadowDecisions, shadow_decisions
from anyhook.history.store import FILE, History
from anyhook.journal.lines import history_directory, is_recording
from anyhook.manage.recorded_hooks import records_of
from anyhook.manage.recording import TAP_MARK
from anyhook.model.definitions import HandlerSpec, handlers_of
from anyhook.model.layers import Layer
from anyhook.settings.changes import EDITABLE_LAYERS, Change, read_source
from anyhook.settings.wrapping import NewMember, change_commands, line_keys
from anyhook.shell.tapped import (
    HISTORY,
    SHADOW,
    SHADOW_OPTION,
    TAPPED_SHADOW,
    TappedCommand,
    read_recorded,
    read_tapped_line,
    read_tapped_words,
    tap_words,
    write_tapped,
)
from anyhook.worker.commands import read_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Place

SHADOW_VARIABLE = "ANYHOOK_SHADOW"
EXAMPLES = 5
"""Examples of each decision that are shown."""


def check_can_be_shadow(engine: Engine, handlers: Sequence[HandlerSpec]) -> None:
    """Check that hooks can run without deciding.

    Raises:
        UsageError: If one is not a command, is switched off, or does the agent's work.
        SettingsError: If its file is not the user's, or a command that has to be wrapped stands in
            a file that is shared.
    """
    configured = handlers_of(engine.definitions)
    for handler in handlers:
        if handler not in configured or engine.hooks.switched_off(handler):
            name = handler.label
            raise UsageError(f"{name!r} is switched off; first write: anyhook enable {name}")
        if handler.kind != "command":
            raise UsageError(
                f"{handler.label!r} is of type {handler.kind}; only commands can be shadows"
            )
        if handler.layer not in EDITABLE_LAYERS:
            raise SettingsError(
                f"the hook belongs to the {handler.layer} layer, whose file is not yours to edit",
                path=handler.place.file,
                line=handler.place.line,
            )
        is_hook_file = handler.command is not None and read_line(handler.command) is not None
        if handler.layer is Layer.PROJECT and not is_hook_file:
            raise SettingsError(
                f"{handler.label!r} would get a path of this machine in a file that is shared; "
                "move it to a settings file of yours, or make it a hook file (anyhook init)",
                path=handler.place.file,
                line=handler.place.line,
            )
    for definition in engine.definitions:
        spec = engine.agent.by_canonical[definition.event]
        is_concerned = any(handler in handlers for handler in definition.handlers)
        if is_concerned and spec.plain_text is PlainText.PATH:
            raise UsageError(
                f"on {spec.wire} the hook does the agent's work, so it cannot be a shadow"
            )


@dataclass(frozen=True, slots=True)
class ShadowPlan:
    """What makes hooks shadows, or lets shadows decide.

    Attributes:
        is_shadow: Whether they are shadows afterwards.
        changes: The changes of their settings files.
        decisions: What the shadows would have decided.
        is_recording: Whether their answers are recorded from now on.
    """

    is_shadow: bool
    changes: list[Change]
    decisions: ShadowDecisions
    is_recording: bool

    @property
    def has_effect(self) -> bool:
        """Whether a settings file changes."""
        return any(change.has_effect for change in self.changes)

    @property
    def changed(self) -> list[Path]:
        """The settings files that change."""
        return [change.path for change in self.changes if change.has_effect]


def plan_shadow(
    engine: Engine, handlers: list[HandlerSpec], *, is_shadow: bool, examples: int = EXAMPLES
) -> ShadowPlan:
    """Return what makes hooks shadows, or lets shadows decide, with some examples of decisions.

    Raises:
        UsageError, SettingsError: As `check_can_be_shadow`, or if a file cannot be edited.
        HistoryError: If the history cannot be read.
    """
    decisions = ShadowDecisions()
    if is_shadow:
        check_can_be_shadow(engine, handlers)
    else:
        decisions = would_have_decided(engine, handlers, examples)
    changes = shadow_changes(engine, handlers, is_shadow=is_shadow)
    return ShadowPlan(is_shadow, changes, decisions, is_recording(history_directory()))


def shadow_changes(
    engine: Engine, handlers: Iterable[HandlerSpec], *, is_shadow: bool
) -> list[Change]:
    """Return the changes that make hooks shadows, or let shadows decide.

    Raises:
        SettingsError: If a file cannot be edited.
    """
    agent = engine.agent
    places: dict[str, set[Place]] = {}
    labels: dict[str, str] = {}
    for handler in handlers:
        places.setdefault(handler.place.file, set()).add(handler.place)
        labels.setdefault(handler.place.file, handler.label)
    changes: list[Change] = []
    for loaded in engine.hooks.files:
        source = loaded.source
        file = str(source.path)
        if file not in places:
            continue
        places_of_hooks = places.pop(file)

        def new_members(place: Place, handler: Mapping[str, Any]) -> Mapping[str, NewMember]:
            if place not in places_of_hooks:  # noqa: B023 - it is called in this iteration
                return {}
            return _new_members(engine, handler, is_shadow=is_shadow)

        before = read_source(source, engine.project_dir) or ""
        after = change_commands(agent, before, file, source.hooks_path, new_members)
        effect = "run without deciding" if is_shadow else "decide"
        changes.append(Change(source.path, before, after, f"Let {labels[file]} {effect}", agent))
    return changes


def _new_members(
    engine: Engine, handler: Mapping[str, Any], *, is_shadow: bool
) -> dict[str, NewMember]:
    """Return the members of a hook that change."""
    name = engine.agent.name
    if isinstance(handler.get("args"), list):
        words = (handler["command"], *handler["args"])
        plain, was_shadow = read_recorded(words)
        if was_shadow == is_shadow or plain is None:
            return {}
        sink = _sink(read_tapped_words(words), is_shadow=is_shadow)
        new = plain if sink is None else (*tap_words(sink, name), "--", *plain)
        return {
            "command": NewMember(plain[0], new[0]),
            "args": NewMember([*plain[1:]], [*new[1:]]),
        }
    members: dict[str, NewMember] = {}
    for key in line_keys(engine.agent, handler):
        line, was_shadow = read_recorded(handler[key])
        if was_shadow == is_shadow or not isinstance(line, str):
            continue
        sink = _sink(read_tapped_line(handler[key]), is_shadow=is_shadow)
        command = line
        if sink == HISTORY:
            command = write_tapped(tap_words(sink, name), line, TAP_MARK)
        elif sink is not None and read_line(line) is not None:
            command = f"{line} {SHADOW_OPTION}"
        elif sink is not None:
            command = write_tapped(tap_words(sink, name), line, SHADOW_VARIABLE)
        members[key] = NewMember(line, command)
    return members


def _sink(tapped: TappedCommand | None, *, is_shadow: bool) -> str | None:
    """Return where a command records as a shadow or when it decides; `None` if it does not."""
    sink = None if tapped is None else tapped.sink
    if is_shadow:
        return TAPPED_SHADOW if sink == HISTORY else SHADOW
    is_tapped_again = sink == TAPPED_SHADOW and is_recording(history_directory())
    return HISTORY if is_tapped_again else None


# -- what they would have decided


def would_have_decided(engine: Engine, handlers: list[HandlerSpec], limit: int) -> ShadowDecisions:
    """Return what hooks would have decided as shadows, with some examples of each decision.

    Raises:
        HistoryError: If the history cannot be read.
    """
    directory = Path(history_directory())
    if not (directory / FILE).exists() and not is_recording(str(directory)):
        return ShadowDecisions()
    with History.open() as history:
        ingest(history)
        recorded = recorded_hooks(history)
        numbers: set[int] = set()
        for handler in handlers:
            numbers.update([record.number for record in records_of(engine, handler, recorded)])
        return shadow_decisions(history, engine.agent.name, numbers, limit)
