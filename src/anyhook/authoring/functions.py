"""The functions of a hook file: which of them an event reaches, and their combined answer."""

from __future__ import annotations

from anyhook.agents.values import check_answer
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.errors import UsageError
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

    HookOutput = Answer | None
    Function = Callable[[Any], HookOutput | Awaitable[HookOutput]]

VERDICT_WORDS: dict[str, tuple[Outcome, bool]] = {
    "none": (Outcome.NONE, False),
    "allow": (Outcome.ALLOW, False),
    "approve": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
    "defer": (Outcome.DEFER, False),
}
"""Verdicts that an author wrote as strings: outcome, and whether it approves."""

LATE = "ran out of time"
"""The problem of a function that did not end in time."""
BLOCKED_BY_CRASH = "; blocked, because it must not fail"
IGNORED_CRASH = "; its result was ignored"
"""What ends the message about a crash, by which it is recognized in the output of a hook file."""
UNKNOWN_SUBJECT = "\0"
"""Stands for the subject of an event that the agent sends without one."""
MAX_TIMEOUT = 7 * 86400.0
"""Seconds. No agent waits longer for a hook, and `signal.setitimer` takes no infinite time."""


class HookFunction(Record):
    """One function of a hook file.

    Attributes:
        event: Canonical name of its event.
        subjects: Patterns of the tools, sources, reasons, … that it covers; empty for all.
        function: The author's function, which takes the event.
        name: Name of the function.
        file: Path of its source file.
        line: 1-based line.
        about: First line of its docstring.
    """

    event: str
    subjects: tuple[str, ...]
    function: Function
    name: str
    file: str
    line: int
    about: str = ""

    @property
    def position(self) -> str:
        """The name with the file and the line, for messages: `guard (hooks.py:5)`."""
        file = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{self.name} ({file}:{self.line})"

    def covers(self, names: Sequence[str]) -> bool:
        """Return whether the function covers a subject, of which all names are given.

        A tool has the agent's name and the canonical one.
        """
        # As for matchers: an event of which the agent sends no subject is covered.
        if not self.subjects or UNKNOWN_SUBJECT in names:
            return True
        return any(matches_any(pattern, names) for pattern in self.subjects)


