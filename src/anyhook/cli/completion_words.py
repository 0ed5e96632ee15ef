"""The words that a shell offers: `anyhook --complete SHELL WORD…`, without the commands.

A shell calls it at every press of the key, so that it imports neither `typer` nor a command. It
reads a table that is made from them (`tools/completion.py`); only hooks and sessions are looked up.
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

    from anyhook.model.definitions import HandlerSpec

TABLE = Path(__file__).with_name("completion_table.json")
CACHE = "completion.json"
"""File in the user's data directory with the names of hooks of recent projects."""
CACHE_SECONDS = 600.0
"""Age at which names are read again, also if no file changed."""
MAX_PROJECTS = 20
MAX_SESSIONS = 30
FIXED_WORDS = {
    "scope": ("project", "local", "user"),
    "rules": ("documented", "observed"),
}
"""Kinds of values to their words, where these need no look-up."""

Words = list[tuple[str, str]]
"""Words with a help; it may be empty."""


def main(arguments: list[str]) -> int:
    """Print the words for a command line.

    Args:
        arguments: The shell, and the words behind `anyhook`; the last one is incomplete. For bash,
            the command line up to the cursor in one word instead.

    Returns:
        The exit code, which is always 0: a shell must not show an error here.
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
    """Return the words that may stand for the last one.

    Args:
        words: The words behind `anyhook`; the last one is incomplete.
    """
    table = json.loads(TABLE.read_bytes())
    *before, last = words or [""]
    line = _read_line(table["root"], before)
    if line.waiting is not None:
        return _of_kind(table, line.waiting, line, last)
    if last.startswith("-"):
        return _complete_option(table, line, last)
    commands = line.command["commands"]
    if commands and not line.count:
        return _matching([(name, command["help"]) for name, command in commands.items()], last)
    argument = _next_argument(line)
    if argument is None:
        return []
    return _of_kind(table, argument["kind"], line, last)


def _complete_option(table: dict[str, Any], line: _Line, last: str) -> Words:
    """Return the options that a word may be, or its values if it is `--option=VALUE`."""
    name, equals, value = last.partition("=")
    if not equals:
        return _matching(_options(line), last)
    kind = _kind_of_option(line.command, name)
    return [(f"{name}={word}", text) for word, text in _of_kind(table, kind, line, value)]


def _next_argument(line: _Line) -> dict[str, Any] | None:
    """Return the positional argument that the next word is; `None` if the command has no more."""
    arguments: list[dict[str, Any]] = line.command["arguments"]
    if line.count < len(arguments):
        return arguments[line.count]
    if arguments and arguments[-1]["repeats"]:
        return arguments[-1]
    return None


# -- the command line


class _Line:
    """What the words before the last one mean.

    Attributes:
        command: The command in the table.
        count: Number of its positional arguments so far.
        values: Its options to their values.
        words: Its positional arguments.
        waiting: The kind of the value that an option expects next; `None` if none does.
    """

    def __init__(self, command: dict[str, Any]) -> None:
        self.command = command
        self.count = 0
        self.values: dict[str, str] = {}
        self.words: list[str] = []
        self.waiting: Any = None


def _read_line(root: dict[str, Any], words: list[str]) -> _Line:
    line = _Line(root)
    name = ""
    for word in words:
        if line.waiting is not None:
            line.values[name] = word
            line.waiting = None
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            line.values[name] = value
            if not equals:
                line.waiting = _kind_of_option(line.command, name)
        elif not line.count and word in line.command["commands"]:
            line.command = line.command["commands"][word]
        else:
            line.count += 1
            line.words.append(word)
    return line


def _kind_of_option(command: dict[str, Any], name: str) -> Any:
    """Return the kind of an option's value; `None` if it has none."""
    for option in command["options"]:
        if name in option["names"]:
            return option.get("kind")
    return None


def _options(line: _Line) -> Words:
    words: Words = []
    for option in line.command["options"]:
        is_given = any(name in line.values for name in option["names"])
        if is_given and not option["repeats"]:
            continue
        long_names = [name for name in option["names"] if name.startswith("--")]
        words += [(name, option["help"]) for name in long_names]
    return words


# -- the words of a kind


def _of_kind(table: dict[str, Any], kind: Any, line: _Line, last: str) -> Words:
    return _matching(_words_of_kind(table, kind, line, last), last)


