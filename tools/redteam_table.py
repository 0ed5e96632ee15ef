"""Fill the table of `docs/redteam.md`: what gets past guards, each at a named release.

    python tools/redteam_table.py DIRECTORY

Public guards are installed below the directory, as they are, with their default settings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "redteam.md"
START, END = "<!-- redteam -->\n", "<!-- /redteam -->"
LINES = ("rm -rf ~", "git push --force origin main")
"""Each guard is tried with those that it stops."""
PATTERN = """\
import re

from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    if re.search(r"rm\\s+-rf|git push --force", event.call.command):
        return deny("no")
"""


@dataclass(frozen=True, slots=True)
class PublicGuard:
    """A guard that a registry has.

    Attributes:
        name: Its name there.
        release: Its release.
        install: The commands that install it in the current directory.
        run: The command line that agents start.
    """

    name: str
    release: str
    install: tuple[tuple[str, ...], ...]
    run: str


PUBLIC = (
    PublicGuard(
        "cc-safety-net",
        "2.4.5",
        (("npm", "install", "--silent", "--ignore-scripts", "--prefix", ".", "{name}@{release}"),),
        "node {directory}/node_modules/cc-safety-net/dist/bin/cc-safety-net.js hook --claude-code",
    ),
    PublicGuard(
        "nah",
        "0.11.0",
        (
            (sys.executable, "-m", "venv", "."),
            ("bin/python", "-m", "pip", "install", "--quiet", "{name}=={release}"),
        ),
        "{directory}/bin/python -m nah.hook",
    ),
)


def main() -> None:
    """Write the table."""
    corpus = Path(sys.argv[1]).resolve()
    guards = [("a regular expression", "", _write_pattern(corpus))]
    guards += [(guard.name, guard.release, _install(guard, corpus)) for guard in PUBLIC]
    with ThreadPoolExecutor() as executor:
        rows = list(executor.map(lambda guard: _row(*guard), guards))
    heading = (
        "|guard|release|stops|spellings|denied|asked|escapes|classes with escapes|\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}{heading}{''.join(rows)}{END}{after}", encoding="utf-8")


def _write_pattern(corpus: Path) -> Path:
    corpus.mkdir(parents=True, exist_ok=True)
    path = corpus / "pattern.py"
    path.write_text(PATTERN, encoding="utf-8")
    return path


def _install(guard: PublicGuard, corpus: Path) -> Path:
    """Install a guard, and return a program that runs it."""
    directory = corpus / guard.name
    program = directory / "guard.sh"
    if not program.is_file():
        directory.mkdir(parents=True, exist_ok=True)
        for command in guard.install:
            words = [word.format(name=guard.name, release=guard.release) for word in command]
            subprocess.run(words, cwd=directory, check=True)
        program.write_text(f"#!/bin/sh\nexec {guard.run.format(directory=directory)}\n")
        program.chmod(0o755)
    return program


def _row(name: str, release: str, program: Path) -> str:
    """Try a guard in an empty project, and return its row."""
    words = [sys.executable, "-m", "anyhook", "redteam", str(program), "--agent", "claude"]
    for line in LINES:
        words += ["--command", line]
    with tempfile.TemporaryDirectory(dir=program.parent) as project:
        process = subprocess.run(
            [*words, "--project", project, "--json"],
            stdout=subprocess.PIPE,
            check=False,
            text=True,
        )
    report = json.loads(process.stdout)
    (hook,) = report["hooks"]
    sums = {
        member: sum(counts[member] for counts in hook["classes"].values())
        for member in ("tried", "denied", "asked", "escapes")
    }
    classes = sum(bool(counts["escapes"]) for counts in hook["classes"].values())
    stops = f"{len(hook['denies'])} of {len(LINES)}"
    numbers = "|".join(f"{number:,}" for number in sums.values())
    return f"|{name}|{release}|{stops}|{numbers}|{classes}|\n"


if __name__ == "__main__":
    main()
