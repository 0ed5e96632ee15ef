"""`anyhook migrate`: one agent's hooks for another agent, with proof."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.editing import Edit, WriteOptions, read_text, settings_file, write_edits
from anyhook.cli.install import is_here
from anyhook.cli.options import HERE, AsJson, Project, existing_project
from anyhook.cli.output import console, print_json, show_path, show_place
from anyhook.engine.guard import Guard
from anyhook.errors import UsageError
from anyhook.migrate.corpus import builtin_probes, recorded_probes
from anyhook.migrate.losses import KINDS
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import plan_migration
from anyhook.migrate.prove import prove
from anyhook.migrate.scratch import copied_directories, linked
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.losses import Loss
    from anyhook.migrate.plan import Migration
    from anyhook.migrate.prove import Difference, Proof

BUILTIN = "builtin"
HOOK_WIDTH = 40
NARROW_HOOK = 16
WIDE = 100
SHOWN = 3
"""Differences of one hook that people are shown."""
KIND_STYLE = {"lost": "bold red", "weaker": "yellow", "changed": "yellow", "note": "cyan"}

HELP = """Move an agent's hooks into another agent's settings.

Everything of the scope is read (for Claude Code settings.json and settings.local.json), put in the
other agent's words, and added to what its settings have already. Commands keep the events and
answers of the agent that they were written for: `anyhook shim` stands between. What is lost on the
way is told. It shows the difference and asks before anything is written, and keeps a copy of what
was there.

With `--prove` the hooks of both sides first decide the same events, in copies of the project.

For example:

    anyhook migrate --to gemini --dry-run
    anyhook migrate --from claude --to gemini --prove
    anyhook migrate --from gemini --to claude --prove --events session.jsonl --yes
"""


def migrate(
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Whose hooks: {', '.join(CODING_AGENTS)}; by default the agent that has some.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to", help="The agent that they shall run under; by default the only other one here."
        ),
    ] = None,
    project: Project = HERE,
    scope: Annotated[
        str, typer.Option("--scope", help="Whose settings: project or user.")
    ] = "project",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the difference, change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if anything is lost.")
    ] = False,
    no_shim: Annotated[
        bool,
        typer.Option(
            "--no-shim", help="The commands speak the other agent's language: call them directly."
        ),
    ] = False,
    proved: Annotated[
        bool, typer.Option("--prove", help="Let both sides decide the same events first.")
    ] = False,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            metavar="FILE|builtin",
            help="Events for the proof: recorded payloads, one a line, or the built-in ones.",
        ),
    ] = None,
    trust_once: Annotated[
        bool,
        typer.Option("--trust-once", help="Run the hooks for the proof without asking."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Move an agent's hooks into another agent's settings."""
    if events is not None and not proved:
        raise UsageError("--events says what to prove it with; add --prove")
    here = existing_project(project)
    old = _agent(source or _only_source(here, scope, target))
    new = _agent(target or _only_target(here, old))
    location = Location.of(here, home_variable=old.home_variable)
    migration = plan_migration(
        old, new, location, scope=scope, shim=not no_shim, program=_program(scope)
    )
    path = settings_file(new, here, scope)
    before = read_text(path)
    after, notes = merge_into(migration, before or "", str(path))
    losses = [*migration.losses, *notes]
    if proved and migration.entries:
        _check_events(events or BUILTIN)
        _allow(migration, location, yes=yes, trust_once=trust_once, quiet=as_json)
    if not as_json:
        _show(migration, losses, here)
    proof = None
    if proved and migration.entries:
        proof = _proof(migration, location, events or BUILTIN, quiet=as_json)
        if not as_json:
            _show_proof(proof, migration, here)
    refused = _refused(migration, proof, strict=strict)
    done = False
    edit = Edit(new, path, before, after)
    if refused is None:
        done = write_edits([edit], WriteOptions(yes, dry_run, as_json), backup=True)
        if done and not as_json and scope == "project":
            console().print(f"Under anyhook itself: anyhook trust --agent {new.name}")
    elif not as_json:
        console().print(Text.assemble(("not written", "bold red"), f"  {refused}"))
    missing = _missing_program(migration)
    if missing:
        console(stderr=True).print(f"[yellow]warning:[/] {missing}", soft_wrap=True)
    if as_json:
        print_json(_json(migration, losses, proof, edit, done=done, refused=refused))
    return PROBLEMS if refused else OK


