"""What in the host's own process changes how its hooks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Severity, diagnose
from anyhook.model.shell_variables import controlling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def host_diagnostics(environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Look at the process that embeds the engine.

    Args:
        environ: The environment that commands inherit.

    Yields:
        Diagnostics.
    """
    names = controlling(environ)
    if names:
        yield diagnose(
            "shell-variable",
            f"hooks do not inherit {', '.join(names)}: they would change what the shell does with "
            "a hook's command line",
            severity=Severity.INFO,
        )
