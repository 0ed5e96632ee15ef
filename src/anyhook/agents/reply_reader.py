"""Reading a JSON reply, member by member, into an answer."""

from __future__ import annotations

from anyhook.agents.replies import EXTRA
from anyhook.agents.reply_members import (
    CUMULATIVE_KINDS,
    MEMBER_READERS,
    NULL_KINDS,
    report_wrong_type,
)
from anyhook.agents.spec import Denial
from anyhook.agents.values import describe_value
from anyhook.model.answers import NO_OPINION, Answer, Audience, Outcome
from anyhook.model.json import RepeatedKeys, trim
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.output_context import OutputContext
    from anyhook.agents.spec import OutputField

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
OVERRIDDEN_WITH = {"outcome": ("outcome", "approve")}
"""Field to the fields that are dropped together with it."""

BOOLEAN_KINDS = frozenset(
    {"boolean", "not_boolean", "interrupt", "false_denies", "stop_that_denies"}
)
_MISSING = object()


class StrictReply(Record, kw_only=False):
    """A reply as an agent reads it that may ignore it as a whole.

    Attributes:
        answer: What counts of it.
        is_valid: Whether the agent does not ignore it.
    """

    answer: Answer
    is_valid: bool = True


def read_reply(context: OutputContext, reply: Mapping[str, Any]) -> Answer:
    """Return the answer that a JSON object is, and report what is wrong with it."""
    fields = _read_members(context, reply)
    coercions = context.rules.loaded_coercions
    if coercions is not None and coercions.read_reply is not None:
        coercions.read_reply(context.spec.canonical, reply, fields)
    if context.spec.trims_reason and "reason" in fields:
        fields["reason"] = trim(fields["reason"])
    repeats_keys = _report_repeated_keys(context, reply)
    if repeats_keys and not context.rules.last_duplicate_wins:
        _read_repeated_verdicts(context, reply, fields)
    _report_unknown_members(context, reply)
    _report_foreign_members(context, reply)
    _check_event_name(context, reply)
    _report_wrong_containers(context, reply)
    _discard_fields(context, fields)
    if not fields:
        return NO_OPINION
    needs_reason = context.spec.denial is Denial.CONTINUES and context.rules.default_reason
    if needs_reason and fields.get("outcome") is Outcome.DENY and not fields.get("reason"):
        context.report(
            "output-reason",
            "denies without a reason, which the agent needs to go on; "
            'write "reason": "what is left to do"',
        )
    return _make_answer(fields)


def read_strict_reply(context: OutputContext, reply: Mapping[str, Any]) -> StrictReply:
    """Return the answer that a JSON object is, or what an agent that is strict keeps of it."""
    before = len(context.diagnostics)
    answer = read_reply(context, reply)
    rules = context.rules
    if not rules.strict:
        return StrictReply(answer)
    is_valid = not context.has_reported(INVALIDATING, before)
    if is_valid and rules.strict_members:
        is_valid = not _has_unknown_member(context, reply)
    if not is_valid:
        context.report(
            "ignored-output",
            f"{context.agent.title} {rules.release} drops a whole reply for one wrong member",
        )
        return StrictReply(NO_OPINION, is_valid=False)
    for fault in rules.reply_faults.get(context.spec.canonical, ()):
        if all(_is_so(reply, path, state) for path, state in fault.members.items()):
            problem = f"{context.agent.title} drops this reply: {fault.problem}"
            context.report("reply-dropped", problem)
            kept = NO_OPINION
            if answer.system_message:
                kept = Answer(system_message=answer.system_message)
            if fault.denies:
                kept = kept.replace(outcome=Outcome.DENY, reason=fault.problem)
            return StrictReply(kept, is_valid=False)
    return StrictReply(answer)


def _has_unknown_member(context: OutputContext, reply: Mapping[str, Any]) -> bool:
    """Return whether the reply has a member that replies to the event do not have."""
    for parent, names in context.agent.reply_objects(context.spec.canonical).items():
        container = _lookup(reply, parent)
        if isinstance(container, dict) and not container.keys() <= names:
            return True
    return False


def _is_set(reply: Mapping[str, Any], path: Path) -> bool:
    return _lookup(reply, path) not in (_MISSING, None)


