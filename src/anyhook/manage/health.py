"""Does my hook work? One word for every configured hook, and on what evidence.

Every view asks here: `list`, `check`, `hooks`, the panel, the page, reports and integrations.
"""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents.program import get_program
from anyhook.checks.hook import HookReader
from anyhook.checks.rules import check_settings
from anyhook.engine.absent import UNREADABLE, shadow_remedy
from anyhook.engine.dead_matchers import check_never_matches
from anyhook.engine.engine import Engine
from anyhook.engine.hook_files import shadow_place
from anyhook.errors import HistoryError
from anyhook.history.trials import PROBE, TEST, Trial
from anyhook.manage.evidence import (
    MAX_READ_RUNS,
    Evidence,
    evidence_of,
    history_if_any,
    is_guard,
)
from anyhook.manage.hooks import UNTRUSTED, HookRow, hook_rows, split_recorder
from anyhook.manage.paths import show_path
from anyhook.model.diagnostics import Diagnostic, Place, Severity
from anyhook.model.record import Record
from anyhook.settings.companions import companion_path
from anyhook.settings.detect import trust_command
from anyhook.trust.native import RUNNING, native_states

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.checks.hook import CheckedHook
    from anyhook.checks.rules import Finding
    from anyhook.engine.sync import SyncEngine
    from anyhook.history.store import History

BREAKING = frozenset(
    "condition-not-here type-not-here unsupported-type never-runs hook-dropped not-executable "
    "missing-program missing-script missing-module missing-shell command-syntax "
    "script-syntax background-guard answer-lost denial-lost companion-missing companion-changed "
    "switch-missing".split()
)
"""Codes of diagnostics with which a hook cannot do its work."""
ERRORS = frozenset({"no-shebang", "wrong-agent"})
"""Codes of diagnostics with which a hook cannot do its work if they are errors."""
IGNORED_FILE = frozenset({"not-plain-json", "settings-dropped", "settings-kept"})
"""Codes of diagnostics with which an agent runs no hook of a settings file, or of an event."""
NO_HOOKS = frozenset({"switch-missing"})
"""Codes of diagnostics with which an agent runs no hook of any settings file."""


MIN_MISSED = 3
"""Events that a hook must have missed: the latest one may not be recorded by all hooks yet."""


class HealthWord(StrEnum):
    """Whether a hook does its work."""

    WORKS = "works"
    """With this content and this entry, a guard was seen to decide, and any other hook to run."""
    BROKEN = "broken"
    """It cannot do its work: a fact."""
    UNKNOWN = "unknown"
    """Neither was seen."""


class HookHealth(Record, kw_only=False):
    """Whether a configured hook does its work.

    Attributes:
        row: The hook.
        word: `works`, `broken` or `unknown`.
        evidence: Why, for people.
        place: Where that is: file and line; of the hook in its settings by default.
        settle: What would settle it, mostly a command line; empty unless it is unknown.
        old: What was seen of another content or entry, which does not count.
    """

    row: HookRow
    word: HealthWord
    evidence: str
    place: Place
    settle: str = ""
    old: tuple[str, ...] = ()


class Health(Record, kw_only=False):
    """Whether the configured hooks of an agent do their work.

    Attributes:
        agent: Name of the agent.
        hooks: Every configured hook but the recorder, in the order of `anyhook list`.
        unreadable: Files whose hooks cannot be read, which count as broken.
        changed: Files of the guards that changed while no hook saw it.
    """

    agent: str
    hooks: tuple[HookHealth, ...]
    unreadable: tuple[Diagnostic, ...] = ()
    changed: tuple[Diagnostic, ...] = ()

    @cached_property
    def _by_entry(self) -> dict[tuple[Place, tuple[str | int, ...], str], HookHealth]:
        """The entry of a hook in its settings to its health."""
        return {_entry_of(hook.row): hook for hook in self.hooks}

    @property
    def is_broken(self) -> bool:
        """Whether a hook is broken, or a file of hooks cannot be read."""
        return bool(self.unreadable) or bool(self.counts[HealthWord.BROKEN])

    @property
    def counts(self) -> Counter[HealthWord]:
        """Word to the number of hooks."""
        return Counter(hook.word for hook in self.hooks)

    def of(self, row: HookRow) -> HookHealth | None:
        """Return the health of a hook; `None` of the recorder."""
        return self._by_entry.get(_entry_of(row))


