"""What commands that try hooks share: the limits of the sandbox, evidence, and what agents lack."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from anyhook.authoring.inspect import Use, uses_without_support
from anyhook.cli.colors import CAUTION
from anyhook.cli.output import console
from anyhook.cli.render import confirm
from anyhook.errors import HistoryError, UsageError
from anyhook.sandbox.sandbox import sandbox_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec


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


@contextmanager
def evidence_may_be_lost() -> Iterator[None]:
    """Let a command go on that could not keep what it has seen; its result is the same."""
    try:
        yield
    except HistoryError as error:
        text = f"the result is not kept as evidence: {error}"
        console(stderr=True).print(text, style=CAUTION, soft_wrap=True)


def unsupported_uses(
    name: str, uses: Sequence[Use], agents: Iterable[AgentSpec]
) -> dict[str, list[str]]:
    """Return, for each agent, what it cannot do of what functions use, as `FILE:LINE: TEXT`."""
    texts: dict[str, list[str]] = {}
    for agent in agents:
        texts[agent.name] = [
            f"{name}:{use.line}: {text}" for use, text in uses_without_support(uses, agent)
        ]
    return texts


def print_unsupported(out: Console, texts_by_agent: dict[str, list[str]]) -> None:
    """Print what agents cannot do."""
    for texts in texts_by_agent.values():
        for text in texts:
            out.print(Text.assemble(("degraded", CAUTION), f"  {text}"))
