"""Changes between two surfaces, and between a surface and the tables of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.agents import AGENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.drift.surface import Surface


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of a release.

    Attributes:
        agent: Name of the agent.
        release: The release that was examined.
        subject: `event`, `payload`, `reply`, `surface`, `tests`, `cases` or `release`.
        name: The event, the member with its event, the test or the case.
        change: `added`, `removed`, `unknown to the tables`, `not in the program`, `failed`, …
    """

    agent: str
    release: str
    subject: str
    name: str
    change: str


def compare_surfaces(agent: str, release: str, old: Surface, new: Surface) -> Iterator[Change]:
    """Yield what a release has in another way than the observed one."""
    for name, change in _differences(old.events, new.events):
        yield Change(agent, release, "event", name, change)
    for subject, before, after in (
        ("payload", old.payloads, new.payloads),
        ("reply", old.replies, new.replies),
    ):
        yield from _compare_members(agent, release, subject, before, after)


def _compare_members(
    agent: str,
    release: str,
    subject: str,
    before: Mapping[str, frozenset[str]],
    after: Mapping[str, frozenset[str]],
) -> Iterator[Change]:
    for event in sorted(before.keys() | after.keys()):
        old, new = before.get(event, frozenset()), after.get(event, frozenset())
        for name, change in _differences(old, new):
            yield Change(agent, release, subject, f"{event}.{name}", change)


def _differences(old: frozenset[str], new: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name in sorted(new - old):
        yield name, "added"
    for name in sorted(old - new):
        yield name, "removed"


def compare_with_tables(agent: str, release: str, surface: Surface) -> Iterator[Change]:
    """Yield the events that only the program or only the tables have."""
    if agent not in AGENTS or not surface.events:
        return
    known = AGENTS[agent].events
    for name in sorted(surface.events - known):
        yield Change(agent, release, "event", name, "unknown to the tables")
    for name in sorted(known - surface.events):
        yield Change(agent, release, "event", name, "not in the program")
