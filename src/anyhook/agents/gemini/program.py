"""Starting Gemini CLI without a user and without a network. Seen with 0.61.0."""

from __future__ import annotations

import os
from pathlib import Path

from anyhook.agents.program import AgentProgram, Workplace, read_program_settings

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


def _is_trusted(place: Workplace) -> bool:
    """Apply the rules of 0.61.0: the variable, the switch, then the rules for folders."""
    by_variable = place.environ.get(TRUST_VARIABLE, "").lower()
    if by_variable in ("true", "false"):
        return by_variable == "true"
    return folder_is_trusted(place, place.home / ".gemini", is_on=True)


def folder_is_trusted(place: Workplace, directory: Path, *, is_on: bool) -> bool:
    """Return whether the longest rule for a project trusts it, or rules are switched off.

    `directory` is the agent's in the home, and `is_on` whether rules apply if the settings do not
    say it.
    """
    security = read_program_settings(directory / "settings.json").get("security")
    folder_trust = security.get("folderTrust") if isinstance(security, dict) else None
    if isinstance(folder_trust, dict) and isinstance(folder_trust.get("enabled"), bool):
        is_on = folder_trust["enabled"]
    if not is_on:
        return True
    project = Path(os.path.realpath(place.project))
    longest, is_trusted = "", False
    for path, level in read_program_settings(directory / "trustedFolders.json").items():
        folder = Path(os.path.realpath(path))
        if level == "TRUST_PARENT":
            folder = folder.parent
        if project.is_relative_to(folder) and len(str(folder)) >= len(longest):
            longest, is_trusted = str(folder), level != "DO_NOT_TRUST"
    return is_trusted


PROGRAM = AgentProgram(
    name="gemini",
    executables=("gemini",),
    api="gemini",
    arguments=lambda prompt, _place: (
        *("-p", prompt),
        *("--approval-mode", "yolo"),
        *("-m", "gemini-2.5-flash"),
        *("--allowed-mcp-server-names", "none"),  # those of the user could not be reached
    ),
    environment=lambda place: {
        "GEMINI_API_KEY": "made-up",
        "GOOGLE_GEMINI_BASE_URL": place.model_url,
        "GEMINI_CLI_NO_RELAUNCH": "true",  # one process, which ends with its signal
    },
    own_prefixes=("GEMINI_", "GOOGLE_", "CODE_ASSIST_", "CLOUDSDK_"),
    kept_variables=frozenset({TRUST_VARIABLE}),
    settings_file=".gemini/settings.json",
    settings=SETTINGS,
    is_trusted=_is_trusted,
    trust_files=lambda place: {TRUSTED_FOLDERS: {os.path.realpath(place.project): "TRUST_FOLDER"}},
    trust_advice="start `gemini` in the project and trust the folder",
    events=frozenset(
        "session_start before_prompt before_model before_tool_selection after_model before_tool "
        "after_tool after_agent session_end".split()
    ),
    subjects={"session_start": "startup", "session_end": "exit"},
    subagent_call=lambda prompt: ("invoke_agent", {"agent_name": "generalist", "prompt": prompt}),
)
