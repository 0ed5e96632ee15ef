"""What programs do to files and hosts, as data that options change; `effects` reads it.

A row says what the operands of a program are, and what the values of its options are: `R` is read,
`W` written, `D` deleted, `M` moved away (deleted here), `C` a host or URL that is contacted, `F` a
file behind `@`, `S` and `T` a source and a target that are a path or `host:path`, `_` none of
these. `R.. W` reads all operands but the last one, which it writes. A program without a row has no
known effects. Keys and certificates by which a program proves who it is are not read in this sense:
nothing of them is shown, or sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.shell.options import Arguments

ROWS: dict[str, str] = {
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
    " --netrc-file=R --trace=W --trace-ascii=W --proxy=C --output-dir=W --stderr=W",
    "wget": "C.. --output-document=W --directory-prefix=W --input-file=R --output-file=W"
    " --append-output=W --post-file=R --body-file=R --load-cookies=R --save-cookies=W --config=R",
    **dict.fromkeys("http https xh httpie aria2c lynx w3m links ftp telnet".split(), "C.."),
    **dict.fromkeys(
        "ping ping6 dig nslookup host traceroute mtr whois nmap tracepath".split(), "C.."
    ),
    "ssh": "C _.. -F=R -J=C -E=W",
    "ssh-copy-id": "C",
    "sftp": "C _.. -F=R -b=R -J=C",
    "nc": "C _",
    "socat": "S..",
    "openssl": "_.. -connect=C",
    "scp": "S.. T -F=R -J=C",
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
"""Program to its row."""
GIT_ROWS = {
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
    "blame": "R..",
    "commit": "_.. --file=R",
    "archive": "_.. --output=W",
    "diff": "_.. --output=W",
    "show": "_.. --output=W",
    "log": "_.. --output=W",
}
RECURSIVE = {
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
ALWAYS_RECURSIVE = frozenset(
    "mv rg ag ack tar find trash trash-put rimraf del-cli srm install".split()
)


def row_of_effects(name: str, program: str, read: Arguments) -> str:
    """Return the row of a command, as its options change it; empty if it has none.

    `name` is the one name of the program that the rows use.
    """
    row = ROWS.get(name, "W.." if name.startswith("mkfs.") else "")
    change = _CHANGES.get(name)
    return row if change is None else change(program, read, row)


def _without_pattern(*options: str) -> Callable[[str, Arguments, str], str]:
    """Return a change of a row whose first operand belongs to some options, if they are there."""

    def change(_program: str, read: Arguments, row: str) -> str:
        return row.removeprefix("_ ") if read.has(*options) else row

    return change


def _without_target(program: str, read: Arguments, row: str) -> str:
    if program == "install" and read.has("--directory"):
        return "W.."
    if program == "cp" and read.has("--attributes-only"):
        row = row.replace("R..", "_..")
    return row.replace(".. W ", ".. ") if read.has("--target-directory") else row


def _change_sed(_program: str, read: Arguments, row: str) -> str:
    if read.has("--in-place"):
        row = row.replace("R..", "W..")
    return row.removeprefix("_ ") if read.has("--expression", "--file") else row


def _change_tar(_program: str, read: Arguments, _row: str) -> str:
    if read.has("--extract", "--list", "--diff"):
        return "_.. --file=R --directory=W"
    operands = "M.." if read.has("--remove-files") else "R.."
    return f"{operands} --file=W --files-from=R --exclude-from=R"


def _change_git(_program: str, read: Arguments, _row: str) -> str:
    operands = read.operands
    subcommand = operands[0].text if operands else ""
    if subcommand == "rm" and read.has("--cached"):
        return ""
    return GIT_ROWS.get(subcommand, "")


def _change_yq(_program: str, read: Arguments, row: str) -> str:
    operands = read.operands
    has_subcommand = bool(operands) and operands[0].text in {"eval", "eval-all", "e", "ea"}
    return f"_ {row}" if has_subcommand else row


def _change_interpreter(program: str, read: Arguments, _row: str) -> str:
    if not read.has("-c", "-e", "-E", "-m", "-r", "--eval"):
        return "R"
    # `perl -ne CODE FILE`: other interpreters do not have both options.
    reads_files = program in {"perl", "ruby"} and read.has("-n", "-p")
    return ("W.." if read.has("-i") else "R..") if reads_files else "_.."


_CHANGES: dict[str, Callable[[str, Arguments, str], str]] = {
    "grep": _without_pattern("--regexp", "--file"),
    "rg": _without_pattern("--regexp", "--file", "--files"),
    "awk": _without_pattern("--source", "--file"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _without_pattern("--reference")),
    **dict.fromkeys(("cp", "mv", "ln", "install"), _without_target),
    "sed": _change_sed,
    "tar": _change_tar,
    "yq": _change_yq,
    **dict.fromkeys(
        ("python", "perl", "ruby", "node", "php", "lua"),
        _change_interpreter,
    ),
    "zip": lambda _program, read, row: "W D.." if read.has("--move") else row,
    **dict.fromkeys(
        ("gzip", "gunzip"),
        lambda _program, read, row: "R.." if read.has("--stdout", "--list", "--test") else row,
    ),
    "wipefs": lambda _program, read, row: row if read.has("--all", "--offset") else "R..",
    "ssh-keygen": lambda _program, read, row: "_.. -f=R" if read.has("-l", "-y") else row,
    "git": _change_git,
}
"""Program to the function that changes its row as its options demand."""
