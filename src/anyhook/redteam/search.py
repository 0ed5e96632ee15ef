"""Search for what gets past a guard: write what it denies in other ways, ask it, and prove."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.errors import EventError, SandboxError
from anyhook.redteam.asking import ASKED
from anyhook.redteam.oracle import Oracle
from anyhook.redteam.spellings import BY_NAME, Variant, variants_of
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.redteam.asking import Asker, Question, TrialAnswer
    from anyhook.redteam.plain import Call, Plain

WRONG_VALUES: tuple[Any, ...] = (None, 7, True, [], {}, [["rm"]], {"command": "ls"})
"""Values that are sent where a text is expected."""


@dataclass(frozen=True, slots=True)
class Escape:
    """A call that does what a guard stops, and passes it."""

    variant: Variant
    shell: str
    """The shell in which it was proved."""
    hook: str
    is_proved: bool
    """Whether running both has shown that they do the same."""
    error: str
    """Why the hook failed on it; empty if it did not."""

    @property
    def of(self) -> str:
        """What the guard stops."""
        return self.variant.plain.text

    @property
    def command(self) -> str:
        """The spelling that passes."""
        return self.variant.spelling.text

    @property
    def class_name(self) -> str:
        """Its class of spellings."""
        return self.variant.class_name


@dataclass(slots=True)
class ClassResult:
    """What came of a class of spellings."""

    tried: int = 0
    denied: int = 0
    asked: int = 0
    escapes: list[Escape] = field(default_factory=list)
    """Those that passed and do the same."""
    unproved: int = 0
    """Those that passed, and do something else or cannot be compared."""


@dataclass(slots=True)
class Attempt:
    """What came of the attempts to get past a hook."""

    hook: str
    denied: list[Plain] = field(default_factory=list)
    """What it stops in the plain form."""
    not_denied: list[Plain] = field(default_factory=list)
    """What it was expected to stop and does not."""
    errors: list[str] = field(default_factory=list)
    """Why it failed on some of these."""
    classes: dict[str, ClassResult] = field(default_factory=dict)
    """Name of a class to what came of it."""
    failures: dict[str, str] = field(default_factory=dict)
    """What it answered to values of a wrong type on which it failed: value to error."""
    can_prove: bool = True
    """Whether there was an oracle."""
    is_complete: bool = True
    """Whether everything was tried."""

    @property
    def escapes(self) -> list[Escape]:
        """All escapes, by class."""
        escapes: list[Escape] = []
        for result in self.classes.values():
            escapes += result.escapes
        return escapes


@dataclass(slots=True)
class Progress:
    """How far the attempts are."""

    step: str
    """What is done, for people."""
    done: int
    """Number of questions or comparisons that are done."""
    total: int


class Search:
    """Tries to get past a hook."""

    def __init__(
        self,
        asker: Asker,
        *,
        home: str,
        shell: str = "bash",
        seed: int = 0,
        classes: Sequence[str] = tuple(BY_NAME),
        on_progress: Callable[[Progress], object] = lambda _progress: None,
    ) -> None:
        self._asker = asker
        self._home = home
        self._shell = shell
        self._seed = seed
        self._classes = classes
        self._on_progress = on_progress
        self._result = Attempt(asker.guard.title)
        self._passed: list[tuple[Variant, TrialAnswer]] = []

    def run(self, plains: Sequence[Plain]) -> Attempt:
        """Try what a hook may deny; what it does not stop in its plain form is left out.

        Ctrl-C ends the questions, and what has passed until then is proved; the next one ends that,
        too. What was found is kept.

        Raises:
            UsageError: If the hook cannot be loaded.
        """
        result = self._result
        try:
            asked: list[Plain] = []
            questions: list[Question] = []
            for plain in plains:
                question = question_of(self._asker, (plain.call,))
                if question is not None:
                    asked.append(plain)
                    questions.append(question)
            for plain, answer in zip(asked, self._asker.ask(questions), strict=True):
                plains_here = result.denied if answer.is_stopped else result.not_denied
                plains_here.append(plain)
                if answer.error and not answer.is_stopped:
                    result.errors.append(answer.error)
            if "list of words" in self._classes:
                _try_wrong_values(self._asker, result)
            self._ask_variants()
        except KeyboardInterrupt:
            result.is_complete = False
        try:
            self._prove()
        except KeyboardInterrupt:
            result.is_complete = False
        names = [name for name in BY_NAME if name in result.classes]
        result.classes = {name: result.classes[name] for name in names}
        return result

    def _ask_variants(self) -> None:
        variants: list[Variant] = []
        questions: list[Question] = []
        for plain in self._result.denied:
            for variant in variants_of(
                plain,
                project=self._asker.guard.project,
                home=self._home,
                seed=self._seed,
                classes=self._classes,
            ):
                question = question_of(self._asker, variant.spelling.calls)
                if question is not None:
                    variants.append(variant)
                    questions.append(question)
        answered = 0

        def count(number: int, answer: TrialAnswer) -> None:
            nonlocal answered
            variant = variants[number]
            counts = self._result.classes.setdefault(variant.class_name, ClassResult())
            counts.tried += 1
            counts.asked += answer.outcome == ASKED
            counts.denied += answer.is_stopped and answer.outcome != ASKED
            if not answer.is_stopped:
                self._passed.append((variant, answer))
            answered += 1
            self._on_progress(Progress("asking", answered, len(variants)))

        self._asker.ask(questions, on_answer=count)

    def _prove(self) -> None:
        """Run what has passed, the shortest first, and keep what does the same."""
        result = self._result
        passed = sorted(self._passed, key=lambda pair: len(pair[0].spelling.text))
        if not passed:
            return
        try:
            lines = [plain.act.line for plain in result.denied]
            oracle = Oracle(self._asker.guard.project, self._home, lines)
        except SandboxError:
            result.can_prove = False
            for variant, answer in passed:
                self._add(variant, answer, is_proved=False)
            return
        compared = 0

        def take(number: int, is_proved: bool) -> None:
            nonlocal compared
            self._add(*passed[number], is_proved=is_proved)
            compared += 1
            self._on_progress(Progress("proving", compared, len(passed)))

        with closing(oracle):
            pairs = [(variant.plain.act, variant.spelling.act) for variant, _ in passed]
            oracle.prove(pairs, self._shell, on_result=take)

    def _add(self, variant: Variant, answer: TrialAnswer, *, is_proved: bool) -> None:
        """Add what has passed to its class."""
        result = self._result
        counts = result.classes[variant.class_name]
        if result.can_prove and not is_proved:
            counts.unproved += 1
            return
        escape = Escape(variant, self._shell, result.hook, is_proved, answer.error)
        counts.escapes.append(escape)


def question_of(asker: Asker, calls: Sequence[Call]) -> Question | None:
    """Return calls as events of the hook's agent; `None` if the agent has no such tool."""
    agent = get_agent(asker.guard.agent)
    payloads = []
    for call in calls:
        is_mcp = call.tool.startswith("mcp__")
        if not is_mcp and agent.vocabulary.name(call.tool) is None:
            return None
        arguments = dict(call.input)
        try:
            payload = make_payload(
                "before_tool",
                agent=agent.name,
                tool=call.tool,
                input=arguments,
                cwd=asker.guard.project,
            )
        except EventError:
            return None
        payloads.append(payload)
    return tuple(payloads)


def _try_wrong_values(asker: Asker, result: Attempt) -> None:
    """Send values of a wrong type, and note those on which the hook fails and the call runs."""
    plain = next((plain for plain in result.denied if plain.call.tool == "shell"), None)
    if plain is None:
        return
    questions: list[Question] = []
    for value in WRONG_VALUES:
        question = question_of(asker, (plain.call,)) or ()
        payload = {**question[0]}
        payload["tool_input"] = {**payload.get("tool_input", {}), "command": value}
        questions.append((payload,))
    for value, answer in zip(WRONG_VALUES, asker.ask(questions), strict=True):
        if answer.error and not answer.is_stopped:
            result.failures[repr(value)] = answer.error


def totals(result: Attempt) -> Counter[str]:
    """Return the sums over all classes."""
    sums: Counter[str] = Counter()
    for counts in result.classes.values():
        sums.update(
            tried=counts.tried,
            denied=counts.denied,
            asked=counts.asked,
            unproved=counts.unproved,
        )
    return sums
