"""What a command said: exit code and streams to an `Answer`."""

from __future__ import annotations

import re

from anyhook.agents.spec import Denial, OutputAction, PlainText
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Audience, Outcome
from anyhook.model.json import RepeatedKeys, parse_json, parse_reply, trim
from anyhook.model.record import Record
from anyhook.model.status import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from anyhook.agents.spec import AgentSpec, EventSpec, ExitRule, OutputField, RuleSet
    from anyhook.model.diagnostics import Diagnostic, Place, Severity
    from anyhook.model.events import Event
    from anyhook.model.layers import Layer

    class Speaker(Protocol):
        """Who said it, as far as reading it needs to know."""

        @property
        def label(self) -> str:
            """A short name for people."""

        @property
        def place(self) -> Place | None:
            """Where it was written."""

        @property
        def layer(self) -> Layer:
            """Where it came from."""


_TOOL_NAMES = r"(?a)[\w.:-]+(?:\s*,\s*[\w.:-]+)*\Z"
_NO_TOOLS: tuple[str, ...] = ()
_NO_FILE = ("no such file or directory", "can't open file", "cannot find module")
_ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]"
_TERMINAL = r"(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f]*(?:\x07|\x1b\\))+\Z"
_MISSING = object()
TOO_LONG = (
    "its JSON reply is longer than 16 MiB, so it was cut and cannot be read; print a shorter reply"
)
EXTRA = "extra."


class ProcessExit(Record, kw_only=False):
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

    def __init__(
        self,
        code: int | None,
        signal: str | None = None,
        stdout: str = "",
        stderr: str = "",
        truncated: bool = False,
    ) -> None:  # written out: one is made for every hook that runs
        self.__dict__.update(
            code=code, signal=signal, stdout=stdout, stderr=stderr, truncated=truncated
        )


class HookOutput(Record, kw_only=False):
    """What the end of a command was read as.

    Attributes:
        status: `RAN` or `WARNED`; `FAILED` if the reply was too long to be read.
        answer: What it said.
        diagnostics: What was ignored, repaired or dropped.
        failed: Whether a hook that must not fail has failed.
    """

    status: Status
    answer: Answer
    diagnostics: tuple[Diagnostic, ...]
    failed: bool

    def __init__(
        self, status: Status, answer: Answer, diagnostics: tuple[Diagnostic, ...], failed: bool
    ) -> None:
        self.__dict__.update(status=status, answer=answer, diagnostics=diagnostics, failed=failed)


def decode_exit(
    agent: AgentSpec,
    rules: RuleSet,
    spec: EventSpec,
    handler: Speaker,
    end: ProcessExit,
    *,
    tools: tuple[str, ...] = _NO_TOOLS,
) -> HookOutput:
    """Turn the end of a command into what it said. Total: any bytes, any exit code.

    Args:
        agent: Whose output it is.
        rules: Which reading of the agent.
        spec: The event under that reading.
        handler: Who said it, for the diagnostics.
        end: How it ended.
        tools: Names of tools that the event itself names (`event_tools`).

    Returns:
        What it said.
    """
    if rules.async_replies and '"async"' in end.stdout and _announces_background(end.stdout):
        return HookOutput(Status.RAN, NO_OPINION, (), False)
    reader = _Reader(agent, rules, spec, handler)
    reader.tools = tools
    row = rules.exit_rules_for(spec.canonical).rule_for(end.code)
    output = _look(rules, row, end)
    take: OutputAction = getattr(row, output.form)
    status, answer = TAKES[take](reader, end, output)
    if end.code == 0 and end.stderr and "stderr" not in row.streams:
        reader.report_on_stderr(trim(end.stderr))
    if "stdout" not in row.streams and status is Status.WARNED and answer is not NO_OPINION:
        reader.report_ignored(end.stdout)
    if answer is not NO_OPINION and rules.drops_ineffective_fields:
        answer = _only_used(spec, answer)
    prints = end.code == 0 and status is Status.RAN and answer.outcome is not Outcome.DENY
    if spec.stdout_field and prints and output.text:
        answer = answer.replace(**{spec.stdout_field: output.text})
    if spec.any_output_sets and output.form != "empty" and not _is_scalar(output):
        answer = answer.replace(**{**spec.any_output_sets, **_set_fields(answer)})
    failed = (
        end.code not in (0, 2)
        or output.form in ("malformed", "truncated")
        or (output.form == "text" and _is_unreadable(output.text))
        or (status is Status.WARNED and spec.can_block)
        or any(problem.code in _INVALID for problem in reader.problems)
    )
    return HookOutput(status, answer, tuple(reader.problems), failed)


