"""Let a real agent work on one prompt, with a scripted model and no way out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from anyhook.agents.program import Workplace
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import ProgramRun, run_program
from tests.e2e.agents import Agent

SECONDS = 50.0  # a run takes one to four on an idle machine


def run_agent(
    agent: Agent,
    project: Path,
    home: Path,
    turns: Sequence[ModelTurn],
    prompt: str,
    extra_settings: Mapping[str, object] | None = None,
) -> ProgramRun:
    """Give an agent a prompt, its model's turns, and wait until it ends.

    Args:
        agent: An agent that is installed.
        project: Where it works.
        home: Its user's home; gets the files of a user who has used the agent before.
        turns: What the model says.
        prompt: What the user says.
        extra_settings: Settings of the project. Without, a file that is there stays as it is.

    Raises:
        TimeoutError: It did not end in time. All that it started was killed.
    """
    if extra_settings is not None:
        path = project / agent.settings_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(extra_settings, indent=2))
    # Nothing of the developer's but where programs are.
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
    place = Workplace(home, project, environ)
    run = run_program(
        agent.program, agent.start(), place, ModelScript(turns), prompt, seconds=SECONDS
    )
    if run.timed_out:
        raise TimeoutError(f"{agent} did not end:\n{run.stdout}\n{run.stderr}")
    return run
