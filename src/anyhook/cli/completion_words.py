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
from typing import Any

TABLE = Path(__file__).with_name("completion_table.json")
CACHE = "completion.json"
"""File in the user's data directory with the names of hooks of recent projects."""
CACHE_SECONDS = 600.0
"""Age at which names are read again, also if no file changed."""
MAX_PROJECTS = 20
MAX_SESSIONS = 30
OUTCOMES = ("deny", "ask", "allow", "defer", "stop", "none")
SCOPES = ("project", "local", "user")
RULES = ("documented", "observed")

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
        shell, words = arguments[0], arguments[1:]
        if shell == "bash":
            words = _split(words[0])
        elif shell == "fish":
            words[-1] = _unquote(words[-1])
        lines = _format(shell, complete(words), words[-1] if words else "")
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
        name, equals, value = last.partition("=")
        if equals:
            kind = _kind_of_option(line.command, name)
            return [(f"{name}={word}", text) for word, text in _of_kind(table, kind, line, value)]
        return _matching(_options(line), last)
    if line.command["commands"] and not line.count:
        commands = [(name, item["help"]) for name, item in line.command["commands"].items()]
        return _matching(commands, last)
    arguments = line.command["arguments"]
    if not arguments:
        return []
    index = min(line.count, len(arguments) - 1)
    if line.count > index and not arguments[index]["repeats"]:
        return []
    return _of_kind(table, arguments[index]["kind"], line, last)


# -- the command line


class _Line:
    """What the words before the last one mean."""

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
            kind = _kind_of_option(line.command, name)
            line.waiting = None if equals else kind
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
        if not is_given or option["repeats"]:
            words += [(name, option["help"]) for name in option["names"] if name[:2] == "--"]
    return words


# -- the words of a kind


def _of_kind(table: dict[str, Any], kind: Any, line: _Line, last: str) -> Words:
    agent = line.values.get("--agent", "")
    if isinstance(kind, list):
        words: Words = [(word, "") for word in kind]
    elif kind == "agent":
        words = [(name, "") for name in table["events"]]
    elif kind == "event":
        words = _of_agents(table["events"], agent)
        words += [(name, "") for name in table["canonical events"] if last]
    elif kind == "tool":
        words = _of_agents(table["tools"], agent)
    elif kind in ("canonical event", "canonical tool"):
        words = [(name, "") for name in table[f"{kind}s"]]
    elif kind == "hook":
        words = _hooks(line.values, agent)
    elif kind == "session":
        words = _sessions(agent)
    else:
        fixed = {"outcome": OUTCOMES, "scope": SCOPES, "rules": RULES}.get(kind, ())
        words = [(word, "") for word in fixed]
    return _matching(words, last)


def _of_agents(names_by_agent: dict[str, list[str]], agent: str) -> Words:
    """Return the names of an agent, or of all of them with the agents that have each."""
    agents: dict[str, list[str]] = {}
    for owner, names in names_by_agent.items():
        if agent in ("", owner):
            for name in names:
                agents.setdefault(name, []).append(owner)
    return [(name, "" if agent else ", ".join(owners)) for name, owners in agents.items()]


def _matching(words: Words, last: str) -> Words:
    """Return the words that begin with what is typed, each once.

    Words come from files of strangers: one that is not plain text on one line is left out.
    """
    matching: dict[str, str] = {}
    for word, text in words:
        if word.startswith(last) and word.isprintable():
            matching.setdefault(word, text if text.isprintable() else "")
    return list(matching.items())


def _hooks(options: dict[str, str], agent: str) -> Words:
    """Return the names of the hooks of the project; they are read again if a file changed."""
    from anyhook.files import data_path

    directory = options.get("--project") or options.get("-C") or "."
    key = os.path.realpath(os.path.expanduser(directory))  # noqa: PTH111 - no pathlib needed
    file = Path(data_path()) / CACHE
    cache = _read_cache(file)
    entry = cache.get(key)
    if entry is None or not _is_current(entry):
        entry = _read_hooks(key)
        cache.pop(key, None)
        recent = [*cache.items()][1 - MAX_PROJECTS :]
        _write(file, {**dict(recent), key: entry})
    return [(name, owner) for owner, name in entry["hooks"] if agent in ("", owner)]


def _read_cache(file: Path) -> dict[str, Any]:
    try:
        cache = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    is_whole = isinstance(cache, dict) and all(isinstance(item, dict) for item in cache.values())
    return cache if is_whole else {}


def _is_current(entry: dict[str, Any]) -> bool:
    if not 0 <= time.time() - entry["time"] < CACHE_SECONDS:
        return False
    return all(_stamp(path) == stamp for path, stamp in entry["stamps"].items())


def _stamp(path: str) -> list[int] | None:
    """Return what changes with a file; `None` if it does not exist."""
    try:
        status = os.stat(path)  # noqa: PTH116 - no pathlib needed
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
        handlers = [handler for item in hooks.definitions for handler in item.handlers]
        handlers += [item.handler for item in kept_hooks(agent, hooks.files)]
        labels = unique_labels(handlers).values()
        names += [(name, label) for label in dict.fromkeys(labels)]
    return {"time": now, "stamps": stamps, "hooks": names}


def _write(file: Path, content: dict[str, Any]) -> None:
    from anyhook.atomic_write import replace_file

    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, json.dumps(content).encode(), mode=0o600)


def _sessions(agent: str) -> Words:
    """Return the newest sessions of the history, which is only read."""
    import sqlite3
    from urllib.parse import quote

    from anyhook.history.journal import history_directory

    address = f"file:{quote(history_directory())}/history.sqlite?mode=ro"
    words: Words = [("last", "the newest session")]
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(address, uri=True, timeout=0.1)
        rows = connection.execute(
            "SELECT session, agent, started, project FROM sessions"
            " WHERE (? = '' OR agent = ?) ORDER BY ended DESC LIMIT ?",
            (agent, agent, MAX_SESSIONS),
        ).fetchall()
        connection.close()
        for session, owner, started, project in rows:
            moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(started))
            words.append((session, f"{moment}  {owner}  {os.path.basename(project)}"))  # noqa: PTH119
    return words


# -- the shells


def _split(line: str) -> list[str]:
    """Split a command line up to the cursor as a shell does, also within quotes."""
    import shlex

    for closing in ("", '"', "'", "\\"):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        is_open = bool(closing) or not line[-1:].isspace() or line.endswith("\\ ")
        return words[1:] if is_open else [*words[1:], ""]
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
        return [f"{word}:{text}" if text else word for word, text in escaped]
    if shell == "fish":
        return [f"{word}\t{text}" if text else word for word, text in words]
    # bash takes a word apart at colons and equals signs, and completes the last part.
    start = max(last.rfind(":"), last.rfind("=")) + 1
    return [word[start:] for word, _ in words]
