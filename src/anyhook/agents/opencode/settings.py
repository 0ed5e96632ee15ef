"""The settings of hooks of OpenCode: a file of anyhook's own, and the plugin next to it."""

from __future__ import annotations

from anyhook.agents.spec.settings import (
    Companion,
    HandlerField,
    HandlerType,
    HookToggle,
    SettingsFile,
    SettingsFormat,
)
from anyhook.model.layers import Layer

ON_FAILURE = HandlerField("on_failure", "string", words=("continue", "block"))
CONDITION = HandlerField("condition", "string")

HANDLER_TYPES = {
    "command": HandlerType(
        "command",
        60.0,
        {
            "if": CONDITION,
            "shell": HandlerField("shell", "string", words=("bash", "powershell")),
            "async": HandlerField("background", "boolean"),
            "onFailure": ON_FAILURE,
        },
        programs=True,
    ),
    "http": HandlerType(
        "http",
        60.0,
        {
            "if": CONDITION,
            "url": HandlerField("url", "string", required=True),
            "headers": HandlerField("headers", "texts"),
            "allowedEnvVars": HandlerField("allowed_variables", "strings"),
            "onFailure": ON_FAILURE,
        },
    ),
}

FILES = (
    SettingsFile(Layer.PROJECT, {"*": "{project}/.opencode/anyhook.json"}),
    SettingsFile(Layer.USER, {"*": "{config}/anyhook.json"}),
)
LAYER_ORDER = (Layer.RUNTIME, Layer.USER, Layer.PROJECT)
PRECEDENCE = (Layer.USER, Layer.PROJECT)
HOOK_TOGGLES = (
    HookToggle(("hooksConfig", "enabled"), "enabled"),
    HookToggle(("hooksConfig", "disabled"), "disabled"),
)

PLUGIN = Companion(
    path="plugins/anyhook.js",
    template="anyhook.agents.opencode:plugin.js",
    command=("dispatch", "--agent", "opencode"),
)

FORMAT = SettingsFormat(  # noqa: S604 - `shell` names programs, it runs none
    files=FILES,
    companions=(PLUGIN,),
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    needs_trust=frozenset({Layer.PROJECT}),
    hook_toggles=HOOK_TOGGLES,
    definition_fields=frozenset({"matcher", "sequential", "hooks", "description"}),
    handler_fields=frozenset({"name", "type", "description", "timeout", "env"}),
    config_dir="{config_home}/opencode",
    handler_types=HANDLER_TYPES,
    shell=(("sh", "-c"), ("bash", "-c")),
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("pwsh", "-NoProfile", "-Command"), ("powershell", "-Command")),
    },
)
