"""The example that a newcomer runs first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"


def test_the_agent_of_the_example_is_guarded():
    environ = {name: text for name, text in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, EXAMPLE],
        capture_output=True,
        text=True,
        check=True,
        env=environ | {"COLUMNS": "120"},
    )

    for words in ("AWS access key", "DENY", "ASK", "asked", "Now everything is done."):
        assert words in done.stdout
    assert "of 11 kinds" in done.stdout
    assert done.stderr == ""
