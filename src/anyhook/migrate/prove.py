"""The proof: the source's hooks and the migrated ones decide the same events, in a sandbox.

Each side runs in its own copy of the project, with its own home directory, so that nothing of the
real ones changes and neither side sees what the other did. If the sides differ, both run again in
fresh copies: what differs between two runs of one side (a duration, a random word) is unstable, and
no difference between the sides.
"""

from __future__ import annotations

import functools
import os
import shlex
import site
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.migrate.commands import PROGRAM
from anyhook.migrate.comparison import Comparison
from anyhook.migrate.corpus import builtin_probes, recorded_probes
from anyhook.migrate.plan import SCOPES, merge_into, plan_migration
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.processes.programs import find_program
from anyhook.sandbox.copies import XDG_VARIABLES, copy_home, copy_project
from anyhook.sandbox.world import move_paths
from anyhook.settings.sources import Location, places, written_file
from anyhook.worker.client import RUNTIME_DIR_ENV, WORKER_ENV
from anyhook.worker.control import list_servers, stop_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.comparison import Proof
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.plan import Migration
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.sandbox.keeper import SandboxRun


BUILTIN = "builtin"
"""The events that come with this package."""
# A second run if the sides differ, and a third if answers vary: two runs may be equal by chance.
MAX_RUNS = 3


class ProofRequest(Record, kw_only=False):
    """A proof that is to be run in a sandbox."""

    source: str
    target: str
    location: Location
    """The project, home and environment, at their paths in the sandbox."""
    scope: str
    has_shim: bool
    program: tuple[str, ...]
    events: str
    """A file of recorded events, or `BUILTIN`."""
    links_packages: bool = False


def prove_migration(run: SandboxRun, request: ProofRequest) -> Proof:
    """Plan a migration again and prove it, as a function of a sandbox.

    The sandbox sends the number of events that are done, and of all. The hooks run for real, in
    copies of the project.

    Raises:
        UsageError: If the file of events cannot be read, or the project is too large to copy.
    """
    source, target = get_agent(request.source), get_agent(request.target)
    migration = plan_migration(
        source,
        target,
        request.location,
        scope=request.scope,
        shim=request.has_shim,
        program=request.program,
    )

    comparison = Comparison(migration)
    for number in range(MAX_RUNS):
        with scratch_copies(migration, request.location, request.links_packages) as copies:
            if request.events == BUILTIN:
                probes = builtin_probes(source, target, migration.hooks.definitions, copies.source)
            else:
                probes = recorded_probes(Path(request.events), source, target, copies.source)
            pairs: list[Probe] = []
            for probe in probes:
                # The target's event happens in the target's copy.
                directories = [(str(copies.source), str(copies.target))]
                payload = move_paths(probe.target_event.raw, directories)
                event, _ = decode_event(target, payload)
                pairs.append(probe.replace(target_event=event))
            anyio.run(
                functools.partial(_run_once, run=run, number=number),
                comparison,
                request.location,
                copies,
                pairs,
            )
        proof = comparison.proof(len(pairs))
        varies = any(hook.unstable for hook in proof.hooks)
        if proof.holds or (number > 0 and not varies):
            break
    return proof


async def _run_once(
    comparison: Comparison,
    location: Location,
    copies: ScratchCopies,
    probes: list[Probe],
    *,
    run: SandboxRun,
    number: int,
) -> None:
    """Let both sides decide every event once, for the run with this number."""
    decided = len(probes) * number
    total = len(probes) * (number + 1)
    migration = comparison.migration
    roots = [str(copies.source), str(copies.target)]
    roots += [str(copy.parent / HOME) for copy in (copies.source, copies.target)]
    source = _load_engine(migration, migration.source, location, copies.source)
    target = _load_engine(migration, migration.target, location, copies.target)
    for definition in comparison.moved_definitions():
        source.define(definition)
    async with source, target:
        for index, probe in enumerate(probes):
            run.send((decided + index, total))
            decisions: dict[Engine, Decision] = {}
            async with anyio.create_task_group() as group:
                group.start_soon(_dispatch, source, probe.source_event, decisions)
                group.start_soon(_dispatch, target, probe.target_event, decisions)
            comparison.record(index, probe, decisions[source], decisions[target], roots)
    run.send((total, total))


