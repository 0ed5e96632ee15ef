"""What commands do to files and hosts, as a table of programs.

A row says what the operands of a program are, and what the values of its options are: `R` is read,
`W` written, `D` deleted, `M` moved away (deleted here), `C` a host or URL that is contacted, `_` is
none of these. `R.. W` reads all operands but the last one, which it writes. A program without a row
has no known effects.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from anyhook.shell.expansions import LITERAL, PATTERN, VAGUE, Value
from anyhook.shell.options import canonical_program
from anyhook.shell.paths import join_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.shell.command import Command


class Effect(NamedTuple):
    """Something that a command does.

    Attributes:
        kind: `reads`, `writes`, `deletes` or `contacts`.
        target: An absolute path or pattern of paths, or the name of a host.
        is_known: Whether the target is known.
        is_recursive: Whether it reaches all that is in a directory; `None` if that is not known.
        is_likely: Whether it depends on the files that exist, such as the name in a directory.
    """

    kind: str
    target: str
    is_known: bool = True
    is_recursive: bool | None = False
    is_likely: bool = False


_KINDS = {"R": "reads", "W": "writes", "D": "deletes", "M": "deletes", "C": "contacts"}
_ROWS: dict[str, str] = {
    **dict.fromkeys("rm rmdir unlink trash trash-put rimraf del-cli srm".split(), "D.."),
    "shred": "W..",
    "cp": "R.. W --target-directory=W",
    "mv": "M.. W --target-directory=W",
    "rename": "_ W..",
    "ln": "R.. W --target-directory=W",
    "install": "R.. W --target-directory=W",
    **dict.fromkeys("mkdir touch mkfifo mknod truncate tee sponge chattr setfacl".split(), "W.."),
    **dict.fromkeys(("chmod", "chown", "chgrp"), "_ W.. --reference=R"),
    **dict.fromkeys(
        (
            "cat tac head tail less more bat nl od xxd hexdump strings base64 base32 md5sum sha1sum"
            " sha224sum sha256sum sha384sum sha512sum shasum b2sum cksum sum file stat cut wc paste"
            " join comm cmp diff fold fmt expand column rev zcat bzcat xzcat zless zmore tsort pr"
            " source . python perl ruby node php lua iconv readelf objdump nm size shuf csplit"
            " csvcut bash sh zsh dash ksh mlr envsubst pandoc sdiff vimdiff look aspell"
            " open xdg-open cpio"
        ).split(),
        "R..",
    ),
    "uniq": "R W",
    "sort": "R.. --output=W --random-source=R --files0-from=R",
    "split": "R",
    "grep": "_ R.. --file=R --exclude-from=R",
    "rg": "_ R.. --file=R",
    "ag": "_ R..",
    "ack": "_ R..",
    "jq": "_ R..",
    "yq": "_ R..",
    "awk": "_ R.. --file=R",
    "sed": "_ R.. --file=R",
    "dd": "if=R of=W",
    "mkfs": "W..",
    "mke2fs": "W..",
    "mkfs.xfs": "W..",
    **dict.fromkeys(
        "mkswap wipefs blkdiscard fdisk sfdisk parted sgdisk mkfs.btrfs".split(), "W.."
    ),
    "gzip": "W..",
    "gunzip": "W..",
    **dict.fromkeys("bzip2 xz zstd lz4 bunzip2 unxz compress".split(), "W.."),
    "patch": "W.. --input=R --output=W --directory=W",
    "unzip": "R _.. -d=W",
    "zip": "W R..",
    "tar": "R.. --file=R --directory=W --files-from=R --exclude-from=R",
    **dict.fromkeys("vi vim nvim view nano emacs ed ex code gvim pico micro".split(), "W.."),
    "curl": "C.. --url=C --output=W --upload-file=R --config=R --cookie-jar=W --cookie=F"
    " --dump-header=W --data=F --data-ascii=F --data-binary=F --data-urlencode=F --json=F --form=F"
    " --key=R --cert=R --netrc-file=R --trace=W --trace-ascii=W --proxy=C --output-dir=W --stderr=W"
    " --cacert=R --proxy=C",
    "wget": "C.. --output-document=W --directory-prefix=W --input-file=R --output-file=W"
    " --append-output=W --post-file=R --body-file=R --load-cookies=R --save-cookies=W --config=R",
    **dict.fromkeys("http https xh httpie aria2c lynx w3m links ftp telnet".split(), "C.."),
    **dict.fromkeys(
        "ping ping6 dig nslookup host traceroute mtr whois nmap tracepath".split(), "C.."
    ),
    "ssh": "C _.. -i=R -F=R -J=C -E=W",
    "ssh-copy-id": "C -i=R",
    "sftp": "C _.. -i=R -F=R -b=R -J=C",
    "nc": "C _",
    "socat": "S..",
    "openssl": "_.. -connect=C",
    "scp": "S.. T -i=R -F=R -J=C",
    "rsync": "S.. T --files-from=R --exclude-from=R --include-from=R --password-file=R --log-file=W"
    " --backup-dir=W",
    "psql": "_.. --host=C --file=R --output=W --log-file=W",
    "mysql": "_.. --host=C --defaults-file=R",
    "mysqladmin": "_.. --host=C",
    "redis-cli": "_.. -h=C --rdb=W",
    "mongosh": "C _.. --host=C --file=R",
    "sqlite3": "W _..",
    "crontab": "R",
    "git": "",
    "terraform": "_.. --var-file=R --state=W --state-out=W --out=W",
    "kubectl": "_.. --filename=R --kubeconfig=R",
    "gpg": "R.. --output=W -o=W",
    "ssh-keygen": "_.. -f=W",
    "sha": "R..",
}
"""Program to what it does. `F` is a file behind `@`, `S` and `T` are `host:path` or a path."""
_GIT_ROWS = {
    "push": "C _..",
    "fetch": "C _..",
    "pull": "C _..",
    "clone": "C W",
    "ls-remote": "C _..",
    "rm": "D..",
    "mv": "M.. W",
    "restore": "W..",
    "apply": "R..",
    "am": "R..",
    "add": "R..",
    "commit": "_.. --file=R",
    "archive": "_.. --output=W",
    "diff": "_.. --output=W",
    "show": "_.. --output=W",
    "log": "_.. --output=W",
}
_RECURSIVE = {
    "rm": ("--recursive",),
    "cp": ("--recursive", "--archive"),
    "chmod": ("--recursive",),
    "chown": ("--recursive",),
    "chgrp": ("--recursive",),
    "grep": ("--recursive", "--dereference-recursive"),
    "scp": ("-r",),
    "rsync": ("--archive", "--recursive"),
    "zip": ("--recurse-paths",),
    "diff": ("-r", "--recursive"),
    "gzip": ("--recursive",),
    "git": ("-r",),
}
"""Options with which a program reaches all that is in a directory."""
_ALWAYS_RECURSIVE = frozenset(
    "mv rg ag ack tar find trash trash-put rimraf del-cli srm install".split()
)
_INTO_DIRECTORY = frozenset("cp mv ln install".split())
_REMOTE = re.compile(r"(?:[\w.-]+@)?([\w.-]+|\[[0-9a-fA-F:]+\])::?(?!//)(.*)", re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = re.compile(r"(?:[^@/\s]*@)?(\[[0-9a-fA-F:.]+\]|[^:/\s\[\]@?#]+)")
_WRITES = re.compile(r"[0-9]*&?(?:>>?|>\||>&|&>>?|<>)&?|\{\w+\}>>?")
_PLAIN_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/63"})
_DIALLED = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_SQL_FILE = re.compile(r"\b(?:LOAD_FILE|INTO\s+(?:OUT|DUMP)FILE|COPY)\b", re.IGNORECASE)
_CODE_DELETES = re.compile(
    r"\b(?:unlink|rmtree|removedirs|remove|rmdir|rmSync|unlinkSync|rmdirSync|rm_rf|rm_r|rm|delete)\b"
    r"\s*\(?\s*[rbuf]?(?:\"([^\"]*)\"|'([^']*)'|([^\s)]))"
)
_CODE_WRITES = re.compile(
    r"\bopen\s*\(\s*[rbuf]?(?:\"([^\"]*)\"|'([^']*)')\s*,\s*(?:mode\s*=\s*)?[\"'][^\"']*[wax+>]"
    r"|\b(?:writeFileSync|writeFile|appendFileSync|write_text|file_put_contents)\s*\(\s*(?:\"([^\"]*)\"|'([^']*)')"
    r"|\bPath\s*\(\s*(?:\"([^\"]*)\"|'([^']*)')\s*\)\s*\.write_"
)
_CODE_READS = re.compile(
    r"\b(?:open|readFileSync|readFile|file_get_contents|File\.read|Path)\s*\(\s*[rbuf]?(?:\"([^\"]*)\"|'([^']*)')"
)
_CODE_CONTACTS = re.compile(r"[\"']([a-z]+://[^\"']+)[\"']")
_SED_WRITES = re.compile(r"(?:^|[;{}/\n0-9$])\s*w\s+([^\n;]+)")


def find_effects(command: Command) -> Iterator[Effect]:
    """Yield what a command does to files and hosts, as far as it is known."""
    finder = _Finder(command)
    yield from finder.redirects()
    program = canonical_program(command.program)
    if program == "git":
        yield from finder.git()
        return
    if program == "find":
        yield from finder.find()
        return
    row = _ROWS.get(program) or _ROWS.get(command.program)
    if row is None:
        if program.startswith("mkfs."):
            yield from finder.row("W..", program)
        return
    yield from finder.row(finder.adjusted(row, program), program)
    yield from finder.further(program)


class _Finder:
    """Finds the effects of one command."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.directories = (command.directory, *command.other_directories)

    # --- targets -------------------------------------------------------------------------------

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
        home = self.command.home
        if text in {"", "-"} or text in _PLAIN_DEVICES:
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

    def host(self, value: Value) -> Iterator[Effect]:
        """Yield the host that a URL or a `user@host` names."""
        text = value.text
        host = host_of(text)
        is_known = value.kind != VAGUE or bool(_literal_host(text))
        if host or not is_known:
            yield Effect("contacts", host or text, is_known)

    # --- redirections ----------------------------------------------------------------------------

    def redirects(self) -> Iterator[Effect]:
        """Yield the effects of the redirections."""
        for redirect in self.command.redirects:
            operator = redirect.operator
            kind = LITERAL if redirect.certain else VAGUE
            value = Value(redirect.target, kind)
            dialled = _DIALLED.match(redirect.target)
            if operator.endswith(("<<", "<<-", "<<<")):
                continue
            if dialled:
                yield Effect("contacts", dialled[1], redirect.certain)
            elif _WRITES.fullmatch(operator):
                yield from self.path("writes", value)
            if operator.endswith("<") or operator.endswith("<>"):
                yield from self.path("reads", value)

    # --- rows ------------------------------------------------------------------------------------

    def adjusted(self, row: str, program: str) -> str:
        """Return the row of a program as its options change it."""
        options = self.command.read.options
        match program:
            case "grep" if {"--regexp", "--file"} & options.keys():
                return row.replace("_ ", "")
            case "sed":
                row = row.replace("R..", "W..") if "--in-place" in options else row
                return row.replace("_ ", "") if {"--expression", "--file"} & options.keys() else row
            case "awk" if {"--file", "--source"} & options.keys():
                return row.replace("_ ", "")
            case "rg" if "--files" in options or "--regexp" in options:
                return row.replace("_ ", "")
            case "cp" | "mv" | "ln" | "install" if "--target-directory" in options:
                return row.replace("R.. W", "R..").replace("M.. W", "M..")
            case "install" if "--directory" in options:
                return "W.."
            case "chmod" | "chown" | "chgrp" if "--reference" in options:
                return row.replace("_ ", "")
            case "tar":
                return self._tar_row()
            case "gzip" | "gunzip" if {"--to-stdout", "--list", "--test"} & options.keys():
                return "R.."
            case "python" | "perl" | "ruby" | "node" | "php" | "lua":
                return "R" if not {"-c", "-e", "-E", "-m", "--eval"} & options.keys() else "_.."
            case "zip" if "--move" in options:
                return "W D.."
            case "ssh-keygen" if "-l" in options or "-y" in options:
                return "_.. -f=R"
        return row

    def _tar_row(self) -> str:
        options = self.command.read.options
        if not {"--extract", "--list", "--diff", "--compare"}.isdisjoint(options) or (
            "--get" in options
        ):
            return "_.. --file=R --directory=W"
        operands = "M.." if "--remove-files" in options else "R.."
        return f"{operands} --file=W --files-from=R --exclude-from=R"

    def row(self, row: str, program: str) -> Iterator[Effect]:
        """Yield the effects that a row describes."""
        read = self.command.read
        operands = read.operands[1:] if program == "git" else read.operands
        words = [word for word in row.split() if "=" not in word]
        recursive = self._is_recursive(program)
        for value, word in _assign(words, operands):
            yield from self._operand(word, value, recursive)
        if program in _INTO_DIRECTORY and len(operands) > 1:
            yield from self._into_directory(operands[:-1], operands[-1])
        for word in row.split():
            option, separator, kind = word.rpartition("=")
            if separator:
                for value in read.options.get(option, ()):
                    yield from self._operand(kind, value, recursive)
        # An unknown word may be a file as well as an option.
        return

    def _is_recursive(self, program: str) -> bool | None:
        if program in _ALWAYS_RECURSIVE:
            return True
        options = _RECURSIVE.get(program, ())
        read = self.command.read
        if any(option in read.options for option in options):
            return True
        return None if options and read.may_have_more else False

    def _operand(self, word: str, value: Value, recursive: bool | None) -> Iterator[Effect]:
        match word:
            case "R" | "W" | "D" | "M":
                yield from self.path(_KINDS[word], value, is_recursive=recursive)
            case "C":
                yield from self.host(value)
            case "F":
                name, _, file = value.text.partition("@")
                if file and (not name or name.endswith("=")):
                    yield from self.path("reads", value._replace(text=file.partition(";")[0]))
            case "S" | "T":
                yield from self._remote(value, "reads" if word == "S" else "writes", recursive)

    def _remote(self, value: Value, kind: str, recursive: bool | None) -> Iterator[Effect]:
        remote = _REMOTE.match(value.text)
        if _URL.match(value.text) or (remote and not value.text.startswith((".", "/"))):
            yield from self.host(value)
        else:
            yield from self.path(kind, value, is_recursive=recursive)
            if kind == "writes":
                yield from self.path(kind, value, is_recursive=True, is_likely=True)

    def _into_directory(self, sources: Sequence[Value], target: Value) -> Iterator[Effect]:
        """Yield what is written if the last operand is a directory."""
        for source in sources:
            name = source.text.rstrip("/").rpartition("/")[2]
            if name not in {"", ".", ".."}:
                kind = max(source.kind, target.kind)
                is_likely = len(sources) == 1 and target.text[-1:] != "/"
                yield from self.path(
                    "writes", Value(target.text, kind), inside=name, is_likely=is_likely
                )

    # --- programs with rules of their own --------------------------------------------------------

    def find(self) -> Iterator[Effect]:
        """Yield what `find` does: it deletes what is below its starting points."""
        read = self.command.read
        roots = read.operands or [Value(".")]
        names = read.options.get("-name", [])
        is_simple = len(names) == 1 and "-o" not in read.options
        deletes = "-delete" in read.options
        for root in roots:
            kind = VAGUE if root.kind == VAGUE else PATTERN
            below = f"{root.text}/**/{names[0].text}" if is_simple else root.text
            if deletes or read.may_have_more:
                value = Value(below, kind if deletes else VAGUE)
                yield from self.path("deletes", value, is_recursive=True)
        for option in ("-fprint", "-fprint0", "-fls"):
            for value in read.options.get(option, ()):
                yield from self.path("writes", value)
        for value in read.options.get("-fprintf", [])[:1]:
            yield from self.path("writes", value)

    def git(self) -> Iterator[Effect]:
        """Yield what a subcommand of Git does."""
        read = self.command.read
        if not read.operands:
            return
        for value in read.options.get("-C", ()):
            if "-C" in read.options and read.operands[0].text not in {"commit", "cherry-pick"}:
                self._enter(value)
        subcommand = read.operands[0].text
        operands = read.operands[1:]
        everything = Value(".")
        match subcommand:
            case "clean":
                is_dry = "--dry-run" in read.options and not read.may_have_more
                if not is_dry:
                    for value in operands or [everything]:
                        yield from self.path("deletes", value, is_recursive=True)
            case "reset" if "--hard" in read.options or "--merge" in read.options:
                yield from self.path("writes", everything, is_recursive=True)
            case "checkout":
                is_all = "--force" in read.options
                for value in [everything] if is_all else operands:
                    yield from self.path("writes", value, is_recursive=True, is_likely=not is_all)
            case "stash" if [value.text for value in operands[:1]] not in (["list"], ["show"]):
                yield from self.path("writes", everything, is_recursive=True)
            case "worktree" if operands[:1] == [Value("remove")]:
                for value in operands[1:]:
                    yield from self.path("deletes", value, is_recursive=True)
            case "rm" if "--cached" in read.options:
                pass
            case "remote" if operands[:1] == [Value("add")] or operands[:1] == [Value("set-url")]:
                for value in operands[2:3]:
                    yield from self.host(value)
            case _ if subcommand in _GIT_ROWS:
                yield from self.row(_GIT_ROWS[subcommand], "git")

    def _enter(self, value: Value) -> None:
        directories: list[str | None] = []
        for directory in self.directories:
            is_known = value.kind == LITERAL and directory is not None
            directories.append(join_path(directory or "", value.text) if is_known else None)
        self.directories = (directories[0], *directories[1:])

    def further(self, program: str) -> Iterator[Effect]:
        """Yield effects that no row describes."""
        read = self.command.read
        match program:
            case "curl" if not {"--remote-name", "--remote-name-all"}.isdisjoint(read.options):
                for value in read.operands:
                    yield from self._download(value)
            case "wget" if not {"--output-document", "--spider"} & read.options.keys():
                for value in read.operands:
                    yield from self._download(value)
            case "rsync" if any(name.startswith("--del") for name in read.options):
                for value in read.operands[-1:]:
                    if not _REMOTE.match(value.text):
                        yield from self.path("deletes", value, is_recursive=True)
            case "rsync" if "--remove-source-files" in read.options:
                for value in read.operands[:-1]:
                    yield from self.path("deletes", value, is_recursive=True)
            case "shred" if "--remove" in read.options or "-u" in read.options:
                for value in read.operands:
                    yield from self.path("deletes", value)
            case "gzip" | "gunzip" if not {"--keep", "--to-stdout", "--list"} & read.options.keys():
                for value in read.operands:
                    yield from self.path("deletes", value)
            case "tar" if "--extract" in read.options or "--get" in read.options:
                for value in read.options.get("--directory", [Value(".")]):
                    yield from self.path("writes", value, is_recursive=True, is_likely=True)
            case "unzip":
                for value in read.options.get("-d", [Value(".")]):
                    yield from self.path("writes", value, is_recursive=True, is_likely=True)
            case "sed":
                scripts = [*read.options.get("--expression", ()), *read.operands[:1]]
                for script in scripts:
                    for name in _SED_WRITES.findall(script.text):
                        yield from self.path("writes", Value(name.strip()))
            case "rg" | "ag" | "ack" if len(read.operands) < 2:
                yield from self.path("reads", Value("."), is_recursive=True)
            case "grep" if self._is_recursive("grep") and len(read.operands) < 2:
                yield from self.path("reads", Value("."), is_recursive=True)
            case "python" | "perl" | "ruby" | "node" | "php" | "lua":
                yield from self._code()

    def _download(self, value: Value) -> Iterator[Effect]:
        name = value.text.split("?")[0].rstrip("/").rpartition("/")[2]
        folder = self.command.read.options.get("--output-dir") or self.command.read.options.get(
            "--directory-prefix", [Value(".")]
        )
        yield from self.path("writes", Value(folder[-1].text, value.kind), inside=name)

    def _code(self) -> Iterator[Effect]:
        """Yield what code in the arguments does by the usual functions with literal paths."""
        options = self.command.read.options
        codes: list[Value] = []
        for option in ("-c", "-e", "-E", "--eval", "-r"):
            codes += options.get(option, ())
        codes += [
            Value(redirect.target)
            for redirect in self.command.redirects
            if redirect.operator.endswith(("<<", "<<-", "<<<"))
        ]
        for code in codes:
            for match in _CODE_DELETES.finditer(code.text):
                name = match[1] or match[2] or ""
                kind = LITERAL if name and code.kind == LITERAL else VAGUE
                yield from self.path("deletes", Value(name or match[0], kind), is_recursive=True)
            for pattern, effect in ((_CODE_WRITES, "writes"), (_CODE_READS, "reads")):
                for match in pattern.finditer(code.text):
                    name = next(filter(None, match.groups()), "")
                    yield from self.path(effect, Value(name, code.kind))
            for match in _CODE_CONTACTS.finditer(code.text):
                yield from self.host(Value(match[1]))


