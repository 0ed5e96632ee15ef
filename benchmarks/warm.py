"""Hook files through a worker: what agents and engines wait for, and what it weighs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyhook import BeforeTool, Engine, guards
from anyhook.model.json import dump_json
from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.commands import native_client
from anyhook.worker.control import find_server, list_servers, stop_server
from benchmarks.measure import Samples, in_turns
from benchmarks.programs import Program, StopResult, denied
from benchmarks.table import Fact, Row, Section

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

SECRET = {"file_path": "src/keys.py", "content": "print('hello')\n" * 20 + "AKIAIOSFODNN7EXAMPLE"}
"""What a guard has to find."""
GUARD = Path(__file__).parent / "rivals" / "guard.py"
ROUNDS = 1000
PAUSE = 0.05
"""Seconds between two events: agents send no more than 20 a second."""
MIB = 1 << 20
MEMORY_READINGS = 10
MEMORY_PAUSE = 0.1
"""Seconds between two readings of memory: a server has replaced a child by then."""
WARM_UP = 20.0
"""Seconds in which a worker has to come up and answer."""
RECORDING = "native, and the event is recorded"
SHIPPED_GUARD = Path(guards.__file__).with_name("git.py")
READING = "native, a guard that reads the command line"
COLD_ROUNDS = 300
FILES = 10
CALLS = 20
"""Events for each hook file before it is weighed."""
ONE_OF_MANY = """
import json
import pathlib
import re

from anyhook.authoring import Hooks, deny

hooks = Hooks()
KEY = re.compile("AKIA[0-9A-Z]{{16}}")
LIMITS = json.loads('{{"longest": {number}}}')
HERE = pathlib.Path(__file__).parent

@hooks.before_tool("shell", "write_file")
def guard(event):
    if KEY.search(event.text) and LIMITS and HERE.name:
        return deny("no")

if __name__ == "__main__":
    hooks.run()
"""
ALL_IN_ONE = """
import json
import pathlib
import re

from anyhook.authoring import Hooks, deny

hooks = Hooks()
KEY = re.compile("AKIA[0-9A-Z]{16}")
"""
ONE_FUNCTION = """
@hooks.before_tool("shell", "write_file")
def guard_{number}(event):
    if {number} == 9 and KEY.search(event.text):
        return deny("no")
