"""Problems of the host's own process that affect its hooks."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Severity, diagnose
from anyhook.shell.variables import controlling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_SIGCHLD_IGNORED = (
    "SIGCHLD is ignored in this process, so that the exit codes of hooks are lost (except on Linux "
    "6.15 and later), and a hook whose exit code is lost has failed; hooks inherit that, too. Call "
    "signal.signal(signal.SIGCHLD, signal.SIG_DFL) before hooks run"
)


def host_diagnostics(environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield the problems of the process that embeds the engine."""
    if signal.getsignal(getattr(signal, "SIGCHLD", signal.SIGTERM)) is signal.SIG_IGN:
        yield diagnose("exit-code-lost", _SIGCHLD_IGNORED)
    names = controlling(environ)
    if names:
        yield diagnose(
            "shell-variable",
            f"hooks do not inherit {', '.join(names)}: they would change what the shell does with "
            "a hook's command line",
            severity=Severity.INFO,
        )
