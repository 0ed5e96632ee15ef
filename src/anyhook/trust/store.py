"""The trust store: which hooks of which project the user has seen and allowed.

One file a project under the user's data directory, written atomically under a lock.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.atomic_write import replace_file
from anyhook.errors import SettingsError
from anyhook.files import data_directory, file_stamp, read_user_file, record_name
from anyhook.locks import locked
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.trust.changes import accept_files, start_record
from anyhook.trust.records import Records, TrustChange, object_member, record_subjects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from anyhook.files import FileIdentity
    from anyhook.trust.subjects import TrustSubject

MAX_STORE_SIZE = 64 * 1024 * 1024
"""Bytes of what is recorded about one project."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_CHOWN = "chown -R $(id -u) on it, or set ANYHOOK_DATA_DIR to a directory of your own"


class TrustStore:
    """The store of one user.

    Args:
        directory: Where it lives; by default `trust` in the user's data directory, which
            `ANYHOOK_DATA_DIR` overrides.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        if directory is None:
            directory = data_directory() / "trust"
        self.directory = Path(directory)

    def identity(self, project: Path) -> FileIdentity:
        """Return the identity of the file about a project, which changes with its content."""
        return file_stamp(self._file(project))

    def changes(
        self,
        project: Path,
        subjects: Iterable[TrustSubject],
        *,
        agent: str,
        confirmed: Collection[str] = (),
    ) -> tuple[list[TrustChange], tuple[Diagnostic, ...]]:
        """Compare the hooks of a project with what was trusted.

        Args:
            project: Directory of the project.
            subjects: All its hooks for one agent.
            agent: The agent, as it was when they were trusted.
            confirmed: Paths of files that the user has just confirmed: their changes do not count.

        Returns:
            What is not trusted (empty: everything is), and what is wrong with the store.
        """
        records = self.records(project)
        subjects = list(subjects)
        current_keys = {subject.key for subject in subjects}
        changes: list[TrustChange] = []
        for subject in subjects:
            change = records.compare(subject, current_keys, agent=agent, confirmed=confirmed)
            if change is not None:
                changes.append(change)
        return changes, records.problems

    def trust(
        self,
        project: Path,
        subjects: Iterable[TrustSubject],
        *,
        agent: str,
        keep_others: bool = False,
    ) -> None:
        """Record that a project's hooks for one agent may run as they are now, and no others.

        If a guard looks for changes of settings, what these are now is kept until it does.

        Args:
            project: Directory of the project.
            subjects: Its hooks.
            agent: Whose hooks they are; what is recorded for other agents stays.
            keep_others: Whether what is recorded about other hooks of the agent stays, too.

        Raises:
            OSError: If the store cannot be written, or another process holds it.
            SettingsError: If others can write it.
        """
        subjects = list(subjects)
        entries, trees = record_subjects(subjects, agent)
        file = self._file(project)
        with locked(file):
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            problem = self._permission_problem(file)
            if problem:
                raise SettingsError(problem, path=str(self.directory))
            recorded = self.records(project)
            for key, entry in recorded.entries.items():
                if keep_others or _agent_of(entry) != agent:
                    entries.setdefault(key, entry)
            _write(file, project, entries, {**trees, **recorded.trees})
        texts: list[str] = []
        for subject in subjects:
            texts += [script.text or "" for script in subject.scripts]
        start_record(project, {subject.handler.place.file for subject in subjects}, texts)

    def forget(
        self, project: Path, agent: str, configured: Collection[str], paths: Collection[str]
    ) -> None:
        """Forget hooks that are gone and that named one of some files.

        Args:
            project: Directory of the project.
            agent: Whose hooks they were.
            configured: Keys of the hooks that its settings have now.
            paths: The files.

        Raises:
            OSError: If the store cannot be written, or another process holds it.
        """
        file = self._file(project)
        if not file.exists():
            return
        with locked(file):
            recorded = self.records(project)
            entries: dict[str, Any] = {}
            for key, entry in recorded.entries.items():
                is_gone = _agent_of(entry) == agent and key not in configured
                if not is_gone or object_member(entry, "scripts").keys().isdisjoint(paths):
                    entries[key] = entry
            if len(entries) == len(recorded.entries):
                return
            if entries:
                _write(file, project, entries, dict(recorded.trees))
            else:
                file.unlink(missing_ok=True)

    def revoke(self, project: Path) -> bool:
        """Remove what is recorded about a project. Returns whether there was anything."""
        file = self._file(project)
        if not file.exists():
            return False
        with locked(file):
            file.unlink(missing_ok=True)
        return True

    def records(self, project: Path) -> Records:
        """Read what is recorded about a project. Never raises for what the store holds."""
        file = self._file(project)
        problem = self._permission_problem(file)
        if problem is None:
            try:
                content = json.loads(read_user_file(file, MAX_STORE_SIZE))
                if isinstance(content["hooks"], dict):
                    return Records(content["hooks"], object_member(content, "trees"))
                problem = "it does not hold what anyhook wrote"
            except FileNotFoundError:
                return Records()
            except OSError as error:
                problem = error.strerror or str(error)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                problem = str(error) or type(error).__name__
            problem += "; trust the project again: anyhook trust"
        return Records(problems=(diagnose("trust-store", problem, Place(str(file))),))

    def _file(self, project: Path) -> Path:
        return self.directory / f"{record_name(project)}.json"

    def _permission_problem(self, file: Path) -> str | None:
        """Return who else can write the store, and how to repair it; `ssh` has the same rules."""
        if not hasattr(os, "geteuid"):
            return None
        for path in (file, self.directory, *self.directory.absolute().parents):
            try:
                status = path.stat()
            except OSError:
                continue
            if status.st_uid not in (0, os.geteuid()):
                return f"{path} belongs to another user, so nothing in it is trusted; run: {_CHOWN}"
            # Above the store, a group may have rights, and others in a directory such as /tmp.
            if path in (file, self.directory):
                is_writable = status.st_mode & _WRITABLE_BY_OTHERS
            else:
                is_writable = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
            if is_writable:
                problem = "can be written by other users, so nothing in it is trusted"
                return f"{path} {problem}; run: chmod go-w {path}"
        return None


def _write(file: Path, project: Path, entries: dict[str, Any], trees: dict[str, Any]) -> None:
    """Write the file about a project, without directories that no entry names any more."""
    used_digests: set[str] = set()
    for entry in entries.values():
        used_digests.update(map(str, object_member(entry, "trees").values()))
    used = {digest: files for digest, files in trees.items() if digest in used_digests}
    content = {"project": str(project), "hooks": entries, "trees": used}
    replace_file(file, json.dumps(content, indent=1).encode(), mode=0o600)
    accept_files([file])


def _agent_of(entry: object) -> str:
    return str(entry.get("agent", "")) if isinstance(entry, dict) else ""
