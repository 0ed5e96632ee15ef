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

    Args:
        engine: Has the hooks.
        tools: The host's tools.
        framework_tools: Tools that the framework adds by itself; they are not checked.
        messages: Receives the messages.
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
        self._framework_tools = framework_tools
        self._messages = messages
        self._offered: set[str] = set()

    def offer(
        self, names: Iterable[str], arguments_of: Callable[[str], Collection[str]] = lambda _: ()
    ) -> None:
        """Check the tools that a model may call, before it is asked for the first time.

        Args:
            names: The host's tools; those that were offered before cost a look-up.
            arguments_of: Returns the names of a tool's arguments, empty if they are not known.

        Raises:
            RequiredHooksError: If hooks are required and one of the tools escapes them.
        """
        new_names = [name for name in names if name not in self._offered]
        if not new_names:
            return
        for name in new_names:
            arguments = arguments_of(name)
            self._check_declared_arguments(name, arguments)
            self.check(name, arguments)
        self._check_declared_names(new_names)
        self._offered.update(new_names)

    def check(self, name: str, arguments: Collection[str]) -> None:
        """Report a tool that no hook applies to, once.

        Args:
            name: The host's tool.
            arguments: The names of its arguments.

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

    def _check_declared_arguments(self, name: str, arguments: Collection[str]) -> None:
        """Report the arguments in `tools=` that a tool does not have."""
        if not arguments:
            return
        for argument in self._tools.renamed_arguments(name):
            if argument not in arguments:
                hint = did_you_mean(argument, arguments) or f"it has {', '.join(arguments)}"
                text = (
                    f"tools= names the argument {printable(argument)!r} of {printable(name)!r}, "
                    f"which does not exist; {printable(hint)}"
                )
                self._unmatched.report_slip(text, self._tools.shown_name(name), self._messages)

    def _check_declared_names(self, names: Collection[str]) -> None:
        """Report the names in `tools=` that are nearly the name of a tool that is not there.

        Another agent of the program may have a tool of any other name.
        """
        undeclared = [name for name in names if not self._tools.is_declared(name)]
        for name in self._tools.declared:
            similar = closest(name, undeclared)
            if name not in names and name not in self._offered and similar is not None:
                text = (
                    f"tools= names {printable(name)!r}, which is not a tool of this agent; did you "
                    f"mean {printable(similar)!r}?"
                )
                self._unmatched.report_slip(text, self._tools.shown_name(name), self._messages)
