"""The rule sets of GitHub Copilot CLI: its reference, and the release that was observed."""

from __future__ import annotations

from anyhook.agents.copilot.events import EVENTS, VERDICT
from anyhook.agents.copilot.replies import (
    CLOSED_PERMISSION_EXITS,
    EXITS,
    PERMISSION_EXITS,
    STDERR_ADVISES,
    STDOUT_ADVISES,
    TOOL_EXITS,
)
from anyhook.agents.spec import Differences, RuleSet
from anyhook.model.layers import Layer

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-08",
    events=EVENTS,
    exit_rules={
        "*": EXITS,
        "before_tool": TOOL_EXITS,
        "permission_request": PERMISSION_EXITS,
        "post_tool_use_failure": STDOUT_ADVISES,
    },
    output_form="anyhook.agents.copilot.output:classify",
    ignores_text_bodies=True,
    drops_ineffective_fields=True,
    sequence_scope="always",
    handler_identity="place",
)

COMMANDS = frozenset({"command"})
OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "GitHub Copilot CLI 1.0.102",
        "exit_rules": {
            **DOCUMENTED.exit_rules,
            "permission_request": CLOSED_PERMISSION_EXITS,
            "post_tool_use_failure": STDERR_ADVISES,
        },
        "expands_handler_env": False,
        "last_duplicate_wins": True,
        "toggle_policy": "any",
        "self_switching_layers": frozenset({Layer.USER}),
    },
    events={
        "before_prompt": {
            "effective_fields": VERDICT
            | {"context", "extra.modified_prompt", "extra.handled", "extra.response_content"},
        },
        "before_tool": {
            "denying_failures": COMMANDS | {"http"},
            "input_refusal": 'Invalid input: "{argument}": Expected string',
        },
        "permission_request": {"denying_failures": COMMANDS},
    },
)
"""What release 1.0.102 does differently from the reference."""