migrate.__doc__ = HELP


def _agent(name: str) -> AgentSpec:
    if name not in CODING_AGENTS:
        get_agent(name)  # the error for a name that nobody knows
        raise UsageError(
            f"{name} is no agent with settings of its own; it is {', '.join(CODING_AGENTS)}"
        )
    return get_agent(name)


def _only_source(project: Path, scope: str, target: str | None) -> str:
    """Return the one agent that has hooks in the settings of a scope.

    Raises:
        UsageError: If there is none, or several.
    """
    settings = [found for found in agents_with_hooks(project) if found.agent in CODING_AGENTS]
    sources = {
        found.agent: found.user_files if scope == "user" else found.project_files
        for found in settings
        if found.agent != target
    }
    sources = {agent: files for agent, files in sources.items() if files}
    if len(sources) == 1:
        return next(iter(sources))
    if not sources:
        raise UsageError(
            f"no agent has hooks in the {scope} settings here; name one with --from, or other "
            "settings with --scope or --project"
        )
    places = ", ".join(f"--from {a} ({show_path(str(f[0]), project)})" for a, f in sources.items())
    raise UsageError(f"several agents have hooks here; write one of: {places}")


def _only_target(project: Path, source: AgentSpec) -> str:
    """Return the one other agent that has a settings directory in the project or the home.

    Raises:
        UsageError: If there is none, or several.
    """
    location = Location.of(project)
    others = [name for name in CODING_AGENTS if name != source.name]
    present = [name for name in others if is_here(get_agent(name), location)]
    if len(present) == 1:
        return present[0]
    choices = " or ".join(f"--to {name}" for name in present or others)
    raise UsageError(f"say which agent the hooks of {source.title} shall run under: {choices}")


def _program(scope: str) -> tuple[str, ...]:
    """Return what starts anyhook in a command line: for a file that is shared, its plain name."""
    if scope == "project" or shutil.which("anyhook"):
        return ("anyhook",)
    return (sys.executable, "-P", "-m", "anyhook")


def _missing_program(migration: Migration) -> str | None:
    """Say that what was written cannot start here, if so."""
    if not migration.is_shimmed or migration.scope != "project" or shutil.which("anyhook"):
        return None
    return (
        "anyhook is not on the PATH here, and the migrated hooks start it; install it where the "
        "agent finds it, for example with: pipx install anyhook"
    )


def _refused(migration: Migration, proof: Proof | None, *, strict: bool) -> str | None:
    if strict and migration.loses:
        return "something is lost, and --strict is set"
    if proof is not None and not proof.holds:
        return "the two sides decide differently, and nothing above told so"
    return None


# -- the proof


def _allow(
    migration: Migration, location: Location, *, yes: bool, trust_once: bool, quiet: bool
) -> None:
    """Say what the proof runs, and ask.

    Raises:
        UsageError: If the user refuses, or cannot be asked.
    """
    untrusted = not trust_once and _is_untrusted(migration, location.project)
    if not quiet:
        _show_what_runs(migration, location)
    if trust_once or (yes and not untrusted):
        return
    if quiet or sys.stdin is None or not sys.stdin.isatty():
        why = (
            "you have not trusted them: look at them with "
            f"anyhook trust --agent {migration.source.name}, or add --trust-once"
            if untrusted
            else "there is no terminal to ask at: add --yes or --trust-once"
        )
        raise UsageError(f"the proof runs the hooks, and {why}")
    if not typer.confirm("Run them?", default=False):
        raise UsageError("nothing was run and nothing was written")


