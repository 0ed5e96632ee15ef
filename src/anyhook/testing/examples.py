"""The examples in a hook file, tried for every agent, and what a guard promises beyond them."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from traceback import TracebackException
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.capabilities import ABILITIES, Support, abilities_of, support
from anyhook.authoring.hooks import Example
from anyhook.authoring.inspect import STOP_FLAG, never_runs
from anyhook.authoring.load import load_hooks
from anyhook.history.verdicts import HOLDING
from anyhook.model.answers import Outcome
from anyhook.model.events import event_class
from anyhook.model.record import Record
from anyhook.testing.events import missing_in
from anyhook.testing.running import run_in_time
from anyhook.trust.loaded_code import LoadedCode, noting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyhook.authoring.hooks import Hooks
    from anyhook.model.answers import Answer
    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.testing.running import HookRun


class ExampleStatus(StrEnum):
    """What came of an example for one agent."""

    OK = "ok"
    DEGRADED = "degraded"
    """The agent cannot do what the hook asks for, and something else was done."""
    FAILED = "failed"
    ABSENT = "absent"
    """The agent has no such event or tool."""


class ExampleResult(Record, kw_only=False):
    """The result of one example for one agent.

    Attributes:
        example: The example.
        agent: Name of the agent.
        status: What came of it.
        got: What was answered; what the agent lacks if the example is absent.
        notes: What was done instead, or what went wrong.
        run: The run; `None` if there was none, or it crashed.
        traceback: The error of a crash and the lines of the hook file that led to it.
    """

    example: Example
    agent: str
    status: ExampleStatus
    got: str
    notes: tuple[str, ...] = ()
    run: HookRun | None = None
    traceback: str = ""


class TriedFile(Record, kw_only=False):
    """What came of the examples of a hook file."""

    examples: list[Example]
    results: list[ExampleResult]
    """Of each example for each agent."""
    warnings: list[str]
    """Events that hooks deny so that the agent never ends, and a file that decides nothing."""
    problems: list[str]
    """Advice that is denied, and wrong types with which a guard lets a call pass."""
    code: list[str]
    """Files that were loaded as code, as they are named in the sandbox."""
    data: list[str]
    """Other files that were read."""
    is_shadow: bool = False
    """Whether its answers are kept from the agent."""


def try_file(_run: SandboxRun, path: str, agents: Sequence[str]) -> TriedFile:
    """Load a hook file and run its examples, as a function of a sandbox.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
        UnknownNameError: If there is no such agent.
    """
    code = LoadedCode()
    with noting(code):
        hooks = load_hooks(path)
        results = run_examples(hooks, agents)
    warnings = endless_denials(hooks, agents)
    problem = never_runs(Path(path).read_bytes())
    if problem:
        warnings.append(f"{Path(path).name}: {problem}")
    denials: list[PromisedDenial] = []
    for result in results:
        is_shell = result.example.fields.get("tool_name") == "shell"
        if is_shell and result.run and result.run.answer.outcome is Outcome.DENY:
            denial = PromisedDenial(result.example.place, result.agent, result.run.reason)
            denials.append(denial)
    problems = [*refused_advice(hooks, denials), *open_crashes(hooks, agents)]
    files = code.files()
    return TriedFile(
        hooks.examples,
        results,
        warnings,
        problems,
        sorted(files.code),
        sorted(files.data),
        hooks.shadow,
    )


def run_examples(hooks: Hooks, agents: Sequence[str] = CODING_AGENTS) -> list[ExampleResult]:
    """Run every example for every agent that it is for.

    Args:
        hooks: The hooks of a hook file.
        agents: Names of the agents for examples that name none.

    Raises:
        UnknownNameError: If there is no such agent.
    """
    results: list[ExampleResult] = []
    for example in hooks.examples:
        names = example.agents or agents
        results += [run_example(hooks, example, name) for name in names]
    return results


def run_example(hooks: Hooks, example: Example, agent: str) -> ExampleResult:
    """Run one example for one agent. A crash or a timeout of the hook is a failed result."""
    missing = missing_in(get_agent(agent), example.event, example.fields.get("tool_name"))
    if missing is not None:
        return ExampleResult(example, agent, ExampleStatus.ABSENT, missing)
    try:
        run = run_in_time(hooks, example, agent)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - any failure of the hook is a result
        note = f"{type(error).__name__}: {error}"
        formatted = TracebackException.from_exception(error)
        hook_files = {function.file for function in hooks.functions}
        for number, frame in enumerate(formatted.stack):
            if frame.filename in hook_files:
                del formatted.stack[:number]
                break
        traceback = "".join(formatted.format())
        return ExampleResult(
            example, agent, ExampleStatus.FAILED, "crash", (note,), traceback=traceback
        )
    answer = run.answer
    got = describe_answer(answer)
    tool_input = str(answer.tool_input) if answer.tool_input else None
    texts = (answer.reason, answer.stop_reason, answer.context, answer.system_message, tool_input)
    if example.says and example.says not in " ".join(text for text in texts if text):
        notes = (f"it does not say {example.says!r}", *run.notes)
        return ExampleResult(example, agent, ExampleStatus.FAILED, got, notes, run)
    # What the agent cannot do on the event is not held against the example. What the hook's own
    # answer prevents, as a denial does with context, is.
    is_possible = not run.notes
    if run.notes and example.expect in ABILITIES:
        level = support(get_agent(agent), example.event, example.expect)
        is_possible = level in (Support.YES, Support.UNDOCUMENTED)
    if is_possible and not is_expected(example.expect, answer):
        notes = (f"expected {example.expect}", *run.notes)
        return ExampleResult(example, agent, ExampleStatus.FAILED, got, notes, run)
    status = ExampleStatus.DEGRADED if run.notes else ExampleStatus.OK
    return ExampleResult(example, agent, status, got, run.notes, run)


# -- hooks that never let the agent end


def endless_denials(hooks: Hooks, agents: Sequence[str]) -> list[str]:
    """Return a warning for each event that hooks deny although the agent continued already.

    An agent that a hook keeps from ending sets the flag `stop_hook_active`. Each event with the
    flag is run with it: the examples that expect a denial, or one with neutral fields.
    """
    warnings: list[str] = []
    for event in dict.fromkeys(function.event for function in hooks.functions):
        if STOP_FLAG not in event_class(event).record_names:
            continue
        of_event = [example for example in hooks.examples if example.event == event]
        denied = [example for example in of_event if example.expect == "deny"]
        examples = denied or [Example(event=event, fields={}, expect="none")]
        if any(_denies_again(hooks, example, agents) for example in examples):
            functions = [function for function in hooks.functions if function.event == event]
            place = f"{Path(functions[0].file).name}:{functions[0].line}"
            names = ", ".join(function.name for function in functions)
            warnings.append(
                f"{place}: {names} denies {event} also when {STOP_FLAG} is true, so the agent "
                f"never ends; return None if event.{STOP_FLAG}"
            )
    return warnings


def _denies_again(hooks: Hooks, example: Example, agents: Sequence[str]) -> bool:
    """Return whether the event is denied with the flag, in the first agent that has it."""
    for agent in agents:
        if example.event in get_agent(agent).by_canonical:
            fields = {**example.fields, STOP_FLAG: True}
            again = example.replace(fields=fields, expect="deny", says="")
            return run_example(hooks, again, agent).status is ExampleStatus.OK
    return False


# -- expectations


def is_expected(expect: str, answer: Answer) -> bool:
    """Return whether an answer is what an example expects, a word of `EXPECTATIONS`."""
    abilities = abilities_of(answer)
    if expect == "none":
        return not abilities and answer.outcome is Outcome.NONE
    if expect == "allow":  # agents that allow by default have no reply for it
        return not abilities and answer.outcome in (Outcome.ALLOW, Outcome.NONE)
    return expect in abilities


def describe_answer(answer: Answer) -> str:
    """Return what an answer does as words of `EXPECTATIONS`, like `deny, context`."""
    abilities = abilities_of(answer)
    if abilities:
        return ", ".join(abilities)
    if answer.outcome is Outcome.ALLOW:
        return "allow"
    return "none"


# -- what a guard promises: its advice passes, and wrong types stop it nowhere

WRONG_VALUES: dict[str, Any] = {
    "a list": ["text"],
    "a number": 7,
    "null": None,
    "an object": {"text": "text"},
}
"""What stands in the place of a text in payloads of a wrong type, with its name for people."""
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
_RECOMMENDS = re.compile(
    r"\b(?:use|run|try|write|call|prefer|do|with|type|say|instead|via)\b[^.;!?\n]*$", re.IGNORECASE
)
_REFUSES = re.compile(
    r"\b(?:not|never|no|avoid|without|of|than|why|command may)\b[^.;!?,\n]*$"
    r"|n't\b[^.;!?,\n]*$",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"[a-z][\w.+-]*(?: |$)")


class PromisedDenial(NamedTuple):
    """A denial of a shell command: the place of its example, the agent, and the reason."""

    place: str
    agent: str
    reason: str


def recommended_commands(reason: str) -> list[str]:
    """Return the commands that a reason recommends: in quotation marks, behind "use", "run", …."""
    commands: list[str] = []
    end = 0
    for quoted in _QUOTED.finditer(reason):
        before, end = reason[end : quoted.start()], quoted.end()
        command = next(text for text in quoted.groups() if text)
        behind = reason[end:].lstrip()
        is_key = quoted[0].startswith('"') and behind.startswith(":")  # of arguments as JSON
        is_advice = _RECOMMENDS.search(before) or behind.startswith("instead")
        if is_advice and not is_key and not _REFUSES.search(before) and _PROGRAM.match(command):
            commands.append(command)
    return list(dict.fromkeys(commands))


def refused_advice(hooks: Hooks, denials: Iterable[PromisedDenial]) -> list[str]:
    """Return the denials whose reason recommends a command that the hooks deny, too."""
    problems: dict[str, None] = {}
    tried: set[tuple[str, str]] = set()
    for place, agent, reason in denials:
        for command in recommended_commands(reason):
            if (command, agent) in tried:
                continue
            tried.add((command, agent))
            if _denies(hooks, agent, command):
                problems[
                    f"{place}: the reason recommends {command!r}, and the hooks deny that, too; "
                    "let it pass, or recommend another command"
                ] = None
    return list(problems)


def _denies(hooks: Hooks, agent: str, command: str) -> bool:
    fields = {"tool_name": "shell", "tool_input": {"command": command}}
    try:
        run = run_in_time(hooks, Example(event="before_tool", fields=fields, expect="none"), agent)
    except Exception:  # noqa: BLE001 - a crash is not a denial, and examples report it
        return False
    return run.answer.outcome is Outcome.DENY


def open_crashes(hooks: Hooks, agents: Sequence[str]) -> list[str]:
    """Return the wrong types with which functions fail so that the call runs.

    Each text among the arguments of a call that an example expects to be stopped is replaced by
    values of other types.
    """
    if hooks.on_crash == "deny":
        return []
    problems: dict[tuple[str, str], str] = {}
    for example in hooks.examples:
        for name, what, arguments in _wrong_arguments(example):
            tool = str(example.fields["tool_name"])
            error = _crash(hooks, example, (example.agents or agents)[0], arguments)
            if error is not None and (tool, name) not in problems:
                problems[tool, name] = (
                    f"{example.place}: with {what} for {name!r} of {tool}, the hooks fail "
                    f"({type(error).__name__}: {error}), and the call runs; write "
                    'Hooks(on_crash="deny"), or search event.text'
                )
            if isinstance(error, TimeoutError):  # each further one would take as long
                return list(problems.values())
    return list(problems.values())


def _wrong_arguments(example: Example) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, description and arguments for each text of a call in another type."""
    arguments = example.fields.get("tool_input")
    if example.expect not in HOLDING or not isinstance(arguments, dict):
        return
    for name, value in arguments.items():
        if isinstance(value, str):
            for what, wrong in WRONG_VALUES.items():
                yield name, what, {**arguments, name: wrong}


def _crash(
    hooks: Hooks, example: Example, agent: str, arguments: dict[str, Any]
) -> BaseException | None:
    changed = example.replace(fields={**example.fields, "tool_input": arguments})
    try:
        run_in_time(hooks, changed, agent)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - any failure of the hook counts
        return error
    return None
