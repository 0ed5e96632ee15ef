"""Backtests that are started from the page, one at a time."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.backtest.evaluation import evaluate
from anyhook.backtest.project import find_engine
from anyhook.backtest.report import report_json
from anyhook.backtest.run import BacktestProgress, BacktestRun, run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.errors import AnyhookError, UsageError
from anyhook.history.store import History
from anyhook.page.kept import describe, keep

if TYPE_CHECKING:
    from anyhook.history.filters import Filter

END_SECONDS = 5.0
"""Seconds that a run has to end when the server ends."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A backtest that a user wants."""

    path: str
    """A hook file or the directory of a project."""
    against: str
    """What it is compared with, as in `anyhook backtest --against`; empty for nothing."""
    selection: Filter


@dataclass(slots=True)
class PageJob:
    """A backtest that runs or has run."""

    title: str
    is_running: bool = True
    parts: int = 0
    done: int = 0
    """Number of parts that are done."""
    events: int = 0
    """Number of events that are done."""
    error: str = ""
    name: str = ""
    """Name of the kept result; empty if there is none."""


class Jobs:
    """Runs backtests in a thread; the hooks run in processes of their own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.job: PageJob | None = None

    def start(self, request: JobRequest) -> None:
        """Start a backtest.

        Raises:
            UsageError: If one is running, or there are no such hooks.
        """
        subject = find_subject(request.path)
        with self._lock:
            if self.job is not None and self.job.is_running:
                raise UsageError("a backtest is running; end it or wait for it")
            self._ended.clear()
            self.job = job = PageJob(subject.title)
            self._thread = threading.Thread(
                target=self._run, args=(job, subject, request), name="anyhook-backtest", daemon=True
            )
            self._thread.start()

    def end(self) -> None:
        """End the running backtest after its current part."""
        self._ended.set()

    def close(self) -> None:
        """End the running backtest, and wait for it."""
        self.end()
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    def _run(self, job: PageJob, subject: BacktestSubject, request: JobRequest) -> None:
        try:
            self._evaluate(job, subject, request)
        except AnyhookError as error:
            job.error = str(error)
        except sqlite3.DatabaseError as error:
            job.error = f"the history cannot be read: {error}"
        except Exception as error:
            job.error = f"this is a bug of anyhook: {type(error).__name__}"
            raise
        finally:
            job.is_running = False

    def _evaluate(self, job: PageJob, subject: BacktestSubject, request: JobRequest) -> None:
        selection = request.selection
        parts = list(parts_of_history(str(self._directory), selection))
        if not parts:
            raise UsageError("there are no such events in the history")

        def run_one(one: BacktestSubject) -> BacktestRun:
            job.title, job.parts, job.done, job.events = one.title, len(parts), 0, 0

            def show(progress: BacktestProgress) -> None:
                job.done, job.events = progress.done, progress.events
                if self._ended.is_set():  # a run ends like this at Ctrl-C
                    raise KeyboardInterrupt

            return run_backtest(one, parts, on_progress=show)

        with History.open(self._directory) as history:
            done = evaluate(history, subject, request.against, selection, run_one)
        if done.run.is_complete:
            report = report_json(done.run, done.comparison)
            job.name = keep(self._directory, report, describe(selection))


def find_subject(text: str) -> BacktestSubject:
    """Return the hooks that a user named.

    Raises:
        UsageError: If there are none, or the hooks of a project are not trusted.
    """
    if not text:
        raise UsageError("name a hook file or the directory of a project")
    path = Path(text).expanduser()
    if path.is_file():
        return BacktestSubject(str(path.resolve()), text)
    if not path.is_dir():
        raise UsageError(f"there is no file or directory {text!r}; write its whole path")
    engine = find_engine(BacktestSubject(str(path), text), path).engine
    if not any(definition.handlers for definition in engine.definitions):
        raise UsageError(f"{text} has no hooks")
    if engine.guard.changes():
        raise UsageError(
            f"the hooks of {text} are not trusted; to look at them: anyhook trust --project {text}"
        )
    return BacktestSubject(str(path.resolve()), text, engine.agent.name, trusted=True)
