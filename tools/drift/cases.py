"""The observed cases of an agent, played in the real program."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track

from anyhook.agents.program import Workplace, get_program
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from tools.drift.case_forms import MARKER, UNCHANGED, load_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.probe.start import ProgramRun
    from tools.drift.case_forms import Case, Expected

SECONDS = 180.0
"""A run takes three on an idle machine."""
END = ModelTurn("Done.")


@dataclass(frozen=True, slots=True)
class Difference:
    """A case that the program does not reproduce.

    Attributes:
        case: The case in the table.
        text: What is different.
    """

    case: str
    text: str


@dataclass(frozen=True, slots=True)
class Played:
    """The cases that were played.

    Attributes:
        count: How many.
        differences: Those that the program does not reproduce.
    """

    count: int
    differences: tuple[Difference, ...] = ()


def play_cases(agent: str, command: Sequence[str]) -> Played:
    """Play all cases of an agent that can be played.

    Args:
        agent: Name of the agent.
        command: What starts its program.
    """
    program = get_program(agent)
    if program is None:
        return Played(0)
    with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
        home, project = Path(scratch) / "home", Path(scratch) / "project"
        cases = load_cases(agent, home, project)
        found: list[Difference] = []
        for case in track(
            cases,
            f"{agent}: observed cases",
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        ):
            for directory in (home, project):
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir()
            text = _play(program, command, case, home, project)
            if text:
                found.append(Difference(case.id, text))
    return Played(len(cases), tuple(found))


def _play(
    program: AgentProgram, command: Sequence[str], case: Case, home: Path, project: Path
) -> str:
    """Return what is different from what was observed; empty if nothing is."""
    for name, text in case.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh", **case.environ}
    turns = [
        replace(turn, tools=[program.model_call(call) for call in turn.tools])
        for turn in case.turns
    ]
    place = Workplace(home, project, environ)
    # A case is about variables that a program does not inherit from the user otherwise.
    kept = program.kept_variables | case.environ.keys()
    program = program.replace(kept_variables=kept)
    run = run_program(program, command, place, ModelScript(turns, end=END), "go", seconds=SECONDS)
    if run.timed_out:
        return f"did not end within {SECONDS:g} s"
    seen = [*_tool_differences(case.expected, run), *_file_differences(case.expected, project)]
    return "; ".join(seen)


def _tool_differences(expected: Expected, run: ProgramRun) -> Iterator[str]:
    if expected.requests is not None and expected.requests != len(run.requests):
        yield f"{len(run.requests)} requests instead of {expected.requests}"
    results = run.tool_results()
    for wanted, result in zip(reversed(expected.results), reversed(results), strict=False):
        if not result.endswith(wanted):  # the API may put the type of a part before its text
            yield f"the model saw {result[:100]!r} instead of {wanted[:100]!r}"
    if expected.appended and not (results and results[-1].endswith(expected.appended)):
        yield f"no {expected.appended[:100]!r} behind the result"
    heard = run.heard(len(run.requests) - 1) if run.requests else ""
    for wanted in expected.texts:
        if wanted not in heard:
            yield f"the model did not get {wanted[:100]!r}"


def _file_differences(expected: Expected, project: Path) -> Iterator[str]:
    written = _read(project / MARKER)
    ran = written is not None
    if expected.ran is not None and expected.ran is not ran:
        yield f"the tool {'ran' if ran else 'did not run'}"
    rewritten = written != UNCHANGED
    if expected.rewritten is not None and expected.rewritten is not rewritten:
        yield f"the command was {'changed' if rewritten else 'not changed'}"
    for name, content in expected.files.items():
        found = _read(project / name)
        if found != content:
            yield f"{name} has {found!r} instead of {content!r}"
    for name, number in expected.lines.items():
        lines = (_read(project / name) or "").splitlines()
        if len(lines) != number:
            yield f"{name} has {len(lines)} lines instead of {number}"


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