def decode_text(
    agent: AgentSpec,
    rules: RuleSet,
    spec: EventSpec,
    handler: Speaker,
    text: str,
    *,
    tools: tuple[str, ...] = _NO_TOOLS,
) -> HookOutput:
    """Read text that stands for the output of a command that succeeded."""
    return decode_exit(agent, rules, spec, handler, ProcessExit(0, stdout=text), tools=tools)


def event_tools(spec: EventSpec, event: Event) -> tuple[str, ...]:
    """Return the tools that an event names, where plain output may choose among them."""
    if spec.plain_text is not PlainText.TOOL_NAMES:
        return _NO_TOOLS
    from anyhook.model.llm import offered_tools

    return offered_tools(getattr(event, "llm_request", None))


def decode_reply(
    agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Speaker, reply: Mapping[str, Any]
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    """Read a reply in the agent's own JSON form, as a function may return it."""
    reader = _Reader(agent, rules, spec, handler)
    return reader.read_object(reply), tuple(reader.problems)


def report_unused(
    agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Speaker, printed: str
) -> tuple[Diagnostic, ...]:
    """Tell of a decision in output that does not count."""
    reader = _Reader(agent, rules, spec, handler)
    reader.report_ignored(printed)
    return tuple(reader.problems)


# -- what was printed


class _Output:
    """The output that counts, and its form: `json`, `malformed`, `truncated`, `text` or `empty`."""

    __slots__ = ("error", "form", "text", "twice", "value")

    def __init__(
        self, form: str, text: str = "", value: Any = None, *, error: str = "", twice: bool = False
    ) -> None:
        self.form = form
        self.text = text
        self.value = value
        self.error = error
        self.twice = twice


def _look(rules: RuleSet, row: ExitRule, end: ProcessExit) -> _Output:
    if end.truncated and "stdout" in row.streams and _was_reply(end.stdout):
        return _Output("truncated", trim(end.stdout))
    streams = {"stdout": end.stdout, "stderr": end.stderr}
    text = next((found for name in row.streams if (found := trim(streams[name]))), "")
    if not text:
        return _Output("empty")
    if not row.parses_json:
        return _Output("text", text)
    return _look_for_object(text) if rules.objects_only else _look_for_json(rules, text)


def _was_reply(cut: str) -> bool:
    """Return whether the kept part of an output may be the beginning of a JSON reply."""
    text = trim(cut)
    return not text or text.startswith("{")


def _look_for_json(rules: RuleSet, text: str) -> _Output:
    try:
        value = parse_reply(text)
    except ValueError as error:
        return _Output("text", text, error=str(error))
    if isinstance(value, str):
        try:
            return _Output("json", text, parse_reply(trim(value)), twice=True)
        except ValueError:
            return _Output("text" if rules.strings_are_text else "json", text, value)
    return _Output("json", text, value)


def _look_for_object(text: str) -> _Output:
    """Read text that is JSON only from `{` to `}`; of several lines of JSON none counts."""
    if not (text.startswith("{") and text.endswith("}")):
        return _Output("text", text)
    try:
        return _Output("json", text, parse_reply(text))
    except ValueError as error:
        if _is_log(text):
            return _Output("text", text)
        return _Output("malformed", text, error=str(error))


_SAYS = frozenset(
    "decision reason continue stopReason systemMessage suppressOutput terminalSequence "
    "hookSpecificOutput".split()
)


def _is_log(text: str) -> bool:
    """Tell whether text is lines of JSON of which none is meant for the agent."""
    try:
        values = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return False
    return all(_SAYS.isdisjoint(value) for value in values if isinstance(value, dict))


def _is_unreadable(text: str) -> bool:
    """Return whether text that is no JSON may have been meant as an object."""
    return text.startswith("{") and not _is_log(text)


def _is_scalar(output: _Output) -> bool:
    return output.form == "json" and not isinstance(output.value, dict | list)


def _only_used(spec: EventSpec, answer: Answer) -> Answer:
    """Leave out what has no effect on the event."""
    kept = {
        name: value for name, value in _set_fields(answer).items() if name in spec.effective_fields
    }
    extra = {k: v for k, v in (answer.extra or {}).items() if EXTRA + k in spec.effective_fields}
    if extra:
        kept["extra"] = extra
    outcome = kept.get("outcome", Outcome.NONE)
    if spec.outcomes is not None and outcome not in spec.outcomes and outcome is not Outcome.NONE:
        kept["outcome"] = Outcome.ALLOW
    return Answer(**kept)


def _set_fields(answer: Answer) -> dict[str, Any]:
    return {name: answer.__dict__[name] for name in answer.record_fields if name in answer.__dict__}


class _Reader:
    """Reads one handler's output and collects what is wrong with it."""

    def __init__(self, agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Speaker) -> None:
        self.agent = agent
        self.rules = rules
        self.spec = spec
        self.handler = handler
        self.problems: list[Diagnostic] = []
        self.output = agent.output_fields_of(spec.canonical)
        self.verdict_place: tuple[str, ...] | None = None
        """Path of the object that holds the verdict that counts."""
        self.tools = _NO_TOOLS

    def report(self, code: str, message: str, severity: Severity | None = None) -> None:
        from anyhook.model.diagnostics import diagnose

        self.problems.append(
            diagnose(
                code,
                f"{self.handler.label!r} on {self.spec.wire}: {message}",
                self.handler.place,
                handler=self.handler.label,
                severity=severity,
            )
        )

    # -- one method for each `OutputAction`

    def take_nothing(self, _end: ProcessExit, _output: _Output) -> tuple[Status, Answer]:
        return Status.RAN, NO_OPINION

    def take_json(self, _end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        value = output.value
        if output.twice and isinstance(value, dict):
            self.report(
                "output-not-object",
                "the JSON is encoded twice; it was decoded once more. Print the object itself",
            )
        if not isinstance(value, dict):
            shown = "" if output.twice else value
            self.report(
                "output-not-object",
                f"printed JSON that is {_kind_of(shown)}, not an object; it is ignored",
            )
            return Status.RAN, NO_OPINION
        answer = self._read_strictly(value)
        return (Status.WARNED, NO_OPINION) if answer is None else (Status.RAN, answer)

    def _read_strictly(self, value: Mapping[str, Any]) -> Answer | None:
        """Read an object; `None` if these rules drop a whole reply for one wrong member."""
        before = len(self.problems)
        answer = self.read_object(value)
        if not self.rules.strict or self._is_valid(before):
            return answer
        self.report(
            "ignored-output",
            f"{self.agent.title} {self.rules.release} drops a whole reply for one wrong member",
        )
        return None

    def _is_valid(self, since: int) -> bool:
        """Return whether no problem since the given one makes a strict agent drop the reply."""
        return all(problem.code not in _WRONG for problem in self.problems[since:])

    def take_text(self, _end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        text = output.text
        if _is_unreadable(text) or self._looks_like_reply(text):
            self.report(
                "output-not-object",
                f"this looks like a JSON reply and is none{_because(output)}, so it is only "
                f"{_ONLY[self.spec.plain_text]}. Print the JSON object alone on standard output, "
                "and logs on stderr",
            )
        if self.spec.plain_text is PlainText.TOOL_NAMES:
            return Status.RAN, self._read_tool_names(text)
        return Status.RAN, _PLAIN[self.spec.plain_text](text)

    def _read_tool_names(self, text: str) -> Answer:
        """Read text as tool names, if every word is one: a stray word must not disable tools."""
        if not re.match(_TOOL_NAMES, text):
            return Answer(system_message=text)
        names = [name.strip() for name in text.split(",")]
        unknown = [name for name in names if not self._is_tool(name)]
        if not unknown:
            return Answer(tool_config={"mode": "ANY", "allowedFunctionNames": names})
        self.report(
            "output-tools",
            f"{', '.join(unknown)} is no tool of {self.agent.title}, so the output is only a "
            'message for the user; to choose tools, print {"hookSpecificOutput": {"toolConfig": '
            '{"mode": "ANY", "allowedFunctionNames": […]}}}',
        )
        return Answer(system_message=text)

    def _is_tool(self, name: str) -> bool:
        agent = self.agent
        words = agent.vocabulary
        return (
            name in self.tools
            or name in agent.tools
            or name in words.tools
            or name in words.canonical
            or name.startswith(agent.tool_prefix)
        )

    def _looks_like_reply(self, text: str) -> bool:
        keys = (field.path[-1] for field in self.agent.output_fields)
        return "{" in text and any(f'"{key}"' in text or f"'{key}'" in text for key in keys)

    def take_message(self, _end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        return Status.RAN, Answer(outcome=Outcome.ALLOW, system_message=output.text)

    def take_warning(self, _end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        said = Answer(outcome=Outcome.ALLOW, system_message=f"Warning: {output.text}")
        return Status.WARNED, said

    def take_denial(self, end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        self._report_powerless_exit(end)
        return Status.RAN, Answer(outcome=Outcome.DENY, reason=output.text)

    def take_failure(self, end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        if output.form == "malformed":
            self.report("output-not-object", f"the printed JSON cannot be read{_because(output)}")
        how = end.signal or f"exit code {end.code}"
        lines = trim(end.stderr).splitlines() or [""]
        told = lines[-1] if lines[0].startswith("Traceback") else lines[0]
        if end.code != 0:
            text = f"ended with {how}" + (f": {told[:200]}" if told else "")
            hint = self.rules.exit_rules_for(self.spec.canonical).rule_for(end.code).hint
            shows_hint = hint and self.spec.can_block
            self.report("handler-exit", f"{text} ({hint})" if shows_hint else text)
        self.report_ignored(end.stdout)
        return Status.WARNED, NO_OPINION

    def take_unreadable(self, _end: ProcessExit, _output: _Output) -> tuple[Status, Answer]:
        self.report("reply-too-long", TOO_LONG)
        return Status.FAILED, NO_OPINION

    def take_block(self, end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        """Deny. The reason: stderr, JSON reason, stdout, a fixed sentence."""
        if not self._blocks(end, output):
            return self._take_harmless_block(end)
        reason = trim(end.stderr)
        printed = trim(end.stdout)
        value = _object_in(printed)
        if value is not None:
            said = value.get("reason")
            reason = reason or (trim(said) if isinstance(said, str) else "")
            self._report_not_applied(value, end)
        elif not reason and output.form != "truncated":
            reason = _text_of(printed)
        self._report_powerless_exit(end)
        return Status.RAN, self._denial(reason, end)

    def take_json_and_block(self, end: ProcessExit, output: _Output) -> tuple[Status, Answer]:
        """Apply the members, and deny: nothing that was printed undoes the block."""
        blocks = self._blocks(end, output)
        value = output.value if isinstance(output.value, dict) else {}
        if blocks and self.rules.strict and self.rules.blocks_despite_invalid_json:
            answer = self.read_object(value)
            if not self._is_valid(0):
                return Status.RAN, self._denial(trim(end.stderr), end)
        else:
            strictly = self._read_strictly(value)
            if strictly is None:
                return Status.WARNED, NO_OPINION
            answer = strictly
        is_valid = all(problem.code not in _INVALID for problem in self.problems)
        if not blocks:
            status, _ = self._take_harmless_block(end)
            return status, answer
        if answer.outcome is Outcome.DENY:
            says_why = answer.reason and (is_valid or not trim(end.stderr))
            return Status.RAN, answer if says_why else self._with_denial(answer, end)
        if answer.outcome is not Outcome.NONE:
            self.report(
                "ignored-output",
                f"exit code {end.code} blocks, so the printed {answer.outcome} is not applied",
            )
        return Status.RAN, self._with_denial(answer, end)

    def _with_denial(self, answer: Answer, end: ProcessExit) -> Answer:
        explains = self.rules.stderr_as_reason or answer.outcome is not Outcome.DENY
        denial = self._denial(trim(end.stderr) if explains else "", end)
        return answer.replace(outcome=Outcome.DENY, approve=False, reason=denial.reason)

    def _denial(self, reason: str, end: ProcessExit) -> Answer:
        return Answer(
            outcome=Outcome.DENY,
            reason=reason
            or f"blocked by hook {self.handler.label!r} ({end.signal or f'exit code {end.code}'})",
        )

    def _blocks(self, end: ProcessExit, output: _Output) -> bool:
        forgiving = self.spec.tolerates_missing_file
        if forgiving is not None and output.form == "empty" and _names_no_file(end.stderr):
            return bool(forgiving) and self.handler.layer not in forgiving
        return self.spec.can_block

    def _take_harmless_block(self, end: ProcessExit) -> tuple[Status, Answer]:
        told = trim(end.stderr).partition("\n")[0][:200]
        what = "blocks nothing here" if not self.spec.can_block else "means a missing file here"
        self.report("handler-exit", f"exit code {end.code} {what}" + (f": {told}" if told else ""))
        return Status.WARNED, NO_OPINION

    # -- what was lost

    def _report_not_applied(self, value: Mapping[str, Any], end: ProcessExit) -> None:
        others = sorted(key for key in value if key not in ("reason", "decision"))
        if others:
            self.report(
                "ignored-output",
                f"{', '.join(others)} printed with exit code {end.code} is not applied; "
                "exit with 0 to use JSON",
            )
        word = value.get("decision")
        meant = (
            self.agent.decision_words.get(word, (Outcome.DENY,)) if isinstance(word, str) else None
        )
        if meant is not None and meant[0] is not Outcome.DENY:
            self.report(
                "ignored-output",
                f"exit code {end.code} blocks, so the printed decision {word!r} is not applied",
            )

    def report_ignored(self, printed: str) -> None:
        shown = _decision_in(printed)
        if shown:
            self.report(
                "ignored-output",
                f"printed {shown}, which is not applied, because the command did not succeed; "
                "to decide, exit with 0 and JSON, or with 2",
            )

    def report_on_stderr(self, stderr: str) -> None:
        """Report a decision that was printed on the stream that holds none."""
        if not any(f'"{key}"' in stderr for key in _DECIDING):
            return
        for text in (stderr, *stderr.splitlines()):
            shown = _decision_in(text) if "{" in text[:1] else ""
            if shown:
                self.report(
                    "ignored-output",
                    f"printed a decision on stderr ({shown}), which is not applied; "
                    "print the JSON object on stdout",
                )
                return

    # -- JSON

    def read_object(self, value: Mapping[str, Any]) -> Answer:
        fields = self._read_members(value)
        if self._report_repeated(value) and not self.rules.last_duplicate_wins:
            self._read_repeated(value, fields)
        self._report_unknown(value)
        self._report_foreign(value)
        self._report_shapes(value)
        if self.spec.discarded_fields:
            self._discard(fields)
        if not fields:
            return NO_OPINION
        if self.spec.denial is Denial.CONTINUES and self.rules.default_reason:
            self._report_missing_reason(fields)
        extra = {k.removeprefix(EXTRA): v for k, v in fields.items() if k.startswith(EXTRA)}
        own = {key: item for key, item in fields.items() if not key.startswith(EXTRA)}
        return Answer(**own, extra=extra) if extra else Answer(**own)

    def _read_members(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Read every member that the event has into the fields of an answer."""
        fields: dict[str, Any] = {}
        reasons: dict[tuple[str, ...], str] = {}
        read_unchecked = _get_unchecked() if self.rules.unchecked else None
        for item in [item for item in self.output if item.path[0] in value]:
            found = self._lookup(value, item.path)
            if found is None and read_unchecked:
                read_unchecked(item.field, None, fields)
            if found is None and self.rules.strict and item.kind != "any":
                _wrong_type(self, item, None, "left out or set")
            if found is _MISSING or found is None:
                continue
            if not item.belongs_to(self.spec.canonical):
                self._report_not_here(item)
                continue
            before = len(self.problems)
            KINDS[item.kind](self, item, found, fields)
            if read_unchecked:
                read_unchecked(item.field, found, fields)
            if item.field == "reason" and "reason" in fields:
                reasons[item.path[:-1]] = fields["reason"]
            if len(self.problems) == before and item.field not in self.spec.effective_fields:
                self._report_no_effect(item, fields)
        if self.verdict_place in reasons:  # two verdicts in one reply each have a reason
            fields["reason"] = reasons[self.verdict_place]
        return fields

    def _discard(self, fields: dict[str, Any]) -> None:
        """Leave out what the reference gives no effect; the user sees why a hook denied."""
        if "outcome" in self.spec.discarded_fields and fields.get("outcome") is Outcome.DENY:
            reason = fields.get("reason")
            if reason and self.spec.block_audience is Audience.USER:
                messages = [fields.get("system_message"), reason]
                fields["system_message"] = "\n".join(filter(None, messages))
        for name in self.spec.discarded_fields:
            fields.pop(name, None)

    def _report_missing_reason(self, fields: Mapping[str, Any]) -> None:
        if fields.get("outcome") is Outcome.DENY and not fields.get("reason"):
            self.report(
                "output-reason",
                "denies without a reason, which the agent needs to go on; "
                'write "reason": "what is left to do"',
            )

    def _lookup(self, value: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        found: Any = value
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return _MISSING
            found = found[key]
        return found

    def _report_not_here(self, item: OutputField) -> None:
        name = ".".join(item.path)
        self.report("output-no-effect", f"{name} belongs to other events; it has no effect here")

    def _report_powerless_exit(self, end: ProcessExit) -> None:
        """Report a denial by exit code on an event that cannot be denied, like one in JSON."""
        if "outcome" not in self.spec.effective_fields:
            how = end.signal or f"exit code {end.code}"
            self.report(
                "output-no-effect",
                f"{self.agent.title} gives {how} no effect on this event; hosts may ignore it",
            )

    def _report_no_effect(self, item: OutputField, fields: Mapping[str, Any]) -> None:
        if fields.get(item.field) not in (None, False, Outcome.NONE, Outcome.ALLOW):
            name = ".".join(item.path)
            self.report(
                "output-no-effect",
                f"{self.agent.title} gives {name} no effect on this event; hosts may ignore it",
            )

    def _report_shapes(self, value: Mapping[str, Any]) -> None:
        """Tell of inner members that are no objects though members stand in them."""
        deep = (item for item in self.output if len(item.path) > 2 and item.path[0] in value)
        here = (item.path for item in deep if item.belongs_to(self.spec.canonical))
        for path in dict.fromkeys(path[:-1] for path in here):
            found = self._lookup(value, path)
            if found is not _MISSING and found is not None and not isinstance(found, dict):
                self.report(
                    "output-field",
                    f"{'.'.join(path)} must be an object, not {_kind_of(found)}; left out",
                )

    def _report_repeated(self, value: Mapping[str, Any]) -> bool:
        """Report keys that an object of the reply has twice; return whether there are any."""
        repeats = False
        for parent in self.agent.reply_objects(self.spec.canonical):
            container = self._lookup(value, parent)
            if isinstance(container, RepeatedKeys):
                repeats = True
                self._report_repeated_in(parent, container)
        return repeats

    def _report_repeated_in(self, parent: tuple[str, ...], container: RepeatedKeys) -> None:
        keys = [key for key, _ in container.pairs]
        for key in container:
            if keys.count(key) > 1:
                counts = "the last one counts"
                if not self.rules.last_duplicate_wins:
                    counts += ", of verdicts the strongest"
                name = ".".join((*parent, key))
                self.report(
                    "output-duplicate", f"{name} is written {keys.count(key)} times; {counts}"
                )

    def _read_repeated(self, value: Mapping[str, Any], fields: dict[str, Any]) -> None:
        """Read every value of every verdict: no denial is lost to a second one."""
        for item in self.output:
            if item.kind not in _VERDICTS or not item.belongs_to(self.spec.canonical):
                continue
            values: list[Any] = [value]
            for key in item.path:
                values = [inner for outer in values for inner in _all_values(outer, key)]
            last = self._lookup(value, item.path)
            for found in values:
                if found is not last:  # that one was read already
                    KINDS[item.kind](self, item, found, fields)

    def _report_unknown(self, value: Mapping[str, Any]) -> None:
        """Report members that the reply does not have. They are kept, and have no effect."""
        for parent, names in self.agent.reply_objects(self.spec.canonical).items():
            container = self._lookup(value, parent)
            if isinstance(container, dict) and not container.keys() <= names:
                self._explain_unknown(parent, container.keys() - names)

    def _explain_unknown(self, parent: tuple[str, ...], names: set[str]) -> None:
        from anyhook.agents.unknown_members import explain_members

        for problem in explain_members(self.agent, self.spec.canonical, parent, names):
            self.report(problem.code, problem.message, problem.severity)

    def _report_foreign(self, value: Mapping[str, Any]) -> None:
        for path, instead in self.agent.foreign_members.items():
            if path[0] in value and self._lookup(value, path) is not _MISSING:
                from anyhook.agents.unknown_members import owner_of

                owner = owner_of(path, self.agent)
                whose = f"is a member of {owner}'s replies and " if owner else ""
                self.report(
                    "output-foreign",
                    f"{'.'.join(path)} {whose}means nothing to {self.agent.title}; write {instead}",
                )
        key = self.agent.output_event_key
        container = value.get(key[0]) if key else None
        is_null = bool(key) and key[0] in value and container is None
        if container is None and not (is_null and self.rules.strict):
            return
        if not isinstance(container, dict):
            self.report("output-field", f"{key[0]} must be an object, not {_kind_of(container)}")
            return
        named = container.get(key[1])
        if isinstance(named, str) and named != self.spec.wire:
            self.report(
                "output-event",
                f"{'.'.join(key)} says {named!r}; it is read as {self.spec.wire!r}",
            )
        elif named is None and self.agent.needs_event_name:
            self.report(
                "output-event",
                f"{'.'.join(key)} is missing, which makes {self.agent.title} itself drop the "
                f"reply; write {self.spec.wire!r}",
            )


_DECIDING = ("decision", "continue", "hookSpecificOutput")
"""Members at the top level that decide something."""
_VERDICTS = frozenset({"decision", "not_boolean", "interrupt"})
"""Kinds of members of which the strongest value counts if a reply holds several."""

_INVALID = frozenset({"output-field", "output-word", "output-event"})
"""What is wrong with a JSON object that fails the schema of replies."""
_WRONG = _INVALID | {"output-not-object"}
"""What makes a strict reading drop a reply."""

_ONLY = {
    PlainText.SYSTEM_MESSAGE: "a message for the user",
    PlainText.TOOL_NAMES: "a message for the user",
    PlainText.CONTEXT: "text for the agent",
    PlainText.PATH: "looked into for a path",
    PlainText.NOTHING: "written to the log",
}


def _all_values(container: object, key: str) -> list[Any]:
    if isinstance(container, RepeatedKeys):
        return [value for name, value in container.pairs if name == key]
    return [container[key]] if isinstance(container, dict) and key in container else []


def _names_no_file(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in _NO_FILE)


def _get_unchecked() -> Callable[[str, object, dict[str, Any]], None]:
    from anyhook.agents.gemini.observed import read_unchecked

    return read_unchecked


def _read_path(text: str) -> Answer:
    lines = [line.strip() for line in re.sub(_ANSI, "", text).splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return Answer(extra={"worktree_path": last}) if last else NO_OPINION


_PLAIN: dict[PlainText, Callable[[str], Answer]] = {
    PlainText.SYSTEM_MESSAGE: lambda text: Answer(system_message=text),
    PlainText.CONTEXT: lambda text: Answer(context=text),
    PlainText.PATH: _read_path,
    PlainText.NOTHING: lambda _text: NO_OPINION,
}
"""What text that is not JSON makes an answer of."""

TAKES: dict[OutputAction, Callable[[_Reader, ProcessExit, _Output], tuple[Status, Answer]]] = {
    OutputAction.NOTHING: _Reader.take_nothing,
    OutputAction.APPLY: _Reader.take_json,
    OutputAction.TEXT: _Reader.take_text,
    OutputAction.BLOCK: _Reader.take_block,
    OutputAction.APPLY_AND_BLOCK: _Reader.take_json_and_block,
    OutputAction.DENY_TEXT: _Reader.take_denial,
    OutputAction.MESSAGE: _Reader.take_message,
    OutputAction.WARNING_MESSAGE: _Reader.take_warning,
    OutputAction.WARN: _Reader.take_failure,
    OutputAction.FAIL: _Reader.take_unreadable,
}
"""What each `OutputAction` does."""


def _because(output: _Output) -> str:
    return f" ({output.error})" if output.error else ""


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
        fields[item.field] = fields.get(item.field, False) or not value
    else:
        _wrong_type(reader, item, value, "true or false")


def _read_interrupt(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    if isinstance(value, bool):
        fields[item.field] = fields.get(item.field, False) or value
    else:
        _wrong_type(reader, item, value, "true or false")


def _read_decision(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    words = item.words or reader.agent.decision_words
    if isinstance(value, str) and value in words:
        _set_verdict(reader, item, fields, *words[value])
        return
    if isinstance(value, str) and value in reader.rules.accepted_decisions:
        reader.report("output-no-effect", f"{_short(value)} has no effect on this event")
        return
    foreign = reader.agent.foreign_decisions.get(value) if isinstance(value, str) else None
    if foreign is not None:
        _set_verdict(reader, item, fields, *foreign)
        reader.report(
            "output-word",
            f"{_short(value)} is no decision of {reader.agent.title} here; it is read as "
            f"{foreign[0]}. Write {' or '.join(map(repr, words))}",
        )
        return
    from anyhook.model.suggest import closest

    meant = closest(value, words) if isinstance(value, str) else None
    hint = f"did you mean {meant!r}?" if meant else f"write one of {', '.join(words)}"
    reader.report("output-word", f"{_short(value)} is no decision; {hint}")


def _set_verdict(
    reader: _Reader, item: OutputField, fields: dict[str, Any], outcome: Outcome, approve: bool
) -> None:
    """Set the verdict; of two in one reply the stronger one stands."""
    if STRENGTH[outcome] >= STRENGTH[fields.get("outcome", Outcome.NONE)]:
        fields["outcome"], fields["approve"] = outcome, approve
        reader.verdict_place = item.path[:-1]


def _read_action(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    if isinstance(value, str) and value in ("accept", "decline", "cancel"):
        fields[item.field] = value
        if value == "decline":
            _set_verdict(reader, item, fields, Outcome.DENY, False)
    else:
        _wrong_type(reader, item, value, "accept, decline or cancel")


def _read_content(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    if not isinstance(value, dict):
        _wrong_type(reader, item, value, "an object")
    elif "extra.action" in fields:
        fields[item.field] = value
    else:
        reader.report("output-field", f"{'.'.join(item.path)} needs an action beside it; left out")


def _read_terminal(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    if not isinstance(value, str):
        _wrong_type(reader, item, value, "a string")
    elif re.fullmatch(_TERMINAL, value):
        fields[item.field] = value
    else:  # no mistake in the reply: the agent itself only leaves the member out
        reader.report(
            "ignored-output",
            f"{'.'.join(item.path)} may hold BEL and OSC 0, 1, 2, 9, 99 and 777; left out",
        )


def _read_any(_reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    fields[item.field] = value


def _read_request(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    from anyhook.model.llm import REQUEST_MEMBERS, check_request

    _report_mistaken(REQUEST_MEMBERS, reader, item, value)
    _read_checked(check_request, reader, item, value, fields)


def _read_response(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    from anyhook.model.llm import RESPONSE_MEMBERS, check_response

    _report_mistaken(RESPONSE_MEMBERS, reader, item, value)
    _read_checked(check_response, reader, item, value, fields)


def _read_config(reader: _Reader, item: OutputField, value: Any, fields: dict[str, Any]) -> None:
    from anyhook.model.llm import check_tool_config

    _read_checked(check_tool_config, reader, item, value, fields)


def _report_mistaken(
    known: tuple[str, ...], reader: _Reader, item: OutputField, value: Any
) -> None:
    from anyhook.model.llm import mistaken_members

    if isinstance(value, dict):
        for problem in mistaken_members(value, known):
            reader.report("output-unknown", f"{'.'.join(item.path)}: {problem}")


def _read_checked(
    check: Callable[..., tuple[Any, list[str]]],
    reader: _Reader,
    item: OutputField,
    value: Any,
    fields: dict[str, Any],
) -> None:
    if not isinstance(value, dict):
        _wrong_type(reader, item, value, "an object")
        return
    kept, problems = check(value)
    for problem in problems:
        reader.report("output-field", f"{'.'.join(item.path)}: {problem}; left out")
    if kept:
        fields[item.field] = kept


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
    "array": _read_typed(list, "a list"),
    "any": _read_any,
    "action": _read_action,
    "content": _read_content,
    "terminal": _read_terminal,
    "not_boolean": _read_not_boolean,
    "interrupt": _read_interrupt,
    "llm_request": _read_request,
    "llm_response": _read_response,
    "tool_config": _read_config,
    "tool_call": _read_tool_call,
}
"""How each kind of output member is read into the fields of an answer."""


def _announces_background(printed: str) -> bool:
    """Return whether the first line, or all of the output, is an object with `"async": true`."""
    text = trim(printed)
    for candidate in (text.partition("\n")[0], text):
        value = _object_in(candidate)
        if value is not None and value.get("async") is True:
            return True
    return False


def _decision_in(printed: str) -> str:
    """Show the members of a JSON object that decide something; empty if there are none."""
    value = _object_in(printed) or {}
    return ", ".join(f"{key}: {_short(value[key])}" for key in _DECIDING if key in value)


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
