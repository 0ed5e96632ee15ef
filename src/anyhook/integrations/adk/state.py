"""The sessions of the plugin, the turn of each, and how it ends, continues or is forgotten."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

if TYPE_CHECKING:
    from google.adk.agents.context import Context
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.workflow import BaseNode

    from anyhook.integrations.results import TurnEnd
    from anyhook.integrations.session import Session
    from anyhook.model.llm import LLMRequest

    SessionKey = tuple[str, str, str]
    ModelKey = tuple[str, str, str | None]


DENIED = "HOOK_DENIED"
"""Error code of an event whose run a hook denied."""
STOPPED = "HOOK_STOPPED"
"""Error code of an event whose session a hook stopped."""

tool_session: ContextVar[SessionState | None] = ContextVar("anyhook_adk_session", default=None)
"""The session whose tool runs; an agent that runs inside that tool belongs to it."""


@dataclass(slots=True)
class ModelCallState:
    """One call of a model."""

    request: LLMRequest | None = None
    """What was sent; `None` if hooks do not listen to events of models."""
    must_buffer: bool = False
    """Whether pieces of the response are held back until it is complete."""


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run ends without an answer, as ADK reports errors."""

    code: str
    reason: str


@dataclass(slots=True)
class TurnState:
    """One run."""

    agent: BaseNode | None = None
    """The agent that began it."""
    error: RunError | None = None
    """Why it ends without an answer."""
    is_denied: bool = False
    """Whether hooks kept a request from the model, so that the run is forgotten."""
    is_finished: bool = False
    """Whether the end of the turn was reported."""
    last_text: str | None = None
    """The text of the last event that may have been the turn's last."""
    model_calls: dict[ModelKey, ModelCallState] = field(default_factory=dict)
    continuations: dict[str, TurnEnd] = field(default_factory=dict)
    """The calls that keep the agent running, by identifier."""


@dataclass(slots=True, eq=False)
class SessionState:
    """A session of ADK, from its first run to its end."""

    key: SessionKey
    session: Session
    turn: TurnState = field(default_factory=TurnState)
    invocation_ids: set[str] = field(default_factory=set)
    """The runs so far, where compaction needs them."""
    is_running: bool = False
    """Whether a run has not ended, or has failed."""

    def is_nested(self, context: InvocationContext | Context) -> bool:
        """Return whether a context is that of an agent that runs inside a tool of the session."""
        return session_key(context) != self.key


def session_key(context: InvocationContext | Context) -> SessionKey:
    """Return the key of the session of ADK that a context belongs to."""
    session = context.session
    return session.app_name, session.user_id, session.id


def model_key(context: Context) -> ModelKey:
    """Return the key of a model call; agents in parallel branches have one each."""
    return context.invocation_id, context.agent_name, context.branch


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
