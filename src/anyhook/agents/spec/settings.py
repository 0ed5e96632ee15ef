"""Where an agent's settings are, and what their hook sections look like. Its folder fills this in.

It is not part of `AgentSpec`, because a hook that an agent starts needs nothing of it. It is one
module because `SettingsFormat` is one table, of which the other classes are the columns.
"""

from __future__ import annotations

from functools import cached_property

from anyhook.model.layers import Layer
from anyhook.model.record import EMPTY, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    class RedactionSettings(Protocol):
        """What settings say about variables that commands do not inherit."""

        @property
        def strict(self) -> bool:
            """Whether only what is known to be harmless is kept."""

        @property
        def allowed(self) -> frozenset[str]:
            """Names in upper case to keep, unless the value looks like a secret."""

        @property
        def blocked(self) -> frozenset[str]:
            """Names in upper case to drop."""


HOOKS_PATH = ("hooks",)
"""Keys from the root of a settings file to its hooks, in every agent."""
MIN_TIMEOUT = 0.01
"""Seconds. Every command takes longer, so a shorter timeout would disable its hook."""

LONG_TIMEOUT = 6 * 3600.0
"""Seconds; a longer timeout in seconds was probably meant in milliseconds."""


class HandlerField(Record, kw_only=False):
    """A member of handlers of one type.

    Attributes:
        option: Name in `HandlerSpec.options`, or of an attribute of `HandlerSpec`.
        kind: `string`, `strings`, `boolean`, `number`, `count` (a whole number, not negative),
            `object` or `texts` (an object of strings).
        required: Whether a handler without it is ignored.
        not_empty: Whether a handler in which it is blank is ignored.
        words: The strings that are allowed; empty if all are.
        values: Value in the settings to the value of the option, where they differ
            (`{True: "block", False: "continue"}`).
        nullable: Whether `null` is a value of its own; otherwise it means that the member is not
            there.
        other_value: What any other value means to the agent; empty if it is a mistake.
    """

    option: str
    kind: str
    required: bool = False
    not_empty: bool = False
    words: tuple[str, ...] = ()
    values: Mapping[Any, Any] = EMPTY
    nullable: bool = False
    other_value: str = ""


class SchemaFault(Record, kw_only=False):
    """A mistake for which an agent leaves out hooks.

    Attributes:
        path: Keys from the top of the file to it.
        problem: What must be written there.
        left_out: Keys to what the agent leaves out: a hook, a matcher with its hooks or an event;
            `None` for the whole file.
    """

    path: tuple[str | int, ...]
    problem: str
    left_out: tuple[str | int, ...] | None = None


class HandlerType(Record, kw_only=False):
    """A `type` of handlers.

    Attributes:
        kind: Handler kind.
        timeout: Default timeout in seconds.
        fields: Members that only this type has.
        fixed: Options that every handler of the type gets.
        programs: Whether the agent supports a program with a list of arguments.
        runs: Whether the agent runs its handlers; otherwise it knows the type and skips them.
        milliseconds_from: A timeout of this value or more is in milliseconds, not in the agent's
            unit.
        numeric_strings: Whether a timeout may be a string that contains a number.
    """

    kind: str
    timeout: float
    fields: Mapping[str, HandlerField] = EMPTY
    fixed: Mapping[str, Any] = EMPTY
    programs: bool = False
    runs: bool = True
    milliseconds_from: float = float("inf")
    numeric_strings: bool = False

    @property
    def fail_closed_member(self) -> tuple[str, Any] | None:
        """The member, with its value, that makes a failure deny; `None` if there is none."""
        for name, field in self.fields.items():
            if field.option != "on_failure":
                continue
            written = [value for value, meaning in field.values.items() if meaning == "block"]
            return name, written[0] if written else "block"
        return None

    def timeout_unit(self, timeout: float, unit: float) -> float:
        """Return the unit of a timeout in seconds.

        The timeout is as it is written, and `unit` the agent's unit in seconds.
        """
        return 0.001 if timeout >= self.milliseconds_from else unit


