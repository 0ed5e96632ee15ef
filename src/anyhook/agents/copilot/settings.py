"""The settings of GitHub Copilot CLI: handler types, files and switches."""

from __future__ import annotations

from anyhook.agents.spec.settings import (
    HandlerField,
    HandlerType,
    HookToggle,
    SettingsFile,
    SettingsFormat,
    WebRules,
)
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
            "url": HandlerField("url", "web_url", required=True),
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


VERSION = {"version": 1}
FATAL = frozenset({"bad-structure", "required-member"})
"""Codes of problems for which a file of a directory is dropped."""
FATAL_ENTRIES = frozenset(
    "bad-structure wrong-type unknown-type type-not-here missing-field bad-timeout "
    "bad-matcher".split()
)
"""Settings files and policies are dropped for any wrong entry."""


def _directory(layer: Layer, path: str) -> SettingsFile:
    """Return a directory of hook files, each of which can switch itself off."""
    return SettingsFile(
        layer,
        {"*": f"{path}/**/*.json"},
        forms=FORMS,
        descending=True,
        written_name="anyhook.json",
        switches_itself=True,
        strict_json=True,
        expected_members=VERSION,
        fatal_codes=FATAL,
    )


def _settings(layer: Layer, path: str, *, is_foreign: bool = False) -> SettingsFile:
    return SettingsFile(
        layer,
        {"*": path},
        forms=FORMS,
        is_foreign=is_foreign,
        strict_json=True,
        fatal_codes=FATAL_ENTRIES,
    )


FILES = (
    SettingsFile(
        Layer.MANAGED,
        {
            "*": "/etc/github-copilot/policy.d/*.json",
            "win32": "C:/ProgramData/GitHub/Copilot/policy.d/*.json",
        },
        variable="ANYHOOK_MANAGED_SETTINGS",
        forms=FORMS,
        is_protected=True,
        strict_json=True,
        members=frozenset({"version", "hooks"}),
        expected_members=VERSION,
        required_members=frozenset(VERSION),
        fatal_codes=FATAL_ENTRIES | {"required-member", "unknown-member"},
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
HOOK_TOGGLES = (HookToggle(("disableAllHooks",), "off"),)
WEB = WebRules(loopback_variable="COPILOT_HOOK_ALLOW_LOCALHOST")

STRIPPED = (
    "GITHUB_TOKEN",
    "COPILOT_GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "COPILOT_PROVIDER_",
    "COPILOT_OFFLINE",
)

FORMAT = SettingsFormat(  # noqa: S604 - `shell` names programs, it runs none
    files=FILES,
    layer_order=LAYER_ORDER,
    interleaved_layers=REPOSITORY,
    precedence=PRECEDENCE,
    needs_trust=REPOSITORY,
    hook_toggles=HOOK_TOGGLES,
    definition_fields=frozenset({"matcher", "hooks"}),
    handler_fields=frozenset({"type", "timeout", "env", "matcher"}),
    entries=("handler", "definition"),
    member_names=MEMBER_NAMES,
    shell_members={"powershell": "powershell"},
    default_type="command",
    drops_flawed_entries=True,
    config_dir="{home}/.copilot",
    config_variable="COPILOT_HOME",
    handler_types=HANDLER_TYPES,
    shell=(("bash", "--norc", "--noprofile", "-c"), ("sh", "-c")),
    shells={"powershell": (("pwsh", "-NoProfile", "-Command"),)},
    members=VERSION,
    hook_directories=dict.fromkeys(LAYER_ORDER, "root"),
    stripped_prefixes=STRIPPED,
    web=WEB,
)
