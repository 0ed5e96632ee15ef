"""The output of a handler to an answer: exit code, streams and JSON replies.

It is one module because `ExitReader` has one method for each `OutputAction`.
"""

from __future__ import annotations

from anyhook.agents.decode import (
    INVALID,
    INVALIDATING,
    read_reply,
    read_strict_reply,
)
from anyhook.agents.encode import EXTRA
from anyhook.agents.entry import load_object
from anyhook.agents.printed import (
    OutputContext,
    PrintedOutput,
    classify_output,
    parse_object,
    read_plain_text,
)
from anyhook.agents.printed import ProcessExit as ProcessExit  # noqa: PLC0414 - exported
from anyhook.agents.spec import OutputAction, PlainText
from anyhook.agents.values import describe_value
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.json import parse_json, trim
from anyhook.model.record import Record
from anyhook.model.status import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.printed import Source
    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

TOO_LONG = (
    "its JSON reply is longer than 16 MiB, so it was cut and cannot be read; print a shorter reply"
)


class HookOutput(Record, kw_only=False):
    """The interpreted output of a handler.

    Attributes:
        status: `RAN` or `WARNED`; `FAILED` if the reply is too long to be read.
        diagnostics: What was ignored, repaired or dropped.
        failed: Whether a hook that must not fail has failed.
        reply: The JSON object that was applied, if the rule set combines replies (`Coercions`).
    """

    status: Status
    answer: Answer
    diagnostics: tuple[Diagnostic, ...]
    failed: bool
    reply: Mapping[str, Any] | None = None


def decode_exit(
    agent: AgentSpec,
    rules: RuleSet,
    spec: EventSpec,
    handler: Source,
    end: ProcessExit,
    *,
    tools: tuple[str, ...] = (),
) -> HookOutput:
    """Interpret how a command ended and what it printed. Never raises."""
    context = OutputContext(agent, rules, spec, handler)
    rule = rules.exit_rules_for(spec.canonical).rule_for(end.code)
    output = classify_output(rules, rule, end)
    exit_reader: ExitReader = load_object(rules.exit_reader)(context, end, output, tools)
    if exit_reader.runs_in_background():
        return HookOutput(Status.RAN, NO_OPINION, (), False)
    action: OutputAction = getattr(rule, output.form)
    if output.form == "text" and output.stream == "stderr" and rule.stderr_text is not None:
        action = rule.stderr_text
    status, answer = getattr(exit_reader, action)()
    if end.code == 0 and end.stderr and "stderr" not in rule.streams:
        from anyhook.agents.explain import report_decision_on_stderr

        report_decision_on_stderr(context, trim(end.stderr))
    if "stdout" not in rule.streams and status is Status.WARNED and answer is not NO_OPINION:
        _report_ignored_decision(context, end.stdout)
    if answer is not NO_OPINION and rules.drops_ineffective_fields:
        answer = _drop_ineffective_fields(spec, answer)
    succeeded = end.code == 0 and status is Status.RAN and answer.outcome is not Outcome.DENY
    if spec.stdout_field and succeeded and output.text:
        answer = answer.replace(**{spec.stdout_field: output.text})
    if spec.any_output_sets and output.form != "empty" and not output.is_scalar:
        answer = answer.replace(**{**spec.any_output_sets, **_fields_of(answer)})
    is_applied = action is OutputAction.APPLY and isinstance(output.value, dict)
    reply = output.value if is_applied and spec.combines_replies else None
    failed = exit_reader.has_failed(status)
    return HookOutput(status, answer, tuple(context.diagnostics), failed, reply)


def decode_text(
    agent: AgentSpec,
    rules: RuleSet,
    spec: EventSpec,
    handler: Source,
    text: str,
    *,
    tools: tuple[str, ...] = (),
) -> HookOutput:
    """Interpret text as the output of a command that succeeded."""
    return decode_exit(agent, rules, spec, handler, ProcessExit(0, stdout=text), tools=tools)


