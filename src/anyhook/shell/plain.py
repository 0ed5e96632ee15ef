"""Command lines that need no shell: what `bash -c LINE` would become, started without bash.

Most hooks are one program with a few words. A shell reads such a line, puts variables in, and turns
into the program; starting the program at once saves the start of the shell. Only lines and
environments whose meaning is certain are taken, and only from a shell whose every step was
observed: bash 5.2 on Linux, under its own name or as `sh`. (dash does not turn into the program but
waits for it, so that the program has another parent and another way to end.) All else is the
shell's, and so is whatever the system refuses to start: the shell says why.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class Piece(NamedTuple):
    """A part of a word.

    Attributes:
        text: Literal text, or the name of a variable.
        is_variable: Which of the two.
        is_quoted: Whether the shell leaves the value alone.
    """

    text: str
    is_variable: bool = False
    is_quoted: bool = True


Word = tuple[Piece, ...]


class Direct(NamedTuple):
    """What a shell would become.

    Attributes:
        program: Path of the program; relative to the working directory if the line says so.
        argv: Its arguments, the name that it was called by first.
        env: Its whole environment.
    """

    program: str
    argv: tuple[str, ...]
    env: dict[str, str]


LONGEST = 4096
"""Characters of a line that is looked at."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TEXT = r"\t\n -~\x80-\ud7ff\ue000-\U0010ffff"
_TOKEN = re.compile(
    rf"""(?P<blank>[ \t]+)
    |(?P<bare>[A-Za-z0-9_./:,+@%=-]+)
    |\\(?P<escaped>[ -~])
    |'(?P<single>(?:(?!')[{_TEXT}])*)'
    |"(?P<double>(?:(?!["\\`$!])[{_TEXT}]|\\["\\`$]|\$(?:{_NAME}|\{{{_NAME}\}}))*)"
    |\$(?:(?P<name>{_NAME})|\{{(?P<braced>{_NAME})\}})""",
    re.VERBOSE,
)
_IN_DOUBLE = re.compile(rf"\$(?:(?P<name>{_NAME})|\{{(?P<braced>{_NAME})\}})|\\(?P<escaped>.)")
_SAFE = re.compile(r"[A-Za-z0-9_./:,+@%=-]+")
"""Values that no shell splits or expands when they stand outside quotes."""
_UNSURE = re.compile(r"[\x01\x7f\ud800-\udfff]")
"""What shells use inside for marks of their own, and bytes that are no text."""
_COMMAND = re.compile(r"[A-Za-z0-9_./].*/.*|[A-Za-z0-9_.][A-Za-z0-9_.+-]*|/.*", re.DOTALL)
"""A path, or a name to look up: nothing that shells take for an option or a job."""

OWN_COMMANDS = frozenset(
    (
        # bash: compgen -b, compgen -k
        ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue"
        " declare dirs disown echo enable eval exec exit export false fc fg getopts hash help"
        " history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly"
        " return set shift shopt source suspend test times trap true type typeset ulimit umask"
        " unalias unset wait"
        " if then else elif fi case esac for select while until do done in function time { } !"
        " [[ ]] coproc"
        # the other brackets, and what other builds have
        " ] chdir print newgrp"
    ).split()
)
"""Words that a shell does not look up on the PATH."""

TOUCHED = frozenset(
    "COMP_WORDBREAKS DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE FUNCNAME GLOBIGNORE"
    " GROUPS HISTCMD IFS LINENO OPTARG OPTERR OPTIND PIPESTATUS POSIXLY_CORRECT PPID PS4 RANDOM"
    " SECONDS SHELLOPTS SRANDOM UID".split()
)
"""Variables that a shell changes, hides or follows when it finds them in its environment."""

_SHIPPED_LOCALES = frozenset(("", "C", "POSIX", "C.UTF-8", "C.utf8"))
"""Values of `LC_ALL` that bash never complains about, because no system lacks them."""
_CHARSET = re.compile(r"|C|POSIX|[\w@]+\.utf-?8(?:@\w+)?", re.IGNORECASE)
"""Locales in which bytes above 127 are no quotes, blanks or letters of their own."""
_LEVEL = re.compile(r"0|[1-9][0-9]{0,2}")
_HIGHEST_LEVEL = 998
"""The highest `SHLVL` that bash counts on from without a warning."""


_ODD = re.compile(r"\0(?:BASH|\0|\Z)")
"""Finds names, each with NUL in front, of variables that bash does more with than pass on."""
_UNCLEAR = frozenset(("_", "SHLVL", "OLDPWD"))
"""Variables that have another value inside than before."""
_DROPPED = ("PS1", "PS2")
"""Variables that bash takes away where nobody types."""

_BASH_MARK = b"@(#)Bash version 5.2."
"""What stands in the program of every bash whose environment was observed."""
_BASH_NAMES = frozenset(("bash", "sh"))
_PROGRAM_MAGIC = b"\x7fELF"


@lru_cache(maxsize=4096)
def plain_words(command: str) -> tuple[Word, ...] | None:
    """Read a command line that is one simple command of plain words.

    Args:
        command: A line for bash.

    Returns:
        Its words, or `None` if it needs a shell or may need one.
    """
    if len(command) > LONGEST or command.startswith(("-", "+")):  # an option of the shell
        return None
    words: list[list[Piece]] = []
    at, begins = 0, True
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            return None
        at = token.end()
        if token.lastgroup == "blank":
            begins = True
            continue
        if begins:
            words.append([])
        begins = False
        words[-1] += _pieces(token)
        if len(words) == 1 and token["bare"] and "=" in token["bare"]:  # it may be an assignment
            return None
    return tuple(map(tuple, words)) or None


