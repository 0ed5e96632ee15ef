"""The proof: the source's hooks and the migrated ones decide the same events, in a sandbox.

Each side runs in its own copy of the project, with its own home directory, so that nothing of the
real ones changes and neither side sees what the other did. If the sides differ, both run again in
fresh copies: what differs between two runs of one side (a duration, a random word) is unstable, and
no difference between the sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.migrate.comparison import Comparison
from anyhook.migrate.corpus import builtin_probes, recorded_probes, replace_directory
from anyhook.migrate.plan import plan_migration
from anyhook.migrate.scratch import HOME, SETTINGS, environment, scratch_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class ProofRequest:
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

    The sandbox sends the number of events that are done, and of all.

    Raises:
        UsageError: If the file of events cannot be read.
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

    def probes(project: Path) -> Sequence[Probe]:
        if request.events == BUILTIN:
            return builtin_probes(source, target, migration.hooks.definitions, project)
        return recorded_probes(Path(request.events), source, target, project)

    def report(done: int, total: int) -> None:
        run.send((done, total))

    return prove(
        migration,
        request.location,
        probes,
        links_packages=request.links_packages,
        progress=report,
    )


# A second run if the sides differ, and a third if answers vary: two runs may be equal by chance.
MAX_RUNS = 3


def prove(
    migration: Migration,
    location: Location,
    probes: Callable[[Path], Sequence[Probe]],
    *,
    links_packages: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Proof:
    """Run both configurations on some events and compare their decisions.

    The hooks run for real, in copies of the project.

    `probes` makes the events, given the directory in which they happen. `progress` gets the number
    of events that are done, and of all.

    Raises:
        UsageError: If the project is too large to copy.
    """
    comparison = Comparison(migration)
    for run in range(MAX_RUNS):
        with scratch_copies(migration, location, links_packages) as copies:
            pairs = [_move_to_copy(probe, migration, copies) for probe in probes(copies.source)]
            report = _run_progress(progress, run, len(pairs))
            anyio.run(_run_once, comparison, location, copies, pairs, report)
        proof = comparison.proof(len(pairs))
        varies = any(hook.unstable for hook in proof.hooks)
        if proof.holds or (run > 0 and not varies):
            break
    return proof


def _run_progress(
    progress: Callable[[int, int], None], run: int, count: int
) -> Callable[[int], None]:
    """Return what reports the progress of one run, as a part of all runs so far."""

    def report(done: int) -> None:
        progress(count * run + done, count * (run + 1))

    return report


def _move_to_copy(probe: Probe, migration: Migration, copies: ScratchCopies) -> Probe:
    """Let the target's event happen in the target's copy."""
    payload = replace_directory(probe.target_event.raw, str(copies.source), str(copies.target))
    event, _ = decode_event(migration.target, payload)
    return probe.replace(target_event=event)


async def _run_once(
    comparison: Comparison,
    location: Location,
    copies: ScratchCopies,
    probes: list[Probe],
    report: Callable[[int], None],
) -> None:
    """Let both sides decide every event once."""
    migration = comparison.migration
    roots = [str(copies.source), str(copies.target)]
    roots += [str(copy.parent / HOME) for copy in (copies.source, copies.target)]
    source = _load_engine(
        migration.source, copies.source, environment(migration, location, copies.source)
    )
    target = _load_engine(
        migration.target, copies.target, environment(migration, location, copies.target)
    )
    for definition in comparison.moved_definitions():
        source.define(definition)
    async with source, target:
        for number, probe in enumerate(probes):
            report(number)
            decisions: dict[Engine, Decision] = {}
            async with anyio.create_task_group() as group:
                group.start_soon(_dispatch, source, probe.source_event, decisions)
                group.start_soon(_dispatch, target, probe.target_event, decisions)
            comparison.record(number, probe, decisions[source], decisions[target], roots)
    report(len(probes))


async def _dispatch(engine: Engine, event: Event, decisions: dict[Engine, Decision]) -> None:
    decisions[engine] = await engine.dispatch(event)


def _load_engine(agent: AgentSpec, project: Path, environ: Mapping[str, str]) -> Engine:
    return Engine.load(
        project,
        agent=agent.name,
        trust_once=True,
        home=project.parent / SETTINGS,
        environ=environ,
        warm=False,  # a worker would outlive the copies
        on_message=discard,
    )
