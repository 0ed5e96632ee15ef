"""What becomes of a denied call: the user can allow it once, and then the hook has no opinion.

A hook imports this module only when it denies a call of a tool.
"""

from __future__ import annotations

import os
import time

from anyhook.agents.capabilities import Support, support
from anyhook.authoring.degrade import observed_spec
from anyhook.journal.records import project_directory
from anyhook.model.answers import NO_OPINION, Audience, join_lines
from anyhook.model.record import Record
from anyhook.secrets.redact import redact_text
from anyhook.trust.approvals import (
    MAX_SHOWN,
    Approvals,
    DeniedCall,
    call_digest,
    shown_arguments,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.model.answers import Answer
    from anyhook.model.event import ToolEvent


class AppliedApproval(Record):
    """What a hook answers to a call that its functions deny.

    Attributes:
        answer: The answer.
        note: What to record about it; empty if the denial stands.
    """

    answer: Answer
    note: str = ""


def apply_approval(
    agent: AgentSpec, event: ToolEvent, answer: Answer, *, hook: str, name: str
) -> AppliedApproval:
    """Give no opinion on a call that the user has allowed; otherwise keep what was denied.

    Where the agent shows messages to its user, the denial gets one with the ID for `anyhook allow`.
    Nothing is added that the model could read.

    Args:
        agent: The agent.
        event: The event of the call, as the agent sent it.
        answer: The answer, which denies.
        hook: Path of the hook file.
        name: Name of the hook, for the message.

    Raises:
        OSError: If the user's data directory cannot be written.
    """
    cwd = event.cwd or os.getcwd()
    project = project_directory(agent, cwd)
    digest = call_digest(
        hook, agent.name, event.tool_name, event.tool_input, cwd=cwd, project=project
    )
    approvals = Approvals()
    approval = approvals.use(digest)
    if approval is not None:
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(approval.granted))
        note = f"allowed once by the user with {approval.call.id}, {clock}, {approval.terminal}"
        message = f"{name} would have denied this; you allowed it once ({approval.call.id})"
        allowed = NO_OPINION
        if _reaches_user(agent, event):
            allowed = NO_OPINION.replace(system_message=message)
        return AppliedApproval(answer=allowed, note=note)
    call = DeniedCall(
        digest=digest,
        id="",
        hook=hook,
        agent=agent.name,
        tool=event.tool_name,
        arguments=shown_arguments(event.tool_input),
        cwd=cwd,
        project=project,
        reason=redact_text(answer.reason or "")[:MAX_SHOWN],
        time=time.time(),
    )
    chosen = approvals.keep(call)
    if not _reaches_user(agent, event):
        return AppliedApproval(answer=answer)
    message = f"{name} denied this. To allow exactly this call once: anyhook allow {chosen}"
    shown = join_lines([answer.system_message, message])
    return AppliedApproval(answer=answer.replace(system_message=shown))


def _reaches_user(agent: AgentSpec, event: ToolEvent) -> bool:
    """Return whether a message beside a denial is shown to the user, and to nobody else."""
    observed = observed_spec(agent, event)
    is_shown = support(agent, event.name, "message") is Support.YES
    is_dropped = "system_message" in observed.discarded_on_denial
    return is_shown and not is_dropped and observed.message_audience is Audience.USER
