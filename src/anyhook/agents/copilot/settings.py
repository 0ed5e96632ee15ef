"""The settings of GitHub Copilot CLI: handler types, files and switches."""

from __future__ import annotations

from anyhook.agents.spec import HandlerField, HandlerType, HookToggle, SettingsFile, WebRules
from anyhook.model.layers import Layer

TIMEOUT = 30.0
HANDLER_TYPES = {
    "command": HandlerType(
        "command",
        TIMEOUT,
        {
            "cwd": HandlerField("cwd", "string"),
            "powershell": HandlerField("powershell", "string"),
        },
        programs=True,
    ),
    "http": HandlerType(
        "http",
        TIMEOUT,
        {
            "url": HandlerField("url", "string", required=True),
            "headers": HandlerField("headers", "texts"),
            "allowedEnvVars": HandlerField("allowed_variables", "strings"),
        },
    ),
    "prompt": HandlerType(
        "first_message", TIMEOUT, {"prompt": HandlerField("prompt", "string", required=True)}
    ),
}
MEMBER_NAMES = {
    "command": ("bash", "command"),
    "timeout": ("timeoutSec", "timeout"),
    "program": ("exec",),
}

FORMS = ("", "pascal")
"""The hooks with camelCase names of an event run before those with PascalCase names."""


def _directory(layer: Layer, path: str) -> SettingsFile:
    """Return a directory of hook files, each of which can switch itself off."""
    return SettingsFile(
        layer,
        {"*": f"{path}/**/*.json"},
        forms=FORMS,
        descending=True,
        written_name="anyhook.json",
        switches_itself=True,
    )


def _settings(layer: Layer, path: str, *, is_foreign: bool = False) -> SettingsFile:
    return SettingsFile(layer, {"*": path}, forms=FORMS, is_foreign=is_foreign)


SETTINGS = (
    SettingsFile(
        Layer.MANAGED,
        {
            "*": "/etc/github-copilot/policy.d/*.json",
            "win32": "C:/ProgramData/GitHub/Copilot/policy.d/*.json",
        },
        variable="ANYHOOK_MANAGED_SETTINGS",
        forms=FORMS,
        is_protected=True,
    ),
    _directory(Layer.USER, "{config}/hooks"),
    _settings(Layer.USER, "{config}/settings.json"),
    _directory(Layer.PROJECT, "{root}/.github/hooks"),
    _settings(Layer.PROJECT, "{root}/.claude/settings.json", is_foreign=True),
    _settings(Layer.LOCAL, "{root}/.claude/settings.local.json", is_foreign=True),
    _settings(Layer.PROJECT, "{root}/.github/copilot/settings.json"),
    _settings(Layer.LOCAL, "{root}/.github/copilot/settings.local.json"),
)

REPOSITORY = frozenset({Layer.PROJECT, Layer.LOCAL})
LAYER_ORDER = (
    Layer.RUNTIME,
    Layer.MANAGED,
    Layer.USER,
    Layer.PROJECT,
    Layer.LOCAL,
    Layer.PLUGIN,
)
PRECEDENCE = (Layer.USER, Layer.PROJECT, Layer.LOCAL, Layer.MANAGED)
AUTHORITY = {
    Layer.PROJECT: 0,
    Layer.LOCAL: 0,
    Layer.PLUGIN: 1,
    Layer.USER: 2,
    Layer.MANAGED: 3,
    Layer.RUNTIME: 4,
}
HOOK_TOGGLES = (HookToggle(("disableAllHooks",), "off"),)
WEB = WebRules(
    allowed_urls=(), allowed_variables=(), loopback_variable="COPILOT_HOOK_ALLOW_LOCALHOST"
)

HOOK_ENVIRONMENT = {
    "COPILOT_CLI": "=1",
    "COPILOT_PROJECT_DIR": "root",
    "CLAUDE_PROJECT_DIR": "root",
    "COPILOT_HOOK_DIR": "hook_dir",
}
STRIPPED = (
    "GITHUB_TOKEN",
    "COPILOT_GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "COPILOT_PROVIDER_",
    "COPILOT_OFFLINE",
)
