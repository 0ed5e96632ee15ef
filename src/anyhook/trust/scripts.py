"""Which files a command names, as far as that can be told without running it.

Trust is bound to them, so that a changed script asks again. What a script itself loads is not
followed, and a word that only the running shell can resolve is reported as unclear.
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

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_HERE = re.compile(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$PWD\b|\$\{PWD\}")
_SCRIPT_NAME = re.compile(r"[\w./~${}-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|ps1|php|lua)")
_OPERATORS = frozenset("();<>|&\n")
_BREAKS = re.compile(r"[\s;|&<>()\"'`{},=]+")
_GLOB = re.compile(r"[*?\[]")
_UNCLEAR = re.compile(r"\$\(|`|\$\{?\w")
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
LONGEST = 4096
"""Characters; a longer word is no path."""
FILES = 1000
"""Files that a pattern like `hooks/*` is resolved to at most."""


def named_files(
    handler: HandlerSpec,
    project: Path,
    variables: Mapping[str, str],
    *,
    start: Path | None = None,
) -> list[Path]:
    """List the files that a handler's command names and that its author can change.

    Those are the files of the project, as they are named and where links lead, and scripts
    elsewhere. A name with a slash is listed even if there is no such file, so that its appearance
    is a change.

    Args:
        handler: A command handler.
        project: Directory of the project.
        variables: Variables that hold paths, like `GEMINI_PROJECT_DIR`.
        start: Where the command runs; by default in the project.

    Returns:
        Absolute paths in the order in which they are named.
    """
    found: dict[Path, None] = {}
    for word, path in _candidates(handler, start or project, variables):
        target = Path(os.path.realpath(path))
        inside = path.is_relative_to(project) or target.is_relative_to(os.path.realpath(project))
        if os.path.isfile(path):  # noqa: PTH113 - a path of any length is no exception
            if inside or _SCRIPT_NAME.fullmatch(word):
                found |= dict.fromkeys((path, target))
        elif inside and _is_one_path(word) and not os.path.isdir(path):  # noqa: PTH112
            found[path] = None
    return list(found)


def missing_scripts(
    handler: HandlerSpec, project: Path, variables: Mapping[str, str]
) -> list[Path]:
    """List the files that a command surely means to run and that do not exist."""
    there: set[str] = set()
    missing: dict[str, Path] = {}
    for word, path in _candidates(handler, project, variables):
        if os.path.exists(path):  # noqa: PTH110
            there.add(word)
        elif _SCRIPT_NAME.fullmatch(word):
            missing.setdefault(word, path)
    return [path for word, path in missing.items() if word not in there]


def unclear_words(handler: HandlerSpec, variables: Mapping[str, str]) -> list[str]:
    """List the words of a command that could name a file and that only the shell can resolve."""
    words = _words(handler)
    return [
        word
        for word in words
        if "/" in word and _UNCLEAR.search(_expand(word, variables, Path("/")))
    ]


def program(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> str | Path | None:
    """Return what a command starts: a name, or the path of a file; `None` if it is more complex."""
    word = next(_words(handler), "")
    text = _expand(word, variables, project)
    if not re.fullmatch(r"[\w./~@+-]+", text):
        return None
    return _resolve(text, project) if "/" in text else text


def _candidates(
    handler: HandlerSpec, start: Path, variables: Mapping[str, str]
) -> Iterator[tuple[str, Path]]:
    """Yield every word that may be a path, with the paths that it may mean."""
    bases = [start]
    previous = ""
    for word in _words(handler):
        text = _expand(word, variables, start)
        if previous in _CHANGES_DIRECTORY:
            bases += [p for p in _paths(text, bases) if os.path.isdir(p)]  # noqa: PTH112
        hidden = [*_READ_BY.get(text, ())]
        if previous == "-m":
            hidden += [form.format(text.replace(".", "/")) for form in _MODULE_FILES]
        for name in hidden:
            yield from ((name, p) for p in _paths(name, bases) if os.path.isfile(p))  # noqa: PTH113
        yield from ((word, path) for path in _paths(text, bases))
        previous = text


def _words(handler: HandlerSpec) -> Iterator[str]:
    words: list[str] = list(handler.argv or ())
    if handler.command:
        lexer = shlex.shlex(handler.command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            words += list(lexer)
        except ValueError:  # unbalanced quotes; the shell will complain
            words += handler.command.split()
    seen: dict[str, None] = {}
    for word in (*words, *handler.env.values()):
        if set(word) <= _OPERATORS:
            continue
        yield word
        if _BREAKS.search(word):  # a command line of its own, as in `bash -c`, or an assignment
            for piece in _BREAKS.split(_HERE.sub(".", word)):
                if piece and piece not in seen:
                    seen[piece] = None
                    yield piece


def _expand(word: str, variables: Mapping[str, str], here: Path) -> str:
    word = _HERE.sub(lambda _match: str(here), word)

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1] or match[3])
        if found is None:
            return match[0] if match[2] is None else match[2]
        return found

    return _VARIABLE.sub(value, word)


def _is_one_path(word: str) -> bool:
    return "/" in word and not _BREAKS.search(_VARIABLE.sub("", word))


def _paths(text: str, bases: Iterable[Path]) -> list[Path]:
    if not text or "\0" in text or len(text) > LONGEST or "$" in text:
        return []
    found = []
    for base in bases:
        if _GLOB.search(text):
            found += _glob(text, base)
        path = _resolve(text, base)
        if path is not None:
            found.append(path)
    return found


def _glob(text: str, base: Path) -> list[Path]:
    import glob

    found = glob.iglob(text, root_dir=base)  # noqa: PTH207 - Path.glob refuses absolute patterns
    return [base / name for name, _ in zip(found, range(FILES), strict=False)]


def _resolve(word: str, base: Path) -> Path | None:
    try:
        return Path(os.path.normpath(base / Path(word).expanduser()))
    except (RuntimeError, ValueError):  # the home of nobody, or no path at all
        return None
