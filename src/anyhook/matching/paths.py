r"""Path patterns of permission rules, as in a `.gitignore`.

They start from the working directory, from the project (`/`), from home (`~/`) or from the root
(`//`). Capitals do not count, because to some file systems they do not. A path counts both as it is
written and with its links resolved. Paths of Windows are recognized by the letter of the drive.
"""

from __future__ import annotations

import os.path
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.matching.globs import matches_sequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATH_FIELDS = ("file_path", "notebook_path", "path")
_SEARCH_FIELDS = {"Grep": "glob", "Glob": "pattern", "LS": None}
"""Tools that look into a directory, and the argument that says for which files."""
_ALTERNATIVES = re.compile(r"\{[^{},]*,[^{}]*\}")
_DRIVE = re.compile(r"(?:[\\/]{2}[?.][\\/])?([A-Za-z]):(?=[\\/]|\Z)")
_MAX_PATH = 32 * 1024
"""Characters; no system opens a longer path."""
_NAME_PIECE = re.compile(r"\\(?P<escaped>.)|(?P<set>\[[!^]?\]?[^\]]*\])|\*+|.", re.DOTALL)


class Directories(NamedTuple):
    """The absolute paths that patterns and relative arguments start from."""

    cwd: str
    project: str
    home: str


def path_pattern_problem(tool: str, pattern: str) -> str | None:
    """Return why a pattern does not work, and what to write instead."""
    if pattern.startswith("!"):
        return "a path pattern cannot be negated; cover all paths and let the handler choose"
    if _ALTERNATIVES.search(pattern):
        return f"path patterns know no `{{a,b}}`; write one handler for each `{tool}(...)`"
    return None


def covers_path(
    pattern: str, tool: str, arguments: Mapping[str, Any], directories: Directories
) -> bool:
    """Return whether a pattern covers one of the paths that a call names, or if none is certain."""
    targets = [arguments[name] for name in _PATH_FIELDS if arguments.get(name) is not None]
    is_search = tool in _SEARCH_FIELDS
    if is_search and not targets:
        targets = [directories.cwd]
    if not targets or not all(isinstance(path, str) for path in targets):
        return True
    if is_search:
        files = arguments.get(_SEARCH_FIELDS[tool] or "")
        # A call that searches may reach every file that its pattern matches.
        if not isinstance(files, str):
            files = "*"
        if files.startswith("/"):
            targets.append(files)
        else:
            targets += [f"{path}/{files}" for path in targets]
        if _DRIVE.match(files):
            targets.append(files)
    for path, bases in _path_variants(targets, directories):
        base, steps = _parse_pattern(pattern, bases)
        parts = _split_path(path)
        inner = parts[len(base) :]
        if parts[: len(base)] == base and matches_sequence(steps, inner, "**", _matches_name):
            return True
    return False


def _path_variants(
    targets: list[str], directories: Directories
) -> Iterator[tuple[str, Directories]]:
    r"""Yield absolute paths and the directories to compare them with: as written, then resolved.

    Outside Windows `C:\x` may also mean a relative path.
    """
    paths: list[str] = []
    on_windows = _DRIVE.match(directories.cwd) is not None
    for target in targets:
        path = target.replace("\\", "/") if on_windows else target
        has_drive = _DRIVE.match(path) is not None
        if path == "~" or path.startswith("~/"):
            paths.append(directories.home + path[1:])
        elif path.startswith("/") and not has_drive:
            paths.append(path)
        elif not has_drive:
            paths.append(f"{directories.cwd}/{path}")
        elif on_windows:
            paths.append(path)
        else:
            paths += [path, f"{directories.cwd}/{path}"]
    written = Directories(*map(_normalize_drive, directories))
    for path in paths:
        yield _normalize_drive(path), written
    resolved = Directories(*map(_resolve_links, directories))
    for path in paths:
        yield _resolve_links(path), resolved
        # Some tools resolve `..` in the text, before links.
        if ".." in path:
            yield _resolve_links(os.path.normpath(path)), resolved


def _normalize_drive(path: str) -> str:
    r"""Write a path of Windows as patterns do: `C:\x` is `/C/x`."""
    drive = _DRIVE.match(path)
    if drive is None:
        return path
    return f"/{drive[1]}{path[drive.end() :]}".replace("\\", "/")


def _resolve_links(path: str) -> str:
    """Resolve the links in a path, as far as that is possible."""
    # A path may be long only because of its `..`.
    short = path if len(path) <= _MAX_PATH else os.path.normpath(path)
    try:
        if os.path.isabs(short) and len(short) <= _MAX_PATH:  # noqa: PTH117 - text, as the rest
            path = os.path.realpath(short)
    except (OSError, ValueError, RecursionError):
        pass
    return _normalize_drive(path)


def _split_path(path: str) -> list[str]:
    """Split a path in lower case, without `.` and `..`."""
    parts: list[str] = []
    for part in path.lower().split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in {"", "."}:
            parts.append(part)
    return parts


def _parse_pattern(pattern: str, bases: Directories) -> tuple[list[str], list[str]]:
    """Return the parts of the directory that a pattern starts from, and its steps from there."""
    matches_anywhere = False
    if pattern.startswith("//"):
        base = "/"
    elif pattern.startswith("~/"):
        base = bases.home
        pattern = pattern[2:]
    elif pattern.startswith("/"):
        base = bases.project
    else:
        base = bases.cwd
        matches_anywhere = "/" not in pattern.rstrip("/")
    root = _split_path(base)
    # `..` leads out of the base, which has no links any more.
    while pattern.startswith("../"):
        root = root[:-1]
        pattern = pattern[3:]
    steps = _split_path(pattern)
    if matches_anywhere:
        steps.insert(0, "**")
    # `dir/` and `dir/**` cover what is in the directory, but not a file of that name.
    ends_with_wildcard = steps[-1:] == ["**"]
    if ends_with_wildcard:
        steps.pop()
    if ends_with_wildcard or pattern.endswith("/"):
        steps.append("*")
    # What covers a directory covers what is in it.
    steps.append("**")
    return root, steps


def _matches_name(pattern: str, name: str) -> bool:
    return matches_sequence(_name_items(pattern), name, "*", _matches_character)


@lru_cache(maxsize=1024)
def _name_items(pattern: str) -> tuple[str, ...]:
    """Split the pattern of a name: characters, sets of characters, and `*`."""
    items = []
    for piece in _NAME_PIECE.finditer(pattern):
        text = piece[0]
        if piece["escaped"]:
            items.append(f"[{piece['escaped']}]")
        elif text.startswith("[^"):
            items.append(f"[!{text[2:]}")
        elif text.startswith("*"):
            items.append("*")
        else:
            items.append(text)
    return tuple(items)


def _matches_character(item: str, character: str) -> bool:
    if len(item) == 1:
        return item in {"?", character}
    return fnmatchcase(character, item)
