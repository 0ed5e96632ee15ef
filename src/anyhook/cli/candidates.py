"""What `anyhook bench` measures: hooks cold and warm, and what no hook can be faster than."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring.load import load_hooks
from anyhook.cli.doctor import hook_files, warm_command
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

FLOOR, WRITTEN, COLD, WARM = "floor", "as written", "cold", "warm"
TOOL_CALL = ("before_tool", "after_tool")
"""Events that every call of a tool has."""
PLAIN_TOOL, PLAIN_INPUT = "shell", {"command": "ls"}
INTERPRETER = ("-c", "import json, sys")
"""What any hook in Python costs before its first line."""


class Candidate(Record):
    """Something that is measured.

    Attributes:
        kind: `floor`; `as written`: no hook file of ours; `cold`: an interpreter for every event;
            `warm`: through a worker.
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


def floors(like: Command) -> list[Candidate]:
    """Return what no hook can be faster than, in the surroundings of a hook."""
    nothing = (shutil.which("true") or "/bin/true",)
    python = (sys.executable, *INTERPRETER)
    return [
        Candidate(kind=FLOOR, name="a program that does nothing", command=_as(like, nothing)),
        Candidate(kind=FLOOR, name="a bare interpreter", command=_as(like, python)),
    ]


def _as(
    like: Command, argv: Sequence[str], switch: str | None = None, payload: bytes | None = None
) -> Command:
    env = dict(like.env) if switch is None else {**like.env, client.WORKER_ENV: switch}
    return Command(argv=tuple(argv), env=env, cwd=like.cwd, payload=payload or like.payload)


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
    found: list[Candidate] = []
    for agent_spec, spec in _events(agents, names, event, file):
        found += _both_ways(file.resolve(), hooks, agent_spec, spec, project)
    return found


def _events(
    agents: Sequence[AgentSpec], names: Sequence[str], event: str | None, file: Path
) -> Iterator[tuple[AgentSpec, EventSpec]]:
    """Yield each event of a file with the first agent that has it."""
    wanted = {_canonical(agent, event) for agent in agents} if event else set(names)
    chosen = [name for name in names if name in wanted]
    for name in chosen:
        fitting = [agent for agent in agents if name in agent.by_canonical]
        if fitting:
            yield fitting[0], fitting[0].by_canonical[name]
        else:
            titles = " and ".join(agent.title for agent in agents)
            raise UsageError(f"{titles} has no event {name}; name another agent with --agent")
    if not chosen:
        known = f"it has functions for {', '.join(names)}" if names else "it has no functions"
        raise UsageError(f"{file} has no function for {event or 'any event'}; {known}")


def _canonical(agent: AgentSpec, event: str) -> str:
    try:
        return agent.event(event).canonical
    except UnknownNameError:
        return ""


def _both_ways(
    file: Path, hooks: Hooks, agent: AgentSpec, spec: EventSpec, project: Path
) -> Iterator[Candidate]:
    payload = make_payload(
        spec.canonical,
        agent=agent.name,
        **_sample(hooks, agent, spec.canonical),
        cwd=str(project),
    )
    held = {"project_dir": str(project), "cwd": str(project), "session_id": payload["session_id"]}
    variables = {n: held.get(w, w.removeprefix("=")) for n, w in agent.hook_environment.items()}
    like = Command(
        argv=(),
        env={**os.environ, **variables},
        cwd=str(project),
        payload=dump_json(payload) + agent.payload_terminator,
    )
    ways = (
        (COLD, "off", (sys.executable, str(file)), ""),
        (
            WARM,
            "on",
            (*prefix(sys.executable), str(file)),
            _address(sys.executable, str(file), like.env),
        ),
    )
    for kind, switch, argv, worker in ways:
        yield Candidate(
            kind=kind,
            name=file.name,
            command=_as(like, argv, switch),
            agent=agent.name,
            event=spec.canonical,
            wire=spec.wire,
            worker=worker,
            file=str(file),
        )


def _sample(hooks: Hooks, agent: AgentSpec, event: str) -> dict[str, Any]:
    """Choose the fields of an event: those of an example of the author's, if there is one."""
    examples = [e for e in hooks.examples if e.event == event]
    fitting = [e for e in examples if not e.agents or agent.name in e.agents]
    fields: dict[str, Any] = dict(fitting[0].fields) if fitting else {}
    if event in TOOL_CALL and "tool_name" not in fields:
        subjects = [s for f in hooks.functions if f.event == event for s in f.subjects]
        tool = next((subject for subject in subjects if "*" not in subject), PLAIN_TOOL)
        fields |= {"tool_name": tool, "tool_input": PLAIN_INPUT if tool == PLAIN_TOOL else {}}
    if "tool_name" in fields:
        fields |= {"tool": fields.pop("tool_name"), "input": fields.pop("tool_input", {})}
    return fields


# -- the hooks of a project


class _Engine(Engine):
    """An engine that says how it would run a command, instead of running it."""

    def context(self, spec: EventSpec, event: Event) -> HookContext:
        """Return what the handlers of an event are given."""
        return self._make_context(spec, event, self.plan(event))


