"""How Qwen Code 0.24 interprets what commands print, and replies.

It merges the replies of all hooks, and checks no types.

Sources: `hookAggregator.ts`, `types.ts` and `toolHookTriggers.ts` of release 0.24.4.
"""

from __future__ import annotations

from anyhook.agents.gemini.coercions import COERCIONS as GEMINI
from anyhook.agents.gemini.coercions import is_truthy, to_string
from anyhook.agents.output import ExitReader
from anyhook.agents.printed import PrintedOutput
from anyhook.agents.printed import classify as classify_json
from anyhook.agents.spec import SPECIFIC, Coercions
from anyhook.model.answers import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from anyhook.model.answers import Answer
    from anyhook.model.status import Status

    Reply = Mapping[str, Any]
    Fields = dict[str, Any]

NO_REASON = "No reason provided"
TODO_REASONS = {
    "todo_created": "Hook blocked todo creation",
    "todo_completed": "Hook blocked todo completion",
}
"""Event to the reason of a denial without one."""

WORDS = {
    "allow": Outcome.ALLOW,
    "approve": Outcome.ALLOW,
    "deny": Outcome.DENY,
    "block": Outcome.DENY,
    "ask": Outcome.ASK,
}
PERMISSIONS = {word: WORDS[word] for word in ("allow", "deny", "ask")}
DENIALS = ("block", "deny")


# -- what commands print


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream of which only objects are JSON, and broken ones are malformed."""
    output = classify_json(printed)
    if output.form == "json" and not isinstance(output.value, dict):
        return PrintedOutput("text", output.text)
    if output.form == "text" and output.text.startswith("{"):
        return output.replace(form="malformed")
    return output


class QwenExitReader(ExitReader):
    """Takes plain text as an allowance with a reason."""

    def text(self) -> tuple[Status, Answer]:
        """Read plain text of a command that succeeded."""
        return _allow(super().text(), "Hook executed successfully")

    def message(self) -> tuple[Status, Answer]:
        """Read a message of a command that succeeded."""
        return _allow(super().message(), "Hook executed successfully")

    def warning_message(self) -> tuple[Status, Answer]:
        """Read a message of a command that failed."""
        return _allow(super().warning_message(), f"Non-blocking error: {self.output.text}")


def _allow(reading: tuple[Status, Answer], reason: str) -> tuple[Status, Answer]:
    status, answer = reading
    return status, answer.replace(outcome=Outcome.ALLOW, reason=reason)


# -- one reply, which may be merged


def _specific(reply: Reply) -> dict[str, Any]:
    """Return `hookSpecificOutput`; empty if it is not an object."""
    value = reply.get(SPECIFIC)
    return value if isinstance(value, dict) else {}


def _breaks(reply: Reply) -> bool:
    """Return whether looking into `hookSpecificOutput` fails: JavaScript's `in` needs an object."""
    value = reply.get(SPECIFIC)
    return is_truthy(value) and not isinstance(value, dict | list)


def _first_text(*values: Any) -> str:
    for value in values:
        if is_truthy(value):
            return to_string(value)
    return NO_REASON


def _word(words: Mapping[str, Outcome], value: object) -> Outcome:
    return words.get(value, Outcome.NONE) if isinstance(value, str) else Outcome.NONE


def _stops(reply: Reply) -> bool:
    return reply.get("continue") is False


def _denies(reply: Reply) -> bool:
    return reply.get("decision") in DENIALS


def _effective_reason(reply: Reply) -> str:
    return _first_text(reply.get("stopReason"), reply.get("reason"))


def _decide_tool(reply: Reply) -> Fields:
    """Decide PreToolUse: the permission decision counts before the decision."""
    if _breaks(reply):
        return {}
    specific = _specific(reply)
    outcome = _word(PERMISSIONS, specific.get("permissionDecision"))
    if outcome is Outcome.NONE:
        outcome = _word(WORDS, reply.get("decision"))
    reason = specific.get("permissionDecisionReason")
    if not isinstance(reason, str):
        reason = reply.get("reason")
    if outcome is Outcome.DENY:
        stop_reason, other_reason = reply.get("stopReason"), reply.get("reason")
        return {"outcome": outcome, "reason": _first_text(reason, stop_reason, other_reason)}
    if outcome is Outcome.ASK:
        text = to_string(reason) if is_truthy(reason) else "User confirmation required"
        return {"outcome": outcome, "reason": text}
    if _stops(reply):
        return {"outcome": Outcome.DENY, "reason": _effective_reason(reply)}
    return {} if outcome is Outcome.NONE else {"outcome": outcome}


def _decide_stop_only(reply: Reply) -> Fields:
    """Decide PostToolUse: only `continue: false` has an effect."""
    if _stops(reply) and not _breaks(reply):
        return {"outcome": Outcome.DENY, "reason": _effective_reason(reply)}
    return {}


def _decide_top_level(reply: Reply) -> Fields:
    """Decide the events on which a decision and `continue: false` are the same."""
    if _denies(reply) or _stops(reply):
        return {"outcome": Outcome.DENY, "reason": _effective_reason(reply)}
    return {}


def _decide_block_only(reply: Reply) -> Fields:
    """Decide an event of the list of things to do: it compares with `block` only."""
    if reply.get("decision") == "block":
        reason = reply.get("reason")
        return {"outcome": Outcome.DENY, "reason": to_string(reason) if is_truthy(reason) else ""}
    return {}


