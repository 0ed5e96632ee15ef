"""What agents cannot do of what a hook file asks for, as `add` and `test` report it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from anyhook.authoring.inspect import Use, gaps
from anyhook.cli.colors import CAUTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec


def unsupported_uses(
    name: str, uses: Sequence[Use], agents: Iterable[AgentSpec]
) -> dict[str, list[str]]:
    """Return, for each agent, what it cannot do of what functions use, as `FILE:LINE: TEXT`."""
    texts: dict[str, list[str]] = {}
    for agent in agents:
        texts[agent.name] = [f"{name}:{use.line}: {text}" for use, text in gaps(uses, agent)]
    return texts


def print_unsupported(out: Console, texts_by_agent: dict[str, list[str]]) -> None:
    """Print what agents cannot do."""
    for texts in texts_by_agent.values():
        for text in texts:
            out.print(Text.assemble(("degraded", CAUTION), f"  {text}"))
