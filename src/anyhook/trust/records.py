"""What is recorded about the hooks of one project, and how the hooks differ from it now.

The texts of files are recorded with their digests, so that a change can be shown.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.model.record import Record
from anyhook.trust.trees import read_script, read_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from anyhook.model.diagnostics import Diagnostic
    from anyhook.trust.subjects import TrustSubject
    from anyhook.trust.trees import Script, Tree

MAX_TEXT = 8 * 1024 * 1024
"""Characters of files that are kept to show differences; the others are bound by their hash."""
MAX_DIFF_LINES = 5000
"""Lines of a file that are compared: that takes quadratic time."""


class RecordedFile(NamedTuple):
    """A file as it was trusted, or as it is.

    Attributes:
        digest: See `Script.digest`.
        text: Its content, if it is short enough to be recorded.
    """

    digest: str | None
    text: str | None


ABSENT = RecordedFile(digest=None, text=None)


class TrustChange(Record, kw_only=False):
    """What differs from what was trusted.

    Attributes:
        what: `new`, `definition` if the settings changed what was trusted, or `script` if only
            files changed.
        key: Key of the definition that was trusted.
    """

    subject: TrustSubject
    what: str
    records: Records | None = None
    key: str = ""

    @property
    def newly_loaded(self) -> tuple[str, ...]:
        """The files that the hook was seen to load, and that were not known when it was trusted."""
        if self.records is None:
            return ()
        before = object_member(self.records.entries.get(self.key), "scripts")
        scripts = self.subject.scripts
        files = [str(script.path) for script in scripts if script.digest is not None]
        return tuple(path for path in files if path in self.subject.observed and path not in before)

    @cached_property
    def difference(self) -> tuple[str, ...]:
        """Lines of a unified difference, computed on first use because that takes time."""
        if self.records is None:
            return ()
        return tuple(self.records.differences(self.subject, self.key))


class Records:
    """What is recorded about one project.

    By the key of a definition it has what was trusted, and by digest the files of a directory as
    they were. The file may hold anything, so every value is checked before it is used.
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

    def has_definition(self, key: str) -> bool:
        """Return whether a definition was trusted, regardless of its files."""
        return isinstance(self.entries.get(key), dict)

    def compare(
        self,
        subject: TrustSubject,
        current_keys: Collection[str] = (),
        *,
        agent: str = "",
        confirmed: Collection[str] = (),
    ) -> TrustChange | None:
        """Compare a subject with what was trusted; `None` if it is the same.

        A definition that is gone, because its key is not among the current keys of the agent, may
        have become this one. Changes of confirmed files do not count.
        """
        if not self.has_definition(subject.key):
            former_key = self._former_key(subject, current_keys, agent)
            if former_key is None:
                return TrustChange(subject, "new")
            return TrustChange(subject, "definition", self, former_key)
        entry = self.entries[subject.key]
        before = _recorded_files(entry, "scripts")
        now = {str(script.path): script.digest for script in subject.scripts}
        compared = (before.keys() | now.keys()).difference(confirmed)
        # A file that never existed may be named or not.
        has_same_scripts = all(
            before.get(path, ABSENT).digest == now.get(path) for path in compared
        )
        if has_same_scripts and self._has_same_trees(entry, subject, confirmed):
            return None
        return TrustChange(subject, "script", self, subject.key)

    def _has_same_trees(
        self, entry: Mapping[str, Any], subject: TrustSubject, confirmed: Collection[str]
    ) -> bool:
        digests = object_member(entry, "trees")
        if digests == tree_digests(subject):
            return True
        if digests.keys() != tree_digests(subject).keys():
            return False
        for tree in subject.trees:
            if tree.digest != digests[str(tree.root)]:
                names = self._changed_names(str(digests[str(tree.root)]), tree)
                changed = {f"{tree.root}/{name}" for name in names}
                # The digest also covers directories of packages.
                if not changed or not changed <= set(confirmed):
                    return False
        return True

    def _changed_names(self, digest: str, tree: Tree) -> list[str]:
        """Return the files of a directory that are not as they were trusted, in order."""
        before = _recorded_files(self.trees, digest)
        names: list[str] = []
        for name in sorted({*before, *tree.files}):
            script = tree.files.get(name)
            digest_now = script.digest if script is not None else None
            if before.get(name, ABSENT).digest != digest_now:
                names.append(name)
        return names

    def _former_key(
        self, subject: TrustSubject, current_keys: Collection[str], agent: str
    ) -> str | None:
        """Return the key of a trusted definition that is gone and became this one.

        It was on the same event, and had the same command or the same name.
        """
        if not self.entries:
            return None
        now = definition_members(subject)
        for key, entry in self.entries.items():
            before = object_member(entry, "members")
            if not before:  # of something that anyhook did not write
                continue
            is_gone = key not in current_keys
            has_same_command = before.get("runs") == now["runs"]
            has_same_name = bool(now["name"]) and before.get("name") == now["name"]
            is_same = before.get("event") == now["event"] and (has_same_command or has_same_name)
            # The same file is often the hook of several agents, each with its own definition.
            is_of_agent = not agent or entry.get("agent", "") in ("", agent)
            if is_gone and is_of_agent and is_same:
                return key
        return None

    def differences(self, subject: TrustSubject, key: str = "") -> Iterator[str]:
        """Yield the lines of a difference between what was trusted and what is there.

        The key is that of the definition that was trusted; by default the one of the handler.
        """
        entry = self.entries.get(key or subject.key)
        if key and key != subject.key:
            members = object_member(entry, "members")
            members_now = definition_members(subject)
            changed = [name for name in members_now if members.get(name) != members_now[name]]
            if not changed:
                # The key of a definition also holds the order, which is not recorded as a member.
                yield "its order in the sequence changed"
            for name in changed:
                yield f"-{name}: {json.dumps(members.get(name), ensure_ascii=False)}"
                yield f"+{name}: {json.dumps(members_now[name], ensure_ascii=False)}"
        before = _recorded_files(entry, "scripts")
        named = {str(script.path) for script in subject.scripts}
        no_longer_named = [read_script(Path(path)) for path in before if path not in named]
        for script in (*subject.scripts, *no_longer_named):
            path = str(script.path)
            date = subject.observed.get(path)
            recorded = before.get(path, ABSENT)
            if date is not None and recorded.digest is None and script.digest is not None:
                yield f"{path}: was loaded in a run on {date}; not seen before"
                recorded = RecordedFile(None, "")
            yield from _file_difference(path, recorded, _recorded(script))
        yield from self._tree_differences(object_member(entry, "trees"), subject, named)

    def _tree_differences(
        self, digests: Mapping[str, Any], subject: TrustSubject, named: Collection[str]
    ) -> Iterator[str]:
        """Yield what differs in directories, but not of named files: those were compared."""
        current = {str(tree.root): tree for tree in subject.trees}
        roots = dict.fromkeys((*digests, *current))
        for root in roots:
            tree = current.get(root)
            if tree is None:
                tree = read_tree(Path(root))
            if tree.digest == digests.get(root):
                continue
            digest = str(digests.get(root))
            before = _recorded_files(self.trees, digest)
            names = self._changed_names(digest, tree)
            for name in names:
                path = f"{root}/{name}"
                if path not in named:
                    script = tree.files.get(name)
                    now = _recorded(script) if script is not None else ABSENT
                    yield from _file_difference(path, before.get(name, ABSENT), now)
            if not names:
                # The digest also covers directories of packages.
                yield f"{root}: a file in it changed"


