"""What a command said: exit code and streams to an `Answer`, and a decision to a wire reply."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.dialects.base import ExitRule, PlainText
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.decisions import Status
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.json import parse_json, trim
from anyhook.model.llm import check_request, check_response, check_tool_config
from anyhook.model.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.dialects.base import Dialect, EventSpec, OutputField, Rules
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec

_TOOL_NAMES = re.compile(r"[\w.:-]+(?:\s*,\s*[\w.:-]+)*\Z", re.ASCII)
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended and what it printed.

    Attributes:
        code: Exit code; `None` if a signal ended it.
        signal: Name of the signal, if one did.
        stdout: Decoded standard output.
        stderr: Decoded standard error.
        truncated: Standard output is cut.
    """

    code: int | None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False


def decode_exit(
    dialect: Dialect, rules: Rules, spec: EventSpec, handler: HandlerSpec, end: Exit
) -> tuple[Status, Answer, tuple[Diagnostic, ...]]:
    """Turn the end of a command into what it said. Total: any bytes, any exit code.

    Args:
        dialect: Whose output it is.
        rules: Which reading of the dialect.
        spec: The event.
        handler: Who said it, for the diagnostics.
        end: How it ended.

    Returns:
        `RAN` or `WARNED`, the answer, and what was ignored, repaired or dropped.
    """
    reader = _Reader(dialect, spec, handler)
    rule = rules.on_signal if end.code is None else rules.exit_codes.get(end.code, rules.other_exit)
    if rule is ExitRule.PARSE:
        return Status.RAN, reader.read_stdout(end), tuple(reader.problems)
    if rule is ExitRule.BLOCK:
        return Status.RAN, reader.read_block(end), tuple(reader.problems)
    reader.report_warning(end)
    return Status.WARNED, NO_OPINION, tuple(reader.problems)


