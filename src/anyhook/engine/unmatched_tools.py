"""Tools of a program that no hook applies to, although there are hooks for tools.

A hook that was written for a coding agent names the tools of that agent. A program has names of its
own: a guard on `Bash` never runs for a tool `run_command`. Each such tool is reported once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anyhook.agents.tool_names import counterpart_tool
from anyhook.authoring.functions import matches_any
from anyhook.authoring.inspect import scan
from anyhook.engine.hook_files import files_of
from anyhook.engine.tool_kinds import DEEDS, ToolKind, find_kind, match_arguments
from anyhook.errors import RequiredHooksError
from anyhook.journal.records import is_recorder_command
from anyhook.matching.matchers import MATCH_ALL
from anyhook.model.diagnostics import Place, diagnose
from anyhook.model.record import EMPTY, Record
from anyhook.model.text import first_names, printable
from anyhook.model.tools import MCP_PREFIX, TOOLS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, RuleSet
    from anyhook.engine.guard import TrustGuard
    from anyhook.engine.messages import MessageChannel
    from anyhook.engine.plan import Plan
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.settings.hookset import HookSet

MAX_TOOLS = 4096
"""Tools that are remembered: names that a model makes up must not fill the memory."""


class HookSource(Protocol):
    """What has the hooks: an `Engine`."""

    agent: AgentSpec
    rules: RuleSet
    required: bool | frozenset[str]
    project_dir: Path
    hooks: HookSet

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables of the host."""

    @property
    def definitions(self) -> tuple[HookDefinition, ...]:
        """All definitions."""

    @property
    def guard(self) -> TrustGuard:
        """Decides which matchers may be evaluated."""

    def plan_for(self, rules: RuleSet, event: str, subject: str | None) -> Plan:
        """Return the handlers of an event whose subject is given."""


class ProgramTool(Record, kw_only=False):
    """A tool of the program."""

    name: str
    """The program's name of it."""
    shown_name: str
    """The name that matchers see."""
    canonical: str
    """The canonical name; a name of its own if the tool is outside the vocabulary."""
    arguments: Collection[str] = ()
    """The names of its arguments: the canonical ones, where the program gives these."""
    renamed: Mapping[str, str] = EMPTY
    """The program's names of arguments to the canonical ones that it gives them."""
    has_options: bool = False
    """Whether the program can name its tools with `tools=`. Otherwise it builds events itself."""


class _Problem(Record, kw_only=False):
    """Why no hook applies to a tool, or reads its arguments."""

    diagnostic: Diagnostic
    is_escape: bool
    """Whether a hook guards such tools, so that this one escapes it."""


