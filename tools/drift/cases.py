"""The table of observed cases of an agent, played in the real program.

A case of `tests/agents/observed/AGENT.json` has the settings of each layer, the turns of the model
and what was observed. Cases that need a terminal, a Web service or an answer of the model to a hook
are left out.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.program import Workplace, get_program
from anyhook.probe.models.server import Script, Turn
from anyhook.probe.start import run_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.probe.start import ProgramRun

TABLES = Path(__file__).parents[2] / "tests" / "agents" / "observed"
SECONDS = 180.0
"""A run takes three on an idle machine."""
MARKER = "ran.txt"
"""The file that the usual command makes."""
USUAL = (
    "run_shell_command",
    {"command": f"echo RAN > {MARKER}; echo ran-output", "is_background": False},
)
END = Turn("Done.")
NOT_PLAYED = ("beyond", "terminal", "answers", "errors", "command")
"""Members of cases that need more than one prompt with calls of tools."""
PLAYED_LAYERS = frozenset({"user", "project"})
FINAL_TEXTS = ("after",)


def load_cases(agent: str) -> list[dict[str, Any]]:
    """Return the cases of an agent that can be played; none if its table has another form."""
    path = TABLES / f"{agent}.json"
    if not path.exists():
        return []
    cases = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(cases, list):
        return []
    return [case for case in cases if isinstance(case, dict) and _is_playable(case)]


def _is_playable(case: dict[str, Any]) -> bool:
    if any(name in case for name in NOT_PLAYED) or not case.get("trusted", True):
        return False
    observed, settings = case.get("observed"), case.get("settings")
    if not isinstance(observed, dict) or "requests" not in observed:
        return False
    if not isinstance(settings, dict) or not settings.keys() <= PLAYED_LAYERS:
        return False
    is_web = '"type": "http"' in json.dumps(settings)
    has_other_tools = any(call != "usual" for turn in case.get("turns", ()) for call in turn)
    return not is_web and not has_other_tools


def play_cases(
    agent: str, command: Sequence[str], cases: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the cases that the program does not reproduce, each with what is different.

    Args:
        agent: Name of the agent.
        command: What starts its program.
        cases: The cases.
    """
    program = get_program(agent)
    if program is None:
        return
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
            problem = _play(program, command, case, Path(scratch))
        if problem:
            yield case["id"], problem


def _play(
    program: AgentProgram, command: Sequence[str], case: dict[str, Any], scratch: Path
) -> str:
    """Return what is different from what was observed; empty if nothing is."""
    home, project = scratch / "home", scratch / "project"
    for directory in (home, project):
        directory.mkdir()
    case = fill(case, {"{home}": str(home), "{project}": str(project)})
    for layer, settings in case["settings"].items():
        path = (home if layer == "user" else project) / program.settings_file
        _write(path, settings if isinstance(settings, str) else json.dumps(settings))
    for name, text in case.get("files", {}).items():
        _write(Path(name), text)
    environ = {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh",
        **case.get("environment", {}),
    }  # fmt: skip
    script = Script(_turns(case), end=END)
    place = Workplace(home, project, environ)
    run = run_program(program, command, place, script, "go", seconds=SECONDS)
    if run.timed_out:
        return f"did not end within {SECONDS:g} s"
    return "; ".join(_differences(case["observed"], run, project))


def fill(value: Any, words: dict[str, str]) -> Any:
    """Replace words in all texts of a JSON value, also in the names of members."""
    if isinstance(value, str):
        for word, replacement in words.items():
            value = value.replace(word, replacement)
        return value
    if isinstance(value, list):
        return [fill(item, words) for item in value]
    if isinstance(value, dict):
        return {fill(key, words): fill(item, words) for key, item in value.items()}
    return value


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _turns(case: dict[str, Any]) -> list[Turn]:
    calls_tool = "ran" in case["observed"]
    rounds = case.get("turns", [["usual"]] if calls_tool else [])
    turns = [Turn(tools=[USUAL for _ in calls]) for calls in rounds]
    return [*turns, *[Turn(text) for text in case.get("texts", FINAL_TEXTS)]]


def _differences(observed: dict[str, Any], run: ProgramRun, project: Path) -> Iterator[str]:
    ran = (project / MARKER).exists()
    if "ran" in observed and observed["ran"] is not ran:
        yield f"the tool {'ran' if ran else 'did not run'}"
    if observed["requests"] != len(run.requests):
        yield f"{len(run.requests)} requests instead of {observed['requests']}"
    results = run.tool_results()
    for wanted, result in zip(reversed(observed.get("saws", ())), reversed(results), strict=False):
        if not result.endswith(wanted):  # the API may put the type of a part before its text
            yield f"the model saw {result[:100]!r} instead of {wanted[:100]!r}"
    appended = observed.get("appended", "")
    if appended and not (results and results[-1].endswith(appended)):
        yield f"no {appended[:100]!r} behind the result"
    texts = run.heard(len(run.requests) - 1) if run.requests else ""
    for wanted in observed.get("user_texts", ()):
        if wanted not in texts:
            yield f"the model did not get {wanted[:100]!r}"
    for name, content in observed.get("files", {}).items():
        path = project / name
        text = path.read_text(encoding="utf-8") if path.exists() else None
        if text != content:
            yield f"{name} has {text!r} instead of {content!r}"
