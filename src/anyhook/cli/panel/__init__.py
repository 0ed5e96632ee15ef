"""The panel of `anyhook hooks`: the hooks of every agent, shown with `textual`, the extra `panel`.

Whatever it does is done by the functions of the commands: what a screen prints, they print to it.
"""

from __future__ import annotations

import sys

from anyhook.cli import OK
from anyhook.cli.options import HERE, AgentName, Project, extra_required
from anyhook.errors import UsageError


def hooks(project: Project = HERE, agent: AgentName = None) -> int:
    """Show hooks in a panel; switch, trust, fire and repair them there.

    The keys are shown with `?`. Everything that the panel does is a command too, and the panel
    shows the command line. It needs the extra `panel`.

    For example:

        anyhook hooks
        anyhook hooks --project ~/code/app --agent claude
    """
    with extra_required("anyhook hooks", "panel", "; without it: anyhook list"):
        from anyhook.cli.panel.actions import take_snapshot
        from anyhook.cli.panel.app import PanelApp
        from anyhook.cli.panel.state import PanelState
    # textual draws on standard error.
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise UsageError("anyhook hooks needs a terminal; without one: anyhook list")
    state = PanelState(agent, take_snapshot(project, agent))
    app = PanelApp(state)
    app.run()
    return app.return_code or OK
