"""New versions of guards, merged with what the user changed in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from anyhook.errors import UsageError
from anyhook.manage.guard_files import GuardCopy, GuardFile, digest, released_text
from anyhook.settings.changes import Change

MARKER_SIZE = 40
"""Characters of the marks around a conflict: no guard has a line of so many of them."""
MAX_CONFLICTS = 127
"""`git merge-file` exits with the number of conflicts, at most this; any other code is an error."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both the user and a new version changed.

    Attributes:
        line: Number of the first of the user's lines in the copy; `None` if the user removed them.
        yours: The lines of the copy.
        released: The lines of the new version.
    """

    line: int | None
    yours: tuple[str, ...]
    released: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GuardUpdate:
    """What a new version of a guard changes in a copy.

    Attributes:
        guard: The guard, as it comes with anyhook now.
        change: The change of the copy; it has no effect if the copy is current, or in a conflict.
        conflicts: Where the user and the new version changed the same lines.
    """

    guard: GuardFile
    copy: GuardCopy
    change: Change
    conflicts: tuple[Conflict, ...] = ()

    @property
    def state(self) -> str:
        """What becomes of the copy: `current`, `updated`, `merged` or `conflict`."""
        if self.conflicts:
            return "conflict"
        if not self.change.has_effect:
            return "current"
        return "merged" if self.copy.is_edited else "updated"


def plan_update(guard: GuardFile, copy: GuardCopy) -> GuardUpdate:
    """Return what the present version of a guard changes in a copy.

    Raises:
        UsageError: If the user changed the copy, and it cannot be merged: the version of which it
            is a copy is not known, or git is missing.
    """
    header = guard.copy.partition("\n")[0]
    why = f"Update the guard {guard.name} to version {guard.version}"
    if copy.text.startswith(header):
        return GuardUpdate(guard, copy, Change(copy.path, copy.text, copy.text, why))
    if not copy.is_edited:
        return GuardUpdate(guard, copy, Change(copy.path, copy.text, guard.copy, why))
    base = released_text(guard.name, copy.version)
    if base is None or digest(base) != copy.digest:
        raise UsageError(
            f"{copy.path}: this anyhook lacks version {copy.version} of {guard.name!r} with its "
            "hash, so that your changes cannot be merged; rename the file, then: "
            f"anyhook add {guard.name}"
        )
    merged, conflicts = _merge(base, copy.guard_text, guard.text)
    if conflicts:
        unchanged = Change(copy.path, copy.text, copy.text, why)
        return GuardUpdate(guard, copy, unchanged, tuple(conflicts))
    return GuardUpdate(guard, copy, Change(copy.path, copy.text, f"{header}\n{merged}", why))


def _merge(base: str, yours: str, released: str) -> tuple[str, list[Conflict]]:
    """Merge two texts that come from the same one, with `git merge-file`."""
    program = shutil.which("git")
    if program is None:
        raise UsageError("git, which merges your changes with a new version, is not on the PATH")
    texts = {"yours": yours, "base": base, "released": released}
    with TemporaryDirectory() as scratch:
        for name, text in texts.items():
            Path(scratch, name).write_text(text, encoding="utf-8")
        # Variables of git would lead it to a repository, which it does not need.
        environ = {name: os.environ[name] for name in os.environ if not name.startswith("GIT_")}
        done = subprocess.run(
            [program, "merge-file", "-p", f"--marker-size={MARKER_SIZE}", *texts],
            cwd=scratch,
            env=environ,
            capture_output=True,
            check=False,
        )
    if not 0 <= done.returncode <= MAX_CONFLICTS:
        raise UsageError(f"git merge-file failed: {done.stderr.decode(errors='replace').strip()}")
    merged = done.stdout.decode()
    return merged, _conflicts_in(merged, yours)


def _conflicts_in(merged: str, yours: str) -> list[Conflict]:
    """Return the conflicts that are marked in a merged text."""
    conflicts: list[Conflict] = []
    lines = yours.splitlines()
    mine: list[str] = []
    theirs: list[str] = []
    side: list[str] | None = None
    for line in merged.splitlines():
        if line.startswith("<" * MARKER_SIZE):
            mine, theirs = [], []
            side = mine
        elif line == "=" * MARKER_SIZE:
            side = theirs
        elif line.startswith(">" * MARKER_SIZE):
            starts = [at for at in range(len(lines)) if lines[at : at + len(mine)] == mine]
            # Counted from 1, after the line that `add` wrote.
            line_number = starts[0] + 2 if mine and starts else None
            conflicts.append(Conflict(line_number, tuple(mine), tuple(theirs)))
            side = None
        elif side is not None:
            side.append(line)
    return conflicts
