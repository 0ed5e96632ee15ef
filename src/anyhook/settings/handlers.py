"""Validates one handler of a settings file: an object with `type` and `command`."""

from __future__ import annotations

import json
import math
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.spec.settings import LONG_TIMEOUT, MIN_TIMEOUT
from anyhook.model.definitions import HandlerSpec
from anyhook.model.suggest import did_you_mean
from anyhook.settings.layout import MATCHER, member_name, usual_members
from anyhook.shell.tapped import read_recorded
from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.agents.spec.settings import HandlerField, HandlerType
    from anyhook.settings.jsonc import JsonPath
    from anyhook.settings.report import Reporter
    from anyhook.settings.sources import Source


COMMAND_FIELDS = frozenset({"command", "args", "program"})
"""Members that commands alone have."""

FIELD_KINDS: dict[str, tuple[type | tuple[type, ...], type, str]] = {
    "string": (str, object, "a string"),
    "boolean": (bool, object, "true or false"),
    "number": ((int, float), object, "a number"),
    "strings": (list, str, "a list of strings"),
    "object": (dict, object, "an object"),
    "texts": (dict, str, "an object of strings"),
    "web_url": (str, object, "a URL that starts with http:// or https://"),
    "count": (int, object, "a whole number that is not negative"),
}
"""`HandlerField.kind` to the type of the value, the type of its items, and a description."""

SHORT_TIMEOUT = 0.5
"""Seconds; a shorter timeout in milliseconds was probably meant in seconds."""
_UNUSABLE = re.compile("[\0\ud800-\udfff]")