class SettingsFile(Record, kw_only=False):
    """A settings file, or a pattern of settings files.

    Attributes:
        layer: The layer of its hooks.
        paths: Platform (`linux`, `darwin`, `win32`, or `*` for the others) to a path template with
            `{home}`, `{project}`, `{root}` (the repository that holds the project, else the
            project), `{directory}` (every directory from the repository down to the project, so
            that there are many files), `{config}` (the agent's directory in the home) and
            `{system_dir}` (the directory of the system layer's file). `DIRECTORY/*.json` stands for
            many files, and `DIRECTORY/**/*.json` for those of all directories below, too.
        variable: Environment variable that overrides the path.
        forms: The forms of the agent whose hooks the file can hold (`AgentSpec.forms`), in the
            order in which their hooks run; the empty name is the agent itself.
        descending: Whether the files of a pattern are read in descending order of their names.
        written_name: Name of the file that anyhook writes hooks into, where the path is a pattern.
        is_foreign: Whether it is the settings file of another agent, which this one reads as well.
            Hooks are never written into it, and it does not show that this agent is used.
        strict_json: Whether it is JSON without comments, trailing commas and a byte order mark.
        members: The members that its root may have; `None` if it holds other settings, too.
        expected_members: Member at the root to the value that it must have, if it is there.
        required_members: Those of them that must be there if the file has hooks.
        fatal_codes: Codes of the problems for which the agent drops the whole file.
        is_protected: Whether only an administrator may be able to change it: a file that its group
            or others may write is not read. At its usual place it also has to belong to root.
        switches_itself: Whether its switches only count for its own hooks, not for its layer.
    """

    layer: Layer
    paths: Mapping[str, str]
    variable: str | None = None
    forms: tuple[str, ...] = ("",)
    descending: bool = False
    written_name: str = ""
    is_foreign: bool = False
    strict_json: bool = False
    members: frozenset[str] | None = None
    expected_members: Mapping[str, Any] = EMPTY
    required_members: frozenset[str] = frozenset()
    fatal_codes: frozenset[str] = frozenset()
    is_protected: bool = False
    switches_itself: bool = False


class Companion(Record):
    """A file that the agent needs next to a settings file to run the hooks in it.

    `anyhook add` generates it, and `anyhook remove` removes it with the last hook.

    Attributes:
        path: The file, relative to the directory of the settings file.
        template: `PACKAGE:FILE` of its text. In it `__COMMAND__` stands for the command that runs
            the hooks, a JSON list of words, and `__DIGEST__` for a checksum of the text.
        command: The words of that command behind the name of the program.
    """

    path: str
    template: str
    command: tuple[str, ...]


class HookToggle(Record, kw_only=False):
    """A setting that enables or disables hooks.

    Attributes:
        path: Keys from the root of a settings file.
        kind: `enabled` or `off` (booleans), `disabled` (list of hook names), or `only` (restricts
            hooks to some layers).
        legacy: Whether only older releases have it; a newer setting in the same file overrides it.
        layers: Layers whose files may have it; empty for all.
        keeps: For `only`: the layers whose hooks still run.
        value: For `only`: the value that its list must contain; `None` if it is a boolean.
        or_true: Whether `true` means a list of all values.
        coerces: Whether any value that is true in JavaScript counts as `true`.
        file: Name of the only settings file that has it; empty for all.
    """

    path: tuple[str, ...]
    kind: str
    legacy: bool = False
    layers: frozenset[Layer] = frozenset()
    keeps: frozenset[Layer] = frozenset()
    value: str | None = None
    or_true: bool = False
    coerces: bool = False
    file: str = ""


