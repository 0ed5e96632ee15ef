"""The settings of Claude Code: handler types, files, switches and plugins."""

from __future__ import annotations

from anyhook.agents.spec.settings import (
    EnvFileRules,
    HandlerField,
    HandlerType,
    HookToggle,
    Plugins,
    SettingsFile,
    SettingsFormat,
    WebRules,
)
from anyhook.model.layers import Layer

ON_FAILURE = HandlerField("on_failure", "string", words=("continue", "block"))
SHARED_FIELDS = {
    "if": HandlerField("condition", "string"),
    "statusMessage": HandlerField("status_message", "string"),
    "once": HandlerField("once", "boolean"),
}
CLOUD = HandlerField("cloud", "string", words=("device", "skip"), other_value="skip")

HANDLER_TYPES = {
    "command": HandlerType(
        "command",
        600.0,
        {
            **SHARED_FIELDS,
            "shell": HandlerField("shell", "string", words=("bash", "powershell")),
            "async": HandlerField("background", "boolean"),
            "asyncRewake": HandlerField("wakes", "boolean"),
            "rewakeMessage": HandlerField("rewake_message", "string", not_empty=True),
            "rewakeSummary": HandlerField("rewake_summary", "string", not_empty=True),
            "holdsTools": HandlerField("holds_tools", "boolean"),
            "onFailure": ON_FAILURE,
            "cloud": CLOUD,
        },
        programs=True,
    ),
    "http": HandlerType(
        "http",
        600.0,
        {
            **SHARED_FIELDS,
            "url": HandlerField("url", "string", required=True),
            "headers": HandlerField("headers", "texts"),
            "allowedEnvVars": HandlerField("allowed_variables", "strings"),
            "onFailure": ON_FAILURE,
            "cloud": CLOUD,
        },
    ),
    "mcp_tool": HandlerType(
        "mcp_tool",
        600.0,
        {
            **SHARED_FIELDS,
            "server": HandlerField("server", "string", required=True),
            "tool": HandlerField("tool", "string", required=True),
            "input": HandlerField("input", "object"),
            "onFailure": ON_FAILURE.replace(other_value="block"),
        },
    ),
    "prompt": HandlerType(
        "prompt",
        30.0,
        {
            **SHARED_FIELDS,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
            "continueOnBlock": HandlerField("continue_on_block", "boolean"),
        },
    ),
    "agent": HandlerType(
        "agent",
        60.0,
        {
            **SHARED_FIELDS,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
        },
        fixed={"agentic": True, "continue_on_block": True},
    ),
}

SYSTEM_DIRS = {
    "*": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}

FILES = (
    SettingsFile(
        Layer.MANAGED,
        {
            platform: f"{directory}/managed-settings.json"
            for platform, directory in SYSTEM_DIRS.items()
        },
        variable="ANYHOOK_MANAGED_SETTINGS",
    ),
    SettingsFile(Layer.MANAGED, {"*": "{system_dir}/managed-settings.d/*.json"}),
    SettingsFile(Layer.LOCAL, {"*": "{project}/.claude/settings.local.json"}),
    SettingsFile(Layer.PROJECT, {"*": "{project}/.claude/settings.json"}),
    SettingsFile(Layer.USER, {"*": "{config}/settings.json"}),
)

LAYER_ORDER = (
    Layer.RUNTIME,
    Layer.PLUGIN,
    Layer.USER,
    Layer.PROJECT,
    Layer.LOCAL,
    Layer.MANAGED,
)
PRECEDENCE = (Layer.USER, Layer.PROJECT, Layer.LOCAL, Layer.MANAGED)

MANAGED_ONLY = frozenset({Layer.MANAGED})
HOOK_TOGGLES = (
    HookToggle(("disableAllHooks",), "off"),
    HookToggle(
        ("allowManagedHooksOnly",),
        "only",
        layers=MANAGED_ONLY,
        keeps=frozenset({Layer.MANAGED, Layer.RUNTIME}),
    ),
    HookToggle(
        ("strictPluginOnlyCustomization",),
        "only",
        layers=MANAGED_ONLY,
        keeps=frozenset({Layer.MANAGED, Layer.PLUGIN, Layer.RUNTIME}),
        value="hooks",
        or_true=True,
    ),
)

PLUGINS = Plugins(
    record="{config}/plugins/installed_plugins.json",
    manifest=".claude-plugin/plugin.json",
    hooks="hooks/hooks.json",
    enabled=("enabledPlugins",),
    data="{config}/plugins/data/{plugin}",
    path_variables={"CLAUDE_PLUGIN_ROOT": "plugin", "CLAUDE_PLUGIN_DATA": "data"},
    option_variable="CLAUDE_PLUGIN_OPTION_",
    option_placeholder="user_config.",
)

ENV_FILE = EnvFileRules(
    variable="CLAUDE_ENV_FILE",
    events=frozenset({"session_start", "setup", "cwd_changed", "file_changed"}),
    clears={"cwd_changed": frozenset({"cwd_changed", "file_changed"})},
)
WEB = WebRules(allowed_urls=("allowedHttpHookUrls",), allowed_variables=("httpHookAllowedEnvVars",))

FORMAT = SettingsFormat(  # noqa: S604 - `shell` names programs, it runs none
    files=FILES,
    # Both releases drop the file without a word; a byte order mark does no harm.
    rejected_json=frozenset({"comment", "comma"}),
    schema_faults="anyhook.agents.claude.file_schema:find_schema_faults",
    environment=("env",),
    layer_order=LAYER_ORDER,
    precedence=PRECEDENCE,
    needs_trust=frozenset({Layer.PROJECT, Layer.LOCAL}),
    hook_toggles=HOOK_TOGGLES,
    definition_fields=frozenset({"matcher", "hooks", "description"}),
    handler_fields=frozenset({"type", "timeout", "name", "description"}),
    config_dir="{home}/.claude",
    config_variable="CLAUDE_CONFIG_DIR",
    packages=PLUGINS,
    handler_types=HANDLER_TYPES,
    shell=(("sh", "-c"), ("bash", "-c")),
    shells={
        "bash": (("bash", "-c"), ("sh", "-c")),
        "powershell": (("pwsh", "-NoProfile", "-Command"), ("powershell", "-Command")),
    },
    env_file=ENV_FILE,
    stripped_prefixes=("OTEL_", "CLAUDE_CODE_MESSAGING_TOKEN"),
    web=WEB,
)
