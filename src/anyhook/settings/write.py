"""Atomic replacement of a user's settings file, with locks and backups."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import stat
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.atomic_write import remove_leftovers, replace_file
from anyhook.errors import SettingsError
from anyhook.file_errors import explain_error
from anyhook.files import read_user_file
from anyhook.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds. An agent touches a lock while it holds it, so an older one was left by a killed process.
STALE_LOCK_AGE = 10.0


def stay_inside(project: Path, path: Path) -> None:
    """Refuse to edit a file of the project that a link of the repository puts elsewhere.

    Raises:
        SettingsError: If the path leads out of the project.
    """
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(os.path.realpath(project)):
        message = (
            f"a link leads to {real}, outside the project; it was not changed; replace the link by "
            "what it leads to"
        )
        raise SettingsError(message, path=str(path))


def write_atomically(
    path: Path,
    text: str | None,
    *,
    expected: str | None,
    backup: bool = False,
    is_private: bool = False,
) -> Path | None:
    """Replace a file's content in one step, keeping its mode and following links.

    A missing directory is created. The text `None` removes the file, and the expected content
    `None` stands for a file that does not exist yet. A backup keeps the present content in a file
    next to it (`NAME.bak`, `NAME.bak1`, …), whose path is returned. A private file, and its
    directory if that is created, only the user can read.

    Raises:
        SettingsError: If the file has another content by now, another process of anyhook or an
            agent (`NAME.lock` next to it) is editing it, or it cannot be written. Then the file is
            unchanged.
    """
    real = Path(os.path.realpath(path))
    before = None if expected is None else expected.encode()
    try:
        real.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if is_private else 0o777)
        # The mode is checked too: the system would let an administrator write the file.
        if real.exists() and not (os.access(real, os.W_OK) and real.stat().st_mode & 0o222):
            remedy = f"chmod u+w {shlex.quote(str(path))}"
            raise PermissionError(errno.EACCES, f"it is read-only; run: {remedy}", str(path))
        with _signals_blocked(), locked(real), _locked_for_agents(real, path):
            if not _has_content(real, before):
                message = "it changed while it was being edited; try again"
                raise SettingsError(message, path=str(path))
            remove_leftovers(real)
            if text is None:
                path.unlink(missing_ok=True)
                return None
            if before is None or not backup:
                replace_file(real, text.encode(), mode=0o600 if is_private else None)
                return None
            with _backed_up(real, before) as copy:
                replace_file(real, text.encode(), mode=0o600 if is_private else None)
            return copy
    except OSError as error:
        cause = explain_error(path, error, "change")
        message = f"it cannot be written ({cause}); it was not changed"
        raise SettingsError(message, path=str(path)) from error


def _has_content(path: Path, content: bytes | None) -> bool:
    """Return whether a file has a content; `None` stands for a file that does not exist."""
    try:
        return read_user_file(path, len(content or b"")) == content
    except FileNotFoundError:
        return content is None
    except OSError as error:
        if error.errno == errno.EFBIG:
            return False
        raise


@contextmanager
def _backed_up(path: Path, content: bytes) -> Iterator[Path]:
    """Copy a file to an unused name next to it while it is changed; the copy stays if it was.

    An older copy with the same content is used again.
    """
    for number in count():
        copy = path.with_name(f"{path.name}.bak{number or ''}")
        if _is_copy(copy, content):
            yield copy
            return
        if not os.path.lexists(copy):
            break
    status = path.stat()
    try:
        replace_file(copy, content, mode=stat.S_IMODE(status.st_mode))
        with suppress(OSError):  # only an administrator may change the owner
            os.chown(copy, status.st_uid, status.st_gid)
        yield copy
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


def _is_copy(path: Path, content: bytes) -> bool:
    try:
        return not path.is_symlink() and read_user_file(path, len(content)) == content
    except OSError:
        return False


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Delay signals, so that none interrupts between writing and cleaning up."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    delayed = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, delayed)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _locked_for_agents(real: Path, path: Path) -> Iterator[None]:
    """Hold the directory `NAME.lock` next to the file, which is how agents lock their files.

    A directory outlives a process that is killed, so a stale one is replaced. Other processes of
    anyhook cannot interfere: the caller holds the lock that excludes them.
    """
    lock = real.with_name(f"{real.name}.lock")
    if not _acquire(lock):
        message = f"another program is editing it ({lock.name} is there); it was not changed"
        raise SettingsError(message, path=str(path))
    try:
        yield
    finally:
        with suppress(OSError):  # another program removed it, or put a file into it
            lock.rmdir()


def _acquire(lock: Path) -> bool:
    for _ in range(2):
        try:
            lock.mkdir()
        except FileExistsError:
            try:
                age = abs(time.time() - lock.lstat().st_mtime)
            except FileNotFoundError:  # it was released just now
                continue
            if age < STALE_LOCK_AGE:
                return False
            with suppress(FileNotFoundError):
                lock.rmdir()
        else:
            return True
    return False
