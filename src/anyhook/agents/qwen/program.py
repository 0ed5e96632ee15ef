"""Starting Qwen Code without a user and without a network. Seen with 0.24.4."""

from __future__ import annotations

import os

from anyhook.agents.gemini.program import folder_is_trusted
from anyhook.agents.program import AgentProgram

SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    "ui": {"enableFollowupSuggestions": False},
}
"""A key instead of an account; no updates, statistics and work in the background."""


PROGRAM = AgentProgram(
    name="qwen",
    executables=("qwen",),
    api="openai-chat",
    arguments=lambda prompt, _place: (
        *("-p", prompt),
        *("--approval-mode", "yolo"),
        *("--allowed-mcp-server-names", "none"),  # those of the user could not be reached
    ),
    environment=lambda place: {
        "OPENAI_API_KEY": "made-up",
        "OPENAI_BASE_URL": f"{place.model_url}/v1",
        "OPENAI_MODEL": "scripted",
        "QWEN_CODE_NO_RELAUNCH": "true",  # one process, which ends with its signal
        "NODE_NO_WARNINGS": "1",
    },
    own_prefixes=("ANTHROPIC_", "DASHSCOPE_", "GEMINI_", "GOOGLE_", "OPENAI_", "QWEN_"),
    settings_file=".qwen/settings.json",
    settings=SETTINGS,
    is_trusted=lambda place: folder_is_trusted(place, place.home / ".qwen", is_on=False),
    trust_files=lambda place: {
        ".qwen/trustedFolders.json": {os.path.realpath(place.project): "TRUST_FOLDER"}
    },
    trust_advice="start `qwen` in the project and trust the folder",
    events=frozenset(
        "before_prompt before_tool after_tool post_tool_use_failure after_agent".split()
    ),
    subjects={"subagent_start": "general-purpose", "subagent_stop": "general-purpose"},
    subagent_call=lambda prompt: (
        "agent",
        {
            "description": "a task of the probe",
            "prompt": prompt,
            "subagent_type": "general-purpose",
        },
    ),
    subagent_events=frozenset({"subagent_start", "subagent_stop"}),
)