class HandlerReader:
    """Reads the handlers of one settings file and reports their problems.

    Flat handlers have a matcher of their own.
    """

    def __init__(
        self, agent: AgentSpec, source: Source, reporter: Reporter, *, is_flat: bool = False
    ) -> None:
        self.agent = agent
        self.settings = agent.settings
        self.source = source
        self.reporter = reporter
        self.definition_fields = frozenset({MATCHER}) if is_flat else frozenset()
        self.written: dict[str, Any] = {}

    def read(self, event: EventSpec, value: object, path: JsonPath) -> HandlerSpec | None:
        """Return the handler at a path; `None` if it cannot run."""
        reporter = self.reporter
        if not isinstance(value, dict):
            message = "a hook is an object with type and command; left out"
            reporter.report("wrong-type", message, path)
            return None
        self.written = value
        value = usual_members(self.agent, value)
        handler_type = self._read_type(value, path)
        if handler_type is None:
            return None
        is_command = handler_type.kind == "command"
        own_fields = COMMAND_FIELDS if is_command else set()
        known_fields = self.settings.handler_fields | own_fields | handler_type.fields.keys()
        reporter.report_unknown_fields(value, known_fields | self.definition_fields, path)
        if self.settings.strict_handlers:
            value = {key: value[key] for key in value if key in known_fields - {"args", "program"}}
        if not handler_type.runs:
            message = f"{self.agent.title} does not run hooks of this type; left out"
            reporter.report("unsupported-type", message, (*path, "type"))
            return None
        command: str | None = None
        argv: tuple[str, ...] | None = None
        shell = ""
        shadow = False
        is_usable = True
        if is_command:
            value, shell = self._with_command(value)
            words = self._read_command(value, handler_type, path)
            is_usable = words is not None
            words, shadow = read_recorded(words)
            if isinstance(words, str):
                command = words
            else:
                argv = words
        self._check_texts(command, path)
        options = self._read_options(value, handler_type, path)
        if options is None or not is_usable:
            return None
        if shell:
            options["shell"] = shell
        background = bool(options.pop("background", False) or options.get("wakes"))
        if background and not event.runs_background:
            message = f"{self.agent.title} waits for hooks of {event.wire}; it runs as others do"
            reporter.report("background-not-here", message, path)
            background = False
        name = reporter.typed_member(value, "name", str, "a string", path)
        handler = HandlerSpec(
            kind=handler_type.kind,
            layer=self.source.layer,
            place=reporter.document.place(path),
            name=self._fill_in(name) or None,
            command=command,
            argv=argv,
            description=reporter.typed_member(value, "description", str, "a string", path),
            timeout=self._read_timeout(event, handler_type, value, path),
            env={**self._read_env(value, path), **self.source.env},
            cwd=self._working_directory(options.pop("cwd", None)),
            variables=self.source.path_variables,
            placeholders=self.source.placeholders,
            forbidden=self.source.forbidden,
            origin=self.source.origin,
            condition=options.pop("condition", None),
            on_failure=options.pop("on_failure", "continue"),
            background=background,
            options=options,
            form=self.agent.form_name,
            matcher=self._own_matcher(value),
            path=tuple(path),
            shadow=shadow,
        )
        self._check_runs_on_event(event, handler, path)
        return handler

    def _check_texts(self, command: str | None, path: JsonPath) -> None:
        """Report a text in a command that the agent does not accept."""
        refused = self.settings.refused_text_in(command or "")
        if refused is not None:
            message = (
                f"{self.agent.title} accepts no {refused!r} in a command; put the command into a "
                "script, and name the script"
            )
            self.reporter.report("refused-text", message, self._at(path, "command"))

    def _check_runs_on_event(self, event: EventSpec, handler: HandlerSpec, path: JsonPath) -> None:
        """Report a handler that never runs on its event, or whose condition is ignored."""
        if event.handler_kinds is not None and handler.kind not in event.handler_kinds:
            self.reporter.report(
                "type-not-here",
                f"{self.agent.title} runs no hook of this type on {event.wire}; it runs "
                f"{', '.join(sorted(event.handler_kinds))}",
                (*path, "type"),
            )
        if handler.condition is None:
            return
        if not event.supports_conditions:
            message = f'{event.wire} has no tool call, so a hook with "if" never runs on it'
            self.reporter.report("condition-not-here", message, (*path, "if"))
        from anyhook.matching.conditions import compile_condition

        problem = compile_condition(handler.condition).problem
        if problem:
            message = f"{problem}; the hook runs on every call"
            self.reporter.report("bad-condition", message, (*path, "if"))

    def _read_type(self, value: dict[str, Any], path: JsonPath) -> HandlerType | None:
        name = value.get("type")
        type_names = ", ".join(map(repr, self.settings.handler_types))
        if name is None:
            message = f'a hook needs "type": {type_names}; left out'
            self.reporter.report("missing-field", message, path)
            return None
        owners: list[str] = []
        if isinstance(name, str):
            if name in self.settings.handler_types:
                return self.settings.handler_types[name]
            agents = [get_agent(other) for other in CODING_AGENTS]
            owners = [agent.title for agent in agents if name in agent.settings.handler_types]
        belongs = f" (it belongs to {owners[0]})" if owners else ""
        hint = did_you_mean(str(name), self.settings.handler_types) or f"known: {type_names}"
        message = f"{self.agent.title} has no hook type {name!r}{belongs}; {hint}; left out"
        self.reporter.report("unknown-type", message, (*path, "type"))
        return None

    def _read_options(
        self, value: dict[str, Any], handler_type: HandlerType, path: JsonPath
    ) -> dict[str, Any] | None:
        """Return the members that only this type has; `None` if a required one is missing."""
        options = dict(handler_type.fixed)
        for key, field in handler_type.fields.items():
            member = value.get(key)
            if member is None and field.nullable and key in value:
                options[field.option] = None
            elif member is not None and self._is_valid_option(key, field, member, path):
                if field.option in options and key in value:
                    message = f"{key!r} is another name of a member that stands here, too"
                    self.reporter.report("duplicate-key", message, (*path, key))
                meaning = field.values[member] if field.values else member
                options[field.option] = self._fill_in(meaning)
            elif member is not None and field.other_value:
                options[field.option] = field.other_value
            elif field.required:
                if member is None:
                    message = f"a hook of this type needs {key!r}"
                    self.reporter.report("missing-field", message, path)
                return None
        return options

    def _is_valid_option(
        self, key: str, field: HandlerField, member: object, path: JsonPath
    ) -> bool:
        if field.not_empty and isinstance(member, str) and not member.strip():
            self.reporter.report("empty-member", f"{key} is empty; left out", (*path, key))
            return False
        value_type, item_type, description = FIELD_KINDS[field.kind]
        effect = "left out"
        if field.other_value:
            effect = f"{self.agent.title} reads it as {field.other_value!r}"
        if not _has_type(member, value_type, item_type) or (
            field.kind == "web_url" and not str(member).startswith(("http://", "https://"))
        ):
            problem = f"{key} must be {description}; {effect}"
        elif field.words and member not in field.words:
            words = ", ".join(map(repr, field.words))
            problem = f"{key} must be one of {words}; {effect}"
        else:
            return True
        self.reporter.report("wrong-type", problem, (*path, key))
        return False

    # -- the command

    def _read_command(
        self, value: dict[str, Any], handler_type: HandlerType, path: JsonPath
    ) -> str | tuple[str, ...] | None:
        """Return a command line, or a program with its arguments; `None` if it cannot run."""
        command: Any = value.get("command")
        args: Any = value.get("args")
        if "program" in value:
            return self._read_program(value, path)
        if self.settings.strict_handlers and isinstance(command, str) and not command.strip():
            message = f"{self._name('command')} is empty; left out"
            self.reporter.report("empty-member", message, self._at(path, "command"))
            return None
        is_list = isinstance(command, list) and not self.settings.strict_handlers
        is_line = isinstance(command, str) and command.strip() != ""
        words: list[Any] = []
        if (is_list or is_line) and (not args or isinstance(args, list)):
            words = [*(command if is_list else [command]), *(args or [])]
        if not all(map(_is_valid_argument, [command, *words])):
            self.reporter.report(
                "wrong-type",
                "a command holds no null characters and no halves of characters; left out",
                self._at(path, "command"),
            )
            return None
        if not words or not words[0] or not _has_type(words, list, str):
            is_missing = command is None or command in ("", [])
            self.reporter.report(
                "missing-field" if is_missing else "wrong-type",
                f'a hook needs "{self._name("command")}": a command line, or a list of program and '
                "arguments; left out",
                path if is_missing else self._at(path, "command"),
            )
            return None
        if is_line and args is None:
            line: str = self._fill_in(words[0])
            return line
        if is_list or not handler_type.programs:
            self.reporter.report(
                "anyhook-only",
                f"{self.agent.title} itself runs command lines only; a program with arguments as "
                "a list runs under anyhook",
                self._at(path, "command"),
            )
        return tuple(map(self._fill_in, words))

    def _read_program(self, value: dict[str, Any], path: JsonPath) -> tuple[str, ...] | None:
        """Return a program that runs without a shell, with its arguments; `None` if it cannot."""
        program, args = value["program"], value.get("args") or []
        words = [program, *args] if isinstance(args, list) else []
        is_valid = _has_type(words, list, str) and all(map(_is_valid_argument, words))
        if "command" in value or not words or not is_valid or not program:
            self.reporter.report(
                "wrong-type",
                f'"{self._name("program")}" is a program, with "{self._name("args")}" as a list of '
                f'strings, in place of "{self._name("command")}"; left out',
                self._at(path, "program"),
            )
            return None
        return tuple(map(self._fill_in, words))

    def _name(self, member: str) -> str:
        return member_name(self.agent, self.written, member)

    def _at(self, path: JsonPath, member: str) -> JsonPath:
        """Return the path of a member of the handler, under the name that it is written with."""
        return (*path, self._name(member))

    def _with_command(self, value: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return a handler with its command, and the shell that it names by the member for it."""
        for member, shell in self.settings.shell_members.items():
            if member in value and "command" not in value and "program" not in value:
                return {**value, "command": value[member]}, shell
        return value, ""

    def _own_matcher(self, value: dict[str, Any]) -> str | None:
        """Return the matcher that a handler has besides the one of its definition."""
        matcher = value.get(MATCHER)
        has_own = MATCHER in self.settings.handler_fields and MATCHER not in self.definition_fields
        return matcher if has_own and isinstance(matcher, str) else None

    def _working_directory(self, cwd: str | None) -> str | None:
        """Return the directory in which a command runs; `None` for the event's."""
        directory = self.source.directory
        if cwd is None:
            return directory or None
        base = directory or self.source.project
        return os.path.normpath(os.path.join(base, cwd))  # noqa: PTH118 - a text is stored

    # -- the timeout

    def _read_timeout(
        self, event: EventSpec, handler_type: HandlerType, value: dict[str, Any], path: JsonPath
    ) -> float:
        default = event.default_timeouts.get(handler_type.kind, handler_type.timeout)
        timeout = value.get("timeout")
        is_refused_null = "timeout" in value and self.settings.drops_flawed_entries
        seconds = default
        if timeout is not None or is_refused_null:
            if handler_type.numeric_strings and isinstance(timeout, str):
                with suppress(ValueError):
                    timeout = float(timeout)
            unit = self.settings.timeout_unit
            if _is_duration(timeout):
                unit = handler_type.timeout_unit(timeout, unit)
            place = self._at(path, "timeout")
            seconds = self._checked_seconds(timeout, unit, default, place)
            is_other_unit = unit != self.settings.timeout_unit
            if is_other_unit and seconds < handler_type.milliseconds_from:
                self.reporter.report(
                    "timeout-unit",
                    f"{timeout:g} is read as milliseconds; write {seconds:g}, which is in seconds",
                    place,
                )
        return min(seconds, event.max_timeouts.get(self.source.layer, math.inf))

    def _checked_seconds(self, timeout: Any, unit: float, default: float, path: JsonPath) -> float:
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if is_number and timeout == 0 and self.settings.zero_timeout:
            return self.settings.zero_timeout
        kind = "whole number" if self.settings.strict_handlers else "number"
        is_fraction = self.settings.strict_handlers and isinstance(timeout, float)
        if not _is_duration(timeout) or is_fraction:
            self.reporter.report(
                "bad-timeout",
                f"timeout must be a positive {kind}, like {default / unit:.0f}, "
                f"not {json.dumps(timeout)}; {default:g} s is used",
                path,
            )
            return default
        seconds: float = timeout * unit
        if seconds < MIN_TIMEOUT:
            self.reporter.report(
                "bad-timeout",
                f"timeout must be at least {MIN_TIMEOUT:g} s, and {timeout:g} means "
                f"{seconds:g} s here; for {timeout:g} seconds write {timeout / unit:g}; "
                f"{default:g} s is used",
                path,
            )
            return default
        is_in_seconds = self.settings.timeout_unit == 1.0
        if not is_in_seconds and seconds < SHORT_TIMEOUT:
            self.reporter.report(
                "timeout-unit",
                f"{timeout:g} means {seconds:g} s here; "
                f"for {timeout:g} seconds write {timeout / unit:.0f}",
                path,
            )
        elif is_in_seconds and seconds > LONG_TIMEOUT:
            self.reporter.report(
                "timeout-unit",
                f"{timeout:g} means {seconds / 3600:.0f} hours here; was {timeout / 1000:g} meant?",
                path,
            )
        return seconds

    # -- the environment

    def _read_env(self, value: dict[str, Any], path: JsonPath) -> dict[str, str]:
        if "env" not in self.settings.handler_fields:  # reported as an unknown member
            return {}
        members = self.reporter.typed_member(value, "env", dict, "an object of strings", path)
        env: dict[str, str] = {}
        for name, text in (members or {}).items():
            is_variable = isinstance(text, str) and name and "=" not in name
            if not is_variable:
                problem, code = "must be a string", "wrong-type"
            elif controls_shell(name):
                problem, code = "would change the shell that runs the hook", "shell-variable"
            elif name == "PATH" and not text:
                problem, code = "is empty, so that no program would be found", "shell-variable"
            elif not _is_valid_argument(name + text):
                problem, code = "must be a string", "wrong-type"
            else:
                env[name] = self._fill_in(text)
                continue
            self.reporter.report(code, f"env.{name} {problem}; left out", (*path, "env", name))
        return env

    def _fill_in(self, value: Any) -> Any:
        """Replace the variables of an extension, if the value is a text."""
        if isinstance(value, str):
            for name, replacement in self.source.text_variables.items():
                value = value.replace(f"${{{name}}}", replacement)
        return value


def _has_type(value: Any, expected: type | tuple[type, ...], item_type: type) -> bool:
    # `True` is an instance of `int`.
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        return False
    if expected is int and isinstance(value, int) and value < 0:
        return False
    if item_type is object:
        return True
    items: Any = value.values() if isinstance(value, dict) else value
    return all(isinstance(item, item_type) for item in items)


def _is_valid_argument(value: object) -> bool:
    """Return whether the system accepts a text: no null character, no lone surrogate."""
    return not isinstance(value, str) or not _UNUSABLE.search(value)


def _is_duration(value: object) -> TypeGuard[float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and value > 0
    except OverflowError:  # an integer that no float holds
        return False
