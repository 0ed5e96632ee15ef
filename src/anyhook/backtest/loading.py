"""Load the hooks of a backtest, and find out whether they have changed."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook import __version__
from anyhook.backtest.hook_file import HookFile
from anyhook.errors import UsageError
from anyhook.history.digests import DIGEST_SIZE
from anyhook.sandbox.environment import sandbox_environment
from anyhook.trust.following import Follower
from anyhook.trust.name_search import ProjectFiles
from anyhook.trust.records import record_subjects
from anyhook.trust.subjects import SubjectReader

if TYPE_CHECKING:
    from anyhook.backtest.subjects import BacktestSubject, Evaluator

EVALUATION = 4
"""Raised when the same hook and event give another result, so that kept results are not used."""


def load_hooks_of(subject: BacktestSubject, limit: float) -> Evaluator:
    """Load the hooks of a subject, which runs the code of a hook file.

    Args:
        subject: The hooks.
        limit: Seconds that an event may take.

    Raises:
        UsageError: If they cannot be loaded.
    """
    if subject.is_project:
        from anyhook.backtest.project import ProjectHooks  # an engine takes 0.2 s to import

        return ProjectHooks(subject, limit)
    return HookFile(subject.path, limit)


def digest_of(subject: BacktestSubject) -> str:
    """Return a hash of everything that the decisions of a subject may depend on.

    It covers the hook file and the modules beside it, or the settings, commands and scripts of a
    project's hooks as the trust store records them; the versions of Python and anyhook.

    Raises:
        UsageError: If it does not exist.
    """
    root = Path(subject.path)
    if not root.exists():
        raise UsageError(f"there is no {subject.path}")
    hasher = hashlib.blake2b(digest_size=DIGEST_SIZE)
    version = f"{EVALUATION} {__version__} {sys.version} {subject.agent} {subject.trusted}"
    hasher.update(version.encode())
    hasher.update(_project_content(subject) if subject.is_project else _file_content(root))
    return hasher.hexdigest()


def hook_files(file: Path) -> list[Path]:
    """Return a hook file, and the modules beside it that it may load."""
    follower = Follower(file.parent, file.parent, ProjectFiles())
    followed = follower.follow("", [file])
    modules = sorted(map(Path, followed.files))
    return [file, *[path for path in modules if path != file]]


def _file_content(file: Path) -> bytes:
    """Return the code of a hook file and of the modules that it may load."""
    source, *modules = hook_files(file)
    parts = [source.read_bytes()]
    for path in modules:
        parts += [path.name.encode("utf-8", "replace"), path.read_bytes()]
    return b"\0".join(parts)


def _project_content(subject: BacktestSubject) -> bytes:
    """Return what the trust store would record about the hooks of a project."""
    from anyhook.backtest.project import load_engine

    engine = load_engine(subject, Path(subject.path)).engine
    reader = SubjectReader(engine.project_dir, engine.guard.variables())
    entries, trees = record_subjects(reader.read_all(engine.definitions), engine.agent.name)
    # What commands read of the environment is not seen.
    content = [entries, trees, sandbox_environment()]
    return json.dumps(content, sort_keys=True, default=str).encode()
