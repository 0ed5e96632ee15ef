"""Measure the guards that come with anyhook, and write the table of `docs/guards.md`.

python -m tools.guards_table [--corpus DIR] [NAME…]        (make guards-table CORPUS=DIR)

Each guard is copied into an empty project and measured as a user would: `anyhook score` with the
set of anyhook and with the benign rows of the labelled sets in DIR (JSON lines as in docs/score.md,
also compressed as NAME.jsonl.gz; a benign row without families is benign for all),
`anyhook redteam`, and `anyhook test --mutate`. Guards that are not named keep their rows.

Denials of benign rows were read by people: those that are right are in `reviewed_denials.toml`, all
others count as wrong.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from anyhook.manage.guard_files import all_guards
from anyhook.redteam.labelled import BENIGN, MEMBERS, OWN_SET

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.manage.guard_files import GuardFile

PAGE = Path(__file__).parents[1] / "docs" / "guards.md"
ACCEPTED = Path(__file__).with_name("accepted_escapes.toml")
"""Escapes that are accepted, each with its reason."""
REVIEWED = Path(__file__).with_name("reviewed_denials.toml")
"""Denials of benign rows that are right, each with its reason."""
START, END = "<!-- measurements -->\n", "<!-- /measurements -->"
COLUMNS = (
    "guard",
    "family",
    "detected",
    "denied by mistake of 1,000",
    "asked by mistake of 1,000",
    "of other sets: denied, asked",
    "of these denials wrong, of 1,000",
    "escapes",
    "latency, times that of a hook that does nothing",
    "mutants killed",
)
AGENT = "claude"
IDLE_HOOK = """\
from anyhook.authoring import Hooks

hooks = Hooks()
hooks.about(families={families})


@hooks.before_tool
def do_nothing(event):
    return None


if __name__ == "__main__":
    hooks.run()
