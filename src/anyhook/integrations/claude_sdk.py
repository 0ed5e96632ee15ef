"""Hooks of any agent's settings in the Claude Agent SDK.

    ClaudeAgentOptions(hooks=anyhook_hooks(".", agent="gemini"))

The SDK drives the program Claude Code, which owns the loop: it asks these callbacks, and does what
they answer. So what a decision means over a session (going round again, what a stop ends, where a
question goes) is the program's. A hook that ends the agent (`continue: false`) ends its turn with a
`ResultMessage`; nothing is raised. A message of a hook arrives as a `SystemMessage`; one that the
program would drop goes to `on_message`.

Sources: `claude_agent_sdk.types` of release 0.2.186, and what its program, 2.1.329, was seen to do.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast, get_args

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookEvent

from anyhook.agents import get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.agents.payloads import decode_event
from anyhook.agents.replies import answer_of, encode_answer
from anyhook.agents.spec import Denial
from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of, counterparts, translate_answer, translate_event
from anyhook.authoring.degrade import ASK_ANYWAY, fit
from anyhook.engine.engine import Engine
from anyhook.engine.messages import MessageChannel
from anyhook.integrations.frameworks import Framework, check_events, may_be_wanted, missing_for
from anyhook.integrations.host_tools import HostTool
from anyhook.integrations.reports import NO_ANSWER, denials_without_effect, questions_without_user
from anyhook.integrations.session import in_tags
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import AfterAgent, BeforePrompt, ToolEvent
from anyhook.model.json import repair
from anyhook.model.tools import MCP_PREFIX, Tool

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping

    from claude_agent_sdk import HookContext, HookInput, HookJSONOutput

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event

log = logging.getLogger("anyhook.integrations")

CLAUDE = get_agent("claude")
TIMEOUT = 2_000_000.0
"""Seconds that the program waits for a callback, nearly as long as its timers can: a callback that
is late counts as an allowance, and the engine ends every hook at that hook's own timeout."""
SESSIONS = 256
"""Sessions whose prompt is remembered for the end of their turn."""
PYTHON_KEYS = {"continue": "continue_", "async": "async_"}
"""Members of a reply that are words of Python, as the SDK wants them."""

_OWN = "the program talks to its model itself; these hooks do not run"
CLAUDE_SDK = Framework(
    title="Claude Agent SDK",
    package="claude-agent-sdk",
    missing={
        "session_start": "the program has begun before it can ask; only after /clear it does",
        "session_end": "the program ends without asking; only at /clear it does",
        "before_model": _OWN,
        "before_tool_selection": _OWN,
        "after_model": _OWN,
        "after_tool.tail_call": "the tool's own result stands",
        "after_tool.hidden_failures": "the error stays, and the reason stands beside it",
        "after_agent.clear_context": "the agent goes on with its conversation",
        "before_prompt.ask": "a question counts as a denial",
        "after_tool.ask": "a question counts as a denial",
        "after_agent.ask": "a question counts as a denial",
        "notification.approve": "the program asks its user itself",
        "notification.stop": "the agent goes on",
        "before_compress.stop": "the agent goes on",
    },
)


