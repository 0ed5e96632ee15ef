"""A run of a backtest and, if it is compared, that of its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.backtest.baseline import baseline_of
from anyhook.backtest.recorded import recorded_baseline
from anyhook.backtest.report import BacktestComparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable

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
        UsageError: If there is no such baseline, or hooks cannot be loaded.
    """
    if against in ("", RECORDED):
        run = run_one(subject)
        if not against or not run.is_complete:
            return Evaluation(run, None)
        before = recorded_baseline(store, selection, subject, run.result)
        return Evaluation(run, compare(before.title, before.result, run.result))
    with baseline_of(subject, against) as other:
        run = run_one(subject)
        if not run.is_complete:
            return Evaluation(run, None)
        former = run_one(other)
        run.is_complete = former.is_complete
        return Evaluation(run, compare(other.title, former.result, run.result))
