"""What `anyhook worker bench` calls: each hook of a file or of a project, cold and warm."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.payloads import payload_key
from anyhook.authoring.load import load_hooks
from anyhook.cli.doctor import hook_files, warm_command
from anyhook.cli.event_input import SAMPLE_INPUT, SAMPLE_TOOL, subject_fields
from anyhook.cli.timing import Command
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UnknownNameError, UsageError
from anyhook.handlers.command import command_environment, command_line
from anyhook.handlers.environment import expand
from anyhook.model.json import dump_json
from anyhook.model.record import Record
from anyhook.settings.detect import trust_command
from anyhook.testing import make_event, make_payload
from anyhook.worker import client
from anyhook.worker.commands import prefix, read_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.hooks import Hooks
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.events import Event

TOOL_CALL = ("before_tool", "after_tool")
"""Events that every call of a tool has."""


class MeasuredHook(Record):
    """A hook on one event of an agent.

    Attributes:
        name: The hook, for people.
        agent: Name of the agent.
        event: Canonical name of the event.
        wire: The agent's name of it.
        cold: Starts it with an interpreter or a program of its own.
        warm: Runs it through a worker; `None` if it is not a hook file of anyhook.
        worker: Address of that worker; empty if it is not known.
    """

    name: str
    agent: str
    event: str
    wire: str
    cold: Command
    warm: Command | None = None
    worker: str = ""

    @property
    def title(self) -> str:
        """The event and the hook."""
        return f"{self.wire} {self.name}"


def _with_worker(command: Command, argv: Sequence[str], switch: str) -> Command:
    """Return a command with other arguments that uses workers (`on`), or none (`off`)."""
    return command.replace(argv=tuple(argv), env={**command.env, client.WORKER_ENV: switch})


# -- a hook file


def of_file(file: Path, agent: str | None, event: str | None, project: Path) -> list[MeasuredHook]:
    """Return a hook file for each of its events.

    Args:
        file: The hook file.
        agent: Name of an agent; `None` for the first that has the event.
        event: The only event, by its canonical name or an agent's; `None` for all of the file.
        project: Where it runs.

    Raises:
        UsageError: If the file is not a hook file, or has no function for the event.
        UnknownNameError: If there is no such agent.
    """
    with redirect_stdout(sys.stderr):  # what hooks print is not the result
        hooks = load_hooks(file)
    names = tuple(dict.fromkeys(function.event for function in hooks.functions))
    agents = [get_agent(name) for name in ((agent,) if agent else CODING_AGENTS)]
    path = str(file.resolve())
    measured: list[MeasuredHook] = []
    for agent_spec, spec in _events_of_file(agents, names, event, file):
        command = _command_of_file(hooks, agent_spec, spec, project)
        measured.append(
            MeasuredHook(
                name=file.name,
                agent=agent_spec.name,
                event=spec.canonical,
                wire=spec.wire,
                cold=_with_worker(command, (sys.executable, path), "off"),
                warm=_with_worker(command, (*prefix(sys.executable), path), "on"),
                worker=_address(sys.executable, path, command.env),
            )
        )
    return measured


def _events_of_file(
    agents: Sequence[AgentSpec], names: Sequence[str], event: str | None, file: Path
) -> Iterator[tuple[AgentSpec, EventSpec]]:
    """Yield each event of a file with the first agent that has it."""
    wanted = {_canonical(agent, event) for agent in agents} if event else set(names)
    chosen = [name for name in names if name in wanted]
    if not chosen:
        known = f"it has functions for {', '.join(names)}" if names else "it has no functions"
        raise UsageError(f"{file} has no function for {event or 'any event'}; {known}")
    for name in chosen:
        having = [agent for agent in agents if name in agent.by_canonical]
        if not having:
            titles = " and ".join(agent.title for agent in agents)
            raise UsageError(f"{titles} has no event {name}; name another agent with --agent")
        yield having[0], having[0].by_canonical[name]


def _canonical(agent: AgentSpec, event: str) -> str:
    try:
        return agent.event(event).canonical
    except UnknownNameError:
        return ""


def _command_of_file(hooks: Hooks, agent: AgentSpec, spec: EventSpec, project: Path) -> Command:
    """Return the payload and the environment that an agent gives to a hook; without arguments."""
    fields = _sample_fields(hooks, agent, spec.canonical)
    payload = make_payload(spec.canonical, agent=agent.name, **fields, cwd=str(project))
    values = {
        "project_dir": str(project),
        "root": str(project),
        "cwd": str(project),
        "session_id": str(payload.get(payload_key(agent, spec, "session_id") or "", "")),
    }
    env = dict(os.environ)
    for name, source in agent.hook_environment.items():
        env[name] = values.get(source, source.removeprefix("="))
    return Command(
        argv=(),
        env=env,
        cwd=str(project),
        payload=dump_json(payload) + agent.payload_terminator,
        timeout=spec.default_timeouts.get("command", agent.default_timeout),
    )


def _sample_fields(hooks: Hooks, agent: AgentSpec, event: str) -> dict[str, Any]:
    """Choose the fields of an event: those of an example of the author's, if there is one."""
    fields: dict[str, Any] = {}
    for example in hooks.examples:
        if example.event == event and (not example.agents or agent.name in example.agents):
            fields = dict(example.fields)
            break
    if event in TOOL_CALL and "tool_name" not in fields:
        tool = _first_tool(hooks, event)
        fields["tool_name"] = tool
        fields["tool_input"] = SAMPLE_INPUT if tool == SAMPLE_TOOL else {}
    if "tool_name" in fields:
        fields["tool"] = fields.pop("tool_name")
        fields["input"] = fields.pop("tool_input", {})
    return fields


