"""The state of a migration and of one handler in it, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.payloads import payload_key
from anyhook.agents.translate import counterparts
from anyhook.model.layers import Layer
from anyhook.settings.directories import find_root
from anyhook.trust.scripts import named_files
from anyhook.trust.words import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.matchers import TranslatedMatcher
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.settings.sources import Location


@dataclass(slots=True)
class MigrationContext:
    """A migration in progress."""

    source: AgentSpec
    target: AgentSpec
    location: Location
    shim: bool
    """Whether commands keep the events and answers of the source."""
    program: Sequence[str]
    """The words that start anyhook in a command line."""
    losses: dict[Loss, None] = field(default_factory=dict)
    """The losses so far, in order, as keys."""
    files: dict[int, list[Path]] = field(default_factory=dict)
    """The files that the command of a handler names, by the identity of the handler."""

    def in_form(self, form: str) -> MigrationContext:
        """Return the migration of hooks of a form of the source; losses are shared."""
        return replace(self, source=self.source.form(form)) if form else self

    def record_loss(
        self,
        kind: str,
        place: Place | None,
        subject: str,
        reason: str,
        remedy: str,
        *explains: str,
    ) -> None:
        """Record a loss, once; the arguments are the attributes of `Loss`."""
        self.losses.setdefault(Loss(kind, place, subject, reason, remedy, frozenset(explains)))


@dataclass(frozen=True, slots=True)
class HandlerMigration:
    """One handler that is migrated to one event of the target."""

    context: MigrationContext
    definition: HookDefinition
    handler: HandlerSpec
    written: Mapping[str, Any]
    """The handler as it is written in the source's settings."""
    target_event: EventSpec
    matcher: TranslatedMatcher
    inner: ShimOptions | None
    """The options of the shim, if the command runs behind one already."""

    @property
    def source(self) -> AgentSpec:
        """The agent that the handler is written for."""
        return self.context.source

    @property
    def target(self) -> AgentSpec:
        """The agent that it should run under."""
        return self.context.target

    @property
    def source_event(self) -> EventSpec:
        """The event of the source."""
        return self.source.by_canonical[self.definition.event]

    @property
    def own_options(self) -> ShimOptions | None:
        """The options of the shim, if the command was written for the target originally."""
        is_own = self.inner is not None and self.inner.agent == self.target.name
        return self.inner if is_own else None

    @property
    def is_same_moment(self) -> bool:
        """Whether the target's event happens when the source's does, and at no other time."""
        sources = counterparts(self.target, self.target_event.canonical, self.source)
        return sources == (self.source_event.canonical,)

    @property
    def layer(self) -> Layer:
        """The layer of the target's file."""
        return Layer.USER if self.definition.layer is Layer.USER else Layer.PROJECT

    @property
    def shell(self) -> str:
        """The shell that the handler asks for; empty for the agent's usual one."""
        return str(self.handler.options.get("shell", ""))

    @property
    def shim_only_settings(self) -> list[str]:
        """The settings of the handler that only the shim can apply under another agent."""
        fail_closed, _ = self.source.settings.fail_closed_member
        settings = {
            "if": self.handler.condition,
            fail_closed: self.handler.on_failure == "block",
            "async": self.handler.background,
            "shell": self.shell,
        }
        return [name for name, value in settings.items() if value]

    def files(self) -> list[Path]:
        """Return the files that the command names; they are looked up once for all events."""
        cache = self.context.files
        if id(self.handler) not in cache:
            project = self.context.location.project
            variables: dict[str, str] = {}
            for name, value in self.source.hook_environment.items():
                if value in ("project_dir", "cwd", "root"):
                    variables[name] = str(project)
            # Agents without a variable for the project ask Git for the directory.
            variables[REPOSITORY] = str(find_root(project))
            variables |= self.handler.variables
            paths = named_files(self.handler, project, variables)
            cache[id(self.handler)] = [path for path in paths if path.is_file()]
        return cache[id(self.handler)]

    def record_loss(
        self, kind: str, subject: str, reason: str, remedy: str, *explains: str
    ) -> None:
        """Record a loss at the place of the handler."""
        self.context.record_loss(kind, self.handler.place, subject, reason, remedy, *explains)


# -- losses

KINDS = {
    "lost": "does not run there",
    "weaker": "has less effect there",
    "changed": "works otherwise there",
    "note": "nothing is lost",
}
"""Kind of a loss to its meaning."""
ANYTHING = "*"
MORE = "more"
ASKS = "asks"


