"""The proof: the source's hooks and the migrated ones decide the same events, side by side.

Each side runs in a copy of the project of its own, so that nothing of the real one changes and
neither sees what the other did.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.dialects.wire import answer_of, decode_event
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.migrate.canonical import canonical, plain
from anyhook.migrate.corpus import moved
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import SCOPES
from anyhook.model.layers import Layer
from anyhook.settings.sources import Surroundings, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anyhook.dialects.base import Dialect
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.losses import Loss
    from anyhook.migrate.plan import Migration
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.model.events import Event

LARGEST = 256 * 1024 * 1024
"""Bytes of a project that are copied at most."""
LINKED = frozenset({"node_modules", ".venv", "venv", ".tox"})
"""Directories of packages that hooks may need and that are too large to copy; they are linked."""
LEFT_OUT = frozenset({"__pycache__"})


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
    """

    place: Place
    event: str
    label: str
    events: int = 0
    decided: int = 0
    differences: list[Difference] = field(default_factory=list)


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
    around: Surroundings,
    probes: Callable[[Path], Sequence[Probe]],
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Proof:
    """Run both configurations over some events and compare what they decide.

    The hooks run for real, in copies of the project. Ask their user first.

    Args:
        migration: What was migrated.
        around: The project, home and environment.
        probes: Makes the events, given the directory that they happen in.
        progress: Called with the number of events that are done, and of all.

    Raises:
        UsageError: If the project is too large to copy.
    """
    with scratch(migration, around) as (here, there):
        pairs = [_in_copy(probe, migration, here, there) for probe in probes(here)]
        return anyio.run(_prove, migration, around, (here, there), pairs, progress)


def _in_copy(probe: Probe, migration: Migration, here: Path, there: Path) -> Probe:
    """Let the target's event happen in the target's copy."""
    payload = moved(probe.there.raw, str(here), str(there))
    event, _ = decode_event(migration.target, payload)
    return probe.replace(there=event)


async def _prove(
    migration: Migration,
    around: Surroundings,
    copies: tuple[Path, Path],
    probes: list[Probe],
    progress: Callable[[int, int], None],
) -> Proof:
    here, there = copies
    environ = _environ(migration, around, here.parent)
    source = _engine(migration.source, here, environ)
    target = _engine(migration.target, there, environ)
    sides = Sides(migration, copies)
    for definition in sides.moved_definitions():
        source.define(definition)
    async with source, target:
        for done, probe in enumerate(probes):
            progress(done, len(probes))
            decisions: dict[str, Decision] = {}

            async def ask(
                name: str, engine: Engine, event: Event, into: dict[str, Decision]
            ) -> None:
                into[name] = await engine.dispatch(event)

            async with anyio.create_task_group() as group:
                group.start_soon(ask, "here", source, probe.here, decisions)
                group.start_soon(ask, "there", target, probe.there, decisions)
            sides.compare(probe, decisions["here"], decisions["there"])
    progress(len(probes), len(probes))
    return Proof(len(probes), tuple(sides.proofs.values()), tuple(sides.combined))


def _engine(dialect: Dialect, project: Path, environ: Mapping[str, str]) -> Engine:
    home = project.parent / "home"
    return Engine.load(
        project,
        dialect=dialect.name,
        trust_once=True,
        home=home,
        environ=environ,
        on_message=discard,
    )


def _environ(migration: Migration, around: Surroundings, root: Path) -> dict[str, str]:
    """Return the environment of both sides: no settings but those of the copies count."""
    environ = dict(around.environ)
    for dialect in (migration.source, migration.target):
        environ.pop(dialect.config_variable or "", None)
        environ.pop(dialect.home_variable or "", None)
        for file in dialect.settings:
            if file.variable:
                environ[file.variable] = str(root / "none" / f"{file.layer}.json")
    return environ


