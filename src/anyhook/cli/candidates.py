"""What `anyhook bench` measures: hooks cold and warm, and what no hook can be faster than."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.payloads import payload_key
from anyhook.authoring.load import load_hooks
from anyhook.cli.doctor import hook_files, warm_command
from anyhook.cli.timing import MAX_TIMEOUT, Command
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

FLOOR, WRITTEN, COLD, WARM = "floor", "as written", "cold", "warm"
TOOL_CALL = ("before_tool", "after_tool")
"""Events that every call of a tool has."""
SAMPLE_TOOL, SAMPLE_INPUT = "shell", {"command": "ls"}
INTERPRETER = ("-c", "import json, sys")
"""What any hook in Python costs before its first line."""


class Candidate(Record):
    """Something that is measured.

    Attributes:
        kind: `floor`; `as written`: no hook file of anyhook; `cold`: an interpreter for every
            event; `warm`: through a worker.
        name: The hook, for people.
        command: What is called.
        agent: Name of the agent of the payload; empty for a floor.
        event: Canonical name of the event; empty for a floor.
        wire: The agent's name of it.
        is_written: Whether the settings have it like this.
        worker: Address of the worker that serves it; empty unless it is warm.
        file: The hook file; empty if there is none.
    """

    kind: str
    name: str
    command: Command
    agent: str = ""
    event: str = ""
    wire: str = ""
    is_written: bool = False
    worker: str = ""
    file: str = ""


class Candidates(NamedTuple):
    """What the settings of a project run.

    Attributes:
        measured: What is measured.
        left_out: Which hooks are not, with the reason, for people.
    """

    measured: list[Candidate]
    left_out: list[str]


def floors(command: Command) -> list[Candidate]:
    """Return what no hook can be faster than, in the environment of a hook."""
    nothing = (shutil.which("true") or "/bin/true",)
    python = (sys.executable, *INTERPRETER)
    base = command.replace(timeout=MAX_TIMEOUT)
    return [
        Candidate(
            kind=FLOOR, name="a program that does nothing", command=base.replace(argv=nothing)
        ),
        Candidate(kind=FLOOR, name="a bare interpreter", command=base.replace(argv=python)),
    ]


def _with_worker(command: Command, argv: Sequence[str], switch: str) -> Command:
    """Return a command with other arguments that uses workers (`on`), or none (`off`)."""
    return command.replace(argv=tuple(argv), env={**command.env, client.WORKER_ENV: switch})


# -- a hook file


def of_file(file: Path, agent: str | None, event: str | None, project: Path) -> list[Candidate]:
    """Return a hook file, cold and warm, for each of its events.

    Args:
        file: The hook file.
        agent: Name of an agent; `None` for the first that has the event.
        event: The only event, by its canonical name or an agent's; `None` for all of the file.
        project: Where it runs.

    Raises:
        UsageError: If the file is no hook file, or has no function for the event.
        UnknownNameError: If there is no such agent.
    """
    with redirect_stdout(sys.stderr):  # what hooks print is not the result
        hooks = load_hooks(file)
    names = tuple(dict.fromkeys(function.event for function in hooks.functions))
    agents = [get_agent(name) for name in ((agent,) if agent else CODING_AGENTS)]
    candidates: list[Candidate] = []
    for agent_spec, spec in _events_of_file(agents, names, event, file):
        command = _command_of_file(hooks, agent_spec, spec, project)
        base = Candidate(
            kind=COLD,
            name=file.name,
            command=_with_worker(command, (sys.executable, str(file.resolve())), "off"),
            agent=agent_spec.name,
            event=spec.canonical,
            wire=spec.wire,
            file=str(file.resolve()),
        )
        argv = (*prefix(sys.executable), base.file)
        worker = _address(sys.executable, base.file, command.env)
        warm_command = _with_worker(command, argv, "on")
        candidates += [base, base.replace(kind=WARM, command=warm_command, worker=worker)]
    return candidates


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
) -> Candidates:
    """Return the commands of a project's settings, and hook files among them warm and cold.

    Args:
        project: Directory of the project.
        agents: Names of agents.
        event: The only event; `None` for all.
        trust_once: Measure the project's own hooks without asking the trust store.
    """
    candidates = Candidates([], [])
    for agent in agents:
        engine = _Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard)
        wanted = _canonical(engine.agent, event) if event else None
        # Several files may have the same hook.
        handlers: dict[tuple[str, object], tuple[HookDefinition, HandlerSpec]] = {}
        for definition in engine.definitions:
            if wanted in (None, definition.event):
                for handler in definition.handlers:
                    key = definition.event, handler.identity
                    handlers.setdefault(key, (definition, handler))
        for definition, handler in handlers.values():
            _add_handler(engine, definition, handler, candidates)
    return candidates


def _add_handler(
    engine: _Engine, definition: HookDefinition, handler: HandlerSpec, candidates: Candidates
) -> None:
    """Add a hook to what is measured, or to what is left out."""
    spec = engine.agent.by_canonical[definition.event]
    reason = _why_left_out(engine, handler)
    command = None if reason else _command_of_handler(engine, definition, handler, spec)
    if command is None:
        reason = reason or "cannot be started: no event reaches it, or there is no shell"
        text = f"{engine.agent.title}, {spec.wire}: {handler.label} {reason}"
        candidates.left_out.append(text)
        return
    base = Candidate(
        kind=WRITTEN,
        name=handler.label,
        command=command,
        agent=engine.agent.name,
        event=spec.canonical,
        wire=spec.wire,
        is_written=True,
    )
    files = hook_files(engine, handler)
    candidates.measured.extend(_cold_and_warm(base, handler, files[0]) if files else [base])


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


def subject_fields(
    agent: AgentSpec, definition: HookDefinition, spec: EventSpec
) -> Iterator[dict[str, Any]]:
    """Yield the fields of events with different subjects, the usual ones first."""
    in_matcher = [word for word in (definition.matcher or "").split("|") if word]
    if spec.subject == "tool_name":
        shell = agent.vocabulary.name(SAMPLE_TOOL)
        for tool in (shell, *agent.tools, *in_matcher):
            yield {"tool": tool, "input": SAMPLE_INPUT if tool == shell else {}}
        return
    if spec.subject:
        for subject in (*spec.subjects, *in_matcher):
            yield {spec.subject: subject}
    yield {}


def _cold_and_warm(base: Candidate, handler: HandlerSpec, file: Path) -> list[Candidate]:
    """Return a hook file as the settings run it, and the other way, if it can be determined."""
    base = base.replace(file=str(file))
    command = base.command
    words = _split_command(handler, command.env)
    warm_words = read_command(words)
    if warm_command(handler) is not None and warm_words is not None:
        python = warm_words.interpreter(command.env)
        cold_command = _with_worker(command, command.argv, "off")
        return [
            base.replace(kind=COLD, command=cold_command, is_written=False),
            _make_warm(base, python, warm_words.words[0]),
        ]
    if _starts_file(words, file, command.cwd):
        python = client.which(words[0], command.env)
        argv = (*prefix(python), *words[1:])
        warm = _make_warm(base, python, words[1])
        warm = warm.replace(command=_with_worker(command, argv, "on"), is_written=False)
        return [base.replace(kind=COLD), warm]
    return [base]


def _starts_file(words: Sequence[str], file: Path, cwd: str) -> bool:
    """Return whether a command line is an interpreter and the file, so a client may start it."""
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        return False
    return os.path.realpath(Path(cwd, words[1])) == os.path.realpath(file)


def _make_warm(base: Candidate, python: str | None, hook_file: str) -> Candidate:
    worker = ""
    if python:
        path = client.absolute(hook_file, base.command.cwd)
        worker = _address(python, path, base.command.env)
    return base.replace(kind=WARM, worker=worker)


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
