"""The settings of Gemini CLI: layers, files, switches, extensions and redaction."""

from __future__ import annotations

import re

from anyhook.agents.spec.settings import (
    Extensions,
    HandlerType,
    HookToggle,
    RedactionRules,
    SettingsFile,
    SettingsFormat,
)
from anyhook.expressions import expression
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
    path=("security", "environmentVariableRedaction"),
    strict_where={"GITHUB_SHA": "", "SURFACE": "Github"},
    secret_values=expression(
        r"-----BEGIN (?:RSA|OPENSSH|EC|PGP) PRIVATE KEY-----"
        r"|-----BEGIN CERTIFICATE-----"
        r"|(?:https?|ftp|smtp)://[^:\s]+:[^@\s]+@"
        r"|(?:gh[pousr]|github_pat)_[a-z0-9_]{36,}"
        r"|AIzaSy[a-z0-9_\\-]{33}"
        r"|AKIA[A-Z0-9]{16}"
        r"|eyJ[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+"
        r"|(?:s|r)k_(?:live|test)_[0-9a-z]{24}"
        r"|xox[abpr]-[a-z0-9-]+",
        re.IGNORECASE,
    ),
    kept_prefixes=("GEMINI_CLI_",),
    harmless_prefixes=("GIT_CONFIG_",),
    always_allowed=frozenset(
        "PATH SYSTEMROOT COMSPEC PATHEXT WINDIR TEMP TMP USERPROFILE SYSTEMDRIVE HOME LANG SHELL "
        "TMPDIR USER LOGNAME TERM COLORTERM ADDITIONAL_CONTEXT AVAILABLE_LABELS BRANCH_NAME "
        "DESCRIPTION EVENT_NAME GITHUB_ENV IS_PULL_REQUEST ISSUES_TO_TRIAGE ISSUE_BODY "
        "ISSUE_NUMBER ISSUE_TITLE PULL_REQUEST_NUMBER REPOSITORY TITLE TRIGGERING_ACTOR".split()
    ),
    never_allowed=frozenset(
        "CLIENT_ID DB_URI CONNECTION_STRING AWS_DEFAULT_REGION AZURE_CLIENT_ID AZURE_TENANT_ID "
        "SLACK_WEBHOOK_URL TWILIO_ACCOUNT_SID DATABASE_URL GOOGLE_CLOUD_PROJECT "
        "GOOGLE_CLOUD_ACCOUNT FIREBASE_PROJECT_ID".split()
    ),
    secret_names=expression(
        "TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT", re.IGNORECASE
    ),
)

FORMAT = SettingsFormat(
    files=FILES,
    # 0.61.0 does not start. It accepts comments.
    rejected_json=frozenset({"comma", "mark"}),
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
    long_timeout=float("inf"),
    short_timeout=0.5,
    handler_types={"command": HandlerType("command", 60.0)},
    expands_env=True,
    redaction=REDACTION,
)
