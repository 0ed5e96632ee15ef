"""Plots of a hook's decisions and latency, as SVG inside the page.

pygal finds scales and draws axes. What it adds for files that stand alone (scripts, styles with
random names, tooltips) is removed: the page allows neither, and its own style has a dark form. The
numbers of each plot are a table next to it, so the plot itself is one picture with a description.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from markupsafe import Markup

from anyhook.history.describe import show_span, show_time
from anyhook.history.hooks import StoredRun, percentile
from anyhook.history.verdicts import FAILURES, NO_VERDICT, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence


SERIES = (*VERDICTS, "failed", NO_VERDICT)
"""Verdicts in the order in which they are stacked."""
WIDTH, HEIGHT = 560, 200
"""Units of the picture, which is scaled to the page."""
LABELS = 5
"""Times under a plot."""
PERCENTILES = {"median": 0.5, "95 %": 0.95}
REMOVED = ("script", "style", "title", "desc")
HOUR, DAY = 3600, 86400


@dataclass(slots=True)
class ChartSpan:
    """The runs of a hook in a part of the time."""

    start: float
    """Unix timestamp."""
    runs: list[StoredRun] = field(default_factory=list)

    @property
    def outcomes(self) -> Counter[str]:
        """Verdict to number; a failure counts as `failed`."""
        counts: Counter[str] = Counter()
        for run in self.runs:
            has_failed = run.trouble in FAILURES
            counts["failed" if has_failed else run.verdict] += 1
        return counts

    @property
    def durations(self) -> list[float]:
        """Seconds of the runs, where they are known."""
        return [run.duration for run in self.runs if run.duration is not None]


STEPS = (60, 300, 900, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY)
"""Seconds of a part of the time."""
MAX_SPANS = 30


def spans_of(runs: list[StoredRun]) -> list[ChartSpan]:
    """Return the runs of a hook in parts of equal length, the oldest first; at most 30."""
    if not runs:
        return []
    times = [run.time for run in runs]
    first, last = min(times), max(times)
    for step in STEPS:
        if (last - first) / step < MAX_SPANS - 1:
            break
    start = first - first % step
    last_span = int((last - start) // step)
    spans = [ChartSpan(start + step * number) for number in range(last_span + 1)]
    for run in runs:
        spans[int((run.time - start) // step)].runs.append(run)
    return spans[-MAX_SPANS:]


def outcome_chart(spans: Sequence[ChartSpan]) -> Markup:
    """Return a plot of the decisions in each part of the time."""
    most = max((len(span.runs) for span in spans), default=0)
    # At most six whole numbers.
    step = 1.0
    for factor in cycle((2, 2.5, 2)):  # 1, 2, 5, 10, 20, 50, …
        if step * 5 >= most:
            break
        step *= factor
    y_labels = list(range(0, most + int(step), int(step)))
    chart = import_pygal().StackedBar(**_options(spans), y_labels=y_labels)
    total = 0
    labels: list[str] = []
    for name in SERIES:
        values = [span.outcomes[name] for span in spans]
        if any(values):
            chart.add(name, [value or None for value in values])
            labels.append(name)
            total += sum(values)
    return _svg(chart, f"{total:,} runs: {', '.join(labels)}", labels)


def latency_chart(spans: Sequence[ChartSpan]) -> Markup:
    """Return a plot of the median and the 95th percentile of the durations."""
    options = _options(spans)
    chart = import_pygal().Line(
        **options, value_formatter=show_span, dots_size=1.5, allow_interruptions=True
    )
    for name, share in PERCENTILES.items():
        chart.add(name, [percentile(span.durations, share) for span in spans])
    return _svg(chart, "Median and 95th percentile of the time a run takes", list(PERCENTILES))


@cache
def import_pygal() -> Any:
    """Import pygal, which takes 0.1 s.

    pygal 3.1 adds a finder of the old protocol to `sys.meta_path` for its maps, which makes every
    later import of a module that is not there fail or warn in Python 3.11. It is removed.
    """
    import pygal

    sys.meta_path[:] = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    return pygal


def _options(spans: Sequence[ChartSpan]) -> dict[str, Any]:
    """Return the options that the plots share."""
    step = max(1, -(-len(spans) // LABELS))
    is_long = len(spans) > 1 and spans[-1].start - spans[0].start > DAY
    labels = [""] * len(spans)
    for number in range(0, len(spans), step):
        text = show_time(spans[number].start)
        labels[number] = text[5:10] if is_long else text[11:16]
    return {
        "css": [],
        "js": [],
        "disable_xml_declaration": True,
        "show_legend": False,
        "width": WIDTH,
        "height": HEIGHT,
        "margin": 4,
        "spacing": 6,
        "include_x_axis": True,
        "max_scale": 5,
        "min_scale": 3,
        "no_data_text": "",
        "x_labels": labels,
        "truncate_label": -1,
        "print_values": False,
    }


def _svg(chart: Any, description: str, series: Sequence[str]) -> Markup:
    """Return the picture of a chart without what the page does not allow."""
    root = chart.render_tree()
    for parent in list(root.iter()):
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] in REMOVED:
                parent.remove(child)
    for element in root.iter():
        element.attrib.pop("style", None)
        names = element.get("class", "").split()
        for number, name in enumerate(series):
            if f"serie-{number}" in names:
                element.set("class", f"{element.get('class')} of-{name.split()[0].strip('%')}")
    root.attrib.pop("id", None)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", description)
    # Everything in it was made by ElementTree, which escapes texts and attributes.
    picture = Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704
    items = Markup("")
    for name in series:
        mark = name.split()[0]
        label = "no opinion" if name == "none" else name
        items += Markup('<span class="key of-{}">{}</span> ').format(mark, label)
    return picture + Markup('<p class="legend" aria-hidden="true">{}</p>').format(items)
