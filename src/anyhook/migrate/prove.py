"""The proof: the source's hooks and the migrated ones decide the same events, in a sandbox.

Each side runs in its own copy of the project, with its own home directory, so that nothing of the
real ones changes and neither side sees what the other did. If the sides differ, both run again in
fresh copies: what differs between two runs of one side (a duration, a random word) is unstable, and
no difference between the sides.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.migrate.comparison import Comparison
from anyhook.migrate.corpus import builtin_probes, recorded_probes
from anyhook.migrate.plan import plan_migration
from anyhook.migrate.scratch import HOME, SETTINGS, environment, scratch_copies
from anyhook.model.record import Record
from anyhook.sandbox.world import move_paths

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.comparison import Proof
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.plan import Migration
    from anyhook.migrate.scratch import ScratchCopies
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.settings.sources import Location

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
    done = len(probes) * number
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
            run.send((done + index, total))
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
        warm=False,  # a worker would outlive the copies
        on_message=discard,
    )
