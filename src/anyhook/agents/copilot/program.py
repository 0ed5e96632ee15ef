"""Starting GitHub Copilot CLI without a user and without a network. Seen with 1.0.102."""

from __future__ import annotations

import os
from pathlib import Path

from anyhook.agents.program import AgentProgram, Workplace, read_program_settings

CONFIG = ".copilot/config.json"
"""Holds the account and the trusted folders; the one of the user is not used."""
TRUSTED = ("trustedFolders", "trusted_folders")
"""Names of the list of trusted folders, in newer and in older releases."""
REPOSITORY_HOOKS = "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"


def _home_files(place: Workplace) -> dict[str, object]:
    folders = [str(place.project)]
    return {CONFIG: {**dict.fromkeys(TRUSTED, folders), "banner": "never"}}


def _is_trusted(place: Workplace) -> bool:
    if place.environ.get(REPOSITORY_HOOKS) == "true":
        return True
    config = read_program_settings(place.home / CONFIG)
    project = Path(os.path.realpath(place.project))
    folders: list[object] = []
    for name in TRUSTED:
        value = config.get(name)
        folders += value if isinstance(value, list) else []
    paths = [folder for folder in folders if isinstance(folder, str)]
    return any(project.is_relative_to(os.path.realpath(path)) for path in paths)


PROGRAM = AgentProgram(
    name="copilot",
    executables=("copilot",),
    api="openai-chat",
    arguments=lambda prompt, _place: ("-p", prompt, "--allow-all-tools", "--disable-builtin-mcps"),
    environment=lambda place: {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{place.model_url}/v1",
        "COPILOT_PROVIDER_API_KEY": "made-up",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_AUTO_UPDATE": "false",
    },
    own_prefixes=("COPILOT_", "GH_", "GITHUB_", "OPENAI_"),
    home_files=_home_files,
    is_trusted=_is_trusted,
    trust_advice="start `copilot` in the project and trust the folder",
    events=frozenset("session_start before_prompt before_tool after_tool after_agent".split()),
    subjects={
        "session_start": "new",
        "subagent_start": "general-purpose",
        "subagent_stop": "general-purpose",
    },
    subagent_call=lambda prompt: (
        "task",
        {
            "description": "a task of the probe",
            "prompt": prompt,
            "agent_type": "general-purpose",
            "name": "probe",
            "mode": "sync",
        },
    ),
    subagent_events=frozenset({"subagent_start", "subagent_stop"}),
)
