"""Starting OpenCode without a user and without a network. Seen with 1.18.33."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.agents.program import AgentProgram, Workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "scripted"
PACKAGE = "@opencode-ai/plugin"
CONFIG_FOLDER = ".config/opencode"
PROJECT_FOLDER = ".opencode"


def _environment(place: Workplace) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": MODEL,
        "options": {"baseURL": f"{place.model_url}/v1", "apiKey": "made-up"},
        "models": {
            MODEL: {
                "name": MODEL,
                "tool_call": True,
                "limit": {"context": 100_000, "output": 4000},
            }
        },
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"{MODEL}/{MODEL}",
        "small_model": f"{MODEL}/{MODEL}",
        "provider": {MODEL: provider},
    }
    return {
        "PWD": str(place.project),  # OpenCode takes its directory from there
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "ANYHOOK_DATA_DIR": str(place.home / "anyhook"),  # the copy's trust, not the user's
    }


def _installed_package(folder: str) -> Mapping[str, object]:
    """Return files of a folder in which the package for plugins seems to be installed.

    OpenCode installs it before it loads plugins, which takes more than a minute without a network.
    """
    packages = {"": {"dependencies": {PACKAGE: "*"}}}
    return {
        f"{folder}/package-lock.json": {"packages": packages},
        f"{folder}/node_modules/README": "no packages\n",
    }


PROGRAM = AgentProgram(
    name="opencode",
    executables=("opencode",),
    api="openai-chat",
    arguments=lambda prompt, _place: ("run", "--auto", "--format", "json", prompt),
    environment=_environment,
    own_prefixes=("OPENCODE_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_"),
    home_files=lambda _place: _installed_package(CONFIG_FOLDER),
    project_files=lambda _place: _installed_package(PROJECT_FOLDER),
    events=frozenset(
        "session_start before_prompt before_tool after_tool agent_response after_agent "
        "session_end".split()
    ),
    subjects={
        "session_start": "startup",
        "subagent_start": "general",
        "subagent_stop": "general",
    },
    subagent_call=lambda prompt: (
        "task",
        {"description": "a task", "prompt": prompt, "subagent_type": "general"},
    ),
    subagent_events=frozenset({"subagent_start", "subagent_stop"}),
    notes=("hooks on `permission.asked` are not tried: `opencode run` answers requests itself",),
)
