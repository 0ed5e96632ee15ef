"""Hooks as they are configured: definitions, their handlers, and where they came from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyhook.model.text import printable
from anyhook.shell.labels import command_label, words_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.model.diagnostics import Place
    from anyhook.model.layers import Layer

NAME_WIDTH = 60
"""Longer labels are cut to this many characters."""
_ODD = re.compile(r"[\s\\]")
"""What no host holds: then the URL is not what it looks like."""
LABELS = ("url", "server", "tool", "prompt")
"""Options that stand in for the name of a handler that is no command."""


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """One handler of a definition.

    Attributes:
        kind: What runs it: a key of `anyhook.handlers.base.KINDS`.
        layer: The layer of its definition.
        place: Where it was written.
        name: Its name, if it has one.
        command: A command line for the shell.
        argv: A command that needs no shell: the program and its arguments.
        function: A Python callable that takes the event.
        threaded: Run a plain (not async) function in a worker thread.
        description: For people.
        timeout: Seconds.
        env: Variables that are added to the command's environment.
        variables: Paths that the command may name like variables (`${extensionPath}`).
        placeholders: What `${name}` in an argument of a program stands for; never in a line for
            the shell.
        forbidden: What no line for the shell may hold.
        origin: The extension or plugin that it belongs to, if it does.
        condition: A rule on the tool call; where it does not hold, the handler does not run.
        on_failure: `continue`, or `block`: then a failure counts as a denial.
        background: Nobody waits for it, and it decides nothing.
        options: What its kind alone knows (`url`, `prompt`, `server`, …), by canonical name.
    """

    kind: str
    layer: Layer
    place: Place
    name: str | None = None
    command: str | None = None
    argv: tuple[str, ...] | None = None
    function: Callable[..., Any] | None = None
    threaded: bool = True
    description: str | None = None
    timeout: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    placeholders: Mapping[str, str] = field(default_factory=dict)
    forbidden: str | None = None
    origin: str | None = None
    condition: str | None = None
    on_failure: str = "continue"
    background: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identifier(self) -> str:
        """What switches a hook off: its name, or the whole command if it has none."""
        if self.name or self.command:
            return self.name or str(self.command)
        if self.argv:
            return " ".join(self.argv)
        said = [str(self.options[key]) for key in LABELS if key in self.options]
        return " ".join(said) or self._function_name()

    @property
    def label(self) -> str:
        """A short name for people; what a URL holds of secrets is not in it.

        The name in the settings; without one the base name of the script, or of the program.
        """
        if self.name:
            shown = self.name
        elif self.argv:
            shown = words_label(self.argv)
        elif self.command:
            shown = command_label(self.command)
        elif "url" in self.options:
            shown = _without_secrets(str(self.options["url"])) or self.kind
        else:
            shown = self.identifier
        text = printable(" ".join(shown.split())) or self.kind
        return text if len(text) <= NAME_WIDTH else text[: NAME_WIDTH - 1] + "…"

    @property
    def shown_identifier(self) -> str:
        """The identifier as it may be shown: the label if the identifier is a URL."""
        return self.label if self._is_known_by_url() else self.identifier

    @property
    def identity(self) -> tuple[object, ...]:
        """Handlers with equal identities do the same; one of them runs."""
        what = self.function if self.function is not None else (self.argv or self.command)
        options = repr(sorted(self.options.items())) if self.options else ""
        more = (self.condition, self.on_failure, self.background, options)
        return (self.kind, self.name, what, frozenset(self.env.items()), self.origin, *more)

    def _is_known_by_url(self) -> bool:
        return not (self.name or self.command or self.argv) and "url" in self.options

    def _function_name(self) -> str:
        return getattr(self.function, "__qualname__", None) or repr(self.function)


def _without_secrets(url: str) -> str | None:
    """Return scheme, host, port and path of a URL; `None` if a part may be some other part."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    rest = f"{parts.path}{parts.query}{parts.fragment}"
    if not parts.scheme or not host or "@" in rest or _ODD.search(host):
        return None
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path}"


@dataclass(frozen=True, slots=True)
class HookDefinition:
    """A matcher and its handlers, as configured.

    Attributes:
        event: Canonical name of the event.
        layer: Where it came from.
        place: Where it was written.
        matcher: Pattern on the event's subject; `None` matches all.
        sequential: Its handlers run in order, each seeing what the one before changed.
        handlers: At least one.
    """

    event: str
    layer: Layer
    place: Place
    matcher: str | None
    sequential: bool
    handlers: tuple[HandlerSpec, ...]


def unique_labels(handlers: Iterable[HandlerSpec]) -> dict[int, str]:
    """Return a label for every handler that no handler of another name or command has.

    Of several scripts with one name, the second one is `guard.py#2`.

    Args:
        handlers: All handlers, in the order of a plan.

    Returns:
        The `id` of a handler to its label.
    """
    identifiers: dict[str, list[str]] = {}
    labels: dict[int, str] = {}
    for handler in handlers:
        same_label = identifiers.setdefault(handler.label, [])
        if handler.identifier not in same_label:
            same_label.append(handler.identifier)
        number = same_label.index(handler.identifier) + 1
        labels[id(handler)] = f"{handler.label}#{number}" if number > 1 else handler.label
    return labels
