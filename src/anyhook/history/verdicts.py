"""The word for what was decided on an event, and for what a hook did on it.

The words are stored in columns when an event is stored: `verdict` of an event, `verdict` and
`trouble` of a result. So functions and statements have one rule, and no view has another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.model.answers import STRENGTH, Outcome
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

DENYING = (str(Outcome.DENY), "stop")
"""Verdicts with which a call does not happen."""
HOLDING = frozenset({*DENYING, "defer", "ask"})
"""Verdicts with which a call does not just happen: a program or the user may still decide."""
NO_VERDICT = str(Outcome.NONE)
"""The word for no opinion."""
_WEAKER = [str(outcome) for outcome in reversed(STRENGTH) if outcome not in (*DENYING, NO_VERDICT)]
VERDICTS = (*DENYING, *_WEAKER, "change")
"""Verdicts, the strictest first. A `stop` ends the agent's turn, whatever weaker verdict comes with
it; a `change` is an answer with context, changed arguments or a message, and without a verdict."""
CRASH = "crash"
"""The verdict of an event on which a hook failed and none had another verdict, in backtests and for
shadows. The history stores it as `none`, and the failure with the result of the hook."""
FAILURES = frozenset({Status.FAILED, Status.TIMED_OUT})
"""The kinds of trouble that count as a failure of the hook (`anyhook.model.status.trouble_of`)."""

HAS_FAILED = "ifnull(trouble IN ('failed', 'timed_out'), 0)"
"""Condition on a result: the hook failed, timed out, could not be started or was ended."""
HAS_WARNED = "ifnull(trouble = 'warned', 0)"
"""Condition on a result: it ended with another exit code that blocks nothing."""

_NO_EFFECT = frozenset({"outcome", "blame"})


def reason_of(decision: Mapping[str, Any]) -> str:
    """Return the reason of a decision or an answer; empty if there is none."""
    return str(decision.get("reason") or decision.get("stop_reason") or "")


def verdict_of(decision: Mapping[str, Any] | None, *, has_failed: bool = False) -> str:
    """Return the verdict of a decision or an answer.

    The decision has no empty fields, as it is recorded. If a hook has failed and none
    decided, the verdict is `CRASH`: a message about the failure is not a change.
    """
    decision = decision or {}
    outcome = str(decision.get("outcome", NO_VERDICT))
    if decision.get("stop") and outcome != Outcome.DENY:
        return "stop"
    if outcome != NO_VERDICT:
        return outcome
    if has_failed:
        return CRASH
    has_effect = bool(decision.keys() - _NO_EFFECT)
    return "change" if has_effect else NO_VERDICT
