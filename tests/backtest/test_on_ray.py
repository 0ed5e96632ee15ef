"""Backtests on a real Ray cluster of two nodes: the results of one machine, also after faults."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

import pytest

from anyhook.backtest import sources
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.history.filters import Filter
from tests.backtest.test_backtest import GUARD, Recorded, before_check, shell

HAS_RAY = importlib.util.find_spec("ray") is not None
PROGRAM = Path(__file__).parent / "ray_program.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not HAS_RAY, reason='needs Ray: pip install "anyhook[ray]"'),
]


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def on_ray(recorded, subject, fault=""):
    line = [sys.executable, PROGRAM, subject.path, recorded.directory]
    done = subprocess.run([*line, *fault.split()], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def on_this_machine(recorded, subject, timeout=2.0):
    parts = list(parts_of_history(recorded.directory, Filter()))
    return run_backtest(subject, parts, jobs=2, timeout=timeout).result


def assert_same(found, result):
    assert found["events"] == result.events
    assert found["sessions"] == sorted(result.sessions)
    assert found["decided"] == [json.loads(json.dumps(astuple(d))) for d in result.decided]
    assert found["hooks"] == {
        label: [tally.matched, tally.outcomes, tally.crashed, tally.timed_out]
        for label, tally in result.hooks.items()
    }


def commands(count):
    return [shell(n, "rm -rf /" if n % 3 == 0 else f"ls {n}", f"s{n % 7}") for n in range(count)]


@pytest.mark.parametrize("fault", ["", "kill-node", "kill-worker"])
def test_a_cluster_gives_the_result_of_one_machine(recorded, fault):
    recorded.add(*commands(sources.PART * 6))
    slow = before_check("import time; time.sleep(0.0004)") if fault else GUARD
    (recorded.root / "words.py").write_text("WORD = 'rm -rf'\n")
    text = slow.replace('"rm -rf" in', "words.WORD in").replace("hooks =", "import words\nhooks =")
    subject = recorded.hook(text)

    found = on_ray(recorded, subject, fault)

    assert found["parts"] == 7
    assert found["faults"] == ([fault.removeprefix("kill-")] if fault else [])
    assert_same(found, on_this_machine(recorded, subject))


def test_an_event_that_ends_or_hangs_the_process_is_counted_on_a_cluster(recorded):
    recorded.add(shell(1, "ls"), shell(2, "die"), shell(3, "hang"), shell(4, "rm -rf /"))
    subject = recorded.hook(
        before_check(
            "import os, time; event.call.command == 'die' and os._exit(3)\n"
            "    event.call.command == 'hang' and time.sleep(3600)"
        )
    )

    found = on_ray(recorded, subject)

    assert_same(found, on_this_machine(recorded, subject))
    matched, outcomes, crashed, timed_out = found["hooks"]["guard"]
    assert (matched, outcomes, crashed, timed_out) == (4, {"none": 1, "crash": 2, "deny": 1}, 1, 1)


def test_hooks_that_cannot_be_loaded_are_an_error_on_a_cluster(recorded):
    recorded.add(shell(1, "ls"))

    found = on_ray(recorded, recorded.hook("print('hello')"))

    assert "is not an anyhook hook file" in found["error"]
