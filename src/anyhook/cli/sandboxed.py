"""What commands that try hooks say and ask about the sandbox."""

from __future__ import annotations

from anyhook.cli.output import console
from anyhook.cli.render import confirm
from anyhook.errors import UsageError
from anyhook.sandbox.sandbox import sandbox_limits

HARMLESS = "in a sandbox, where they change nothing of yours and reach no network"


def sandbox_text() -> str:
    """Return where hooks run, for a sentence: `in a sandbox, where …`."""
    if not sandbox_limits():
        return HARMLESS
    return "in copies of the project and of your home directory"


def confirm_limits(*, is_agreed: bool) -> None:
    """Say what hooks could reach although they are tried, and ask, where no sandbox is complete.

    Raises:
        UsageError: If the user refuses, or cannot be asked.
    """
    limits = sandbox_limits()
    if not limits:
        return
    out = console(stderr=True)
    out.print(
        "This system allows no namespaces, so hooks run in copies of the project and of your home "
        "directory. They could still reach:",
        soft_wrap=True,
    )
    for limit in limits:
        out.print(f"  {limit}", soft_wrap=True)
    instead = "to run hooks like this, add --yes"
    if not confirm("Run them?", is_agreed=is_agreed, instead=instead, err=True):
        raise UsageError("nothing was run")
