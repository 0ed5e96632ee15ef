"""The table of an agent's settings files. Each agent's folder fills it in.

It is not part of `AgentSpec`, because a hook that an agent starts needs nothing of it.
"""

from __future__ import annotations

from functools import cached_property

from anyhook.agents.spec.rules import EMPTY
from anyhook.model.layers import Layer
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.spec.settings import (
        Companion,
        EnvFileRules,
        Extensions,
        HandlerType,
        HookToggle,
        Plugins,
        RedactionRules,
        SettingsFile,
        WebRules,
    )

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
        members: Member at the root of every settings file with hooks to the value that the
            agent expects (`{"version": 1}`); it is written together with hooks.
        refused_texts: Texts that no command may hold, because the agent does not accept them; the
            problem is reported as `refused-text`.
        written_members: Members at the root that are written together with hooks, although the
            agent does not need them.
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
        renamed_events: Event name of other agents to the name to write.
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
        rejected_json: Additions to JSON for which the agent drops one of its settings files: names
            of `anyhook.settings.formats.ADDITIONS`.
        home_variable: Environment variable that overrides the home directory.
        config_dir: Template of the agent's directory in the home, with `{home}`, or with
            `{config_home}` for the user's directory of settings (`$XDG_CONFIG_HOME`).
        config_variable: Environment variable that overrides `config_dir`.
        packages: Where extensions or plugins are, if the agent has them.
        timeout_unit: Unit of `timeout` in seconds.
        zero_timeout: Seconds that a timeout of 0 means; 0 if it is a mistake.
        short_timeout: Seconds; a shorter timeout is reported as written in a wrong unit.
        long_timeout: Seconds; a longer timeout is reported as written in a wrong unit.
        handler_types: `type` of a handler to its description.
        foreign_types: `type` of handlers of other agents to the agent that has it.
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
    written_members: Mapping[str, Any] = EMPTY
    hook_directories: Mapping[Layer, str] = EMPTY
    companions: tuple[Companion, ...] = ()
    environment: tuple[str, ...] = ()
    layer_order: tuple[Layer, ...]
    interleaved_layers: frozenset[Layer] = frozenset()
    precedence: tuple[Layer, ...] = ()
    authority: Mapping[Layer, int] = AUTHORITY
    needs_trust: frozenset[Layer]
    native_trust: str = ""
    hook_toggles: tuple[HookToggle, ...]
    non_event_keys: frozenset[str] = frozenset()
    renamed_events: Mapping[str, str] = EMPTY
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
    short_timeout: float = 0.0
    long_timeout: float = 6 * 3600.0
    handler_types: Mapping[str, HandlerType]
    foreign_types: Mapping[str, str] = EMPTY
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

    def read_timeout(self, timeout: float) -> float:
        """Return the seconds that a `timeout` of a command means."""
        return timeout * self.handler_types["command"].timeout_unit(timeout, self.timeout_unit)

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
