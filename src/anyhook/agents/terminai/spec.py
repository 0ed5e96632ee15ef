"""TerminaI: a fork of Gemini CLI with settings files, variables and tool names of its own.

The reference (T), and the engine that was observed: that of Gemini CLI v0.23. TerminaI has version
numbers of its own.
"""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.spec import (
    WARNS,
    Denial,
    Differences,
    EventSpec,
    ExitRule,
    ExitRules,
    OutputAction,
    PlainText,
)
from anyhook.agents.terminai.tools import FOREIGN_TOOLS, TOOLS, VOCABULARY
from anyhook.model.answers import Outcome

MISSING_FIELDS = frozenset({"tool_input", "tail_tool_call", "clear_context"})
"""Fields of an answer that Gemini CLI has and the reference lacks."""
CONTEXT_EVENTS = frozenset({"session_start", "before_prompt", "after_tool"})
"""The only events on which the reference has additional context."""


def _as_documented(spec: EventSpec) -> EventSpec:
    """Return an event of Gemini CLI as the reference of TerminaI describes it."""
    missing = MISSING_FIELDS
    if spec.canonical not in CONTEXT_EVENTS:
        missing |= {"context"}
    chained = spec.chained_fields.items()
    return spec.replace(
        effective_fields=spec.effective_fields - missing,
        plain_text=PlainText.SYSTEM_MESSAGE,
        chained_fields={field: key for field, key in chained if field not in MISSING_FIELDS},
    )


DOCUMENTED = GEMINI.documented.replace(
    release="hooks reference of Current (v0.1)",
    events=tuple(_as_documented(spec) for spec in GEMINI.documented.events),
)

APPLIED = frozenset({"outcome", "reason", "stop", "stop_reason"})
VERDICTS = frozenset({Outcome.ALLOW, Outcome.DENY})

OBSERVED_EVENTS: dict[str, dict[str, object]] = {
    "session_start": {"matcher_style": "equal", "effective_fields": frozenset()},
    "session_end": {
        "matcher_style": "equal",
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
    "before_prompt": {"effective_fields": APPLIED | {"context"}},
    "after_agent": {
        "effective_fields": APPLIED - {"stop", "stop_reason"},
        "inverted_fields": frozenset({"stop"}),
    },
    "before_model": {
        "effective_fields": APPLIED | {"llm_request", "llm_response"},
        "verdict_policy": "last",
        "field_policies": {"llm_request": "last_request", "llm_response": "response_of_denial"},
    },
    "after_model": {
        "effective_fields": frozenset({"stop", "stop_reason", "llm_response"}),
        "verdict_policy": "last",
        "field_policies": {"llm_response": "shown_response"},
    },
    "before_tool_selection": {
        "effective_fields": frozenset({"tool_config"}),
        "verdict_policy": "none",
        "any_output_sets": {"tool_config": {"mode": "AUTO", "allowedFunctionNames": []}},
    },
    "before_tool": {
        "matcher_style": "expression",
        "effective_fields": APPLIED - {"stop", "stop_reason"},
    },
    "after_tool": {
        "matcher_style": "expression",
        "effective_fields": frozenset({"context"}),
        "denial": Denial.NOTHING,
    },
    "before_compress": {
        "matcher_style": "equal",
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
    "notification": {
        "subject": None,
        "subjects": (),
        "effective_fields": frozenset(),
        "verdict_policy": "none",
    },
}
"""Event to what the engine of v0.23 does differently from the reference."""

SHOWS = ExitRule(
    OutputAction.APPLY, OutputAction.MESSAGE, OutputAction.MESSAGE, OutputAction.NOTHING
)


def _read_stderr(action: OutputAction) -> ExitRule:
    """Return the rule that reads only stderr, as text."""
    return ExitRule(
        action, action, action, OutputAction.WARN, streams=("stderr",), parses_json=False
    )


EXITS = ExitRules(
    {0: SHOWS, 2: _read_stderr(OutputAction.DENY_TEXT)},
    other=_read_stderr(OutputAction.WARNING_MESSAGE),
    signal=WARNS,
)

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "engine of Gemini CLI 0.23",
        "exit_rules": {"*": EXITS},
        "output_form": "anyhook.agents.gemini.coercions:classify",
        "drops_ineffective_fields": True,
        "sequence_scope": "all",
        "handler_identity": "name_and_command",
        "toggle_policy": "precedence",
        "enabled_by_default": False,
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

TERMINAI = GEMINI.replace(
    name="terminai",
    title="TerminaI",
    documented=DOCUMENTED,
    observed=OBSERVED,
    tools=TOOLS,
    vocabulary=VOCABULARY,
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER__TOOL"},
    foreign_tools=FOREIGN_TOOLS,
    renamed_tools={"ls": "list_files"},
    hook_environment={
        "TERMINAI_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.terminai.settings:FORMAT",
)
