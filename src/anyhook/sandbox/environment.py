"""The environment of hooks in a sandbox: that of the user, without what leads out of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKETS = frozenset(
    {
        "CONTAINER_HOST",
        "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_SYSTEM_BUS_ADDRESS",
        "DISPLAY",
        "DOCKER_HOST",
        "GPG_AGENT_INFO",
        "NOTIFY_SOCKET",
        "SSH_AGENT_PID",
        "SSH_AUTH_SOCK",
        "TMUX",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
    }
)
"""Variables that name sockets of other programs."""
OF_TERMINALS = frozenset(
    {
        "COLUMNS",
        "LINES",
        "OLDPWD",
        "PWD",
        "SHLVL",
        "SSH_CLIENT",
        "SSH_CONNECTION",
        "SSH_TTY",
        "STY",
        "TERM_SESSION_ID",
        "TMUX_PANE",
        "WINDOWID",
        "XDG_SESSION_ID",
        "_",
    }
)
"""Variables that are others in each terminal: nothing that is tried may depend on them."""
OF_SANDBOX = {"ANYHOOK_RECORDED": "rehearsal", "ANYHOOK_WORKER": "off"}
"""Nothing is recorded, and no worker is started, which would be ended with the sandbox."""


def sandbox_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that hooks get in a sandbox, by default of those of this process."""
    removed = SOCKETS | OF_TERMINALS
    variables = os.environ if environ is None else environ
    kept = {name: value for name, value in variables.items() if name not in removed}
    return {**kept, **OF_SANDBOX}