def decode_reply(
    dialect: Dialect, spec: EventSpec, handler: HandlerSpec, reply: Mapping[str, Any]
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    """Read a reply in the dialect's own JSON form, as a function may return it."""
    reader = _Reader(dialect, spec, handler)
    return reader.read_object(reply), tuple(reader.problems)


def report_unused(
    dialect: Dialect, spec: EventSpec, handler: HandlerSpec, printed: str
) -> tuple[Diagnostic, ...]:
    """Tell of a decision in output that does not count."""
    reader = _Reader(dialect, spec, handler)
    reader.report_ignored(printed)
    return tuple(reader.problems)


class _Reader:
    """Reads one handler's output and collects what is wrong with it."""

    def __init__(self, dialect: Dialect, spec: EventSpec, handler: HandlerSpec) -> None:
        self.dialect = dialect
        self.spec = spec
        self.handler = handler
        self.problems: list[Diagnostic] = []

    def report(self, code: str, message: str) -> None:
        self.problems.append(
            diagnose(
                code,
                f"{self.handler.label!r} on {self.spec.wire}: {message}",
                self.handler.place,
                handler=self.handler.label,
            )
        )

    def read_stdout(self, end: Exit) -> Answer:
        text = trim(end.stdout)
        if not text:
            return NO_OPINION
        try:
            value = parse_json(text)
        except ValueError as error:
            return self._read_text(text, end, error)
        if isinstance(value, str):
            inner = _object_in(value)
            if inner is not None:
                self.report(
                    "output-not-object",
                    "the JSON is encoded twice; it was decoded once more. Print the object itself",
                )
                return self.read_object(inner)
        if not isinstance(value, dict):
            self.report(
                "output-not-object",
                f"printed JSON that is {_kind_of(value)}, not an object; it is ignored",
            )
            return NO_OPINION
        return self.read_object(value)

    def _read_text(self, text: str, end: Exit, error: ValueError) -> Answer:
        if end.truncated:
            self.report("output-truncated", "the cut output is no JSON any more; it is ignored")
            return NO_OPINION
        if self.spec.plain_text is PlainText.TOOL_NAMES and _TOOL_NAMES.match(text):
            names = [name.strip() for name in text.split(",")]
            return Answer(tool_config={"mode": "ANY", "allowedFunctionNames": names})
        if self._looks_like_reply(text):
            self.report(
                "output-not-object",
                f"this looks like a JSON reply and is none ({error}), so it is only a message for "
                "the user. Print the JSON object alone on standard output, and logs on stderr",
            )
        return Answer(system_message=text)

    def _looks_like_reply(self, text: str) -> bool:
        keys = (field.path[-1] for field in self.dialect.output)
        return "{" in text and any(f'"{key}"' in text or f"'{key}'" in text for key in keys)

    def read_block(self, end: Exit) -> Answer:
        """Exit code 2 always blocks. The reason: stderr, JSON reason, stdout, a fixed sentence."""
        reason = trim(end.stderr)
        printed = trim(end.stdout)
        value = _object_in(printed)
        if value is not None:
            said = value.get("reason")
            reason = reason or (trim(said) if isinstance(said, str) else "")
            others = sorted(key for key in value if key not in ("reason", "decision"))
            if others:
                self.report(
                    "ignored-output",
                    f"{', '.join(others)} printed with exit code {end.code} is not applied; "
                    "exit with 0 to use JSON",
                )
            word = value.get("decision")
            if isinstance(word, str) and self.dialect.words.get(word, (Outcome.DENY,))[0] is not (
                Outcome.DENY
            ):
                self.report(
                    "ignored-output",
                    f"exit code {end.code} blocks, so the printed decision {word!r} is not applied",
                )
        elif not reason:
            reason = _text_of(printed)
        return Answer(
            outcome=Outcome.DENY,
            reason=reason or f"blocked by hook {self.handler.label!r} (exit code {end.code})",
        )

    def report_warning(self, end: Exit) -> None:
        how = end.signal or f"exit code {end.code}"
        lines = trim(end.stderr).splitlines() or [""]
        told = lines[-1] if lines[0].startswith("Traceback") else lines[0]
        self.report("handler-exit", f"ended with {how}" + (f": {told[:200]}" if told else ""))
        self.report_ignored(end.stdout)

    def report_ignored(self, printed: str) -> None:
        value = _object_in(trim(printed))
        if value is None:
            return
        said = [key for key in ("decision", "continue", "hookSpecificOutput") if key in value]
        if said:
            shown = ", ".join(f"{key}: {_short(value[key])}" for key in said)
            self.report(
                "ignored-output",
                f"printed {shown}, which is not applied, because the command did not succeed; "
                "to decide, exit with 0 and JSON, or with 2",
            )

    def read_object(self, value: Mapping[str, Any]) -> Answer:
        fields: dict[str, Any] = {}
        for item in self.dialect.output:
            found = self._lookup(value, item.path)
            if found is _MISSING or found is None:
                continue
            before = len(self.problems)
            KINDS[item.kind](self, item, found, fields)
            if len(self.problems) == before and item.field not in self.spec.acts_on:
                self._report_no_effect(item, fields)
        self._report_foreign(value)
        return Answer(**fields) if fields else NO_OPINION

    def _lookup(self, value: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        found: Any = value
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return _MISSING
            found = found[key]
        return found

    def _report_no_effect(self, item: OutputField, fields: Mapping[str, Any]) -> None:
        if fields.get(item.field) not in (None, False, Outcome.NONE, Outcome.ALLOW):
            name = ".".join(item.path)
            self.report(
                "output-no-effect",
                f"{self.dialect.title} gives {name} no effect on this event; hosts may ignore it",
            )

    def _report_foreign(self, value: Mapping[str, Any]) -> None:
        for path, instead in self.dialect.foreign_output.items():
            if self._lookup(value, path) is not _MISSING:
                self.report(
                    "output-foreign",
                    f"{'.'.join(path)} means nothing to {self.dialect.title}; write {instead}",
                )
        container = value.get(self.dialect.output_event_key[0])
        if container is not None and not isinstance(container, dict):
            self.report(
                "output-field",
                f"{self.dialect.output_event_key[0]} must be an object, not {_kind_of(container)}",
            )
        named = self._lookup(value, self.dialect.output_event_key)
        if isinstance(named, str) and named != self.spec.wire:
            self.report(
                "output-foreign",
                f"{'.'.join(self.dialect.output_event_key)} says {named!r}; it is read as "
                f"{self.spec.wire!r}",
            )


def _wrong_type(reader: _Reader, item: OutputField, value: object, wanted: str) -> None:
    name = ".".join(item.path)
    reader.report("output-field", f"{name} must be {wanted}, not {_kind_of(value)}; left out")


def _read_typed(wanted: type, word: str) -> Callable[..., None]:
    def read(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
        if isinstance(value, wanted):
            fields[item.field] = value
        else:
            _wrong_type(reader, item, value, word)

    return read


def _read_not_boolean(
    reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]
) -> None:
    if isinstance(value, bool):
        fields[item.field] = not value
    else:
        _wrong_type(reader, item, value, "true or false")


def _read_decision(reader: _Reader, _item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    words = reader.dialect.words
    if isinstance(value, str) and value in words:
        fields["outcome"], fields["approve"] = words[value]
        return
    meant = closest(value, words) if isinstance(value, str) else None
    hint = f"did you mean {meant!r}?" if meant else f"write one of {', '.join(words)}"
    reader.report("output-word", f"{_short(value)} is no decision; {hint}")


def _read_checked(check: Callable[..., tuple[Any, list[str]]]) -> Callable[..., None]:
    def read(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            _wrong_type(reader, item, value, "an object")
            return
        kept, problems = check(value)
        for problem in problems:
            reader.report("output-field", f"{'.'.join(item.path)}: {problem}; left out")
        if kept:
            fields[item.field] = kept

    return read


def _read_tool_call(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    name = value.get("name") if isinstance(value, dict) else None
    args = value.get("args", {}) if isinstance(value, dict) else None
    if isinstance(name, str) and name and isinstance(args, dict):
        fields[item.field] = {**value, "args": args}
    else:
        _wrong_type(reader, item, value, 'an object like {"name": "tool", "args": {…}}')


KINDS: dict[str, Callable[..., None]] = {
    "decision": _read_decision,
    "string": _read_typed(str, "a string"),
    "boolean": _read_typed(bool, "true or false"),
    "object": _read_typed(dict, "an object"),
    "not_boolean": _read_not_boolean,
    "llm_request": _read_checked(check_request),
    "llm_response": _read_checked(check_response),
    "tool_config": _read_checked(check_tool_config),
    "tool_call": _read_tool_call,
}
"""How each kind of output member is read into the fields of an answer."""


def encode_decision(dialect: Dialect, spec: EventSpec, decision: Decision) -> dict[str, Any]:
    """Write a decision as one reply in the dialect's own form.

    Args:
        dialect: Whose form.
        spec: The event.
        decision: The decision.

    Returns:
        A JSON object; empty if the decision is to do nothing.
    """
    values = {
        "outcome": _word(dialect, decision),
        "reason": _verdict_reason(decision) or None,
        "stop": False if decision.stop else None,
        "stop_reason": decision.reason if decision.stop else None,
        "system_message": "\n".join(decision.system_messages) or None,
        "suppress_output": decision.suppress_output or None,
        "context": "\n".join(decision.context) or None,
        "tool_input": decision.tool_input,
        "llm_request": decision.llm_request,
        "llm_response": decision.llm_response,
        "tool_config": decision.tool_config,
        "clear_context": decision.clear_context or None,
        "tail_tool_call": decision.tail_tool_call,
    }
    reply: dict[str, Any] = {}
    for item in dialect.output:
        value = values[item.field]
        if value is None:
            continue
        target = reply
        for key in item.path[:-1]:
            target = target.setdefault(key, _with_event_name(dialect, spec, key))
        target[item.path[-1]] = value
    return reply


def _with_event_name(dialect: Dialect, spec: EventSpec, key: str) -> dict[str, Any]:
    container, name = dialect.output_event_key
    return {name: spec.wire} if key == container else {}


def _verdict_reason(decision: Decision) -> str:
    said = (r.answer.reason for r in decision.results if r.answer.outcome is decision.outcome)
    return "\n".join(reason for reason in said if reason)


def _word(dialect: Dialect, decision: Decision) -> str | None:
    said = (decision.outcome, decision.approve)
    return next((word for word, meaning in dialect.words.items() if meaning == said), None)


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        value = parse_json(trim(text))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text_of(printed: str) -> str:
    """Return text that is no JSON, or the content of a JSON string."""
    try:
        value = parse_json(printed)
    except ValueError:
        return printed
    return trim(value) if isinstance(value, str) else ""


def _kind_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    if value is None:
        return "null"
    return names.get(type(value), "a number")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
