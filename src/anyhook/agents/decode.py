"""A JSON reply to an answer.

It is one module because each kind of member is read by a method of one reader.
"""

from __future__ import annotations

import re

from anyhook.agents.encode import EXTRA, RESULT_TEXT, RESULT_TYPE, result_object
from anyhook.agents.entry import load_object
from anyhook.agents.spec import EVENT_NAME, Denial
from anyhook.agents.values import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    VALUE_KINDS,
    check_members,
    describe_value,
    has_kind,
    shortened_repr,
)
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome
from anyhook.model.json import RepeatedKeys, parse_json
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.printed import OutputContext
    from anyhook.agents.spec import OutputField
    from anyhook.agents.spec.rules import ReplyFault

    Path = tuple[str, ...]
    Fields = dict[str, Any]

INVALID = frozenset({"output-field", "output-word", "output-event"})
"""Codes of what makes a JSON object violate the schema of replies."""
INVALIDATING = INVALID | {"output-not-object"}
"""Codes of what makes a strict agent ignore a reply."""
CHANGES_OF_ACTION = frozenset(
    "context tool_input tool_output llm_request llm_response tool_config clear_context "
    "tail_tool_call".split()
)
"""Fields that change what the agent does, apart from its verdict; dropped without an effect."""
BOOLEAN_KINDS = frozenset(
    {"boolean", "not_boolean", "interrupt", "false_denies", "stop_that_denies"}
)
NULL_KINDS = frozenset({"arguments"})
"""Kinds of members of which `null` is a value; others are not there then."""
CUMULATIVE_KINDS = frozenset(
    {"decision", "explained_decision", "not_boolean", "false_denies", "interrupt"}
)
"""Kinds of members of which the strongest value counts, if a reply has a key several times."""
TYPES = {
    **VALUE_KINDS,
    **dict.fromkeys(("not_boolean", "false_denies", "interrupt"), BOOLEAN),
    **dict.fromkeys(("denied_interrupt", "handled"), BOOLEAN),
    **dict.fromkeys(("terminal", "continuation", "shown_reason"), STRING),
    "content": OBJECT,
}
"""`OutputField.kind` to the type of its values, where other values are only reported."""
ACTIONS = ("accept", "decline", "cancel")
_TERMINAL = r"(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f]*(?:\x07|\x1b\\))+\Z"
_MISSING = object()


class StrictReply(Record, kw_only=False):
    """A reply as an agent reads it; if it is not valid, the agent ignores it as a whole."""

    answer: Answer
    is_valid: bool = True


def read_reply(context: OutputContext, reply: Mapping[str, Any]) -> Answer:
    """Return the answer that a JSON object is, and report what is wrong with it."""
    return _ReplyReader(context, reply).read()


def read_strict_reply(context: OutputContext, reply: Mapping[str, Any]) -> StrictReply:
    """Return the answer that a JSON object is, or what an agent that is strict keeps of it."""
    before = len(context.diagnostics)
    reader = _ReplyReader(context, reply)
    answer = reader.read()
    rules = context.rules
    if not rules.strict:
        return StrictReply(answer)
    is_valid = not context.has_reported(INVALIDATING, before)
    if is_valid and "unknown" in rules.strict:
        is_valid = not reader.unknown_members()
    if not is_valid:
        context.report(
            "ignored-output",
            f"{context.agent.title} {rules.release} drops a whole reply for one wrong member",
        )
        return StrictReply(NO_OPINION, is_valid=False)
    fault: ReplyFault | None = None
    if rules.find_fault:
        fault = load_object(rules.find_fault)(context.spec.canonical, reply)
    if fault is None:
        return StrictReply(answer)
    context.report("reply-dropped", f"{context.agent.title} drops this reply: {fault.problem}")
    kept = NO_OPINION
    if answer.system_message:
        kept = Answer(system_message=answer.system_message)
    if fault.denies:
        kept = kept.replace(outcome=Outcome.DENY, reason=fault.problem)
    return StrictReply(kept, is_valid=False)


def _lookup(reply: Any, path: Path) -> Any:
    value = reply
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = value[key]
    return value


def _all_values(container: object, key: str) -> list[Any]:
    if isinstance(container, RepeatedKeys):
        return [value for name, value in container.pairs if name == key]
    return [container[key]] if isinstance(container, dict) and key in container else []


