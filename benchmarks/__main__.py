"""Measures every figure of the README and prints them side by side with their floor.

python -m benchmarks [--quick] [--json FILE] [--against FILE] [PART ...]      (or: make bench)

The ratios of the run are written to `RATIOS`. With `--against`, it compares them with the ratios
of another run, and exits with 1 if one got worse by more than the noise.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import shlex
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from anyhook import BeforeTool, Engine, __version__
from anyhook.engine.messages import discard
from anyhook.handlers.kinds import get_kind
from anyhook.settings import load as loading
from anyhook.testing import make_payload
from benchmarks import against, backtest, ratios, redaction, sustained, telemetry, warm
from benchmarks.agents import FRAMEWORKS, engine_without_hooks
from benchmarks.floor import spawn_bare
from benchmarks.measure import in_turns, timed
from benchmarks.peer import PACKAGE, VERSION, GeminiCore
from benchmarks.programs import Program
from benchmarks.table import Fact, Row, Section, machine
from benchmarks.warm import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from anyhook.model.events import Event

COMMAND = "cat >/dev/null; echo '{}'"
TOOL_INPUT = {"file_path": "src/main.py", "content": "print('hello')\n" * 20}
SCRIPT = 'cat > /dev/null; echo \'{"decision": "block", "reason": "no"}\''
"""What a hook of Claude Code does, in a line."""
SHIMMED = "a command behind the shim; bare: python, then the command"
MANY = 20
DEFINITIONS = 200
BATCH = 200
SOAK = 20_000
PAGE = 4096
USAGE = 64
WIDE = 160
"""Columns where no terminal tells how many there are."""


WARM: dict[str, Callable[[Worker, Path, asyncio.Runner, float], Section]] = {
    "clients": lambda worker, _root, _runner, scale: warm.clients(worker, scale),
    "budget": lambda worker, _root, _runner, scale: warm.budget(worker, scale),
    "engine": warm.in_engine,
    "rivals": lambda worker, _root, _runner, scale: against.against(worker, scale),
    "steady": lambda worker, root, _runner, scale: sustained.in_engine(
        worker, root, is_quick=scale < 1
    ),
    "steady-clients": lambda worker, _root, _runner, scale: sustained.of_clients(
        worker, is_quick=scale < 1
    ),
    "memory": lambda worker, root, _runner, _scale: warm.memory(worker, root),
}
"""Parts that need a worker, each one of its own."""
RATIOS = Path(__file__).parent / ".cache" / "ratios.json"
PARTS = (*WARM, "cold", "telemetry", "backtest", "redaction", "dispatch")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"by default all: {' '.join(PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to a file")
    parser.add_argument("--ratios", type=Path, metavar="FILE", default=RATIOS, help="write them to")
    parser.add_argument("--against", type=Path, metavar="FILE", help="ratios of another run")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.exit(USAGE, f"there is no part {unknown[0]}; the parts are: {' '.join(PARTS)}\n")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # agents leave the cache of bytecode alone
    out = Console()
    if not out.is_terminal:
        out = Console(width=WIDE)
    out.print(machine(), highlight=False)
    before = ratios.read(options.against) if options.against else {}
    sections = []
    now: dict[str, ratios.Ratio] = {}
    for section in _sections(options.parts or PARTS, 0.1 if options.quick else 1.0):
        now |= ratios.ratios_of(section)
        section.print(out)
        sections.append(section)
    ratios.write(options.ratios, now)
    out.print(f"ratios: {options.ratios}", highlight=False)
    if options.json:
        options.json.write_text(json.dumps(_as_json(sections), indent=1))
    if options.against:
        lines = ratios.worse(before, now)
        for line in lines or [f"nothing got worse since {options.against}"]:
            out.print(line, highlight=False)
        sys.exit(1 if lines else 0)


def _sections(parts: Sequence[str], scale: float) -> Iterator[Section]:
    """Measure part after part; the frameworks come last, because they fill the process."""
    for part in [part for part in PARTS if part in parts]:
        with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
            if part in WARM:
                with Worker() as worker:
                    yield WARM[part](worker, Path(directory), runner, scale)
            elif part == "cold":
                yield warm.cold(scale)
            elif part == "telemetry":
                yield telemetry.measure(Path(directory), runner, scale)
            elif part == "backtest":
                yield backtest.measure(Path(directory), scale)
            elif part == "redaction":
                yield redaction.measure(Path(directory), scale)
            else:
                yield _dispatch(Path(directory), runner, scale)


def _dispatch(root: Path, runner: asyncio.Runner, scale: float) -> Section:
    """Dispatch to functions and commands, beside the bare spawn and the Gemini core."""
    peer = GeminiCore.start()
    try:
        bench = Bench(root, runner, peer, scale)
        rows = [*bench.in_process(), *bench.commands(), bench.load(), bench.shim()]
        rows += bench.agents()
        growth = bench.soak()
    finally:
        if peer:
            peer.close()
    rounds = int(SOAK * scale)
    fact = Fact(
        f"memory after {rounds:,} dispatches",
        growth,
        f"{growth / 1024:+,.0f} KiB after the first tenth",
    )
    note = (
        f"Gemini core: {PACKAGE} {VERSION} from npm, timed inside node."
        if peer
        else "Gemini core: not measured (needs node, npm and the registry)."
    )
    return Section("dispatch", rows, "bare spawn", "Gemini core" if peer else "", [fact], [note])


class Bench:
    """The measurements, each on an engine of its own."""

    def __init__(
        self, root: Path, runner: asyncio.Runner, peer: GeminiCore | None, scale: float
    ) -> None:
        self.root = root
        self.runner = runner
        self.peer = peer
        self.scale = scale

    def in_process(self) -> list[Row]:
        """Dispatch without a match, and with a function."""
        engine = self._engine("in-process", self._settings(1, matcher="read_file"))
        asynchronous, plain = self._engine("async", {}), self._engine("plain", {})

        async def opinion(_event: Event) -> None:
            return None

        asynchronous.register("before_tool", opinion)
        plain.register("before_tool", lambda _event: None)
        rounds = int(300 * self.scale)
        found = in_turns(
            rounds,
            5,
            none=lambda: self._batch(engine),
            function=lambda: self._batch(asynchronous),
            thread=lambda: self._batch(plain),
        )
        none, function, thread = found["none"], found["function"], found["thread"]
        return [
            Row("no hook matches", none, 1e-6, goal="≤ 10 µs", reached=none.p50 <= 10e-6),
            Row("async function", function, 1e-6, goal="≤ 60 µs", reached=function.p50 <= 60e-6),
            Row("plain function, in a thread", thread, 1e-6),
        ]

    def commands(self) -> list[Row]:
        """Dispatch with one command, and with many at once, beside floor and peer."""
        rows = []
        for count, rounds in ((1, 400), (MANY, 60)):
            settings = self._settings(count)
            engine = self._engine(f"commands-{count}", settings)
            project = engine.project_dir
            lines = [hook["command"] for hook in settings["hooks"]["BeforeTool"][0]["hooks"]]
            payload = json.dumps(engine.encode(self._event())).encode()
            runs: dict[str, Callable[[], float]] = {
                "ours": partial(self._once, engine),
                "floor": partial(timed, partial(spawn_bare, lines, payload)),
            }
            if self.peer:
                runs["peer"] = partial(self.peer.fire, settings, project, TOOL_INPUT)
            found = in_turns(int(rounds * self.scale), 5, **runs)
            ours, floor, other = found["ours"], found["floor"], found.get("peer")
            goal, reached = "≤ 1.10 of bare", ours.p50 <= 1.10 * floor.p50
            what = "one command" if count == 1 else f"{count} commands at once"
            rows.append(Row(what, ours, 1e-3, floor, other, goal, reached))
        return rows

    def load(self) -> Row:
        """Load a file of many definitions that was never read before."""
        settings = {
            "hooks": {
                "BeforeTool": [
                    {
                        "matcher": f"tool_{i}|mcp_{i}_.*",
                        "hooks": [
                            {"type": "command", "name": f"h{i}", "command": f"./check.sh {i}"}
                        ],
                    }
                    for i in range(DEFINITIONS)
                ]
            }
        }
        project = self._project("load", settings)

        def cold() -> float:
            loading._CACHE.clear()  # noqa: SLF001 - a new process would find it empty
            return timed(lambda: Engine.load(project, home=self.root, on_message=discard))

        samples = in_turns(int(60 * self.scale) or 1, 3, load=cold)["load"]
        goal = f"≤ 10 ms for {DEFINITIONS}"
        return Row(
            f"load {DEFINITIONS} definitions", samples, 1e-3, None, None, goal, samples.p50 <= 10e-3
        )

    def shim(self) -> Row:
        """Run a command behind the shim, beside an interpreter and the command itself."""
        made = make_payload("before_tool", agent="gemini", tool="write_file", input=TOOL_INPUT)
        payload = json.dumps(made).encode()
        line = f"{shlex.join([sys.executable, '-c', 'import json, sys'])} && {SCRIPT}"
        shim = (sys.executable, "-m", "anyhook", "shim", "--as", "claude", "--", SCRIPT)
        found = in_turns(
            int(100 * self.scale),
            5,
            ours=Program(shim, payload, os.environ).timed,
            floor=Program(("/bin/sh", "-c", line), payload, os.environ).timed,
        )
        ours, floor = found["ours"], found["floor"]
        goal, reached = "≤ 10 ms over bare", ours.p50 - floor.p50 <= 10e-3
        return Row(SHIMMED, ours, 1e-3, floor, None, goal, reached)

    def agents(self) -> list[Row]:
        """Live a scripted turn with hooks that nobody configured, beside one without."""
        rows = []
        for name, make in FRAMEWORKS.items():
            engine = engine_without_hooks(self.root)
            bare, ours = make(None), make(engine)
            found = in_turns(
                int(600 * self.scale) or 1,
                30,
                ours=partial(self._timed, ours, 1),
                floor=partial(self._timed, bare, 1),
            )
            what = f"a turn of {name} without hooks; bare: without the glue"
            ratio = found["ours"].p50 / found["floor"].p50
            goal = "at most 1 % more"
            rows.append(Row(what, found["ours"], 1e-3, found["floor"], None, goal, ratio <= 1.01))
        return rows

    def soak(self) -> int:
        """Dispatch for long. Returns by how many bytes the process grew after the first tenth."""
        engine = self._engine("soak", self._settings(1))
        engine.register("before_tool", lambda _event: None, threaded=False)
        rounds = int(SOAK * self.scale)
        functions_only = self._engine("soak-functions", {})
        functions_only.register("before_tool", lambda _event: None, threaded=False)

        async def run() -> int:
            first = 0
            for i in range(rounds):
                chosen = engine if i % 50 == 0 else functions_only
                event = BeforeTool(tool_name=f"tool_{i % 977}", tool_input=dict(TOOL_INPUT))
                await chosen.dispatch(event)
                if i == rounds // 10:
                    first = _memory()
            return _memory() - first

        return self.runner.run(run())

    # -- helpers

    def _settings(self, count: int, matcher: str = "*") -> dict[str, Any]:
        hooks = [
            {"type": "command", "name": f"h{i}", "command": f"{COMMAND} # {i}"}
            for i in range(count)
        ]
        return {"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": hooks}]}}

    def _project(self, name: str, settings: dict[str, Any]) -> Path:
        project = self.root / name
        file = project / ".gemini" / "settings.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(settings, indent=1))
        return project

    def _engine(self, name: str, settings: dict[str, Any]) -> Engine:
        return Engine.load(self._project(name, settings), home=self.root, trust_once=True)

    def _event(self) -> BeforeTool:
        return BeforeTool(tool_name="write_file", tool_input=dict(TOOL_INPUT))

    def _once(self, engine: Engine) -> float:
        event = self._event()
        return self._timed(lambda: engine.dispatch(event), 1)

    def _batch(self, engine: Engine) -> float:
        event = self._event()
        return self._timed(lambda: engine.dispatch(event), BATCH) / BATCH

    def _timed(self, call: Callable[[], Awaitable[object]], times: int) -> float:
        async def run() -> float:
            started = time.perf_counter()
            for _ in range(times):
                await call()
            return time.perf_counter() - started

        return self.runner.run(run())


def _memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def _as_json(sections: list[Section]) -> dict[str, Any]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        "sections": [section.as_json() for section in sections],
    }


if __name__ == "__main__":
    get_kind("command")
    main()
