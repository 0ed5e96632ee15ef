"""Callbacks for the Claude Agent SDK that answer with the decisions of an engine."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast, get_args

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookEvent

from anyhook.agents import get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.agents.encode import answer_of, encode_answer
from anyhook.agents.payloads import decode_event
from anyhook.agents.spec import Denial
from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of, counterparts, translate_answer, translate_event
from anyhook.authoring.degrade import ASK_ANYWAY, fit
from anyhook.engine.messages import MessageChannel
from anyhook.engine.options import EngineOptions
from anyhook.integrations.dispatch import (
    CANNOT_ASK,
    denials_without_effect,
    questions_without_user,
)
from anyhook.integrations.factory import load_engine
from anyhook.integrations.framework import (
    Framework,
    broken_hooks,
    can_be_requested,
    missing_for,
    require_events,
)
from anyhook.integrations.host_tools import HostTools
from anyhook.integrations.options import HostOptions, check_options
from anyhook.integrations.results import tag_context
from anyhook.integrations.tool_checks import ToolChecks
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import AfterAgent, BeforePrompt, ToolEvent
from anyhook.model.json import repair
from anyhook.model.tools import MCP_PREFIX, Tool

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from claude_agent_sdk import HookContext, HookInput, HookJSONOutput

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.events import Event

log = logging.getLogger("anyhook.integrations")

CLAUDE = get_agent("claude")
TIMEOUT = 2_000_000.0
"""Seconds that the program waits for a callback, close to the maximum of its timers: a callback
that is late counts as an allowance, and the engine ends every hook at that hook's own timeout."""
MAX_SESSIONS = 256
"""Sessions whose prompt is remembered for the end of their turn."""
PYTHON_KEYS = {"continue": "continue_", "async": "async_"}
"""Members of a reply that are keywords of Python, and the SDK's names of them."""

_NO_MODEL_EVENTS = "the program talks to its model itself; these hooks do not run"
CLAUDE_SDK = Framework(
    title="Claude Agent SDK",
    missing={
        "session_start": "the program has begun before it can ask; only after /clear it does",
        "session_end": "the program ends without asking; only at /clear it does",
        "before_model": _NO_MODEL_EVENTS,
        "before_tool_selection": _NO_MODEL_EVENTS,
        "after_model": _NO_MODEL_EVENTS,
        "after_tool.tail_call": "the tool's own result stands",
        "after_tool.hidden_failures": "the error stays, and the reason stands next to it",
        "after_agent.clear_context": "the agent goes on with its conversation",
        "before_prompt.ask": "a question counts as a denial",
        "after_tool.ask": "a question counts as a denial",
        "after_agent.ask": "a question counts as a denial",
        "notification.approve": "the program asks its user itself",
        "notification.stop": "the agent goes on",
        "before_compress.stop": "the agent goes on",
    },
)


ELSEWHERE = {
    "ask": "the program asks the user: pass can_use_tool= to ClaudeAgentOptions",
    "max_continuations": "the program limits its turns: pass max_turns= to ClaudeAgentOptions",
    "transcript": "the program writes the transcript of its session",
}
"""Options of the other integrations, and what the program does in their place."""


class ClaudeOptions(HostOptions, EngineOptions, total=False):
    """The options of `anyhook_hooks`: those of hosts (`HostOptions`) and of the engine."""


