"""The settings of TerminaI: those of Gemini CLI with files and switches of its own."""

from __future__ import annotations

from anyhook.agents.gemini.settings import EXTENSIONS, FILES
from anyhook.agents.gemini.settings import FORMAT as GEMINI_FORMAT
from anyhook.agents.spec.settings import HookToggle, SettingsFile
from anyhook.model.layers import Layer

FORMAT = GEMINI_FORMAT.replace(
    files=(
        SettingsFile(Layer.PROJECT, {"*": "{project}/.terminai/settings.json"}),
        SettingsFile(Layer.USER, {"*": "{home}/.terminai/settings.json"}),
        *(file for file in FILES if file.layer in (Layer.SYSTEM, Layer.SYSTEM_DEFAULTS)),
    ),
    hook_toggles=(
        HookToggle(("tools", "enableHooks"), "enabled"),
        HookToggle(("hooks", "disabled"), "disabled"),
    ),
    non_event_keys=frozenset({"disabled"}),
    home_variable=None,
    config_dir="{home}/.terminai",
    packages=EXTENSIONS.replace(directory="{home}/.terminai/extensions"),
    redaction=None,
    rejected_json=frozenset(),  # not known
    matcher_costs_event=False,  # not known
)
