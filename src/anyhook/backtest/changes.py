"""What two backtests, or a backtest and the recorded decisions, decide differently."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.backtest.item_table import ItemTable
from anyhook.history.verdicts import CRASH, DENYING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.backtest.results import Decided, Result

EXAMPLES = 5
"""Examples of a group of changes."""


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """An event on which two sides decide differently."""

    before: Decided | None
    """The decision of the baseline; `None` if it had no opinion, as `after`."""
    after: Decided | None
    fields: tuple[str, ...]
    """Names of the fields that differ; `crash` if only one side failed on the event."""

    @property
    def event(self) -> Decided:
        """The event, as one of the sides describes it."""
        decided = self.after or self.before
        if decided is None:
            raise ValueError("a change has a side")
        return decided

    @property
    def outcomes(self) -> tuple[str, str]:
        """The verdicts before and after."""
        before, after = self.before, self.after
        return (
            before.outcome if before is not None else "none",
            after.outcome if after is not None else "none",
        )


@dataclass(slots=True)
class ChangeGroup:
    """Changes of one kind."""

    before: str
    after: str
    event: str
    tool: str | None
    """Canonical name of the tool; `None` for other events."""
    hooks: tuple[str, ...]
    fields: tuple[str, ...]
    changes: ItemTable[DecisionChange] = field(default_factory=ItemTable)

    @property
    def sessions(self) -> int:
        """Number of sessions with such a change."""
        return len({change.event.session for change in self.changes})


def find_changes(before: Result, after: Result) -> ItemTable[DecisionChange]:
    """Compare the decisions of two results on the same events.

    Of two runs on the same parts, the parts that both have evaluated are compared.
    """
    changes = ItemTable[DecisionChange]()
    first, second = before.decided, after.decided
    if isinstance(first, ItemTable) and isinstance(second, ItemTable):
        for number in sorted({*first.segments} & {*second.segments}):
            _compare(first.segment(number), second.segment(number), changes)
    else:
        _compare(first, second, changes)
    return changes


def _compare(
    before: Iterable[Decided], after: Iterable[Decided], changes: ItemTable[DecisionChange]
) -> None:
    first = {decided.ref: decided for decided in before}
    second = {decided.ref: decided for decided in after}
    for ref in dict.fromkeys([*second, *first]):
        old, new = first.get(ref), second.get(ref)
        of_old = old.decision if old else {}
        of_new = new.decision if new else {}
        names = sorted({*of_old, *of_new} - {"blame"})
        fields = tuple(name for name in names if of_old.get(name) != of_new.get(name))
        if not fields and _has_crashed(old) != _has_crashed(new):
            fields = (CRASH,)
        if fields:
            changes.append(DecisionChange(old, new, fields))


def _has_crashed(decided: Decided | None) -> bool:
    return decided is not None and decided.outcome == CRASH


def group_changes(changes: Iterable[DecisionChange]) -> list[ChangeGroup]:
    """Group changes by verdicts, event, tool, hooks and fields, the largest group first."""
    groups: dict[tuple[Any, ...], ChangeGroup] = {}
    for change in changes:
        event = change.event
        hooks = {*(change.before.hooks if change.before else ())}
        hooks |= {*(change.after.hooks if change.after else ())}
        key = (*change.outcomes, event.event, event.tool, tuple(sorted(hooks)), change.fields)
        group = groups.get(key)
        if group is None:
            group = groups[key] = ChangeGroup(*key)
        group.changes.append(change)
    return sorted(groups.values(), key=lambda group: -len(group.changes))


def new_denials(changes: Iterable[DecisionChange]) -> ItemTable[DecisionChange]:
    """Return the changes that deny or stop what was not denied or stopped before."""
    denials = (c for c in changes if c.outcomes[1] in DENYING and c.outcomes[0] not in DENYING)
    return ItemTable(denials)
