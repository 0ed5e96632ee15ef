"""What a command has printed: no output, text, a JSON reply, or something that resembles one."""

from __future__ import annotations

from anyhook.model.json import parse_json, parse_reply, trim
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.agents.spec import ExitRule, RuleSet

REPLY_MEMBERS = frozenset(
    {
        "decision",
        "reason",
        "continue",
        "stopReason",
        "systemMessage",
        "suppressOutput",
        "terminalSequence",
        "hookSpecificOutput",
    }
)
"""Members by which a line of JSON is a reply and not a log record."""


class ProcessExit(Record, kw_only=False):
    """How a command ended and what it printed.

    Attributes:
        code: Exit code; `None` if a signal ended it.
        signal: Name of the signal, if one ended it.
        stdout: Decoded standard output.
        stderr: Decoded standard error.
        truncated: Whether standard output was cut.
    """

    code: int | None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False

    @property
    def cause(self) -> str:
        """The signal or the exit code, for messages."""
        return self.signal or f"exit code {self.code}"


class PrintedOutput(Record, kw_only=False):
    """The output that counts.

    Attributes:
        form: `json`, `malformed`, `truncated`, `text` or `empty`; attributes of `ExitRule`.
        text: The output without surrounding white space.
        value: The value of JSON.
        error: Why text is not JSON.
        is_encoded_twice: Whether the JSON was a string that contains JSON.
        stream: The stream that it was read from: `stdout` or `stderr`.
    """

    form: str
    text: str = ""
    value: Any = None
    error: str = ""
    is_encoded_twice: bool = False
    stream: str = "stdout"

    @property
    def cause(self) -> str:
        """Why text is not JSON, in parentheses, for messages."""
        return f" ({self.error})" if self.error else ""

    @property
    def is_scalar(self) -> bool:
        """Whether it is JSON, but no object and no list."""
        return self.form == "json" and not isinstance(self.value, dict | list)

    @property
    def is_broken_reply(self) -> bool:
        """Whether it was probably meant as a reply and cannot be parsed."""
        if self.form == "text":
            return resembles_object(self.text)
        return self.form in ("malformed", "truncated")


def classify_output(rules: RuleSet, rule: ExitRule, end: ProcessExit) -> PrintedOutput:
    """Return the output that counts, and its form."""
    if end.truncated and "stdout" in rule.streams:
        kept = trim(end.stdout)
        if not kept or kept.startswith("{"):
            return PrintedOutput("truncated", kept)
    for stream in rule.streams:
        printed = end.stdout if stream == "stdout" else end.stderr
        text = trim(printed)
        # Such an agent does not strip a byte order mark, so what follows it is plain text.
        if rules.bracketed_json and printed.lstrip().startswith("\ufeff"):
            return PrintedOutput("text", text, stream=stream)
        if rules.reports_progress:
            text = _without_progress(text)
        if text:
            return _classify_text(rules, rule, text).replace(stream=stream)
    return PrintedOutput("empty")


def _classify_text(rules: RuleSet, rule: ExitRule, text: str) -> PrintedOutput:
    if not rule.parses_json:
        return PrintedOutput("text", text)
    if rules.bracketed_json:
        return _classify_bracketed(text)
    if rules.objects_only:
        return _classify_object(text)
    output = _classify_json(text, strings_are_text=rules.strings_are_text)
    if output.form == "json" and rules.values_are_text and not isinstance(output.value, dict):
        return PrintedOutput("text", text)
    if output.form == "text" and rules.broken_objects_fail and text.startswith("{"):
        return output.replace(form="malformed")
    return output


def _without_progress(text: str) -> str:
    """Remove the lines that report progress: objects with `"type": "progress"`."""
    if '"progress"' not in text:
        return text
    lines = [line for line in text.splitlines() if not _is_progress(line)]
    return trim("\n".join(lines))


def _is_progress(line: str) -> bool:
    value = parse_object(line) if '"progress"' in line else None
    return value is not None and value.get("type") == "progress"


def _classify_json(text: str, *, strings_are_text: bool) -> PrintedOutput:
    try:
        value = parse_reply(text)
    except ValueError as error:
        return PrintedOutput("text", text, error=str(error))
    if not isinstance(value, str):
        return PrintedOutput("json", text, value)
    try:
        inner = parse_reply(trim(value))
    except ValueError:
        return PrintedOutput("text" if strings_are_text else "json", text, value)
    return PrintedOutput("json", text, inner, is_encoded_twice=True)


def _classify_object(text: str) -> PrintedOutput:
    """Classify text of which only a whole object, from `{` to `}`, is JSON."""
    if not (text.startswith("{") and text.endswith("}")):
        return PrintedOutput("text", text)
    try:
        return PrintedOutput("json", text, parse_reply(text))
    except ValueError as error:
        if _is_log(text):
            return PrintedOutput("text", text)
        return PrintedOutput("malformed", text, error=str(error))


def _classify_bracketed(text: str) -> PrintedOutput:
    """Classify text that is JSON only if it begins with a bracket, and must be an object then."""
    if not text.startswith(("{", "[")):
        return PrintedOutput("text", text)
    try:
        value = parse_reply(text)
    except ValueError as error:
        return PrintedOutput("malformed", text, error=str(error))
    if _has_lone_surrogate(text):
        return PrintedOutput("malformed", text, error="half of a character")
    if isinstance(value, dict):
        return PrintedOutput("json", text, value)
    return PrintedOutput("malformed", text, error="a list, not an object")


def _has_lone_surrogate(text: str) -> bool:
    """Return whether an escape in a JSON text is half of a character."""
    if "\\u" not in text:
        return False
    try:
        _encode_all(parse_json(text))
    except UnicodeEncodeError:
        return True
    return False


def _encode_all(value: Any) -> None:
    """Encode all texts of a value.

    Raises:
        UnicodeEncodeError: If one holds half of a character.
    """
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for item in value:
            _encode_all(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            key.encode()
            _encode_all(item)


def resembles_object(text: str) -> bool:
    """Return whether text that is not JSON may have been meant as a JSON object."""
    return text.startswith("{") and not _is_log(text)


def _is_log(text: str) -> bool:
    """Return whether text is lines of JSON none of which is a reply."""
    try:
        records = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return False
    objects = [record for record in records if isinstance(record, dict)]
    return all(REPLY_MEMBERS.isdisjoint(record) for record in objects)


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is; `None` if it is none."""
    try:
        value = parse_json(trim(text))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def announces_background(stdout: str) -> bool:
    """Return whether the first line, or all of the output, is an object with `"async": true`."""
    if '"async"' not in stdout:
        return False
    text = trim(stdout)
    for candidate in (text.partition("\n")[0], text):
        value = parse_object(candidate)
        if value is not None and value.get("async") is True:
            return True
    return False
