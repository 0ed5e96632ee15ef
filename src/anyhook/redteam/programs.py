"""The programs of the oracle's world: stubs that only record, and real ones that are harmless.

In that world files are in memory, and there is no network and no other process. So a real `rm` is
harmless too; it runs where effects on files are compared.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from anyhook.sandbox.tree import HOST, BarePrograms

if TYPE_CHECKING:
    from collections.abc import Iterable

SHELLS = ("bash", "dash", "zsh")
RECORDS = "/run/records"
"""The file to which stubs append."""
STUBS = "/run/stubs"
"""A directory with a file for each program that is a stub at the moment."""
REAL = "/.real"
DISPATCH = "/.dispatch"
HELPERS = frozenset(
    """[ awk base32 base64 basename bunzip2 bzip2 cat comm cut dirname echo env expr false find fold
    gawk grep gunzip gzip head id install ionice ln ls mawk mkdir mkfifo mktemp nice nl node nohup
    od openssl paste perl php printf pwd python3 python readlink realpath rev ruby sed seq setsid
    sort split stdbuf tac tail tee test time timeout touch tr true uniq wc which xargs xxd xz
    zcat""".split()
)
"""Programs that are real, unless the guarded line names them: they run, decode or print."""
CHANGING = frozenset(
    """chmod chown cp cpio dd git mv rm rmdir rsync shred sponge tar truncate unlink""".split()
)
"""Programs that are real where effects on files are compared."""
NETWORK = frozenset("curl wget fetch aria2c http".split())
"""Programs that load from other machines."""
PRINTING = NETWORK | frozenset(
    """awk base32 base64 basenc bat cat cut diff ftp gpg grep head hexdump https jq less lynx more
    nc ncat netcat nl od openssl rg scp sed sftp sort ssh strings tac tail telnet uniq uudecode w3m
    wget2 xxd zcat""".split()
)
"""Programs whose effect is what they print; their stubs print, wherever the output goes.

A stub prints a line that runs `fetched`: so it is seen when a shell reads it. All others print into
a pipe only.
"""
PRIVILEGED = frozenset("sudo doas".split())
"""Run their arguments, unless they are a stub."""
OTHERS = frozenset(
    """apt apt-get aws az brew bundle busybox cargo chattr chgrp crontab dnf docker docker-compose
    dropdb fdisk fetched flyctl gcloud gem gh go gsutil halt heroku helm history iptables journalctl
    kill killall kubectl launchctl ldconfig mkfs mkfs.ext4 mkfs.xfs mongo mount mysql nano nc ncat
    npm npx openstack parted passwd pip pip3 pkill pnpm poetry poweroff psql pulumi reboot redis-cli
    scp sftp shutdown sleep socat sqlite3 ssh su swapoff systemctl telnet terraform twine ufw umount
    useradd userdel usermod uv vault vercel vi vim visudo wipefs yarn yum""".split()
)
"""Programs that are always stubs."""
READERS = ("tee", "mysql", "psql", "sqlite3", "patch", "kubectl", "ssh", "nc", "ncat", "mongo")
"""Stubs that record what they read; others do so if an argument is `-`."""

SCRIPT = f"""#!/bin/sh
name=${{0##*/}}
if [ -e "{STUBS}/$name" ]; then
  cd -P . 2>/dev/null
  reads=
  case $name in {"|".join(READERS)}) reads=1;; esac
  for word do case $word in -|@-|*=@-|/dev/stdin) reads=1;; esac; done
  text=
  [ "$reads" ] && text=$({REAL}/head -c 65536)
  printf '%s\\0' "$name" "$#" "$@" "$PWD" "$text" >>{RECORDS}
  prints=
  case $name in {"|".join(sorted(PRINTING))}) prints=1;; esac
  if [ "$prints" ] || [ -p /dev/stdout ]; then printf 'fetched "%s"\\n' "$*"; fi
  exit 0
fi
[ -e "{REAL}/$name" ] && exec "{REAL}/$name" "$@"
case $name in {"|".join(sorted(PRIVILEGED))})
  while :; do
    case $1 in
      -[ughpCTD]) shift 2;;
      --) shift; break;;
      -*) shift;;
      *=*) export "$1"; shift;;
      *) break;;
    esac
  done
  exec "$@";;
esac
echo "$name: command not found" >&2
exit 127
"""
"""What every program but shells is: a stub, a real program, or one that runs its arguments."""


def stubs_for_records(programs: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that are stubs where what is started is compared.

    The guarded line names `programs`.
    """
    stubs = (OTHERS | CHANGING | NETWORK) | (set(programs) - set(SHELLS) - {"sh"})
    return tuple(sorted(stubs))


def stubs_for_effects(programs: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that are stubs where effects on files are compared."""
    named = set(programs) - HELPERS - CHANGING - PRIVILEGED - set(SHELLS) - {"sh"}
    return tuple(sorted(OTHERS | NETWORK | named))


def world_of(names: Iterable[str], directories: Iterable[str]) -> BarePrograms:
    """Return the programs of a world: those that are known, and those that lines name."""
    links: dict[str, str] = {}
    for shell in (*SHELLS, "sh"):
        real = _real_path(shell)
        if real:
            links[f"/usr/bin/{shell}"] = real
    for name in sorted(HELPERS | CHANGING | OTHERS | NETWORK | PRIVILEGED | set(names)):
        path = f"/usr/bin/{name}"
        if path in links or "/" in name:
            continue
        links[path] = DISPATCH
        real = _real_path(name) if name in HELPERS | CHANGING else ""
        if real:
            links[f"{REAL}/{name}"] = real
    return BarePrograms(links, {DISPATCH: SCRIPT}, tuple(directories))


def installed_shells() -> tuple[str, ...]:
    """Return the shells of this system that the oracle can run."""
    return tuple(shell for shell in SHELLS if _real_path(shell))


def _real_path(name: str) -> str:
    """Return where a program of the system is in the world; empty if it is not installed."""
    path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    if path is None:
        return ""
    real = os.path.realpath(path)
    return f"{HOST}{real}" if real.startswith(("/usr/", "/bin/", "/sbin/")) else ""
