"""Hook files through a worker: what agents and engines wait for, and what it weighs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyhook import BeforeTool, Engine
from anyhook.cli.timing import Command, warm_up
from anyhook.model.json import dump_json
from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.commands import native_client
from anyhook.worker.control import end, find
from benchmarks.measure import in_turns
from benchmarks.programs import Program, StopResult, denied
from benchmarks.table import Fact, Row, Section

if TYPE_CHECKING:
    import asyncio

SECRET = {"file_path": "src/keys.py", "content": "print('hello')\n" * 20 + "AKIAIOSFODNN7EXAMPLE"}
"""What a guard has to find."""
GUARD = Path(__file__).parent / "rivals" / "guard.py"
ROUNDS = 1000
MIB = 1 << 20
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
PARTS = {
    "Shared_Clean": "shared with others, and as in a file",
    "Shared_Dirty": "shared with each other",
    "Private_Clean": "only its own, and as in a file",
    "Private_Dirty": "only its own, written to",
}
"""What the pages of a process are, by the system's name of it."""


class Worker:
    """A worker of the benchmarks' own, started by the first client that needs it.

    Attributes:
        python: The interpreter that it runs in.
    """

    def __init__(self) -> None:
        self.python = sys.executable
        self._runtime = tempfile.mkdtemp(prefix="anyhook-", dir="/tmp")  # such names must be short
        os.environ[client.DIRECTORY] = self._runtime
        os.environ.pop(client.SWITCH, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end(self._base)
        del os.environ[client.DIRECTORY]
        shutil.rmtree(self._runtime)

    @property
    def _base(self) -> str:
        return client.address(self.python, os.environ)

    @property
    def status(self) -> dict[str, Any]:
        """What it tells of itself.

        Raises:
            RuntimeError: If it is not there.
        """
        found = find(self._base)
        if found.status is None:
            raise RuntimeError(f"the worker does not answer: {found.problem}")
        return dict(found.status)

    @property
    def pids(self) -> list[int]:
        """Its process, and those of its executors."""
        status = self.status
        return [int(status["pid"]), *(int(child["pid"]) for child in status["executors"])]

    @property
    def memory(self) -> int:
        """Bytes that all of its processes hold; what others hold too counts in parts."""
        return sum(pages(pid)["Pss"] for pid in self.pids)

    def serve(self, file: Path, payload: bytes) -> None:
        """Have a hook file loaded.

        Raises:
            RuntimeError: If it stays cold.
        """
        command = Command(
            argv=self.ways(file)["native"],
            env=dict(os.environ),
            cwd=str(Path.cwd()),
            payload=payload,
        )
        if why := warm_up(command, self._base, str(file)):
            raise RuntimeError(f"{file} stays cold: {why}")

    def ways(self, file: Path) -> dict[str, tuple[str, ...]]:
        """Return the command lines that run a hook file warm.

        Raises:
            RuntimeError: If the native client was not built.
        """
        native = native_client()
        if native is None:
            raise RuntimeError("the native client was not built: it needs a C compiler")
        return {
            "native": (native, self.python, str(file)),
            "interpreter": (self.python, "-IS", client.__file__, self.python, str(file)),
            "anyhook run": (str(Path(self.python).parent / "anyhook"), "run", str(file)),
        }

    def settled(self, before: dict[str, Any]) -> dict[str, int]:
        """Return the same once the leases that were given back are counted."""
        deadline = time.monotonic() + 5
        while any(child["busy"] for child in self.status["executors"]):
            if time.monotonic() > deadline:
                raise RuntimeError("a lease was not given back")
            time.sleep(0.01)
        return self.served_by(before)

    def served_by(self, before: dict[str, Any]) -> dict[str, int]:
        """Return how many events were answered warm and cold since then.

        Raises:
            RuntimeError: If it is another worker than before.
        """
        now = self.status
        if now["pid"] != before["pid"]:
            raise RuntimeError("the worker was replaced: did a file of anyhook change meanwhile?")
        counts: dict[str, int] = now["events"]
        return {name: count - before["events"][name] for name, count in counts.items()}


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
    before = worker.status
    runs = {
        name: Program(argv, payload, os.environ, denied).timed
        for name, argv in worker.ways(GUARD).items()
    }
    rounds, warmup = int(ROUNDS * scale), 5
    bare = Program((true(),), payload, os.environ).timed
    found = in_turns(rounds, warmup, true=bare, **runs)
    _check_warm(worker.served_by(before), len(runs) * (rounds + warmup))
    floor = found.pop("true")
    rows = [Row(name, samples, floor=floor) for name, samples in found.items()]
    native = rows[0]
    native.goal = "p50 ≤ 2, p99 ≤ 4 of true"
    native.reached = native.ours.p50 <= 2 * floor.p50 and native.ours.p99 <= 4 * floor.p99
    return Section("a warm hook file, from the spawn to the end of its output", rows, floor=true())


def _check_warm(served: dict[str, int], wanted: int) -> None:
    if served != {"warm": wanted, "cold": 0}:
        raise RuntimeError(f"{wanted} events should have been warm: {served}")


def cold(scale: float) -> Section:
    """Run a hook file without a worker, beside the interpreter that it needs."""
    environ = {**os.environ, client.SWITCH: "off"}
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
        goal, reached = "≤ 1.25 of python", ours.p50 <= 1.25 * floor.p50
        rows.append(Row(f"as {agent} starts it", ours, 1e-3, floor, None, goal, reached))
    return Section("a hook file, cold", rows, floor="python")


def _answered(ended: StopResult) -> bool:
    return ended.code in (0, 2) and bool(ended.out + ended.err)


def in_engine(worker: Worker, root: Path, runner: asyncio.Runner, scale: float) -> Section:
    """Dispatch to a warm hook that stands in the settings: on a lease, here, with a process."""
    worker.serve(GUARD, claude_event())
    project = project_with(root / "warm", worker.ways(GUARD)["native"])
    leased = Engine.load(project, home=root, trust_once=True)
    started = Engine.load(project, home=root, trust_once=True, warm=False)
    here = Engine.load(project, home=root, trust_once=True, warm="in_process")
    on_loop = Engine.load(project, home=root, trust_once=True, warm="on_loop")

    def once(engine: Engine) -> float:
        return runner.run(_dispatched(engine))

    rounds, warmup = int(ROUNDS * scale), 20
    before = worker.status
    found = in_turns(
        rounds,
        warmup,
        leased=partial(once, leased),
        here=partial(once, here),
        on_loop=partial(once, on_loop),
        started=partial(once, started),
        floor=Program((true(),), claude_event(), os.environ).timed,
    )
    runner.run(_closed(leased, here, on_loop, started))
    ours, floor = found["leased"], found["floor"]
    goal, reached = "≤ 300 µs", ours.p50 <= 300e-6
    rows = [
        Row("on a lease, without a process", ours, 1e-6, floor, None, goal, reached),
        Row("in a thread of the engine's process, as asked for", found["here"], 1e-6, floor),
        Row(
            "on the engine's event loop, as asked for",
            found["on_loop"],
            1e-6,
            floor,
            None,
            goal,
            found["on_loop"].p50 <= 300e-6,
        ),
        Row("with the native client as its process", found["started"], 1e-6, floor),
    ]
    _check_warm(worker.settled(before), 2 * (rounds + warmup))
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
    facts = [_weighed(f"{FILES} hooks in one file, and their worker (PSS)", worker.memory)]
    end(client.address(worker.python, os.environ))
    for number in range(FILES):
        file = root / f"many_{number}.py"
        file.write_text(ONE_OF_MANY.format(number=number))
        _serve_often(worker, file)
    main, *executors = [pages(pid) for pid in worker.pids]
    what = f"{FILES} hooks in {len(executors)} files, and their worker (PSS)"
    facts += [
        _weighed(what, worker.memory),
        Fact("the worker among them", main["Pss"], mib(main["Pss"])),
    ]
    for name, words in PARTS.items():
        value = sum(child[name] for child in executors) / len(executors)
        facts.append(Fact(f"of an executor, {words} ({name})", value, mib(value)))
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
