"""The trust store: which hooks of which project the user has seen and allowed.

One file a project under the user's data directory, written atomically under a lock. It holds the
definitions and the files as they were, so that a change can be shown.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import stat
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.atomic_write import replace_file
from anyhook.errors import SettingsError
from anyhook.files import changed_within_tick, data_directory, identity_of, locked, read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.trust.scripts import command_files
from anyhook.trust.trees import (
    LARGEST_SCRIPT,
    MOST_TREES,
    Script,
    Tree,
    beside,
    read_script,
    read_tree,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from anyhook.files import FileIdentity
    from anyhook.model.definitions import HandlerSpec, HookDefinition

LARGEST_STORE = 64 * 1024 * 1024
"""Bytes of what is recorded about one project."""
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Subject:
    """What is trusted or not: one handler of a project, and what it is made of.

    Attributes:
        key: Digest of the definition: event, matcher, order, command, environment, timeout.
        handler: The handler.
        event: Canonical name of its event.
        matcher: The matcher of its definition.
        scripts: The files that it names, and code beside them.
        trees: The directories that belong to it, with all their files.
        unclear: What it may run and what is not bound.
        looked_at: Identities of everything that this depends on.
        read_at: When it was read, in nanoseconds since the epoch.
    """

    key: str
    handler: HandlerSpec
    event: str
    matcher: str | None
    scripts: tuple[Script, ...] = ()
    trees: tuple[Tree, ...] = ()
    unclear: tuple[str, ...] = ()
    looked_at: Mapping[str, FileIdentity] = field(default_factory=dict)
    read_at: int = 0

    def is_unchanged(self) -> bool:
        """Return whether no file or directory that it depends on was touched since it was read."""
        return all(
            identity_of(path) == identity and not changed_within_tick(identity, self.read_at)
            for path, identity in self._identities()
        )

    def _identities(self) -> Iterator[tuple[Path | str, FileIdentity]]:
        for script in self.scripts:
            yield script.path, script.identity
        for tree in self.trees:
            yield from tree.identities.items()
        yield from self.looked_at.items()


@dataclass(frozen=True)
class Change:
    """What differs from what was trusted.

    Attributes:
        subject: The handler.
        what: `new`, `definition` if the settings changed what was trusted, or `script` if only
            files changed.
        key: Key of the definition that was trusted.
    """

    subject: Subject
    what: str
    records: Records | None = field(default=None, repr=False)
    key: str = ""

    @cached_property
    def difference(self) -> tuple[str, ...]:
        """Lines of a unified difference; made when they are looked at, for that takes time."""
        return tuple(self.records.differences(self.subject, self.key)) if self.records else ()


class Project:
    """What the hooks of one project have in common.

    Args:
        directory: Directory of the project.
        variables: Variables of the agent that hold paths.
    """

    def __init__(self, directory: Path, variables: Mapping[str, str]) -> None:
        self.directory = directory
        self.variables = variables
        self._trees: dict[Path, Tree] = {}

    def subject(self, definition: HookDefinition, handler: HandlerSpec) -> Subject:
        """Read what a handler is made of."""
        read_at = time.time_ns()
        known = {**self.variables, **handler.variables}
        found = command_files(handler, self.directory, known)
        settings = Path(os.path.realpath(definition.place.file)).parent
        shared = {self.directory, settings}
        roots = {settings / "hooks": None} if (settings / "hooks").is_dir() else {}
        roots |= dict.fromkeys(d for d in found.directories if d not in shared)
        scripts: dict[Path, Script] = {}
        left = LARGEST_SCRIPT
        for path in found.files:
            identity = identity_of(path)
            left -= identity[2] if identity else 0
            scripts[path] = read_script(path, LARGEST_SCRIPT if left >= 0 else 0)
        for directory in shared:
            texts = [s.text or "" for path, s in scripts.items() if path.parent == directory]
            if texts:
                near = beside(directory, " ".join(texts))
                scripts |= {path: read_script(path) for path in near}
        looked_at = [*found.looked_at, str(settings / "hooks")]
        if scripts:
            looked_at += map(str, shared)
        outermost = _outermost(roots)
        trees = tuple(map(self._tree, outermost[:MOST_TREES]))
        unclear = [*found.unclear, *_not_bound(scripts.values(), trees, self.directory)]
        unclear += [f"{root} (a directory)" for root in outermost[MOST_TREES:]]
        return Subject(
            definition_key(definition, handler),
            handler,
            definition.event,
            definition.matcher,
            tuple(scripts.values()),
            trees,
            tuple(unclear),
            {path: identity_of(path) for path in looked_at},
            read_at,
        )

    def _tree(self, root: Path) -> Tree:
        if root not in self._trees:
            self._trees[root] = read_tree(root)
        return self._trees[root]


def _outermost(roots: Iterable[Path]) -> list[Path]:
    """Leave out directories that are inside of others."""
    kept: list[Path] = []
    for root in sorted(roots, key=lambda path: len(path.parts)):
        if not any(root.is_relative_to(other) for other in kept):
            kept.append(root)
    return kept


def _not_bound(scripts: Iterable[Script], trees: Iterable[Tree], project: Path) -> Iterator[str]:
    """List files that a change of would not be noticed."""
    for script in scripts:
        if not script.is_bound:
            yield f"{script.path} ({script.digest})"
        elif script.digest and not script.path.is_relative_to(project):
            yield f"what {script.path} loads, which is outside of the project"
    for tree in trees:
        for name in tree.left_out:
            yield f"{tree.root}: {name}"


def subjects(
    definitions: Iterable[HookDefinition], project: Path, variables: Mapping[str, str]
) -> list[Subject]:
    """Read what the handlers of some definitions are made of.

    Args:
        definitions: Definitions that need trust.
        project: Directory of the project.
        variables: Variables of the agent that hold paths.

    Returns:
        One subject a handler.
    """
    shared = Project(project, variables)
    return [
        shared.subject(definition, handler)
        for definition in definitions
        for handler in definition.handlers
    ]


class Records:
    """What is recorded about one project.

    Args:
        entries: By the key of a definition, what was trusted.
        trees: By digest, the files of a directory as they were.
        problems: What is wrong with the store.
    """

    def __init__(
        self,
        entries: Mapping[str, Any] | None = None,
        trees: Mapping[str, Any] | None = None,
        problems: tuple[Diagnostic, ...] = (),
    ) -> None:
        self.entries = entries or {}
        self.trees = trees or {}
        self.problems = problems

    def knows(self, key: str) -> bool:
        """Return whether a definition was trusted, whatever its files are now."""
        return isinstance(self.entries.get(key), dict)

    def change(self, subject: Subject, current: Collection[str] = ()) -> Change | None:
        """Compare a subject with what was trusted; `None` if it is the same.

        Args:
            subject: The handler.
            current: Keys of all definitions that there are now.
        """
        if not self.knows(subject.key):
            former = self._former_key(subject, current)
            if former is None:
                return Change(subject, "new")
            return Change(subject, "definition", self, former)
        entry = self.entries[subject.key]
        scripts = {path: value.get("sha256") for path, value in _objects(entry, "scripts").items()}
        now = {str(script.path): script.digest for script in subject.scripts}
        # what was not there and is not named any more is no difference
        before = {path: digest for path, digest in scripts.items() if digest or path in now}
        now = {path: digest for path, digest in now.items() if digest or path in before}
        trees = entry.get("trees")
        same_trees = trees == {str(tree.root): tree.digest for tree in subject.trees}
        if before == now and same_trees:
            return None
        return Change(subject, "script", self, subject.key)

    def _former_key(self, subject: Subject, current: Collection[str]) -> str | None:
        """Return the key of a trusted definition that is not there any more and became this one.

        It was on the same event, and had the same command or the same name.
        """
        members = _members_of(subject)
        for key, entry in self.entries.items():
            before = entry.get("members") if isinstance(entry, dict) else None
            if not isinstance(before, dict) or key in current:
                continue
            if before.get("event") != members["event"]:
                continue
            same_command = before.get("runs") == members["runs"]
            same_name = bool(members["name"]) and before.get("name") == members["name"]
            if same_command or same_name:
                return key
        return None

    def differences(self, subject: Subject, key: str = "") -> Iterator[str]:
        """Yield the lines of a difference between what was trusted and what is there.

        Args:
            subject: The handler as it is.
            key: Key of the definition that was trusted; by default the one of the handler.
        """
        entry = self.entries.get(key or subject.key)
        if key and key != subject.key:
            yield from _changed_members(entry, subject)
        before = _objects(entry, "scripts")
        named = {str(script.path) for script in subject.scripts}
        gone = [read_script(Path(path)) for path in before if path not in named]
        for script in (*subject.scripts, *gone):
            yield from _difference(str(script.path), before.get(str(script.path)), script)
        roots = entry.get("trees") if isinstance(entry, dict) else None
        roots = roots if isinstance(roots, dict) else {}
        now = {str(tree.root): tree for tree in subject.trees}
        for root in dict.fromkeys((*roots, *now)):
            tree = now.get(root) or read_tree(Path(root))
            if tree.digest == roots.get(root):
                continue
            old = _objects(self.trees, str(roots.get(root)))
            lines: list[str] = []
            for name in sorted({*old, *tree.files}):
                path = f"{root}/{name}"
                if path not in named:
                    lines += _difference(path, old.get(name), tree.files.get(name))
            yield from lines or [f"{root}: what belongs to it changed"]


def _objects(holder: object, key: str) -> dict[str, Any]:
    """Return the objects inside of an object of the store, which may hold anything."""
    value = holder.get(key) if isinstance(holder, dict) else None
    items = value.items() if isinstance(value, dict) else ()
    return {name: item if isinstance(item, dict) else {} for name, item in items}


class TrustStore:
    """The store of one user.

    Args:
        directory: Where it lives; by default `trust` in the user's data directory, which
            `ANYHOOK_DATA_DIR` overrides.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self.directory = Path(data_directory() / "trust" if directory is None else directory)

    def identity(self, project: Path) -> FileIdentity:
        """Return what changes when what is recorded about a project does, without reading it."""
        return identity_of(self._file(project))

    def changes(
        self, project: Path, found: Iterable[Subject]
    ) -> tuple[list[Change], tuple[Diagnostic, ...]]:
        """Compare what is there with what was trusted.

        Returns:
            What is not trusted (empty: everything is), and what is wrong with the store.
        """
        records = self.records(project)
        subjects = list(found)
        current = {subject.key for subject in subjects}
        compared = [records.change(subject, current) for subject in subjects]
        changes = [change for change in compared if change is not None]
        return changes, records.problems

    def trust(self, project: Path, found: Iterable[Subject], *, agent: str = "") -> None:
        """Record that a project's hooks for one agent may run as they are now, and no others.

        Args:
            project: Directory of the project.
            found: Its hooks.
            agent: Whose hooks they are; what is recorded for other agents stays.

        Raises:
            OSError: If the store cannot be written, or another process holds it.
            SettingsError: If others can write it.
        """
        entries: dict[str, Any] = {}
        trees: dict[str, Any] = {}
        recorded = _Recorder()
        for subject in found:
            entries[subject.key] = {
                "agent": agent,
                "command": subject.handler.identifier,
                "members": _members_of(subject),
                "scripts": {str(script.path): recorded(script) for script in subject.scripts},
                "trees": {str(tree.root): tree.digest for tree in subject.trees},
            }
            for tree in subject.trees:
                if tree.digest not in trees:
                    files = tree.files.items()
                    trees[tree.digest] = {name: recorded(script) for name, script in files}
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._file(project)
        problem = self._unsafe(file)
        if problem:
            raise SettingsError(problem, path=str(self.directory))
        with locked(file):
            known = self.records(project)
            entries |= {k: v for k, v in known.entries.items() if _agent(v) != agent}
            used = {digest for entry in entries.values() for digest in _digests(entry)}
            trees |= {k: v for k, v in known.trees.items() if k in used}
            content = {"project": str(project), "version": 2, "hooks": entries, "trees": trees}
            replace_file(file, json.dumps(content, indent=1).encode(), mode=0o600)

    def revoke(self, project: Path) -> bool:
        """Forget a project. Returns whether it was known."""
        file = self._file(project)
        if not file.exists():
            return False
        with locked(file):
            file.unlink(missing_ok=True)
        return True

    def _file(self, project: Path) -> Path:
        real = os.path.realpath(project)
        name = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.directory / f"{name}.json"

    def records(self, project: Path) -> Records:
        """Read what is recorded about a project. Never raises for what the store holds."""
        file = self._file(project)
        problem = self._unsafe(file)
        if problem is None:
            try:
                content = json.loads(read_user_file(file, LARGEST_STORE))
                if isinstance(content["hooks"], dict):
                    return Records(content["hooks"], _objects(content, "trees"))
                problem = "it does not hold what anyhook wrote"
            except FileNotFoundError:
                return Records()
            except OSError as error:
                problem = error.strerror or str(error)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                problem = str(error) or type(error).__name__
            problem += "; trust the project again: anyhook trust"
        return Records(problems=(diagnose("trust-store", problem, Place(str(file))),))

    def _unsafe(self, file: Path) -> str | None:
        """Return why the store is not believed: others than the user can write it, as ssh does."""
        if not hasattr(os, "geteuid"):
            return None
        for path in (file, self.directory, *self.directory.absolute().parents):
            try:
                status = path.stat()
            except OSError:
                continue
            if status.st_uid not in (0, os.geteuid()):
                return f"{path} belongs to another user, so nothing in it is trusted; run: {CHOWN}"
            is_ours = path in (file, self.directory)
            others = status.st_mode & (WRITABLE if is_ours else stat.S_IWOTH)
            if others and (is_ours or not status.st_mode & stat.S_ISVTX):
                why = "can be written by other users, so nothing in it is trusted"
                return f"{path} {why}; run: chmod go-w {path}"
        return None