class HookFunctions:
    """The functions of one hook file, with the author's choices for crashes and timeouts.

    `anyhook.authoring.Hooks`, which authors use, adds the decorators and describes the arguments.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_crash: str = "allow",
        unsupported: str = "degrade",
        timeout: float | None = None,
        shadow: bool = False,
    ) -> None:
        check_word("on_crash", on_crash, ("allow", "deny"))
        check_word("unsupported", unsupported, ("degrade", "refuse"))
        if timeout is not None:
            check_timeout(timeout)
        self.on_crash = on_crash
        self.unsupported = unsupported
        self.timeout = timeout
        self.shadow = shadow
        self.functions: list[HookFunction] = []
        self.load_error: Exception | None = None
        """What ended the file before it could run its functions."""
        self._name = name

    def answer_crash(self, problem: str, *, can_deny: bool) -> Answer:
        """Return the answer that the author chose for a crash; the problem is its reason.

        `can_deny` is whether the agent can be denied something on the event.
        """
        if self.on_crash == "deny" and can_deny:
            return Answer(outcome=Outcome.DENY, reason=f"{problem}{BLOCKED_BY_CRASH}")
        return Answer(system_message=f"{problem}{IGNORED_CRASH}")

    @property
    def name(self) -> str:
        """The display name: the given one, else the name of the file."""
        if self._name or not self.functions:
            return self._name or "hook"
        return self.functions[0].file.replace("\\", "/").rpartition("/")[2]

    def answer(self, event: Event, agent: AgentSpec | None = None) -> Answer:
        """Return the answer to an event that no process of an agent waits for.

        The agent of the event says what a matcher of an event without a tool sees; without it only
        tools are matched.

        Raises:
            Exception: The exception of a function.
        """
        return self.decide(event, agent, call_function)

    def decide(
        self, event: Event, agent: AgentSpec | None, call: Callable[[HookFunction, Any], Any]
    ) -> Answer:
        """Return the answer to an event; `call` calls a function with it and returns its result."""
        if self.load_error is not None:
            raise self.load_error
        names = subject_names(event, agent)
        functions = [f for f in self.functions if f.event == event.name and f.covers(names)]
        if not functions:
            return NO_OPINION
        # Each function gets a copy, which it may change.
        if len(functions) == 1:
            return to_answer(functions[0], call(functions[0], event.copy()))
        from anyhook.model.sequence import SEQUENCE, advance, combine_answers, ends_sequence

        chain = SEQUENCE.get(event.name, {})
        answers: list[Answer] = []
        for function in functions:
            answer = to_answer(function, call(function, event.copy()))
            answers.append(answer)
            if ends_sequence(answer):
                break
            if answer is not NO_OPINION:
                event = advance(chain, event, answer)
        return combine_answers(answers, patches_response=event.name == "after_model")


def describe_crash(function: HookFunction | None, problem: str) -> str:
    """Return a message about a function that failed: `hook guard (hooks.py:5) failed (KeyError)`.

    The function is `None` if it is not known.
    """
    return f"hook {'hook' if function is None else function.position} {problem}"


def drop_wrong_fields(answer: Answer) -> tuple[Answer, list[str]]:
    """Remove the fields of a wrong type from an answer, never its verdict; report each of them."""
    usable, problems = check_answer(answer, VERDICT_WORDS)
    return usable, [f"{problem}; left out" for problem in problems]


def to_answer(function: HookFunction, result: object) -> Answer:
    """Return the result of a function as an answer.

    Raises:
        TypeError: If it is not an answer.
    """
    if result is None:
        return NO_OPINION
    if not isinstance(result, Answer):
        raise TypeError(
            f"{function.name} returned {type(result).__name__}; return None for no opinion, or the "
            "result of allow(), deny(), ask(), context(), event.rewrite(), …"
        )
    if type(result.outcome) is Outcome:
        return result
    if result.outcome not in VERDICT_WORDS:
        raise TypeError(f"{function.name} answered {result.outcome!r}, which is not a verdict")
    outcome, approve = VERDICT_WORDS[result.outcome]
    return result.replace(outcome=outcome, approve=result.approve or approve)


def call_function(function: HookFunction, event: Any) -> Any:
    """Call a function to its end; an async one runs in an event loop of its own.

    Raises:
        SystemExit: If it exits with another code than 0 (no opinion) and 2 (a denial).
    """
    with StderrRecord() as stderr:
        try:
            result = function.function(event)
            return _await_result(result) if hasattr(result, "__await__") else result
        except SystemExit as end:
            return answer_of_exit(end, function.name, stderr.text)


def _await_result(result: Any) -> Any:
    import asyncio
    from contextvars import copy_context

    values: list[Any] = []

    async def main() -> None:
        values.append(await result)

    def run_loop() -> Any:
        try:
            asyncio.run(main())
        except Exception:
            if not values:  # otherwise the loop failed to close: the hook has closed its files
                raise
        return values[0]

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        # The running loop belongs to the host, and a second one cannot run in the same thread.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(copy_context().run, run_loop).result()
    return run_loop()  # not above: the traceback of a hook would start with that RuntimeError


def subject_names(event: Event, agent: AgentSpec | None) -> list[str]:
    """Return the names that the subjects of a function are compared with."""
    tool = getattr(event, "tool_name", None)
    if isinstance(tool, str):
        vocabulary = event.vocabulary
        if vocabulary is None:
            return [tool, getattr(event, "tool", tool)]
        arguments = getattr(event, "tool_input", {})
        return vocabulary.all_names(tool, arguments, getattr(event, "mcp_context", None))
    spec = agent.by_canonical.get(event.name) if agent else None
    if spec is None:
        return []
    if spec.subject is None:
        return [UNKNOWN_SUBJECT]
    subject = getattr(event, spec.subject)
    return [subject] if isinstance(subject, str) else []


def matches_any(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern, in which only `*` is special, matches one of several names."""
    if pattern in names:
        return True
    if pattern.startswith("mcp__") and any(name.startswith("mcp____") for name in names):
        # A tool of an unknown server matches the patterns for it on any server.
        tool = pattern.removeprefix("mcp__").partition("__")[2]
        pattern = f"mcp____{tool or '*'}"
        if pattern in names:
            return True
    if "*" not in pattern:
        return False
    from anyhook.model.globs import matches_glob

    return any(matches_glob(pattern, name) for name in names)


def check_timeout(timeout: object) -> None:
    """Check a timeout that an author or a host gives.

    Raises:
        UsageError: If it is not a positive number of seconds, or too large for timers.
    """
    if not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT:
        raise UsageError(
            f"timeout must be a positive number of seconds, {MAX_TIMEOUT:.0f} at most, "
            f"not {timeout!r}"
        )


def check_word(name: str, value: str, words: Sequence[str]) -> None:
    """Raise `UsageError` if an argument is none of the words that it may be."""
    if value not in words:
        from anyhook.model.suggest import did_you_mean

        hint = did_you_mean(str(value), words) or f"it is one of {', '.join(words)}"
        raise UsageError(f"{name}={value!r}: {hint}")