def decode_reply(
    agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Source, reply: Mapping[str, Any]
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    """Interpret a reply in the agent's JSON form that a function has returned."""
    context = OutputContext(agent, rules, spec, handler)
    return read_reply(context, reply), tuple(context.diagnostics)


def event_tools(spec: EventSpec, event: Event) -> tuple[str, ...]:
    """Return the tools that an event offers, if plain output can select tools."""
    if spec.plain_text is not PlainText.TOOL_NAMES:
        return ()
    from anyhook.model.llm import offered_tools

    return offered_tools(getattr(event, "llm_request", None))


def report_unused(
    agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Source, printed: str
) -> tuple[Diagnostic, ...]:
    """Report a decision in output that is not applied."""
    context = OutputContext(agent, rules, spec, handler)
    _report_ignored_decision(context, printed)
    return tuple(context.diagnostics)


def _report_ignored_decision(context: OutputContext, stdout: str) -> None:
    from anyhook.agents.explain import report_ignored_decision  # not needed for correct output

    report_ignored_decision(context, stdout)


# -- what follows from the event


def _drop_ineffective_fields(spec: EventSpec, answer: Answer) -> Answer:
    fields = {
        name: value
        for name, value in _fields_of(answer).items()
        if spec.has_effect(name, answer.outcome)
    }
    extra = {
        name: value
        for name, value in (answer.extra or {}).items()
        if EXTRA + name in spec.effective_fields
    }
    if extra:
        fields["extra"] = extra
    outcome = fields.get("outcome", Outcome.NONE)
    has_no_effect = spec.outcomes is not None and outcome not in spec.outcomes
    if has_no_effect and outcome is not Outcome.NONE:
        fields["outcome"] = Outcome.ALLOW
    return Answer(**fields)


def _fields_of(answer: Answer) -> dict[str, Any]:
    """Return the fields that were set, in the order of the class."""
    values = answer.__dict__
    return {name: values[name] for name in answer.record_fields if name in values}


# -- what follows from the exit code and the form of the output


class ExitReader:
    """Carries out the `OutputAction` of one exit by the method of the same name.

    An agent that reads an exit in a way of its own has a subclass (`RuleSet.exit_reader`).
    """

    def __init__(
        self,
        context: OutputContext,
        end: ProcessExit,
        output: PrintedOutput,
        tools: tuple[str, ...],
    ) -> None:
        self.context = context
        self.end = end
        self.output = output
        self.tools = tools

    def runs_in_background(self) -> bool:
        """Return whether the output says so; then neither it nor the exit code has an effect."""
        return False

    def has_failed(self, status: Status) -> bool:
        """Return whether a hook that must not fail has failed."""
        can_block = self.context.spec.can_block
        return (
            self.end.code not in (0, 2)
            or self.output.is_broken_reply
            or (status is Status.WARNED and can_block)
            or self.context.has_reported(INVALID)
        )

    # -- methods that `OutputAction` names

    def nothing(self) -> tuple[Status, Answer]:
        """Ignore the output."""
        return Status.RAN, NO_OPINION

    def apply(self) -> tuple[Status, Answer]:
        """Apply the members of the JSON reply."""
        value, is_encoded_twice = self.output.value, self.output.is_encoded_twice
        if not isinstance(value, dict):
            printed = "a string" if is_encoded_twice else describe_value(value)
            problem = f"printed JSON that is {printed}, not an object; it is ignored"
            self.context.report("output-not-object", problem)
            return Status.RAN, NO_OPINION
        if is_encoded_twice:
            self.context.report(
                "output-not-object",
                "the JSON is encoded twice; it was decoded once more. Print the object itself",
            )
        reply = read_strict_reply(self.context, value)
        return Status.RAN if reply.is_valid else Status.WARNED, reply.answer

    def message(self) -> tuple[Status, Answer]:
        """Allow, and show the text to the user."""
        return Status.RAN, Answer(outcome=Outcome.ALLOW, system_message=self.output.text)

    def warning_message(self) -> tuple[Status, Answer]:
        """Allow, and show the text to the user as a warning."""
        message = f"Warning: {self.output.text}"
        return Status.WARNED, Answer(outcome=Outcome.ALLOW, system_message=message)

    def deny_text(self) -> tuple[Status, Answer]:
        """Deny with the text as the reason."""
        self._report_powerless_exit()
        return Status.RAN, Answer(outcome=Outcome.DENY, reason=self.output.text)

    def fail(self) -> tuple[Status, Answer]:
        """Report a reply that is too long to be read."""
        self.context.report("reply-too-long", TOO_LONG)
        return Status.FAILED, NO_OPINION

    def warn(self) -> tuple[Status, Answer]:
        """Report a failure of the command."""
        context, end = self.context, self.end
        if self.output.form == "malformed":
            problem = "the printed JSON cannot be read"
            context.report("output-not-object", problem + self.output.cause, subject=problem)
        elif end.code == 0 and self.output.form == "text":
            problem = f"printed text; {context.agent.title} expects JSON or nothing on this event"
            context.report("output-not-object", problem)
        if end.code != 0:
            text = f"ended with {end.cause}"
            lines = trim(end.stderr).splitlines() or [""]
            error = lines[-1] if lines[0].startswith("Traceback") else lines[0]
            if error:
                text += f": {error[:200]}"
            hint = context.rules.exit_rules_for(context.spec.canonical).rule_for(end.code).hint
            if hint and context.spec.can_block:
                text += f" ({hint})"
            context.report("handler-exit", text, subject=end.cause)
        _report_ignored_decision(context, end.stdout)
        return Status.WARNED, NO_OPINION

    def text(self) -> tuple[Status, Answer]:
        """Interpret plain text."""
        return Status.RAN, read_plain_text(self.context, self.output, self.tools)

    def block(self) -> tuple[Status, Answer]:
        """Deny; the reason is stderr, the reason in JSON, stdout or a default."""
        if not self.can_block():
            return self._warn_about_block(), NO_OPINION
        reason = trim(self.end.stderr)
        stdout = trim(self.end.stdout)
        reply = parse_object(stdout)
        if reply is not None:
            explanation = reply.get("reason")
            reason = reason or (trim(explanation) if isinstance(explanation, str) else "")
            code = self.end.code
            others = sorted(reply.keys() - {"reason", "decision"})
            if others:
                self.context.report(
                    "ignored-output",
                    f"{', '.join(others)} printed with exit code {code} is not applied; "
                    "exit with 0 to use JSON",
                )
            word = reply.get("decision")
            words = self.context.agent.decision_words
            verdict = words.get(word) if isinstance(word, str) else None
            if verdict is not None and verdict[0] is not Outcome.DENY:
                self.context.report(
                    "ignored-output",
                    f"exit code {code} blocks, so the printed decision {word!r} is not applied",
                )
        elif not reason and stdout and self.output.form != "truncated":
            reason = self.reason_on_stdout()
        self._report_powerless_exit()
        return Status.RAN, self._denial(reason)

    def apply_and_block(self) -> tuple[Status, Answer]:
        """Apply the members of the reply, and deny: no member cancels the denial."""
        context = self.context
        blocks = self.can_block()
        reply = self.output.value if isinstance(self.output.value, dict) else {}
        if blocks and context.rules.strict and self.blocks_with_invalid_reply():
            answer = read_reply(context, reply)
            if context.has_reported(INVALIDATING):
                return Status.RAN, self._denial(trim(self.end.stderr))
        else:
            strict_reply = read_strict_reply(context, reply)
            if not strict_reply.is_valid:
                return Status.WARNED, strict_reply.answer
            answer = strict_reply.answer
        is_valid = not context.has_reported(INVALID)
        if not blocks:
            return self._warn_about_block(), answer
        if answer.outcome is Outcome.DENY:
            has_reason = answer.reason and (is_valid or not trim(self.end.stderr))
            return Status.RAN, answer if has_reason else self.with_denial(answer)
        if answer.outcome is not Outcome.NONE:
            context.report(
                "ignored-output",
                f"exit code {self.end.code} blocks, so the printed {answer.outcome} is not applied",
            )
        return Status.RAN, self.with_denial(answer)

    def merge_denial(self) -> tuple[Status, Answer]:
        """Deny with the members at the top of the reply; inner objects have no effect."""
        value = self.output.value if isinstance(self.output.value, dict) else {}
        inner = {item.path[0] for item in self.context.agent.output_fields if len(item.path) > 1}
        reply = {name: member for name, member in value.items() if name not in inner}
        answer = read_reply(self.context, reply)
        reason = answer.reason or self.default_reason()
        return Status.RAN, answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)

    def fail_closed(self) -> tuple[Status, Answer]:
        """Deny because of a failure, which `warn` reports."""
        self.warn()
        spec, label = self.context.spec, self.context.handler.label
        cause = "its output is not JSON" if self.end.code == 0 else self.end.cause
        reason = f"hook {label!r} failed ({cause}); {spec.wire} denies then"
        return Status.WARNED, Answer(outcome=Outcome.DENY, reason=reason)

    def stderr_as_context(self) -> tuple[Status, Answer]:
        """Give standard error to the agent."""
        text = trim(self.end.stderr)
        return Status.RAN, Answer(context=text) if text else NO_OPINION

    # -- exit code 2

    def can_block(self) -> bool:
        """Return whether exit code 2 denies."""
        return self.context.spec.can_block

    def blocks_with_invalid_reply(self) -> bool:
        """Return whether exit code 2 denies although the agent ignores the reply."""
        return True

    def default_reason(self) -> str:
        """Return the reason of a denial that has no other one."""
        return f"blocked by hook {self.context.handler.label!r} ({self.end.cause})"

    def reason_on_stdout(self) -> str:
        """Return the reason that a text on standard output is; empty if the agent ignores it."""
        text = trim(self.end.stdout)
        try:
            value = parse_json(text)
        except ValueError:
            return text
        return trim(value) if isinstance(value, str) else ""

    def with_denial(self, answer: Answer) -> Answer:
        """Return the answer of a reply as a denial with the reason on standard error."""
        reason = trim(self.end.stderr) or self.default_reason()
        return answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)

    def _warn_about_block(self) -> Status:
        effect = "means a missing file here"
        if not self.context.spec.can_block:
            effect = "blocks nothing here"
        error = trim(self.end.stderr).partition("\n")[0][:200]
        detail = f": {error}" if error else ""
        text = f"exit code {self.end.code} {effect}"
        self.context.report("handler-exit", text + detail, subject=text)
        return Status.WARNED

    def _denial(self, reason: str) -> Answer:
        return Answer(outcome=Outcome.DENY, reason=reason or self.default_reason())

    def _report_powerless_exit(self) -> None:
        """Report a denial by exit code on an event that cannot be denied."""
        if "outcome" not in self.context.spec.effective_fields:
            self.context.report_no_effect(self.end.cause)