CHOWN = "chown -R $(id -u) on it, or set ANYHOOK_DATA_DIR to a directory of your own"
"""How to repair a store of another user."""


class _Recorder:
    """Writes down files, with their text as long as there is room for it."""

    def __init__(self) -> None:
        self._room = MOST_TEXT

    def __call__(self, script: Script) -> dict[str, str | None]:
        self._room -= len(script.text or "")
        return {"sha256": script.digest, "text": script.text if self._room >= 0 else None}


MOST_TEXT = 8 * 1024 * 1024
"""Characters of files that are kept to show differences; the others are bound by their hash."""


def _agent(entry: object) -> str:
    return str(entry.get("agent", "")) if isinstance(entry, dict) else ""


def _digests(entry: object) -> list[str]:
    trees = entry.get("trees") if isinstance(entry, dict) else None
    return [str(digest) for digest in trees.values()] if isinstance(trees, dict) else []


def definition_key(definition: HookDefinition, handler: HandlerSpec) -> str:
    """Return the digest of what the settings say of a handler."""
    made_of = [
        definition.event,
        definition.matcher,
        definition.sequential,
        handler.kind,
        handler.name,
        handler.command,
        handler.argv,
        handler.condition,
        handler.on_failure,
        handler.background,
        dict(handler.options),
        handler.timeout,
        sorted(handler.env.items()),
    ]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _members_of(subject: Subject) -> dict[str, Any]:
    """Return what the settings say of a handler, as it is recorded and shown.

    Values that may hold secrets (variables, headers) are recorded by their digest.
    """
    handler = subject.handler
    return {
        "event": subject.event,
        "matcher": subject.matcher,
        "name": handler.name,
        "runs": handler.command or list(handler.argv or ()),
        "timeout": handler.timeout,
        "if": handler.condition,
        "on failure": handler.on_failure,
        "in the background": handler.background,
        "options": _digest_of(dict(handler.options)),
        "variables": _digest_of(sorted(handler.env.items())),
    }


