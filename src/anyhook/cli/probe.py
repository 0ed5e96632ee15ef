"""`anyhook probe`: whether hooks run and deny in the agents that are installed."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.program import AgentProgram, get_program
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import BAD, GOOD, RESULTS
from anyhook.cli.options import (
    HERE,
    AgentNames,
    AsJson,
    Project,
    TrustOnce,
    Yes,
    print_no_hooks,
    print_project,
)
from anyhook.cli.output import console, members, place_members, print_json
from anyhook.cli.render import WIDE, make_table, progress, show_place
from anyhook.cli.sandboxed import confirm_limits, evidence_may_be_lost
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.scope import existing_project, scope_of
from anyhook.manage.tried import keep_probe
from anyhook.model.text import count_of, printable
from anyhook.probe.plan import CallRequest
from anyhook.probe.probing import SECONDS, ProbeOptions, probe_in_sandbox
from anyhook.probe.report import AgentReport, HookReport, ProbeVerdict
from anyhook.sandbox.sandbox import Sandbox, sandbox_limits
from anyhook.settings.detect import agents_with_hooks, trust_command
from anyhook.settings.sources import Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table


SUMMARY = {
    ProbeVerdict.WORKS: "works",
    ProbeVerdict.BROKEN: "broken",
    ProbeVerdict.OFF: "switched off",
    ProbeVerdict.UNTESTED: "not tested",
}
"""Verdict to its words behind a number of hooks."""
NODE_SUFFIXES = frozenset({".js", ".cjs", ".mjs"})


def probe(
    project: Project = HERE,
    agents: AgentNames = None,
    program: Annotated[
        Path | None,
        typer.Option(
            "--program",
            metavar="PATH",
            help="The program of the agent. Default: the one on the PATH. Needs one --agent.",
            show_default=False,
        ),
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--call",
            metavar="'TOOL JSON'",
            help="A call of a tool that the model makes too; may be repeated.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Limit of each run of an agent.")
    ] = SECONDS,
    yes: Yes = False,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Try your hooks in the installed agents, without network or key.

    Each agent runs with a scripted model in a copy of the project, and with a copy of the hook
    settings. The model calls tools, some of which guards commonly deny. The report shows for each
    hook whether it ran, whether its denial held, whether its text reached the model, and whether
    the same is true in a subagent; and what to change where not. Nothing of yours is changed.

    Exits with 1 if a hook does not do what it should, if an agent that you named could not be
    tried, or if none could.

    For example:

        anyhook probe
        anyhook probe --agent claude --call 'Bash {"command": "git push --force"}'
        anyhook probe --agent gemini --program ~/bin/gemini --json
    """
    if sys.platform == "win32":
        raise UsageError("anyhook probe needs a POSIX system; on Windows run it in WSL")
    is_above_zero = timeout > 0  # `nan` is not
    if not is_above_zero:
        raise UsageError(f"--timeout is a number of seconds above 0, not {timeout:g}")
    directory = existing_project(project)
    names = _agent_names(directory, agents)
    if program is not None and len(names) != 1:
        raise UsageError("--program is the program of one agent; name it with --agent")
    requests = tuple(map(CallRequest.parse, calls or ()))
    confirm_limits(is_agreed=yes)
    if not trust_once:
        for name in names:
            if Engine.load(directory, agent=name, on_message=discard).guard.changes():
                raise UsageError(
                    "the probe runs the hooks, and you have not trusted them: look at them with "
                    f"{trust_command(name, directory)}, or add --trust-once"
                )
    with progress("probing", is_quiet=as_json) as bar:

        def show(text: str) -> None:
            bar.show(text=text)

        reports = [_probe_one(name, directory, program, requests, timeout, show) for name in names]
    with evidence_may_be_lost():
        for report in reports:
            keep_probe(directory, report)
    is_broken = any(report.is_broken for report in reports)
    is_untried = [bool(report.missing) for report in reports]
    # If the user names no agent, it is enough to try one of those with hooks here.
    lacks_agent = any(is_untried) if agents else bool(reports) and all(is_untried)
    failed = is_broken or lacks_agent
    if as_json:
        print_json(_report_json(directory, reports, failed=failed))
    else:
        _print(directory, reports)
    return PROBLEMS if failed else OK


# -- what is tried


def _agent_names(project: Path, agents: list[str] | None) -> list[str]:
    """Return the agents that are tried: those that are named, or those that have hooks here."""
    if not agents:
        with_hooks = [settings.agent for settings in agents_with_hooks(project)]
        return [name for name in with_hooks if name in CODING_AGENTS]
    names = list(dict.fromkeys(get_agent(name).name for name in agents))
    for name in names:
        if name not in CODING_AGENTS:
            raise UsageError(f"{name} is not a program; name one of: {', '.join(CODING_AGENTS)}")
    return names


