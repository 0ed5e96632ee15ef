"""What weakens a guard is left to the user: a process that an agent has started is refused.

It notices an agent that reaches for its guards. It does not prevent it, because a program of the
same user can write any file.
"""

from __future__ import annotations

import os

from anyhook.agents import agent_that_started, get_agent
from anyhook.errors import StartedByAgentError


def require_user() -> None:
    """Refuse to go on in a process that an agent has started, as its variables show.

    Call it before anything is written that switches a guard off, takes it out of the settings, lets
    it run without deciding, allows changed code or a denied call to run, or ends recording.

    Raises:
        StartedByAgentError: If an agent has started this process.
    """
    agent = agent_that_started(os.environ)
    if agent is not None:
        raise StartedByAgentError(get_agent(agent.name).title)
