"""The tables of observed cases, read into one form that can be played in the real program.

Every agent's table has the members that suit its settings. A reader returns `None` for a case that
needs a terminal, a Web service, another start of the program or an answer of the model to a hook.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.probe.models.server import ModelTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anyhook.agents.program import ScriptedCall

TABLES = Path(__file__).parents[2] / "tests" / "agents" / "observed"
MARKER = "ran.txt"
"""The file that the usual command makes."""
COMMAND = f"echo RAN > {MARKER}; echo ran-output"
UNCHANGED = "RAN\n"
"""What the file holds unless a hook has changed the command."""
DONE = ModelTurn("after")


@dataclass(frozen=True, slots=True)
class Expected:
    """What was observed; `None` and empty values are not compared.

    Attributes:
        ran: Whether the usual command ran.
        rewritten: Whether a hook has changed the command that ran.
        requests: Requests to the model.
        results: Ends of the last results of tools that the model saw.
        appended: End of the last result, behind what the tool printed.
        texts: Texts that the model got.
        files: Path in the project to the content; `None` if the file does not exist.
        lines: Path in the project to the number of lines.
    """

    ran: bool | None = None
    rewritten: bool | None = None
    requests: int | None = None
    results: tuple[str, ...] = ()
    appended: str = ""
    texts: tuple[str, ...] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a program.

    Attributes:
        id: The case in the table.
        expected: What was observed.
        files: Absolute path to text.
        turns: What the model answers.
        environ: Environment variables.
    """

    id: str
    expected: Expected
    files: Mapping[str, str]
    turns: tuple[ModelTurn, ...]
    environ: Mapping[str, str] = field(default_factory=dict)


Row = dict[str, Any]


def load_cases(agent: str, home: Path, project: Path) -> list[Case]:
    """Return the cases of an agent that can be played; none if it has no table for this.

    Args:
        agent: Name of the agent.
        home: The home directory of the runs.
        project: The project of the runs.
    """
    form = FORMS.get(agent)
    if form is None:
        return []
    table = json.loads((TABLES / f"{agent}.json").read_text(encoding="utf-8"))
    rows = table if isinstance(table, list) else table["events"]
    words = {"{home}": str(home), "{project}": str(project), "{P}": str(project)}
    cases = [form(fill(row, words), _Places(str(home), str(project))) for row in rows]
    return [case for case in cases if case is not None]


def fill(value: Any, words: Mapping[str, str]) -> Any:
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


@dataclass(frozen=True, slots=True)
class _Places:
    """The directories of the user and of the project."""

    user: str
    project: str


# -- Qwen Code

_QWEN_CALL: ScriptedCall = ("run_shell_command", {"command": COMMAND, "is_background": False})
_QWEN_NOT_PLAYED = ("beyond", "terminal", "answers", "errors", "command")
_QWEN_LAYERS = frozenset({"user", "project"})


def _qwen_case(row: Row, places: _Places) -> Case | None:
    observed, settings = row.get("observed"), row.get("settings")
    if any(name in row for name in _QWEN_NOT_PLAYED) or not row.get("trusted", True):
        return None
    if not isinstance(observed, dict) or "requests" not in observed:
        return None
    if not isinstance(settings, dict) or not settings.keys() <= _QWEN_LAYERS:
        return None
    if '"type": "http"' in json.dumps(settings):
        return None
    rounds = row.get("turns", [["usual"]] if "ran" in observed else [])
    if any(call != "usual" for calls in rounds for call in calls):
        return None
    turns = [ModelTurn(tools=[_QWEN_CALL for _ in calls]) for calls in rounds]
    files = {
        f"{getattr(places, layer)}/.qwen/settings.json": _text(value)
        for layer, value in settings.items()
    }
    expected = Expected(
        ran=observed.get("ran"),
        requests=observed["requests"],
        results=tuple(observed.get("saws", ())),
        appended=observed.get("appended", ""),
        texts=tuple(observed.get("user_texts", ())),
        files=observed.get("files", {}),
    )
    return Case(
        row["id"],
        expected,
        files | row.get("files", {}),
        (*turns, *(ModelTurn(text) for text in row.get("texts", (DONE.text,)))),
        row.get("environment", {}),
    )