def _entry_of(row: HookRow) -> tuple[Place, tuple[str | int, ...], str]:
    """Return what distinguishes an entry from others, also of the same command on one line."""
    return row.handler.place, row.handler.path, row.event


def health(engine: Engine | SyncEngine, *, stores_first: bool = True) -> Health:
    """Return whether the configured hooks of an engine do their work, and on what evidence.

    No hook is run.

    ```python
    for hook in anyhook.health(Engine.load(".")).hooks:
        print(hook.row.label, hook.word, hook.evidence)
    ```

    Args:
        engine: The hooks of one agent.
        stores_first: Store first what was recorded and is not in the history yet; it can take
            seconds after many events.
    """
    hooks = engine if isinstance(engine, Engine) else engine.engine
    return _health_of(hooks, check_settings(hooks), stores_first=stores_first)


def healths_of(engines: Iterable[Engine], findings: Iterable[Finding]) -> list[Health]:
    """Return the same as `health` for each engine; the findings are what a check reports of all."""
    by_agent: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        by_agent.setdefault(finding.agent, []).append(finding.diagnostic)
    return [_health_of(engine, by_agent.get(engine.agent.name, ())) for engine in engines]


def _health_of(
    engine: Engine, diagnostics: Iterable[Diagnostic], *, stores_first: bool = True
) -> Health:
    reports = [*dict.fromkeys(diagnostics)]
    rows, _recorder = split_recorder(hook_rows(engine))
    judge = _Judge(engine, reports)
    try:
        with history_if_any(stores_first=stores_first) as history:
            hooks = tuple([judge.health_of(row, history) for row in rows])
    except HistoryError as error:
        judge.problem = str(error)
        hooks = tuple([judge.health_of(row, None) for row in rows])
    errors = [report for report in reports if report.severity is Severity.ERROR]
    unreadable = [error for error in errors if error.code in UNREADABLE]
    changed = [report for report in reports if report.code == "guard-changed"]
    return Health(engine.agent.name, hooks, tuple(unreadable), tuple(changed))


class _Facts:
    """Facts because of which hooks cannot do their work, by what they are about; the first counts.

    Attributes:
        at_place: Those at a line of the settings.
        in_script: Those about a script or a hook file.
        of_file: Those about a whole file of settings.
        of_event: Those about all hooks of an event, by its name.
        of_all: The one about every hook of the agent; `None` if there is none.
    """

    def __init__(self, diagnostics: list[Diagnostic], settings: set[str]) -> None:
        self.at_place: dict[Place, Diagnostic] = {}
        self.in_script: dict[str, Diagnostic] = {}
        self.of_file: dict[str, Diagnostic] = {}
        self.of_event: dict[str, Diagnostic] = {}
        self.of_all: Diagnostic | None = None
        for fact in diagnostics:
            if fact.code in NO_HOOKS:
                self.of_all = self.of_all or fact
                continue
            if fact.code in IGNORED_FILE and fact.subject is not None:
                self.of_event.setdefault(fact.subject, fact)
                continue
            if fact.code in IGNORED_FILE and fact.place is not None:
                self.of_file.setdefault(fact.place.file, fact)
                continue
            # As a warning, `no-shebang` stands for a script that the system starts nevertheless.
            # So does `wrong-agent` for a hook that reads the event nevertheless.
            cannot_start = fact.code in ERRORS and fact.severity is Severity.ERROR
            # Without a hook, it is about a matcher of which another part may match something.
            is_unreached = fact.code == "dead-matcher" and fact.handler is not None
            if not cannot_start and not is_unreached and fact.code not in BREAKING:
                continue
            if fact.place is None:
                continue
            self.at_place.setdefault(fact.place, fact)
            if fact.handler is None and fact.place.line is None:
                self.of_file.setdefault(fact.place.file, fact)
            # A command may also name a settings file, whose facts are about other hooks.
            if fact.place.file not in settings:
                self.in_script.setdefault(fact.place.file, fact)