def _is_so(reply: Mapping[str, Any], path: str, state: str) -> bool:
    """Return whether a member is what `InvalidReply.members` says."""
    value = _lookup(reply, tuple(path.split(".")))
    if value is _MISSING:
        value = None
    word = str(value).lower() if isinstance(value, bool) else value
    if state.startswith("!="):
        return bool(word != state[2:])
    if state.startswith("="):
        return bool(word == state[1:])
    is_blank = value is None or (isinstance(value, str) and not trim(value))
    states = {
        "set": value is not None,
        "unset": value is None,
        "blank": is_blank,
        "true": value is True,
        "false": value is False,
    }
    return states[state]


def _make_answer(fields: Fields) -> Answer:
    own: Fields = {}
    extra: Fields = {}
    for name, value in fields.items():
        if name.startswith(EXTRA):
            extra[name.removeprefix(EXTRA)] = value
        else:
            own[name] = value
    return Answer(**own, extra=extra) if extra else Answer(**own)


def _lookup(reply: Any, path: Path) -> Any:
    value = reply
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = value[key]
    return value


# -- members


def _read_members(context: OutputContext, reply: Mapping[str, Any]) -> Fields:
    """Read every member that the event has into the fields of an answer."""
    fields: Fields = {}
    reasons: dict[Path, str] = {}
    coercions = context.rules.loaded_coercions
    for item in context.agent.output_fields_of(context.spec.canonical):
        value = _lookup(reply, item.path) if item.path[0] in reply else _MISSING
        if value is _MISSING or any(_is_set(reply, path) for path in item.hidden_by):
            continue
        if value is None and item.kind not in NULL_KINDS:
            if coercions is not None:
                coercions.read_member(item.field, None, fields)
            if not _may_be_null(context, item):
                report_wrong_type(context, item, None, "left out or set")
            continue
        if not item.belongs_to(context.spec.canonical):
            name = ".".join(item.path)
            context.report(
                "output-no-effect", f"{name} belongs to other events; it has no effect here"
            )
            continue
        before = len(context.diagnostics)
        _read_member(context, item, value, fields)
        if coercions is not None:
            coercions.read_member(item.field, value, fields)
        if item.field == "reason" and "reason" in fields:
            reasons[() if item.overrides else item.path[:-1]] = fields["reason"]
        if len(context.diagnostics) == before:
            _report_ineffective(context, item, fields)
    # Two verdicts in one reply each have a reason.
    if context.verdict_parent in reasons:
        fields["reason"] = reasons[context.verdict_parent]
    return fields


