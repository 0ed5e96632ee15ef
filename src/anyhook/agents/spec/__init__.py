"""The tables that describe an agent. Each agent's folder fills them in.

They are light values (`Record`), because a hook that an agent starts on every event loads them.
It is one module because `AgentSpec` is one list of attributes with what is derived from them.
"""

from __future__ import annotations

from functools import cached_property

from anyhook.agents.entry import event_of_shape, load_object
from anyhook.agents.spec.rules import (
    BLOCKS,
    WARNS,
    Coercions,
    Denial,
    Differences,
    EventSpec,
    ExitRule,
    ExitRules,
    OutputAction,
    PlainText,
    RuleSet,
    usual_exits,
)
from anyhook.errors import UnknownEventError, UnknownNameError
from anyhook.model.record import EMPTY, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.capabilities import Support
    from anyhook.agents.spec.settings import SettingsFormat
    from anyhook.model.answers import Answer, Outcome
    from anyhook.model.events import Event
    from anyhook.model.tools import Vocabulary

    Path = tuple[str, ...]


__all__ = [
    "BLOCKS",
    "EVENT_NAME",
    "SPECIFIC",
    "WARNS",
    "AgentSpec",
    "Coercions",
    "Denial",
    "Differences",
    "EventSpec",
    "ExitRule",
    "ExitRules",
    "OutputAction",
    "OutputField",
    "PlainText",
    "RuleSet",
    "member",
    "specific",
    "usual_exits",
]

SPECIFIC = "hookSpecificOutput"
"""The object in replies of several agents that holds the members of one event."""
EVENT_NAME = (SPECIFIC, "hookEventName")
"""Path of the member of replies that repeats the name of the event."""


class OutputField(Record, kw_only=False):
    """One member of the JSON replies of hooks.

    Attributes:
        path: Keys from the root of the reply.
        field: Field of `Answer`; `extra.NAME` for an entry of `extra`.
        kind: How it is read and written: a key of `anyhook.agents.values.VALUE_KINDS`, or the name
            of a method of `anyhook.agents.decode`: `decision` for `read_decision`.
        events: Canonical names of the events whose replies have it; `None` for all.
        words: For a decision: word (or `true`, `false`) to the verdict and whether it approves.
        legacy: Whether it is read but never written.
        overrides: Whether it replaces what members before it set, also by a value that is wrong.
        hidden_by: Paths of members; if a reply has one of them, this one has no effect.
    """

    path: tuple[str, ...]
    field: str
    kind: str
    events: frozenset[str] | None = None
    words: Mapping[Any, tuple[Outcome, bool]] = EMPTY
    legacy: bool = False
    overrides: bool = False
    hidden_by: tuple[tuple[str, ...], ...] = ()

    def belongs_to(self, event: str) -> bool:
        """Return whether replies to an event have the member."""
        return self.events is None or event in self.events


def member(
    path: str,
    field: str,
    kind: str,
    *events: str,
    words: Mapping[Any, tuple[Outcome, bool]] = EMPTY,
    legacy: bool = False,
    hidden_by: tuple[Path, ...] = (),
) -> OutputField:
    """Return a member of replies, with dots in its path, to some events; without any, to all."""
    keys = tuple(path.split("."))
    events_or_all = frozenset(events) or None
    return OutputField(keys, field, kind, events_or_all, words, legacy, hidden_by=hidden_by)


def specific(name: str, *arguments: str, **options: Any) -> OutputField:
    """Return a member of the object `SPECIFIC`; see `member`."""
    return member(f"{SPECIFIC}.{name}", *arguments, **options)


