"""What the page shows and changes of the settings. The commands provide it: `anyhook.cli.ui`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in the settings, as `anyhook check` finds it.

    Attributes:
        agent: Name of the agent.
        severity: `error`, `warning` or `info`.
        code: Code of the diagnostic.
        message: What is wrong and what to write instead.
        place: File, line and column; empty if there is none.
    """

    agent: str
    severity: str
    code: str
    message: str
    place: str


@dataclass(frozen=True, slots=True)
class ConfiguredHook:
    """A hook in the settings.

    Attributes:
        agent: Name of the agent.
        event: Name of the event, as the agent names it; of the recorder, the number of events.
        name: Its name, unique for the agent.
        matcher: What it listens to.
        state: `on`, `off`, `not trusted` or `changed`.
        layer: Layer of its file.
        place: `FILE:LINE`.
        is_switchable: Whether the page can switch it.
        command: The command that switches it, if the page cannot and there is one.
    """

    agent: str
    event: str
    name: str
    matcher: str
    state: str
    layer: str
    place: str
    is_switchable: bool
    command: str = ""


@dataclass(frozen=True, slots=True)
class Switched:
    """What came of switching a hook.

    Attributes:
        is_done: Whether its state is the wanted one.
        message: What was changed, or why not.
    """

    is_done: bool
    message: str


class Settings(Protocol):
    """The settings of a project and its user."""

    @property
    def project(self) -> Path:
        """The directory of the project."""
        ...

    def problems(self) -> list[Problem]:
        """Return the mistakes, the worst first."""
        ...

    def hooks(self) -> list[ConfiguredHook]:
        """Return the hooks of every agent; the recorder of an agent is one of them."""
        ...

    def switch(self, agent: str, name: str, *, is_on: bool) -> Switched:
        """Switch a hook on or off."""
        ...