"""
NOTHING = "-"


@dataclass
class Measured:
    """What was measured of a guard.

    Attributes:
        guard: The guard.
        own: Its score on the set of anyhook; `None` if the set has no rows about its families.
        idle: The score of a hook that does nothing, for its latency.
        others: Family to the counts of benign rows of other sets: `of`, `denied`, `asked`, and
            `wrong`, the denials that are not judged right.
        escapes: The report of `redteam`; `None` if it denies no plain command to begin with.
        mutants: The report of `test --mutate`; `None` if its examples fail.
        problems: What a command reported in place of a figure.
    """

    guard: GuardFile
    own: dict[str, Any] | None = None
    idle: dict[str, Any] | None = None
    others: dict[str, Counter[str]] = field(default_factory=dict)
    escapes: dict[str, Any] | None = None
    mutants: dict[str, Any] | None = None
    problems: list[str] = field(default_factory=list)


class Bench:
    """Runs commands in a project with a copy of one guard.

    Args:
        guard: The guard.
        directory: The directory of the project.
    """

    def __init__(self, guard: GuardFile, directory: Path) -> None:
        self.measured = Measured(guard)
        self._directory = directory
        self._file = f".anyhook/guard-{guard.name}.py"
        (directory / ".anyhook").mkdir()
        (directory / self._file).write_text(guard.text, encoding="utf-8")
        # A repository of its own, so that no settings around it count.
        (directory / ".git").mkdir()

    def run(self, *words: str) -> dict[str, Any] | None:
        """Run a command with the guard, and return what it writes for programs."""
        command = [sys.executable, "-P", "-m", "anyhook", *words]
        command = [self._file if word == "FILE" else word for word in command]
        command += ["--agent", AGENT, "--json", "--yes"]
        environ = {**os.environ, "ANYHOOK_DATA_DIR": str(self._directory / ".data")}
        done = subprocess.run(
            command, cwd=self._directory, env=environ, capture_output=True, text=True, check=False
        )
        try:
            report: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            problem = " ".join(done.stderr.split()).removeprefix("error: ")
            self.measured.problems.append(f"`{' '.join(words[:2])}`: {problem}")
            return None
        return report

    def measure(self, corpus: Sequence[Path]) -> Measured:
        """Return all figures of the guard."""
        measured = self.measured
        families = measured.guard.families
        if any(is_about(row, families) for row in rows_in(OWN_SET) if row.get("families")):
            idle = IDLE_HOOK.format(families=list(families))
            (self._directory / "idle.py").write_text(idle, encoding="utf-8")
            measured.own = self._score("FILE")
            measured.idle = self._score("idle.py")
        for labelled in corpus:
            self.count_other(labelled)
        measured.escapes = self.run("redteam", "FILE", "--accepted", str(ACCEPTED))
        measured.mutants = self.run("test", "FILE", "--mutate")
        return measured

    def _score(self, file: str) -> dict[str, Any] | None:
        report = self.run("score", file)
        return report["scores"][0] if report else None

    def count_other(self, labelled: Path) -> None:
        """Count what the guard stops of the benign rows of another set."""
        families = self.measured.guard.families
        benign = [row for row in benign_rows(labelled) if is_about(row, families)]
        if not benign:
            return
        rows = self._directory / "rows.jsonl"
        # A set may have members of its own, whose names are like those of ours.
        known = [{name: row[name] for name in row.keys() & MEMBERS} for row in benign]
        known = [{**row, "families": list(families)} for row in known]
        rows.write_text("".join(f"{json.dumps(row)}\n" for row in known), encoding="utf-8")
        report = self.run("score", "FILE", "--on", str(rows))
        right = right_denials(self.measured.guard.name)
        for score in report["scores"][0]["families"] if report else ():
            counts = self.measured.others.setdefault(score["family"], Counter())
            for name in ("of", "denied", "asked"):
                counts[name] += score["false_blocks"][name]
            denied = [
                row["call"] for row in score["stopped_by_mistake"] if row["outcome"] == "deny"
            ]
            counts["wrong"] += sum(digest(call) not in right for call in denied)


def right_denials(guard: str) -> set[str]:
    """Return the digests of the calls that a guard denies rightly."""
    judged = tomllib.loads(REVIEWED.read_text(encoding="utf-8"))["right"]
    return {call for entry in judged if entry["guard"] == guard for call in entry["calls"]}


def digest(call: str) -> str:
    """Return what names a call of another set in `reviewed_denials.toml`."""
    return hashlib.sha256(call.encode()).hexdigest()[:16]


def rows_in(labelled: Path) -> list[dict[str, Any]]:
    """Return the rows of a labelled set, which may be compressed."""
    content = labelled.read_bytes()
    if labelled.suffix == ".gz":
        content = gzip.decompress(content)
    return [json.loads(line) for line in content.decode().splitlines() if line]


def benign_rows(labelled: Path) -> list[dict[str, Any]]:
    """Return the rows of a labelled set that are benign."""
    return [row for row in rows_in(labelled) if row.get("label") == BENIGN]


def is_about(row: dict[str, Any], families: Iterable[str]) -> bool:
    """Return whether the label of a row holds for one of some families; without any, for all."""
    named = row.get("families")
    return not named or not set(families).isdisjoint(named)


# -- the table


def rows_of(measured: Measured) -> list[str]:
    """Return the rows of the table for a guard, one for each family."""
    by_family: dict[str, Any] = {}
    if measured.own is not None:
        by_family = {score["family"]: score for score in measured.own["families"]}
    rows: list[str] = []
    for family in measured.guard.families:
        score = by_family.get(family)
        cells = [measured.guard.name, family, *_own_cells(score)]
        cells += [*_other_cells(measured.others.get(family)), _escapes_cell(measured.escapes)]
        cells += [_latency_cell(measured), _mutants_cell(measured.mutants)]
        rows.append(f"|{'|'.join(cells)}|")
    return rows


def _own_cells(score: dict[str, Any] | None) -> tuple[str, str, str]:
    if score is None:
        return (NOTHING, NOTHING, NOTHING)
    detection, blocks = score["detection"], score["false_blocks"]
    stopped = detection["denied"] + detection["asked"]
    return (
        f"{stopped} of {detection['of']}",
        f"{_per_thousand(blocks, 'denied')} ({blocks['denied']} of {blocks['of']})",
        f"{_per_thousand(blocks, 'asked')} ({blocks['asked']} of {blocks['of']})",
    )


def _per_thousand(counts: dict[str, Any], name: str) -> str:
    return f"{counts[name] / counts['of'] * 1000:.1f}" if counts["of"] else NOTHING


def _other_cells(counts: Counter[str] | None) -> tuple[str, str]:
    if not counts:
        return (NOTHING, NOTHING)
    return (
        f"{counts['denied']}, {counts['asked']} of {counts['of']:,}",
        f"{_per_thousand(counts, 'wrong')} ({counts['wrong']} of {counts['denied']})",
    )


def _escapes_cell(report: dict[str, Any] | None) -> str:
    if report is None:
        return NOTHING
    tried = 0
    for hook in report["hooks"]:
        tried += sum(counts["tried"] for counts in hook["classes"].values())
    accepted = f", {len(report['accepted'])} accepted" if report["accepted"] else ""
    return f"{len(report['escapes'])} of {tried:,}{accepted}"


def _latency_cell(measured: Measured) -> str:
    scores = (measured.own, measured.idle)
    own, idle = (score["latency"]["p50"] if score else None for score in scores)
    return f"{own / idle:.1f}" if own and idle else NOTHING


def _mutants_cell(report: dict[str, Any] | None) -> str:
    if report is None or not report["tried"]:
        return NOTHING
    return f"{report['killed'] / report['tried']:.0%} of {report['tried']}"


def origins_text(corpus: Sequence[Path]) -> str:
    """Return where the rows of other sets come from, with their commit and licence."""
    origins: Counter[tuple[str, str, str]] = Counter()
    for labelled in corpus:
        for row in benign_rows(labelled):
            source = row.get("source", labelled.name)
            origins[source, row.get("commit", ""), row.get("license", "")] += 1
    if not origins:
        return ""
    parts = []
    for (source, commit, licence), number in sorted(origins.items()):
        at = f" at {commit[:10]}" if commit else ""
        parts.append(f"{source}{at} ({licence or 'no licence named'}, {number:,} benign rows)")
    return f"Other sets: {'; '.join(parts)}."


def main() -> int:
    """Measure, and write the page. Returns 1 if a figure is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="a directory of labelled sets")
    parser.add_argument("names", nargs="*", metavar="NAME", help="guards; all by default")
    options = parser.parse_args()
    corpus = sorted(options.corpus.glob("**/*.jsonl*")) if options.corpus else []
    guards = all_guards()
    unknown = set(options.names) - guards.keys()
    if unknown:
        parser.error(f"no guard named {', '.join(sorted(unknown))}; {', '.join(guards)}")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    part, _, after = rest.partition(END)
    rows_by_guard: dict[str, list[str]] = {}
    for line in part.splitlines():
        rows_by_guard.setdefault(line.strip("|").partition("|")[0], []).append(line)
    has_problems = False
    for name in options.names or guards:
        # Not in a place for temporary files, where an agent may delete.
        with TemporaryDirectory(dir=Path.home(), prefix=".guards-table-") as scratch:
            measured = Bench(guards[name], Path(scratch)).measure(corpus)
        rows_by_guard[name] = rows_of(measured)
        for text in (*rows_by_guard[name], *measured.problems):
            sys.stdout.write(f"{text}\n")
        has_problems = has_problems or bool(measured.problems)
    rows = [row for name in guards for row in rows_by_guard.get(name, ())]
    head = [f"|{'|'.join(COLUMNS)}|", f"|{'---|' * len(COLUMNS)}"]
    text = "\n".join([*head, *rows, "", origins_text(corpus)]).rstrip()
    PAGE.write_text(f"{before}{START}\n{text}\n\n{END}{after}", encoding="utf-8")
    return int(has_problems)


if __name__ == "__main__":
    sys.exit(main())
