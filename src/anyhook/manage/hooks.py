"""The hooks of an agent: as lists show them, by their names, and an event that reaches one."""

from __future__ import annotations

import re
import shlex
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.engine.absent import NOT_READ
from anyhook.engine.hook_files import shadow_place
from anyhook.errors import UnknownNameError, UsageError
from anyhook.journal.records import is_recorder_command
from anyhook.migrate.commands import read_shim
from anyhook.model.definitions import (
    HandlerSpec,
    HookDefinition,
    each_handler,
    handlers_of,
    unique_labels,
)
from anyhook.model.suggest import MAX_LENGTH, fold
from anyhook.model.text import count_of, printable
from anyhook.trust.native import native_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine


STATE_OF_CHANGE = {"new": "not trusted", "script": "changed", "definition": "changed"}
"""What is not trusted of a hook (`TrustChange.what`) to its state."""
UNTRUSTED = frozenset(STATE_OF_CHANGE.values())
"""States of hooks that anyhook does not run until they are trusted."""
MAX_NAMES = 10
"""Names of hooks that are listed when none has the given name."""


class HookRow(NamedTuple):
    """One hook of a list.

    Attributes:
        label: Its name, unique for the agent.
        state: `on`, `shadow`, `off`, `not trusted` or `changed`.
        switched_off_by: The file, or file and line, that switches it off; `None` if none does.
        native: How far the agent itself trusts it; `None` if the agent keeps no such record.
        recorded_events: Of the row that stands for the recorder of the history, on how many events
            it is; 0 for any other hook.
    """

    agent: AgentSpec
    definition: HookDefinition
    handler: HandlerSpec
    label: str
    state: str
    switched_off_by: str | None
    native: str | None = None
    recorded_events: int = 0

    @property
    def event(self) -> str:
        """The agent's name of its event; of the recorder, on how many events it is."""
        if self.recorded_events:
            return count_of(self.recorded_events, "event")
        return self.agent.by_canonical[self.definition.event].wire

    @property
    def matcher(self) -> str:
        """What it listens to, on one line."""
        return " ".join(printable(self.definition.matcher or "*").split())

    @property
    def is_switchable(self) -> bool:
        """Whether it is switched on and off by its name."""
        return self.state in ("on", "off") and not self.recorded_events


def hook_rows(engine: Engine) -> list[HookRow]:
    """Return every hook of an engine by event and layer, then those that were taken out."""
    agent = engine.agent
    changes = {id(change.subject.handler): change.what for change in engine.guard.changes()}
    kept = engine.disabled.hooks
    labels = unique_labels([*handlers_of(engine.definitions), *(hook.handler for hook in kept)])
    native = native_states(agent, engine.hooks)
    rows: list[HookRow] = []
    events = [spec.canonical for spec in agent.events]
    layers = list(agent.settings.layer_order)

    def sort_key(definition: HookDefinition) -> tuple[int, int]:
        return events.index(definition.event), layers.index(definition.layer)

    for definition, handler in each_handler(sorted(engine.definitions, key=sort_key)):
        label = labels[id(handler)]
        switch = engine.hooks.switched_off(handler)
        state = "on" if shadow_place(engine, handler) is None else "shadow"
        if switch is not None:
            state = "off"
        elif id(handler) in changes:
            state = STATE_OF_CHANGE[changes[id(handler)]]
        agent_state = native.of(handler) if native is not None else None
        rows.append(HookRow(agent, definition, handler, label, state, switch, agent_state))
    # `disable` took these out of their settings file.
    for hook in kept:
        label, record = labels[id(hook.handler)], str(hook.record)
        rows.append(HookRow(agent, hook.definition, hook.handler, label, "off", record))
    return rows


def split_recorder(rows: Sequence[HookRow]) -> tuple[list[HookRow], HookRow | None]:
    """Return the hooks without the recorder, and one row that stands for it on all of its events.

    `anyhook history record` adds the recorder on every event, and removes it. A recorder that does
    not run is listed like any other hook.
    """
    hooks: list[HookRow] = []
    recorder: list[HookRow] = []
    for row in rows:
        is_recorder = row.state == "on" and is_recorder_command(row.handler.command or "")
        rows_here = recorder if is_recorder else hooks
        rows_here.append(row)
    if not recorder:
        return hooks, None
    return hooks, recorder[0]._replace(recorded_events=len(recorder))


# -- the hook that a name stands for


def all_handlers(engine: Engine) -> list[HandlerSpec]:
    """Return the configured handlers, and those that `anyhook disable` took out of their files."""
    kept = [hook.handler for hook in engine.disabled.hooks]
    return [*handlers_of(engine.definitions), *kept]


def find_hook(engine: Engine, name: str) -> list[HandlerSpec]:
    """Return all handlers of the hook that a name stands for.

    Raises:
        UsageError: If the name stands for several hooks, or may be that of a disabled one whose
            record cannot be read.
        UnknownNameError: If it stands for none.
    """
    for problem in engine.disabled.problems:
        raise UsageError(problem.message)
    handlers = all_handlers(engine)
    matches = handlers_named(name, handlers)
    if len({handler.identifier for handler in matches}) > 1:
        labels = unique_labels(handlers)
        directory = f"{engine.project_dir}/"
        names = [
            f"{labels[id(handler)]} ({str(handler.place).removeprefix(directory)})"
            for handler in matches
        ]
        raise UsageError(
            f"{printable(name)!r} is short for several hooks; name one of: {', '.join(names)}"
        )
    if matches:
        return matches
    # The hook may be in the file that cannot be read.
    for diagnostic in engine.hooks.diagnostics:
        if diagnostic.code in NOT_READ:
            raise UsageError(
                f"no hook named {name!r} can be found while a file is broken: {diagnostic}"
            )
    raise _unknown_hook(name, handlers)


