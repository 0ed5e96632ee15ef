"""Replies that Codex CLI drops although each of their members is right."""

from __future__ import annotations

from anyhook.agents.spec import SPECIFIC
from anyhook.agents.spec.rules import ReplyFault
from anyhook.model.json import trim
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Fault(Record, kw_only=False):
    """A combination of members that makes a reply invalid.

    Attributes:
        members: Path of a member, with dots, to what it is: `set`, `unset` (missing or null),
            `blank` (unset, or a text of blanks), `true`, `false`, `=WORD` or `!=WORD`.
        problem: As in `ReplyFault`.
        denies: As in `ReplyFault`.
    """

    members: Mapping[str, str]
    problem: str
    denies: bool = False


DECISION = f"{SPECIFIC}.permissionDecision"
REASON = f"{SPECIFIC}.permissionDecisionReason"
INPUT = f"{SPECIFIC}.updatedInput"
BEHAVIOR = f"{SPECIFIC}.decision"
OLDER_COUNTS = {DECISION: "unset", REASON: "unset", INPUT: "unset"}

SUPPRESS = Fault({"suppressOutput": "true"}, "suppressOutput is not supported here")
NO_STOP = (
    Fault({"continue": "false"}, "continue: false is not supported here; deny instead"),
    Fault({"stopReason": "set"}, "stopReason is not supported here; deny instead"),
    SUPPRESS,
)
NO_REASON = Fault(
    {"decision": "=block", "reason": "blank"}, 'a block needs a reason; write "reason": "…"'
)
NOT_SUPPORTED = (
    Fault({f"{BEHAVIOR}.updatedInput": "set"}, "updatedInput is not supported here"),
    Fault({f"{BEHAVIOR}.updatedPermissions": "set"}, "updatedPermissions is not supported"),
    Fault({f"{BEHAVIOR}.interrupt": "true"}, "interrupt is not supported"),
)
"""Members of PermissionRequest that a later release may support."""
REPLY_FAULTS = {
    "before_tool": (
        *NO_STOP,
        Fault(
            {INPUT: "set", DECISION: "!=allow"}, 'updatedInput needs "permissionDecision": "allow"'
        ),
        Fault(
            {DECISION: "=allow", INPUT: "unset"},
            "allow is only accepted with updatedInput; print nothing to let the call pass",
        ),
        Fault({DECISION: "=ask"}, "hooks cannot ask the user; deny, or print nothing"),
        Fault(
            {DECISION: "=deny", REASON: "blank"},
            'a denial needs a reason; write "permissionDecisionReason": "…"',
        ),
        Fault({REASON: "set", DECISION: "unset"}, "a reason needs a permissionDecision"),
        Fault({**OLDER_COUNTS, "decision": "=approve"}, "approve is not supported"),
        NO_REASON.replace(members={**OLDER_COUNTS, **NO_REASON.members}),
        Fault({**OLDER_COUNTS, "reason": "set", "decision": "unset"}, "a reason needs a decision"),
    ),
    "permission_request": (*NO_STOP, *NOT_SUPPORTED),
    "after_tool": (
        SUPPRESS,
        NO_REASON,
        Fault(
            {"reason": "set", "decision": "unset", "continue": "!=false"},
            "a reason needs a decision",
        ),
        Fault({f"{SPECIFIC}.updatedMCPToolOutput": "set"}, "results cannot be replaced"),
    ),
    "before_prompt": (NO_REASON,),
    "after_agent": (NO_REASON.replace(members={**NO_REASON.members, "continue": "!=false"}),),
    "subagent_stop": (NO_REASON.replace(members={**NO_REASON.members, "continue": "!=false"}),),
}
"""Canonical name of an event to the combinations of members for which a run fails."""
DOCUMENTED_FAULTS = {
    **REPLY_FAULTS,
    # "fail closed" (text of the schemas); release 0.169.0 asks the user.
    "permission_request": (*NO_STOP, *[fault.replace(denies=True) for fault in NOT_SUPPORTED]),
}


def find_fault(event: str, reply: Mapping[str, Any]) -> ReplyFault | None:
    """Return the first fault of a reply in release 0.169.0; `None` if it has none."""
    return first_fault(REPLY_FAULTS.get(event, ()), reply)


def find_documented_fault(event: str, reply: Mapping[str, Any]) -> ReplyFault | None:
    """Return the first fault of a reply by the reference; `None` if it has none."""
    return first_fault(DOCUMENTED_FAULTS.get(event, ()), reply)


def first_fault(faults: Iterable[Fault], reply: Mapping[str, Any]) -> ReplyFault | None:
    """Return the first fault of which a reply has all members; `None` if there is none."""
    for fault in faults:
        if all(_has_state(reply, path, state) for path, state in fault.members.items()):
            return ReplyFault(fault.problem, fault.denies)
    return None


def _has_state(reply: Mapping[str, Any], path: str, state: str) -> bool:
    """Return whether a member is in a state of `Fault.members`."""
    value: Any = reply
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    word = str(value).lower() if isinstance(value, bool) else value
    if state.startswith("!="):
        return bool(word != state[2:])
    if state.startswith("="):
        return bool(word == state[1:])
    states = {
        "set": value is not None,
        "unset": value is None,
        "blank": value is None or (isinstance(value, str) and not trim(value)),
        "true": value is True,
        "false": value is False,
    }
    return states[state]


def trim_reason(event: str, _reply: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """Remove the blanks around the reason of a denial of a call."""
    if event == "before_tool" and "reason" in fields:
        fields["reason"] = trim(fields["reason"])
