"""Waiting for something outside the test's process."""

import time

LONGEST_WAIT = 20.0


def until(holds, message="it never came to that"):
    """Poll something outside this process until it holds; returns what it is."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not (found := holds()):
        assert time.monotonic() < deadline, message
        time.sleep(0.01)
    return found