def _first_tool(hooks: Hooks, event: str) -> str:
    """Return the first tool that a function of a hook file names."""
    for function in hooks.functions:
        if function.event == event:
            for subject in function.subjects:
                if "*" not in subject:
                    return subject
    return SAMPLE_TOOL


# -- the hooks of a project


class _Engine(Engine):
    """An engine that shows how it would run a command, instead of running it."""

    def context(self, spec: EventSpec, event: Event) -> HookContext:
        """Return what the handlers of an event are given."""
        return self._make_context(spec, event, self.plan(event), {})


def of_project(
    project: Path, agents: Sequence[str], event: str | None, *, trust_once: bool
) -> tuple[list[MeasuredHook], list[str]]:
    """Return the commands of a project's settings, and why others are not measured.

    Args:
        project: Directory of the project.
        agents: Names of agents.
        event: The only event; `None` for all.
        trust_once: Measure the project's own hooks without asking the trust store.
    """
    measured: list[MeasuredHook] = []
    left_out: list[str] = []
    for agent in agents:
        engine = _Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard)
        only = _canonical(engine.agent, event) if event else None
        # Several files may have the same hook.
        handlers: dict[tuple[str, object], tuple[HookDefinition, HandlerSpec]] = {}
        for definition in engine.definitions:
            if only in (None, definition.event):
                for handler in definition.handlers:
                    key = definition.event, handler.identity
                    handlers.setdefault(key, (definition, handler))
        for definition, handler in handlers.values():
            spec = engine.agent.by_canonical[definition.event]
            reason = _why_left_out(engine, handler)
            command = None if reason else _command_of_handler(engine, definition, handler, spec)
            if command is not None:
                measured.append(_measured_hook(engine, handler, spec, command))
                continue
            reason = reason or "cannot be started: no event reaches it, or there is no shell"
            left_out.append(f"{engine.agent.title}, {spec.wire}: {handler.label} {reason}")
    return measured, left_out


def _why_left_out(engine: _Engine, handler: HandlerSpec) -> str:
    """Return why a hook is not measured; empty if it is."""
    if handler.kind != "command":
        return f"is of type {handler.kind}, which starts no command"
    switch = engine.hooks.switched_off(handler)
    if switch is not None:
        return f"is switched off by {switch}"
    if handler.background:
        return "runs in the background"
    if engine.guard.withhold(handler, str(engine.project_dir)) is not None:
        return f"is not trusted: {trust_command(engine.agent.name, engine.project_dir)}"
    return ""


def _command_of_handler(
    engine: _Engine, definition: HookDefinition, handler: HandlerSpec, spec: EventSpec
) -> Command | None:
    """Return how the engine starts a command; `None` if it cannot."""
    event = _matching_event(engine, definition, handler, spec)
    if event is None:
        return None
    context = engine.context(spec, event)
    env, _ = command_environment(context, handler)
    argv = command_line(context, handler, env)
    if argv is None:
        return None
    return Command(
        argv=tuple(argv),
        env={**env, client.WORKER_ENV: "on"},
        cwd=context.directory_of(handler),
        payload=context.payload,
        timeout=handler.timeout,
    )


def _matching_event(
    engine: _Engine, definition: HookDefinition, handler: HandlerSpec, spec: EventSpec
) -> Event | None:
    """Make an event that reaches a handler; of tools, the first that its matcher takes."""
    for fields in subject_fields(engine.agent, definition, spec):
        event = make_event(
            spec.canonical, agent=engine.agent.name, cwd=str(engine.project_dir), **fields
        )
        identities = [planned.identity for planned in engine.plan(event).handlers]
        if handler.identity in identities:
            return event
    return None


def _measured_hook(
    engine: Engine, handler: HandlerSpec, spec: EventSpec, command: Command
) -> MeasuredHook:
    """Return a hook as the settings run it, and the other way if it is a hook file."""
    hook = MeasuredHook(
        name=handler.label,
        agent=engine.agent.name,
        event=spec.canonical,
        wire=spec.wire,
        cold=command,
    )
    files = hook_files(engine, handler)
    if not files:
        return hook
    words = _split_command(handler, command.env)
    warm_words = read_command(words)
    if warm_command(handler) is not None and warm_words is not None:
        python = warm_words.interpreter(command.env)
        cold = _with_worker(command, command.argv, "off")
        return _warm(hook.replace(cold=cold), command, python, warm_words.words[0])
    if _starts_file(words, files[0], command.cwd):
        python = client.which(words[0], command.env)
        warm = _with_worker(command, (*prefix(python), *words[1:]), "on")
        return _warm(hook, warm, python, words[1])
    return hook


def _warm(hook: MeasuredHook, command: Command, python: str | None, file: str) -> MeasuredHook:
    if not python:
        return hook.replace(warm=command)
    path = client.absolute(file, command.cwd)
    return hook.replace(warm=command, worker=_address(python, path, command.env))


def _starts_file(words: Sequence[str], file: Path, cwd: str) -> bool:
    """Return whether a command line is an interpreter and the file, so a client may start it."""
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        return False
    return os.path.realpath(Path(cwd, words[1])) == os.path.realpath(file)


def _address(python: str, hook_file: str, environ: Mapping[str, str]) -> str:
    """Return the address of the server of a hook file.

    Raises:
        UsageError: If the runtime directory is not an absolute path.
    """
    try:
        return client.address(python, hook_file, environ)
    except client.WorkerUnavailable as error:
        raise UsageError(str(error)) from None


def _split_command(handler: HandlerSpec, env: Mapping[str, str]) -> list[str]:
    """Split a command as a shell would, as far as possible; no words if it cannot be split."""
    if handler.argv is not None:
        return [expand(word, env) for word in handler.argv]
    try:
        return [expand(word, env) for word in shlex.split(handler.command or "")]
    except ValueError:
        return []
