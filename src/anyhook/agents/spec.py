"""What an agent is: tables. A new agent is a new file of such tables and a row in `AGENTS`.

The tables are light values (`Record`), because a hook that an agent starts on every event reads
them too.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from anyhook.errors import UnknownEventError, UnknownNameError
from anyhook.model.answers import Audience
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

    from anyhook.model.answers import Outcome
    from anyhook.model.layers import Layer
    from anyhook.model.tools import Vocabulary

EMPTY: Mapping[Any, Any] = MappingProxyType({})


class OutputAction(StrEnum):
    """What is made of a command's output of one form."""

    NOTHING = "nothing"
    """It says nothing."""
    APPLY = "apply"
    """It is JSON, and its members apply."""
    TEXT = "text"
    """It is text, which the event gives a meaning (`PlainText`)."""
    BLOCK = "block"
    """It denies, whatever it says; the reason is looked for in all that was printed."""
    APPLY_AND_BLOCK = "apply_and_block"
    """Its members apply, and it denies."""
    DENY_TEXT = "deny_text"
    """It denies, and the text is the reason."""
    MESSAGE = "message"
    """It allows, and the text is for the user."""
    WARNING_MESSAGE = "warning_message"
    """The same, with the word Warning in front."""
    WARN = "warn"
    """The command failed; nothing it printed is applied."""
    FAIL = "fail"
    """Its reply cannot be read, and so it has failed, whatever else it did."""


class PlainText(StrEnum):
    """What standard output means that is not JSON."""

    SYSTEM_MESSAGE = "system_message"
    TOOL_NAMES = "tool_names"
    """Comma-separated tool names set the mode ANY; other text is a system message."""
    CONTEXT = "context"
    PATH = "path"
    """The last line that is not empty is a path."""
    NOTHING = "nothing"


class Denial(StrEnum):
    """What a denial of an event does."""

    PREVENTS = "prevents"
    """What was about to happen does not happen."""
    HIDES = "hides"
    """It has happened; the agent gets the reason in place of the result."""
    TELLS = "tells"
    """It has happened; the agent gets the reason beside the result."""
    ENDS = "ends"
    """It has happened; the agent ends its turn, and the user gets the reason."""
    CONTINUES = "continues"
    """The agent, which wanted to end, goes on with the reason."""
    NOTHING = "nothing"
    """Nothing; the event cannot be denied."""


SHORTEST_TIMEOUT = 0.01
"""Seconds; no command ends sooner, so that a shorter timeout would switch its hook off."""
ONLY_WARNS = "exit code 2 blocks; 1 only warns"
"""The hint for exit code 1 where it denies nothing: authors of guards expect that it does."""


class ExitRule(Record, kw_only=False):
    """How one kind of end is read.

    Attributes:
        json: What JSON does.
        broken: What text does that looks like a JSON object and is none.
        text: What other text does.
        empty: What silence does.
        streams: Where the output is looked for; the first that is not blank counts.
        parses: Whether JSON is looked for at all.
        hint: What is added to the report of a failure on an event that exit code 2 denies.
    """

    json: OutputAction
    broken: OutputAction
    text: OutputAction
    empty: OutputAction
    streams: tuple[str, ...] = ("stdout",)
    parses: bool = True
    hint: str = ""

    @property
    def cut(self) -> OutputAction:
        """What a JSON reply does that was longer than what is kept: a verdict in it is lost."""
        return OutputAction.FAIL if self.json is OutputAction.APPLY else self.broken


class ExitRules(Record, kw_only=False):
    """What the end of a command means.

    Attributes:
        codes: Exit code to how its output is read.
        other: Every other exit code.
        signal: Death by a signal.
    """

    codes: Mapping[int, ExitRule]
    other: ExitRule
    signal: ExitRule

    def row(self, code: int | None) -> ExitRule:
        """Return how an end is read; `None` is a death by a signal."""
        return self.signal if code is None else self.codes.get(code, self.other)


