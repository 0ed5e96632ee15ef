"""Changes of settings files: planned as texts, and written together or not at all.

Everything that edits the settings of an agent makes `Change` objects and writes them with
`write_changes`: hooks that are added, removed, recorded, switched or migrated.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack, contextmanager, suppress
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.errors import SettingsError, UsageError
from anyhook.file_errors import explain_error
from anyhook.files import data_directory, read_user_file
from anyhook.locks import locked
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.settings.edit import read_settings
from anyhook.settings.formats import find_rejected, is_blank
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.jsonc import SettingsSyntaxError, list_at
from anyhook.settings.reader import rejected_message
from anyhook.settings.sources import SIZE_LIMIT, Location, own_places, written_file
from anyhook.settings.write import stay_inside, write_atomically
from anyhook.trust.changes import accept_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.sources import Source

SCOPES = {"project": Layer.PROJECT, "local": Layer.LOCAL, "user": Layer.USER}
"""Word of the option `--scope` to the layer whose file is edited."""
EDITABLE_LAYERS = tuple(SCOPES.values())
"""Layers whose files belong to the user."""
TURN_SECONDS = 120.0
"""Seconds that an edit waits for the edits of other processes."""


class Change(Record, kw_only=False):
    """The change of one file.

    Attributes:
        before: Its text; `None` if it does not exist.
        after: Its new text; `None` to remove it.
        why: What the change does, for people: `Add guard.py`.
        agent: The agent whose settings it holds; `None` for another file, like a new hook file.
        is_private: Whether only the user may read the file.
        is_shown: Whether people see it: not for what anyhook notes for itself.
    """

    path: Path
    before: str | None
    after: str | None
    why: str
    agent: AgentSpec | None = None
    is_private: bool = False
    is_shown: bool = True

    @property
    def has_effect(self) -> bool:
        """Whether the text changes."""
        if self.after is None:
            return self.before is not None
        return self.after != (self.before or "")

    def reversed(self) -> Change:
        """Return the change that takes this one back."""
        return self.replace(before=self.after, after=self.before)

    @property
    def rejection(self) -> str:
        """Why the agent will ignore the new text, with the place; empty if it will not."""
        if self.agent is None or self.after is None or self.path.suffix != ".json":
            return ""
        if is_blank(self.after, str(self.path)):
            return ""
        settings = read_settings(self.after, str(self.path))
        rejected = find_rejected(settings, self.agent.settings.rejected_json)
        if rejected is None:
            return ""
        return f"{self.path}:{rejected.place.line}: {rejected_message(self.agent, rejected)}"


class WrittenChanges(Record, kw_only=False):
    """What was written.

    Attributes:
        written: The files with a new text, that people are to see.
        removed: The files that are gone, likewise.
        backups: Copies of files as they were.
    """

    written: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()
    backups: tuple[Path, ...] = ()


def write_changes(changes: Iterable[Change], *, backup: bool = False) -> WrittenChanges:
    """Write changes in their order; if one fails, those before it are undone.

    Changes without effect are left out. A backup is the old text of a file in a file next to it.

    Raises:
        SettingsError: If a file changed meanwhile, is locked or cannot be written.
    """
    done: list[Change] = []
    backups: list[Path] = []
    try:
        for change in changes:
            if not change.has_effect:
                continue
            copy = _write(change, backup=backup)
            done.append(change)
            if copy is not None:
                backups.append(copy)
    except BaseException:
        for change in reversed(done):
            # The error of the change that failed is the one to report.
            with suppress(SettingsError):
                _write(change.reversed())
        raise
    with suppress(OSError):  # then a guard reports what anyhook has written
        accept_files([change.path for change in done])
    visible = [change for change in done if change.is_shown]
    written = tuple(dict.fromkeys(change.path for change in visible if change.after is not None))
    removed = tuple(change.path for change in visible if change.after is None)
    return WrittenChanges(written, removed, tuple(backups))


def _write(change: Change, *, backup: bool = False) -> Path | None:
    return write_atomically(
        change.path,
        change.after,
        expected=change.before,
        backup=backup,
        is_private=change.is_private,
    )


@contextmanager
def exclusive_edits() -> Iterator[None]:
    """Wait until other processes of anyhook have written their changes, and hold up later ones.

    A command reads the settings and writes them later. Of several commands at the same time all but
    one would find another text then, and give up.

    Raises:
        SettingsError: If another process holds up this one for minutes.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(data_directory() / "edits", timeout=TURN_SECONDS))
        except TimeoutError as error:
            message = "another process of anyhook edits settings for minutes; try again later"
            raise SettingsError(message, path=str(error.filename)) from error
        except OSError:
            pass  # what is written is still compared with what was read
        yield


# -- reading what is going to be changed


