"""Report what the newest releases of the agents do differently: `python -m tools.drift`.

Exit codes: 0 nothing changed, 1 something changed, 64 wrong usage, 69 a release could not be
examined and nothing else changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import AGENTS, get_agent
from tools.drift.cases import play_cases
from tools.drift.compare import Change, compare_surfaces, compare_with_tables
from tools.drift.packages import (
    PACKAGES,
    Package,
    RegistryError,
    install,
    newest_version,
    source_files,
    start_command,
)
from tools.drift.random_replies import can_play, play_replies
from tools.drift.report import AgentReport, to_json, to_table
from tools.drift.runs import has_tests, run_tests
from tools.drift.surface import Surface, read_surface

if TYPE_CHECKING:
    from collections.abc import Sequence

SURFACES = Path(__file__).with_name("surfaces")
UNCHANGED, CHANGED, USAGE, UNAVAILABLE = 0, 1, 64, 69


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    reports = [_examine(PACKAGES[name], options) for name in options.agents or PACKAGES]
    sys.stdout.write((to_json(reports) if options.json else to_table(reports)) + "\n")
    if any(report.changes for report in reports):
        return CHANGED
    return UNCHANGED if all(report.newest for report in reports) else UNAVAILABLE


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make drift", description="what the newest releases of the agents do differently"
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(PACKAGES))
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--release", metavar="VERSION", help="examine this release instead")
    parser.add_argument(
        "--replies", type=int, default=100, metavar="N", help="random replies for each event [100]"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random replies [1]")
    parser.add_argument("--no-runs", action="store_true", help="compare names only, start nothing")
    parser.add_argument(
        "--accept", action="store_true", help="write what was read to tools/drift/surfaces"
    )
    try:
        options = parser.parse_args(arguments)
    except SystemExit as end:
        sys.exit(USAGE if end.code else 0)
    unknown = [name for name in options.agents if name not in PACKAGES]
    if unknown or (options.release and len(options.agents) != 1):
        problem = f"no agent {', '.join(unknown)}" if unknown else "--release needs one agent"
        sys.stderr.write(f"error: {problem}; agents: {', '.join(PACKAGES)}\n")
        sys.exit(USAGE)
    return options


def _examine(package: Package, options: argparse.Namespace) -> AgentReport:
    report = AgentReport(package.agent, _observed_release(package.agent))
    try:
        version = options.release or newest_version(package)
        directory = install(package, version)
    except RegistryError as error:
        report.notes.append(str(error))
        return report
    report.newest = version
    _examine_surface(package, directory, report, accept=options.accept)
    if options.no_runs:
        report.notes.append("no tests and no cases were run (--no-runs)")
        return report
    _run_tests(package, report)
    command = start_command(package, directory)
    if command is None:
        report.notes.append("no cases and replies were played: nothing starts this package")
    else:
        _run_cases(package, command, report)
        run_replies(package, command, report, count=options.replies, seed=options.seed)
    return report


def _observed_release(agent: str) -> str:
    if agent not in AGENTS:
        return ""
    rules = get_agent(agent).rule_sets.get("observed")
    return "" if rules is None else rules.version


def _examine_surface(
    package: Package, directory: Path, report: AgentReport, *, accept: bool
) -> None:
    if not package.form:
        report.notes.append("its program holds nothing that can be read")
        return
    files = source_files(package, directory)
    surface = read_surface(package.form, files)
    if not surface.events:
        change = "no events can be read in the program; see tools/drift/surface.py"
        report.changes.append(Change(package.agent, report.newest, "surface", package.form, change))
        return
    differences: list[Change] = []
    if package.lists_events:
        differences = list(compare_with_tables(package.agent, report.newest, surface))
    stored = SURFACES / f"{package.agent}.json"
    if accept:
        write_surface(stored, report.newest, surface, differences)
        return
    if stored.exists():
        known = json.loads(stored.read_text(encoding="utf-8"))
        report.changes += compare_surfaces(
            package.agent, report.newest, Surface.from_json(known), surface
        )
        differences = [change for change in differences if change.name not in known["accepted"]]
    else:
        report.notes.append("no earlier release was read; run it with --accept")
    report.changes += differences


def write_surface(
    path: Path, release: str, surface: Surface, differences: Sequence[Change]
) -> None:
    """Write what was read of a release, with the events in which the tables differ from it."""
    accepted = sorted({change.name for change in differences})
    value = {"release": release, **surface.as_json(), "accepted": accepted}
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _run_tests(package: Package, report: AgentReport) -> None:
    if not has_tests(package):
        report.notes.append("there are no tests with the real agent")
        return
    sys.stderr.write(f"{package.agent} {report.newest}: running the tests with it\n")
    run = run_tests(package, report.newest)
    report.notes.append(f"{run.count} tests with the real agent ran, {run.skipped} were skipped")
    if run.problem:
        change = Change(package.agent, report.newest, "tests", "the test run itself", run.problem)
        report.changes.append(change)
    for name in run.failed:
        report.changes.append(Change(package.agent, report.newest, "tests", name, "failed"))


def _run_cases(package: Package, command: list[str], report: AgentReport) -> None:
    played = play_cases(package.agent, command)
    if not played.count:
        report.notes.append("there are no observed cases that can be played")
        return
    for found in played.differences:
        report.changes.append(Change(package.agent, report.newest, "cases", found.case, found.text))
    report.notes.append(f"{played.count} observed cases were played")


def run_replies(
    package: Package, command: list[str], report: AgentReport, *, count: int, seed: int
) -> None:
    """Compare random replies; a program in which no hook runs is a change, too."""
    if not can_play(package.agent):
        return
    played = play_replies(package.agent, command, count, seed)
    if not played.count:
        change = Change(package.agent, report.newest, "replies", "the run itself", "no hook ran")
        report.changes.append(change)
    for found in played.differences:
        change = Change(package.agent, report.newest, "replies", found.case, found.text)
        report.changes.append(change)
    if played.count:
        report.notes.append(f"{played.count} random replies were compared")


if __name__ == "__main__":
    sys.exit(main())