class EventSpec(Record, kw_only=False):
    """One event in an agent, under one reading of its rules.

    Attributes:
        canonical: Canonical name, known to `anyhook.model.events.event_class`.
        wire: The agent's name.
        subject: Attribute that matchers see; `None` if the event has none.
        subjects: The values that the subject can take; empty if they are open.
        style: How a matcher is read, a key of `anyhook.matching.matchers.STYLES`.
        acts_on: Fields of an answer that have an effect; others are told about.
        outcomes: Verdicts that have an effect; `None` for all.
        denial: What a denial does.
        reason_audience: Who reads the reason of a denial.
        allow_audience: Who reads the reason of an allowance.
        message_audience: Who reads a `systemMessage`.
        stdout_audience: Who sees the output of a command that succeeded.
        plain_text: What output means that is not JSON.
        can_block: Whether exit code 2 denies.
        block_audience: Who sees standard error where exit code 2 denies nothing.
        forgives_missing: Layers (empty: all) whose exit code 2 is a mere failure when it only
            says that a file is missing; `None` for no such rule.
        fails_closed: Whether `onFailure: block` makes a failure deny.
        blocks_at_timeout: Whether a timeout denies by itself.
        verdict: How verdicts are combined, a key of `anyhook.engine.verdicts.VERDICTS`.
        reasons: Whose reasons count: of the handlers that `carried` the verdict, or of `all`.
        combine: Field of an answer to the name of a policy, where it is not the usual one: a key
            of `anyhook.engine.policies.NAMED_POLICIES`, or `module:function`.
        chain: Field of an answer to the event's field that the next handler of a sequence sees
            changed by it.
        any_output: Fields of the answer that any output at all sets.
        implied: Fields of an answer that another one implies when a hook writes its reply.
        backfires: Fields of an answer that do the opposite of what they say.
        discards: Fields of an answer that are left out, because the reference gives them no
            effect; the reason of a denial that is left out is a message for the user.
        denial_discards: Fields of every answer that count for nothing if the event is denied.
        keys: Field of the event to its key in the payload; `None` if the payload lacks it.
        optional: Fields that may be missing in a payload without a word.
        kinds: Kinds of handlers that run on it; `None` for all.
        timeouts: Kind of handler to seconds, where it is not the usual default.
        caps: Layer to the seconds that no timeout of its hooks exceeds.
        conditions: Whether a handler's condition is looked at; elsewhere such a handler never
            runs.
        refusal: Fields of the answer when a prompt handler says no, and when it says no and may
            not end the turn.
        silence: What a hook prints that has no opinion: nothing where the agent reads all text.
        reads_all_output: Whether the agent takes any output for an answer, on standard error too.
        printed_as: Field of the answer that all output of a command that succeeded becomes, JSON
            too; `None` if only the members of the JSON count.
        stop_prevents: Whether ending the loop (`continue: false`) alone prevents the action.
        words: Those of the subjects that other agents call something else, with the usual word.
    """

    canonical: str
    wire: str
    subject: str | None = None
    subjects: tuple[str, ...] = ()
    style: str = "usual"
    acts_on: frozenset[str] = frozenset()
    outcomes: frozenset[Outcome] | None = None
    denial: Denial = Denial.PREVENTS
    reason_audience: Audience = Audience.USER
    allow_audience: Audience = Audience.DEBUG
    message_audience: Audience = Audience.USER
    stdout_audience: Audience = Audience.TRANSCRIPT
    plain_text: PlainText = PlainText.SYSTEM_MESSAGE
    can_block: bool = True
    block_audience: Audience = Audience.USER
    forgives_missing: frozenset[Layer] | None = None
    fails_closed: bool = True
    blocks_at_timeout: bool = False
    verdict: str = "strongest"
    reasons: str = "carried"
    combine: Mapping[str, str] = EMPTY
    chain: Mapping[str, str] = EMPTY
    any_output: Mapping[str, Any] = EMPTY
    implied: Mapping[str, Mapping[str, Any]] = EMPTY
    backfires: frozenset[str] = frozenset()
    discards: frozenset[str] = frozenset()
    denial_discards: frozenset[str] = frozenset()
    keys: Mapping[str, str | None] = EMPTY
    optional: frozenset[str] = frozenset()
    kinds: frozenset[str] | None = None
    timeouts: Mapping[str, float] = EMPTY
    caps: Mapping[Layer, float] = EMPTY
    conditions: bool = False
    refusal: tuple[Mapping[str, Any], Mapping[str, Any]] = (EMPTY, EMPTY)
    silence: str = "{}"
    reads_all_output: bool = False
    printed_as: str | None = None
    stop_prevents: bool = True
    words: Mapping[str, str] = EMPTY

    @property
    def shows_stderr(self) -> bool:
        """Whether exit code 2 shows standard error to the user, and denies nothing."""
        return not self.can_block and self.block_audience is Audience.USER

    @property
    def closes(self) -> bool:
        """Whether a failure may deny: not where that could go on for ever."""
        return self.fails_closed and self.denial not in (Denial.NOTHING, Denial.CONTINUES)