def of_project(
    project: Path, agents: Sequence[str], event: str | None, *, trust_once: bool
) -> tuple[list[Candidate], list[str]]:
    """Return the commands of a project's settings, and hook files among them warm and cold.

    Args:
        project: Directory of the project.
        agents: Names of agents.
        event: The only event; `None` for all.
        trust_once: Measure the project's own hooks without asking the trust store.

    Returns:
        What is measured, and which hooks are not, with the reason.
    """
    found: list[Candidate] = []
    left: list[str] = []
    for agent in agents:
        engine = _Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard)
        wanted = _canonical(engine.agent, event) if event else None
        seen: set[tuple[str, object]] = set()
        for definition in engine.definitions:
            for handler in definition.handlers:
                key = definition.event, handler.identity
                if wanted in (None, definition.event) and key not in seen:
                    seen.add(key)
                    _add(engine, definition, handler, found, left)
    return found, left


def _add(
    engine: _Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    found: list[Candidate],
    left: list[str],
) -> None:
    """Add a hook to what is measured, or to what is not."""
    spec = engine.agent.by_canonical[definition.event]
    withheld = engine.guard.withhold(handler, str(engine.project_dir))
    off = engine.hooks.switched_off(handler)
    trust = trust_command(engine.agent.name, engine.project_dir)
    why = {
        f"is of type {handler.kind}, which starts no command": handler.kind != "command",
        f"is switched off by {off}": off is not None,
        "runs in the background": handler.background,
        f"is not trusted: {trust}": withheld is not None,
    }
    reason = next((text for text, applies in why.items() if applies), None)
    event = None if reason else _matching(engine, definition, handler, spec)
    command = _command(engine.context(spec, event), handler) if event is not None else None
    if command is None:
        reason = reason or "cannot be started: no event reaches it, or there is no shell"
        left.append(f"{engine.agent.title}, {spec.wire}: {handler.label} {reason}")
        return
    base = Candidate(
        kind=WRITTEN,
        name=handler.label,
        command=_as(command, command.argv, "on"),
        agent=engine.agent.name,
        event=spec.canonical,
        wire=spec.wire,
        is_written=True,
    )
    files = hook_files(engine, handler)
    found += _ways(base, handler, files[0]) if files else [base]


def _matching(
    engine: _Engine, definition: HookDefinition, handler: HandlerSpec, spec: EventSpec
) -> Event | None:
    """Make an event that reaches a handler; of tools, the first that its matcher takes."""
    is_tool = spec.subject == "tool_name"
    plain = (definition.matcher or "").split("|")
    tools = [engine.agent.vocabulary.name(PLAIN_TOOL), *engine.agent.tools, *plain]
    subjects = tools if is_tool else [*spec.subjects, *plain, None]
    for subject in subjects:
        fields: dict[str, Any] = {"cwd": str(engine.project_dir)}
        if is_tool and subject:
            fields |= {"tool": subject, "input": PLAIN_INPUT if subject == tools[0] else {}}
        elif spec.subject and subject:
            fields[spec.subject] = subject
        elif is_tool:
            continue
        event = make_event(spec.canonical, agent=engine.agent.name, **fields)
        if any(one.identity == handler.identity for one in engine.plan(event).handlers):
            return event
    return None


def _command(context: HookContext, handler: HandlerSpec) -> Command | None:
    env, _ = command_environment(context, handler)
    argv = command_line(context, handler, env)
    if argv is None:
        return None
    return Command(argv=tuple(argv), env=env, cwd=context.cwd, payload=context.payload)


def _ways(base: Candidate, handler: HandlerSpec, file: Path) -> list[Candidate]:
    """Return a hook file as the settings run it, and the other way, if it can be determined."""
    words = _words(handler, base.command.env)
    read = read_command(words)
    found = [base]
    if warm_command(handler) is not None and read is not None:
        written = _warm(base, read.interpreter(base.command.env), read.words[0], file)
        cold = base.replace(
            kind=COLD, command=_as(base.command, base.command.argv, "off"), is_written=False
        )
        found = [cold, written]
    elif _starts(words, file, base.command.cwd):
        python = client.which(words[0], base.command.env)
        argv = (*prefix(python), *words[1:])
        there = _warm(base, python, words[1], file)
        command = _as(base.command, argv, "on")
        warm = there.replace(command=command, is_written=False)
        found = [base.replace(kind=COLD), warm]
    return [one.replace(file=str(file)) for one in found]


def _starts(words: Sequence[str], file: Path, cwd: str) -> bool:
    """Return whether a command line is an interpreter and the file, so a client may start it."""
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        return False
    return os.path.realpath(Path(cwd, words[1])) == os.path.realpath(file)


def _warm(base: Candidate, python: str | None, hook_file: str, file: Path) -> Candidate:
    worker = ""
    if python:
        path = client.absolute(hook_file, base.command.cwd)
        worker = _address(python, path, base.command.env)
    return base.replace(kind=WARM, worker=worker, file=str(file))


def _address(python: str, hook_file: str, environ: Mapping[str, str]) -> str:
    """Return the address of the server of a hook file.

    Raises:
        UsageError: If the runtime directory is not an absolute path.
    """
    try:
        return client.address(python, hook_file, environ)
    except client.WorkerUnavailable as error:
        raise UsageError(str(error)) from None


def _words(handler: HandlerSpec, env: Mapping[str, str]) -> list[str]:
    """Split a command as a shell would, as far as possible; no words if it cannot be split."""
    if handler.argv is not None:
        return [expand(word, env) for word in handler.argv]
    try:
        return [expand(word, env) for word in shlex.split(handler.command or "")]
    except ValueError:
        return []
