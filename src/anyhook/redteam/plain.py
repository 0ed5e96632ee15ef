"""What a hook denies, in its plain form, and the other ways to write it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.redteam.observing import Act
from anyhook.shell.parser import UnreadableError, parse_command_line

if TYPE_CHECKING:
    import random

_PLAIN_WORD = re.compile(r"[\w./@%+=:,~*?\[\]-]+")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, by canonical names."""

    tool: str
    input: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Spelling:
    """Another way to do what is denied."""

    text: str
    """What people read."""
    calls: tuple[Call, ...]
    act: Act
    """What the oracle does in their place."""

    @classmethod
    def of_line(cls, line: str, *scratch: str) -> Spelling:
        """Return the spelling that is one command line, and needs files that do not count."""
        act = Act(line, scratch=tuple((path, "") for path in scratch))
        return cls(line, (shell_call(line),), act)


def shell_call(command: object) -> Call:
    """Return a call of the shell tool."""
    return Call("shell", {"command": command})


@dataclass(frozen=True, slots=True)
class Plain:
    """What a hook denies."""

    call: Call
    source: str
    """Where it is known from, for people."""
    act: Act
    """What it does."""

    @property
    def text(self) -> str:
        """The command line, or the call of another tool."""
        if self.call.tool == "shell":
            return str(self.call.input["command"])
        path = self.call.input.get("file_path", "")
        return f"{self.call.tool} {path}"


def plain_of(tool: str, arguments: dict[str, Any], source: str) -> Plain | None:
    """Return the plain form of a call; `None` if there are no other ways to write it."""
    call = Call(tool, arguments)
    if tool == "shell":
        line = arguments.get("command")
        if not isinstance(line, str) or not line.strip():
            return None
        return Plain(call, source, Act(line))
    path, content = arguments.get("file_path"), arguments.get("content")
    if not isinstance(path, str) or not path:
        return None
    if tool == "write_file" and isinstance(content, str):
        return Plain(call, source, Act(writes=((path, content),)))
    if tool == "read_file":
        return Plain(call, source, Act(reads=path))
    return None


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, and one simple command of it."""

    text: str
    words: tuple[str, ...]
    """The words of the simple command, as they are written."""
    before: str
    """What stands before them in the line."""
    after: str
    """What stands behind them."""
    project: str
    home: str
    chance: random.Random = field(compare=False)

    @property
    def program(self) -> str:
        """The first word."""
        return self.words[0]

    @property
    def rest(self) -> str:
        """The other words."""
        return " ".join(self.words[1:])

    @property
    def values(self) -> tuple[str, ...]:
        """The words without quotes."""
        return tuple(unquoted(word) for word in self.words)

    @property
    def is_whole(self) -> bool:
        """Whether the line is this command only."""
        return not (self.before or self.after)

    def put(self, text: str) -> str:
        """Return the line with another text in place of the simple command."""
        return f"{self.before}{text}{self.after}"

    def with_word(self, number: int, word: str) -> str:
        """Return the line with another word."""
        words = (*self.words[:number], word, *self.words[number + 1 :])
        return self.put(" ".join(words))

    def expand(self, path: str) -> str:
        """Return a path with the home directory in place of `~` or `$HOME`."""
        return re.sub(r"^(~|\$HOME|\$\{HOME\})(?=/|$)", lambda _: self.home, path)

    def bare_words(self) -> list[int]:
        """Return the numbers of the words without quotes and special characters."""
        return [n for n, word in enumerate(self.words) if re.fullmatch(r"[\w./@%+:,-]+", word)]


def lines_of(text: str, project: str, home: str, chance: random.Random) -> list[Line]:
    """Return a line with each of its simple commands; none if it is not certain what it runs."""
    try:
        steps = parse_command_line(text).steps
    except UnreadableError:
        return []
    lines: list[Line] = []
    for step in steps:
        words = tuple([word.source for word in step.words])
        end = _end_of_words(text, step.position, words) if step.kind == "command" else None
        if end is not None:
            before, after = text[: step.position], text[end:]
            lines.append(Line(text, words, before, after, project, home, chance))
    return lines


def _end_of_words(text: str, position: int, words: tuple[str, ...]) -> int | None:
    """Return where words end; `None` if one is not plain, or not only blanks are between them."""
    for word in words:
        start = text.find(word, position)
        is_plain = _PLAIN_WORD.match(word.lstrip("'\"$\\{")) is not None
        if start < 0 or text[position:start].strip("\\ \t\n") or not is_plain:
            return None
        position = start + len(word)
    return position


def unquoted(word: str) -> str:
    """Return a word without quotes; as it is if it has others than plain ones."""
    try:
        parts = shlex.split(word)
    except ValueError:
        return word
    return parts[0] if len(parts) == 1 else word
