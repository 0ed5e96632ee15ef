"""The options that all integrations share, declared once.

`load` of an integration takes `LoadOptions`; its class and `Session` take an engine and
`SessionOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from anyhook.engine.options import EngineOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from anyhook.integrations.host_tools import HostTool
    from anyhook.integrations.results import Question
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event


class HostOptions(TypedDict, total=False):
    """What every host may pass.

    Attributes:
        tools: The host's tools in canonical words, `{"bash": "shell"}`, and `None` for one that
            hooks need not know: see `HostTools`.
        on_message: Gets what the user should read and each problem of the hooks, one text each; by
            default the function of the engine, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
    """

    tools: Mapping[str, str | HostTool | None] | None
    on_message: Callable[[str], object] | None
    on_decision: Callable[[Event, Decision], object] | None


class SessionOptions(HostOptions, total=False):
    """The options of sessions; see `HostOptions` for the others.

    Attributes:
        ask: Asks the user, and returns whether they agree; plain or async. Without it each question
            counts as a denial, which is reported.
        max_continuations: How often hooks may keep the agent from ending one turn; 8 by default,
            0 for no limit.
        transcript: File for the transcripts, one JSON object per line; `None` for none.
    """

    ask: Callable[[Question], bool | Awaitable[bool]] | None
    max_continuations: int
    transcript: str | Path | None


class LoadOptions(SessionOptions, EngineOptions, total=False):
    """The options of `load`: those of sessions (`SessionOptions`) and of the engine."""


def check_names(options: Mapping[str, object], known: type) -> None:
    """Check the names of options against a `TypedDict`, as Python does it for keyword arguments.

    Raises:
        TypeError: For an option that does not exist.
    """
    unknown = options.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument: {', '.join(sorted(unknown))}")
