"""What becomes of a denied call: the user can allow it once, and then the hook has no opinion.

A hook imports this module only when it denies a call of a tool.
"""

from __future__ import annotations

import os
import time

from anyhook.agents import get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.authoring.degrade import observed_spec
from anyhook.journal.records import project_directory
from anyhook.model.answers import NO_OPINION, Audience, join_lines
from anyhook.model.record import Record
from anyhook.trust.approvals import (
    MAX_SHOWN,
    Approvals,
    DeniedCall,
    call_digest,
    new_id,
    offer_of,
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
        call: The call, to be kept when the answer is delivered (`keep_denied_call`); `None` if it
            is allowed. Its arguments, reason and digest are not filled in yet.
    """

    answer: Answer
    note: str = ""
    call: DeniedCall | None = None


def apply_approval(
    agent: AgentSpec, event: ToolEvent, answer: Answer, *, hook: str, name: str
) -> AppliedApproval:
    """Give no opinion on a call that the user has allowed.

    Otherwise the denial gets a message with the ID for `anyhook allow`, where the agent shows
    messages to its user. Nothing is added that the model could read. The event is as the agent sent
    it; `hook` is the path of the hook file, and `name` its name for the message.

    Raises:
        OSError: If the use of an approval cannot be written.
    """
    cwd = event.cwd or os.getcwd()
    project = project_directory(agent, cwd)
    approvals = Approvals()
    observed = observed_spec(agent, event)
    is_shown = support(agent, event.name, "message") is Support.YES
    is_dropped = "system_message" in observed.discarded_on_denial
    can_show = is_shown and not is_dropped and observed.message_audience is Audience.USER
    approval = None
    if approvals.has_granted():
        approval = approvals.use(_digest(agent, event, hook, cwd, project))
    if approval is not None:
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(approval.granted))
        note = f"allowed once by the user with {approval.call.id}, {clock}, {approval.terminal}"
        message = f"{name} would have denied this; you allowed it once ({approval.call.id})"
        allowed = NO_OPINION.replace(system_message=message) if can_show else NO_OPINION
        return AppliedApproval(answer=allowed, note=note)
    call = DeniedCall(
        id=new_id(),
        hook=hook,
        agent=agent.name,
        tool=event.tool_name,
        cwd=cwd,
        project=project,
        time=time.time(),
    )
    if can_show and approvals.can_keep():
        messages = [answer.system_message, offer_of(name, call.id)]
        answer = answer.replace(system_message=join_lines(messages))
    return AppliedApproval(answer=answer, call=call)


def keep_denied_call(call: DeniedCall, event: ToolEvent, reason: str) -> None:
    """Keep a denied call, as `apply_approval` returned it, for `anyhook allow`.

    Raises:
        OSError: If it cannot be written.
    """
    # Late: searching for secrets takes longer than all else, and the answer is delivered now.
    from anyhook.secrets.redact import redact_start

    complete = call.replace(
        digest=_digest(get_agent(call.agent), event, call.hook, call.cwd, call.project),
        arguments=shown_arguments(event.tool_input),
        reason=redact_start(reason, MAX_SHOWN),
    )
    Approvals().keep(complete)


def _digest(agent: AgentSpec, event: ToolEvent, hook: str, cwd: str, project: str) -> str:
    return call_digest(
        hook, agent.name, event.tool_name, event.tool_input, cwd=cwd, project=project
    )