def _is_untrusted(migration: Migration, project: Path) -> bool:
    """Return whether hooks of the project would run that its user has not seen."""
    needs = [
        definition
        for definition in migration.hooks.definitions
        if definition.layer in migration.source.needs_trust
    ]
    if not needs:
        return False
    store = TrustStore()
    subjects = Guard(migration.source, project, store, tuple(needs)).subjects()
    changes, _ = store.changes(project, subjects)
    return bool(changes)


def _show_what_runs(migration: Migration, location: Location) -> None:
    out = console()
    commands = dict.fromkeys(
        printable(origin.handler.shown_identifier)
        for entry in migration.entries
        for origin in entry.origins
    )
    out.print("The proof runs these commands, on both sides and several times:")
    for command in commands:
        out.print(Text(f"  {command}"), soft_wrap=True)
    shared = linked(location.project)
    copies = "copies of the project" + (f" that share {', '.join(shared)}" if shared else "")
    directories = ", ".join(show_path(str(path)) for path in copied_directories(location))
    home = f"with copies of {directories}" if directories else "which is empty"
    out.print(f"They run in {copies}, with a home directory of their own {home}.", soft_wrap=True)
    out.print("What a command writes elsewhere, it writes for real.")


def _check_events(events: str) -> None:
    if events != BUILTIN and not Path(events).is_file():
        raise UsageError(f"--events: there is no file {events!r}; or write builtin")