class _ReplyReader:
    """Reads one reply into the fields of an answer, those of `extra` with their prefix."""

    def __init__(self, context: OutputContext, reply: Mapping[str, Any]) -> None:
        self.context = context
        self.event = context.spec.canonical
        self.reply = reply
        self.fields: Fields = {}
        # Path of the object in the reply that holds the verdict.
        self.verdict_parent: Path | None = None
        self.coercions = context.rules.loaded_coercions

    def read(self) -> Answer:
        """Return the answer that the reply is, and report what is wrong with it."""
        context, fields = self.context, self.fields
        self._read_members()
        repeats_keys = self._report_repeated_keys()
        if repeats_keys and not context.rules.last_duplicate_wins:
            self._read_repeated_verdicts()
        self._report_wrong_members()
        self._check_event_name()
        self._report_wrong_containers()
        if context.rules.correct_fields:
            load_object(context.rules.correct_fields)(self.event, self.reply, fields)
        if not fields:
            return NO_OPINION
        needs_reason = context.spec.denial is Denial.CONTINUES and context.rules.default_reason
        if needs_reason and fields.get("outcome") is Outcome.DENY and not fields.get("reason"):
            context.report(
                "output-reason",
                "denies without a reason, which the agent needs to go on; "
                'write "reason": "what is left to do"',
            )
        own: Fields = {}
        extra: Fields = {}
        for name, value in fields.items():
            if name.startswith(EXTRA):
                extra[name.removeprefix(EXTRA)] = value
            else:
                own[name] = value
        if extra:
            own["extra"] = extra
        return Answer(**own)

    # -- members

    def _read_members(self) -> None:
        """Read every member that the event has."""
        context = self.context
        reasons: dict[Path, str] = {}
        for item in context.agent.output_fields_of(self.event):
            value = _lookup(self.reply, item.path) if item.path[0] in self.reply else _MISSING
            if value is _MISSING or self._is_hidden(item, value):
                continue
            if value is None and item.kind not in NULL_KINDS:
                self._read_null(item)
                continue
            if not item.belongs_to(self.event):
                name = ".".join(item.path)
                context.report(
                    "output-no-effect", f"{name} belongs to other events; it has no effect here"
                )
                continue
            before = len(context.diagnostics)
            if item.overrides:
                self.fields.pop(item.field, None)
                if item.field == "outcome":
                    self.fields.pop("approve", None)
            self._read_member(item, value)
            if self.coercions is not None:
                self.coercions.read_member(item.field, value, self.fields)
            if item.field == "reason" and "reason" in self.fields:
                reasons[() if item.overrides else item.path[:-1]] = self.fields["reason"]
            if len(context.diagnostics) == before:
                self._report_ineffective(item)
        # Two verdicts in one reply each have a reason.
        if self.verdict_parent in reasons:
            self.fields["reason"] = reasons[self.verdict_parent]

    def _is_hidden(self, item: OutputField, value: Any) -> bool:
        """Return whether another member takes the effect of a member away.

        A strict agent drops the whole reply if the value without effect is wrong: it is reported.
        """
        others = [_lookup(self.reply, path) for path in item.hidden_by]
        if not any(other not in (_MISSING, None) for other in others):
            return False
        if self.context.rules.strict and value is not None:
            fields, verdict_parent = self.fields, self.verdict_parent
            self.fields = {}
            self._read_member(item, value)
            self.fields, self.verdict_parent = fields, verdict_parent
        return True

    def _read_null(self, item: OutputField) -> None:
        """Read a member that is `null`, which a strict agent may not accept."""
        rules = self.context.rules
        if self.coercions is not None:
            self.coercions.read_member(item.field, None, self.fields)
        if not rules.strict or item.kind == "any":
            return
        if "null" in rules.strict or item.kind in BOOLEAN_KINDS:
            self._report_wrong_type(item, None, "left out or set")

    def _report_ineffective(self, item: OutputField) -> None:
        """Report a field that is set without an effect, and drop what it would change."""
        fields, spec = self.fields, self.context.spec
        is_default = fields.get(item.field) in (None, False, Outcome.NONE, Outcome.ALLOW)
        if is_default or spec.has_effect(item.field, fields.get("outcome")):
            return
        self.context.report_no_effect(".".join(item.path))
        # Hosts honour a denial and the end of the turn on every event.
        if item.field in CHANGES_OF_ACTION and item.field not in spec.denial_fields:
            del fields[item.field]

    def _report_wrong_type(self, item: OutputField, value: object, expected: str) -> None:
        """Report a member that has to be something else, for example `a string`."""
        message = f"{'.'.join(item.path)} must be {expected}, not {describe_value(value)}; left out"
        self.context.report("output-field", message)

    def _set_verdict(
        self, item: OutputField, outcome: Outcome = Outcome.DENY, approves: bool = False
    ) -> None:
        """Set the verdict; of two in one reply the stronger one counts."""
        if STRENGTH[outcome] >= STRENGTH[self.fields.get("outcome", Outcome.NONE)]:
            self.fields["outcome"], self.fields["approve"] = outcome, approves
            self.verdict_parent = item.path[:-1]

    # -- kinds of members

    def _read_member(self, item: OutputField, value: Any) -> None:
        """Read a member by its kind, if the type of its value is right."""
        if item.kind in TYPES and not has_kind(TYPES[item.kind], value):
            self._report_wrong_type(item, value, TYPES[item.kind].label)
            return
        if item.kind not in VALUE_KINDS:
            getattr(self, f"read_{item.kind}")(item, value)
            return
        # The value is the field.
        kind = VALUE_KINDS[item.kind]
        if not kind.check:
            self.fields[item.field] = value
            return
        from anyhook.model import llm

        path = ".".join(item.path)
        members = {"llm_request": llm.REQUEST_MEMBERS, "llm_response": llm.RESPONSE_MEMBERS}
        if item.kind in members:
            value, mistyped = llm.drop_mistyped(value, members[item.kind])
            for problem in mistyped:
                self.context.report("output-unknown", f"{path}: {problem}")
        usable, problems = check_members(kind, value)
        for problem in problems:
            self.context.report("output-field", f"{path}: {problem}; left out")
        if usable:
            self.fields[item.field] = usable

    def read_not_boolean(self, item: OutputField, value: Any) -> None:
        """Read a member that sets a field if it is false."""
        self.fields[item.field] = self.fields.get(item.field, False) or not value

    def read_interrupt(self, item: OutputField, value: Any) -> None:
        """Read a member that sets a field if it is true."""
        self.fields[item.field] = self.fields.get(item.field, False) or value

    def read_false_denies(self, item: OutputField, value: Any) -> None:
        """Read a member that denies if it is false; `true` is not a verdict."""
        if value is False:
            self._set_verdict(item)

    def read_stop_that_denies(self, item: OutputField, value: Any) -> None:
        """Read a member that denies if it is false, with the reasons that were read before it."""
        stop_reason = self.fields.pop("stop_reason", None)
        if not has_kind(BOOLEAN, value):
            self._report_wrong_type(item, value, BOOLEAN.label)
        elif value is False:
            self._set_verdict(item)
            default = f"{self.context.spec.wire} hook stopped execution"
            self.fields["reason"] = self.fields.get("reason") or stop_reason or default

    def read_any_input(self, item: OutputField, value: Any) -> None:
        """Read arguments; a value that is not an object counts as arguments without members."""
        if not isinstance(value, dict):
            problem = f"{'.'.join(item.path)} must be an object, not {describe_value(value)}"
            self.context.report("ignored-output", problem)
            value = {}
        self.fields[item.field] = value

    def read_decision(self, item: OutputField, value: Any) -> None:
        """Read a word that is a verdict, also one of another agent."""
        context = self.context
        words: Mapping[Any, tuple[Outcome, bool]] = item.words or context.agent.decision_words
        takes_booleans = True in words or False in words
        is_word = isinstance(value, bool if takes_booleans else str)
        if is_word and value in words:
            self._set_verdict(item, *words[value])
        elif is_word and value in context.rules.accepted_decisions.get(item.path[-1], ()):
            context.report(
                "output-no-effect", f"{shortened_repr(value)} has no effect on this event"
            )
        else:
            from anyhook.agents.explain import explain_word

            problem = explain_word(context.agent, words, value, may_be_misspelt=is_word)
            if is_word and str(value) in context.agent.foreign_decisions:
                self._set_verdict(item, *context.agent.foreign_decisions[str(value)])
            context.report("output-word", problem)

    def read_explained_decision(self, item: OutputField, value: Any) -> None:
        """Read a decision of which a denial needs a reason, which was read before it."""
        words = item.words or self.context.agent.decision_words
        is_denial = isinstance(value, str) and words.get(value, (None,))[0] is Outcome.DENY
        if not is_denial or self.fields.get("reason"):
            self.read_decision(item, value)
            return
        problem = f"{shortened_repr(value)} without a reason has no effect; add a reason"
        self.context.report("output-reason", problem)

    def read_continuation(self, item: OutputField, value: Any) -> None:
        """Read a text with which the agent continues: a denial whose reason it is."""
        if value.strip():
            self._set_verdict(item)
            self.fields["reason"] = value

    def read_shown_reason(self, item: OutputField, value: Any) -> None:
        """Read the reason for the user, next to one for the agent if that is there."""
        if "reason" not in self.fields:
            self.fields["reason"] = value
        elif self.fields["reason"] != value:
            self.fields[item.field] = value

    def read_text(self, item: OutputField, value: Any) -> None:
        """Read a text; a number is read as it is written."""
        if has_kind(NUMBER, value):
            value = str(int(value)) if value == int(value) else str(value)
        if isinstance(value, str):
            self.fields[item.field] = value
        else:
            self._report_wrong_type(item, value, "a string")

    def read_arguments(self, item: OutputField, value: Any) -> None:
        """Read arguments of a tool, also as a JSON text; with anything else the call fails."""
        arguments = value
        if isinstance(value, str):
            try:  # no `contextlib`, which the shim would have to load
                arguments = parse_json(value)
            except ValueError:
                arguments = None
        if isinstance(arguments, dict):
            self.fields[item.field] = arguments
            return
        self._report_wrong_type(item, value, "an object, so the call fails")
        if self.fields.get("outcome") is not Outcome.DENY:
            self._set_verdict(item)
            problem = f"{'.'.join(item.path)} is {describe_value(value)}"
            self.fields["reason"] = f"invalid input: {problem}"

    read_arguments_or_null = read_arguments

    def read_result_object(self, item: OutputField, value: Any) -> None:
        """Read a result of a tool with its text; a text of another type counts as empty."""
        if not isinstance(value, dict) or RESULT_TEXT not in value:
            self._report_wrong_type(item, value, f'an object with "{RESULT_TEXT}"')
            return
        text = value[RESULT_TEXT]
        if not isinstance(text, str):
            self._report_wrong_type(item, text, f'an object with a text as "{RESULT_TEXT}"')
            text = ""
        failed = value.get(RESULT_TYPE) == "failure"
        self.fields[item.field] = result_object(text, failed=failed)

    def read_denied_interrupt(self, item: OutputField, value: Any) -> None:
        """Read a member that ends the run together with a denial, which was read before it."""
        if value and self.fields.get("outcome") is Outcome.DENY:
            self.fields[item.field] = True

    def read_handled(self, item: OutputField, value: Any) -> None:
        """Read a member that has an effect next to a response, which was read before it."""
        if value and "extra.response_content" in self.fields:
            self.fields[item.field] = True
        elif value:
            problem = f"{'.'.join(item.path)} needs a response as well"
            self.context.report("output-field", problem)

    def read_action(self, item: OutputField, value: Any) -> None:
        """Read what is done with a question of an MCP server."""
        if not isinstance(value, str) or value not in ACTIONS:
            self._report_wrong_type(item, value, "accept, decline or cancel")
            return
        self.fields[item.field] = value
        if value == "decline":
            self._set_verdict(item)

    def read_content(self, item: OutputField, value: Any) -> None:
        """Read the content of an action, which was read before it."""
        if "extra.action" in self.fields:
            self.fields[item.field] = value
        else:
            problem = f"{'.'.join(item.path)} needs an action as well; left out"
            self.context.report("output-field", problem)

    def read_terminal(self, item: OutputField, value: Any) -> None:
        """Read sequences for the terminal, of which some are allowed."""
        if re.fullmatch(_TERMINAL, value):
            self.fields[item.field] = value
        else:
            # Not an error of the reply as a whole: the agent itself only drops this member.
            problem = f"{'.'.join(item.path)} may hold BEL and OSC 0, 1, 2, 9, 99 and 777; left out"
            self.context.report("ignored-output", problem)

    def read_tool_call(self, item: OutputField, value: Any) -> None:
        """Read a call of a tool."""
        call = value if isinstance(value, dict) else {}
        name, args = call.get("name"), call.get("args", {})
        if isinstance(name, str) and name and isinstance(args, dict):
            self.fields[item.field] = {**value, "args": args}
        else:
            expected = 'an object like {"name": "tool", "args": {…}}'
            self._report_wrong_type(item, value, expected)

    # -- keys that occur more than once in an object

    def _report_repeated_keys(self) -> bool:
        """Report keys that occur more than once; return whether there are any."""
        rule = "the last one counts"
        if not self.context.rules.last_duplicate_wins:
            rule += ", of verdicts the strongest"
        repeats = False
        for parent in self.context.agent.reply_objects(self.event):
            container = _lookup(self.reply, parent)
            if not isinstance(container, RepeatedKeys):
                continue
            repeats = True
            keys = [key for key, _ in container.pairs]
            for key in container:
                count = keys.count(key)
                if count > 1:
                    name = ".".join((*parent, key))
                    problem = f"{name} is written {count} times; {rule}"
                    self.context.report("output-duplicate", problem)
        return repeats

    def _read_repeated_verdicts(self) -> None:
        """Read all values of repeated verdicts, so that a second one cannot cancel a denial."""
        for item in self.context.agent.output_fields_of(self.event):
            if item.kind not in CUMULATIVE_KINDS or not item.belongs_to(self.event):
                continue
            values: list[Any] = [self.reply]
            for key in item.path:
                values = [inner for container in values for inner in _all_values(container, key)]
            already_read = _lookup(self.reply, item.path)
            for value in values:
                if value is not already_read:
                    self._read_member(item, value)

    # -- members that the reply should not have

    def unknown_members(self) -> dict[Path, set[str]]:
        """Return the path of each object to its members that replies to the event do not have."""
        unknown: dict[Path, set[str]] = {}
        for parent, names in self.context.agent.reply_objects(self.event).items():
            container = _lookup(self.reply, parent)
            if isinstance(container, dict) and not container.keys() <= names:
                unknown[parent] = container.keys() - names
        return unknown

    def _report_wrong_members(self) -> None:
        """Report members that replies do not have. They are kept, and have no effect."""
        agent = self.context.agent
        for parent, names in self.unknown_members().items():
            from anyhook.agents.explain import explain_members

            for problem in explain_members(agent, self.event, parent, names):
                self.context.report(problem.code, problem.message, problem.severity)
        for path, advice in agent.foreign_members.items():
            if path[0] not in self.reply or _lookup(self.reply, path) is _MISSING:
                continue
            from anyhook.agents.explain import owner_of

            owner = owner_of(path, agent)
            origin = f"is a member of {owner}'s replies and " if owner else ""
            self.context.report(
                "output-foreign",
                f"{'.'.join(path)} {origin}means nothing to {agent.title}; write {advice}",
            )

    def _check_event_name(self) -> None:
        """Report a missing or wrong name of the event in the object that has to repeat it."""
        agent, rules = self.context.agent, self.context.rules
        container_name, key = EVENT_NAME
        is_ignored = agent.event_name_rule in ("", "ignored")
        if is_ignored or container_name not in self.reply:
            return
        container, expected = self.reply[container_name], self.context.spec.wire
        if container is None and "null" not in rules.strict:
            return
        if not isinstance(container, dict):
            problem = f"{container_name} must be an object, not {describe_value(container)}"
            self.context.report("output-field", problem)
            return
        name, label = container.get(key), ".".join(EVENT_NAME)
        if name is None:
            if agent.needs_event_name:
                self.context.report(
                    "output-event",
                    f"{label} is missing, which makes {agent.title} itself drop the reply; "
                    f"write {expected!r}",
                )
        elif not isinstance(name, str):
            problem = f"{label} must be {expected!r}, not {describe_value(name)}"
            self.context.report("output-field", problem)
        elif name != expected and not (agent.event_name_rule == "any" and name in agent.by_wire):
            problem = f"{label} says {name!r}; it is read as {expected!r}"
            self.context.report("output-event", problem)

    def _report_wrong_containers(self) -> None:
        """Report values in place of the inner objects that contain members."""
        parents = {
            item.path[:-1]: None
            for item in self.context.agent.output_fields_of(self.event)
            if len(item.path) > 2 and item.path[0] in self.reply and item.belongs_to(self.event)
        }
        for path in parents:
            value = _lookup(self.reply, path)
            if value is not _MISSING and value is not None and not isinstance(value, dict):
                name = ".".join(path)
                problem = f"{name} must be an object, not {describe_value(value)}; left out"
                self.context.report("output-field", problem)
