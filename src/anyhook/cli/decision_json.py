"""A fired event for programs, as `docs/commands.md` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import encode_event
from anyhook.agents.replies import encode_decision
from anyhook.cli.output import diagnostic_json
from anyhook.cli.verdict import Verdict, verdicts_by_rules
from anyhook.engine.compare import Difference, differences
from anyhook.engine.not_run import (
    NotDecided,
    NotRun,
    hooks_that_did_not_run,
    unknown_tool,
    why_not_decided,
)

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Blame, Decision, HandlerResult, Message
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event
    from anyhook.trust.native import NativeStates


def fired_event_json(
    engine: Engine,
    event: Event,
    decision: Decision,
    diagnostics: tuple[Diagnostic, ...],
    native: NativeStates | None = None,
) -> dict[str, Any]:
    """Return a fired event with its decision.

    Args:
        engine: The engine that dispatched the event.
        event: The event as it was dispatched.
        decision: Its decision.
        diagnostics: Diagnostics about the settings and the payload.
        native: How far the agent itself trusts its hooks; `None` if it keeps no record of that.
    """
    changes = differences(engine, event, decision)
    skipped = hooks_that_did_not_run(engine, event, decision)
    verdicts = verdicts_by_rules(engine, event, decision, changes)
    not_decided = why_not_decided(engine, decision)
    return {
        "event": encode_event(engine.agent, event),
        "decided": not_decided is None,
        "not_decided": None if not_decided is None else _not_decided_json(not_decided, native),
        "decision": _decision_json(engine, event, decision),
        "handlers": [_handler_json(result, native) for result in decision.results],
        "did_not_run": [_not_run_json(hook, native) for hook in skipped],
        "unknown_tool": unknown_tool(engine, event),
        "verdicts": [_verdict_json(engine, verdict) for verdict in verdicts],
        "agent": engine.agent.name,
        "rules": engine.rules.name,
        "differences": [_difference_json(difference) for difference in changes],
        "diagnostics": [diagnostic_json(d) for d in (*diagnostics, *decision.diagnostics)],
    }


def _decision_json(engine: Engine, event: Event, decision: Decision) -> dict[str, Any]:
    spec = engine.agent.by_canonical[event.name]
    blame = {}
    for name, blames in decision.blame.items():
        blame[name] = [_blame_json(item) for item in blames]
    return {
        "outcome": str(decision.outcome),
        "stop": decision.stop,
        "approve": decision.approve,
        "reason": decision.reason,
        "context": list(decision.context),
        "system_messages": list(decision.system_messages),
        "suppress_output": decision.suppress_output,
        "tool_input": decision.tool_input,
        "llm_request": decision.llm_request,
        "llm_response": decision.llm_response,
        "tool_config": decision.tool_config,
        "clear_context": decision.clear_context,
        "tail_tool_call": decision.tail_tool_call,
        "tool_output": decision.tool_output,
        "extra": dict(decision.extra),
        "messages": [_message_json(message) for message in decision.messages],
        "wire": encode_decision(engine.agent, spec, decision),
        "blame": blame,
    }


def _message_json(message: Message) -> dict[str, Any]:
    return {
        "audience": str(message.audience),
        "field": message.field,
        "text": message.text,
        "handler": message.handler.label,
    }


def _place_json(handler: HandlerSpec | None) -> dict[str, Any]:
    if handler is None:
        return {"file": None, "line": None}
    return {"file": handler.place.file, "line": handler.place.line}


def _blame_json(blame: Blame) -> dict[str, Any]:
    overridden_values = []
    for overridden in blame.overrode:
        owner = overridden.handler
        label = owner.label if owner else None
        place = _place_json(owner)
        overridden_values.append({"handler": label, **place, "value": overridden.value})
    return {
        "handler": blame.handler.label,
        **_place_json(blame.handler),
        "value": blame.value,
        "overrode": overridden_values or None,
    }


def _native_json(handler: HandlerSpec, native: NativeStates | None) -> dict[str, str]:
    """Return how far the agent itself trusts a hook, under the name that `list --json` has."""
    state = native.of(handler) if native is not None else None
    return {} if state is None else {"native_trust": state}


def _handler_json(result: HandlerResult, native: NativeStates | None) -> dict[str, Any]:
    handler = result.handler
    return {
        "name": handler.label,
        "kind": handler.kind,
        "layer": str(handler.layer),
        **_place_json(handler),
        "status": str(result.status),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "started_ms": round(result.started * 1000, 3),
        "duration_ms": round(result.duration * 1000, 3),
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        "outcome": str(result.answer.outcome),
        "stop": result.answer.stop,
        "error": result.error,
        **_native_json(handler, native),
    }


def _not_run_json(hook: NotRun, native: NativeStates | None) -> dict[str, Any]:
    return {
        "name": hook.handler.label,
        **_place_json(hook.handler),
        "reason": hook.reason,
        **_native_json(hook.handler, native),
    }


def _not_decided_json(not_decided: NotDecided, native: NativeStates | None) -> dict[str, Any]:
    return {
        "reason": not_decided.text,
        "hooks": [_not_run_json(hook, native) for hook in not_decided.hooks],
        "remedy": not_decided.remedy,
    }


def _verdict_json(engine: Engine, verdict: Verdict) -> dict[str, Any]:
    return {
        "rules": verdict.rules,
        "release": verdict.release,
        "outcome": verdict.word,
        "effect": verdict.sentence(engine.agent.title),
        "decided": verdict.decided,
        "denied": verdict.denied,
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    fields = {}
    for name, (own_value, other_value) in difference.fields.items():
        fields[name] = {"here": own_value, "there": other_value}
    return {
        "rules": difference.rules,
        "release": difference.release,
        "fields": fields,
        "only_here": list(difference.only_here),
        "only_there": list(difference.only_there),
    }
