"""Which files a command names, as far as that can be told without running it.

Trust is bound to them, so that a changed script asks again. What a script itself loads is not
followed. What only the running shell can resolve, and directories whose files may be run, are
reported as unclear, so that a person sees what is not bound. Nothing here takes long, whatever a
stranger wrote.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}$]*))?\}|(\w+))")
_HERE = re.compile(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$PWD\b|\$\{PWD\}|~\+(?=/|\Z)")
_SCRIPT_NAME = re.compile(r"[\w./~${}-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|ps1|php|lua)")
_OPERATORS = frozenset("();<>|&\n")
_BREAKS = re.compile(r"[\s;|&<>()\"'`,=:]+")
_NESTED = " '\""
"""What a word holds that is a command line by itself."""
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"([^{}]*)\{([^{}]*)\}(.*)", re.DOTALL)
_UNCLEAR = re.compile(r"\$\(|`|\$\{?\w|\$'|~[+-]")
_CHANGES_DIRECTORY = frozenset({"cd", "pushd", "-C", "--directory", "--prefix", "--chdir", "--cwd"})
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
_COMPLETIONS = ("{}.js", "{}.mjs", "{}.cjs", "{}.ts", "{}.py", "{}.sh")
_ENTRIES = ("index.js", "index.mjs", "index.cjs", "__main__.py", "package.json")
"""What an interpreter looks for when it is given a name without an ending, or a directory."""

_LITERAL = "\ue000"
"""Stands for a `$` in the value of a variable, which means itself."""
LONGEST_WORD = 4096
"""Characters; a longer word is no path."""
LONGEST_COMMAND = 64 * 1024
"""Characters; a longer command is not looked into, and shown as unclear."""
ENTRIES = 2000
"""Directory entries that are looked at for the patterns of one word."""
ALTERNATIVES = 64
"""Words that braces are expanded to at most."""
DEPTH = 3
"""Command lines inside command lines that are looked into."""


def named_files(
    handler: HandlerSpec,
    project: Path,
    variables: Mapping[str, str],
    *,
    start: Path | None = None,
) -> list[Path]:
    """List the files that a handler's command names and that its author can change.

    Those are the files of the project, read through links, and scripts elsewhere. A name with a
    slash is listed even if there is no such file, so that its appearance is a change.

    Args:
        handler: A command handler.
        project: Directory of the project.
        variables: Variables that hold paths, like `GEMINI_PROJECT_DIR`.
        start: Where the command runs; by default in the project.

    Returns:
        Absolute paths in the order in which they are named.
    """
    found: dict[Path, None] = {}
    root = os.path.realpath(project)
    for word, path in _candidates(handler, start or project, variables):
        target = Path(os.path.realpath(path))
        inside = path.is_relative_to(project) or target.is_relative_to(root)
        if os.path.isfile(path):  # noqa: PTH113 - a path of any length is no exception
            if inside or _SCRIPT_NAME.fullmatch(word):
                found[path] = None
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
        elif _SCRIPT_NAME.fullmatch(word) and "{" not in word.replace("${", ""):
            missing.setdefault(word, path)
    pieces = {piece for word in there for piece in word.split()[1:] + word.split()[:-1]}
    return [
        path
        for word, path in missing.items()
        if word not in there | pieces and not any(_ends(found, word) for found in there)
    ]


def _ends(found: str, word: str) -> bool:
    """Tell whether a word is what quotes left of one that was found."""
    return word.startswith("/") and found.endswith(f"}}{word}")


def unclear_words(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> list[str]:
    """List what a command may run and what is not bound: for a person to see.

    Those are words that only the running shell can resolve, and directories of the project.
    """
    if _is_too_long(handler):
        return ["the whole command: it is too long to look into"]
    found: dict[str, None] = {}
    for word, text, previous in _with_previous(handler, variables, project):
        if "/" in word and _UNCLEAR.search(text):
            found[word] = None
        elif previous not in _CHANGES_DIRECTORY:
            inside = (p for p in _paths(text, [project]) if p != project)
            if any(os.path.isdir(p) and p.is_relative_to(project) for p in inside):  # noqa: PTH112
                found[f"{word} (a directory)"] = None
    return list(found)


def program(handler: HandlerSpec, project: Path, variables: Mapping[str, str]) -> str | Path | None:
    """Return what a command starts: a name, or the path of a file; `None` if it is more complex."""
    word = next(iter(_words(handler)), "")
    if not re.fullmatch(r"[\w./~@+${}-]+", word):
        return None
    text = _expand(word, variables, project)  # the value of a variable may hold blanks
    if "$" in text.replace(_LITERAL, ""):
        return None
    text = text.replace(_LITERAL, "$")
    return _resolve(text, project) if "/" in text else text


def _candidates(
    handler: HandlerSpec, start: Path, variables: Mapping[str, str]
) -> Iterator[tuple[str, Path]]:
    """Yield every word that may be a path, with the paths that it may mean."""
    words = list(_with_previous(handler, variables, start))
    bases = [start]
    for word, text, previous in words:
        if previous in _CHANGES_DIRECTORY and not word.startswith("-"):
            bases += [p for p in _paths(text, bases) if os.path.isdir(p)]  # noqa: PTH112
    for word, text, previous in words:
        for name in _hidden_names(text, previous):
            yield from ((name, p) for p in _paths(name, bases) if os.path.isfile(p))  # noqa: PTH113
        yield from ((word, path) for path in _paths(text, bases))


def _with_previous(
    handler: HandlerSpec, variables: Mapping[str, str], here: Path
) -> Iterator[tuple[str, str, str]]:
    """Yield every word, as written and expanded, and the one before it that is no mere option."""
    previous = ""
    for word in _words(handler):
        text = _expand(word, variables, here)
        yield word, text, previous
        if not word.startswith("-") or word in _CHANGES_DIRECTORY or word == "-m":
            previous = text


def _hidden_names(text: str, previous: str) -> list[str]:
    """Return the files that a program reads without being told their names in full."""
    module = text if previous == "-m" else text[2:] if text.startswith("-m") else ""
    return [
        *_READ_BY.get(text, ()),
        *(form.format(module.replace(".", "/")) for form in _MODULE_FILES if module),
        *(form.format(text) for form in _COMPLETIONS if text and len(text) < LONGEST_WORD),
        *(f"{text}/{name}" for name in _ENTRIES if text and len(text) < LONGEST_WORD),
    ]


def _is_too_long(handler: HandlerSpec) -> bool:
    texts = (handler.command or "", *(handler.argv or ()), *handler.env.values())
    return sum(map(len, texts)) > LONGEST_COMMAND


def _words(handler: HandlerSpec) -> tuple[str, ...]:
    if _is_too_long(handler):
        return ()
    return _split(handler.command or "", handler.argv or (), tuple(handler.env.values()))


@lru_cache(maxsize=512)
def _split(command: str, argv: tuple[str, ...], env: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for word in (*argv, *_lex(command), *env):
        _add(word, found, DEPTH)
    return tuple(found)


def _add(word: str, found: list[str], depth: int) -> None:
    """Add a word, what its braces stand for, and the words of a command line inside it."""
    if set(word) <= _OPERATORS:
        return
    found += _alternatives(word)
    plain = _HERE.sub(".", word)
    if depth and _BREAKS.search(plain):
        nested = any(char in plain for char in _NESTED)
        inner = [*_lex(plain), *_BREAKS.split(plain)] if nested else _BREAKS.split(plain)
        for piece in dict.fromkeys(inner):
            if piece and piece != word:
                _add(piece, found, depth - 1)


def _lex(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\\\n", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # unbalanced quotes; the shell will complain
        return text.split()


def _alternatives(word: str) -> list[str]:
    done, waiting = [word], [word]
    while waiting and len(done) < ALTERNATIVES:
        match = _BRACES.fullmatch(waiting.pop())
        if match and "," in match[2] and not match[1].endswith("$"):
            made = [match[1] + choice + match[3] for choice in match[2].split(",")]
            done += made[:ALTERNATIVES]
            waiting += made
    return done


def _expand(word: str, variables: Mapping[str, str], here: Path) -> str:
    word = _HERE.sub(lambda _match: str(here), word)

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1] or match[3])
        if found is None:
            return match[0] if match[2] is None else match[2]
        return found.replace("$", _LITERAL)

    return _VARIABLE.sub(value, word)


def _is_one_path(word: str) -> bool:
    return (
        "/" in word
        and not re.search(r"[{}]", _VARIABLE.sub("", word))
        and not (_BREAKS.search(_VARIABLE.sub("", word)))
    )


def _paths(text: str, bases: Iterable[Path]) -> list[Path]:
    if not text or len(text) > LONGEST_WORD or "$" in text or not _can_be_a_name(text):
        return []
    text = text.replace(_LITERAL, "$")
    found = []
    for base in bases:
        if _GLOB.search(text) and not text.startswith(("/", "~")):
            found += _glob(base, text.split("/"), [ENTRIES])
        path = _resolve(text, base)
        if path is not None:
            found.append(path)
    return found


def _can_be_a_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _glob(base: Path, pieces: list[str], budget: list[int]) -> list[Path]:
    """Resolve a pattern, looking at a bounded number of directory entries."""
    from fnmatch import fnmatchcase

    first, rest = pieces[0], pieces[1:]
    if not _GLOB.search(first):
        matched = [base / first]
    else:
        matched = []
        try:
            with os.scandir(base) as entries:
                for entry in entries:
                    budget[0] -= 1
                    if budget[0] < 0:
                        break
                    if fnmatchcase(entry.name, first):
                        matched.append(base / entry.name)
        except OSError:
            return []
    if not rest:
        return matched
    return [path for found in matched for path in _glob(found, rest, budget)]


def _resolve(word: str, base: Path) -> Path | None:
    try:
        return Path(os.path.normpath(base / Path(word).expanduser()))
    except (RuntimeError, ValueError):  # the home of nobody, or no path at all
        return None
