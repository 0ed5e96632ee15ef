"""Copies of a project and a home in which hooks and agents run without changing the originals."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents.program import AgentProgram, Workplace
from anyhook.agents.spec.settings import Extensions, Plugins
from anyhook.model.record import Record, replace
from anyhook.probe.start import program_environment
from anyhook.sandbox.copies import copy_home, copy_project
from anyhook.settings.sources import Location, config_dir

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

REPOSITORY = ".git"
COPIED_REPOSITORY_FILES = ("HEAD", "index", "packed-refs", "refs", "info", "hooks", "shallow")
"""What is copied of a repository. Without `config` it has no remote that a command could reach."""
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
MAX_RECORD_SIZE = 1024 * 1024


class Scratch(Record, kw_only=False):
    """A copy of a project and of its user's home."""

    agent: AgentSpec
    program: AgentProgram
    root: Path
    """Directory that holds the copies and nothing else."""
    real: Location
    copy: Location
    """Its environment is what the program gets."""

    @property
    def place(self) -> Workplace:
        """Where the program works; its environment is the user's."""
        return Workplace(self.copy.home, self.copy.project, self.real.environ)

    def original(self, text: str) -> str:
        """Return a text with the paths of the originals in place of those of the copies."""
        text = text.replace(str(self.copy.project), str(self.real.project))
        return text.replace(str(self.copy.home), str(self.real.home))

    def in_copy(self, text: str) -> str:
        """Return a text with the paths of the copies, as far as the original is copied."""
        directories = (
            (str(config_dir(self.agent, self.real)), str(config_dir(self.agent, self.copy))),
            (str(self.real.project), str(self.copy.project)),
        )
        for real, copy in directories:
            text = text.replace(real, copy)
        return text


def make_scratch(
    agent: AgentSpec, program: AgentProgram, real: Location, root: Path, links_packages: bool
) -> Scratch:
    """Copy a project and what an agent and its hooks need of the home to a new directory.

    Raises:
        UsageError: If the project is too large to copy.
    """
    home, project = root / "home", root / "project" / (real.project.name or "root")
    root.mkdir(parents=True)
    project.parent.mkdir()
    copy_home(real, home)
    copy_project(real.project, project, without=(REPOSITORY,), links_packages=links_packages)
    _link_repository(real.project, project)
    scratch = Scratch(agent, program, root, real, Location(project, home, {}, real.platform))
    # The records of extensions and plugins have to name the copies of the directories.
    packages = agent.settings.packages
    records: list[Path] = []
    config = config_dir(agent, scratch.copy)
    if isinstance(packages, Plugins):
        records.append(Path(packages.record.format(config=config)))
    elif isinstance(packages, Extensions):
        directory = Path(packages.directory.format(home=home, config=config))
        records += directory.glob(f"*/{packages.install_record}")
        records.append(directory / packages.enablement)
    for record in records:
        if record.is_file() and record.stat().st_size <= MAX_RECORD_SIZE:
            text = record.read_text(encoding="utf-8", errors="surrogateescape")
            record.write_text(scratch.in_copy(text), encoding="utf-8", errors="surrogateescape")
    environ = program_environment(program, scratch.place)
    return replace(scratch, copy=scratch.copy._replace(environ=environ))


def _link_repository(project: Path, copy: Path) -> None:
    """Give the copy the history of the project, without copying it and without remotes.

    Git looks for objects in the original repository and writes new ones to the copy.
    """
    # The directory of the checkout, and that of the repository, which worktrees share.
    own = common = project / REPOSITORY
    if not own.is_dir():
        try:
            text = own.read_text(encoding="utf-8")
            own = (project / text.removeprefix("gitdir:").strip()).resolve()
            shared = own / (own / "commondir").read_text(encoding="utf-8").strip()
        except OSError:
            return
        common = Path(os.path.realpath(shared))
    target = copy / REPOSITORY
    (target / "objects" / "info").mkdir(parents=True)
    (target / "refs").mkdir()
    for directory in dict.fromkeys((common, own)):
        for name in COPIED_REPOSITORY_FILES:
            source = directory / name
            with suppress(OSError):
                if source.is_dir():
                    shutil.copytree(source, target / name, dirs_exist_ok=True)
                else:
                    shutil.copyfile(source, target / name)
    alternates = target / "objects" / "info" / "alternates"
    alternates.write_text(f"{common / 'objects'}\n", encoding="utf-8")
    (target / "config").write_text(CONFIG, encoding="utf-8")
