"""`anyhook trust`: review the hooks of a project and allow them to run."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.text import Text

from anyhook.agents import agent_that_started, get_agent
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import ACCENT, CAUTION, DIFFERENCES, GOOD
from anyhook.cli.listing import print_broken
from anyhook.cli.options import HERE, AgentName, AsJson, Project, Yes, print_no_hooks, print_project
from anyhook.cli.output import console, members, place_members, print_json
from anyhook.cli.render import (
    confirm,
    print_diagnostics,
    print_note,
    print_quoted,
    require_terminal,
    show_place,
)
from anyhook.engine.engine import Engine
from anyhook.engine.guard import TrustGuard
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.health import health
from anyhook.manage.paths import show_path
from anyhook.manage.protection import require_user
from anyhook.manage.scope import CommandScope, scope_of
from anyhook.model.diagnostics import Severity
from anyhook.model.record import Record
from anyhook.model.text import count_of, printable
from anyhook.settings.detect import trust_command
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from anyhook.trust.changes import ChangedFile, changes_to_review, forget_changes
from anyhook.trust.languages import CODE_SUFFIXES
from anyhook.trust.native import RUNNING, NativeStates, native_states
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.trust.records import TrustChange
    from anyhook.trust.subjects import TrustSubject


_PLAIN_PATH = re.compile(r"[\w./@+~ -]+")
ASK_INSTEAD = "use --show to review, --yes to trust"
MAX_LINES = 40
"""Lines of a new script or a long value that are printed."""
MAX_CHARACTERS = 4000
"""Characters of a value that are printed."""


class Review(Record, kw_only=False):
    """The project's hooks of one agent, and which of them are not trusted."""

    agent: AgentSpec
    subjects: list[TrustSubject]
    """The hooks with the files that they depend on."""
    changes: list[TrustChange]
    """The hooks that are new or changed since they were trusted."""
    problems: tuple[Diagnostic, ...]
    """Diagnostics of the trust store, and the errors in settings, whose hooks are not here."""
    sequential: frozenset[int]
    """`id` of the handlers that run one after the other."""
    native: NativeStates | None
    """How far the agent itself trusts them; `None` if it keeps no such record."""


def trust(
    project: Project = HERE,
    agent: AgentName = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show the hooks. Exits with 1 if any is not trusted.")
    ] = False,
    yes: Yes = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Withdraw the trust.")] = False,
    as_json: AsJson = False,
) -> int:
    """Review the hooks of a project and allow them to run.

    The hooks are shown with their scripts. Trust is bound to what is shown: when a definition or a
    script changes, the hook does not run until you trust it again. What scripts load is
    followed; what cannot be followed is listed as not bound. Hooks of the user, of extensions and
    of the system need no trust.

    For example:

        anyhook trust
        anyhook trust --show
        anyhook trust --yes --project ~/code/app
    """
    if show and (revoke or yes):
        raise UsageError("--show changes nothing; drop it, or drop --yes and --revoke")
    store = TrustStore()
    scope = scope_of(project, agent)
    # With --json alone, programs get what would be asked and nothing is trusted.
    is_only_shown = show or (as_json and not yes and not revoke)
    if not is_only_shown:
        require_user()
    if revoke:
        return _revoke(store, scope.project, as_json=as_json)
    reviews = [review_hooks(store, scope.project, get_agent(name)) for name in scope.agents]
    changed = [review for review in reviews if review.changes]
    file_changes = changes_to_review(scope.project)
    needs_review = bool(changed or file_changes)
    should_ask = needs_review and not is_only_shown and not yes
    if should_ask:
        require_terminal(ASK_INSTEAD)
    out = console()
    if not as_json:
        _print_reviews(out, scope.project, reviews, file_changes)
    is_agreed = yes
    if should_ask:
        question = "Trust these hooks and scripts as they are?"
        is_agreed = confirm(question, is_agreed=False, instead=ASK_INSTEAD)
    if is_agreed:
        for review in changed:
            store.trust(scope.project, review.subjects, agent=review.agent.name)
        forget_changes(scope.project)
    trusted = is_agreed or not needs_review
    if as_json:
        hooks: list[dict[str, Any]] = []
        for review in reviews:
            hooks += [_hook_json(review, subject) for subject in review.subjects]
        report = {"project": scope.project, "trusted": trusted, "hooks": hooks}
        print_json({**report, "changed_files": file_changes})
    else:
        _print_result(out, scope, reviews, trusted=trusted)
    return OK if trusted else PROBLEMS


def _revoke(store: TrustStore, project: Path, *, as_json: bool) -> int:
    was_trusted = store.revoke(project)
    if as_json:
        print_json({"project": project, "trusted": False, "changed": was_trusted})
        return OK
    state = "is not trusted any more" if was_trusted else "was not trusted"
    console().print(f"{show_path(str(project))} {state}")
    return OK


