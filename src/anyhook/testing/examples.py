"""The examples that are written beside hooks, tried for every agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.authoring.ending import Deadline
from anyhook.dialects import AGENTS, get_dialect
from anyhook.dialects.capabilities import abilities_of
from anyhook.model.answers import Outcome
from anyhook.testing.running import run_hook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.authoring.hooks import Example, Hooks
    from anyhook.model.answers import Answer
    from anyhook.testing.running import Ran


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
    """

    example: Example
    agent: str
    status: str
    got: str
    notes: tuple[str, ...] = ()
    ran: Ran | None = None


def run_examples(hooks: Hooks, agents: Sequence[str] = AGENTS) -> list[ExampleResult]:
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
    dialect = get_dialect(agent)
    tool = example.fields.get("tool_name")
    if example.event not in dialect.by_canonical:
        return ExampleResult(example, agent, "absent", f"no event {example.event}")
    if isinstance(tool, str) and dialect.vocabulary.name(tool) is None and tool in _canonical():
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
        return ExampleResult(example, agent, "failed", "crash", (text,))
    got = described(ran.answer)
    if example.says and example.says not in " ".join(_texts(ran.answer)):
        missing = f"it does not say {example.says!r}"
        return ExampleResult(example, agent, "failed", got, (missing, *ran.notes), ran)
    if ran.notes:
        return ExampleResult(example, agent, "degraded", got, ran.notes, ran)
    if _meets(example.expect, ran.answer):
        return ExampleResult(example, agent, "ok", got, (), ran)
    return ExampleResult(example, agent, "failed", got, (f"expected {example.expect}",), ran)


def _late() -> None:
    raise TimeoutError("it ran out of time")


def _canonical() -> frozenset[str]:
    from anyhook.model.tools import TOOLS

    return frozenset(TOOLS)


def _meets(expect: str, answer: Answer) -> bool:
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
