"""Detects whether a file changed since it was read, without reading it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anyhook.files import changed_within_tick, identity_of
from anyhook.model.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.files import FileIdentity


class FileStamp(Record, kw_only=False):
    """The identity of a file at one time.

    Attributes:
        identity: Device, inode, size and times of the file; `None` if it does not exist.
        taken_at: When the identity was taken, in nanoseconds since the epoch.
    """

    path: Path
    identity: FileIdentity
    taken_at: int

    @classmethod
    def take(cls, path: Path) -> FileStamp:
        """Take the stamp of a file; call it before the file is read."""
        taken_at = time.time_ns()
        return cls(path, identity_of(path), taken_at)

    @property
    def is_settled(self) -> bool:
        """Whether every later edit changes the identity, given the clock of the file system."""
        return not changed_within_tick(self.identity, self.taken_at)

    def is_current(self) -> bool:
        """Return whether the file certainly did not change since."""
        return self.is_settled and identity_of(self.path) == self.identity
