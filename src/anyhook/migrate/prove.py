"""The proof: the source's hooks and the migrated ones decide the same events, side by side.

Each side runs in a copy of the project of its own, with a home directory of its own, so that
nothing of the real ones changes and neither sees what the other did. Where the sides differ, both
run again in fresh copies: what differs between two runs of one side is unstable (a duration, a
random word) and is no difference between the sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.payloads import decode_event
from anyhook.agents.replies import answer_of
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.migrate.canonical import canonical, plain
from anyhook.migrate.corpus import moved
from anyhook.migrate.scratch import HOME, SETTINGS, environment, scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.losses import Loss
    from anyhook.migrate.plan import Migration
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.model.events import Event
    from anyhook.settings.sources import Location

RUNS = 3
"""How often both sides decide the events at most.

Twice if they differ; once more if answers vary, as two runs may be alike by chance.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """One event that the two sides decide differently.

    Attributes:
        event: The event, for people.
        here: What the source's hook says, in canonical form.
        there: What the migrated one says.
        told: Whether the migration had said that something of this hook is lost or changes.
    """

    event: str
    here: Mapping[str, Any]
    there: Mapping[str, Any]
    told: bool


@dataclass(slots=True)
class HookProof:
    """How one hook fared.

    Attributes:
        place: Where it is written in the source.
        event: Its event at the source.
        label: Its name.
        events: How many events reached it, on either side.
        decided: On how many of them it had something to say.
        differences: Those that are decided differently.
        unstable: What of its answers differs from run to run, by event.
    """

    place: Place
    event: str
    label: str
    events: int = 0
    decided: int = 0
    differences: list[Difference] = field(default_factory=list)
    unstable: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof found.

    Attributes:
        events: How many events were tried.
        hooks: The hooks that were moved.
        combined: Events on which all hooks together decide differently.
    """

    events: int
    hooks: tuple[HookProof, ...]
    combined: tuple[Difference, ...]

    @property
    def differs(self) -> bool:
        """Whether anything is decided differently."""
        return bool(self.combined or any(hook.differences for hook in self.hooks))

    @property
    def holds(self) -> bool:
        """Whether every difference was told beforehand."""
        found = [d for hook in self.hooks for d in hook.differences]
        return all(difference.told for difference in (*found, *self.combined))


def prove(
    migration: Migration,
    location: Location,
    probes: Callable[[Path], Sequence[Probe]],
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Proof:
    """Run both configurations over some events and compare what they decide.

    The hooks run for real, in copies of the project. Ask their user first.

    Args:
        migration: What was migrated.
        location: The project, home and environment.
        probes: Makes the events, given the directory that they happen in.
        progress: Called with the number of events that are done, and of all.

    Raises:
        UsageError: If the project is too large to copy.
    """
    sides = Comparison(migration)
    for run in range(RUNS):
        with scratch(migration, location) as (here, there):
            pairs = [_in_copy(probe, migration, here, there) for probe in probes(here)]
            count = len(pairs)
            report = partial(_report, progress, count, run)
            anyio.run(_run, Run(sides, (here, there)), location, pairs, report)
        proof = sides.proof(count)
        varies = any(hook.unstable for hook in proof.hooks)
        if proof.holds or (run > 0 and not varies):
            break
    return proof


def _report(progress: Callable[[int, int], None], count: int, run: int, done: int) -> None:
    progress(count * run + done, count * (run + 1))


def _in_copy(probe: Probe, migration: Migration, here: Path, there: Path) -> Probe:
    """Let the target's event happen in the target's copy."""
    payload = moved(probe.there.raw, str(here), str(there))
    event, _ = decode_event(migration.target, payload)
    return probe.replace(there=event)


async def _run(
    run: Run, location: Location, probes: list[Probe], progress: Callable[[int], None]
) -> None:
    """Let both sides decide every event once."""
    here, there = run.copies
    migration = run.sides.migration
    source = _engine(migration.source, here, environment(migration, location, here))
    target = _engine(migration.target, there, environment(migration, location, there))
    for definition in run.sides.moved_definitions():
        source.define(definition)
    async with source, target:
        for done, probe in enumerate(probes):
            progress(done)
            decisions: dict[str, Decision] = {}

            async def ask(
                name: str, engine: Engine, event: Event, into: dict[str, Decision]
            ) -> None:
                into[name] = await engine.dispatch(event)

            async with anyio.create_task_group() as group:
                group.start_soon(ask, "here", source, probe.here, decisions)
                group.start_soon(ask, "there", target, probe.there, decisions)
            run.compare(done, probe, decisions["here"], decisions["there"])
    progress(len(probes))


def _engine(agent: AgentSpec, project: Path, environ: Mapping[str, str]) -> Engine:
    return Engine.load(
        project,
        agent=agent.name,
        trust_once=True,
        home=project.parent / SETTINGS,
        environ=environ,
        warm=False,  # a worker would outlive the copies
        on_message=discard,
    )


@dataclass(slots=True)
class Observation:
    """What both sides said to one event, run by run.

    Attributes:
        label: The event, for people.
        here: What the source's hook says, in canonical form.
        there: What the migrated one says.
    """

    label: str
    here: list[dict[str, Any]] = field(default_factory=list)
    there: list[dict[str, Any]] = field(default_factory=list)

    @property
    def decides(self) -> bool:
        """Whether anything is said at all."""
        return any(self.here) or any(self.there)

    def fields(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the members that differ between the sides, and those that are unstable.

        A member that one run of each side has alike does not differ.
        """
        names = dict.fromkeys(name for said in (*self.here, *self.there) for name in said)
        differing: list[str] = []
        unstable: list[str] = []
        for name in names:
            here = [said.get(name) for said in self.here]
            there = [said.get(name) for said in self.there]
            if any(value in there for value in here):
                continue
            is_stable = all(value == values[0] for values in (here, there) for value in values)
            (differing if is_stable else unstable).append(name)
        return tuple(differing), tuple(unstable)

    def stable(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what both sides said last, without what is unstable."""
        _, unstable = self.fields()
        here, there = (
            {name: value for name, value in said[-1].items() if name not in unstable}
            for said in (self.here, self.there)
        )
        return here, there


Key = tuple["Place", str]
"""Where a hook is written in the source, and the canonical name of its event there."""


class Comparison:
    """The hooks of both sides, and how they compare."""

    def __init__(self, migration: Migration) -> None:
        self.migration = migration
        self.proofs: dict[Key, HookProof] = {}
        self.origins: dict[tuple[str, str | None, str], list[Key]] = {}
        self.observed: dict[tuple[Key | None, int], Observation] = {}
        self.losses: dict[Any, list[Loss]] = {}
        for definition in migration.hooks.definitions:
            for handler in definition.handlers:
                places = (handler.place, definition.place)
                self.losses[handler.place] = [x for x in migration.losses if x.place in places]
        for entry in migration.entries:
            matcher = entry.definition.get("matcher")
            for handler, origin in zip(entry.definition["hooks"], entry.origins, strict=True):
                key = (origin.handler.place, origin.event)
                spec = migration.source.by_canonical[origin.event]
                self.proofs.setdefault(
                    key, HookProof(origin.handler.place, spec.wire, origin.handler.label)
                )
                at = (entry.event, matcher, handler["command"])
                self.origins.setdefault(at, []).append(key)

    def moved_definitions(self) -> Iterator[HookDefinition]:
        """Yield the source's definitions with the handlers that were moved."""
        for definition in self.migration.hooks.definitions:
            kept = tuple(
                handler
                for handler in definition.handlers
                if (handler.place, definition.event) in self.proofs
            )
            if kept:
                yield replace(definition, handlers=kept)

    def proof(self, events: int) -> Proof:
        """Compare what was observed so far."""
        combined = []
        for proof in self.proofs.values():
            proof.events, proof.decided = 0, 0
            proof.differences.clear()
            proof.unstable.clear()
        explained = set()
        for (key, number), seen in self.observed.items():
            if key is None:
                continue
            proof = self.proofs[key]
            proof.events += 1
            proof.decided += seen.decides
            fields, unstable = seen.fields()
            if fields or unstable:
                explained.add(number)
            if unstable:
                proof.unstable[seen.label] = unstable
            if fields:
                here, there = seen.stable()
                told = any(loss.tells(here, there) for loss in self.losses[proof.place])
                proof.differences.append(Difference(seen.label, here, there, told))
        for (key, number), seen in self.observed.items():
            if key is None and number not in explained and seen.fields()[0]:
                combined.append(Difference(seen.label, *seen.stable(), told=False))
        return Proof(events, tuple(self.proofs.values()), tuple(combined))


class Run:
    """One run of both sides over the events, in copies of its own.

    Args:
        sides: The hooks, which collect what is observed.
        copies: The source's copy of the project and the target's.
    """

    def __init__(self, sides: Comparison, copies: tuple[Path, Path]) -> None:
        self.sides = sides
        self.copies = copies
        self.roots = [str(copy) for copy in copies]
        self.roots += [str(copy.parent / HOME) for copy in copies]

    def compare(self, number: int, probe: Probe, here: Decision, there: Decision) -> None:
        """Note what each hook said, and what all of them together decide."""
        source, target = self.sides.migration.source, self.sides.migration.target
        said: dict[Key | None, dict[str, Any]] = {}
        for result in here.results:
            place = (result.handler.place, probe.here.name)
            if place in self.sides.proofs:
                said[place] = canonical(result.answer, probe.here, source, self.roots)
        answered: dict[Key | None, dict[str, Any]] = {}
        for result in there.results:
            own = canonical(result.answer, probe.there, target, self.roots)
            for place in self._origins(result, probe):
                answered[place] = {**answered.get(place, {}), **own}
        said[None] = canonical(answer_of(here), probe.here, source, self.roots)
        answered[None] = canonical(answer_of(there), probe.there, target, self.roots)
        for key in dict.fromkeys([*said, *answered]):
            seen = self.sides.observed.setdefault((key, number), Observation(self._label(probe)))
            seen.here.append(said.get(key, {}))
            seen.there.append(answered.get(key, {}))

    def _label(self, probe: Probe) -> str:
        return str(plain(probe.label, self.roots)).replace("{project}/", "")

    def _origins(self, result: HandlerResult, probe: Probe) -> Iterator[Key]:
        sides = self.sides
        for (event, _matcher, command), keys in sides.origins.items():
            spec = sides.migration.target.by_canonical[probe.there.name]
            if event == spec.wire and command == result.handler.command:
                yield from (key for key in keys if key[1] == probe.here.name)