"""


class Worker:
    """A runtime directory of the benchmarks' own, and the servers in it.

    Attributes:
        python: The interpreter that they run in.
    """

    def __init__(self) -> None:
        self.python = sys.executable
        self._runtime = tempfile.mkdtemp(prefix="anyhook-", dir="/tmp")  # such names must be short
        os.environ[client.RUNTIME_DIR_ENV] = self._runtime
        os.environ.pop(client.WORKER_ENV, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        del os.environ[client.RUNTIME_DIR_ENV]
        shutil.rmtree(self._runtime)

    def stop(self) -> None:
        """End all servers."""
        for server in list_servers(self._runtime):
            stop_server(server.base)

    @property
    def statuses(self) -> list[dict[str, Any]]:
        """The status of each server."""
        return [dict(one.status) for one in list_servers(self._runtime) if one.status is not None]

    @property
    def served(self) -> dict[str, int]:
        """Events that were answered warm, and those that were not, since the servers started."""
        events = [status["events"] for status in self.statuses]
        return {name: sum(one[name] for one in events) for name in ("warm", "cold")}

    @property
    def pids(self) -> list[int]:
        """The servers, and their children."""
        pids = []
        for status in self.statuses:
            pid = int(status["pid"])
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pids += [pid, *map(int, children)]
        return pids

    @property
    def memory(self) -> int:
        """Bytes that all of its processes hold; what others hold too counts in parts."""
        return self._weigh(_pss)

    @property
    def private_memory(self) -> int:
        """Bytes that only one of its processes holds, added up: what a leak adds to."""
        return self._weigh(_private)

    def _weigh(self, size: Callable[[int], int]) -> int:
        """Return the median of several readings of all processes.

        A child that has answered and its successor are there together for a moment.
        """
        readings = []
        for _ in range(MEMORY_READINGS):
            time.sleep(MEMORY_PAUSE)
            readings.append(sum(size(pid) for pid in self.pids))
        return sorted(readings)[MEMORY_READINGS // 2]

    def serve(self, file: Path, payload: bytes) -> None:
        """Have a hook file loaded.

        Raises:
            RuntimeError: If it stays cold.
        """
        base = client.address(self.python, str(file), os.environ)
        deadline = time.monotonic() + WARM_UP
        while time.monotonic() < deadline:
            argv = self.ways(file)["native"]
            subprocess.run(argv, input=payload, capture_output=True, check=False)
            status = find_server(base).status
            if status is not None and status["events"]["warm"]:
                return
        raise RuntimeError(f"{file} stays cold")

    def ways(self, file: Path) -> dict[str, tuple[str, ...]]:
        """Return the command lines that run a hook file warm.

        Raises:
            RuntimeError: If the native client was not built.
        """
        native = native_client()
        if native is None:
            raise RuntimeError("the native client was not built: it needs a C compiler")
        return {
            "native": (str(Path(self.python).with_name("anyhook")), "run", str(file)),
        }

    def served_since(self, before: dict[str, int]) -> dict[str, int]:
        """Return the events since then, once no hook runs any more.

        Raises:
            RuntimeError: If one does not end.
        """
        deadline = time.monotonic() + 5
        while any(status["running"] for status in self.statuses):
            if time.monotonic() > deadline:
                raise RuntimeError("a hook does not end")
            time.sleep(0.01)
        now = self.served
        return {name: count - before[name] for name, count in now.items()}


def _private(pid: int) -> int:
    try:
        sizes = pages(pid)
    except OSError:  # a child that has just answered
        return 0
    return sizes["Private_Clean"] + sizes["Private_Dirty"]


def _pss(pid: int) -> int:
    try:
        return pages(pid)["Pss"]
    except OSError:  # a child that has just answered
        return 0


@cache
def claude_event() -> bytes:
    """Return an event of Claude Code that the guard denies."""
    made = make_payload("before_tool", agent="claude", tool="write_file", input=SECRET)
    return dump_json(made)


def true() -> str:
    """Return a program that does nothing."""
    return shutil.which("true") or "/bin/true"


def clients(worker: Worker, scale: float) -> Section:
    """Run a warm hook as an agent does, with each of the clients, beside a program of nothing."""
    payload = claude_event()
    worker.serve(GUARD, payload)
    runs = {
        name: _at_agents_rate(Program(argv, payload, os.environ, denied))
        for name, argv in worker.ways(GUARD).items()
    }
    command = dump_json(
        make_payload(
            "before_tool", agent="claude", tool="shell", input={"command": "git reset --hard"}
        )
    )
    worker.serve(SHIPPED_GUARD, command)
    reading = Program(worker.ways(SHIPPED_GUARD)["native"], command, os.environ, denied)
    runs[READING] = _at_agents_rate(reading)
    rounds, warmup = int(ROUNDS * scale), 5
    bare = _at_agents_rate(Program((true(),), payload, os.environ))
    before = worker.served
    # A hook that has answered may still write to the history when the directory is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data:
        environ = _recording_environ(Path(data))
        recording = Program(worker.ways(GUARD)["native"], payload, environ, denied)
        runs[RECORDING] = _at_agents_rate(recording)
        found = in_turns(rounds, warmup, true=bare, **runs)
        _check_warm(worker.served_since(before), len(runs) * (rounds + warmup))
    floor = found.pop("true")
    rows = [Row(name, samples, floor=floor) for name, samples in found.items()]
    native, recorded = rows[0], rows[-1]
    recorded.goal = "p50 ≤ 1.1 of native"
    recorded.reached = recorded.ours.p50 <= 1.1 * native.ours.p50
    native.goal = "p50 ≤ 2, p99 ≤ 5 of true"
    native.reached = native.ours.p50 <= 2 * floor.p50 and native.ours.p99 <= 5 * floor.p99
    return Section("a warm hook file, from the spawn to the end of its output", rows, floor=true())


def budget(worker: Worker, scale: float) -> Section:
    """Split the time of a warm hook: the start of a program, the worker's two parts, the rest."""
    payload = claude_event()
    worker.serve(GUARD, payload)
    base = client.address(worker.python, str(GUARD), os.environ)
    request = client.pack_run(
        str(Path.cwd()),
        [str(GUARD)],
        os.environ,
        umask=client.current_umask(),
        ignored_signals=client.ignored_signals(),
        payload=payload,
    )
    decided = Samples("decided")

    def taken() -> float:
        started = time.perf_counter()
        with closing(client.connect(base, timeout=client.ACCEPT_TIMEOUT)) as link:
            link.sendall(request)
            frames = [client.read_frame(link, client.ACCEPT_TIMEOUT)]
            accepted = time.perf_counter()
            frames.append(client.read_frame(link, client.ACCEPT_TIMEOUT))
        decided.values.append(time.perf_counter() - accepted)
        if [frame[:1] for frame in frames] != [client.ACCEPTED, client.DONE]:
            raise RuntimeError(f"not answered: {frames}")
        return accepted - started

    def at_agents_rate() -> float:
        time.sleep(PAUSE)
        return taken()

    found = in_turns(
        int(ROUNDS * scale),
        5,
        true=_at_agents_rate(Program((true(),), payload, os.environ)),
        taken=at_agents_rate,
        whole=_at_agents_rate(Program(worker.ways(GUARD)["native"], payload, os.environ, denied)),
    )
    floor, whole = found["true"], found["whole"]
    rows = [
        Row("start and end of a program that does nothing", floor, floor=whole),
        Row(
            "connect, until a process of the worker has taken the event",
            found["taken"],
            floor=whole,
        ),
        Row("decide, and write the answer", decided, floor=whole),
    ]
    client_part = whole.p50 - sum(row.ours.p50 for row in rows)
    text = f"{client_part * 1e3:.1f} ms, {client_part / whole.p50:.2f} of the whole"
    facts = [Fact("the rest: load the client, read the event, find the worker", client_part, text)]
    return Section("where the time of a warm hook goes", rows, "the whole", facts=facts)