class RuleSet(Record):
    """One reading of an agent.

    Attributes:
        name: `documented` or `observed`.
        release: What it describes.
        events: The agent's events, as they are under this reading.
        exits: Canonical name of an event to what the end of a command means; `*` for the others.
        whole_object: Only text from `{` to `}` is JSON; otherwise any JSON text is.
        strings_are_text: A JSON string is text, quotes and all.
        async_replies: A command whose output starts with the object `{"async": true}` is one that
            runs in the background: nothing else that it prints, and no exit code, has an effect.
        strict: A reply with one wrong member does not count at all, and `null` is wrong.
        invalid_blocks: Exit code 2 blocks even though the JSON printed with it does not count.
        stderr_explains: Standard error is the reason of a denial in JSON that has none, when the
            command ends with exit code 2.
        valid_words: Decision words that the agent accepts on every event, with effect or without.
        ignores_unused: Members that have no effect on the event are left out.
        unchecked: A member of a wrong type counts for what JavaScript makes of it, what takes the
            place of another value takes it whatever it is, and objects are merged one level deep.
        sequence: Who runs in order when a definition is `sequential`: the handlers of that
            `definition`, or `all` of the event.
        ends_sequence: Whether a denial ends a sequence.
        same: What makes two handlers one: `identity`, or `name_and_command`.
        switches: Who has the last word on switches: the strongest `authority`, or the layer of
            the highest `precedence`.
        enabled: Whether hooks run when no file says so.
        warning_audience: Who sees standard error of a command that failed.
        merged_by_agent: Fields of a decision that the agent itself lays over those of the event.
        unexplained: Reason of a denial that gives none, with `{label}` for the hook; empty if it
            has none.
        last_key_counts: Of a verdict that a reply holds twice the last one counts; otherwise the
            strongest one does.
    """

    name: str
    release: str
    events: tuple[EventSpec, ...]
    exits: Mapping[str, ExitRules]
    merged_by_agent: frozenset[str] = frozenset()
    whole_object: bool = False
    strings_are_text: bool = False
    async_replies: bool = False
    strict: bool = False
    invalid_blocks: bool = True
    stderr_explains: bool = True
    valid_words: frozenset[str] = frozenset()
    ignores_unused: bool = False
    unchecked: bool = False
    sequence: str = "definition"
    ends_sequence: bool = True
    same: str = "identity"
    switches: str = "authority"
    enabled: bool = True
    warning_audience: Audience = Audience.DEBUG
    unexplained: str = "blocked by hook '{label}'"
    last_key_counts: bool = False

    @cached_property
    def by_canonical(self) -> Mapping[str, EventSpec]:
        """The events by canonical name."""
        return {spec.canonical: spec for spec in self.events}

    @property
    def version(self) -> str:
        """The release alone, without the name of the program: `2.1.330`."""
        return self.release.rpartition(" ")[2]

    def changed(self, differences: Differences) -> RuleSet:
        """Return rules that differ from these by a table."""
        events = [
            spec.replace(
                **{**differences.every_event, **differences.events.get(spec.canonical, EMPTY)}
            )
            for spec in self.events
        ]
        return self.replace(events=tuple(events), **differences.rules)

    def exit_table(self, event: str) -> ExitRules:
        """Return what the end of a command means on an event."""
        return self.exits.get(event) or self.exits["*"]


class Differences(Record):
    """How one rule set differs from another.

    Attributes:
        rules: Fields of `RuleSet` to their values.
        every_event: Fields of every `EventSpec` to their values.
        events: Canonical name of an event to fields of its `EventSpec`; stronger than
            `every_event`.
    """

    rules: Mapping[str, Any] = EMPTY
    every_event: Mapping[str, Any] = EMPTY
    events: Mapping[str, Mapping[str, Any]] = EMPTY


