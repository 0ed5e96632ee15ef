"""`Hooks`: the functions of one hook file, and their answer to an event.

It is one module because a cold hook imports all of it, and every further module costs 0.1 ms.
"""

from __future__ import annotations

import sys

from anyhook._compat import caller
from anyhook.agents.values import check_answer
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.errors import UsageError
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.events import EVENTS, UnknownEvent, event_class
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, NoReturn, TypeVar

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.decorators import EventDecorators, EventName, Expectation
    from anyhook.authoring.register import Host
    from anyhook.model.events import Event

    HookOutput = Answer | None
    Function = Callable[[Any], HookOutput | Awaitable[HookOutput]]
    FunctionT = TypeVar("FunctionT", bound=Callable[[Any], Any])
else:
    EventDecorators = object


loading: list[str] = []
"""The hook files that are being imported for inspection; their `run` must not read an event."""

on_run: list[Callable[[Hooks, Sequence[str] | None], NoReturn]] = []
"""In the server of a hook file: what `hooks.run()` does instead of answering one event."""


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

    def covers(self, names: Sequence[str]) -> bool:
        """Return whether the function covers a subject.

        Args:
            names: All names of the subject: of a tool, the agent's and the canonical one.
        """
        if not self.subjects:
            return True
        return any(_matches_any(pattern, names) for pattern in self.subjects)


class Example(Record):
    """An event in a hook file, and the answer that its hooks must give: a test case.

    Attributes:
        event: Canonical name of the event.
        fields: Fields of the event; tools and arguments have their canonical names.
        expect: A word of `EXPECTATIONS`.
        says: A text that the answer's reason or context must contain.
        agents: Names of the agents that it applies to; empty for all that have the event.
        place: Source position, `file:line`.
    """

    event: str
    fields: Mapping[str, Any]
    expect: str
    says: str = ""
    agents: tuple[str, ...] = ()
    place: str = ""


