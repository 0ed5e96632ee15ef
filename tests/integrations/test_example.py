"""The example that a newcomer runs first."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"


@pytest.mark.slow
def test_the_agent_of_the_example_is_guarded(monkeypatch, capsys):
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "120")

    # In this process, in which other tests have imported the framework: that takes seconds.
    with pytest.raises(SystemExit) as done:
        runpy.run_path(str(EXAMPLE), run_name="__main__")

    output = capsys.readouterr()
    for words in ("AWS access key", "DENY", "ASK", "asked", "Now everything is done."):
        assert words in output.out
    assert "of 11 kinds" in output.out
    assert (done.value.code, output.err) == (0, "")
