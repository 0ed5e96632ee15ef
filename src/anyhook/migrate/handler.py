"""What one hook becomes for another agent: its command, its timeout, and what is lost of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import OutputAction
from anyhook.agents.translate import counterparts
from anyhook.files import read_user_file
from anyhook.migrate.commands import (
    counterpart_variables,
    is_portable,
    line_of,
    own_variables,
    quote,
    renamed,
    wrap,
)
from anyhook.migrate.losses import ANYTHING, INSTEAD, MORE, Loss, lost_abilities, lost_fields
from anyhook.migrate.names import has_names, is_generated
from anyhook.migrate.options import ShimOptions
from anyhook.migrate.original import read_original, spellings
from anyhook.model.layers import Layer
from anyhook.shell.path_variables import quote_path_variables, unquoted
from anyhook.trust.scripts import named_files, program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.matchers import Translated
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.settings.sources import Location

WAIT = 5.0
"""Seconds that an agent waits longer than a command whose end the shim has to see."""


@dataclass(slots=True)
class MigrationContext:
    """A migration that is being made.

    Attributes:
        source: The agent that the hooks are written for.
        target: The agent that they shall run under.
        location: The project, home and environment.
        shim: Whether commands keep their own agent's events and answers.
        starter: The words that start anyhook in a command line.
        losses: What is lost so far.
    """

    source: AgentSpec
    target: AgentSpec
    location: Location
    shim: bool
    starter: Sequence[str]
    losses: list[Loss] = field(default_factory=list)

    def record_loss(
        self,
        kind: str,
        place: Place | None,
        what: str,
        why: str,
        instead: str,
        *explains: str,
    ) -> None:
        """Note a loss, once."""
        loss = Loss(kind, place, what, why, instead, frozenset(explains))
        if loss not in self.losses:
            self.losses.append(loss)


@dataclass(frozen=True, slots=True)
class HandlerMigration:
    """One handler on its way to one event of the target.

    Attributes:
        building: The migration.
        definition: The handler's definition.
        handler: The handler.
        raw: The same as it is written.
        new: The event at the target.
        found: What the matcher becomes.
        inner: What the shim is told, if the command is behind one already.
    """

    migration: MigrationContext
    definition: HookDefinition
    handler: HandlerSpec
    raw: Mapping[str, Any]
    new: EventSpec
    found: Translated
    inner: ShimOptions | None

    @property
    def source(self) -> AgentSpec:
        """The agent that the handler is written for."""
        return self.migration.source

    @property
    def target(self) -> AgentSpec:
        """The agent that it shall run under."""
        return self.migration.target

    @property
    def old(self) -> EventSpec:
        """The event at the source."""
        return self.source.by_canonical[self.definition.event]

    @property
    def comes_home(self) -> bool:
        """Whether its command was written for the target before it was moved."""
        return self.inner is not None and self.inner.agent == self.target.name

    @property
    def is_alone(self) -> bool:
        """Whether the target's event happens when the source's does, and at no other time."""
        return counterparts(self.target, self.new.canonical, self.source) == (self.old.canonical,)

    def write(self) -> tuple[dict[str, Any], bool]:
        """Return the handler for the target's file, and whether it runs behind the shim."""
        handler, target = self.handler, self.target
        made: dict[str, Any] = {"type": "command"}
        command, members, shimmed = self._command()
        if handler.name and "name" in target.handler_fields and self._keeps_name(shimmed):
            made["name"] = handler.name
        made["command"] = command
        made |= members
        description = handler.description or handler.options.get("status_message")
        if description and "description" in target.handler_fields:
            made["description"] = description
        timeout = self._timeout()
        if timeout is not None:
            made["timeout"] = timeout
        if handler.options.get("once"):
            self._lose(
                "changed",
                f"once: {handler.label}",
                f"{target.title} runs a hook on every event",
                "let the command remember that it ran",
            )
        if self.inner is None:
            self._tell_abilities()
        else:
            self._tell_outer()
        if self.inner is not None and self.comes_home:
            self._restore(made, self.inner)
        return made, shimmed

    def _keeps_name(self, shimmed: bool) -> bool:
        """Return whether the name is the user's own, or of use to the target."""
        if shimmed or (has_names(self.target) and not self.comes_home):
            return True
        name, command = str(self.handler.name), str(self.handler.command)
        return not is_generated(name, command)

    def _lose(self, kind: str, what: str, why: str, instead: str, *explains: str) -> None:
        self.migration.record_loss(kind, self.handler.place, what, why, instead, *explains)

    # -- the command line

    def _command(self) -> tuple[str, dict[str, Any], bool]:
        """Return the command line, other members, and whether it is behind the shim."""
        given = self.raw.get("env")
        env = {k: v for k, v in (given or {}).items() if isinstance(v, str)}
        if self.inner is not None and self.comes_home:
            return self._unwrapped(self.inner, env)
        member = self._env_member(env)
        rest = {} if member else env
        if self.inner is not None and rest:
            options = self.inner.replace(env=(*self.inner.env, *rest.items()))
            return wrap(options, self.target, self.migration.starter), member, True
        if self.inner is not None:
            return str(self.handler.command), member, True
        plain = self.handler.command or line_of(
            self.handler.argv or (), self.source.hook_environment
        )
        self._tell_package_variables(plain)
        self._tell_quoted(plain)
        portable = is_portable(plain, self._files()) and not self._needs_shim
        self._tell_secrets(rest)
        if self.migration.shim and not portable:
            options = self._options().replace(env=tuple(rest.items()))
            return wrap(options, self.target, self.migration.starter), member, True
        self._tell_unshimmed(portable=portable)
        return self._exported(rest) + self._renamed(plain), member, False

    @property
    def _needs_shim(self) -> bool:
        """Whether the agent was told what only the shim can do elsewhere."""
        handler = self.handler
        return bool(handler.condition or handler.background or handler.on_failure == "block")

    def _tell_package_variables(self, line: str) -> None:
        packages = self.source.packages
        names = packages.path_variables if packages and self.handler.origin is None else {}
        for name in names:
            if re.search(rf"\b{name}\b(?!:?-)", line):
                self._lose(
                    "lost",
                    f"${name}",
                    "it is set for the hooks of a package alone",
                    "write the path, or a variable of your own",
                )

    def _tell_secrets(self, env: Mapping[str, str]) -> None:
        for name in (name for name in env if _SECRET.search(name)):
            self._lose(
                "changed",
                f"env.{name}",
                f"{self.target.title} has no place for it, so its value stands in the command "
                "line, which other programs can see",
                "set it in the environment of the agent",
            )

    def _tell_quoted(self, line: str) -> None:
        """Tell that a variable gets quotes, where its value is more than one word without."""
        if " " in str(self.migration.location.project):
            for name in unquoted(line, self.source.hook_environment):
                self._lose(
                    "changed",
                    f"${name} without quotes",
                    "the shell splits it at the blank in the project's path; now it has quotes",
                    f'write "${{{name}}}" in the source, too',
                    ANYTHING,
                )

    def _renamed(self, line: str) -> str:
        names, lost = counterpart_variables(self.source, self.target)
        for name in lost:
            if name in line:
                self._lose(
                    "lost",
                    f"${name}",
                    f"{self.target.title} sets no variable for that",
                    "read it from the event",
                )
        return renamed(line, names, self._shell, kept_apart=self.target.expands_env)

    @property
    def _shell(self) -> str:
        return str(self.handler.options.get("shell", ""))

    def _exported(self, env: Mapping[str, str]) -> str:
        return "".join(f"export {key}={self._value(text)}; " for key, text in env.items())

    def _value(self, text: str) -> str:
        """Quote the value of a variable; where the source puts others into it, the shell does."""
        if self.source.expands_env and "$" in text:
            return '"' + re.sub(r'(["`\\])', r"\\\1", text) + '"'
        return quote(text, self.target)

    def _unwrapped(
        self, inner: ShimOptions, env: Mapping[str, str]
    ) -> tuple[str, dict[str, Any], bool]:
        """Write a command that comes home as it was before."""
        command = self.target.handler_types["command"]
        own = {item.option: key for key, item in command.fields.items()}
        told = {
            "condition": inner.condition,
            "shell": inner.shell,
            "background": inner.background,
            "on_failure": inner.on_failure if inner.on_failure != "continue" else "",
        }
        members = {own[option]: value for option, value in told.items() if value and option in own}
        both = {**env, **dict(inner.env)}
        member = self._env_member(both)
        if len(inner.command) > 1 and command.programs:
            return inner.command[0], {**members, "args": list(inner.command[1:]), **member}, False
        single = len(inner.command) == 1
        line = self._line_at_home(inner) if single else line_of(inner.command, ())
        return self._exported({} if member else both) + line, {**members, **member}, False

    def _line_at_home(self, inner: ShimOptions) -> str:
        """Return a command line as its author wrote it."""
        line = inner.command[0]
        _, members = read_original(inner)
        recorded = members.get("command")
        candidates = [recorded] if isinstance(recorded, str) else []
        for candidate in (*candidates, *spellings(line, self.target)):
            if own_variables(candidate, self.target, inner.shell) == line:
                return candidate
        return line

    def _restore(self, made: dict[str, Any], inner: ShimOptions) -> None:
        """Put members back that have no place in the settings of the other agent."""
        _, members = read_original(inner)
        fields = self.target.handler_types["command"].fields
        status = next((k for k, field in fields.items() if field.option == "status_message"), "")
        is_described_as_before = True
        if "description" in members:  # a status message stood in for it
            is_described_as_before = made.get("description") == members.get(status)
            if is_described_as_before:
                made.pop("description", None)
        known = (self.target.handler_fields | fields.keys()) - {"timeout"}
        for key, value in members.items():
            belongs_to_old_description = key == status and not is_described_as_before
            is_missing = key in known and key not in made and value is not None
            if is_missing and not belongs_to_old_description:
                made[key] = value

    def _env_member(self, env: Mapping[str, str]) -> dict[str, Any]:
        packaged = sorted(self.handler.env.keys() - env.keys())
        if packaged:
            self._lose(
                "lost",
                f"variables of the package: {', '.join(packaged)}",
                "their values are the package's, and may be secrets",
                "set them in the environment of the agent",
            )
        return {"env": dict(env)} if env and "env" in self.target.handler_fields else {}

    def _options(self) -> ShimOptions:
        handler = self.handler
        if handler.argv is not None and len(handler.argv) > 1:
            command: tuple[str, ...] = handler.argv
        elif handler.argv is not None:
            command = (line_of(handler.argv, self.source.hook_environment),)
        else:
            line = quote_path_variables(handler.command or "", handler.variables)
            command = (own_variables(line, self.source, self._shell),)
        if handler.options.get("wakes"):
            self._lose(
                "lost",
                f"asyncRewake: {handler.label}",
                f"nothing wakes {self.target.title} when a command ends in the background",
                "run it in the foreground, or look at its result in a later event",
            )
        closes = handler.on_failure == "block"
        return ShimOptions(
            agent=self.source.name,
            command=command,
            event="" if self.is_alone else self.old.wire,
            matcher=self.found.check,
            condition=handler.condition or "",
            shell=self._shell,
            timeout=handler.timeout if closes or handler.background else None,
            background=handler.background,
            on_failure=handler.on_failure,
        )

    # -- the timeout

    def _timeout(self) -> float | None:
        """Return the timeout in the target's unit; `None` where its default will do."""
        seconds, given = self.handler.timeout, "timeout" in self.raw
        if self.inner is not None and self.comes_home:
            for candidate in self._timeouts_at_home(self.inner):
                if self._is_migrated_from(candidate, self.inner):
                    return candidate
            seconds = self.inner.timeout or seconds
        elif self.handler.on_failure == "block" and self.migration.shim:
            seconds, given = seconds + WAIT, True
        cap = self.new.max_timeouts.get(self._layer, math.inf)
        if seconds > cap:
            self._lose(
                "changed",
                f"timeout: {self.handler.label}",
                f"{self.target.title} ends it after {cap:g} s, not {seconds:g}",
                "make it quicker",
            )
        return _written_timeout(self.target, self.new, self._layer, seconds, given=given)

    @property
    def _layer(self) -> Layer:
        """The layer of the target's file."""
        return Layer.USER if self.definition.layer is Layer.USER else Layer.PROJECT

    def _timeouts_at_home(self, inner: ShimOptions) -> list[float | None]:
        """List what a timeout may have been before the hook was migrated."""
        _, members = read_original(inner)
        recorded = members.get("timeout")
        is_number = isinstance(recorded, int | float) and not isinstance(recorded, bool)
        return [recorded, None] if is_number else [None]

    def _is_migrated_from(self, timeout: float | None, inner: ShimOptions) -> bool:
        """Return whether a timeout in the target's settings becomes what the source's have."""
        seconds = timeout_of(self.target, self.new, self._layer, timeout)
        closes = inner.on_failure == "block"
        own = seconds if closes or inner.background else None
        if not _is_close(own, inner.timeout):
            return False
        written = _written_timeout(
            self.source,
            self.old,
            self._layer,
            seconds + WAIT if closes else seconds,
            given=timeout is not None or closes,
        )
        return _is_close(written, self.raw.get("timeout"))

    # -- what is lost

    def _tell_unshimmed(self, *, portable: bool) -> None:
        """Tell what only the shim could have kept."""
        handler = self.handler
        kept = "migrate it without --no-shim"
        if not portable:
            self._lose(
                "changed",
                handler.label,
                f"it gets the events of {self.target.title} and must answer in its form",
                f"{kept}, unless the command speaks that language",
                ANYTHING,
            )
        told = {
            "if": handler.condition,
            "onFailure": handler.on_failure == "block",
            "async": handler.background,
            "shell": self._shell,
            f"matcher {self.definition.matcher!r}": bool(self.found.check),
        }
        for what in (name for name, is_set in told.items() if is_set):
            why = f"{self.target.title} has nothing for it"
            self._lose("changed", f"{what}: {handler.label}", why, kept, ANYTHING)
        if not self.is_alone:
            why = f"{self.new.wire} of {self.target.title} happens at other times, too"
            instead = "look into the event whether the tool failed"
            self._lose("changed", f"{self.old.wire}: {handler.label}", why, instead, MORE)

    def _tell_outer(self) -> None:
        """Tell what the source itself was told about a command behind the shim."""
        handler = self.handler
        told = {
            "if": handler.condition,
            "onFailure": handler.on_failure == "block",
            "async": handler.background,
            "shell": self._shell,
        }
        for what in (name for name, is_set in told.items() if is_set):
            self._lose(
                "changed",
                f"{what}: {handler.label}",
                "it stands beside a command that is behind the shim already",
                "give it to the shim instead",
                ANYTHING,
            )

    def _tell_abilities(self) -> None:
        text, is_whole = self._text()
        label, place, record_loss = (
            self.handler.label,
            self.handler.place,
            self.migration.record_loss,
        )
        for kind, what, why, explains in lost_abilities(
            self.source, self.old, self.target, self.new, text, is_whole=is_whole
        ):
            record_loss(kind, place, f"{label}: {what}", why, INSTEAD["ability"], explains)
        if _OTHER_EXIT.search(text) and _other_exits_deny(self.source):
            why = f"{self.source.title} itself denies then, though its reference says it only warns"
            what = f"{label}: exit codes beside 0 and 2"
            record_loss("changed", place, what, why, "exit with 2 to deny")
        if len(self.handler.command or "") > LONGEST:
            why = "the system starts no program with an argument as long as that"
            record_loss("lost", place, f"{label}: its length", why, "put it into a script")
        for what, why in lost_fields(self.source, self.old, self.target, self.new, text):
            record_loss("changed", place, f"{label}: {what}", why, INSTEAD["field"], ANYTHING)

    def _text(self) -> tuple[str, bool]:
        """Return all text of a command that can be read, and whether that is all of it."""
        texts = [self.handler.command or " ".join(self.handler.argv or ())]
        for file in self._files():
            try:
                data = read_user_file(file, LARGEST_SCRIPT)
            except OSError:
                continue
            if b"\0" not in data:
                texts.append(data.decode("utf-8", "replace"))
        runs = program(self.handler, self.migration.location.project, {})
        name = str(runs).replace("\\", "/").rpartition("/")[2]
        return "\n".join(texts), len(texts) > 1 or runs is None or name in SAYS_ALL

    def _files(self) -> list[Path]:
        project = self.migration.location.project
        variables = {
            name: str(project)
            for name, what in self.source.hook_environment.items()
            if what in ("project_dir", "cwd")
        }
        found = named_files(self.handler, project, {**variables, **self.handler.variables})
        return [file for file in found if file.is_file()]


