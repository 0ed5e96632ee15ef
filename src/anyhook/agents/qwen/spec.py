"""The rule sets of Qwen Code, and its tables, put together.

It descends from Gemini CLI; its hooks are Claude Code's.
"""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.qwen.events import DENIES, EVENTS
from anyhook.agents.qwen.replies import (
    CONTEXT_EXITS,
    DECISION_WORDS,
    EXITS,
    FOREIGN_MEMBERS,
    OBSERVED_EXITS,
    OUTPUT,
)
from anyhook.agents.qwen.tools import FOREIGN_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import Differences, RuleSet
from anyhook.model.answers import Audience, Outcome

DOCUMENTED = RuleSet(
    name="documented",
    release="docs/features/hooks.md of 0.24.4",
    events=EVENTS,
    exit_rules={"*": EXITS},
    output_form="anyhook.agents.qwen.coercions:classify",
    last_duplicate_wins=True,
    text_bodies="message",
)

VERDICT = frozenset({"outcome", "reason"})
NOTHING = frozenset[str]()
TOOL = {"message_audience": Audience.DEBUG}

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "@qwen-code/qwen-code 0.24.4",
        "exit_rules": {
            "*": OBSERVED_EXITS,
            "session_start": CONTEXT_EXITS,
            "before_prompt": CONTEXT_EXITS,
            "user_prompt_expansion": CONTEXT_EXITS,
        },
        "drops_ineffective_fields": True,
        "coercions": "anyhook.agents.qwen.coercions:COERCIONS",
        "correct_fields": "anyhook.agents.qwen.coercions:correct_fields",
        "chains_failures": False,
        "sequence_scope": "all",
        "handler_identity": "name_and_key",
        "toggle_policy": "precedence",
        "default_reason": "",
        "exit_reader": "anyhook.agents.qwen.coercions:QwenExitReader",
    },
    every_event={"verdict_policy": "none", "ending_outcomes": frozenset()},
    events={
        "before_tool": {
            "verdict_policy": "last_reply",
            "effective_fields": VERDICT | {"tool_input"},
            "outcomes": frozenset({Outcome.DENY, Outcome.ASK}),
            "field_policies": {"tool_input": "sequence_only"},
            **TOOL,
        },
        "after_tool": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"context"},
            **TOOL,
        },
        "post_tool_use_failure": {"effective_fields": frozenset({"context"}), **TOOL},
        "post_tool_batch": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"context"},
            **TOOL,
        },
        "notification": {"effective_fields": NOTHING},
        "before_prompt": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"context"},
            "outcomes": DENIES,
        },
        "user_prompt_expansion": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"context"},
        },
        "session_start": {"effective_fields": frozenset({"context"})},
        "session_end": {"effective_fields": NOTHING},
        "after_agent": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"stop", "stop_reason", "system_message"},
            "inverted_fields": frozenset({"stop"}),
        },
        "subagent_start": {"effective_fields": NOTHING},
        "subagent_stop": {"verdict_policy": "replies", "effective_fields": VERDICT},
        "before_compress": {"effective_fields": frozenset({"context"})},
        "permission_request": {
            "verdict_policy": "replies",
            "effective_fields": VERDICT | {"approve", "tool_input"},
            "can_block": False,
        },
        "todo_created": {"verdict_policy": "replies", "effective_fields": VERDICT, **TOOL},
        "todo_completed": {"verdict_policy": "replies", "effective_fields": VERDICT, **TOOL},
    },
)

OLDER_RELEASES = {
    "0.15.10": Differences(
        rules={
            # Plain text was context on no event.
            "exit_rules": {"*": OBSERVED_EXITS},
            "coercions": "anyhook.agents.qwen.coercions:COERCIONS_0_15",
            "correct_fields": "anyhook.agents.qwen.coercions:correct_fields_0_15",
        },
        every_event={"matcher_style": "expression", "matches_aliases": False},
    )
}
"""Release to what it does differently from the release after it that was observed."""

MISSING_FIELDS = (
    "effort scratchpad_dir mcp_context mcp_server original_request_name session_title "
    "seconds_since_last_response context_tokens prompt_cache_likely_expired "
    "estimated_cache_write_usd"
).split()
"""Fields of events that only other agents send."""

QWEN = GEMINI.replace(
    name="qwen",
    title="Qwen Code",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    documented=DOCUMENTED,
    observed=OBSERVED,
    older_releases=OLDER_RELEASES,
    output_fields=OUTPUT,
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.qwen.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    field_defaults={
        "permission_mode": "default_mode",
        "tool_use_id": "call_id",
        "timestamp": "now",
    },
    tool_prefix="mcp__",
    foreign_tool_prefixes={},
    foreign_tools=FOREIGN_TOOLS,
    renamed_tools={},
    tool_aliases=TOOL_ALIASES,
    hook_environment={
        "QWEN_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "QWEN_CODE_SESSION_ID": "session_id",
    },
    settings_format="anyhook.agents.qwen.settings:FORMAT",
)
