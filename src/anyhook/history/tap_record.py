"""What a tap records of a hook's command, as a line of the journal.

The pump of `tap.py` imports this module when the agent has its answer.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.journal.lines import append, history_directory, is_recording
from anyhook.journal.records import project_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBLEM_FILE = "problem.txt"
"""File in the directory of the history with the last problem of a tap."""


def record_tap(run: Mapping[str, Any]) -> None:
    """Append a run of a command to the journal; what it meant is decoded at the ingest."""
    directory = history_directory()
    if not is_recording(directory):
        return
    payload, problem = _payload(run["stdin"])
    agent = run["agent"]
    cwd = payload.get("cwd") or run["cwd"]
    tap: dict[str, Any] = {
        "command": run["command"],
        "cwd": run["cwd"],
        "duration": round(run["duration"], 6),
        "stdout": run["stdout"].decode("utf-8", "replace"),
        "stderr": run["stderr"].decode("utf-8", "replace"),
        "truncated": run["truncated"],
    }
    code = run["code"]
    if code is None:
        tap["killed"] = True
    elif code >= 0:
        tap["exit_code"] = code
    else:
        try:
            tap["signal"] = signal.Signals(-code).name
        except ValueError:
            tap["signal"] = f"signal {-code}"
    if run["shadow"]:
        tap["shadow"] = True
    if problem:
        tap["problem"] = problem
    record = {
        "agent": agent,
        "time": run["started"],
        "event": "",
        "session": "",
        "source": "tap",
        "project": project_directory(get_agent(agent), str(cwd)),
        "payload": payload,
        "tap": tap,
    }
    try:
        append(directory, record)
    except (OSError, ValueError, RecursionError) as error:
        _note_problem(directory, error)


def _payload(content: bytes) -> tuple[dict[str, Any], str | None]:
    """Return the event on standard input, and why there is none."""
    try:
        payload = json.loads(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}, "standard input held no JSON"
    if isinstance(payload, dict):
        return payload, None
    return {}, "standard input held no JSON object"


def _note_problem(directory: str, error: Exception) -> None:
    """Leave the last problem for `anyhook history record status`."""
    text = getattr(error, "strerror", None) or type(error).__name__
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(f"{directory}/{PROBLEM_FILE}", flags, 0o600)
        os.write(descriptor, f"a hook could not be recorded: {text}\n".encode())
        os.close(descriptor)
    except OSError:
        return
