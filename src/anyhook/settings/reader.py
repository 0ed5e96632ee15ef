"""What one parsed settings file says about hooks, and everything that is wrong with it.

Whatever is wrong costs only itself: a field, a handler, a definition, at worst the file.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from anyhook.agents.spec import MIN_TIMEOUT
from anyhook.matching.matchers import compile_matcher, explain_cost
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.json import json_type
from anyhook.model.suggest import closest, did_you_mean
from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec, HandlerField, HandlerType, HookToggle
    from anyhook.model.layers import Layer
    from anyhook.settings.jsonc import Document
    from anyhook.settings.jsonc import Path as JsonPath
    from anyhook.settings.sources import Source


Item = TypeVar("Item")

MOST_DEFINITIONS = 1000
"""Events, definitions, hooks and disabled names of one file; people have a few dozen."""
MOST_UNKNOWN = 50
"""Unknown or repeated keys of one object that are reported."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What one file says.

    Attributes:
        source: Which file.
        exists: Whether it is there.
        is_broken: Whether it is there and none of it could be used.
        definitions: Its hooks, in file order.
        enabled: Whether it switches hooks as a whole on or off, if it does.
        enabled_at: Where it does that.
        disabled: Identifiers of hooks that it switches off, each with its place.
        only: The layers whose hooks alone may run, if it says so.
        only_at: Where it says so.
        values: The whole file; empty if it is broken.
        redaction: What it says about secrets in the environment.
        diagnostics: What is wrong with it.
    """

    source: Source
    exists: bool = False
    is_broken: bool = False
    definitions: tuple[HookDefinition, ...] = ()
    enabled: bool | None = None
    enabled_at: Place | None = None
    disabled: Mapping[str, Place] = field(default_factory=dict)
    only: frozenset[Layer] | None = None
    only_at: Place | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    redaction: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


def read_document(agent: AgentSpec, source: Source, document: Document) -> LoadedFile:
    """Validate a parsed file.

    Args:
        agent: Whose settings they are.
        source: The file and its layer.
        document: What it holds.

    Returns:
        What it says, and what is wrong with it.
    """
    return _FileReader(agent, source, document).read()


class _FileReader:
    """Validates one parsed file and collects what is wrong with it."""

    def __init__(self, agent: AgentSpec, source: Source, document: Document) -> None:
        self.agent = agent
        self.source = source
        self.document = document
        self.problems: list[Diagnostic] = []
        self.enabled_at: Place | None = None
        self.only_at: Place | None = None
        self.definitions = 0
        self.handlers = 0

    def report(self, code: str, message: str, path: JsonPath) -> None:
        self.problems.append(diagnose(code, message, self.document.place(path)))

    def report_error(self, code: str, message: str, path: JsonPath) -> None:
        """Report a problem that is worse here than it usually is."""
        place = self.document.place(path)
        self.problems.append(diagnose(code, message, place, severity=Severity.ERROR))

    def read(self) -> LoadedFile:
        if self.document.repeated:
            for key, place in islice(self.document.repeated_keys(), MOST_UNKNOWN):
                self.problems.append(
                    diagnose("duplicate-key", f"{key!r} is here twice; only the last counts", place)
                )
        if not isinstance(self.document.value, dict):
            self.report("settings-shape", 'the file must hold an object, like {"hooks": {…}}', ())
            return LoadedFile(
                self.source, exists=True, is_broken=True, diagnostics=tuple(self.problems)
            )
        self._check_misplaced()
        definitions = self.read_events()
        enabled, disabled, only = self.read_switches()
        return LoadedFile(
            self.source,
            exists=True,
            definitions=definitions,
            enabled=enabled,
            enabled_at=self.enabled_at,
            disabled=disabled,
            only=only,
            only_at=self.only_at,
            values=self.document.value,
            redaction=self.read_redaction(),
            diagnostics=tuple(self.problems),
        )

    # -- hooks

    def _check_misplaced(self) -> None:
        """Report events beside the object of hooks, and an object with nearly its name."""
        path = self.source.hooks_path or self.agent.hooks_path
        *parents, name = path
        location = self._get(tuple(parents))
        for key, value in location.items() if isinstance(location, dict) else ():
            if key == name or not isinstance(value, list | dict):
                continue
            if key in self.agent.by_wire:
                text = f"{key} stands beside {name!r} and is ignored; move it into {name!r}"
                self.report("misplaced-hooks", text, (*parents, key))
            elif isinstance(value, dict) and self._holds_events(value) and closest(key, (name,)):
                text = f"{key!r} is ignored; did you mean {name!r}?"
                self.report("misplaced-hooks", text, (*parents, key))

    def _holds_events(self, value: dict[str, Any]) -> bool:
        return any(event in self.agent.by_wire for event in value)

    def read_events(self) -> tuple[HookDefinition, ...]:
        path = self.source.hooks_path or self.agent.hooks_path
        hooks = self._get(path)
        if hooks is None:
            return ()
        if not isinstance(hooks, dict):
            self.report("wrong-type", f"{'.'.join(path)} must be an object of events", path)
            return ()
        found: list[HookDefinition] = []
        for name, entries in self._limited(list(hooks.items()), "events", path):
            if name in self.agent.by_wire:
                found += self.read_event(name, entries, (*path, name))
            elif name not in self.agent.non_event_keys:
                self._report_unknown_event(name, (*path, name))
        return tuple(found)

    def _report_unknown_event(self, name: str, path: JsonPath) -> None:
        meant = self.agent.renamed_events.get(name) or closest(name, self.agent.by_wire)
        hint = f"did you mean {meant!r}?" if meant else f"events: {', '.join(self.agent.by_wire)}"
        self.report("unknown-event", f"{self.agent.title} has no event {name!r}; {hint}", path)

    def read_event(self, name: str, entries: object, path: JsonPath) -> list[HookDefinition]:
        if isinstance(entries, dict):
            self.report("unwrapped-list", f"{name} must be a list: [{{…}}]; read as one", path)
            found = self.read_definition(name, entries, path)
            return [found] if found else []
        if not isinstance(entries, list):
            self.report("wrong-type", f"{name} must be a list of definitions; left out", path)
            return []
        left = MOST_DEFINITIONS - self.definitions
        items = self._limited(list(enumerate(entries)), "definitions", path, left)
        self.definitions += len(items)
        read = (self.read_definition(name, item, (*path, i)) for i, item in items)
        return [definition for definition in read if definition]

    def _limited(
        self, items: list[Item], what: str, path: JsonPath, most: int = MOST_DEFINITIONS
    ) -> list[Item]:
        """Leave out what a file has too much of: a stranger must not be able to hold the host."""
        if len(items) <= most:
            return items
        self.report(
            "too-many-hooks",
            f"{len(items):,} {what} are more than anyhook reads ({MOST_DEFINITIONS:,} in a file); "
            f"the last {len(items) - most:,} are left out",
            path,
        )
        return items[:most]

    def read_definition(self, event: str, value: object, path: JsonPath) -> HookDefinition | None:
        if not isinstance(value, dict):
            self.report("wrong-type", 'a definition is an object with "hooks"; left out', path)
            return None
        self._report_unknown(value, self.agent.definition_fields | OURS, path)
        for key in sorted((value.keys() & OURS) - self.agent.definition_fields):
            self.report(
                "anyhook-only",
                f"{self.agent.title} itself does not know {key!r}; anyhook does",
                (*path, key),
            )
        hooks = value.get("hooks")
        if not isinstance(hooks, list):
            self._report_no_hooks(value, path)
            return None
        if not hooks:
            self.report("no-handlers", "the list of hooks is empty; nothing runs", (*path, "hooks"))
        spec = self.agent.by_wire[event]
        matcher = value.get("matcher")
        if matcher is not None and not isinstance(matcher, str):
            self.report(
                "wrong-type",
                'matcher must be a string, like "write_file|replace"; the definition is left out',
                (*path, "matcher"),
            )
            return None
        if matcher:
            self._check_matcher(matcher, spec.matcher_style, (*path, "matcher"))
        sequential = self._typed(value, "sequential", bool, "true or false", path)
        left = MOST_DEFINITIONS - self.handlers
        items = self._limited(list(enumerate(hooks)), "hooks", (*path, "hooks"), left)
        self.handlers += len(items)
        read = (self.read_handler(spec, item, (*path, "hooks", i)) for i, item in items)
        handlers = tuple(handler for handler in read if handler)
        if not handlers:
            return None
        return HookDefinition(
            event=spec.canonical,
            layer=self.source.layer,
            place=self.document.place(path),
            matcher=matcher,
            sequential=bool(sequential),
            handlers=handlers,
        )

    def _report_no_hooks(self, value: dict[str, Any], path: JsonPath) -> None:
        if "hooks" in value:
            self.report("wrong-type", "hooks must be a list of objects", (*path, "hooks"))
        elif "command" in value:
            self.report(
                "missing-field",
                'the command must stand inside "hooks": [{"type": "command", "command": …}]',
                path,
            )
        else:
            self.report("missing-field", 'a definition needs "hooks": [{…}]; left out', path)

    def _check_matcher(self, matcher: str, style: str, path: JsonPath) -> None:
        compiled = compile_matcher(matcher, style)
        problem = compiled.problem
        if compiled.is_never_evaluated:
            self.report_error("costly-matcher", explain_cost(compiled), path)
        elif compiled.safe_length < LONGEST_NAME:
            self.report("costly-matcher", explain_cost(compiled), path)
        if problem:
            self.report(
                "bad-matcher",
                f"{matcher!r} is no regular expression ({problem}); it only matches itself",
                path,
            )

    # -- handlers

    def read_handler(self, spec: EventSpec, value: object, path: JsonPath) -> HandlerSpec | None:
        if not isinstance(value, dict):
            self.report("wrong-type", "a hook is an object with type and command; left out", path)
            return None
        kind = self._read_kind(value, path)
        if kind is None:
            return None
        own = {"command", "args"} if kind.kind == "command" else set()
        self._report_unknown(value, self.agent.handler_fields | own | set(kind.fields), path)
        what = self._read_command(value, kind, path) if own else ""
        options = self._read_options(value, kind, path)
        if what is None or options is None:
            return None
        hydrate = self._hydrate
        name = self._typed(value, "name", str, "a string", path)
        handler = HandlerSpec(
            kind=kind.kind,
            layer=self.source.layer,
            place=self.document.place(path),
            name=hydrate(name) if name else None,
            command=what if isinstance(what, str) and what else None,
            argv=what if isinstance(what, tuple) else None,
            description=self._typed(value, "description", str, "a string", path),
            timeout=self._read_timeout(spec, kind, value, path),
            env={**self._read_env(value, path), **self.source.env},
            variables=self.source.path_variables,
            placeholders=self.source.placeholders,
            forbidden=self.source.forbidden,
            origin=self.source.origin,
            condition=options.pop("condition", None),
            on_failure=options.pop("on_failure", "continue"),
            background=bool(options.pop("background", False) or options.get("wakes")),
            options=options,
        )
        self._check_on_event(spec, handler, path)
        return handler

    def _check_on_event(self, spec: EventSpec, handler: HandlerSpec, path: JsonPath) -> None:
        """Tell of a handler that never runs on its event."""
        if spec.handler_kinds is not None and handler.kind not in spec.handler_kinds:
            self.report(
                "type-not-here",
                f"{self.agent.title} runs no hook of this type on {spec.wire}; it runs "
                f"{', '.join(sorted(spec.handler_kinds))}",
                (*path, "type"),
            )
        if handler.condition is None:
            return
        if not spec.supports_conditions:
            self.report(
                "condition-not-here",
                f'{spec.wire} has no tool call, so a hook with "if" never runs on it',
                (*path, "if"),
            )
        from anyhook.matching.conditions import compile_condition

        problem = compile_condition(handler.condition).problem
        if problem:
            self.report("bad-condition", f"{problem}; the hook runs on every call", (*path, "if"))

    def _read_kind(self, value: dict[str, Any], path: JsonPath) -> HandlerType | None:
        kind = value.get("type")
        known = ", ".join(map(repr, self.agent.handler_types))
        if kind is None:
            self.report("missing-field", f'a hook needs "type": {known}; left out', path)
            return None
        if isinstance(kind, str) and kind in self.agent.handler_types:
            return self.agent.handler_types[kind]
        whose = self.agent.foreign_types.get(kind) if isinstance(kind, str) else None
        hint = did_you_mean(str(kind), self.agent.handler_types) or f"known: {known}"
        belongs = f" (it belongs to {whose})" if whose else ""
        self.report(
            "unknown-type",
            f"{self.agent.title} has no hook type {kind!r}{belongs}; {hint}; left out",
            (*path, "type"),
        )
        return None

    def _read_options(
        self, value: dict[str, Any], kind: HandlerType, path: JsonPath
    ) -> dict[str, Any] | None:
        """Read what this type of handlers alone has; `None` if something it needs is missing."""
        options = dict(kind.fixed)
        for key, item in kind.fields.items():
            found = value.get(key)
            if found is not None and self._is_option(key, item, found, path):
                options[item.option] = self._hydrate(found) if isinstance(found, str) else found
            elif item.required:
                if found is None:
                    self.report("missing-field", f"a hook of this type needs {key!r}", path)
                return None
        return options

    def _is_option(self, key: str, item: HandlerField, found: object, path: JsonPath) -> bool:
        check, wanted = OPTIONS[item.kind]
        if not check(found):
            self.report("wrong-type", f"{key} must be {wanted}; left out", (*path, key))
            return False
        if item.words and found not in item.words:
            known = ", ".join(map(repr, item.words))
            self.report("wrong-type", f"{key} must be one of {known}; left out", (*path, key))
            return False
        return True

    def _read_command(
        self, value: dict[str, Any], kind: HandlerType, path: JsonPath
    ) -> str | tuple[str, ...] | None:
        command, args = value.get("command"), value.get("args")
        listed = isinstance(command, list)
        if isinstance(command, str) and command.strip() and not _cannot_be_run(command):
            if args is None:
                return self._hydrate(command)
            command = [command]
        words: list[Any] = []
        if isinstance(command, list) and isinstance(args or [], list):
            words = [*command, *(args or [])]
        if _cannot_be_run(command) or any(map(_cannot_be_run, words)):
            self.report(
                "wrong-type",
                "a command holds no null characters and no halves of characters; left out",
                (*path, "command"),
            )
            return None
        if not words or not words[0] or not all(isinstance(word, str) for word in words):
            missing = command is None or command in ("", [])
            self.report(
                "missing-field" if missing else "wrong-type",
                'a hook needs "command": a command line, or a list of program and arguments; '
                "left out",
                path if missing else (*path, "command"),
            )
            return None
        if listed or not kind.programs:
            self._report_list(path)
        return tuple(self._hydrate(word) for word in words)

    def _report_list(self, path: JsonPath) -> None:
        self.report(
            "anyhook-only",
            f"{self.agent.title} itself runs command lines only; a program with arguments as a "
            "list runs under anyhook",
            (*path, "command"),
        )

    def _read_timeout(
        self, spec: EventSpec, kind: HandlerType, value: dict[str, Any], path: JsonPath
    ) -> float:
        given = value.get("timeout")
        unit = self.agent.timeout_unit
        default = spec.default_timeouts.get(kind.kind, kind.timeout)
        cap = spec.max_timeouts.get(self.source.layer, math.inf)
        if given is None:
            return min(default, cap)
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not _is_duration(given):
            self.report(
                "bad-timeout",
                f"timeout must be a positive number, like {default / unit:.0f}, "
                f"not {json.dumps(given)}; {default:g} s is used",
                (*path, "timeout"),
            )
            return min(default, cap)
        seconds: float = given * unit
        if seconds < MIN_TIMEOUT:
            self.report(
                "bad-timeout",
                f"timeout must be at least {MIN_TIMEOUT:g} s, and {given:g} means "
                f"{seconds:g} s here; for {given:g} seconds write {given / unit:g}; "
                f"{default:g} s is used",
                (*path, "timeout"),
            )
            return min(default, cap)
        if seconds < self.agent.short_timeout:
            self.report(
                "timeout-unit",
                f"{given:g} means {seconds:g} s here; "
                f"for {given:g} seconds write {given / unit:.0f}",
                (*path, "timeout"),
            )
        elif seconds > self.agent.long_timeout:
            self.report(
                "timeout-unit",
                f"{given:g} means {seconds / 3600:.0f} hours here; was {given / 1000:g} meant?",
                (*path, "timeout"),
            )
        return min(seconds, cap)

    def _read_env(self, value: dict[str, Any], path: JsonPath) -> dict[str, str]:
        given = self._typed(value, "env", dict, "an object of strings", path) or {}
        env: dict[str, str] = {}
        for key, text in given.items():
            is_valid = isinstance(text, str) and key and "=" not in key
            if is_valid and controls_shell(key):
                self._report_env(key, "would change the shell that runs the hook", path)
            elif is_valid and key == "PATH" and not text:
                self._report_env(key, "is empty, so that no program would be found", path)
            elif is_valid and not _cannot_be_run(key + text):
                env[key] = self._hydrate(text)
            else:
                self.report(
                    "wrong-type",
                    f"env.{key} must be a string; left out",
                    (*path, "env", key),
                )
        return env

    def _report_env(self, key: str, problem: str, path: JsonPath) -> None:
        self.report("shell-variable", f"env.{key} {problem}; left out", (*path, "env", key))

    # -- switches

    def read_switches(
        self,
    ) -> tuple[bool | None, dict[str, Place], frozenset[Layer] | None]:
        enabled: bool | None = None
        disabled: dict[str, Place] = {}
        only: frozenset[Layer] | None = None
        self._check_switch_object()
        for switch in self.agent.hook_toggles:
            value = self._get(switch.path)
            if value is None or (switch.layers and self.source.layer not in switch.layers):
                continue
            if switch.legacy and not _is_event_list(value):
                self._report_legacy(switch.path, switch.kind)
            if switch.kind in ("enabled", "off"):
                if not isinstance(value, bool):
                    self.report(
                        "wrong-type", f"{'.'.join(switch.path)} must be true or false", switch.path
                    )
                elif enabled is None:
                    enabled = value is (switch.kind == "enabled")
                    self.enabled_at = self.document.place(switch.path)
            elif switch.kind == "only":
                before, only = only, self._read_only(switch, value, only)
                if only != before:
                    self.only_at = self.document.place(switch.path)
            else:
                disabled |= self._read_disabled(switch.path, value)
        return enabled, disabled, only

    def _read_only(
        self, switch: HookToggle, value: object, before: frozenset[Layer] | None
    ) -> frozenset[Layer] | None:
        if switch.value is None:
            if not isinstance(value, bool):
                self.report(
                    "wrong-type",
                    f"{'.'.join(switch.path)} must be true or false; read as true",
                    switch.path,
                )
            applies = value is not False
        else:
            is_listed = isinstance(value, list) and switch.value in value
            applies = is_listed or (switch.or_true and value is True)
        if not applies:
            return before
        return switch.keeps if before is None else before & switch.keeps

    def _check_switch_object(self) -> None:
        """Look for mistakes beside the switches, in the object that holds nothing else."""
        path = next((s.path[:-1] for s in self.agent.hook_toggles if not s.legacy), ())
        value = self._get(path) if path and path[0] not in SHARED else None
        if isinstance(value, dict):
            known = {s.path[-1] for s in self.agent.hook_toggles if s.path[:-1] == path}
            self._report_unknown(value, frozenset(known) | self.agent.non_event_keys, path)
        elif value is not None:
            self.report("wrong-type", f"{'.'.join(path)} must be an object", path)

    def _report_legacy(self, path: tuple[str, ...], kind: str) -> None:
        newer = next(s.path for s in self.agent.hook_toggles if s.kind == kind and not s.legacy)
        self.report(
            "legacy-place",
            f"{'.'.join(path)} is where older releases look; newer ones read {'.'.join(newer)}",
            path,
        )

    def _read_disabled(self, path: tuple[str, ...], value: object) -> dict[str, Place]:
        if not isinstance(value, list):
            self.report("wrong-type", f"{'.'.join(path)} must be a list of hook names", path)
            return {}
        found = {}
        for i, name in self._limited(list(enumerate(value)), "disabled names", path):
            if isinstance(name, str):
                found[name] = self.document.place((*path, i))
            else:
                self.report("wrong-type", "a disabled hook is named by a string", (*path, i))
        return found

    def read_redaction(self) -> Mapping[str, Any]:
        path = self.agent.redaction.path if self.agent.redaction else ()
        value = self._get(path) if path else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.report("wrong-type", f"{'.'.join(path)} must be an object", path)
            return {}
        self._report_unknown(value, frozenset({"enabled", "allowed", "blocked"}), path)
        self._typed(value, "enabled", bool, "true or false", path)
        for key in ("allowed", "blocked"):
            names = self._typed(value, key, list, "a list of names", path) or ()
            for i, name in enumerate(names):
                if not isinstance(name, str):
                    self.report("wrong-type", f"{key} holds names", (*path, key, i))
        return value

    # -- helpers

    def _get(self, path: JsonPath) -> Any:
        value: Any = self.document.value
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _typed(
        self, value: dict[str, Any], key: str, kind: type, wanted: str, path: JsonPath
    ) -> Any:
        found = value.get(key)
        if found is None or isinstance(found, kind):
            return found
        got = json_type(found)
        self.report("wrong-type", f"{key} must be {wanted}, not {got}; left out", (*path, key))
        return None

    def _report_unknown(self, value: dict[str, Any], known: frozenset[str], path: JsonPath) -> None:
        for key in sorted(value.keys() - known)[:MOST_UNKNOWN]:
            hint = did_you_mean(key, known) or "it is ignored"
            self.report("unknown-field", f"no rule knows the field {key!r}; {hint}", (*path, key))

    def _hydrate(self, text: str) -> str:
        for name, replacement in self.source.text_variables.items():
            text = text.replace(f"${{{name}}}", replacement)
        return text


def _all_strings(value: object) -> bool:
    items: Any = list(value.values()) if isinstance(value, dict) else value
    return all(isinstance(item, str) for item in items)


OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "a string"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "strings": (lambda value: isinstance(value, list) and _all_strings(value), "a list of strings"),
    "object": (lambda value: isinstance(value, dict), "an object"),
    "texts": (
        lambda value: isinstance(value, dict) and _all_strings(value),
        "an object of strings",
    ),
}
"""Kinds of a handler's own members: what they hold, and how that is called."""
OURS = frozenset({"sequential"})
"""Members of a definition that anyhook reads in every agent."""
LONGEST_NAME = 64
"""Characters of the longest names of tools that models call; on them, a matcher must be exact."""
SHARED = frozenset({"tools"})
"""Objects that hold a switch beside settings that are not ours."""


def _cannot_be_run(text: object) -> bool:
    """Tell whether the system refuses a text: it holds a null character or a lone surrogate."""
    if not isinstance(text, str):
        return False
    return "\0" in text or any("\ud800" <= char <= "\udfff" for char in text)


def _is_duration(given: float) -> bool:
    try:
        return math.isfinite(given) and given > 0
    except OverflowError:  # an integer that no float holds
        return False


def _is_event_list(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)