def _pieces(token: re.Match[str]) -> Iterator[Piece]:
    kind = token.lastgroup or ""
    text = token[kind]
    if kind in ("name", "braced"):
        yield Piece(text, is_variable=True, is_quoted=False)
    elif kind != "double":
        yield Piece(text)
    else:
        yield from _inside_double(text)


def _inside_double(text: str) -> Iterator[Piece]:
    done = 0
    for match in _IN_DOUBLE.finditer(text):
        yield Piece(text[done : match.start()])
        name = match["name"] or match["braced"]
        yield Piece(name, is_variable=True) if name else Piece(match["escaped"])
        done = match.end()
    yield Piece(text[done:])


def fill(words: Iterable[Word], env: Mapping[str, str]) -> list[str] | None:
    """Put the values of variables into words.

    Args:
        words: From `plain_words`.
        env: Every variable that may be used.

    Returns:
        The arguments, the program's name first; `None` if a variable is not there or its value
        is nothing that is sure to stay as it is, or if the first word is the shell's own.
    """
    filled = []
    for word in words:
        texts = [_text(piece, env) for piece in word]
        if None in texts:
            return None
        filled.append("".join(text for text in texts if text is not None))
    name = filled[0]
    return filled if name not in OWN_COMMANDS and _COMMAND.fullmatch(name) else None


def _text(piece: Piece, env: Mapping[str, str]) -> str | None:
    if not piece.is_variable:
        return piece.text
    value = env.get(piece.text)
    if value is None or (not piece.is_quoted and not _SAFE.fullmatch(value)):
        return None
    return None if _UNSURE.search(value) else value


def find_direct(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Direct | None:
    """Tell what a shell would become.

    Args:
        argv: Absolute path of the shell, `-c`, and a command line.
        env: The whole environment of the shell.
        cwd: Its working directory.

    Returns:
        The program with the arguments and the environment that the shell would give it; `None` if
        that is not certain. The system may still refuse to start it: then the shell's turn comes.
    """
    if len(argv) != 3 or argv[1] != "-c":
        return None
    words = plain_words(argv[2])
    if (
        words is None
        or not _is_bash(argv[0])
        or not passes_signals()
        or not shell_preserves_env(env)
    ):
        return None
    inner = _inner(env, cwd)
    if inner is None:
        return None
    known = {name: value for name, value in inner.items() if name not in _UNCLEAR}
    filled = fill(words, known)
    program = _find_program(filled[0], env.get("PATH", "")) if filled else None
    if filled is None or program is None:
        return None
    inner["_"] = program
    return Direct(program, tuple(filled), inner)


def passes_signals() -> bool:
    """Tell whether bash passes the mask of signals on: it unblocks some of them."""
    mask = getattr(signal, "pthread_sigmask", None)  # not on Windows, where no bash is known
    return mask is not None and not mask(signal.SIG_BLOCK, ())


def shell_preserves_env(env: Mapping[str, str]) -> bool:
    """Tell whether bash passes an environment on, and does nothing else with it."""
    if not TOUCHED.isdisjoint(env) or _ODD.search("\0".join(("", *env))):
        return False
    everywhere = env.get("LC_ALL", "")
    charset = everywhere or env.get("LC_CTYPE", "") or env.get("LANG", "")
    return everywhere in _SHIPPED_LOCALES and _CHARSET.fullmatch(charset) is not None


def _inner(env: Mapping[str, str], cwd: str) -> dict[str, str] | None:
    """Return what is bash's environment once it has started."""
    inner = dict(env)
    for name in _DROPPED:
        inner.pop(name, None)
    level = inner.setdefault("SHLVL", "0")
    if not _LEVEL.fullmatch(level) or int(level) > _HIGHEST_LEVEL:
        return None
    if level == "0" and not {"SSH_CLIENT", "SSH2_CLIENT"}.isdisjoint(env):
        return None  # it reads a startup file
    if "OLDPWD" in inner:
        before = inner["OLDPWD"]
        if not before.startswith("/"):
            return None
        if not os.path.isdir(before):  # noqa: PTH112 - ten times faster
            del inner["OLDPWD"]
    inner["PWD"] = _pwd(inner.get("PWD", ""), cwd)
    return inner


def _pwd(told: str, cwd: str) -> str:
    """Return the name that the shell gives its directory: the one it is told, if that is right."""
    if told.startswith("/"):
        try:
            if told == cwd or os.path.samestat(os.stat(told), os.stat(cwd)):  # noqa: PTH116
                return told
        except (OSError, ValueError):
            pass
    return os.path.realpath(cwd)


def _find_program(name: str, path: str) -> str | None:
    if "/" in name:
        return name
    for directory in path.split(":"):
        if not directory.startswith("/") or directory.endswith("/") or "%" in directory:
            return None  # shells do more with these
        found = f"{directory}/{name}"
        try:
            mode = os.stat(found).st_mode  # noqa: PTH116 - ten times faster
        except (OSError, ValueError):
            continue
        return found if stat.S_ISREG(mode) and os.access(found, os.X_OK) else None
    return None


def _is_bash(path: str) -> bool:
    """Tell whether a shell is the one that was observed, on Linux."""
    if sys.platform != "linux" or not path.startswith("/"):
        return False
    if os.geteuid() != os.getuid() or os.getegid() != os.getgid():  # bash gives the rights back
        return False
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    return _recognise(path, found.st_ino, found.st_mtime_ns)


@lru_cache(maxsize=32)
def _recognise(path: str, _inode: int, _modified: int) -> bool:
    program = Path(path)
    if program.name not in _BASH_NAMES:  # `rbash` is bash, and another shell
        return False
    try:
        content = program.read_bytes()
    except OSError:
        return False
    return content.startswith(_PROGRAM_MAGIC) and _BASH_MARK in content
