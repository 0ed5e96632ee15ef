"""Keeps the hooks of a project from running until the project is trusted."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.dialects import AGENTS, get_dialect
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.trust.scripts import named_files
from anyhook.trust.store import TrustStore, subjects

if TYPE_CHECKING:
    from anyhook.dialects.base import Dialect
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.trust.store import Change, FileStamp, Subject

SHIM = " shim --as "
"""What a command holds that sets the variables of another agent."""
HOW = "look at it with `anyhook trust --dialect {}`, or use --trust-once"


class Guard:
    """Decides for one project and one reading of its settings which handlers may run.

    Nothing is read before a handler that needs trust is about to run. The store and the scripts are
    looked at again each time, so that neither a change nor a revocation is missed.

    Args:
        dialect: Says which layers need trust.
        project: Directory of the project.
        store: What the user has trusted; `None` trusts everything, for a single run.
        definitions: The definitions that there are.
    """

    def __init__(
        self,
        dialect: Dialect,
        project: Path,
        store: TrustStore | None,
        definitions: tuple[HookDefinition, ...],
    ) -> None:
        self._dialect = dialect
        self._project = Path(os.path.realpath(project))  # one project, however it is reached
        self._store = store
        self._definitions = tuple(d for d in definitions if d.layer in dialect.needs_trust)
        self._stamp: FileStamp = None
        self._subjects: dict[int, Subject] | None = None
        self._changes: dict[int, Change] = {}
        self._problems: tuple[Diagnostic, ...] = ()

    def subjects(self) -> list[Subject]:
        """Read what the project's hooks are made of."""
        return subjects(self._definitions, self._project, self.variables())

    def variables(self, cwd: Path | None = None) -> dict[str, str]:
        """Return the variables that hold paths: the dialect's, and those that the shim sets."""
        held = {"project_dir": self._project, "cwd": cwd or self._project}
        commands = (h.command or "" for d in self._definitions for h in d.handlers)
        agents = AGENTS if any(SHIM in command for command in commands) else ()
        tables = [*map(get_dialect, agents), self._dialect]
        pairs = (pair for table in tables for pair in table.environment.items())
        return {name: str(held[what]) for name, what in pairs if what in held}

    def changes(self) -> list[Change]:
        """Return what is not trusted, as it is now."""
        self._look()
        return list(self._changes.values())

    def diagnostics(self) -> list[Diagnostic]:
        """Return a diagnostic for every handler that does not run."""
        return [*(self._told(change) for change in self.changes()), *self._problems]

    def summary(self) -> list[Diagnostic]:
        """Return the same as `diagnostics`, with one diagnostic for all hooks without trust."""
        changes = self.changes()
        new = [change.subject.handler for change in changes if change.what != "script"]
        changed = [self._told(change) for change in changes if change.what == "script"]
        if len(new) < 2:
            return self.diagnostics()
        labels = ", ".join(dict.fromkeys(handler.label for handler in new))
        text = f"{len(new)} hooks do not run: their project is not trusted; {self._how()}: {labels}"
        return [diagnose("project-untrusted", text, new[0].place), *changed, *self._problems]

    def may_match(self, definition: HookDefinition) -> bool:
        """Tell whether the pattern of a definition may be evaluated."""
        if self._store is None or definition.layer not in self._dialect.needs_trust:
            return True
        self._look()
        known = self._subjects or {}
        return all(
            id(handler) in known and id(handler) not in self._changes
            for handler in definition.handlers
        )

    def withhold(self, handler: HandlerSpec, cwd: str = "") -> HandlerResult | None:
        """Return the result of a handler that must not run, or `None` if it may.

        Args:
            handler: The handler.
            cwd: Where it would run.
        """
        if self._store is None or handler.layer not in self._dialect.needs_trust:
            return None
        self._look()
        subject = (self._subjects or {}).get(id(handler))
        change = self._changes.get(id(handler))
        if change is None and subject is not None:
            stranger = self._stranger(subject, cwd)
            if stranger is None and subject.is_unchanged():
                return None
            told = self._changed(handler, stranger)
        else:
            told = self._told(change) if change else self._changed(handler)
        return HandlerResult(
            handler, Status.WITHHELD, error="the project is not trusted", diagnostics=(told,)
        )

    def _stranger(self, subject: Subject, cwd: str) -> Path | None:
        """Find a file that the command names now, from where it would run, and nobody saw."""
        known = {script.path for script in subject.scripts}
        start = Path(os.path.realpath(cwd)) if cwd else self._project
        variables = {**self.variables(start), **subject.handler.variables}
        named = named_files(subject.handler, self._project, variables, start=start)
        return next((path for path in named if path not in known and path.exists()), None)

    def _look(self) -> None:
        if self._store is None:
            return
        stamp = self._store.stamp(self._project)
        if self._subjects is not None and stamp == self._stamp:
            return
        told: tuple[Diagnostic, ...] = ()
        try:
            found = self.subjects()
        except Exception as error:  # noqa: BLE001 - what cannot be judged does not run
            found = []
            text = f"the project's hooks cannot be judged, so none of them runs: {error}"
            told = (diagnose("project-untrusted", text),)
        changes, problems = self._store.changes(self._project, found)
        self._problems = (*told, *problems)
        self._stamp = stamp
        self._subjects = {id(subject.handler): subject for subject in found}
        self._changes = {id(change.subject.handler): change for change in changes}

    def _how(self) -> str:
        return HOW.format(self._dialect.name)

    def _told(self, change: Change) -> Diagnostic:
        handler = change.subject.handler
        if change.what == "script":
            return self._changed(handler)
        return diagnose(
            "project-untrusted",
            f"{handler.label!r} does not run: its project is not trusted; {self._how()}",
            handler.place,
            handler=handler.label,
        )

    def _changed(self, handler: HandlerSpec, stranger: Path | None = None) -> Diagnostic:
        why = (
            f"it names {stranger} now, which was not trusted"
            if stranger
            else "its script changed since it was trusted"
        )
        return diagnose(
            "trust-changed",
            f"{handler.label!r} does not run: {why}; {self._how()}",
            handler.place,
            handler=handler.label,
        )


class SharedGuard:
    """A guard that may be asked from several threads.

    Args:
        guard: A guard that nothing else uses.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._lock = threading.Lock()

    def withhold(self, handler: HandlerSpec, cwd: str = "") -> HandlerResult | None:
        """Return the result of a handler that must not run; see `Guard.withhold`."""
        with self._lock:
            return self._guard.withhold(handler, cwd)
