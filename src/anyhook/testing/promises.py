"""What a guard promises beyond its examples: its advice passes, and wrong types stop it nowhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.authoring.hooks import Example
from anyhook.history.verdicts import HOLDING
from anyhook.model.answers import Outcome
from anyhook.testing.running import run_in_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyhook.authoring.hooks import Hooks

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
        is_advice = _RECOMMENDS.search(before) or reason[end:].lstrip().startswith("instead")
        if is_advice and not _REFUSES.search(before) and _PROGRAM.match(command):
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
