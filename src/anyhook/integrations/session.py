"""A session: what decisions mean over an agent's life, whatever the agent is built with.

A host reports what happens to a session (a prompt, a request to the model, a tool call, the end of
a turn) and carries out what it returns. Everything that hooks may decide has one meaning here, so
that a framework's glue only has to pass things on.

Sources: the contracts of the events in the hooks references of Gemini CLI and Claude Code.
"""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.spec import Denial
from anyhook.engine.messages import MessageChannel
from anyhook.errors import StoppedError
from anyhook.integrations.frameworks import EVERYTHING, check_events, missing_for
from anyhook.integrations.host_tools import HostTools, text_of
from anyhook.integrations.reports import NO_ANSWER, denials_without_effect, questions_without_user
from anyhook.model.answers import Audience, Outcome
from anyhook.model.decisions import NO_DECISION
from anyhook.model.events import (
    AfterAgent,
    AfterModel,
    AfterTool,
    BeforeCompress,
    BeforeModel,
    BeforePrompt,
    BeforeTool,
    BeforeToolSelection,
    Notification,
    SessionEnd,
    SessionStart,
    event_class,
)
from anyhook.model.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
    from types import TracebackType
    from typing import Self

    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.integrations.frameworks import Framework
    from anyhook.integrations.host_tools import HostTool
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.events import Event
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

log = logging.getLogger("anyhook.integrations")

ROUNDS = 8
"""How often hooks may keep the agent from ending one turn."""
FAREWELL = 60.0
"""Seconds that the hooks of a session's end have when it ends in a hurry."""
SUMMARIES = {
    "before_prompt": "Send this prompt to the agent?",
    "before_model": "Send this request to the model?",
    "after_model": "Use this response of the model?",
    "before_tool": "Run {tool}?",
    "after_tool": "Give the result of {tool} to the agent?",
    "after_agent": "Let the agent end its turn?",
    "before_compress": "Compress the conversation?",
}
"""Canonical event to what a yes means; other events are shown by their names."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the user is asked because a hook wants a confirmation.

    Attributes:
        tool: The host's tool; `None` if the question is not about a tool.
        arguments: The tool's arguments, as hooks have left them.
        reason: Why a hook asks; empty if it gives no reason.
        event: Canonical name of the event. A yes lets it happen; a no counts as a denial.
        text: What the event is about: the prompt, the text of a response, the result of a tool.
    """

    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    event: str = "before_tool"
    text: str = ""

    @property
    def summary(self) -> str:
        """What a yes means, as one sentence."""
        return SUMMARIES.get(self.event, f"Allow {self.event}?").format(tool=self.tool)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What became of a prompt.

    Attributes:
        text: The user's text.
        context: Texts that hooks add for the agent, those of the session's start first.
        denied: Why it must not reach the model; `None` if it may.
    """

    text: str
    context: tuple[str, ...] = ()
    denied: str | None = None

    @property
    def whole(self) -> str:
        """The text, with what hooks add behind it."""
        return "\n\n".join((self.text, *map(in_tags, self.context)))


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What became of a request to the model.

    Attributes:
        request: The request to send.
        response: The response to use in place of the model's; `None`: ask the model.
        denied: Why the model must not be asked; `None` if it may. A response may stand beside it.
        tools: The tools that the model may call; `None` if no hook says.
    """

    request: LLMRequest
    response: LLMResponse | None = None
    denied: str | None = None
    tools: ToolConfig | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What became of a response of the model.

    Attributes:
        response: The response that the agent, its history and its user get; `None`: it is
            discarded, with its tool calls.
        changed: Whether it differs from the model's.
        denied: Why it was discarded.
    """

    response: LLMResponse | None
    changed: bool = False
    denied: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Whether a tool runs, and with what.

    Attributes:
        runs: Whether it does.
        arguments: The host's arguments to use.
        approved: The host need not ask its user itself.
        reason: Why it does not run, for the agent.
        context: Texts for the agent.
    """

    runs: bool
    arguments: dict[str, Any]
    approved: bool = False
    reason: str = ""
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What the agent gets for a tool's result.

    Attributes:
        output: The result: the tool's own, or a text in its place.
        replaced: Whether it is not the tool's own.
        context: Texts for the agent beside it.
        tail: A tool of the host, with arguments, to run at once; its result takes this one's place.
    """

    output: Any
    replaced: bool = False
    context: tuple[str, ...] = ()
    tail: tuple[str, dict[str, Any]] | None = None

    @property
    def whole(self) -> Any:
        """The result, with what hooks add; as it is if they add nothing."""
        if not self.context:
            return self.output
        return "\n\n".join((text_of(self.output), *map(in_tags, self.context)))


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What follows a turn.

    Attributes:
        again: The agent's next prompt, if hooks keep it from ending, with their context.
        clear: Forget the conversation first.
    """

    again: str | None = None
    clear: bool = False


