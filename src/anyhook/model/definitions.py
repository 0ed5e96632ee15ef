"""Configured hooks: definitions and their handlers, with the place of each."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyhook.model.record import EMPTY, Record
from anyhook.model.text import cut, printable
from anyhook.shell.labels import command_label, words_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from anyhook.model.diagnostics import Place
    from anyhook.model.layers import Layer

MAX_LABEL_WIDTH = 60
"""Characters of a label; a longer one is cut."""
MIN_MARK_LENGTH = 4
"""Characters that distinguish hooks with one label."""
_NOT_IN_HOSTS = re.compile(r"[\s\\]")
"""Characters that no host name has; a URL with one may be read differently by other programs."""
LABELS = ("url", "server", "tool", "prompt")
"""Options that name a handler which is not a command."""


class HandlerSpec(Record, kw_only=False):
    """One handler of a definition.

    Attributes:
        kind: Kind of handler, a key of `anyhook.handlers.kinds.KINDS`.
        layer: The layer of its definition.
        place: Position in its file.
        name: Its name, if it has one.
        command: A command line for the shell.
        argv: A program with its arguments, run without a shell.
        function: A Python function that takes the event.
        threaded: Run a plain (not async) function in a thread.
        description: Text for people.
        timeout: Seconds.
        env: Variables that are added to the command's environment.
        cwd: Absolute path of the directory in which the command runs; `None` for the event's.
        variables: Name to value of the path variables that the command may use
            (`${extensionPath}`).
        placeholders: Name to the value of `${name}` in an argument of a program; never replaced in
            a command line for the shell.
        forbidden: Text that a command line for the shell must not contain.
        origin: The extension or plugin that it belongs to, if any.
        condition: A permission rule; the handler runs only on tool calls that it covers.
        on_failure: `continue`, or `block`: a failure denies.
        background: Run it without waiting for it; it cannot decide anything.
        options: Fields of its kind (`url`, `prompt`, `server`, …), by canonical name.
        matcher: A pattern of its own, which has to match as well as that of its definition.
        form: The form of its agent that it was written for (`AgentSpec.forms`).
        path: Keys and indexes of the handler in its settings file.
        shadow: Whether it runs without deciding: its answer is recorded and does not count.
        hook_file: Path of the hook file whose function it is. The functions of a file run by the
            rules of the file, whatever the agent does (`anyhook.engine.run`).
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
    env: Mapping[str, str] = EMPTY
    cwd: str | None = None
    variables: Mapping[str, str] = EMPTY
    placeholders: Mapping[str, str] = EMPTY
    forbidden: str | None = None
    origin: str | None = None
    condition: str | None = None
    on_failure: str = "continue"
    background: bool = False
    options: Mapping[str, Any] = EMPTY
    matcher: str | None = None
    form: str = ""
    path: tuple[str | int, ...] = ()
    shadow: bool = False
    hook_file: str = ""

    @property
    def identifier(self) -> str:
        """The text by which settings switch the hook off: its name, else the whole command."""
        if self.name or self.command:
            return self.name or str(self.command)
        if self.argv:
            return " ".join(self.argv)
        parts = [str(self.options[key]) for key in LABELS if key in self.options]
        name = getattr(self.function, "__qualname__", None)
        return " ".join(parts) or name or repr(self.function)

    @property
    def command_line(self) -> str:
        """The command line, or that of a program with its arguments; empty for other kinds."""
        import shlex

        return self.command or shlex.join(self.argv or ())

    @property
    def label(self) -> str:
        """A short name for people, without the secrets of a URL.

        It is the name in the settings, else the base name of the script or of the program.
        """
        if self.name:
            label = self.name
        elif self.argv:
            label = words_label(self.argv)
        elif self.command:
            label = command_label(self.command)
        elif "url" in self.options:
            label = _without_secrets(str(self.options["url"])) or self.kind
        else:
            label = self.identifier
        label = printable(" ".join(label.split())) or self.kind
        return cut(label, MAX_LABEL_WIDTH)

    @property
    def shown_identifier(self) -> str:
        """The identifier, or the label if the identifier is a URL, which may hold secrets."""
        has_text = self.name or self.command or self.argv
        return self.label if not has_text and "url" in self.options else self.identifier

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that handlers with the same effect share; one of them runs."""
        return (
            self.kind,
            self.name,
            (self.argv or self.command) if self.function is None else self.function,
            frozenset(self.env.items()),
            self.origin,
            self.condition,
            self.on_failure,
            self.background,
            self.form,
            self.cwd,
            self.matcher,
            self.shadow,
            repr(sorted(self.options.items())) if self.options else "",
        )


def _without_secrets(url: str) -> str | None:
    """Return scheme, host, port and path of a URL; `None` if its parts are ambiguous."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    rest = f"{parts.path}{parts.query}{parts.fragment}"
    if not parts.scheme or not host or "@" in rest or _NOT_IN_HOSTS.search(host):
        return None
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path}"


class HookDefinition(Record, kw_only=False):
    """A matcher and its handlers.

    Attributes:
        event: Canonical name of the event.
        layer: The layer of its file.
        place: Position in its file.
        matcher: Pattern on the event's subject; `None` matches all.
        sequential: Whether its handlers run in order, and each sees the changes of those before.
        handlers: At least one handler.
        form: The form of its agent that it was written for (`AgentSpec.forms`).
    """

    event: str
    layer: Layer
    place: Place
    matcher: str | None
    sequential: bool
    handlers: tuple[HandlerSpec, ...]
    form: str = ""


def each_handler(
    definitions: Iterable[HookDefinition],
) -> Iterator[tuple[HookDefinition, HandlerSpec]]:
    """Yield the handlers of definitions, each with its definition."""
    for definition in definitions:
        for handler in definition.handlers:
            yield definition, handler


def handlers_of(definitions: Iterable[HookDefinition]) -> list[HandlerSpec]:
    """Return the handlers of definitions."""
    return [handler for _, handler in each_handler(definitions)]


def unique_labels(handlers: Iterable[HandlerSpec]) -> dict[int, str]:
    """Return a label for every handler that no handler of another name or command has.

    Of several scripts with one name each has a mark, `guard.py#3f2a`, which depends on its command
    alone: it stays when another one is added, moved or switched off. The result is the `id` of each
    handler to its label.
    """
    handlers = list(handlers)
    identifiers: dict[str, set[str]] = {}
    for handler in handlers:
        identifiers.setdefault(handler.label, set()).add(handler.identifier)
    marks: dict[str, dict[str, str]] = {}
    for label, texts in identifiers.items():
        if len(texts) == 1:
            marks[label] = dict.fromkeys(texts, "")
            continue
        digests = {text: sha256(text.encode()).hexdigest() for text in texts}
        length = MIN_MARK_LENGTH
        while len({digest[:length] for digest in digests.values()}) < len(digests):
            length += 1
        marks[label] = {text: f"#{digest[:length]}" for text, digest in digests.items()}
    return {
        id(handler): handler.label + marks[handler.label][handler.identifier]
        for handler in handlers
    }