def _recording_environ(data: Path) -> dict[str, str]:
    """Return an environment in which hook files record what they answer."""
    (data / "history").mkdir()
    (data / "history" / "recording.json").write_text("{}")
    return {**os.environ, "ANYHOOK_DATA_DIR": str(data)}


def _at_agents_rate(program: Program) -> Callable[[], float]:
    """Return a run of a program that comes some time after the one before."""

    def timed() -> float:
        time.sleep(PAUSE)
        return program.timed()

    return timed


def _check_warm(served: dict[str, int], wanted: int) -> None:
    if served != {"warm": wanted, "cold": 0}:
        raise RuntimeError(f"{wanted} events should have been warm: {served}")


def cold(scale: float) -> Section:
    """Run a hook file without a worker, beside the interpreter that it needs."""
    environ = {**os.environ, client.WORKER_ENV: "off"}
    bare = (sys.executable, "-c", "import json, sys")
    rows = []
    for agent in ("claude", "gemini"):
        made = make_payload("before_tool", agent=agent, tool="write_file", input=SECRET)
        payload = dump_json(made)
        found = in_turns(
            int(COLD_ROUNDS * scale),
            5,
            ours=Program((sys.executable, str(GUARD)), payload, environ, _answered).timed,
            floor=Program(bare, payload, environ).timed,
        )
        ours, floor = found["ours"], found["floor"]
        goal, reached = "≤ 1.35 of python", ours.p50 <= 1.35 * floor.p50
        rows.append(Row(f"as {agent} starts it", ours, 1e-3, floor, None, goal, reached))
    return Section("a hook file, cold", rows, floor="python")


def _answered(ended: StopResult) -> bool:
    return ended.code in (0, 2) and bool(ended.out + ended.err)