def _probe_one(
    name: str,
    project: Path,
    path: Path | None,
    calls: tuple[CallRequest, ...],
    seconds: float,
    on_progress: Callable[[str], None],
) -> AgentReport:
    """Try the hooks of one agent in the program of a path, or return why that is not possible."""
    agent = get_agent(name)
    program = get_program(name)
    if program is None:
        return AgentReport(
            name, agent.title, missing=f"{agent.title} cannot be started without a user"
        )
    command = _command(program, path)
    if command is None:
        names = " or ".join(program.executables)
        missing = (
            f"{agent.title} is not installed: there is no {names} on the PATH; name it with "
            f"--agent {name} --program PATH"
        )
        return AgentReport(name, agent.title, missing=missing)
    location = Location.of(project, agent)
    try:
        with Sandbox.for_project(location.project, location) as sandbox:
            options = ProbeOptions(command, calls, seconds, sandbox.protects_files)
            # It works in copies of its own.
            return sandbox.run(
                probe_in_sandbox,
                location._replace(environ=sandbox.environ),
                name,
                options,
                on_message=lambda text: on_progress(f"{agent.title}: {text}"),
            )
    except UsageError as error:
        if path is not None:
            raise
        return AgentReport(name, agent.title, missing=str(error))


def _command(program: AgentProgram, path: Path | None) -> tuple[str, ...] | None:
    """Return what starts the program of an agent; `None` if it is not installed."""
    if path is not None and path.suffix in NODE_SUFFIXES:
        return ("node", str(path.absolute()))
    if path is not None:
        return (str(path.absolute()),)
    for name in program.executables:
        file = shutil.which(name)
        if file is not None:
            return (file,)
    return None


# -- the report


def _print(project: Path, reports: list[AgentReport]) -> None:
    out = console()
    print_project(out, project)
    if not reports:
        print_no_hooks(out, scope_of(project, None))
        return
    counts: Counter[ProbeVerdict] = Counter()
    for report in reports:
        if report.missing:
            out.print(Text.assemble(("- ", "dim"), report.missing), soft_wrap=True)
            continue
        detail = f"{count_of(len(report.calls), 'call')}, {report.seconds:.1f} s, {report.rules}"
        name = f"{report.title} {report.version}"
        out.print(Text.assemble((name, "bold"), (f"  {detail}", "dim")), soft_wrap=True)
        if report.hooks:
            out.print(_table(out, project, report))
        else:
            out.print("  no hooks in its settings")
        others = [hook for hook in report.hooks if hook.verdict is not ProbeVerdict.WORKS]
        for hook in others:
            label = f" {hook.hook.label} ({show_place(hook.hook.place, project)}): "
            for reason in hook.reasons:
                line = Text.assemble(RESULTS[hook.verdict], label, printable(reason))
                out.print(line, soft_wrap=True)
        for problem in report.problems:
            line = Text.assemble(RESULTS[ProbeVerdict.BROKEN], f" {printable(problem)}")
            out.print(line, soft_wrap=True)
        for note in report.notes:
            out.print(Text(f"  note: {note}", style="dim"), soft_wrap=True)
        counts.update([hook.verdict for hook in report.hooks])
    parts = [f"{counts[verdict]} {SUMMARY[verdict]}" for verdict in ProbeVerdict if counts[verdict]]
    if parts:
        out.print(", ".join(parts), style="bold")


def _table(out: Console, project: Path, report: AgentReport) -> Table:
    is_wide = out.width >= WIDE
    headings = ["", "hook", "event", "ran", "denial", "text", "in a subagent"]
    if is_wide:
        headings.append("place")
    table = make_table(*headings, no_wrap=("", "event"))
    for hook in report.hooks:
        in_subagent = _cell(hook.fired_in_subagent, "ran", "did not run")
        held = hook.held(in_subagent=True)
        if held is not None:
            in_subagent = _cell(held, "held", "not held")
        row = [
            Text(*RESULTS[hook.verdict]),
            Text(hook.hook.label),
            Text(printable(hook.hook.event)),
            _cell(hook.fired, "yes", "no"),
            _cell(hook.held(), "held", "not held"),
            _cell(hook.context, "reached", "lost"),
            in_subagent,
        ]
        if is_wide:
            row.append(Text(show_place(hook.hook.place, project)))
        table.add_row(*row)
    return table


def _cell(value: bool | None, good: str, bad: str) -> Text:
    if value is None:
        return Text("-", style="dim")
    if value:
        return Text(good, style=GOOD)
    return Text(bad, style=BAD)


# -- for programs


def _report_json(project: Path, reports: list[AgentReport], *, failed: bool) -> dict[str, Any]:
    agents = []
    for report in reports:
        agent = {
            "agent": report.name,
            "installed": not report.missing,
            "missing": report.missing or None,
            "program": report.program or None,
            "version": report.version or None,
            "rules": report.rules or None,
            "seconds": round(report.seconds, 3),
            **members(report, "calls", "problems", "notes"),
            "hooks": [_hook_json(hook) for hook in report.hooks],
        }
        agents.append(agent)
    return {
        "ok": not failed,
        "project": project,
        "reachable": sandbox_limits(),
        "agents": agents,
    }


def _hook_json(report: HookReport) -> dict[str, Any]:
    hook = report.hook
    return {
        "hook": hook.label,
        **members(hook, "event", "matcher"),
        **place_members(hook.place),
        **members(report, "verdict", "reasons"),
        "ran": report.fired,
        "denial_held": report.held(),
        "text_reached_model": report.context,
        "subagent": {
            "ran": report.fired_in_subagent,
            "denial_held": report.held(in_subagent=True),
        },
        "events": report.observations,
    }
