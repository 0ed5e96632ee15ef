"""The plots of a hook."""

import pytest

from anyhook.history.hooks import StoredRun
from anyhook.page.charts import MAX_SPANS, spans_of

NOW = 1_800_000_000.0


@pytest.mark.parametrize("first", [NOW, NOW - 86_400, NOW - 365 * 86_400, 0.0])
def test_a_plot_has_at_most_so_many_parts_and_the_newest_runs(first):
    runs = [
        StoredRun(1, number, time, "none", None, 0.1, 0)
        for number, time in enumerate((first, NOW), 1)
    ]

    spans = spans_of(runs)

    assert 1 <= len(spans) <= MAX_SPANS
    assert spans[-1].runs[-1] == runs[-1]
