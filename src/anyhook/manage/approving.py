"""Allowing a call once that a hook file denies: what `anyhook allow` and the panel do."""

from __future__ import annotations

import os
import sys

from anyhook.errors import UsageError
from anyhook.manage.protection import require_user
from anyhook.trust.approvals import Approval, Approvals

LIST = "see: anyhook allow --list"


def allow_call(call_id: str) -> Approval:
    """Allow the denied call with an ID, in capitals or not, once for ten minutes.

    Raises:
        StartedByAgentError: If an agent has started this process.
        UsageError: If the process has no terminal, or no denied call has that ID.
        OSError: If it cannot be written.
    """
    require_user()
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("anyhook allow needs a terminal: enter it yourself in one")
    terminal = os.ttyname(sys.stdin.fileno())
    approvals = Approvals()
    matching = [call for call in approvals.pending() if call.id == call_id.upper()]
    if not matching:
        raise UsageError(f"no denied call has the ID {call_id!r}; {LIST}")
    if len(matching) > 1:
        # The IDs are random: one of the records was written by hand.
        raise UsageError(
            f"{len(matching)} denied calls have the ID {call_id!r}; neither is allowed"
        )
    return approvals.grant(matching[0], terminal)


def revoke_approval(call_id: str) -> Approval:
    """Take back an approval that was not used yet.

    Raises:
        UsageError: If there is no such approval.
    """
    approvals = Approvals()
    for approval in approvals.granted():
        if approval.call.id == call_id.upper() and approvals.revoke(approval):
            return approval
    raise UsageError(f"no approval with the ID {call_id!r} waits for its call; {LIST}")
