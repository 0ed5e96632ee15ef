"""The rule sets of Claude Code, and its tables, put together.

A release is a table of differences: `OBSERVED` is what release 2.1.332 does differently from the
reference, each entry of `OLDER_RELEASES` what a release does differently from the one after it.
"""

from __future__ import annotations

from anyhook.agents.claude.events import COMMON, DENIES, EVENTS, SIGNALS, STARTS
from anyhook.agents.claude.replies import (
    BLOCKS,
    EXITS,
    FOREIGN_MEMBERS,
    OLD_WORDS,
    OUTPUT,
    PERMISSION_WORDS,
    SPECIAL_EXITS,
)
from anyhook.agents.claude.tools import FOREIGN_TOOLS, TOOL_ALIASES, TOOLS, VOCABULARY
from anyhook.agents.spec import AgentSpec, Denial, Differences, ExitRule, OutputAction, RuleSet
from anyhook.model.answers import Audience, Outcome

DOCUMENTED = RuleSet(
    name="documented",
    release="schemas of the nine classic events, then the hooks reference of 2.1.296",
    events=EVENTS,
    exit_rules={"*": EXITS, **SPECIAL_EXITS},
    output_form="anyhook.agents.printed:classify_object",
    exit_reader="anyhook.agents.claude.output:ClaudeExitReader",
    correct_fields="anyhook.agents.claude.output:drop_denied_compaction",
    warning_audience=Audience.USER,
)

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "2.1.332",
        "strict": frozenset({"wrong", "null"}),
        "correct_fields": "",
        "exit_reader": "anyhook.agents.claude.output:ObservedExitReader",
        "accepted_decisions": {"decision": frozenset(OLD_WORDS)},
        "default_reason": "Blocked by hook",
        "last_duplicate_wins": True,
        "drops_ineffective_fields": True,
        "toggle_policy": "precedence",
    },
    every_event={"stdout_audience": Audience.DEBUG},
    events={
        "before_tool": {
            "stop_prevents": False,
            "default_reason": "",
            "input_refusal": "{event} hook for {tool} returned updatedInput that failed schema "
            "validation: the required parameter `{argument}` is missing or not a string",
        },
        "before_compress": {
            "can_block": True,
            "denial": Denial.PREVENTS,
            "effective_fields": SIGNALS | {"outcome", "reason", "context"},
            "outcomes": DENIES,
            "stdout_field": "context",
        },
        "post_compact": {
            "effective_fields": SIGNALS | {"system_message"},
            "stdout_field": "system_message",
        },
        "session_start": {"effective_fields": COMMON - {"stop", "stop_reason"} | STARTS},
        "notification": {"block_audience": Audience.DEBUG},
    },
)

OLD_SUCCEEDS = ExitRule(
    OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING
)
"""JSON that cannot be parsed was plain text then (hooks reference of 2026-08)."""

OLDER_RELEASES = {
    # It does not have this event, so no hook runs on it.
    "2.1.330": Differences(events={"pre_skill_shell_command": {"handler_kinds": frozenset()}}),
    "2.1.197": Differences(
        rules={
            "exit_rules": {"*": EXITS.replace(codes={0: OLD_SUCCEEDS, 2: BLOCKS}), **SPECIAL_EXITS},
            "exit_reader": "anyhook.agents.claude.output:OlderExitReader",
        },
        every_event={"fails_closed": False},
        events={
            "session_start": {"block_audience": Audience.DEBUG},
            # It does not have these events, so no hook runs on them.
            "pre_model_switch": {"handler_kinds": frozenset()},
            "directory_added": {"handler_kinds": frozenset()},
        },
    ),
}
"""Release to what it does differently from the release after it that was observed."""

MISSING_FIELDS = ("timestamp", "mcp_context", "original_request_name", "details")
"""Fields of events that only other agents send."""

CLAUDE = AgentSpec(
    name="claude",
    title="Claude Code",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    payload_terminator=b"\n",
    documented=DOCUMENTED,
    observed=OBSERVED,
    older_releases=OLDER_RELEASES,
    output_fields=OUTPUT,
    reply_signals=frozenset({"async", "asyncTimeout"}),
    event_name_rule="required",
    decision_words={**PERMISSION_WORDS, **OLD_WORDS},
    foreign_decisions={"deny": (Outcome.DENY, False), "block": (Outcome.DENY, False)},
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.claude.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="post_tool_use_failure",
    absolute_paths=True,
    field_defaults={"permission_mode": "default_mode", "tool_use_id": "call_id"},
    tool_prefix="mcp__",
    foreign_tools=FOREIGN_TOOLS,
    tool_aliases=TOOL_ALIASES,
    default_timeout=600.0,
    hook_environment={
        "CLAUDE_PROJECT_DIR": "project_dir",
        "CLAUDE_CODE_SESSION_ID": "session_id",
        "CLAUDECODE": "=1",
        "CLAUDE_CODE_CHILD_SESSION": "=1",
    },
    settings_format="anyhook.agents.claude.settings:FORMAT",
)
