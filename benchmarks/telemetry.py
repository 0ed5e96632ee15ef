"""What spans and metrics cost a dispatch, with the exporters of `Telemetry.from_environment`."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from anyhook import BeforeTool, Engine
from anyhook.telemetry import Telemetry
from benchmarks.measure import in_turns
from benchmarks.table import Row, Section

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from anyhook.engine.observers import Observer
    from anyhook.model.events import Event

ROUNDS = 300
COMMAND_ROUNDS = 200
BATCH = 100
"""Dispatches in one sample of those without a process."""
EVENT = BeforeTool(tool_name="write_file", tool_input={"content": "x"}, session_id="s")


def measure(root: Path, runner: asyncio.Runner, scale: float) -> Section:
    """Dispatch with telemetry and without it, in turns."""
    rows: list[Row] = []
    with _collector() as url:
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
        with Telemetry.from_environment() as telemetry:
            for what, make, rounds, batch in (
                ("no hook matches", _without_hooks, ROUNDS, BATCH),
                ("async function", _with_function, ROUNDS, BATCH),
                ("one command", _with_command, COMMAND_ROUNDS, 1),
            ):
                bare = make(root / "bare", ())
                traced = make(root / "traced", (telemetry,))
                found = in_turns(
                    int(rounds * scale),
                    5,
                    bare=_sample(runner, bare, batch),
                    traced=_sample(runner, traced, batch, telemetry),
                )
                unit = 1e-6 if batch > 1 else 1e-3
                rows.append(Row(what, found["traced"], unit, found["bare"]))
    note = "Functions without exports, which run in a thread, here between the samples."
    return Section("with telemetry", rows, "without", notes=[note])


def _sample(
    runner: asyncio.Runner, engine: Engine, batch: int, telemetry: Telemetry | None = None
) -> Callable[[], float]:
    async def dispatch() -> float:
        started = time.perf_counter()
        for _ in range(batch):
            await engine.dispatch(EVENT)
        return (time.perf_counter() - started) / batch

    def sample() -> float:
        seconds = runner.run(dispatch())
        if telemetry is not None and batch > 1:
            telemetry.flush(timeout=60)
        return seconds

    return sample


def _without_hooks(root: Path, observers: tuple[Observer, ...]) -> Engine:
    root.mkdir(exist_ok=True)
    return Engine.load(
        root, agent="gemini", home=root, environ=os.environ, trust_once=True, observers=observers
    )


def _with_function(root: Path, observers: tuple[Observer, ...]) -> Engine:
    async def opinion(_event: Event) -> None:
        return None

    engine = _without_hooks(root, observers)
    engine.register("before_tool", opinion)
    return engine


def _with_command(root: Path, observers: tuple[Observer, ...]) -> Engine:
    hook = {"type": "command", "command": "cat >/dev/null; echo '{}'"}
    settings = root / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    return _without_hooks(root, observers)


@contextmanager
def _collector() -> Iterator[str]:
    """Run a collector that throws everything away."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
