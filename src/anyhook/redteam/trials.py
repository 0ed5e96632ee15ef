"""Try hook files with small changes: do their examples and cases notice?"""

from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyhook import __version__
from anyhook.agents import AGENTS
from anyhook.authoring.hooks import Example
from anyhook.authoring.load import load_hooks
from anyhook.errors import AnyhookError, RunEndedError, UsageError
from anyhook.redteam.compared_calls import calls_to_compare
from anyhook.sandbox.sandbox import Sandbox
from anyhook.testing.examples import ExampleStatus, describe_answer, run_example
from anyhook.testing.running import run_on_example

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.authoring.hooks import Hooks
    from anyhook.redteam.mutants import Mutant
    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.testing.cases import Case

LIMIT = 60.0
"""Seconds for all tests of one changed file, and for all calls on which it is compared."""
TESTING, COMPARING = range(2)
"""The steps of a process that tries a changed file."""
PASSED = (ExampleStatus.OK, ExampleStatus.DEGRADED)
CRASHED = "crashed"
"""The answer to a call at which the hook file crashes; it is not compared."""
MIN_REPEATED = 20
"""Characters from which on a text of one character is written as a product."""


class MutantStatus(StrEnum):
    """What came of a changed file."""

    KILLED = "killed"
    """A test noticed the change."""
    SURVIVED = "survived"
    NOT_TRIED = "not tried"


class PassedTest(NamedTuple):
    """An example or a case for one agent that the hook file passes."""

    example: Example
    agent: str


class Noticed(NamedTuple):
    """What came of one changed file."""

    by: str = ""
    """The place of the test that failed, or why the file could not be tried; empty if every test
    passed."""
    proposal: str = ""
    """Of a change that no test noticed: the line of an example that notices it, which was tried;
    empty if no such call was found."""


class TriedMutant(NamedTuple):
    """A changed file, and what came of it; `None` if it was not tried."""

    mutant: Mutant
    noticed: Noticed | None

    @property
    def status(self) -> MutantStatus:
        """Whether a test noticed the change."""
        if self.noticed is None:
            return MutantStatus.NOT_TRIED
        return MutantStatus.KILLED if self.noticed.by else MutantStatus.SURVIVED


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """What changed files are tried with."""

    path: str
    tests: tuple[PassedTest, ...]
    """The tests that the file passes, in their order."""
    failed: tuple[tuple[str, str], ...]
    """The tests that it does not pass: place and agent."""
    calls: tuple[Example, ...]
    """Calls on which files are compared if no test fails, as examples."""
    answers: tuple[str, ...]
    """What the file itself answers to them."""
    digest: str
    """Hash of all that the results depend on, except the changed text."""


