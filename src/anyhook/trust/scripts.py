"""Which files of a project a command names.

Trust is bound to them, so that a changed script asks again. What a script itself loads is not
followed.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SCRIPT_NAME = re.compile(r"[\w./~${}-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|ps1|php|lua)")
_OPERATORS = frozenset("();<>|&\n")


def named_files(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> list[Path]:
    """List the files inside the project that a handler's command names.

    Args:
        handler: A command handler.
        project: Directory of the project; commands run there.
        variables: Variables that hold paths, like `GEMINI_PROJECT_DIR`.

    Returns:
        Files in the order in which they are named. A file that does not exist is listed if its
        name can only be meant as a script, so that its appearance is a change.
    """
    root = Path(os.path.realpath(project))
    return [path for path in mentioned(handler, project, variables) if path.is_relative_to(root)]


def mentioned(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> list[Path]:
    """List the files anywhere that a command names; also those that are missing scripts.

    Names are looked up in the project and in every directory that the command changes to.
    """
    found: dict[Path, None] = {}
    bases = [project]
    previous = ""
    for raw in _words(handler):
        word = _expand(raw, variables)
        if previous in _CHANGES_DIRECTORY:
            bases += [path for base in bases if (path := _resolve(word, base)) and path.is_dir()]
        hidden = [*_READ_BY.get(word, ())]
        if previous == "-m":
            hidden += [form.format(word.replace(".", "/")) for form in _MODULE_FILES]
        there = [path for name in (word, *hidden) for path in _existing(name, bases)]
        found |= dict.fromkeys(there)
        missing = _resolve(word, project)
        if not there and missing and not missing.exists() and _SCRIPT_NAME.fullmatch(raw):
            found[missing] = None
        previous = word
    return list(found)


_CHANGES_DIRECTORY = frozenset({"cd", "pushd"})
_MODULE_FILES = ("{}.py", "{}/__main__.py")
_PACKAGE = ("package.json",)
_READ_BY = {
    "npm": _PACKAGE,
    "pnpm": _PACKAGE,
    "yarn": _PACKAGE,
    "bun": _PACKAGE,
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
"""Programs that run what a file of the project says."""


def _existing(name: str, bases: Iterable[Path]) -> list[Path]:
    paths = (_resolve(name, base) for base in bases)
    return [path for path in paths if path is not None and path.is_file()]


def program(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> str | Path | None:
    """Return what a command starts: a name, or the path of a file; `None` if it is more complex."""
    word = next(_words(handler), "")
    text = _expand(word, variables)
    if not re.fullmatch(r"[\w./~@+-]+", text):
        return None
    return _resolve(text, project) if "/" in text else text


def _words(handler: HandlerSpec) -> Iterator[str]:
    if handler.argv:
        yield from _with_inner(handler.argv)
    if handler.command:
        lexer = shlex.shlex(handler.command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            words = list(lexer)
        except ValueError:  # unbalanced quotes; the shell will complain
            words = handler.command.replace('"', " ").replace("'", " ").split()
        yield from _with_inner(words)


def _with_inner(words: Iterable[str]) -> Iterator[str]:
    """Also look into words that hold a command line of their own, like those of `bash -c`."""
    for word in words:
        if set(word) <= _OPERATORS:
            continue
        yield word
        if any(blank in word for blank in " \t\n"):
            yield from re.split(r"[\s;|&<>()\"']+", word)
        if "=" in word:
            yield word.partition("=")[2]


def _expand(word: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda m: variables.get(m[1] or m[2], m[0]), word)


def _resolve(word: str, project: Path) -> Path | None:
    if not word or "$" in word or "\0" in word or len(word) > 4096:
        return None
    try:
        return Path(os.path.realpath(project / Path(word).expanduser()))
    except RuntimeError:  # the home of somebody who does not exist
        return None
