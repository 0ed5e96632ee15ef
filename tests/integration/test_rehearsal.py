"""What the worker does before its first fork, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, sys
from anyhook.server import loading, preparation, rehearsal

if len(sys.argv) > 1:
    rehearsal.SAMPLE = sys.argv[1]

def state():
    descriptors = {n: os.fstat(int(n))[:2] for n in sorted(os.listdir("/dev/fd"))[:-1]}
    main = sys.modules["__main__"].__dict__.get("state") is state
    environ = dict(os.environ)
    return [sys.argv, sys.orig_argv, sys.path, os.getcwd(), environ, descriptors, main]

os.umask(rehearsal.MASK)
before = state()
runs = []
real = rehearsal.Executor.run
rehearsal.Executor.run = lambda *a, **k: (real(*a, **k), runs.append(1))
preparation.prepare()
print(json.dumps({"same": state() == before, "runs": len(runs), "mask": os.umask(0)}))
"""


HOOKS = "from anyhook.authoring import Hooks\nhooks = Hooks()\n"
SPOILS = """@hooks.before_tool
def spoil(event):
    import signal
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
"""


def prepare(*arguments) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("held", [0, 300], ids=["small", "from a large process"])
def test_a_rehearsal_leaves_the_process_as_it_was(held):
    memory = bytearray(b"x") * (held << 20)
    told = prepare()
    del memory

    assert told["same"]
    assert told["runs"] >= 24  # every agent, as often as the interpreter looks for a faster way
    assert told["mask"] == 0o077


@pytest.mark.parametrize(
    "text",
    [
        "1 +",
        "raise SystemExit(3)",
        f"print('loud')\n{HOOKS}hooks.run()",
        f"{HOOKS}{SPOILS}hooks.run()",
        f"{HOOKS}import sys\nsys.stdout = None\nhooks.run()",
    ],
    ids=["no Python", "ends", "prints", "spoils", "closes"],
)
def test_a_rehearsal_that_fails_costs_nothing(tmp_path, text):
    sample = tmp_path / "sample.py"
    sample.write_text(text)

    assert prepare(str(sample))["same"]


def test_a_rehearsal_without_a_sample_costs_nothing(tmp_path):
    assert prepare(str(tmp_path / "gone.py"))["same"]