class Sides:
    """The hooks of both sides, and how they compare."""

    def __init__(self, migration: Migration, copies: tuple[Path, Path]) -> None:
        self.migration = migration
        self.roots = [str(copy) for copy in copies]
        self.proofs: dict[tuple[Any, str], HookProof] = {}
        self.origins: dict[tuple[str, str | None, str], list[tuple[Any, str]]] = {}
        self.combined: list[Difference] = []
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

    def compare(self, probe: Probe, here: Decision, there: Decision) -> None:
        """Compare what each hook said, and what all of them together decide."""
        source, target = self.migration.source, self.migration.target
        said: dict[tuple[Any, str], dict[str, Any]] = {}
        for result in here.results:
            key = (result.handler.place, probe.here.name)
            if key in self.proofs:
                said[key] = canonical(result.answer, probe.here, source, self.roots)
        answered: dict[tuple[Any, str], dict[str, Any]] = {}
        for result in there.results:
            own = canonical(result.answer, probe.there, target, self.roots)
            for key in self._origins(result, probe):
                answered[key] = {**answered.get(key, {}), **own}
        for key in said.keys() | answered.keys():
            proof = self.proofs[key]
            one, other = said.get(key, {}), answered.get(key, {})
            proof.events += 1
            proof.decided += bool(one or other)
            if one != other:
                told = any(loss.tells(one, other) for loss in self.losses[proof.place])
                proof.differences.append(Difference(self._label(probe), one, other, told))
        self._compare_all(probe, here, there)

    def _compare_all(self, probe: Probe, here: Decision, there: Decision) -> None:
        one = canonical(answer_of(here), probe.here, self.migration.source, self.roots)
        other = canonical(answer_of(there), probe.there, self.migration.target, self.roots)
        if one != other and not any(
            difference.event == self._label(probe)
            for proof in self.proofs.values()
            for difference in proof.differences
        ):
            self.combined.append(Difference(self._label(probe), one, other, told=False))

    def _label(self, probe: Probe) -> str:
        return str(plain(probe.label, self.roots)).replace("{project}/", "")

    def _origins(self, result: HandlerResult, probe: Probe) -> Iterator[tuple[Any, str]]:
        for (event, _matcher, command), keys in self.origins.items():
            spec = self.migration.target.by_canonical[probe.there.name]
            if event == spec.wire and command == result.handler.command:
                yield from (key for key in keys if key[1] == probe.here.name)


# -- copies


@contextmanager
def scratch(migration: Migration, around: Surroundings) -> Iterator[tuple[Path, Path]]:
    """Copy the project twice, without the settings of either agent; with the migrated ones in one.

    Yields:
        The source's copy and the target's.

    Raises:
        UsageError: If the project is too large to copy.
    """
    with tempfile.TemporaryDirectory(prefix="anyhook-proof-") as root:
        copies = []
        for name in ("here", "there"):
            base = Path(os.path.realpath(root)) / name
            (base / "home").mkdir(parents=True)
            copy = base / around.project.name
            if migration.scope == "project":
                _copy(around.project, copy)
            else:
                copy.mkdir()
            for dialect in (migration.source, migration.target):
                for _, path in places(dialect, Surroundings(copy, base / "home", {})):
                    if path.is_relative_to(base):
                        path.unlink(missing_ok=True)
            copies.append(copy)
        here, there = copies
        own = places(migration.target, Surroundings(there, there.parent / "home", {}))
        layers = SCOPES[migration.scope] - {Layer.LOCAL}
        path = next(path for layer, path in own if layer in layers)
        text, _ = merge_into(migration, "", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        yield here, there


def linked(project: Path) -> list[str]:
    """List the directories that the copies share with the project."""
    return sorted(name for name in LINKED if (project / name).is_dir())


def _copy(project: Path, copy: Path) -> None:
    """Copy what the project's own files are; link packages at its top."""
    total = 0
    shared = linked(project)

    def ignore(directory: str, names: list[str]) -> set[str]:
        nonlocal total
        left = {name for name in names if name in LEFT_OUT}
        for name in names:
            path = Path(directory) / name
            if (directory == str(project) and name in shared) or _leads_away(path, project):
                left.add(name)
            elif path.is_file() and not path.is_symlink():
                total += path.stat().st_size
                if total > LARGEST:
                    raise UsageError(
                        f"the project has more than {LARGEST // 1024 // 1024} MiB to copy; prove "
                        "the migration in a smaller checkout"
                    )
            elif not path.is_dir() and not path.is_symlink():
                left.add(name)  # a socket, a pipe, a device
        return left

    shutil.copytree(project, copy, symlinks=True, ignore=ignore)
    for name in shared:
        (copy / name).symlink_to(project / name)


def _leads_away(path: Path, project: Path) -> bool:
    """Tell whether writing to something of a copy would write to something of the user's."""
    if path.name == ".git" and path.is_file():
        return True  # a worktree: its repository is elsewhere
    if not path.is_symlink():
        return False
    inside = not os.path.isabs(os.readlink(path))  # noqa: PTH115, PTH117 - as it is written
    return not (inside and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project)))
