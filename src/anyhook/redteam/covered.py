"""Which lines, branches and rules of a hook file decide anything."""

from __future__ import annotations

import ast
import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.inspect import CALLS
from anyhook.authoring.load import load_hooks
from anyhook.authoring.process_exit import Deadline
from anyhook.redteam.mutants import called_name
from anyhook.testing.examples import run_example

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.authoring.hooks import Example, Hooks
    from anyhook.sandbox.keeper import SandboxRun

EXAMPLES, CASES, HISTORY = "examples", "cases", "history"
SOURCES = (EXAMPLES, CASES, HISTORY)
LOADING = "loading"
LIMIT = 10.0
"""Seconds that an event of the history may take."""
ANSWERS = frozenset({*CALLS, "allow"})


class Rule(NamedTuple):
    """A statement that makes an answer."""

    line: int
    """1-based line."""
    text: str
    """Its first line."""
    function: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a hook file ran."""

    lines: dict[int, Counter[str]]
    """Line to the number of events of each source that reached it; each statement of a function has
    an entry."""
    branches: list[tuple[int, int]]
    """Pairs of lines: the second was never reached from the first; it is negative for the end of
    the function."""
    rules: list[Rule]
    events: Counter[str]
    failed: Counter[str]
    """Source to the number of events on which a function failed."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "events": {name: self.events[name] for name in SOURCES},
            "failed": {name: self.failed[name] for name in SOURCES},
            "lines": [{"line": n, **self._counts(n)} for n in sorted(self.lines)],
            "rules": [{**rule._asdict(), **self._counts(rule.line)} for rule in self.rules],
            "missing_branches": [list(pair) for pair in self.branches],
        }

    def _counts(self, line: int) -> dict[str, int]:
        return {name: self.lines.get(line, Counter())[name] for name in SOURCES}

    def decided(self, rule: Rule) -> Counter[str]:
        """Return on how many events of each source a rule made an answer."""
        return self.lines.get(rule.line, Counter())


def rules_of(source: str) -> list[Rule]:
    """Return the statements of a hook file that make answers.

    Raises:
        SyntaxError: If it is not Python.
    """
    lines = source.splitlines()
    rules: dict[int, Rule] = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in _simple_statements(function):
            if any(called_name(node) in ANSWERS for node in ast.walk(statement)):
                line = statement.lineno
                rules.setdefault(line, Rule(line, lines[line - 1].strip(), function.name))
    return [rules[line] for line in sorted(rules)]


def _simple_statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not hasattr(child, "body"):
            yield child
        else:
            yield from _simple_statements(child)


def cover(
    _run: SandboxRun,
    path: str,
    agents: Sequence[str],
    cases: Sequence[Example],
    history: Sequence[tuple[str, Mapping[str, Any]]],
) -> tuple[dict[str, Any], Counter[str], Counter[str]]:
    """Run a hook file with `coverage`, as a function of a sandbox.

    `agents` are for examples that name none. Returns the file in the JSON report of `coverage`; the
    numbers of events, and of those on which a function failed, by source.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    import coverage

    measuring = coverage.Coverage(data_file=None, config_file=False, branch=True, include=[path])
    # Other ways to measure do not know which event runs.
    measuring.set_option("run:core", "ctrace")
    events: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    measuring.start()
    measuring.switch_context(LOADING)
    hooks = load_hooks(path)
    for source, examples in ((EXAMPLES, hooks.examples), (CASES, cases)):
        for number, example in enumerate(examples):
            measuring.switch_context(f"{source}:{number}")
            events[source] += 1
            results = [run_example(hooks, example, name) for name in example.agents or agents]
            failed[source] += any(result.traceback for result in results)
    for number, (agent, payload) in enumerate(history):
        measuring.switch_context(f"{HISTORY}:{number}")
        events[HISTORY] += 1
        failed[HISTORY] += not _answers(hooks, agent, payload)
    measuring.stop()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "coverage.json"
        measuring.json_report(outfile=str(file), show_contexts=True)
        report = json.loads(file.read_text(encoding="utf-8"))
    (content,) = report["files"].values()
    return content, events, failed


def _answers(hooks: Hooks, agent_name: str, payload: Mapping[str, Any]) -> bool:
    """Run the functions that cover an event, and return whether none failed."""
    agent = get_agent(agent_name).form_of(payload)
    event, _ = decode_event(agent, payload)
    try:
        with Deadline(hooks.timeout or LIMIT, _raise_timeout):
            hooks.answer(event, agent)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a failure of the hook is counted
        return False
    return True


def _raise_timeout() -> None:
    raise TimeoutError


def read_report(
    source: str, content: Mapping[str, Any], events: Counter[str], failed: Counter[str]
) -> Coverage:
    """Return what `cover` measured."""
    # Other lines run when the file is loaded.
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    lines: dict[int, Counter[str]] = {}
    for line in (*content["executed_lines"], *content["missing_lines"]):
        if line in inside:
            contexts = content["contexts"].get(str(line), ())
            sources = (context.partition(":")[0] for context in contexts)
            lines[line] = Counter(name for name in sources if name in SOURCES)
    branches = [(start, end) for start, end in content["missing_branches"] if start in inside]
    return Coverage(lines, branches, rules_of(source), events, failed)
