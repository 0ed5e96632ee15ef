"""The options of `Engine.load` as types, for what passes them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Mapping

    from anyhook.engine.observers import Observer
    from anyhook.handlers.environment import Redaction
    from anyhook.handlers.services import Ask, McpClient
    from anyhook.trust.store import TrustStore


class EngineOptions(TypedDict, total=False):
    """The options of `Engine.load`, which describes them, except those that only it has.

    Attributes:
        agent: A name that `anyhook agents` lists; by default the agent that has hooks in the
            project.
        require: Raise `RequiredHooksError` if configured hooks do not run.
    """

    agent: str | None
    rules: str
    require: bool | Collection[str]
    trust_once: bool
    trust_store: TrustStore | None
    watch: bool
    redact: Redaction | None
    home: str | os.PathLike[str] | None
    environ: Mapping[str, str] | None
    max_processes: int
    output_limit: int
    warm: bool
    mcp: McpClient | None
    private_hosts: Iterable[str]
    record: bool
    observers: Iterable[Observer]


class SyncEngineOptions(EngineOptions, total=False):
    """All options of `Engine.load`."""

    on_message: Callable[[str], object] | None
    ask: Ask | None