def anyhook_hooks(
    project_dir: str | os.PathLike[str] | None = None,
    *,
    agent: str | None = None,
    tools: Mapping[str, str | HostTool] | None = None,
    on_message: Callable[[str], object] | None = None,
    on_decision: Callable[[Event, Decision], object] | None = None,
    require: bool | Collection[str] = False,
    **engine_options: Any,
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of a project's settings, for `ClaudeAgentOptions(hooks=…)`.

    The program reads `.claude/settings.json` itself: with `agent="claude"`, give it
    `setting_sources=[]` too, or those hooks run twice.

    Args:
        project_dir: Directory of the project; the `cwd` of the options; by default the one that
            the current directory belongs to.
        agent: `gemini`, `claude`, `terminai` or `generic`; by default the agent that has
            hooks in the project.
        tools: Your tools (`mcp__SERVER__TOOL`) in canonical words: see `hooks_of`.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        require: Raise if configured hooks do not run: see `Engine.load`.
        engine_options: Those of `Engine.load`.

    Raises:
        UnknownNameError: If there is no such agent or rule set.
        UsageError: If several agents have hooks here and none is named.
        RequiredHooksError: If hooks that are required do not run.
    """
    engine = Engine.load(
        project_dir, agent=agent, require=require, on_message=on_message, **engine_options
    )
    return hooks_of(engine, tools=tools, on_message=on_message, on_decision=on_decision)


def hooks_of(
    engine: Engine,
    *,
    tools: Mapping[str, str | HostTool] | None = None,
    on_message: Callable[[str], object] | None = None,
    on_decision: Callable[[Event, Decision], object] | None = None,
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of an engine, for `ClaudeAgentOptions(hooks=…)`.

    What the SDK cannot do of them is reported at once, like hooks that do not run. Further hooks
    may be registered with the engine later, on the events of the SDK's `HookEvent`; other events
    are there if they have hooks now.

    Args:
        engine: Whose hooks decide; not to be closed before the program ends: events that an engine
            cannot decide are denied.
        tools: Your tools (`mcp__SERVER__TOOL`) to what they do: a canonical name (`shell`,
            `write_file`, …) or a `HostTool`; so that hooks on shells guard them.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.

    Raises:
        RequiredHooksError: If hooks that are required stand on events that never fire here.
    """
    guard = _Guard(engine, tools or {}, on_message, on_decision)
    row = CLAUDE_SDK.replace(
        missing={
            key: instead
            for key, instead in CLAUDE_SDK.missing.items()
            if _is_known(engine.agent, key)
        }
    )
    engine.report_problems(guard.messages)
    for text in missing_for(row, engine):
        guard.messages.send(text)
    check_events(CLAUDE_SDK, engine)
    matcher = HookMatcher(hooks=[guard.answer], timeout=TIMEOUT)
    names = cast("Iterator[HookEvent]", _events(engine))
    return {name: [matcher] for name in names}


def _events(engine: Engine) -> Iterator[str]:
    """Yield the program's names of the events that may be decided by an engine's hooks."""
    always = {name for part in get_args(HookEvent) for name in get_args(part) or (part,)}
    configured = {definition.event for definition in engine.definitions}
    for spec in CLAUDE.events:
        theirs = counterparts(CLAUDE, spec.canonical, engine.agent)
        if theirs and (spec.wire in always or not configured.isdisjoint(theirs)):
            yield spec.wire


def _is_known(agent: AgentSpec, key: str) -> bool:
    """Tell whether hooks of an agent may decide what a row speaks of."""
    event, _, ability = key.partition(".")
    spec = agent.by_canonical.get(event)
    if ability == "hidden_failures":
        return spec is not None and spec.denial is Denial.HIDES
    return may_be_wanted(agent, event, ability)


def _host_of(name: str, tool: str | HostTool) -> AgentSpec:
    """Return Claude Code as an agent in which a tool of that name is the canonical one."""
    known = tool if isinstance(tool, HostTool) else HostTool(tool)
    keys = {canonical: own for own, canonical in known.arguments.items()}
    words = CLAUDE.vocabulary
    tools = {**words.tools, known.tool: Tool((name,), keys)}
    return CLAUDE.replace(vocabulary=words.replace(tools=tools))


class _Guard:
    """Answers the program's events with the decisions of an engine."""

    def __init__(
        self,
        engine: Engine,
        tools: Mapping[str, str | HostTool],
        on_message: Callable[[str], object] | None,
        on_decision: Callable[[Event, Decision], object] | None,
    ) -> None:
        self.engine = engine
        self.messages = MessageChannel(on_message or engine.messages.on_message)
        self._on_decision = on_decision
        self._hosts = {name: _host_of(name, tool) for name, tool in tools.items()}
        self._prompts: dict[str, str] = {}

    async def answer(
        self, payload: HookInput, _tool_use_id: str | None, _context: HookContext
    ) -> HookJSONOutput:
        """Answer one event, as a callback of the SDK."""
        given = cast("dict[str, Any]", payload)
        host = self._hosts.get(str(given.get("tool_name")), CLAUDE)
        asked, _ = decode_event(host, given)
        try:
            reply = _sendable(await self._decide(host, asked))
        except Exception as error:
            log.exception("%s could not be decided", asked.wire_name)
            reply = _refusal(asked, error)
        return cast("HookJSONOutput", {PYTHON_KEYS.get(k, k): v for k, v in reply.items()})

    async def _decide(self, host: AgentSpec, asked: Event) -> dict[str, Any]:
        spec = CLAUDE.by_canonical.get(asked.name)
        shown = self._shown(host, asked)
        if spec is None or shown.name not in self.engine.agent.by_canonical:
            return {}
        decision = await self.engine.decide(shown)
        self._report(shown, decision)
        if self._on_decision is not None:
            self._on_decision(self.engine.complete(shown), decision)
        answer = self._told(asked, self._settled(asked, shown, decision))
        if shown is not asked:
            answer = self._fitting(host, asked, shown, answer)
        return encode_answer(CLAUDE, spec, answer)

    def _report(self, shown: Event, decision: Decision) -> None:
        """Report what was wrong with an event's hooks, and denials that deny nothing."""
        self.messages.report(decision.diagnostics)
        if decision.outcome is Outcome.DENY:
            spec = self.engine.rules.by_canonical[shown.name]
            self.messages.report(denials_without_effect(spec, decision))

    def _settled(self, asked: Event, shown: Event, decision: Decision) -> Answer:
        """Return the answer; a question that the program cannot ask counts as a denial."""
        answer = answer_of(decision)
        can_ask = support(CLAUDE, asked.name, "ask") is not Support.NO or asked.name in ASK_ANYWAY
        if answer.outcome is not Outcome.ASK or can_ask:
            return answer
        self.messages.report(
            questions_without_user(self.engine.rules.by_canonical[shown.name], decision)
        )
        reason = f"{answer.reason or 'a hook wants this confirmed'} ({NO_ANSWER})"
        self.messages.send(f"{asked.wire_name} was denied: {reason}")
        return answer.replace(outcome=Outcome.DENY, reason=reason)

    def _shown(self, host: AgentSpec, asked: Event) -> Event:
        """Put an event in the words of the engine's hooks."""
        if host is self.engine.agent:
            return asked
        shown = translate_event(asked, host, self.engine.agent)
        if isinstance(shown, BeforePrompt):
            self._prompts.pop(shown.session_id, None)
            self._prompts[shown.session_id] = shown.prompt
            if len(self._prompts) > SESSIONS:
                del self._prompts[next(iter(self._prompts))]
        elif isinstance(shown, AfterAgent) and not shown.prompt:
            return shown.replace(prompt=self._prompts.get(shown.session_id, ""))
        return shown

    def _told(self, asked: Event, answer: Answer) -> Answer:
        """Tell the user what the program would not."""
        if not answer.system_message or support(CLAUDE, asked.name, "tell") is not Support.NO:
            return answer
        self.messages.send(answer.system_message)
        return answer.replace(system_message=None)

    def _fitting(self, host: AgentSpec, asked: Event, shown: Event, answer: Answer) -> Answer:
        """Put an answer in the program's words, as far as it goes; the rest is told."""
        spec = host.by_canonical[asked.name]
        goes_on = spec.denial is Denial.CONTINUES and answer.outcome is Outcome.DENY
        if goes_on and answer.context:  # the reason is the next prompt, and all that it is made of
            reason = f"{answer.reason or 'denied by a hook'}\n\n{in_tags(answer.context)}"
            answer = answer.replace(reason=reason, context=None)
        made, notes = translate_answer(answer, shown, asked, self.engine.agent, host)
        if host is not CLAUDE and made.tool_output is not None:
            made = _as_parts(host, asked, made)
        made, more = fit(host, asked, made)
        for note in (*notes, *more):
            self.messages.send(note)
        return made


def _as_parts(host: AgentSpec, asked: Event, answer: Answer) -> Answer:
    """Write a result in the form of tools behind MCP, as those of the SDK's users are."""
    is_mcp = isinstance(asked, ToolEvent) and asked.tool_name.startswith(MCP_PREFIX)
    if not is_mcp or isinstance(answer.tool_output, list):
        return answer
    result = read_tool_result(host, call_of(cast("ToolEvent", asked), host), answer.tool_output)
    return answer.replace(tool_output=[{"type": "text", "text": result.text}])


def _refusal(asked: Event, error: Exception) -> dict[str, Any]:
    """Deny what could not be decided: to the program an exception is an allowance."""
    spec = CLAUDE.by_canonical.get(asked.name)
    if spec is None or not spec.can_fail_closed:
        return {}
    reason = f"hooks could not be asked: {error or type(error).__name__}"
    return encode_answer(CLAUDE, spec, Answer(outcome=Outcome.DENY, reason=reason))


def _sendable(reply: dict[str, Any]) -> dict[str, Any]:
    """Repair what JSON does not have: a reply that cannot be sent is an allowance, too."""
    try:
        json.dumps(reply, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return cast("dict[str, Any]", repair(reply))
    return reply
