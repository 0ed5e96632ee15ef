"""What programs do to files and hosts, as data; `anyhook.shell.effects` reads it.

A row says what the operands of a program are, and what the values of its options are: `R` is read,
`W` written, `D` deleted, `M` moved away (deleted here), `C` a host or URL that is contacted, `F` a
file behind `@`, `S` and `T` a source and a target that are a path or `host:path`, `_` none of
these. `R.. W` reads all operands but the last one, which it writes. A program without a row has no
known effects. Keys and certificates by which a program proves who it is are not read in this sense:
nothing of them is shown, or sent.
"""

from __future__ import annotations

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
