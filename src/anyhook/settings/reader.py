"""Validates one parsed settings file: its hooks, switches and redaction.

An error costs only the smallest part that holds it: a field, a handler, a definition, at worst the
file. It is one module because the parts of a file are read with one collection of problems.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from anyhook.agents.entry import load_object
from anyhook.matching.matchers import compile_matcher, explain_cost, explain_matcher
from anyhook.model.definitions import HookDefinition, each_handler
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.record import EMPTY, Record
from anyhook.model.suggest import closest
from anyhook.settings.formats import find_rejected
from anyhook.settings.handlers import COMMAND_FIELDS, HandlerReader
from anyhook.settings.jsonc import dict_at, value_at
from anyhook.settings.layout import DEFINITION, is_flat
from anyhook.settings.report import MAX_ITEMS, MAX_REPORTED_KEYS, Reporter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.agents.spec.settings import HookToggle, SchemaFault
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.layers import Layer
    from anyhook.settings.formats import Rejected
    from anyhook.settings.jsonc import JsonPath, SettingsDocument
    from anyhook.settings.sources import Source

EXTRA_DEFINITION_FIELDS = frozenset({"sequential"})
"""Members of a definition that anyhook reads in the settings of every agent."""
FLAWS = frozenset({"wrong-type", "bad-timeout"})
"""Codes of problems for which some agents leave out the whole handler."""
SHARED_OBJECTS = frozenset({"tools", "features"})
"""Objects of the agents that hold a switch of hooks among other settings."""
UNREAD_CODES = frozenset({"unknown-event", "unknown-field"})
# Characters. Models call tools with names of at most this length; on them a matcher must be exact.
MAX_TOOL_NAME = 64


class LoadedFile(Record, kw_only=False):
    """The validated content of one settings file.

    Attributes:
        is_broken: Whether it exists and none of it could be used.
        definitions: Its hooks, in file order.
        enabled: Whether it switches all hooks on or off; `None` if it does not.
        enabled_at: Place of that switch.
        disabled: Identifiers of hooks that it switches off, each with its place.
        allowed_layers: The only layers whose hooks may run; `None` if it allows all.
        allowed_layers_at: Place of that switch.
        values: The whole file; empty if it is broken.
        redaction: Its settings for secrets in the environment.
        ignored: Why the agent ignores the file although its hooks are read here: a guard must not
            be lost in a program that reads them with anyhook.
        dropped_events: The same for the hooks of an event (`Diagnostic.subject`), of all files.
        dropped_hooks: The same for a hook, or a matcher with its hooks (`Diagnostic.place`).
    """

    source: Source
    exists: bool = False
    is_broken: bool = False
    definitions: tuple[HookDefinition, ...] = ()
    enabled: bool | None = None
    enabled_at: Place | None = None
    disabled: Mapping[str, Place] = EMPTY
    allowed_layers: frozenset[Layer] | None = None
    allowed_layers_at: Place | None = None
    values: Mapping[str, Any] = EMPTY
    redaction: Mapping[str, Any] = EMPTY
    diagnostics: tuple[Diagnostic, ...] = ()
    ignored: Diagnostic | None = None
    dropped_events: tuple[Diagnostic, ...] = ()
    dropped_hooks: tuple[Diagnostic, ...] = ()


def read_document(agent: AgentSpec, source: Source, document: SettingsDocument) -> LoadedFile:
    """Validate a parsed file."""
    return _FileReader(agent, source, document).read()


def rejected_message(agent: AgentSpec, rejected: Rejected) -> str:
    """Return what to do about a part of a file that its agent does not accept."""
    return (
        f"{agent.title} does not accept {rejected.what} here and runs no hook of this file; "
        "remove it"
    )


class _FileReader(Reporter):
    """Validates one parsed file and collects its problems."""

    def __init__(self, agent: AgentSpec, source: Source, document: SettingsDocument) -> None:
        super().__init__(document)
        self.agent = agent
        self.settings = agent.settings
        self.source = source
        self.hooks_path = source.hooks_path
        self.dropped_events: list[Diagnostic] = []
        self.forms = {name: agent.form(name) for name in source.forms}
        self.events: dict[str, tuple[AgentSpec, EventSpec]] = {}
        for form in self.forms.values():
            for spec in form.events:
                self.events.setdefault(spec.wire, (form, spec))
        self.definition_count = 0
        self.handler_count = 0

    def read(self) -> LoadedFile:
        if self.document.repeated:
            for key, place in islice(self.document.repeated_keys(), MAX_REPORTED_KEYS):
                message = f"{key!r} is here twice; only the last counts"
                self.diagnostics.append(diagnose("duplicate-key", message, place))
        if not isinstance(self.document.value, dict):
            self.report("settings-shape", 'the file must hold an object, like {"hooks": {…}}', ())
            return LoadedFile(
                self.source, exists=True, is_broken=True, diagnostics=tuple(self.diagnostics)
            )
        # What reads the files of plugins is not known.
        if self.source.file is not None and not self.source.is_foreign:
            rejected = find_rejected(self.document, self.settings.rejected_json)
            if rejected is not None:
                # The hooks stay: a guard must not be lost in a program that reads them with
                # anyhook.
                message = rejected_message(self.agent, rejected)
                self.diagnostics.append(diagnose("not-plain-json", message, rejected.place))
        self._check_members()
        self._check_misplaced()
        definitions = self._read_events()
        self._check_switch_object()
        enabled, enabled_at = self._read_enabled()
        disabled = self._read_disabled()
        allowed_layers, allowed_layers_at = self._read_allowed_layers()
        redaction = self._read_redaction()
        if self._is_dropped():
            return LoadedFile(
                self.source, exists=True, is_broken=True, diagnostics=tuple(self.diagnostics)
            )
        ignored, dropped_hooks = self._find_schema_faults(definitions)
        dropped_hooks += self._find_programs(definitions)
        return LoadedFile(
            self.source,
            exists=True,
            definitions=tuple(definitions),
            enabled=enabled,
            enabled_at=enabled_at,
            disabled=disabled,
            allowed_layers=allowed_layers,
            allowed_layers_at=allowed_layers_at,
            values=self.document.value,
            redaction=redaction,
            diagnostics=tuple(self.diagnostics),
            ignored=ignored,
            dropped_events=tuple(self.dropped_events),
            dropped_hooks=dropped_hooks,
        )

    def _find_schema_faults(
        self, definitions: list[HookDefinition]
    ) -> tuple[Diagnostic | None, tuple[Diagnostic, ...]]:
        """Return why the agent leaves out hooks that are read here, because of mistakes elsewhere.

        It ignores the whole file because of the first diagnostic, or parts because of the others.
        """
        has_hooks = self._value_at(self.hooks_path) is not None
        is_own = self.source.file is not None and not self.source.is_foreign
        if not has_hooks or not is_own or not self.settings.schema_faults:
            return None, ()
        find_faults = load_object(self.settings.schema_faults)
        faults: list[SchemaFault] = list(find_faults(self.document.value, self.events))
        for fault in faults:
            if fault.left_out is None:
                message = (
                    f"{self.agent.title} ignores the whole file because of this and runs none of "
                    f"its hooks: {fault.problem}"
                )
                place = self.document.place(fault.path)
                return diagnose("settings-dropped", message, place), ()
        read = {definition.place for definition in definitions}
        read |= {handler.place for _, handler in each_handler(definitions)}
        dropped: list[Diagnostic] = []
        for fault in faults:
            place = self.document.place(fault.left_out or ())
            if place in read:
                message = f"{self.agent.title} leaves this out: {fault.problem}"
                dropped.append(diagnose("hook-dropped", message, place))
        return None, tuple(dropped)

    def _find_programs(self, definitions: list[HookDefinition]) -> tuple[Diagnostic, ...]:
        """Return which hooks the agent does not start as they are written: as lists of words."""
        title = self.agent.title
        message = f"{title} runs command lines only, not a program with a list of arguments"
        programs: list[Diagnostic] = []
        for _, handler in each_handler(definitions):
            handler_type = self.settings.handler_types.get(handler.kind)
            if handler.argv is not None and handler_type is not None and not handler_type.programs:
                programs.append(diagnose("hook-dropped", message, handler.place))
        return tuple(programs)

    def _is_dropped(self) -> bool:
        """Return whether the agent drops the whole file because of its problems; report that."""
        fatal_codes = self.source.file.fatal_codes if self.source.file is not None else frozenset()
        faults: list[Diagnostic] = []
        for index, problem in enumerate(self.diagnostics):
            if problem.code in fatal_codes:
                fault = problem.replace(severity=Severity.ERROR)
                faults.append(fault)
                self.diagnostics[index] = fault
        if faults:
            message = (
                f"{self.agent.title} drops the whole file because of this; none of its hooks runs"
            )
            self.diagnostics.append(diagnose("settings-dropped", message, faults[0].place))
        return bool(faults)

    def _check_members(self) -> None:
        """Report members of the root that the file may not have, or with a value that is wrong."""
        file = self.source.file
        if file is None:
            return
        has_hooks = self._value_at(self.hooks_path) is not None
        for name, expected in file.expected_members.items():
            is_missing = name not in self.document.value
            value = self.document.value.get(name)
            remedy = f'write "{name}": {json.dumps(expected)}'
            is_required = name in file.required_members and has_hooks
            if is_missing and is_required:
                self.report("required-member", f"{name!r} is missing; {remedy}", ())
            elif not is_missing and (isinstance(value, bool) or value != expected):
                problem = f"{self.agent.title} does not know this {name}; {remedy}"
                self.report("required-member", problem, (name,))
        if file.members is None:
            return
        if "description" in file.members:
            self.typed_member(self.document.value, "description", str, "a string", ())
        member_names = " and ".join(map(repr, sorted(file.members)))
        others = [key for key in self.document.value if key not in file.members]
        for key in others[:MAX_REPORTED_KEYS]:
            message = f"{key!r} is not allowed here; the file holds {member_names}"
            self.report("unknown-member", message, (key,))

    def _value_at(self, path: tuple[str, ...]) -> Any:
        return value_at(self.document.value, path)

    def report(
        self, code: str, message: str, path: JsonPath, *, severity: Severity | None = None
    ) -> None:
        """Report a problem, unless it is a thing of another agent that this one never reads."""
        if not (self.source.is_foreign and code in UNREAD_CODES):
            super().report(code, message, path, severity=severity)

    # -- events and definitions

    def _check_misplaced(self) -> None:
        """Report events next to the object of hooks, and an object with nearly its name."""
        *parents, name = self.hooks_path
        for key, value in dict_at(self.document.value, parents).items():
            if key == name or not isinstance(value, list | dict):
                continue
            has_events = isinstance(value, dict) and not value.keys().isdisjoint(self.events)
            if key in self.events:
                message = f"{key} is next to {name!r}, where it is ignored; move it into {name!r}"
                self.report("misplaced-hooks", message, (*parents, key))
            elif has_events and closest(key, (name,)):
                message = f"{key!r} is ignored; did you mean {name!r}?"
                self.report("misplaced-hooks", message, (*parents, key))

    def _read_events(self) -> list[HookDefinition]:
        path = self.hooks_path
        events = self._value_at(path)
        definitions: list[HookDefinition] = []
        if events is None:
            return definitions
        if not isinstance(events, dict):
            self.report("wrong-type", f"{'.'.join(path)} must be an object of events", path)
            return definitions
        for name, entries in self.limited(events.items(), "events", path):
            if name in self.events:
                definitions += self._read_event(name, entries, (*path, name))
            elif name not in self.settings.non_event_keys:
                counterpart = self.agent.counterpart_of(name)
                meant = counterpart.wire if counterpart else closest(name, self.events)
                hint = f"did you mean {meant!r}?" if meant else f"events: {', '.join(self.events)}"
                self.report(
                    "unknown-event",
                    f"{self.agent.title} has no event {name!r}; {hint}",
                    (*path, name),
                )
        if len(self.forms) > 1:
            order = list(self.forms)
            definitions.sort(key=lambda definition: order.index(definition.form))
        return definitions

    def _read_event(self, name: str, entries: object, path: JsonPath) -> Iterator[HookDefinition]:
        if self.settings.drops_flawed_entries and not isinstance(entries, list):
            self.report("bad-structure", f"{name} must be a list of hooks: [{{…}}]", path)
            return
        if isinstance(entries, dict):
            message = f"{name} must be a list: [{{…}}]; read as a list of one"
            self.report("unwrapped-list", message, path)
            definition = self._read_definition(name, entries, path)
            if definition:
                yield definition
            return
        if not isinstance(entries, list):
            self.report("wrong-type", f"{name} must be a list of definitions; left out", path)
            return
        limit = MAX_ITEMS - self.definition_count
        items = self.limited(enumerate(entries), "definitions", path, limit)
        self.definition_count += len(items)
        for index, item in items:
            definition = self._read_definition(name, item, (*path, index))
            if definition:
                yield definition

    def _read_definition(self, event: str, value: object, path: JsonPath) -> HookDefinition | None:
        if not isinstance(value, dict):
            self.report("wrong-type", 'a definition is an object with "hooks"; left out', path)
            return None
        agent, spec = self.events[event]
        is_entry_flat = is_flat(agent, value)
        if is_entry_flat:
            items: list[tuple[JsonPath, object]] = [(path, value)]
        else:
            hooks = value.get("hooks")
            if DEFINITION not in agent.settings.entries:
                message = (
                    f"{self.agent.title} has no lists of hooks inside the list of an event; "
                    "write each hook there itself, with its matcher"
                )
                self.report("wrong-type", message, path)
                return None
            self._check_definition_fields(agent, value, path)
            if not isinstance(hooks, list):
                self._report_no_hooks(value, path)
                return None
            if not hooks:
                message = "the list of hooks is empty; nothing runs"
                self.report("no-handlers", message, (*path, "hooks"))
            items = [((*path, "hooks", index), hook) for index, hook in enumerate(hooks)]
        matcher = value.get("matcher")
        is_null = "matcher" in value and matcher is None and agent.settings.drops_flawed_entries
        if is_null or (matcher is not None and not isinstance(matcher, str)):
            self.report(
                "wrong-type",
                f"{explain_matcher(matcher)}; the definition is left out",
                (*path, "matcher"),
            )
            # In JavaScript an empty list is truthy.
            is_truthy = isinstance(matcher, list | dict) or bool(matcher)
            if is_truthy and agent.settings.matcher_costs_event:
                message = f"{agent.title} runs no hook on {spec.wire} because of this matcher"
                place = self.document.place((*path, "matcher"))
                dropped = diagnose("settings-dropped", message, place, subject=spec.canonical)
                self.dropped_events.append(dropped)
            return None
        if matcher is not None and not self._is_usable_matcher(matcher, spec, (*path, "matcher")):
            return None
        sequential = self.typed_member(value, "sequential", bool, "true or false", path)
        reader = HandlerReader(agent, self.source, self, is_flat=is_entry_flat)
        handlers = self._read_handlers(reader, spec, items, path)
        if not handlers:
            return None
        return HookDefinition(
            event=spec.canonical,
            layer=self.source.layer,
            place=self.document.place(path),
            matcher=matcher,
            sequential=bool(sequential),
            handlers=tuple(handlers),
            form=agent.form_name,
        )

    def _read_handlers(
        self,
        reader: HandlerReader,
        spec: EventSpec,
        items: list[tuple[JsonPath, object]],
        path: JsonPath,
    ) -> list[HandlerSpec]:
        """Return the handlers of a definition that can run."""
        limit = MAX_ITEMS - self.handler_count
        items = self.limited(items, "hooks", (*path, "hooks"), limit)
        self.handler_count += len(items)
        handlers: list[HandlerSpec] = []
        for handler_path, item in items:
            if isinstance(item, dict) and "hooks" in item and self.settings.drops_flawed_entries:
                self.report("bad-structure", "a group of hooks stands inside a group", handler_path)
                continue
            before = len(self.diagnostics)
            handler = reader.read(spec, item, handler_path)
            if handler is None:
                continue
            flaws = [
                index
                for index in range(before, len(self.diagnostics))
                if self.diagnostics[index].code in FLAWS
            ]
            # Some agents leave out a handler for what was reported about it.
            if not self.settings.drops_flawed_entries or not flaws:
                handlers.append(handler)
                continue
            for index in flaws:
                problem = self.diagnostics[index]
                message = f"{problem.message}; {self.agent.title} itself leaves the whole hook out"
                flaw = problem.replace(message=message, severity=Severity.ERROR)
                self.diagnostics[index] = flaw
        return handlers

    def _check_definition_fields(
        self, agent: AgentSpec, value: dict[str, Any], path: JsonPath
    ) -> None:
        own_fields = agent.settings.definition_fields
        if value.keys() <= own_fields:
            return
        of_hooks = self.settings.handler_fields | COMMAND_FIELDS
        for handler_type in self.settings.handler_types.values():
            of_hooks |= handler_type.fields.keys()
        self.report_unknown_fields(
            value, own_fields | EXTRA_DEFINITION_FIELDS, path, of_hooks=of_hooks
        )
        for key in sorted((value.keys() & EXTRA_DEFINITION_FIELDS) - own_fields):
            message = f"{self.agent.title} itself does not know {key!r}; anyhook does"
            self.report("anyhook-only", message, (*path, key))

    def _report_no_hooks(self, value: dict[str, Any], path: JsonPath) -> None:
        if "hooks" in value:
            self.report("wrong-type", "hooks must be a list of objects", (*path, "hooks"))
        elif self.settings.hooks_optional:
            self.report("no-handlers", 'a definition without "hooks"; nothing runs', path)
        elif "command" in value:
            message = 'the command must stand inside "hooks": [{"type": "command", "command": …}]'
            self.report("missing-field", message, path)
        else:
            self.report("missing-field", 'a definition needs "hooks": [{…}]; left out', path)

    def _is_usable_matcher(self, matcher: str, spec: EventSpec, path: JsonPath) -> bool:
        """Report a matcher that is not valid or too costly; return whether its hooks can run."""
        compiled = compile_matcher(matcher, spec.matcher_style)
        if compiled.matches_nothing and spec.subject is None:
            return True
        if compiled.is_never_evaluated:
            self.report("costly-matcher", explain_cost(compiled), path, severity=Severity.ERROR)
        elif compiled.safe_length < MAX_TOOL_NAME:
            self.report("costly-matcher", explain_cost(compiled), path)
        if compiled.problem:
            effect = "it only matches itself"
            if compiled.matches_nothing:
                effect = "the definition is left out"
            problem = f"{matcher!r} is not a regular expression ({compiled.problem}); {effect}"
            self.report("bad-matcher", problem, path)
        return not compiled.matches_nothing

    # -- switches of hooks

    def _report_type(self, path: tuple[str, ...], expected: str) -> None:
        self.report("wrong-type", f"{'.'.join(path)} must be {expected}", path)

    def _toggles(self, *kinds: str) -> Iterator[tuple[HookToggle, Any]]:
        """Yield the switches of some kinds that the file may hold and holds, with their values."""
        for toggle in self.settings.hook_toggles:
            value = self._value_at(toggle.path)
            is_read = not toggle.layers or self.source.layer in toggle.layers
            is_read = is_read and toggle.file in ("", self.source.path.name)
            if toggle.kind not in kinds or value is None or not is_read:
                continue
            # A list of objects at the older place holds the hooks of an event with the same name.
            is_event = isinstance(value, list) and any(isinstance(item, dict) for item in value)
            newer = [
                other
                for other in self.settings.hook_toggles
                if other.kind == toggle.kind and not other.legacy
            ]
            if toggle.legacy and newer and not is_event:
                message = (
                    f"{'.'.join(toggle.path)} is where older releases look; newer ones read "
                    f"{'.'.join(newer[0].path)}"
                )
                self.report("legacy-place", message, toggle.path)
            yield toggle, value

    def _check_switch_object(self) -> None:
        """Report unknown members of the object that holds the switches and nothing else."""
        toggles = self.settings.hook_toggles
        path = next((toggle.path[:-1] for toggle in toggles if not toggle.legacy), ())
        if not path or path[0] in SHARED_OBJECTS:
            return
        value = self._value_at(path)
        if isinstance(value, dict):
            names = {toggle.path[-1] for toggle in toggles if toggle.path[:-1] == path}
            self.report_unknown_fields(value, names | self.settings.non_event_keys, path)
        elif value is not None:
            self._report_type(path, "an object")

    def _read_enabled(self) -> tuple[bool | None, Place | None]:
        """Return whether the file switches all hooks on or off, and where; the first one counts."""
        enabled, place = None, None
        for toggle, value in self._toggles("enabled", "off"):
            if not isinstance(value, bool):
                if self.settings.drops_flawed_entries:
                    name = ".".join(toggle.path)
                    self.report("bad-structure", f"{name} must be true or false", toggle.path)
                    continue
                self._report_type(toggle.path, "true or false")
                if not toggle.coerces:
                    continue
                value = isinstance(value, dict | list) or bool(value)  # noqa: PLW2901
            if enabled is None:
                enabled = value is (toggle.kind == "enabled")
                place = self.document.place(toggle.path)
        return enabled, place

    def _read_disabled(self) -> dict[str, Place]:
        """Return the hooks that the file switches off, each with the place that says so."""
        disabled: dict[str, Place] = {}
        for toggle, value in self._toggles("disabled"):
            path = toggle.path
            if not isinstance(value, list):
                self._report_type(path, "a list of hook names")
                continue
            for index, name in self.limited(enumerate(value), "disabled names", path):
                if isinstance(name, str):
                    disabled[name] = self.document.place((*path, index))
                else:
                    message = "a disabled hook is named by a string"
                    self.report("wrong-type", message, (*path, index))
        return disabled

    def _read_allowed_layers(self) -> tuple[frozenset[Layer] | None, Place | None]:
        """Return the only layers whose hooks may run, and where the last such switch is."""
        allowed: frozenset[Layer] | None = None
        place = None
        for toggle, value in self._toggles("only"):
            if toggle.value is not None:
                is_listed = isinstance(value, list) and toggle.value in value
                restricts = is_listed or (toggle.or_true and value is True)
            else:
                if not isinstance(value, bool):
                    self._report_type(toggle.path, "true or false; read as true")
                restricts = value is not False
            if not restricts:
                continue
            before = allowed
            allowed = toggle.keeps if allowed is None else allowed & toggle.keeps
            if allowed != before:
                place = self.document.place(toggle.path)
        return allowed, place

    # -- redaction

    def _read_redaction(self) -> Mapping[str, Any]:
        """Return the settings of redaction; an empty object if there are none."""
        if self.settings.redaction is None:
            return {}
        path = self.settings.redaction.path
        value = self._value_at(path)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._report_type(path, "an object")
            return {}
        self.report_unknown_fields(value, {"enabled", "allowed", "blocked"}, path)
        self.typed_member(value, "enabled", bool, "true or false", path)
        for key in ("allowed", "blocked"):
            names = self.typed_member(value, key, list, "a list of names", path) or ()
            for index, name in enumerate(names):
                if not isinstance(name, str):
                    self.report("wrong-type", f"{key} holds names", (*path, key, index))
        return value
