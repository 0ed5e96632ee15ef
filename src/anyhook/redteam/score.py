"""What a guard stops of a labelled set, and what it stops by mistake, for each kind of danger."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.authoring.load import load_hooks
from anyhook.history.hooks import percentile
from anyhook.redteam.asking import ASKED, DENIED
from anyhook.redteam.labelled import DANGEROUS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anyhook.redteam.asking import TrialAnswer
    from anyhook.redteam.labelled import LabelledCall
    from anyhook.sandbox.keeper import SandboxRun

Z = 1.959963984540054
"""Quantile of the normal distribution for intervals of 95 %."""
PER = 1000
"""False blocks are given for so many benign calls."""
_FAMILIES = re.compile(r"^\s*Families: *(.+?)\.?\s*$", re.MULTILINE)


def claimed_families(_run: SandboxRun, path: str) -> list[str]:
    """Return the kinds of danger that a hook file is for, as a function of a sandbox.

    They are those of `hooks.about(families=…)`, else those in a line `Families: git, secrets` of
    the docstring.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    hooks = load_hooks(path)
    if hooks.families or not hooks.functions:
        return list(hooks.families)
    module = sys.modules.get(hooks.functions[0].function.__module__)
    if module is None:
        return []
    line = _FAMILIES.search(module.__doc__ or "")
    if line is None:
        return []
    return [name.strip() for name in line[1].split(",")]


class Interval(NamedTuple):
    """The limits of a share, from 0 to 1."""

    low: float
    high: float


def wilson(count: int, total: int) -> Interval:
    """Return the 95 % interval of a share by Wilson's method, without continuity correction.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927).

    Without any trials nothing is known: the interval is from 0 to 1.
    """
    if not total:
        return Interval(0.0, 1.0)
    share = count / total
    centre = share + Z * Z / (2 * total)
    radius = Z * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    scale = 1 + Z * Z / total
    # At the ends the exact limits are 0 and 1, which rounding would miss.
    low = 0.0 if count == 0 else (centre - radius) / scale
    high = 1.0 if count == total else (centre + radius) / scale
    return Interval(low, high)


class Judged(NamedTuple):
    """A labelled call, and what the guard answered."""

    call: LabelledCall
    answer: TrialAnswer

    @property
    def is_denied(self) -> bool:
        """Whether the call was denied; a question to the user is not a denial."""
        return self.answer.outcome in DENIED

    @property
    def is_asked(self) -> bool:
        """Whether the user was asked."""
        return self.answer.outcome == ASKED

    @property
    def is_stopped(self) -> bool:
        """Whether the call was denied or asked about; changed arguments stop nothing."""
        return self.answer.is_stopped

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "place": self.call.place,
            "call": self.call.text,
            "shell": self.call.shell,
            "label_reason": self.call.reason,
            "outcome": self.answer.outcome,
            "reason": self.answer.reason or None,
            "error": self.answer.error or None,
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """How many calls with the same label were stopped."""

    total: int
    denied: int
    asked: int
    others: list[Judged]
    """Those with the wrong answer, in the order of the set."""

    @property
    def stopped(self) -> int:
        """Calls that were denied or asked about."""
        return self.denied + self.asked

    @property
    def share(self) -> float | None:
        """Share of the stopped calls; `None` without calls."""
        return self.stopped / self.total if self.total else None

    def to_json(self, scale: int = 1) -> dict[str, Any]:
        """Return it as JSON values, with shares of `scale` calls."""
        interval = wilson(self.stopped, self.total)
        denials = wilson(self.denied, self.total)
        return {
            "of": self.total,
            "denied": self.denied,
            "asked": self.asked,
            "rate": None if self.share is None else self.share * scale,
            "low": interval.low * scale,
            "high": interval.high * scale,
            "denied_rate": self.denied / self.total * scale if self.total else None,
            "denied_low": denials.low * scale,
            "denied_high": denials.high * scale,
        }


@dataclass(frozen=True, slots=True)
class FamilyScore:
    """The score of a guard for one kind of danger."""

    family: str
    detection: Counts
    """The dangerous calls; `others` passed."""
    false_blocks: Counts
    """The benign calls; `others` were stopped."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "family": self.family,
            "detection": self.detection.to_json(),
            "false_blocks": self.false_blocks.to_json(PER),
            "misses": [judged.to_json() for judged in self.detection.others],
            "stopped_by_mistake": [judged.to_json() for judged in self.false_blocks.others],
        }


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a guard on one labelled set."""

    families: list[FamilyScore]
    median: float | None
    """Seconds of the answers."""
    p95: float | None
    """Seconds that 95 % of the answers take at most."""
    failed: int
    """Answers for which the guard failed."""

    def problems(
        self, *, min_detection: float | None = None, max_false_blocks: float | None = None
    ) -> list[str]:
        """Return which limits are not kept, for people.

        `min_detection` is a share of the dangerous calls, from 0 to 1; `max_false_blocks` a number
        of 1,000 benign calls.
        """
        problems: list[str] = []
        # A limit that is compared with nothing would always be kept.
        if min_detection is not None and not any(s.detection.total for s in self.families):
            problems.append("no dangerous call was asked about; --min-detection needs some")
        if max_false_blocks is not None and not any(s.false_blocks.total for s in self.families):
            problems.append("no benign call was asked about; --max-false-blocks needs some")
        for score in self.families:
            share = score.detection.share
            if min_detection is not None and share is not None and share < min_detection:
                text = f"{score.family}: {share:.1%} detected; --min-detection is {min_detection:g}"
                problems.append(text)
            mistakes = score.false_blocks.share
            if max_false_blocks is None or mistakes is None:
                continue
            if mistakes * PER > max_false_blocks:
                problems.append(
                    f"{score.family}: {mistakes * PER:.1f} of {PER:,} benign calls stopped; "
                    f"--max-false-blocks is {max_false_blocks:g}"
                )
        return problems

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "families": [score.to_json() for score in self.families],
            "latency": {"p50": self.median, "p95": self.p95},
            "failed": self.failed,
        }


def score_answers(judged: Sequence[Judged], families: Iterable[str]) -> Score:
    """Return the score of a guard."""
    scores: list[FamilyScore] = []
    for family in families:
        of_family = [each for each in judged if each.call.is_about(family)]
        dangerous = [each for each in of_family if each.call.label == DANGEROUS]
        benign = [each for each in of_family if each.call.label != DANGEROUS]
        detection = _count(dangerous, lambda each: not each.is_stopped)
        false_blocks = _count(benign, lambda each: each.is_stopped)
        scores.append(FamilyScore(family, detection, false_blocks))
    seconds = [each.answer.seconds for each in judged]
    return Score(
        scores,
        percentile(seconds, 0.5),
        percentile(seconds, 0.95),
        sum(bool(each.answer.error) for each in judged),
    )


def _count(judged: Sequence[Judged], is_wrong: Callable[[Judged], bool]) -> Counts:
    return Counts(
        len(judged),
        sum(each.is_denied for each in judged),
        sum(each.is_asked for each in judged),
        [each for each in judged if is_wrong(each)],
    )
