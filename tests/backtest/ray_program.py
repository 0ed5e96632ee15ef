"""Run a backtest on a Ray cluster of two nodes on this machine, and print what came out as JSON.

Ray starts threads and gives warnings of its own, so it is not started in the process of the tests.

python ray_program.py HOOK SOURCE [kill-node | kill-worker]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import astuple
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from anyhook.backtest.files import parts_of_files
from anyhook.backtest.on_ray import RayExecutor
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.errors import UsageError
from anyhook.history.filters import Filter


def main() -> None:
    hook, source, *fault = sys.argv[1:]
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    subject = BacktestSubject(hook, hook)
    is_file = Path(source).is_file()
    parts = list(
        parts_of_files([source], Filter()) if is_file else parts_of_history(source, Filter())
    )
    done = threading.Event()
    faults: list[str] = []

    def on_progress(_progress: object) -> None:
        done.set()

    def damage() -> None:
        done.wait()
        if fault == ["kill-node"]:
            cluster.remove_node(second, allow_graceful=False)
            faults.append("node")
        elif fault == ["kill-worker"]:
            pid = next(iter(_ray_workers()))
            os.kill(pid, signal.SIGKILL)
            faults.append("worker")

    thread = threading.Thread(target=damage, daemon=True)
    thread.start()
    started = time.perf_counter()
    try:
        executor = RayExecutor(subject, cluster.address, timeout=2.0)
        run = run_backtest(subject, parts, executor=executor, on_progress=on_progress)
    except UsageError as error:
        print(json.dumps({"error": str(error)}))  # noqa: T201 - the result
        return
    seconds = time.perf_counter() - started
    if fault:
        thread.join()
    result = run.result
    tallies = {
        label: [tally.matched, dict(tally.outcomes), tally.crashed, tally.timed_out]
        for label, tally in result.hooks.items()
    }
    values = {
        "events": dict(result.events),
        "sessions": sorted(result.sessions),
        "decided": [astuple(decided) for decided in result.decided],
        "hooks": tallies,
        "parts": len(parts),
        "faults": faults,
        "seconds": seconds,
    }
    print(json.dumps(values))  # noqa: T201 - the result
    ray.shutdown()
    cluster.shutdown()


def _ray_workers() -> list[int]:
    """Return the workers of Ray that evaluate something."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            title = (entry / "cmdline").read_bytes()
            is_ours = _descends_from(int(entry.name), os.getpid())
        except OSError:
            continue
        if is_ours and title.startswith(b"ray::_evaluate"):
            found.append(int(entry.name))
    return found


def _descends_from(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return False


if __name__ == "__main__":
    main()
