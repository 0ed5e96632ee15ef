"""Spellings of a command that shells run alike, proved by running them with programs that only
write down their arguments."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from base64 import b64encode

COMMANDS = (
    ("rm", "-rf", "/srv/www"),
    ("git", "push", "--force", "origin", "main"),
    ("git", "reset", "--hard", "HEAD~3"),
    ("chmod", "-R", "777", "/srv"),
    ("dd", "if=/dev/zero", "of=/dev/sdz"),
    ("terraform", "destroy", "-auto-approve"),
)
HELPERS = (
    "base64",
    "bash",
    "cat",
    "dash",
    "env",
    "find",
    "nice",
    "nohup",
    "sh",
    "timeout",
    "xargs",
)
"""Programs of the system that the spellings use; nothing else is on the `PATH`."""
STUB = """#!/bin/sh
printf '%s\\n' "${0##*/}" "$@" >> "$RECORD"
printf -- '--\\n' >> "$RECORD"
"""


def quote(words):
    return " ".join(map(shlex.quote, words))


def _hexadecimal(word):
    return "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'"


# How the words of a command may be written.
WORDS = {
    "plain": quote,
    "empty quotes": lambda w: f"{w[0][0]}''{w[0][1:]} {quote(w[1:])}",
    "double quotes": lambda w: " ".join(f'"{word}"' for word in w),
    "backslash": lambda w: f"\\{w[0]} {quote(w[1:])}",
    "ansi-c": lambda w: " ".join(map(_hexadecimal, w)),
    "tabs": lambda w: "\t".join(map(shlex.quote, w)),
    "IFS": lambda w: "$IFS".join(w) if all(word.isalnum() for word in w[:-1]) else quote(w),
    "IFS in braces": lambda w: "${IFS}".join(w),
    "braces": lambda w: "{" + ",".join(w) + "}",
    "variable": lambda w: f"X={w[0]}; $X {quote(w[1:])}",
    "variable of all": lambda w: f"X={shlex.quote(' '.join(w))}; $X",
    "two variables": lambda w: f"A={w[0][:1]}; B={w[0][1:]}; $A$B {quote(w[1:])}",
    "variable argument": lambda w: f'Y={shlex.quote(w[1])}; {w[0]} "$Y" {quote(w[2:])}',
    "printf": lambda w: f"$(printf {w[0]}) {quote(w[1:])}",
    "echo in backticks": lambda w: f"`echo {w[0]}` {quote(w[1:])}",
    "joined line": lambda w: f"{w[0]} \\\n{quote(w[1:])}",
    "assignment in front": lambda w: f"LC_ALL=C {quote(w)}",
    "redirection in front": lambda w: f">/dev/null {quote(w)}",
    "xargs": lambda w: f"printf '%s ' {quote(w[1:])} | xargs {w[0]}",
    "xargs of all": lambda w: f"echo {quote(w)} | xargs env",
    "default of a variable": lambda w: f"${{NOTHING:-{w[0]}}} {quote(w[1:])}",
    "positional": lambda w: f'set -- {quote(w)}; "$@"',
    "function arguments": lambda w: f'f() {{ "$@"; }}; f {quote(w)}',
    "loop": lambda w: f"for p in {w[0]}; do $p {quote(w[1:])}; done",
    "read": lambda w: f"read -r p <<< {w[0]}; $p {quote(w[1:])}",
}
# What may stand around a command line.
LINES = {
    "env": lambda c: f"env FOO=1 sh -c {shlex.quote(c)}",
    "command": lambda c: f"command eval {shlex.quote(c)}",
    "nohup": lambda c: f"nohup sh -c {shlex.quote(c)}",
    "timeout": lambda c: f"timeout -k 1 5 bash -c {shlex.quote(c)}",
    "nice": lambda c: f"nice -n 5 sh -c {shlex.quote(c)}",
    "sh -c": lambda c: f"sh -c {shlex.quote(c)}",
    "bash -ec": lambda c: f"bash -ec {shlex.quote(c)} name",
    "bash -o": lambda c: f"bash -o pipefail -c {shlex.quote(c)}",
    "eval": lambda c: f"eval {shlex.quote(c)}",
    "exec": lambda c: f"(exec sh -c {shlex.quote(c)})",
    "here-string": lambda c: f"bash <<< {shlex.quote(c)}",
    "here-document": lambda c: f"bash <<'END'\n{c}\nEND",
    "pipe": lambda c: f"printf '%s\\n' {shlex.quote(c)} | sh",
    "cat": lambda c: f"cat <<'END' | bash\n{c}\nEND\n",
    "base64": lambda c: f"printf %s {b64encode(c.encode()).decode()} | base64 -d | sh",
    "and": lambda c: f"true && {c}",
    "or": lambda c: f"false || {c}",
    "subshell": lambda c: f"( {c} )",
    "group": lambda c: f"{{ {c}\n}}",
    "group with input": lambda c: f"{{ bash\n}} <<< {shlex.quote(c)}",
    "substitution": lambda c: f'true "$({c})"',
    "process substitution": lambda c: f"cat <({c})",
    "source": lambda c: f". /dev/stdin <<< {shlex.quote(c)}",
    "function": lambda c: f"f() {{ {c}\n}}; f",
    "if": lambda c: f"if true; then {c}\nfi",
    "case": lambda c: f"case a in a) {c}\n;; esac",
    "while": lambda c: f"while true; do {c}\nbreak; done",
    "trap": lambda c: f"trap {shlex.quote(c)} EXIT",
    "find": lambda c: f"find / -maxdepth 0 -exec sh -c {shlex.quote(c)} ';'",
    "xargs sh -c": lambda c: f"echo {shlex.quote(shlex.quote(c))} | xargs sh -c",
    "variable": lambda c: f'C={shlex.quote(c)}; eval "$C"',
    "comment": lambda c: f"{c} # harmless",
    "time": lambda c: f"time {c}",
    "not": lambda c: f"! {c}",
}


class Oracle:
    """Runs command lines in a shell in which nothing dangerous can be found.

    Args:
        directory: An empty directory for the programs and their record.
    """

    def __init__(self, directory):
        self.record = directory / "record"
        self.path = directory / "programs"
        self.path.mkdir()
        self.shells = {name: shutil.which(name) for name in ("bash", "dash") if shutil.which(name)}
        for name in {command[0] for command in COMMANDS}:
            program = self.path / name
            program.write_text(STUB)
            program.chmod(0o755)
        for name in HELPERS:
            real = shutil.which(name)
            if real:
                (self.path / name).symlink_to(real)

    def runs(self, line, shell):
        """Return what the programs were called with."""
        self.record.write_text("")
        environment = {"PATH": os.fspath(self.path), "RECORD": os.fspath(self.record)}
        subprocess.run(
            [self.shells[shell], "-c", line],
            cwd=self.path,
            env={**environment, "HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        return self.record.read_text()

    def proves(self, line, command):
        """Return the shells that run a command line as they run a command."""
        expected = "\n".join([*command, "--", ""])
        return [shell for shell in self.shells if self.runs(line, shell) == expected]
