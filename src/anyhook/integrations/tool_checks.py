"""Checks whether hooks apply to the tools of a host, when they are offered and when called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.engine.unmatched_tools import ProgramTool
from anyhook.model.suggest import closest, did_you_mean
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from anyhook.engine.engine import Engine
    from anyhook.engine.messages import MessageChannel
    from anyhook.integrations.host_tools import HostTools


class ToolChecks:
    """Reports the tools of a host that no hook applies to, and slips in `tools=`.

    Tools that the framework adds by itself are not checked.
    """

    def __init__(
        self,
        engine: Engine,
        tools: HostTools,
        framework_tools: Collection[str],
        messages: MessageChannel,
    ) -> None:
        self._unmatched = engine.unmatched_tools
        self._tools = tools
        self._framework_tools = set(framework_tools)
        self._messages = messages
        self._offered: set[str] = set()

    def offer(
        self, names: Iterable[str], arguments_of: Callable[[str], Collection[str]] = lambda _: ()
    ) -> None:
        """Check the tools that a model may call, before it is asked for the first time.

        Names that were offered before cost a look-up. The names of a tool's arguments are empty if
        they are not known.

        Raises:
            RequiredHooksError: If hooks are required and one of the tools escapes them.
        """
        new_names = [name for name in names if name not in self._offered]
        if not new_names:
            return
        for name in new_names:
            arguments = arguments_of(name)
            renamed = self._tools.renamed_arguments(name) if arguments else ()
            for argument in renamed:
                if argument not in arguments:
                    hint = did_you_mean(argument, arguments) or f"it has {', '.join(arguments)}"
                    subject = f"{printable(argument)!r} of {printable(name)!r}"
                    problem = f"which does not exist; {printable(hint)}"
                    text = f"tools= names the argument {subject}, {problem}"
                    self._unmatched.report_slip(text, self._tools.shown_name(name), self._messages)
            self.check(name, arguments)
        # Only what is nearly the name of a tool that is not there: another agent of the program may
        # have a tool of any other name.
        undeclared = [name for name in new_names if not self._tools.is_declared(name)]
        for name in self._tools.declared:
            similar = closest(name, undeclared)
            if name not in new_names and name not in self._offered and similar is not None:
                text = (
                    f"tools= names {printable(name)!r}, which is not a tool of this agent; did you "
                    f"mean {printable(similar)!r}?"
                )
                self._unmatched.report_slip(text, self._tools.shown_name(name), self._messages)
        self._offered.update(new_names)

    def exempt(self, name: str) -> None:
        """Let a tool of the framework go unchecked whose name is known only during the run."""
        self._framework_tools.add(name)

    def check(self, name: str, arguments: Collection[str]) -> None:
        """Report a tool that no hook applies to, once.

        Raises:
            RequiredHooksError: If hooks are required and the tool escapes them.
        """
        shown_name = self._tools.shown_name(name)
        if self._unmatched.is_checked(name, shown_name):
            return
        if name in self._framework_tools or self._tools.is_exempt(name):
            return
        call = self._tools.canonical_call(name, dict.fromkeys(arguments))
        tool = ProgramTool(
            name=name,
            shown_name=shown_name,
            canonical=call.tool,
            arguments=tuple(call.arguments),
            renamed=self._tools.renamed_arguments(name),
            has_options=True,
        )
        self._unmatched.check(tool, self._messages)
