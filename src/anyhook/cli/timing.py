"""Times commands as an agent pays for them: from their start until they and their output end."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.model.record import Record
from anyhook.worker.control import find_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BLOCK = 5
"""Calls of one command in a row. In turns of one, each would mostly measure how cold the others
left the caches; in long blocks the machine would change between them."""
MAX_TIMEOUT = 60.0
"""Seconds after which a command is killed, and not called again, if its timeout is not shorter."""
WARM_UP = 20.0
"""Seconds in which a worker has to come up and serve."""
POLL_INTERVAL = 0.02
"""Seconds between two checks of whether a server has started."""


class Command(Record):
    """What is called again and again.

    Attributes:
        argv: Program and arguments.
        env: Its whole environment.
        cwd: Where it runs.
        payload: Its standard input.
        timeout: Seconds that the agent lets it run.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    payload: bytes
    timeout: float = MAX_TIMEOUT


class Samples:
    """How calls of a command went.

    Attributes:
        seconds: What each took, in the order of the calls.
        codes: Exit code to how often it came; a signal is negative, as in `subprocess`.
        problem: Why it is not called any more; empty if it is.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.codes: Counter[int] = Counter()
        self.problem = ""

    @property
    def mean(self) -> float:
        """Seconds of a call, on average."""
        return statistics.fmean(self.seconds)

    def quantile(self, share: float) -> float:
        """Return the seconds that a share of the calls did not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def take(self, command: Command) -> None:
        """Call a command once more, unless that proved to be impossible."""
        if self.problem:
            return
        try:
            seconds, code = call(command)
        except TimeoutError as error:
            self.problem = str(error)
        except OSError as error:
            self.problem = f"cannot be started: {error.strerror}: {error.filename}"
        else:
            self.seconds.append(seconds)
            self.codes[code] += 1


def call(command: Command) -> tuple[float, int]:
    """Run a command to its end, and discard its output.

    Returns:
        The seconds that it took, and the exit code; that of a signal is negative.

    Raises:
        OSError: If it cannot be started.
        TimeoutError: If it exceeds its timeout. It was killed, with all processes it started.
    """
    timeout = min(command.timeout, MAX_TIMEOUT)
    begun = time.perf_counter()
    process = _spawn(command)
    has_timed_out = threading.Event()

    def kill_late_command() -> None:
        has_timed_out.set()
        _kill(process)

    # With a timeout of its own, `communicate` looks for the end in steps of milliseconds.
    timer = threading.Timer(timeout, kill_late_command)
    timer.daemon = True
    timer.start()
    try:
        process.communicate(command.payload)
        seconds = time.perf_counter() - begun
    except BaseException:
        _kill(process)
        process.communicate()
        raise
    finally:
        timer.cancel()
    if has_timed_out.is_set():
        whose = "its timeout of " if command.timeout <= MAX_TIMEOUT else ""
        raise TimeoutError(f"exceeds {whose}{timeout:g} seconds")
    return seconds, process.returncode


def _spawn(command: Command) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=command.env,
        cwd=command.cwd,
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def in_turns(
    calls: Sequence[tuple[Command, Samples]], rounds: int, on_call: Callable[[], None]
) -> None:
    """Call commands in turns, so that other load of the machine affects all of them alike.

    Args:
        calls: The commands, each with what takes its times.
        rounds: Calls of each.
        on_call: Called after every call.
    """
    for start in range(0, rounds, BLOCK):
        for command, samples in calls:
            for _ in range(min(BLOCK, rounds - start)):
                samples.take(command)
                on_call()


def warm_up(command: Command, base: str) -> str:
    """Call a command until its server answers it; the first call only starts the server.

    Args:
        command: Runs a hook file through a worker.
        base: The address of its server (`anyhook.worker.client.address`); may be empty.

    Returns:
        Why it stays cold; empty if it is warm.
    """
    if not base:
        return "its interpreter is not found"
    started = time.monotonic()
    events_before = None
    while time.monotonic() - started < WARM_UP:
        try:
            call(command)
        except OSError as error:  # also if it took too long
            return f"it cannot be called: {error}"
        status = find_server(base).status
        if status is None or status["stopping"]:
            time.sleep(POLL_INTERVAL)
            continue
        if status["reason"]:
            return str(status["reason"])
        events = int(status["events"]["warm"])
        if events_before is not None and events > events_before:
            return ""
        events_before = events
    return f"no worker answered within {WARM_UP:g} seconds; see: anyhook worker doctor"
