"""Starting Gemini CLI without a user and without a network. Seen with 0.61.0."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.program import AgentProgram, Call, Workplace
from anyhook.files import read_user_file

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "ide": {"enabled": False, "hasSeenNudge": True},
}
"""A key instead of an account; no updates, statistics and editors."""
TRUSTED_FOLDERS = ".gemini/trustedFolders.json"
TRUST_VARIABLE = "GEMINI_CLI_TRUST_WORKSPACE"
LARGEST_FILE = 1024 * 1024


def _arguments(prompt: str, _place: Workplace) -> tuple[str, ...]:
    return (
        *("-p", prompt),
        *("--approval-mode", "yolo"),
        *("-m", "gemini-2.5-flash"),
        *("--allowed-mcp-server-names", "none"),  # those of the user could not be reached
    )


def _environment(place: Workplace) -> Mapping[str, str]:
    return {
        "GEMINI_API_KEY": "made-up",
        "GOOGLE_GEMINI_BASE_URL": place.model_url,
        "GEMINI_CLI_NO_RELAUNCH": "true",  # one process, which ends when it is told to
    }


def _trust_files(place: Workplace) -> Mapping[str, object]:
    return {TRUSTED_FOLDERS: {os.path.realpath(place.project): "TRUST_FOLDER"}}


def _is_trusted(place: Workplace) -> bool:
    """Apply the rules of 0.61.0: the variable, the switch, then the longest rule for the folder."""
    by_variable = place.environ.get(TRUST_VARIABLE, "").lower()
    if by_variable in ("true", "false"):
        return by_variable == "true"
    settings = _read_object(place.home / ".gemini" / "settings.json")
    folder_trust = settings.get("security", {}).get("folderTrust", {})
    if isinstance(folder_trust, dict) and folder_trust.get("enabled") is False:
        return True
    project = os.path.realpath(place.project)
    longest, is_trusted = "", False
    for path, level in _read_object(place.home / TRUSTED_FOLDERS).items():
        directory = os.path.realpath(path)
        if level == "TRUST_PARENT":
            directory = os.path.dirname(directory)  # noqa: PTH120 - texts, compared below
        covers = Path(project).is_relative_to(directory)
        if covers and len(directory) >= len(longest):
            longest, is_trusted = directory, level != "DO_NOT_TRUST"
    return is_trusted


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_user_file(path, LARGEST_FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _subagent_call(prompt: str) -> Call:
    return "invoke_agent", {"agent_name": "generalist", "prompt": prompt}


PROGRAM = AgentProgram(
    name="gemini",
    executables=("gemini",),
    api="gemini",
    arguments=_arguments,
    environment=_environment,
    own_prefixes=("GEMINI_", "GOOGLE_", "CODE_ASSIST_", "CLOUDSDK_"),
    kept_variables=frozenset({TRUST_VARIABLE}),
    settings_file=".gemini/settings.json",
    settings=SETTINGS,
    is_trusted=_is_trusted,
    trust_files=_trust_files,
    trust_advice="start `gemini` in the project and trust the folder",
    events=frozenset(
        "session_start before_prompt before_model before_tool_selection after_model before_tool "
        "after_tool after_agent session_end".split()
    ),
    subjects={"session_start": "startup", "session_end": "exit"},
    subagent_call=_subagent_call,
)