@dataclass(frozen=True, slots=True)
class Loss:
    """A piece of the source's settings that the target cannot have unchanged."""

    kind: str
    """A key of `KINDS`."""
    place: Place | None
    subject: str
    reason: str
    remedy: str
    explains: frozenset[str] = frozenset()
    """What may differ in an answer because of it: fields in canonical form, verdicts (`deny`,
    `ask`, …), `MORE` (the target answers where the source does not), `ASKS` (the target asks where
    the source denies), or `ANYTHING`."""

    @property
    def counts(self) -> bool:
        """Whether it is more than a note."""
        return self.kind != "note"

    def explains_difference(
        self, source_answer: Mapping[str, Any], target_answer: Mapping[str, Any]
    ) -> bool:
        """Return whether it explains that two answers, in canonical form, differ."""
        if ANYTHING in self.explains:
            return True
        if MORE in self.explains and target_answer and not source_answer:
            return True
        verdicts = source_answer.get("outcome"), target_answer.get("outcome")
        if ASKS in self.explains and verdicts == ("deny", "ask"):
            return True
        parts = set(source_answer)
        if "outcome" in source_answer:
            parts.add(str(source_answer["outcome"]))
        return not self.explains.isdisjoint(parts)


_EVENT_ADVICE = {
    "subagent_stop": "guard the tool that starts agents: {before_tool} or {after_tool}",
    "subagent_start": "guard the tool that starts agents: {before_tool}",
    "permission_request": "decide in {before_tool}: ask or deny there",
    "pre_skill_shell_command": "nothing there guards shell commands in the text of skills",
    "permission_denied": "decide in {before_tool}",
    "user_prompt_expansion": "look at the prompt in {before_prompt}",
    "post_tool_batch": "look at each tool in {after_tool}",
    "before_model": "look at prompts in {before_prompt} and at tools in {before_tool}",
    "after_model": "look at what the agent does in {before_tool}, or at its end in {after_agent}",
    "before_tool_selection": "deny the tools in {before_tool}",
    "post_compact": "use {before_compress}, or {session_start}",
    "setup": "use {session_start}",
    "instructions_loaded": "use {session_start}",
    "stop_failure": "use {session_end}",
    "task_completed": "use {after_agent}",
    "task_created": "use {before_tool}",
    "file_changed": "look at files in {after_tool}",
    "before_shell": "decide in {before_tool} with the matcher {shell}",
    "after_shell": "look at the result in {after_tool} with the matcher {shell}",
    "before_mcp_call": "decide in {before_tool}, which sees tools of MCP servers as {mcp_tool}",
    "after_mcp_call": "look at the result in {after_tool}, which sees these tools as {mcp_tool}",
    "before_file_read": "decide in {before_tool} with the matcher {read_file}",
    "before_tab_read": "decide in {before_tool} what the agent reads; completions have no hooks",
    "after_file_edit": "look at the file in {after_tool} with the matcher {edit_tools}",
    "after_tab_edit": "look at files in {after_tool}; completions have no hooks",
    "agent_response": "look at the answer in {answer_event}",
    "message_display": "look at the answer in {answer_event}",
    "agent_error": "look at the error in {stop_failure}",
    "prompt_transformed": "look at the prompt in {before_prompt}",
    "todo_created": "look at the list in {after_tool} with the matcher {write_todos}",
    "todo_completed": "look at the list in {after_tool} with the matcher {write_todos}",
    "workspace_open": "use {session_start}",
}
"""Event to what can replace it, with the target's names of other events and of tools."""
ANSWER_FIELDS = {"agent_response": "response", "after_agent": "prompt_response"}
"""Event to its field with the answer of the model."""
KIND_ADVICE = {
    "prompt": "write a command that asks a model, or that decides by itself",
    "agent": "write a command that starts an agent",
    "http": "write a command that sends the event with curl and prints the answer",
    "mcp_tool": "write a command that calls the server",
}
"""Kind of handler to what can replace it."""


def event_advice(event: str, target: AgentSpec) -> str:
    """Return what can replace an event that an agent does not have."""
    names = {name: spec.wire for name, spec in target.by_canonical.items()}
    for tool, row in target.vocabulary.tools.items():
        names[tool] = row.names[0]
    # An agent without a tool for it reads files with shell commands.
    names.setdefault("read_file", names["shell"])
    names["edit_tools"] = "|".join(dict.fromkeys([names["edit_file"], names["write_file"]]))
    names["mcp_tool"] = target.vocabulary.mcp_name.format(server="SERVER", tool="TOOL")
    for answer_event, member in ANSWER_FIELDS.items():
        spec = target.by_canonical.get(answer_event)
        if spec is not None and payload_key(target, spec, member):
            names.setdefault("answer_event", spec.wire)
    try:
        return _EVENT_ADVICE[event].format(**names)
    except KeyError:
        return f"nothing in {target.title} is like it"
