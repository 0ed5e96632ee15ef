"""`Hooks`: the decorators of one hook file, its examples, and the command that it is."""

from __future__ import annotations

import sys

from anyhook._compat import caller
from anyhook.authoring.functions import HookFunction, HookFunctions, check_word
from anyhook.authoring.process_exit import hold_prints, release_prints
from anyhook.authoring.run import answer_failed_load, run
from anyhook.errors import UsageError
from anyhook.model.event import ToolEvent
from anyhook.model.events import UnknownEvent, all_events, event_class
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, NoReturn, TypeVar

    from anyhook.authoring.decorators import EventDecorators, EventName, Expectation
    from anyhook.authoring.register import Host

    FunctionT = TypeVar("FunctionT", bound=Callable[[Any], Any])
else:
    EventDecorators = object


loading: list[str] = []
"""The hook files that are being imported for inspection; their `run` must not read an event."""

on_run: list[Callable[[Hooks, Sequence[str] | None], NoReturn]] = []
"""In the server of a hook file: what `hooks.run()` does instead of answering one event."""


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


class Hooks(HookFunctions, EventDecorators):
    """The functions of one hook file.

    Every canonical event is a decorator: `@hooks.before_tool("shell")`, `@hooks.before_prompt`,
    `@hooks.subagent_stop("Explore")`. Tools are named canonically (`shell`, `write_file`,
    `mcp__github__*`) or as one agent names them; `*` matches any characters. Functions run in the
    order of the file, and each sees the changes of those before it. A denial or a stop skips the
    rest.

    Args:
        name: Display name; by default the name of the file.
        on_crash: `allow` or `deny`: the verdict if a function raises, runs out of time or returns
            something that is not an answer. `deny` also holds from this line on while the file is
            started: put imports that may fail below it.
        unsupported: `degrade`: an ability that the agent lacks is replaced by the nearest one,
            which is reported; `refuse`: it counts as a crash.
        timeout: Seconds for all functions of an event; by default 90 % of the agent's timeout.
        shadow: Run without deciding: the answer is recorded and kept from the agent.

    Attributes:
        examples: The test cases, as `example` added them.
        families: The kinds of danger that the hooks are for, as `about` named them.

    Raises:
        UsageError: If an argument has no such value.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_crash: Literal["allow", "deny"] = "allow",
        unsupported: Literal["degrade", "refuse"] = "degrade",
        timeout: float | None = None,
        shadow: bool = False,
    ) -> None:
        super().__init__(
            name, on_crash=on_crash, unsupported=unsupported, timeout=timeout, shadow=shadow
        )
        self.examples: list[Example] = []
        self.families: tuple[str, ...] = ()
        self._is_used = False
        main = caller(1).f_globals
        is_started = main.get("__name__") == "__main__" and "__file__" in main
        if is_started and not loading and not on_run:
            hold_prints()
            if on_crash == "deny":
                show = sys.excepthook

                # An exception that ends the file before it runs its functions is a crash of them.
                def end(kind: type[BaseException], error: BaseException, trace: Any) -> None:
                    if isinstance(error, Exception) and not self._is_used:
                        answer_failed_load(self, error)
                    show(kind, error, trace)

                sys.excepthook = end

    # `decorators.pyi` declares the events, so that type checkers report an unknown one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            return self._decorator(name)

    def _decorator(self, name: Any) -> Callable[..., Any]:
        """Return the decorator of an event.

        Raises:
            AttributeError: If the event does not exist.
        """
        if name.startswith("_") or not is_event(name):
            from anyhook.model.suggest import did_you_mean

            known = all_events()
            hint = did_you_mean(name, known) or f"events: {', '.join(known)}"
            raise AttributeError(f"there is no event {name!r}; {hint}")

        def decorate(*arguments: Any) -> Any:
            if len(arguments) == 1 and callable(arguments[0]):
                return self._add(name, (), arguments[0])
            return self.on(name, *arguments)

        return decorate

    def on(self, event: EventName, *subjects: str) -> Callable[[FunctionT], FunctionT]:
        """Decorate a function that answers an event.

        Args:
            event: Canonical name.
            subjects: Names or patterns that the function covers; none for all.

        Raises:
            AttributeError: If the event does not exist.
            UsageError: If a subject is not a string, or is a pattern with more than `*`.
        """
        if not is_event(event):
            self._decorator(event)  # raises, with a suggestion
        is_of_tool = issubclass(event_class(event), ToolEvent)
        for subject in subjects:
            if not isinstance(subject, str):
                raise UsageError(f"{event} takes names, like {event}('shell'), not {subject!r}")
            # A function for a pattern, as in the matchers of agents, or for a permission rule would
            # never run.
            has_signs = not set("^$()[]\\?+ ").isdisjoint(subject)
            is_expression = has_signs or "__.*" in subject or subject == ".*"
            if "|" in subject or (is_of_tool and is_expression):
                raise UsageError(
                    f"{event} takes names, like {event}('shell', 'mcp__github__*'), in which only "
                    f"* is special, not {subject!r}"
                )

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
            UsageError: If the event or the expectation does not exist, or the input is not a
                mapping.
        """
        if not is_event(event):
            raise UsageError(f"there is no event {event!r}")
        check_word("expect", expect, EXPECTATIONS)
        if input is not None and not hasattr(input, "keys"):
            raise UsageError(f'input={input!r}: write a dict, like {{"command": "ls"}}')
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

    def about(self, *, families: Sequence[str]) -> None:
        """Name the kinds of danger that the hooks are for; `anyhook score` measures these.

        Args:
            families: Names like `git`, `secrets`, `production`; `docs/score.md` lists those of the
                set that comes with anyhook. Other sets have others.

        Raises:
            UsageError: If they are not a list of texts.
        """
        are_texts = not isinstance(families, str) and all(isinstance(f, str) for f in families)
        if not are_texts:
            raise UsageError(f'families={families!r}: write a list of texts, like ["git"]')
        self.families = tuple(families)

    def register(self, engine: Host) -> None:
        """Let an `Engine` run the functions, before the hooks of its settings.

        A crash follows `on_crash` here too.
        """
        from anyhook.authoring.register import register

        self._is_used = True
        release_prints()
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
        self._is_used = True
        if on_run:
            on_run[-1](self, argv)
        if loading:
            raise UsageError(
                'it runs when it is imported; write `if __name__ == "__main__":` above hooks.run()'
            )
        run(self, sys.argv[1:] if argv is None else argv)


EXPECTATIONS = tuple(
    "none allow deny ask defer approve stop rewrite replace_result context message change_request "
    "respond filter_tools clear_context tail_call".split()
)
"""What an example may expect."""


def is_event(name: str) -> bool:
    """Return whether a name is the canonical name of an event."""
    return event_class(name).name == name != UnknownEvent.name