async def _dispatch(engine: Engine, event: Event, decisions: dict[Engine, Decision]) -> None:
    decisions[engine] = await engine.dispatch(event)


def _load_engine(
    migration: Migration, agent: AgentSpec, location: Location, project: Path
) -> Engine:
    return Engine.load(
        project,
        agent=agent.name,
        trust_once=True,
        home=project.parent / SETTINGS,
        environ=environment(migration, location, project),
        on_message=discard,
    )


# -- copies of both sides

SETTINGS, HOME, WORKERS = "settings", "home", "workers"
"""Directories next to a copy: the home with the settings that count, the hooks' home, and the
sockets of the workers."""


@dataclass(frozen=True, slots=True)
class ScratchCopies:
    """The copies of a project in which the two sides of a proof run."""

    source: Path
    target: Path


@contextmanager
def scratch_copies(
    migration: Migration, location: Location, links_packages: bool
) -> Iterator[ScratchCopies]:
    """Copy the project twice without the agents' settings; the target's has the migrated ones.

    Raises:
        UsageError: If the project is too large to copy.
    """
    with tempfile.TemporaryDirectory(prefix="anyhook-proof-") as directory:
        root = Path(os.path.realpath(directory))
        source = _make_side(migration, location, root / "here", links_packages)
        target = _make_side(migration, location, root / "there", links_packages)
        layers = SCOPES[migration.scope] - {Layer.LOCAL}
        settings = Location(target, target.parent / SETTINGS, {})
        for layer in migration.target.settings.layer_order:
            path = written_file(migration.target, settings, layer) if layer in layers else None
            if path is not None:
                text, _ = merge_into(migration, "", str(path))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                _hide_from_git(target, path)
                break
        try:
            yield ScratchCopies(source, target)
        finally:
            for copy in (source, target):
                for server in list_servers(str(copy.parent / WORKERS)):
                    stop_server(server.base)


def _hide_from_git(project: Path, file: Path) -> None:
    """Let Git ignore a file that only one copy has: hooks print what `git status` shows."""
    information = project / ".git" / "info"
    if information.parent.is_dir() and file.is_relative_to(project):
        information.mkdir(exist_ok=True)
        with (information / "exclude").open("a", encoding="utf-8") as excluded:
            excluded.write(f"/{file.relative_to(project).as_posix()}\n")


def _make_side(migration: Migration, location: Location, base: Path, links_packages: bool) -> Path:
    (base / SETTINGS).mkdir(parents=True)
    copy_home(location, base / HOME)
    copy = base / location.project.name
    if migration.scope == "project":
        copy_project(location.project, copy, links_packages=links_packages)
    else:
        copy.mkdir()
    for agent in (migration.source, migration.target):
        for _, path in places(agent, Location(copy, base / SETTINGS, {})):
            if path.is_relative_to(base):
                path.unlink(missing_ok=True)
    return copy


def environment(migration: Migration, location: Location, copy: Path) -> dict[str, str]:
    """Return the environment of the hooks of one side.

    Its home is the copy, and only the settings in the copies are used. Packages that are installed
    for the user alone are still found.
    """
    environ = dict(location.environ)
    for agent in (migration.source, migration.target):
        environ.pop(agent.settings.config_variable or "", None)
        environ.pop(agent.settings.home_variable or "", None)
        for file in agent.settings.files:
            if file.variable:
                environ[file.variable] = str(copy.parent / "none" / f"{file.layer}.json")
    for name in XDG_VARIABLES:
        environ.pop(name, None)
    user_packages = site.getuserbase()
    if Path(user_packages).is_dir():
        environ.setdefault("PYTHONUSERBASE", user_packages)
    if migration.is_shimmed and find_program(PROGRAM[0], environ) is None:
        # Migrated hooks start the program, and none is installed.
        programs = copy.parent / "bin"
        programs.mkdir(exist_ok=True)
        program = programs / PROGRAM[0]
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m anyhook "$@"\n')
        program.chmod(0o755)
        environ["PATH"] = os.pathsep.join([str(programs), environ.get("PATH") or os.defpath])
    environ["HOME"] = str(copy.parent / HOME)
    # A proof runs each hook a hundred times.
    environ[RUNTIME_DIR_ENV] = str(copy.parent / WORKERS)
    environ.pop(WORKER_ENV, None)
    return environ
