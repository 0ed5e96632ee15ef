"""Load the hooks of a backtest, and find the files of their code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.backtest.hook_file import HookFile
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


def hook_files(file: Path) -> list[Path]:
    """Return a hook file, and the modules next to it that it may load."""
    follower = Follower(file.parent, file.parent, ProjectFiles())
    followed = follower.follow("", [file])
    modules = sorted(map(Path, followed.files))
    return [file, *[path for path in modules if path != file]]
