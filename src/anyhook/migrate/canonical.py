"""What an answer does, in words that do not depend on the agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import ToolEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

OWN_REASON = re.compile(
    r"blocked by hook .*|hook .* (?:failed|timed out); blocking because .*", re.DOTALL
)
"""What is said where a hook denies without a reason of its own; it names the command."""


def canonical(
    answer: Answer, event: Event, agent: AgentSpec, roots: Sequence[str] = ()
) -> dict[str, Any]:
    """Say what an answer does, so that answers to different agents can be compared.

    Args:
        answer: The answer.
        event: What it answers.
        agent: In whose words both are.
        roots: Directories that stand for the project; in texts they become `{project}`.

    Returns:
        Field to value, without those that do nothing; empty if it does nothing at all.
    """
    found: dict[str, Any] = {}
    for name in answer.record_fields:
        reader = CANONICAL.get(name)
        shown = reader(answer, event, agent) if reader else getattr(answer, name)
        if shown not in (None, False, "", Outcome.NONE) and shown != {}:
            found[name] = plain(shown, roots)
    if "stop" in found:  # it is stronger than any verdict
        found.pop("outcome", None)
        found.pop("approve", None)
    return found


def plain(value: Any, roots: Sequence[str]) -> Any:
    """Take out of a JSON value what only names a place or a command."""
    if isinstance(value, str):
        text = str(value)
        for root in roots:
            text = text.replace(root, "{project}")
        return OWN_REASON.sub("blocked by a hook", text).strip()
    if isinstance(value, dict):
        return {key: plain(item, roots) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, roots) for item in value]
    return value


def _outcome(answer: Answer, _event: Event, _agent: AgentSpec) -> str:
    """An allowance that approves nothing is no opinion to an agent."""
    return "" if answer.outcome in (Outcome.NONE, Outcome.ALLOW) else str(answer.outcome)


def _reason(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    decides = _outcome(answer, event, agent) or answer.stop
    return answer.reason or (answer.stop_reason if answer.stop else None) if decides else None


def _context(answer: Answer, event: Event, _agent: AgentSpec) -> str | None:
    """Return the context; a prompt that is denied reaches the agent with nothing beside it."""
    is_void = event.name == "before_prompt" and answer.outcome is Outcome.DENY
    return None if is_void else answer.context


def _input(answer: Answer, event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_input is None or not isinstance(event, ToolEvent):
        return None
    before = call_of(event, agent).arguments
    words = agent.vocabulary
    after = words.call(event.tool_name, {**event.tool_input, **answer.tool_input}).arguments
    return {key: value for key, value in after.items() if before.get(key) != value}


def _output(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    if answer.outcome is Outcome.DENY or not isinstance(event, ToolEvent):
        return None  # the reason says it already
    if answer.tool_output is None:
        return None
    return read_tool_result(agent, call_of(event, agent), answer.tool_output).text


def _config(answer: Answer, _event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_config is None:
        return None
    names = answer.tool_config.get("allowedFunctionNames") or []
    tools = sorted(agent.vocabulary.tool(name) for name in names)
    return {**answer.tool_config, "allowedFunctionNames": tools}


def _tail(answer: Answer, _event: Event, agent: AgentSpec) -> list[Any] | None:
    if answer.tail_tool_call is None:
        return None
    call = agent.vocabulary.call(answer.tail_tool_call["name"], answer.tail_tool_call["args"])
    return [call.tool, dict(call.arguments)]


CANONICAL: dict[str, Callable[[Answer, Event, AgentSpec], Any]] = {
    "outcome": _outcome,
    "approve": lambda answer, _event, _agent: answer.approve,
    "reason": _reason,
    "stop_reason": lambda _answer, _event, _agent: None,
    "context": _context,
    "suppress_output": lambda _answer, _event, _agent: None,
    "tool_input": _input,
    "tool_output": _output,
    "tool_config": _config,
    "tail_tool_call": _tail,
}
"""Field of an answer to what it says in canonical form, where that is not its value."""
