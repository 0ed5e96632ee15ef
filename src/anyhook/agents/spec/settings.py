"""Where an agent's settings are, and what their hook sections look like."""

from __future__ import annotations

from functools import cached_property

from anyhook.agents.spec.rules import EMPTY
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.model.layers import Layer


HOOKS_PATH = ("hooks",)
"""Keys from the root of a settings file to its hooks, in every agent."""
MIN_TIMEOUT = 0.01
"""Seconds. Every command takes longer, so a shorter timeout would disable its hook."""


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
    """

    option: str
    kind: str
    required: bool = False
    not_empty: bool = False
    words: tuple[str, ...] = ()
    values: Mapping[Any, Any] = EMPTY
    nullable: bool = False


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
        required_members: Those of them that must be there.
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

    finder = "extensions"

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

    finder = "plugins"

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
    """Which environment variables are secret. Names are compared in upper case.

    Attributes:
        path: Keys from the root of a settings file to the switch and the lists of names.
        strict_where: Variable to the value (empty: any) that enables strict redaction.
        secret_values: Patterns of values; a variable with such a value is removed.
        kept_prefixes: Prefixes of names that are kept, even if the value is secret.
        harmless_prefixes: Prefixes of names that are kept unless the value is secret.
        always_allowed: Names that are kept.
        never_allowed: Names that are removed.
        secret_names: Pattern of names that are removed.
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
        """The compiled patterns of secret values."""
        import re

        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.secret_values)

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """The compiled pattern of secret names."""
        import re

        return re.compile(self.secret_names, re.IGNORECASE)


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
