"""The examples that are written beside hooks, tried for every agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.capabilities import abilities_of
from anyhook.authoring.hooks import Example
from anyhook.authoring.inspect import STOP_FLAG
from anyhook.authoring.process_exit import Deadline
from anyhook.model.answers import Outcome
from anyhook.model.events import event_class
from anyhook.testing.running import run_hook

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anyhook.authoring.hooks import Hooks
    from anyhook.model.answers import Answer
    from anyhook.testing.running import HookRun


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """What came of one example for one agent.

    Attributes:
        example: The example.
        agent: The agent.
        status: `ok`; `degraded` if the agent cannot do it and something else was done; `failed`;
            `absent` if the agent has no such event or tool.
        got: What was answered.
        notes: What was done another way, or what went wrong.
        ran: The run, if there was one.
        traceback: The lines of the hook that led to a crash, with the error.
    """

    example: Example
    agent: str
    status: str
    got: str
    notes: tuple[str, ...] = ()
    ran: HookRun | None = None
    traceback: str = ""


def run_examples(hooks: Hooks, agents: Sequence[str] = CODING_AGENTS) -> list[ExampleResult]:
    """Try every example of a hook file for every agent that it is for."""
    return [
        run_example(hooks, example, agent)
        for example in hooks.examples
        for agent in (example.agents or agents)
    ]


PATIENCE = 30.0
"""Seconds that an example may take whose hook says nothing about it."""


def run_example(hooks: Hooks, example: Example, agent: str) -> ExampleResult:
    """Try one example for one agent."""
    agent_spec = get_agent(agent)
    tool = example.fields.get("tool_name")
    if example.event not in agent_spec.by_canonical:
        return ExampleResult(example, agent, "absent", f"no event {example.event}")
    if isinstance(tool, str) and agent_spec.vocabulary.name(tool) is None and tool in _canonical():
        return ExampleResult(example, agent, "absent", f"no tool {tool}")
    fields = dict(example.fields)
    if tool is not None:
        fields |= {"tool": fields.pop("tool_name"), "input": fields.pop("tool_input", {})}
    try:
        with Deadline(hooks.timeout or PATIENCE, _late):
            ran = run_hook(hooks, example.event, agent=agent, **fields)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - any failure of the hook is a result here
        text = f"{type(error).__name__}: {error}"
        shown = _traceback(error, {function.file for function in hooks.functions})
        return ExampleResult(example, agent, "failed", "crash", (text,), traceback=shown)
    got = described(ran.answer)
    if example.says and example.says not in " ".join(_texts(ran.answer)):
        missing = f"it does not say {example.says!r}"
        return ExampleResult(example, agent, "failed", got, (missing, *ran.notes), ran)
    if ran.notes:
        return ExampleResult(example, agent, "degraded", got, ran.notes, ran)
    if meets(example.expect, ran.answer):
        return ExampleResult(example, agent, "ok", got, (), ran)
    return ExampleResult(example, agent, "failed", got, (f"expected {example.expect}",), ran)


def _traceback(error: BaseException, files: Collection[str]) -> str:
    """Show how an error came about, from the first line that is in one of the files."""
    from traceback import TracebackException

    shown = TracebackException.from_exception(error)
    own = [number for number, frame in enumerate(shown.stack) if frame.filename in files]
    if own:
        del shown.stack[: own[0]]
    return "".join(shown.format())


def endless_denials(hooks: Hooks, agents: Sequence[str] = CODING_AGENTS) -> list[str]:
    """Report functions that deny the end of the agent although they continued it already.

    Each event with the flag `stop_hook_active` is tried with it: as its examples have it that a
    hook denies, otherwise with neutral fields.

    Returns:
        A sentence for each event, for people.
    """
    problems: list[str] = []
    for event in dict.fromkeys(function.event for function in hooks.functions):
        if STOP_FLAG not in event_class(event).record_names:
            continue
        examples = [e for e in hooks.examples if e.event == event and e.expect == "deny"]
        tried = examples or [Example(event=event, fields={}, expect="none")]
        if any(_denies_again(hooks, example, agents) for example in tried):
            functions = [function for function in hooks.functions if function.event == event]
            names = ", ".join(function.name for function in functions)
            problems.append(
                f"{Path(functions[0].file).name}:{functions[0].line}: {names} denies {event} also "
                f"when {STOP_FLAG} is true, so the agent never ends; return None if "
                f"event.{STOP_FLAG}"
            )
    return problems


def _denies_again(hooks: Hooks, example: Example, agents: Sequence[str]) -> bool:
    """Return whether an event is denied in the first agent that has it, with the flag set."""
    agent = next((a for a in agents if example.event in get_agent(a).by_canonical), None)
    if agent is None:
        return False
    fields = {**example.fields, STOP_FLAG: True}
    again = example.replace(fields=fields, expect="deny", says="", agents=(agent,))
    return run_example(hooks, again, agent).status == "ok"


def _late() -> None:
    raise TimeoutError("it ran out of time")


def _canonical() -> frozenset[str]:
    from anyhook.model.tools import TOOLS

    return frozenset(TOOLS)


def meets(expect: str, answer: Answer) -> bool:
    """Return whether an answer is what an example expects."""
    if expect == "none":
        return not abilities_of(answer) and answer.outcome is Outcome.NONE
    if expect == "allow":  # some agents have no word for it, and need none
        return answer.outcome in (Outcome.ALLOW, Outcome.NONE) and not abilities_of(answer)
    return expect in abilities_of(answer)


def described(answer: Answer) -> str:
    """Say in a few words what an answer does."""
    words = abilities_of(answer)
    return ", ".join(words) or ("allow" if answer.outcome is Outcome.ALLOW else "none")


def _texts(answer: Answer) -> list[str]:
    texts = (answer.reason, answer.stop_reason, answer.context, answer.system_message)
    return [text for text in (*texts, str(answer.tool_input or "")) if text]
