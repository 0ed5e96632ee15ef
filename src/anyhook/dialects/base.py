"""What a dialect is: tables. A new agent is a new file of such tables and a row in `DIALECTS`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from anyhook.errors import UnknownNameError
from anyhook.model.decisions import Audience

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from anyhook.model.answers import Outcome
    from anyhook.model.definitions import Layer


class ExitRule(StrEnum):
    """What the end of a command means."""

    PARSE = "parse"
    """Its standard output is its answer."""
    BLOCK = "block"
    """It denies."""
    WARN = "warn"
    """It failed; nothing it printed is applied."""


class PlainText(StrEnum):
    """What standard output means that is not JSON."""

    SYSTEM_MESSAGE = "system_message"
    TOOL_NAMES = "tool_names"
    """Comma-separated tool names set the mode ANY; other text is a system message."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One reading of a dialect.

    Attributes:
        name: `documented` or `observed`.
        release: What it describes.
        exit_codes: Exit code to meaning.
        other_exit: Meaning of every other exit code.
        on_signal: Meaning of a death by signal.
    """

    name: str
    release: str
    exit_codes: Mapping[int, ExitRule]
    other_exit: ExitRule
    on_signal: ExitRule


@dataclass(frozen=True, slots=True)
class EventSpec:
    """One event in a dialect.

    Attributes:
        canonical: Canonical name, a key of `EVENTS`.
        wire: The dialect's name.
        subject: Attribute that matchers see; `None` if the event has none.
        subjects: The values that the subject can take; empty if they are open.
        acts_on: Fields of an answer that have an effect; others are told about.
        reason_audience: Who reads the reason of a denial.
        plain_text: What output means that is not JSON.
        combine: Field of an answer to the name of a policy (`anyhook.engine.combine.POLICIES`)
            where it is not the usual one.
        chain: Field of an answer to the event's field that the next handler of a sequence sees
            changed by it.
    """

    canonical: str
    wire: str
    subject: str | None = None
    subjects: tuple[str, ...] = ()
    acts_on: frozenset[str] = frozenset()
    reason_audience: Audience = Audience.USER
    plain_text: PlainText = PlainText.SYSTEM_MESSAGE
    combine: Mapping[str, str] = field(default_factory=dict)
    chain: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputField:
    """One member of the JSON that a command prints.

    Attributes:
        path: Keys from the root.
        field: Field of `Answer`.
        kind: How it is read and written, a key of `anyhook.dialects.output.KINDS`.
    """

    path: tuple[str, ...]
    field: str
    kind: str


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One file that hooks come from.

    Attributes:
        layer: Its layer.
        paths: Platform (`linux`, `darwin`, `win32`, or `*`) to a template with `{home}`,
            `{project}` and `{system_dir}`, the directory of the system layer's file.
        variable: Environment variable that names another file.
    """

    layer: Layer
    paths: Mapping[str, str]
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """A place in a settings file that switches hooks off.

    Attributes:
        path: Keys from the root.
        kind: `enabled` (boolean) or `disabled` (list of identifiers).
        legacy: An older release kept it here; a newer place in the same file is stronger.
    """

    path: tuple[str, ...]
    kind: str
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class Extensions:
    """Where extensions live and what theirs look like.

    Attributes:
        directory: Template of the directory that holds one directory each.
        manifest: File name of the manifest.
        hooks: File of the hooks, inside the extension.
        enablement: File that says where an extension is switched off, inside `directory`.
        install_record: File that says where a linked extension really is.
        path_variables: Variables that name paths: the extension's, the project's.
        text_variables: Other variables, with their texts.
    """

    directory: str
    manifest: str
    hooks: str
    enablement: str
    install_record: str
    path_variables: Mapping[str, str]
    text_variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """Which environment variables are secret. Names are compared in upper case.

    Attributes:
        path: Keys from the root of a settings file to the switch and the lists.
        strict_where: Variable to value (empty: any) that makes redaction strict by itself.
        secret_values: A variable whose value matches one is dropped whatever its name.
        kept_prefixes: Names that are kept even if the value looks like a secret.
        harmless_prefixes: Names that are kept if the value does not.
        always_allowed: Names that are kept.
        never_allowed: Names that are dropped.
        secret_names: Names that are dropped.
    """

    path: tuple[str, ...]
    strict_where: Mapping[str, str]
    secret_values: tuple[re.Pattern[str], ...]
    kept_prefixes: tuple[str, ...]
    harmless_prefixes: tuple[str, ...]
    always_allowed: frozenset[str]
    never_allowed: frozenset[str]
    secret_names: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One agent's names, wire format and rules.

    Attributes:
        name: What users call it.
        title: The agent's own name.
        events: Every event.
        event_key: Member of a payload that holds the event's name.
        rules: Readings by name.
        output: Members of a command's JSON, in the order in which a reply is written.
        output_event_key: Member that repeats the event's name.
        words: Decision word to verdict and whether it approves.
        foreign_output: Members that other agents' hooks print, with what to write here.
        tools: Real tool names; a matcher that hits none of them is dead.
        tool_prefix: What names of MCP tools start with.
        foreign_tool_prefixes: What they start with elsewhere, with what to write here.
        old_tools: Tool names of former releases and other agents, with the name to write.
        settings: Files from the strongest claim to be read first to the last.
        layer_order: Order of layers in a plan.
        authority: A layer can switch off or stand in for layers that do not rank higher.
        needs_trust: Layers that run only when the project is trusted.
        switches: Where hooks are switched off.
        hooks_path: Keys from the root of a settings file to the hooks.
        not_events: Keys beside the events that are no events.
        old_events: Event names of other agents, with the name to write.
        definition_fields: Members of a definition.
        handler_fields: Members of a handler.
        home_variable: Environment variable that stands in for the home directory.
        extensions: Where extensions live, if the agent has them.
        timeout_unit: Seconds in one unit of `timeout`.
        default_timeout: Seconds.
        short_timeout: Seconds; a shorter timeout was surely meant in another unit.
        kinds: Hook `type` to handler kind.
        other_kinds: Types that other agents have.
        shell: Program and options in front of a command line; the first program found is used.
        environment: Variable to what it holds: `project_dir`, `cwd` or `session_id`.
        payload_end: What follows the JSON on a command's standard input.
        redaction: Which environment variables are secret, if the agent has such rules.
    """

    name: str
    title: str
    events: tuple[EventSpec, ...]
    event_key: str
    rules: Mapping[str, Rules]
    output: tuple[OutputField, ...]
    output_event_key: tuple[str, ...]
    words: Mapping[str, tuple[Outcome, bool]]
    foreign_output: Mapping[tuple[str, ...], str]
    tools: tuple[str, ...]
    tool_prefix: str
    foreign_tool_prefixes: Mapping[str, str]
    old_tools: Mapping[str, str]
    settings: tuple[SettingsFile, ...]
    layer_order: tuple[Layer, ...]
    authority: Mapping[Layer, int]
    needs_trust: frozenset[Layer]
    switches: tuple[Switch, ...]
    hooks_path: tuple[str, ...]
    not_events: frozenset[str]
    old_events: Mapping[str, str]
    definition_fields: frozenset[str]
    handler_fields: frozenset[str]
    home_variable: str | None
    extensions: Extensions | None
    timeout_unit: float
    default_timeout: float
    short_timeout: float
    kinds: Mapping[str, str]
    other_kinds: Mapping[str, str]
    shell: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    payload_end: bytes = b""
    redaction: RedactionRules | None = None
    by_wire: Mapping[str, EventSpec] = field(init=False)
    by_canonical: Mapping[str, EventSpec] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_wire", {spec.wire: spec for spec in self.events})
        object.__setattr__(self, "by_canonical", {spec.canonical: spec for spec in self.events})

    def event(self, name: str) -> EventSpec:
        """Look an event up by its wire name or its canonical name.

        Raises:
            UnknownNameError: If the dialect has no such event.
        """
        spec = self.by_wire.get(name) or self.by_canonical.get(name)
        if spec is None:
            raise UnknownNameError(f"{self.name} event", name, self.by_wire)
        return spec

    def reading(self, rules: str) -> Rules:
        """Look a rule set up by name.

        Raises:
            UnknownNameError: If the dialect has no such rules.
        """
        if rules not in self.rules:
            raise UnknownNameError(f"{self.name} rule set", rules, self.rules)
        return self.rules[rules]