def _digest_of(value: Any) -> str | None:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if value else None


def _changed_members(entry: object, subject: Subject) -> Iterator[str]:
    """Yield the members of a definition that differ from the trusted ones."""
    before = entry.get("members") if isinstance(entry, dict) else None
    old = before if isinstance(before, dict) else {}
    shown = [
        (name, old.get(name), now)
        for name, now in _members_of(subject).items()
        if old.get(name) != now
    ]
    for name, was, now in shown:
        yield f"-{name}: {json.dumps(was, ensure_ascii=False)}"
        yield f"+{name}: {json.dumps(now, ensure_ascii=False)}"
    if not shown:
        yield "its order in the sequence changed"


def _difference(path: str, before: Mapping[str, Any] | None, now: Script | None) -> Iterator[str]:
    """Yield how one file differs from what was trusted."""
    old = before or {}
    digest = now.digest if now else None
    if old.get("sha256") == digest:
        return
    old_text, new_text = old.get("text"), now.text if now else None
    if isinstance(old_text, str) and new_text is not None:
        old_lines, new_lines = old_text.splitlines(), new_text.splitlines()
        if max(len(old_lines), len(new_lines)) <= MOST_LINES:
            titles = (f"{path} (trusted)", f"{path} (now)")
            yield from difflib.unified_diff(old_lines, new_lines, *titles, lineterm="")
            return
    yield f"{path}: was {_state(old.get('sha256'))}, is {_state(digest)}"


MOST_LINES = 5000
"""Lines of a file that are compared: that takes quadratic time."""


def _state(digest: object) -> str:
    return f"sha256 {str(digest)[:12]}" if digest else "not there"