def anyhook_hooks(
    project_dir: str | os.PathLike[str] | None = None, **options: Unpack[ClaudeOptions]
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of a project's settings, for `ClaudeAgentOptions(hooks=…)`.

    The program reads `.claude/settings.json` itself: with `agent="claude"`, pass it
    `setting_sources=[]` too, or those hooks run twice.

    Args:
        project_dir: Directory of the project; the `cwd` of the options; by default the one that
            the current directory belongs to.
        **options: See `ClaudeOptions`; the keys of `tools` are `mcp__SERVER__TOOL`.

    Raises:
        AnyhookError: As `Engine.load` and `hooks_of` do.
        TypeError: For an option that does not exist.
    """
    _check_options(options, ClaudeOptions)
    engine, host_options = load_engine(project_dir, options)
    return hooks_of(engine, **host_options)


def hooks_of(engine: Engine, **options: Unpack[HostOptions]) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of an engine, for `ClaudeAgentOptions(hooks=…)`.

    What the SDK cannot do of them is reported at once, like hooks that do not run. Further hooks
    may be registered with the engine later, on the events of the SDK's `HookEvent`; other events
    are there if they have hooks now.

    Args:
        engine: Decides the events; not to be closed before the program ends: events that an engine
            cannot decide are denied.
        **options: See `HostOptions`; the keys of `tools` are `mcp__SERVER__TOOL`.

    Raises:
        RequiredHooksError: If hooks that are required are set on events that never fire here, or
            on a tool that `tools` does not name as the program does.
    """
    callback = _Callback(engine, options)
    relevant: dict[str, str] = {}
    for key, instead in CLAUDE_SDK.missing.items():
        event, _, ability = key.partition(".")
        spec = engine.agent.by_canonical.get(event)
        may_decide = can_be_requested(engine.agent, event, ability)
        if ability == "hidden_failures":
            may_decide = spec is not None and spec.denial is Denial.HIDES
        if may_decide:
            relevant[key] = instead
    engine.report_problems(callback.messages)
    missing = missing_for(CLAUDE_SDK.replace(missing=relevant), engine)
    for text in (*missing, *broken_hooks(engine)):
        callback.messages.send(text)
    require_events(CLAUDE_SDK, engine)
    matcher = HookMatcher(hooks=[callback.answer], timeout=TIMEOUT)
    sdk_events: set[str] = set()
    for literal in get_args(HookEvent):
        sdk_events.update(get_args(literal) or (literal,))
    configured = {definition.event for definition in engine.definitions}
    hooks: dict[HookEvent, list[HookMatcher]] = {}
    for asked in CLAUDE.events:
        events = counterparts(CLAUDE, asked.canonical, engine.agent)
        if events and (asked.wire in sdk_events or not configured.isdisjoint(events)):
            hooks[cast("HookEvent", asked.wire)] = [matcher]
    return hooks


def _check_options(options: Mapping[str, object], known: type) -> None:
    """Check the names of options.

    Raises:
        TypeError: For an option that does not exist; with what the program has in its place.
    """
    for name in options:
        if name in ELSEWHERE:
            raise TypeError(f"unexpected keyword argument: {name}; {ELSEWHERE[name]}")
    check_options(options, known)


class _Callback:
    """Answers the program's events with the decisions of an engine.

    An event of the program (`asked`) is translated for the engine's agent (`shown`), decided, and
    the answer is translated back.
    """

    def __init__(self, engine: Engine, options: HostOptions) -> None:
        _check_options(options, HostOptions)
        self.messages = MessageChannel(options.get("on_message") or engine.messages.on_message)
        self._engine = engine
        self._on_decision = options.get("on_decision")
        tools = HostTools(engine.agent, options.get("tools"))
        self._tool_checks = ToolChecks(engine, tools, CLAUDE.tools, self.messages)
        self._hosts: dict[str, AgentSpec] = {}
        for name, tool in tools.declared.items():
            # Claude Code as an agent in which a tool of that name is the canonical one.
            keys = {canonical: own for own, canonical in tool.arguments.items()}
            vocabulary = CLAUDE.vocabulary
            rows = {**vocabulary.tools, tool.tool: Tool((name,), keys)}
            self._hosts[name] = CLAUDE.replace(vocabulary=vocabulary.replace(tools=rows))
            if not name.startswith(MCP_PREFIX) and name not in CLAUDE.tools:
                text = f"tools= names {name!r}, which the program calls 'mcp__SERVER__{name}'"
                engine.unmatched_tools.report_slip(text, tools.shown_name(name), self.messages)
        self._prompts: dict[str, str] = {}

    async def answer(
        self, payload: HookInput, _tool_use_id: str | None, _context: HookContext
    ) -> HookJSONOutput:
        """Answer one event, as a callback of the SDK."""
        members = cast("dict[str, Any]", payload)
        host = self._hosts.get(str(members.get("tool_name")), CLAUDE)
        asked, _ = decode_event(host, members)
        try:
            reply = await self._decide(host, asked)
        except Exception as error:
            log.exception("%s could not be decided", asked.wire_name)
            reply = {}
            spec = CLAUDE.by_canonical.get(asked.name)
            if spec is not None and spec.can_fail_closed:
                # An exception would be an allowance.
                reason = f"hooks could not decide: {error or type(error).__name__}"
                denial = Answer(outcome=Outcome.DENY, reason=reason)
                reply = encode_answer(CLAUDE, spec, denial)
        python_reply = {PYTHON_KEYS.get(key, key): value for key, value in reply.items()}
        return cast("HookJSONOutput", python_reply)

    async def _decide(self, host: AgentSpec, host_event: Event) -> dict[str, Any]:
        spec = CLAUDE.by_canonical.get(host_event.name)
        hook_event = self._translate_event(host, host_event)
        if spec is None or hook_event.name not in self._engine.agent.by_canonical:
            return {}
        if isinstance(host_event, ToolEvent):
            self._tool_checks.check(host_event.tool_name, host_event.tool_input)
        decision = await self._engine.decide(hook_event)
        hook_spec = self._engine.rules.by_canonical[hook_event.name]
        self.messages.report(decision.diagnostics)
        if decision.outcome is Outcome.DENY:
            self.messages.report(denials_without_effect(hook_spec, decision))
        if self._on_decision is not None:
            self._on_decision(self._engine.complete(hook_event), decision)
        answer = answer_of(decision)
        can_ask = (
            support(CLAUDE, host_event.name, "ask") is not Support.NO
            or host_event.name in ASK_ANYWAY
        )
        if answer.outcome is Outcome.ASK and not can_ask:
            self.messages.report(questions_without_user(hook_spec, decision))
            reason = f"{answer.reason or 'a hook wants this confirmed'} ({CANNOT_ASK})"
            self.messages.send(f"{host_event.wire_name} was denied: {reason}")
            answer = answer.replace(outcome=Outcome.DENY, reason=reason)
        # A message for the user that the program would drop.
        if answer.system_message and support(CLAUDE, host_event.name, "message") is Support.NO:
            self.messages.send(answer.system_message)
            answer = answer.replace(system_message=None)
        if hook_event is not host_event:
            answer = self._translate_answer(host, host_event, hook_event, answer)
        reply = encode_answer(CLAUDE, spec, answer)
        try:
            json.dumps(reply, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            # A reply that cannot be sent is an allowance, too.
            return cast("dict[str, Any]", repair(reply))
        return reply

    def _translate_event(self, host: AgentSpec, host_event: Event) -> Event:
        """Translate an event for the engine's hooks."""
        if host is self._engine.agent:
            return host_event
        hook_event = translate_event(host_event, host, self._engine.agent)
        if isinstance(hook_event, BeforePrompt):
            # The most recent session is the last; the oldest one is forgotten.
            self._prompts.pop(hook_event.session_id, None)
            self._prompts[hook_event.session_id] = hook_event.prompt
            if len(self._prompts) > MAX_SESSIONS:
                del self._prompts[next(iter(self._prompts))]
        elif isinstance(hook_event, AfterAgent) and not hook_event.prompt:
            return hook_event.replace(prompt=self._prompts.get(hook_event.session_id, ""))
        return hook_event

    def _translate_answer(
        self, host: AgentSpec, host_event: Event, hook_event: Event, answer: Answer
    ) -> Answer:
        """Translate an answer for the program; what the program cannot do is reported."""
        continues = host.by_canonical[host_event.name].denial is Denial.CONTINUES
        # The reason is the agent's next prompt, which the program makes of nothing else.
        if continues and answer.outcome is Outcome.DENY and answer.context:
            reason = f"{answer.reason or 'denied by a hook'}\n\n{tag_context(answer.context)}"
            answer = answer.replace(reason=reason, context=None)
        answer, notes = translate_answer(answer, hook_event, host_event, self._engine.agent, host)
        output = answer.tool_output
        is_text = output is not None and not isinstance(output, list)
        # Tools of MCP servers return blocks.
        if (
            is_text
            and host is not CLAUDE
            and isinstance(host_event, ToolEvent)
            and host_event.tool_name.startswith(MCP_PREFIX)
        ):
            result = read_tool_result(host, call_of(host_event, host), output)
            answer = answer.replace(tool_output=[{"type": "text", "text": result.text}])
        answer, more_notes = fit(host, host_event, answer)
        for note in (*notes, *more_notes):
            self.messages.send(note)
        return answer
