"""`anyhook migrate`: one agent's hooks for another agent, with proof."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time
from anyhook.cli.colors import BAD
from anyhook.cli.listing import print_native_trust
from anyhook.cli.migrate_report import (
    proof_json,
    show_losses,
    show_moved_hooks,
    show_proof,
    show_what_runs,
)
from anyhook.cli.options import HERE, AsJson, DryRun, Project, TrustOnce, Yes
from anyhook.cli.output import console, print_json
from anyhook.cli.render import confirm, print_note, progress
from anyhook.cli.sandboxed import confirm_limits
from anyhook.engine.guard import TrustGuard
from anyhook.errors import UsageError
from anyhook.manage.paths import show_path
from anyhook.manage.scope import agents_here, existing_project
from anyhook.migrate.context import KINDS, Loss
from anyhook.migrate.plan import Migration, merge_into, plan_migration
from anyhook.migrate.prove import BUILTIN, ProofRequest, prove_migration
from anyhook.model.record import replace
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.changes import Change, read_text, settings_file
from anyhook.settings.companions import companion_changes, program_words
from anyhook.settings.detect import agents_with_hooks
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.comparison import Proof


@one_at_a_time
def migrate(
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="AGENT",
            help=f"Whose hooks: {', '.join(CODING_AGENTS)}; by default the agent that has some.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="AGENT",
            help="The agent to move them to; by default the only other one here.",
        ),
    ] = None,
    project: Project = HERE,
    scope: Annotated[
        str, typer.Option("--scope", help="Whose settings: project or user.")
    ] = "project",
    dry_run: DryRun = False,
    yes: Yes = False,
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
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Move an agent's hooks into another agent's settings.

    Reads all settings of the scope (for Claude Code settings.json and settings.local.json),
    translates them, and adds them to the other agent's settings. Commands keep the events and
    answers of the agent that they were written for: `anyhook shim` translates. Everything that is
    lost is reported. The difference is shown, and nothing is written before you agree; the former
    file is kept next to it.

    With `--prove` the hooks of both sides first decide the same events, in copies of the project.

    For example:

        anyhook migrate --to gemini --dry-run
        anyhook migrate --from claude --to gemini --prove
        anyhook migrate --from gemini --to claude --prove --events session.jsonl --yes
    """
    if events is not None and not proved:
        raise UsageError("--events names the events of a proof; add --prove")
    directory = existing_project(project)
    program = program_words(scope)
    target_agent = _coding_agent(target) if target else None
    source_agent = _coding_agent(source or _only_source(directory, scope, target))
    target_agent = target_agent or _coding_agent(_only_target(directory, source_agent))
    location = Location.of(directory, source_agent)
    migration = plan_migration(
        source_agent,
        target_agent,
        location,
        scope=scope,
        shim=not no_shim,
        program=program,
    )
    change, notes = _settings_change(migration, directory)
    companions = companion_changes(target_agent, change, directory, scope, program)
    losses = [*migration.losses, *notes]
    events = events or BUILTIN
    can_prove = proved and bool(migration.entries)
    if can_prove:
        confirm_limits(is_agreed=yes)
        _confirm_proof(
            migration, location, events, yes=yes, trust_once=trust_once, is_quiet=as_json
        )
    if not as_json:
        show_moved_hooks(migration, losses, directory)
        show_losses(migration, losses, directory)
    proof = None
    if can_prove:
        request = ProofRequest(
            source_agent.name,
            target_agent.name,
            location,
            scope,
            has_shim=not no_shim,
            program=program,
            events=events,
        )
        proof = _run_proof(request, is_quiet=as_json)
        if not as_json:
            show_proof(proof, migration, directory)
    refusal = _refusal(migration, proof, is_strict=strict)
    written = False
    if refusal is None:
        options = WriteOptions(yes, dry_run, as_json)
        written = apply_changes([change, *companions], options, backup=True)
    if as_json:
        print_json(_json(migration, losses, proof, change, written=written, refusal=refusal))
    elif refusal is not None:
        console().print(Text.assemble(("not written", BAD), f"  {refusal}"))
    _print_next_steps(migration, is_quiet=as_json or not written)
    return PROBLEMS if refusal else OK


def _settings_change(migration: Migration, project: Path) -> tuple[Change, list[Loss]]:
    """Return the change of the target's settings, and how hooks that are there differ."""
    path = settings_file(migration.target, project, migration.scope)
    before = read_text(path)
    after, notes = merge_into(migration, before or "", str(path))
    why = f"Add the hooks of {migration.source.title}"
    return Change(path, before, after, why, migration.target), notes


def _refusal(migration: Migration, proof: Proof | None, *, is_strict: bool) -> str | None:
    """Return why nothing is written."""
    if is_strict and migration.loses:
        return "something is lost, and --strict is set"
    if proof is not None and not proof.holds:
        return "the two sides decide differently, and no loss above explains it"
    return None


