"""Keeps the hooks of a project from running until the project is trusted."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.files import identity_of
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.settings.detect import trust_command
from anyhook.trust.scripts import command_files
from anyhook.trust.store import Change, Project, Subject, definition_key, subjects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.files import FileIdentity
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.trust.store import Records, TrustStore

SHIM = " shim --as "
"""What a command holds that sets the variables of another agent."""
HOW = "look at it with `{}`"


class Guard:
    """Decides for one project and one version of its settings which handlers may run.

    Nothing is read before a handler that needs trust is about to run, and the files of a handler
    only if its definition was trusted. Store and files are looked at again each time, so that
    neither a change nor a revocation is missed.

    Args:
        agent: Says which layers need trust.
        project: Directory of the project.
        store: What the user has trusted; `None` trusts everything, for a single run.
        definitions: The definitions that there are.
    """

    def __init__(
        self,
        agent: AgentSpec,
        project: Path,
        store: TrustStore | None,
        definitions: tuple[HookDefinition, ...],
    ) -> None:
        self._agent = agent
        self._project = Path(os.path.realpath(project))  # one project, however it is reached
        self._store = store
        self._definitions = tuple(d for d in definitions if d.layer in agent.needs_trust)
        self._identity: FileIdentity = None
        self._records: Records | None = None
        self._subjects: dict[int, Subject] = {}
        self._changes: dict[int, Change] = {}
        self._elsewhere: dict[tuple[int, str], _Elsewhere] = {}
        self._problems: tuple[Diagnostic, ...] = ()

    def subjects(self) -> list[Subject]:
        """Read what the project's hooks are made of."""
        return subjects(self._definitions, self._project, self.variables())

    def variables(self, cwd: Path | None = None) -> dict[str, str]:
        """Return the variables that hold paths: the agent's, and those that the shim sets."""
        held = {"project_dir": self._project, "cwd": cwd or self._project}
        commands = (h.command or "" for d in self._definitions for h in d.handlers)
        agents = CODING_AGENTS if any(SHIM in command for command in commands) else ()
        tables = [*map(get_agent, agents), self._agent]
        pairs = (pair for table in tables for pair in table.hook_environment.items())
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
        new = [change.subject.handler for change in changes if change.what == "new"]
        changed = [self._told(change) for change in changes if change.what != "new"]
        if len(new) < 2:
            return self.diagnostics()
        names = list(dict.fromkeys(handler.label for handler in new))
        labels = ", ".join(names[:LABELS_SHOWN])
        if len(names) > LABELS_SHOWN:
            labels += f" and {len(names) - LABELS_SHOWN} more"
        text = f"{len(new)} hooks do not run: their project is not trusted; {self._how()}: {labels}"
        return [diagnose("project-untrusted", text, new[0].place), *changed, *self._problems]

    def may_match(self, definition: HookDefinition) -> bool:
        """Return whether the pattern of a definition may be evaluated."""
        if self._store is None or definition.layer not in self._agent.needs_trust:
            return True
        self._look()
        return all(id(handler) in self._subjects for handler in definition.handlers)

    def withhold(self, handler: HandlerSpec, cwd: str = "") -> HandlerResult | None:
        """Return the result of a handler that must not run, or `None` if it may.

        Args:
            handler: The handler.
            cwd: Where it would run.
        """
        if self._store is None or handler.layer not in self._agent.needs_trust:
            return None
        self._look()
        change = self._changes.get(id(handler))
        if change is not None and not self._was_restored(change):
            return self._withheld(handler, self._told(change))
        subject = self._subjects.get(id(handler))
        if subject is None or not self._is_as_trusted(subject):
            return self._withheld(handler, self._changed(handler))
        stranger = self._stranger(subject, cwd)
        if stranger is not None:
            return self._withheld(handler, self._changed(handler, stranger))
        return None

    def _was_restored(self, change: Change) -> bool:
        """Return whether the files of a handler are by now what was trusted."""
        subject = change.subject
        if change.what != "script" or subject.is_unchanged() or not self._is_as_trusted(subject):
            return False
        del self._changes[id(subject.handler)]
        return True

    def _withheld(self, handler: HandlerSpec, told: Diagnostic) -> HandlerResult:
        return HandlerResult(
            handler, Status.WITHHELD, error="the project is not trusted", diagnostics=(told,)
        )

    def _is_as_trusted(self, subject: Subject) -> bool:
        """Compare the files of a trusted handler with what was trusted, if one was touched."""
        if subject.is_unchanged():
            return True
        handler = subject.handler
        definition = next(d for d in self._definitions if handler in d.handlers)
        now = Project(self._project, self.variables()).subject(definition, handler)
        if self._records is None or self._records.change(now) is not None:
            return False
        self._subjects[id(handler)] = now
        return True

    def _stranger(self, subject: Subject, cwd: str) -> Path | None:
        """Return a file that the command runs where it starts, and that was not trusted.

        In another directory than the project's, the same words can name other files.
        """
        start = Path(os.path.realpath(cwd)) if cwd else self._project
        if start == self._project:
            return None
        key = (id(subject.handler), cwd)
        known = self._elsewhere.get(key)
        if known is None or known.subject is not subject or known.is_stale():
            variables = {**self.variables(start), **subject.handler.variables}
            found = command_files(subject.handler, self._project, variables, start=start)
            trusted = {script.path for script in subject.scripts}
            trees = [tree.root for tree in subject.trees]
            stranger = None
            for path in found.files:
                is_bound = path in trusted or any(map(path.is_relative_to, trees))
                if not is_bound and path.exists():
                    stranger = path
                    break
            identities = {path: identity_of(path) for path in (str(start), *found.looked_at)}
            known = _Elsewhere(subject, stranger, identities)
            if len(self._elsewhere) >= DIRECTORIES:
                self._elsewhere.clear()
            self._elsewhere[key] = known
        return known.stranger

    def _look(self) -> None:
        """Read the store again if it changed, and compare the hooks with it."""
        if self._store is None:
            return
        identity = self._store.identity(self._project)
        if self._records is not None and identity == self._identity:
            return
        self._identity = identity
        records = self._records = self._store.records(self._project)
        self._problems = records.problems
        self._subjects, self._changes = {}, {}
        project = Project(self._project, self.variables())
        keys = {id(h): definition_key(d, h) for d in self._definitions for h in d.handlers}
        current = frozenset(keys.values())
        for definition in self._definitions:
            for handler in definition.handlers:
                try:
                    key = keys[id(handler)]
                    known = records.knows(key)  # of an unknown one not even the files are read
                    subject = (
                        project.subject(definition, handler)
                        if known
                        else Subject(key, handler, definition.event, definition.matcher)
                    )
                    self._judge(records.change(subject, current), subject)
                except Exception as error:  # noqa: BLE001 - what cannot be judged does not run
                    self._subjects.pop(id(handler), None)
                    text = f"{handler.label!r} cannot be judged, so it does not run: {error}"
                    problem = diagnose("project-untrusted", text, handler.place)
                    self._problems = (*self._problems, problem)

    def _judge(self, change: Change | None, subject: Subject) -> None:
        if change is None:
            self._subjects[id(subject.handler)] = subject
        else:
            self._changes[id(subject.handler)] = change

    def _how(self) -> str:
        return HOW.format(trust_command(self._agent.name, self._project))

    def _told(self, change: Change) -> Diagnostic:
        handler = change.subject.handler
        if change.what == "script":
            return self._changed(handler)
        if change.what == "definition":
            text = f"{handler.label!r} does not run: its definition changed since it was trusted"
            return diagnose(
                "trust-changed", f"{text}; {self._how()}", handler.place, handler=handler.label
            )
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
            else "a file of it changed since it was trusted"
        )
        return diagnose(
            "trust-changed",
            f"{handler.label!r} does not run: {why}; {self._how()}",
            handler.place,
            handler=handler.label,
        )


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """What a command names in another directory than the project's.

    Attributes:
        subject: The handler, as it is trusted.
        stranger: A file that was not trusted; `None` if there is none.
        identities: Everything whose appearance or change may change that.
    """

    subject: Subject
    stranger: Path | None
    identities: Mapping[str, FileIdentity]

    def is_stale(self) -> bool:
        return any(identity_of(path) != identity for path, identity in self.identities.items())


LABELS_SHOWN = 5
"""Hooks that one diagnostic names."""
DIRECTORIES = 256
"""Directories and handlers for which it is remembered what the command names there."""


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