class AgentSpec(Record):
    """Everything that anyhook knows about one agent.

    Attributes:
        name: Name in options and parameters: `claude`.
        title: Name in texts: `Claude Code`.
        event_key: Member of payloads that holds the name of the event; empty if payloads do not
            name it (`payload_shapes`).
        add_origin: Adds to a payload what it was translated from: takes the payload, the name of
            the source agent, and its payload; `None` if payloads do not hold that.
        payload_keys: Field of any event to its key in payloads, where they differ; `None` if
            payloads lack it.
        payload_shapes: Event, by the agent's name, to members that only its payloads have, the
            first match counts; for payloads that do not name their event.
        forms: Name to another form of the same agent: other names of events, other payloads and
            replies. Its `AgentSpec` has the same rule sets, canonical events and layers.
        form_name: Name of this form in `forms`; empty for the agent itself.
        matches_both_names: For a form: whether its matchers may name a tool as the agent itself
            does, too.
        payload_terminator: Bytes that follow the JSON on the standard input of commands.
        documented: The default rule set, by the agent's reference.
        observed: How the newest release that was observed differs from the reference; `None` if
            no release was observed.
        older_releases: Version of an older release that was observed to its differences from the
            release after it, the newest one first. Their rule sets are named `observed@VERSION`.
        output_fields: Members of replies, in the order in which they are written.
        reply_signals: Members of replies that are not part of an answer (`async`).
        event_name_rule: What the member `EVENT_NAME` of replies must be: `own` for the name of the
            event, if it is there; `required` for the same in every reply with the object that has
            it; `any` for the name of any event of the agent, likewise; `ignored` if the agent does
            not look at it; empty if replies do not have it.
        make_valid: Returns an answer in a combination of fields that the agent accepts: takes the
            event and the answer; `None` if the agent accepts all combinations.
        decision_words: Decision word to the verdict and whether it approves.
        foreign_decisions: Decision words of other agents that are understood, with a warning.
        foreign_members: Path of a member of other agents' replies to what to write instead.
        tools: Names of the agent's tools; a matcher that matches none of them never matches.
        vocabulary: Canonical names of tools and arguments to the agent's names.
        tool_failure_event: Canonical name of the event of tools that failed; `None` if the agent
            uses either event.
        absolute_paths: Whether paths in arguments of tools are always absolute.
        field_defaults: Field that the agent always sends to the function that makes it up, a key
            of `anyhook.agents.translate.DEFAULTS`.
        tool_prefix: Prefix of the names of MCP tools.
        foreign_tool_prefixes: Prefix in other agents to the form of names here.
        foreign_tools: Names of tools of other agents that authors write by mistake. What to write
            follows from the vocabularies of all agents (`anyhook.agents.tool_names`).
        renamed_tools: Those of them that no vocabulary has to the name to write.
        tool_aliases: Tool name of older releases to today's name. A matcher with either of them
            matches the tool.
        session_variables: Entry of `Answer.extra` with variables that all later hooks of the
            session get; empty if there is none.
        samples: `module:NAME` of what payloads that are made up hold besides required members
            (`anyhook.agents.samples.Samples`); empty if nothing was recorded.
        hook_environment: Variable that hooks get to what it holds: `project_dir`, `root` (of the
            repository), `cwd`, `session_id`, `hook_dir` (of the settings file), or `=TEXT` for a
            fixed text.
        protected_environment: Those of them that `env` of a handler does not override.
        default_timeout: Default timeout of commands in seconds, as in `handler_types`.
        settings_format: `module:NAME` of the `SettingsFormat` of its settings files.
    """

    name: str
    title: str
    event_key: str = "hook_event_name"
    add_origin: Callable[[dict[str, Any], str, Mapping[str, Any]], None] | None = None
    payload_keys: Mapping[str, str | None] = EMPTY
    payload_shapes: Mapping[str, frozenset[str]] = EMPTY
    forms: Mapping[str, AgentSpec] = EMPTY
    form_name: str = ""
    matches_both_names: bool = False
    payload_terminator: bytes = b""
    documented: RuleSet
    observed: Differences | None = None
    older_releases: Mapping[str, Differences] = EMPTY
    output_fields: tuple[OutputField, ...]
    reply_signals: frozenset[str] = frozenset()
    event_name_rule: str = ""
    make_valid: Callable[[EventSpec, Answer], Answer] | None = None
    decision_words: Mapping[str, tuple[Outcome, bool]]
    foreign_decisions: Mapping[str, tuple[Outcome, bool]] = EMPTY
    foreign_members: Mapping[tuple[str, ...], str] = EMPTY
    tools: tuple[str, ...]
    vocabulary: Vocabulary
    tool_failure_event: str | None = None
    absolute_paths: bool = False
    field_defaults: Mapping[str, str] = EMPTY
    tool_prefix: str
    foreign_tool_prefixes: Mapping[str, str] = EMPTY
    foreign_tools: tuple[str, ...] = ()
    renamed_tools: Mapping[str, str] = EMPTY
    tool_aliases: Mapping[str, str] = EMPTY
    session_variables: str = ""
    samples: str = ""
    hook_environment: Mapping[str, str]
    protected_environment: frozenset[str] = frozenset()
    default_timeout: float = 60.0
    settings_format: str

    @cached_property
    def settings(self) -> SettingsFormat:
        """How its settings files are read and written.

        It is imported when it is first used, because a hook that the agent starts needs none of it.
        """
        settings_format: SettingsFormat = load_object(self.settings_format)
        return settings_format

    def command_timeout(self, event: EventSpec) -> float:
        """Return the default timeout of commands on an event, in seconds."""
        return event.default_timeouts.get("command", self.default_timeout)

    def with_settings(self, **changes: Any) -> AgentSpec:
        """Return an agent that differs in some attributes of its settings format."""
        changed = self.replace()
        changed.__dict__["settings"] = self.settings.replace(**changes)
        return changed

    # -- events

    @cached_property
    def events(self) -> tuple[EventSpec, ...]:
        """The events under the default rule set."""
        return self.documented.events

    @cached_property
    def by_wire(self) -> Mapping[str, EventSpec]:
        """The events by the agent's names."""
        return {spec.wire: spec for spec in self.events}

    @cached_property
    def by_canonical(self) -> Mapping[str, EventSpec]:
        """The events by canonical name."""
        return self.documented.by_canonical

    def event(self, name: str) -> EventSpec:
        """Return the event of an agent's name or of a canonical name.

        Raises:
            UnknownNameError: If the agent has no such event.
        """
        spec = self.by_wire.get(name) or self.by_canonical.get(name)
        form = self.form_with_event(name)
        if spec is None and form is not self:
            spec = self.by_canonical.get(form.by_wire[name].canonical)
        if spec is not None:
            return spec
        from anyhook.agents import agents_of_event, get_agent
        from anyhook.model.suggest import closest

        explanation = None
        owners = agents_of_event(name)
        if owners:
            counterpart = self.counterpart_of(name)
            advice = f"use {counterpart.wire}" if counterpart else f"{self.title} has no such event"
            explanation = f"it is an event of {get_agent(owners[0]).title}; {advice}"
        candidates: Mapping[str, EventSpec] = self.by_wire
        if closest(name, candidates) is None and closest(name, self.by_canonical) is not None:
            candidates = self.by_canonical
        raise UnknownEventError(self.title, name, candidates, explanation)

    def counterpart_of(self, name: str) -> EventSpec | None:
        """Return the event for one that another agent names so; `None` if there is none."""
        from anyhook.agents import agents_of_event, get_agent

        for owner in agents_of_event(name):
            canonical = get_agent(owner).event(name).canonical
            if canonical in self.by_canonical:
                return self.by_canonical[canonical]
        return None

    # -- forms

    def form(self, name: str) -> AgentSpec:
        """Return a form of the agent by its name; the agent itself for an empty name."""
        return self.forms[name] if name else self

    def form_of(self, payload: Mapping[str, object]) -> AgentSpec:
        """Return the form that a payload has; the agent itself if it has none of the others."""
        has_own_shape = event_of_shape(self.payload_shapes, payload) is not None
        for form in self.forms.values():
            name = payload.get(form.event_key)
            if isinstance(name, str) and name in form.by_wire and not has_own_shape:
                return form
        return self

    def form_with_event(self, name: str) -> AgentSpec:
        """Return the form that has an event of a name; the agent itself if none of the others."""
        for form in self.forms.values():
            if name in form.by_wire and name not in self.by_wire:
                return form
        return self

    def event_name_in(self, payload: Mapping[str, object]) -> object:
        """Return what a payload says its event is, or what its members show; `None` if nothing."""
        name = payload.get(self.event_key)
        if name is not None:
            return name
        return event_of_shape(self.payload_shapes, payload)

    # -- rule sets

    @cached_property
    def rule_sets(self) -> Mapping[str, RuleSet]:
        """The rule sets `documented` and, if a release was observed, `observed`."""
        if self.observed is None:
            return {"documented": self.documented}
        observed = self.documented.with_differences(self.observed)
        return {"documented": self.documented, "observed": observed}

    @property
    def rule_set_names(self) -> tuple[str, ...]:
        """The names of all rule sets: `documented`, `observed`, `observed@2.1.197`.

        `observed` is the newest of these.
        """
        versions = list(self.older_releases)
        if "observed" in self.rule_sets:
            versions.insert(0, self.rule_sets["observed"].version)
        return (*self.rule_sets, *[f"observed@{version}" for version in versions])

    def rules(self, name: str = "documented") -> RuleSet:
        """Return a rule set.

        The name is `documented`, `observed`, or `observed@VERSION` for one release.

        Raises:
            UnknownNameError: If the agent has no such rule set.
        """
        if name in self.rule_sets:
            return self.rule_sets[name]
        newest = self.rule_sets.get("observed")
        if newest is not None and name == f"observed@{newest.version}":
            return newest
        if name in self._older_rule_sets:
            return self._older_rule_sets[name]
        raise UnknownNameError(f"{self.name} rule set", name, self.rule_set_names, list_all=True)

    @property
    def newest_rules(self) -> RuleSet:
        """The rules of the newest observed release, else those of the reference."""
        return self.rule_sets.get("observed", self.documented)

    @cached_property
    def _older_rule_sets(self) -> Mapping[str, RuleSet]:
        """The rule sets of `older_releases`, each derived from the release after it."""
        rule_sets: dict[str, RuleSet] = {}
        rules = self.newest_rules
        for version, differences in self.older_releases.items():
            name = f"observed@{version}"
            rules = rules.with_differences(differences).replace(name=name, release=version)
            rule_sets[name] = rules
        return rule_sets

    # -- members of replies and payloads

    @property
    def needs_event_name(self) -> bool:
        """Whether the agent ignores replies without `EVENT_NAME`."""
        return self.event_name_rule in ("required", "any")

    def output_fields_of(self, event: str) -> tuple[OutputField, ...]:
        """Return one output field for each path: the event's own, if it has one."""
        fields = self._output_fields_by_event.get(event)
        if fields is None:
            by_path: dict[Path, OutputField] = {}
            for item in self.output_fields:
                if item.belongs_to(event):
                    by_path.pop(item.path, None)  # so that it is read at its own place
                    by_path[item.path] = item
                else:
                    by_path.setdefault(item.path, item)
            fields = self._output_fields_by_event[event] = tuple(by_path.values())
        return fields

    def written_fields(self, event: str) -> tuple[OutputField, ...]:
        """Return the output fields that replies to an event are written with, in their order."""
        fields = self._written_fields_by_event.get(event)
        if fields is None:
            candidates = [item for item in self.output_fields if not item.legacy]
            fields = tuple([item for item in candidates if item.belongs_to(event)])
            self._written_fields_by_event[event] = fields
        return fields

    def reply_objects(self, event: str) -> Mapping[Path, frozenset[str]]:
        """Return the path of each object in replies to an event, with its member names."""
        objects = self._reply_objects_by_event.get(event)
        if objects is None:
            paths = [item.path for item in self.output_fields if item.belongs_to(event)]
            if self.event_name_rule:
                paths.append(EVENT_NAME)
            objects = {(): self.reply_signals}
            for path in paths:
                for depth, name in enumerate(path):
                    parent = path[:depth]
                    objects[parent] = objects.get(parent, frozenset()) | {name}
            self._reply_objects_by_event[event] = objects
        return objects

    # Replies are read on every dispatch, so what is derived from the tables is kept.

    @cached_property
    def _output_fields_by_event(self) -> dict[str, tuple[OutputField, ...]]:
        return {}

    @cached_property
    def _written_fields_by_event(self) -> dict[str, tuple[OutputField, ...]]:
        return {}

    @cached_property
    def _reply_objects_by_event(self) -> dict[str, dict[Path, frozenset[str]]]:
        return {}

    @cached_property
    def payload_fields_by_class(self) -> dict[type[Event], tuple[tuple[str, str | None], ...]]:
        """Results of `anyhook.agents.payloads.payload_fields`."""
        return {}

    @cached_property
    def supports(self) -> dict[tuple[str, str], Support]:
        """Results of `anyhook.agents.capabilities.support` by event and ability."""
        return {}

    # -- tools

    def match_names(self, spec: EventSpec, subject: str | None) -> tuple[str | None, ...]:
        """Return the names that matchers are applied to: the subject, then its aliases."""
        if subject is None or spec.subject != "tool_name" or not spec.matches_aliases:
            return (subject,)
        tool = self.tool_aliases.get(subject, subject)
        aliases = [alias for alias, name in self.tool_aliases.items() if name == tool]
        return (subject, *[name for name in (tool, *aliases) if name != subject])
