"""The same guard, written in every way that people write hooks; all of them must deny."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.worker.client import WORKER_ENV
from benchmarks.measure import in_turns
from benchmarks.peer import CACHE, MINUTES
from benchmarks.programs import Program, denied
from benchmarks.table import Row, Section
from benchmarks.warm import GUARD, claude_event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.warm import Worker

RIVALS = GUARD.parent
PACKAGE = "cchooks"
VERSION = "0.1.5"
ROUNDS = 300
WARM, COLD = "anyhook, warm", "anyhook, cold"
PLAIN = "a plain script (json, re, sys)"
BY_CURL = "a daemon, asked by curl"
BY_URLLIB = "a daemon, asked by Python's urllib"
WITH_CCHOOKS = f"{PACKAGE} {VERSION}"


def install_cchooks() -> Path | None:
    """Return a directory that holds cchooks; `None` if it cannot be fetched."""
    directory = CACHE / f"{PACKAGE}-{VERSION}"
    if not (directory / PACKAGE / "__init__.py").exists():
        print(f"fetching {PACKAGE} {VERSION} (once)", flush=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        words = [*pip, "--no-deps", "--target", str(directory), f"{PACKAGE}=={VERSION}"]
        try:
            done = subprocess.run(words, check=False, capture_output=True, timeout=MINUTES * 60)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
    return directory


@contextmanager
def daemon() -> Iterator[str]:
    """Have the guard as a service; gives its address."""
    argv = [sys.executable, str(RIVALS / "daemon_guard.py")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the service has no output")
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/"
        finally:
            process.terminate()


def against(worker: Worker, scale: float) -> Section:
    """Run all of them in turns, with the same event of Claude Code and the same interpreter."""
    worker.serve(GUARD, claude_event())
    cchooks = install_cchooks()
    with daemon() as url:
        programs = _programs(worker, cchooks, url)
        found = in_turns(
            int(ROUNDS * scale), 5, **{name: one.timed for name, one in programs.items()}
        )
    warm = found[WARM]
    rows = [Row(name, samples, floor=warm) for name, samples in found.items()]
    others = [samples.p50 for name, samples in found.items() if name not in (WARM, COLD)]
    rows[0].goal, rows[0].reached = "ahead of all", warm.p50 < min(others)
    if cchooks:
        rows[1].goal = f"ahead of {PACKAGE}"
        rows[1].reached = found[COLD].p50 < found[WITH_CCHOOKS].p50
    notes = [] if cchooks else [f"{PACKAGE}: not measured (needs the registry)."]
    return Section("the same guard, from the spawn to its answer", rows, WARM, notes=notes)


def _programs(worker: Worker, cchooks: Path | None, url: str) -> dict[str, Program]:
    environ = dict(os.environ)
    python = sys.executable
    ways = {
        WARM: (worker.ways(GUARD)["native"], environ),
        COLD: ((python, str(GUARD)), {**environ, WORKER_ENV: "off"}),
        PLAIN: ((python, str(RIVALS / "plain_guard.py")), environ),
        BY_URLLIB: ((python, str(RIVALS / "urllib_client.py"), url), environ),
    }
    if curl := shutil.which("curl"):
        ways[BY_CURL] = ((curl, "-s", "--data-binary", "@-", url), environ)
    if cchooks:
        there = {**environ, "PYTHONPATH": str(cchooks)}
        ways[WITH_CCHOOKS] = ((python, str(RIVALS / "cchooks_guard.py")), there)
    return {name: Program(argv, claude_event(), env, denied) for name, (argv, env) in ways.items()}
