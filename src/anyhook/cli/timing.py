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
from anyhook.worker.control import find, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BLOCK = 5
"""Calls of one command in a row. In turns of one, each would mostly measure how cold the others
left the caches; in long blocks the machine would change between them."""
LONGEST = 60.0
"""Seconds after which a command is ended and not called again."""
WARM_UP = 20.0
"""Seconds in which a worker has to come up and serve."""
REFUSALS = 3
"""Times that a worker sends a hook away until it is believed."""
PAUSE = 0.02
"""Seconds between two looks at whether a worker has come up."""


class Command(Record):
    """What is called again and again.

    Attributes:
        argv: Program and arguments.
        env: Its whole environment.
        cwd: Where it runs.
        payload: Its standard input.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    payload: bytes


class Samples:
    """How calls of a command went.

    Attributes:
        seconds: What each took, in the order of the calls.
        codes: Exit code to how often it came; a signal is negative, as `subprocess` tells it.
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


def call(command: Command, longest: float = LONGEST) -> tuple[float, int]:
    """Run a command to its end; what it says is read and thrown away.

    Args:
        command: The command.
        longest: Seconds that it may take.

    Returns:
        The seconds that it took, and the exit code; that of a signal is negative.

    Raises:
        OSError: If it cannot be started.
        TimeoutError: If it takes too long; it is ended then, with all it started.
    """
    # not a timeout of `subprocess`: with one, it looks for the end in steps of milliseconds
    running: list[subprocess.Popen[bytes]] = []
    late = threading.Event()

    def too_late() -> None:
        late.set()
        for process in running:
            _kill(process)

    watch = threading.Timer(longest, too_late)
    watch.daemon = True
    watch.start()
    begun = time.perf_counter()
    try:
        running.append(_started(command))
        running[0].communicate(command.payload)
        seconds = time.perf_counter() - begun
    except BaseException:
        for process in running:
            _kill(process)
            process.communicate()
        raise
    finally:
        watch.cancel()
    if late.is_set():
        raise TimeoutError(f"does not end within {longest:g} seconds")
    return seconds, running[0].returncode


def _started(command: Command) -> subprocess.Popen[bytes]:
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
    commands: Sequence[Command], rounds: int, on_call: Callable[[], None] = lambda: None
) -> list[Samples]:
    """Call commands in turns, so that whatever else the machine does hits all of them alike.

    Args:
        commands: The commands.
        rounds: Calls of each.
        on_call: Called after every call.

    Returns:
        One value for each command.
    """
    found = [Samples() for _ in commands]
    for start in range(0, rounds, BLOCK):
        for command, samples in zip(commands, found, strict=True):
            for _ in range(min(BLOCK, rounds - start)):
                samples.take(command)
                on_call()
    return found


def warm_up(command: Command, base: str, file: str) -> str:
    """Call a command until a worker serves it; the first call only starts the worker.

    Args:
        command: Runs a hook file through a worker.
        base: The address of the worker (`anyhook.worker.client.address`).
        file: The hook file.

    Returns:
        Why it stays cold; empty if it is warm.
    """
    begun, wall = time.monotonic(), time.time()
    served, sent_away = None, 0
    while time.monotonic() - begun < WARM_UP:
        try:
            call(command)
        except OSError as error:  # also if it took too long
            return f"it cannot be called: {error}"
        status = find(base).status
        if status is None or status["stopping"]:
            time.sleep(PAUSE)
            continue
        refusals = cold_since(status, file, wall)
        if len(refusals) >= REFUSALS:
            return refusals[-1]
        now = int(status["events"]["warm"])
        if served is not None and now > served and len(refusals) == sent_away:
            return ""
        served, sent_away = now, len(refusals)
    return f"no worker served it within {WARM_UP:g} seconds; see: anyhook doctor"


def cold_since(status: Mapping[str, object], file: str, moment: float) -> list[str]:
    """List why a worker sent a hook file away, the newest reason last.

    Args:
        status: What the worker tells of itself.
        file: The hook file.
        moment: Seconds of the clock; what was before does not count.
    """
    told = status["cold"]
    return [
        reason_of(one)
        for one in (told if isinstance(told, list) else ())
        if one["at"] >= moment and os.path.realpath(one["hook"]) == os.path.realpath(file)
    ]