def timeout_of(agent: AgentSpec, event: EventSpec, layer: Layer, timeout: float | None) -> float:
    """Return the seconds that a command has whose `timeout` in the settings is given."""
    default = event.default_timeouts.get("command", agent.default_timeout)
    seconds = default if timeout is None else timeout * agent.timeout_unit
    return min(seconds, event.max_timeouts.get(layer, math.inf))


def _written_timeout(
    agent: AgentSpec, event: EventSpec, layer: Layer, seconds: float, *, given: bool
) -> float | None:
    """Return a timeout in the unit of an agent; `None` where its default will do."""
    seconds = min(seconds, event.max_timeouts.get(layer, math.inf))
    if not given and seconds <= event.default_timeouts.get("command", agent.default_timeout):
        return None
    units = round(seconds / agent.timeout_unit, 6)
    return int(units) if units == int(units) else units


def _is_close(one: float | None, other: object) -> bool:
    """Return whether two timeouts are one, but for what rounding leaves."""
    if one is None or not isinstance(other, int | float):
        return one is None and other is None
    return math.isclose(one, other, rel_tol=1e-9)


def _other_exits_deny(source: AgentSpec) -> bool:
    """Tell whether a release denies where its reference says that a command only failed."""
    observed = source.rule_sets.get("observed")
    return (
        observed is not None and observed.exit_rules_for("*").other.text is OutputAction.DENY_TEXT
    )


SAYS_ALL = frozenset(
    "true false : exit echo printf jq grep egrep fgrep test [ cat sed awk sh bash zsh dash "
    "node python python3 perl ruby deno bun if case while for read cd set exec export trap env "
    "[[ { (".split()
)
"""Programs that do what their command line says, and no script beside it."""
_SECRET = re.compile(r"TOKEN|SECRET|PASS|KEY|AUTH|CREDENTIAL|PRIVATE", re.IGNORECASE)
_OTHER_EXIT = re.compile(r"exit[ (]+(?:[3-9]|[1-9]\d+)\b")
LONGEST = 100_000
"""Characters; a command line is one argument of a shell, and those are at most 128 KiB."""
LARGEST_SCRIPT = 512 * 1024
"""Bytes; a larger file is no script of people."""