class OutputField(Record, kw_only=False):
    """One member of the JSON that a command prints.

    Attributes:
        path: Keys from the root.
        field: Field of `Answer`; `extra.NAME` for an entry of `extra`.
        kind: How it is read and written, a key of `anyhook.agents.output.KINDS`.
        events: Canonical names of the events that it belongs to; `None` for all.
        words: The words that it may hold, with what they mean, where it holds words.
        legacy: Whether it is only read, never written.
    """

    path: tuple[str, ...]
    field: str
    kind: str
    events: frozenset[str] | None = None
    words: Mapping[str, tuple[Outcome, bool]] = EMPTY
    legacy: bool = False

    def belongs_to(self, event: str) -> bool:
        """Tell whether an event has this member."""
        return self.events is None or event in self.events


class HandlerField(Record, kw_only=False):
    """One member of a handler of one type, beside those that all have.

    Attributes:
        option: Name in `HandlerSpec.options`, or of a field of `HandlerSpec` itself.
        kind: `string`, `strings`, `boolean`, `object` or `texts` (an object of strings).
        required: Whether the handler is left out without it.
        words: The strings that it may be; empty for any.
    """

    option: str
    kind: str
    required: bool = False
    words: tuple[str, ...] = ()


class HandlerType(Record, kw_only=False):
    """One `type` of handlers.

    Attributes:
        kind: Handler kind.
        timeout: Seconds, where neither the handler nor the event says.
        fields: Its own members.
        fixed: Options that every handler of the type has.
        programs: Whether the agent itself runs a program with arguments as a list.
    """

    kind: str
    timeout: float
    fields: Mapping[str, HandlerField] = EMPTY
    fixed: Mapping[str, Any] = EMPTY
    programs: bool = False


class SettingsFile(Record, kw_only=False):
    """One file that hooks come from, or one pattern of files.

    Attributes:
        layer: Its layer.
        paths: Platform (`linux`, `darwin`, `win32`, or `*`) to a template with `{home}`,
            `{project}`, `{config}` (the agent's own directory in the home) and `{system_dir}`,
            the directory of the system layer's file. A `*` in it stands for many files.
        variable: Environment variable that names another file.
    """

    layer: Layer
    paths: Mapping[str, str]
    variable: str | None = None


class HookToggle(Record, kw_only=False):
    """A place in a settings file that switches hooks off.

    Attributes:
        path: Keys from the root.
        kind: `enabled` or `off` (booleans), `disabled` (list of identifiers), or `only`.
        legacy: An older release kept it here; a newer place in the same file is stronger.
        layers: Files that may hold it; empty for all.
        keeps: Of an `only` switch: the layers whose hooks still run.
        value: Of an `only` switch: the list must hold this; `None` for a boolean.
        or_true: Whether `true` stands for a list of everything.
    """

    path: tuple[str, ...]
    kind: str
    legacy: bool = False
    layers: frozenset[Layer] = frozenset()
    keeps: frozenset[Layer] = frozenset()
    value: str | None = None
    or_true: bool = False


class Extensions(Record):
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

    finder = "extensions"

    directory: str
    manifest: str
    hooks: str
    enablement: str
    install_record: str
    path_variables: Mapping[str, str]
    text_variables: Mapping[str, str]


class Plugins(Record):
    """Where plugins are recorded and what theirs look like.

    Attributes:
        record: Template of the file that lists installed plugins.
        manifest: File of the manifest, inside the plugin.
        hooks: File of the hooks, inside the plugin.
        enabled: Keys from the root of a settings file to the switches by plugin.
        data: Template of a plugin's directory for data.
        path_variables: Variables that name paths: `plugin`, `data`.
        option_variable: What the variables of a plugin's options start with.
        option_placeholder: What the placeholders of a plugin's options start with.
    """

    finder = "plugins"

    record: str
    manifest: str
    hooks: str
    enabled: tuple[str, ...]
    data: str
    path_variables: Mapping[str, str]
    option_variable: str
    option_placeholder: str


