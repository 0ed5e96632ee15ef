"""A session: what decisions of hooks mean for an agent, independent of any framework.

A host reports what happens in a session (a prompt, a request to the model, a tool call, the end of
a turn) and carries out what the methods return. Everything that hooks can decide has one meaning
here, so that the integration of a framework only translates.

Sources: the contracts of the events in the hooks references of Gemini CLI and Claude Code.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.spec import Denial
from anyhook.engine.messages import MessageChannel
from anyhook.integrations.dispatch import EventDispatcher
from anyhook.integrations.framework import UNLIMITED, problems_at_start, require_events
from anyhook.integrations.host_tools import HostTools, result_text
from anyhook.integrations.options import SessionOptions, check_options
from anyhook.integrations.results import (
    ModelCall,
    ModelReply,
    Prompt,
    Question,
    ToolReturn,
    ToolRun,
    TurnEnd,
    join_context,
    text_response,
)
from anyhook.integrations.tool_checks import ToolChecks
from anyhook.model.answers import Outcome
from anyhook.model.events import (
    AfterAgent,
    AfterModel,
    AfterTool,
    BeforeCompress,
    BeforeModel,
    BeforePrompt,
    BeforeTool,
    BeforeToolSelection,
    SessionEnd,
    SessionStart,
    event_class,
)
from anyhook.model.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping
    from pathlib import Path
    from typing import Self, Unpack

    from anyhook.engine.engine import Engine
    from anyhook.integrations.framework import Framework
    from anyhook.model.events import Event
    from anyhook.model.llm import LLMRequest, LLMResponse


MAX_CONTINUATIONS = 8
"""How often hooks may keep the agent from ending one turn."""
END_TIMEOUT = 60.0
"""Seconds that the hooks of a session's end have."""


