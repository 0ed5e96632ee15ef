"""Looks for what a test left behind: processes and descriptors."""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until

MARK = "ANYHOOK_TEST_MARK"


@contextmanager
def none_left(mark: str):
    """Fail if a process whose environment has the mark, or a new descriptor, is left afterwards."""
    before = descriptors()
    zombies_before = zombies()
    yield {**os.environ, MARK: mark}
    until(lambda: not marked(mark), "processes are left")
    new = descriptors() - before
    if new:
        gc.collect()  # seconds, in a process that holds thousands of tests
        new = descriptors() - before
    assert not new, new
    assert zombies() <= zombies_before


def descriptors() -> set[tuple[str, str]]:
    """List the open descriptors of this process, each with what it leads to."""
    opened = set()
    for number in os.listdir("/dev/fd"):
        try:
            opened.add((number, os.readlink(f"/dev/fd/{number}")))
        except OSError:  # the one of this listing
            continue
    return opened


def marked(mark: str) -> list[int]:
    """List the processes whose environment has the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def zombies() -> set[str]:
    """List the children of this process that have ended and were not waited for."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.add(entry.name)
    return found
