"""The settings of Cursor: files, layers and handler types.

Source: the hooks reference, and "Third-Party Imports" for the settings of Claude Code, which Cursor
reads unless that is switched off in its settings.
"""

from __future__ import annotations

from anyhook.agents.spec.settings import HandlerField, HandlerType, SettingsFile, SettingsFormat
from anyhook.model.layers import Layer

FAIL_CLOSED = HandlerField("on_failure", "boolean", values={True: "block", False: "continue"})
SHARED_FIELDS = {
    "failClosed": FAIL_CLOSED,
    "loop_limit": HandlerField("loop_limit", "number", nullable=True),
}
HANDLER_TYPES = {
    # "Platform default" in the reference, without a number.
    "command": HandlerType("command", 60.0, SHARED_FIELDS),
    "prompt": HandlerType(
        "prompt",
        60.0,
        {
            **SHARED_FIELDS,
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
        },
    ),
}
# Hooks in the settings of Claude Code may continue the agent without a limit.
NO_LIMIT = {"loop_limit": None}
CLAUDE_HANDLER_TYPES = {
    "command": HandlerType("command", 60.0, fixed=NO_LIMIT),
    "prompt": HandlerType(
        "prompt",
        60.0,
        {
            "prompt": HandlerField("prompt", "string", required=True),
            "model": HandlerField("model", "string"),
        },
        fixed=NO_LIMIT,
    ),
}

# The reference does not say what happens to a bad file. One unknown event among 16 kept all hooks
# from running, without a message (receptron/mulmoterminal #2064, cursor-agent 2026.09.10); so did a
# URL with its scheme in a command, and `host:port` did not (agenthooks quirk 29, cursor-agent
# 2026.07.01).
FATAL = frozenset({"unknown-event", "refused-text"})
REFUSED_TEXTS = ("://",)

CLAUDE = ("claude",)
"""The form of hooks in the settings of Claude Code."""

VERSION = {"version": 1}
HOOKS_JSON = SettingsFile(
    Layer.USER,
    {"*": "{config}/hooks.json"},
    expected_members=VERSION,
    required_members=frozenset(VERSION),
    fatal_codes=FATAL,
)

FILES = (
    HOOKS_JSON.replace(
        layer=Layer.MANAGED,
        paths={
            "*": "/etc/cursor/hooks.json",
            "darwin": "/Library/Application Support/Cursor/hooks.json",
            "win32": "C:/ProgramData/Cursor/hooks.json",
        },
        variable="ANYHOOK_MANAGED_SETTINGS",
    ),
    HOOKS_JSON.replace(layer=Layer.PROJECT, paths={"*": "{project}/.cursor/hooks.json"}),
    HOOKS_JSON,
    SettingsFile(
        Layer.LOCAL,
        {"*": "{project}/.claude/settings.local.json"},
        forms=CLAUDE,
        is_foreign=True,
    ),
    SettingsFile(
        Layer.PROJECT, {"*": "{project}/.claude/settings.json"}, forms=CLAUDE, is_foreign=True
    ),
    SettingsFile(Layer.USER, {"*": "{home}/.claude/settings.json"}, forms=CLAUDE, is_foreign=True),
)

# The reference lists sources in descending order. A file of Claude Code has the layer of Cursor's
# file of the same scope, though it counts less.
LAYER_ORDER = (Layer.RUNTIME, Layer.LOCAL, Layer.USER, Layer.PROJECT, Layer.MANAGED)
HOOK_DIRECTORIES = {Layer.MANAGED: "file", Layer.USER: "file", Layer.PROJECT: "project"}

FORMAT = SettingsFormat(
    files=FILES,
    members=VERSION,
    refused_texts=REFUSED_TEXTS,
    hook_directories=HOOK_DIRECTORIES,
    layer_order=LAYER_ORDER,
    needs_trust=frozenset({Layer.PROJECT, Layer.LOCAL}),
    hook_toggles=(),
    definition_fields=frozenset({"matcher"}),
    handler_fields=frozenset({"type", "timeout", "matcher"}),
    entries=("handler",),
    default_type="command",
    config_dir="{home}/.cursor",
    handler_types=HANDLER_TYPES,
)

CLAUDE_FORMAT = FORMAT.replace(
    members={},
    refused_texts=(),
    hook_directories=dict.fromkeys((Layer.LOCAL, Layer.PROJECT, Layer.USER), "project"),
    definition_fields=frozenset({"matcher", "hooks", "description"}),
    handler_fields=frozenset({"type", "timeout", "name", "description"}),
    entries=("definition",),
    default_type=None,
    handler_types=CLAUDE_HANDLER_TYPES,
)
"""The format of the settings of Claude Code."""