class Extensions(Record):
    """Where extensions are installed and which files they have.

    Attributes:
        directory: Template of the directory that contains the directory of each extension, with
            `{home}` and `{config}`.
        manifest: File name of the manifest.
        hooks: Path of the hooks file in the extension.
        enablement: File in `directory` that disables extensions.
        install_record: File in the extension that holds the real path of a linked one.
        path_variables: Variable to the path that it holds: `extension` or `project`.
        text_variables: Variable to its text.
        manifest_hooks: Whether the member `hooks` of the manifest may hold the hooks, or the path
            of their file.
    """

    directory: str
    manifest: str
    hooks: str
    enablement: str
    install_record: str
    path_variables: Mapping[str, str]
    text_variables: Mapping[str, str]
    manifest_hooks: bool = False


class Plugins(Record):
    """Where plugins are recorded and which files they have.

    Attributes:
        record: Template of the file that lists the installed plugins.
        manifest: Path of the manifest in the plugin.
        hooks: Path of the hooks file in the plugin.
        enabled: Keys from the root of a settings file to the object that enables plugins by name.
        data: Template of a plugin's data directory.
        path_variables: Variable to the path that it holds: `plugin` or `data`.
        option_variable: Prefix of the environment variables of a plugin's options.
        option_placeholder: Prefix of the placeholders of a plugin's options.
    """

    record: str
    manifest: str
    hooks: str
    enabled: tuple[str, ...]
    data: str
    path_variables: Mapping[str, str]
    option_variable: str
    option_placeholder: str


class NativeTrust(Record):
    """The agent's own record of the hooks that its user trusts, and how hooks are named in it.

    Attributes:
        layer: The layer of the settings file that holds the record.
        path: Keys to the record in the file.
        key_of: Returns the key of a handler from the path of its file, the agent's name of its
            event, the index of its definition and its index there.
        hash_of: Returns the hash of a handler from the agent's name of its event, its definition
            as it is written, and its index there.
        state_of: Returns `managed`, `trusted`, `untrusted`, `modified` or `disabled` from the
            record, the key, the hash and the layer of the handler.
        review: How the user trusts hooks in the agent.
    """

    layer: Layer
    path: tuple[str, ...]
    key_of: Callable[[str, str, int, int], str]
    hash_of: Callable[[str, Mapping[str, Any], int], str]
    state_of: Callable[[Mapping[str, Any], str, str, Layer], str]
    review: str


class RedactionRules(Record):
    """Which environment variables are secret.

    Attributes:
        path: Keys from the root of a settings file to the switch and the lists of names.
        is_strict: Returns whether an environment, such as CI, enables strict redaction by itself.
        keeps: Returns whether a variable is passed on, from the settings of the redaction, the name
            in upper case, and the value.
    """

    path: tuple[str, ...]
    is_strict: Callable[[Mapping[str, str]], bool]
    keeps: Callable[[RedactionSettings, str, str], bool]


class WebRules(Record):
    """The settings that limit HTTP hooks.

    Attributes:
        allowed_urls: Keys from the root of a settings file to the list of URL patterns; empty if
            there is no such setting.
        allowed_variables: Keys to the list of variables that headers may contain; empty if there
            is no such setting.
        loopback_variable: Environment variable that allows requests to this machine if it is `1`.
    """

    allowed_urls: tuple[str, ...] = ()
    allowed_variables: tuple[str, ...] = ()
    loopback_variable: str = ""


class EnvFileRules(Record):
    """The file in which hooks set variables for the agent's shell commands.

    Attributes:
        variable: Environment variable that holds the path of the file.
        events: Canonical names of the events whose commands get the variable.
        clears: Canonical name of an event to the events whose files are discarded when it happens.
    """

    variable: str
    events: frozenset[str]
    clears: Mapping[str, frozenset[str]] = EMPTY


