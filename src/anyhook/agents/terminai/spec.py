"""TerminaI: a fork of Gemini CLI with settings files, variables and tool names of its own."""

from __future__ import annotations

from anyhook.agents.gemini.settings import EXTENSIONS, SETTINGS
from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.spec import HookToggle, SettingsFile
from anyhook.agents.terminai.observed import DOCUMENTED, OBSERVED
from anyhook.agents.terminai.tools import RENAMED_TOOLS, TOOLS, VOCABULARY
from anyhook.model.layers import Layer

TERMINAI = GEMINI.replace(
    name="terminai",
    title="TerminaI",
    documented=DOCUMENTED,
    observed=OBSERVED,
    tools=TOOLS,
    vocabulary=VOCABULARY,
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER__TOOL"},
    renamed_tools=RENAMED_TOOLS,
    settings=(
        SettingsFile(Layer.PROJECT, {"*": "{project}/.terminai/settings.json"}),
        SettingsFile(Layer.USER, {"*": "{home}/.terminai/settings.json"}),
        *(file for file in SETTINGS if file.layer in (Layer.SYSTEM, Layer.SYSTEM_DEFAULTS)),
    ),
    hook_toggles=(
        HookToggle(("tools", "enableHooks"), "enabled"),
        HookToggle(("hooks", "disabled"), "disabled"),
    ),
    non_event_keys=frozenset({"disabled"}),
    home_variable=None,
    config_dir="{home}/.terminai",
    packages=EXTENSIONS.replace(directory="{home}/.terminai/extensions"),
    hook_environment={
        "TERMINAI_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    redaction=None,
    rejected_json=frozenset(),  # not known
)