def plan_trials(
    sandbox: Sandbox, path: Path, agents: Sequence[str], cases: Sequence[Case], digest: str
) -> TrialPlan:
    """Return what changed files are tried with.

    `agents` are for tests that name none, and only cases that the file itself answers as expected
    are used. The digest is that of the file and of the modules that it may load.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    inside = sandbox.inside(str(path))
    more = tuple(filter(None, map(example_of, cases)))
    examples, results = sandbox.run(run_tests, inside, list(agents), more)
    tests: list[PassedTest] = []
    failed: list[tuple[str, str]] = []
    for number, agent, status in results:
        example = examples[number]
        if status in PASSED:
            tests.append(PassedTest(example, agent))
        elif status is ExampleStatus.FAILED and number < len(examples) - len(more):
            failed.append((example.place, agent))
    calls = tuple(calls_to_compare(path.read_text(encoding="utf-8"), examples))
    answers = sandbox.run(answer_calls, inside, tests, calls)
    parts = (__version__, digest, list(agents), [repr(example) for example in more])
    content = hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
    return TrialPlan(str(path), tuple(tests), tuple(failed), calls, tuple(answers), content)


def example_of(case: Case) -> Example | None:
    """Return a case as an example of a hook file; `None` for a payload of one agent."""
    if case.payload is not None:
        return None
    fields = dict(case.fields)
    if case.tool:
        fields |= {"tool_name": case.tool, "tool_input": dict(case.input)}
    else:
        fields |= case.input
    return Example(
        event=case.event,
        fields=fields,
        expect=case.expect,
        says=case.says,
        agents=case.agents,
        place=case.place,
    )


def try_mutants(
    plan: TrialPlan,
    mutants: Sequence[Mutant],
    known: dict[str, Noticed],
    *,
    sandbox: Sandbox,
    jobs: int,
    on_result: Callable[[str, Noticed], object],
) -> None:
    """Try the changed files that are not known yet, in sandboxes side by side.

    New results are added to `known`, by `result_key`, and `on_result` is called with each, by one
    thread at a time. Further sandboxes are made like the first one, up to `jobs` in all.

    Raises:
        SandboxError: If no sandbox can be made.
    """
    lock = threading.Lock()
    missing = [mutant for mutant in mutants if result_key(plan, mutant) not in known]
    work = iter(missing)
    tables = {AGENTS[test.agent].spec.partition(":")[0] for test in plan.tests}
    with ExitStack() as stack:
        sandboxes, project = [sandbox], Path(sandbox.places.project)
        for _ in range(1, min(jobs, len(missing))):
            further = Sandbox.for_project(project, discards_output=True)
            sandboxes.append(stack.enter_context(further))
        for each in sandboxes:
            each.preload(tables)

        def serve(sandbox: Sandbox) -> None:
            while True:
                with lock:
                    mutant = next(work, None)
                if mutant is None:
                    return
                noticed = _try(sandbox, plan, mutant)
                with lock:
                    known[result_key(plan, mutant)] = noticed
                    on_result(result_key(plan, mutant), noticed)

        with ThreadPoolExecutor(len(sandboxes)) as threads:
            try:
                list(threads.map(serve, sandboxes))
            except KeyboardInterrupt:
                with lock:
                    work = iter(())
                raise


def result_key(plan: TrialPlan, mutant: Mutant) -> str:
    """Return what identifies the result of a changed file."""
    text = f"{plan.digest}\0{mutant.source}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _try(sandbox: Sandbox, plan: TrialPlan, mutant: Mutant) -> Noticed:
    inside = sandbox.inside(plan.path)
    try:
        noticed = sandbox.run(try_mutant, inside, mutant.source, plan)
        return Noticed(*sandbox.outside(list(noticed)))
    except RunEndedError as error:
        if error.step == COMPARING:  # every test has passed
            return Noticed()
        reason = "it ran out of time" if error.is_late else "its process ended"
        return Noticed(reason)
    except UsageError as error:
        return Noticed(str(error).partition("\n")[0])


# -- in the sandbox


def run_tests(
    _run: SandboxRun, path: str, agents: Sequence[str], more: Sequence[Example]
) -> tuple[list[Example], list[tuple[int, str, ExampleStatus]]]:
    """Run examples and cases against a hook file, as a function of a sandbox.

    Returns all examples, those of the file first; and number, agent and status of each result.
    """
    hooks = load_hooks(path)
    examples = [*hooks.examples, *more]
    results: list[tuple[int, str, ExampleStatus]] = []
    # The first agent notices most; the others take as long again.
    for agent in dict.fromkeys(chain(agents, *(example.agents for example in examples))):
        for number, example in enumerate(examples):
            if agent in (example.agents or agents):
                results.append((number, agent, run_example(hooks, example, agent).status))
    return examples, results


def answer_calls(
    _run: SandboxRun, path: str, tests: Sequence[PassedTest], calls: Sequence[Example]
) -> list[str]:
    """Return what a hook file answers to calls after its tests, as a function of a sandbox.

    Changed files get the same events in the same order: a hook may remember earlier ones.
    """
    hooks = load_hooks(path)
    for example, agent in tests:
        run_example(hooks, example, agent)
    return [_answer(hooks, call, tests[0].agent) for call in calls if tests]


def try_mutant(run: SandboxRun, path: str, source: str, plan: TrialPlan) -> Noticed:
    """Try a changed file in the place of the hook file, as a function of a sandbox.

    Raises:
        UsageError: If it cannot be imported.
    """
    run.begin(TESTING, LIMIT)
    Path(path).write_text(source, encoding="utf-8")
    hooks = load_hooks(path)
    for example, agent in plan.tests:
        if run_example(hooks, example, agent).status is ExampleStatus.FAILED:
            return Noticed(f"{example.place} ({agent})")
    run.begin(COMPARING, LIMIT)
    agent = plan.tests[0].agent
    for call, answer in zip(plan.calls, plan.answers, strict=True):
        if answer != CRASHED and _answer(hooks, call, agent) != answer:
            return Noticed(proposal=_example_line(call, answer))
    return Noticed()


def _answer(hooks: Hooks, call: Example, agent: str) -> str:
    """Return what hooks answer to a call, as an example expects it."""
    try:
        run = run_on_example(hooks, call, agent)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a failure of the hook is an answer
        return CRASHED
    return describe_answer(run.answer).partition(",")[0]


def _example_line(call: Example, expect: str) -> str:
    """Return a call as the line of a hook file."""
    fields = dict(call.fields)
    parts = [] if call.event == "before_tool" else [_literal(call.event)]
    if "tool_name" in fields:
        parts.append(f"tool={_literal(fields.pop('tool_name'))}")
        parts.append(f"input={_literal(fields.pop('tool_input'))}")
    parts += [f"{name}={_literal(value)}" for name, value in fields.items()]
    return f"hooks.example({', '.join(parts)}, expect={_literal(expect)})"


def _literal(value: object) -> str:
    if isinstance(value, dict):
        items = [f"{_literal(name)}: {_literal(item)}" for name, item in value.items()]
        return f"{{{', '.join(items)}}}"
    if not isinstance(value, str):
        return repr(value)
    if len(value) >= MIN_REPEATED and len(set(value)) == 1:
        return f"{_literal(value[0])} * {len(value)}"
    is_plain = value.isprintable() and not set(value) & set('\\"')
    return f'"{value}"' if is_plain else repr(value)


# -- results that are kept


class Kept:
    """The results of a hook file in a file of JSON lines, so that a run can be continued.

    Results of another plan are dropped.
    """

    def __init__(self, directory: Path, plan: TrialPlan) -> None:
        name = hashlib.blake2b(plan.path.encode(), digest_size=8).hexdigest()
        self.path = directory / f"{name}.jsonl"
        self._digest = plan.digest
        self._is_of_plan = False
        self.results: dict[str, Noticed] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
            if lines and json.loads(lines[0]) == plan.digest:
                self._is_of_plan = True
                for line in lines[1:]:
                    key, by, proposal = json.loads(line)
                    self.results[key] = Noticed(by, proposal)
        except (OSError, ValueError):
            self._is_of_plan = False
            self.results = {}

    def add(self, key: str, noticed: Noticed) -> None:
        """Add a result.

        Raises:
            AnyhookError: If the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a" if self._is_of_plan else "w", encoding="utf-8") as file:
                if not self._is_of_plan:
                    file.write(json.dumps(self._digest) + "\n")
                    self._is_of_plan = True
                file.write(json.dumps([key, *noticed]) + "\n")
        except OSError as error:
            raise AnyhookError(f"{self.path} cannot be written: {error.strerror}") from error