def review_hooks(store: TrustStore, project: Path, agent: AgentSpec) -> Review:
    """Read the project's hooks of one agent, with what is not trusted of them."""
    hooks = load_hook_set(agent, Location.of(project, agent))
    subjects = TrustGuard(agent, project, store, tuple(hooks.definitions)).subjects()
    changes, problems = store.changes(project, subjects, agent=agent.name)
    sequential: set[int] = set()
    for definition in hooks.definitions:
        if definition.sequential:
            sequential.update(id(handler) for handler in definition.handlers)
    native = native_states(agent, hooks)
    errors = [problem for problem in hooks.diagnostics if problem.severity is Severity.ERROR]
    return Review(
        agent, subjects, list(changes), (*errors, *problems), frozenset(sequential), native
    )


def _print_result(
    out: Console, scope: CommandScope, reviews: list[Review], *, trusted: bool
) -> None:
    if not any(review.subjects or review.problems for review in reviews):
        titles = ", ".join(review.agent.title for review in reviews)
        agents = f" for {titles}" if titles else ""
        out.print(f"This project has no hooks of its own{agents}; there is nothing to trust.")
    if not reviews:
        print_no_hooks(out, scope)
    problems: dict[Diagnostic, None] = {}
    for review in reviews:
        title = f"  {review.agent.title}" if len(reviews) > 1 else ""
        if review.changes and not trusted:
            command = trust_command(review.agent.name, scope.project)
            print_note(out, "not trusted;", f"trust with: {command}{title}")
        elif review.subjects:
            print_note(out, "trusted:", f"{count_of(len(review.subjects), 'hook')}{title}", GOOD)
        native = review.native
        if native is not None:
            states = Counter(native.of(subject.handler) or "" for subject in review.subjects)
            for state in sorted(states.keys() - RUNNING - {""}):
                hooks = count_of(states[state], "hook")
                text = f"  {hooks} {state} in {review.agent.title}; {native.review}"
                out.print(Text.assemble(("!", CAUTION), text), soft_wrap=True)
        problems.update(dict.fromkeys(review.problems))
        if trusted:
            engine = Engine.load(scope.project, agent=review.agent.name, on_message=discard)
            print_broken(out, engine, health(engine))
    print_diagnostics(console(stderr=True), problems, scope.project)


# -- what a user reviews


def _print_reviews(
    out: Console, project: Path, reviews: list[Review], file_changes: list[ChangedFile]
) -> None:
    print_project(out, project)
    for review in reviews:
        print_review(out, project, review)
    for change in file_changes:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(change.time))
        place = show_path(change.file, project)
        text = f"  changed while no hook saw it; noticed {at}"
        out.print(Text.assemble((place, "bold"), (text, CAUTION)), soft_wrap=True)
        _print_difference(out, change.difference)


def print_review(out: Console, project: Path, review: Review) -> None:
    """Print what is not trusted, and what the hooks depend on without trust being bound to it."""
    # Hooks share files and directories; each is shown once.
    printed: set[str] = set()
    for change in review.changes:
        _print_change(out, project, review, change, printed)
    labels_by_file: dict[str, list[str]] = {}
    for subject in review.subjects:
        for word in subject.unclear:
            labels_by_file.setdefault(word, []).append(subject.handler.label)
    for word, labels in labels_by_file.items():
        file = printable(word.replace(str(project), "."))
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        out.print(Text(f"  not bound: {file}  ({labels[0]}{more})", CAUTION), soft_wrap=True)
    if labels_by_file:
        out.print(
            "  anyhook cannot watch these; it will not ask again when they change.", style=CAUTION
        )


