"""The capability of an agent of Pydantic AI that lets hooks decide.

Hooks act directly around the model that serves a request and around the tools, so that no other
capability can bypass them.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    CallToolsNode,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRequestNode,
    ToolApproved,
    ToolDenied,
    UserPromptNode,
)
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability
from pydantic_graph import End

from anyhook.integrations.factory import (
    MODEL_EVENTS,
    KeptSession,
    LoadedHooks,
    SessionFactory,
    session_of_run,
)
from anyhook.integrations.framework import Framework
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.pydantic_ai.messages import to_json
from anyhook.integrations.pydantic_ai.model import HookedModel
from anyhook.integrations.pydantic_ai.state import RunState
from anyhook.integrations.pydantic_ai.tools import HookedTools, call_output_function
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Self, Unpack

    from pydantic_ai import RunContext
    from pydantic_ai.models import Model
    from pydantic_ai.output import OutputContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import AbstractToolset

    from anyhook.engine.engine import Engine
    from anyhook.integrations.options import SessionOptions
    from anyhook.integrations.session import Session

PYDANTIC_AI = Framework(
    title="Pydantic AI",
    missing={
        "before_compress": "the program's own code shortens the history, and the hooks do not run",
        "before_tool.guarding_of_nested_agents": (
            "an agent that a tool runs is guarded only if it has this capability, too"
        ),
    },
)
TOOL_EVENTS = ("before_tool", "after_tool", "permission_request", "notification")


_kept_sessions: ContextVar[tuple[tuple[AnyhookHooks, KeptSession], ...]] = ContextVar(
    "anyhook_pydantic_ai_sessions", default=()
)
"""The sessions of the blocks that the current code is in, each with its hooks."""


class AnyhookHooks(AbstractCapability[object], LoadedHooks):
    """The hooks of a project, as a capability of an agent.

    Args:
        engine: Decides the events. The caller closes it.
        **options: See `SessionOptions`.
    """

    def __init__(self, engine: Engine, **options: Unpack[SessionOptions]) -> None:
        self.engine = engine
        self.sessions = SessionFactory(engine, PYDANTIC_AI, options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._close_engine()

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: hooks are not part of a serialized agent."""
        return None

    @asynccontextmanager
    async def session(
        self, *, session_id: str | None = None, source: str = "startup"
    ) -> AsyncIterator[Session]:
        """Keep one session over several runs.

        A run that begins while another one uses the session (an agent that is another's tool) gets
        a session of its own.

        Args:
            session_id: Identifier; by default a new one.
            source: How it begins: `startup`, `resume` or `clear`.
        """
        async with self.sessions.new_session(session_id, source) as session:
            token = _kept_sessions.set((*_kept_sessions.get(), (self, KeptSession(session))))
            try:
                yield session
            finally:
                _kept_sessions.reset(token)

    async def for_run(self, ctx: RunContext[object]) -> AbstractCapability[object]:  # noqa: ARG002
        """Return the capability of one run."""
        return self if self.sessions.is_idle else _HookedRun(self)


class _HookedRun(AbstractCapability[Any]):
    """The hooks of one run."""

    def __init__(self, hooks: AnyhookHooks) -> None:
        self._hooks = hooks
        self._run = RunState()

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        own = [kept for hooks, kept in _kept_sessions.get() if hooks is self._hooks]
        kept = own[-1] if own else None

        def new_session() -> Session:
            # Next to a kept session this is a run inside of another one.
            session_id = ctx.conversation_id if kept is None else None
            source = "resume" if ctx.messages else "startup"
            return self._hooks.sessions.new_session(session_id, source)

        async with session_of_run(kept, new_session) as self._run.session:
            return await handler()

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        if not isinstance(node, UserPromptNode) or node.deferred_tool_results is not None:
            return node
        if node.user_prompt is None:
            await self._prompt_of_history(ctx.messages)
            return node
        content = await self._prompt(node.user_prompt)
        return node if content is node.user_prompt else replace(node, user_prompt=content)

    async def _prompt(self, content: Any) -> Any:
        """Return a prompt with what hooks add; the very prompt if they add nothing."""
        texts: list[str] = []
        for item in [content] if isinstance(content, str) else content:
            text = item.content if isinstance(item, m.TextContent) else item
            if isinstance(text, str):
                texts.append(text)
        prompt = await self._run.session.prompt("\n".join(texts))
        if prompt.denied is not None:
            self._run.end_turn(prompt.denied)
        if not prompt.context:
            return content
        if isinstance(content, str):
            return prompt.full_text
        return [*content, *map(tag_context, prompt.context)]

    async def _prompt_of_history(self, messages: list[m.ModelMessage]) -> None:
        """Report a prompt that is the last message of the history; change it in place."""
        last = messages[-1] if messages else None
        if not isinstance(last, m.ModelRequest):
            return
        prompts = [part for part in last.parts if isinstance(part, m.UserPromptPart)]
        if not prompts:
            return
        prompt = prompts[-1]
        content = await self._prompt(prompt.content)
        if content is not prompt.content:
            changed = replace(prompt, content=content)
            parts = [changed if part is prompt else part for part in last.parts]
            messages[-1] = replace(last, parts=parts)

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        if not isinstance(result, End) or isinstance(result.data.output, DeferredToolRequests):
            return result
        end = await self._run.session.finish(result_text(to_json(result.data.output)))
        if end.next_prompt is None:
            return result
        # The end of `run_stream`: its caller has seen the whole answer.
        if not isinstance(node, CallToolsNode):
            self._run.session.messages.send(
                f"an agent whose answer was streamed cannot continue: {end.next_prompt}"
            )
            return result
        parts: list[m.ModelRequestPart] = []
        if end.clear_context:
            for message in ctx.messages:
                parts += [part for part in message.parts if isinstance(part, m.SystemPromptPart)]
            ctx.messages.clear()
        parts.append(m.UserPromptPart(end.next_prompt))
        return ModelRequestNode(m.ModelRequest(parts=parts))

    def get_wrapper_model(self, model: Model) -> Model | None:
        if not self._hooks.sessions.listens(*MODEL_EVENTS):
            return None
        return HookedModel(model, self._run)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        if not self._listens_to_tools():
            return None
        return HookedTools(toolset, self._run)

    async def wrap_output_process(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: Any,
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        if not output_context.has_function or not self._listens_to_tools():
            return await handler(output)
        return await call_output_function(self._run, ctx, output_context, output, handler)

    def _listens_to_tools(self) -> bool:
        failure_event = self._hooks.engine.agent.tool_failure_event or "after_tool"
        # A tool that hooks left out does not run if the model calls it all the same.
        events = (*TOOL_EVENTS, failure_event, "before_model", "before_tool_selection")
        return self._hooks.sessions.listens(*events)

    async def handle_deferred_tool_calls(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        requests: DeferredToolRequests,
    ) -> DeferredToolResults | None:
        """Let hooks decide before the program asks its own user about a tool."""
        if not self._listens_to_tools():
            return None
        approvals: dict[str, Any] = {}
        for call in requests.approvals:
            name, call_id = call.tool_name, call.tool_call_id
            run = self._run.pending.pop((call_id, name), None)
            if run is None:
                arguments = call.args_as_dict()
                run = await self._run.session.before_tool(name, arguments, call_id=call_id)
            if not run.allowed:
                approvals[call_id] = ToolDenied(run.reason)
            elif run.approved:
                self._run.pending[call_id, name] = run
                approvals[call_id] = ToolApproved(override_args=run.arguments)
        return DeferredToolResults(approvals=approvals) if approvals else None
