"""Fill the tables of `docs/redteam.md`: what gets past guards, each at a named release.

    python tools/redteam_table.py DIRECTORY

Guards of registries are installed below the directory. Those of repositories are tried if a clone
is there, `DIRECTORY/OWNER/NAME`. All are as they are, with their default settings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.redteam.spellings import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


OWN = ("files", "git")
"""Guards that come with anyhook and stop one of the lines."""
_PYTHON = (sys.executable, "-m", "venv", ".")
_PIP = ("bin/python", "-m", "pip", "install", "--quiet")


@dataclass(frozen=True, slots=True)
class PublicGuard:
    """A guard that anybody can get.

    Attributes:
        name: Its name in a registry, or its repository.
        release: Its release, or the commit.
        run: The command line that agents start.
        install: The commands that install it, or what it needs, in its directory.
        part: Its name, where a repository has more than one.
    """

    name: str
    release: str
    run: str
    install: tuple[tuple[str, ...], ...] = ()
    part: str = ""


PUBLIC = (
    PublicGuard(
        "cc-safety-net",
        "2.4.5",
        "node {directory}/node_modules/cc-safety-net/dist/bin/cc-safety-net.js hook --claude-code",
        (("npm", "install", "--silent", "--ignore-scripts", "--prefix", ".", "{name}@{release}"),),
    ),
    PublicGuard(
        "nah",
        "0.11.0",
        "{directory}/bin/python -m nah.hook",
        (_PYTHON, (*_PIP, "{name}=={release}")),
    ),
    PublicGuard(
        "azet-guard",
        "0.2.0",
        "{directory}/bin/azet-guard hook",
        (_PYTHON, (*_PIP, "{name}=={release}")),
    ),
    PublicGuard(
        "karanb192/claude-code-hooks",
        "811aeb7",
        "node {directory}/plugins/block-dangerous-commands/block-dangerous-commands.js",
        part="block-dangerous-commands",
    ),
    PublicGuard(
        "yurukusa/cc-safe-setup",
        "f6efd6b",
        "bash {directory}/examples/rm-safety-net.sh",
        part="rm-safety-net",
    ),
    PublicGuard(
        "marcusquinn/aidevops", "ad4eefa", "python3 {directory}/.agents/hooks/git_safety_guard.py"
    ),
    PublicGuard(
        "giuseppe-trisciuoglio/developer-kit",
        "306f428",
        "python3 {directory}/plugins/developer-kit-core/hooks/prevent-destructive-commands.py",
    ),
    PublicGuard(
        "elertan/claude-code-rm-guard", "c50cec8", "python3 {directory}/hooks/validate-rm.py"
    ),
    PublicGuard(
        "RoaringFerrum/claude-code-bash-guardian",
        "9dca642",
        "{directory}/bin/python {directory}/claude_code_bash_guardian.py",
        (_PYTHON, (*_PIP, "bashlex==0.18", "pyyaml==6.0.3")),
    ),
    PublicGuard(
        "fcakyon/claude-codex-settings",
        "1cab934",
        "python3 {directory}/plugins/ultralytics-dev/hooks/scripts/block_force_push.py",
        part="block_force_push",
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a guard.

    Attributes:
        name: Its name.
        release: Its release.
        stops: How many of the lines it stops.
        classes: Class to its counts.
    """

    name: str
    release: str
    stops: int
    classes: dict[str, dict[str, int]]

    def sum(self, member: str) -> int:
        """Return the sum of a count over all classes."""
        return sum(counts[member] for counts in self.classes.values())


def main() -> None:
    """Write the tables."""
    corpus = Path(sys.argv[1]).resolve()
    programs = [("a regular expression", "", _write_pattern(corpus))]
    for name in OWN:
        line = f"{sys.executable} {ROOT / 'src/anyhook/guards' / name}.py"
        programs.append((f"{name} (ours)", "", _write_program(corpus / f"{name}.sh", line)))
    for guard in PUBLIC:
        program = _install(guard, corpus)
        if program is None:
            sys.stderr.write(f"left out: {guard.name}; clone it to {corpus / guard.name}\n")
        else:
            label = f"{guard.name}, {guard.part}" if guard.part else guard.name
            programs.append((label, guard.release, program))
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        outcomes = list(executor.map(lambda program: _try(corpus, *program), programs))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}{_tables(outcomes)}{END}{after}", encoding="utf-8")


def _write_pattern(corpus: Path) -> Path:
    corpus.mkdir(parents=True, exist_ok=True)
    path = corpus / "pattern.py"
    path.write_text(PATTERN, encoding="utf-8")
    return path


def _install(guard: PublicGuard, corpus: Path) -> Path | None:
    """Install a guard, and return a program that runs it; `None` if its clone is missing."""
    directory = corpus / guard.name
    if "/" in guard.name and not directory.is_dir():
        return None
    program = corpus / f"{guard.name.replace('/', '+')}.sh"
    if not program.is_file():
        directory.mkdir(parents=True, exist_ok=True)
        for command in guard.install:
            words = [word.format(name=guard.name, release=guard.release) for word in command]
            subprocess.run(words, cwd=directory, check=True)
        _write_program(program, guard.run.format(directory=directory))
    return program


def _write_program(path: Path, line: str) -> Path:
    """Write a program: a hook file would be asked about its own examples, too."""
    path.write_text(f"#!/bin/sh\nexec {line}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _try(corpus: Path, name: str, release: str, program: Path) -> Outcome:
    """Try a guard in an empty project."""
    words = [sys.executable, "-m", "anyhook", "redteam", str(program), "--agent", "claude"]
    for line in LINES:
        words += ["--command", line]
    with tempfile.TemporaryDirectory(dir=corpus) as project:
        process = subprocess.run(
            [*words, "--project", project, "--json"],
            stdout=subprocess.PIPE,
            check=False,
            text=True,
        )
    (hook,) = json.loads(process.stdout)["hooks"]
    stopped = {denied["of"] for denied in hook["denies"]}
    outcome = Outcome(name, release, len(stopped.intersection(LINES)), hook["classes"])
    sys.stderr.write(f"{name}: {outcome.sum('escapes')} escapes\n")
    return outcome


def _tables(outcomes: Sequence[Outcome]) -> str:
    """Return the table of the guards, and that of their escapes by class."""
    rows: list[tuple[str, ...]] = [
        ("guard", "release", "stops", "spellings", "denied", "asked", "escapes", "classes"),
        ("---",) * 8,
    ]
    for number, outcome in enumerate(outcomes, 1):
        numbers = [f"{outcome.sum(member):,}" for member in ("tried", "denied", "asked", "escapes")]
        classes = sum(counts["escapes"] > 0 for counts in outcome.classes.values())
        stops = f"{outcome.stops} of {len(LINES)}"
        name = f"{number}. {outcome.name}"
        rows.append((name, outcome.release, stops, *numbers, str(classes)))
    text = _table(rows)
    rows = [("escapes", *[f"{number}." for number in range(1, len(outcomes) + 1)])]
    rows.append(("---",) * len(rows[0]))
    for spelling_class in BY_NAME:
        counts = [outcome.classes.get(spelling_class, {}).get("escapes") for outcome in outcomes]
        rows.append((spelling_class, *["" if not count else str(count) for count in counts]))
    return f"{text}\n{_table(rows)}"


def _table(rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"|{'|'.join(row)}|\n" for row in rows)


if __name__ == "__main__":
    main()