class Hooks(EventDecorators):
    """The functions of one hook file.

    Every canonical event is a decorator: `@hooks.before_tool("shell")`, `@hooks.before_prompt`,
    `@hooks.subagent_stop("Explore")`. Tools are named canonically (`shell`, `write_file`,
    `mcp__github__*`) or as one agent names them; `*` matches any characters. Functions run in the
    order of the file, and each sees the changes of those before it. A denial or a stop skips the
    rest.

    Args:
        name: Display name; by default the name of the file.
        on_crash: `allow` or `deny`: the verdict if a function raises, runs out of time or returns
            something that is no answer.
        unsupported: `degrade`: an ability that the agent lacks is replaced by the nearest one,
            which is reported; `refuse`: it counts as a crash.
        timeout: Seconds for all functions of an event; by default 90 % of the agent's timeout.

    Raises:
        UsageError: If an argument has no such value.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_crash: str = "allow",
        unsupported: str = "degrade",
        timeout: float | None = None,
    ) -> None:
        _check_word("on_crash", on_crash, ("allow", "deny"))
        _check_word("unsupported", unsupported, ("degrade", "refuse"))
        if timeout is not None and not 0 < timeout <= MAX_TIMEOUT:
            raise UsageError(f"timeout must be a positive number of seconds, not {timeout!r}")
        self.on_crash = on_crash
        self.unsupported = unsupported
        self.timeout = timeout
        self.functions: list[HookFunction] = []
        self.examples: list[Example] = []
        self._name = name

    @property
    def name(self) -> str:
        """The display name: the given one, else the name of the file."""
        if self._name or not self.functions:
            return self._name or "hook"
        return self.functions[0].file.replace("\\", "/").rpartition("/")[2]

    # `decorators.pyi` declares the events, so that type checkers report an unknown one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            return self._decorator(name)

    def _decorator(self, name: str) -> Callable[..., Any]:
        """Return the decorator of an event.

        Raises:
            AttributeError: If there is no such event.
        """
        if name.startswith("_") or not is_event(name):
            from anyhook.model.further_events import FURTHER_EVENTS
            from anyhook.model.suggest import did_you_mean

            known = [*EVENTS, *FURTHER_EVENTS]
            hint = did_you_mean(name, known) or f"events: {', '.join(known)}"
            raise AttributeError(f"there is no event {name!r}; {hint}")

        def decorate(*arguments: Any) -> Any:
            if len(arguments) == 1 and callable(arguments[0]):
                return self._add(name, (), arguments[0])
            return self.on(name, *arguments)

        return decorate

    def on(self, event: str, *subjects: str) -> Callable[[FunctionT], FunctionT]:
        """Decorate a function that answers an event.

        Args:
            event: Canonical name.
            subjects: Names or patterns that the function covers; none for all.

        Raises:
            AttributeError: If there is no such event.
            UsageError: If a subject is not a string.
        """
        if not is_event(event):
            self._decorator(event)  # raises, with a suggestion
        for subject in subjects:
            if not isinstance(subject, str):
                raise UsageError(f"{event} takes names, like {event}('shell'), not {subject!r}")

        def decorate(function: FunctionT) -> FunctionT:
            return self._add(event, subjects, function)

        return decorate

    def _add(self, event: str, subjects: tuple[str, ...], function: FunctionT) -> FunctionT:
        code = getattr(function, "__code__", None)
        self.functions.append(
            HookFunction(
                event=event,
                subjects=subjects,
                function=function,
                name=getattr(function, "__name__", type(function).__name__),
                file=code.co_filename if code else "<function>",
                line=code.co_firstlineno if code else 0,
                about=(function.__doc__ or "").strip().partition("\n")[0],
            )
        )
        return function

    def example(
        self,
        event: EventName = "before_tool",
        *,
        expect: Expectation,
        says: str = "",
        agents: Sequence[str] = (),
        tool: str | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as everywhere else
        **fields: Any,
    ) -> None:
        """Add a test case for `anyhook test`: an event, and the answer that hooks must give.

        Args:
            event: Canonical name of the event.
            expect: `deny`, `ask`, `allow`, `approve`, `stop`, `rewrite`, `context`, `none`, …
            says: A text that the answer's reason or context must contain.
            agents: Names of the agents that it applies to; none for all that have the event.
            tool: Canonical name of the tool.
            input: Arguments of the tool, by their canonical names.
            fields: Other fields of the event.

        Raises:
            UsageError: If there is no such event or expectation.
        """
        if not is_event(event):
            raise UsageError(f"there is no event {event!r}")
        _check_word("expect", expect, EXPECTATIONS)
        if tool is not None:
            fields |= {"tool_name": tool, "tool_input": dict(input or {})}
        frame = caller(1)  # the line of the example, for reports
        self.examples.append(
            Example(
                event=event,
                fields=fields,
                expect=expect,
                says=says,
                agents=tuple(agents),
                place=f"{frame.f_code.co_filename}:{frame.f_lineno}",
            )
        )

    def answer(self, event: Event, agent: AgentSpec | None = None) -> Answer:
        """Return the answer to an event, without an agent.

        Args:
            event: The event.
            agent: The agent of the event, which says what a matcher of an event without a tool
                sees; without it only tools are matched.

        Raises:
            Exception: The exception of a function.
        """
        return self.decide(event, agent, finish)

    def decide(
        self, event: Event, agent: AgentSpec | None, call: Callable[[HookFunction, Any], Any]
    ) -> Answer:
        """Return the answer to an event, with a given way to call functions.

        Args:
            event: The event.
            agent: The agent of the event.
            call: Calls a function with an event and returns its result.
        """
        names = names_of(event, agent)
        functions = [f for f in self.functions if f.event == event.name and f.covers(names)]
        if not functions:
            return NO_OPINION
        # Each function gets a copy, which it may change.
        if len(functions) == 1:
            return checked(functions[0], call(functions[0], event.copy()))
        from anyhook.model.sequence import SEQUENCE, advance, combine_answers, ends_sequence

        chain = SEQUENCE.get(event.name, {})
        answers: list[Answer] = []
        for function in functions:
            answer = checked(function, call(function, event.copy()))
            answers.append(answer)
            if ends_sequence(answer):
                break
            if answer is not NO_OPINION:
                event = advance(chain, event, answer)
        return combine_answers(answers, patches_response=event.name == "after_model")

    def register(self, engine: Host) -> None:
        """Let an `Engine` run the functions, before the hooks of its settings.

        A crash follows `on_crash` here too.
        """
        from anyhook.authoring.register import register

        register(self, engine)

    def run(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Answer the event on standard input as an agent's command, and end the process.

        Like `unittest.main()`, it does not return: what stands behind it never runs. Functions that
        were registered with `atexit` do.

        Args:
            argv: Arguments; by default those of the process. `--agent NAME` names the agent,
                `--timeout SECONDS` its timeout for the command.

        Raises:
            UsageError: If the file is imported instead of run.
        """
        if on_run:
            on_run[-1](self, argv)
        if loading:
            raise UsageError(
                'it runs when it is imported; write `if __name__ == "__main__":` above hooks.run()'
            )
        from anyhook.authoring.run import run

        run(self, sys.argv[1:] if argv is None else argv)