class UnmatchedTools:
    """Finds the tools of a program that no hook of an engine applies to."""

    def __init__(self, engine: HookSource) -> None:
        self._engine = engine
        self._checked: set[tuple[str, str]] = set()
        self._reported: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """Check every tool again, because the hooks changed; none is reported twice."""
        self._checked.clear()

    def is_checked(self, name: str, shown_name: str) -> bool:
        """Return whether nothing is to be reported of a tool any more."""
        return (name, shown_name) in self._checked

    def check(self, tool: ProgramTool, channel: MessageChannel) -> None:
        """Report a tool that no hook applies to, once.

        Raises:
            RequiredHooksError: If the program requires hooks, and a hook guards what this tool
                plainly does. Every check of the tool raises it.
        """
        key = (tool.name, tool.shown_name)
        if key in self._checked:
            return
        problem = self._find_problem(tool)
        if problem is not None and problem.is_escape and self._is_required():
            raise RequiredHooksError([problem.diagnostic])
        # A matcher that is not trusted is not evaluated, and counts as a match.
        if all(map(self._engine.guard.may_match, self._engine.definitions)):
            _remember(self._checked, key)
        if problem is not None and key not in self._reported:
            _remember(self._reported, key)
            channel.report([problem.diagnostic])

    def report_slip(self, text: str, shown_name: str, channel: MessageChannel) -> None:
        """Report, once, that a program names a tool or an argument that does not exist.

        Raises:
            RequiredHooksError: If the program requires hooks, and one listens to that name.
        """
        problem = diagnose("unmatched-tool", text)
        events = self._deciding_events()
        if not events:
            return
        if self._is_required() and self._is_matched(events, shown_name):
            raise RequiredHooksError([problem])
        key = (text, shown_name)
        if key not in self._reported:
            _remember(self._reported, key)
            channel.report([problem])

    def _is_required(self) -> bool:
        required = self._engine.required
        if isinstance(required, bool):
            return required
        return not required.isdisjoint(self._deciding_events())

    def _find_problem(self, tool: ProgramTool) -> _Problem | None:
        events = self._deciding_events()
        if not events:
            return None
        problem = self._find_foreign_matcher(events, tool)
        if problem is not None:
            return problem
        is_matched = self._is_matched(events, tool.shown_name)
        problem = self._find_unread_argument(tool) if is_matched else None
        if problem is not None:
            return problem
        agent = self._engine.agent
        is_own_name = tool.shown_name in agent.tools
        is_own_name |= tool.shown_name in agent.vocabulary.canonical
        is_declared = tool.has_options and tool.canonical in TOOLS
        # A guard on `Write` leaves out `Bash` on purpose.
        if is_own_name or is_declared:
            return None
        kind = find_kind(agent, tool.name, tool.arguments)
        if is_matched:
            return self._find_unread_call(events, tool, kind)
        is_escape = kind is not None and self._guards_kind(events, kind)
        # A server's tools are many, and most of them do what no tool of the agent does.
        if tool.canonical.startswith(MCP_PREFIX) and not is_escape:
            return None
        text = f"{self._describe(events, tool)}; {self._remedy(tool, kind)}"
        return _Problem(diagnose("unmatched-tool", text), is_escape)

    def _find_foreign_matcher(self, events: Collection[str], tool: ProgramTool) -> _Problem | None:
        """Return the problem of a matcher that has another agent's name of a tool, or `shell`."""
        agent, name = self._engine.agent, tool.shown_name
        plans = [self._engine.plan_for(self._engine.rules, event, name) for event in events]
        for definition, handler in self._hooks_on(events):
            if handler.form or any(handler in plan.handlers for plan in plans):
                continue
            for word in re.findall(r"\w{2,}", definition.matcher or ""):
                if word in agent.tools or counterpart_tool(agent, word) != name:
                    continue
                text = (
                    f"{handler.label!r} does not run on {name!r}: its matcher has {word!r}, which "
                    f"is not a tool of {agent.title}; write {name!r}"
                )
                problem = diagnose("dead-matcher", text, handler.place, handler=handler.label)
                return _Problem(problem, is_escape=not self._is_matched(events, name))
        return None

    def _find_unread_argument(self, tool: ProgramTool) -> _Problem | None:
        """Return the problem of a tool whose main arguments have names that no hook reads."""
        if not tool.has_options or tool.canonical not in TOOLS:
            return None
        kind = match_arguments(tool.canonical, tool.arguments)
        if kind is None or not kind.renamed:
            return None
        own, canonical = next(iter(kind.renamed.items()))
        name = printable(tool.name)
        whole_kind = ToolKind(kind.tool, {**tool.renamed, **kind.renamed})
        text = (
            f"hooks do not see what tool {name!r} of this agent gets: they read {canonical!r}, and "
            f"its argument is {printable(own)!r}; write {whole_kind.mapping(name)}"
        )
        return _Problem(diagnose("unmatched-tool", text), is_escape=True)

    def _find_unread_call(
        self, events: Collection[str], tool: ProgramTool, kind: ToolKind | None
    ) -> _Problem | None:
        """Return the problem of a tool whose calls hook files get, but cannot read.

        `event.commands` and its like read calls of tools that the agent has. A guard that asks them
        runs on a tool `run_command` of the program, and lets everything pass.
        """
        if kind is None or kind.tool not in DEEDS:
            return None
        # Many tools of MCP servers take a URL for another purpose than to fetch it.
        is_of_web_server = tool.canonical.startswith(MCP_PREFIX) and kind.tool == "web_fetch"
        if is_of_web_server or kind.is_read(tool.canonical, tool.arguments):
            return None
        names: list[str] = []
        for handler in self._handlers_for(events, tool.shown_name):
            # A function that names no tools reads every tool.
            reads_every_tool = not _subjects_of(handler)
            if not handler.hook_file:
                uses = [use for path in files_of(self._engine, handler) for use in scan(path)]
                reads_every_tool = any(use.event in events and not use.subjects for use in uses)
            if reads_every_tool:
                names.append(f"{handler.label} at {printable(str(self._shown_place(handler)))}")
        if not names:
            return None
        owner = " of this agent" if tool.has_options else ""
        text = (
            f"hooks do not see what tool {printable(tool.name)!r}{owner} does, because it is not a "
            f"tool of {self._engine.agent.title} ({first_names(names)}); {self._remedy(tool, kind)}"
        )
        return _Problem(diagnose("unmatched-tool", text), is_escape=True)

    def _describe(self, events: Collection[str], tool: ProgramTool) -> str:
        texts: dict[str, None] = {}
        for definition, handler in self._hooks_on(events):
            matchers = [definition.matcher, handler.matcher]
            patterns = [text for text in matchers if text is not None and text not in MATCH_ALL]
            patterns += _subjects_of(handler)
            place = self._shown_place(handler)
            listens_to = printable(", ".join(patterns) or "every tool")
            texts[f"{handler.label} at {printable(str(place))} listens to {listens_to}"] = None
        hooks = first_names(list(texts))
        owner = " of this agent" if tool.has_options else ""
        return f"tool {printable(tool.name)!r}{owner} is one that no hook applies to ({hooks})"

    def _shown_place(self, handler: HandlerSpec) -> Place:
        """Return where a hook is defined, from the directory of the project if it is inside."""
        place, project = handler.place, self._engine.project_dir
        if not Path(place.file).is_relative_to(project):
            return place
        return Place(Path(place.file).relative_to(project).as_posix(), place.line)

    def _remedy(self, tool: ProgramTool, kind: ToolKind | None) -> str:
        agent = self._engine.agent
        name = printable(tool.name)
        if not tool.has_options:
            own_name = None if kind is None else agent.vocabulary.name(kind.tool)
            if kind is None or own_name is None:
                return f"to let hooks decide on it, write {agent.title}'s name of it in its event"
            return f"if it {kind.describe(agent)}, write tool_name={own_name!r} in its event"
        if kind is not None:
            return f"if it {kind.describe(agent)}, name it: {kind.mapping(name)}"
        events = self._deciding_events()
        guarded = [tool for tool in TOOLS if self._guards_kind(events, ToolKind(tool))]
        example = ToolKind(guarded[0] if guarded else "shell").mapping(name)
        return (
            f"if one of these hooks is for what it does, name it, like {example}; "
            f'if not, write tools={{"{name}": None}}'
        )

    def _guards_kind(self, events: Collection[str], kind: ToolKind) -> bool:
        own_name = self._engine.agent.vocabulary.name(kind.tool)
        return own_name is not None and self._is_matched(events, own_name)

    # -- the hooks

    def _deciding_events(self) -> list[str]:
        """Return the events of tools whose hooks count.

        Hooks before a call can stop it. With such hooks, one that only sees what a tool returned
        does not guard a tool; without any, the hooks on the other events of tools count.
        """
        tool_events = [s.canonical for s in self._engine.rules.events if s.subject == "tool_name"]
        events = [event for event in tool_events if any(self._hooks_on([event]))]
        return ["before_tool"] if "before_tool" in events else events

    def _hooks_on(self, events: Collection[str]) -> Iterator[tuple[HookDefinition, HandlerSpec]]:
        for definition in self._engine.definitions:
            if definition.event in events:
                for handler in definition.handlers:
                    if self._counts(handler):
                        yield definition, handler

    def _counts(self, handler: HandlerSpec) -> bool:
        """Return whether a hook can decide: not a recorder, not a shadow, and not switched off."""
        is_waited_for = not handler.background and not handler.shadow
        if not is_waited_for or is_recorder_command(handler.command or ""):
            return False
        return self._engine.hooks.switched_off(handler, self._engine.rules) is None

    def _is_matched(self, events: Collection[str], shown_name: str) -> bool:
        """Return whether a hook on one of the events applies to a tool."""
        return next(self._handlers_for(events, shown_name), None) is not None

    def _handlers_for(self, events: Collection[str], shown_name: str) -> Iterator[HandlerSpec]:
        """Yield the hooks on some events that apply to a tool."""
        names = self._engine.agent.vocabulary.all_names(shown_name)
        for event in events:
            plan = self._engine.plan_for(self._engine.rules, event, shown_name)
            for handler in plan.handlers:
                subjects = _subjects_of(handler)
                covers = not subjects or any(matches_any(pattern, names) for pattern in subjects)
                if covers and self._counts(handler):
                    yield handler


def _subjects_of(handler: HandlerSpec) -> Collection[str]:
    """Return the tools that a registered function of a hook file is for; empty for all."""
    subjects: Collection[str] = handler.options.get("subjects", ())
    return subjects


def _remember(keys: set[tuple[str, str]], key: tuple[str, str]) -> None:
    if len(keys) >= MAX_TOOLS:
        keys.clear()
    keys.add(key)
