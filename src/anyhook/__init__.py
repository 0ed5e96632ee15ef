"""anyhook runs, tests and explains the lifecycle hooks of AI agents.

```python
import asyncio
from anyhook import BeforeTool, Engine

async def main():
    async with Engine.load(".", agent="gemini") as engine:
        event = BeforeTool(tool_name="write_file", tool_input={"file_path": "a.txt"})
        decision = await engine.dispatch(event)
        print(decision.explain())

asyncio.run(main())
```

Importing this package imports nothing else; each name is imported when it is first used. Type
checkers and editors read `__init__.pyi`, which `make stubs` generates.
"""

from __future__ import annotations

__version__ = "0.1.0"

_NAMES_OF_MODULES = {
    "anyhook.engine.engine": ("Engine",),
    "anyhook.engine.sync": ("SyncEngine",),
    "anyhook.errors": (
        "AnyhookError",
        "EngineClosedError",
        "EventError",
        "PlatformError",
        "HistoryError",
        "MissingLibraryError",
        "RequiredHooksError",
        "RunEndedError",
        "SandboxError",
        "SettingsError",
        "StartedByAgentError",
        "StoppedError",
        "UnknownEventError",
        "UnknownNameError",
        "UsageError",
    ),
    "anyhook.handlers.environment": ("Redaction",),
    "anyhook.manage.health": ("Health", "HookHealth", "health"),
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
    "anyhook.model.session_events": (
        "ConfigChange",
        "CwdChanged",
        "DirectoryAdded",
        "FileChanged",
        "InstructionsLoaded",
        "PostCompact",
        "PostModelSwitch",
        "PreModelSwitch",
        "SessionDelete",
        "Setup",
        "WorkspaceOpen",
        "WorktreeCreate",
        "WorktreeRemove",
    ),
    "anyhook.model.tool_events": (
        "AfterFileEdit",
        "AfterMcpCall",
        "AfterShell",
        "AfterTabEdit",
        "BeforeFileRead",
        "BeforeMcpCall",
        "BeforeShell",
        "BeforeTabRead",
        "Elicitation",
        "ElicitationResult",
        "PermissionDenied",
        "PermissionRequest",
        "PostToolBatch",
        "PostToolUseFailure",
        "PreSkillShellCommand",
    ),
    "anyhook.model.turn_events": (
        "AgentError",
        "AgentResponse",
        "AgentThought",
        "Interrupt",
        "MessageDisplay",
        "PromptTransformed",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "TodoCompleted",
        "TodoCreated",
        "UserPromptExpansion",
    ),
    "anyhook.trust.store": ("TrustStore",),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF_NAME)]  # noqa: PLE0604 - the names are listed above


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'anyhook' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULE_OF_NAME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