class _Judge:
    """Finds the word for each hook of an engine.

    Attributes:
        problem: Why the history cannot be read; empty if it can.
    """

    def __init__(self, engine: Engine, diagnostics: list[Diagnostic]) -> None:
        self.problem = ""
        self._engine = engine
        settings = {str(loaded.source.path) for loaded in engine.hooks.files}
        self._facts = _Facts(diagnostics, settings)
        reader = HookReader(engine)
        self._hooks: dict[int, CheckedHook] = {}
        for definition in engine.definitions:
            for hook in reader.hooks_of(definition):
                self._hooks[id(hook.handler)] = hook

    @cached_property
    def _trust_command(self) -> str:
        """The command that trusts the hooks; to name the project, all settings are looked for."""
        return trust_command(self._engine.agent.name, self._engine.project_dir)

    def health_of(self, row: HookRow, history: History | None) -> HookHealth:
        """Return the health of a hook."""
        agent, place = self._engine.agent, row.handler.place
        enable = f"anyhook enable {shlex.quote(row.label)}"
        # The user knows of these, which are there and do not decide.
        if row.state == "off":
            text = f"it is switched off by {show_path(str(row.switched_off_by))}"
            return HookHealth(row, HealthWord.UNKNOWN, text, place, enable)
        if row.state == "shadow":
            text = "it is a shadow: it runs and does not decide"
            shadow = shadow_place(self._engine, row.handler) or place
            settle = shadow_remedy(row.handler, shadow)
            return HookHealth(row, HealthWord.UNKNOWN, text, shadow, settle)
        fact = self._fact_about(row)
        if fact is not None:
            text = fact.message.removeprefix(f"{row.handler.label!r}: ")
            return HookHealth(row, HealthWord.BROKEN, text, fact.place or place)
        if row.state in UNTRUSTED:
            # What anyhook does not run decides nothing here, whatever was seen before.
            text = f"anyhook does not run it: it is {row.state}"
            return HookHealth(row, HealthWord.UNKNOWN, text, place, self._trust_command)
        if row.native is not None and row.native not in RUNNING:
            native = native_states(agent, self._engine.hooks)
            review = native.review if native is not None else ""
            text = f"{agent.title} does not run it: it is {row.native} there"
            return HookHealth(row, HealthWord.UNKNOWN, text, place, review)
        if history is None:
            reason = self.problem or "nothing was recorded or tried yet"
            return self._unknown(row, reason)
        hook = self._hooks.get(id(row.handler))
        evidence = evidence_of(history, self._engine, row.definition, row.handler, hook)
        return self._weigh(row, evidence)

    def _fact_about(self, row: HookRow) -> Diagnostic | None:
        """Return the first fact because of which a hook cannot do its work."""
        form = self._engine.agent.form(row.definition.form)
        spec = form.by_canonical[row.definition.event]
        # A matcher with a part that hits something is not a fact.
        never = check_never_matches(form, spec, row.definition, self._engine.guard.may_match)
        if never is not None:
            return never
        handler = row.handler
        label, file = handler.label, handler.place.file
        for place in (handler.place, row.definition.place):
            fact = self._facts.at_place.get(place)
            if fact is not None and fact.handler in (None, label):
                return fact
        hook = self._hooks.get(id(handler))
        scripts = hook.files() if hook is not None else []
        for script in scripts:
            fact = self._facts.in_script.get(str(script))
            if fact is not None:
                return fact
        if row.definition.event in self._facts.of_event:
            return self._facts.of_event[row.definition.event]
        # The agent runs no hook of the settings without these files, which are not settings.
        companions = self._engine.agent.settings.companions
        files = [file, *(str(companion_path(it, Path(file))) for it in companions)]
        facts = [self._facts.of_file[path] for path in files if path in self._facts.of_file]
        return facts[0] if facts else self._facts.of_all

    # -- what was seen

    def _weigh(self, row: HookRow, evidence: Evidence) -> HookHealth:
        """Return what the runs and trials of a hook show, the strongest first."""
        place = row.handler.place
        old: tuple[str, ...] = ()
        if evidence.old_trials:
            trial = evidence.old_trials[0]
            old = (f"before it or its agent changed: {_trial_text(trial)}: {trial.detail}",)
        broken = _broken_by(evidence)
        if broken:
            return HookHealth(row, HealthWord.BROKEN, broken, place, old=old)
        hook = self._hooks.get(id(row.handler))
        is_guard_here = hook is None or is_guard(hook)
        works = _works_by(evidence, is_guard_here=is_guard_here)
        if works:
            return HookHealth(row, HealthWord.WORKS, works, place, old=old)
        runs = evidence.runs
        if runs.count:
            text = f"it ran {_times(runs.count)} since {_day(runs.first)} and decided nothing"
        else:
            text = "it was not seen to run with its present content"
        if evidence.passes_alone:
            text = f"its file passes its own examples, but {evidence.passes_alone}"
        return self._unknown(row, text, old, can_test_file=not evidence.passes_alone)

    def _unknown(
        self, row: HookRow, evidence: str, old: tuple[str, ...] = (), *, can_test_file: bool = True
    ) -> HookHealth:
        """Return that nothing shows whether a hook works, with the command line that settles it."""
        handler = row.handler
        if handler.kind != "command":
            text = f"{evidence}; a probe does not run hooks of type {handler.kind}"
            return HookHealth(row, HealthWord.UNKNOWN, text, handler.place, old=old)
        agent, event = self._engine.agent, row.definition.event
        program = get_program(agent.name)
        spec = agent.form(row.definition.form).by_canonical[event]
        if program is None:
            settle = "anyhook test --init"
        elif spec.subject == "tool_name" or event in program.events | program.subagent_events:
            settle = f"anyhook probe --agent {agent.name}"
        else:
            settle = f"anyhook history record on --agent {agent.name} --tap"
        hook = self._hooks.get(id(row.handler))
        files = hook.files() if hook is not None and can_test_file else ()
        for path in files:
            if _has_examples(path):
                is_inside = Path.cwd().is_relative_to(self._engine.project_dir)
                name = os.path.relpath(path) if is_inside else str(path)
                settle = f"anyhook test {shlex.quote(name)}"
                break
        return HookHealth(row, HealthWord.UNKNOWN, evidence, handler.place, settle, old)


