"""What a backtest evaluates: a hook file, or the hooks of a project."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anyhook import __version__
from anyhook.errors import UsageError
from anyhook.history.rows import DIGEST_SIZE
from anyhook.trust.records import record_subjects
from anyhook.trust.subjects import SubjectReader
from anyhook.trust.trees import code_beside

if TYPE_CHECKING:
    from anyhook.backtest.results import Result
    from anyhook.backtest.sources import EventRow

EVALUATION = 1
"""Raised when the same hook and event give another result, so that kept results are not used."""


class Evaluator(Protocol):
    """Hooks that are ready to decide recorded events."""

    @property
    def events(self) -> frozenset[str]:
        """Canonical names of the events that they decide."""
        ...

    def labels(self) -> list[str]:
        """Return the names of the hooks."""
        ...

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result."""
        ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What is evaluated; it can be sent to another process.

    Attributes:
        path: A hook file, or the directory of a project.
        title: What it is called in reports: the path, with a revision of git.
        agent: The agent whose settings count in a project; empty to find out.
        trusted: Whether the commands of a project may run.
    """

    path: str
    title: str
    agent: str = ""
    trusted: bool = False

    @property
    def is_project(self) -> bool:
        """Whether it is the directory of a project."""
        return Path(self.path).is_dir()

    def load(self) -> Evaluator:
        """Load the hooks.

        Raises:
            UsageError: If they cannot be loaded.
        """
        if self.is_project:
            from anyhook.backtest.project import ProjectHooks

            return ProjectHooks(self)
        from anyhook.backtest.hook_file import HookFile

        return HookFile(self.path)

    def digest(self) -> str:
        """Return a hash of everything that the decisions may depend on.

        It covers the hook file and the modules beside it, or the settings, commands and scripts of
        a project's hooks as the trust store records them; the versions of Python and anyhook.

        Raises:
            UsageError: If it does not exist.
        """
        root = Path(self.path)
        if not root.exists():
            raise UsageError(f"there is no {self.path}")
        hasher = hashlib.blake2b(digest_size=DIGEST_SIZE)
        version = f"{EVALUATION} {__version__} {sys.version} {self.agent} {self.trusted}"
        hasher.update(version.encode())
        content = _project_content(self) if self.is_project else _file_content(root)
        hasher.update(content)
        return hasher.hexdigest()


def _file_content(file: Path) -> bytes:
    """Return a hook file and the modules beside it that it may load."""
    source = file.read_bytes()
    parts = [source]
    for path in sorted(code_beside(file.parent, source.decode("utf-8", "replace"))):
        if path != file:
            parts += [path.name.encode("utf-8", "replace"), path.read_bytes()]
    return b"\0".join(parts)


def _project_content(subject: Subject) -> bytes:
    """Return what the trust store would record about the hooks of a project."""
    from anyhook.backtest.project import load_engine

    engine = load_engine(subject, Path(subject.path), home=None)
    reader = SubjectReader(engine.project_dir, engine.guard.variables())
    entries, trees = record_subjects(reader.read_all(engine.definitions), engine.agent.name)
    return json.dumps([entries, trees], sort_keys=True, default=str).encode()