REFUSALS = frozenset({Outcome.ASK, Outcome.DEFER, Outcome.DENY})
"""Verdicts that keep an event from happening, unless the user agrees."""


def in_tags(text: str) -> str:
    """Mark a text as a hook's, so that the model does not take it for the user's."""
    plain = text.replace("<", "&lt;").replace(">", "&gt;")
    return f"<hook_context>{plain}</hook_context>"


def text_response(text: str) -> LLMResponse:
    """Write a text as a whole response of the model."""
    candidate: Any = {"content": {"role": "model", "parts": [text] if text else []}, "index": 0}
    return {"text": text, "candidates": [candidate]}


class Session:
    """One life of an agent.

    Use it in an `async with` block: it starts the session and ends it, once, also when the agent
    fails or is cancelled. A method raises `StoppedError` when a hook ends the agent
    (`continue: false`), and every method does so from then on.

    Args:
        engine: Whose hooks decide.
        session_id: Identifier; by default a new one.
        cwd: Working directory of the agent; by default the project's.
        source: How the session begins: `startup`, `resume` or `clear`.
        tools: The host's tools in canonical words: see `HostTools`.
        ask: Asks the user; without it each question counts as a denial, which is reported.
        on_message: Gets, as one text each, what the user should read (messages of hooks, reasons
            of denials that no other way leads to the user) and each problem of the hooks once; by
            default the function of the engine, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        rounds: How often hooks may keep the agent from ending one turn; 0 for no limit.
        transcript: File that the session is written to, one JSON object a line; `None` for none.
        framework: What the host cannot do; it is reported when the session starts.

    Attributes:
        messages: Delivers texts and problems to the user.
        stopped: Why a hook ended the agent; `None` if none did.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        cwd: str | Path | None = None,
        source: str = "startup",
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
        framework: Framework = EVERYTHING,
    ) -> None:
        self.engine = engine
        self.framework = framework
        self.session_id = session_id or str(uuid.uuid4())
        self.cwd = str(cwd or engine.project_dir)
        self.tools = HostTools(engine.agent, tools)
        self.rounds = rounds
        self.transcript = Path(transcript) if transcript else None
        self.stopped: str | None = None
        self._source = source
        self._ask = ask
        self.messages = MessageChannel(on_message or engine.messages.on_message)
        self._on_decision = on_decision
        self._context: list[str] = []
        self._late_context: list[str] = []
        self._prompt = ""
        self._again = 0
        self._broken = False
        self._started = False
        self._ended = False
        self._starting = anyio.Lock()

    def wants(self, event: str) -> bool:
        """Return whether a hook listens to an event, or decisions are observed.

        Args:
            event: Canonical name.
        """
        return self._on_decision is not None or self.engine.listens(event)

    @property
    def idle(self) -> bool:
        """Whether no event has an effect: no hook, no `on_decision`, no transcript."""
        observed = self._on_decision is not None or self.transcript is not None
        return not (observed or self.engine.listens())

    # -- life

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.end("other")
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.end("exit" if kind is None else "other")

    async def start(self) -> None:
        """Begin; the first prompt gets what hooks add for the agent.

        Raises:
            RequiredHooksError: If hooks that are required stand on events that never fire here.
            StoppedError: If a hook ends the agent.
        """
        async with self._starting:  # a second caller waits for the hooks
            if self._started:
                return
            self.engine.report_problems(self.messages)
            for text in missing_for(self.framework, self.engine):
                self.messages.send(text)
            check_events(self.framework, self.engine)
            self._started = True
            self._write("session_start", source=self._source)
            decision = await self._announce(SessionStart(**self._base(), source=self._source))
            self._context += decision.context

    async def end(self, reason: str = "exit") -> None:
        """End, once, whatever else happens: a second call does nothing.

        Args:
            reason: `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
        """
        if self._ended or not self._started:
            return
        self._ended = True
        spec = self.engine.rules.by_canonical.get("session_end")
        known = spec.subjects if spec is not None else ()
        word = reason if reason in known or not known else "other"
        with anyio.CancelScope(shield=True), anyio.move_on_after(FAREWELL):
            self._write("session_end", reason=word)
            await self._announce(SessionEnd(**self._base(), reason=word), ends=True)
        for text in self._late_context:
            self.messages.send(f"the session ended before the agent got a hook's context: {text}")
        self._late_context.clear()

    async def clear(self) -> None:
        """Forget the conversation: this session ends and a new one begins."""
        await self.end("clear")
        self.session_id = str(uuid.uuid4())
        self._source = "clear"
        self._started = self._ended = False
        self._context.clear()
        await self.start()

    # -- prompts

    async def prompt(self, text: str) -> Prompt:
        """Report a prompt of the user, before the agent acts on it."""
        self._broken = False
        self._again = 0
        self._prompt = text
        event = BeforePrompt(**self._base(), prompt=text)
        decision = await self._fire(event)
        denied = await self._refusal(event, decision, text=text)
        if denied is not None:
            self._broken = True
            self._write("prompt", denied=denied)
            return Prompt(text, denied=denied)
        context = (*self._context, *self._late_context, *decision.context)
        self._context.clear()
        self._late_context.clear()
        self._write("user", content=text, context=list(context))
        return Prompt(text, context)

    async def finish(self, response: str) -> TurnEnd:
        """Report that the agent believes it is done.

        A turn that was blocked, or whose response was discarded, does not end this way.

        Args:
            response: The agent's final text of this round.
        """
        if self._broken:
            return TurnEnd()
        event = AfterAgent(
            **self._base(),
            prompt=self._prompt,
            prompt_response=response,
            stop_hook_active=self._again > 0,
        )
        decision = await self._fire(event)
        reason = await self._refusal(event, decision, text=response)
        if reason is None:
            self._again = 0
            self._late_context += decision.context
            return TurnEnd()
        self._again += 1
        if self.rounds and self._again > self.rounds:
            self.messages.send(
                f"hooks kept the agent from ending {self.rounds} times in one turn; it ends now. "
                f"The last reason: {reason}"
            )
            self._again = 0
            self._late_context += decision.context
            return TurnEnd()
        again = "\n\n".join((reason, *map(in_tags, decision.context)))
        self._write("user", content=again, hook=True)
        return TurnEnd(again=again, clear=decision.clear_context)

    # -- the model

    async def before_model(self, request: LLMRequest, *, tools: Collection[str] = ()) -> ModelCall:
        """Report a request, before it goes to the model.

        Args:
            request: The request.
            tools: The host's tools that the model may call.
        """
        event = BeforeModel(**self._base(), llm_request=request)
        decision = await self._fire(event)
        asked = decision.llm_request or request
        if decision.llm_response is not None:  # the model is not asked, so the user need not be
            denied = decision.reason if decision.outcome is Outcome.DENY else None
            return ModelCall(asked, decision.llm_response, denied)
        denied = await self._refusal(event, decision)
        if denied is not None:
            self._broken = True
            return ModelCall(asked, denied=denied)
        choice = await self._announce(BeforeToolSelection(**self._base(), llm_request=asked))
        config = choice.tool_config
        if config is None and asked.get("toolConfig") != request.get("toolConfig"):
            config = asked.get("toolConfig")
        return ModelCall(asked, tools=self._host_tools(config, tools))

    async def after_model(self, request: LLMRequest, response: LLMResponse) -> ModelReply:
        """Report a whole response, before the agent and its user get it."""
        event = AfterModel(**self._base(), llm_request=request, llm_response=response)
        decision = await self._fire(event)
        text = str((decision.llm_response or response).get("text") or "")
        denied = await self._refusal(event, decision, text=text)
        if denied is not None:
            self._broken = True
            return ModelReply(None, changed=True, denied=denied)
        changed = decision.llm_response is not None and decision.llm_response != response
        return ModelReply(decision.llm_response if changed else response, changed=changed)

    def holds_back(self, request: LLMRequest) -> bool:
        """Return whether a streamed response has to be held back until it is whole.

        A hook that may take text out must have decided before the user sees a piece of it, and
        what it looks for may be torn by the borders of chunks.
        """
        event = AfterModel(**self._base(), llm_request=request, llm_response={"candidates": []})
        return bool(self.engine.plan(event).groups)

    async def stream(self, request: LLMRequest, chunks: AsyncIterator[str]) -> AsyncIterator[str]:
        """Hand on the text of a streamed response, and nothing that a hook takes out of it.

        Without a hook on responses every chunk is handed on as it comes. With one, they are held
        back until the hook has spoken.

        Args:
            request: What the response answers.
            chunks: The pieces of its text.

        Yields:
            Pieces of the text that may be seen; none if the response is discarded.
        """
        if not self.holds_back(request):
            async for chunk in chunks:
                yield chunk
            return
        text = "".join([chunk async for chunk in chunks])
        reply = await self.after_model(request, text_response(text))
        if reply.response is not None and reply.response.get("text"):
            yield reply.response["text"]

    def _host_tools(self, config: ToolConfig | None, known: Collection[str]) -> ToolConfig | None:
        if config is None or not config.get("allowedFunctionNames"):
            return config
        names = [self.tools.host_name(name, known) for name in config["allowedFunctionNames"]]
        return {**config, "allowedFunctionNames": names}

    # -- tools

    async def before_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        requested: str | None = None,
    ) -> ToolRun:
        """Report a tool call, before anything of it happens.

        Args:
            name: The host's tool.
            arguments: Its arguments.
            call_id: The host's identifier of the call.
            requested: The tool that the model asked for, if this one runs in its place.
        """
        given = dict(arguments)
        event = BeforeTool(**self._tool(name, given, call_id, requested))
        decision = await self._fire(event)
        if decision.tool_input is not None:
            given = self.tools.changed(name, arguments, decision.tool_input)
        approved = decision.approve
        denied = None
        if decision.outcome is Outcome.ASK:
            question = Question(name, given, decision.reason or "")
            denied = await self._permission(event, decision, question)
            approved = denied is None
        else:
            denied = await self._refusal(event, decision)
        self._write("tool_call", name=name, arguments=given, denied=denied)
        if denied is not None:
            return ToolRun(False, given, reason=denied, context=decision.context)
        return ToolRun(True, given, approved, context=decision.context)

    async def _permission(
        self, event: BeforeTool, decision: Decision, question: Question
    ) -> str | None:
        """Get permission to run a tool: of hooks in the user's place, or else of the user.

        Returns:
            Why the tool must not run; `None` if it may.
        """
        settled, denied = await self._settled(event)
        if settled:
            return denied
        notified = await self._notify(
            "permission_prompt",
            f"Tool {question.tool} requires confirmation",
            {"type": "info", "title": question.tool, "prompt": question.reason},
        )
        if notified.approve:
            return None
        return await self._ask_user(event, decision, question)

    async def _settled(self, event: BeforeTool) -> tuple[bool, str | None]:
        """Let hooks answer in the user's place, where the agent has an event for that."""
        spec = self.engine.rules.by_canonical.get("permission_request")
        if spec is None:
            return False, None
        own = {f: getattr(event, f) for f in ("tool_name", "tool_input", "mcp_context")}
        request = event_class("permission_request")(**self._base(), **own)
        decision = await self._fire(request)
        if decision.outcome is Outcome.ASK:
            return False, None
        denied = await self._refusal(request, decision)
        return denied is not None or decision.outcome is Outcome.ALLOW, denied

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
        result = ToolResult(text=text_of(output), error=error, raw=output)
        fields = self._tool(name, arguments, call_id, requested)
        failed = self.engine.agent.tool_failure_event
        event: Event
        if error is not None and failed not in (None, "after_tool"):
            event = event_class(str(failed))(**{**fields, "error": error})
        else:
            response = self.tools.response(name, arguments, result)
            event = AfterTool(**fields, tool_response=response)
        decision = await self._fire(event)
        denied = await self._refusal(
            event, decision, tool=name, arguments=arguments, text=result.text
        )
        made = self._returned(event, decision, denied, name, arguments, output)
        self._write("tool_result", name=name, content=text_of(made.whole), error=error)
        return made

    def _returned(  # noqa: PLR0917 - one result, and what became of it
        self,
        event: Event,
        decision: Decision,
        denied: str | None,
        name: str,
        arguments: Mapping[str, Any],
        output: Any,
    ) -> ToolReturn:
        spec = self._spec(event)
        context = decision.context
        if decision.tool_output is not None:
            text = self.tools.text(name, arguments, decision.tool_output)
            output = text or text_of(decision.tool_output)
        if denied is not None and spec is not None and spec.denial is Denial.HIDES:
            return ToolReturn(denied, replaced=True, context=context)
        if denied is not None:
            context = (*context, denied)
        tail = None
        if decision.tail_tool_call is not None:
            call = decision.tail_tool_call
            tail = (self.tools.host_name(call["name"]), dict(call.get("args", {})))
        return ToolReturn(output, decision.tool_output is not None, context, tail)

    def _tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        call_id: str | None,
        requested: str | None,
    ) -> dict[str, Any]:
        shown, given, mcp = self.tools.told(name, arguments)
        original = None if requested is None else self.tools.told(requested, {})[0]
        return {
            **self._base(),
            "tool_name": shown,
            "tool_input": given,
            "mcp_context": mcp,
            "original_request_name": original,
            "tool_use_id": call_id,
        }

    # -- the rest

    async def compress(self, trigger: str = "auto", instructions: str | None = None) -> str | None:
        """Report that the context is about to be compressed; only when it really is.

        Returns:
            Why hooks do not want it; `None` if they do not object. An agent whose reference gives
            a denial no effect here compresses anyway, so the reason is reported, too.
        """
        event = BeforeCompress(**self._base(), trigger=trigger, custom_instructions=instructions)
        decision = await self._fire(event)
        if decision.outcome is Outcome.DENY:
            self._report_denial(event, decision)
        return await self._refusal(event, decision)

    async def notify(self, kind: str, message: str, details: dict[str, Any] | None = None) -> None:
        """Report that the user is notified.

        Args:
            kind: The type, `permission_prompt` for a tool that waits for its user.
            message: What the user reads.
            details: What it is about.
        """
        await self._notify(kind, message, details)

    async def _notify(self, kind: str, message: str, details: dict[str, Any] | None) -> Decision:
        spec = self.engine.rules.by_canonical.get("notification")
        words = spec.subject_aliases if spec is not None else {}
        own = next((word for word, usual in words.items() if usual == kind), kind)
        event = Notification(
            **self._base(), notification_type=own, message=message, details=details or {}
        )
        return await self._announce(event)

    def _base(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript or ""),
            "cwd": self.cwd,
        }

    def _spec(self, event: Event) -> EventSpec | None:
        return self.engine.rules.by_canonical.get(event.name)

    async def _announce(self, event: Event, *, ends: bool = False) -> Decision:
        """Fire an event that cannot be denied; a denial is reported with its reason."""
        decision = await self._fire(event, ends=ends)
        if decision.outcome in REFUSALS and not decision.stop:
            self._report_denial(event, decision)
        return decision

    async def _fire(self, event: Event, *, ends: bool = False) -> Decision:
        """Let hooks decide an event, and carry out what is the same on every event.

        Args:
            event: What happened.
            ends: The session ends with it, so that a stop has nothing left to end.

        Raises:
            StoppedError: If a hook ends the agent, or has ended it before.
        """
        if self.stopped is not None and not ends:
            raise StoppedError(self.stopped)
        if not self.wants(event.name):
            return NO_DECISION
        decision = await self.engine.decide(event)
        if decision.diagnostics:
            self.messages.report(decision.diagnostics)
        if self._on_decision is not None:
            self._on_decision(self.engine.complete(event), decision)
        self._write_runs(event, decision)
        for text in decision.system_messages:
            self.messages.send(text)
        if decision.stop:
            self._stop(decision.reason or "a hook ended the agent", ends=ends)
        return decision

    def _stop(self, reason: str, *, ends: bool) -> None:
        if ends:
            self.messages.send(reason)
            return
        self.stopped = reason
        self._broken = True
        self._write("stopped", reason=reason)
        raise StoppedError(reason)

    async def _refusal(
        self,
        event: Event,
        decision: Decision,
        *,
        tool: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        text: str = "",
    ) -> str | None:
        """Return why an event must not happen, or its result not be used; `None` if it may.

        The user is asked if a hook wants that; a no is a denial.
        """
        if decision.outcome is Outcome.DENY:
            return decision.reason or "denied by a hook"
        if decision.outcome is Outcome.DEFER:
            return decision.reason or "a hook wants this decided later"
        if decision.outcome is not Outcome.ASK:
            return None
        question = Question(tool, dict(arguments or {}), decision.reason or "", event.name, text)
        return await self._ask_user(event, decision, question)

    async def _ask_user(self, event: Event, decision: Decision, question: Question) -> str | None:
        """Ask the user. Returns why the answer is no; `None` for a yes."""
        reason = question.reason or "a hook wants this confirmed"
        if self._ask is not None:
            return None if await self._ask(question) else f"the user said no: {reason}"
        spec = self._spec(event)
        reason = f"{reason} ({NO_ANSWER})"
        if spec is None:
            return reason
        self.messages.report(questions_without_user(spec, decision))
        if spec.reason_audience is Audience.AGENT:  # other reasons reach the user by the host
            is_call = event.name == "before_tool"
            what = f"{question.tool} was not run" if is_call else f"{spec.wire} was denied"
            self.messages.send(f"{what}: {reason}")
        return reason

    def _report_denial(self, event: Event, decision: Decision) -> None:
        """Report a denial of an event that cannot be denied, with its reason."""
        spec = self._spec(event)
        if spec is not None:
            self.messages.report(denials_without_effect(spec, decision))

    def _write_runs(self, event: Event, decision: Decision) -> None:
        """Add the runs of an event's hooks to the transcript; a hook may suppress its own."""
        if self.transcript is None:
            return
        shown = [r for r in decision.results if not r.answer.suppress_output]
        if shown:
            self._write("hooks", event=event.name, hooks=[_run_of(result) for result in shown])

    def _write(self, kind: str, **fields: Any) -> None:
        """Add a line to the transcript; one that cannot be written ends no session."""
        if self.transcript is None:
            return
        line = json.dumps(
            {"type": kind, "session_id": self.session_id, **fields}, ensure_ascii=False, default=str
        )
        try:
            self.transcript.parent.mkdir(parents=True, exist_ok=True)
            with self.transcript.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            log.warning("the transcript cannot be written: %s", error)
            self.transcript = None


def _run_of(result: HandlerResult) -> dict[str, Any]:
    """Describe the run of one hook for the transcript."""
    answer = result.answer
    return {
        "hook": result.handler.label,
        "status": str(result.status),
        "outcome": "stop" if answer.stop else str(answer.outcome),
        "reason": answer.stop_reason or answer.reason or result.error,
    }
