"""The options that all integrations share, declared once.

`load` of an integration takes `LoadOptions`; its class and `Session` take an engine and
`SessionOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from anyhook.engine.options import EngineOptions
from anyhook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
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


def check_options(options: Mapping[str, object], known: type) -> None:
    """Check the names of options against a `TypedDict`, as Python does it for keyword arguments.

    The values that are used late are checked, too: a mistake should not end a conversation.

    Raises:
        TypeError: For an option that does not exist.
        UsageError: For a value of the wrong type.
    """
    unknown = options.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument: {', '.join(sorted(unknown))}")
    for name in ("ask", "on_message", "on_decision"):
        function = options.get(name)
        if function is not None and not callable(function):
            raise UsageError(f"{name} is a function, not {function!r}")
    tools = options.get("tools")
    if tools is not None and not isinstance(tools, Mapping):
        raise UsageError(f"tools is a dict, like tools={{'run_command': 'shell'}}, not {tools!r}")
    limit = options.get("max_continuations", 0)
    if not isinstance(limit, int) or limit < 0:
        raise UsageError(f"max_continuations is a number, 0 for no limit, not {limit!r}")
