"""The directories of a project, and the files and directories of a pattern of settings files."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from anyhook.file_errors import dead_link, explain_error
from anyhook.model.diagnostics import Diagnostic, Place, diagnose

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ANY_DEPTH = "**"
"""Part of a pattern that stands for a directory and everything below it."""
MAX_DEPTH = 20
"""Directories inside each other that are searched; links could make the depth infinite."""


def is_pattern(path: Path) -> bool:
    """Return whether a path stands for many files."""
    return "*" in path.name


def base_directory(pattern: Path) -> Path:
    """Return the directory that a pattern searches: `hooks` of `hooks/**/*.json`."""
    if pattern.parent.name == ANY_DEPTH:
        return pattern.parent.parent
    return pattern.parent


def list_files(pattern: Path, *, descending: bool = False) -> list[Path]:
    """Return the files of a pattern, those of a directory before those of its subdirectories.

    The pattern is `DIRECTORY/*.json`, or `DIRECTORY/**/*.json` for a directory and all below it;
    the latter ignores names that start with a dot. Names are in byte order.
    """
    if pattern.parent.name != ANY_DEPTH:
        return _sort_by_name(pattern.parent.glob(pattern.name), descending=descending)
    files: list[Path] = []
    for directory in list_directories(pattern, descending=descending):
        paths = [path for path in _list_paths(directory) if fnmatchcase(path.name, pattern.name)]
        matching = [path for path in paths if not os.path.isdir(path)]
        files += _sort_by_name(matching, descending=descending)
    return files


def list_directories(pattern: Path, *, descending: bool = False) -> list[Path]:
    """Return the directories that a pattern searches, each before those below it: see `list_files`.

    A directory that several links lead to is searched once.
    """
    base = base_directory(pattern)
    if pattern.parent.name != ANY_DEPTH:
        return [base]
    directories: list[Path] = []
    real_paths: set[str] = set()

    def visit(directory: Path, depth: int) -> None:
        real_path = os.path.realpath(directory)
        if real_path in real_paths or depth > MAX_DEPTH:
            return
        real_paths.add(real_path)
        directories.append(directory)
        subdirectories = [path for path in _list_paths(directory) if os.path.isdir(path)]
        for path in _sort_by_name(subdirectories, descending=descending):
            visit(path, depth + 1)

    visit(base, 0)
    return directories


def report_closed_directories(directories: Iterable[Path]) -> list[Diagnostic]:
    """Report directories that exist and cannot be read: the hooks in their files are absent."""
    problems: list[Diagnostic] = []
    for directory in directories:
        try:
            os.scandir(directory).close()
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError) and not dead_link(directory)
            if not is_absent:
                message = explain_error(directory, error, "enter")
                problems.append(diagnose("settings-unreadable", message, Place(str(directory))))
    return problems


def _list_paths(directory: Path) -> list[Path]:
    """Return what a directory contains but for hidden names; nothing if it cannot be read."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [directory / name for name in names if not name.startswith(".")]


def _sort_by_name(paths: Iterable[Path], *, descending: bool) -> list[Path]:
    return sorted(paths, key=lambda path: os.fsencode(path.name), reverse=descending)


def directories_down_to(project: Path) -> list[Path]:
    """Return the directories from the Git repository that holds a project down to the project.

    Without a repository it is the project alone. A folder `.git` without a `HEAD` is none.
    """
    directories: list[Path] = []
    for directory in (project, *project.parents):
        directories.append(directory)
        git = directory / ".git"
        if os.path.isfile(git) or os.path.exists(git / "HEAD"):
            return directories[::-1]
    return [project]


def find_root(project: Path) -> Path:
    """Return the Git repository that holds a project; the project itself if there is none."""
    return directories_down_to(project)[0]