class RedactionRules(Record):
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
    secret_values: tuple[str, ...]
    kept_prefixes: tuple[str, ...]
    harmless_prefixes: tuple[str, ...]
    always_allowed: frozenset[str]
    never_allowed: frozenset[str]
    secret_names: str

    @cached_property
    def value_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of secret values."""
        import re

        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.secret_values)

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """The pattern of secret names."""
        import re

        return re.compile(self.secret_names, re.IGNORECASE)


class WebRules(Record):
    """What bounds requests to URLs.

    Attributes:
        allowed_urls: Keys from the root of a settings file to the list of URL patterns.
        allowed_variables: The same to the variables that headers may hold.
    """

    allowed_urls: tuple[str, ...]
    allowed_variables: tuple[str, ...]


class EnvFileRules(Record):
    """The file in which a hook leaves variables for the agent's shell commands.

    Attributes:
        variable: Environment variable that names the file.
        events: Canonical names of the events whose commands get it.
        clears: Event to the events whose files it makes void when it happens.
    """

    variable: str
    events: frozenset[str]
    clears: Mapping[str, frozenset[str]] = EMPTY


class AgentSpec(Record):
    """One agent's names, wire format and rules.

    Attributes:
        name: What users call it.
        title: The agent's own name.
        event_key: Member of a payload that holds the event's name.
        raw_key: Member of a payload that holds the one it was translated from, if there is one.
        agent_key: Member that names the agent that the event came from, likewise.
        keys: Field of every event to its key in payloads; `None` if they lack it.
        rule_sets: Rule sets by name: `documented`, the usual one, and `observed`, that of the
            newest release that was observed.
        older: Former releases that were observed, the newest first: version to how it differs from
            the release after it. Their rule sets are called `observed@VERSION`.
        output: Members of a command's JSON, in the order in which a reply is written.
        output_event_key: Member that repeats the event's name; empty if there is none.
        reply_signals: Members of a reply that are no part of an answer (`async`).
        needs_event_name: Whether the agent drops a reply that does not repeat it.
        words: Decision word to verdict and whether it approves.
        foreign_words: Words of other agents that are read too, with a warning.
        foreign_output: Members that other agents' hooks print, with what to write here.
        tools: Real tool names; a matcher that hits none of them is dead.
        vocabulary: The agent's words for tools.
        response_form: How it writes what tools returned, a key of
            `anyhook.agents.responses.READERS`.
        failed_tools: The event in which it tells of tools that failed; `None` for either.
        absolute_paths: Paths in arguments of its tools are always absolute.
        fills: Field of an event that it always sends to how it is made up, a key of
            `anyhook.agents.translate.FILLS`.
        tool_prefix: What names of MCP tools start with.
        foreign_tool_prefixes: What they start with elsewhere, with what to write here.
        old_tools: Tool names of former releases and other agents, with the name to write.
        tool_aliases: Tool names of former releases to those of today. Matchers that use either
            cover the tool.
        settings: Files from the strongest claim to be read first to the last.
        layer_order: Order of layers in a plan.
        precedence: Layers from the weakest to the strongest word on a scalar setting.
        authority: A layer can switch off or stand in for layers that do not rank higher.
        needs_trust: Layers that run only when the project is trusted.
        switches: Where hooks are switched off.
        hooks_path: Keys from the root of a settings file to the hooks.
        not_events: Keys beside the events that are no events.
        old_events: Event names of other agents, with the name to write.
        definition_fields: Members of a definition.
        handler_fields: Members that handlers of every type may have.
        home_variable: Environment variable that stands in for the home directory.
        config_dir: Template of the agent's own directory in the home.
        config_variable: Environment variable that names another one.
        packages: Where extensions or plugins live, if the agent has them.
        timeout_unit: Seconds in one unit of `timeout`.
        short_timeout: Seconds; a shorter timeout was surely meant in another unit.
        long_timeout: Seconds; a longer one likewise.
        types: Hook `type` to what it is.
        other_types: Types that other agents have.
        shell: Program and options in front of a command line; the first program found is used.
        shells: Shells that a handler may choose, by name, likewise.
        settings_environment: Keys from the root of a settings file to variables that it gives all
            that it starts; empty if there is no such place.
        environment: Variable to what it holds: `project_dir`, `cwd` or `session_id`; a text with
            `=` in front is that text.
        bare_variables: Its reference writes them without quotes, as the agent quotes their values.
        env_file: The file in which hooks leave variables for shell commands, if there is one.
        drops: What names of variables start with that commands never inherit.
        expands: It puts environment variables into its settings as it reads them, quotes or not.
        payload_end: What follows the JSON on a command's standard input.
        redaction: Which environment variables are secret, if the agent has such rules.
        web: What bounds requests to URLs, if the agent makes some.
    """

    name: str
    title: str
    event_key: str
    raw_key: str | None = None
    agent_key: str | None = None
    keys: Mapping[str, str | None] = EMPTY
    rule_sets: Mapping[str, RuleSet]
    older: Mapping[str, Differences] = EMPTY
    output: tuple[OutputField, ...]
    output_event_key: tuple[str, ...]
    reply_signals: frozenset[str] = frozenset()
    needs_event_name: bool = False
    words: Mapping[str, tuple[Outcome, bool]]
    foreign_words: Mapping[str, tuple[Outcome, bool]] = EMPTY
    foreign_output: Mapping[tuple[str, ...], str] = EMPTY
    tools: tuple[str, ...]
    vocabulary: Vocabulary
    response_form: str = "raw"
    failed_tools: str | None = None
    absolute_paths: bool = False
    defaults: Mapping[str, str] = EMPTY
    tool_prefix: str
    foreign_tool_prefixes: Mapping[str, str] = EMPTY
    old_tools: Mapping[str, str] = EMPTY
    tool_aliases: Mapping[str, str] = EMPTY
    settings: tuple[SettingsFile, ...]
    layer_order: tuple[Layer, ...]
    precedence: tuple[Layer, ...] = ()
    authority: Mapping[Layer, int]
    needs_trust: frozenset[Layer]
    switches: tuple[HookToggle, ...]
    hooks_path: tuple[str, ...] = ("hooks",)
    not_events: frozenset[str] = frozenset()
    old_events: Mapping[str, str] = EMPTY
    definition_fields: frozenset[str]
    handler_fields: frozenset[str]
    home_variable: str | None = None
    config_dir: str
    config_variable: str | None = None
    packages: Extensions | Plugins | None = None
    timeout_unit: float
    short_timeout: float = 0.0
    long_timeout: float = float("inf")
    types: Mapping[str, HandlerType]
    other_types: Mapping[str, str] = EMPTY
    shell: tuple[tuple[str, ...], ...] = (("bash", "-c"), ("sh", "-c"))
    shells: Mapping[str, tuple[tuple[str, ...], ...]] = EMPTY
    settings_environment: tuple[str, ...] = ()
    environment: Mapping[str, str]
    bare_variables: bool = False
    env_file: EnvFileRules | None = None
    stripped_prefixes: tuple[str, ...] = ()
    expands_env: bool = False
    payload_end: bytes = b""
    redaction: RedactionRules | None = None
    web: WebRules | None = None

    @cached_property
    def documented(self) -> RuleSet:
        """The usual reading."""
        return self.rule_sets["documented"]

    @cached_property
    def events(self) -> tuple[EventSpec, ...]:
        """Every event, under the usual reading."""
        return self.documented.events

    @cached_property
    def by_wire(self) -> Mapping[str, EventSpec]:
        """The events by the agent's names."""
        return {spec.wire: spec for spec in self.events}

    @cached_property
    def by_canonical(self) -> Mapping[str, EventSpec]:
        """The events by canonical name."""
        return self.documented.by_canonical

    @cached_property
    def known(self) -> dict[tuple[object, ...], Any]:
        """What was worked out of these tables, by who did and of what."""
        return {}

    def members(self, event: str) -> tuple[OutputField, ...]:
        """Return one output member for each path: the event's own, where it has one."""
        found: tuple[OutputField, ...] | None = self.known.get(("members", event))
        if found is None:
            by_path: dict[tuple[str, ...], OutputField] = {}
            for item in self.output:
                if item.path not in by_path or item.belongs_to(event):
                    by_path[item.path] = item
            found = self.known["members", event] = tuple(by_path.values())
        return found

    def containers(self, event: str) -> Mapping[tuple[str, ...], frozenset[str]]:
        """Return the objects of a reply to an event, by path, with the members that they have."""
        found: dict[tuple[str, ...], frozenset[str]] | None = self.known.get(("objects", event))
        if found is None:
            paths = [item.path for item in self.output if item.belongs_to(event)]
            if self.output_event_key:
                paths.append(self.output_event_key)
            found = {(): self.reply_signals}
            for path in paths:
                for depth, name in enumerate(path):
                    found[path[:depth]] = found.get(path[:depth], frozenset()) | {name}
            self.known["objects", event] = found
        return found

    def written(self, event: str) -> tuple[OutputField, ...]:
        """Return the output members that a reply to an event may have, in their order."""
        found: tuple[OutputField, ...] | None = self.known.get(("written", event))
        if found is None:
            ours = [item for item in self.output if not item.legacy and item.belongs_to(event)]
            found = self.known["written", event] = tuple(ours)
        return found

    @property
    def default_timeout(self) -> float:
        """Seconds that a command has."""
        return self.types["command"].timeout

    def shells_for(self, choice: str = "") -> tuple[tuple[str, ...], ...]:
        """Return the shells that may run a command line, each with its options, the best first.

        Args:
            choice: The shell that a handler names in its settings; empty for the usual one.
        """
        return self.shells.get(choice, self.shell)

    def event(self, name: str) -> EventSpec:
        """Look an event up by its wire name or its canonical name.

        Raises:
            UnknownNameError: If the agent has no such event.
        """
        spec = self.by_wire.get(name) or self.by_canonical.get(name)
        if spec is None:
            raise UnknownEventError(self.title, name, self.by_wire, self._event_elsewhere(name))
        return spec

    def _event_elsewhere(self, name: str) -> str | None:
        """Return which agent has an event of that name, and how it is called here."""
        from anyhook.agents import agents_of_event, get_agent

        others = [get_agent(agent) for agent in agents_of_event(name)]
        if not others:
            return None
        spec = self.by_canonical.get(others[0].by_wire[name].canonical)
        here = f"use {spec.wire}" if spec else f"{self.title} has no such event"
        return f"it is an event of {others[0].title}; {here}"

    @property
    def rule_set_names(self) -> tuple[str, ...]:
        """The names of all rule sets: `documented`, `observed`, `observed@2.1.197`."""
        return (*self.rule_sets, *[f"observed@{version}" for version in self.older])

    def rules(self, name: str = "documented") -> RuleSet:
        """Return a rule set.

        Args:
            name: `documented`, `observed`, or `observed@VERSION` for one release.

        Raises:
            UnknownNameError: If the agent has no such rule set.
        """
        if name in self.rule_sets:
            return self.rule_sets[name]
        newest = self.rule_sets.get("observed")
        kind, _, version = name.partition("@")
        if newest is not None and kind == "observed" and version == newest.version:
            return newest
        if newest is None or name not in self.rule_set_names:
            raise UnknownNameError(
                f"{self.name} rule set", name, self.rule_set_names, list_all=True
            )
        rules: RuleSet | None = self.known.get(("rule set", name))
        if rules is None:
            rules = self.known["rule set", name] = self._older(newest, version)
        return rules

    def _older(self, newest: RuleSet, version: str) -> RuleSet:
        """Go back from the newest release, one release at a time."""
        rules = newest
        for release, differences in self.older.items():
            rules = rules.changed(differences).replace(
                name=f"{newest.name}@{release}", release=release
            )
            if release == version:
                break
        return rules

    @cached_property
    def _former_names(self) -> Mapping[str, tuple[str, ...]]:
        """Every tool name that has aliases, with all names of that tool."""
        names: dict[str, list[str]] = {}
        for former, today in self.tool_aliases.items():
            names.setdefault(today, [today]).append(former)
        return {name: tuple(same) for same in names.values() for name in same}

    def match_names(self, spec: EventSpec, subject: str | None) -> tuple[str | None, ...]:
        """Return the names under which a matcher may cover a subject: of a tool, all of its names.

        Args:
            spec: The event.
            subject: The subject of the event; `None` if it has none.
        """
        if subject is None or spec.subject != "tool_name":
            return (subject,)
        return self._former_names.get(subject, (subject,))
