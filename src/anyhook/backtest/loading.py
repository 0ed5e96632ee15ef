"""Load the hooks of a backtest, and find the files of their code."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook import __version__
from anyhook.backtest.hook_file import HookFile
from anyhook.history.events import DIGEST_SIZE
from anyhook.trust.following import Follower
from anyhook.trust.name_search import ProjectFiles

if TYPE_CHECKING:
    from anyhook.backtest.subjects import BacktestSubject, Evaluator


def load_hooks_of(subject: BacktestSubject, limit: float) -> Evaluator:
    """Load the hooks of a subject, which runs the code of a hook file.

    `limit` is how many seconds an event may take.

    Raises:
        UsageError: If they cannot be loaded.
    """
    if subject.is_project:
        from anyhook.backtest.project import ProjectHooks  # an engine takes 0.2 s to import

        return ProjectHooks(subject, limit)
    return HookFile(subject.path, limit)


def digest_of(file: Path) -> str:
    """Return a hash of the code of a hook file, the modules next to it, Python and anyhook."""
    hasher = hashlib.blake2b(f"{__version__} {sys.version}".encode(), digest_size=DIGEST_SIZE)
    source, *modules = hook_files(file)
    hasher.update(source.read_bytes())
    for path in modules:
        hasher.update(b"\0" + path.name.encode("utf-8", "replace") + b"\0" + path.read_bytes())
    return hasher.hexdigest()


def hook_files(file: Path) -> list[Path]:
    """Return a hook file, and the modules next to it that it may load."""
    follower = Follower(file.parent, file.parent, ProjectFiles())
    followed = follower.follow("", [file])
    modules = sorted(map(Path, followed.files))
    return [file, *[path for path in modules if path != file]]
