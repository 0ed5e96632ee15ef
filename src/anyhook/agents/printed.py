"""What a command has printed: no output, text, a JSON reply, or something that resembles one.

`OutputContext` takes what is wrong with it.
"""

from __future__ import annotations

import re

from anyhook.agents.entry import load_object
from anyhook.agents.spec import PlainText
from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.json import parse_json, parse_reply, trim
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from anyhook.agents.spec import AgentSpec, EventSpec, ExitRule, RuleSet
    from anyhook.model.diagnostics import Diagnostic, Place, Severity
    from anyhook.model.layers import Layer

    class Source(Protocol):
        """The handler, as far as reading its output depends on it."""

        @property
        def label(self) -> str:
            """A short name for messages."""

        @property
        def place(self) -> Place | None:
            """Where the settings define it."""

        @property
        def layer(self) -> Layer:
            """The layer of its settings."""


REPLY_MEMBERS = frozenset(
    "decision reason continue stopReason systemMessage suppressOutput "
    "terminalSequence hookSpecificOutput".split()
)
"""Members by which a line of JSON is a reply and not a log record."""
USES = {
    PlainText.SYSTEM_MESSAGE: "a message for the user",
    PlainText.TOOL_NAMES: "a message for the user",
    PlainText.CONTEXT: "text for the agent",
    PlainText.CLEAN_CONTEXT: "text for the agent",
    PlainText.PATH: "looked into for a path",
    PlainText.NOTHING: "written to the log",
}
_TOOL_NAMES = r"(?a)[\w.:-]+(?:\s*,\s*[\w.:-]+)*\Z"
_ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]"
_CONTROLS = r"[\x00-\x09\x0b-\x1f\x7f-\x9f]"


class OutputContext:
    """One handler's output on one event, under one rule set."""

    def __init__(self, agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Source) -> None:
        self.agent = agent
        self.rules = rules
        self.spec = spec
        self.handler = handler
        self.diagnostics: list[Diagnostic] = []

    def report(
        self,
        code: str,
        message: str,
        severity: Severity | None = None,
        *,
        subject: str | None = None,
    ) -> None:
        """Add a diagnostic. `subject` is as in `Diagnostic`; the event is added to it."""
        from anyhook.model.diagnostics import diagnose  # not needed for correct output

        if subject is not None:
            subject = f"{self.spec.wire}: {subject}"
        self.diagnostics.append(
            diagnose(
                code,
                f"{self.handler.label!r} on {self.spec.wire}: {message}",
                self.handler.place,
                handler=self.handler.label,
                severity=severity,
                subject=subject,
            )
        )

    def report_no_effect(self, cause: str) -> None:
        """Report a part of the output that the agent ignores on the event.

        The cause is a member of the reply, or how the command ended.
        """
        self.report(
            "output-no-effect",
            f"{self.agent.title} gives {cause} no effect on this event; hosts may ignore it",
        )

    def has_reported(self, codes: Iterable[str], since: int = 0) -> bool:
        """Return whether a diagnostic has one of the codes.

        The first `since` diagnostics are ignored.
        """
        return any(diagnostic.code in codes for diagnostic in self.diagnostics[since:])


class ProcessExit(Record, kw_only=False):
    """How a command ended and what it printed.

    A signal that ended it is named; then there is no exit code.
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
        output: PrintedOutput = load_object(rules.output_form)(printed)
        if output.form == "empty":
            continue
        if not rule.parses_json:
            output = PrintedOutput("text", output.text)
        return output.replace(stream=stream)
    return PrintedOutput("empty")


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream of which any JSON is JSON, also in a string."""
    text = trim(printed)
    if not text:
        return PrintedOutput("empty")
    try:
        value = parse_reply(text)
    except ValueError as error:
        return PrintedOutput("text", text, error=str(error))
    if not isinstance(value, str):
        return PrintedOutput("json", text, value)
    try:
        inner = parse_reply(trim(value))
    except ValueError:
        return PrintedOutput("json", text, value)
    return PrintedOutput("json", text, inner, is_encoded_twice=True)


def classify_object(printed: str) -> PrintedOutput:
    """Return the form of a stream of which only a whole object, from `{` to `}`, is JSON."""
    text = trim(printed)
    if not (text.startswith("{") and text.endswith("}")):
        return PrintedOutput("text" if text else "empty", text)
    try:
        return PrintedOutput("json", text, parse_reply(text))
    except ValueError as error:
        if _is_log(text):
            return PrintedOutput("text", text)
        return PrintedOutput("malformed", text, error=str(error))


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


# -- text


def read_plain_text(
    context: OutputContext, output: PrintedOutput, tools: tuple[str, ...]
) -> Answer:
    """Return the answer that a text is, and report a text that resembles a JSON reply.

    `tools` are the names of tools that the event itself has.
    """
    text, use = output.text, context.spec.plain_text
    names = {item.path[-1] for item in context.agent.output_fields}
    mentions_members = any(f'"{name}"' in text or f"'{name}'" in text for name in names)
    if resembles_object(text) or ("{" in text and mentions_members):
        context.report(
            "output-not-object",
            f"this looks like a JSON reply and is none{output.cause}, so it is only {USES[use]}. "
            "Print the JSON object alone on standard output, and logs on stderr",
            subject="not a JSON reply",
        )
    match use:
        case PlainText.SYSTEM_MESSAGE:
            return Answer(system_message=text)
        case PlainText.TOOL_NAMES:
            return _read_tool_names(context, text, tools)
        case PlainText.CONTEXT:
            return Answer(context=text)
        case PlainText.CLEAN_CONTEXT:
            return Answer(context=re.sub(_CONTROLS, "", re.sub(_ANSI, "", text)))
        case PlainText.PATH:
            for line in reversed(re.sub(_ANSI, "", text).splitlines()):
                if line.strip():
                    return Answer(extra={"worktree_path": line.strip()})
            return NO_OPINION
        case PlainText.NOTHING:
            return NO_OPINION


def _read_tool_names(context: OutputContext, text: str, tools: tuple[str, ...]) -> Answer:
    """Read text as names of tools, if all are: another word must not disable tools."""
    if not re.match(_TOOL_NAMES, text):
        return Answer(system_message=text)
    agent = context.agent
    names = [name.strip() for name in text.split(",")]
    vocabulary = agent.vocabulary
    all_tools = {*tools, *agent.tools, *vocabulary.tools, *vocabulary.canonical}
    others = [name for name in names if name not in all_tools]
    unknown = [name for name in others if not name.startswith(agent.tool_prefix)]
    if not unknown:
        return Answer(tool_config={"mode": "ANY", "allowedFunctionNames": names})
    context.report(
        "output-tools",
        f"{', '.join(unknown)} is not a tool of {agent.title}, so the output is only a message for "
        'the user; to choose tools, print {"hookSpecificOutput": {"toolConfig": {"mode": "ANY", '
        '"allowedFunctionNames": […]}}}',
    )
    return Answer(system_message=text)
