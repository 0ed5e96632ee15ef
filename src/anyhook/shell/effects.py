"""What commands do to files and hosts: what they read, write, delete and contact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from anyhook.expressions import expression
from anyhook.shell.code import find_targets
from anyhook.shell.effect_rows import ALWAYS_RECURSIVE, RECURSIVE, row_of_effects
from anyhook.shell.options import FIND_WITHOUT_TESTS, canonical_program, find_name
from anyhook.shell.paths import join_path, patched_paths
from anyhook.shell.runners import CODE_OPTIONS
from anyhook.shell.values import LITERAL, PATTERN, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anyhook.shell.options import Arguments
    from anyhook.shell.scope import Redirect


_KINDS = {"R": "reads", "W": "writes", "D": "deletes", "M": "deletes"}
_GLOB = frozenset("*?[")
_INTO_DIRECTORY = frozenset("cp mv ln install".split())
_HERE = Value(".")
_REMOTE = expression(r"(?:[\w.-]+@)?([\w.-]+|\[[0-9a-fA-F:]+\])::?(?!//)(.*)", re.DOTALL)
_URL = expression(r"[A-Za-z][A-Za-z0-9+.-]*://")
_KNOWN_HOST = expression(r"[A-Za-z]+://(?:[^/@$`]*@)?[\w.-]+(?::\d+)?(?:[/?#]|$)")
_HOST = expression(r"(?:[^@/\s]*@)?(\[[0-9a-fA-F:.]+\]|[^:/\s\[\]@?#]+)")
_WRITES = expression(r"[0-9]*&?(?:>>?|>\||>&|&>>?|<>)&?|\{\w+\}>>?")
_NO_FILES = frozenset({"", "-", *"/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/63".split()})
_DIALLED = expression(r"/dev/(?:tcp|udp)/([^/]+)/")
_DIFF = expression(r"^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)", re.MULTILINE)
_SED_WRITES = expression(r"(?:^|[;{}/\n0-9$])\s*w\s+([^\n;]+)")


class Effect(NamedTuple):
    """Something that a command does.

    Attributes:
        kind: `reads`, `writes`, `deletes` or `contacts`.
        target: An absolute path or pattern of paths, or the name of a host.
        is_known: Whether the target is known.
        is_recursive: Whether it reaches all that is in a directory; `None` if that is not known.
        is_likely: Whether it depends on the files that exist.
    """

    kind: str
    target: str
    is_known: bool = True
    is_recursive: bool | None = False
    is_likely: bool = False


def find_effects(
    program: str,
    read: Arguments,
    redirects: Sequence[Redirect] = (),
    *,
    directories: tuple[str | None, ...],
    home: str | None,
) -> Iterator[Effect]:
    """Yield what a command does to files and hosts, as far as it is known.

    It may run in each of the directories, the likeliest first.
    """
    finder = _Finder(read, redirects, directories, home)
    yield from finder.redirect_effects()
    name = canonical_program(program)
    row = row_of_effects(name, program, read)
    if row:
        yield from finder.row(row, name)
    further = _FURTHER.get(name)
    if further is not None:
        yield from further(finder)
    else:
        yield from _by_options(finder, name)


class _Finder:
    """Finds the effects of one command."""

    def __init__(
        self,
        read: Arguments,
        redirects: Sequence[Redirect],
        directories: tuple[str | None, ...],
        home: str | None,
    ) -> None:
        self.read = read
        self.redirects = redirects
        self.directories = directories
        self.home = home

    def path(
        self,
        kind: str,
        value: Value,
        *,
        is_recursive: bool | None = False,
        is_likely: bool = False,
        inside: str = "",
    ) -> Iterator[Effect]:
        """Yield an effect on a path, in each directory in which the command may run."""
        text = value.text
        home = self.home
        if text in _NO_FILES:
            return
        if text[:2] == "~/" and home is not None:
            text = home + text[1:]
        if inside:
            text = f"{text}/{inside}"
        is_absolute = text[:1] in {"/", "~"}
        for index, directory in enumerate(self.directories):
            is_known = value.kind != VAGUE and (is_absolute or directory is not None)
            target = join_path(directory or "", text)
            yield Effect(kind, target, is_known, is_recursive, is_likely or index > 0)
            if is_absolute:
                break

    def paths(
        self,
        kind: str,
        values: Iterable[Value],
        *,
        is_recursive: bool | None = False,
        is_likely: bool = False,
    ) -> Iterator[Effect]:
        """Yield an effect on each of some paths."""
        for value in values:
            yield from self.path(kind, value, is_recursive=is_recursive, is_likely=is_likely)

    def host(self, value: Value) -> Iterator[Effect]:
        """Yield the host that a URL or a `user@host` names."""
        text = value.text
        is_known = value.kind != VAGUE or _KNOWN_HOST.match(text) is not None
        # To a browser a backslash is a slash, to other programs a character of the user's name.
        hosts = dict.fromkeys([host_of(text.replace("\\", "/")), host_of(text)])
        for host in hosts:
            if host or not is_known:
                yield Effect("contacts", host or text, is_known)

    def redirect_effects(self) -> Iterator[Effect]:
        """Yield the effects of the redirections."""
        for redirect in self.redirects:
            value = Value(redirect.target, LITERAL if redirect.certain else VAGUE)
            dialled = _DIALLED.match(redirect.target)
            if redirect.is_text:
                continue
            if dialled:
                yield Effect("contacts", dialled[1], redirect.certain)
                continue
            if _WRITES.fullmatch(redirect.operator):
                yield from self.path("writes", value)
            if redirect.operator.endswith(("<", "<>")):
                yield from self.path("reads", value)

    def row(self, row: str, program: str) -> Iterator[Effect]:
        """Yield the effects that a row describes."""
        operands: Sequence[Value] = (
            self.read.operands[1:] if program == "git" else self.read.operands
        )
        if program == "mv" and not self.read.options:
            operands = _without_unmoved(operands)
        words = row.split()
        letters = [word for word in words if "=" not in word]
        recursive = self.is_recursive(program)
        for value, letter in _assign(letters, operands):
            yield from self._operand(letter, value, recursive)
        if program in _INTO_DIRECTORY and len(operands) > 1:
            # The last operand may be a directory.
            *sources, target = operands
            is_likely = len(sources) == 1 and target.text[-1:] != "/"
            for source in sources:
                name = source.text.rstrip("/").rpartition("/")[2]
                if name not in {"", ".", ".."}:
                    value = Value(target.text, max(source.kind, target.kind))
                    yield from self.path("writes", value, inside=name, is_likely=is_likely)
        for word in words:
            option, separator, letter = word.rpartition("=")
            if separator:
                for value in self.read.values(option):
                    yield from self._operand(letter, value, recursive)

    def is_recursive(self, program: str) -> bool | None:
        """Return whether the command reaches all that is in a directory; `None` if unknown."""
        if program in ALWAYS_RECURSIVE:
            return True
        options = RECURSIVE.get(program, ())
        if self.read.has(*options):
            return True
        return None if options and self.read.may_have_more else False

    def _operand(self, letter: str, value: Value, recursive: bool | None) -> Iterator[Effect]:
        if letter in _KINDS:
            yield from self.path(_KINDS[letter], value, is_recursive=recursive)
        elif letter == "C":
            yield from self.host(value)
        elif letter == "F":
            name, _, file = value.text.partition("@")
            if file and (not name or name.endswith("=")):
                yield from self.path("reads", value._replace(text=file.partition(";")[0]))
        elif letter in {"S", "T"}:
            if _is_remote(value.text):
                yield from self.host(value)
            elif letter == "S":
                yield from self.path("reads", value, is_recursive=recursive)
            elif not self.read.has("--dry-run"):
                yield from self.path("writes", value, is_recursive=recursive)
                yield from self.path("writes", value, is_recursive=True, is_likely=True)

    def enter(self, value: Value) -> None:
        """Go to a directory that an option names."""
        directories: list[str | None] = []
        for directory in self.directories:
            is_known = value.kind == LITERAL and directory is not None
            directories.append(join_path(directory or "", value.text) if is_known else None)
        self.directories = tuple(directories)


# --- effects that no row describes ---------------------------------------------------------------


def _find(finder: _Finder) -> Iterator[Effect]:
    """Yield what `find` deletes and writes."""
    read = finder.read
    name = find_name(read.options)
    deletes = read.has("-delete")
    if deletes or finder.read.may_have_more:
        for root in finder.read.operands or [_HERE]:
            text = root.text if name is None else f"{root.text}/**/{name.text}"
            kind = PATTERN if deletes and root.kind != VAGUE else VAGUE
            # What a test such as `-mtime +30` leaves is not known.
            is_likely = name is None and not read.options.keys() <= FIND_WITHOUT_TESTS
            target = Value(text, kind)
            yield from finder.path("deletes", target, is_recursive=True, is_likely=is_likely)
    written = [*read.values("-fprint", "-fprint0", "-fls"), *read.values("-fprintf")[:1]]
    yield from finder.paths("writes", written)


def _git(finder: _Finder) -> Iterator[Effect]:
    """Yield what subcommands of Git do to the files of the working tree."""
    read, operands = finder.read, finder.read.operands[1:]
    subcommand = read.operands[0].text if read.operands else ""
    if subcommand not in {"commit", "cherry-pick", "diff", "log", "show"}:
        for value in read.values("-C"):
            finder.enter(value)
    first = operands[0].text if operands else ""
    overwrites = (subcommand == "reset" and read.has("--hard", "--merge")) or (
        subcommand == "stash" and first not in {"list", "show"}
    )
    if subcommand == "clean" and (finder.read.may_have_more or not read.has("--dry-run")):
        settings = [value.text.lower() for value in read.values("-c")]
        requires = [text for text in settings if text.startswith("clean.requireforce")]
        # Git refuses to clean without `--force`, unless a setting says otherwise.
        has_default = requires[-1:] in ([], ["clean.requireforce=true"])
        is_refused = has_default and not read.has("--force")
        targets = operands or [_HERE]
        yield from finder.paths("deletes", targets, is_recursive=True, is_likely=is_refused)
    elif overwrites:
        yield from finder.paths("writes", [_HERE], is_recursive=True)
    elif subcommand in {"checkout", "restore"}:
        is_forced = read.has("--force")
        targets = [_HERE] if is_forced else operands
        # `git checkout NAME` may switch to a branch of that name.
        is_likely = subcommand == "checkout" and not is_forced
        yield from finder.paths("writes", targets, is_recursive=True, is_likely=is_likely)
    elif subcommand == "apply":
        yield from _diff(finder)
    elif (subcommand, first) == ("worktree", "remove"):
        yield from finder.paths("deletes", operands[1:], is_recursive=True)
    elif (subcommand, first) in {("remote", "add"), ("remote", "set-url")}:
        for value in operands[2:3]:
            yield from finder.host(value)
    else:
        yield from _git_reads(finder, subcommand, operands)


def _git_reads(finder: _Finder, subcommand: str, operands: Sequence[Value]) -> Iterator[Effect]:
    """Yield what subcommands of Git show of the contents of files."""
    if subcommand == "grep":  # an operand may be a revision
        yield from finder.paths("reads", operands[1:], is_recursive=True, is_likely=True)
    elif subcommand == "diff" or (subcommand == "log" and finder.read.has("--patch")):
        is_path = finder.read.has("--no-index")
        # No branch has such a name; any other operand may be one.
        names = [it for it in operands if is_path or it.text[:1] == "." or "/." in it.text]
        yield from finder.paths("reads", names)
    elif subcommand in {"cat-file", "show"}:
        for value in operands:
            _, separator, path = value.text.partition(":")
            if separator:  # `HEAD:a.txt`
                yield from finder.path("reads", value._replace(text=path))


def _downloads(finder: _Finder, directories: Sequence[Value]) -> Iterator[Effect]:
    directory = directories[-1] if directories else _HERE
    for value in finder.read.operands:
        name = value.text.partition("?")[0].rstrip("/").rpartition("/")[2]
        target = Value(directory.text, max(value.kind, directory.kind))
        yield from finder.path("writes", target, inside=name)


def _rsync(finder: _Finder) -> Iterator[Effect]:
    operands = finder.read.operands
    if finder.read.has("--dry-run"):
        return
    deletes = any(name.startswith("--del") for name in finder.read.options)
    # A third word is an option.
    may_delete = finder.read.may_have_more and [it.kind for it in operands].count(LITERAL) > 1
    if deletes or may_delete:
        targets = [value for value in operands[-1:] if not _is_remote(value.text)]
        yield from finder.paths("deletes", targets, is_recursive=True, is_likely=not deletes)
    if finder.read.has("--remove-source-files"):
        yield from finder.paths("deletes", operands[:-1], is_recursive=True)


def _unpack(finder: _Finder, directories: Sequence[Value]) -> Iterator[Effect]:
    yield from finder.paths("writes", directories or [_HERE], is_recursive=True, is_likely=True)


def _sed(finder: _Finder) -> Iterator[Effect]:
    for script in finder.read.values("--expression") or finder.read.operands[:1]:
        names = [Value(name.strip()) for name in _SED_WRITES.findall(script.text)]
        yield from finder.paths("writes", names)


def _patch(finder: _Finder) -> Iterator[Effect]:
    """Yield what `apply_patch` does, which Codex CLI provides in its shell."""
    patches = [Value(item.target) for item in finder.redirects if item.is_text]
    for patch in patches or finder.read.operands or [Value("$path", VAGUE)]:
        if patch.kind == VAGUE:
            yield from finder.path("writes", patch)
            yield from finder.path("deletes", patch)
            continue
        for kind, path in patched_paths(patch.text):
            yield from finder.path(kind, Value(path))


def _diff(finder: _Finder) -> Iterator[Effect]:
    """Yield what the differences in the input of `patch` and `git apply` change."""
    for text in [item.target for item in finder.redirects if item.is_text]:
        for old, new in _DIFF.findall(text):
            kind, path = ("deletes", old) if new == "/dev/null" else ("writes", new)
            # How many directories are left out is an option, by default one or all.
            has_prefix = path[:2] in {"a/", "b/"}
            names = [path[2:]] if has_prefix else [path, path.partition("/")[2] or path]
            for name in dict.fromkeys(names):
                yield from finder.path(kind, Value(name))


def _code(finder: _Finder) -> Iterator[Effect]:
    """Yield what code in the arguments does by the usual functions with literal paths."""
    codes = finder.read.values("-c", "-e", "-E", "--eval", "--print", "-r")
    subcommand, *rest = finder.read.operands or [_HERE]
    if subcommand.text == "eval":  # `deno eval CODE`
        codes += rest
    codes += [Value(item.target) for item in finder.redirects if item.is_text]
    for code in codes:
        for kind, target in find_targets(code.text):
            if kind == "contacts":
                yield from finder.host(Value(target))
            else:
                value = Value(target, code.kind) if target else Value("$path", VAGUE)
                yield from finder.path(kind, value, is_recursive=kind == "deletes")


def _by_options(finder: _Finder, program: str) -> Iterator[Effect]:
    """Yield what programs do as some of their options say."""
    read, operands = finder.read, finder.read.operands
    match program:
        case "dd":  # `dd $@`
            yield from finder.paths("writes", [word for word in operands if word.kind == VAGUE])
        case "shred" if read.has("--remove", "-u"):
            yield from finder.paths("deletes", operands)
        case "gzip" | "gunzip" if not read.has("--keep", "--stdout", "--list", "--test"):
            recursive = finder.is_recursive("gzip")
            yield from finder.paths("deletes", operands, is_recursive=recursive)
        case "curl" if read.has("--remote-name", "--remote-name-all"):
            yield from _downloads(finder, read.values("--output-dir"))
        case "wget" if not read.has("--output-document", "--spider"):
            yield from _downloads(finder, read.values("--directory-prefix"))
        case "tar" if read.has("--extract"):
            yield from _unpack(finder, read.values("--directory"))
        case "unzip" if not read.has("-l", "-t", "-p", "-Z"):
            yield from _unpack(finder, read.values("-d"))
        case "grep" | "rg" | "ag" | "ack" if finder.is_recursive(program) and len(operands) < 2:
            yield from finder.path("reads", _HERE, is_recursive=True)


_FURTHER: dict[str, Callable[[_Finder], Iterator[Effect]]] = {
    "find": _find,
    "git": _git,
    "patch": _diff,
    "rsync": _rsync,
    "sed": _sed,
    **dict.fromkeys(("apply_patch", "applypatch"), _patch),
    **dict.fromkeys(CODE_OPTIONS, _code),
}
"""Program to the function that yields what its row cannot say."""


def _assign(letters: Sequence[str], operands: Sequence[Value]) -> Iterator[tuple[Value, str]]:
    """Yield each operand with its letter; the one with `..` stands for those the others leave."""
    several = next((letter for letter in letters if letter.endswith("..")), None)
    if several is None:
        yield from zip(operands, letters, strict=False)
        return
    before = letters[: letters.index(several)]
    after = letters[letters.index(several) + 1 :]
    count = max(len(operands) - len(before) - len(after), 0)
    yield from zip(operands, [*before, *[several[0]] * count, *after], strict=False)
    # In `chmod $@`, the one word may stand for those that follow.
    if operands and operands[-1].may_split and len(operands) <= len(before):
        yield operands[-1], several[0]


def _without_unmoved(operands: Sequence[Value]) -> Sequence[Value]:
    """Return the operands of `mv` without sources that are in the target already: `mv /* /`."""
    if not operands or operands[-1].kind != LITERAL or not _GLOB.isdisjoint(operands[-1].text):
        return operands
    sources = []
    for value in operands[:-1]:
        directory, separator, name = value.text.rpartition("/")
        is_there = separator and directory == operands[-1].text.rstrip("/")
        if not is_there or value.kind == VAGUE or name in {"", "**"}:
            sources.append(value)
    return [*sources, operands[-1]] if sources else []


def _is_remote(text: str) -> bool:
    """Return whether a path of `scp` or `rsync` is on another machine: `host:path`, a URL."""
    if _URL.match(text):
        return True
    return not text.startswith((".", "/")) and _REMOTE.match(text) is not None


def host_of(text: str) -> str:
    """Return the host of a URL, of `user@host`, `host:path` or `host:port`; empty for a path."""
    if _URL.match(text):
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            return text
        return host.removesuffix(".")
    if text[:1] in {"/", ".", "~", "@", "+", "-"}:
        return ""
    match = _HOST.match(text)
    return match[1].strip("[]").lower().removesuffix(".") if match else ""
