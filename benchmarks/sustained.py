"""Warm hooks at a steady rate, called when they are due and not when the last one is done.

What is slow shows as latency: each call is timed from the moment it was due, so that those that
had to wait for it count too.

python -m benchmarks.sustained PROJECT HOME RATE SECONDS      (one engine, in a process of its own)
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook import Engine
from benchmarks.measure import Samples
from benchmarks.programs import Program, denied
from benchmarks.table import Fact, Row, Section
from benchmarks.warm import GUARD, MIB, claude_event, mib, pages, project_with, write_event

if TYPE_CHECKING:
    from benchmarks.warm import Worker

RATE = 100
SECONDS = 60.0
QUICK_SECONDS = 5.0
CLIENT_RATE = 100
CLIENT_SECONDS = 60.0
CLIENT_QUICK_SECONDS = 2.0
THREADS = 16
WARM_UP = 2.0
"""Seconds that are not counted: the server starts, caches are filled."""
ONE_SECRET_IN = 10
"""Every so many events are denied."""
FLAT = MIB
"""Bytes by which memory may grow."""


class Course:
    """How it went.

    Room for all calls is taken at once, so that what grows meanwhile is not this.

    Args:
        calls: How many there will be.

    Attributes:
        seconds: From the moment each call was due to its end; -1 if it failed.
        late: From that moment to its beginning: what the one who calls was late by itself.
        errors: Answers that were wrong, and calls that failed.
    """

    def __init__(self, calls: int) -> None:
        self.seconds = array("d", [-1.0]) * calls
        self.late = array("d", [0.0]) * calls
        self.errors: list[str] = []

    def as_json(self) -> dict[str, list[Any]]:
        """Return it as what JSON can hold."""
        done = [seconds for seconds in self.seconds if seconds >= 0]
        return {"seconds": done, "late": self.late.tolist(), "errors": self.errors}


async def dispatch_steadily(engine: Engine, rate: float, course: Course) -> None:
    """Dispatch at a rate, whatever becomes of the events before.

    Args:
        engine: Has the guard in its settings.
        rate: Dispatches a second.
        course: Has room for all of them, and takes how they went.
    """
    running: set[asyncio.Task[None]] = set()
    begun = time.perf_counter()

    async def one(number: int, due: float) -> None:
        has_secret = number % ONE_SECRET_IN == 0
        event = write_event(secret=has_secret)
        course.late[number] = time.perf_counter() - due
        try:
            decision = await engine.dispatch(event)
        except Exception as error:  # noqa: BLE001 - it is counted
            course.errors.append(repr(error))
            return
        course.seconds[number] = time.perf_counter() - due
        if decision.denied is not has_secret or decision.diagnostics:
            wanted = "a deny" if has_secret else "no deny"
            course.errors.append(f"{wanted}, not {decision.outcome}: {decision.diagnostics}")

    for number in range(len(course.seconds)):
        due = begun + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(number, due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)


def run_steadily(program: Program, rate: float, course: Course) -> None:
    """Start a program at a rate, whatever becomes of those before.

    Args:
        program: What is started.
        rate: Starts a second.
        course: Has room for all of them, and takes how they went.
    """

    def one(number: int, due: float) -> None:
        course.late[number] = time.perf_counter() - due
        try:
            program.timed()
        except (OSError, RuntimeError) as error:
            course.errors.append(repr(error))
        else:
            course.seconds[number] = time.perf_counter() - due

    with ThreadPoolExecutor(THREADS) as pool:
        begun = time.perf_counter()
        for number in range(len(course.seconds)):
            due = begun + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            pool.submit(one, number, due)


def in_engine(worker: Worker, root: Path, *, is_quick: bool) -> Section:
    """Dispatch to a warm hook at a steady rate."""
    seconds = QUICK_SECONDS if is_quick else SECONDS
    worker.serve(GUARD, claude_event())
    project = project_with(root / "steady", worker.ways(GUARD)["native"])
    argv = [sys.executable, "-m", "benchmarks.sustained", str(project), str(root)]
    with subprocess.Popen(
        [*argv, str(RATE), str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
        text=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the engine's process has no pipes")
        process.stdout.readline()  # it is warm
        before = worker.served
        weight = worker.private_memory
        process.stdin.write("go\n")
        process.stdin.flush()
        told: dict[str, Any] = json.loads(process.stdout.readline())
        growth = worker.private_memory - weight
        process.communicate("leave\n")
    course: dict[str, list[Any]] = told["course"]
    cold = int(RATE * seconds) - worker.served_since(before)["warm"]
    samples, facts = _told(course, cold)
    is_right = not course["errors"] and not cold
    engine = told["after"] - told["before"]
    for what, at, grown in (
        ("resident memory of the engine's process", told["before"], engine),
        ("private memory of the servers and their children", weight, growth),
    ):
        words = f"{mib(at)} at first, {grown / 1024:+,.0f} KiB at the end"
        facts.append(Fact(what, grown, words, "no more than 1 MiB", grown <= FLAT))
    goal = "no error"
    what = f"{RATE:,} dispatches a second for {seconds:g} s"
    row = Row(what, samples, 1e-3, None, None, goal, is_right)
    return Section("a warm hook file at a steady rate, in the engine", [row], facts=facts)


def of_clients(worker: Worker, *, is_quick: bool) -> Section:
    """Start the native client many times a second."""
    seconds = CLIENT_QUICK_SECONDS if is_quick else CLIENT_SECONDS
    worker.serve(GUARD, claude_event())
    program = Program(worker.ways(GUARD)["native"], claude_event(), os.environ, denied)
    before = worker.served
    course = Course(int(CLIENT_RATE * seconds))
    run_steadily(program, CLIENT_RATE, course)
    cold = len(course.seconds) - worker.served_since(before)["warm"]
    samples, facts = _told(course.as_json(), cold)
    what = f"{CLIENT_RATE} starts a second for {seconds:g} s"
    row = Row(what, samples, goal="no error", reached=not course.errors and not cold)
    title = "a warm hook file at a steady rate, with the native client"
    return Section(title, [row], facts=facts)


def _told(course: dict[str, list[Any]], cold: int) -> tuple[Samples, list[Fact]]:
    samples, late = Samples("steady", course["seconds"]), Samples("late", course["late"])
    longest, errors = max(samples.values), course["errors"]
    first = f", the first: {errors[0]}" if errors else ""
    return samples, [
        Fact("wrong answers and failures", len(errors), f"{len(errors)}{first}"),
        Fact("events that no worker answered", cold, str(cold)),
        Fact("the longest", longest, f"{longest * 1e3:.1f} ms"),
        Fact("begun late by the caller, p99", late.p99, f"{late.p99 * 1e3:.1f} ms"),
    ]


def main() -> None:
    """Be the engine: warm up, wait for a word, run, tell, wait for the next word."""
    project, home, rate, seconds = Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:])
    engine = Engine.load(project, home=home, trust_once=True)
    course = Course(int(rate * seconds))

    async def close() -> None:
        engine.close()

    with asyncio.Runner() as runner:
        runner.run(dispatch_steadily(engine, rate, Course(int(rate * WARM_UP))))
        print("warm", flush=True)
        sys.stdin.readline()
        before = _resident()
        runner.run(dispatch_steadily(engine, rate, course))
        after = _resident()
        told = {"course": course.as_json(), "before": before, "after": after}
        print(json.dumps(told), flush=True)
        sys.stdin.readline()
        runner.run(close())


def _resident() -> int:
    gc.collect()
    return pages(os.getpid())["Rss"]


if __name__ == "__main__":
    main()