def settings_file(agent: AgentSpec, project: Path, scope: str) -> Path:
    """Return the settings file of an agent for a scope, a key of `SCOPES`.

    If it does not exist, and the hooks are in a file of another format next to it, that one.

    Raises:
        UsageError: If the scope does not exist, or the agent has no file for it.
        SettingsError: If a link of the repository leads out of the project.
    """
    if scope not in SCOPES:
        raise UsageError(f"--scope is {', '.join(SCOPES)}, not {scope!r}")
    location = Location.of(project, agent)
    path = written_file(agent, location, SCOPES[scope])
    if path is None:
        raise UsageError(f"{agent.title} has no settings of the scope {scope!r}")
    if not path.exists():
        neighbors = [
            other
            for _layer, other in own_places(agent, location)
            if other.parent == path.parent and other.suffix != path.suffix and other.exists()
        ]
        for file in load_hook_set(agent, location).files if neighbors else ():
            if file.source.path in neighbors and file.definitions:
                path = file.source.path
                break
    if scope != "user":
        stay_inside(project, path)
    return path


def read_text(path: Path) -> str | None:
    """Return the text of a settings file; `None` if there is none.

    Raises:
        SettingsError: If it cannot be read, is not UTF-8, has not the format of its name, does
            not hold an object, or is too large to have been written by people.
    """
    try:
        content = read_user_file(path, SIZE_LIMIT)
        text = content.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"it cannot be read: {explain_error(path, error)}; it was not changed"
        raise SettingsError(message, path=str(path)) from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"it cannot be read: it is not UTF-8 at byte {error.start}; it was not changed",
            path=str(path),
            line=content.count(b"\n", 0, error.start) + 1,
        ) from error
    parsed(text, path)
    return text


def read_record(record: Path, member: str) -> list[dict[str, Any]]:
    """Return the entries of a record about settings; none if the file does not exist.

    Raises:
        SettingsError: If it cannot be read.
    """
    try:
        value = json.loads(read_user_file(record, SIZE_LIMIT))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        cause = f"{error}; repair or delete it"
        if isinstance(error, OSError):
            cause = explain_error(record, error)
        message = f"it cannot be read: {cause}"
        raise SettingsError(message, path=str(record)) from error
    return [entry for entry in list_at(value, (member,)) if isinstance(entry, dict)]


def record_change(
    record: Path,
    member: str,
    entries: list[dict[str, Any]],
    why: str,
    *,
    is_private: bool,
    is_shown: bool = True,
) -> Change:
    """Return the change that makes these the entries of a record; without any, it is removed."""
    before = read_user_file(record, SIZE_LIMIT).decode() if record.exists() else None
    # A private record holds paths, which need not be UTF-8.
    text = json.dumps({member: entries}, indent=2, ensure_ascii=is_private) + "\n"
    after = text if entries else None
    return Change(record, before, after, why, is_private=is_private, is_shown=is_shown)


def read_source(source: Source, project: Path) -> str | None:
    """Return the text of a settings file that was loaded; `None` if it is gone.

    Raises:
        SettingsError: As `read_text`, or if a link of the repository leads out of the project.
    """
    if source.layer is not Layer.USER:
        stay_inside(project, source.path)
    return read_text(source.path)


def parsed(text: str, path: Path) -> Any:
    """Return the value of a settings file; an empty object for a file without a value.

    Raises:
        SettingsError: If it has not the format of its name, or does not hold an object.
    """
    try:
        is_empty = is_blank(text, str(path))
    except SettingsSyntaxError:
        is_empty = False
    return {} if is_empty else read_settings(text, str(path)).value


# -- exact undos


class Undo(NamedTuple):
    """What gives back the text before an edit, bound to the text that the edit left.

    Attributes:
        digest: The hash of the text after the edit.
        at: Characters before the part that differs.
        length: Characters of this part after the edit.
        former: This part before the edit.
    """

    digest: str
    at: int
    length: int
    former: str

    @classmethod
    def of(cls, before: str, after: str) -> Undo:
        """Return the undo of an edit."""
        start = _common_length(before, after)
        end = _common_length(before[start:][::-1], after[start:][::-1])
        length = len(after) - start - end
        return cls(_digest_of(after), start, length, before[start : len(before) - end])

    @classmethod
    def read(cls, value: Any) -> Undo | None:
        """Return an undo that was written as JSON; `None` if it is not one."""
        types = (str, int, int, str)
        if not isinstance(value, list) or len(value) != len(types):
            return None
        return cls(*value) if all(map(isinstance, value, types)) else None

    def restore(self, text: str) -> str | None:
        """Return the text before the edit; `None` if the text was changed since."""
        if _digest_of(text) != self.digest:
            return None
        return text[: self.at] + self.former + text[self.at + self.length :]


def _common_length(first: str, second: str) -> int:
    return len(commonprefix([first, second]))  # noqa: RUF071 - texts, not paths


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