# -- GitHub Copilot CLI

_COPILOT_CALL: ScriptedCall = ("bash", {"command": COMMAND, "description": "run"})
_COPILOT_PLAYED = frozenset({"id", "name", "settings", "calls", "text", "observed"})
_COPILOT_COMPARED = frozenset({"ran", "modified", "tool", "user", "fired", "requests"})


def _copilot_case(row: Row, places: _Places) -> Case | None:
    observed = row["observed"]
    if not row.keys() <= _COPILOT_PLAYED or not observed.keys() <= _COPILOT_COMPARED:
        return None
    text = row["text"] if "text" in row else json.dumps(row.get("settings", {}))
    if "http://" in text:
        return None
    if any(name == "task" for name, _ in row.get("calls", ())):  # the subagent has turns of its own
        return None
    expected = Expected(
        ran=observed.get("ran"),
        requests=observed.get("requests"),
        results=(observed["tool"],) if "tool" in observed else (),
        texts=(observed["user"],) if "user" in observed else (),
        rewritten=observed.get("modified"),
        lines={"fired.txt": observed["fired"]} if "fired" in observed else {},
    )
    calls = [ModelTurn(tools=[tuple(call)]) for call in row.get("calls", [_COPILOT_CALL])]
    files = {
        f"{places.project}/.github/hooks/hooks.json": text,
        f"{places.project}/a.txt": "one\n",
    }
    return Case(row["id"], expected, files, (*calls, DONE))


# -- Codex CLI

_CODEX_CALL: ScriptedCall = ("Bash", {"command": COMMAND})
_CODEX_PLAYED = frozenset({"id", "name", "event", "hooks", "observed"})
_CODEX_RAN = {"ran": True, "rewritten": True, "denied": False}


def _codex_case(row: Row, places: _Places) -> Case | None:
    """Read a case of `PreToolUse`; what other events do is not seen from outside."""
    if not row.keys() <= _CODEX_PLAYED or row["event"] != "PreToolUse":
        return None
    observed = row["observed"]
    if "tool" not in observed:
        return None
    feedback = tuple(run["feedback"] for run in observed.get("runs", ()) if "feedback" in run)
    tool = observed["tool"]
    expected = Expected(
        ran=_CODEX_RAN[tool],
        texts=feedback[:1] if tool == "denied" else (),
        rewritten=tool == "rewritten" if _CODEX_RAN[tool] else None,
    )
    settings = {"hooks": {row["event"]: [_codex_definition(hook) for hook in row["hooks"]]}}
    files = {f"{places.user}/.codex/hooks.json": json.dumps(settings)}
    return Case(row["id"], expected, files, (ModelTurn(tools=[_CODEX_CALL]), DONE))


def _codex_definition(hook: Row) -> Row:
    command = hook.get("command") or "; ".join(_codex_commands(hook))
    members = {key: hook[key] for key in ("timeout", "async") if key in hook}
    matcher = {"matcher": hook["matcher"]} if "matcher" in hook else {}
    return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": 20, **members}]}


def _codex_commands(hook: Row) -> Iterator[str]:
    yield "cat >/dev/null"
    for stream, redirect in (("stdout", ""), ("stderr", " >&2")):
        if stream in hook:
            yield f"printf %s {shlex.quote(hook[stream])}{redirect}"
    yield f"exit {hook.get('exit', 0)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


FORMS: Mapping[str, Callable[[Row, _Places], Case | None]] = {
    "codex": _codex_case,
    "copilot": _copilot_case,
    "qwen": _qwen_case,
}
"""Agent to what reads its table."""
