"""The rule sets of Gemini CLI, and its tables, put together."""

from __future__ import annotations

from anyhook.agents.gemini.events import COMMON, EVENTS
from anyhook.agents.gemini.replies import DECISION_WORDS, EXITS, FOREIGN_MEMBERS, OUTPUT
from anyhook.agents.gemini.tools import FOREIGN_TOOLS, TOOLS, VOCABULARY
from anyhook.agents.spec import (
    AgentSpec,
    Denial,
    Differences,
    ExitRule,
    ExitRules,
    OutputAction,
    PlainText,
    RuleSet,
)
from anyhook.model.answers import Outcome

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-01",
    events=EVENTS,
    exit_rules={"*": EXITS},
)

VERDICTS = frozenset({Outcome.ALLOW, Outcome.DENY})
APPLIED = frozenset({"system_message", "outcome", "reason", "stop", "stop_reason"})
ALL_CONTEXTS = {"context": "every_context"}
ALL_TOOLS = {"tool_config": {"mode": "AUTO", "allowedFunctionNames": []}}

OBSERVED_EVENTS: dict[str, dict[str, object]] = {
    "session_start": {
        "matcher_style": "equal",
        "effective_fields": frozenset({"system_message", "context"}),
        "field_policies": ALL_CONTEXTS,
    },
    "session_end": {"matcher_style": "equal", "verdict_policy": "none"},
    "before_prompt": {"effective_fields": APPLIED | {"context"}, "field_policies": ALL_CONTEXTS},
    "after_agent": {"effective_fields": APPLIED | {"clear_context"}},
    "before_model": {
        "effective_fields": APPLIED | {"llm_request", "llm_response"},
        "verdict_policy": "last",
        "field_policies": {"llm_request": "replace_request", "llm_response": "respond_if_denied"},
    },
    "after_model": {
        "effective_fields": APPLIED | {"llm_response"},
        "verdict_policy": "last",
        "field_policies": {"llm_response": "respond_unless_denied"},
        "chained_fields": {},
    },
    "before_tool_selection": {
        "effective_fields": COMMON | {"tool_config"},
        "denial": Denial.NOTHING,
        "verdict_policy": "none",
        "any_output_sets": ALL_TOOLS,
    },
    "before_tool": {
        "matcher_style": "expression",
        "effective_fields": APPLIED | {"tool_input"},
        "outcomes": VERDICTS | {Outcome.ASK},
        "field_policies": {"tool_input": "last"},
        "input_refusal": "Tool parameter modification by hook failed validation: "
        "params must have a text '{argument}'",
    },
    "after_tool": {
        "matcher_style": "expression",
        "effective_fields": APPLIED | {"context", "tail_tool_call"},
        "field_policies": ALL_CONTEXTS,
    },
    "before_compress": {
        "matcher_style": "equal",
        "effective_fields": COMMON,
        "denial": Denial.NOTHING,
        "verdict_policy": "none",
    },
    "notification": {"subject": None, "subjects": (), "verdict_policy": "none"},
}
"""Event to what release 0.61 does differently from the reference."""


def _read_both_streams(action: OutputAction) -> ExitRule:
    """Return the rule that reads stdout, or stderr if stdout is blank."""
    streams = ("stdout", "stderr")
    return ExitRule(OutputAction.APPLY, action, action, OutputAction.NOTHING, streams)


SHOWS = _read_both_streams(OutputAction.MESSAGE)
WARNS = _read_both_streams(OutputAction.WARNING_MESSAGE)
DENIES = _read_both_streams(OutputAction.DENY_TEXT)

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "@google/gemini-cli-core 0.61.0",
        "exit_rules": {"*": ExitRules({0: SHOWS, 1: WARNS}, other=DENIES, signal=SHOWS)},
        "output_form": "anyhook.agents.gemini.coercions:classify",
        "drops_ineffective_fields": True,
        "coercions": "anyhook.agents.gemini.coercions:COERCIONS",
        "chains_failures": False,
        "merged_by_agent": frozenset({"tool_input"}),
        "sequence_scope": "all",
        "handler_identity": "name_and_command",
        "toggle_policy": "precedence",
        "default_reason": "",
        "last_duplicate_wins": True,
    },
    every_event={
        "outcomes": VERDICTS,
        "ending_outcomes": frozenset(),
        "reason_policy": "all",
        "plain_text": PlainText.SYSTEM_MESSAGE,
    },
    events=OBSERVED_EVENTS,
)

MISSING_FIELDS = (
    "prompt_id permission_mode agent_id agent_type effort scratchpad_dir tool_use_id mcp_server "
    "duration_ms session_title background_tasks session_crons model seconds_since_last_response "
    "context_tokens prompt_cache_likely_expired estimated_cache_write_usd custom_instructions "
    "title"
).split()
"""Fields of events that only other agents send."""

GEMINI = AgentSpec(
    name="gemini",
    title="Gemini CLI",
    payload_keys=dict.fromkeys(MISSING_FIELDS),
    documented=DOCUMENTED,
    observed=OBSERVED,
    output_fields=OUTPUT,
    event_name_rule="own",
    decision_words=DECISION_WORDS,
    foreign_members=FOREIGN_MEMBERS,
    tools=TOOLS,
    samples="anyhook.agents.gemini.samples:SAMPLES",
    vocabulary=VOCABULARY,
    tool_failure_event="after_tool",
    field_defaults={"timestamp": "now", "details": "no_details"},
    tool_prefix="mcp_",
    foreign_tool_prefixes={"mcp__": "mcp_SERVER_TOOL"},
    foreign_tools=FOREIGN_TOOLS,
    renamed_tools={"ls": "list_directory"},
    hook_environment={
        "GEMINI_PROJECT_DIR": "project_dir",
        "GEMINI_CWD": "cwd",
        "GEMINI_SESSION_ID": "session_id",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.gemini.settings:FORMAT",
)