def _recorded(script: Script) -> RecordedFile:
    return RecordedFile(script.digest, script.text)


def object_member(holder: object, key: str) -> dict[str, Any]:
    """Return an object in an object of the store; empty if it is none."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def _recorded_files(holder: object, key: str) -> dict[str, RecordedFile]:
    """Return the files that an object of the store lists."""
    files: dict[str, RecordedFile] = {}
    member = object_member(holder, key)
    for name in member:
        file = object_member(member, name)
        files[name] = RecordedFile(file.get("sha256"), file.get("text"))
    return files


def tree_digests(subject: TrustSubject) -> dict[str, str]:
    """Return the directories of a handler with their digests, as they are recorded."""
    return {str(tree.root): tree.digest for tree in subject.trees}


def record_subjects(
    subjects: Iterable[TrustSubject], agent: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries and trees to record for subjects: see `Records`."""
    characters_left = MAX_TEXT
    entries: dict[str, Any] = {}
    trees: dict[str, Any] = {}

    def record(script: Script) -> dict[str, str | None]:
        nonlocal characters_left
        characters_left -= len(script.text or "")
        # A file without its text is bound too, but a difference only shows its digest.
        text = script.text if characters_left >= 0 else None
        return {"sha256": script.digest, "text": text}

    for subject in subjects:
        entries[subject.key] = {
            "agent": agent,
            "command": subject.handler.identifier,
            "members": definition_members(subject),
            "scripts": {str(script.path): record(script) for script in subject.scripts},
            "trees": tree_digests(subject),
        }
        for tree in subject.trees:
            if tree.digest not in trees:
                files = tree.files.items()
                trees[tree.digest] = {name: record(script) for name, script in files}
    return entries, trees


def definition_members(subject: TrustSubject) -> dict[str, Any]:
    """Return what the settings say of a handler, as it is recorded and shown.

    Values that may hold secrets (variables, headers) are recorded by their digest.
    """
    handler = subject.handler
    members: dict[str, Any] = {}
    if handler.cwd is not None:
        members["directory"] = handler.cwd
    members |= {
        "event": subject.event,
        "matcher": subject.matcher,
        "name": handler.name,
        "runs": handler.command or list(handler.argv or ()),
        "timeout": handler.timeout,
        "if": handler.condition,
        "on failure": handler.on_failure,
        "in the background": handler.background,
        "options": _short_digest(dict(handler.options)),
        "variables": _short_digest(sorted(handler.env.items())),
    }
    return members


def _short_digest(value: Any) -> str | None:
    if not value:
        return None
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _file_difference(path: str, before: RecordedFile, now: RecordedFile) -> Iterator[str]:
    """Yield how one file differs from what was trusted."""
    if before.digest == now.digest:
        return
    # The store may hold anything in place of the text.
    if isinstance(before.text, str) and now.text is not None:
        # `splitlines` knows more line ends than shells do: a comment that became a command in a
        # line of its own would be no difference.
        old_lines = before.text.split("\n")
        new_lines = now.text.split("\n")
        if not old_lines[-1] and not new_lines[-1]:
            # What follows the last line end of both is not a line.
            del old_lines[-1], new_lines[-1]
        if max(len(old_lines), len(new_lines)) <= MAX_DIFF_LINES:
            titles = (f"{path} (trusted)", f"{path} (now)")
            yield from difflib.unified_diff(old_lines, new_lines, *titles, lineterm="")
            return
    yield f"{path}: was {_shown_digest(before.digest)}, is {_shown_digest(now.digest)}"


def _shown_digest(digest: object) -> str:
    if not digest:
        return "not there"
    return f"sha256 {str(digest)[:12]}"
