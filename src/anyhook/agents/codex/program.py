"""Starting Codex CLI without a user and without a network. Seen with 0.169.0."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from anyhook.agents.patches import write_patch
from anyhook.agents.program import MAX_FILE_SIZE, AgentProgram, ScriptedCall, Workplace
from anyhook.files import read_user_file

KEY_VARIABLE = "ANYHOOK_PROBE_KEY"
MODEL = "gpt-5.5"
"""A model whose tools are `exec_command` and `apply_patch`, which takes a text."""


def _arguments(prompt: str, place: Workplace) -> tuple[str, ...]:
    # Options count more than the files of the user and the project.
    provider = {
        "name": "scripted",
        "base_url": f"{place.model_url}/v1",
        "wire_api": "responses",
        "env_key": KEY_VARIABLE,
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    project = {str(place.project): {"trust_level": "trusted"}}
    options: dict[str, object] = {
        "model": MODEL,
        "model_provider": "scripted",
        "model_providers": {"scripted": provider},
        "projects": project,
        "mcp_servers": {},  # those of the user could not be reached
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
    }
    words: list[str] = []
    for name, value in options.items():
        words += ["-c", f"{name}={_toml(value)}"]
    return (
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        *words,
        prompt,
    )


def _toml(value: object) -> str:
    """Write a value of an option; strings and numbers are as in JSON."""
    if isinstance(value, dict):
        members = [f"{json.dumps(name)} = {_toml(member)}" for name, member in value.items()]
        return "{" + ", ".join(members) + "}"
    return json.dumps(value)


def _is_trusted(place: Workplace) -> bool:
    """Return whether the user's settings trust the project; hooks of the user need no trust."""
    try:
        text = read_user_file(place.home / ".codex" / "config.toml", MAX_FILE_SIZE)
        projects = tomllib.loads(text.decode()).get("projects")
    except (OSError, ValueError):
        return False
    project = Path(os.path.realpath(place.project))
    if not isinstance(projects, dict):
        return False
    for path, entry in projects.items():
        if isinstance(entry, dict) and project.is_relative_to(os.path.realpath(path)):
            return entry.get("trust_level") == "trusted"
    return False


def _hook_input(tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return a call as hooks see it: files are written by patches."""
    if tool == "write_file" and "content" in arguments:
        return {"command": write_patch(tool, arguments, cwd="")}
    return None if tool == "edit_file" and "command" not in arguments else arguments


def _model_call(call: ScriptedCall) -> ScriptedCall:
    name, arguments = call
    if isinstance(arguments, str):
        return call
    if name == "Bash":
        return "exec_command", {"cmd": arguments.get("command")}
    if name == "apply_patch":
        return name, str(arguments.get("command"))
    return call


PROGRAM = AgentProgram(
    name="codex",
    executables=("codex",),
    api="openai-responses",
    arguments=_arguments,
    environment=lambda _place: {KEY_VARIABLE: "made-up"},
    own_prefixes=("CODEX_", "OPENAI_"),
    is_trusted=_is_trusted,
    trust_advice="start `codex` in the project, trust it, and review its hooks with /hooks",
    events=frozenset(
        "session_start before_prompt before_model after_model before_tool after_tool after_agent "
        "session_end".split()
    ),
    subjects={
        "session_start": "startup",
        "session_end": "other",
        "subagent_start": "default",
        "subagent_stop": "default",
    },
    hook_input=_hook_input,
    model_call=_model_call,
    subagent_call=lambda prompt: (
        "multi_agent_v1.spawn_agent",
        {"message": prompt, "agent_type": "default"},
    ),
    subagent_events=frozenset({"subagent_start", "subagent_stop"}),
)