def _decide_permission(reply: Reply) -> Fields:
    """Decide PermissionRequest: any behavior but `allow` denies."""
    decision = _specific(reply).get("decision")
    if not isinstance(decision, dict):
        return {}
    if decision.get("behavior") == "allow":
        return {"outcome": Outcome.ALLOW, "approve": True}
    message = decision.get("message")
    return {"outcome": Outcome.DENY, "reason": to_string(message) if is_truthy(message) else ""}


DECIDERS: dict[str, Callable[[Reply], Fields]] = {
    "before_tool": _decide_tool,
    "after_tool": _decide_stop_only,
    "post_tool_batch": _decide_top_level,
    "before_prompt": _decide_top_level,
    "user_prompt_expansion": _decide_top_level,
    "after_agent": _decide_top_level,
    "subagent_stop": _decide_top_level,
    "permission_request": _decide_permission,
    "todo_created": _decide_block_only,
    "todo_completed": _decide_block_only,
}
"""Event to the function that decides it; all other events have no verdict."""


def _decide_one(event: str, reply: Reply) -> Fields:
    if event not in DECIDERS:
        return {}
    fields = DECIDERS[event](reply)
    if fields.get("outcome") is Outcome.DENY and not fields["reason"]:
        fields["reason"] = TODO_REASONS.get(event, "")
    return fields


def correct_fields(event: str, reply: Reply, fields: Fields) -> None:
    """Correct the fields that were read from a reply, as the release interprets it alone."""
    for name in ("outcome", "approve", "reason", "stop", "stop_reason"):
        fields.pop(name, None)
    fields.update(_decide_one(event, reply))
    if _breaks(reply):
        fields.pop("context", None)
    if event == "before_tool":
        # Only the next hook of a sequence sees it; `updatedInput` is ignored.
        fields.pop("tool_input", None)
        tool_input = _specific(reply).get("tool_input")
        if isinstance(tool_input, dict):
            fields["tool_input"] = tool_input
    elif event == "permission_request" and fields.get("outcome") is not Outcome.ALLOW:
        fields.pop("tool_input", None)


# -- several replies


def _merge(replies: Iterable[Reply]) -> Fields:
    """Merge replies: any denial counts, and of each other member the last one."""
    merged: Fields = {}
    specific: Fields = {}
    reasons: list[str] = []
    for reply in replies:
        if _denies(reply):
            merged["decision"] = "block"
        elif reply.get("decision") == "allow":
            merged.setdefault("decision", "allow")
        if is_truthy(reply.get("reason")):
            reasons.append(to_string(reply["reason"]))
        if _stops(reply):
            merged["continue"] = False
            if is_truthy(reply.get("stopReason")):
                merged["stopReason"] = reply["stopReason"]
        if _breaks(reply):
            merged[SPECIFIC] = reply[SPECIFIC]
        specific |= _specific(reply)
    if reasons:
        merged["reason"] = "\n".join(reasons)
    return {SPECIFIC: specific, **merged}


def _merge_permissions(replies: Iterable[Reply]) -> Fields:
    """Merge replies to PermissionRequest: there is always a decision, also if none has one."""
    decision: Fields = {}
    messages: list[str] = []
    for reply in replies:
        own = _specific(reply).get("decision")
        own = own if isinstance(own, dict) else {}
        if own.get("behavior") == "deny":
            decision["behavior"] = "deny"
        elif own.get("behavior") == "allow":
            decision.setdefault("behavior", "allow")
        if is_truthy(own.get("message")):
            messages.append(to_string(own["message"]))
    if messages:
        decision["message"] = "\n".join(messages)
    return {SPECIFIC: {"decision": decision}}


def decide(event: str, replies: Sequence[Reply]) -> Fields:
    """Return the verdict of all replies to an event."""
    if len(replies) == 1:
        return _decide_one(event, replies[0])
    merge = _merge_permissions if event == "permission_request" else _merge
    return _decide_one(event, merge(replies))


def reply_of(answer: Answer) -> Fields:
    """Return the reply that an answer stands for, with the verdict at the top level."""
    reply: Fields = {}
    words = {Outcome.DENY: "deny", Outcome.ASK: "ask", Outcome.ALLOW: "allow"}
    if answer.outcome in words:
        reply["decision"] = words[answer.outcome]
    if answer.reason:
        reply["reason"] = answer.reason
    if answer.stop:
        reply["continue"] = False
        reply["stopReason"] = answer.stop_reason
    return reply


def read_member(field: str, value: object, fields: Fields) -> None:
    """Read a text of another type; only texts of type string are context."""
    if field in ("reason", "stop_reason", "system_message") and value is not None:
        fields[field] = to_string(value) if is_truthy(value) else ""


COERCIONS = Coercions(
    read_member=read_member,
    policies={},
    chain=GEMINI.chain,
    decide=decide,
    reply_of=reply_of,
)


# -- release 0.15


def _without_stop(event: str, reply: Reply) -> Reply:
    """Return a reply without the member that release 0.15 ignores before a tool."""
    if event != "before_tool":
        return reply
    return {name: value for name, value in reply.items() if name != "continue"}


COERCIONS_0_15 = COERCIONS.replace(
    decide=lambda event, replies: decide(event, [_without_stop(event, item) for item in replies]),
)


def correct_fields_0_15(event: str, reply: Reply, fields: Fields) -> None:
    """Correct the fields that were read from a reply, as release 0.15 interprets it alone."""
    correct_fields(event, _without_stop(event, reply), fields)
