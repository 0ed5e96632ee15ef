"""The settings of Codex CLI: handler types, layers, files, switches and plugins."""

from __future__ import annotations

from anyhook.agents.spec import HandlerField, HandlerType, HookToggle, SettingsFile
from anyhook.model.layers import Layer

LAYER_ORDER = (
    Layer.SYSTEM,
    Layer.USER,
    Layer.PROJECT,
    Layer.RUNTIME,
    Layer.MANAGED,
    Layer.PLUGIN,
)
PRECEDENCE = (Layer.SYSTEM, Layer.USER, Layer.PROJECT, Layer.MANAGED)
# The switch in a user's file also counts for the hooks of the administrator.
AUTHORITY = {
    Layer.PROJECT: 0,
    Layer.PLUGIN: 1,
    Layer.USER: 2,
    Layer.SYSTEM: 2,
    Layer.MANAGED: 2,
    Layer.RUNTIME: 3,
}

FATAL = frozenset(
    "duplicate-key wrong-type unwrapped-list missing-field unknown-type bad-timeout "
    "unknown-member".split()
)
"""One such mistake drops all hooks of a file; in `config.toml` Codex itself does not start."""
HOOKS_JSON = SettingsFile(
    Layer.USER,
    {"*": "{config}/hooks.json"},
    strict_json=True,
    members=frozenset({"description", "hooks"}),
    fatal_codes=FATAL,
)
CONFIG_TOML = SettingsFile(Layer.USER, {"*": "{config}/config.toml"}, fatal_codes=FATAL)

SETTINGS = (
    CONFIG_TOML.replace(layer=Layer.SYSTEM, paths={"*": "/etc/codex/requirements.toml"}),
    HOOKS_JSON.replace(layer=Layer.SYSTEM, paths={"*": "/etc/codex/hooks.json"}),
    CONFIG_TOML.replace(layer=Layer.SYSTEM, paths={"*": "/etc/codex/config.toml"}),
    HOOKS_JSON,
    CONFIG_TOML,
    HOOKS_JSON.replace(layer=Layer.PROJECT, paths={"*": "{directory}/.codex/hooks.json"}),
    CONFIG_TOML.replace(layer=Layer.PROJECT, paths={"*": "{directory}/.codex/config.toml"}),
    CONFIG_TOML.replace(layer=Layer.MANAGED, paths={"*": "/etc/codex/managed_config.toml"}),
)

HOOK_TOGGLES = (
    HookToggle(("features", "hooks"), "enabled"),
    HookToggle(("features", "codex_hooks"), "enabled", legacy=True),
    HookToggle(
        ("allow_managed_hooks_only",),
        "only",
        layers=frozenset({Layer.SYSTEM}),
        keeps=frozenset({Layer.SYSTEM, Layer.MANAGED}),
        file="requirements.toml",
    ),
)

COMMON_FIELDS = {
    "statusMessage": HandlerField("status_message", "string"),
    "additionalContextLimit": HandlerField("context_limit", "count"),
}
HANDLER_TYPES = {
    "command": HandlerType(
        "command",
        600.0,
        {
            **COMMON_FIELDS,
            "async": HandlerField("background", "boolean"),
            "commandWindows": HandlerField("command_windows", "string"),
            "command_windows": HandlerField("command_windows", "string"),
        },
    ),
    "mcp_tool": HandlerType(
        "mcp_tool",
        600.0,
        {
            **COMMON_FIELDS,
            "server": HandlerField("server", "string", required=True, not_empty=True),
            "tool": HandlerField("tool", "string", required=True, not_empty=True),
            "input": HandlerField("input", "object"),
        },
        fixed={"typed_input": True},
    ),
    "prompt": HandlerType("prompt", 600.0, runs=False),
    "agent": HandlerType("agent", 600.0, runs=False),
}
