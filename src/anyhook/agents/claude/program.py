"""Starting Claude Code without a user and without a network. Seen with 2.1.197 and 2.1.330."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.agents.program import AgentProgram, Workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

MADE_UP_KEY = "sk-ant-made-up"
PRINT_MODE = (
    "`claude -p` trusts every folder; a session at the terminal runs no hooks before its trust "
    "dialog is accepted"
)


def _connection(place: Workplace) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": place.model_url, "ANTHROPIC_API_KEY": MADE_UP_KEY}


def _arguments(prompt: str, place: Workplace) -> tuple[str, ...]:
    # `env` in the settings files of the user counts more than the environment, and this more.
    settings = {"env": _connection(place)}
    return (
        *("-p", prompt),
        *("--permission-mode", "bypassPermissions"),
        *("--settings", json.dumps(settings)),
        "--strict-mcp-config",  # no servers of the user: they could not be reached
    )


def _environment(place: Workplace) -> Mapping[str, str]:
    return {
        **_connection(place),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # no telemetry, updates, error reports
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        # Where the network is shut off everybody is root, which it would refuse.
        "IS_SANDBOX": "1",
    }


def _home_files(place: Workplace) -> Mapping[str, object]:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    return {
        ".claude.json": {
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "autoUpdates": False,
            "projects": {str(place.project): trusted},
        }
    }


PROGRAM = AgentProgram(
    name="claude",
    executables=("claude",),
    api="anthropic",
    arguments=_arguments,
    environment=_environment,
    own_prefixes=("ANTHROPIC_", "AWS_", "CLAUDE", "CLOUD_ML_", "DISABLE_", "OTEL_", "VERTEX_"),
    home_files=_home_files,
    events=frozenset(
        "session_start instructions_loaded before_prompt before_tool after_tool "
        "post_tool_use_failure post_tool_batch after_agent session_end".split()
    ),
    subjects={
        "session_start": "startup",
        "session_end": "other",
        "instructions_loaded": "session_start",
        "subagent_start": "general-purpose",
        "subagent_stop": "general-purpose",
    },
    subagent_call=lambda prompt: (
        "Agent",
        {
            "description": "a task of the probe",
            "prompt": prompt,
            "subagent_type": "general-purpose",
            "run_in_background": False,
        },
    ),
    subagent_events=frozenset({"subagent_start", "subagent_stop"}),
    notes=(PRINT_MODE,),
)