def _read_member(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    if item.overrides:
        for field in OVERRIDDEN_WITH.get(item.field, (item.field,)):
            fields.pop(field, None)
    MEMBER_READERS[item.kind](context, item, value, fields)


def _may_be_null(context: OutputContext, item: OutputField) -> bool:
    if not context.rules.strict or item.kind == "any":
        return True
    return context.rules.allows_null and item.kind not in BOOLEAN_KINDS


def _report_ineffective(context: OutputContext, item: OutputField, fields: Fields) -> None:
    """Report a field that is set and has no effect on the event, and drop what it would change."""
    is_default = fields.get(item.field) in (None, False, Outcome.NONE, Outcome.ALLOW)
    if is_default or context.spec.has_effect(item.field, fields.get("outcome")):
        return
    report_no_effect(context, ".".join(item.path))
    # Hosts honour a denial and the end of the turn on every event.
    if item.field in CHANGES_OF_ACTION and item.field not in context.spec.denial_fields:
        del fields[item.field]


def report_no_effect(context: OutputContext, cause: str) -> None:
    """Report a part of the output that the agent ignores on the event.

    Args:
        context: The context of the output.
        cause: A member of the reply, or how the command ended.
    """
    context.report(
        "output-no-effect",
        f"{context.agent.title} gives {cause} no effect on this event; hosts may ignore it",
    )


def _discard_fields(context: OutputContext, fields: Fields) -> None:
    """Drop fields without effect; the reason of a dropped denial becomes a message."""
    spec = context.spec
    if not spec.discarded_fields:
        return
    reason = fields.get("reason")
    drops_denial = "outcome" in spec.discarded_fields and fields.get("outcome") is Outcome.DENY
    if drops_denial and reason and spec.block_audience is Audience.USER:
        messages = [fields.get("system_message"), reason]
        fields["system_message"] = "\n".join(filter(None, messages))
    for name in spec.discarded_fields:
        fields.pop(name, None)


# -- keys that occur more than once in an object


def _report_repeated_keys(context: OutputContext, reply: Mapping[str, Any]) -> bool:
    """Report keys that occur more than once; return whether there are any."""
    rule = "the last one counts"
    if not context.rules.last_duplicate_wins:
        rule += ", of verdicts the strongest"
    repeats = False
    for parent in context.agent.reply_objects(context.spec.canonical):
        container = _lookup(reply, parent)
        if not isinstance(container, RepeatedKeys):
            continue
        repeats = True
        keys = [key for key, _ in container.pairs]
        for key in container:
            count = keys.count(key)
            if count > 1:
                name = ".".join((*parent, key))
                context.report("output-duplicate", f"{name} is written {count} times; {rule}")
    return repeats


def _read_repeated_verdicts(
    context: OutputContext, reply: Mapping[str, Any], fields: Fields
) -> None:
    """Read all values of repeated verdicts, so that a second one cannot cancel a denial."""
    for item in context.agent.output_fields_of(context.spec.canonical):
        if item.kind not in CUMULATIVE_KINDS or not item.belongs_to(context.spec.canonical):
            continue
        values: list[Any] = [reply]
        for key in item.path:
            values = [inner for container in values for inner in _all_values(container, key)]
        already_read = _lookup(reply, item.path)
        for value in values:
            if value is not already_read:
                MEMBER_READERS[item.kind](context, item, value, fields)


def _all_values(container: object, key: str) -> list[Any]:
    if isinstance(container, RepeatedKeys):
        return [value for name, value in container.pairs if name == key]
    return [container[key]] if isinstance(container, dict) and key in container else []


# -- members that the reply should not have


def _report_unknown_members(context: OutputContext, reply: Mapping[str, Any]) -> None:
    """Report members that replies do not have. They are kept, and have no effect."""
    event = context.spec.canonical
    for parent, names in context.agent.reply_objects(event).items():
        container = _lookup(reply, parent)
        if not isinstance(container, dict) or container.keys() <= names:
            continue
        from anyhook.agents.unknown_members import explain_members

        for problem in explain_members(context.agent, event, parent, container.keys() - names):
            context.report(problem.code, problem.message, problem.severity)


def _report_foreign_members(context: OutputContext, reply: Mapping[str, Any]) -> None:
    agent = context.agent
    for path, advice in agent.foreign_members.items():
        if path[0] not in reply or _lookup(reply, path) is _MISSING:
            continue
        from anyhook.agents.unknown_members import owner_of

        owner = owner_of(path, agent)
        origin = f"is a member of {owner}'s replies and " if owner else ""
        context.report(
            "output-foreign",
            f"{'.'.join(path)} {origin}means nothing to {agent.title}; write {advice}",
        )


def _check_event_name(context: OutputContext, reply: Mapping[str, Any]) -> None:
    """Report a missing or wrong name of the event in the object that has to repeat it."""
    path, expected = context.agent.output_event_key, context.spec.wire
    if not path or path[0] not in reply or context.agent.ignores_event_name:
        return
    container = reply[path[0]]
    if container is None and (context.rules.allows_null or not context.rules.strict):
        return
    if not isinstance(container, dict):
        problem = f"{path[0]} must be an object, not {describe_value(container)}"
        context.report("output-field", problem)
        return
    name, label = container.get(path[1]), ".".join(path)
    if name is None:
        if context.agent.needs_event_name:
            context.report(
                "output-event",
                f"{label} is missing, which makes {context.agent.title} itself drop the reply; "
                f"write {expected!r}",
            )
    elif not isinstance(name, str):
        problem = f"{label} must be {expected!r}, not {describe_value(name)}"
        context.report("output-field", problem)
    elif name != expected and not (context.rules.any_event_name and name in context.agent.by_wire):
        context.report("output-event", f"{label} says {name!r}; it is read as {expected!r}")


def _report_wrong_containers(context: OutputContext, reply: Mapping[str, Any]) -> None:
    """Report values in place of the inner objects that contain members."""
    event = context.spec.canonical
    parents = {
        item.path[:-1]: None
        for item in context.agent.output_fields_of(event)
        if len(item.path) > 2 and item.path[0] in reply and item.belongs_to(event)
    }
    for path in parents:
        value = _lookup(reply, path)
        if value is not _MISSING and value is not None and not isinstance(value, dict):
            message = f"{'.'.join(path)} must be an object, not {describe_value(value)}; left out"
            context.report("output-field", message)
