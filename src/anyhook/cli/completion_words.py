"""The words that a shell offers: `anyhook --complete SHELL WORD…`, without the commands.

A shell calls it at every press of the key, so that it imports neither `typer` nor a command. It
reads a table of the options that is made from them (`tools/completion.py`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE = Path(__file__).with_name("completion_table.json")
REPEATS = "*"
"""The end of the kind of an option or argument that may be given several times."""
COMMANDS_OF_THE_HISTORY = frozenset({"history", "backtest"})
"""Commands whose events and tools have canonical names."""
MAX_SESSIONS = 30
FIXED_WORDS = {
    "scope": ("project", "local", "user"),
    "rules": ("documented", "observed"),
}
"""Kinds of values to their words, where these need no look-up."""

Words = list[tuple[str, str]]
"""Words with a help; it may be empty."""


def main(arguments: list[str]) -> int:
    """Print the words for a command line; the exit code is 0, as a shell must not show an error.

    The arguments are the shell, and the words behind `anyhook`, of which the last one is
    incomplete; for bash, the command line up to the cursor in one word.
    """
    # Whatever goes wrong: a shell shows nothing, and completes names of files.
    with suppress(Exception):
        shell, *words = arguments
        if shell == "bash":
            words = _split(words[0])
        elif shell == "fish":
            words[-1] = _unquote(words[-1])
        last = words[-1] if words else ""
        lines = _format(shell, complete(words), last)
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.flush()
    return 0


def complete(words: list[str]) -> Words:
    """Return the words that may stand for the last one, which is incomplete, behind `anyhook`."""
    table = json.loads(TABLE.read_bytes())
    *before, last = words or [""]
    line = _Line(table, before)
    if line.waiting is not None:
        return _of_kind(line.waiting, line, last)
    name, equals, value = last.partition("=")
    if equals and name in line.options:
        kind = line.options[name] or ""
        return [(f"{name}={word}", text) for word, text in _of_kind(kind, line, value)]
    if last.startswith("-"):
        return _matching(_without_help(line.free_options()), last)
    commands = line.commands(table)
    if commands and not line.words:
        return _matching(commands, last)
    return _of_kind(line.next_argument(), line, last)


class _Line:
    """What the words before the last one mean.

    Attributes:
        command: The words of the command, `history show`; empty without one.
        options: The options of the command; their kind, `None` for those without a value.
        arguments: The kinds of its positional arguments.
        values: The options so far, with their values.
        words: The positional arguments so far.
        waiting: The kind of the value that an option expects next; `None` if none does.
    """

    def __init__(self, table: dict[str, Any], words: list[str]) -> None:
        self.command = ""
        self.values: dict[str, str] = {}
        self.words: list[str] = []
        self.waiting: str | None = None
        self._choose(table, "")
        name = ""
        for word in words:
            command = f"{self.command} {word}".strip()
            if self.waiting is not None:
                self.values[name] = word
                self.waiting = None
            elif word.startswith("-"):
                name, equals, value = word.partition("=")
                self.values[name] = value
                self.waiting = None if equals else self.options.get(name)
            elif not self.words and command in table:
                self._choose(table, command)
            else:
                self.words.append(word)

    def _choose(self, table: dict[str, Any], command: str) -> None:
        self.command = command
        self.options: dict[str, str | None] = table[command]["options"]
        self.arguments: list[str] = table[command]["arguments"]

    def commands(self, table: dict[str, Any]) -> Words:
        """Return the commands of the command with their help."""
        start = f"{self.command} ".lstrip()
        below = [name for name in table if name.startswith(start) and name != self.command]
        names = [name for name in below if " " not in name.removeprefix(start)]
        return [(name.removeprefix(start), table[name]["help"]) for name in names]

    def free_options(self) -> list[str]:
        """Return the options that may follow."""
        names: list[str] = []
        for name, kind in self.options.items():
            is_free = name not in self.values or (kind or "").endswith(REPEATS)
            if name.startswith("--") and is_free:
                names.append(name)
        return names

    def next_argument(self) -> str:
        """Return the kind of the next positional argument; empty if there is none."""
        number = len(self.words)
        if number < len(self.arguments):
            return self.arguments[number]
        last = self.arguments[-1] if self.arguments else ""
        return last if last.endswith(REPEATS) else ""


# -- the words of a kind


def _of_kind(kind: str, line: _Line, last: str) -> Words:
    return _matching(_words_of_kind(kind.removesuffix(REPEATS), line, last), last)


def _words_of_kind(kind: str, line: _Line, last: str) -> Words:
    """Return all words of a kind, also those that do not begin with what is typed.

    A kind is words with `|` between them, or a name; another name has no words, so that a shell
    completes names of files.
    """
    agent = line.values.get("--agent", "")
    if kind == "hook":
        return _hooks(line.values, agent)
    if kind == "guard":
        from anyhook.manage.guard_files import all_guards

        return [(guard.name, guard.summary) for guard in all_guards().values()]
    if kind == "session":
        return _sessions(agent)
    if kind == "call":
        from anyhook.trust.approvals import Approvals

        approvals = Approvals()
        calls = approvals.waiting()
        if "--revoke" in line.values:
            calls = [approval.call for approval in approvals.granted()]
        return [(call.id, f"{call.tool} {call.arguments}") for call in calls]
    if kind in ("event", "tool"):
        is_of_history = line.command.split()[0] in COMMANDS_OF_THE_HISTORY
        return _canonical(kind) if is_of_history else _of_agents(kind, agent, last)
    if kind == "agent":
        from anyhook.agents import AGENTS

        return _without_help(AGENTS)
    if kind == "outcome":
        from anyhook.history.verdicts import NO_VERDICT, VERDICTS

        return _without_help((*VERDICTS, NO_VERDICT))
    words = kind.split("|") if "|" in kind else FIXED_WORDS.get(kind, ())
    return _without_help(words)


def _without_help(words: Iterable[str]) -> Words:
    return [(word, "") for word in words]


def _canonical(kind: str) -> Words:
    """Return the canonical names of events or tools."""
    from anyhook.agents import AGENTS, get_agent

    names: dict[str, None] = {}
    for agent in map(get_agent, AGENTS):
        words = agent.by_canonical if kind == "event" else agent.vocabulary.tools
        names.update(dict.fromkeys(words))
    return _without_help(names)


def _of_agents(kind: str, agent: str, last: str) -> Words:
    """Return the names of events or tools of an agent, or of all with the agents that have each."""
    from anyhook.agents import AGENTS, get_agent

    owners: dict[str, list[str]] = {}
    for name in AGENTS:
        if agent not in ("", name):
            continue
        spec = get_agent(name)
        words_of_agent = spec.by_wire if kind == "event" else spec.tools
        for word in words_of_agent:
            owners.setdefault(word, []).append(name)
    words: Words = []
    for word, names in owners.items():
        owner = "" if agent else ", ".join(names)
        words.append((word, owner))
    # The canonical names are as many again, so they are offered to those who began one.
    if last and kind == "event":
        words += _canonical(kind)
    return words


def _matching(words: Words, last: str) -> Words:
    """Return the words that begin with what is typed, each once.

    Words come from files of strangers: one that is not plain text on one line is left out.
    """
    matching: dict[str, str] = {}
    for word, text in words:
        if not word.startswith(last) or not word.isprintable():
            continue
        matching.setdefault(word, text if text.isprintable() else "")
    return list(matching.items())


def _hooks(options: dict[str, str], agent: str) -> Words:
    """Return the names of the hooks of the project."""
    from anyhook.agents import AGENTS, get_agent
    from anyhook.model.definitions import handlers_of, unique_labels
    from anyhook.settings.detect import find_project
    from anyhook.settings.hookset import load_hook_set
    from anyhook.settings.kept import kept_hooks
    from anyhook.settings.sources import Location

    directory = options.get("--project") or options.get("-C") or "."
    project = find_project(os.path.expanduser(directory))
    words: Words = []
    names = [agent] if agent else AGENTS
    for spec in map(get_agent, names):
        hooks = load_hook_set(spec, Location.of(project, spec))
        kept = [hook.handler for hook in kept_hooks(spec, hooks.files)]
        handlers = [*handlers_of(hooks.definitions), *kept]
        words += [(label, spec.name) for label in unique_labels(handlers).values()]
    return words


def _sessions(agent: str) -> Words:
    """Return the newest sessions of the history, which is only read."""
    from anyhook.history.sessions import sessions
    from anyhook.history.store import History

    words: Words = [("last", "the newest session")]
    history = History.open_to_read()
    if history is None:
        return words
    with history:
        for session in sessions(history, agent=agent, limit=MAX_SESSIONS):
            moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.started))
            project = os.path.basename(session.project)
            words.append((session.session, f"{moment}  {session.agent}  {project}"))
    return words


# -- the shells


def _split(line: str) -> list[str]:
    """Split a command line up to the cursor as a shell does, also within quotes."""
    import shlex

    for closing in ("", '"', "'", "\\"):
        try:
            words = shlex.split(line + closing)[1:]
        except ValueError:
            continue
        # Behind an unquoted space a new word begins, of which nothing is typed yet.
        ends_word = line[-1:].isspace() and not line.endswith("\\ ")
        if ends_word and not closing:
            words.append("")
        return words
    return []


def _unquote(word: str) -> str:
    """Return a word that is being typed without its quotes and backslashes."""
    if word[:1] in ("'", '"'):
        return word[1:]
    text = ""
    is_escaped = False
    for character in word:
        is_escaped = character == "\\" and not is_escaped
        if not is_escaped:
            text += character
    return text


def _format(shell: str, words: Words, last: str) -> list[str]:
    if shell == "zsh":
        # Colons separate a word from its help.
        escaped = [(word.replace("\\", "\\\\").replace(":", "\\:"), text) for word, text in words]
        return _join_help(escaped, ":")
    if shell == "fish":
        return _join_help(words, "\t")
    # bash takes a word apart at colons and equals signs, and completes the last part.
    start = max(last.rfind(":"), last.rfind("=")) + 1
    return [word[start:] for word, _ in words]


def _join_help(words: Words, separator: str) -> list[str]:
    lines: list[str] = []
    for word, text in words:
        end = f"{separator}{text}" if text else ""
        lines.append(word + end)
    return lines
