"""Edits of a user's settings file that keep comments, order and indentation, atomically.

Every edit is checked before it is written: the new text must parse to exactly what was meant. If
it does not, or if the file changed meanwhile, nothing is written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import signal
import stat
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.atomic_write import replace_file
from anyhook.errors import SettingsError
from anyhook.files import locked, read_user_file
from anyhook.settings.jsonc import (
    Document,
    JsonSyntaxError,
    comma_after,
    end_of_line_comment,
    line_starts,
    parse,
    strip_comments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.settings.jsonc import Path as JsonPath

DEFAULT_INDENT = "  "
STALE = 10.0
"""Seconds after which the lock of an agent is stale: an agent touches a lock that it holds."""


def add_item(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Append a value to the list at a path; lists and objects on the way are made as needed.

    Args:
        text: A settings file.
        path: Keys to the list, and indexes of items that are there.
        value: JSON.
        file: For the message of an error.

    Returns:
        The new text; the same text if the list has the value already.

    Raises:
        SettingsError: If the file is no JSON, or something on the way is no object.
    """
    text = _with_object(text)
    document = read_settings(text, file)
    wanted = json.loads(json.dumps(document.value))
    target, missing = _follow(document, path)
    items = _make(wanted, path, file, document)
    if value in items:
        return text
    items.append(value)
    if missing:
        new: Any = [value]
        for step in reversed(missing[1:]):
            new = {step: new}
        changed = _append(document, target, new, key=missing[0])
    else:
        changed = _append(document, target, value)
    return _checked(changed, wanted, file)


