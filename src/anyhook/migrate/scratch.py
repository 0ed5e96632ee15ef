"""Copies of a project and of a home directory, in which a proof runs hooks."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.migrate.commands import PROGRAM
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import SCOPES
from anyhook.model.layers import Layer
from anyhook.sandbox.copies import XDG_VARIABLES, copy_home, copy_project
from anyhook.settings.sources import Location, places, written_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.migrate.plan import Migration

SETTINGS, HOME = "settings", "home"
"""Directories next to a copy: the home with the settings that count, and the hooks' home."""


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
                break
        yield ScratchCopies(source, target)


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
    if migration.is_shimmed and not shutil.which(PROGRAM[0], path=environ.get("PATH")):
        # Migrated hooks start the program, and none is installed.
        programs = copy.parent / "bin"
        programs.mkdir(exist_ok=True)
        program = programs / PROGRAM[0]
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m anyhook "$@"\n')
        program.chmod(0o755)
        environ["PATH"] = os.pathsep.join([str(programs), environ.get("PATH") or os.defpath])
    environ["HOME"] = str(copy.parent / HOME)
    environ["ANYHOOK_WORKER"] = "off"  # a worker would outlive the copies
    return environ
