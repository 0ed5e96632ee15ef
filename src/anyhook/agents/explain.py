"""What is wrong with output, and what its author probably meant.

Derived from the output tables of all agents. Only output with a mistake imports this.
"""

from __future__ import annotations

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.printed import parse_object
from anyhook.agents.values import shortened_repr
from anyhook.model.diagnostics import Severity
from anyhook.model.record import Record
from anyhook.model.suggest import closest, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from anyhook.agents.printed import OutputContext
    from anyhook.agents.spec import AgentSpec
    from anyhook.model.answers import Outcome

    Path = tuple[str, ...]

DECIDING_MEMBERS = ("decision", "continue", "hookSpecificOutput")
"""Members of replies that decide something."""


class MemberProblem(Record):
    """The diagnostic of a member of a reply."""

    code: str
    message: str
    severity: Severity = Severity.WARNING


def explain_members(
    agent: AgentSpec, event: str, parent: Path, names: Iterable[str]
) -> Iterator[MemberProblem]:
    """Explain members that replies to an event do not have.

    Members that are reported elsewhere are skipped: `AgentSpec.foreign_members`, and members of
    other events. `parent` is the path of the object that contains the members.
    """
    reported: set[Path] = set(agent.foreign_members)
    reported.update(field.path for field in agent.output_fields)
    for name in sorted(names):
        if (*parent, name) not in reported:
            yield _explain(agent, event, parent, name)


def owner_of(path: Path, agent: AgentSpec) -> str | None:
    """Return the title of another agent whose replies have a member; `None` if there is none."""
    name = path[-1]
    if _has_member(agent, name):
        return None
    for other_name in AGENTS:
        other = get_agent(other_name)
        if _has_member(other, name):
            return other.title
    return None


def _has_member(agent: AgentSpec, name: str) -> bool:
    """Return whether replies of an agent have a member of that name in any object."""
    return any(field.path[-1] == name for field in agent.output_fields)


def _explain(agent: AgentSpec, event: str, parent: Path, name: str) -> MemberProblem:
    objects = agent.reply_objects(event)
    others = [path for path in objects if path != parent]
    members: list[Path] = []
    for path in (parent, *others):  # those of the same object first
        members += [(*path, member) for member in sorted(objects.get(path, ()))]
    quoted = _quote((*parent, name))
    own_path = _find_name(members, name)
    if own_path is not None:
        message = f"{quoted} has no effect there; write {_example(own_path)}"
        return MemberProblem(code="output-misplaced", message=message)
    # A member of another agent is not taken for a typing error, unless only its case differs.
    spellings = {fold(path[-1]): path for path in reversed(members)}
    suggestion = spellings.get(fold(name))
    if suggestion is None:
        owner = owner_of((*parent, name), agent)
        if owner is not None:
            message = f"{quoted} is a member of {owner}'s replies; {agent.title} does not have it"
            return MemberProblem(code="output-foreign", message=message)
        siblings = [path[-1] for path in members if path[:-1] == parent]
        similar = closest(name, siblings) or closest(name, [path[-1] for path in members])
        suggestion = None if similar is None else _find_name(members, similar)
    if suggestion is not None:
        message = f"unknown member {quoted}; did you mean {_quote(suggestion)}?"
        return MemberProblem(code="output-unknown", message=message)
    decision = _decision_by_word(agent, event, name)
    if decision is not None:
        message = f"unknown member {quoted}; did you mean {decision}?"
        return MemberProblem(code="output-unknown", message=message)
    message = f"unknown member {quoted}; {agent.title} does not have it"
    return MemberProblem(code="output-unknown", message=message, severity=Severity.INFO)


def _decision_by_word(agent: AgentSpec, event: str, name: str) -> str | None:
    """Return how a decision is written whose word was taken for a member: `{"block": true}`."""
    if name not in agent.decision_words:
        return None
    outcome, _ = agent.decision_words[name]
    for field in agent.output_fields:
        is_verdict = field.field == "outcome" and not field.legacy
        if not is_verdict or (field.events is not None and event not in field.events):
            continue
        words = field.words or agent.decision_words
        for word, (meaning, _) in words.items():
            if meaning is outcome and isinstance(word, str):
                return f'{_quote(field.path)}: "{word}"'
    return None


def _find_name(members: list[Path], name: str) -> Path | None:
    """Return the first member of that name; it may be in any object."""
    for path in members:
        if path[-1] == name:
            return path
    return None


def _quote(path: Path) -> str:
    return f"`{'.'.join(path)}`"


def _example(path: Path) -> str:
    """Return how a member is written, for example `"hookSpecificOutput": {"toolConfig": …}`."""
    *objects, name = path
    if not objects:
        return f'"{name}": … at the top level'
    opening = "".join(f'"{key}": {{' for key in objects)
    closing = "}" * len(objects)
    return f'{opening}"{name}": …{closing}'


def explain_word(
    agent: AgentSpec,
    words: Mapping[Any, tuple[Outcome, bool]],
    value: object,
    *,
    may_be_misspelt: bool,
) -> str:
    """Explain a value that is not a decision.

    It may be misspelt if it is of the type of the words.
    """
    names = [str(word).lower() if isinstance(word, bool) else word for word in words]
    if may_be_misspelt and str(value) in agent.foreign_decisions:
        outcome, _ = agent.foreign_decisions[str(value)]
        return (
            f"{shortened_repr(value)} is not a decision of {agent.title} here; it is read as "
            f"{outcome}. Write {' or '.join(map(repr, names))}"
        )
    suggestion = closest(str(value), names) if may_be_misspelt else None
    hint = f"write one of {', '.join(names)}"
    if suggestion is not None:
        hint = f"did you mean {suggestion!r}?"
    return f"{shortened_repr(value)} is not a decision; {hint}"


# -- decisions that are not applied


def report_ignored_decision(context: OutputContext, stdout: str) -> None:
    """Report a decision in the output of a command that did not succeed."""
    members = _deciding_members(stdout)
    if members:
        context.report(
            "ignored-output",
            f"printed {members}, which is not applied, because the command did not succeed; "
            "to decide, exit with 0 and JSON, or with 2",
        )


def report_decision_on_stderr(context: OutputContext, stderr: str) -> None:
    """Report a decision on the stream that is not read."""
    if not any(f'"{name}"' in stderr for name in DECIDING_MEMBERS):
        return
    for text in (stderr, *stderr.splitlines()):
        members = _deciding_members(text) if text.startswith("{") else ""
        if members:
            context.report(
                "ignored-output",
                f"printed a decision on stderr ({members}), which is not applied; "
                "print the JSON object on stdout",
            )
            return


def _deciding_members(text: str) -> str:
    """Return the members of a JSON object that decide something, for messages."""
    value = parse_object(text) or {}
    members = [
        f"{name}: {shortened_repr(value[name])}" for name in DECIDING_MEMBERS if name in value
    ]
    return ", ".join(members)