def _print_difference(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        out.print(Text(f"    {printable(line)}", style=DIFFERENCES.get(line[:1], "dim")))


def _print_change(
    out: Console, project: Path, review: Review, change: TrustChange, printed: set[str]
) -> None:
    subject = change.subject
    handler = subject.handler
    event = review.agent.by_canonical[subject.event].wire
    state = "new" if change.what == "new" else "changed"
    heading = Text.assemble(
        (f"{state}  ", CAUTION),
        (handler.label, "bold"),
        (f"  {event} {printable(subject.matcher or '*')}", ACCENT),
        (f"  {show_place(handler.place, project)}", "dim"),
    )
    out.print(heading)
    for title, value in _trusted_members(handler):
        _print_value(out, title, value)
    if id(handler) in review.sequential:
        out.print(Text("  in order: it gets the changes of the hook before it"))
    out.print(Text(f"  timeout: {handler.timeout:g} s", style="dim"))
    for script in subject.scripts:
        path = str(script.path)
        # Of those that do not exist only what surely is a path. The others stay bound: a piece of a
        # name with blanks, or of a pattern, may become a file.
        is_path = script.path.suffix in CODE_SUFFIXES and _PLAIN_PATH.fullmatch(path)
        if script.digest is None and not is_path:
            continue
        digest = f"sha256 {script.digest[:12]}" if script.digest else "not found"
        out.print(Text(f"  script: {show_path(path, project)}  {digest}"))
        if change.what == "new" and script.text is not None and path not in printed:
            lines = script.text.splitlines()
            print_quoted(out, "\n".join(lines[:MAX_LINES]), style="dim")
            if len(lines) > MAX_LINES:
                out.print(Text(f"    | … {len(lines) - MAX_LINES} more lines", style="dim"))
        printed.add(path)
    for tree in subject.trees:
        directory = show_path(str(tree.root), project)
        files = count_of(len(tree.files), "file")
        out.print(Text(f"  directory: {directory}  {files}"), soft_wrap=True)
    difference = "\n".join(change.difference)
    if difference and difference not in printed:
        _print_difference(out, change.difference)
    elif difference:
        out.print(Text("    the same difference as above", style="dim"))
    printed.add(difference)


def _trusted_members(handler: HandlerSpec) -> Iterator[tuple[str, str]]:
    """Yield a title and a value for everything in a handler that trust is bound to."""
    if handler.name and printable(handler.name) != handler.label:
        yield "name", handler.name
    if handler.command or handler.argv:
        yield "runs", handler.command_line
    else:
        yield "kind", handler.kind
    for name, value in handler.options.items():
        if isinstance(value, dict) and value:
            for key, item in value.items():
                yield f"{name}.{key}", _as_text(item)
        else:
            yield name, _as_text(value)
    if handler.condition is not None:
        yield "if", handler.condition
    if handler.background:
        yield "background", "the agent does not wait for it"
    if handler.on_failure != "continue":
        yield "on failure", handler.on_failure
    for name, value in handler.env.items():
        yield "with", f"{name}={value}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_value(out: Console, title: str, value: str) -> None:
    """Print a value of the settings on one line, or quoted if it does not fit on one."""
    # Names of options and variables come from the project too.
    title = printable(" ".join(title.split()))
    # `splitlines` knows more line ends than terminals do, so that none of them stays in a line.
    beginning = "".join(value.splitlines(keepends=True)[:MAX_LINES])[:MAX_CHARACTERS]
    line = f"  {title}: {printable(beginning.strip())}"
    if len(beginning.splitlines()) > 1 or cell_len(line) > out.width:
        out.print(Text(f"  {title}:"))
        print_quoted(out, beginning)
    else:
        out.print(Text(line))
    if len(beginning) < len(value):
        rest = len(value) - len(beginning)
        out.print(Text(f"    | … {rest} more characters; see --json for all", style=CAUTION))


def _hook_json(review: Review, subject: TrustSubject) -> dict[str, Any]:
    handler = subject.handler
    changes = [change for change in review.changes if change.subject is subject]
    directories = []
    for tree in subject.trees:
        digests = {name: file.digest for name, file in tree.files.items()}
        directories.append({"path": tree.root, "files": digests})
    return {
        "agent": review.agent.name,
        "name": handler.label,
        "event": review.agent.by_canonical[subject.event].wire,
        "sequential": id(handler) in review.sequential,
        "command": handler.command or list(handler.argv or ()),
        "if": handler.condition,
        "timeout_ms": round(handler.timeout * 1000),
        **members(subject, "matcher", "unclear"),
        **members(handler, "kind", "options", "background", "on_failure", "env"),
        **place_members(handler.place),
        "state": changes[0].what if changes else "trusted",
        "native_trust": review.native.of(handler) if review.native is not None else None,
        "scripts": [{"path": s.path, "sha256": s.digest} for s in subject.scripts],
        "directories": directories,
        "difference": changes[0].difference if changes else [],
    }


def accept_own_edits(project: Path, agent_name: str) -> None:
    """Show what changed in files of this user and trust it if the user presses `y`.

    Nothing is offered without a terminal, in a process that an agent has started, for new hooks and
    changed definitions, and for files of other users: `anyhook trust` shows these.

    Raises:
        OSError: If the trust store cannot be written.
        SettingsError: If others can write the trust store.
    """
    has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if not has_terminal or agent_that_started(os.environ) is not None:
        return
    store = TrustStore()
    review = review_hooks(store, project, get_agent(agent_name))
    if not review.changes or not all(map(_is_own_edit, review.changes)):
        return
    out = console(stderr=True)
    print_review(out, project, review)
    question = "Did you make these changes, and do you trust them?"
    if confirm(question, is_agreed=False, instead="see: anyhook trust", err=True):
        store.trust(project, review.subjects, agent=agent_name)
        forget_changes(project)


def _is_own_edit(change: TrustChange) -> bool:
    if change.what != "script":
        return False
    files = [script.path for script in change.subject.scripts]
    for tree in change.subject.trees:
        files += [script.path for script in tree.files.values()]
    return all(map(_is_own_file, files))


def _is_own_file(path: Path) -> bool:
    """Return whether a file belongs to this user; one that is gone has no owner."""
    try:
        owner = path.stat().st_uid
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not hasattr(os, "geteuid") or owner == os.geteuid()
