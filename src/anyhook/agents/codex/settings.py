"""The settings of Codex CLI: handler types, layers, files, switches and plugins."""

from __future__ import annotations

from anyhook.agents.spec.settings import (
    HandlerField,
    HandlerType,
    HookToggle,
    SettingsFile,
    SettingsFormat,
)
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

FILES = (
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

FORMAT = SettingsFormat(  # noqa: S604 - `shell` names programs, it runs none
    files=FILES,
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    authority=AUTHORITY,
    needs_trust=frozenset({Layer.PROJECT}),
    native_trust="anyhook.agents.codex.trust:TRUST",
    hook_toggles=HOOK_TOGGLES,
    non_event_keys=frozenset({"state", "managed_dir", "description"}),
    definition_fields=frozenset({"matcher", "hooks"}),
    handler_fields=frozenset({"type", "timeout"}),
    hooks_optional=True,
    strict_handlers=True,
    config_dir="{home}/.codex",
    config_variable="CODEX_HOME",
    zero_timeout=1.0,
    handler_types=HANDLER_TYPES,
    # Codex names the shell with its whole path, and so do the messages of the shell.
    shell=(("/bin/bash", "-c"), ("bash", "-c"), ("sh", "-c")),
)