def _print_next_steps(migration: Migration, *, is_quiet: bool) -> None:
    """Print what the migrated hooks need before they run."""
    is_shared = migration.scope == "project"
    if not is_quiet:
        print_native_trust(console(), migration.target)
        if is_shared:
            console().print(f"For anyhook fire: anyhook trust --agent {migration.target.name}")
    if migration.is_shimmed and is_shared and not shutil.which("anyhook"):
        print_note(
            console(stderr=True),
            "warning:",
            "anyhook is not on the PATH here, and the migrated hooks start it; install it where "
            "the agent finds it, for example with: pipx install anyhook",
        )


# -- the agents


def _coding_agent(name: str) -> AgentSpec:
    agent = get_agent(name)
    if name not in CODING_AGENTS:
        raise UsageError(
            f"{name} has no settings of its own; name one of: {', '.join(CODING_AGENTS)}"
        )
    return agent


def _only_source(project: Path, scope: str, target: str | None) -> str:
    """Return the one agent that has hooks in the settings of a scope."""
    sources: dict[str, Path] = {}
    for settings in agents_with_hooks(project):
        files = settings.user_files if scope == "user" else settings.project_files
        if settings.agent in CODING_AGENTS and settings.agent != target and files:
            sources[settings.agent] = files[0]
    if not sources:
        raise UsageError(
            f"no agent has hooks in the {scope} settings here; name one with --from, or other "
            "settings with --scope or --project"
        )
    if len(sources) > 1:
        choices = ", ".join(
            f"--from {agent} ({show_path(str(file), project)})" for agent, file in sources.items()
        )
        raise UsageError(f"several agents have hooks here; write one of: {choices}")
    return next(iter(sources))


def _only_target(project: Path, source: AgentSpec) -> str:
    """Return the one other agent that has a settings directory in the project or the home."""
    others = [name for name in CODING_AGENTS if name != source.name]
    present = [agent.name for agent in agents_here(project, None) if agent.name in others]
    if len(present) == 1:
        return present[0]
    choices = " or ".join(f"--to {name}" for name in present or others)
    raise UsageError(f"Move the hooks of {source.title} where? Add {choices}")


# -- the proof


def _confirm_proof(
    migration: Migration,
    location: Location,
    events: str,
    *,
    yes: bool,
    trust_once: bool,
    is_quiet: bool,
) -> None:
    """Show what the proof runs, and ask."""
    if events != BUILTIN and not Path(events).is_file():
        raise UsageError(f"--events: there is no file {events!r}; or write builtin")
    source = migration.source
    layers = source.settings.needs_trust
    definitions = tuple([each for each in migration.hooks.definitions if each.layer in layers])
    is_untrusted = False
    if definitions and not trust_once:
        project, store = location.project, TrustStore()
        subjects = TrustGuard(source, project, store, definitions).subjects()
        changes, _ = store.changes(project, subjects, agent=source.name)
        is_untrusted = bool(changes)
    if not is_quiet:
        show_what_runs(migration, location)
    is_agreed = trust_once or (yes and not is_untrusted)
    instead = "the proof runs the hooks: add --yes or --trust-once"
    if is_untrusted:
        instead = (
            "the proof runs the hooks, and you have not trusted them: look at them with "
            f"anyhook trust --agent {source.name}, or add --trust-once"
        )
    if not confirm("Run them?", is_agreed=is_agreed, is_quiet=is_quiet, instead=instead):
        raise UsageError("nothing was run and nothing was written")


def _run_proof(request: ProofRequest, *, is_quiet: bool) -> Proof:
    location = request.location
    with (
        Sandbox.for_project(location.project, location) as sandbox,
        progress("proving", is_quiet=is_quiet) as bar,
    ):
        # It works in copies of its own.
        request = replace(
            request,
            location=location._replace(environ=sandbox.environ),
            links_packages=sandbox.protects_files,
        )
        return sandbox.run(prove_migration, request, on_message=lambda message: bar.show(*message))


# -- for programs


def _json(
    migration: Migration,
    losses: list[Loss],
    proof: Proof | None,
    change: Change,
    *,
    written: bool,
    refusal: str | None,
) -> dict[str, Any]:
    hooks = []
    for entry, origin in migration.origins():
        hook = {
            "hook": origin.handler.shown_identifier,
            "place": str(origin.handler.place),
            "from": migration.source.by_canonical[origin.event].wire,
            "to": entry.event,
            "matcher": entry.definition.get("matcher"),
            "shim": origin.shimmed,
        }
        hooks.append(hook)
    return {
        "from": migration.source.name,
        "to": migration.target.name,
        "scope": migration.scope,
        "written": written,
        "refused": refusal,
        "path": change.path,
        "changes": change.has_effect,
        "text": change.after,
        "hooks": hooks,
        "losses": [_loss_json(loss) for loss in losses],
        "proof": None if proof is None else proof_json(proof),
    }


def _loss_json(loss: Loss) -> dict[str, Any]:
    return {
        "kind": loss.kind,
        "means": KINDS[loss.kind],
        "place": str(loss.place) if loss.place is not None else None,
        "what": loss.subject,
        "why": loss.reason,
        "instead": loss.remedy,
    }
