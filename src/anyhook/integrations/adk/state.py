"""The state of the plugin: its sessions, the turn of each, and the calls of models in a turn."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    """One call of a model.

    Attributes:
        request: What was sent; `None` if hooks do not listen to events of models.
        must_buffer: Whether pieces of the response are held back until it is complete.
    """

    request: LLMRequest | None = None
    must_buffer: bool = False


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run ends without an answer, as ADK reports errors."""

    code: str
    reason: str


@dataclass(slots=True)
class TurnState:
    """One run.

    Attributes:
        agent: The agent that began it.
        error: Why it ends without an answer.
        is_denied: Whether hooks kept a request from the model, so that the run is forgotten.
        is_finished: Whether the end of the turn was reported.
        last_text: The text of the last event that may have been the turn's last.
        model_calls: The calls of models under way.
        continuations: The calls that keep the agent running, by identifier.
    """

    agent: BaseNode | None = None
    error: RunError | None = None
    is_denied: bool = False
    is_finished: bool = False
    last_text: str | None = None
    model_calls: dict[ModelKey, ModelCallState] = field(default_factory=dict)
    continuations: dict[str, TurnEnd] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class SessionState:
    """A session of ADK, from its first run to its end.

    Attributes:
        key: Application, user and identifier of the session.
        session: The session of the hooks.
        turn: The current run.
        invocation_ids: The runs so far, where compaction needs them.
        is_running: Whether a run has not ended, or has failed.
    """

    key: SessionKey
    session: Session
    turn: TurnState = field(default_factory=TurnState)
    invocation_ids: set[str] = field(default_factory=set)
    is_running: bool = False

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
