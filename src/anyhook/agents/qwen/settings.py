"""The settings of Qwen Code: handler types, layers, files, switches and extensions."""

from __future__ import annotations

from anyhook.agents.gemini.settings import EXTENSIONS as GEMINI_EXTENSIONS
from anyhook.agents.gemini.settings import FORMAT as GEMINI_FORMAT
from anyhook.agents.spec.settings import (
    HandlerField,
    HandlerType,
    HookToggle,
    SettingsFile,
    WebRules,
)
from anyhook.model.layers import Layer

STATUS = {"statusMessage": HandlerField("status_message", "string")}

HANDLER_TYPES = {
    "command": HandlerType(
        "command",
        60.0,
        {
            **STATUS,
            "shell": HandlerField("shell", "string", words=("bash", "powershell")),
            "async": HandlerField("background", "boolean"),
        },
        milliseconds_from=1000.0,
        numeric_strings=True,
    ),
    "http": HandlerType(
        "http",
        600.0,
        {
            **STATUS,
            "once": HandlerField("once", "boolean"),
            "url": HandlerField("url", "string", required=True),
            "headers": HandlerField("headers", "texts"),
            "allowedEnvVars": HandlerField("allowed_variables", "strings"),
        },
    ),
    "prompt": HandlerType(
        "prompt",
        30.0,
        {
            **STATUS,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
        },
    ),
}

FILES = (
    SettingsFile(Layer.PROJECT, {"*": "{project}/.qwen/settings.json"}),
    SettingsFile(Layer.USER, {"*": "{config}/settings.json"}),
    SettingsFile(
        Layer.SYSTEM,
        {
            "*": "/etc/qwen-code/settings.json",
            "darwin": "/Library/Application Support/QwenCode/settings.json",
            "win32": "C:/ProgramData/qwen-code/settings.json",
        },
        variable="QWEN_CODE_SYSTEM_SETTINGS_PATH",
    ),
    SettingsFile(
        Layer.SYSTEM_DEFAULTS,
        {"*": "{system_dir}/system-defaults.json"},
        variable="QWEN_CODE_SYSTEM_DEFAULTS_PATH",
    ),
)

HOOK_TOGGLES = (HookToggle(("disableAllHooks",), "off", coerces=True),)

EXTENSIONS = GEMINI_EXTENSIONS.replace(
    directory="{config}/extensions",
    manifest="qwen-extension.json",
    install_record=".qwen-extension-install.json",
    path_variables={
        "extensionPath": "extension",
        "CLAUDE_PLUGIN_ROOT": "extension",
        "workspacePath": "project",
    },
    manifest_hooks=True,
)

WEB = WebRules(allowed_urls=("security", "allowedHttpHookUrls"))

FORMAT = GEMINI_FORMAT.replace(
    files=FILES,
    # 0.24.4 drops the file without a word. It accepts comments.
    rejected_json=frozenset({"comma"}),
    matcher_costs_event=False,  # not known
    hook_toggles=HOOK_TOGGLES,
    home_variable=None,
    config_dir="{home}/.qwen",
    config_variable="QWEN_HOME",
    packages=EXTENSIONS,
    timeout_unit=1.0,
    handler_types=HANDLER_TYPES,
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("powershell", "-Command"), ("pwsh", "-Command")),
    },
    redaction=None,
    web=WEB,
)
