"""Measure how the work of a command grows, without a clock."""

from __future__ import annotations

import sys


def count_calls(function):
    """Run a function, and return how many Python and C functions were called meanwhile."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


def growth(work_for):
    """Return how much more work the second doubling of an input makes than the first one.

    2 means that the work is linear, 4 that it is quadratic. What does not depend on the size, like
    imports, cancels out.

    Args:
        work_for: Does the work for an input of a size, and returns how much it was.
    """
    work_for(1)  # imports
    small, medium, large = work_for(100), work_for(200), work_for(400)
    return (large - medium) / (medium - small)
