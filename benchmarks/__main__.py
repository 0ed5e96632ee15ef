"""Measures every figure of the README and prints them side by side with their floor.

python -m benchmarks [--quick] [--json FILE]      (or: make bench)
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from anyhook import BeforeTool, Engine, __version__
from anyhook.handlers.base import get_kind
from anyhook.settings import load as loading
from anyhook.testing import make_payload
from benchmarks.agents import FRAMEWORKS, engine_without_hooks
from benchmarks.floor import spawn_bare
from benchmarks.measure import Samples, in_turns, timed
from benchmarks.peer import PACKAGE, VERSION, GeminiCore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyhook.model.events import Event

COMMAND = "cat >/dev/null; echo '{}'"
TOOL_INPUT = {"file_path": "src/main.py", "content": "print('hello')\n" * 20}
SCRIPT = 'cat > /dev/null; echo \'{"decision": "block", "reason": "no"}\''
"""What a hook of Claude Code does, in a line."""
SHIMMED = "a command behind the shim; bare: python, then the command"
HOOK = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()

@hooks.before_tool("shell", "write_file")
def guard(event):
    if "AKIA" in event.text:
        return deny("that looks like an AWS key")

if __name__ == "__main__":
    hooks.run()
"""
MANY = 20
DEFINITIONS = 200
BATCH = 200
SOAK = 20_000
PAGE = 4096


@dataclass
class Row:
    """One line of the table.

    Attributes:
        what: What was measured.
        ours: Samples of anyhook.
        unit: Seconds in one unit of the figures.
        floor: Samples of the same commands spawned bare.
        peer: Samples of the Gemini core.
        goal: What to reach, in words.
        reached: Whether it was.
    """

    what: str
    ours: Samples
    unit: float
    floor: Samples | None = None
    peer: Samples | None = None
    goal: str = ""
    reached: bool | None = None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to a file")
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    out = Console()
    peer = GeminiCore.start()
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        bench = Bench(Path(directory), runner, peer, scale)
        rows = [*bench.in_process(), *bench.commands(), bench.load(), *bench.hook_files()]
        rows += bench.agents()
        _print_rows(out, rows, peer is not None)
        growth = bench.soak()
        rounds = int(SOAK * scale)
        out.print(
            f"memory after {rounds:,} dispatches: {growth / 1024:+,.0f} KiB after the first tenth"
        )
    if peer:
        peer.close()
    if options.json:
        options.json.write_text(json.dumps(_as_json(rows, growth), indent=1))


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
            if count == 1:
                goal, reached = "≤ 1.15 of bare", ours.p50 <= 1.15 * floor.p50
                what = "one command"
            else:
                goal = "no slower than Gemini core"
                reached = ours.p50 <= other.p50 if other else None  # type: ignore[assignment]
                what = f"{count} commands at once"
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
            return timed(lambda: Engine.load(project, home=self.root))

        samples = in_turns(int(60 * self.scale) or 1, 3, load=cold)["load"]
        goal = f"≤ 10 ms for {DEFINITIONS}"
        return Row(
            f"load {DEFINITIONS} definitions", samples, 1e-3, None, None, goal, samples.p50 <= 10e-3
        )

    def hook_files(self) -> list[Row]:
        """Run a hook file as an agent would, beside `python -c "import json, sys"`."""
        hook = self.root / "hook.py"
        hook.write_text(HOOK, encoding="utf-8")
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        bare = [sys.executable, "-c", "import json, sys"]

        def run(argv: list[str], payload: bytes) -> float:
            done = partial(
                subprocess.run, argv, input=payload, env=environ, capture_output=True, check=True
            )
            return timed(done)

        cold = [sys.executable, str(hook)]
        shim = [sys.executable, "-m", "anyhook", "shim", "--as", "claude", "--", SCRIPT]
        interpreter = f"{shlex.join(bare)} && {SCRIPT}"
        rows = []
        for agent, what, argv, floor in (
            ("claude", "a hook file, cold (claude); bare: python", cold, bare),
            ("gemini", "a hook file, cold (gemini); bare: python", cold, bare),
            ("gemini", SHIMMED, shim, ["sh", "-c", interpreter]),
        ):
            made = make_payload("before_tool", agent=agent, tool="write_file", input=TOOL_INPUT)
            payload = json.dumps(made).encode()
            run(argv, payload)  # what is compiled once
            found = in_turns(
                int(100 * self.scale) or 1,
                5,
                ours=partial(run, argv, payload),
                floor=partial(run, floor, payload),
            )
            ours, bare_run = found["ours"], found["floor"]
            goal, reached = "≤ 10 ms over bare", ours.p50 - bare_run.p50 <= 10e-3
            rows.append(Row(what, ours, 1e-3, bare_run, None, goal, reached))
        return rows

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


def _print_rows(out: Console, rows: list[Row], has_peer: bool) -> None:
    title = (
        f"anyhook {__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    )
    table = Table(title=title, title_justify="left")
    names = ["dispatch", "p50", "p95", "bare spawn", "÷ bare", "Gemini core", "÷ core", "goal", ""]
    for name in names:
        table.add_column(name, justify="left" if name in ("dispatch", "goal", "") else "right")
    for row in rows:
        table.add_row(
            row.what,
            _show(row.ours.p50, row.unit),
            _show(row.ours.p95, row.unit),
            _show(row.floor.p50, row.unit) if row.floor else "",
            f"{row.ours.p50 / row.floor.p50:.2f}" if row.floor else "",
            _show(row.peer.p50, row.unit) if row.peer else "",
            f"{row.ours.p50 / row.peer.p50:.2f}" if row.peer else "",
            row.goal,
            {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}[row.reached],
        )
    out.print(table)
    out.print(
        f"Gemini core: {PACKAGE} {VERSION} from npm, timed inside node."
        if has_peer
        else "Gemini core: not measured (needs node, npm and the registry)."
    )


def _show(seconds: float, unit: float) -> str:
    return f"{seconds / unit:.1f} {'µs' if unit == 1e-6 else 'ms'}"


def _as_json(rows: list[Row], growth: int) -> dict[str, Any]:
    def values(samples: Samples | None) -> list[float] | None:
        return samples.values if samples else None

    return {
        "version": __version__,
        "python": platform.python_version(),
        "rows": [
            {
                "what": row.what,
                "seconds": values(row.ours),
                "floor": values(row.floor),
                "peer": values(row.peer),
                "goal": row.goal,
                "reached": row.reached,
            }
            for row in rows
        ],
        "growth_bytes": growth,
    }


if __name__ == "__main__":
    get_kind("command")
    main()
