"""Write the tables of `docs/capabilities.md`: what each agent can do on each event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.capabilities import Support
from anyhook.cli.agents import ability_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / "docs" / "capabilities.md"
FIRST = "### "


def generate() -> Iterator[str]:
    """Yield the lines, with a section for each event with an effect."""
    agents = [get_agent(name) for name in CODING_AGENTS]
    ignored: list[str] = []
    for event in dict.fromkeys(spec.canonical for agent in agents for spec in agent.events):
        having = [agent for agent in agents if event in agent.by_canonical]
        rows = list(ability_rows(having, event))
        if not rows:
            ignored.append(f"`{event}`")
            continue
        yield f"{FIRST}{event}"
        yield ""
        yield f"||{'|'.join(f'{a.name} `{a.by_canonical[event].wire}`' for a in having)}|"
        yield f"|---|{'---|' * len(having)}"
        for row in rows:
            yield f"|{row.ability}|{'|'.join(map(_cell, row.support))}|"
        yield ""
    yield f"The agents ignore what hooks answer on {', '.join(ignored)}."


def _cell(support: Support | None) -> str:
    if support is None:
        return ""
    return "-" if support is Support.NO else str(support)


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition(FIRST)[0]
    PAGE.write_text(head + "\n".join(generate()) + "\n", encoding="utf-8")
