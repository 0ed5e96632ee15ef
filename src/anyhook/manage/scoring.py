"""What hooks stop of labelled sets: each call is asked of each hook alone, in a sandbox."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from anyhook.errors import EventError, UnknownNameError, UsageError
from anyhook.redteam.asking import Asker, Guard
from anyhook.redteam.score import Judged, Score, claimed_families, score_answers
from anyhook.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.redteam.asking import Question
    from anyhook.redteam.labelled import LabelledCall, LabelledSet


class HookScore(NamedTuple):
    """The score of one hook on one set.

    Attributes:
        claimed: Whether the hook or an option names the kinds of danger.
        not_in_set: Kinds of danger that the hook names and no row of the set is about.
        not_asked: Calls of tools and events that the agent does not have.
    """

    guard: Guard
    labelled: LabelledSet
    claimed: bool
    not_in_set: list[str]
    score: Score
    not_asked: int


def score_guards(
    project: Path,
    guards: Sequence[Guard],
    sets: Sequence[LabelledSet],
    families: Sequence[str],
) -> list[HookScore]:
    """Ask each guard about each set.

    Without families, a guard is scored for the kinds of danger that it names, and for all of a set
    if it names none.

    Raises:
        UsageError: If a set has no rows about a family, or about none that a guard names, or a
            guard cannot be loaded.
        SandboxError: If no sandbox can be made.
    """
    scores: list[HookScore] = []
    with Sandbox.for_project(project, discards_output=True) as sandbox:
        for guard in guards:
            claimed = families
            if not claimed and guard.file:
                claimed = sandbox.run(claimed_families, sandbox.inside(guard.file))
            for labelled in sets:
                is_chosen = bool(families)
                scores.append(_score(sandbox, guard, labelled, claimed, is_chosen=is_chosen))
    return scores


def _score(
    sandbox: Sandbox,
    guard: Guard,
    labelled: LabelledSet,
    claimed: Sequence[str],
    *,
    is_chosen: bool,
) -> HookScore:
    families: list[str] = []
    for call in labelled.calls:
        families += [name for name in call.families if name not in families]
    not_in_set = [name for name in claimed if name not in families]
    if not_in_set and (is_chosen or len(not_in_set) == len(claimed)):
        missing = ", ".join([repr(name) for name in not_in_set])
        raise UsageError(
            f"{labelled.path.name} has no rows about {missing}; it has rows about "
            f"{', '.join(families)}"
        )
    if claimed:
        families = [name for name in claimed if name in families]
    asked: list[LabelledCall] = []
    questions: list[Question] = []
    not_asked = 0
    for call in labelled.calls:
        if not any(map(call.is_about, families)):
            continue
        try:
            payload = call.payload(guard.agent, guard.project)
        except (EventError, UnknownNameError):
            not_asked += 1
            continue
        asked.append(call)
        questions.append((payload,))
    with closing(Asker(guard, sandbox=sandbox)) as asker:
        answers = asker.ask(questions)
    judged = list(map(Judged, asked, answers))
    score = score_answers(judged, families)
    return HookScore(guard, labelled, bool(claimed), not_in_set, score, not_asked)