EXPECTATIONS = tuple(
    "none allow deny ask defer approve stop rewrite replace_result context message change_request "
    "respond filter_tools clear_context tail_call".split()
)
"""What an example may expect."""

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

MAX_TIMEOUT = 7 * 86400.0
"""Seconds. No agent waits longer for a hook, and `signal.setitimer` takes no infinite time."""


def is_event(name: str) -> bool:
    """Return whether a name is the canonical name of an event."""
    return event_class(name).name == name != UnknownEvent.name


def sound(answer: Answer) -> tuple[Answer, list[str]]:
    """Remove the fields of a wrong type from an answer, but never its verdict.

    Returns:
        The remaining answer, and a message for each removed value.
    """
    usable, problems = check_answer(answer, VERDICT_WORDS)
    return usable, [f"{problem}; left out" for problem in problems]


def checked(function: HookFunction, result: object) -> Answer:
    """Return the result of a function as an answer.

    Raises:
        TypeError: If it is no answer.
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
        raise TypeError(f"{function.name} answered {result.outcome!r}, which is no verdict")
    outcome, approve = VERDICT_WORDS[result.outcome]
    return result.replace(outcome=outcome, approve=result.approve or approve)


def finish(function: HookFunction, event: Any) -> Any:
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

    async def main() -> Any:
        return await result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    # The running loop belongs to the host, and a second one cannot run in the same thread.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(copy_context().run, asyncio.run, main()).result()


def names_of(event: Event, agent: AgentSpec | None) -> list[str]:
    """Return the names that the subjects of a function are compared with."""
    tool = getattr(event, "tool_name", None)
    if isinstance(tool, str):
        return [tool, getattr(event, "tool", tool)]
    spec = agent.by_canonical.get(event.name) if agent else None
    if spec is None or spec.subject is None:
        return []
    subject = getattr(event, spec.subject)
    return [subject] if isinstance(subject, str) else []


def _matches_any(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern, in which only `*` is special, matches one of several names."""
    if pattern in names:
        return True
    if "*" not in pattern:
        return False
    from fnmatch import fnmatchcase

    escaped = pattern.replace("[", "[[]").replace("?", "[?]")
    return any(fnmatchcase(name, escaped) for name in names)


def _check_word(name: str, value: str, words: Sequence[str]) -> None:
    if value not in words:
        from anyhook.model.suggest import did_you_mean

        hint = did_you_mean(str(value), words) or f"it is one of {', '.join(words)}"
        raise UsageError(f"{name}={value!r}: {hint}")