AUTHORITY = {
    Layer.PROJECT: 0,
    Layer.LOCAL: 0,
    Layer.PLUGIN: 1,
    Layer.EXTENSION: 1,
    Layer.USER: 2,
    Layer.SYSTEM_DEFAULTS: 2,
    Layer.SYSTEM: 3,
    Layer.MANAGED: 3,
    Layer.RUNTIME: 4,
}
"""The ranks of layers in most agents: see `SettingsFormat.authority`."""


class SettingsFormat(Record):
    """How an agent's settings files are read and written, and how its hooks are run.

    Attributes:
        files: Settings files, in the order in which they are read.
        members: Members at the root that are written together with hooks (`{"version": 1}`).
        refused_texts: Texts that no command may hold, because the agent does not accept them; the
            problem is reported as `refused-text`.
        hook_directories: Layer to the working directory of its commands: `file` (the directory of
            their settings file), `project` or `root` (the repository that holds the project); of
            other layers it is the event's.
        companions: Files that `add` generates next to the settings of each scope.
        environment: Keys from the root of a settings file to variables for all processes
            of the agent; empty if there is no such member.
        layer_order: The order in which hooks of different layers run.
        interleaved_layers: Layers whose hooks run in the order of `settings`, regardless of the
            layer; they are next to each other in `layer_order`.
        precedence: Layers by which settings override each other, the weakest first.
        authority: Layer to a rank; a layer can disable hooks of layers of no higher rank.
        needs_trust: Layers whose hooks only run in trusted projects.
        native_trust: `module:NAME` of the agent's own record of trusted hooks
            (`anyhook.agents.spec.settings.NativeTrust`); empty if it has none.
        hook_toggles: Settings that enable and disable hooks.
        non_event_keys: Keys in the hooks object that are not events.
        definition_fields: Members of a definition.
        handler_fields: Members of handlers of all types.
        entries: What an item in the list of an event can be, the first one is written:
            `definition` (a matcher and a list of handlers) or `handler` (one handler with a
            matcher of its own).
        member_names: Member of handlers (`command`, `timeout`, `args`; `program` for a program
            that is run without a shell) to the agent's names of it, the strongest first; the first
            one is written. Members that are not here have their usual name.
        shell_members: Member of handlers with a command line for another shell to that shell, a key
            of `shells`; it counts if the handler has no other command.
        default_type: `type` of handlers that have none; `None` if it is required.
        drops_flawed_entries: Whether the agent leaves out a handler with any wrong member;
            otherwise only that member is left out.
        hooks_optional: Whether a definition may have no list of handlers.
        strict_handlers: Whether handlers are read exactly as the agent does: commands are command
            lines, timeouts are whole numbers, and members that the agent does not know are ignored.
        schema_faults: `module:NAME` of what finds the mistakes in a settings file for which the
            agent leaves out hooks that anyhook reads; empty if there are none.
        matcher_costs_event: Whether a matcher that is not a text costs the agent all hooks of the
            event, also those of other files.
        rejected_json: Additions to JSON for which the agent drops one of its settings files: names
            of `anyhook.settings.formats.ADDITIONS`.
        home_variable: Environment variable that overrides the home directory.
        config_dir: Template of the agent's directory in the home, with `{home}`, or with
            `{config_home}` for the user's directory of settings (`$XDG_CONFIG_HOME`).
        config_variable: Environment variable that overrides `config_dir`.
        packages: Where extensions or plugins are, if the agent has them.
        timeout_unit: Unit of `timeout` in seconds.
        zero_timeout: Seconds that a timeout of 0 means; 0 if it is a mistake.
        handler_types: `type` of a handler to its description.
        shell: Programs with options that run command lines; the first one that exists is used.
        shells: The same for each name that handlers can set as `shell`.
        env_file: The file in which hooks set variables for shell commands, if there is one.
        stripped_prefixes: Prefixes of variables that commands do not inherit.
        expands_env: Whether environment variables in settings files are substituted.
        redaction: Which environment variables are secret, if the agent has such rules.
        web: Settings that limit HTTP hooks, if the agent has them.
    """

    files: tuple[SettingsFile, ...]
    members: Mapping[str, Any] = EMPTY
    refused_texts: tuple[str, ...] = ()
    hook_directories: Mapping[Layer, str] = EMPTY
    companions: tuple[Companion, ...] = ()
    environment: tuple[str, ...] = ()
    layer_order: tuple[Layer, ...]
    interleaved_layers: frozenset[Layer] = frozenset()
    precedence: tuple[Layer, ...] = ()
    authority: Mapping[Layer, int] = AUTHORITY
    needs_trust: frozenset[Layer]
    native_trust: str = ""
    schema_faults: str = ""
    matcher_costs_event: bool = False
    hook_toggles: tuple[HookToggle, ...]
    non_event_keys: frozenset[str] = frozenset()
    definition_fields: frozenset[str]
    handler_fields: frozenset[str]
    entries: tuple[str, ...] = ("definition",)
    member_names: Mapping[str, tuple[str, ...]] = EMPTY
    shell_members: Mapping[str, str] = EMPTY
    default_type: str | None = None
    drops_flawed_entries: bool = False
    hooks_optional: bool = False
    strict_handlers: bool = False
    rejected_json: frozenset[str] = frozenset()
    home_variable: str | None = None
    config_dir: str
    config_variable: str | None = None
    packages: Extensions | Plugins | None = None
    timeout_unit: float = 1.0
    zero_timeout: float = 0.0
    handler_types: Mapping[str, HandlerType]
    shell: tuple[tuple[str, ...], ...] = (("bash", "-c"), ("sh", "-c"))
    shells: Mapping[str, tuple[tuple[str, ...], ...]] = EMPTY
    env_file: EnvFileRules | None = None
    stripped_prefixes: tuple[str, ...] = ()
    expands_env: bool = False
    redaction: RedactionRules | None = None
    web: WebRules | None = None

    @cached_property
    def layer_ranks(self) -> Mapping[Layer, int]:
        """Layer to the position of its hooks in the order in which hooks run."""
        ranks: dict[Layer, int] = {}
        first_interleaved: int | None = None
        for rank, layer in enumerate(self.layer_order):
            ranks[layer] = rank
            if layer in self.interleaved_layers:
                first_interleaved = rank if first_interleaved is None else first_interleaved
                ranks[layer] = first_interleaved
        return ranks

    def precedence_of(self, layer: Layer) -> int:
        """Return the rank of a layer in `precedence`; -1 if it has none."""
        return self.precedence.index(layer) if layer in self.precedence else -1

    @property
    def fail_closed_member(self) -> tuple[str, object]:
        """Name and value of the member of a command that makes its failure deny."""
        return self.handler_types["command"].fail_closed_member or ("onFailure", "block")

    @property
    def fail_closed_text(self) -> str:
        """The member that makes a failed command deny, for messages: `onFailure is "block"`."""
        import json

        name, value = self.fail_closed_member
        return f"{name} is {json.dumps(value)}"

    def write_timeout(self, seconds: float) -> float:
        """Return the `timeout` of a command that means some seconds; whole numbers as `int`."""
        command = self.handler_types["command"]
        timeout = round(seconds / self.timeout_unit, 6)
        unit = command.timeout_unit(timeout, self.timeout_unit)
        timeout = round(seconds / unit, 6)
        if self.strict_handlers:  # it takes whole numbers only
            import math

            return max(1, math.ceil(timeout))
        return int(timeout) if timeout == int(timeout) else timeout

    def refused_text_in(self, command: str) -> str | None:
        """Return the first text in a command that the agent does not accept."""
        return next((text for text in self.refused_texts if text in command), None)

    def shells_for(self, choice: str) -> tuple[tuple[str, ...], ...]:
        """Return the shells that can run a command line, each with its options, the best first.

        The choice is what a handler names; it is empty for the default.
        """
        return self.shells.get(choice, self.shell)