class Session:
    """One session of an agent.

    Use it in an `async with` block: it starts the session and ends it, once, also when the agent
    fails or is cancelled. A method raises `StoppedError` when a hook ends the agent
    (`continue: false`), and every method does so from then on.

    Args:
        engine: Decides the events.
        session_id: Identifier; by default a new one.
        cwd: Working directory of the agent; by default the project's.
        source: How the session begins: `startup`, `resume` or `clear`.
        framework: What the host cannot do; it is reported when the session starts.
        reported: See `problems_at_start`.
        **options: See `SessionOptions`.

    Attributes:
        messages: Delivers texts and problems to the user.
        tool_checks: Reports tools that no hook applies to, when they are offered or called.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        cwd: str | Path | None = None,
        source: str = "startup",
        framework: Framework = UNLIMITED,
        reported: set[str] | None = None,
        **options: Unpack[SessionOptions],
    ) -> None:
        check_options(options, SessionOptions)
        self.engine = engine
        self.tools = HostTools(engine.agent, options.get("tools"))
        self.messages = MessageChannel(options.get("on_message") or engine.messages.on_message)
        self.tool_checks = ToolChecks(engine, self.tools, framework.own_tools, self.messages)
        self._framework = framework
        self._reported = set() if reported is None else reported
        self._max_continuations = options.get("max_continuations", MAX_CONTINUATIONS)
        self._source = source
        self._dispatcher = EventDispatcher(
            engine,
            session_id=session_id or str(uuid.uuid4()),
            cwd=str(cwd or engine.project_dir),
            ask=options.get("ask"),
            messages=self.messages,
            on_decision=options.get("on_decision"),
            transcript=options.get("transcript"),
        )
        self._start_context: list[str] = []
        # Context of hooks that let the agent end: given with the next prompt.
        self._end_context: list[str] = []
        self._prompt, self._continuations = "", 0
        self._is_turn_blocked = self._is_started = self._is_ended = False
        self._start_lock = anyio.Lock()

    @property
    def session_id(self) -> str:
        """Identifier of the session; `clear` changes it."""
        return self._dispatcher.session_id

    @property
    def stopped(self) -> str | None:
        """Why a hook ended the agent; `None` if none did."""
        return self._dispatcher.stopped

    @property
    def listens_to_results(self) -> bool:
        """Whether a hook may change what a tool returned, or remove it."""
        failure_event = self.engine.agent.tool_failure_event or "after_tool"
        return any(map(self.engine.listens, ("after_tool", failure_event)))

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.end("other")
            raise
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, *_rest: object) -> None:
        await self.end("exit" if error_type is None else "other")

    async def start(self) -> None:
        """Start the session; the first prompt gets what hooks add for the agent.

        Raises:
            RequiredHooksError: If hooks that are required are set on events that never fire here.
            StoppedError: If a hook ends the agent.
        """
        async with self._start_lock:  # a second caller waits for the hooks
            if self._is_started:
                return
            self.engine.report_problems(self.messages)
            for text in await problems_at_start(self._framework, self.engine, self._reported):
                self.messages.send(text)
            require_events(self._framework, self.engine)
            self._is_started = True
            self._dispatcher.write("session_start", source=self._source)
            event = self._dispatcher.new_event(SessionStart, source=self._source)
            decision = await self._dispatcher.announce(event)
            self._start_context += decision.context

    async def end(self, reason: str = "exit") -> None:
        """End the session; further calls do nothing.

        Args:
            reason: `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
        """
        if self._is_ended or not self._is_started:
            return
        self._is_ended = True
        spec = self._dispatcher.spec("session_end")
        if spec is not None and spec.subjects and reason not in spec.subjects:
            reason = "other"
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_TIMEOUT):
            self._dispatcher.write("session_end", reason=reason)
            event = self._dispatcher.new_event(SessionEnd, reason=reason)
            await self._dispatcher.announce(event, ends_session=True)
        for text in self._end_context:
            self.messages.send(f"the session ended before the agent got a hook's context: {text}")
        self._end_context.clear()

    async def clear(self) -> None:
        """Forget the conversation: this session ends and a new one begins."""
        await self.end("clear")
        self._dispatcher.session_id = str(uuid.uuid4())
        self._source = "clear"
        self._is_started = self._is_ended = False
        self._start_context.clear()
        await self.start()

    async def prompt(self, text: str) -> Prompt:
        """Report a prompt of the user, before the agent acts on it."""
        self._is_turn_blocked = False
        self._continuations = 0
        self._prompt = text
        event = self._dispatcher.new_event(BeforePrompt, prompt=text)
        decision = await self._dispatcher.fire(event)
        denied = await self._dispatcher.denial_reason(event, decision, text=text)
        if denied is not None:
            self._is_turn_blocked = True
            self._dispatcher.write("prompt", denied=denied)
            return Prompt(text, denied=denied)
        context = (*self._start_context, *self._end_context, *decision.context)
        self._start_context.clear()
        self._end_context.clear()
        self._dispatcher.write("user", content=text, context=list(context))
        return Prompt(text, context)

    async def finish(self, response: str) -> TurnEnd:
        """Report that the agent considers the turn done.

        A turn whose prompt or last request was denied, or whose last response was discarded, fires
        no event here.

        Args:
            response: The agent's final text.
        """
        if self._is_turn_blocked or self.stopped is not None:
            return TurnEnd()
        event = self._dispatcher.new_event(
            AfterAgent,
            prompt=self._prompt,
            prompt_response=response,
            stop_hook_active=self._continuations > 0,
        )
        decision = await self._dispatcher.fire(event)
        reason = await self._dispatcher.denial_reason(event, decision, text=response)
        if reason is None:
            self._continuations = 0
            self._end_context += decision.context
            return TurnEnd()
        self._continuations += 1
        if 0 < self._max_continuations < self._continuations:
            self.messages.send(
                f"hooks kept the agent from ending {self._max_continuations} times in one turn; "
                f"it ends now. The last reason: {reason}"
            )
            self._continuations = 0
            self._end_context += decision.context
            return TurnEnd()
        next_prompt = join_context(reason, decision.context)
        self._dispatcher.write("user", content=next_prompt, hook=True)
        return TurnEnd(next_prompt, decision.clear_context)

    async def before_model(self, request: LLMRequest, *, tools: Collection[str] = ()) -> ModelCall:
        """Report a request, before it goes to the model.

        Args:
            request: The request.
            tools: The host's tools that the model may call.
        """
        event = self._dispatcher.new_event(BeforeModel, llm_request=request)
        decision = await self._dispatcher.fire(event)
        new_request = decision.llm_request or request
        # After a denial inside of a tool, where another agent ran, the turn goes on.
        self._is_turn_blocked = False
        # With a response of a hook the model is not asked, so a question needs no answer either.
        if decision.llm_response is not None:
            denied = decision.reason if decision.outcome is Outcome.DENY else None
            return ModelCall(new_request, decision.llm_response, denied)
        denied = await self._dispatcher.denial_reason(event, decision)
        if denied is not None:
            self._is_turn_blocked = True
            return ModelCall(new_request, denied=denied)
        selection = self._dispatcher.new_event(BeforeToolSelection, llm_request=new_request)
        config = (await self._dispatcher.announce(selection)).tool_config
        if config is None and new_request.get("toolConfig") != request.get("toolConfig"):
            config = new_request.get("toolConfig")
        return ModelCall(new_request, tools=self.tools.to_host_config(config, tools))

    async def after_model(self, request: LLMRequest, response: LLMResponse) -> ModelReply:
        """Report a complete response, before the agent and its user get it."""
        event = self._dispatcher.new_event(AfterModel, llm_request=request, llm_response=response)
        decision = await self._dispatcher.fire(event)
        new_response = decision.llm_response or response
        text = str(new_response.get("text") or "")
        denied = await self._dispatcher.denial_reason(event, decision, text=text)
        if denied is not None:
            self._is_turn_blocked = True
            return ModelReply(None, changed=True, denied=denied)
        if new_response == response:
            return ModelReply(response)
        return ModelReply(new_response, changed=True)

    def must_buffer(self, request: LLMRequest) -> bool:
        """Return whether a streamed response has to be held back until it is complete.

        A hook that may remove text must have decided before the user sees a piece of it, and what
        it looks for may be split between chunks.
        """
        event = self._dispatcher.new_event(
            AfterModel, llm_request=request, llm_response={"candidates": []}
        )
        return bool(self.engine.plan(event).groups)

    async def stream(self, request: LLMRequest, chunks: AsyncIterator[str]) -> AsyncIterator[str]:
        """Yield the text of a streamed response, without what hooks remove.

        Without a hook on responses every chunk is yielded as it comes. With one, the response is
        yielded as a whole when the hooks have decided.

        Args:
            request: The request that the response answers.
            chunks: The pieces of its text.

        Yields:
            Pieces of the text that may be shown; none if the response is discarded.
        """
        if not self.must_buffer(request):
            async for chunk in chunks:
                yield chunk
            return
        text = "".join([chunk async for chunk in chunks])
        reply = await self.after_model(request, text_response(text))
        if reply.response is not None and reply.response.get("text"):
            yield reply.response["text"]

    async def before_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        requested: str | None = None,
    ) -> ToolRun:
        """Report a tool call, before it runs.

        Args:
            name: The host's tool.
            arguments: Its arguments.
            call_id: The host's identifier of the call.
            requested: The tool that the model asked for, if this one runs in its place.

        Raises:
            RequiredHooksError: If hooks are required and this tool escapes them.
        """
        self.tool_checks.check(name, arguments)
        new_arguments = dict(arguments)
        event = BeforeTool(**self._tool_event_fields(name, arguments, call_id, requested))
        decision = await self._dispatcher.fire(event)
        if decision.tool_input is not None:
            new_arguments = self.tools.apply_changes(name, arguments, decision.tool_input)
        approved = decision.approve
        if decision.outcome is Outcome.ASK:
            question = Question(name, new_arguments, decision.reason or "")
            denied = await self._dispatcher.request_permission(event, decision, question)
            approved = denied is None
        else:
            denied = await self._dispatcher.denial_reason(event, decision)
        self._dispatcher.write("tool_call", name=name, arguments=new_arguments, denied=denied)
        if denied is not None:
            return ToolRun(False, new_arguments, reason=denied, context=decision.context)
        return ToolRun(True, new_arguments, approved, context=decision.context)

    async def after_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        output: Any,
        *,
        error: str | None = None,
        call_id: str | None = None,
        requested: str | None = None,
    ) -> ToolReturn:
        """Report what a tool returned, before the agent gets it.

        Args:
            name: The host's tool.
            arguments: The arguments that it ran with.
            output: What it returned, any JSON.
            error: What went wrong, if it failed.
            call_id: The host's identifier of the call.
            requested: The tool that the model asked for, if this one ran in its place.
        """
        result = ToolResult(text=result_text(output), error=error, raw=output)
        fields = self._tool_event_fields(name, arguments, call_id, requested)
        failure_event = self.engine.agent.tool_failure_event
        event: Event
        if error is not None and failure_event not in (None, "after_tool"):
            event = event_class(str(failure_event))(**fields | {"error": error})
        else:
            is_seen = self._dispatcher.listens("after_tool")
            response = self.tools.to_response(name, arguments, result) if is_seen else None
            event = AfterTool(**fields, tool_response=response)
        decision = await self._dispatcher.fire(event)
        denied = await self._dispatcher.denial_reason(
            event, decision, tool=name, arguments=arguments, text=result.text
        )
        spec = self._dispatcher.spec(event.name)
        if denied is not None and spec is not None and spec.denial is Denial.HIDES:
            returned = ToolReturn(denied, replaced=True, context=decision.context)
        else:
            is_replaced = decision.tool_output is not None
            if is_replaced:
                output = self.tools.response_text(name, arguments, decision.tool_output)
            context = decision.context if denied is None else (*decision.context, denied)
            tail_call = None
            if decision.tail_tool_call is not None:
                call = decision.tail_tool_call
                tail_call = (self.tools.host_name(call["name"]), dict(call.get("args", {})))
            returned = ToolReturn(output, is_replaced, context, tail_call)
        text = result_text(returned.full_output)
        self._dispatcher.write("tool_result", name=name, content=text, error=error)
        return returned

    def _tool_event_fields(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None, requested: str | None
    ) -> dict[str, Any]:
        return {
            **self._dispatcher.common_fields(),
            **self.tools.event_fields(name, arguments),
            "original_request_name": requested and self.tools.shown_name(requested),
            "tool_use_id": call_id,
        }

    async def compress(self, trigger: str = "auto", instructions: str | None = None) -> str | None:
        """Report that the context is about to be compressed; return why hooks object, or `None`."""
        event = self._dispatcher.new_event(
            BeforeCompress, trigger=trigger, custom_instructions=instructions
        )
        decision = await self._dispatcher.fire(event)
        reason = await self._dispatcher.denial_reason(event, decision)
        if decision.goes_on:
            self._dispatcher.report_denial(event, decision)
        elif reason is not None:
            self._dispatcher.messages.send(f"the conversation is not compressed: {reason}")
        return reason

    async def notify(self, kind: str, message: str, details: dict[str, Any] | None = None) -> None:
        """Report that the user is notified.

        Args:
            kind: The type, `permission_prompt` for a tool that waits for its user.
            message: What the user reads.
            details: Further members of the notification.
        """
        await self._dispatcher.notify(kind, message, details)