def _assign(words: Sequence[str], operands: Sequence[Value]) -> Iterator[tuple[Value, str]]:
    """Yield each operand with its letter; the word with `..` takes those that the others leave."""
    several = next((word for word in words if word.endswith("..")), None)
    if several is None:
        for value, word in zip(operands, words, strict=False):
            yield value, word
        return
    before = words[: words.index(several)]
    after = words[words.index(several) + 1 :]
    # `cp a` has no target, and `mv $FILES` may have one among them.
    count = max(len(operands) - len(before) - len(after), 0)
    letters = [*before, *[several[0]] * count, *after]
    for value, word in zip(operands, letters, strict=False):
        yield value, word


def host_of(text: str) -> str:
    """Return the host of a URL, of `user@host`, `host:path` or `host:port`; empty for a path."""
    if _URL.match(text):
        try:
            # To a browser a backslash is a slash.
            host = urlsplit(text.replace("\\", "/")).hostname or ""
        except ValueError:
            return text
        return host.removesuffix(".")
    if text[:1] in {"/", ".", "~", "@", "+", "-"}:
        return ""
    match = _HOST.match(text)
    return match[1].strip("[]").lower().removesuffix(".") if match else ""


def _literal_host(text: str) -> bool:
    """Return whether the host of a URL is certain although the text behind it is not."""
    match = re.match(r"[a-z]+://(?:[^/@$`]*@)?[\w.-]+(?::\d+)?(?:[/?#]|$)", text, re.IGNORECASE)
    return match is not None
