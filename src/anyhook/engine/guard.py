"""Keeps the hooks of a project from running until the project is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.trust.store import TrustStore, subjects

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anyhook.dialects.base import Dialect
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.trust.store import Change, Subject

HOW = "look at it with `anyhook trust`, or use --trust-once"


class Guard:
    """Decides for one project which handlers may run.

    Nothing is read before a handler that needs trust is about to run.

    Args:
        dialect: Says which layers need trust.
        project: Directory of the project.
        store: What the user has trusted; `None` trusts everything, for a single run.
    """

    def __init__(self, dialect: Dialect, project: Path, store: TrustStore | None) -> None:
        self._dialect = dialect
        self._project = project
        self._store = store
        self._definitions: tuple[HookDefinition, ...] = ()
        self._subjects: dict[int, Subject] | None = None
        self._changes: dict[int, Change] = {}
        self._problems: tuple[Diagnostic, ...] = ()

    def watch(self, definitions: Iterable[HookDefinition]) -> None:
        """Take these definitions as the ones that there are."""
        needs = self._dialect.needs_trust
        self._definitions = tuple(d for d in definitions if d.layer in needs)
        self._subjects = None

    def subjects(self) -> list[Subject]:
        """Read what the project's hooks are made of."""
        return subjects(self._definitions, self._project, self.variables())

    def variables(self) -> dict[str, str]:
        """Return the variables of the dialect that hold the project's path."""
        held = {"project_dir", "cwd"}
        environment = self._dialect.environment.items()
        return {name: str(self._project) for name, what in environment if what in held}

    def changes(self) -> list[Change]:
        """Return what is not trusted, as it is now."""
        self._look()
        return list(self._changes.values())

    def diagnostics(self) -> list[Diagnostic]:
        """Return a diagnostic for every handler that does not run."""
        return [*(_told(change) for change in self.changes()), *self._problems]

    def withhold(self, handler: HandlerSpec) -> HandlerResult | None:
        """Return the result of a handler that must not run, or `None` if it may."""
        if self._store is None or handler.layer not in self._dialect.needs_trust:
            return None
        self._look()
        subject = (self._subjects or {}).get(id(handler))
        change = self._changes.get(id(handler))
        if subject is not None and change is None and subject.is_unchanged():
            return None
        told = _told(change) if change else _changed(handler)
        return HandlerResult(
            handler, Status.WITHHELD, error="the project is not trusted", diagnostics=(told,)
        )

    def _look(self) -> None:
        if self._subjects is not None or self._store is None:
            return
        found = self.subjects()
        changes, self._problems = self._store.changes(self._project, found)
        self._subjects = {id(subject.handler): subject for subject in found}
        self._changes = {id(change.subject.handler): change for change in changes}


def _told(change: Change) -> Diagnostic:
    handler = change.subject.handler
    if change.what == "script":
        return _changed(handler)
    return diagnose(
        "project-untrusted",
        f"{handler.label!r} does not run: its project is not trusted; {HOW}",
        handler.place,
        handler=handler.label,
    )


def _changed(handler: HandlerSpec) -> Diagnostic:
    return diagnose(
        "trust-changed",
        f"{handler.label!r} does not run: its script changed since it was trusted; {HOW}",
        handler.place,
        handler=handler.label,
    )
