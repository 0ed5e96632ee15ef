"""anyhook runs, tests and explains the lifecycle hooks of AI agents.

```python
import asyncio
from anyhook import BeforeTool, Engine

async def main():
    async with Engine.load(".", dialect="gemini") as engine:
        event = BeforeTool(tool_name="write_file", tool_input={"file_path": "a.txt"})
        decision = await engine.dispatch(event)
        print(decision.explain())

asyncio.run(main())
```

Importing this module loads nothing else; every name is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.engine.engine import Engine as Engine
    from anyhook.engine.sync import SyncEngine as SyncEngine
    from anyhook.errors import AnyhookError as AnyhookError
    from anyhook.errors import EngineClosedError as EngineClosedError
    from anyhook.errors import EventError as EventError
    from anyhook.errors import PlatformError as PlatformError
    from anyhook.errors import RequiredHooksError as RequiredHooksError
    from anyhook.errors import SettingsError as SettingsError
    from anyhook.errors import StoppedError as StoppedError
    from anyhook.errors import UnknownEventError as UnknownEventError
    from anyhook.errors import UnknownNameError as UnknownNameError
    from anyhook.errors import UsageError as UsageError
    from anyhook.handlers.environment import Redaction as Redaction
    from anyhook.model.answers import Answer as Answer
    from anyhook.model.answers import Audience as Audience
    from anyhook.model.answers import Outcome as Outcome
    from anyhook.model.answers import allow as allow
    from anyhook.model.answers import ask as ask
    from anyhook.model.answers import deny as deny
    from anyhook.model.decisions import Blame as Blame
    from anyhook.model.decisions import Decision as Decision
    from anyhook.model.decisions import HandlerResult as HandlerResult
    from anyhook.model.decisions import Message as Message
    from anyhook.model.decisions import Status as Status
    from anyhook.model.definitions import HandlerSpec as HandlerSpec
    from anyhook.model.definitions import HookDefinition as HookDefinition
    from anyhook.model.diagnostics import Diagnostic as Diagnostic
    from anyhook.model.diagnostics import Place as Place
    from anyhook.model.diagnostics import Severity as Severity
    from anyhook.model.events import AfterAgent as AfterAgent
    from anyhook.model.events import AfterModel as AfterModel
    from anyhook.model.events import AfterTool as AfterTool
    from anyhook.model.events import BeforeCompress as BeforeCompress
    from anyhook.model.events import BeforeModel as BeforeModel
    from anyhook.model.events import BeforePrompt as BeforePrompt
    from anyhook.model.events import BeforeTool as BeforeTool
    from anyhook.model.events import BeforeToolSelection as BeforeToolSelection
    from anyhook.model.events import Event as Event
    from anyhook.model.events import Notification as Notification
    from anyhook.model.events import SessionEnd as SessionEnd
    from anyhook.model.events import SessionStart as SessionStart
    from anyhook.model.events import UnknownEvent as UnknownEvent
    from anyhook.model.layers import Layer as Layer
    from anyhook.trust.store import TrustStore as TrustStore

_HOMES = {
    "anyhook.engine.engine": ("Engine",),
    "anyhook.engine.sync": ("SyncEngine",),
    "anyhook.errors": (
        "AnyhookError",
        "EngineClosedError",
        "EventError",
        "PlatformError",
        "RequiredHooksError",
        "SettingsError",
        "StoppedError",
        "UnknownEventError",
        "UnknownNameError",
        "UsageError",
    ),
    "anyhook.handlers.environment": ("Redaction",),
    "anyhook.model.answers": ("Answer", "Audience", "Outcome", "allow", "ask", "deny"),
    "anyhook.model.decisions": (
        "Blame",
        "Decision",
        "HandlerResult",
        "Message",
        "Status",
    ),
    "anyhook.model.definitions": ("HandlerSpec", "HookDefinition"),
    "anyhook.model.diagnostics": ("Diagnostic", "Place", "Severity"),
    "anyhook.model.events": (
        "AfterAgent",
        "AfterModel",
        "AfterTool",
        "BeforeCompress",
        "BeforeModel",
        "BeforePrompt",
        "BeforeTool",
        "BeforeToolSelection",
        "Event",
        "Notification",
        "SessionEnd",
        "SessionStart",
        "UnknownEvent",
    ),
    "anyhook.model.layers": ("Layer",),
    "anyhook.trust.store": ("TrustStore",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - the table above is the one place


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'anyhook' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
