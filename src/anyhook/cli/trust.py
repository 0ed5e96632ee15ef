"""`anyhook trust`: look at the hooks of a project and allow them to run."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    Project,
    print_project,
    print_no_hooks,
    scope_of,
)
from anyhook.cli.output import console, print_diagnostics, print_json, show_path, show_place
from anyhook.engine.guard import Guard
from anyhook.errors import UsageError
from anyhook.model.text import printable
from anyhook.settings.detect import trust_command
from anyhook.settings.hookset import load_hooks
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec
    from anyhook.cli.options import Scope
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.trust.store import Change, Subject

DIFF_STYLE = {"+": "green", "-": "red", "@": "cyan"}


def trust(
    project: Project = HERE,
    agent: AgentName = None,
    show: Annotated[
        bool, typer.Option("--show", help="Only show; exits with 1 if something is not trusted.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Forget that it was trusted.")] = False,
    as_json: AsJson = False,
) -> int:
    """Look at a project's hooks and the scripts they name, and allow them to run.

    Trust is bound to what you see: when a definition or a script changes, the hook does not run
    until you have looked at the difference. Hooks of the user, of extensions and of the system do
    not need it. Scripts that a script loads are not followed.

    For example:

        anyhook trust
        anyhook trust --show
        anyhook trust --yes --project ~/code/app
    """
    if show and (revoke or yes):
        raise UsageError("--show only shows; drop it, or drop --yes and --revoke")
    store, scope = TrustStore(), scope_of(project, agent)
    here = scope.project
    if revoke:
        known = store.revoke(here)
        text = "is not trusted any more" if known else "was not trusted"
        if as_json:
            print_json({"project": str(here), "trusted": False, "changed": known})
        else:
            console().print(f"{show_path(str(here))} {text}", markup=False)
        return OK
    reviews = [_review(store, here, get_agent(name)) for name in scope.agents]
    show = show or (as_json and not yes)
    changed = [review for review in reviews if review.changes]
    done = bool(changed) and not show and (yes or _agreed(here, changed))
    for review in changed if done else ():
        store.trust(here, review.subjects, agent=review.agent.name)
    trusted = done or not changed
    if as_json:
        print_json(_json(here, reviews, trusted=trusted))
    else:
        print_project(console(), here)
        _show(scope, reviews, done, asked=not (show or yes))
        problems = dict.fromkeys(problem for review in reviews for problem in review.problems)
        print_diagnostics(console(stderr=True), problems, here)
    return OK if trusted else PROBLEMS


@dataclass(frozen=True, slots=True)
class Review:
    """What a project's hooks for one agent are made of, and what of it is not trusted.

    Attributes:
        agent: The agent.
        subjects: The hooks.
        changes: Those that are new or changed since they were trusted.
        problems: What is wrong with the trust store.
        in_order: The `id` of the handlers that run in order.
    """

    agent: AgentSpec
    subjects: list[Subject]
    changes: list[Change]
    problems: tuple[Diagnostic, ...]
    in_order: frozenset[int]


def _review(store: TrustStore, project: Path, agent: AgentSpec) -> Review:
    hooks = load_hooks(agent, Location.of(project, home_variable=agent.home_variable))
    subjects = Guard(agent, project, store, tuple(hooks.definitions)).subjects()
    changes, problems = store.changes(project, subjects)
    sequences = [d for d in hooks.definitions if d.sequential]
    in_order = frozenset(id(handler) for d in sequences for handler in d.handlers)
    return Review(agent, subjects, list(changes), tuple(problems), in_order)


def _agreed(project: Path, reviews: list[Review]) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on; look with --show, then trust with --yes")
    for review in reviews:
        _print_changes(console(), review.agent, project, review.changes, review.in_order)
        _print_not_bound(console(), project, review.subjects)
    return typer.confirm("Trust these hooks and scripts as they are?", default=False)


def _show(scope: Scope, reviews: list[Review], done: bool, *, asked: bool) -> None:
    out = console()
    if not any(review.subjects for review in reviews):
        out.print("This project has no hooks of its own; there is nothing to trust.")
        if not reviews:
            print_no_hooks(out, scope)
    for review in reviews:
        title = f"  {review.agent.title}" if len(reviews) > 1 else ""
        if review.changes and not asked:
            _print_changes(out, review.agent, scope.project, review.changes, review.in_order)
        if not asked or not review.changes:
            _print_not_bound(out, scope.project, review.subjects)
        if review.subjects and (done or not review.changes):
            many = "hooks" if len(review.subjects) != 1 else "hook"
            out.print(f"[green]trusted:[/] {len(review.subjects)} {many}{title}")
        elif review.changes:
            command = trust_command(review.agent.name, scope.project)
            out.print(f"[yellow]not trusted;[/] trust with: {command}{title}")


def _print_not_bound(out: Console, project: Path, subjects: list[Subject]) -> None:
    """List what the hooks may run and whose changes are not noticed, also if they are trusted."""
    hooks: dict[str, list[str]] = {}
    for subject in subjects:
        for word in subject.unclear:
            hooks.setdefault(word, []).append(subject.handler.label)
    for word, labels in hooks.items():
        shown = printable(word.replace(str(project), "."))
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        out.print(Text(f"  not bound: {shown}  ({labels[0]}{more})", "yellow"), soft_wrap=True)
    if hooks:
        out.print("  A change of what is not bound is not noticed.", style="yellow")


def _print_changes(
    out: Console, agent: AgentSpec, project: Path, changes: list[Change], in_order: frozenset[int]
) -> None:
    for change in changes:
        handler, subject = change.subject.handler, change.subject
        event = agent.by_canonical[subject.event].wire
        out.print(
            Text.assemble(
                ("new  " if change.what == "new" else "changed  ", "yellow"),
                (handler.label, "bold"),
                (f"  {event} {printable(subject.matcher or '*')}", "cyan"),
                (f"  {show_place(handler.place, project)}", "dim"),
            )
        )
        for title, value in _members(handler):
            _print_value(out, title, value)
        if id(handler) in in_order:
            out.print(Text("  in order: it sees what the hook before it changed"))
        out.print(Text(f"  for at most {handler.timeout:g} s", style="dim"))
        for script in subject.scripts:
            state = f"sha256 {script.digest[:12]}" if script.digest else "not there"
            out.print(Text(f"  script: {show_path(str(script.path), project)}  {state}"))
            if change.what == "new" and script.text is not None:
                _print_text(out, script.text)
        for tree in subject.trees:
            where = show_path(str(tree.root), project)
            out.print(Text(f"  directory: {where}  {len(tree.files)} files"), soft_wrap=True)
        for line in change.difference:
            out.print(Text(f"    {printable(line)}", style=DIFF_STYLE.get(line[:1], "dim")))


SHOWN_LINES = 40
"""Lines of a new script or a long value that are shown; the rest is counted."""
SHOWN_CHARACTERS = 4000
"""Characters of a value that are shown; the rest is counted."""


def _members(handler: HandlerSpec) -> Iterator[tuple[str, str]]:
    """Return what trust in a handler covers, besides label and timeout: titles and values."""
    if handler.name and printable(handler.name) != handler.label:
        yield "name", handler.name
    if handler.command or handler.argv:
        yield "runs", handler.command or shlex.join(handler.argv or ())
    else:
        yield "kind", handler.kind
    for name, value in handler.options.items():
        if isinstance(value, dict) and value:
            yield from ((f"{name}.{key}", _written(one)) for key, one in value.items())
        else:
            yield name, _written(value)
    if handler.condition is not None:
        yield "if", handler.condition
    if handler.background:
        yield "background", "nobody waits for it"
    if handler.on_failure != "continue":
        yield "on failure", handler.on_failure
    for name, value in handler.env.items():
        yield "with", f"{name}={value}"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_value(out: Console, title: str, value: str) -> None:
    """Show a value whole if it is short; several lines are marked, so that none looks like ours."""
    title = printable(" ".join(title.split()))
    shown = "".join(value.splitlines(keepends=True)[:SHOWN_LINES])[:SHOWN_CHARACTERS]
    lines = shown.splitlines()
    if len(lines) > 1:
        out.print(Text(f"  {title}:"))
        for line in lines:
            out.print(Text(f"    | {printable(line)}"))
    else:
        out.print(Text(f"  {title}: {printable(shown.strip())}"))
    if len(shown) < len(value):
        more = len(value) - len(shown)
        out.print(Text(f"    | … {more} more characters; whole with --json", style="yellow"))


def _print_text(out: Console, text: str) -> None:
    lines = text.splitlines()
    for line in lines[:SHOWN_LINES]:
        out.print(Text(f"    | {printable(line)}", style="dim"))
    if len(lines) > SHOWN_LINES:
        out.print(Text(f"    | … {len(lines) - SHOWN_LINES} more lines", style="dim"))


def _json(project: Path, reviews: list[Review], *, trusted: bool) -> dict[str, Any]:
    return {
        "project": str(project),
        "trusted": trusted,
        "hooks": [_hook_json(review, s) for review in reviews for s in review.subjects],
    }


def _hook_json(review: Review, subject: Subject) -> dict[str, Any]:
    change = next((change for change in review.changes if change.subject is subject), None)
    handler = subject.handler
    return {
        "agent": review.agent.name,
        "name": handler.label,
        "event": review.agent.by_canonical[subject.event].wire,
        "matcher": subject.matcher,
        "sequential": id(handler) in review.in_order,
        "kind": handler.kind,
        "command": handler.command or list(handler.argv or ()),
        "options": dict(handler.options),
        "if": handler.condition,
        "background": handler.background,
        "on_failure": handler.on_failure,
        "env": dict(handler.env),
        "timeout_ms": round(handler.timeout * 1000),
        "unclear": list(subject.unclear),
        "file": handler.place.file,
        "line": handler.place.line,
        "state": change.what if change else "trusted",
        "scripts": [{"path": str(x.path), "sha256": x.digest} for x in subject.scripts],
        "directories": [
            {
                "path": str(tree.root),
                "files": {name: file.digest for name, file in tree.files.items()},
            }
            for tree in subject.trees
        ],
        "difference": list(change.difference) if change else [],
    }
