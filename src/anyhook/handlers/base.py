"""What a kind of handler is."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from anyhook.dialects.payload import encode_event
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import anyio

    from anyhook.dialects.base import Dialect, EventSpec, Rules
    from anyhook.handlers.environment import Redaction
    from anyhook.model.definitions import HandlerSpec, Layer
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


@dataclass(frozen=True)
class Firing:
    """One event on its way to handlers.

    Attributes:
        dialect: The language that commands speak.
        rules: The reading of it.
        spec: The event in the dialect.
        event: The event.
        project_dir: Directory of the project.
        host_environ: Environment of the host.
        redactions: Layer to what its commands do not inherit of it.
        limiter: Gives what bounds the number of commands that run at once.
        output_limit: Bytes of each stream of a command that are kept.
        epoch: When the dispatch began, on the clock of `time.perf_counter`.
    """

    dialect: Dialect
    rules: Rules
    spec: EventSpec
    event: Event
    project_dir: Path
    host_environ: Mapping[str, str]
    redactions: Mapping[Layer, Redaction]
    limiter: Callable[[], anyio.CapacityLimiter]
    output_limit: int
    epoch: float

    @cached_property
    def payload(self) -> bytes:
        """What a command reads; written once for all of them. See `payload_problem`."""
        payload = encode_event(self.dialect, self.event)
        try:
            text = dump_json(payload)
        except (TypeError, ValueError, RecursionError) as error:
            self.__dict__["payload_problem"] = str(error)
            text = dump_json(repair(payload))
        return text + self.dialect.payload_end

    _environs: dict[Layer, dict[str, str]] = field(default_factory=dict, init=False)
    payload_problem: str | None = field(default=None, init=False)
    """Why the payload is no plain JSON and was repaired: a guard must not be lost for that."""

    def environ(self, layer: Layer) -> dict[str, str]:
        """Return what the commands of a layer inherit, and what the agent tells all of them."""
        found = self._environs.get(layer)
        if found is None:
            found = self._environs[layer] = self._make_environ(layer)
        return dict(found)

    def _make_environ(self, layer: Layer) -> dict[str, str]:
        redaction, rules = self.redactions.get(layer), self.dialect.redaction
        if redaction is None or rules is None:
            environ = dict(self.host_environ)
        else:
            environ = redaction.apply(self.host_environ, rules)
        known = {
            "project_dir": str(self.project_dir),
            "cwd": self.event.cwd or self.cwd,
            "session_id": self.event.session_id or "",
        }
        told = self.dialect.environment.items()
        environ |= {name: str(known[what]) for name, what in told}
        return environ

    @cached_property
    def cwd(self) -> str:
        """Where commands run: a guard must not be lost because its directory is."""
        wanted = self.event.cwd
        return os.fspath(wanted) if wanted and os.path.isdir(wanted) else str(self.project_dir)  # noqa: PTH112 - ten times faster

    def with_event(self, event: Event) -> Firing:
        """Return the same firing of a changed event."""
        return replace(self, event=event)


class HandlerKind(Protocol):
    """Runs one handler on one event."""

    async def __call__(self, firing: Firing, handler: HandlerSpec) -> HandlerResult:
        """Run it to its end or to its deadline. What goes wrong is a result, not an exception."""
        ...


KINDS = {
    "command": "anyhook.handlers.command:run_command",
    "function": "anyhook.handlers.function:run_function",
}
"""Kind to what runs it. A new kind is a new file and a row here."""

_loaded: dict[str, HandlerKind] = {}


def get_kind(name: str) -> HandlerKind:
    """Return what runs a kind of handler."""
    if name not in _loaded:
        module, _, attribute = KINDS[name].partition(":")
        _loaded[name] = getattr(import_module(module), attribute)
    return _loaded[name]


def failed(
    firing: Firing,
    handler: HandlerSpec,
    error: str,
    *,
    status: Status = Status.FAILED,
    started: float | None = None,
    notes: tuple[Diagnostic, ...] = (),
) -> HandlerResult:
    """Make the result of a handler that could not do its work.

    Args:
        firing: The event.
        handler: Which handler.
        error: Why, for people.
        status: `FAILED` or `TIMED_OUT`.
        started: When it began, on the clock of `time.perf_counter`; by default now.
        notes: What else to tell.
    """
    code = "handler-timeout" if status is Status.TIMED_OUT else "handler-failed"
    message = f"{handler.label!r} on {firing.spec.wire}: {error}"
    told = diagnose(code, message, handler.place, handler=handler.label)
    now = time.perf_counter()
    began = now if started is None else started
    return HandlerResult(
        handler,
        status,
        started=began - firing.epoch,
        duration=now - began,
        error=error,
        diagnostics=(told, *notes),
    )
