"""What starting the program of an agent takes: for `anyhook probe`, and for tests with real agents.

Each agent's folder fills it in (`AgentEntry.program`). A hook does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS
from anyhook.agents.entry import load_object
from anyhook.files import read_json_object
from anyhook.model.record import EMPTY, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

MAX_FILE_SIZE = 1024 * 1024
"""Bytes of a settings file that is read."""
ScriptedCall = tuple[str, "Mapping[str, object] | str"]
"""A call of a tool, by the agent's own names; a tool without a schema takes a text."""


class Workplace(Record, kw_only=False):
    """Where a program works, and the address of its scripted model, without a path."""

    home: Path
    project: Path
    environ: Mapping[str, str] = EMPTY
    model_url: str = ""


def _no_files(_place: Workplace) -> Mapping[str, object]:
    return {}


class AgentProgram(Record):
    """The program of an agent: how it is found, started without a user, and kept offline.

    Attributes:
        name: Name of the agent.
        executables: Its names on the `PATH`, the usual one first.
        api: The API of its model, a key of `anyhook.probe.models.MODELS`.
        arguments: Returns what makes it answer a prompt and end, without a question.
        environment: Returns the variables that it gets: a made-up key, the address of the model,
            and switches against telemetry and updates.
        own_prefixes: Prefixes of variables of the user that it must not get, because they would
            change its model, its account or its settings.
        kept_variables: Variables that it gets although they have such a prefix.
        home_files: Returns files of the home of a user who has answered all first questions: path
            below the home to JSON, or to a text.
        project_files: Returns files of the project, likewise; the project is a copy.
        settings_file: Path, below the home, of the user's settings file.
        settings: Members that are laid over those of that file.
        is_trusted: Returns whether a user has trusted the project in the agent.
        trust_files: Returns the files of the home, as `home_files`, that trust the project.
        trust_advice: How a user trusts a project.
        events: Canonical names of the events that one prompt with calls of tools leads to.
        subjects: Canonical name of an event to the subject that it has in such a run.
        hook_input: Returns the arguments of a canonical tool as hooks get them, where they differ
            from the vocabulary; `None` if the tool cannot be called.
        model_call: Returns a call by the names that the model uses, from those that hooks see.
        subagent_call: Returns the call with which the model gives a prompt to a subagent; `None`
            if the agent has no subagents.
        subagent_events: Canonical names of the events that happen inside or about a subagent.
        notes: What is different from a session at the terminal, for the report.
    """

    name: str
    executables: tuple[str, ...]
    api: str
    arguments: Callable[[str, Workplace], tuple[str, ...]]
    environment: Callable[[Workplace], Mapping[str, str]]
    events: frozenset[str]
    own_prefixes: tuple[str, ...] = ()
    kept_variables: frozenset[str] = frozenset()
    home_files: Callable[[Workplace], Mapping[str, object]] = _no_files
    project_files: Callable[[Workplace], Mapping[str, object]] = _no_files
    settings_file: str = ""
    settings: Mapping[str, object] = EMPTY
    is_trusted: Callable[[Workplace], bool] = lambda _place: True
    trust_files: Callable[[Workplace], Mapping[str, object]] = _no_files
    trust_advice: str = ""
    subjects: Mapping[str, str] = EMPTY
    hook_input: Callable[[str, dict[str, Any]], dict[str, Any] | None] = lambda _tool, arguments: (
        arguments
    )
    model_call: Callable[[ScriptedCall], ScriptedCall] = lambda call: call
    subagent_call: Callable[[str], ScriptedCall] | None = None
    subagent_events: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def read_program_settings(path: Path) -> dict[str, Any]:
    """Return the JSON object of a settings file; an empty one if it cannot be read."""
    return read_json_object(path, MAX_FILE_SIZE) or {}


def get_program(name: str) -> AgentProgram | None:
    """Return how an agent is started; `None` if it cannot be started without a user."""
    path = AGENTS[name].program
    if not path:
        return None
    program: AgentProgram = load_object(path)
    return program


def agent_programs() -> dict[str, AgentProgram]:
    """Return the agents that can be started without a user, by name."""
    return {name: load_object(entry.program) for name, entry in AGENTS.items() if entry.program}