def in_engine(worker: Worker, root: Path, runner: asyncio.Runner, scale: float) -> Section:
    """Dispatch to a warm hook of the settings: by the engine, in its process, with a command."""
    worker.serve(GUARD, claude_event())
    project = project_with(root / "warm", worker.ways(GUARD)["native"])
    asking = Engine.load(project, home=root, trust_once=True)
    starting = Engine.load(project, home=root, trust_once=True, warm=False)
    here = Engine.load(root, agent="gemini", home=root, trust_once=True)
    here.register_file(GUARD)

    def once(engine: Engine) -> float:
        return runner.run(_dispatched(engine))

    rounds, warmup = int(ROUNDS * scale), 20
    before = worker.served["warm"]
    while worker.served["warm"] == before:  # the project has a server of its own
        once(asking)
    served = worker.served
    found = in_turns(
        rounds,
        warmup,
        asking=partial(once, asking),
        here=partial(once, here),
        starting=partial(once, starting),
        floor=Program((true(),), claude_event(), os.environ).timed,
    )
    runner.run(_closed(asking, here, starting))
    ours, floor = found["asking"], found["floor"]
    rows = [
        Row("on the server of the hook file", ours, 1e-3, floor, None),
        Row("in the engine's process, by register_file", found["here"], 1e-6, floor),
        Row("with the native client as its process", found["starting"], 1e-3, floor),
    ]
    _check_warm(worker.served_since(served), 2 * (rounds + warmup))
    return Section("a dispatch to a warm hook file", rows, floor=true())


def project_with(project: Path, argv: tuple[str, ...]) -> Path:
    """Write a project whose settings have one hook before tools."""
    hook = {"type": "command", "name": "guard", "command": shlex.join(argv)}
    file = project / ".gemini" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}}))
    return project


def write_event(*, secret: bool) -> BeforeTool:
    """Return an event that the guard denies, or one that it has nothing against."""
    given = SECRET if secret else {**SECRET, "content": SECRET["content"].replace("AKIA", "")}
    return BeforeTool(tool_name="write_file", tool_input=dict(given))


async def _dispatched(engine: Engine) -> float:
    event = write_event(secret=True)
    started = time.perf_counter()
    decision = await engine.dispatch(event)
    seconds = time.perf_counter() - started
    if not decision.denied:
        raise RuntimeError(f"not denied: {decision}")
    return seconds


async def _closed(*engines: Engine) -> None:
    for engine in engines:
        engine.close()


def memory(worker: Worker, root: Path) -> Section:
    """Weigh a worker that has ten hooks loaded: in one file, and then each in a file of its own."""
    functions = "".join(ONE_FUNCTION.format(number=number) for number in range(FILES))
    one = root / "one.py"
    one.write_text(f'{ALL_IN_ONE}{functions}\nif __name__ == "__main__":\n    hooks.run()\n')
    _serve_often(worker, one)
    facts = [_weighed(f"{FILES} hooks in one file, and their server (PSS)", worker.memory)]
    worker.stop()
    files = [root / f"many_{number}.py" for number in range(FILES)]
    for number, file in enumerate(files):  # a server ends when a module comes to its directory
        file.write_text(ONE_OF_MANY.format(number=number))
    for file in files:
        _serve_often(worker, file)
    text = f"{FILES} hooks in {FILES} files, and their servers (PSS)"
    facts.append(Fact(text, worker.memory, mib(worker.memory)))
    return Section("memory", facts=facts)


def _weighed(what: str, size: int) -> Fact:
    return Fact(what, size, mib(size), "≤ 40 MiB", size <= 40 * MIB)


def _serve_often(worker: Worker, file: Path) -> None:
    payload = claude_event()
    worker.serve(file, payload)
    run = Program(worker.ways(file)["native"], payload, os.environ, denied).timed
    for _ in range(CALLS):
        run()


def mib(size: float) -> str:
    """Tell a number of bytes."""
    return f"{size / MIB:.2f} MiB"


def pages(pid: int) -> dict[str, int]:
    """Return what a process holds: the system's name of a kind of pages to bytes."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, amount, _unit = line.split()
        found[name.rstrip(":")] = int(amount) * 1024
    return found
