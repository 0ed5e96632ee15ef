"""The settings of hooks of the generic layer."""

from __future__ import annotations

from anyhook.agents.spec.settings import HandlerType, HookToggle, SettingsFile, SettingsFormat
from anyhook.model.layers import Layer

FORMAT = SettingsFormat(
    files=(
        SettingsFile(Layer.PROJECT, {"*": "{project}/.anyhook/settings.json"}),
        SettingsFile(Layer.USER, {"*": "{config}/settings.json"}),
        SettingsFile(Layer.SYSTEM, {"*": "/etc/anyhook/settings.json"}),
    ),
    layer_order=(Layer.RUNTIME, Layer.PROJECT, Layer.USER, Layer.SYSTEM),
    precedence=(Layer.USER, Layer.PROJECT, Layer.SYSTEM),
    needs_trust=frozenset({Layer.PROJECT}),
    hook_toggles=(
        HookToggle(("hooksConfig", "enabled"), "enabled"),
        HookToggle(("hooksConfig", "disabled"), "disabled"),
    ),
    definition_fields=frozenset({"matcher", "sequential", "hooks", "description"}),
    handler_fields=frozenset({"name", "type", "description", "timeout", "env"}),
    config_dir="{home}/.anyhook",
    handler_types={"command": HandlerType("command", 60.0, programs=True)},
)
