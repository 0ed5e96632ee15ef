"""What is known about a configured hook from its runs: trials, and recorded events.

A hook is recognized by its entry (event, matcher, command, …) and by the content of its files, so
that what was seen of another version does not count.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.payloads import decode_event
from anyhook.agents.program import get_program
from anyhook.authoring.inspect import scan
from anyhook.checks.like_tests import how_start_differs
from anyhook.checks.scripts import read_scripts
from anyhook.checks.started_scripts import only_starts_file
from anyhook.engine.asked import AskedCall, asked_call, is_asked
from anyhook.engine.hook_files import files_of
from anyhook.errors import HistoryError
from anyhook.files import read_json_object, read_user_file
from anyhook.history.events import RecordedEvent, content_digest
from anyhook.history.hooks import (
    Reach,
    ReachQuestion,
    StoredRun,
    hook_runs,
    reach_of,
    versions_with_digests,
)
from anyhook.history.ingest import ingest
from anyhook.history.record_switch import switch_path
from anyhook.history.sessions import get_event, get_events
from anyhook.history.store import FILE, History
from anyhook.history.trials import Trial, trials_of
from anyhook.history.verdicts import FAILURES, HOLDING, NO_VERDICT
from anyhook.journal.lines import DIRECTORY, history_directory
from anyhook.manage.recorded_hooks import present_digests
from anyhook.model.answers import Outcome
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.processes.programs import find_program
from anyhook.trust.trees import MAX_SCRIPT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.checks.hook import CheckedHook
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition

MAX_READ_RUNS = 100
"""The latest runs of a hook that are looked at: the event of each is read."""
PACKAGE_LEVELS = 4
"""Directories above a program in which its package may be."""
MAX_PACKAGE_FILE = 1024 * 1024
VERSION = re.compile(r"\d+\.\d+\.\d+")
LAST_RUNS = 3
"""Runs that count for whether a hook fails now."""


class Identity(NamedTuple):
    """Which hook with which content a trial or a run was of.

    Attributes:
        entry: Digest of its entry in the settings.
        content: Digest of its files.
        file: Its first file; empty if it has none.
    """

    entry: str
    content: str
    file: str


class Runs(Record):
    """What recorded runs show of a hook with its present content.

    Attributes:
        count: Number of runs, up to `anyhook.history.hooks.MAX_RUNS`.
        first: Unix timestamp of the first of them; 0 if there is none.
        last: Unix timestamp of the last of them; 0 if there is none.
        decided: How many of them decided.
        last_decided: Unix timestamp of the last one that decided; 0 if none did.
        quiet: How many of them ended without trouble.
        trouble: What was wrong with each of the last three; empty unless all of them failed.
        lost_denial: Exit code of the latest run if it printed a denial that does not count.
    """

    count: int = 0
    first: float = 0.0
    last: float = 0.0
    decided: int = 0
    last_decided: float = 0.0
    quiet: int = 0
    trouble: tuple[str, ...] = ()
    lost_denial: int | None = None


class Evidence(Record, kw_only=False):
    """What was seen of a hook.

    Attributes:
        runs: Its runs with its present content.
        trials: Trials of its present entry and content, the newest first.
        old_trials: Trials of another entry, content or release of the agent, the newest first.
        passes_alone: Why it shows nothing about the hook that its file has passed its own examples;
            empty if it does, or the file has not.
        reach: How many events should have reached it, and how many did.
    """

    runs: Runs
    trials: tuple[Trial, ...]
    old_trials: tuple[Trial, ...]
    reach: Reach
    passes_alone: str = ""


# -- the hook


def hook_identity(engine: Engine, definition: HookDefinition, handler: HandlerSpec) -> Identity:
    """Return which hook with which content is configured."""
    members = {
        "event": definition.event,
        "matcher": definition.matcher,
        "kind": handler.kind,
        "command": handler.command or list(handler.argv or ()),
        "options": dict(handler.options),
        "if": handler.condition,
        "background": handler.background,
        "env": dict(handler.env),
        "timeout": handler.timeout,
    }
    entry = content_digest(json.dumps(members, sort_keys=True, default=str).encode())
    files = files_of(engine, handler)
    first = str(files[0]) if files else ""
    return Identity(entry, digest_of_files(files), first)


def digest_of_files(files: Sequence[Path]) -> str:
    """Return a digest of the contents of files; a file that cannot be read counts as empty."""
    digests: list[str] = []
    for file in files:
        try:
            digests.append(content_digest(read_user_file(file, MAX_SCRIPT_SIZE)))
        except (OSError, ValueError):
            digests.append("")
    return content_digest("\0".join(digests).encode())


def is_guard(hook: CheckedHook) -> bool:
    """Return whether a hook is there to deny, to ask or to stop, as its text shows.

    A command whose text cannot be read, and a hook without a text, may be a guard.
    """
    has_text = False
    for script in read_scripts(hook):
        if script.path is not None:
            uses = [use for use in scan(script.path) if use.event == hook.spec.canonical]
            if any(HOLDING.intersection(use.abilities) for use in uses):
                return True
            if uses:
                return False
        has_text = has_text or script.language is not None
        if script.facts.blocks:
            return True
    return not has_text


# -- what was seen


@contextmanager
def history_if_any(*, stores_first: bool) -> Iterator[History | None]:
    """Open the history; `None` if there is none.

    With `stores_first`, what was recorded and is not in the history yet is stored before.

    Raises:
        HistoryError: If it cannot be read.
    """
    directory = Path(history_directory())
    try:
        # A store that cannot be read stays as it is: looking at hooks repairs nothing.
        readable = History.open_to_read(directory)
        if readable is None and (directory / FILE).exists():
            raise HistoryError("the history is of another release; see: anyhook history")
        has_journal = (directory / DIRECTORY).exists()
        if not (stores_first and has_journal):
            with readable or nullcontext():
                yield readable
            return
        if readable is not None:
            readable.close()
        with History.open(directory) as history:
            ingest(history)
            yield history
    except sqlite3.Error as error:
        raise HistoryError(f"the history cannot be read: {error}") from error


def evidence_of(
    history: History,
    engine: Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    hook: CheckedHook | None,
) -> Evidence:
    """Return what was seen of a hook, which the rules of `anyhook check` know as `hook`."""
    identity = hook_identity(engine, definition, handler)
    trials = trials_of(
        history,
        engine.agent.name,
        definition.event,
        entry=identity.entry,
        file=os.path.realpath(identity.file) if identity.file else "",
    )
    only_starts = hook is not None and only_starts_file(hook, identity.file)
    difference = "its command line was not seen to run it"
    if hook is not None and only_starts:
        difference = how_start_differs(hook)
    passes_alone = ""
    current: list[Trial] = []
    old: list[Trial] = []
    version = installed_version(engine.agent.name, engine.environ) if trials else ""
    for trial in trials:
        has_same_entry = trial.entry in ("", identity.entry)
        has_same_release = not (trial.release and version) or trial.release.endswith(f" {version}")
        is_current = has_same_entry and has_same_release and trial.content == identity.content
        if is_current and trial.is_good and not trial.entry:
            passes_alone = difference or _why_not_asked(engine, handler, trial)
            if passes_alone:
                continue
        trials_here = current if is_current else old
        trials_here.append(trial)
    since = 0.0
    if only_starts and difference:
        # The file does not record how it was started: it may have been another entry.
        since = _time_of_entry(handler)
    runs = _runs_of(history, engine, definition, handler, by_itself=only_starts, since=since)
    reach = _reach_of(history, engine, definition, handler, identity)
    return Evidence(
        runs=runs,
        trials=tuple(current),
        old_trials=tuple(old),
        reach=reach,
        passes_alone=passes_alone,
    )


def _why_not_asked(engine: Engine, handler: HandlerSpec, trial: Trial) -> str:
    """Return why a trial of a file shows nothing about an entry; empty if it does.

    The agent must ask the entry about a call of the trial: about one that was decided, if any was.
    """
    for subject, tool_input, has_decided in json.loads(trial.calls):
        is_telling = has_decided or not trial.has_decided
        if is_telling and is_asked(engine, handler, AskedCall(trial.event, subject, tool_input)):
            return ""
    return "the calls that it answers there do not reach this entry"


def installed_version(agent: str, environ: Mapping[str, str]) -> str:
    """Return the version of the installed program of an agent; empty if it is not known.

    It is found without starting the program: if npm has installed it, in the `package.json` above
    it that names it as its program, and for a native one in its path (`versions/2.1.330`).
    """
    program = get_program(agent)
    names = program.executables if program is not None else ()
    paths = [find_program(name, environ) for name in names]
    path = next(filter(None, paths), None)
    if path is None:
        return ""
    executable = Path(path).resolve()
    for directory in executable.parents[:PACKAGE_LEVELS]:
        package = read_json_object(directory / "package.json", MAX_PACKAGE_FILE) or {}
        programs = package.get("bin")
        files = programs.values() if isinstance(programs, dict) else [programs]
        installed = [(directory / file).resolve() for file in files if isinstance(file, str)]
        version = package.get("version")
        if executable in installed and isinstance(version, str):
            return version
    for part in executable.parts:
        if VERSION.fullmatch(part):
            return part
    return ""


def _reach_of(
    history: History,
    engine: Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    identity: Identity,
) -> Reach:
    """Return how many events reached a hook since recording is on and its entry is as it is.

    Only hook files record themselves, so that a run of another hook may have gone unseen.
    """
    if handler.condition is not None or not identity.file or not scan(Path(identity.file)):
        return Reach()
    try:
        recording_since = switch_path().stat().st_mtime
        entry_since = _time_of_entry(handler)
    except OSError:  # recording is off
        return Reach()
    question = ReachQuestion(
        agent=engine.agent.name,
        event=definition.event,
        since=max(recording_since, entry_since),
        project=_project_of(engine, handler),
        file=identity.file,
        label=Path(identity.file).name,
    )
    return reach_of(
        history, question, lambda number: _is_for(engine, handler, get_event(history, number))
    )


def _time_of_entry(handler: HandlerSpec) -> float:
    """Return the time since which an entry is surely as it is."""
    return Path(handler.place.file).stat().st_mtime


def _project_of(engine: Engine, handler: HandlerSpec) -> str:
    """Return the project whose events a hook gets; empty if it gets those of all."""
    return str(engine.project_dir) if handler.layer is Layer.PROJECT else ""


def _is_for(engine: Engine, handler: HandlerSpec, recorded: RecordedEvent) -> bool:
    """Return whether a recorded event is for this entry of a hook."""
    event, _diagnostics = decode_event(engine.agent, recorded.payload)
    spec = engine.rules.by_canonical.get(event.name)
    return spec is not None and is_asked(engine, handler, asked_call(spec, event))


def _runs_of(
    history: History,
    engine: Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    *,
    by_itself: bool,
    since: float,
) -> Runs:
    digests = present_digests(engine, handler, by_itself=by_itself)
    runs = hook_runs(
        history,
        versions_with_digests(history, digests),
        agent=engine.agent.name,
        event=definition.event,
        project=_project_of(engine, handler),
    )
    counting = [run for run in runs if not run.shadow and run.time >= since]
    newest = counting[:MAX_READ_RUNS]
    events = get_events(history, [run.event_id for run in newest])
    # What ran under another matcher, of another entry or an earlier one, shows nothing about this.
    asked = {event.id for event in events if _is_for(engine, handler, event)}
    counted = [run for run in newest if run.event_id in asked]
    if not counted:
        return Runs()
    decided = [run for run in counted if run.verdict in HOLDING]
    last = [run.trouble for run in counted[:LAST_RUNS]]
    trouble: tuple[str, ...] = ()
    if FAILURES.issuperset(last):
        trouble = tuple(map(str, last))
    return Runs(
        count=len(counted),
        first=min(run.time for run in counted),
        last=max(run.time for run in counted),
        decided=len(decided),
        last_decided=max((run.time for run in decided), default=0.0),
        quiet=sum(not run.trouble for run in counted),
        trouble=trouble,
        lost_denial=_lost_denial(history, engine, handler, digests, counted[0]),
    )


def _lost_denial(
    history: History, engine: Engine, handler: HandlerSpec, digests: set[str], run: StoredRun
) -> int | None:
    """Return the exit code of a run that printed a denial and ended so that it does not count."""
    if run.trouble != "warned" or run.verdict != NO_VERDICT:
        return None
    event = get_event(history, run.event_id)
    for result in event.results:
        if result.digest not in digests or not result.exit_code:
            continue
        spec = engine.rules.by_canonical[event.event]
        # What the agent would have read if the command had ended with 0.
        end = ProcessExit(0, None, result.stdout, "")
        answer = decode_exit(engine.agent, engine.rules, spec, handler, end).answer
        if answer.outcome is Outcome.DENY or answer.stop:
            return result.exit_code
    return None
