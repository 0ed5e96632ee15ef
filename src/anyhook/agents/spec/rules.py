"""The behaviour of an agent: events, exit rules and rule sets.

A rule set describes how the agent behaves by its reference, or how a release was observed to.
It is one module because these classes are lists of attributes that refer to each other.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

from anyhook.agents.entry import load_object
from anyhook.model.answers import Audience
from anyhook.model.record import EMPTY, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from anyhook.model.answers import Answer, Outcome
    from anyhook.model.event import Event
    from anyhook.model.layers import Layer


class PlainText(StrEnum):
    """How standard output that is not JSON is interpreted."""

    SYSTEM_MESSAGE = "system_message"
    TOOL_NAMES = "tool_names"
    """Comma-separated tool names select these tools (mode ANY); other text is a system message."""
    CONTEXT = "context"
    CLEAN_CONTEXT = "clean_context"
    """Context, without terminal codes and control characters."""
    PATH = "path"
    """The last line that is not blank is a path."""
    NOTHING = "nothing"


class Denial(StrEnum):
    """The effect of a denial."""

    PREVENTS = "prevents"
    """The action does not happen."""
    HIDES = "hides"
    """The action has happened; the agent gets the reason in place of the result."""
    INFORMS = "informs"
    """The action has happened; the agent gets the reason next to the result."""
    ENDS = "ends"
    """The action has happened; the agent ends its turn, and the user gets the reason."""
    EMPTIES = "empties"
    """The model is asked, and is offered no tool; the user gets the reason."""
    CONTINUES = "continues"
    """The agent, which was about to end its turn, continues with the reason as its prompt."""
    NOTHING = "nothing"
    """The event cannot be denied: what it is about goes on, and the user gets the reason."""


class EventSpec(Record, kw_only=False):
    """One event of an agent, under one rule set.

    Attributes:
        canonical: Canonical name, known to `anyhook.model.events.event_class`.
        wire: The agent's own name.
        subject: Field of the event that matchers are applied to; `None` if it has none.
        subjects: The values that the subject can have; empty if any text is possible.
        matcher_text: What matchers are applied to if there is no `subject`; `None` if nothing.
        writes_matchers: Whether anyhook writes matchers; it does not where it is unknown what the
            agent applies them to.
        matcher_style: Syntax of matchers, a key of `anyhook.matching.matchers.STYLES`.
        matches_aliases: Whether matchers on tools are applied to their aliases, too.
        effective_fields: Fields of an answer that have an effect; others are reported.
        denial_fields: Fields of an answer that have an effect only next to a denial or a question.
        outcomes: Verdicts that have an effect; `None` if all have.
        denial: The effect of a denial.
        limit_continuation: `module:NAME` of the function that returns why a hook cannot continue
            the agent: takes the payload and the options of the handler; its answer is empty if the
            hook can. Empty if all hooks can.
        reason_audience: Who reads the reason of a denial.
        allow_audience: Who reads the reason of an allowance.
        message_audience: Who reads a `systemMessage`.
        stdout_audience: Who sees the output of a command that succeeded.
        plain_text: How output that is not JSON is interpreted.
        can_block: Whether exit code 2 denies.
        block_audience: Who sees standard error of exit code 2, if exit code 2 does not deny.
        fails_closed: Whether `onFailure: block` makes a failed hook deny.
        denying_failures: Kinds of handlers of which a failure denies: a command that cannot be
            started, a request that is not answered with a status of 2xx; `timeout` for a timeout
            of any handler.
        default_reason: Reason of a denial without one, instead of `RuleSet.default_reason`.
        verdict_policy: How verdicts are combined, a key of `anyhook.engine.verdicts.VERDICTS`;
            `replies` or `last_reply` if the release combines replies (`Coercions.decide`), and
            with `last_reply` the allowance of a later handler cancels a denial.
        required_arguments: Tool, as the agent names it, to the texts that changed arguments must
            have; without them the agent refuses the call.
        input_refusal: Reason with which it refuses the call, with `{event}`, `{tool}` and
            `{argument}`; empty if that is only reported.
        result_members: Tool, as the agent names it, to the members that a changed result must have,
            each with its kinds (`anyhook.agents.values.VALUE_KINDS`, `null`); for the policy
            `checked_result`.
        reason_policy: Which reasons are combined: `carried` for those of the handlers with the
            winning verdict, `first` for the first one of them, `all` for those of all handlers.
        field_policies: Field of an answer to the policy by which it is combined, where it differs
            from the usual one (`anyhook.engine.policies.NAMED_POLICIES`, `Coercions.policies`).
        chained_fields: Field of an answer to the field of the event that it changes for the next
            handler of a sequence.
        ending_outcomes: Verdicts that end a sequence; `None` for a denial or a stop.
        any_output_sets: Fields of the answer, with their values, that any output sets.
        implied_fields: Field of an answer to the fields that a reply has to set with it.
        inverted_fields: Fields of an answer that have the opposite of their usual effect.
        discarded_on_denial: Fields of all answers that are dropped if the event is denied.
        payload_keys: Field of the event to its key in payloads, where they differ; `None` if
            payloads lack it.
        payload_forms: Field of the event to the form of its value in payloads, a key of
            `anyhook.agents.payloads.FORM_READERS`, where it is not the value itself.
        payload_members: Other members of its payloads to their values in payloads of events that
            were built in Python.
        names_itself: Whether its payloads hold the name of the event.
        optional_fields: Required fields of the event class that a payload may lack.
        handler_kinds: Kinds of handlers that run on the event; `None` for all.
        default_timeouts: Kind of handler to seconds, where it is not the handler type's default.
        max_timeouts: Layer to the upper limit of the timeouts of its hooks, in seconds.
        runs_background: Whether handlers may run in the background; otherwise the agent waits.
        supports_conditions: Whether conditions (`if`) of handlers are evaluated; if not, a handler
            with a condition never runs.
        prompt_refusals: Fields of the answer of a prompt handler that refuses: as it is, and with
            `continueOnBlock`.
        no_opinion_output: What a hook without an opinion prints: nothing, where the agent
            interprets any text.
        reads_all_output: Whether the agent interprets any output, also on standard error.
        requires_reason: Whether the agent ignores a denial without a reason.
        stdout_field: Field of the answer that the whole output of a successful command is put
            into, also if it is JSON; `None` if there is none.
        stop_prevents: Whether ending the turn (`continue: false`) also prevents the action.
        subject_aliases: Subject to its canonical name, where the agent's name differs from it.
    """

    canonical: str
    wire: str
    subject: str | None = None
    subjects: tuple[str, ...] = ()
    matcher_text: str | None = None
    writes_matchers: bool = True
    matcher_style: str = "usual"
    matches_aliases: bool = True
    effective_fields: frozenset[str] = frozenset()
    denial_fields: frozenset[str] = frozenset()
    outcomes: frozenset[Outcome] | None = None
    denial: Denial = Denial.PREVENTS
    limit_continuation: str = ""
    reason_audience: Audience = Audience.USER
    allow_audience: Audience = Audience.DEBUG
    message_audience: Audience = Audience.USER
    stdout_audience: Audience = Audience.TRANSCRIPT
    plain_text: PlainText = PlainText.SYSTEM_MESSAGE
    can_block: bool = True
    block_audience: Audience = Audience.USER
    fails_closed: bool = True
    denying_failures: frozenset[str] = frozenset()
    default_reason: str | None = None
    verdict_policy: str = "strongest"
    required_arguments: Mapping[str, tuple[str, ...]] = EMPTY
    input_refusal: str = ""
    result_members: Mapping[str, Mapping[str, tuple[str, ...]]] = EMPTY
    reason_policy: str = "carried"
    field_policies: Mapping[str, str] = EMPTY
    chained_fields: Mapping[str, str] = EMPTY
    ending_outcomes: frozenset[Outcome] | None = None
    any_output_sets: Mapping[str, Any] = EMPTY
    implied_fields: Mapping[str, Mapping[str, Any]] = EMPTY
    inverted_fields: frozenset[str] = frozenset()
    discarded_on_denial: frozenset[str] = frozenset()
    payload_keys: Mapping[str, str | None] = EMPTY
    payload_forms: Mapping[str, str] = EMPTY
    payload_members: Mapping[str, Any] = EMPTY
    names_itself: bool = True
    optional_fields: frozenset[str] = frozenset()
    handler_kinds: frozenset[str] | None = None
    default_timeouts: Mapping[str, float] = EMPTY
    max_timeouts: Mapping[Layer, float] = EMPTY
    runs_background: bool = True
    supports_conditions: bool = False
    prompt_refusals: tuple[Mapping[str, Any], Mapping[str, Any]] = (EMPTY, EMPTY)
    no_opinion_output: str = "{}"
    reads_all_output: bool = False
    requires_reason: bool = False
    stdout_field: str | None = None
    stop_prevents: bool = True
    subject_aliases: Mapping[str, str] = EMPTY

    def subject_of(self, event: Event) -> str | None:
        """Return the text that matchers of the event are applied to; `None` if there is none."""
        value = getattr(event, self.subject, None) if self.subject else self.matcher_text
        return value if isinstance(value, str) else None

    def has_effect(self, field: str, outcome: Outcome | None) -> bool:
        """Return whether a field of an answer has an effect next to a verdict."""
        if field in self.effective_fields:
            return True
        return field in self.denial_fields and outcome in ("deny", "ask")

    @property
    def replaces_whole_input(self) -> bool:
        """Whether a changed input is complete: arguments that it lacks are removed."""
        return self.field_policies.get("tool_input") == "replace_whole"

    @property
    def combines_replies(self) -> bool:
        """Whether the replies of several handlers are combined before they are interpreted."""
        return self.verdict_policy in ("replies", "last_reply")

    @property
    def allowance_cancels(self) -> bool:
        """Whether the allowance of a handler cancels the denial of one before it."""
        return self.verdict_policy in ("last", "last_reply")

    @property
    def shows_stderr(self) -> bool:
        """Whether exit code 2 shows standard error to the user, and does not deny."""
        return not self.can_block and self.block_audience is Audience.USER

    @property
    def can_fail_closed(self) -> bool:
        """Whether a failure may deny. Never where a denial continues the turn: it could loop."""
        return self.fails_closed and self.denial not in (Denial.NOTHING, Denial.CONTINUES)


REFUSED_INPUT = (
    "changes the input of {tool}, which then has no text {argument!r}; the agent refuses the call"
)
"""What a hook does whose changed arguments an agent refuses."""


class OutputAction(StrEnum):
    """What is done with the output of a command: a method of `anyhook.agents.output.ExitReader`."""

    NOTHING = "nothing"
    """Ignore it: the hook has no opinion."""
    APPLY = "apply"
    """Apply the members of the JSON reply."""
    TEXT = "text"
    """Interpret it as plain text (`EventSpec.plain_text`)."""
    BLOCK = "block"
    """Deny; the reason is taken from stderr, from the JSON reply or from the text."""
    APPLY_AND_BLOCK = "apply_and_block"
    """Apply the members of the JSON reply, and deny in any case."""
    MERGE_DENIAL = "merge_denial"
    """Apply the members at the top of the JSON reply, and deny; standard error has no effect."""
    FAIL_CLOSED = "fail_closed"
    """Deny, because the command has failed; nothing that it printed has an effect."""
    STDERR_AS_CONTEXT = "stderr_as_context"
    """Give standard error to the agent; nothing else that was printed has an effect."""
    DENY_TEXT = "deny_text"
    """Deny with the text as the reason."""
    MESSAGE = "message"
    """Allow, and show the text to the user."""
    WARNING_MESSAGE = "warning_message"
    """Like `MESSAGE`, with `Warning:` before the text."""
    WARN = "warn"
    """Report a failure of the command; apply nothing."""
    FAIL = "fail"
    """Report a reply that cannot be read; the handler has failed, also with exit code 0."""


class ExitRule(Record, kw_only=False):
    """What is done with the output of a command that ended with a certain exit code.

    The first five attributes but `streams` are the forms that output can have.

    Attributes:
        json: For JSON.
        malformed: For text that looks like a JSON object and cannot be parsed.
        text: For other text.
        empty: For no output.
        streams: The streams that are read; the first one that is not blank counts.
        parses_json: Whether the output may be JSON; otherwise all of it is text.
        stderr_text: For text on standard error, where it differs from `text`.
        hint: Added to the report of the failure, on events that exit code 2 can deny.
    """

    json: OutputAction
    malformed: OutputAction
    text: OutputAction
    empty: OutputAction
    streams: tuple[str, ...] = ("stdout",)
    parses_json: bool = True
    stderr_text: OutputAction | None = None
    hint: str = ""

    @classmethod
    def always(cls, action: OutputAction) -> ExitRule:
        """Return the rule that does the same for every form of output."""
        return cls(action, action, action, action)

    @property
    def truncated(self) -> OutputAction:
        """For a JSON reply that was cut because of its length: it may have held a denial."""
        return OutputAction.FAIL if self.json is OutputAction.APPLY else self.malformed


class ExitRules(Record, kw_only=False):
    """The rules of an event by exit code, for other codes, and for an end by a signal."""

    codes: Mapping[int, ExitRule]
    other: ExitRule
    signal: ExitRule

    def rule_for(self, exit_code: int | None) -> ExitRule:
        """Return the rule for an exit code; `None` means that a signal ended the command."""
        if exit_code is None:
            return self.signal
        return self.codes.get(exit_code, self.other)


WARNS = ExitRule.always(OutputAction.WARN)
BLOCKS = ExitRule.always(OutputAction.BLOCK)


def usual_exits(success: ExitRule, blocks: ExitRule = BLOCKS, other: ExitRule = WARNS) -> ExitRules:
    """Return the rules of most agents: 0 succeeds, 2 blocks, and 1 has a hint."""
    # Authors of guards expect exit code 1 to deny.
    warns = other.replace(hint="exit code 2 blocks; 1 only warns")
    codes = {0: success, 1: warns, 2: blocks}
    return ExitRules(codes, other=other, signal=other)


class Coercions(Record):
    """How a release that checks no types interprets replies.

    Attributes:
        read_member: Reads a member of a reply that has the wrong type: takes the field of the
            answer, the value and the fields read so far, which it changes.
        policies: Name of a policy to a function that combines one field (`EventSpec`,
            `field_policies`): takes the fields of the decision so far, the event's own value and
            the last value that a handler set; returns the fields to set, `None` to remove one.
        chain: Field of an answer to a function that changes the event for the next handler of a
            sequence: takes the event's value and the answer's.
        cleared: Fields of an answer that a handler clears for all handlers before it by a value
            that is unusable.
        decide: Returns the verdict (`outcome`, `reason`) of all replies to an event: takes its
            canonical name and the replies in plan order; for the verdict policy `replies`.
        reply_of: Returns the reply that an answer stands for, if the handler gave none.
    """

    read_member: Callable[[str, object, dict[str, Any]], None]
    policies: Mapping[str, Callable[[Mapping[str, Any], dict[str, Any], Any], dict[str, Any]]]
    chain: Mapping[str, Callable[[Any, Any], Any]]
    cleared: frozenset[str] = frozenset()
    decide: Callable[[str, Sequence[Mapping[str, Any]]], dict[str, Any]] | None = None
    reply_of: Callable[[Answer], dict[str, Any]] | None = None


class Differences(Record):
    """How one rule set differs from another.

    Attributes:
        rules: Attributes of `RuleSet` to their values.
        every_event: Attributes of every `EventSpec` to their values.
        events: Canonical name of an event to attributes of its `EventSpec`; they take precedence
            over `every_event`.
    """

    rules: Mapping[str, Any] = EMPTY
    every_event: Mapping[str, Any] = EMPTY
    events: Mapping[str, Mapping[str, Any]] = EMPTY


class ReplyFault(Record, kw_only=False):
    """Why an agent ignores a whole reply but its message.

    Attributes:
        problem: What is wrong, and what to write instead, for a diagnostic.
        denies: Whether the agent denies then.
    """

    problem: str
    denies: bool = False


class RuleSet(Record):
    """The behaviour of an agent, by its reference or by one release.

    Attributes:
        name: `documented`, `observed` or `observed@VERSION`.
        release: The reference or the release that it describes.
        events: The events of the agent.
        exit_rules: Canonical name of an event to its exit rules; `*` for all other events.
        output_form: `module:NAME` of the function that returns what a stream of a command is
            (`anyhook.agents.printed.PrintedOutput`).
        exit_reader: `module:NAME` of the class that reads how a command ended: that of
            `anyhook.agents.output`, or a subclass.
        text_bodies: What an HTTP answer that is not JSON is: a `failure` of the hook, `ignored`, or
            a `message` to the user, if its content type does not say that it is JSON.
        strict: What invalidates a whole reply: `wrong` for a member of a wrong type or value and
            for a boolean that is `null`, `null` for any member that is `null`, `unknown` for a
            member that the event does not have; empty if nothing does.
        find_fault: `module:NAME` of the function that returns why a reply of right members is
            invalid as a whole, as a `ReplyFault`, or `None` if it is valid: takes the canonical
            name of the event and the reply; empty if all replies are valid.
        correct_fields: `module:NAME` of the function that corrects the fields of an answer that
            were read from a reply: takes the canonical name of the event, the reply, and the
            fields, which it changes; empty if none are corrected.
        accepted_decisions: Name of a member with a verdict to the words that are valid on every
            event, also without effect.
        drops_ineffective_fields: Whether fields of an answer without effect on the event are
            dropped; otherwise hosts get them.
        coercions: `module:NAME` of the `Coercions` of a release that checks no types; empty if it
            checks them.
        chains_failures: Whether the answer of a command that failed changes the event for the
            next handler of a sequence.
        sequence_scope: What a `sequential` definition runs in order: the handlers of that
            `definition`, or `all` handlers of the event. `always`: all handlers of an event run in
            order, also without such a definition.
        expands_handler_env: Whether variables in `env` of a handler are substituted; otherwise the
            values are literal.
        handler_identity: When two handlers are the same one: `identity`, `name_and_command`, or
            `name_and_key` (the name, with the command, the URL or the prompt; and of handlers of
            one layer with the same matcher only the first of each name is kept, also if the
            commands differ), or `place` if every handler of a file runs.
        toggle_policy: Which layer decides whether hooks run: the one of the strongest `authority`,
            or the one of the highest `precedence`. `any`: any file switches off all hooks but the
            administrator's.
        self_switching_layers: Layers whose switches only count for hooks of the same file.
        enabled_by_default: Whether hooks run if no settings file enables them.
        warning_audience: Who sees standard error of a command that failed.
        merged_by_agent: Fields of a decision that the agent merges with the event's own values.
        default_reason: Reason of a denial without one, with `{label}` for the hook and `{event}`
            for the agent's name of the event; empty if such a denial has no reason.
        last_duplicate_wins: Whether the last of several verdicts in one reply counts; otherwise
            the strongest one does.
    """

    name: str
    release: str
    events: tuple[EventSpec, ...]
    exit_rules: Mapping[str, ExitRules]
    merged_by_agent: frozenset[str] = frozenset()
    output_form: str = "anyhook.agents.printed:classify"
    exit_reader: str = "anyhook.agents.output:ExitReader"
    text_bodies: str = "failure"
    strict: frozenset[str] = frozenset()
    find_fault: str = ""
    correct_fields: str = ""
    accepted_decisions: Mapping[str, frozenset[str]] = EMPTY
    drops_ineffective_fields: bool = False
    coercions: str = ""
    chains_failures: bool = True
    sequence_scope: str = "definition"
    expands_handler_env: bool = True
    handler_identity: str = "identity"
    toggle_policy: str = "authority"
    self_switching_layers: frozenset[Layer] = frozenset()
    enabled_by_default: bool = True
    warning_audience: Audience = Audience.DEBUG
    default_reason: str = "blocked by hook '{label}'"
    last_duplicate_wins: bool = False

    @property
    def keeps_first_of_name(self) -> bool:
        """Whether of handlers of one layer, matcher and name only the first is kept."""
        return self.handler_identity == "name_and_key"

    @cached_property
    def by_canonical(self) -> Mapping[str, EventSpec]:
        """The events by canonical name."""
        return {spec.canonical: spec for spec in self.events}

    def refused_argument(
        self,
        spec: EventSpec,
        tool: str,
        arguments: Mapping[str, Any] | None,
        changed: Mapping[str, Any],
    ) -> str:
        """Return the text that changed arguments lack, so that the agent refuses the call.

        It is empty if they lack nothing. A text that the call lacks already is not asked for: the
        tool may be one of a program. `arguments` is `None` for any call, and `changed` is what a
        hook or all hooks set in their place.
        """
        if "tool_input" not in spec.field_policies or "tool_input" in self.merged_by_agent:
            changed = {**(arguments or {}), **changed}
        for name in spec.required_arguments.get(tool, ()):
            is_needed = arguments is None or name in arguments
            if is_needed and not isinstance(changed.get(name), str):
                return name
        return ""

    @property
    def version(self) -> str:
        """The version of the release, without the name of the program: `2.1.330`."""
        return self.release.rpartition(" ")[2]

    @cached_property
    def loaded_coercions(self) -> Coercions | None:
        """The object that `coercions` names; imported only when a reply is read."""
        if not self.coercions:
            return None
        coercions: Coercions = load_object(self.coercions)
        return coercions

    def exit_rules_for(self, event: str) -> ExitRules:
        """Return the exit rules of an event."""
        return self.exit_rules.get(event) or self.exit_rules["*"]

    def with_differences(self, differences: Differences) -> RuleSet:
        """Return a copy of the rule set with the differences applied."""
        events = []
        for spec in self.events:
            own = differences.events.get(spec.canonical, EMPTY)
            events.append(spec.replace(**{**differences.every_event, **own}))
        return self.replace(events=tuple(events), **differences.rules)
