"""`Hooks`: the functions of one hook file, and what they answer to an event."""

from __future__ import annotations

import sys

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
"""The hook files that are being imported to look at them, and must not run."""


worker: list[Callable[[Hooks, Sequence[str] | None], NoReturn]] = []
"""In a warm worker: takes the hooks of the file that is being loaded instead of running them."""


class HookFunction(Record):
    """One function of a hook file.

    Attributes:
        event: Canonical name of its event.
        subjects: What it is for: tools, sources, reasons, …; empty for everything.
        function: Takes the event.
        name: Its name.
        file: Where it is written.
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
        """Tell whether it is for a subject, which may have several names."""
        if not self.subjects:
            return True
        return any(_fits(pattern, name) for pattern in self.subjects for name in names)


class Example(Record):
    """An event written beside a hook, and what the hook must say to it.

    Attributes:
        event: Canonical name of the event.
        fields: Fields of the event; of tools and arguments, the canonical ones.
        expect: `deny`, `ask`, `allow`, `approve`, `stop`, `defer`, `rewrite`, `context`, `none`,
            or whatever ability must be in the answer.
        says: A text that must be in the answer's reason or context.
        agents: Agents that it is for; empty for all that have the event.
        place: Where it is written, `file:line`.
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
    `mcp__github__*`) or as one agent names them; `*` stands for any characters. Functions run in
    the order in which they are written, each seeing what those before it changed; a denial or a
    stop ends the round.

    Args:
        name: For explanations; by default the name of the file.
        on_crash: `allow` or `deny`: what a function that raises, hangs or answers nonsense means.
        unsupported: `degrade`: what an agent cannot do is done another way and told; `refuse`: it
            counts as a crash.
        timeout: Seconds that a run may take; by default nearly what the agent allows.
        state: What a warm worker keeps between events: `kept`: the module as the last event left
            it; `fresh`: as loading left it, in a process of its own; `cold`: nothing, no worker.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_crash: str = "allow",
        unsupported: str = "degrade",
        timeout: float | None = None,
        state: str = "kept",
    ) -> None:
        _check_word("on_crash", on_crash, ("allow", "deny"))
        _check_word("state", state, ("kept", "fresh", "cold"))
        _check_word("unsupported", unsupported, ("degrade", "refuse"))
        if timeout is not None and not 0 < timeout <= LONGEST:
            raise UsageError(f"timeout must be a positive number of seconds, not {timeout!r}")
        self.on_crash = on_crash
        self.unsupported = unsupported
        self.timeout = timeout
        self.state = state
        self.functions: list[HookFunction] = []
        self.examples: list[Example] = []
        self._name = name

    @property
    def name(self) -> str:
        """Its name: the one that it was given, or that of its file."""
        if self._name or not self.functions:
            return self._name or "hook"
        return self.functions[0].file.replace("\\", "/").rpartition("/")[2]

    if not TYPE_CHECKING:  # a type checker knows the events, and finds a name that is none

        def __getattr__(self, name: str) -> Callable[..., Any]:
            return self._decorator(name)

    def _decorator(self, name: str) -> Callable[..., Any]:
        """Return what registers functions for an event.

        Raises:
            AttributeError: If there is no such event.
        """
        if name.startswith("_") or not is_event(name):
            from anyhook.model.further_events import FURTHER_EVENTS
            from anyhook.model.suggest import did_you_mean

            known = [*EVENTS, *FURTHER_EVENTS]
            hint = did_you_mean(name, known) or f"events: {', '.join(known)}"
            raise AttributeError(f"there is no event {name!r}; {hint}")

        def decorate(*given: Any) -> Any:
            if len(given) == 1 and callable(given[0]):
                return self._add(name, (), given[0])
            return self.on(name, *given)

        return decorate

    def on(self, event: str, *subjects: str) -> Callable[[FunctionT], FunctionT]:
        """Decorate a function that answers an event.

        Args:
            event: Canonical name.
            subjects: What it is for; none for everything.

        Raises:
            UsageError: If there is no such event, or a subject is no text.
        """
        if not is_event(event):
            getattr(self, event if event.isidentifier() else "unknown")  # says what was meant
        wrong = next((subject for subject in subjects if not isinstance(subject, str)), None)
        if wrong is not None:
            raise UsageError(f"{event} takes names, like {event}('shell'), not {wrong!r}")

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
        """Write down an event and what the hook must say to it, for `anyhook test`.

        Args:
            event: Canonical name of the event.
            expect: `deny`, `ask`, `allow`, `approve`, `stop`, `rewrite`, `context`, `none`, …
            says: A text that must be in the answer.
            agents: Agents that it is for; none for all that have the event.
            tool: Canonical name of the tool.
            input: Its arguments, by their canonical names.
            fields: Other fields of the event.

        Raises:
            UsageError: If there is no such event or expectation.
        """
        if not is_event(event):
            raise UsageError(f"there is no event {event!r}")
        _check_word("expect", expect, EXPECTATIONS)
        if tool is not None:
            fields |= {"tool_name": tool, "tool_input": dict(input or {})}
        frame = sys._getframe(1)  # noqa: SLF001 - where the example is written
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
        """Answer an event, without any agent around.

        Args:
            event: What happened.
            agent: The agent that it happened in, which says what a matcher sees; by default
                tools are matched, and nothing else.

        Returns:
            What the functions say together.

        Raises:
            Exception: Whatever a function raises.
        """
        return self.decide(event, agent, finish)

    def decide(
        self, event: Event, agent: AgentSpec | None, call: Callable[[HookFunction, Any], Any]
    ) -> Answer:
        """Answer an event, calling the functions in a way of one's own.

        Args:
            event: What happened.
            agent: The agent that it happened in.
            call: Calls a function and returns what it said.
        """
        names = names_of(event, agent)
        called = [f for f in self.functions if f.event == event.name and f.covers(names)]
        answers: list[Answer] = []
        for number, function in enumerate(called, 1):
            said = checked(function, call(function, event.copy()))  # its own to change
            answers.append(said)
            if said.stop or said.outcome is Outcome.DENY:
                break
            if number < len(called) and said is not NO_OPINION:
                from anyhook.model.sequence import SEQUENCE, advance

                event = advance(SEQUENCE.get(event.name, {}), event, said)
        told = [answer for answer in answers if answer is not NO_OPINION]
        if len(told) < 2:
            return told[0] if told else NO_OPINION
        from anyhook.authoring.sequence import fold

        return fold(told, patches_response=event.name == "after_model")

    def register(self, engine: Host) -> None:
        """Let an `Engine` run the functions, before the hooks of its settings.

        A crash follows `on_crash` here too.
        """
        from anyhook.authoring.register import register

        register(self, engine)

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Be the command of an agent: read an event from standard input, answer, and return.

        Args:
            argv: Arguments; by default the process's. `--agent NAME` says which agent it is,
                `--timeout SECONDS` how long the agent waits.
        """
        if worker:
            worker[-1](self, argv)
        if loading:
            raise UsageError(
                'it runs when it is imported; write `if __name__ == "__main__":` above hooks.run()'
            )
        from anyhook.authoring.run import run

        run(self, sys.argv[1:] if argv is None else argv)


EXPECTATIONS = (
    "none",
    "allow",
    "deny",
    "ask",
    "defer",
    "approve",
    "stop",
    "rewrite",
    "replace_result",
    "context",
    "tell",
    "change_request",
    "respond",
    "filter_tools",
    "clear_context",
    "tail_call",
)
"""What an example may expect."""


WORDS: dict[str, tuple[Outcome, bool]] = {
    "none": (Outcome.NONE, False),
    "allow": (Outcome.ALLOW, False),
    "approve": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
    "ask": (Outcome.ASK, False),
    "defer": (Outcome.DEFER, False),
}
"""Verdicts in words, for answers that were put together from data."""


LONGEST = 7 * 86400.0
"""Seconds; no agent waits longer for a hook, and the clock of a process takes no endless time."""


def is_event(name: str) -> bool:
    """Tell whether functions can be for an event of that name."""
    return event_class(name).name == name != UnknownEvent.name


def sound(said: Answer) -> tuple[Answer, list[str]]:
    """Leave out the fields of an answer that hold something of a wrong type; keep the verdict.

    Returns:
        The rest, and what was left out, for people.
    """
    usable, problems = check_answer(said, WORDS)
    return usable, [f"{problem}; left out" for problem in problems]


def checked(function: HookFunction, said: object) -> Answer:
    """Return what a function said, if it is something that a function may say.

    Raises:
        TypeError: If it is not.
    """
    if said is None:
        return NO_OPINION
    if isinstance(said, Answer):
        if type(said.outcome) is Outcome:
            return said
        if said.outcome in WORDS:
            outcome, approve = WORDS[said.outcome]
            return said.replace(outcome=outcome, approve=said.approve or approve)
        raise TypeError(f"{function.name} answered {said.outcome!r}, which is no verdict")
    raise TypeError(
        f"{function.name} returned {type(said).__name__}; return None for no opinion, or what "
        "allow(), deny(), ask(), context(), event.rewrite(), … give"
    )


def finish(function: HookFunction, event: Any) -> Any:
    """Call a function; one that is async gets an event loop of its own.

    Raises:
        SystemExit: If it exits with another code than 0 (no opinion) and 2 (a denial).
    """
    with StderrRecord() as stderr:
        try:
            return _result_of(function.function(event))
        except SystemExit as end:
            return answer_of_exit(end, function.name, stderr.text)


def _result_of(said: Any) -> Any:
    """Return what a function returned; await it if it is to be awaited."""
    if not hasattr(said, "__await__"):
        return said
    import asyncio
    from contextvars import copy_context

    async def main() -> Any:
        return await said

    if not _has_loop():
        return asyncio.run(main())
    from concurrent.futures import ThreadPoolExecutor  # the loop that runs here is the host's

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(copy_context().run, asyncio.run, main()).result()


def _has_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def names_of(event: Event, agent: AgentSpec | None) -> list[str]:
    """List the names of what a function can be for."""
    tool = getattr(event, "tool_name", None)
    if isinstance(tool, str):
        return [tool, getattr(event, "tool", tool)]
    spec = agent.by_canonical.get(event.name) if agent else None
    subject = getattr(event, spec.subject) if spec and spec.subject else None
    return [subject] if isinstance(subject, str) else []


def _fits(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if "*" not in pattern:
        return False
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


def _check_word(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        from anyhook.model.suggest import did_you_mean

        hint = did_you_mean(str(value), known) or f"it is one of {', '.join(known)}"
        raise UsageError(f"{name}={value!r}: {hint}")