def set_member(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Set a member that is not there yet; objects on the way are made as needed.

    Args:
        text: A settings file.
        path: Keys to the member.
        value: JSON.
        file: For the message of an error.

    Returns:
        The new text; the same text if the member has the value already.

    Raises:
        SettingsError: If the file is no JSON, the member has another value, or something on the
            way is no object.
    """
    text = _with_object(text)
    document = read_settings(text, file)
    target, missing = _follow(document, path)
    shown = ".".join(map(str, path))
    if not missing:
        if json.loads(document.plain[target : _end(document, path)]) == value:
            return text
        line = document.place(path).line
        raise SettingsError(f"{shown} has another value; change it yourself", path=file, line=line)
    wanted = json.loads(json.dumps(document.value))
    holder: Any = wanted
    for step in path[:-1]:
        holder = holder.setdefault(step, {}) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        raise SettingsError(f"{shown} is inside something that is no object", path=file)
    holder[path[-1]] = value
    new = value
    for step in reversed(missing[1:]):
        new = {step: new}
    return _checked(_append(document, target, new, key=missing[0]), wanted, file)


def _end(document: Document, path: JsonPath) -> int:
    """Return where the value at a path ends."""
    at = document.offset(path[:-1])
    return next(s.end for s in reversed(document.children(at)) if s.step == path[-1])


def remove_item(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Remove every occurrence of a value from the list at a path.

    Returns:
        The new text; the same text if the list is not there or lacks the value.

    Raises:
        SettingsError: If the file is no JSON.
    """
    while True:
        document = read_settings(text, file)
        target, missing = _follow(document, path)
        if missing or document.plain[target] != "[":
            return text
        spans = document.children(target)
        values = [json.loads(document.plain[s.start : s.end]) for s in spans]
        if value not in values:
            return text
        index = values.index(value)
        wanted = json.loads(json.dumps(document.value))
        _make(wanted, path, file, document).remove(value)
        text = _checked(_without(document, target, index), wanted, file)


def remove_member(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove the member at a path.

    Returns:
        The new text; the same text if there is no such member.

    Raises:
        SettingsError: If the file is no JSON.
    """
    document = read_settings(text, file)
    at, missing = _follow(document, path[:-1])
    steps = [span.step for span in document.children(at)] if not missing else []
    if path[-1] not in steps:
        return text
    wanted = json.loads(json.dumps(document.value))
    holder: Any = wanted
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    index = len(steps) - 1 - steps[::-1].index(path[-1])
    return _checked(_without(document, at, index), wanted, file)


def prune(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove an empty list or object at a path, and the objects around it that become empty.

    One that holds a comment stays.

    Raises:
        SettingsError: If the file is no JSON.
    """
    while path:
        document = read_settings(text, file)
        at, missing = _follow(document, path)
        if missing or document.plain[at] not in "[{":
            return text
        content = text[at : _closing(document, at) + 1]
        if content[1:-1].strip():
            return text
        text = _collapsed(remove_member(text, path, file=file), path[:-1], file)
        path = path[:-1]
    return text


def _collapsed(text: str, path: JsonPath, file: str) -> str:
    """Write an object that holds nothing, not even a comment, as `{}`."""
    document = read_settings(text, file)
    at, _ = _follow(document, path)
    end = _closing(document, at)
    is_empty = document.plain[at] == "{" and not text[at + 1 : end].strip()
    return text[: at + 1] + text[end:] if is_empty else text


def stay_inside(project: Path, path: Path) -> None:
    """Refuse to edit a file of the project that a link of the repository puts elsewhere.

    Raises:
        SettingsError: If the path leads out of the project.
    """
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(os.path.realpath(project)):
        raise SettingsError(
            f"a link leads to {real}, outside the project; it was not touched", path=str(path)
        )


def write_atomically(
    path: Path, text: str, *, expected: str | None, backup: bool = False
) -> Path | None:
    """Replace a file's content in one step, keeping its mode and following links.

    Args:
        path: The file; its directory is made if it is missing.
        text: The new content, written as UTF-8 as it is.
        expected: What the file holds now, or `None` if it must not exist yet.
        backup: Keep what it holds now in a file beside it (`NAME.bak`, `NAME.bak1`, …).

    Returns:
        The file that keeps what was there before; `None` if nothing had to be kept.

    Raises:
        SettingsError: If the file holds something else by now, another process of anyhook or an
            agent (`NAME.lock` beside it) is editing it, or it cannot be written. Then the file is
            as it was.
    """
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        _refuse_read_only(real, path)
        with _uninterrupted(), locked(real), _locked_for_agents(real, path):
            before = None if expected is None else expected.encode()
            if not _is_still(real, before):
                told = "it changed while it was being edited; try again"
                raise SettingsError(told, path=str(path))
            kept, is_new = _keep(real, before) if backup and before is not None else (None, False)
            try:
                replace_file(real, text.encode())
            except BaseException:
                if kept and is_new and _is_still(real, before):
                    kept.unlink(missing_ok=True)
                raise
    except OSError as error:
        told = f"it cannot be written ({error.strerror}); it was not changed"
        raise SettingsError(told, path=str(path)) from error
    return kept


def _refuse_read_only(real: Path, path: Path) -> None:
    """Refuse a file whose mode says so; the system would let an administrator write it."""
    if real.exists() and not (os.access(real, os.W_OK) and real.stat().st_mode & 0o222):
        raise SettingsError("it is read-only; it was not changed", path=str(path))


def _is_still(real: Path, before: bytes | None) -> bool:
    """Read the file again and tell whether it holds what it held before."""
    try:
        return read_user_file(real, len(before or b"")) == before
    except FileNotFoundError:
        return before is None
    except OSError as error:
        if error.errno == errno.EFBIG:  # it holds more
            return False
        raise


def _keep(real: Path, before: bytes) -> tuple[Path, bool]:
    """Keep what a file holds under a name that nobody has.

    Returns:
        The file that keeps it, and whether it was made for that.
    """
    status = real.stat()
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(8)}")
    try:
        replace_file(temporary, before, mode=stat.S_IMODE(status.st_mode))
        with suppress(OSError):  # only an administrator may give files away
            os.chown(temporary, status.st_uid, status.st_gid)
        for number in count():
            copy = real.with_name(f"{real.name}.bak{number or ''}")
            if _keeps(copy, before):
                return copy, False  # it was kept already
            with suppress(FileExistsError):
                _take_name(temporary, copy)
                return copy, True
    finally:
        temporary.unlink(missing_ok=True)
    raise AssertionError


def _take_name(temporary: Path, copy: Path) -> None:
    """Give a file a name, unless somebody has it: no file is ever overwritten."""
    try:
        os.link(temporary, copy)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(copy):
            raise FileExistsError from None
        temporary.replace(copy)


def _keeps(copy: Path, before: bytes) -> bool:
    """Tell whether a file, and no link to another one, holds this already."""
    try:
        return not copy.is_symlink() and read_user_file(copy, len(before)) == before
    except OSError:
        return False


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait: none may come between what is written and what is tidied up."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _locked_for_agents(real: Path, path: Path) -> Iterator[None]:
    """Hold a directory beside the file, which is how agents lock their files.

    A directory outlives a process that is killed. One that its owner has not touched for `STALE`
    seconds is taken over; the caller holds the lock that excludes other processes of anyhook.
    """
    lock = real.with_name(f"{real.name}.lock")
    if not _take(lock):
        told = f"another program is editing it ({lock.name} is there); it was not changed"
        raise SettingsError(told, path=str(path))
    try:
        yield
    finally:
        with suppress(OSError):  # another program removed it, or put a file into it
            lock.rmdir()


def _take(lock: Path) -> bool:
    """Make the directory, in place of one that was left behind if need be."""
    for _ in range(2):
        try:
            lock.mkdir()
        except FileExistsError:
            if _is_held(lock):
                return False
            with suppress(FileNotFoundError):
                lock.rmdir()
        else:
            return True
    return False


def _is_held(lock: Path) -> bool:
    try:
        return abs(time.time() - lock.lstat().st_mtime) < STALE
    except FileNotFoundError:  # it was given back just now: the next attempt will do
        return True


def _with_object(text: str) -> str:
    """Give a file that holds nothing, or comments alone, an object to add to."""
    try:
        holds_nothing = not strip_comments(text).strip()
    except JsonSyntaxError:  # to be told with its line, when it is parsed
        return text
    if holds_nothing:
        return text + ("\n" if text and not text.endswith("\n") else "") + "{}\n"
    return text


def read_settings(text: str, file: str) -> Document:
    """Parse a settings file.

    Raises:
        SettingsError: If it is no JSON with comments, or holds no object.
    """
    try:
        document = parse(text, file)
    except JsonSyntaxError as problem:
        line = sum(start <= problem.offset for start in line_starts(text))
        raise SettingsError(f"{problem}; it was not changed", path=file, line=line) from None
    if not isinstance(document.value, dict):
        raise SettingsError("it must hold an object; it was not changed", path=file)
    return document


def _follow(document: Document, path: JsonPath) -> tuple[int, tuple[str | int, ...]]:
    """Return the offset of the deepest container on the path, and the steps that are missing."""
    at = document.offset(())
    for done, step in enumerate(path):
        span = next((s for s in reversed(document.children(at)) if s.step == step), None)
        if span is None:
            return at, path[done:]
        at = span.start
    return at, ()


def _make(value: Any, path: JsonPath, file: str, document: Document) -> list[Any]:
    for done, step in enumerate(path):
        if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
            continue
        if not isinstance(value, dict) or isinstance(step, int):
            shown = ".".join(map(str, path[:done]))
            kind = f"a list with an item {step}" if isinstance(step, int) else "an object"
            raise SettingsError(
                f"{shown} must be {kind}; it was not changed",
                path=file,
                line=document.place(path[:done]).line,
            )
        value = value.setdefault(step, [] if done == len(path) - 1 else {})
    if not isinstance(value, list):
        raise SettingsError(
            f"{'.'.join(map(str, path))} must be a list; it was not changed",
            path=file,
            line=document.place(path).line,
        )
    return value


def _append(document: Document, at: int, value: Any, *, key: str | int | None = None) -> str:
    text = document.text
    unit, newline = _indent_unit(text), "\r\n" if "\r\n" in text else "\n"
    spans = document.children(at)
    close = _closing(document, at)
    last = spans[-1].end if spans else at + 1
    own_line = "\n" in text[at : spans[0].key if spans else close]
    outer = _indent_at(text, at)
    inner = _indent_at(text, spans[-1].key) if spans and own_line else outer + unit
    compact = not own_line and (bool(spans) or key is None)
    entry = _render(value, key, None if compact else inner, unit, newline)
    if compact:
        return text[:last] + (", " if spans else "") + entry + text[last:]
    if not own_line and not spans:
        kept = text[last:close].strip()
        kept = newline + inner + kept if kept else ""
        return text[:last] + kept + newline + inner + entry + newline + outer + text[close:]
    comma = comma_after(document, last, close) if spans else None
    after = end_of_line_comment(document, last if comma is None else comma + 1)
    head = text[:last] + ("," if spans and comma is None else "") + text[last:after]
    tail = "," if comma is not None else ""
    rest = text[after:]
    if not rest.lstrip(" \t").startswith(("\n", "\r")):
        rest = newline + outer + rest.lstrip(" \t")
    return head + newline + inner + entry + tail + rest


def _without(document: Document, at: int, index: int) -> str:
    text, spans = document.text, document.children(at)
    span = spans[index]
    following = spans[index + 1].key if index + 1 < len(spans) else _closing(document, at)
    comma = comma_after(document, span.end, following)
    if comma is None and index > 0:
        comma = comma_after(document, spans[index - 1].end, span.key)
    cuts = [(span.key, span.end)] + ([(comma, comma + 1)] if comma is not None else [])
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    at_cut = span.key - (1 if comma is not None and comma < span.key else 0)
    line_start = text.rfind("\n", 0, at_cut) + 1
    line_end = text.find("\n", at_cut)
    if line_end >= 0 and not text[line_start:line_end].strip():
        return text[:line_start] + text[line_end + 1 :]
    before, after = text[at_cut - 1 : at_cut], text[at_cut : at_cut + 1]
    if after == " " and before in ("[", " "):
        return text[:at_cut] + text[at_cut + 1 :]
    opened = text[at_cut - 2 : at_cut - 1] in ("/", "[", "{")
    if after in ("]", "}") and before == " " and not opened:
        return text[: at_cut - 1] + text[at_cut:]
    return text


def _closing(document: Document, at: int) -> int:
    spans = document.children(at)
    pattern = re.compile(r"[^}\]]*")
    match = pattern.match(document.plain, spans[-1].end if spans else at + 1)
    return match.end() if match else at + 1


def _render(value: Any, key: str | int | None, indent: str | None, unit: str, newline: str) -> str:
    layout = None if indent is None else unit
    body = json.dumps(value, ensure_ascii=False, indent=layout)
    try:
        body.encode()
    except UnicodeEncodeError:  # halves of characters can only be escaped
        body = json.dumps(value, indent=layout)
    if indent is not None:
        body = body.replace("\n", newline + indent)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _indent_unit(text: str) -> str:
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match else DEFAULT_INDENT


def _indent_at(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:]) - len(text[start:].lstrip(" \t"))]


def _checked(text: str, wanted: Any, file: str) -> str:
    """Return the text if it says what was meant: the last defence of a user's file."""
    try:
        as_meant = parse(text, file).value == wanted
    except JsonSyntaxError:
        as_meant = False
    if not as_meant:
        raise SettingsError("the edit would change more than was asked; not changed", path=file)
    return text
