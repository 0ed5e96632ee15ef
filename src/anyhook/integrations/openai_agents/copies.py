"""Copies of agents whose models, tools and handoffs let hooks decide.

A run gets copies, and the program's agents are not changed. The SDK has a notion of an agent that
is executed in place of a public one (it uses it for sandboxes), so that approvals, instructions and
conditions of tools get the public agent. The module `agents._public_agent` is not documented; only
this module uses it, and the attributes of results and states that hold agents.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agents._public_agent import get_public_agent, set_public_agent

from agents import (
    Agent,
    AgentUpdatedStreamEvent,
    Handoff,
    RunItemStreamEvent,
    RunResultStreaming,
    RunState,
    handoff,
)
from anyhook.integrations.openai_agents.handoffs import hook_handoff
from anyhook.integrations.openai_agents.models import hook_model
from anyhook.integrations.openai_agents.state import current_session
from anyhook.integrations.openai_agents.tools import hook_tool, offer_tools, report_hosted_tools

if TYPE_CHECKING:
    from agents import RunContextWrapper, RunResult, StreamEvent
    from anyhook.integrations.openai_agents.state import SessionState


def hook_agent(state: SessionState, agent: Agent[Any]) -> Agent[Any]:
    """Return the copy of an agent for a run; one copy for each agent of the run."""
    original = get_public_agent(agent)
    hooked = state.agents.get(id(original))
    if hooked is not None:
        return hooked
    agent_class = _hooked_class(cast("Any", type(original)))
    hooked = cast("Agent[Any]", agent_class.__new__(agent_class))
    vars(hooked).update(vars(original))
    set_public_agent(hooked, original)
    # Before the handoffs are copied: agents may hand over to each other.
    state.agents[id(original)] = hooked
    hooked.model = hook_model(state, original.model)
    hooked.handoffs = []
    for target in original.handoffs:
        original_handoff = target if isinstance(target, Handoff) else handoff(target)
        hooked.handoffs.append(hook_handoff(state, hooked, original_handoff, hook_agent))
    return hooked


@cache
def _hooked_class(agent_class: Any) -> Any:
    """Return a subclass of a class of agents whose tools let hooks decide."""

    class HookedAgent(agent_class):  # type: ignore[misc]
        async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
            tools: list[Any] = await super().get_all_tools(run_context)
            state = current_session.get()
            if state is None:
                return tools
            report_hosted_tools(state, tools)
            offer_tools(state, tools)
            return [hook_tool(state, tool) for tool in tools]

    # The SDK identifies the agents of a saved state by the names of their classes, too.
    HookedAgent.__module__ = agent_class.__module__
    HookedAgent.__qualname__ = agent_class.__qualname__
    return HookedAgent


def hook_run_state(state: SessionState, run_input: Any) -> None:
    """Let a saved state of a run continue with copies of its agents."""
    if not isinstance(run_input, RunState):
        return
    current = run_input._current_agent  # noqa: SLF001
    if current is None:
        return
    hooked = run_input._current_agent = hook_agent(state, current)  # noqa: SLF001
    # The SDK accepts an approval only of the very agent that runs; those of an agent that runs as
    # a tool belong to another state. `get_interruptions()` returns copies of the items.
    step = run_input._current_step  # noqa: SLF001
    for item in getattr(step, "interruptions", ()):
        if get_public_agent(item.agent) is get_public_agent(current):
            item.agent = hooked


def restore_agents(result: RunResult | RunResultStreaming) -> None:
    """Put the program's agents into a result in place of the copies."""
    for item in (*result.new_items, *result.interruptions, *result.output_guardrail_results):
        _restore_item(item)
    # What the SDK makes a state of, to continue an interrupted run.
    for holder in (result, getattr(result, "_state", None)):
        for name in ("_starting_agent_for_state", "_starting_agent", "_current_agent"):
            _restore_attribute(holder, name)
    is_stream = isinstance(result, RunResultStreaming)
    _restore_attribute(result, "current_agent" if is_stream else "_last_agent")


def restore_event(event: StreamEvent) -> None:
    """Put the program's agents into an event of a stream in place of the copies."""
    if isinstance(event, AgentUpdatedStreamEvent):
        _restore_attribute(event, "new_agent")
    elif isinstance(event, RunItemStreamEvent):
        _restore_item(event.item)


def _restore_item(item: Any) -> None:
    for name in ("agent", "source_agent", "target_agent"):
        _restore_attribute(item, name)


def _restore_attribute(holder: Any, name: str) -> None:
    agent = getattr(holder, name, None)
    if isinstance(agent, Agent):
        setattr(holder, name, get_public_agent(agent))
