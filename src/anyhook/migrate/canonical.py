"""The effect of an answer, in a form that does not depend on the agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of, denial_has_effect
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import ToolEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

_GENERATED_REASON = re.compile(
    r"blocked by hook .*|hook .* (?:failed|timed out); blocking because .*"
    r"|hook .* failed \(.*\); \w+ denies then",
    re.DOTALL,
)
"""The reason where a hook denies without one; it names the command."""
IGNORED_FIELDS = frozenset({"stop_reason", "suppress_output"})
"""Fields that are compared as part of another one, or have no effect on the agent."""


def canonical(
    answer: Answer, event: Event, agent: AgentSpec, roots: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the effect of an answer, so that answers to different agents can be compared.

    The result maps fields to values and leaves out fields without effect. `roots` are directories
    that stand for the project; in texts they become `{project}`.
    """
    effect: dict[str, Any] = {}
    for name in answer.record_fields:
        if name in IGNORED_FIELDS:
            continue
        reader = READERS.get(name)
        value = reader(answer, event, agent) if reader else getattr(answer, name)
        has_effect = value not in (None, False, "", Outcome.NONE, {})
        if has_effect:
            effect[name] = normalize_texts(value, roots)
    # Ending the loop is stronger than any verdict.
    if "stop" in effect:
        effect.pop("outcome", None)
        effect.pop("approve", None)
    return effect


def normalize_texts(value: Any, roots: Sequence[str]) -> Any:
    """Remove from the texts of a JSON value what only names a directory or a command."""
    if isinstance(value, str):
        text = str(value)
        for root in roots:
            text = text.replace(root, "{project}")
        return _GENERATED_REASON.sub("blocked by a hook", text).strip()
    if isinstance(value, dict):
        return {key: normalize_texts(item, roots) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalize_texts(item, roots) for item in value]
    return value


def _outcome(answer: Answer, event: Event, agent: AgentSpec) -> str:
    if answer.outcome is Outcome.DENY and not denial_has_effect(event, agent):
        return ""
    # To an agent, an allowance that approves nothing means no opinion.
    if answer.outcome in (Outcome.NONE, Outcome.ALLOW):
        return ""
    return str(answer.outcome)


def _reason(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    if answer.stop:
        return answer.reason or answer.stop_reason
    return answer.reason if _outcome(answer, event, agent) else None


def _context(answer: Answer, event: Event, _agent: AgentSpec) -> str | None:
    # A prompt that is denied reaches the agent with nothing next to it.
    is_void = event.name == "before_prompt" and answer.outcome is Outcome.DENY
    return None if is_void else answer.context


def _tool_input(answer: Answer, event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_input is None or not isinstance(event, ToolEvent):
        return None
    before = call_of(event, agent).arguments
    changed_input = {**event.tool_input, **answer.tool_input}
    after = agent.vocabulary.call(event.tool_name, changed_input).arguments
    return {key: value for key, value in after.items() if before.get(key) != value}


def _tool_output(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    if answer.tool_output is None or not isinstance(event, ToolEvent):
        return None
    # The reason of a denial takes the place of the output.
    if answer.outcome is Outcome.DENY:
        return None
    return read_tool_result(agent, call_of(event, agent), answer.tool_output).text


def _tool_config(answer: Answer, event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_config is None:
        return None
    names = answer.tool_config.get("allowedFunctionNames") or []
    request: dict[str, Any] = getattr(event, "llm_request", None) or {}
    is_usual = answer.tool_config.get("mode") == "AUTO" and not names
    if is_usual and not request.get("toolConfig"):
        return None
    tools = sorted(agent.vocabulary.tool(name) for name in names)
    return {**answer.tool_config, "allowedFunctionNames": tools}


def _tail_tool_call(answer: Answer, _event: Event, agent: AgentSpec) -> list[Any] | None:
    if answer.tail_tool_call is None:
        return None
    call = agent.vocabulary.call(answer.tail_tool_call["name"], answer.tail_tool_call["args"])
    return [call.tool, dict(call.arguments)]


READERS: dict[str, Callable[[Answer, Event, AgentSpec], Any]] = {
    "outcome": _outcome,
    "reason": _reason,
    "context": _context,
    "tool_input": _tool_input,
    "tool_output": _tool_output,
    "tool_config": _tool_config,
    "tail_tool_call": _tail_tool_call,
}
"""Field of an answer to its canonical value, where that is not the value itself."""