def _broken_by(evidence: Evidence) -> str:
    """Return what shows that a hook is broken; empty if nothing does."""
    runs = evidence.runs
    if runs.lost_denial is not None:
        return (
            f"on {_day(runs.last)} it printed a denial and ended with {runs.lost_denial}, so that "
            "the denial did not count; end with 0, or with 2"
        )
    if runs.trouble:
        times = "its last run" if len(runs.trouble) == 1 else f"its last {len(runs.trouble)} runs"
        words = {"timed_out": "ran into the timeout", "failed": "failed or was killed"}
        what = " and ".join(dict.fromkeys(words.get(word, word) for word in runs.trouble))
        return f"it {what} in {times}, until {_day(runs.last)}"
    reach = evidence.reach
    if reach.matched >= MIN_MISSED and not reach.reached:
        since = _day(reach.first)
        return f"{reach.matched:,} events since {since} matched it, and none reached it"
    for trial in evidence.trials:
        if not trial.is_good and trial.time >= runs.last_decided:
            return f"{_trial_text(trial)}: {trial.detail}"
    return ""


def _works_by(evidence: Evidence, *, is_guard_here: bool) -> str:
    """Return what shows that a hook works, the strongest evidence; empty if nothing does."""
    good = [trial for trial in evidence.trials if trial.is_good]
    if is_guard_here:
        good = [trial for trial in good if trial.has_decided]
    runs = evidence.runs
    by_kind: Mapping[str, Trial] = {trial.kind: trial for trial in reversed(good)}
    if PROBE in by_kind:
        return f"{_trial_text(by_kind[PROBE])}: {by_kind[PROBE].detail}"
    if is_guard_here and runs.decided:
        latest = f" in its latest {runs.count} runs" if runs.count >= MAX_READ_RUNS else ""
        return f"it decided {_times(runs.decided)}{latest}, at last on {_day(runs.last_decided)}"
    if not is_guard_here and runs.quiet:
        return f"it ran {_times(runs.quiet)}, at last on {_day(runs.last)}"
    if TEST in by_kind:
        return f"{_trial_text(by_kind[TEST])}: {by_kind[TEST].detail}"
    return ""


def _trial_text(trial: Trial) -> str:
    where = f" in {trial.release}" if trial.release else ""
    return f"{trial.kind}{where} on {_day(trial.time)}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _day(timestamp: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(timestamp))


def _has_examples(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return ".example(" in text
