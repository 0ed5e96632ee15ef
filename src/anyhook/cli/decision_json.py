"""A fired event for programs, as `docs/json.md` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.encode import encode_decision
from anyhook.agents.payloads import encode_event
from anyhook.cli.output import members, place_members
from anyhook.engine.compare import differences
from anyhook.engine.not_run import (
    NotRun,
    hooks_that_did_not_run,
    unknown_tool,
    why_not_decided,
)
from anyhook.manage.verdict import verdicts_by_rules

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event
    from anyhook.trust.native import NativeStates

DECISION = (
    *("outcome", "stop", "approve", "reason", "context", "system_messages", "suppress_output"),
    *("tool_input", "llm_request", "llm_response", "tool_config", "clear_context"),
    *("tail_tool_call", "tool_output", "extra"),
)
"""Members of a decision that are written as they are."""
RESULT = ("status", "exit_code", "signal", "timed_out", "stdout", "stderr", "truncated", "error")


def fired_event_json(
    engine: Engine,
    event: Event,
    decision: Decision,
    diagnostics: tuple[Diagnostic, ...],
    native: NativeStates | None,
) -> dict[str, Any]:
    """Return a fired event with its decision, and diagnostics about the settings and the payload.

    `native` is `None` if the agent keeps no record of how far it trusts its hooks.
    """
    changes = differences(engine, event, decision)
    skipped = hooks_that_did_not_run(engine, event, decision)
    not_decided = why_not_decided(engine, decision)
    why: dict[str, Any] | None = None
    if not_decided is not None:
        why = {
            "reason": not_decided.text,
            "hooks": [_not_run(hook, native) for hook in not_decided.hooks],
            "remedy": not_decided.remedy,
        }
    verdicts = []
    for verdict in verdicts_by_rules(engine, event, decision, changes):
        parts = members(verdict, "rules", "release", "decided", "denied")
        effect = verdict.sentence(engine.agent.title)
        verdicts.append({**parts, "outcome": verdict.word, "effect": effect})
    difference_members = []
    for difference in changes:
        parts = members(difference, "rules", "release", "only_here", "only_there")
        fields = {}
        for name, (own_value, other_value) in difference.fields.items():
            fields[name] = {"here": own_value, "there": other_value}
        difference_members.append({**parts, "fields": fields})
    return {
        "event": encode_event(engine.agent, event),
        "decided": not_decided is None,
        "not_decided": why,
        "decision": _decision(engine, event, decision),
        "handlers": [_result(result, native) for result in decision.results],
        "did_not_run": [_not_run(hook, native) for hook in skipped],
        "unknown_tool": unknown_tool(engine, event),
        "verdicts": verdicts,
        "agent": engine.agent.name,
        "rules": engine.rules.name,
        "differences": difference_members,
        "diagnostics": [*diagnostics, *decision.diagnostics],
    }


def _decision(engine: Engine, event: Event, decision: Decision) -> dict[str, Any]:
    spec = engine.agent.by_canonical[event.name]
    blame: dict[str, list[dict[str, Any]]] = {}
    for name, blames in decision.blame.items():
        blame[name] = []
        for entry in blames:
            overrode = []
            for overridden in entry.overrode:
                owner = overridden.handler
                label, place = (owner.label, owner.place) if owner else (None, None)
                parts = {"handler": label, **place_members(place)}
                overrode.append({**parts, "value": overridden.value})
            parts = {"handler": entry.handler.label, **place_members(entry.handler.place)}
            blame[name].append({**parts, "value": entry.value, "overrode": overrode or None})
    messages = []
    for message in decision.messages:
        parts = members(message, "audience", "field", "text")
        messages.append({**parts, "handler": message.handler.label})
    return {
        **members(decision, *DECISION),
        "messages": messages,
        "wire": encode_decision(engine.agent, spec, decision),
        "blame": blame,
    }


def _native(handler: HandlerSpec, native: NativeStates | None) -> dict[str, str]:
    """Return how far the agent itself trusts a hook, under the name that `list --json` has."""
    state = native.of(handler) if native is not None else None
    return {} if state is None else {"native_trust": state}


def _result(result: HandlerResult, native: NativeStates | None) -> dict[str, Any]:
    handler = result.handler
    return {
        "name": handler.label,
        **members(handler, "kind", "layer"),
        **place_members(handler.place),
        **members(result, *RESULT),
        **members(result.answer, "outcome", "stop"),
        "started_ms": round(result.started * 1000, 3),
        "duration_ms": round(result.duration * 1000, 3),
        **_native(handler, native),
    }


def _not_run(hook: NotRun, native: NativeStates | None) -> dict[str, Any]:
    handler = hook.handler
    return {
        "name": handler.label,
        **place_members(handler.place),
        "reason": hook.reason,
        **_native(handler, native),
    }
