"""The rule sets of Codex CLI, and its tables, put together."""

from __future__ import annotations

from anyhook.agents.codex.events import EVENTS
from anyhook.agents.codex.replies import (
    DECISION_WORDS,
    EXIT_RULES,
    FOREIGN_MEMBERS,
    OUTPUT,
    make_valid,
)
from anyhook.agents.codex.tools import FOREIGN_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec, Differences, RuleSet

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-10",
    # "matcher is a regex string": also one that is a plain name.
    events=tuple([spec.replace(matcher_style="rust_expression") for spec in EVENTS]),
    exit_rules=EXIT_RULES,
    output_form="anyhook.agents.codex.output:classify",
    strict=frozenset({"wrong", "unknown"}),
    find_fault="anyhook.agents.codex.faults:find_documented_fault",
    correct_fields="anyhook.agents.codex.faults:trim_reason",
    last_duplicate_wins=True,
    handler_identity="place",
    default_reason="",
)

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "0.171.0",
        "find_fault": "anyhook.agents.codex.faults:find_fault",
    },
    # A matcher of letters, digits, `_` and `|` is a list of exact names.
    every_event={"matcher_style": "rust"},
)

MISSING_FIELDS = (
    "timestamp effort scratchpad_dir mcp_context mcp_server original_request_name "
    "permission_suggestions duration_ms details background_tasks session_crons session_title "
    "custom_instructions compact_summary seconds_since_last_response context_tokens "
    "prompt_cache_likely_expired estimated_cache_write_usd"
).split()
"""Fields of events that only other agents send."""

CODEX = AgentSpec(
    name="codex",
    title="Codex CLI",
    payload_keys={**dict.fromkeys(MISSING_FIELDS), "prompt_id": "turn_id"},
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    event_name_rule="any",
    make_valid=make_valid,
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.codex.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="after_tool",
    field_defaults={
        "permission_mode": "default_mode",
        "tool_use_id": "call_id",
        "prompt_id": "turn_id",
    },
    tool_prefix="mcp__",
    foreign_tools=FOREIGN_TOOLS,
    renamed_tools={"exec_command": "Bash", "local_shell": "Bash"},
    tool_aliases=TOOL_ALIASES,
    default_timeout=600.0,
    hook_environment={},
    settings_format="anyhook.agents.codex.settings:FORMAT",
)