def _proof(migration: Migration, location: Location, events: str, *, quiet: bool) -> Proof:
    source, target = migration.source, migration.target

    def probes(project: Path) -> list[Probe]:
        if events == BUILTIN:
            return builtin_probes(source, target, migration.hooks.definitions, project)
        return recorded_probes(Path(events), source, target, project)

    with Progress(console=console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task("proving", total=None)
        return prove(
            migration,
            location,
            probes,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


# -- for people


def _show(migration: Migration, losses: list[Loss], project: Path) -> None:
    out = console()
    source, target = migration.source, migration.target
    moved = len({(o.handler.place, o.event) for e in migration.entries for o in e.origins})
    if not moved and not losses:
        files = ", ".join(
            show_path(str(file.source.path), project) for file in migration.hooks.files
        )
        out.print(f"There are no hooks of {source.title} here ({files}).", markup=False)
        return
    table = Table(title=f"{source.title} → {target.title}", title_justify="left", box=None)
    width = HOOK_WIDTH if out.width >= WIDE else NARROW_HOOK
    table.add_column("hook", overflow="ellipsis", no_wrap=True, max_width=width)
    for name in ("from", "to", "matcher", ""):
        table.add_column(name, overflow="fold")
    for entry in migration.entries:
        for origin in entry.origins:
            spec = source.by_canonical[origin.event]
            table.add_row(
                Text(origin.handler.label),
                f"{spec.wire} {show_place(origin.handler.place, project, short=True)}",
                entry.event,
                Text(printable(str(entry.definition.get("matcher", "")))),
                Text("shim" if origin.shimmed else "direct", style="dim"),
            )
    if moved:
        out.print(table)
    if losses:
        rows = Table(title="What does not come along whole", title_justify="left", box=None)
        for name in ("", "where", "what", "why", "what to do"):
            rows.add_column(name, overflow="fold")
        for loss in losses:
            rows.add_row(
                Text(loss.kind, style=KIND_STYLE[loss.kind]),
                show_place(loss.place, project, short=True),
                Text(printable(loss.what)),
                Text(printable(loss.why)),
                Text(printable(loss.instead)),
            )
        out.print(rows)
    else:
        out.print(Text("nothing is lost", style="green"))


def _show_proof(proof: Proof, migration: Migration, project: Path) -> None:
    out = console()
    table = Table(title=f"Proof over {proof.events} events", title_justify="left", box=None)
    table.add_column("")
    width = HOOK_WIDTH if out.width >= WIDE else NARROW_HOOK
    table.add_column("hook", overflow="ellipsis", no_wrap=True, max_width=width)
    for name in ("where", "event", "reached it", "it decided", "differ"):
        table.add_column(name, overflow="fold")
    for hook in proof.hooks:
        sign, style = _verdict(hook.differences, hook.decided)
        table.add_row(
            Text(sign, style=style),
            Text(hook.label),
            show_place(hook.place, project, short=True),
            hook.event,
            str(hook.events),
            str(hook.decided),
            str(len(hook.differences)),
        )
    out.print(table)
    _show_differences(proof, migration)
    silent = [hook.label for hook in proof.hooks if not hook.decided]
    if silent:
        out.print(
            f"{len(silent)} hook(s) had nothing to say on any of these events; prove them with "
            "recorded ones: --events FILE",
            style="yellow",
        )
    if not proof.differs:
        out.print("both sides decide the same", style="green")
    elif proof.holds:
        out.print("the two sides differ only as told above", style="yellow")


def _show_differences(proof: Proof, migration: Migration) -> None:
    out = console()
    for hook in proof.hooks:
        for difference in hook.differences[:SHOWN]:
            _show_difference(hook.label, difference, migration)
        if len(hook.differences) > SHOWN:
            more = len(hook.differences) - SHOWN
            out.print(Text(f"         and on {more} more events; --json has them", style="dim"))
    for hook in proof.hooks:
        for event, fields in hook.unstable.items():
            words = f"  {event}  ({hook.label}): {', '.join(fields)} differs from run to run"
            out.print(Text.assemble(("unstable", "yellow"), printable(words)))
    for difference in proof.combined:
        _show_difference("all hooks together", difference, migration)


def _verdict(differences: list[Difference], decided: int) -> tuple[str, str]:
    if any(not difference.told for difference in differences):
        return "✗", "bold red"
    if differences:
        return "~", "yellow"
    return ("✓", "green") if decided else ("·", "dim")


def _show_difference(label: str, difference: Difference, migration: Migration) -> None:
    out = console()
    style = "yellow" if difference.told else "bold red"
    told = "told above" if difference.told else "not told"
    event = printable(difference.event)
    out.print(Text.assemble(("differs", style), f"  {event}  ({label}; {told})"))
    for agent, said in (
        (migration.source, difference.here),
        (migration.target, difference.there),
    ):
        words = ", ".join(f"{key}: {value!r}" for key, value in said.items()) or "nothing"
        out.print(Text(f"    {agent.title}: {printable(words)}"))


# -- for programs


def _json(
    migration: Migration,
    losses: list[Loss],
    proof: Proof | None,
    edit: Edit,
    *,
    done: bool,
    refused: str | None,
) -> dict[str, Any]:
    return {
        "from": migration.source.name,
        "to": migration.target.name,
        "scope": migration.scope,
        "written": done,
        "refused": refused,
        "path": str(edit.path),
        "changes": edit.changes,
        "text": edit.after,
        "hooks": [
            {
                "hook": origin.handler.shown_identifier,
                "place": str(origin.handler.place),
                "from": migration.source.by_canonical[origin.event].wire,
                "to": entry.event,
                "matcher": entry.definition.get("matcher"),
                "shim": origin.shimmed,
            }
            for entry in migration.entries
            for origin in entry.origins
        ],
        "losses": [
            {
                "kind": loss.kind,
                "means": KINDS[loss.kind],
                "place": None if loss.place is None else str(loss.place),
                "what": loss.what,
                "why": loss.why,
                "instead": loss.instead,
            }
            for loss in losses
        ],
        "proof": None if proof is None else _proof_json(proof),
    }


def _proof_json(proof: Proof) -> dict[str, Any]:
    return {
        "events": proof.events,
        "holds": proof.holds,
        "hooks": [
            {
                "hook": hook.label,
                "place": str(hook.place),
                "event": hook.event,
                "reached": hook.events,
                "decided": hook.decided,
                "differences": [_difference_json(d) for d in hook.differences],
                "unstable": {event: list(fields) for event, fields in hook.unstable.items()},
            }
            for hook in proof.hooks
        ],
        "combined": [_difference_json(d) for d in proof.combined],
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "event": difference.event,
        "from": difference.here,
        "to": difference.there,
        "told": difference.told,
    }
