"""Keeps the hooks of a project from running until the project is trusted."""

from __future__ import annotations

import os
import threading
from collections import Counter
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.files import file_stamp
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.definitions import each_handler
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.record import Record
from anyhook.model.text import first_names
from anyhook.settings.detect import trust_command
from anyhook.settings.directories import find_root
from anyhook.trust.records import TrustChange
from anyhook.trust.scripts import command_files
from anyhook.trust.subjects import SubjectReader, TrustSubject, definition_key
from anyhook.trust.words import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.files import FileIdentity
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.trust.records import Records
    from anyhook.trust.store import TrustStore

_SHIM = " shim --as "
"""What a command holds that sets the variables of another agent."""
MAX_DIRECTORIES = 256
"""Directories and handlers for which the files that a command names there are kept."""


class TrustGuard:
    """Decides for one project and one version of its settings which handlers may run.

    Nothing is read before a handler that needs trust is about to run, and the files of a handler
    only if its definition was trusted. Store and files are checked again each time, so that
    neither a change nor a revocation is missed.

    Without a store it trusts everything, for a single run.
    """

    def __init__(
        self,
        agent: AgentSpec,
        project: Path,
        store: TrustStore | None,
        definitions: tuple[HookDefinition, ...],
    ) -> None:
        self._agent = agent
        # Resolved, so that a project is the same one however it is reached.
        self._project = Path(os.path.realpath(project))
        self._store = store
        self._definitions = tuple(d for d in definitions if d.layer in agent.settings.needs_trust)
        self._store_identity: FileIdentity = None
        self._records: Records | None = None
        self._trusted: dict[int, TrustSubject] = {}
        self._changes: dict[int, TrustChange] = {}
        self._elsewhere: dict[tuple[int, str], _ElsewhereCheck] = {}
        self._problems: tuple[Diagnostic, ...] = ()
        # The current directory, and the remedy that is right there.
        self._remedy_in: tuple[Path | None, str] | None = None

    def subjects(self) -> list[TrustSubject]:
        """Read what the project's hooks are made of."""
        return self._reader().read_all(self._definitions)

    def variables(self, cwd: Path | None = None) -> dict[str, str]:
        """Return the variables that hold paths: the agent's, and those that the shim sets.

        The command runs in `cwd`, by default the directory of the project.
        """
        root = find_root(self._project)
        paths = {"project_dir": self._project, "cwd": cwd or self._project, "root": root}
        agents = [self._agent]
        if self._uses_shim:
            agents = [*map(get_agent, CODING_AGENTS), self._agent]
        variables = {REPOSITORY: str(find_root(cwd) if cwd else root)}
        for agent in agents:
            for name, content in agent.hook_environment.items():
                if content in paths:
                    variables[name] = str(paths[content])
        return variables

    @cached_property
    def _uses_shim(self) -> bool:
        for definition in self._definitions:
            if any(_SHIM in (handler.command or "") for handler in definition.handlers):
                return True
        return False

    def _reader(self) -> SubjectReader:
        return SubjectReader(self._agent.name, self._project, self.variables())

    # --- reports -----------------------------------------------------------------------------

    def changes(self) -> list[TrustChange]:
        """Return what is not trusted, as it is now."""
        self._refresh()
        return list(self._changes.values())

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Return a diagnostic for every handler that does not run now; each is made when read."""
        return chain(map(self._report, self.changes()), self._problems)

    def summary(self) -> list[Diagnostic]:
        """Return the same as `diagnostics`, with one diagnostic for all hooks without trust."""
        changes = self.changes()
        new = [change.subject.handler for change in changes if change.what == "new"]
        if len(new) < 2:
            return list(self.diagnostics())
        counts = Counter(handler.label for handler in new)
        names = [name if n == 1 else f"{name} ({n} entries)" for name, n in counts.items()]
        labels = first_names(names)
        text = (
            f"{len(new)} hooks do not run: their project is not trusted; {self._remedy()}: {labels}"
        )
        changed = [self._report(change) for change in changes if change.what != "new"]
        return [diagnose("project-untrusted", text, new[0].place), *changed, *self._problems]

    def _remedy(self) -> str:
        """Return what a user has to do; found once, because that takes a millisecond."""
        try:
            directory = Path.cwd()
        except FileNotFoundError:
            directory = None
        if self._remedy_in is None or self._remedy_in[0] != directory:
            command = trust_command(self._agent.name, self._project)
            self._remedy_in = (directory, f"look at it with `{command}`")
        return self._remedy_in[1]

    def _report(self, change: TrustChange) -> Diagnostic:
        handler = change.subject.handler
        if change.what == "script" and change.newly_loaded:
            reason = f"it loaded {change.newly_loaded[0]} in a run, which was not trusted"
            text = self._not_run(handler, reason)
            return diagnose("trust-changed", text, handler.place, handler=handler.label)
        if change.what == "script":
            return self._report_changed_file(handler)
        if change.what == "definition":
            text = self._not_run(handler, "its definition changed since it was trusted")
            return diagnose("trust-changed", text, handler.place, handler=handler.label)
        text = self._not_run(handler, "its project is not trusted in anyhook")
        return diagnose("project-untrusted", text, handler.place, handler=handler.label)

    def _report_changed_file(self, handler: HandlerSpec, file: Path | None = None) -> Diagnostic:
        reason = "a file of it changed since it was trusted"
        if file is not None:
            reason = f"it names {file} now, which was not trusted"
        text = self._not_run(handler, reason)
        return diagnose("trust-changed", text, handler.place, handler=handler.label)

    def _not_run(self, handler: HandlerSpec, reason: str) -> str:
        return f"{handler.label!r} does not run: {reason}; {self._remedy()}"

    # --- decisions ---------------------------------------------------------------------------

    def may_match(self, definition: HookDefinition) -> bool:
        """Return whether the pattern of a definition may be evaluated."""
        if self._store is None or definition.layer not in self._agent.settings.needs_trust:
            return True
        self._refresh()
        return all(id(handler) in self._trusted for handler in definition.handlers)

    def withhold(self, handler: HandlerSpec, cwd: str = "") -> HandlerResult | None:
        """Return the result of a handler that must not run, or `None` if it may."""
        if self._store is None or handler.layer not in self._agent.settings.needs_trust:
            return None
        self._refresh()
        change = self._changes.get(id(handler))
        if change is not None:
            changed = change.subject
            # By now the files may be again what was trusted.
            is_as_reported = change.what != "script" or changed.is_unchanged()
            if is_as_reported or self._change_of(changed):
                return _withheld(handler, self._report(change))
            del self._changes[id(changed.handler)]
        subject = self._trusted.get(id(handler))
        if subject is None:
            return _withheld(handler, self._report_changed_file(handler))
        change = self._change_of(subject)
        if change is not None:
            return _withheld(handler, self._report(change))
        untrusted = self._untrusted_file(subject, cwd)
        if untrusted is not None:
            return _withheld(handler, self._report_changed_file(handler, untrusted))
        return None

    def _change_of(self, subject: TrustSubject) -> TrustChange | None:
        """Compare the files of a trusted handler with what was trusted, if one was touched."""
        if subject.is_unchanged():
            return None
        handler = subject.handler
        # Files were touched, so read all of them again and compare their content.
        definition = next(d for d in self._definitions if handler in d.handlers)
        current = self._reader().read(definition, handler)
        if self._records is None:
            return TrustChange(current, "script")
        change = self._records.compare(current, agent=self._agent.name)
        if change is None:
            self._trusted[id(handler)] = current
        return change

    def _untrusted_file(self, subject: TrustSubject, cwd: str) -> Path | None:
        """Return a file that the command runs where it starts, and that was not trusted.

        In another directory than the project's, the same words can name other files.
        """
        # A command with a directory of its own was read there.
        start = Path(os.path.realpath(cwd)) if cwd else self._project
        if start == self._project or subject.handler.cwd is not None:
            return None
        key = (id(subject.handler), cwd)
        check = self._elsewhere.get(key)
        if check is None or check.subject is not subject or check.is_stale():
            variables = {**self.variables(start), **subject.handler.variables}
            named = command_files(subject.handler, self._project, variables, start=start)
            trusted = {script.path for script in subject.scripts}
            roots = [tree.root for tree in subject.trees]
            followed = self._reader().follow(subject.handler, (), start=start)
            loaded = [start / operand for operand in sorted(subject.operands)]
            untrusted = None
            for path in (*named.files, *map(Path, followed.files), *loaded):
                is_bound = path in trusted or any(map(path.is_relative_to, roots))
                if not is_bound and path.is_file():
                    untrusted = path
                    break
            looked_at = (str(start), *named.looked_at, *followed.directories, *map(str, loaded))
            identities = {path: file_stamp(path) for path in looked_at}
            check = _ElsewhereCheck(subject, untrusted, identities)
            if len(self._elsewhere) >= MAX_DIRECTORIES:
                self._elsewhere.clear()
            self._elsewhere[key] = check
        return check.untrusted

    def _refresh(self) -> None:
        """Read the store again if it changed, and compare the hooks with it."""
        if self._store is None or not self._definitions:
            return
        identity = self._store.identity(self._project)
        if self._records is not None and identity == self._store_identity:
            return
        self._store_identity = identity
        self._records = self._store.records(self._project)
        self._problems = self._records.problems
        self._trusted = {}
        self._changes = {}
        keys: dict[int, str] = {}
        for definition, handler in each_handler(self._definitions):
            keys[id(handler)] = definition_key(self._agent.name, definition, handler)
        current_keys = frozenset(keys.values())
        reader = self._reader()
        for definition, handler in each_handler(self._definitions):
            key = keys[id(handler)]
            try:
                # Of an unknown definition not even the files are read.
                if self._records.has_definition(key):
                    subject = reader.read(definition, handler)
                else:
                    subject = TrustSubject(key, handler, definition.event, definition.matcher)
                change = self._records.compare(subject, current_keys, agent=self._agent.name)
            except Exception as error:  # noqa: BLE001 - what cannot be checked does not run
                self._problems = (*self._problems, report_unjudged(handler, str(error)))
                continue
            if change is None:
                self._trusted[id(handler)] = subject
            else:
                self._changes[id(handler)] = change


def report_unjudged(handler: HandlerSpec, problem: str) -> Diagnostic:
    """Report a handler that does not run, because the guard fails at it."""
    text = f"{handler.label!r} cannot be judged, so it does not run: {problem}"
    return diagnose("project-untrusted", text, handler.place, handler=handler.label)


def _withheld(handler: HandlerSpec, diagnostic: Diagnostic) -> HandlerResult:
    return HandlerResult(
        handler, Status.WITHHELD, error="the project is not trusted", diagnostics=(diagnostic,)
    )


class _ElsewhereCheck(Record, kw_only=False):
    """Which files a command names in another directory than the project's."""

    subject: TrustSubject
    """The handler, as it is trusted."""
    untrusted: Path | None
    """A file that was not trusted; `None` if there is none."""
    identities: Mapping[str, FileIdentity]
    """Everything whose appearance or change may change that."""

    def is_stale(self) -> bool:
        return any(file_stamp(path) != identity for path, identity in self.identities.items())


class SharedGuard:
    """A guard that may be used from several threads."""

    def __init__(self, guard: TrustGuard) -> None:
        self._guard = guard
        self._lock = threading.Lock()

    def withhold(self, handler: HandlerSpec, cwd: str = "") -> HandlerResult | None:
        """Return the result of a handler that must not run; see `TrustGuard.withhold`."""
        with self._lock:
            return self._guard.withhold(handler, cwd)
