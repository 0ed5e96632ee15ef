"""How a turn of Google ADK ends, continues or is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.workflow import BaseNode

    from anyhook.integrations.results import TurnEnd


async def next_prompt(context: InvocationContext, event: Event, end: TurnEnd) -> Event:
    """Return the event with the agent's next prompt; forget the conversation if hooks want it."""
    invocation_ids = [e.invocation_id for e in context.session.events if e.invocation_id]
    if end.clear_context and invocation_ids:
        await rewind(context, invocation_ids[0])
    content = types.Content(role="user", parts=[types.Part(text=end.next_prompt)])
    return event.model_copy(update={"author": "user", "content": content})


async def rewind(context: InvocationContext, invocation_id: str) -> None:
    """Forget a run and all that followed it."""
    actions = EventActions(rewind_before_invocation_id=invocation_id)
    event = Event(invocation_id=context.invocation_id, author="user", actions=actions)
    await context.session_service.append_event(session=context.session, event=event)


def is_last_agent(agent: BaseNode | None, first: BaseNode | None) -> bool:
    """Return whether no agent follows: this is the only one, the last, or one that took over."""
    if agent is None or not isinstance(first, BaseAgent):
        return False
    node = first.root_agent.find_agent(agent.name)
    while node is not None and node.parent_agent is not None:
        parent = node.parent_agent
        is_last = isinstance(parent, SequentialAgent) and parent.sub_agents[-1].name == node.name
        took_over = isinstance(parent, LlmAgent) and getattr(node, "mode", None) in (None, "chat")
        if not is_last and not took_over:
            return False
        node = parent
    return isinstance(node, LlmAgent | SequentialAgent)