def _unknown_hook(name: str, handlers: Sequence[HandlerSpec]) -> UnknownNameError:
    """Return the error for a name of no hook, with the most similar names of `anyhook list`."""
    labels = unique_labels(handlers)
    names: dict[str, None] = {}
    for handler in handlers:
        if not is_recorder_command(handler.command or ""):
            names[labels[id(handler)]] = None
    matcher = SequenceMatcher(b=fold(name[:MAX_LENGTH]))

    def similarity(label: str) -> float:
        matcher.set_seq1(fold(label))
        return matcher.ratio()

    nearest = sorted(names, key=similarity, reverse=True)
    error = UnknownNameError("hook", name, nearest[:MAX_NAMES], list_all=True)
    rest = len(nearest) - MAX_NAMES
    if rest > 0:
        error.args = (f"{error} and {rest} more; see: anyhook list",)
    return error


def handlers_named(name: str, handlers: Sequence[HandlerSpec]) -> list[HandlerSpec]:
    """Return the handlers with an identifier of that name, else a label, a place, or a script."""
    labels = unique_labels(handlers)
    by_identifier: list[HandlerSpec] = []
    by_label: list[HandlerSpec] = []
    by_place: list[HandlerSpec] = []
    by_script: list[HandlerSpec] = []
    tail = name.removeprefix("./")
    for handler in handlers:
        if name == handler.identifier:
            by_identifier.append(handler)
        if name in (handler.label, labels[id(handler)]):
            by_label.append(handler)
        # The line of a handler, behind its path or the end of its path.
        place = f"/{Path(handler.place.file).as_posix()}:{handler.place.line}"
        if name == str(handler.place) or place.endswith(f"/{name}"):
            by_place.append(handler)
        # A script of a command, also of one that `anyhook shim` runs: its file name, or the end of
        # its path.
        command = handler.command or ""
        shim = read_shim(command)
        if shim is not None:
            is_shell_line = len(shim.command) == 1
            command = shim.command[0] if is_shell_line else shlex.join(shim.command)
        try:
            words = [*shlex.split(command), *(handler.argv or ())]
        except ValueError:
            words = command.split()
        if "/" in name:
            is_script = any(word == tail or word.endswith(f"/{tail}") for word in words)
        else:
            file_names = {word.rpartition("/")[2] for word in words}
            is_script = name in file_names and "." in name.strip(".")
        if is_script:
            by_script.append(handler)
    return by_identifier or by_label or by_place or by_script


# -- events that reach a hook

SAMPLE_TOOL, SAMPLE_INPUT = "shell", {"command": "ls"}
SAMPLE_INPUTS: dict[str, dict[str, Any]] = {
    "shell": {"command": "rm -rf build"},
    "read_file": {"file_path": "README.md"},
    "read_many_files": {"include": ["*.md"]},
    "write_file": {"file_path": "a.txt", "content": "text"},
    "edit_file": {"file_path": "a.txt", "old_string": "old", "new_string": "new"},
    "edit_notebook": {"notebook_path": "a.ipynb", "new_source": "1"},
    "list_directory": {"path": "."},
    "glob": {"pattern": "*.py"},
    "grep": {"pattern": "word"},
    "web_fetch": {"url": "https://example.com", "prompt": "Summarize it"},
    "web_search": {"query": "words"},
    "agent": {"prompt": "Look into it", "description": "a task"},
    "skill": {"name": "a-skill"},
}
"""Canonical tool to the arguments of its first case, as `anyhook test --init` writes it."""
MAX_SUBJECTS = 200
"""Subjects that are tried until one reaches the hook."""
_WORD = re.compile(r"[\w-]+")


def reaching_fields(
    engine: Engine, definition: HookDefinition, handler: HandlerSpec
) -> dict[str, Any] | None:
    """Return the fields of an event that reaches a hook, as `make_event` takes them.

    They are a tool and its input, or another subject; empty if the event has no subject. `None` if
    no event that is tried reaches the hook.
    """
    spec = engine.rules.by_canonical.get(definition.event)
    if spec is None:
        return None
    matchers = f"{definition.matcher or ''}|{handler.matcher or ''}"
    words = [*_WORD.findall(matchers), *filter(None, matchers.split("|"))]
    vocabulary, tools = engine.agent.vocabulary, engine.agent.tools
    subjects: list[str | None]
    if not spec.subject:
        subjects = [spec.matcher_text]
    elif spec.subject != "tool_name":
        subjects = [*spec.subjects, *words, ""]
    else:
        shell = vocabulary.name(SAMPLE_TOOL)
        tools_named = [word for word in words if word in tools]
        subjects = [*filter(None, [shell]), *tools_named, *tools, *words]
    for subject in islice(dict.fromkeys(subjects), MAX_SUBJECTS):
        plan = engine.plan_for(engine.rules, spec.canonical, subject)
        if handler.identity not in [planned.identity for planned in plan.handlers]:
            continue
        if spec.subject == "tool_name":
            canonical = vocabulary.tool(subject or "")
            sample = SAMPLE_INPUTS.get(canonical, {})
            if canonical == SAMPLE_TOOL:  # a command that is harmless
                sample = SAMPLE_INPUT
            return {"tool": subject, "input": vocabulary.arguments(canonical, sample)}
        if spec.subject and subject:
            return {spec.subject: subject}
        return {}
    return None
