"""What a backtest is compared with: another hook file or project, or a revision of git."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.errors import UsageError
from anyhook.model.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.backtest.subjects import BacktestSubject

GIT = "git:"
"""What the name of a revision begins with."""


@contextmanager
def baseline_of(subject: BacktestSubject, against: str) -> Iterator[BacktestSubject]:
    """Make another subject available to compare with.

    `against` is the path of a hook file or a project, or `git:REVISION`: the subject itself as it
    was in that revision.

    Raises:
        UsageError: If there is no such path or revision.
    """
    if not against.startswith(GIT):
        if not Path(against).exists():
            raise UsageError(f"there is no {against!r}; give a path or git:REVISION")
        yield replace(subject, path=str(Path(against).resolve()), title=against)
        return
    revision = against.removeprefix(GIT) or "HEAD"
    path = Path(subject.path).resolve()
    directory = path if path.is_dir() else path.parent
    root = Path(_git(directory, "rev-parse", "--show-toplevel").decode().strip()).resolve()
    with tempfile.TemporaryDirectory(prefix="anyhook-revision-") as copy:
        _extract(root, revision, Path(copy))
        inside = Path(copy) / path.relative_to(root)
        if not inside.exists():
            name = path.relative_to(root)
            raise UsageError(f"there is no {name} in revision {revision!r}")
        yield replace(subject, path=str(inside), title=f"{subject.title} at {revision}")


def _extract(root: Path, revision: str, copy: Path) -> None:
    """Write the files of a revision into a directory."""
    # A revision that begins with a dash would be an option.
    name = f"{revision}^{{commit}}"
    try:
        commit = _git(root, "rev-parse", "--verify", "--end-of-options", name)
    except UsageError:
        raise UsageError(f"{root} has no revision {revision!r}; see git log") from None
    # Not `git archive`, which leaves out what the attribute `export-ignore` names. The index is a
    # file of its own, so that the user's stays as it is.
    with tempfile.TemporaryDirectory(prefix="anyhook-index-") as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        _git(root, "read-tree", commit.decode().strip(), environ=index)
        _git(root, "checkout-index", "--all", f"--prefix={copy}/", environ=index)


def _git(directory: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> bytes:
    """Run git and return its output.

    Raises:
        UsageError: If it fails, or is not installed.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            env={**os.environ, **(environ or {})},
            check=False,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"git {arguments[0]} failed: {lines[-1] if lines else done.returncode}")
    return done.stdout
