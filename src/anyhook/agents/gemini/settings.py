"""The settings of Gemini CLI: layers, files, switches, extensions and redaction."""

from __future__ import annotations

from anyhook.agents.gemini.redaction import is_strict, keeps
from anyhook.agents.spec.settings import (
    Extensions,
    HandlerType,
    HookToggle,
    RedactionRules,
    SettingsFile,
    SettingsFormat,
)
from anyhook.model.layers import Layer

LAYER_ORDER = (
    Layer.RUNTIME,
    Layer.PROJECT,
    Layer.USER,
    Layer.SYSTEM,
    Layer.SYSTEM_DEFAULTS,
    Layer.EXTENSION,
)

PRECEDENCE = (Layer.SYSTEM_DEFAULTS, Layer.USER, Layer.PROJECT, Layer.SYSTEM)

FILES = (
    SettingsFile(Layer.PROJECT, {"*": "{project}/.gemini/settings.json"}),
    SettingsFile(Layer.USER, {"*": "{home}/.gemini/settings.json"}),
    SettingsFile(
        Layer.SYSTEM,
        {
            "*": "/etc/gemini-cli/settings.json",
            "darwin": "/Library/Application Support/GeminiCli/settings.json",
            "win32": "C:/ProgramData/gemini-cli/settings.json",
        },
        variable="GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ),
    SettingsFile(
        Layer.SYSTEM_DEFAULTS,
        {"*": "{system_dir}/system-defaults.json"},
        variable="GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    ),
)

HOOK_TOGGLES = (
    HookToggle(("hooksConfig", "enabled"), "enabled"),
    HookToggle(("hooksConfig", "disabled"), "disabled"),
    HookToggle(("hooks", "enabled"), "enabled", legacy=True),
    HookToggle(("hooks", "disabled"), "disabled", legacy=True),
    HookToggle(("tools", "enableHooks"), "enabled", legacy=True),
)

EXTENSIONS = Extensions(
    directory="{home}/.gemini/extensions",
    manifest="gemini-extension.json",
    hooks="hooks/hooks.json",
    enablement="extension-enablement.json",
    install_record=".gemini-extension-install.json",
    path_variables={"extensionPath": "extension", "workspacePath": "project"},
    text_variables={"/": "/", "pathSeparator": "/"},
)

REDACTION = RedactionRules(
    path=("security", "environmentVariableRedaction"), is_strict=is_strict, keeps=keeps
)

FORMAT = SettingsFormat(
    files=FILES,
    # 0.61.0 does not start. It accepts comments.
    rejected_json=frozenset({"comma", "mark"}),
    matcher_costs_event=True,
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    needs_trust=frozenset({Layer.PROJECT}),
    hook_toggles=HOOK_TOGGLES,
    non_event_keys=frozenset({"enabled", "disabled", "notifications"}),
    definition_fields=frozenset({"matcher", "sequential", "hooks", "description"}),
    handler_fields=frozenset({"name", "type", "description", "timeout", "env"}),
    home_variable="GEMINI_CLI_HOME",
    config_dir="{home}/.gemini",
    packages=EXTENSIONS,
    timeout_unit=0.001,
    handler_types={"command": HandlerType("command", 60.0)},
    expands_env=True,
    redaction=REDACTION,
)
