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
from typing import TYPE_CHECKING, Any

from anyhook.model.record import Record
from anyhook.worker.control import find_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BLOCK = 5
"""Calls of one command in a row. In turns of one, each would mostly measure how cold the others
left the caches; in long blocks the machine would change between them."""
LONGEST = 60.0
"""Seconds after which a command is ended and not called again."""
WARM_UP = 20.0
"""Seconds in which a worker has to come up and serve."""
PAUSE = 0.02
"""Seconds between two checks of whether a server has started."""


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
    """Call commands in turns, so that other load of the machine affects all of them alike.

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


def warm_up(command: Command, base: str) -> str:
    """Call a command until its server answers it; the first call only starts the server.

    Args:
        command: Runs a hook file through a worker.
        base: The address of its server (`anyhook.worker.client.address`).

    Returns:
        Why it stays cold; empty if it is warm.
    """
    started = time.monotonic()
    answered = None
    while time.monotonic() - started < WARM_UP:
        try:
            call(command)
        except OSError as error:  # also if it took too long
            return f"it cannot be called: {error}"
        status = find_server(base).status
        if status is None or status["stopping"]:
            time.sleep(PAUSE)
            continue
        if status["reason"]:
            return str(status["reason"])
        now = int(status["events"]["warm"])
        if answered is not None and now > answered:
            return ""
        answered = now
    return f"no worker answered within {WARM_UP:g} seconds; see: anyhook doctor"


def cold_since(status: Mapping[str, Any], moment: float) -> list[str]:
    """List why a server did not answer events, the newest reason last.

    Args:
        status: The status of the server.
        moment: Seconds since the epoch; what was before does not count.
    """
    return [str(entry["reason"]) for entry in status["cold"] if entry["at"] >= moment]
