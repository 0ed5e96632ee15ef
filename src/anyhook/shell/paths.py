"""Paths and patterns of paths, compared as texts: no file is looked at, no link followed.

A pattern is a path in which `*` stands for a part of a name, `**` for any directories. Without a
slash it names a file in any directory. Capitals do not count, because to some file systems they
do not.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WILDCARD = re.compile(r"[*?\[]")
_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|\Z)")
_MAX_SEGMENTS = 256
ANYWHERE = "**"
_PATCH_HEADERS = {
    "*** Add File:": "writes",
    "*** Update File:": "writes",
    "*** Move to:": "writes",
    "*** Delete File:": "deletes",
}


def join_path(directory: str, path: str) -> str:
    r"""Return a path from a directory, without `.` and `..`; `~` and drives begin absolute ones."""
    drive = _DRIVE.match(path)
    if drive:
        path = "/" + drive[1].lower() + path[2:].replace("\\", "/")
    is_absolute = path[:1] == "/" or path == "~" or path[:2] == "~/"
    if not is_absolute and directory:
        path = f"{directory}/{path}"
    if "/." not in path and "//" not in path and path[:1] != "." and path[-1:] != "/":
        return path
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and segments and segments[-1] not in {"..", "~"}:
            segments.pop()
        elif segment not in {"", "."} and not (segment == ".." and path[:1] == "/"):
            segments.append(segment)
    return ("/" if path[:1] == "/" else "") + "/".join(segments) or "."


def patched_paths(patch: str) -> Iterator[tuple[str, str]]:
    """Yield what a patch in the format of `apply_patch` does: `writes` or `deletes`, and a path."""
    updated = ""
    for line in patch.split("\n"):
        stripped = line.strip()
        for header, kind in _PATCH_HEADERS.items():
            if stripped.startswith(header):
                path = stripped.removeprefix(header).strip()
                yield kind, path
                # A file that is moved is deleted at its old path.
                if "Move" in header:
                    yield "deletes", updated
                updated = path


class PathPattern:
    """A pattern of paths; `text` is as it was written."""

    __slots__ = ("_fixed", "_segments", "text")

    def __init__(self, pattern: str, directory: str, home: str | None) -> None:
        self.text = pattern
        path = pattern
        if home is not None and (path == "~" or path[:2] == "~/"):
            path = home + path[1:]
        is_directory = path[-1:] == "/"
        is_name = "/" not in path.rstrip("/") and path not in {"~", ".", ".."}
        if is_name:  # of files in any directory
            segments = [ANYWHERE, path.rstrip("/").lower()]
        elif path[:3] == "**/":
            segments = path.lower().strip("/").split("/")
        else:
            segments = list(_split(join_path(directory, path)))
            # Where a relative path begins is not known without a directory.
            if not directory and path[:1] not in {"/", "~"}:
                segments.insert(0, ANYWHERE)
        if is_directory:
            segments.append(ANYWHERE)
        self._segments = tuple(segments)
        fixed = 0
        while fixed < len(segments) and not _WILDCARD.search(segments[fixed]):
            fixed += 1
        self._fixed = fixed

    def matches(self, path: str, *, is_recursive: bool = False) -> bool | None:
        """Return whether the pattern matches a path, which may be a pattern of the shell.

        The path is absolute or from the same directory; with `is_recursive` all that is in it
        counts, too. `None` if it depends on the files that exist.
        """
        segments = _split(path)
        if len(segments) > _MAX_SEGMENTS:
            return None
        if _overlaps(self._segments, segments):
            is_literal = not any(_WILDCARD.search(segment) for segment in segments)
            # `.git/HEA?` is `.git/HEAD` too; what `find` sets aside of `**` is not known.
            is_one_file = self._fixed == len(self._segments) and ANYWHERE not in segments
            # `src/**` matches whatever the pattern of the shell becomes.
            end = len(self._segments) - 1
            covers = self._segments[-1:] == (ANYWHERE,) and segments[:end] == self._segments[:end]
            return True if is_literal or is_one_file or covers else None
        if is_recursive and _overlaps(self._segments, (*segments, ANYWHERE)):
            # `rm -rf src` certainly deletes what is in `src/**`, and perhaps some `**/*.py`.
            is_above = len(segments) <= self._fixed and all(
                map(_name_overlaps, segments, self._segments)
            )
            return True if is_above else None
        return False


@lru_cache(maxsize=1024)
def _split(path: str) -> tuple[str, ...]:
    segments = [segment for segment in path.lower().split("/") if segment not in {"", "."}]
    return ("/", *segments) if path[:1] == "/" else tuple(segments)


@lru_cache(maxsize=4096)
def _name_overlaps(name: str, other: str) -> bool:
    """Return whether two names, or patterns of names, may be the same."""
    if name == other:
        return True
    first, second = _WILDCARD.search(name), _WILDCARD.search(other)
    if first and second:
        length = min(first.start(), second.start())
        end, other_end = _literal_end(name), _literal_end(other)
        have_same_end = end.endswith(other_end) or other_end.endswith(end)
        return name[:length] == other[:length] and have_same_end
    if first:
        return fnmatchcase(other, name.replace("[^", "[!"))
    return second is not None and fnmatchcase(name, other.replace("[^", "[!"))


def _literal_end(pattern: str) -> str:
    """Return what follows the last wildcard of a pattern."""
    return re.split(r"[*?\]]", pattern)[-1]


def _overlaps(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Return whether two patterns may match the same path; each `**` takes any segments."""
    if not pattern or not path:
        return not pattern and not path
    # One row of the table of prefixes of `path` for each prefix of `pattern`.
    row = [True]
    for name in path:
        row.append(row[-1] and name == ANYWHERE)
    for item in pattern:
        following = [row[0] and item == ANYWHERE]
        for index, name in enumerate(path, 1):
            if ANYWHERE in {item, name}:
                overlap = row[index] or following[index - 1] or row[index - 1]
            else:
                overlap = row[index - 1] and _name_overlaps(item, name)
            following.append(overlap)
        row = following
    return row[-1]
