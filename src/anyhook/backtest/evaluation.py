"""A run of a backtest, and what it is compared with.

That is another hook file or project, a revision of git, or what was recorded.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.report import BacktestComparison, compare
from anyhook.backtest.results import Decided, Result
from anyhook.backtest.sources import crash_text, shown_text
from anyhook.errors import UsageError
from anyhook.history.merge import merge_decisions
from anyhook.history.replay import (
    PastDecision,
    count_events_of_versions,
    past_answers,
    past_decisions,
    versions_of_file,
)
from anyhook.model.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anyhook.backtest.run import BacktestRun
    from anyhook.backtest.subjects import BacktestSubject
    from anyhook.history.filters import Filter
    from anyhook.history.store import History


RECORDED = "recorded"
"""The baseline of what was decided when the events happened."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of a backtest."""

    run: BacktestRun
    comparison: BacktestComparison | None
    """The baseline and the differences; `None` without a baseline, or if the run was ended."""


def evaluate(
    store: History,
    subject: BacktestSubject,
    against: str,
    selection: Filter,
    run_one: Callable[[BacktestSubject], BacktestRun],
) -> Evaluation:
    """Let hooks decide recorded events, and compare the decisions with those of a baseline.

    `against` is `recorded`, another hook file or project, or `git:REVISION`; empty for none.

    Raises:
        UsageError: If the baseline does not exist, or hooks cannot be loaded.
    """
    if against in ("", RECORDED):
        run = run_one(subject)
        if not against or not run.is_complete:
            return Evaluation(run, None)
        title, before = recorded_baseline(store, selection, subject, run.result)
        return Evaluation(run, compare(title, before, run.result))
    with baseline_of(subject, against) as other:
        run = run_one(subject)
        if not run.is_complete:
            return Evaluation(run, None)
        former = run_one(other)
        run.is_complete = former.is_complete
        return Evaluation(run, compare(other.title, former.result, run.result))


# -- what was recorded


def recorded_baseline(
    history: History, selection: Filter, subject: BacktestSubject, after: Result
) -> tuple[str, Result]:
    """Return a title for the recorded decisions on the events of a selection, and these.

    A hook file is compared with its own answers if it was recorded on one of the events: others
    have decided, too. Without such answers, and for a project, the decisions of all hooks count.
    `after` is the result of the subject; both count the same events.
    """
    result = Result(after.events, after.sessions)
    if subject.is_project:
        title = "what was recorded"
    else:
        versions = versions_of_file(history, subject.path)
        number = count_events_of_versions(history, selection, versions) if versions else 0
        if number:
            for past in past_answers(history, selection, versions):
                result.add_decided(_decided(past))
            title = f"what {subject.title} answered when it was recorded"
            return f"{title}, on {number:,} of these events", result
        title = f"all hooks together, because {subject.title} was never recorded"
    for past in past_decisions(history, selection):
        result.add_decided(_decided(past))
    return title, result


def _decided(past: PastDecision) -> Decided:
    """Return a decision; several answers of one hook file are combined."""
    fields: dict[str, Any] | None = None
    for answer in past.answers:
        fields = merge_decisions(past.event, fields, answer)
    return Decided(
        str(past.event_id),
        past.session,
        past.event,
        past.tool,
        shown_text(past.session.partition("/")[0], past.payload),
        fields or {},
        past.hooks,
        crash=crash_text(past.error) if past.error else "",
    )


# -- another hook file or project, and revisions of git

GIT = "git:"
"""What the name of a revision begins with."""


@contextmanager
def baseline_of(subject: BacktestSubject, against: str) -> Iterator[BacktestSubject]:
    """Make another subject available to compare with.

    `against` is the path of a hook file or a project, or `git:REVISION`: the subject itself as it
    was in that revision.

    Raises:
        UsageError: If the path or the revision does not exist.
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
    # A revision that begins with a dash would be an option.
    name = f"{revision}^{{commit}}"
    try:
        commit = _git(root, "rev-parse", "--verify", "--end-of-options", name).decode().strip()
    except UsageError:
        raise UsageError(f"{root} has no revision {revision!r}; see git log") from None
    with tempfile.TemporaryDirectory(prefix="anyhook-revision-") as copy:
        # Not `git archive`, which leaves out what the attribute `export-ignore` names. The index is
        # a file of its own, so that the user's stays as it is.
        with tempfile.TemporaryDirectory(prefix="anyhook-index-") as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            _git(root, "read-tree", commit, environ=index)
            _git(root, "checkout-index", "--all", f"--prefix={copy}/", environ=index)
        inside = Path(copy) / path.relative_to(root)
        if not inside.exists():
            file = path.relative_to(root)
            raise UsageError(f"there is no {file} in revision {revision!r}")
        yield replace(subject, path=str(inside), title=f"{subject.title} at {revision}")


def _git(directory: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> bytes:
    """Run git and return its output."""
    try:
        process = subprocess.run(
            ["git", "-C", str(directory), *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            env={**os.environ, **(environ or {})},
            check=False,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}") from error
    if process.returncode:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        problem = lines[-1] if lines else str(process.returncode)
        raise UsageError(f"git {arguments[0]} failed: {problem}")
    return process.stdout