def _words_of_kind(table: dict[str, Any], kind: Any, line: _Line, last: str) -> Words:
    """Return all words of a kind, also those that do not begin with what is typed.

    Args:
        table: The table of commands, events and tools.
        kind: A list of words, or the name of a kind; another name has no words, so that a shell
            completes names of files.
        line: The words before the last one.
        last: What is typed of the last word.
    """
    agent = line.values.get("--agent", "")
    if kind == "event":
        words = _of_agents(table["events"], agent)
        # The canonical names are as many again, so they are offered to those who began one.
        if last:
            words += _without_help(table["canonical events"])
        return words
    if kind == "tool":
        return _of_agents(table["tools"], agent)
    if kind == "hook":
        return _hooks(line.values, agent)
    if kind == "session":
        return _sessions(agent)
    if isinstance(kind, list):
        return _without_help(kind)
    if kind == "agent":
        return _without_help(table["events"])
    if kind in ("canonical event", "canonical tool"):
        return _without_help(table[f"{kind}s"])
    if kind == "outcome":
        from anyhook.history.verdicts import NO_VERDICT, VERDICTS

        return _without_help((*VERDICTS, NO_VERDICT))
    return _without_help(FIXED_WORDS.get(kind, ()))


def _without_help(words: Iterable[str]) -> Words:
    return [(word, "") for word in words]


def _of_agents(names_by_agent: dict[str, list[str]], agent: str) -> Words:
    """Return the names of an agent, or of all of them with the agents that have each."""
    if agent:
        return _without_help(dict.fromkeys(names_by_agent.get(agent, ())))
    owners_by_name: dict[str, list[str]] = {}
    for owner, names in names_by_agent.items():
        for name in names:
            owners_by_name.setdefault(name, []).append(owner)
    return [(name, ", ".join(owners)) for name, owners in owners_by_name.items()]


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
    """Return the names of the hooks of the project; they are read again if a file changed."""
    from anyhook.files import data_path

    directory = options.get("--project") or options.get("-C") or "."
    key = os.path.realpath(os.path.expanduser(directory))
    file = Path(data_path()) / CACHE
    cache = _read_cache(file)
    entry = cache.get(key)
    if entry is None or not _is_current(entry):
        entry = _read_hooks(key)
        # The entry written last is the last one; the oldest make room for it.
        cache.pop(key, None)
        recent = list(cache.items())[1 - MAX_PROJECTS :]
        _write(file, {**dict(recent), key: entry})
    return [(name, owner) for owner, name in entry["hooks"] if agent in ("", owner)]


def _read_cache(file: Path) -> dict[str, Any]:
    try:
        cache = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(cache, dict):
        return {}
    is_valid = all(isinstance(entry, dict) for entry in cache.values())
    return cache if is_valid else {}


def _is_current(entry: dict[str, Any]) -> bool:
    if not 0 <= time.time() - entry["time"] < CACHE_SECONDS:
        return False
    return all(_stamp(path) == stamp for path, stamp in entry["stamps"].items())


def _stamp(path: str) -> list[int] | None:
    """Return what changes with a file; `None` if it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def _read_hooks(directory: str) -> dict[str, Any]:
    from anyhook.agents import AGENTS, get_agent
    from anyhook.model.definitions import unique_labels
    from anyhook.settings.detect import find_project
    from anyhook.settings.hookset import load_hooks
    from anyhook.settings.kept import kept_hooks
    from anyhook.settings.sources import Location

    project = find_project(directory)
    stamps: dict[str, list[int] | None] = {}
    names: list[tuple[str, str]] = []
    now = time.time()
    for name in AGENTS:
        agent = get_agent(name)
        hooks = load_hooks(agent, Location.of(project, home_variable=agent.home_variable))
        for stamp in hooks.stamps:
            path = str(stamp.path)
            stamps[path] = _stamp(path)
        handlers: list[HandlerSpec] = []
        for definition in hooks.definitions:
            handlers += definition.handlers
        handlers += [kept.handler for kept in kept_hooks(agent, hooks.files)]
        labels = dict.fromkeys(unique_labels(handlers).values())
        names += [(name, label) for label in labels]
    return {"time": now, "stamps": stamps, "hooks": names}


def _write(file: Path, content: dict[str, Any]) -> None:
    from anyhook.atomic_write import replace_file

    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, json.dumps(content).encode(), mode=0o600)


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
        escaped = [(_escape_colons(word), text) for word, text in words]
        return _join_help(escaped, ":")
    if shell == "fish":
        return _join_help(words, "\t")
    # bash takes a word apart at colons and equals signs, and completes the last part.
    start = max(last.rfind(":"), last.rfind("=")) + 1
    return [word[start:] for word, _ in words]


def _escape_colons(word: str) -> str:
    return word.replace("\\", "\\\\").replace(":", "\\:")


def _join_help(words: Words, separator: str) -> list[str]:
    return [f"{word}{separator}{text}" if text else word for word, text in words]
